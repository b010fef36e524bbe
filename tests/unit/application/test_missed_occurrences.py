"""What becomes of occurrences that nobody was there to send, told through the whole system by its records and calls."""

from functools import partial

import pytest

from carillon.application.edit_job import Edit, EditJob
from carillon.domain import editing
from carillon.domain.instants import format_instant, parse_instant
from carillon.domain.job import JobState, MisfirePolicy, PlanningRules
from carillon.domain.outcomes import CallRequest, Outcome, answered
from carillon.domain.run import RunState
from carillon.domain.schedule import CronSchedule, Every, OneOff
from support.world import DAY_MS, TENANT, Fault, World, dies

SECOND_MS, MINUTE_MS = 1_000, 60_000
ALL, ONCE, SKIP = MisfirePolicy.FIRE_ALL, MisfirePolicy.FIRE_ONCE, MisfirePolicy.SKIP


def world_at(time: str, *, fault: Fault | None = None) -> World:
    """A world on the day of these stories, whose dispatchers look a minute ahead."""
    world = World(fault=fault)
    world.clock.set(on_the_day(time))
    return world


def on_the_day(time: str) -> int:
    """An instant of 2027-06-01, epoch ms."""
    return parse_instant(f"2027-06-01T{time}Z")


def clock_of(instant_ms: int | None) -> str | None:
    """The time of day, without its seconds."""
    return None if instant_ms is None else format_instant(instant_ms)[11:16]


def records(world: World, job_id: str) -> list[tuple[str | None, str, str | None, int]]:
    """Each record of a job, oldest first: nominal time, state, reason, and how many occurrences it stands for."""
    return [
        (clock_of(run.scheduled_for), run.state.value, run.reason, run.block.count if run.block else 1)
        for run in world.history(job_id)
    ]


def called(world: World, job_id: str) -> list[str]:
    """The nominal times that the calls of a job carried, in the order of the calls."""
    headers = [dict(request.headers) for request, _ in world.caller.calls]
    return [one["Carillon-Scheduled-For"][11:16] for one in headers if one["Carillon-Job-Id"] == job_id]


def look(world: World) -> None:
    """One look of the dispatcher, and the workers do what is there."""
    world.dispatch()
    world.work()


def edit(world: World, job_id: str, change: Edit) -> None:
    """Edit a job now, by the use case."""
    EditJob(world.jobs, world.runs, 30 * DAY_MS)(TENANT, job_id, world.clock.now_ms(), change)


TWELVE = [f"{10 + minute // 60}:{minute % 60:02}" for minute in range(5, 61, 5)]


@pytest.mark.parametrize(
    ("policy", "made_up", "skipped"),
    [
        pytest.param(ALL, TWELVE, [], id="B083-fire_all"),
        pytest.param(ONCE, ["11:00"], [("10:55", "skipped", "misfire", 11)], id="B083-fire_once"),
        pytest.param(SKIP, [], [("11:00", "skipped", "misfire", 12)], id="B083-skip"),
    ],
)
def test_an_outage_of_an_hour(
    policy: MisfirePolicy, made_up: list[str], skipped: list[tuple[str, str, str, int]]
) -> None:
    """Fired at 10:00, nothing from 10:02 to 11:03: what was missed by the policy, and 11:05 on time in any case."""
    world = world_at("09:59:50")
    job_id = world.create(CronSchedule("*/5 * * * *"), rules=PlanningRules(misfire=policy))
    world.run_until(on_the_day("10:02:00"))
    world.clock.set(on_the_day("11:03:00"))
    look(world)
    assert clock_of(world.state.jobs[job_id].scheduled_for) == "11:05"
    world.run_until(on_the_day("11:05:02"))
    assert called(world, job_id) == ["10:00", *made_up, "11:05"]
    ran = [(time, "succeeded", None, 1) for time in ("10:00", *made_up, "11:05")]
    assert records(world, job_id) == sorted([*ran, *skipped])


