"""The worker's rules over the memory stores: starts, ends, lost workers, late workers, duplicates."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from carillon.adapters.memory.queues import MemoryDelivery, MemoryQueue
from carillon.domain.destinations import ANYWHERE, Destination, DestinationKind
from carillon.domain.job import HttpTarget, Lane, Priority
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.domain.outcomes import CallRequest, Failure, Outcome, answered
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import MOST_ATTEMPTS_LOST, Run, RunState
from carillon.domain.schedule import Every, OneOff
from carillon.receiver import verify
from support.one_offs import DUE_MS, one_off, send_again
from support.world import SECRET, START_MS, TENANT, World, dies, failure, status


def test_a_callback_is_signed_and_carries_its_identity() -> None:
    """The receiver can check the signature over the exact bytes, and sees run, job, attempt and time (B229)."""
    world = World()
    body = b'{ "z": 1.0, "a": 30.40 }'
    job_id = one_off(world, payload=body)
    world.run_until(DUE_MS + 2_000)
    ((request, at_ms),) = world.caller.calls
    headers = dict(request.headers)
    verify([SECRET], headers, body, now_seconds=at_ms // 1000)
    assert request.body == body
    assert headers["webhook-id"] == headers["Idempotency-Key"] == f"{job_id}@20260921T141322000Z"
    assert (headers["Carillon-Attempt"], headers["Carillon-Job-Id"]) == ("1", job_id)
    assert headers["Carillon-Scheduled-For"] == "2026-09-21T14:13:22.000Z"
    assert headers["Content-Type"] == "application/json"
    assert at_ms >= DUE_MS


def test_a_call_without_payload_signs_an_empty_body() -> None:
    """B233: no payload, no body, no content type; the signature covers nothing."""
    world = World()
    one_off(world, target=HttpTarget("https://hooks.example.net/", method="GET"))
    world.run_until(DUE_MS + 2_000)
    ((request, at_ms),) = world.caller.calls
    headers = dict(request.headers)
    verify([SECRET], headers, b"", now_seconds=at_ms // 1000)
    assert request.body is None
    assert "Content-Type" not in headers


def test_each_attempt_is_signed_anew_with_the_same_identity() -> None:
    """B232: the timestamp is that of the sending, the id that of the run, the attempt number rises."""
    world = World()
    world.caller.script = [status(503), status(200)]
    one_off(world)
    world.run_until(DUE_MS + 10_000)
    first, second = (dict(request.headers) for request, _ in world.caller.calls)
    assert first["webhook-id"] == second["webhook-id"]
    assert int(second["webhook-timestamp"]) > int(first["webhook-timestamp"])
    assert (first["Carillon-Attempt"], second["Carillon-Attempt"]) == ("1", "2")


@pytest.mark.parametrize("early_ms", [1, 900, 999])
def test_b248_nothing_starts_early(early_ms: int) -> None:
    """B248: a message received a little early is held to the millisecond."""
    world = World()
    job_id = world.create(OneOff(DUE_MS + 900))
    world.dispatch()
    world.clock.set(DUE_MS + 900 - early_ms)
    (delivery,) = [message for queue in world.queues.queues.values() for message in _all(queue)]
    assert world.handle(delivery)
    assert world.caller.calls[0][1] == DUE_MS + 900
    assert world.run_of(job_id, DUE_MS + 900).lateness_ms == 0


def _all(queue: MemoryQueue) -> list[MemoryDelivery]:
    """Everything in a queue, whether visible or not."""
    for stored in queue._stored.values():
        stored.visible_at = 0
    return queue.receive()


def test_a_message_much_too_early_comes_again() -> None:
    """B118: a message that is not due is put back, not called."""
    world = World()
    one_off(world)
    world.dispatch()
    (delivery,) = [message for queue in world.queues.queues.values() for message in _all(queue)]
    assert not world.handle(delivery)
    assert not world.caller.calls
    world.run_until(DUE_MS + 3_000)
    assert len(world.caller.calls) == 1
    assert world.caller.calls[0][1] >= DUE_MS


def test_a_late_report_changes_nothing() -> None:
    """B098: attempt 1 sleeps past its lease, attempt 2 succeeds; attempt 1's report is refused and starts nothing."""
    world = World()

    def sleeps(_request: CallRequest, _beat: object) -> Outcome:
        world.clock.advance(400_000)  # longer than the lease and the visibility: the world goes on without it
        for _ in range(30):
            world.dispatch()
            world.work()
            world.clock.advance(10_000)
        return answered(status=500, started_ms=0, duration_ms=1)

    world.caller.script = [sleeps]
    job_id = one_off(world)
    world.run_until(DUE_MS + 5_000)
    world.run_until(world.clock.now_ms() + 600_000, 10_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.attempt) == (RunState.SUCCEEDED, 2)
    assert [attempt.error for attempt in run.attempts] == ["worker_lost", None]
    assert len(world.caller.calls) == 2
    assert world.meter.counts["finishes_refused"] == 1


