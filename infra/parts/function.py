"""The one way in which a function is made: logs, a role of its own, the layers and its settings as environment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from constructs import Construct

from carillon.entrypoint.environment import to_environ
from infra.parts.acknowledge import acknowledge

if TYPE_CHECKING:
    from aws_cdk import aws_sqs as sqs

    from carillon.entrypoint.settings import StageSettings
    from infra.parts.sources import Sources
    from infra.stages import Pollers, Stage

NOT_DEPLOYED = ["**/__pycache__", "**/*.pyc"]
LOG_RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    7: logs.RetentionDays.ONE_WEEK,
    30: logs.RetentionDays.ONE_MONTH,
    90: logs.RetentionDays.THREE_MONTHS,
}
# AWS checks a batch of messages as single ones; its local imitation asks for a right that AWS does not know.
ALSO_ASKED_FOR_LOCALLY = {"sqs:SendMessage": "sqs:SendMessageBatch"}
LEADING_KEYS = "dynamodb:LeadingKeys"
CONSUME = ("sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes")


@dataclass(frozen=True, kw_only=True)
class Spec:
    """What one function needs beyond what all have."""

    service: str
    """Its name in logs and metrics."""

    folder: str
    """Its folder under `functions/`."""

    description: str
    """A sentence for the console."""

    settings: StageSettings
    """Its settings, with the names that only the deployment knows."""

    memory_mb: int
    """Memory, and with it processor share (1769 MB make one processor)."""

    timeout_seconds: int
    """When Lambda ends an invocation."""


class FunctionFactory(Construct):
    """Makes the functions of a stage; they share the two layers."""

    def __init__(self, scope: Construct, construct_id: str, stage: Stage, sources: Sources) -> None:
        super().__init__(scope, construct_id)
        self.stage = stage
        self.sources = sources
        self.layers = [self._core_layer(), self._dependency_layer()]

    def _core_layer(self) -> lambda_.LayerVersion:
        exclude = None if self.sources.core_key else NOT_DEPLOYED
        code = lambda_.Code.from_asset(str(self.sources.core), exclude=exclude, asset_hash=self.sources.core_key)
        return lambda_.LayerVersion(self, "Core", code=code, description="Carillon's own code")

    def _dependency_layer(self) -> lambda_.LayerVersion:
        code = lambda_.Code.from_asset(str(self.sources.dependencies), asset_hash=self.sources.dependencies_key)
        return lambda_.LayerVersion(self, "Dependencies", code=code, description="Locked third-party packages")


class CarillonFunction(Construct):
    """One function with its log group and its role, which can do nothing but what `allow` adds."""

    def __init__(self, factory: FunctionFactory, construct_id: str, spec: Spec) -> None:
        super().__init__(factory, construct_id)
        stage = factory.stage
        self._imitated_aws = stage.imitated_aws
        self.metrics_namespace = metrics_namespace(stage)
        self.service = spec.service
        self.log_group = log_group(self, stage)
        self.role = iam.Role(self, "Role", assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
        self.allow(("logs:CreateLogStream", "logs:PutLogEvents"), self.log_group.log_group_arn)
        self.function = lambda_.Function(
            self,
            "Function",
            description=spec.description,
            # Chosen, not the newest: the wheels of the dependency layer are locked for it.
            runtime=lambda_.Runtime.PYTHON_3_13,
            architecture=_architecture(stage),
            handler="handler.handler",
            code=lambda_.Code.from_asset(str(factory.sources.functions / spec.folder), exclude=NOT_DEPLOYED),
            layers=factory.layers,
            role=self.role,
            environment=environment(spec, stage),
            memory_size=spec.memory_mb,
            timeout=Duration.seconds(spec.timeout_seconds),
            log_group=self.log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            application_log_level_v2=lambda_.ApplicationLogLevel[stage.log_level],
            # Start, end and report lines of every tick would cost more than all of the ticks' invocations.
            system_log_level_v2=lambda_.SystemLogLevel.WARN,
            tracing=lambda_.Tracing.ACTIVE if stage.tracing else lambda_.Tracing.DISABLED,
            # Retries and re-armed jobs go round by the table, never from queue to queue, so no chain of messages comes
            # back to a function: should one ever do, Lambda is to cut it.
            recursive_loop=lambda_.RecursiveLoop.TERMINATE,
        )
        self._acknowledge_findings(stage)

    def allow(self, actions: tuple[str, ...], *resources: str) -> None:
        """Let the function do these actions on these resources."""
        also = [ALSO_ASKED_FOR_LOCALLY[action] for action in actions if action in ALSO_ASKED_FOR_LOCALLY]
        named = [*actions, *(also if self._imitated_aws else ())]
        self.role.add_to_policy(iam.PolicyStatement(actions=named, resources=list(resources)))

    def allow_within(self, table: str, prefixes: tuple[str, ...], actions: tuple[str, ...]) -> None:
        """Let the function do these actions on those items of a table whose partitions' names begin so.

        Name the prefixes of other tables' items too that are written in one transaction with them: what a role is
        asked for may be all keys of the transaction.
        """
        named = {"ForAllValues:StringLike": {LEADING_KEYS: [f"{prefix}*" for prefix in prefixes]}}
        self.role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=[table], conditions=named))

    def only_append(self, table: str, prefix: str) -> None:
        """Whatever else the function may do: items of partitions whose names begin so it neither changes nor removes.

        That a put takes no item's place is the condition of each such write: a role cannot tell one from the other.
        """
        named = {"ForAllValues:StringLike": {LEADING_KEYS: [f"{prefix}*"]}, "Null": {LEADING_KEYS: "false"}}
        forbidden = iam.PolicyStatement(
            effect=iam.Effect.DENY,
            actions=["dynamodb:DeleteItem", "dynamodb:UpdateItem"],
            resources=[table],
            conditions=named,
        )
        self.role.add_to_policy(forbidden)

    def consume(self, construct_id: str, queue: sqs.Queue, *, batch_size: int, most: int | Pollers) -> None:
        """Feed the function from a queue; it answers which messages of a batch were not done.

        `most`: how many invocations run at once, or the pollers of a mapping in provisioned mode.
        """
        self.allow(CONSUME, queue.queue_arn)
        lambda_.EventSourceMapping(
            self,
            construct_id,
            target=self.function,
            event_source_arn=queue.queue_arn,
            batch_size=batch_size,
            max_concurrency=most if isinstance(most, int) else None,
            provisioned_poller_config=None if isinstance(most, int) else _provisioned(most),
            report_batch_item_failures=True,
        )

    def _acknowledge_findings(self, stage: Stage) -> None:
        acknowledge(
            self.function,
            "AwsSolutions-L1",
            "The runtime is pinned to the Python for which the dependency layer's wheels are locked",
        )
        if stage.tracing:
            acknowledge(
                self.role,
                "AwsSolutions-IAM5[Resource::*]",
                "X-Ray's actions to send traces know no resources",
            )


def environment(spec: Spec, stage: Stage) -> dict[str, str]:
    """The function's whole environment: its settings and what its libraries are told."""
    return {
        **to_environ(spec.settings),
        "PYTHONTZPATH": "",  # zone rules come from the locked tzdata package, never from the host
        "POWERTOOLS_SERVICE_NAME": spec.service,
        "POWERTOOLS_METRICS_NAMESPACE": metrics_namespace(stage),
        "POWERTOOLS_LOG_LEVEL": stage.log_level,
        "POWERTOOLS_TRACE_DISABLED": str(not stage.tracing).lower(),
    }


def metrics_namespace(stage: Stage) -> str:
    """Where a stage's own metrics are: stages of one account do not mix."""
    return f"Carillon/{stage.name}"


def log_group(scope: Construct, stage: Stage) -> logs.LogGroup:
    """A log group that forgets after the stage's time."""
    return logs.LogGroup(
        scope,
        "Logs",
        retention=LOG_RETENTION[stage.log_retention_days],
        removal_policy=RemovalPolicy.RETAIN if stage.protect_data else RemovalPolicy.DESTROY,
    )


def _architecture(stage: Stage) -> lambda_.Architecture:
    return {"arm64": lambda_.Architecture.ARM_64, "x86_64": lambda_.Architecture.X86_64}[stage.architecture]


def _provisioned(pollers: Pollers) -> lambda_.ProvisionedPollerConfig:
    return lambda_.ProvisionedPollerConfig(minimum_pollers=pollers.least, maximum_pollers=pollers.most)
