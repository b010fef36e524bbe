"""A run whose target is a queue: one signed message, recorded like any other attempt."""

import pytest

from carillon.application.complete_run import CompleteRun, Reporter
from carillon.domain.completions import Completed, Report
from carillon.domain.job import Completion, Lane, QueueTarget
from carillon.domain.outcomes import Failure
from carillon.domain.run import RunState
from carillon.domain.schedule import OneOff
from carillon.domain.target_policy import HOSTED
from carillon.receiver import verify
from support.one_offs import DUE_MS, one_off
from support.world import QUEUE_URL, SECRET, Fault, World

FIFO_URL = f"{QUEUE_URL}.fifo"
BODY = '{ "z": 1.0, "name": "Grüße \U0001f980" }'


def queued(world: World, url: str = QUEUE_URL, **spec: object) -> str:
    """A one-off that sends a message."""
    return one_off(world, target=QueueTarget(url), payload=BODY.encode(), **spec)


def test_a_message_is_signed_and_carries_its_identity() -> None:
    """B229: its attributes say what the headers of a callback say; the body is the payload, to the character."""
    world = World()
    job_id = queued(world)
    world.run_until(DUE_MS + 2_000)
    (request,) = world.target_queues.sent_to(QUEUE_URL)
    attributes = dict(request.attributes)
    assert request.body == BODY
    verify(SECRET, attributes, request.body, now_seconds=int(attributes["webhook-timestamp"]))
    assert attributes["webhook-id"] == attributes["Idempotency-Key"] == f"{job_id}@20260921T141322000Z"
    assert (attributes["Carillon-Attempt"], attributes["Carillon-Max-Attempts"]) == ("1", "5")
    assert attributes["Carillon-Scheduled-For"] == "2026-09-21T14:13:22.000Z"
    assert world.caller.calls == []


def test_its_attributes_are_what_sqs_takes() -> None:
    """At most ten, two of them left for a completion; names of letters, digits, hyphens; far below 1 MiB."""
    world = World()
    queued(world, FIFO_URL)
    world.run_until(DUE_MS + 2_000)
    (request,) = world.target_queues.sent_to(FIFO_URL)
    assert len(request.attributes) == 8
    assert all(name.replace("-", "").isalnum() and value for name, value in request.attributes)
    assert not [name for name, _ in request.attributes if name.lower().startswith(("aws", "amazon"))]
    assert all(0 < len(name) <= 128 for name in (request.group, request.deduplication))


def test_what_was_sent_is_recorded() -> None:
    """The run has succeeded; the attempt keeps the queue's name of the message."""
    world = World()
    job_id = queued(world)
    world.run_until(DUE_MS + 2_000)
    run = world.run_of(job_id, DUE_MS)
    (attempt,) = run.attempts
    assert (run.state, attempt.status, attempt.error) == (RunState.SUCCEEDED, 200, None)
    assert attempt.excerpt == '{"MessageId": "message-0"}'


def test_a_fifo_queue_keeps_a_job_in_order_and_a_run_single() -> None:
    """The group is the job, what is sent twice is known by the run."""
    world = World()
    job_id = queued(world, FIFO_URL)
    world.run_until(DUE_MS + 2_000)
    (request,) = world.target_queues.sent_to(FIFO_URL)
    assert (request.group, request.deduplication) == (job_id, f"{job_id}@20260921T141322000Z")


@pytest.mark.parametrize(
    "failure", [Failure.QUEUE_MISSING, Failure.QUEUE_ACCESS_DENIED, Failure.QUEUE_REFUSED], ids=str
)
def test_what_no_further_attempt_can_mend_is_final(failure: Failure) -> None:
    """A queue that is gone or closed, a message that it does not take: the run is a dead letter at once."""
    world = World()
    world.target_queues.failures[QUEUE_URL] = failure
    job_id = queued(world)
    world.run_until(DUE_MS + 120_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.reason, run.attempt) == (RunState.DEAD_LETTERED, failure, 1)


