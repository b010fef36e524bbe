"""Tenants, and the quarantine in the control table."""

from collections.abc import Iterator
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, number, text
from carillon.adapters.dynamodb.audit import telling
from carillon.adapters.dynamodb.database import Database, Written
from carillon.adapters.dynamodb.writes import ABSENT, key_of, put
from carillon.domain.audit import AuditEvent
from carillon.domain.instants import DAY_MS, format_instant
from carillon.domain.tenancy import Tenant

MOST_KEPT_CHARACTERS: Final = 1024
QUARANTINE_DAYS: Final = 90
_LENGTH_OF_DAY: Final = len("yyyy-mm-dd")


class DynamoTenants:
    """Tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, tenant: Tenant, event: AuditEvent | None = None) -> bool:
        """Store a new tenant, with its event. False when there is one of this id."""
        item = _tenant_key(tenant.id) | {k.TENANT: text(tenant.id), k.CREATED_AT: number(tenant.created_at)}
        creation = put(self._database.control, item, ABSENT)
        written = self._database.write_with(creation, telling(self._database, event))
        return isinstance(written, Written) or (written.old is not None and _tenant_of(written.old) == tenant)

    def get(self, tenant_id: str) -> Tenant | None:
        """The tenant, or None."""
        item = self._database.get(self._database.control, _tenant_key(tenant_id))
        return None if item is None else _tenant_of(item)

    def list_all(self) -> Iterator[Tenant]:
        """Every tenant, by reading the whole control table: for people, not for functions."""
        values = {":tenant": text(k.TENANT_SK)}
        for page in self._database.scan(self._database.control, f"#{k.SK} = :tenant", values):
            yield from map(_tenant_of, page)


class DynamoQuarantine:
    """Where messages go that nobody can read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def set_aside(self, message_id: str, body: str, reason: str, now_ms: int) -> None:
        """Keep the beginning of the message for 90 days. Of a message set aside twice on a day the first copy stays."""
        item = key_of(*k.quarantine_key(format_instant(now_ms)[:_LENGTH_OF_DAY], message_id)) | {
            k.BODY: text(body[:MOST_KEPT_CHARACTERS]),
            k.REASON: text(reason[:MOST_KEPT_CHARACTERS]),
            k.KEPT_AT: number(now_ms),
            k.EXPIRES_AT: number((now_ms + QUARANTINE_DAYS * DAY_MS) // 1000),
        }
        self._database.write(put(self._database.control, item, ABSENT))


def _tenant_key(tenant_id: str) -> Item:
    return key_of(k.tenant_pk(tenant_id), k.TENANT_SK)


def _tenant_of(item: Item) -> Tenant:
    fields = Fields(item)
    return Tenant(fields.text(k.TENANT), fields.number(k.CREATED_AT))
