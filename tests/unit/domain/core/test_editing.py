"""Edits in time: what a job is after a pause, a resume, a new schedule, a cancel, and what settles its past."""

from dataclasses import replace

import pytest

from carillon.domain.editing import Edited, JobFinishedError, NothingAheadError, cancel, change, pause, replan, resume
from carillon.domain.instants import format_instant, parse_instant
from carillon.domain.job import (
    Definition,
    HttpTarget,
    Job,
    JobSpec,
    JobState,
    Lane,
    MisfirePolicy,
    PlanningRules,
    Priority,
    Revision,
    RevisionKind,
)
from carillon.domain.planning import window_offset
from carillon.domain.retry import RetryPolicy
from carillon.domain.revisions import MOST_REVISIONS, REVISIONS_KEPT_MS, TooManyEditsError
from carillon.domain.run import RunState
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule, decode, encode
from carillon.domain.settling import Moment, unsettled_from

JOB_ID = "job_01JABCDEFGHJKMNPQRSTVWXYZ0"
RETENTION_MS = 30 * 24 * 3600 * 1000


def job(schedule: Schedule, upcoming: str | None, *, state: JobState = JobState.SCHEDULED, **hot: object) -> Definition:
    """A job whose next unconfirmed occurrence is at an instant."""
    next_ms = None if upcoming is None else parse_instant(upcoming)
    rules = hot.pop("rules", PlanningRules())
    assert isinstance(rules, PlanningRules)
    half = Job(
        id=JOB_ID,
        tenant="acme",
        state=state,
        schedule=encode(schedule),
        rules=rules.encode(),
        shard=0,
        lane=Lane.SHORT,
        priority=Priority.NORMAL,
        version=5,
        generation=1,
        created_at=0,
        scheduled_for=next_ms,
        next_fire_time=next_ms,
        **hot,  # type: ignore[arg-type]
    )
    target = HttpTarget("https://hooks.example.net/")
    return Definition(half, JobSpec(JOB_ID, "acme", target, RetryPolicy(), (Revision(1, 0),), 3, 0, 0))


def at(instant: str, recorded: tuple[int, ...] = ()) -> Moment:
    """The moment of an edit."""
    return Moment(parse_instant(instant), RETENTION_MS, recorded)


def next_of(edited: Edited) -> str | None:
    """The next occurrence after an edit, as text."""
    upcoming = edited.definition.job.scheduled_for
    return None if upcoming is None else format_instant(upcoming)[:16] + "Z"


def cron(expression: str) -> CronSchedule:
    """A schedule in UTC."""
    return CronSchedule(expression, "UTC")


def rescheduled(seen: Definition, schedule: Schedule, moment: Moment) -> Edited:
    """The job with another schedule."""
    return change(seen, replace(seen, job=replace(seen.job, schedule=encode(schedule))), moment)


@pytest.mark.parametrize(
    ("before", "upcoming", "after", "now", "next_fire"),
    [
        ("0 18 * * *", "2026-06-02T18:00:00Z", "0 10 * * *", "2026-06-02T15:00:00Z", "2026-06-03T10:00Z"),
        ("0 21 * * 2,5", "2024-02-09T21:00:00Z", "0 23 * * 3,0", "2024-02-09T02:10:00Z", "2024-02-11T23:00Z"),
        ("0 0 1 1 *", "2027-01-01T00:00:00Z", "0 * * * *", "2026-06-01T10:20:00Z", "2026-06-01T11:00Z"),
    ],
    ids=["B133", "B134", "B136"],
)
def test_an_edit_is_never_a_misfire(before: str, upcoming: str, after: str, now: str, next_fire: str) -> None:
    """The next occurrence is the new schedule's first one after the edit; nothing of its past is planned."""
    edited = rescheduled(job(cron(before), upcoming), cron(after), at(now))
    assert next_of(edited) == next_fire
    assert (edited.segment, edited.records) == (None, ())


def test_an_edit_leaves_what_was_due_to_the_old_schedule() -> None:
    """Occurrences due and not confirmed become a segment of the old schedule that ends with the edit."""
    seen = job(cron("*/5 * * * *"), "2026-06-01T10:05:00Z", planned=7)
    edited = rescheduled(seen, cron("0 12 * * *"), at("2026-06-01T10:17:00Z"))
    segment = edited.segment
    assert segment is not None
    assert seen.job.scheduled_for is not None
    assert (segment.segment, segment.scheduled_for, segment.generation) == (1, seen.job.scheduled_for, 1)
    ends = decode(segment.schedule)
    due = ends.between(seen.job.scheduled_for - 1, parse_instant("2026-06-02T00:00:00Z"))
    assert [format_instant(nominal)[11:16] for nominal in due] == ["10:05", "10:10", "10:15"]
    assert next_of(edited) == "2026-06-01T12:00Z"
    assert edited.definition.job.planned == 10


