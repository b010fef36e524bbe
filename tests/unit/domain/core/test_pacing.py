"""A plan in its slots: what is sent, what waits, and that nothing is told of twice."""

from carillon.domain.job import JobState
from carillon.domain.pacing import Slots, paced
from carillon.domain.planning import Occurrence, Plan
from carillon.domain.run import SkippedBlock

HORIZON_MS = 10_000


def plan(*sends: int, skips: tuple[SkippedBlock, ...] = ()) -> Plan:
    """These are sent, each when it is due, and 20 s is next."""
    return Plan(
        sends=tuple(Occurrence(at_ms, at_ms) for at_ms in sends),
        skips=skips,
        upcoming=Occurrence(20_000, 20_000),
        planned=7 + len(sends),
        state=JobState.SCHEDULED,
    )


def test_what_has_its_slot_within_the_horizon_is_sent_there() -> None:
    """The next occurrence is what it was."""
    told = paced(plan(1_000, 2_000), Slots((1_000, 4_000), granted=False), HORIZON_MS)
    assert [(one.scheduled_for, one.due_ms) for one in told.sends] == [(1_000, 1_000), (2_000, 4_000)]
    assert (told.upcoming, told.planned) == (Occurrence(20_000, 20_000), 9)


def test_the_first_beyond_the_horizon_is_due_at_its_slot() -> None:
    """It counts as not planned yet."""
    told = paced(plan(1_000, 2_000, 3_000), Slots((1_000, 11_000), granted=True), HORIZON_MS)
    assert [one.scheduled_for for one in told.sends] == [1_000]
    assert (told.upcoming, told.planned, told.granted) == (Occurrence(2_000, 11_000), 8, True)


def test_what_would_be_skipped_behind_the_held_one_is_decided_with_it() -> None:
    """Else the decision at its slot would skip the same occurrences again, in another record."""
    before, behind = SkippedBlock(2, 100, 200), SkippedBlock(20, 1_100, 1_900)
    held_first = paced(plan(1_000, 2_000, skips=(behind,)), Slots((11_000,), granted=True), HORIZON_MS)
    assert (held_first.sends, held_first.skips, held_first.upcoming) == ((), (), Occurrence(1_000, 11_000))
    held_second = paced(plan(1_000, 2_000, skips=(before, behind)), Slots((1_000, 11_000), granted=True), HORIZON_MS)
    assert held_second.skips == (before, behind)
    assert held_second.upcoming == Occurrence(2_000, 11_000)
