"""The receiver of callbacks for demos and tests."""

import http.client
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from standardwebhooks.webhooks import Webhook

from carillon_cli.dev.receiver import Answer, Receiver

SECRET = "whsec_" + "eHh4" * 8
DUE = datetime(2026, 10, 12, 2, 30, tzinfo=UTC)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A listening receiver."""
    with Receiver(SECRET) as listening:
        yield listening


def call(receiver: Receiver, path: str = "/hook", secret: str = SECRET, body: bytes = b'{"n": 1}') -> int:
    """Call it as Carillon does; returns the status of the answer."""
    now = datetime.now(UTC)
    run = "job_1@20261012T023000000Z"
    headers = {
        "webhook-id": run,
        "webhook-timestamp": str(int(now.timestamp())),
        "webhook-signature": Webhook(secret).sign(run, now, body.decode()),
        "Carillon-Job-Id": "job_1",
        "Carillon-Attempt": "2",
        "Carillon-Scheduled-For": "2026-10-12T02:30:00.000Z",
    }
    connection = http.client.HTTPConnection(receiver.url().removeprefix("http://").strip("/"), timeout=10)
    try:
        connection.request("POST", path, body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


def test_a_call_is_kept_and_checked(receiver: Receiver) -> None:
    """Everything that a test asks about a call is there, and a right signature is found right."""
    assert call(receiver) == 200
    [kept] = receiver.calls("/hook")
    assert kept.problem is None
    assert (kept.method, kept.body, kept.run_id) == ("POST", b'{"n": 1}', "job_1@20261012T023000000Z")
    assert (kept.job_id, kept.attempt) == ("job_1", 2)
    assert kept.late_ms == kept.received_ms - int(DUE.timestamp() * 1000)


def test_a_wrong_signature_is_told(receiver: Receiver) -> None:
    """A call signed with another secret is kept with its problem."""
    call(receiver, secret="whsec_" + "eXl5" * 8)
    [kept] = receiver.calls()
    assert kept.problem is not None


def test_answers_come_in_turn_and_the_last_stays(receiver: Receiver) -> None:
    """A path answers as programmed; other paths answer 200."""
    receiver.answer("/flaky", Answer(503), Answer(429, headers={"Retry-After": "1"}), Answer(204))
    assert [call(receiver, "/flaky") for _ in range(4)] == [503, 429, 204, 204]
    assert call(receiver, "/other") == 200


def test_a_choice_answers_what_has_no_answers_of_its_own() -> None:
    """Who gives a choice decides by the call; paths with answers of their own keep them."""
    with Receiver(SECRET, lambda call: Answer(500 + call.attempt)) as receiver:
        receiver.answer("/set", Answer(204))
        assert [call(receiver, path) for path in ("/set", "/free")] == [204, 502]


def test_waiting_ends_when_enough_came_or_at_the_limit(receiver: Receiver) -> None:
    """A wait returns all calls so far, whether or not they are enough."""
    assert receiver.wait_for(1, 0.01) == []
    call(receiver)
    assert len(receiver.wait_for(1, 10)) == 1
    assert len(receiver.wait_for(lambda calls: calls[0].attempt == 2, 10)) == 1