def test_what_is_left_of_an_old_schedule_ends_where_it_ended() -> None:
    """An outage spans the end of the schedule: an edit behind both leaves nothing later than that end."""
    end_ms = parse_instant("2026-06-01T10:10:00Z")
    seen = job(CronSchedule("*/5 * * * *", end_ms=end_ms), "2026-06-01T10:05:00Z")
    segment = rescheduled(seen, cron("0 12 * * *"), at("2026-06-01T10:17:00Z")).segment
    assert segment is not None
    assert segment.scheduled_for is not None
    due = decode(segment.schedule).between(segment.scheduled_for - 1, parse_instant("2026-06-02T00:00:00Z"))
    assert [*due] == [end_ms - 300_000, end_ms]


def test_what_a_pause_may_have_to_settle_begins_behind_it() -> None:
    """An occurrence at the very instant of the pause was due before it, and has been settled with it."""
    seen = job(cron("0 * * * *"), "2026-06-01T11:00:00Z")
    paused = pause(seen, at("2026-06-01T11:00:00Z"))
    assert [record.scheduled_for for record in paused.records] == [parse_instant("2026-06-01T11:00:00Z")]
    assert unsettled_from(paused.definition) == parse_instant("2026-06-01T11:00:00Z") + 1


@pytest.mark.parametrize("edit", ["pause", "change"])
def test_a_job_is_over_at_the_instant_of_its_last_run(edit: str) -> None:
    """Due at the very instant of the edit: nothing is left to be edited; a millisecond before there is."""
    due = parse_instant("2026-06-01T10:00:50Z")
    seen = job(OneOff(due), None, state=JobState.DISPATCHED, planned=1, planned_until=due)

    def edited(now_ms: int) -> Edited:
        moment = Moment(now_ms, RETENTION_MS)
        return pause(seen, moment) if edit == "pause" else rescheduled(seen, OneOff(due + 60_000), moment)

    with pytest.raises(JobFinishedError):
        edited(due)
    assert edited(due - 1).definition.job.planned == 0


def test_an_edit_gives_back_what_was_planned_ahead() -> None:
    """Occurrences sent ahead of their time and not yet due are revoked: they do not count as planned."""
    seen = job(
        Every(10_000, 0),
        "2026-06-01T10:01:10Z",
        planned=20,
        planned_until=parse_instant("2026-06-01T10:01:00Z"),
    )
    edited = rescheduled(seen, Every(3_600_000, 0), at("2026-06-01T10:00:30Z"))
    assert edited.definition.job.planned == 17


def test_an_unchanged_definition_changes_nothing() -> None:
    """B122: saving a job as it is leaves it as it is."""
    seen = job(cron("0 * * * *"), "2026-06-01T11:00:00Z")
    assert change(seen, seen, at("2026-06-01T10:59:40Z")) == Edited(seen)


def test_an_edit_of_something_else_keeps_the_plan() -> None:
    """A new target or new rules leave the next occurrence, and the claim of a dispatcher, alone."""
    seen = job(cron("0 * * * *"), "2026-06-01T11:00:00Z")
    target = replace(seen, spec=replace(seen.spec, target=HttpTarget("https://new.example.net/")))
    edited = change(seen, target, at("2026-06-01T10:59:40Z"))
    assert (edited.definition.job, edited.definition.spec.revision) == (seen.job, 4)
    rules = PlanningRules(misfire=MisfirePolicy.SKIP).encode()
    hot = change(seen, replace(seen, job=replace(seen.job, rules=rules)), at("2026-06-01T10:59:40Z"))
    assert (hot.definition.job.version, hot.definition.job.generation, next_of(hot)) == (5, 1, "2026-06-01T11:00Z")


def test_a_window_is_part_of_the_plan() -> None:
    """A new window moves the fire time by its constant offset; the nominal time stays the schedule's."""
    seen = job(cron("0 * * * *"), "2026-06-01T11:00:00Z")
    rules = PlanningRules(window_ms=600_000)
    edited = change(seen, replace(seen, job=replace(seen.job, rules=rules.encode())), at("2026-06-01T10:00:00Z"))
    moved = edited.definition.job
    assert moved.scheduled_for == parse_instant("2026-06-01T11:00:00Z")
    assert moved.next_fire_time == moved.scheduled_for + window_offset(JOB_ID, 600_000)
    assert moved.generation == 2


