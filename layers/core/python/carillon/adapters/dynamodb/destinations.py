"""The destinations of tenants in the control table: one item a tenant, changed on the condition of its `rev`."""

from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, number, packed, text
from carillon.adapters.dynamodb.audit import telling
from carillon.adapters.dynamodb.database import Database, Written
from carillon.adapters.dynamodb.writes import ABSENT, key_of, put
from carillon.domain.audit import AuditEvent
from carillon.domain.destinations import ANYWHERE, Destination, DestinationKind, Destinations

# A query and no get: the workers may query the control table, and need no further right.
_OF_TENANT: Final = f"#{k.PK} = :pk AND #{k.SK} = :sk"
_UNCHANGED: Final = f"#{k.REV} = :seen"


class DynamoDestinations:
    """Where tenants let their jobs call."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, tenant: str) -> Destinations:
        """What a tenant has registered, read with strong consistency."""
        pk, sk = k.destinations_key(tenant)
        values = {":pk": text(pk), ":sk": text(sk)}
        pages = self._database.query(self._database.control, _OF_TENANT, values)
        return next((_destinations_of(item) for page in pages for item in page), ANYWHERE)

    def save(self, tenant: str, destinations: Destinations, event: AuditEvent | None = None) -> bool:
        """Store them if the stored ones are those of the `rev` before, with an event. A repeat succeeds."""
        item = key_of(*k.destinations_key(tenant)) | {
            k.REV: number(destinations.rev),
            k.DESTINATIONS: packed([[each.kind, each.name, each.created_at] for each in destinations.entries]),
        }
        seen = destinations.rev - 1
        condition, values = (_UNCHANGED, {":seen": number(seen)}) if seen else (ABSENT, None)
        change = put(self._database.control, item, condition, values)
        written = self._database.write_with(change, telling(self._database, event))
        return isinstance(written, Written) or (
            written.old is not None and _destinations_of(written.old) == destinations
        )


def _destinations_of(item: Item) -> Destinations:
    fields = Fields(item)
    try:
        entries = tuple(
            Destination(DestinationKind(kind), str(name), int(created_at))
            for kind, name, created_at in fields.unpacked(k.DESTINATIONS)
        )
    except (TypeError, ValueError):
        raise fields.unreadable(f"{k.DESTINATIONS} is damaged") from None
    return Destinations(entries, fields.number(k.REV))
