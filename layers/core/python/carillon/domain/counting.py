"""Counting a tenant's jobs in slices: no tenant makes a hot item, and the count is exact all the same.

A job is counted while something of it is planned, or it is paused. Each slice counts its own jobs. Under a limit each
has a share of it, and counts no job beyond its share; the shares add up to no more than the limit. So whoever finds
room in one slice need not look at the others.

The rate of creating is counted in the same slices, each with a part of what is allowed in a stretch of time.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from carillon.domain.job import JobState
from carillon.domain.limits import CreateLimit, Limits

SLICES = 16
ANYWHERE = SLICES
"""The mark of a job that was created without a limit of jobs: it matters to nobody in which slice it is freed."""

JOBS_A_SLICE = 100
"""As many of a limit as are worth another slice: small limits would only be scattered."""

NO_ROOM = -(1 << 40)
"""A share below whatever a slice may come to count: less than none, where jobs of other slices are freed in it."""

CREATES_A_SLICE_MILLI = 10_000
"""Thousandths of a creation a second that one slice bears with ease, and that are not worth another one."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a tenant's count.

    Attributes:
        number: which.
        used: jobs that it counts, less those of other slices that were freed here.
        share: how many it may count; None: there is no limit.
        window: in which stretch of time the last job was created.
        made: how many were created in that.
    """

    number: int
    used: int = 0
    share: int | None = None
    window: int = 0
    made: int = 0

    @property
    def has_room(self) -> bool:
        """Whether it may count another job."""
        return self.share is None or self.used < self.share


@dataclass(frozen=True, slots=True)
class Turn:
    """A creation in a stretch of time (by number), of which so many are allowed. `opens`: it is the first one seen."""

    window: int
    most: int
    opens: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where a job is to be counted, how it is marked, and in which turn it is created if that is limited."""

    slice: int
    mark: int
    turn: Turn | None = None


def is_counted(state: JobState) -> bool:
    """Whether a job in this state counts."""
    return state in (JobState.SCHEDULED, JobState.PAUSED)


def slices_in_use(limits: Limits) -> int:
    """How many slices count new jobs: so many that none is hot, and not more."""
    in_use = SLICES
    if limits.jobs is not None:
        in_use = min(in_use, -(-limits.jobs // JOBS_A_SLICE))
    if limits.create is not None:
        in_use = min(in_use, limits.create.rate_milli // CREATES_A_SLICE_MILLI, limits.create.burst)
    return max(in_use, 1)


def order_of(job_id: str, limits: Limits) -> list[int]:
    """The slices to be tried for a job: each job begins at one of its own."""
    in_use = slices_in_use(limits)
    first = crc32(job_id.encode()) % in_use
    return [(first + step) % in_use for step in range(in_use)]


def turn_in(seen: Slice, limits: Limits, now_ms: int) -> Turn | None:
    """The next turn of creating in a slice, or None when creating is not limited.

    A slice that others have seen in a later stretch of time is in that: their clocks are ahead, or ours is a repeat's.
    """
    if limits.create is None:
        return None
    window = max(window_at(limits.create, now_ms), seen.window)
    return Turn(window, allowed_in(seen.number, limits.create, slices_in_use(limits)), opens=window > seen.window)


def window_at(limit: CreateLimit, now_ms: int) -> int:
    """The number of the stretch of time at an instant (epoch ms)."""
    return now_ms // limit.window_ms


def allowed_in(number: int, limit: CreateLimit, in_use: int) -> int:
    """How many jobs may be created in a slice in a stretch of time."""
    return limit.burst // in_use + (number < limit.burst % in_use)


def place_in(seen: Slice, limits: Limits, now_ms: int) -> Place | None:
    """The place for a job in a slice that has room and a turn, else None."""
    if not seen.has_room:
        return None
    turn = turn_in(seen, limits, now_ms)
    is_due = turn is None or turn.opens or seen.made < turn.most
    return Place(seen.number, mark_in(seen.number, limits), turn) if is_due else None


def mark_in(number: int, limits: Limits) -> int:
    """How a job is marked that a slice counts."""
    return ANYWHERE if limits.jobs is None else number


def freed_in(marks: Iterable[int], turn: int) -> Mapping[int, int]:
    """How many jobs each slice counts no more, by the marks of these jobs; `turn`: a number that goes up with time.

    Those that may be freed anywhere are freed in one slice, in turn: that may count less than none by it, and others
    more than there are. Their sum is right, and so is that of what is left of their shares.
    """
    return Counter(turn % SLICES if mark == ANYWHERE else mark for mark in marks)


def wait_ms(slices: Sequence[Slice], limit: CreateLimit, now_ms: int) -> int:
    """How long until the next stretch of time begins in one of these slices."""
    begins_ms = min(max(window_at(limit, now_ms), each.window) + 1 for each in slices) * limit.window_ms
    return max(begins_ms - now_ms, 1)


def shares_of(slices: Sequence[Slice], limits: Limits) -> list[int]:
    """What each slice may count so that all together count no more than the limit, whatever they count now.

    Where more is counted than the limit allows, none may count another job until the shares are given anew, however
    many places become free in it alone.
    """
    most = limits.jobs or 0
    left = most - sum(each.used for each in slices)
    if left < 0:
        return [NO_ROOM] * len(slices)
    in_use = slices_in_use(limits)
    return [
        each.used + (left // in_use + (each.number < left % in_use) if each.number < in_use else 0) for each in slices
    ]