@pytest.mark.parametrize("state", [JobState.SCHEDULED, JobState.PAUSED])
def test_a_schedule_with_nothing_ahead_is_refused(state: JobState) -> None:
    """An edit leaves no job that has no next occurrence, or would have none when it is resumed at once."""
    seen = job(cron("0 * * * *"), "2026-06-01T11:00:00Z", state=state)
    with pytest.raises(NothingAheadError):
        rescheduled(seen, OneOff(parse_instant("2026-06-01T09:00:00Z")), at("2026-06-01T10:00:00Z"))


def test_a_single_run_may_be_moved_to_the_present() -> None:
    """As at its creation, a single run may be due at the very instant of the edit."""
    seen = job(OneOff(parse_instant("2026-06-01T12:00:00Z")), "2026-06-01T12:00:00Z")
    edited = rescheduled(seen, OneOff(parse_instant("2026-06-01T10:00:00Z")), at("2026-06-01T10:00:00Z"))
    assert (next_of(edited), edited.definition.job.state) == ("2026-06-01T10:00Z", JobState.SCHEDULED)


@pytest.mark.parametrize(("most", "state"), [(3, JobState.COMPLETED), (4, JobState.SCHEDULED)])
def test_a_limit_of_runs_belongs_to_the_schedule(most: int, state: JobState) -> None:
    """A limit that is reached already completes the job: it never shows a next fire that is not to come."""
    seen = job(cron("0 * * * *"), "2026-06-01T11:00:00Z", planned=3)
    rules = PlanningRules(max_runs=most).encode()
    after = change(seen, replace(seen, job=replace(seen.job, rules=rules)), at("2026-06-01T10:20:00Z")).definition.job
    assert after.state is state
    assert (after.next_fire_time is None) == (state is JobState.COMPLETED)


def test_a_window_given_while_paused_waits_for_the_resume() -> None:
    """Another window or limit of a paused job settles nothing: the time of its single run is not lost by it."""
    once = OneOff(parse_instant("2026-06-01T12:00:00Z"))
    paused = pause(job(once, "2026-06-01T12:00:00Z"), at("2026-06-01T11:00:00Z")).definition
    rules = PlanningRules(window_ms=600_000)
    edited = change(paused, replace(paused, job=replace(paused.job, rules=rules.encode())), at("2026-06-01T12:30:00Z"))
    assert (edited.records, edited.definition.job.generation) == ((), paused.job.generation)
    resumed = resume(edited.definition, at("2026-06-01T13:00:00Z"), catch_up=False).definition.job
    assert resumed.scheduled_for == once.at_ms
    assert resumed.next_fire_time == once.at_ms + window_offset(JOB_ID, 600_000)


def test_the_reason_of_a_pause_lasts_as_long_as_the_pause() -> None:
    """It stays through edits during the pause, and is gone with it."""
    seen = job(cron("0 * * * *"), "2026-06-01T11:00:00Z")
    paused = pause(seen, at("2026-06-01T10:10:00Z"), reason="target_gone").definition
    edited = rescheduled(paused, cron("30 * * * *"), at("2026-06-01T10:15:00Z")).definition
    assert (paused.spec.state_reason, edited.spec.state_reason) == ("target_gone", "target_gone")
    assert resume(edited, at("2026-06-01T10:20:00Z"), catch_up=False).definition.spec.state_reason is None
    assert cancel(edited, at("2026-06-01T10:20:00Z")).definition.spec.state_reason is None


def test_a_plan_by_other_zone_rules_is_a_new_generation_of_the_same_definition() -> None:
    """The next occurrence moves, what was sent of the old one is void, and the ETag stays."""
    seen = job(cron("0 17 * * *"), "2026-06-01T17:00:00Z", rules=PlanningRules(window_ms=60_000))
    moved = replan(seen, parse_instant("2026-06-01T16:00:00Z"), at("2026-06-01T10:00:00Z")).definition
    assert moved.job.next_fire_time == parse_instant("2026-06-01T16:00:00Z") + window_offset(JOB_ID, 60_000)
    assert (moved.job.version, moved.job.generation) == (6, 2)
    assert moved.spec == replace(seen.spec, revisions=moved.spec.revisions)
    assert moved.spec.superseded_at(1) == Revision(2, parse_instant("2026-06-01T10:00:00Z") + 1, RevisionKind.REPLANNED)


