"""Leases and ledgers in the control table."""

from dataclasses import replace
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import EMPTY, ZERO, Attribute, Fields, Item, number, text
from carillon.adapters.dynamodb.database import Database, Lost, Written
from carillon.adapters.dynamodb.writes import ABSENT, key_of, setting, update
from carillon.ports.dispatch import GroupLease

_FREE: Final = f"(#{k.LEASE_UNTIL} <= :now OR #{k.OWNER} = :{k.OWNER})"
_FREE_AND_OLDER: Final = f"{ABSENT} OR (#{k.LEASE_EPOCH} < :{k.LEASE_EPOCH} AND {_FREE})"
_STILL_OURS: Final = f"#{k.OWNER} = :{k.OWNER} AND #{k.LEASE_EPOCH} = :{k.LEASE_EPOCH} AND #{k.LEASE_UNTIL} > :zero"
MOST_RACES: Final = 3


class DynamoGroupLeases:
    """Who may dispatch a group of shards."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, group: int, owner: str, now_ms: int, lease_ms: int) -> GroupLease | None:
        """Take a group that is free, expired or already ours. None: it is held.

        The epoch is usually the present; one write then does it. Only after an owner whose clock is ahead of ours the
        stored epoch is learned from the refusal.
        """
        lease = GroupLease(group, owner, now_ms, now_ms + lease_ms)
        for _ in range(MOST_RACES):
            written = self._write(lease, _FREE_AND_OLDER, {":now": number(now_ms)})
            if isinstance(written, Written):
                return lease
            stored = _lease_of(group, written.old)
            if stored == lease:
                return lease
            if stored.until > now_ms and stored.owner != owner:
                return None
            lease = replace(lease, epoch=max(stored.epoch + 1, now_ms))
        return None

    def renew(self, lease: GroupLease, now_ms: int, lease_ms: int) -> GroupLease | None:
        """Hold on to a group. None: it is no longer ours."""
        renewed = replace(lease, until=now_ms + lease_ms)
        written = self._write(renewed, _STILL_OURS, {":zero": ZERO})
        return renewed if isinstance(written, Written) else None

    def release(self, lease: GroupLease) -> None:
        """Give a group up, if still ours."""
        self._write(replace(lease, until=0), _STILL_OURS, {":zero": ZERO})

    def _write(self, lease: GroupLease, condition: str, more: dict[str, Attribute]) -> Written | Lost:
        attributes = {
            k.OWNER: text(lease.owner),
            k.LEASE_EPOCH: number(lease.epoch),
            k.LEASE_UNTIL: number(lease.until),
        }
        change, values = setting(attributes)
        key = key_of(*k.group_key(lease.group))
        return self._database.write(update(self._database.control, key, change, condition, values | more))


def _lease_of(group: int, item: Item | None) -> GroupLease:
    if item is None:
        return GroupLease(group, "", 0, 0)
    fields = Fields(item)
    return GroupLease(group, fields.text(k.OWNER), fields.number(k.LEASE_EPOCH), fields.number(k.LEASE_UNTIL))


class DynamoShardLedger:
    """The highest shard count ever used."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._key = key_of(*k.SHARDS_KEY)

    def highest(self) -> int:
        """The count, or 0 when none is known."""
        item = self._database.get(self._database.control, self._key)
        return 0 if item is None else Fields(item).number(k.HIGHEST)

    def raise_to(self, shards: int) -> int:
        """Make the count at least this; returns the count in force. Usually it is: a refused write costs five reads."""
        if (known := self.highest()) >= shards:
            return known
        change, values = setting({k.HIGHEST: number(shards)})
        condition = f"{ABSENT} OR #{k.HIGHEST} < :{k.HIGHEST}"
        written = self._database.write(update(self._database.control, self._key, change, condition, values))
        return Fields(written.old).number(k.HIGHEST) if isinstance(written, Lost) and written.old else shards


class DynamoTickLedger:
    """Up to which absolute second ticks have been sent."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._key = key_of(*k.TICKS_KEY)

    def begin(self, owner: str, now_ms: int, lease_ms: int) -> int | None:
        """Become the one who extends the range; returns the first second not covered. None: another is at it."""
        change, values = setting({k.OWNER: text(owner), k.LEASE_UNTIL: number(now_ms + lease_ms)})
        condition = f"{ABSENT} OR {_FREE}"
        write = update(self._database.control, self._key, change, condition, values | {":now": number(now_ms)})
        written = self._database.write(write, returning="ALL_NEW")
        return _covered(written.attributes) if isinstance(written, Written) else None

    def extend(self, owner: str, covered_until: int) -> bool:
        """Record that all seconds before this one are covered, if still the owner. The range never shrinks."""
        change, values = setting({k.COVERED_UNTIL: number(covered_until)})
        grows = f"(attribute_not_exists(#{k.COVERED_UNTIL}) OR #{k.COVERED_UNTIL} <= :{k.COVERED_UNTIL})"
        condition = f"#{k.OWNER} = :{k.OWNER} AND {grows}"
        values[f":{k.OWNER}"] = text(owner)
        written = self._database.write(update(self._database.control, self._key, change, condition, values))
        if isinstance(written, Written):
            return True
        return written.old is not None and Fields(written.old).text(k.OWNER) == owner

    def end(self, owner: str) -> None:
        """Let the next one begin at once."""
        change, values = setting({k.OWNER: EMPTY, k.LEASE_UNTIL: ZERO})
        condition = f"#{k.OWNER} = :mine"
        values[":mine"] = text(owner)
        self._database.write(update(self._database.control, self._key, change, condition, values))


def _covered(item: Item) -> int:
    return Fields(item).number_or_none(k.COVERED_UNTIL) or 0