def test_a_dead_worker_costs_an_attempt_not_the_run() -> None:
    """B101: the second call is attempt 2 of the same run, through the long lane, only after the lease has run out."""
    world = World()
    world.caller.script = [dies]
    job_id = one_off(world)
    world.run_until(DUE_MS + 300_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.attempt, run.lost) == (RunState.SUCCEEDED, 2, 1)
    (first, second) = [at_ms for _, at_ms in world.caller.calls]
    assert second - first >= 60_000
    assert world.caller.run_ids() == {run.key.run_id: 2}


def test_a_run_that_kills_its_workers_is_given_up() -> None:
    """A poison job loses three attempts at most, then it is a dead letter."""
    world = World()
    world.caller.script = [dies] * 10
    job_id = one_off(world, retry=RetryPolicy(max_attempts=50, jitter=Jitter.NONE))
    world.run_until(DUE_MS + 6_000_000, 5_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.reason) == (RunState.DEAD_LETTERED, "worker_lost")
    assert len(world.caller.calls) == MOST_ATTEMPTS_LOST


def test_one_attempt_means_one_call() -> None:
    """With max_attempts 1 a dead worker ends the run; nothing is called twice."""
    world = World()
    world.caller.script = [dies]
    job_id = one_off(world, retry=RetryPolicy(max_attempts=1))
    world.run_until(DUE_MS + 900_000, 5_000)
    assert world.run_of(job_id, DUE_MS).reason == "worker_lost"
    assert len(world.caller.calls) == 1


def test_a_heartbeat_keeps_a_long_call_alone() -> None:
    """While the worker beats, a duplicate of its message waits; afterwards it finds the run ended."""
    world = World()

    def slow(_request: CallRequest, beat: Callable[[], bool]) -> Outcome:
        for _ in range(10):
            world.clock.advance(20_000)
            assert beat()
            world.work()
        return answered(status=200, started_ms=0, duration_ms=1)

    world.caller.script = [slow]
    job_id = one_off(world)
    world.dispatch()
    send_again(world, job_id)
    world.run_until(DUE_MS + 600_000, 5_000)
    assert len(world.caller.calls) == 1
    assert world.run_of(job_id, DUE_MS).state is RunState.SUCCEEDED


def test_a_call_whose_attempt_is_superseded_is_broken_off() -> None:
    """The heartbeat tells a worker that its attempt is no longer the current one."""
    world = World()
    heard: list[bool] = []

    def superseded(_request: CallRequest, beat: Callable[[], bool]) -> Outcome:
        run = world.state.runs[job_id]["20260921T141322000Z"]
        world.runs.save(replace(run, rev=run.rev + 1, start_id="another"), seen=run.rev)
        heard.append(beat())
        return answered(status=200, started_ms=0, duration_ms=1)

    world.caller.script = [superseded]
    job_id = one_off(world)
    world.run_until(DUE_MS + 1_000)
    assert heard == [False]
    assert world.run_of(job_id, DUE_MS).state is RunState.RUNNING