def test_resume_from_now_fires_nothing_of_the_pause() -> None:
    """B149: paused at 01:00, resumed at 07:49: nothing at 07:49, the missed time is one record, next is tomorrow."""
    paused = pause(job(cron("0 2 * * *"), "2026-06-01T02:00:00Z"), at("2026-06-01T01:00:00Z"))
    assert (paused.definition.job.state, next_of(paused), paused.records) == (JobState.PAUSED, None, ())
    resumed = resume(paused.definition, at("2026-06-01T07:49:00Z"), catch_up=False)
    assert next_of(resumed) == "2026-06-02T02:00Z"
    (record,) = resumed.records
    assert (record.state, record.reason, record.block) == (RunState.SKIPPED, "paused", None)
    assert format_instant(record.scheduled_for) == "2026-06-01T02:00:00.000Z"


def test_a_long_pause_is_one_record() -> None:
    """The paused time is summed up, however long it was."""
    paused = pause(job(cron("* * * * *"), "2026-06-01T00:01:00Z"), at("2026-06-01T00:00:30Z"))
    (record,) = resume(paused.definition, at("2026-06-03T00:00:00Z"), catch_up=False).records
    assert record.block is not None
    assert (record.block.count, record.scheduled_for) == (2 * 1440, parse_instant("2026-06-03T00:00:00Z"))


def test_resume_with_catch_up_plans_the_paused_time() -> None:
    """B152: the choice holds for this resume: planning starts with the pause's first occurrence; the policy stays."""
    rules = PlanningRules(misfire=MisfirePolicy.SKIP)
    paused = pause(job(cron("0 * * * *"), "2026-06-01T02:00:00Z", rules=rules), at("2026-06-01T01:30:00Z"))
    resumed = resume(paused.definition, at("2026-06-01T07:49:00Z"), catch_up=True)
    assert (next_of(resumed), resumed.records) == ("2026-06-01T02:00Z", ())
    assert resumed.definition.job.rules == rules.encode()


def test_a_single_run_that_was_paused_over_its_time_is_planned() -> None:
    """B151: it is due at once and its misfire policy decides: it is never active without a next fire."""
    paused = pause(
        job(OneOff(parse_instant("2026-06-01T12:00:00Z")), "2026-06-01T12:00:00Z"), at("2026-06-01T11:00:00Z")
    )
    resumed = resume(paused.definition, at("2026-06-01T13:00:00Z"), catch_up=False)
    assert (resumed.definition.job.state, next_of(resumed)) == (JobState.SCHEDULED, "2026-06-01T12:00Z")


def test_repeats_change_nothing() -> None:
    """B154: pausing twice, or resuming a job that is scheduled, leaves it untouched."""
    seen = job(cron("0 * * * *"), "2026-06-01T11:00:00Z")
    paused = pause(seen, at("2026-06-01T10:00:00Z")).definition
    assert pause(paused, at("2026-06-01T10:30:00Z")) == Edited(paused)
    assert resume(seen, at("2026-06-01T10:30:00Z"), catch_up=True) == Edited(seen)
    cancelled = cancel(seen, at("2026-06-01T10:30:00Z")).definition
    assert cancel(cancelled, at("2026-06-01T10:31:00Z")) == Edited(cancelled)


@pytest.mark.parametrize("state", [JobState.CANCELLED, JobState.COMPLETED, JobState.DISPATCHED])
def test_a_job_that_has_ended_is_not_edited(state: JobState) -> None:
    """B154: pause, resume and new schedules of an ended job are refused."""
    seen = job(cron("0 * * * *"), None, state=state)
    moment = at("2026-06-01T10:00:00Z")
    for edit in (
        lambda: pause(seen, moment),
        lambda: resume(seen, moment, catch_up=False),
        lambda: rescheduled(seen, cron("1 * * * *"), moment),
    ):
        with pytest.raises(JobFinishedError):
            edit()


def test_what_is_dispatched_and_still_ahead_can_be_edited() -> None:
    """A one-off handed over before its time may get another one until then."""
    due = "2026-06-01T10:00:50Z"
    seen = job(OneOff(parse_instant(due)), None, state=JobState.DISPATCHED, planned=1, planned_until=parse_instant(due))
    edited = rescheduled(seen, OneOff(parse_instant("2026-06-01T12:00:00Z")), at("2026-06-01T10:00:00Z"))
    after = edited.definition.job
    assert (after.state, next_of(edited), after.planned) == (JobState.SCHEDULED, "2026-06-01T12:00Z", 0)


