"""What holds for every schedule, and for the text under which it is stored."""

from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from carillon.domain.instants import LAST_INSTANT_MS
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule, ScheduleError, decode, encode
from tests.unit.domain.time.oracles import NASTY_ZONES, random_expression, random_instant_near_a_change

INSTANTS = st.integers(0, LAST_INSTANT_MS)
SOON = st.integers(0, 4 * 10**12)
BOUNDS = st.tuples(st.none() | SOON, st.none() | SOON).filter(lambda pair: None in pair or pair[0] <= pair[1])
EXPRESSIONS = st.sampled_from(
    [
        "* * * * *",
        "*/7 1-3 * * *",
        "30 2 * * *",
        "0 0 29 2 *",
        "0 0 L-3 * *",
        "15 10 15W * 1",
        "0,30 1 * * SUN",
        "0 */2 1 * *",
        "@weekly",
    ]
)
ZONES = st.sampled_from(
    ["America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Pacific/Apia", "UTC", "Antarctica/Troll", "Asia/Gaza"]
)
GAPS, OVERLAPS = st.sampled_from(["shift", "skip"]), st.sampled_from(["first", "last", "both"])
SEEDED_EXPRESSIONS = st.integers(0, 10**9).map(
    lambda seed: random_expression(Random(seed), extended=True)  # noqa: S311 - reproducible, not secret
)
CRONS = st.builds(
    lambda expression, zone, gap, overlap, bounds: CronSchedule(expression, zone, gap, overlap, *bounds),
    EXPRESSIONS, ZONES, GAPS, OVERLAPS, BOUNDS,
)  # fmt: skip
EVERYS = st.builds(
    lambda interval, anchor, bounds: Every(interval, anchor, *bounds), st.integers(1_000, 10**11), SOON, BOUNDS
)
SCHEDULES = CRONS | EVERYS | st.builds(OneOff, SOON)


@st.composite
def near_a_change(draw: st.DrawFn) -> tuple[Schedule, int]:
    """A dense cron schedule without bounds, and an instant near a change of its zone's clock."""
    zone, gap, overlap = draw(ZONES), draw(GAPS), draw(OVERLAPS)
    seed = draw(st.integers(0, 10**6))
    at_ms = random_instant_near_a_change(Random(seed), zone)  # noqa: S311 - reproducible, not secret
    return CronSchedule(draw(SEEDED_EXPRESSIONS), zone, gap, overlap), at_ms


QUESTIONS = st.tuples(SCHEDULES, SOON) | near_a_change()


@settings(derandomize=True, max_examples=300)
@given(QUESTIONS, st.integers(0, 10**11))
def test_the_next_time_is_later_and_there_is_none_between(question: tuple[Schedule, int], step_ms: int) -> None:
    """Strictly later always, and the same answer from any instant before it: asking late or often changes nothing."""
    schedule, after_ms = question
    upcoming = schedule.next_after(after_ms)
    assume(upcoming is not None)
    assert upcoming is not None
    assert upcoming > after_ms
    assert schedule.next_after(min(after_ms + step_ms, upcoming - 1)) == upcoming
    later = schedule.next_after(upcoming)
    assert later is None or later > upcoming


@settings(derandomize=True, max_examples=300)
@given(QUESTIONS)
def test_next_and_previous_are_inverse(question: tuple[Schedule, int]) -> None:
    """From a nominal time one forth and one back is the same nominal time."""
    schedule, after_ms = question
    first = schedule.next_after(after_ms)
    second = None if first is None else schedule.next_after(first)
    assume(second is not None)
    assert second is not None
    assert schedule.previous_before(second) == first
    assert schedule.previous_before(second + 1) == second


