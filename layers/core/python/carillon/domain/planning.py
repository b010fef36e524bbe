"""The decision of the dispatcher: which occurrences of a due job are sent, which are skipped, and what comes next.

It depends on nothing but the entry, the instant of the decision and the look-ahead: a second owner who takes a claim
over, and keeps its instant, decides what the first one did.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice

from carillon.domain.due import (
    DueEntry,
    DueJob,
    DueRun,
    Occurrence,
    UnreadableEntry,
    due_time,
    fire_time,
    planning_rules,
    window_offset,
)
from carillon.domain.identity import RunKey
from carillon.domain.instants import LAST_INSTANT_MS
from carillon.domain.job import JobState, MisfirePolicy, PlanningRules
from carillon.domain.run import Run, RunState, SkippedBlock
from carillon.domain.schedule import OneOff, Schedule, decode
from carillon.domain.twins import last_covered

__all__ = [
    "DueEntry",
    "DueJob",
    "DueRun",
    "Occurrence",
    "Plan",
    "UnreadableEntry",
    "decide",
    "due_time",
    "fire_time",
    "skipped_record",
    "window_offset",
]

MOST_SENDS = 100
"""Occurrences of one job sent by one decision; what is beyond stays due and is decided next."""

MOST_SINGLE_SKIPS = 10
"""Skipped occurrences get a record each up to this many, and one summary beyond."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do with a due job.

    Attributes:
        sends: occurrences to send, oldest first.
        skips: blocks of skipped occurrences, oldest first; a block of one is an ordinary record.
        skip_reason: why they are skipped.
        upcoming: the next occurrence to plan, or None when the schedule has ended.
        planned: the count of runs planned so far, these sends included.
        state: the state of the job once all is sent.
        granted: whether the next occurrence is due at a slot that it was given.
    """

    sends: tuple[Occurrence, ...]
    skips: tuple[SkippedBlock, ...]
    upcoming: Occurrence | None
    planned: int
    state: JobState
    skip_reason: str = "misfire"
    granted: bool = False


@lru_cache(maxsize=4096)
def _schedule(text: str) -> Schedule:
    return decode(text)


def decide(entry: DueJob, decided_at: int, look_ahead_ms: int) -> Plan:
    """The plan for a due job as of an instant (epoch ms).

    An occurrence is missed when it is noticed more than the grace after its time; the first one counts from its fire
    time, which a rate slot may have moved. The first occurrence is always decided, whatever the look-ahead.

    Raises:
        ValueError: the stored schedule or rules are damaged.
    """
    schedule, rules = _schedule(entry.schedule), planning_rules(entry.rules)
    offset = window_offset(entry.job_id, rules.window_ms)
    first, on_time_from = entry.scheduled_for, decided_at - rules.misfire_grace_ms - offset
    behind = last_covered(schedule, first)
    horizon = max(first, decided_at + look_ahead_ms - offset)
    punctual = (first,) if entry.next_fire_time - offset >= on_time_from else ()
    missed = _missed(schedule, first, behind, on_time_from, with_first=not punctual, newest=_kept_of_missed(rules))
    live = schedule.between(max(behind, on_time_from - 1), LAST_INSTANT_MS)
    room = MOST_SENDS if rules.max_runs is None else min(MOST_SENDS, rules.max_runs - entry.planned)
    sends, upcoming = _split(chain(punctual, missed.kept, live), horizon, room)
    planned = entry.planned + len(sends)
    if rules.max_runs is not None and planned >= rules.max_runs:
        upcoming = None
    return Plan(
        sends=tuple(Occurrence(nominal, _due(entry, nominal, offset)) for nominal in sends),
        skips=missed.skipped,
        upcoming=None if upcoming is None else Occurrence(upcoming, upcoming + offset),
        planned=planned,
        state=_state_after(schedule, upcoming, sends),
    )


def _split(nominal_times: Iterator[int], horizon: int, room: int) -> tuple[tuple[int, ...], int | None]:
    """What is sent, and the first nominal time that is not: it lies beyond the horizon, or there is no room for it."""
    sends: list[int] = []
    for nominal in nominal_times:
        if nominal > horizon or len(sends) >= room:
            return tuple(sends), nominal
        sends.append(nominal)
    return tuple(sends), None


def _due(entry: DueJob, nominal: int, offset: int) -> int:
    return entry.next_fire_time if nominal == entry.scheduled_for else nominal + offset


def _state_after(schedule: Schedule, upcoming: int | None, sends: tuple[int, ...]) -> JobState:
    if upcoming is not None:
        return JobState.SCHEDULED
    return JobState.DISPATCHED if isinstance(schedule, OneOff) and sends else JobState.COMPLETED


def _kept_of_missed(rules: PlanningRules) -> int:
    """How many of the missed occurrences are run after all: the newest so many."""
    return {MisfirePolicy.SKIP: 0, MisfirePolicy.FIRE_ONCE: 1, MisfirePolicy.FIRE_ALL: rules.max_catch_up}[
        rules.misfire
    ]


@dataclass(frozen=True, slots=True)
class _Missed:
    kept: tuple[int, ...]
    skipped: tuple[SkippedBlock, ...]


def _missed(
    schedule: Schedule, first: int, behind: int, on_time_from: int, *, with_first: bool, newest: int
) -> _Missed:
    """The missed occurrences before an instant: the newest so many to be run, all older ones as skipped.

    They are the first one, unless it is punctual, and those of the schedule behind an instant.
    """
    until = on_time_from - 1
    count = with_first + schedule.count(behind, until)
    if count == 0:
        return _Missed((), ())
    kept = schedule.newest(behind, until, newest) if newest else ()
    if with_first and len(kept) < min(newest, count):
        kept = (first, *kept)
    skipped = count - len(kept)
    oldest_first = chain((first,) if with_first else (), schedule.between(behind, until))
    if skipped <= MOST_SINGLE_SKIPS:
        return _Missed(kept, tuple(SkippedBlock(1, nominal, nominal) for nominal in islice(oldest_first, skipped)))
    last = schedule.previous_before(kept[0] if kept else until + 1)
    return _Missed(kept, (SkippedBlock(skipped, next(oldest_first), first if last is None else last),))


def skipped_record(entry: DueJob, block: SkippedBlock, reason: str, now_ms: int, retention_ms: int) -> Run:
    """The record of a block of skipped occurrences of a job; a block of one is an ordinary record.

    A block is filed under its last occurrence: that one has no other record, and history is read newest first.
    """
    return Run(
        key=RunKey.of(entry.job_id, block.last),
        tenant=entry.tenant,
        state=RunState.SKIPPED,
        scheduled_for=block.last,
        generation=entry.generation,
        priority=entry.priority,
        lane=entry.lane,
        shard=entry.shard,
        created_at=now_ms,
        reason=reason,
        block=block if block.count > 1 else None,
        ended_at=now_ms,
        expires_at=(now_ms + retention_ms) // 1000,
    )