def test_an_edit_during_a_pause_keeps_the_pause() -> None:
    """B155: the job stays paused, the old schedule's paused time is recorded, and after resume the new one counts."""
    rules = PlanningRules(misfire=MisfirePolicy.FIRE_ALL)
    paused = pause(job(cron("0 * * * *"), "2026-06-01T11:00:00Z", rules=rules), at("2026-06-01T10:30:00Z"))
    edited = rescheduled(paused.definition, cron("30 * * * *"), at("2026-06-01T11:15:00Z"))
    assert (edited.definition.job.state, next_of(edited)) == (JobState.PAUSED, None)
    assert [format_instant(r.scheduled_for)[11:16] for r in edited.records] == ["11:00"]
    resumed = resume(edited.definition, at("2026-06-01T11:20:00Z"), catch_up=True)
    assert (next_of(resumed), resumed.definition.job.rules) == ("2026-06-01T11:30Z", rules.encode())


@pytest.mark.parametrize(("edit", "state"), [(pause, RunState.SKIPPED), (cancel, RunState.CANCELLED)])
@pytest.mark.parametrize(("minutes", "records"), [(3, 3), (10, 10), (11, 1), (600, 1)])
def test_what_is_due_and_not_confirmed_is_recorded(edit: object, state: RunState, minutes: int, records: int) -> None:
    """Each gets its record, more than ten share one, and the counts add up."""
    seen = job(cron("* * * * *"), "2026-06-01T10:01:00Z")
    now = format_instant(parse_instant("2026-06-01T10:00:30Z") + minutes * 60_000)
    edited = edit(seen, at(now))  # type: ignore[operator]
    assert len(edited.records) == records
    assert {record.state for record in edited.records} == {state}
    assert sum(record.block.count if record.block else 1 for record in edited.records) == minutes


def test_what_has_a_record_gets_no_second_one() -> None:
    """Occurrences that a dispatcher sent and did not confirm, and a worker has begun, are left alone."""
    seen = job(cron("* * * * *"), "2026-06-01T10:01:00Z")
    begun = (parse_instant("2026-06-01T10:01:00Z"), parse_instant("2026-06-01T10:02:00Z"))
    edited = pause(seen, at("2026-06-01T10:03:30Z", begun))
    assert [format_instant(record.scheduled_for)[11:16] for record in edited.records] == ["10:03"]


def test_a_limit_of_runs_bounds_what_is_settled() -> None:
    """Occurrences behind the last run that the job has left do not exist."""
    seen = job(cron("* * * * *"), "2026-06-01T10:01:00Z", planned=3, rules=PlanningRules(max_runs=5))
    assert len(cancel(seen, at("2026-06-01T10:30:00Z")).records) == 2


def test_revisions_compare_nominal_times() -> None:
    """A generation answers for what is nominally due up to the edit's instant, and not a millisecond beyond."""
    seen = job(cron("0 * * * *"), "2026-06-01T11:00:00Z")
    spec = pause(seen, at("2026-06-01T11:00:00Z")).definition.spec
    superseded = spec.superseded_at(1)
    assert superseded == Revision(2, parse_instant("2026-06-01T11:00:00Z") + 1, RevisionKind.PAUSED)


def test_too_many_edits_are_refused_until_the_oldest_is_forgotten() -> None:
    """At most fifty young revisions are kept: one more is refused with the instant from which it would do."""
    seen = job(cron("0 * * * *"), "2026-06-01T11:00:00Z")
    now_ms = parse_instant("2026-06-01T10:00:00Z")
    revisions = tuple(Revision(n, now_ms - 1_000 + n) for n in range(1, MOST_REVISIONS + 1))
    seen = replace(seen, spec=replace(seen.spec, revisions=revisions))
    with pytest.raises(TooManyEditsError) as refused:
        pause(seen, at("2026-06-01T10:00:00Z"))
    later = Moment(refused.value.retry_at, RETENTION_MS)
    assert refused.value.retry_at == revisions[1].since + REVISIONS_KEPT_MS
    assert refused.value.wait_ms == refused.value.retry_at - now_ms
    assert len(pause(seen, later).definition.spec.revisions) <= MOST_REVISIONS
    assert cancel(seen, at("2026-06-01T10:00:00Z")).definition.job.state is JobState.CANCELLED


def test_a_damaged_job_can_be_cancelled_and_mended() -> None:
    """A job in error is cancelled without reading its schedule, and comes back with a new one."""
    broken = job(cron("0 * * * *"), None, state=JobState.ERROR, error="cannot be decided")
    broken = replace(broken, job=replace(broken.job, schedule="??"))
    moment = at("2026-06-01T10:20:00Z")
    assert cancel(broken, moment).definition.job.state is JobState.CANCELLED
    mended = rescheduled(broken, cron("0 * * * *"), moment)
    assert (mended.definition.job.state, mended.definition.job.error, next_of(mended)) == (
        JobState.SCHEDULED,
        None,
        "2026-06-01T11:00Z",
    )
    with pytest.raises(JobFinishedError):
        pause(broken, moment)
