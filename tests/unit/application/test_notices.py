"""What is told of runs that became dead letters: signed, at least once, never lost, and never of itself."""

import json
from dataclasses import replace

import pytest

from carillon.application.redrive import RedriveRun
from carillon.domain.destinations import ANYWHERE
from carillon.domain.identity import RunKey
from carillon.domain.job import Completion, HttpTarget, JobState, QueueTarget
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.domain.outcomes import CallRequest, Failure
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import Run, RunState
from carillon.domain.schedule import Every, OneOff
from carillon.receiver import verify
from support.one_offs import DUE_MS, cancel, one_off
from support.world import DAY_MS, QUEUE_URL, SECRET, TENANT, Fault, World, dies, failure, status

TOLD = HttpTarget("https://alerts.example.net/failed", headers=(("X-Team", "infra"),))
ONCE = RetryPolicy(max_attempts=1)


def failing(world: World, **spec: object) -> str:
    """A one-off that is tried once, and whose failure is told."""
    return one_off(world, **{"on_failure": TOLD, "retry": ONCE, "name": "nightly", "payload": b'"secret"', **spec})


def told(world: World) -> list[CallRequest]:
    """The calls of the target that is told."""
    return [request for request, _ in world.caller.calls if request.url == TOLD.url]


def notice_of(world: World, job_id: str, scheduled_for: int = DUE_MS) -> Run:
    """The record of the notice of a run."""
    run = world.run_of(job_id, scheduled_for)
    assert run.notice is not None
    notice = world.runs.get(RunKey(job_id, run.notice))
    assert notice is not None
    return notice


def test_a_failure_is_told_signed_and_under_a_name_of_its_own() -> None:
    """The body says which run and why; the signature covers it; nothing that was sent or answered is in it."""
    world = World()
    world.caller.script = [status(500)]
    job_id = failing(world)
    world.run_until(DUE_MS + 10_000)
    (request,) = told(world)
    headers = dict(request.headers)
    run, notice = world.run_of(job_id, DUE_MS), notice_of(world, job_id)
    verify(SECRET, headers, request.body or b"", now_seconds=int(headers["webhook-timestamp"]))
    assert json.loads(request.body or b"") == {
        "type": "run.dead_lettered",
        "run_id": run.key.run_id,
        "job_id": job_id,
        "job_name": "nightly",
        "reason": "attempts_exhausted",
        "scheduled_for": "2026-09-21T14:13:22.000Z",
        "ended_at": "2026-09-21T14:13:22.000Z",
        "attempts": 1,
        "last_attempt": {
            "number": 1,
            "started_at": "2026-09-21T14:13:22.000Z",
            "ended_at": "2026-09-21T14:13:22.000Z",
            "status": 500,
            "error": "http_status",
        },
    }
    assert headers["webhook-id"] == notice.key.run_id == f"{run.key.run_id}_f{run.rev}"
    assert (headers["X-Team"], headers["Carillon-Attempt"]) == ("infra", "1")
    assert (notice.state, notice.attempt) == (RunState.SUCCEEDED, 1)


def test_a_queue_is_told_by_a_message() -> None:
    """The same body, as text."""
    world = World()
    world.caller.script = [status(404)]
    failing(world, on_failure=QueueTarget(f"{QUEUE_URL}.fifo"))
    world.run_until(DUE_MS + 10_000)
    (message,) = world.target_queues.sent_to(f"{QUEUE_URL}.fifo")
    assert json.loads(message.body)["reason"] == "http_status"
    attributes = dict(message.attributes)
    verify(SECRET, attributes, message.body, now_seconds=int(attributes["webhook-timestamp"]))


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ([status(500)], "attempts_exhausted"),
        ([failure(Failure.TIMEOUT)], "attempts_exhausted"),
        ([status(404)], "http_status"),
        ([status(410)], "target_gone"),
        ([failure(Failure.TARGET_BLOCKED)], "target_blocked"),
        ([dies], "worker_lost"),
    ],
    ids=["exhausted", "no-answer", "permanent", "gone", "blocked", "crashed"],
)
def test_every_way_to_fail_is_told_once(script: list[object], reason: str) -> None:
    """A worker that died is found by its lease, and what it left is told like any other failure."""
    world = World()
    world.caller.script = list(script)  # type: ignore[arg-type]  # steps of a script
    job_id = failing(world)
    world.run_until(DUE_MS + 300_000, 5_000)
    assert world.run_of(job_id, DUE_MS).reason == reason
    assert [json.loads(request.body or b"")["reason"] for request in told(world)] == [reason]