@pytest.mark.parametrize("copies", [1, 5])
def test_duplicates_of_a_message_are_swallowed(copies: int) -> None:
    """However often the queue delivers it, an occurrence is called once."""
    world = World()
    job_id = one_off(world)
    for _ in range(copies):
        send_again(world, job_id)
    world.run_until(DUE_MS + 60_000)
    assert len(world.caller.calls) == 1
    assert world.run_of(job_id, DUE_MS).attempt == 1


def test_b175_a_late_answer_is_tried_again_under_the_same_name() -> None:
    """B175: the work was done and the answer came too late: the next attempt says which run it is."""
    world = World()
    world.caller.script = [failure(Failure.TIMEOUT), status(200)]
    job_id = one_off(world, retry=RetryPolicy(max_attempts=2, jitter=Jitter.NONE))
    world.run_until(DUE_MS + 20_000)
    run = world.run_of(job_id, DUE_MS)
    assert [attempt.error for attempt in run.attempts] == ["timeout", None]
    sent = [dict(request.headers) for request, _ in world.caller.calls]
    assert {each["webhook-id"] for each in sent} == {run.key.run_id}
    assert [each["Carillon-Attempt"] for each in sent] == ["1", "2"]


def test_b161_exhausted_attempts_are_a_dead_letter_at_once() -> None:
    """B161: the run is a dead letter right after its last attempt, and nothing waits behind it."""
    world = World()
    world.caller.script = [status(503)] * 3
    job_id = one_off(world, retry=RetryPolicy(max_attempts=3, jitter=Jitter.NONE))
    world.run_until(DUE_MS + 20_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.reason, run.attempt, run.next_fire_time) == (
        RunState.DEAD_LETTERED,
        "attempts_exhausted",
        3,
        None,
    )
    assert len(world.caller.calls) == 3


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (status(404), "http_status"),
        (status(302), "redirect_not_followed"),
        (status(410), "target_gone"),
        (failure(Failure.TARGET_BLOCKED), "target_blocked"),
    ],
)
def test_b163_b167_a_permanent_failure_is_a_dead_letter(answer: object, reason: str) -> None:
    """What cannot get better is not tried again, and the record says why (B163, B167)."""
    world = World()
    world.caller.script = [answer]  # type: ignore[list-item]
    job_id = one_off(world)
    world.run_until(DUE_MS + 20_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.reason, len(world.caller.calls)) == (RunState.DEAD_LETTERED, reason, 1)


def test_the_servers_wish_to_wait_is_honoured() -> None:
    """B158: after Retry-After: 120 the next attempt comes no sooner."""
    world = World()
    world.caller.script = [status(429, retry_after="120")]
    one_off(world)
    world.run_until(DUE_MS + 130_000)
    (_, first), (_, second) = world.caller.calls
    assert second - first >= 120_000


def test_a_job_that_is_gone_leaves_a_dead_letter() -> None:
    """A message whose job has vanished without a cancel is never dropped silently."""
    world = World()
    job_id = one_off(world)
    world.dispatch()
    world.state.remove_job(job_id)
    world.run_until(DUE_MS + 5_000)
    run: Run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.reason, run.tenant) == (RunState.DEAD_LETTERED, "job_missing", TENANT)


@pytest.mark.parametrize("end", ["succeeded", "waits for a job that is gone"])
def test_a_duplicate_that_outlives_run_and_job_is_dropped(end: str) -> None:
    """A second copy of a retry's message is done with once its run has ended, though the job is gone by then."""
    world = World()
    world.caller.script = [status(503)]
    job_id = one_off(world, retry=RetryPolicy(base_ms=5_000, jitter=Jitter.NONE))
    world.run_until(DUE_MS + (20_000 if end == "succeeded" else 2_000))
    world.state.remove_job(job_id)
    world.run_until(DUE_MS + 20_000)
    before = world.run_of(job_id, DUE_MS)
    assert before.state is (RunState.SUCCEEDED if end == "succeeded" else RunState.DEAD_LETTERED)
    message = WorkMessage(MessageKind.WAIT, before.key, TENANT, DUE_MS, 1, before.wait, "")
    world.queues.send([(message, Lane.SHORT, Priority.NORMAL)], world.clock)
    [delivery] = world.queues.queue(Lane.SHORT, Priority.NORMAL).receive(10)
    assert world.handle(delivery)
    assert world.run_of(job_id, DUE_MS) == before


