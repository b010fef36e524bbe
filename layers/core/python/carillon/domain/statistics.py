"""What became of runs, by the hour in which they ended: counts of their ends, and how late they had begun.

Lateness is counted in fixed buckets, so that hours and batches add up and a percentile can be told of any of them: as
the upper bound of the bucket that it lies in, which from 100 ms on is at most 28 % above the figure itself. The bounds
are the preferred numbers R10 of ISO 3.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Final

from carillon.domain.instants import DAY_MS, HOUR_MS
from carillon.domain.run import RunState

_STEPS: Final = (100, 125, 160, 200, 250, 315, 400, 500, 630, 800)
_DECADES: Final = 9
BOUNDS_MS: Final[tuple[int, ...]] = (10, 20, 50, *(step * 10**decade for decade in range(_DECADES) for step in _STEPS))
"""Upper bounds of the buckets of lateness. What is later than the last one (two and a half years) counts there."""

ENDS: Final = tuple(state for state in RunState if state.has_ended)
"""The states that are counted."""

MOST_DAYS: Final = 7
"""So far back statistics can be asked for."""

KEPT_MS: Final = (MOST_DAYS + 1) * DAY_MS
"""So long after its beginning an hour is kept: whatever can be asked for is there."""


@dataclass(frozen=True, slots=True)
class Ending:
    """One end of a run.

    Attributes:
        tenant: whose run it was.
        state: in which it ended.
        reason: why, a word of a closed set; None if the state says it all.
        ended_at: when, epoch ms.
        runs: how many occurrences share the record: more than one of a block of skipped ones.
        attempts: how many were made since the run began, or since it was last redriven.
        lateness_ms: by how much the first attempt began late; None if there was none, or if it was counted before.
    """

    tenant: str
    state: RunState
    reason: str | None
    ended_at: int
    runs: int = 1
    attempts: int = 0
    lateness_ms: int | None = None

    @property
    def hour(self) -> int:
        """The beginning of the hour that it counts in, epoch ms."""
        return hour_of(self.ended_at)


@dataclass(frozen=True, slots=True)
class Told:
    """An ending, and the name of the event that told of it: the same whenever it is told of again."""

    event: str
    ending: Ending


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of endings. `ends`: by state and reason; `lateness`: by the upper bound of the bucket, ms."""

    ends: Mapping[tuple[RunState, str | None], int] = field(default_factory=dict)
    attempts: int = 0
    lateness: Mapping[int, int] = field(default_factory=dict)

    def of(self, state: RunState) -> int:
        """How many ended in a state."""
        return sum(many for (each, _), many in self.ends.items() if each is state)

    def reasons(self, state: RunState) -> Mapping[str, int]:
        """Of those that ended in a state for a reason, how many for which; the most frequent first."""
        found = {reason: many for (each, reason), many in self.ends.items() if each is state and reason is not None}
        return dict(sorted(found.items(), key=lambda entry: (-entry[1], entry[0])))

    @property
    def total(self) -> int:
        """How many ended."""
        return sum(self.ends.values())

    @property
    def success_share(self) -> float | None:
        """Of those that succeeded or were given up, the share that succeeded; None if there were none."""
        succeeded, dead = self.of(RunState.SUCCEEDED), self.of(RunState.DEAD_LETTERED)
        return succeeded / (succeeded + dead) if succeeded + dead else None

    @property
    def started(self) -> int:
        """How many first attempts were counted."""
        return sum(self.lateness.values())

    def percentile_ms(self, percent: int) -> int | None:
        """The lateness that so many percent of the first attempts kept to, as a bound; None if there were none.

        By the nearest rank: of ten, the 95th percentile is the largest.
        """
        rank, seen = ceil(self.started * percent / 100), 0
        for bound, many in sorted(self.lateness.items()):
            seen += many
            if seen >= rank:
                return bound
        return None


def tally(endings: Iterable[Ending]) -> Tally:
    """The counts of some endings."""
    ends: Counter[tuple[RunState, str | None]] = Counter()
    lateness: Counter[int] = Counter()
    attempts = 0
    for each in endings:
        ends[each.state, each.reason] += each.runs
        attempts += each.attempts
        if each.lateness_ms is not None:
            lateness[bound_of(each.lateness_ms)] += 1
    return Tally(dict(ends), attempts, dict(lateness))


def total_of(tallies: Iterable[Tally]) -> Tally:
    """The counts of some tallies together."""
    ends: Counter[tuple[RunState, str | None]] = Counter()
    lateness: Counter[int] = Counter()
    attempts = 0
    for each in tallies:
        ends.update(each.ends)
        lateness.update(each.lateness)
        attempts += each.attempts
    return Tally(dict(ends), attempts, dict(lateness))


def bound_of(lateness_ms: int) -> int:
    """The upper bound of the bucket that a lateness lies in, ms."""
    return BOUNDS_MS[min(bisect_left(BOUNDS_MS, lateness_ms), len(BOUNDS_MS) - 1)]


def hour_of(instant_ms: int) -> int:
    """The beginning of the hour of an instant (UTC), both epoch ms."""
    return instant_ms - instant_ms % HOUR_MS


class BadWindowError(ValueError):
    """The window that was asked for has no statistics. `field` names the bound at fault, `allowed` what it may be."""

    def __init__(self, at: str, detail: str, allowed: str) -> None:
        super().__init__(f"{at}: {detail}; allowed: {allowed}")
        self.field, self.detail, self.allowed = at, detail, allowed


@dataclass(frozen=True, slots=True)
class Window:
    """Whole hours, from the beginning of the first to the end of the last, epoch ms."""

    since: int
    until: int

    @property
    def hours(self) -> range:
        """The beginnings of its hours, oldest first."""
        return range(self.since, self.until, HOUR_MS)


def window_of(since_ms: int | None, until_ms: int | None, now_ms: int) -> Window:
    """The whole hours around what was asked for; without bounds, the last 24 of them, the present one included.

    Args:
        since_ms: from when on, epoch ms; None: a day before the end.
        until_ms: until when, epoch ms; None, and whatever is yet to come: the present.
        now_ms: the present, epoch ms.

    Raises:
        BadWindowError: it begins too long ago, or does not begin before it ends.
    """
    present, oldest = hour_of(now_ms) + HOUR_MS, hour_of(now_ms - MOST_DAYS * DAY_MS)
    until = present if until_ms is None else min(hour_of(until_ms + HOUR_MS - 1), present)
    if until_ms is not None and until <= oldest:
        raise BadWindowError("until", "too long ago", f"an instant of the last {MOST_DAYS} days")
    since = max(until - DAY_MS, oldest) if since_ms is None else hour_of(since_ms)
    if since < oldest:
        raise BadWindowError("since", "too long ago", f"an instant of the last {MOST_DAYS} days")
    if since >= until:
        raise BadWindowError("since", "not before the end", "an instant before `until`, and before now")
    return Window(since, until)