def test_a_message_that_nobody_could_finish_is_told_too() -> None:
    """It ends in the handler of dead letters, which writes the notice as a worker does."""
    world = World()
    job_id = failing(world)
    queue = world.queues.queues["normal"]  # type: ignore[index]  # names are texts
    queue.send(WorkMessage(MessageKind.FIRST, RunKey.of(job_id, DUE_MS), TENANT, DUE_MS, 1, 0, "x").encode())
    world.clock.set(DUE_MS)
    (delivery,) = queue.receive()
    assert world.burier()(delivery)
    delivery.delete()
    world.run_until(DUE_MS + 5_000)
    assert [json.loads(request.body or b"")["reason"] for request in told(world)] == ["undeliverable"]


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_worker_that_dies_at_the_end_of_a_run_loses_no_notice(*, after: bool) -> None:
    """End and notice are one write: both are there, or the run is found again and ends again."""
    world = World(fault=Fault("runs.end_with_notice", 1, after=after))
    world.caller.script = [status(404)]
    job_id = failing(world)
    world.run_until(DUE_MS + 300_000, 5_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.reason) == (RunState.DEAD_LETTERED, "http_status" if after else "worker_lost")
    assert [json.loads(request.body or b"")["reason"] for request in told(world)] == [run.reason]


@pytest.mark.parametrize("method", ["index.pages", "queues.send", "runs.leave_index", "runs.save", "runs.get"])
@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_whoever_dies_on_its_way_it_is_told(method: str, nth: int, *, after: bool) -> None:
    """Each step of dispatcher and worker is a crash point; the notice waits in the due index until it has ended."""
    world = World(fault=Fault(method, nth, after=after))
    world.caller.script = [status(404)]
    job_id = failing(world, retry=RetryPolicy(max_attempts=3, jitter=Jitter.NONE))
    world.run_until(DUE_MS + 600_000, 5_000)
    assert world.run_of(job_id, DUE_MS).state.has_ended
    if world.run_of(job_id, DUE_MS).state is RunState.DEAD_LETTERED:
        assert notice_of(world, job_id).state is RunState.SUCCEEDED
        assert {dict(request.headers)["webhook-id"] for request in told(world)} == {notice_of(world, job_id).key.run_id}


def test_it_has_retries_of_its_own() -> None:
    """Whatever the job says: a receiver that is down for minutes still learns of it, and nothing is told anew."""
    world = World()
    world.caller.script = [status(404), *[status(503)] * 4]
    job_id = failing(world)
    world.run_until(DUE_MS + 900_000, 5_000)
    notice = notice_of(world, job_id)
    assert (notice.state, notice.attempt) == (RunState.SUCCEEDED, 5)
    assert len({(dict(request.headers)["webhook-id"], request.body) for request in told(world)}) == 1
    assert dict(told(world)[-1].headers)["Carillon-Max-Attempts"] == "12"


def test_its_own_failure_is_a_dead_letter_and_told_to_nobody() -> None:
    """It is listed and counted, and can be redriven; that it failed makes no further notice."""
    world = World()
    world.caller.script = [status(404), status(404)]
    job_id = failing(world)
    world.run_until(DUE_MS + 60_000)
    notice = notice_of(world, job_id)
    assert (notice.state, notice.reason, notice.notice) == (RunState.DEAD_LETTERED, "http_status", None)
    assert {run.key for run in world.runs.list_dead(TENANT, 0, 10, None).runs} == {notice.key, notice.key.tells_of}
    assert len(told(world)) == 1
    assert (world.meter.counts["runs_dead_lettered"], world.meter.counts["notices_dead_lettered"]) == (1, 1)
    redrive = RedriveRun(world.jobs, world.runs, 30 * DAY_MS)
    redrive(TENANT, notice.key.run_id, world.clock.now_ms())
    world.run_until(world.clock.now_ms() + 10_000)
    assert (notice_of(world, job_id).state, len(told(world))) == (RunState.SUCCEEDED, 2)


def test_a_notice_is_no_run_of_the_job() -> None:
    """It stands in no list of the job's runs, its lateness is nobody's, and an answer of 410 pauses nothing."""
    world = World()
    world.caller.script = [status(404), status(410)]
    job_id = failing(world)
    world.run_until(DUE_MS + 10_000)
    assert [run.key for run in world.runs.list_newest(job_id, 10, None).runs] == [RunKey.of(job_id, DUE_MS)]
    assert len(world.meter.durations_ms["lateness_ms"]) == 1
    assert notice_of(world, job_id).reason == "target_gone"
    assert world.state.jobs[job_id].state is JobState.DISPATCHED


