"""Leases and ledgers in memory."""

from dataclasses import replace

from carillon.adapters.memory.state import MemoryState
from carillon.ports.dispatch import GroupLease


class MemoryGroupLeases:
    """Who may dispatch a group of shards."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def take(self, group: int, owner: str, now_ms: int, lease_ms: int) -> GroupLease | None:
        """Take a group that is free, expired or already ours. None: it is held."""
        with self._state.lock:
            stored = self._state.leases.get(group, GroupLease(group, "", 0, 0))
            if stored.until > now_ms and stored.owner != owner:
                return None
            lease = GroupLease(group, owner, max(stored.epoch + 1, now_ms), now_ms + lease_ms)
            self._state.leases[group] = lease
            return lease

    def renew(self, lease: GroupLease, now_ms: int, lease_ms: int) -> GroupLease | None:
        """Hold on to a group. None: it is no longer ours."""
        with self._state.lock:
            if not self._is_held(lease):
                return None
            renewed = replace(lease, until=now_ms + lease_ms)
            self._state.leases[lease.group] = renewed
            return renewed

    def release(self, lease: GroupLease) -> None:
        """Give a group up, if still ours."""
        with self._state.lock:
            if self._is_held(lease):
                self._state.leases[lease.group] = replace(lease, until=0)

    def _is_held(self, lease: GroupLease) -> bool:
        """Whether nobody else has taken the group, and we have not given it up."""
        stored = self._state.leases.get(lease.group)
        return stored is not None and (stored.owner, stored.epoch) == (lease.owner, lease.epoch) and stored.until > 0


class MemoryShardLedger:
    """The highest shard count ever used."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def highest(self) -> int:
        """The count, or 0 when none is known."""
        return self._state.shards

    def raise_to(self, shards: int) -> int:
        """Make the count at least this; returns the count in force."""
        with self._state.lock:
            self._state.shards = max(self._state.shards, shards)
            return self._state.shards


class MemoryTickLedger:
    """Up to which absolute second ticks have been sent."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def begin(self, owner: str, now_ms: int, lease_ms: int) -> int | None:
        """Become the one who extends the range; returns the first second not covered. None: another is at it."""
        with self._state.lock:
            ticks = self._state.ticks
            if ticks.lease_until > now_ms and ticks.owner != owner:
                return None
            ticks.owner, ticks.lease_until = owner, now_ms + lease_ms
            return ticks.covered_until

    def extend(self, owner: str, covered_until: int) -> bool:
        """Record that all seconds before this one are covered, if still the owner."""
        with self._state.lock:
            ticks = self._state.ticks
            if ticks.owner != owner:
                return False
            ticks.covered_until = max(ticks.covered_until, covered_until)
            return True

    def end(self, owner: str) -> None:
        """Let the next one begin at once."""
        with self._state.lock:
            if self._state.ticks.owner == owner:
                self._state.ticks.owner, self._state.ticks.lease_until = "", 0
