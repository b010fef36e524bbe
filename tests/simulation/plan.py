"""What a seed stands for: the shape of the stage, the jobs and edits of the tenants, and what goes wrong."""

from dataclasses import dataclass, field, replace
from enum import StrEnum
from random import Random
from zlib import crc32

from carillon.domain.job import Completion, PlanningRules, Priority
from carillon.domain.limits import DispatchLimit
from carillon.domain.retry import RetryPolicy
from carillon.domain.schedule import CronSchedule, Schedule
from carillon.domain.slots import Pace

from .history import EditKind

SECOND_MS = 1_000
MINUTE_MS = 60_000
ORDINARY_MS = 1_790_000_000_000


def draws(seed: int | str) -> Random:
    """A sequence of draws that is the same each time."""
    return Random(seed)  # noqa: S311 - repeatable draws are the purpose


_RANGE = 1 << 32


def drawn(key: str, salt: int) -> float:
    """A draw in [0, 1) that depends on nothing but a key and a salt. (CRC alone is linear: hence the mixing.)."""
    mixed = (crc32(key.encode()) + salt * 0x9E3779B9) % _RANGE
    mixed = (mixed ^ (mixed >> 16)) * 0x45D9F3B % _RANGE
    mixed = (mixed ^ (mixed >> 16)) * 0x45D9F3B % _RANGE
    return (mixed ^ (mixed >> 16)) / _RANGE


@dataclass(frozen=True, slots=True)
class LaterPlan:
    """How a target completes what it has accepted: shares of those attempts, and times (ms).

    It reports `most_ms` after the call at the latest, maybe before its 202 is recorded; `silent` ones never. Some say
    the same again, some contradict themselves.
    """

    most_ms: int
    silent: float = 0.0
    fails: float = 0.0
    fails_for_good: float = 0.2
    repeats: float = 0.3
    contradicts: float = 0.1
    beats_every_ms: int | None = None


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """How a target behaves: shares of all calls, and what slow ones take (ms). `later`: it accepts, and completes."""

    fails: float = 0.0
    kills: float = 0.0
    slow: float = 0.0
    slow_ms: int = 100
    statuses: tuple[int, ...] = (500, 503, 429, 0)
    later: LaterPlan | None = None


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A job that a client creates at an instant (true clock); with a delay, it runs once, so long after by the API."""

    number: int
    at_ms: int
    schedule: Schedule
    rules: PlanningRules = field(default_factory=PlanningRules)
    retry: RetryPolicy = field(default_factory=RetryPolicy)
    deadline_ms: int | None = None
    priority: Priority = Priority.NORMAL
    timeout_ms: int = 15_000
    target: TargetPlan = TargetPlan()
    tenant: str = "acme"
    delay_ms: int | None = None
    completion: Completion | None = None


@dataclass(frozen=True, slots=True)
class ZoneChange:
    """From an instant on (true clock) a zone has the rules of another one. Plans are made anew when told, and again."""

    zone: str
    becomes: str
    at_ms: int
    replan_every_ms: int = 30_000

    def of(self, schedule: Schedule) -> CronSchedule | None:
        """What a schedule becomes, if it is of the zone."""
        if isinstance(schedule, CronSchedule) and schedule.timezone == self.zone:
            return replace(schedule, timezone=self.becomes)
        return None


@dataclass(frozen=True, slots=True)
class EditPlan:
    """An edit of a job that a client wishes at an instant (true clock)."""

    job: int
    at_ms: int
    kind: EditKind
    schedule: Schedule | None = None
    window_ms: int | None = None
    priority: Priority | None = None
    client: int = 0


class AskKind(StrEnum):
    """What a client asks of a single run."""

    CANCEL = "cancel a run"
    REDRIVE = "redrive a run"


@dataclass(frozen=True, slots=True)
class AskPlan:
    """A wish (true clock) for one run of a job: of those that it may be wished for, the one at that share of them."""

    job: int
    at_ms: int
    kind: AskKind
    share: float
    client: int = 0


@dataclass(frozen=True, slots=True)
class Spell:
    """A time (true clock) in which something does not work: `ticks`, `workers`, or a share of the calls of a port."""

    what: str
    from_ms: int
    until_ms: int
    share: float = 1.0


@dataclass(frozen=True, slots=True)
class Strike:
    """A fault at the n-th call of a port: what, and how long (ms) or how much."""

    number: int
    action: str
    amount: int = 0


@dataclass(frozen=True, slots=True)
class Focus:
    """A step at which a fault strikes again and again: which, at what share of its calls, how long at most (ms)."""

    step: str
    action: str
    share: float
    most_ms: int = 0


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that decides a run. Durations in ms; shares in [0, 1].

    Attributes:
        more_shards: by how many a deployment raises the count of shards, at an instant (true clock).
        limit: the dispatch rate of the tenant that has one.
        catch_up: the pace of what is late, of every tenant.
        corrections_ms: when all clocks are corrected: each is then wrong by another amount, no greater than before.
        faults: which faults may strike.
        fault_every: one of so many calls of ports is struck, on average; 0: none.
        foci: steps that are struck more often.
        script: the very strikes, instead of random ones.
        quiet_ms: from this instant on (true clock) nothing is struck any more.
    """

    seed: int
    start_ms: int = ORDINARY_MS
    length_ms: int = 120_000
    shards: int = 1
    groups: int = 1
    regroup_at_ms: int | None = None
    more_shards: int = 0
    more_shards_at_ms: int | None = None
    look_ahead_ms: int = 60_000
    page_size: int = 1_000
    tick_ms: int = 1_000
    ticks_by_queue: bool = False
    lag_ms: int = 0
    poll_ms: int = 200
    batch: int = 10
    most_receives: int = 1_000
    invocations_end: bool = True
    dispatcher_skews_ms: tuple[int, ...] = (0, 0)
    worker_skews_ms: tuple[int, ...] = (0, 0)
    client_skews_ms: tuple[int, ...] = (0,)
    corrections_ms: tuple[int, ...] = ()
    zone_change: ZoneChange | None = None
    limit: DispatchLimit | None = None
    catch_up: Pace | None = None
    is_calm: bool = False
    faults: tuple[str, ...] = ()
    fault_every: int = 0
    foci: tuple[Focus, ...] = ()
    script: tuple[Strike, ...] | None = None
    quiet_ms: int = 0
    spells: tuple[Spell, ...] = ()
    thefts_ms: tuple[int, ...] = ()
    restore_ms: int | None = None
    redeliveries_ms: tuple[int, ...] = ()
    jobs: tuple[JobPlan, ...] = ()
    edits: tuple[EditPlan, ...] = ()
    asks: tuple[AskPlan, ...] = ()

    @property
    def end_ms(self) -> int:
        """When the load ends."""
        return self.start_ms + self.length_ms


FAULTS = (
    "crash_before",
    "crash_after",
    "down",
    "lost",
    "again",
    "pause_before",
    "pause_after",
    "part",
)
"""Crash before or after the effect; no answer before or after it; the effect twice (a client library that tries again
after a lost answer); suspension before or after it; some entries of a batch only."""
