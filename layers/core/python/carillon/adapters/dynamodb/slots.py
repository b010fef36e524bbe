"""Calendars of slots in the control table."""

import logging
from collections.abc import Sequence
from threading import Lock
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Attribute, number, text
from carillon.adapters.dynamodb.database import Database, Written
from carillon.adapters.dynamodb.writes import key_of, setting, update
from carillon.domain.instants import DAY_MS, SECOND_MS
from carillon.domain.slots import Calendar, Pace, allot
from carillon.ports.errors import UnavailableError

logger = logging.getLogger("carillon")

MOST_REMEMBERED: Final = 10_000
KEPT_MS: Final = DAY_MS  # behind the last slot: a limit that was changed leaves its calendar behind
_NONE_YET: Final = f"attribute_not_exists(#{k.CALENDAR})"
_AS_SEEN: Final = f"#{k.CALENDAR} = :seen"


class DynamoSlotLedger:
    """The calendars of slots: each is one text, replaced on the condition that it is still the one that was seen.

    What this process wrote last is what it tries first, so that alone it needs one write. A write whose answer was lost
    is not recognised: two may well have wanted the same slots, so these count as taken, and others are taken instead.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._seen: dict[str, Attribute | None] = {}
        self._locks = [Lock() for _ in range(16)]

    def reserve(
        self, name: str, pace: Pace, chains: Sequence[Sequence[int]], now_ms: int, horizon_ms: int
    ) -> list[tuple[int, ...]]:
        """Take slots in the calendar of that name.

        Raises:
            UnavailableError: nobody answered, or others kept coming first.
        """
        with self._locks[hash(name) % len(self._locks)]:  # threads of this process need not race each other
            for _ in self._database.tries():
                seen = self._seen.get(name)
                calendar, slots = allot(_calendar_in(name, seen), pace, chains, now_ms, horizon_ms)
                if self._write(name, seen, calendar):
                    return slots
        raise UnavailableError("the slots are in demand")

    def _write(self, name: str, seen: Attribute | None, calendar: Calendar) -> bool:
        wanted, kept_until_ms = text(calendar.encode()), calendar.over_at_ms + KEPT_MS
        change, values = setting({k.CALENDAR: wanted, k.EXPIRES_AT: number(kept_until_ms // SECOND_MS)})
        key, condition = key_of(*k.calendar_key(name)), _NONE_YET
        if seen is not None:
            condition, values[":seen"] = _AS_SEEN, seen
        written = self._database.write(update(self._database.control, key, change, condition, values))
        holds = isinstance(written, Written)
        if len(self._seen) >= MOST_REMEMBERED:
            self._seen.clear()
        self._seen[name] = wanted if isinstance(written, Written) else (written.old or {}).get(k.CALENDAR)
        return holds


def _calendar_in(name: str, stored: Attribute | None) -> Calendar | None:
    """The stored calendar; one that is damaged counts as empty, and is replaced."""
    try:
        return None if stored is None else Calendar.decode(stored["S"])
    except (KeyError, ValueError):
        logger.exception("calendar unreadable", extra={"action": "calendar_unreadable", "calendar": name})
        return None
