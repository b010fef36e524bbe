"""Everything that differs between deployments, in one typed place.

Pure Python without the CDK, so that tools may read a stage without starting it.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from typing import Literal

DEFAULT_STAGE = "dev"

Architecture = Literal["arm64", "x86_64"]


@dataclass(frozen=True, kw_only=True)
class Concurrency:
    """How many invocations each event source mapping may have running at once (2, Lambda's minimum, to 1000)."""

    dispatcher: int
    """For the tick queue. At least twice the number of groups: one works while the next ones look and leave."""

    high: int
    """For the high queue; each invocation handles up to ten runs side by side."""

    normal: int
    """For the normal queue; likewise."""

    low: int
    """For the low queue; likewise."""

    long: int
    """For the long queue; each invocation handles one run."""

    dead_letters: int = 2
    """For each of the four dead-letter queues, which are empty in ordinary times."""

    operations: int = 2
    """For the queue of operations; each invocation carries one on, eight jobs side by side."""


@dataclass(frozen=True, kw_only=True)
class Pollers:
    """A mapping in provisioned mode: pollers that are always there, and as many more as it may make.

    Each is paid by the hour, takes up to 1 MB a second, and has ten invocations running at most.
    """

    least: int
    """2 to 200."""

    most: int
    """2 to 2000."""


@dataclass(frozen=True, kw_only=True)
class WarmWrites:
    """For how many write units a second DynamoDB prepares the jobs' table. It never takes that back, and is paid once.

    Without it a table, and each index by itself, is ready for 4,000, and for twice its highest peak later on.
    """

    table: int
    due_index: int


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One deployment's settings."""

    name: str
    """Stands in the stack's name (`Carillon-<name>`), in logs and in API keys."""

    shards: int
    """Onto how many shards new jobs are hashed. May be raised at any time, never lowered."""

    groups: int
    """How many shard groups (and so dispatchers at a time) share the shards."""

    look_ahead_seconds: int = 60
    """How long before its time an occurrence may be claimed (0 to 900)."""

    catch_up_rate: int
    """How many late runs of one tenant may start a second after an outage (1 to 10000), beside what is due then."""

    retention_days: int
    """How long ended jobs and runs are kept."""

    statistics_seconds: int = 30
    """How long runs that have ended are gathered to be counted together (1 to 300): so late statistics are."""

    concurrency: Concurrency
    """Caps of the event source mappings."""

    normal_pollers: Pollers | None = None
    """Provisioned mode of the normal queue, in place of its cap. None: standard mode."""

    warm_writes: WarmWrites | None = None
    """What the jobs' table is prepared for. None: what AWS prepares by itself."""

    dispatcher_memory_mb: int = 1024
    """Memory of a dispatcher, which is its share of a processor: 1769 MB are a whole one, and it uses no second."""

    log_retention_days: Literal[1, 7, 30, 90]
    """How long CloudWatch keeps the functions' and the API's logs."""

    log_level: Literal["DEBUG", "INFO", "WARN"] = "INFO"
    """The least severe log line of the functions that is kept."""

    api_requests_per_second: int
    """Steady rate at which API Gateway lets requests through before it answers 429."""

    api_burst: int
    """How many requests may come at once beyond the steady rate."""

    protect_data: bool
    """Whether tables, key, logs and stack refuse deletion, and the first three outlive a stack that is removed."""

    alarm_email: str | None = None
    """Who is told of alarms. None: alarms change state in CloudWatch and tell nobody."""

    tracing: bool = False
    """Whether the functions send X-Ray traces (billed per trace)."""

    allow_loopback_targets: bool = False
    """Whether `http` and loopback targets are accepted. True only where the whole stage runs on one machine."""

    target_ports: tuple[int, ...] = (443, 8443)
    """The ports that targets may have; with loopback targets all are allowed."""

    target_networks: tuple[str, ...] = ()
    """Networks (CIDR) that may be called beside public addresses: for a private stage, never with foreign tenants."""

    target_names: tuple[str, ...] = ()
    """Reserved last parts of host names (`internal`, `corp`) that may be called all the same: for a private stage."""

    verify_destinations: bool = False
    """Whether a destination that a tenant has registered lets jobs call only once it has answered a challenge."""

    own_hosts: tuple[str, ...] = ()
    """Further host names of this stage's API, beside the gateway's own: its custom domains. No target may be one."""

    target_queues: tuple[str, ...] = ()
    """The queues that targets may be: the id of a tenant (or a beginning and `*`), `=`, the ARN. At most 20.

    The workers may send to these and to no others. A queue of another account has to let them by a policy of its own.
    """

    api_url: str | None = None
    """Under which address targets reach this stage's API, if not the gateway's own: `https://` and a custom domain."""

    secrets_kept_seconds: int = 300
    """How long functions keep a tenant's signing secrets in memory (0 to 300): so late may a rotation be known."""

    breaker_failures: int = 5
    """After how many failures in a row, as one worker sees them, the circuit breaker of a target opens (1 to 1000)."""

    breaker_pause_seconds: int = 10
    """For how long it lets nobody through at first (1 to 300); the pause doubles, to five minutes at most."""

    pause_after_failures: int = 20
    """After how many failed runs in a row a job is paused (2 to 1000)."""

    pause_after_hours: int = 24
    """How many hours must lie between the first and the last of them, at least (0 to 8760)."""

    batched_updates: bool = True
    """Whether dispatchers write in batches of 25 statements."""

    imitated_aws: bool = False
    """Whether the stage runs on a local imitation of AWS, which has no TLS and names a right after each operation."""

    dependencies_for: Literal["lambda", "host"] = "lambda"
    """For which platform the dependency layer is built: Lambda's, or this machine, where the local AWS runs them."""

    architecture: Architecture = "arm64"
    """Processor architecture of the functions."""


def host_architecture() -> Architecture:
    """The architecture of this machine, in Lambda's words."""
    return "arm64" if platform.machine().lower() in {"arm64", "aarch64"} else "x86_64"


LOCAL = Stage(
    name="local",
    shards=2,
    groups=1,
    catch_up_rate=100,
    retention_days=7,
    concurrency=Concurrency(dispatcher=2, high=4, normal=4, low=2, long=2),
    log_retention_days=1,
    api_requests_per_second=1000,
    api_burst=1000,
    protect_data=False,
    allow_loopback_targets=True,
    target_queues=(  # there for whoever creates them
        "*=arn:aws:sqs:us-east-1:000000000000:jobs-out",
        "*=arn:aws:sqs:us-east-1:000000000000:jobs-out.fifo",
    ),
    secrets_kept_seconds=2,  # nobody waits for minutes to see a rotation
    breaker_failures=20,  # whoever tries out failures wants to see them
    breaker_pause_seconds=2,
    batched_updates=False,  # the local AWS, when it enforces rights, knows no table of a statement
    imitated_aws=True,
    dependencies_for="host",
    architecture=host_architecture(),
)

# A new AWS account has ten concurrent executions. Five busy mappings at the smallest cap that Lambda takes make ten;
# the API, the ticker and the dead-letter mappings live from the dispatcher's, which is done in milliseconds.
DEV = Stage(
    name="dev",
    shards=8,
    groups=1,
    catch_up_rate=50,
    retention_days=7,
    concurrency=Concurrency(dispatcher=2, high=2, normal=2, low=2, long=2),
    log_retention_days=7,
    api_requests_per_second=20,
    api_burst=40,
    protect_data=False,
)

SMALL = Stage(
    name="small",
    shards=8,
    groups=1,
    catch_up_rate=200,
    retention_days=30,
    concurrency=Concurrency(dispatcher=4, high=20, normal=40, low=10, long=20),
    log_retention_days=30,
    api_requests_per_second=100,
    api_burst=200,
    protect_data=True,
)

PROD = Stage(
    name="prod",
    shards=64,
    groups=4,
    catch_up_rate=1000,
    retention_days=30,
    concurrency=Concurrency(dispatcher=16, high=150, normal=250, low=100, long=200),
    dispatcher_memory_mb=1769,
    log_retention_days=90,
    api_requests_per_second=1000,
    api_burst=2000,
    protect_data=True,
)

# For 620,000 runs due in the same second: see docs/scale.md. It also needs 4,000 concurrent executions and a quota of
# 80,000 write units a second for the table, which are asked of AWS.
SPIKE = replace(
    PROD,
    name="spike",
    normal_pollers=Pollers(least=200, most=1000),
    warm_writes=WarmWrites(table=80_000, due_index=64_000),
)

STAGES = {stage.name: stage for stage in (LOCAL, DEV, SMALL, PROD, SPIKE)}


def stage_named(name: str) -> Stage:
    """The stage of that name.

    Raises:
        ValueError: There is none; the message lists those that exist.
    """
    if name not in STAGES:
        raise ValueError(f"stage is {name!r}; allowed: {', '.join(STAGES)}")
    return STAGES[name]
