"""Waits that no queue could hold, limits that meet, and histories that would outgrow their item."""

import json

import pytest

from carillon.adapters.dynamodb.attributes import size_of
from carillon.adapters.dynamodb.run_items import run_item
from carillon.domain.outcomes import CallRequest, Outcome, answered
from carillon.domain.retry import MAX_AGE_MS, GiveUp, Jitter, Retry, RetryPolicy, decide_retry
from carillon.domain.run import MOST_ATTEMPTS_KEPT, MOST_EXCERPTS_KEPT, RunState
from carillon.domain.schedule import OneOff
from support.world import START_MS, World, status

DUE_MS = START_MS + 2_000
HOUR_MS = 3_600_000
LARGEST_ITEM_BYTES = 400 * 1024


@pytest.mark.parametrize(("attempts", "reason"), [(5, "max_age"), (3, "attempts_exhausted"), (2, "attempts_exhausted")])
def test_b164_whichever_limit_comes_first(attempts: int, reason: str) -> None:
    """B164: with 60 s of its age left and waits of 30 s, a run is tried at 0, 30 and 60 s, or fewer times."""
    policy = RetryPolicy(max_attempts=attempts, delays_ms=(30_000,), jitter=Jitter.NONE)
    tried, decision = [0], None
    while not isinstance(decision, GiveUp):
        now_ms = MAX_AGE_MS - 60_000 + tried[-1]
        decision = decide_retry(
            policy,
            attempt=len(tried),
            permanent=None,
            retry_after_ms=None,
            scheduled_for=0,
            now_ms=now_ms,
            unit=0,
        )
        if isinstance(decision, Retry):
            tried.append(tried[-1] + decision.at_ms - now_ms)
    assert (tried, decision.reason) == ([0, 30_000, 60_000][:attempts], reason)


def test_b166_a_deadline_is_that_of_the_first_start() -> None:
    """B166, as documented: a run that began in time is tried again, and ends by its attempts or its age."""
    world = World()
    world.caller.script = [status(503)]
    job_id = world.create(
        OneOff(DUE_MS), deadline_ms=10_000, retry=RetryPolicy(delays_ms=(20_000,), jitter=Jitter.NONE)
    )
    world.run_until(DUE_MS + 60_000)
    assert (world.run_of(job_id, DUE_MS).state, len(world.caller.calls)) == (RunState.SUCCEEDED, 2)


def test_b178_a_wait_of_thirteen_hours_is_in_no_queue() -> None:
    """B178: SQS hides a message for twelve hours at the most; a retry waits in the due index."""
    world = World()
    world.caller.script = [status(503)]
    retry = RetryPolicy(delays_ms=(13 * HOUR_MS,), jitter=Jitter.NONE)
    job_id = world.create(OneOff(DUE_MS), retry=retry)
    world.run_until(DUE_MS + 5_000)
    assert [len(queue) for queue in world.queues.queues.values()] == [0] * 4
    failed_at = world.run_of(job_id, DUE_MS).attempts[0].ended_at or 0
    assert world.run_of(job_id, DUE_MS).next_fire_time == failed_at + 13 * HOUR_MS
    world.clock.set(failed_at + 13 * HOUR_MS - 2_000)
    world.run_until(failed_at + 13 * HOUR_MS + 5_000)
    assert world.caller.calls[1][1] >= failed_at + 13 * HOUR_MS
    assert world.run_of(job_id, DUE_MS).state is RunState.SUCCEEDED


def test_b179_one_failed_message_of_five_comes_again_alone() -> None:
    """B179: after its visibility, once; the four that were done never."""
    world = World()
    queue = next(iter(world.queues.queues.values()))
    for number in range(5):
        queue.send(json.dumps({"number": number}))
    first = queue.receive(10, 30_000)
    for delivery in first[:2] + first[3:]:
        delivery.delete()
    assert queue.receive(10) == []
    world.clock.advance(29_999)
    assert queue.receive(10) == []
    world.clock.advance(1)
    (again,) = queue.receive(10, 30_000)
    assert (json.loads(again.body), again.receives) == ({"number": 2}, 2)


def test_b169_a_long_history_can_still_be_written() -> None:
    """B169: a hundred attempts with the worst of answers, twice over by a redrive's numbering, fit into an item."""
    world = World()

    def worst(_request: CallRequest, _beat: object) -> Outcome:
        return answered(status=503, body=bytes(4096), started_ms=0, duration_ms=1)

    world.caller.script = [worst] * 250
    retry = RetryPolicy(max_attempts=250, delays_ms=(1_000,), jitter=Jitter.NONE)
    job_id = world.create(OneOff(DUE_MS), retry=retry)
    world.run_until(DUE_MS + 2_000_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.attempt, run.reason) == (RunState.DEAD_LETTERED, 250, "attempts_exhausted")
    assert [attempt.number for attempt in run.attempts] == list(range(251 - MOST_ATTEMPTS_KEPT, 251))
    assert sum(attempt.excerpt is not None for attempt in run.attempts) == MOST_EXCERPTS_KEPT
    assert run.attempts[-1].excerpt == "\0" * 4096
    assert size_of(run_item(run)) < LARGEST_ITEM_BYTES
