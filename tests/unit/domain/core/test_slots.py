"""Slots: one cell each, none twice, none early, and no more in any span of time than the pace allows."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carillon.domain.slots import LONGEST_INTERVAL_US, MOST_BLOCKS, Calendar, Pace, allot

NOW_MS = 1_790_000_000_000
FAR_MS = NOW_MS + 10**12
TEN_A_SECOND = Pace(100_000, 1)
LATER_MS = st.integers(0, 20_000).map(lambda after_ms: NOW_MS + after_ms)
PACES = st.builds(
    Pace, st.sampled_from([333, 1_000, 33_333, 100_000, 333_333, 1_000_000, 7_000_000]), st.integers(1, 9)
)


def slots_of(pace: Pace, *wanted_ms: int, calendar: Calendar | None = None, now_ms: int = NOW_MS) -> list[int]:
    """The slots of occurrences that ask together, as offsets from the present."""
    _, slots = allot(calendar, pace, [[each_ms] for each_ms in wanted_ms], now_ms, FAR_MS)
    return [slot_ms - NOW_MS for (slot_ms,) in slots]


@pytest.mark.parametrize(
    ("pace", "after_ms", "slots_ms"),
    [
        pytest.param(TEN_A_SECOND, [0, 0, 0], [0, 100, 200], id="one an interval"),
        pytest.param(Pace(100_000, 3), [0, 0, 0, 0, 0], [0, 0, 0, 100, 200], id="a burst after a rest"),
        pytest.param(TEN_A_SECOND, [0, 500, 500], [0, 500, 600], id="never before it is due"),
        pytest.param(TEN_A_SECOND, [-9_000, -5_000], [0, 100], id="late: from the present on"),
        pytest.param(TEN_A_SECOND, [550, 560], [550, 600], id="within its cell"),
        pytest.param(Pace(333_333, 1), [0, 0, 0, 0], [0, 333, 666, 1000], id="three a second"),
        pytest.param(Pace(LONGEST_INTERVAL_US, 1), [0, 0], [0, 1_000_000], id="the lowest rate"),
        pytest.param(Pace(100, 1), [0] * 11, [0] * 10 + [1], id="ten a millisecond"),
    ],
)
def test_slots_follow_the_pace(pace: Pace, after_ms: list[int], slots_ms: list[int]) -> None:
    """Occurrences of a rested tenant that begin a cell."""
    start_ms = -(-NOW_MS // 1_000_000) * 1_000_000  # all these intervals have a cell that begins here
    _, slots = allot(None, pace, [[start_ms + each_ms] for each_ms in after_ms], start_ms, FAR_MS)
    found = sorted(slot_ms - start_ms for (slot_ms,) in slots)
    assert found == pytest.approx(slots_ms, abs=1)


def test_what_is_due_sooner_is_not_behind_what_is_due_later() -> None:
    """An occurrence that asks after one of the next minute still starts when it is due: the cells before are free."""
    calendar, _ = allot(None, TEN_A_SECOND, [[NOW_MS + 60_000]], NOW_MS, FAR_MS)
    assert slots_of(TEN_A_SECOND, NOW_MS + 1_000, calendar=calendar) == [1_000]
    assert slots_of(TEN_A_SECOND, NOW_MS + 60_000, calendar=calendar) == [60_100]


def test_a_chain_ends_with_its_first_slot_beyond_the_horizon() -> None:
    """What is behind it takes no slot: it would be wasted."""
    calendar, slots = allot(None, TEN_A_SECOND, [[NOW_MS] * 100, [NOW_MS] * 2], NOW_MS, NOW_MS + 450)
    assert [[slot_ms - NOW_MS for slot_ms in chain] for chain in slots] == [[0, 100, 300, 500], [200, 400]]
    assert calendar.blocks[-1][1] - calendar.blocks[0][0] == 6


def test_an_empty_chain_gets_nothing() -> None:
    """Nothing asked, nothing given."""
    assert allot(None, TEN_A_SECOND, [[], []], NOW_MS, FAR_MS)[1] == [(), ()]


def test_another_interval_begins_anew() -> None:
    """What was taken under another rate means nothing under this one."""
    calendar, _ = allot(None, Pace(1_000_000, 1), [[NOW_MS]] * 500, NOW_MS, FAR_MS)
    assert slots_of(TEN_A_SECOND, NOW_MS, calendar=calendar) == [0]


def test_a_clock_that_is_behind_gets_nothing_that_was_forgotten() -> None:
    """The past is forgotten by whoever's clock is ahead; who comes later with a slower one starts from there."""
    ahead, _ = allot(None, TEN_A_SECOND, [[NOW_MS]] * 3, NOW_MS, FAR_MS)
    forgotten, _ = allot(ahead, TEN_A_SECOND, [[NOW_MS + 30_000]], NOW_MS + 30_000, FAR_MS)
    assert slots_of(TEN_A_SECOND, NOW_MS, calendar=forgotten) == [30_100]