def test_a_queue_that_does_not_answer_is_tried_again() -> None:
    """Throttles and outages of SQS are retried by the job's policy, with the attempt's number in the message."""
    world = World()
    world.target_queues.failures[QUEUE_URL] = Failure.QUEUE_UNAVAILABLE
    job_id = queued(world)
    world.run_until(DUE_MS + 1_000)
    assert world.run_of(job_id, DUE_MS).state is RunState.RETRYING
    del world.target_queues.failures[QUEUE_URL]
    world.run_until(DUE_MS + 60_000)
    (request,) = world.target_queues.sent_to(QUEUE_URL)
    assert dict(request.attributes)["Carillon-Attempt"] == "2"
    assert [attempt.error for attempt in world.run_of(job_id, DUE_MS).attempts] == ["queue_unavailable", None]


def test_the_list_is_looked_at_before_each_attempt() -> None:
    """A queue that an operator has taken off the list gets nothing more."""
    world = World()
    job_id = queued(world)
    world.target_queues.policy = HOSTED
    world.run_until(DUE_MS + 2_000)
    assert world.run_of(job_id, DUE_MS).reason == "target_blocked"
    assert world.target_queues.sent_to(QUEUE_URL) == []


@pytest.mark.parametrize(("url", "messages"), [(QUEUE_URL, ["1", "2"]), (FIFO_URL, ["1"])], ids=["standard", "fifo"])
def test_a_worker_that_dies_between_send_and_record_sends_again_under_the_same_name(
    url: str, messages: list[str]
) -> None:
    """What at least once means: one id and another attempt. A FIFO queue knows the run, for five minutes."""
    world = World(fault=Fault("runs.save", 2, after=False))
    job_id = queued(world, url)
    world.run_until(DUE_MS + 200_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.attempt, run.attempts[0].error) == (RunState.SUCCEEDED, 2, "worker_lost")
    sent = [dict(request.attributes) for request in world.target_queues.sent_to(url)]
    assert [each["Carillon-Attempt"] for each in sent] == messages
    assert {each["webhook-id"] for each in sent} == {run.key.run_id}


def test_its_lane_is_that_of_short_calls() -> None:
    """A send never takes long."""
    world = World()
    job_id = world.create(OneOff(DUE_MS), target=QueueTarget(QUEUE_URL), payload=b"1")
    assert world.lane_of(job_id) is Lane.SHORT


ASYNC = Completion(timeout_ms=3_600_000, heartbeat_ms=60_000)


@pytest.mark.parametrize("url", [QUEUE_URL, FIFO_URL])
def test_a_message_that_is_to_be_completed_brings_the_means(url: str) -> None:
    """A send is no success then; the consumer reports with what stands in the attributes."""
    world = World()
    job_id = one_off(world, target=QueueTarget(url, ASYNC), payload=BODY.encode())
    world.run_until(DUE_MS + 2_000)
    (request,) = world.target_queues.sent_to(url)
    assert len(request.attributes) == 10, "as many as SQS takes"
    assert len(request.deduplication) <= 128
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.attempts[0].status) == (RunState.AWAITING_COMPLETION, 200)
    means = dict(request.attributes)
    assert means["Carillon-Completion-Url"].endswith(f"/v1/runs/{run.key.run_id}/complete")
    reporter = Reporter(token=means["Carillon-Completion-Token"])
    done = CompleteRun(world.records(), world.ids)(reporter, run.key.run_id, Completed(Report.SUCCEEDED))
    assert done.state is RunState.SUCCEEDED


@pytest.mark.parametrize("url", [QUEUE_URL, FIFO_URL])
def test_each_attempt_of_such_a_run_is_a_message_of_its_own(url: str) -> None:
    """A FIFO queue must not take it for a repeat: the token of the first is stale."""
    world = World()
    job_id = one_off(world, target=QueueTarget(url, ASYNC), payload=BODY.encode())
    world.run_until(DUE_MS + 70_000)
    first, second = (dict(request.attributes) for request in world.target_queues.sent_to(url))
    assert (first["Carillon-Attempt"], second["Carillon-Attempt"]) == ("1", "2")
    assert first["Carillon-Completion-Token"] != second["Carillon-Completion-Token"]
    run = world.run_of(job_id, DUE_MS)
    assert (run.attempts[0].error, run.state) == ("heartbeat_timeout", RunState.AWAITING_COMPLETION)
