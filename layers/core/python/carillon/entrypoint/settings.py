"""The settings of each function: one frozen type per function, read once from the environment at cold start.

How they are written and read is `environment`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Literal

from carillon.domain.queues import may_be_allowed
from carillon.domain.target_policy import may_be_opened
from carillon.entrypoint.environment import Between, Listed, Starts

Lane = Literal["short", "long"]


Url = Annotated[str, Starts(("https://", "http://"))]
Shards = Annotated[int, Between(1, 4096)]
Groups = Annotated[int, Between(1, 256)]
Days = Annotated[int, Between(1, 3650)]
Ports = Annotated[tuple[str, ...], Listed("ports", re.compile("[1-9][0-9]{0,4}", re.ASCII).fullmatch)]
Networks = Annotated[tuple[str, ...], Listed("networks without loopback and link-local addresses", may_be_opened)]
Names = Annotated[tuple[str, ...], Listed("host names", re.compile("[a-z0-9-]+([.][a-z0-9-]+)*", re.ASCII).fullmatch)]
Queues = Annotated[tuple[str, ...], Listed("<tenant, or a beginning and *>=<ARN of a queue>", may_be_allowed)]

# Parts of settings. Nobody makes one by itself, so methods for that are not made either: they cost each cold start.


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class StageSettings:
    """What every function knows."""

    stage: str
    """Name of the deployment (`local`, `dev`, `prod`, `small`, …); it stands in logs, metrics and API keys."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class JobsTableSettings:
    """For functions that read or write jobs and runs."""

    jobs_table: str
    """Name of the DynamoDB table of jobs, runs and the due index."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class ControlTableSettings:
    """For functions that read or write tenants, keys, secrets, names or leases."""

    control_table: str
    """Name of the DynamoDB table of tenants, API keys, signing secrets, names, leases and quarantined messages."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class PayloadsSettings:
    """For functions that take, read or remove uploaded payloads."""

    payloads_bucket: str
    """Name of the S3 bucket of uploads, and of the payloads that are jobs' own."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class ShardSettings:
    """For functions that place jobs on shards."""

    shards: Shards
    """How many shards a new job is hashed onto (1 to 4096). May be raised at any time, never lowered."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class GroupSettings:
    """For functions that own or wake shard groups."""

    groups: Groups
    """How many shard groups share the shards (1 to 256); each gets one tick a second and one dispatcher at a time."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class RetentionPeriodSettings:
    """For functions that end jobs or runs."""

    retention_days: Days
    """Days that ended jobs and runs are kept before their TTL removes them (1 to 3650)."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class FailingSettings:
    """For functions that write dead letters."""

    pause_after_failures: Annotated[int, Between(2, 1000)]
    """After how many failed runs in a row a job is paused (2 to 1000)."""

    pause_after_hours: Annotated[int, Between(0, 8760)]
    """How many hours must lie between the first and the last of them, at least (0 to 8760)."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class WorkQueueSettings:
    """For functions that send to, handle or look at the work queues."""

    high_queue_url: Url
    """URL of the queue of high-priority runs."""

    normal_queue_url: Url
    """URL of the queue of normal-priority runs."""

    low_queue_url: Url
    """URL of the queue of low-priority runs."""

    long_queue_url: Url
    """URL of the queue of runs whose call may take longer than 60 s, and of second tries after a lost worker."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class TargetSettings:
    """For functions that check target addresses."""

    allow_loopback_targets: bool
    """Whether `http` and loopback targets are accepted. For development only; false in every AWS stage."""

    target_ports: Ports
    """The ports that targets may have; with loopback targets all are allowed."""

    target_networks: Networks
    """Networks in CIDR form that may be called beside public addresses: for a private stage."""

    target_names: Names
    """Reserved last parts of host names (`internal`, `corp`) that may be called all the same: for a private stage."""

    own_hosts: Names
    """Host names of this stage's own API, which no target may be."""

    verify_destinations: bool
    """Whether a destination that a tenant has registered lets jobs call only once it has answered a challenge."""

    target_queues: Queues
    """The queues that targets may be, and of which tenants: `acme=<ARN>`, `team-*=<ARN>`, `*=<ARN>`."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class SecretsSettings:
    """For functions that read or write signing secrets."""

    secrets_key_id: str
    """Id or ARN of the KMS key under which the tenants' signing secrets are encrypted."""

    secrets_kept_seconds: Annotated[int, Between(0, 300)]
    """Seconds that a tenant's signing secrets are kept in memory before they are read and decrypted anew (0 to 300)."""


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class OperationQueueSettings:
    """For functions that ask for operations or carry them out."""

    operations_queue_url: Url
    """URL of the queue that has operations on many jobs carried out."""