@given(PACES, st.lists(LATER_MS, min_size=1, max_size=60), st.data())
def test_in_any_span_no_more_start_than_its_cells_and_the_burst(
    pace: Pace, wanted: list[int], data: st.DataObject
) -> None:
    """However they ask, in whatever order and batches: one more than by GCRA at most, for the cells begin on a grid."""
    starts: list[int] = []
    calendar: Calendar | None = None
    while wanted:
        size = data.draw(st.integers(1, len(wanted)))
        batch, wanted = wanted[:size], wanted[size:]
        calendar, slots = allot(calendar, pace, [[each] for each in batch], NOW_MS, FAR_MS)
        assert all(slot_ms >= due_ms for (slot_ms,), due_ms in zip(slots, batch, strict=True))
        calendar = Calendar.decode(calendar.encode())
        starts.extend(slot_ms for (slot_ms,) in slots)
    starts.sort()
    for at, first_ms in enumerate(starts):
        for count, last_ms in enumerate(starts[at:], 1):
            assert count <= (last_ms - first_ms + 1) * 1000 / pace.interval_us + pace.burst + 1


@given(PACES, st.lists(LATER_MS, min_size=1, max_size=60))
def test_in_order_of_time_the_slots_are_those_of_gcra(pace: Pace, wanted: list[int]) -> None:
    """Cell by cell, the plain algorithm with its one number gives the same."""
    cells: list[int] = []
    arrival_cell = pace.first_usable(NOW_MS)
    for due_ms in sorted(wanted):
        arrival_cell = max(arrival_cell, pace.first_usable(due_ms))
        cells.append(max(due_ms, pace.start_of(arrival_cell)))
        arrival_cell += 1
    assert slots_of(pace, *sorted(wanted)) == [slot_ms - NOW_MS for slot_ms in cells]


@given(PACES, st.lists(st.lists(LATER_MS, max_size=8).map(sorted), max_size=12), st.integers(0, 30_000))
def test_no_cell_is_given_twice(pace: Pace, chains: list[list[int]], horizon: int) -> None:
    """There are as many taken cells as slots; each chain's slots ascend, and stop only behind the horizon."""
    calendar, slots = allot(None, pace, chains, NOW_MS, NOW_MS + horizon)
    assert sum(end - first for first, end in calendar.blocks) == sum(map(len, slots))
    for chain, own in zip(chains, slots, strict=True):
        assert list(own) == sorted(own)
        assert all(slot_ms <= NOW_MS + horizon for slot_ms in own[:-1])
        assert len(own) == len(chain) or own[-1] > NOW_MS + horizon


def test_a_calendar_stays_small() -> None:
    """Of many blocks the smallest gaps are given up, so that what is left is free still and nothing is given twice."""
    wanted = [NOW_MS + 1_000 * number + (500 if number % 7 == 0 else 0) for number in range(3 * MOST_BLOCKS)]
    calendar, _ = allot(None, TEN_A_SECOND, [[each] for each in wanted], NOW_MS, FAR_MS)
    assert len(calendar.blocks) == MOST_BLOCKS
    assert all(before[1] < after[0] for before, after in pairwise(calendar.blocks))
    taken = {TEN_A_SECOND.cell_of(each) for each in wanted}
    assert all(any(first <= cell < end for first, end in calendar.blocks) for cell in taken)
    assert len(calendar.encode()) < 1_000


@pytest.mark.parametrize("text", ["", "100000", "100000 5 -1+2", "100000 5 1+0", "100000 5 1", "x 5", "100000 5 1+1 "])
def test_a_damaged_calendar_is_told(text: str) -> None:
    """What is no calendar is refused as such."""
    with pytest.raises(ValueError):
        Calendar.decode(text)


@pytest.mark.parametrize(("interval_us", "burst"), [(0, 1), (LONGEST_INTERVAL_US + 1, 1), (1, 0)])
def test_an_impossible_pace_is_refused(interval_us: int, burst: int) -> None:
    """A pace has an interval and a burst within bounds."""
    with pytest.raises(ValueError, match="an interval is"):
        Pace(interval_us, burst)
