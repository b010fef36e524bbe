"""The settings that the model runs under: those of a stage, and those that AWS keeps for it."""

from dataclasses import dataclass, replace
from enum import StrEnum

from bench.scale import facts
from infra import stages
from infra.stages import PROD, Stage


class Sweep(StrEnum):
    """In which order a dispatcher works through the shards of its group."""

    ONE_BY_ONE = "one by one"
    """A shard to its end, then the next one."""

    TOGETHER = "together"
    """Some entries of each shard in turn."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What decides how fast a stage is.

    Attributes:
        shards, groups, look_ahead_seconds: of the stage.
        sweep: the order of the shards.
        dispatcher_mb, worker_mb: memory of the two functions.
        dispatcher_ms: processor time of an occurrence on a whole processor (`make bench-dispatch`).
        worker_ms: processor time of a run on a whole processor.
        batch: messages of an invocation of the worker, handled side by side.
        most_batches: the cap of a mapping in standard mode.
        pollers: at least and at most, in provisioned mode; None: standard mode.
        account_concurrency: executions at once in the account.
        other_concurrency: how much of it others use meanwhile: dispatchers, the API, other queues.
        table_quota: write units a second of the table, and of the index by itself.
        table_warm, index_warm: write units a second for which table and index have been prepared.
        catch_up_rate: how many overdue runs of a tenant may start a second; None: they are not paced.
    """

    name: str
    shards: int
    groups: int
    look_ahead_seconds: int = 60
    sweep: Sweep = Sweep.TOGETHER
    dispatcher_mb: int = 1_024
    worker_mb: int = 512
    dispatcher_ms: float = 0.33
    worker_ms: float = 3.0
    batch: int = 10
    most_batches: int = facts.STANDARD_MOST_BATCHES
    pollers: tuple[int, int] | None = None
    account_concurrency: int = facts.ACCOUNT_CONCURRENCY
    other_concurrency: int = 100
    table_quota: int = facts.TABLE_WRITES_PER_SECOND
    table_warm: int = facts.NEW_ON_DEMAND_WRITES_PER_SECOND
    index_warm: int = facts.NEW_ON_DEMAND_WRITES_PER_SECOND
    catch_up_rate: int | None = None

    @property
    def dispatcher_processor(self) -> float:
        """The share of a processor that a dispatcher has; Python uses no second one."""
        return min(1.0, self.dispatcher_mb / facts.VCPU_MB)

    @property
    def worker_processor(self) -> float:
        """The share of a processor that a worker has."""
        return min(1.0, self.worker_mb / facts.VCPU_MB)


def of_stage(stage: Stage) -> Settings:
    """The settings of a stage as it is deployed, in an account with default quotas. Runs of normal priority are due."""
    pollers, warm = stage.normal_pollers, stage.warm_writes
    return Settings(
        name=stage.name,
        shards=stage.shards,
        groups=stage.groups,
        look_ahead_seconds=stage.look_ahead_seconds,
        dispatcher_mb=stage.dispatcher_memory_mb,
        most_batches=stage.concurrency.normal,
        pollers=pollers and (pollers.least, pollers.most),
        table_warm=warm.table if warm else facts.NEW_ON_DEMAND_WRITES_PER_SECOND,
        index_warm=warm.due_index if warm else facts.NEW_ON_DEMAND_WRITES_PER_SECOND,
        catch_up_rate=stage.catch_up_rate,
        other_concurrency=4 * stage.groups + 50,
    )


DEFAULT = of_stage(PROD)

SPIKE = replace(of_stage(stages.SPIKE), account_concurrency=4_000, table_quota=80_000)
"""`prod` prepared for 620,000 runs in one second, with quotas that AWS has raised."""

STEADY = replace(
    SPIKE,
    name="steady",
    shards=512,
    groups=40,
    account_concurrency=10_000,
    table_quota=300_000,
    table_warm=300_000,
    index_warm=512_000,
)
"""`prod` prepared for 50,000 runs in each second."""