@pytest.mark.parametrize("act", ["create", "change", "resume"])
def test_b088_an_act_on_one_job_plans_no_other(act: str) -> None:
    """B088: A and B ran at 11:01 and 11:02; what is done to C at 11:30, within any grace, calls neither again."""
    world = world_at("11:00:30")
    rules = PlanningRules(misfire=ALL, misfire_grace_ms=60 * MINUTE_MS)
    a, b = (world.create(OneOff(on_the_day(at)), rules=rules) for at in ("11:01:00", "11:02:00"))
    yearly = CronSchedule("1,2 11 1 6 *")
    c = world.create(yearly, rules=rules) if act != "create" else ""
    if act == "resume":
        edit(world, c, editing.pause)
    world.run_until(on_the_day("11:03:00"))
    world.clock.set(on_the_day("11:30:00"))
    if act == "create":
        c = world.create(yearly, rules=rules)
    else:
        edit(world, c, partial(editing.resume, catch_up=False) if act == "resume" else editing.pause)
    before = called(world, c)
    world.run_until(on_the_day("11:31:30"))
    assert (called(world, a), called(world, b), called(world, c)) == (["11:01"], ["11:02"], before)
    assert [world.state.jobs[job_id].state for job_id in (a, b)] == [JobState.DISPATCHED] * 2


def test_b089_the_next_run_counts_neither_from_the_start_nor_from_the_end_of_the_one_before() -> None:
    """B089: 06:00 is picked at 06:13:20 and ends at 06:13:50; 07:00 runs by the first look after it, and once."""
    world = world_at("05:00:30")

    def takes_half_a_minute(_request: CallRequest, _beat: object) -> Outcome:
        world.clock.advance(30 * SECOND_MS)
        return answered(status=200, started_ms=0, duration_ms=30_000)

    world.caller.script = [takes_half_a_minute]
    job_id = world.create(CronSchedule("0 * * * *"))
    for time in ("06:13:20", "07:10:00", "07:13:20"):
        world.clock.set(on_the_day(time))
        look(world)
    assert called(world, job_id) == ["06:00", "07:00"]
    assert [world.clock.now_ms() - at_ms for _, at_ms in world.caller.calls] == [60 * MINUTE_MS, 200 * SECOND_MS]


def test_b091_a_month_of_missed_minutes_is_bounded_and_delays_nobody() -> None:
    """B091: of 43,200 the newest hundred run, oldest first, the rest is one record; a neighbour starts on time."""
    world = world_at("00:00:00")
    flood = world.create(Every(MINUTE_MS, on_the_day("00:00:00") - 1), rules=PlanningRules(misfire=ALL))
    world.clock.advance(30 * DAY_MS)
    due_ms = world.clock.now_ms() + 2 * SECOND_MS
    neighbour = world.create(OneOff(due_ms))
    world.run_until(due_ms + 30 * SECOND_MS)
    assert world.run_of(neighbour, due_ms).lateness_ms == 0
    block, *caught_up = world.history(flood)
    assert block.block is not None
    assert (block.reason, block.block.count) == ("misfire", 43_200 - 100 - 1)
    assert [run.state for run in caught_up] == [RunState.SUCCEEDED] * 101  # the last was within its grace
    assert called(world, flood) == [clock_of(run.scheduled_for) for run in caught_up]


def test_b092_a_run_is_not_repeated_because_its_successor_was_not_stored() -> None:
    """B092: ran at 22:00, the dispatcher died before the confirm, the next comes at 22:30: no second run."""
    world = world_at("21:59:30", fault=Fault("jobs.confirm_many", 1, after=False))
    job_id = world.create(CronSchedule("0 22 * * *"))
    world.dispatch()
    world.clock.set(on_the_day("22:00:01"))
    world.work()
    assert called(world, job_id) == ["22:00"]
    assert world.state.jobs[job_id].scheduled_for == on_the_day("22:00:00")
    world.clock.set(on_the_day("22:30:00"))
    world.run_until(on_the_day("22:31:00"))
    assert called(world, job_id) == ["22:00"]
    assert records(world, job_id) == [("22:00", "succeeded", None, 1)]
    assert world.state.jobs[job_id].scheduled_for == on_the_day("22:00:00") + DAY_MS


