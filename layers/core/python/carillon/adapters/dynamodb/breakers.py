"""Circuit breakers in the jobs table, where workers write anyway: one item a target, forgotten by TTL."""

from collections.abc import Mapping
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, number, text
from carillon.adapters.dynamodb.database import Database, Written
from carillon.adapters.dynamodb.writes import ABSENT, key_of, put
from carillon.domain.breaker import KEPT_MS, Breaker
from carillon.domain.instants import SECOND_MS

_OF_TENANT: Final = f"#{k.PK} = :pk"
_UNCHANGED: Final = f"attribute_not_exists(#{k.PK}) OR #{k.REV} = :seen"


class DynamoBreakers:
    """The breakers that have opened."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, tenant: str) -> Mapping[str, Breaker]:
        """A tenant's breakers by their targets; it is read so often that it may be old by a moment."""
        values = {":pk": text(k.breakers_pk(tenant))}
        pages = self._database.query(self._database.jobs, _OF_TENANT, values, consistent=False)
        found = (_breaker_of(tenant, item) for page in pages for item in page)
        return {breaker.target: breaker for breaker in found}

    def save(self, breaker: Breaker) -> bool:
        """Store it if the stored one is that of the `rev` before, or none. A repeat of the same write succeeds."""
        item = breaker_item(breaker)
        condition, values = (_UNCHANGED, {":seen": number(breaker.rev - 1)}) if breaker.rev > 1 else (ABSENT, None)
        written = self._database.write(put(self._database.jobs, item, condition, values))
        return isinstance(written, Written) or (
            written.old is not None and _breaker_of(breaker.tenant, written.old) == breaker
        )


def breaker_item(breaker: Breaker) -> Item:
    """The item of a breaker."""
    return key_of(k.breakers_pk(breaker.tenant), breaker.target) | {
        k.REV: number(breaker.rev),
        k.LEVEL: number(breaker.level),
        k.RETRY_AT: number(breaker.retry_at),
        k.PROBE_UNTIL: number(breaker.probe_until),
        k.PROBE_ID: text(breaker.probe_id),
        k.CLOSED_AT: number(breaker.closed_at),
        k.EXPIRES_AT: number((max(breaker.retry_at, breaker.closed_at) + KEPT_MS) // SECOND_MS),
    }


def _breaker_of(tenant: str, item: Item) -> Breaker:
    fields = Fields(item)
    return Breaker(
        tenant=tenant,
        target=fields.text(k.SK),
        rev=fields.number(k.REV),
        level=fields.number(k.LEVEL),
        retry_at=fields.number(k.RETRY_AT),
        probe_until=fields.number(k.PROBE_UNTIL),
        probe_id=fields.text(k.PROBE_ID),
        closed_at=fields.number(k.CLOSED_AT),
    )
