"""The dispatcher's decision: what is sent, what is skipped, and what comes next."""

from dataclasses import replace

import pytest

from carillon.domain.instants import format_instant, parse_instant
from carillon.domain.job import LONGEST_WINDOW_MS, JobState, Lane, MisfirePolicy, PlanningRules, Priority
from carillon.domain.planning import MOST_SENDS, DueJob, Plan, decide, skipped_record, window_offset
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule, encode

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
LOOK_AHEAD_MS = 60_000
JOB_ID = "job_01JABCDEFGHJKMNPQRSTVWXYZ0"


def entry(schedule: Schedule, scheduled_for: str, *, fire: str | None = None, **rules: object) -> DueJob:
    """A due job whose next occurrence is at an instant."""
    return DueJob(
        job_id=JOB_ID,
        tenant="acme",
        shard=0,
        next_fire_time=parse_instant(fire or scheduled_for),
        scheduled_for=parse_instant(scheduled_for),
        version=1,
        generation=1,
        lane=Lane.SHORT,
        priority=Priority.NORMAL,
        schedule=encode(schedule),
        rules=replace(PlanningRules(), **rules).encode(),  # type: ignore[arg-type]
    )


def at(plan: Plan) -> list[str]:
    """The nominal times sent, as text."""
    return [format_instant(one.scheduled_for)[11:16] for one in plan.sends]


def skipped(plan: Plan) -> int:
    """How many occurrences are skipped."""
    return sum(block.count for block in plan.skips)


FIVE = CronSchedule("*/5 * * * *", "UTC")


@pytest.mark.parametrize(
    ("policy", "sent", "skipped_count"),
    [
        (MisfirePolicy.FIRE_ALL, [f"{10 + m // 60}:{m % 60:02}" for m in range(5, 61, 5)], 0),
        (MisfirePolicy.FIRE_ONCE, ["11:00"], 11),
        (MisfirePolicy.SKIP, [], 12),
    ],
    ids=["B083-fire_all", "B083-fire_once", "B083-skip"],
)
def test_an_outage_of_an_hour_is_settled_by_the_policy(
    policy: MisfirePolicy, sent: list[str], skipped_count: int
) -> None:
    """Twelve missed occurrences are run, or the latest, or none; the next planned one is the same in all three."""
    due = entry(FIVE, "2026-06-01T10:05:00Z", misfire=policy)
    plan = decide(due, parse_instant("2026-06-01T11:03:00Z"), 0)
    assert at(plan) == sent
    assert skipped(plan) == skipped_count
    assert plan.upcoming is not None
    assert format_instant(plan.upcoming.scheduled_for) == "2026-06-01T11:05:00.000Z"
    assert plan.state is JobState.SCHEDULED


@pytest.mark.parametrize(
    ("expression", "sent"),
    [
        ("0,30 1 * * *", ["05:00", "05:30"]),
        ("*/30 1 * * *", ["05:00", "05:30", "06:00", "06:30"]),
    ],
    ids=["B085-fixed", "B085-wildcard"],
)
def test_missed_occurrences_are_listed_by_the_rule_of_live_ones(expression: str, sent: list[str]) -> None:
    """In a repeated hour a fixed time is missed once, a wildcard one in both passes."""
    schedule = CronSchedule(expression, "America/New_York")
    due = entry(schedule, "2025-11-02T05:00:00Z", misfire=MisfirePolicy.FIRE_ALL)
    assert at(decide(due, parse_instant("2025-11-02T07:10:00Z"), 0)) == sent


def test_b086_a_made_up_occurrence_is_missed_once() -> None:
    """B086: the occurrence moved out of a gap is missed once, and the next one is the day after."""
    schedule = CronSchedule("30 2 * * *", "America/New_York")
    plan = decide(entry(schedule, "2025-03-09T07:00:00Z"), parse_instant("2025-03-09T07:20:00Z"), 0)
    assert at(plan) == ["07:00"]
    assert plan.upcoming is not None
    assert format_instant(plan.upcoming.scheduled_for) == "2025-03-10T06:30:00.000Z"


@pytest.mark.parametrize(
    "decided_at",
    ["2026-06-01T06:59:52Z", "2026-06-01T07:00:00.020Z", "2026-06-01T07:00:40Z"],
    ids=["B106-fast-clock", "B245-just-after", "B089-late-look"],
)
def test_the_next_occurrence_counts_from_the_planned_one(decided_at: str) -> None:
    """Neither the end of a run nor a fast or slow clock moves the schedule."""
    hourly = CronSchedule("0 * * * *", "UTC")
    plan = decide(entry(hourly, "2026-06-01T07:00:00Z"), parse_instant(decided_at), 0)
    assert at(plan) == ["07:00"]
    assert plan.upcoming is not None
    assert format_instant(plan.upcoming.scheduled_for) == "2026-06-01T08:00:00.000Z"


