"""What a person should be told of. Each alarm's description says what it means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

if TYPE_CHECKING:
    from aws_cdk import aws_sqs as sqs

    from infra.parts.function import CarillonFunction
    from infra.parts.functions import Functions
    from infra.parts.queues import Queues, WorkQueue
    from infra.stages import Stage

MINUTE = Duration.minutes(1)
FIVE_MINUTES = Duration.minutes(5)
AT_LEAST = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD

# The promise is a start within 30 s of the due time even at the top of a spike.
DISPATCH_LAG_LIMIT_MS = 30_000

STATISTICS_LAG_LIMIT_MS = 15 * 60_000


@dataclass(frozen=True, kw_only=True)
class Watch:
    """When an alarm goes off."""

    metric: cloudwatch.IMetric
    threshold: float
    periods: int
    """How many periods of the metric in a row."""
    description: str
    """What it means to the person who reads it."""
    comparison: cloudwatch.ComparisonOperator = AT_LEAST
    missing: cloudwatch.TreatMissingData = cloudwatch.TreatMissingData.NOT_BREACHING


class Alarms(Construct):
    """The alarms of a stage, and the topic that carries them if the stage names somebody."""

    def __init__(self, scope: Construct, construct_id: str, stage: Stage, queues: Queues, functions: Functions) -> None:
        super().__init__(scope, construct_id)
        self._action = self._tell(stage)
        for work in queues.work:
            self._late(work, stage)
            self._not_empty(f"{work.name.capitalize()}DeadLetters", work.dead_letters, f"the {work.name} queue")
        self._not_empty("OperationsDeadLetters", queues.operations_dead_letters, "the queue of operations")
        self._not_empty("FailedRemovals", queues.failed_removals, "the retention function")
        for function in functions.at_work:
            self._errors(function)
        self._dispatch_lag(functions.dispatcher)
        self._group_overrun(functions.dispatcher)
        for reader in (functions.worker, functions.long_worker, functions.dead_letters, functions.operations):
            self._unparsable(reader)
        self._counts_late(functions.statistics)
        self._no_ticks(functions.dispatcher)

    def _tell(self, stage: Stage) -> actions.SnsAction | None:
        if stage.alarm_email is None:
            return None
        topic = sns.Topic(self, "Topic", display_name=f"Carillon {stage.name}", enforce_ssl=True)
        topic.add_subscription(subscriptions.EmailSubscription(stage.alarm_email))
        return actions.SnsAction(topic)

    def _late(self, work: WorkQueue, stage: Stage) -> None:
        self._alarm(
            f"{work.name.capitalize()}Age",
            Watch(
                metric=work.queue.metric_approximate_age_of_oldest_message(statistic="Maximum", period=MINUTE),
                threshold=stage.look_ahead_seconds + work.late_after_seconds,
                periods=3,
                description=f"Runs wait in the {work.name} queue: the workers do not keep up or do not run",
            ),
        )

    def _not_empty(self, construct_id: str, queue: sqs.Queue, giver: str) -> None:
        # Visible ones only: the count of those in flight is known to stand at one on an empty queue.
        self._alarm(
            f"{construct_id}Depth",
            Watch(
                metric=queue.metric_approximate_number_of_messages_visible(statistic="Maximum", period=MINUTE),
                threshold=1,
                periods=1,
                description=f"Messages that were given up lie behind {giver}",
            ),
        )

    def _errors(self, function: CarillonFunction) -> None:
        self._alarm(
            f"{function.node.id}Errors",
            Watch(
                metric=function.function.metric_errors(statistic="Sum", period=FIVE_MINUTES),
                threshold=1,
                periods=1,
                description=f"The {function.service} function failed; failed callbacks are no function errors",
            ),
        )

    def _dispatch_lag(self, dispatcher: CarillonFunction) -> None:
        self._alarm(
            "DispatchLag",
            Watch(
                metric=_own_metric("dispatch_lag_ms", dispatcher, "p99", MINUTE),
                threshold=DISPATCH_LAG_LIMIT_MS,
                periods=3,
                description="Occurrences are sent more than half a minute late",
            ),
        )

    def _group_overrun(self, dispatcher: CarillonFunction) -> None:
        self._alarm(
            "GroupOverrun",
            Watch(
                metric=_own_metric("group_overrun", dispatcher, "Sum", MINUTE),
                threshold=1,
                periods=3,
                description="A group of shards has more due than its dispatcher can send: group_lag_ms says which",
            ),
        )

    def _unparsable(self, reader: CarillonFunction) -> None:
        self._alarm(
            f"{reader.node.id}UnparsableMessages",
            Watch(
                metric=_own_metric("unparsable_message", reader, "Sum", FIVE_MINUTES),
                threshold=1,
                periods=1,
                description=f"The {reader.service} function met messages that it cannot read",
            ),
        )

    def _counts_late(self, statistics: CarillonFunction) -> None:
        self._alarm(
            "StatisticsAge",
            Watch(
                metric=statistics.function.metric("IteratorAge", statistic="Maximum", period=FIVE_MINUTES),
                threshold=STATISTICS_LAG_LIMIT_MS,
                periods=3,
                description="Runs that have ended are not counted: after a day they never will be",
            ),
        )

    def _no_ticks(self, dispatcher: CarillonFunction) -> None:
        self._alarm(
            "NoTicks",
            Watch(
                metric=dispatcher.function.metric_invocations(statistic="Sum", period=MINUTE),
                threshold=1,
                periods=3,
                comparison=BELOW,
                # The one alarm for which silence is the fault: without ticks no other metric of dispatch is written.
                missing=cloudwatch.TreatMissingData.BREACHING,
                description="The dispatcher gets no ticks: nothing fires. Look at the schedule and the ticker",
            ),
        )

    def _alarm(self, construct_id: str, watch: Watch) -> None:
        alarm = cloudwatch.Alarm(
            self,
            construct_id,
            metric=watch.metric,
            threshold=watch.threshold,
            evaluation_periods=watch.periods,
            comparison_operator=watch.comparison,
            treat_missing_data=watch.missing,
            alarm_description=watch.description,
        )
        if self._action is not None:
            alarm.add_alarm_action(self._action)
            alarm.add_ok_action(self._action)


def _own_metric(name: str, function: CarillonFunction, statistic: str, period: Duration) -> cloudwatch.Metric:
    """A metric that a function writes itself, under its service name."""
    return cloudwatch.Metric(
        namespace=function.metrics_namespace,
        metric_name=name,
        dimensions_map={"service": function.service},
        statistic=statistic,
        period=period,
    )
