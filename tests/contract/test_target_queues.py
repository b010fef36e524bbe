"""What is sent to a tenant's queue arrives as it was signed, and what comes twice in a FIFO queue is one."""

from dataclasses import replace

import pytest

from carillon.domain.outcomes import Failure, SendRequest
from carillon.domain.signing import sign
from carillon.receiver import verify
from contract.backends import TargetQueues
from support.world import SECRET

BODY = '{ "z": 1.0, "name": "Grüße \U0001f980", "text": "\\u0000\\n" }'
ID = "job_01M8MX0REB67WD2ANKW6N989AG@20261012T023000000Z~A0ZX"


def a_message(queues: TargetQueues, kind: str, deduplication: str = ID) -> SendRequest:
    """A message to one of the queues, with the longest names that there are."""
    attributes = (("webhook-id", ID), ("Carillon-Attempt", "1"), ("webhook-signature", "v1,a= v1,b="))
    return SendRequest("acme", queues.urls[kind], attributes, BODY, ID.partition("@")[0], deduplication)


@pytest.mark.parametrize("kind", ["standard", "fifo"])
def test_a_message_arrives_as_it_was_sent(target_queues: TargetQueues, kind: str) -> None:
    """The body to the character, the attributes by their names; the outcome tells that it was sent."""
    message = a_message(target_queues, kind)
    outcome = target_queues.sender.send(message)
    assert (outcome.status, outcome.failure) == (200, None)
    assert "MessageId" in outcome.excerpt
    assert target_queues.received(kind) == [(BODY, dict(message.attributes))]


def test_a_fifo_queue_takes_a_run_once(target_queues: TargetQueues) -> None:
    """Sent again under the same name it is taken for sent; under another it is another."""
    message = a_message(target_queues, "fifo")
    other = replace(message, deduplication="other", body="2")
    outcomes = [target_queues.sender.send(each) for each in (message, message, other)]
    assert [outcome.status for outcome in outcomes] == [200] * 3
    assert [body for body, _ in target_queues.received("fifo")] == [BODY, "2"]


def test_a_standard_queue_takes_each(target_queues: TargetQueues) -> None:
    """At least once: the receiver knows a repeat by its id."""
    message = a_message(target_queues, "standard")
    for _ in range(2):
        assert target_queues.sender.send(message).status == 200
    assert [body for body, _ in target_queues.received("standard")] == [BODY] * 2


def test_a_queue_that_is_not_there(target_queues: TargetQueues) -> None:
    """It is told by its code."""
    assert target_queues.sender.send(a_message(target_queues, "missing")).failure is Failure.QUEUE_MISSING


def test_a_whole_quarter_mebibyte_fits(target_queues: TargetQueues) -> None:
    """The largest payload, with all of its attributes."""
    message = replace(a_message(target_queues, "standard"), body='"' + "ü" * (128 * 1024 - 1) + '"')
    assert target_queues.sender.send(message).status == 200


def test_the_helper_verifies_a_message(target_queues: TargetQueues) -> None:
    """Signature and body reach the receiver unchanged."""
    message = replace(
        a_message(target_queues, "standard"),
        attributes=(
            ("webhook-id", ID),
            ("webhook-timestamp", "1790000000"),
            ("webhook-signature", sign([SECRET], ID, 1_790_000_000, BODY.encode())),
        ),
    )
    target_queues.sender.send(message)
    ((body, attributes),) = target_queues.received("standard")
    verify(SECRET, attributes, body, now_seconds=1_790_000_000)