@pytest.mark.parametrize(
    ("expression", "stored", "upcoming"),
    [
        ("0 9 * * *", "2026-06-01T08:00:00Z", "2026-06-02T09:00:00.000Z"),
        ("0 9 * * *", "2026-06-01T10:00:00Z", "2026-06-02T09:00:00.000Z"),
        ("30 * * * *", "2026-06-01T08:20:00Z", "2026-06-01T09:30:00.000Z"),
        ("0 1-23/2 * * *", "2026-06-01T08:00:00Z", "2026-06-01T09:00:00.000Z"),
        ("0 9 * * *", "2026-06-01T02:00:00Z", "2026-06-01T09:00:00.000Z"),
    ],
    ids=["twin-comes-later", "twin-is-past", "twin-by-minutes", "two-as-near", "no-twin"],
)
def test_what_was_planned_by_former_zone_rules_stands_for_its_twin(expression: str, stored: str, upcoming: str) -> None:
    """The next occurrence lies behind the twin, so that it does not run twice; punctual or missed, in turn or late."""
    due = entry(CronSchedule(expression, "UTC"), stored, misfire=MisfirePolicy.FIRE_ALL)
    for late_ms in (0, 100_000):
        plan = decide(due, parse_instant(stored) + late_ms, 0)
        assert [one.scheduled_for for one in plan.sends] == [parse_instant(stored)]
        assert plan.upcoming is not None
        assert format_instant(plan.upcoming.scheduled_for) == upcoming


def test_b091_thirty_days_of_missed_minutes_are_bounded() -> None:
    """B091: of 43,200 missed occurrences the newest hundred run, oldest first; the rest is one summary."""
    minutely = CronSchedule("* * * * *", "UTC")
    due = entry(minutely, "2026-06-01T00:00:00Z", misfire=MisfirePolicy.FIRE_ALL, max_catch_up=100)
    now_ms = parse_instant("2026-07-01T00:01:00Z")
    plan = decide(due, now_ms, 0)
    assert len(plan.sends) == 100
    assert [one.scheduled_for for one in plan.sends] == sorted(one.scheduled_for for one in plan.sends)
    assert format_instant(plan.sends[-1].scheduled_for) == "2026-06-30T23:59:00.000Z"
    (block,) = plan.skips
    assert (block.count, format_instant(block.first)) == (43_100, "2026-06-01T00:00:00.000Z")
    assert block.last == plan.sends[0].scheduled_for - MINUTE_MS
    record = skipped_record(due, block, plan.skip_reason, now_ms, retention_ms=0)
    assert (record.block, record.reason, record.scheduled_for) == (block, "misfire", block.last)


def test_b095_each_caught_up_occurrence_keeps_its_own_time() -> None:
    """B095: three missed hours are three sends with their own nominal times, in their order."""
    hourly = CronSchedule("0 * * * *", "UTC")
    due = entry(hourly, "2026-06-01T01:00:00Z", misfire=MisfirePolicy.FIRE_ALL)
    assert at(decide(due, parse_instant("2026-06-01T03:30:00Z"), 0)) == ["01:00", "02:00", "03:00"]


def test_b247_grace_longer_than_the_interval_repeats_nothing() -> None:
    """B247: an occurrence within its grace is sent, the current one too, each once."""
    minutely = CronSchedule("* * * * *", "UTC")
    due = entry(minutely, "2026-06-01T10:00:00Z", misfire_grace_ms=120_000)
    assert at(decide(due, parse_instant("2026-06-01T10:01:05Z"), 0)) == ["10:00", "10:01"]


@pytest.mark.parametrize(
    ("policy", "sent", "state"),
    [
        (MisfirePolicy.FIRE_ONCE, ["12:00"], JobState.DISPATCHED),
        (MisfirePolicy.FIRE_ALL, ["12:00"], JobState.DISPATCHED),
        (MisfirePolicy.SKIP, [], JobState.COMPLETED),
    ],
)
def test_a_missed_one_off_ends(policy: MisfirePolicy, sent: list[str], state: JobState) -> None:
    """A one-off noticed late runs or is skipped with a record, and nothing comes after it."""
    due = entry(OneOff(parse_instant("2026-06-01T12:00:00Z")), "2026-06-01T12:00:00Z", misfire=policy)
    plan = decide(due, parse_instant("2026-06-01T13:00:00Z"), LOOK_AHEAD_MS)
    assert (at(plan), plan.upcoming, plan.state) == (sent, None, state)
    assert skipped(plan) == 1 - len(sent)


def test_the_look_ahead_sends_all_that_falls_into_it() -> None:
    """Occurrences up to the look-ahead are sent with their due times, and the next one lies behind it."""
    start = parse_instant("2026-06-01T12:00:00Z")
    plan = decide(entry(Every(10_000, start), "2026-06-01T12:00:10Z"), start, LOOK_AHEAD_MS)
    assert [one.due_ms - start for one in plan.sends] == [10_000, 20_000, 30_000, 40_000, 50_000, 60_000]
    assert plan.upcoming is not None
    assert plan.upcoming.scheduled_for == start + 70_000


