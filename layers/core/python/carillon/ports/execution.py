"""What workers need: a message that was received, the targets, a place for what nobody can read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # types alone: who uses a part of this loads no other
    from collections.abc import Callable, Mapping

    from carillon.domain.breaker import Breaker
    from carillon.domain.outcomes import CallRequest, Outcome, SendRequest


class Delivery(Protocol):
    """One received message, as far as its queue is concerned."""

    @property
    def message_id(self) -> str:
        """The queue's name of the message."""
        ...

    @property
    def body(self) -> str:
        """What was received."""
        ...

    def come_again_after(self, after_ms: int) -> None:
        """Let the message stay invisible for so long from now (rounded up to seconds, at most 12 hours)."""
        ...


class Caller(Protocol):
    """Calls targets. Never raises for what the target, the network or the name service does."""

    def call(self, request: CallRequest, *, deadline_ms: int, beat: Callable[[], bool], beat_every_ms: int) -> Outcome:
        """Make one call within one deadline (epoch ms), calling `beat` every so often while it waits.

        When `beat` returns False the call is broken off and the outcome is the error `cancelled`.
        """
        ...


class Sender(Protocol):
    """Sends to the queues of tenants. Never raises for what the queue or its owner does."""

    def send(self, request: SendRequest) -> Outcome:
        """Send one message within a bounded time, `job.LONGEST_SEND_MS`; sent is answered with 200."""
        ...


class Quarantine(Protocol):
    """Where messages go that nobody can read."""

    def set_aside(self, message_id: str, body: str, reason: str, now_ms: int) -> None:
        """Keep the message (cut to 1,024 characters) for 90 days, for a person to look at."""
        ...


class BreakerStore(Protocol):
    """The circuit breakers that have opened."""

    def of(self, tenant: str) -> Mapping[str, Breaker]:
        """A tenant's breakers by their targets; what others have written may take some seconds to be seen.

        Raises:
            UnreadableItemError: what is stored is damaged.
        """
        ...

    def save(self, breaker: Breaker) -> bool:
        """Store it if the stored one is that of the `rev` before, or none. A repeat of the same write succeeds."""
        ...