def test_a_tenant_without_a_secret_is_not_called_unsigned() -> None:
    """A run that cannot be signed is a visible dead letter."""
    world = World()
    world.state.secrets.clear()
    job_id = one_off(world)
    world.run_until(DUE_MS + 5_000)
    assert world.run_of(job_id, DUE_MS).reason == "no_signing_secret"
    assert not world.caller.calls


@pytest.mark.parametrize("body", ["not json", "{}", json.dumps({"v": 1})])
def test_an_unreadable_message_is_left_and_counted(body: str) -> None:
    """B181: it is reported as not done, so that the queue's limit sets it aside, and its neighbours are handled."""
    world = World()
    job_id = one_off(world)
    world.queues.queue(Lane.SHORT, Priority.NORMAL).send(body)
    world.run_until(DUE_MS + 3_000)
    assert world.meter.counts["unparsable_message"] == 1
    assert world.run_of(job_id, DUE_MS).state is RunState.SUCCEEDED
    assert len(world.queues.queue(Lane.SHORT, Priority.NORMAL)) == 1


def test_b184_a_newer_message_waits_for_a_newer_worker() -> None:
    """B184: it is neither deleted nor counted as broken."""
    world = World()
    world.queues.queue(Lane.SHORT, Priority.NORMAL).send(json.dumps({"v": 2}))
    world.work()
    assert world.meter.counts["unparsable_message"] == 0
    assert len(world.queues.queue(Lane.SHORT, Priority.NORMAL)) == 1


@pytest.mark.parametrize("left_ms", [10_000, 19_999], ids=["for the call", "to record its end"])
def test_b176_a_call_that_cannot_end_in_time_is_not_begun(left_ms: int) -> None:
    """B176: a timeout of 15 s and five to record the end: with less left the message goes to another invocation."""
    world = World()
    job_id = one_off(world)
    world.dispatch()
    world.clock.set(DUE_MS)
    (delivery,) = world.receive()
    assert not world.worker()(delivery, world.clock.now_ms() + left_ms)
    assert not world.history(job_id)
    world.run_until(DUE_MS + 5_000)
    assert len(world.caller.calls) == 1


def test_b113_overlapping_runs_are_not_overlapping_attempts() -> None:
    """B113: a call that outlasts the interval lets the next occurrence start, as a run of its own."""
    world = World()

    def slow(_request: CallRequest, beat: Callable[[], bool]) -> Outcome:
        for _ in range(3):
            world.clock.advance(15_000)
            beat()
            world.dispatch()
            world.work()
        return answered(status=200, started_ms=0, duration_ms=1)

    world.caller.script = [slow]
    job_id = world.create(Every(20_000, START_MS, end_ms=START_MS + 40_000))
    world.run_until(START_MS + 120_000)
    assert [(run.state, run.attempt) for run in world.history(job_id)] == [(RunState.SUCCEEDED, 1)] * 3


def test_each_attempt_keeps_to_the_destinations_of_its_time() -> None:
    """What the tenant has registered by then goes along with the request; the caller calls nothing else."""
    world = World()
    world.caller.script = [status(503)]
    job_id = one_off(world)
    world.run_until(DUE_MS)
    registered = ANYWHERE.having(Destination(DestinationKind.HOST, "hooks.example.net", START_MS))
    world.dispatch()
    world.clock.set(DUE_MS)
    world.work()
    world.destinations.save(TENANT, registered)
    world.run_until(DUE_MS + 10_000)
    assert [request.destinations for request, _ in world.caller.calls] == [ANYWHERE, registered]
    assert world.run_of(job_id, DUE_MS).state is RunState.SUCCEEDED
