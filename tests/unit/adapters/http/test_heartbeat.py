"""The heartbeat of a call: beats while it waits, and ends it when it was cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from carillon.adapters.http.budget import Budget, CallFailedError
from carillon.domain.outcomes import Failure

if TYPE_CHECKING:
    from tests.unit.adapters.http.conftest import Calls, Conversation, Heart, Serve


def answer_late(conversation: Conversation) -> None:
    """Answer after a fifth of a second."""
    conversation.read_request()
    conversation.stop.wait(0.2)
    conversation.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def drip(conversation: Conversation) -> None:
    """Send a byte more often than the heart beats."""
    conversation.read_request()
    conversation.send_slowly(b"HTTP/1.1 200 OK\r\nX-A: " + b"a" * 10_000, every_seconds=0.002)


def say_nothing(conversation: Conversation) -> None:
    """Take the request, and no more."""
    conversation.read_request()
    conversation.stop.wait(10)


def test_the_heart_beats_while_the_target_works(serve: Serve, call: Calls, make_heart: type[Heart]) -> None:
    """Several times within one answer, in the calling thread, and the answer is as if it had not."""
    heart = make_heart()

    def answer_after_three_beats(conversation: Conversation) -> None:
        conversation.read_request()
        while heart.count < 3 and not conversation.stop.wait(0.005):
            pass
        conversation.send(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    outcome = call(f"http://hooks.acme.com:{serve(answer_after_three_beats).port}/", beat=heart, beat_every_ms=20)
    assert (outcome.status, outcome.excerpt) == (200, "ok")
    assert heart.count >= 3


def test_a_short_call_has_no_beat(serve: Serve, call: Calls, make_heart: type[Heart]) -> None:
    """The first beat is due one interval after the beginning."""
    heart = make_heart()
    assert call(f"http://hooks.acme.com:{serve(answer_late).port}/", beat=heart).status == 200
    assert heart.count == 0


@pytest.mark.parametrize("script", [say_nothing, drip], ids=lambda script: script.__name__)
def test_a_cancelled_run_ends_its_call(serve: Serve, call: Calls, make_heart: type[Heart], script: object) -> None:
    """At the beat that says so, be the target silent or busy; there is no further beat."""
    heart = make_heart(beats=3)
    outcome = call(f"http://hooks.acme.com:{serve(script).port}/", beat=heart, beat_every_ms=20)
    assert outcome.failure is Failure.CANCELLED
    assert heart.count == 3


def test_what_a_beat_raises_ends_the_call(serve: Serve, call: Calls) -> None:
    """The caller does not take the trouble of its user for trouble of the target."""

    def beat() -> bool:
        raise ConnectionError("the table does not answer")

    with pytest.raises(ConnectionError, match="the table"):
        call(f"http://hooks.acme.com:{serve(say_nothing).port}/", beat=beat, beat_every_ms=20)


def test_a_wait_may_have_a_bound_of_its_own() -> None:
    """Its failure is named by the one who waits; the call as a whole has time left."""

    def wait(_seconds: float) -> None:
        raise TimeoutError

    with pytest.raises(CallFailedError) as failed:
        Budget(60_000, lambda: True, 60_000).patiently(wait, within_seconds=0.01, otherwise=Failure.DNS_ERROR)
    assert failed.value.failure is Failure.DNS_ERROR


def test_no_wait_outlasts_the_call() -> None:
    """A bound longer than what is left of the call does not count."""
    asked: list[float] = []
    Budget(50, lambda: True, 60_000).patiently(asked.append, within_seconds=60)
    assert 0 < asked[0] <= 0.05