def test_one_decision_sends_a_bounded_number() -> None:
    """What is beyond the bound stays due: nothing between two decisions is lost."""
    start = parse_instant("2026-06-01T12:00:00Z")
    due = entry(Every(1_000, start), "2026-06-01T12:00:01Z")
    first = decide(due, start, 900_000)
    assert len(first.sends) == MOST_SENDS
    assert first.upcoming is not None
    assert first.upcoming.scheduled_for == first.sends[-1].scheduled_for + 1_000


def test_max_runs_ends_the_job() -> None:
    """The job completes with its last planned run, also in the middle of a look-ahead."""
    start = parse_instant("2026-06-01T12:00:00Z")
    due = replace(entry(Every(10_000, start), "2026-06-01T12:00:10Z", max_runs=5), planned=3)
    plan = decide(due, start, LOOK_AHEAD_MS)
    assert len(plan.sends) == 2
    assert (plan.upcoming, plan.planned, plan.state) == (None, 5, JobState.COMPLETED)


def test_grace_counts_from_a_moved_fire_time() -> None:
    """An occurrence that a limit moved is on time at its moved time, however old its nominal time is."""
    due = entry(
        OneOff(parse_instant("2026-06-01T12:00:00Z")),
        "2026-06-01T12:00:00Z",
        fire="2026-06-01T14:00:00Z",
        misfire=MisfirePolicy.SKIP,
    )
    plan = decide(due, parse_instant("2026-06-01T14:00:01Z"), 0)
    assert [(one.scheduled_for, one.due_ms) for one in plan.sends] == [(due.scheduled_for, due.next_fire_time)]


@pytest.mark.parametrize(
    ("late_ms", "sent"), [(0, ["12:00"]), (60_000, ["12:00"]), (60_001, [])], ids=["due", "at-its-grace", "beyond"]
)
@pytest.mark.parametrize("window_ms", [0, LONGEST_WINDOW_MS])
def test_the_grace_ends_with_its_last_millisecond(window_ms: int, late_ms: int, sent: list[str]) -> None:
    """Lateness counts from when a run is due, its place in the window included; as late as the grace is on time."""
    nominal = parse_instant("2026-06-01T12:00:00Z")
    due_ms = nominal + window_offset(JOB_ID, window_ms)
    rules = {"misfire": MisfirePolicy.SKIP, "window_ms": window_ms}
    due = entry(OneOff(nominal), "2026-06-01T12:00:00Z", fire=format_instant(due_ms), **rules)
    plan = decide(due, due_ms + late_ms, LOOK_AHEAD_MS)
    assert (at(plan), skipped(plan)) == (sent, 1 - len(sent))


def test_a_window_is_not_sent_ahead_of_its_time() -> None:
    """The look-ahead is one of due times: of the nominal times within the window only the first is sent."""
    nominal = parse_instant("2026-06-01T12:00:00Z")
    due_ms = nominal + window_offset(JOB_ID, LONGEST_WINDOW_MS)
    assert due_ms - nominal > HOUR_MS
    hourly = CronSchedule("0 * * * *")
    due = entry(hourly, "2026-06-01T12:00:00Z", fire=format_instant(due_ms), window_ms=LONGEST_WINDOW_MS)
    plan = decide(due, due_ms - LOOK_AHEAD_MS, LOOK_AHEAD_MS)
    assert [(one.scheduled_for, one.due_ms) for one in plan.sends] == [(nominal, due_ms)]
    assert plan.upcoming is not None
    assert (plan.upcoming.scheduled_for, plan.upcoming.due_ms) == (nominal + HOUR_MS, due_ms + HOUR_MS)


@pytest.mark.parametrize(("missed", "records"), [(1, 1), (10, 10), (11, 1), (500, 1)])
def test_up_to_ten_missed_occurrences_have_a_record_each(missed: int, records: int) -> None:
    """More than ten share one; the counts add up either way."""
    start = parse_instant("2026-06-01T12:00:00Z")
    due = entry(Every(60_000, start), "2026-06-01T12:01:00Z", misfire=MisfirePolicy.SKIP, misfire_grace_ms=0)
    plan = decide(due, start + missed * MINUTE_MS + 1, 0)
    assert (len(plan.skips), skipped(plan), at(plan)) == (records, missed, [])


@pytest.mark.parametrize("damage", ["schedule", "rules"])
def test_a_damaged_definition_raises_at_once(damage: str) -> None:
    """B185: what cannot be decided says so, so that the dispatcher can set it aside."""
    due = replace(entry(FIVE, "2026-06-01T10:05:00Z"), **{damage: "nonsense"})  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        decide(due, parse_instant("2026-06-01T10:05:00Z"), 0)


def test_a_takeover_decides_what_the_first_owner_did() -> None:
    """The plan depends on the entry and the instant of the decision only."""
    due = entry(FIVE, "2026-06-01T10:05:00Z")
    decided_at = parse_instant("2026-06-01T10:05:01Z")
    assert decide(due, decided_at, LOOK_AHEAD_MS) == decide(replace(due), decided_at, LOOK_AHEAD_MS)
