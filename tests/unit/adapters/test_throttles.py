"""Whatever says "less" in an answer is counted by its reason, once, and changes nothing else."""

import json
from contextlib import suppress
from typing import Any

import pytest

from carillon.adapters.aws import ask
from carillon.adapters.dynamodb.fenced import BatchedUpdates
from carillon.adapters.dynamodb.jobs import DynamoJobStore
from carillon.adapters.memory.edges import MemoryClock, RecordingMeter
from carillon.adapters.sqs.routing import QueueName
from carillon.adapters.sqs.work import SqsWorkQueues
from carillon.adapters.throttles import Throttles
from carillon.domain.identity import RunKey
from carillon.domain.job import Lane, Priority
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.ports.errors import UnavailableError
from carillon.ports.jobs import Claimed, ClaimRefused
from contract.samples import NOW_MS, a_claim, a_definition, new_job_id
from contract.wire import Answer, Wire, cancelled, error

URLS = {name: f"http://127.0.0.1:9/000000000000/{name}" for name in QueueName}
EXCEEDED = "ProvisionedThroughputExceededException"


def watched(wire: Wire, service: str = "dynamodb") -> tuple[Any, Throttles, RecordingMeter]:
    """A client that is watched."""
    meter = RecordingMeter()
    throttles, client = Throttles(meter), wire.client(service)
    throttles.watch(client)
    return client, throttles, meter


def because(reason: str) -> list[dict[str, str]]:
    """DynamoDB's list of reasons."""
    return [{"reason": reason, "resource": "arn:aws:dynamodb:us-east-1:1:table/jobs/index/due"}]


@pytest.mark.parametrize(
    ("answer", "metric"),
    [
        (error(EXCEEDED, ThrottlingReasons=because("IndexWriteKeyRangeThroughputExceeded")), "throttled_index_key"),
        (error(EXCEEDED, ThrottlingReasons=because("TableReadKeyRangeThroughputExceeded")), "throttled_table_key"),
        (error(EXCEEDED, ThrottlingReasons=because("IndexWriteProvisionedThroughputExceeded")), "throttled_capacity"),
        (
            error("ThrottlingException", throttlingReasons=because("TableWriteAccountLimitExceeded")),
            "throttled_account",
        ),
        (error(EXCEEDED, ThrottlingReasons=because("TableWriteMaxOnDemandThroughputExceeded")), "throttled_capacity"),
        (error("RequestLimitExceeded"), "throttled_account"),
        (error("ThrottlingException"), "throttled_unsaid"),
        (cancelled("None", "ThrottlingError"), "throttled_unsaid"),
        (Answer({"Responses": [{}, {"Error": {"Code": "ProvisionedThroughputExceeded"}}]}), "throttled_unsaid"),
        (Answer({"Responses": [{"Error": {"Code": "RequestLimitExceeded"}}]}), "throttled_account"),
    ],
)
def test_each_reason_has_a_metric(answer: Answer, metric: str) -> None:
    """Whether the request is throttled, one of its statements, or a part of a transaction."""
    client, throttles, meter = watched(Wire([answer]))
    with suppress(UnavailableError, client.exceptions.ClientError):
        ask(client.batch_execute_statement, Statements=[])
    assert (dict(meter.counts), throttles.seen()) == ({metric: 1}, 1)


@pytest.mark.parametrize(
    "answer",
    [
        Answer({"Responses": [{}, {"Error": {"Code": "ConditionalCheckFailed"}}]}),
        Answer({"Responses": [{"Error": {"Code": "TransactionConflict"}}]}),
        cancelled("None", "ConditionalCheckFailed"),
        error("ConditionalCheckFailedException"),
        Answer({}, 503),
    ],
)
def test_a_refusal_is_no_throttle(answer: Answer) -> None:
    """Lost races and faults do not slow anything down."""
    client, throttles, meter = watched(Wire([answer]))
    with suppress(UnavailableError, client.exceptions.ClientError):
        ask(client.batch_execute_statement, Statements=[])
    assert (dict(meter.counts), throttles.seen()) == ({}, 0)


def test_claims_that_were_throttled_hold_in_the_end() -> None:
    """Those that went through are not claimed again; each throttled statement counts."""
    claims = [a_claim(a_definition().job, f"{number:026}") for number in range(3)]
    throttled = {"Error": {"Code": "ProvisionedThroughputExceeded"}}
    wire = Wire([Answer({"Responses": [{}, throttled, throttled]}), Answer({"Responses": [{}, {}]})])
    meter = RecordingMeter()
    database = wire.database()
    Throttles(meter).watch(database.client)
    results = DynamoJobStore(database, transport=BatchedUpdates()).claim_many(claims)
    assert results == [Claimed(claim) for claim in claims]
    assert [len(request["Statements"]) for _, request in wire.requests] == [3, 2]
    assert meter.counts == {"throttled_unsaid": 2}


def messages(count: int) -> list[tuple[WorkMessage, Lane, Priority]]:
    """Messages of first runs."""
    keys = [RunKey.of(new_job_id(), NOW_MS) for _ in range(count)]
    first = MessageKind.FIRST
    return [(WorkMessage(first, key, "acme", NOW_MS, 1, 0, "C" * 26), Lane.SHORT, Priority.NORMAL) for key in keys]


def sent(accepted: list[int], failed: list[int]) -> Answer:
    """The answer to a batch of messages."""
    failures = [{"Id": str(n), "Code": "ThrottlingException", "SenderFault": False} for n in failed]
    return Answer({"Successful": [{"Id": str(n), "MessageId": "m"} for n in accepted], "Failed": failures})


def test_b116_messages_that_alone_were_throttled_are_sent_again() -> None:
    """B116: only they, after a pause, and the answers keep their places."""
    wire = Wire([sent([0, 2], [1, 3]), sent([1], [0]), sent([0], [])])
    client, throttles, meter = watched(wire, "sqs")
    clock, batch = MemoryClock(NOW_MS), messages(4)
    assert SqsWorkQueues(client, URLS).send(batch, clock) == [True] * 4
    bodies = [[json.loads(entry["MessageBody"])["job"] for entry in request["Entries"]] for _, request in wire.requests]
    jobs = [message.key.job_id for message, _, _ in batch]
    assert bodies == [jobs, [jobs[1], jobs[3]], [jobs[1]]]
    assert (dict(meter.counts), throttles.seen()) == ({"throttled_queue": 3}, 3)
    assert clock.now_ms() > NOW_MS


def test_b116_a_message_that_stays_throttled_is_left_to_the_next_sweep() -> None:
    """B116: after a few tries it counts as not sent; a batch of which nothing arrived is not tried again at once."""
    wire = Wire([sent([0], [1]), sent([], [0]), sent([], [0])])
    assert SqsWorkQueues(watched(wire, "sqs")[0], URLS).send(messages(2), MemoryClock(NOW_MS)) == [True, False]
    assert len(wire.requests) == 3


def test_a_throttled_claim_is_refused_without_a_job() -> None:
    """Nobody answered for it: the entry stays due, and nobody takes it over by mistake."""
    claim = a_claim(a_definition().job, "0" * 26)
    other = a_claim(a_definition().job, "1" * 26)
    throttled = {"Error": {"Code": "ThrottlingError"}}
    wire = Wire([Answer({"Responses": [{}, throttled]}), *[Answer({"Responses": [throttled]})] * 5])
    results = DynamoJobStore(wire.database(), transport=BatchedUpdates()).claim_many([claim, other])
    assert results == [Claimed(claim), ClaimRefused(other, None)]