@settings(derandomize=True, max_examples=300)
@given(QUESTIONS, st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_planning_again_changes_nothing(question: tuple[Schedule, int], moments: list[float]) -> None:
    """However often the next time is planned anew before it comes, from the stored text, it is the same."""
    schedule, after_ms = question
    last = schedule.next_after(after_ms)
    planned = None if last is None else schedule.next_after(last)
    assume(planned is not None)
    assert planned is not None
    assert last is not None
    stored = encode(schedule)
    for moment in moments:
        again = decode(stored)
        assert again.next_after(last) == planned
        assert again.next_after(last + int(moment * (planned - last - 1))) == planned
        stored = encode(again)


@settings(derandomize=True, max_examples=300)
@given(QUESTIONS)
def test_a_walk_back_retraces_the_walk_forth(question: tuple[Schedule, int]) -> None:
    """Seven times forth by next and the same seven back by previous: nothing lost, nothing twice."""
    schedule, after_ms = question
    forth = list(schedule.between(after_ms, LAST_INSTANT_MS, 7))
    back, at_ms = list[int](), forth[-1] + 1 if forth else after_ms
    while len(back) < len(forth):
        earlier = schedule.previous_before(at_ms)
        assert earlier is not None
        back.append(earlier)
        at_ms = earlier
    assert back[::-1] == forth


def test_walks_across_clock_changes_can_be_retraced() -> None:
    """So many that made-up, moved and doubled times are among them: forth and back, and from the stored text."""
    random = Random(20261130)  # noqa: S311 - reproducible, not secret
    for _ in range(3_000):
        zone = random.choice(NASTY_ZONES)
        gap, overlap = random.choice(("shift", "skip")), random.choice(("first", "last", "both"))
        schedule = CronSchedule(random_expression(random, extended=True), zone, gap, overlap)
        at_ms = random_instant_near_a_change(random, zone)
        forth = list(schedule.between(at_ms, at_ms + 3 * 86_400_000, 3))
        assert list(decode(encode(schedule)).between(at_ms, at_ms + 3 * 86_400_000, 3)) == forth
        assert [schedule.previous_before(later) for later in forth[1:]] == forth[:-1], (schedule, at_ms)


@settings(derandomize=True, max_examples=200)
@given(QUESTIONS, st.integers(0, 3 * 86_400_000))
def test_counting_newest_and_listing_agree(question: tuple[Schedule, int], length_ms: int) -> None:
    """The count, the newest few and the summary are those of the list."""
    schedule, after_ms = question
    until_ms = after_ms + length_ms
    listed = list(schedule.between(after_ms, until_ms, 5_000))
    assert schedule.count(after_ms, until_ms) == len(listed) or len(listed) == 5_000
    assert schedule.newest(after_ms, until_ms, 3) == tuple(listed[-3:]) or len(listed) == 5_000
    missed = schedule.missed(after_ms, until_ms, 3)
    assert (missed is None) is (not listed)
    assert missed is None or missed.first_ms == listed[0]


@settings(derandomize=True, max_examples=300)
@given(SCHEDULES)
def test_a_schedule_survives_storage_byte_for_byte(schedule: Schedule) -> None:
    """The stored text gives the schedule back, and the schedule the text, to the byte and through UTF-8."""
    text = encode(schedule)
    stored = text.encode("utf-8")
    assert decode(stored.decode("utf-8")) == schedule
    assert encode(decode(text)).encode("utf-8") == stored
    assert text.isascii()
    assert len(stored) <= 200


@settings(derandomize=True, max_examples=300)
@given(SEEDED_EXPRESSIONS | st.text("0123456789,-/*LW#? aMONjan@hourly\t", max_size=20), ZONES)
def test_whatever_is_accepted_survives_storage(expression: str, zone: str) -> None:
    """Any expression is refused with a reason, or comes back from its stored text and runs at the same times."""
    try:
        schedule = CronSchedule(expression, zone)
    except ScheduleError:
        return
    again = decode(encode(schedule))
    assert again == schedule
    assert encode(again) == encode(schedule)
    assert list(again.between(0, LAST_INSTANT_MS, 3)) == list(schedule.between(0, LAST_INSTANT_MS, 3))


def test_schedules_are_values() -> None:
    """Equal parts make equal schedules, which can be keys of a cache."""
    assert len({CronSchedule("0 9 * * 1", "UTC"), CronSchedule("0 9  * * 1"), Every(1_000, 5), Every(1_000, 5)}) == 2


@pytest.mark.parametrize(
    "text",
    [
        "", "at|", "at|01", "at|-1", "at|5 ", "at|5\n", "at|99999999999999999", "at|\u0665", "every|60000|5",
        "every|999|5||", "every|1000|5|9|8",
        "cron|shift|first|||UTC|0  9 * * *", "cron|shift|first|||utc|0 9 * * *", "cron|late|first|||UTC|0 9 * * *",
        "cron|shift|never|||UTC|0 9 * * *", "cron|shift|first|||UTC|0 9 * *",
        "cron|shift|first|||UTC|0 0 30 2 *", "after|5",
    ],
)  # fmt: skip
def test_a_damaged_text_is_refused(text: str) -> None:
    """Only what `encode` writes is read; anything else is one kind of error."""
    with pytest.raises(ScheduleError):
        decode(text)


def test_only_our_schedules_have_a_stored_form() -> None:
    """A kind of schedule without a stored form is a mistake of the program."""

    class Never(Schedule):
        def next_after(self, after_ms: int) -> None: ...

        def previous_before(self, before_ms: int) -> None: ...

        def count(self, after_ms: int, until_ms: int) -> int:
            return 0 * (until_ms - after_ms)

    with pytest.raises(TypeError, match="Never"):
        encode(Never())
