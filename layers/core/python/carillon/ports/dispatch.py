"""What dispatchers and tickers need: the due index, leases and ledgers, queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # types alone: who uses a part of this loads no other
    from collections.abc import Iterator, Sequence

    from carillon.domain.due import DueEntry, UnreadableEntry
    from carillon.domain.job import Lane, Priority
    from carillon.domain.messages import Tick, WorkMessage
    from carillon.domain.slots import Pace
    from carillon.ports.edges import Clock


class DueIndex(Protocol):
    """The due index: eventually consistent, ordered by fire time within a shard."""

    def pages(self, shard: int, until_ms: int) -> Iterator[Sequence[DueEntry]]:
        """All entries of a shard due at or before an instant, page by page to the end, oldest first.

        What cannot be read is given as such, alone.
        """
        ...

    def between(self, shard: int, since_ms: int, until_ms: int, most: int) -> Sequence[DueEntry]:
        """The first entries of a shard due between two instants, both included, oldest first: at most so many."""
        ...

    def set_aside(self, entry: UnreadableEntry) -> None:
        """Take an unreadable item out of the index; it stays in the table with state `error` and the reason."""
        ...


@dataclass(frozen=True, slots=True)
class GroupLease:
    """Ownership of a shard group: `epoch` rises with every owner, across groups and restores."""

    group: int
    owner: str
    epoch: int
    until: int


class GroupLeases(Protocol):
    """Who may dispatch a group of shards."""

    def take(self, group: int, owner: str, now_ms: int, lease_ms: int) -> GroupLease | None:
        """Take a group that is free, expired or ours, with `epoch = max(stored + 1, now_ms)`. None: it is held."""
        ...

    def renew(self, lease: GroupLease, now_ms: int, lease_ms: int) -> GroupLease | None:
        """Hold on to a group. None: it is no longer ours, and nothing may be written under this lease."""
        ...

    def release(self, lease: GroupLease) -> None:
        """Give a group up, if still ours."""
        ...


class ShardLedger(Protocol):
    """The highest shard count ever used. It only rises: jobs keep the shard they were created in."""

    def highest(self) -> int:
        """The count, or 0 when none is known."""
        ...

    def raise_to(self, shards: int) -> int:
        """Make the count at least this; returns the count in force."""
        ...


class SlotLedger(Protocol):
    """The calendars of slots: whatever is given is stored before it is told, so no slot is given twice."""

    def reserve(
        self, name: str, pace: Pace, chains: Sequence[Sequence[int]], now_ms: int, horizon_ms: int
    ) -> list[tuple[int, ...]]:
        """Take slots in the calendar of that name, as `domain.slots.allot` gives them.

        Raises:
            UnavailableError: nobody answered, or others kept coming first; slots may have been wasted.
        """
        ...


class TickLedger(Protocol):
    """Up to which absolute second ticks have been sent."""

    def begin(self, owner: str, now_ms: int, lease_ms: int) -> int | None:
        """Become the one who extends the range; the first second not covered (0 at first). None: another is at it."""
        ...

    def extend(self, owner: str, covered_until: int) -> bool:
        """Record that all seconds before this one are covered, if still the owner."""
        ...

    def end(self, owner: str) -> None:
        """Let the next one begin at once."""
        ...


class TickQueue(Protocol):
    """The queue that wakes the dispatchers."""

    def send(self, ticks: Sequence[Tick], now_ms: int) -> list[bool]:
        """Send each so that it arrives in its second; one answer a tick, in order: whether it was accepted."""
        ...


class WorkQueues(Protocol):
    """The conveyor between deciding and running."""

    def send(self, messages: Sequence[tuple[WorkMessage, Lane, Priority]], clock: Clock) -> list[bool]:
        """Send each to the queue of its lane and priority, to arrive when due (delay computed at the send).

        High priority rounds the delay down (the worker holds the rest), others up. One answer a message, in order.
        """
        ...
