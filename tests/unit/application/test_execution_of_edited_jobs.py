"""What edits and deadlines of a job do to the messages that are on their way."""

from dataclasses import replace

from carillon.domain.job import Definition, HttpTarget, JobState
from carillon.domain.outcomes import CallRequest, Outcome, answered
from carillon.domain.run import RunState
from carillon.receiver import verify
from support.one_offs import DUE_MS, cancel, one_off, send_again
from support.world import SECRET, World, status


def test_b139_a_cancelled_job_is_not_called() -> None:
    """B139: what is in the queue when the job is cancelled, and due by then, ends as cancelled without a call."""
    world = World()
    job_id = one_off(world)
    world.dispatch()
    world.clock.set(DUE_MS)
    cancel(world, job_id)
    world.run_until(DUE_MS + 5_000)
    assert not world.caller.calls
    assert world.run_of(job_id, DUE_MS).state is RunState.CANCELLED


def test_what_lies_behind_a_cancel_leaves_no_record() -> None:
    """An occurrence due after the cancel does not exist, although its message is in the queue."""
    world = World()
    job_id = one_off(world)
    world.dispatch()
    cancel(world, job_id)
    world.run_until(DUE_MS + 5_000)
    assert not world.caller.calls
    assert not world.history(job_id)


def test_b140_a_cancel_during_a_call_does_not_undo_it() -> None:
    """B140: the run ends as it ended; the job stays cancelled."""
    world = World()

    def cancels(_request: CallRequest, _beat: object) -> Outcome:
        cancel(world, job_id)
        return answered(status=200, started_ms=0, duration_ms=1)

    world.caller.script = [cancels]
    job_id = one_off(world)
    world.run_until(DUE_MS + 5_000)
    assert world.run_of(job_id, DUE_MS).state is RunState.SUCCEEDED
    assert world.state.jobs[job_id].state is JobState.CANCELLED


def test_a_waiting_run_of_a_cancelled_job_ends() -> None:
    """A retry of a cancelled job becomes a cancelled run when its time comes."""
    world = World()
    world.caller.script = [status(503)]
    job_id = one_off(world)
    world.run_until(DUE_MS + 1_000)
    cancel(world, job_id)
    world.run_until(DUE_MS + 60_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.reason, len(world.caller.calls)) == (RunState.CANCELLED, "job_cancelled", 1)


def test_b142_a_message_of_an_older_generation_is_void() -> None:
    """B142: what an older definition planned is not run where a newer one governs."""
    world = World()
    job_id = one_off(world)
    seen = world.jobs.get(job_id)
    assert seen is not None
    newer = Definition(
        replace(seen.job, version=2, generation=2, next_fire_time=DUE_MS + 50_000, scheduled_for=DUE_MS + 50_000),
        replace(seen.spec, revision=2, revisions=(*seen.spec.revisions, replace(seen.spec.revisions[0], generation=2))),
    )
    world.jobs.replace(newer, seen_version=1, seen_revision=1, records=())
    send_again(world, job_id, generation=1)
    world.run_until(DUE_MS + 5_000)
    assert not world.caller.calls


def test_b143_the_newest_definition_is_called() -> None:
    """B143: a retry calls the job as it is now, and the attempt says which revision it used."""
    world = World()
    world.caller.script = [status(503), status(200)]
    job_id = one_off(world, payload=b"1")
    world.run_until(DUE_MS + 1_000)
    seen = world.jobs.get(job_id)
    assert seen is not None
    target = HttpTarget("https://new.example.net/")
    spec = replace(seen.spec, target=target, payload=b"2", revision=2)
    world.jobs.replace(Definition(seen.job, spec), seen_version=seen.job.version, seen_revision=1, records=())
    world.run_until(DUE_MS + 30_000)
    (first, _), (second, at_ms) = world.caller.calls
    assert (first.body, second.body, second.url) == (b"1", b"2", target.url)
    verify([SECRET], dict(second.headers), b"2", now_seconds=at_ms // 1000)
    assert [attempt.revision for attempt in world.run_of(job_id, DUE_MS).attempts] == [1, 2]


def test_b094_a_first_start_past_the_deadline_is_skipped() -> None:
    """B094: with a deadline of 10 s an occurrence found 12 minutes late is recorded, not called."""
    world = World()
    job_id = one_off(world, deadline_ms=10_000)
    world.clock.set(DUE_MS + 720_000)
    world.run_until(DUE_MS + 725_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.reason, run.scheduled_for) == (RunState.SKIPPED, "deadline", DUE_MS)
    assert not world.caller.calls


def test_b094_a_longer_deadline_lets_it_start() -> None:
    """B094: with a deadline of half an hour the same occurrence is called."""
    world = World()
    job_id = one_off(world, deadline_ms=1_800_000)
    world.clock.set(DUE_MS + 720_000)
    world.run_until(DUE_MS + 725_000)
    assert world.run_of(job_id, DUE_MS).state is RunState.SUCCEEDED
