"""The functions: their settings, their rights and what feeds them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aws_cdk import Aws, CustomResource, Duration, Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as event_sources

from carillon.adapters.dynamodb import keys
from carillon.adapters.s3 import PAYLOADS, UPLOADS
from carillon.domain.counting import is_counted
from carillon.domain.job import JobState
from carillon.domain.queues import AllowedQueue
from carillon.domain.run import RunState
from carillon.entrypoint.settings import (
    ApiSettings,
    DeadLettersSettings,
    DeploymentsSettings,
    DispatcherSettings,
    Lane,
    OperationsSettings,
    RetentionSettings,
    StatisticsSettings,
    TickerSettings,
    WorkerSettings,
)
from infra.parts.acknowledge import acknowledge
from infra.parts.function import CarillonFunction, FunctionFactory, Spec
from infra.parts.storage import Storage, index_arn, stream_arn

if TYPE_CHECKING:
    from constructs import Construct

    from infra.parts.queues import Queues
    from infra.parts.sources import Sources
    from infra.stages import Stage

BATCH_GET = "dynamodb:BatchGetItem"
DELETE = "dynamodb:DeleteItem"
GET = "dynamodb:GetItem"
PUT = "dynamodb:PutItem"
QUERY = "dynamodb:Query"
UPDATE = "dynamodb:UpdateItem"
UPDATE_BY_STATEMENT = "dynamodb:PartiQLUpdate"
HOLD = "sqs:ChangeMessageVisibility"
SEND = "sqs:SendMessage"
LOOK = "sqs:GetQueueAttributes"
READ_METRICS = "cloudwatch:GetMetricData"

DELETE_OBJECT = "s3:DeleteObject"
GET_OBJECT = "s3:GetObject"
LIST_BUCKET = "s3:ListBucket"
PUT_OBJECT = "s3:PutObject"

FOLLOW_STREAM = (
    "dynamodb:DescribeStream",
    "dynamodb:GetRecords",
    "dynamodb:GetShardIterator",
    "dynamodb:ListStreams",
)

BATCH = 10
SHORT_CALL_SECONDS = 60
LONG_CALL_SECONDS = 840

# A function's environment has 4 KB in all, and an entry may take 150 bytes.
MOST_TARGET_QUEUES = 20

# Of all changes of the jobs table, the retention function is told of those that leave something to do: items that
# DynamoDB's own clean-up removed, and jobs that count no more.
REMOVED_BY_TTL = lambda_.FilterCriteria.filter(
    {
        "eventName": lambda_.FilterRule.is_equal("REMOVE"),
        "userIdentity": {
            "type": lambda_.FilterRule.is_equal("Service"),
            "principalId": lambda_.FilterRule.is_equal("dynamodb.amazonaws.com"),
        },
    }
)

# Runs that have just ended, new ones and old ones; notices and challenges are no runs.
_ENDED_RUN = {
    keys.KIND: {"S": lambda_.FilterRule.is_equal(keys.RUN_KIND)},
    keys.SK: {"S": lambda_.FilterRule.begins_with(keys.RUN_PREFIX)},
    keys.STATE: {"S": lambda_.FilterRule.or_(*(str(state) for state in RunState if state.has_ended))},
}
_GOES_ON = lambda_.FilterRule.or_(*(str(state) for state in RunState if not state.has_ended))
RUNS_THAT_ENDED = (
    lambda_.FilterCriteria.filter(
        {"eventName": lambda_.FilterRule.is_equal("INSERT"), "dynamodb": {"NewImage": _ENDED_RUN}}
    ),
    lambda_.FilterCriteria.filter(
        {
            "eventName": lambda_.FilterRule.is_equal("MODIFY"),
            "dynamodb": {"OldImage": {keys.STATE: {"S": _GOES_ON}}, "NewImage": _ENDED_RUN},
        }
    ),
)
MOST_ENDINGS = 1_000


_COUNTED = {keys.COUNTED: {"N": lambda_.FilterRule.exists()}}
_ENDED = lambda_.FilterRule.or_(*(str(state) for state in JobState if not is_counted(state)))
COUNTS_NO_MORE = (
    # By the state that it has then: a filter cannot well ask for what is missing.
    lambda_.FilterCriteria.filter(
        {
            "eventName": lambda_.FilterRule.is_equal("MODIFY"),
            "dynamodb": {"OldImage": _COUNTED, "NewImage": {keys.STATE: {"S": _ENDED}}},
        }
    ),
    lambda_.FilterCriteria.filter(
        {"eventName": lambda_.FilterRule.is_equal("REMOVE"), "dynamodb": {"OldImage": _COUNTED}}
    ),
)

# What ends in one moment is freed together: fewer writes, and a place is free within seconds all the same.
FREEING_SECONDS = 1


@dataclass(frozen=True)
class Ground:
    """What the functions work on."""

    storage: Storage
    queues: Queues
    api_host: str


class Functions(FunctionFactory):
    """All functions of a stage."""

    def __init__(self, scope: Construct, stage: Stage, sources: Sources, ground: Ground) -> None:
        super().__init__(scope, "Functions", stage, sources)
        self._storage = ground.storage
        self._queues = ground.queues
        self._jobs, self._control = self._storage.jobs.table_arn, self._storage.control.table_arn
        self._tables: dict[str, Any] = {
            "jobs_table": self._storage.jobs.table_name,
            "control_table": self._storage.control.table_name,
        }
        self._api_url = stage.api_url or f"https://{ground.api_host}"
        self._targets = _targets(stage, ground.api_host)
        self._failing: dict[str, Any] = {
            "pause_after_failures": stage.pause_after_failures,
            "pause_after_hours": stage.pause_after_hours,
        }
        self._queue_urls: dict[str, Any] = {
            f"{work.name}_queue_url": work.queue.queue_url for work in self._queues.work
        }
        self.api = self._api()
        self.ticker = self._ticker()
        self.dispatcher = self._dispatcher()
        self.worker = self._worker()
        self.long_worker = self._long_worker()
        self.dead_letters = self._dead_letters()
        self.retention = self._retention()
        self.operations = self._operations()
        self.statistics = self._statistics()
        self.deployments = self._deployments()
        self._ask_before_changing()

    @property
    def all(self) -> tuple[CarillonFunction, ...]:
        """Every function."""
        return (*self.at_work, self.deployments)

    @property
    def at_work(self) -> tuple[CarillonFunction, ...]:
        """The functions that jobs depend on, in the order of a job's way through them."""
        return (
            self.api,
            self.ticker,
            self.dispatcher,
            self.worker,
            self.long_worker,
            self.dead_letters,
            self.retention,
            self.operations,
            self.statistics,
        )

    def _api(self) -> CarillonFunction:
        function = self._make(
            "Api",
            Spec(
                service="api",
                folder="api",
                description="Answers Carillon's HTTP API",
                settings=ApiSettings(
                    stage=self.stage.name,
                    **self._tables,
                    secrets_key_id=self._storage.secrets_key.key_id,
                    secrets_kept_seconds=self.stage.secrets_kept_seconds,
                    payloads_bucket=self._storage.payloads.bucket_name,
                    shards=self.stage.shards,
                    retention_days=self.stage.retention_days,
                    **self._failing,
                    operations_queue_url=self._queues.operations.queue_url,
                    **self._queue_urls,
                    **self._targets,
                ),
                memory_mb=512,
                timeout_seconds=25,  # API Gateway gives up after 30
            ),
        )
        function.allow((BATCH_GET, GET, PUT, QUERY, UPDATE), self._jobs)
        function.allow((QUERY,), self._index(keys.BY_TENANT_INDEX), self._index(keys.DEAD_INDEX))
        function.allow((BATCH_GET, DELETE, GET, PUT, QUERY, UPDATE), self._control)
        function.only_append(self._control, keys.AUDIT_PREFIX)
        function.allow(("kms:Decrypt", "kms:Encrypt"), self._storage.secrets_key.key_arn)
        function.allow((SEND,), self._queues.operations.queue_arn)
        function.allow((LOOK,), *(work.queue.queue_arn for work in self._queues.work))
        self._allow_metrics(function)
        self._allow_objects(function, UPLOADS, (GET_OBJECT, PUT_OBJECT))
        self._allow_objects(function, PAYLOADS, (PUT_OBJECT,))
        function.allow((LIST_BUCKET,), self._storage.payloads.bucket_arn)
        return function

    def _ticker(self) -> CarillonFunction:
        function = self._make(
            "Ticker",
            Spec(
                service="ticker",
                folder="ticker",
                description="Sends the ticks of the coming two minutes",
                settings=TickerSettings(
                    stage=self.stage.name,
                    control_table=self._storage.control.table_name,
                    tick_queue_url=self._queues.ticks.queue_url,
                    groups=self.stage.groups,
                ),
                memory_mb=256,
                timeout_seconds=30,
            ),
        )
        function.allow((UPDATE,), self._control)
        function.only_append(self._control, keys.AUDIT_PREFIX)
        function.allow((SEND,), self._queues.ticks.queue_arn)
        return function

    def _dispatcher(self) -> CarillonFunction:
        function = self._make(
            "Dispatcher",
            Spec(
                service="dispatcher",
                folder="dispatcher",
                description="Claims what is due, sends it to the work queues and confirms it",
                settings=DispatcherSettings(
                    stage=self.stage.name,
                    **self._tables,
                    **self._queue_urls,
                    groups=self.stage.groups,
                    shards=self.stage.shards,
                    look_ahead_seconds=self.stage.look_ahead_seconds,
                    batched_updates=self.stage.batched_updates,
                    catch_up_rate=self.stage.catch_up_rate,
                    retention_days=self.stage.retention_days,
                ),
                memory_mb=self.stage.dispatcher_memory_mb,
                timeout_seconds=55,  # less than the visibility of a tick
            ),
        )
        function.allow((QUERY,), self._index(keys.DUE_INDEX))
        function.allow((DELETE, GET, PUT, UPDATE, UPDATE_BY_STATEMENT), self._jobs)
        function.allow((GET, QUERY, UPDATE), self._control)
        function.only_append(self._control, keys.AUDIT_PREFIX)
        function.allow((SEND,), *(work.queue.queue_arn for work in self._queues.work))
        cap = self.stage.concurrency.dispatcher
        function.consume("Ticks", self._queues.ticks, batch_size=1, most=cap)
        return function

    def _worker(self) -> CarillonFunction:
        function = self._calling("Worker", "worker", "short", timeout_seconds=90)
        caps = self.stage.concurrency
        for work, cap in (
            (self._queues.high, caps.high),
            (self._queues.normal, self.stage.normal_pollers or caps.normal),
            (self._queues.low, caps.low),
        ):
            function.allow((HOLD,), work.queue.queue_arn)
            function.consume(work.name.capitalize(), work.queue, batch_size=BATCH, most=cap)
        return function

    def _long_worker(self) -> CarillonFunction:
        function = self._calling("LongWorker", "long_worker", "long", timeout_seconds=900)
        queue = self._queues.long.queue
        function.allow((HOLD,), queue.queue_arn)
        function.consume("Long", queue, batch_size=1, most=self.stage.concurrency.long)
        return function

    def _calling(self, construct_id: str, service: str, lane: Lane, timeout_seconds: int) -> CarillonFunction:
        """A function that starts runs and calls their targets."""
        function = self._make(
            construct_id,
            Spec(
                service=service,
                folder="worker",
                description=f"Starts due runs and calls their targets ({lane} calls)",
                settings=WorkerSettings(
                    stage=self.stage.name,
                    **self._tables,
                    **self._queue_urls,
                    secrets_key_id=self._storage.secrets_key.key_id,
                    secrets_kept_seconds=self.stage.secrets_kept_seconds,
                    payloads_bucket=self._storage.payloads.bucket_name,
                    retention_days=self.stage.retention_days,
                    **self._failing,
                    **self._targets,
                    lane=lane,
                    api_url=self._api_url,
                    call_seconds_limit=SHORT_CALL_SECONDS if lane == "short" else LONG_CALL_SECONDS,
                    side_by_side=BATCH if lane == "short" else 1,
                    breaker_failures=self.stage.breaker_failures,
                    breaker_pause_seconds=self.stage.breaker_pause_seconds,
                ),
                memory_mb=512,
                timeout_seconds=timeout_seconds,
            ),
        )
        function.allow((GET, PUT, QUERY, UPDATE), self._jobs)  # the update pauses a job that fails
        function.allow((QUERY,), self._control)
        function.allow_within(self._control, (keys.AUDIT_PREFIX, keys.JOB_PREFIX), (PUT,))  # tells of that
        function.allow(("kms:Decrypt",), self._storage.secrets_key.key_arn)
        self._allow_objects(function, PAYLOADS, (GET_OBJECT,))
        function.allow((LIST_BUCKET,), self._storage.payloads.bucket_arn)
        if queues := queue_arns(self.stage):
            function.allow((SEND,), *queues)
        return function

    def _dead_letters(self) -> CarillonFunction:
        urls: dict[str, Any] = {
            f"{work.name}_dead_letter_url": work.dead_letters.queue_url for work in self._queues.work
        }
        function = self._make(
            "DeadLetters",
            Spec(
                service="dead_letters",
                folder="dead_letters",
                description="Settles runs whose messages SQS gave up",
                settings=DeadLettersSettings(
                    stage=self.stage.name,
                    **self._tables,
                    **urls,
                    retention_days=self.stage.retention_days,
                    **self._failing,
                ),
                memory_mb=256,
                timeout_seconds=60,
            ),
        )
        function.allow((GET, PUT, QUERY, UPDATE), self._jobs)  # likewise
        function.allow((PUT, QUERY), self._control)
        cap = self.stage.concurrency.dead_letters
        for work in self._queues.work:
            function.allow((HOLD,), work.dead_letters.queue_arn)
            function.consume(work.name.capitalize(), work.dead_letters, batch_size=BATCH, most=cap)
        return function

    def _retention(self) -> CarillonFunction:
        function = self._make(
            "Retention",
            Spec(
                service="retention",
                folder="retention",
                description="Clears behind jobs that TTL removed, and counts no more those that ended",
                settings=RetentionSettings(
                    stage=self.stage.name, **self._tables, payloads_bucket=self._storage.payloads.bucket_name
                ),
                memory_mb=256,
                timeout_seconds=60,
            ),
        )
        function.allow((DELETE, GET), self._jobs)
        function.allow((DELETE, UPDATE), self._control)
        function.only_append(self._control, keys.AUDIT_PREFIX)
        self._allow_objects(function, PAYLOADS, (DELETE_OBJECT,))
        function.allow((LIST_BUCKET,), self._storage.payloads.bucket_arn)
        self._follow_removals(function)
        return function

    def _operations(self) -> CarillonFunction:
        queue = self._queues.operations
        function = self._make(
            "Operations",
            Spec(
                service="operations",
                folder="operations",
                description="Carries out work on many jobs, a page at a time",
                settings=OperationsSettings(
                    stage=self.stage.name,
                    **self._tables,
                    operations_queue_url=queue.queue_url,
                    retention_days=self.stage.retention_days,
                ),
                memory_mb=512,
                timeout_seconds=120,
            ),
        )
        function.allow((BATCH_GET, GET, PUT, QUERY, UPDATE), self._jobs)
        function.allow((QUERY,), self._index(keys.BY_TENANT_INDEX))
        # A cancelled job's name is freed; one that is brought back is counted.
        function.allow((BATCH_GET, DELETE, GET, PUT, UPDATE), self._control)
        function.only_append(self._control, keys.AUDIT_PREFIX)
        function.allow((HOLD,), queue.queue_arn)
        function.consume("Operations", queue, batch_size=1, most=self.stage.concurrency.operations)
        return function

    def _statistics(self) -> CarillonFunction:
        function = self._make(
            "Statistics",
            Spec(
                service="statistics",
                folder="statistics",
                description="Counts the runs that have ended",
                settings=StatisticsSettings(stage=self.stage.name, control_table=self._storage.control.table_name),
                memory_mb=256,
                timeout_seconds=60,
            ),
        )
        function.allow((PUT, UPDATE), self._control)
        function.only_append(self._control, keys.AUDIT_PREFIX)
        self._follow_endings(function)
        return function

    def _deployments(self) -> CarillonFunction:
        function = self._make(
            "Deployments",
            Spec(
                service="deployments",
                folder="deployments",
                description="Refuses a deployment that would lower the shard count",
                settings=DeploymentsSettings(stage=self.stage.name, control_table=self._storage.control.table_name),
                memory_mb=256,
                timeout_seconds=30,
            ),
        )
        function.allow((GET,), self._control)
        function.allow(("cloudformation:DescribeStacks",), Aws.STACK_ID)
        return function

    def _ask_before_changing(self) -> None:
        """Make each other function wait for the check: a deployment that is refused has changed none of them."""
        check = CustomResource(
            self,
            "Shards",
            resource_type="Custom::CarillonShards",
            service_token=self.deployments.function.function_arn,
            properties={"shards": self.stage.shards},
            service_timeout=Duration.seconds(60),
        )
        check.node.add_dependency(self.deployments)
        for function in self.at_work:
            function.function.node.add_dependency(check)

    def _follow_removals(self, function: CarillonFunction) -> None:
        """Feed what leaves something to do to a function; a record that keeps failing blocks nobody for long."""
        stream = stream_arn(self._storage.jobs)
        function.allow(FOLLOW_STREAM, stream)
        lambda_.EventSourceMapping(
            function,
            "Removals",
            target=function.function,
            event_source_arn=stream,
            starting_position=lambda_.StartingPosition.TRIM_HORIZON,
            batch_size=100,
            filters=[REMOVED_BY_TTL, *COUNTS_NO_MORE],
            max_batching_window=Duration.seconds(FREEING_SECONDS),
            bisect_batch_on_error=True,
            report_batch_item_failures=True,
            retry_attempts=20,
            on_failure=event_sources.SqsDlq(self._queues.failed_removals),
        )

    def _follow_endings(self, function: CarillonFunction) -> None:
        """Feed the runs that have ended to a function, in large batches.

        A batch is never cut in two, and is tried until the stream forgets it: what was counted is remembered by where
        a batch began. Nothing but statistics waits for it.
        """
        stream = stream_arn(self._storage.jobs)
        function.allow(FOLLOW_STREAM, stream)
        lambda_.EventSourceMapping(
            function,
            "Endings",
            target=function.function,
            event_source_arn=stream,
            starting_position=lambda_.StartingPosition.TRIM_HORIZON,
            batch_size=MOST_ENDINGS,
            filters=list(RUNS_THAT_ENDED),
            max_batching_window=Duration.seconds(self.stage.statistics_seconds),
            report_batch_item_failures=True,
        )

    def _allow_metrics(self, function: CarillonFunction) -> None:
        """Let a function read metrics."""
        function.allow((READ_METRICS,), "*")
        acknowledge(
            function.role,
            "AwsSolutions-IAM5[Resource::*]",
            "CloudWatch's action to read metrics knows no resources; and X-Ray's, where the stage sends traces",
        )

    def _allow_objects(self, function: CarillonFunction, prefix: str, actions: tuple[str, ...]) -> None:
        """Let a function do this with objects of a prefix. Without the right to list, a missing one is a denied one."""
        bucket = self._storage.payloads
        function.allow(actions, bucket.arn_for_objects(f"{prefix}*"))
        name = Stack.of(bucket).resolve(bucket.bucket_arn)["Fn::GetAtt"][0]
        acknowledge(
            function.role,
            f"AwsSolutions-IAM5[Resource::<{name}.Arn>/{prefix}*]",
            "Objects are named by tenant and reference, which no policy can know: this is one of two prefixes",
        )

    def _make(self, construct_id: str, spec: Spec) -> CarillonFunction:
        return CarillonFunction(self, construct_id, spec)

    def _index(self, name: str) -> str:
        return index_arn(self._storage.jobs, name)


def _targets(stage: Stage, api_host: str) -> dict[str, Any]:
    """What the functions that check targets are told of the stage's policy."""
    return {
        "allow_loopback_targets": stage.allow_loopback_targets,
        "target_ports": tuple(map(str, stage.target_ports)),
        "target_networks": stage.target_networks,
        "target_names": stage.target_names,
        "verify_destinations": stage.verify_destinations,
        "own_hosts": (api_host, *stage.own_hosts),
        "target_queues": stage.target_queues,
    }


def queue_arns(stage: Stage) -> list[str]:
    """The queues that targets may be.

    Raises:
        ValueError: An entry of the stage names none, or there are too many.
    """
    if len(stage.target_queues) > MOST_TARGET_QUEUES:
        raise ValueError(f"target_queues has {len(stage.target_queues)} entries; at most {MOST_TARGET_QUEUES} fit")
    return sorted({AllowedQueue.parse(entry).arn for entry in stage.target_queues})