def test_a_cancelled_job_still_tells_of_what_has_failed() -> None:
    """What failed before the cancel is told after it."""
    world = World()
    world.caller.script = [status(404), status(503)]
    job_id = failing(world)
    world.run_until(DUE_MS + 1_000)
    cancel(world, job_id)
    world.run_until(DUE_MS + 60_000)
    assert (notice_of(world, job_id).state, len(told(world))) == (RunState.SUCCEEDED, 2)


@pytest.mark.parametrize("wanted", [None, HttpTarget("https://alerts.example.net/new")], ids=["removed", "moved"])
def test_each_attempt_tells_the_newest_target(wanted: HttpTarget | None) -> None:
    """A wrong address can be mended; where nobody is to be told any more, the notice is cancelled."""
    world = World()
    world.caller.script = [status(404), status(503)]
    job_id = failing(world)
    world.run_until(DUE_MS + 1_000)
    world.state.specs[job_id] = replace(world.state.specs[job_id], on_failure=wanted)
    world.run_until(DUE_MS + 60_000)
    notice = notice_of(world, job_id)
    if wanted is None:
        assert (notice.state, notice.reason) == (RunState.CANCELLED, "on_failure_removed")
    else:
        assert (notice.state, world.caller.calls[-1][0].url) == (RunState.SUCCEEDED, wanted.url)
        assert world.caller.calls[-1][0].destinations == ANYWHERE


def test_a_redriven_run_that_fails_again_is_told_again() -> None:
    """Each end has a notice with a name of its own."""
    world = World()
    world.caller.script = [status(404), status(200), status(404)]
    job_id = failing(world)
    world.run_until(DUE_MS + 10_000)
    RedriveRun(world.jobs, world.runs, 30 * DAY_MS)(TENANT, RunKey.of(job_id, DUE_MS).run_id, world.clock.now_ms())
    assert world.run_of(job_id, DUE_MS).notice is None
    world.run_until(DUE_MS + 30_000)
    assert len({dict(request.headers)["webhook-id"] for request in told(world)}) == 2
    assert json.loads(told(world)[1].body or b"")["attempts"] == 2


@pytest.mark.parametrize("on_failure", [TOLD, None], ids=["told", "nobody"])
def test_nothing_else_is_told(on_failure: HttpTarget | None) -> None:
    """Success is no failure, a retry is none yet; and without a target nothing is written beside the run."""
    world = World()
    world.caller.script = [status(503), status(200)] if on_failure else [status(404)]
    job_id = failing(world, on_failure=on_failure, retry=RetryPolicy(max_attempts=2))
    world.run_until(DUE_MS + 60_000)
    assert told(world) == []
    assert [run.notice for run in world.history(job_id)] == [None]


def test_a_job_that_fails_each_second_tells_of_each() -> None:
    """Recurring jobs too, each failure under the name of its run."""
    world = World()
    world.caller.script = [status(404) if n % 2 == 0 else status(200) for n in range(100)]
    job_id = world.create(Every(60_000, DUE_MS), on_failure=TOLD, retry=ONCE)
    world.run_until(DUE_MS + 185_000)
    names = [json.loads(request.body or b"")["run_id"] for request in told(world)]
    assert names == [RunKey.of(job_id, DUE_MS + minute * 60_000).run_id for minute in range(len(names))]
    assert len(names) >= 3


def test_what_is_told_stays_small() -> None:
    """With the longest name of a job and the longest reason it is far below a message's or an item's size."""
    world = World()
    world.caller.script = [status(404, location="https://x.example.net/" + "y" * 4_000)]
    failing(world, name="n" * 128)
    world.run_until(DUE_MS + 10_000)
    (request,) = told(world)
    assert len(request.body or b"") < 1_024
    assert world.create(OneOff(DUE_MS + 60_000))


def test_a_completion_that_never_comes_is_told() -> None:
    """A deadline that comes due is a failure like any other, and is told like one."""
    world = World()
    world.caller.script = [status(202)]
    job_id = failing(world, target=HttpTarget("https://hooks.example.net/cb", completion=Completion(3_600_000, None)))
    world.run_until(DUE_MS + 4_000_000, 30_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.reason) == (RunState.DEAD_LETTERED, "attempts_exhausted")
    assert json.loads(told(world)[0].body or b"")["last_attempt"]["error"] == "completion_timeout"