@dataclass(frozen=True, kw_only=True)
class ApiSettings(
    OperationQueueSettings,
    WorkQueueSettings,
    FailingSettings,
    TargetSettings,
    SecretsSettings,
    PayloadsSettings,
    RetentionPeriodSettings,
    ShardSettings,
    ControlTableSettings,
    JobsTableSettings,
    StageSettings,
):
    """Settings of the api function, which answers the HTTP API."""


@dataclass(frozen=True, kw_only=True)
class TickerSettings(GroupSettings, ControlTableSettings, StageSettings):
    """Settings of the ticker function, which sends the ticks of the coming two minutes."""

    tick_queue_url: Url
    """URL of the queue that carries one tick per group and second to the dispatcher."""


@dataclass(frozen=True, kw_only=True)
class DispatcherSettings(
    WorkQueueSettings,
    RetentionPeriodSettings,
    GroupSettings,
    ShardSettings,
    ControlTableSettings,
    JobsTableSettings,
    StageSettings,
):
    """Settings of the dispatcher function, which claims, sends and confirms what is due."""

    look_ahead_seconds: Annotated[int, Between(0, 900)]
    """Seconds before its time that an occurrence may be claimed (0 to 900, the longest delay of an SQS message)."""

    batched_updates: bool
    """Whether claims and their ends go to the table in batches of 25 statements, or in a request each."""

    catch_up_rate: Annotated[int, Between(1, 10_000)]
    """Late runs of one tenant that may start a second after an outage (1 to 10000), beside what is due then."""


@dataclass(frozen=True, kw_only=True)
class WorkerSettings(
    TargetSettings,
    FailingSettings,
    SecretsSettings,
    PayloadsSettings,
    WorkQueueSettings,
    RetentionPeriodSettings,
    ControlTableSettings,
    JobsTableSettings,
    StageSettings,
):
    """Settings of the worker and the long worker function, which start runs and call their targets."""

    lane: Lane
    """`short`: calls of up to a minute, handled in batches; `long`: slow calls, one message an invocation."""

    call_seconds_limit: Annotated[int, Between(1, 840)]
    """Longest time in seconds that one call may take in this lane, connecting included (1 to 840)."""

    api_url: Url
    """Under which address targets reach this stage's API, to complete what they were called for."""

    side_by_side: Annotated[int, Between(1, 10)]
    """How many messages of a batch are handled at the same time (1 to 10, the largest batch)."""

    breaker_failures: Annotated[int, Between(1, 1000)]
    """After how many failures in a row the circuit breaker of a target opens (1 to 1000)."""

    breaker_pause_seconds: Annotated[int, Between(1, 300)]
    """For how many seconds it lets nobody through at first (1 to 300); the pause doubles, to five minutes at most."""


@dataclass(frozen=True, kw_only=True)
class DeadLettersSettings(
    FailingSettings, RetentionPeriodSettings, ControlTableSettings, JobsTableSettings, StageSettings
):
    """Settings of the dead_letters function, which settles runs whose messages SQS gave up."""

    high_dead_letter_url: Url
    """URL of the dead-letter queue of the high queue."""

    normal_dead_letter_url: Url
    """URL of the dead-letter queue of the normal queue."""

    low_dead_letter_url: Url
    """URL of the dead-letter queue of the low queue."""

    long_dead_letter_url: Url
    """URL of the dead-letter queue of the long queue."""


@dataclass(frozen=True, kw_only=True)
class OperationsSettings(
    OperationQueueSettings, RetentionPeriodSettings, ControlTableSettings, JobsTableSettings, StageSettings
):
    """Settings of the operations function, which carries out work on many jobs."""


@dataclass(frozen=True, kw_only=True)
class RetentionSettings(PayloadsSettings, ControlTableSettings, JobsTableSettings, StageSettings):
    """Settings of the retention function, which clears what belonged to a job that TTL removed."""


@dataclass(frozen=True, kw_only=True)
class StatisticsSettings(ControlTableSettings, StageSettings):
    """Settings of the statistics function, which counts the runs that have ended."""


@dataclass(frozen=True, kw_only=True)
class DeploymentsSettings(ControlTableSettings, StageSettings):
    """Settings of the deployments function, which refuses a deployment that would lose shards."""
