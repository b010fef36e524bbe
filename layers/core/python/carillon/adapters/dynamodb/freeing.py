"""Counting jobs no more, by what the stream of the jobs table tells.

The stream tells some things twice, in other batches, at any time within a day. So what was freed is remembered with
the second in which it was told of, in the transaction that frees it: the second is part of what is told, and the same
whenever it is told.
"""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Attribute, Item, number
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.writes import ALWAYS, Write, key_of, update
from carillon.domain.counting import freed_in
from carillon.ports.errors import UnavailableError

MOST_AT_ONCE: Final = 100
"""As many as the function is told of at once: a condition may have 300 operators, and 4 KB."""

KEPT_SECONDS: Final = 3 * 24 * 3600
"""Longer than the stream keeps what it tells."""

_DIGEST_CHARACTERS: Final = 9
"""54 bits: enough to tell apart what happens to a tenant within a second, and a hundred of them fit into 1 KB."""


class DynamoFreedJobs:
    """Frees the places of jobs that count no more."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def free(self, tenant: str, second: int, freed: Mapping[str, int]) -> None:
        """Free places of a tenant's jobs, each once however often this is asked.

        Args:
            tenant: whose.
            second: in which it was told of, epoch seconds.
            freed: by the name of the event that told of each, the mark of the job.

        Raises:
            UnavailableError: nobody answered, or others kept coming first.
        """
        marks = [(_digest(event), mark) for event, mark in freed.items()]
        for start in range(0, len(marks), MOST_AT_ONCE):
            self._free(tenant, second, dict(marks[start : start + MOST_AT_ONCE]))

    def _free(self, tenant: str, second: int, marks: Mapping[str, int]) -> None:
        for _ in self._database.tries():
            if not marks:
                return
            freeing = [self._freeing(tenant, *each) for each in freed_in(marks.values(), second).items()]
            cancelled = self._database.transact([self._remembering(tenant, second, marks), *freeing])
            if cancelled is None:
                return
            known = _events_in(cancelled.failed.get(0))
            marks = {event: mark for event, mark in marks.items() if event not in known}
        raise UnavailableError("the count is in demand")

    def _remembering(self, tenant: str, second: int, marks: Mapping[str, int]) -> Write:
        names = {f":e{position}": event for position, event in enumerate(marks)}
        known = " OR ".join(f"contains(#{k.EVENTS}, {name})" for name in names)
        values: dict[str, Attribute] = {name: {"S": event} for name, event in names.items()}
        values |= {":events": {"SS": list(marks)}, ":until": number(second + KEPT_SECONDS)}
        change = f"SET #{k.EXPIRES_AT} = :until ADD #{k.EVENTS} :events"
        return update(self._database.control, key_of(*k.freed_key(tenant, second)), change, f"NOT ({known})", values)

    def _freeing(self, tenant: str, mine: int, many: int) -> Write:
        key = key_of(*k.slice_key(tenant, mine))
        return update(self._database.control, key, f"ADD #{k.USED} :less", ALWAYS, {":less": number(-many)})


def _events_in(item: Item | None) -> frozenset[str]:
    return frozenset() if item is None else frozenset(item.get(k.EVENTS, {}).get("SS", ()))


def _digest(event: str) -> str:
    return b64encode(sha256(event.encode()).digest()).decode()[:_DIGEST_CHARACTERS]
