"""Slots: when each of a tenant's occurrences may start under its rate, as a pure function of a calendar.

This is the generic cell rate algorithm (ITU-T I.371, annex A) with a memory. Its single number, the theoretical arrival
time, is enough while occurrences come in the order in which they start. Ours do not: what is due in a minute is claimed
now, what is created meanwhile is due before it, and it must not queue behind what lies ahead.

So time is cut into cells of one interval each, and each slot takes one. An occurrence takes the first free cell from
`burst` - 1 cells before its own on, and starts at the beginning of that cell, or when it is due if that is later. In
any span of time no more start than its cells, and `burst`. In order of time that is GCRA, cell by cell. A cell is never
given twice; forgetting that one is free wastes it, and does no other harm.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

MOST_BLOCKS = 64
"""Blocks of taken cells that a calendar remembers: beyond, the smallest gaps between them are given up."""

LONGEST_INTERVAL_US = 1_000_000_000
"""One start in a thousand seconds is the lowest rate there is."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How densely starts may follow each other: one an interval (in microseconds), and `burst` at once after a rest."""

    interval_us: int
    burst: int

    def __post_init__(self) -> None:
        if not 1 <= self.interval_us <= LONGEST_INTERVAL_US or self.burst < 1:
            raise ValueError("an interval is 1 us to 1000 s, a burst 1 or more")

    def cell_of(self, instant_ms: int) -> int:
        """The cell in which an instant lies."""
        return instant_ms * 1000 // self.interval_us

    def start_of(self, cell: int) -> int:
        """The first millisecond of a cell."""
        return -(-cell * self.interval_us // 1000)

    def first_usable(self, instant_ms: int) -> int:
        """The first cell that an occurrence of this instant may take."""
        return self.cell_of(instant_ms) - self.burst + 1


@dataclass(frozen=True, slots=True)
class Calendar:
    """Which cells are taken: blocks [first, end) in ascending order, none touching another. None is below `floor`."""

    interval_us: int
    floor: int
    blocks: tuple[tuple[int, int], ...] = ()

    @property
    def over_at_ms(self) -> int:
        """From when on it says nothing more, epoch ms: whatever is taken has begun."""
        end = self.blocks[-1][1] if self.blocks else self.floor
        return -(-end * self.interval_us // 1000)

    def encode(self) -> str:
        """The stored text: interval, floor, then the gap before each block and its length."""
        parts, at = [str(self.interval_us), str(self.floor)], self.floor
        for first, end in self.blocks:
            parts.append(f"{first - at}+{end - first}")
            at = end
        return " ".join(parts)

    @classmethod
    def decode(cls, text: str) -> "Calendar":
        """The calendar in a stored text.

        Raises:
            ValueError: it is damaged.
        """
        interval_us, floor, *parts = text.split(" ")
        blocks, at = [], int(floor)
        for part in parts:
            gap, length = map(int, part.split("+"))
            if gap < 0 or length < 1:
                raise ValueError("blocks of a calendar overlap")
            blocks.append((at + gap, at + gap + length))
            at += gap + length
        return cls(int(interval_us), int(floor), tuple(blocks))


def allot(
    calendar: Calendar | None, pace: Pace, chains: Sequence[Sequence[int]], now_ms: int, horizon_ms: int
) -> tuple[Calendar, list[tuple[int, ...]]]:
    """Give each occurrence of these chains its slot, until a slot lies beyond the horizon.

    Args:
        calendar: what is taken so far; None, or one of another interval: nothing.
        pace: the pace.
        chains: what starts in turn, each chain by itself: the instants (epoch ms) before which its occurrences must not
            start, ascending.
        now_ms: the present; nothing starts earlier.
        horizon_ms: of each chain, the first slot beyond this instant is its last: what is behind it has to ask again.

    Returns:
        The calendar afterwards, and for each chain its slots (epoch ms), ascending: one an occurrence, or fewer when
        the last one lies beyond the horizon.
    """
    cells = _Cells(calendar, pace, now_ms)
    slots: list[list[int]] = [[] for _ in chains]
    waiting = [(max(chain[0], now_ms), number) for number, chain in enumerate(chains) if chain]
    heapify(waiting)
    while waiting:
        wanted_ms, number = heappop(waiting)
        slot_ms = cells.take(wanted_ms)
        slots[number].append(slot_ms)
        if slot_ms <= horizon_ms and len(slots[number]) < len(chains[number]):
            heappush(waiting, (max(chains[number][len(slots[number])], slot_ms), number))
    return cells.as_calendar(), [tuple(own) for own in slots]


class _Cells:
    """A calendar being filled."""

    def __init__(self, calendar: Calendar | None, pace: Pace, now_ms: int) -> None:
        self._pace = pace
        self._floor = pace.first_usable(now_ms)
        known = calendar if calendar and calendar.interval_us == pace.interval_us else None
        if known:
            self._floor = max(self._floor, known.floor)
        left = [(max(first, self._floor), end) for first, end in (known.blocks if known else ()) if end > self._floor]
        self._firsts, self._ends = [first for first, _ in left], [end for _, end in left]

    def take(self, wanted_ms: int) -> int:
        """Take a cell for an occurrence that must not start before an instant; returns its slot."""
        cell = max(self._floor, self._pace.first_usable(wanted_ms))
        block = bisect_right(self._firsts, cell) - 1
        if block >= 0 and self._ends[block] > cell:
            cell = self._ends[block]
        self._fill(cell, block)
        return max(wanted_ms, self._pace.start_of(cell))

    def as_calendar(self) -> Calendar:
        """What is taken now."""
        blocks = list(zip(self._firsts, self._ends, strict=True))
        return Calendar(self._pace.interval_us, self._floor, tuple(_without_smallest_gaps(blocks)))

    def _fill(self, cell: int, before: int) -> None:
        """Add a free cell behind the block of that position (-1: none), which it may touch, as the next one."""
        after = before + 1
        touches_before = before >= 0 and self._ends[before] == cell
        touches_after = after < len(self._firsts) and self._firsts[after] == cell + 1
        if touches_before and touches_after:
            self._ends[before] = self._ends.pop(after)
            del self._firsts[after]
        elif touches_before:
            self._ends[before] = cell + 1
        elif touches_after:
            self._firsts[after] = cell
        else:
            self._firsts.insert(after, cell)
            self._ends.insert(after, cell + 1)


def _without_smallest_gaps(blocks: Sequence[tuple[int, int]]) -> Iterable[tuple[int, int]]:
    """At most so many blocks: the cells of the smallest gaps count as taken."""
    excess = len(blocks) - MOST_BLOCKS
    if excess <= 0:
        return blocks
    by_gap = sorted(range(1, len(blocks)), key=lambda at: blocks[at][0] - blocks[at - 1][1])
    closed = frozenset(by_gap[:excess])
    joined: list[tuple[int, int]] = []
    for at, (first, end) in enumerate(blocks):
        joined.append((joined.pop()[0], end) if at in closed else (first, end))
    return joined
