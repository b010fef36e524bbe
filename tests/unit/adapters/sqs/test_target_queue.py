"""Sends to the queues of tenants: what goes over the wire, and what each of SQS's answers means."""

import socket
from dataclasses import replace
from threading import Thread

import pytest
from botocore.exceptions import EndpointConnectionError, ReadTimeoutError

from carillon.adapters.aws import new_client
from carillon.adapters.memory.edges import MemoryClock
from carillon.adapters.sqs.target_queue import ANSWER_SECONDS, MOST_ATTEMPTS, SqsSender
from carillon.domain.job import LONGEST_SEND_MS
from carillon.domain.outcomes import Failure, SendRequest
from carillon.domain.target_policy import of_stage
from contract.backends import a_session
from contract.samples import NOW_MS
from contract.wire import Answer, Wire, error

ARN = "arn:aws:sqs:eu-west-1:111122223333:orders"
URL = "https://sqs.eu-west-1.amazonaws.com/111122223333/orders"
POLICY = of_stage(queues=[f"acme={ARN}", f"acme={ARN}.fifo", f"acme={ARN.replace('eu-west', 'us-east')}"])
REQUEST = SendRequest("acme", URL, (("webhook-id", "r"), ("Carillon-Attempt", "1")), "{}", "job", "run")
SENT = Answer({"MessageId": "5fea7756", "MD5OfMessageBody": "x"})
SILENCE = ReadTimeoutError(endpoint_url="http://127.0.0.1:9")


def sender(wire: Wire) -> SqsSender:
    """A sender whose clients speak over this wire."""
    return SqsSender(MemoryClock(NOW_MS), POLICY, lambda _region: wire.client("sqs"))


def test_a_message_to_a_standard_queue() -> None:
    """Body and attributes as they were signed; nothing else is asked of the queue."""
    wire = Wire([SENT])
    outcome = sender(wire).send(REQUEST)
    assert (outcome.status, outcome.excerpt) == (200, '{"MessageId": "5fea7756"}')
    ((operation, sent),) = wire.requests
    assert operation == "SendMessage"
    assert sent == {
        "QueueUrl": URL,
        "MessageBody": "{}",
        "MessageAttributes": {
            "webhook-id": {"DataType": "String", "StringValue": "r"},
            "Carillon-Attempt": {"DataType": "String", "StringValue": "1"},
        },
    }


def test_a_message_to_a_fifo_queue_has_a_group_and_is_known_when_it_comes_twice() -> None:
    """Both are given: not every queue deduplicates by content."""
    wire = Wire([SENT])
    assert sender(wire).send(replace(REQUEST, queue_url=f"{URL}.fifo")).status == 200
    ((_, sent),) = wire.requests
    assert (sent["MessageGroupId"], sent["MessageDeduplicationId"]) == ("job", "run")


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (error("QueueDoesNotExist"), Failure.QUEUE_MISSING),
        (error("AWS.SimpleQueueService.NonExistentQueue"), Failure.QUEUE_MISSING),
        (error("AccessDenied", 403), Failure.QUEUE_ACCESS_DENIED),
        (error("AccessDeniedException"), Failure.QUEUE_ACCESS_DENIED),
        (error("KmsAccessDenied"), Failure.QUEUE_ACCESS_DENIED),
        (error("InvalidMessageContents"), Failure.QUEUE_REFUSED),
        (error("InvalidParameterValue"), Failure.QUEUE_REFUSED),
        (error("RequestThrottled"), Failure.QUEUE_UNAVAILABLE),
        (error("ThrottlingException"), Failure.QUEUE_UNAVAILABLE),
        (error("KmsThrottled"), Failure.QUEUE_UNAVAILABLE),
        (error("ExpiredToken", 403), Failure.QUEUE_UNAVAILABLE),
        (error("InternalError", 500), Failure.QUEUE_UNAVAILABLE),
        (Answer({}, 503), Failure.QUEUE_UNAVAILABLE),
        (Answer(raw=b"<html>", status=502), Failure.QUEUE_UNAVAILABLE),
        (SILENCE, Failure.QUEUE_UNAVAILABLE),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1:9"), Failure.QUEUE_UNAVAILABLE),
    ],
    ids=lambda value: value.body.get("__type", value.status) if isinstance(value, Answer) else type(value).__name__,
)
def test_each_answer_of_sqs_is_a_code_of_the_closed_set(answer: Answer | Exception, failure: Failure) -> None:
    """A tenant learns which of four things it was, and nothing of the account or the network."""
    outcome = sender(Wire([answer])).send(REQUEST)
    assert (outcome.status, outcome.failure, outcome.excerpt) == (None, failure, "")


@pytest.mark.parametrize(
    "request_",
    [
        replace(REQUEST, tenant="globex"),
        replace(REQUEST, queue_url=URL.replace("orders", "theirs")),
        replace(REQUEST, queue_url="http://127.0.0.1:9/111122223333/orders"),
    ],
    ids=["other-tenant", "not-listed", "local"],
)
def test_nothing_is_sent_to_what_is_not_on_the_list(request_: SendRequest) -> None:
    """It is judged anew before each send, for the tenant whose job it is."""
    wire = Wire([])
    assert sender(wire).send(request_).failure is Failure.TARGET_BLOCKED
    assert wire.requests == []


def test_each_region_has_a_client_that_is_made_once() -> None:
    """A queue is reached in its own region."""
    wire, asked = Wire([SENT, SENT, SENT]), list[str]()

    def client_in(region: str) -> object:
        asked.append(region)
        return wire.client("sqs")

    send = SqsSender(MemoryClock(NOW_MS), POLICY, client_in).send
    for url in (URL, URL.replace("eu-west", "us-east"), URL):
        assert send(replace(REQUEST, queue_url=url)).status == 200
    assert asked == ["eu-west-1", "us-east-1"]


def test_a_client_gives_up_within_the_time_of_a_send() -> None:
    """All attempts with their connecting, and a second of pause between: a call that is begun ends in time."""
    assert MOST_ATTEMPTS * (ANSWER_SECONDS + 1.0) + 1.0 < LONGEST_SEND_MS / 1000


class Silent:
    """A queue's endpoint that takes each request and closes the connection without an answer."""

    def __init__(self) -> None:
        self.taken = 0
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self._thread = Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with connection:
                if b"SendMessage" in connection.recv(65_536):
                    self.taken += 1

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join(10)


def test_a_send_whose_answer_is_lost_is_made_once() -> None:
    """It may have arrived: another one would be a second message of the same attempt, whatever the job allows."""
    endpoint = Silent()
    limits = {"most_attempts": MOST_ATTEMPTS, "answer_seconds": ANSWER_SECONDS}
    client = new_client(a_session(), "sqs", endpoint_url=endpoint.url, **limits)
    try:
        outcome = SqsSender(MemoryClock(NOW_MS), POLICY, lambda _region: client).send(REQUEST)
    finally:
        endpoint.close()
    assert (outcome.failure, endpoint.taken) == (Failure.QUEUE_UNAVAILABLE, 1)