@pytest.mark.parametrize(
    ("policy", "deadline_seconds", "state", "reason"),
    [
        pytest.param(ONCE, 10, "skipped", "deadline", id="B094-10-seconds"),
        pytest.param(ONCE, 1_800, "succeeded", None, id="B094-half-an-hour"),
        pytest.param(ALL, 10, "skipped", "deadline", id="B094-10-seconds-fire_all"),
        pytest.param(SKIP, 1_800, "skipped", "misfire", id="B094-half-an-hour-but-skip"),
        pytest.param(SKIP, 10, "skipped", "misfire", id="B094-10-seconds-and-skip"),
    ],
)
@pytest.mark.parametrize("kind", ["once", "cron"])
def test_misfire_policy_and_deadline_hold_together(
    kind: str, policy: MisfirePolicy, deadline_seconds: int, state: str, reason: str | None
) -> None:
    """Due at 08:30, nobody there from 08:29 to 08:42: the stricter wins, in one record; what recurs goes on."""
    world = world_at("08:28:00")
    schedule = OneOff(on_the_day("08:30:00")) if kind == "once" else CronSchedule("30 8 * * *")
    job_id = world.create(schedule, rules=PlanningRules(misfire=policy), deadline_ms=deadline_seconds * SECOND_MS)
    world.run_until(on_the_day("08:29:00"))
    world.clock.set(on_the_day("08:42:00"))
    world.run_until(on_the_day("08:42:05"))
    assert records(world, job_id) == [("08:30", state, reason, 1)]
    assert called(world, job_id) == (["08:30"] if state == "succeeded" else [])
    upcoming = world.state.jobs[job_id].scheduled_for
    assert upcoming == (on_the_day("08:30:00") + DAY_MS if kind == "cron" else None)


def test_b095_each_made_up_run_says_its_own_time() -> None:
    """B095: three missed hours are three callbacks with their own times, in that order."""
    world = world_at("00:30:00")
    job_id = world.create(CronSchedule("0 * * * *"), rules=PlanningRules(misfire=ALL))
    world.clock.set(on_the_day("03:30:00"))
    look(world)
    assert called(world, job_id) == ["01:00", "02:00", "03:00"]


@pytest.mark.parametrize(
    ("policy", "grace_seconds", "sent", "skipped"),
    [
        pytest.param(SKIP, 120, ["10:00", "10:01"], [], id="B247-within-the-grace"),
        pytest.param(ONCE, 60, ["10:00", "10:01"], [], id="B247-missed-and-made-up"),
        pytest.param(SKIP, 60, ["10:01"], [("10:00", "skipped", "misfire", 1)], id="B247-missed-and-skipped"),
    ],
)
def test_a_wake_up_that_is_later_than_the_interval(
    policy: MisfirePolicy, grace_seconds: int, sent: list[str], skipped: list[tuple[str, str, str, int]]
) -> None:
    """Each minute, woken 65 s late: the slot before by its grace and the policy, the present one once, none twice."""
    world = world_at("09:59:00")
    rules = PlanningRules(misfire=policy, misfire_grace_ms=grace_seconds * SECOND_MS)
    job_id = world.create(CronSchedule("* * * * *", start_ms=on_the_day("10:00:00")), rules=rules)
    world.clock.set(on_the_day("10:01:05"))
    look(world)
    look(world)
    assert called(world, job_id) == sent
    assert records(world, job_id) == sorted([*skipped, *((time, "succeeded", None, 1) for time in sent)])


def test_b157_a_run_that_hangs_across_a_pause_blocks_nothing() -> None:
    """B157: the worker is gone in the middle of the call; after the resume the job fires on, and that run ends too."""
    world = world_at("10:00:30")
    world.caller.script = [dies]
    job_id = world.create(CronSchedule("* * * * *"))
    world.run_until(on_the_day("10:01:05"))
    edit(world, job_id, editing.pause)
    assert records(world, job_id) == [("10:01", "running", None, 1)]
    world.clock.set(on_the_day("10:01:40"))
    edit(world, job_id, partial(editing.resume, catch_up=False))
    world.run_until(on_the_day("10:02:02"))
    assert records(world, job_id)[1] == ("10:02", "succeeded", None, 1)
    world.run_until(on_the_day("10:10:30"))
    hung, *others = world.history(job_id)
    assert (hung.state, hung.attempt) == (RunState.SUCCEEDED, 2)
    assert [run.state for run in others] == [RunState.SUCCEEDED] * 9
