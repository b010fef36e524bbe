"""Tenants, their keys, and the quarantine in the control table."""

from collections.abc import Iterator
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, number, packed, text
from carillon.adapters.dynamodb.database import Database, Written
from carillon.adapters.dynamodb.writes import ABSENT, key_of, put
from carillon.domain.instants import DAY_MS, format_instant
from carillon.domain.tenancy import ApiKey, Tenant

MOST_KEPT_CHARACTERS: Final = 1024
QUARANTINE_DAYS: Final = 90
_LENGTH_OF_DAY: Final = len("yyyy-mm-dd")


class DynamoTenants:
    """Tenants and their keys."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, tenant: Tenant) -> bool:
        """Store a new tenant. False when there is one of this id."""
        item = _tenant_key(tenant.id) | {k.TENANT: text(tenant.id), k.CREATED_AT: number(tenant.created_at)}
        written = self._database.write(put(self._database.control, item, ABSENT))
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

    def add_key(self, key: ApiKey) -> None:
        """Store a new key.

        Raises:
            ValueError: another key has this id.
        """
        written = self._database.write(put(self._database.control, _api_key_item(key), ABSENT))
        if not isinstance(written, Written) and (written.old is None or _api_key_of(written.old) != key):
            raise ValueError(f"{key.id}: another key has this id")

    def key(self, key_id: str) -> ApiKey | None:
        """The key, or None."""
        item = self._database.get(self._database.control, key_of(*k.api_key_key(key_id)))
        return None if item is None else _api_key_of(item)


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


def _api_key_item(key: ApiKey) -> Item:
    item = key_of(*k.api_key_key(key.id)) | {
        k.KEY_ID: text(key.id),
        k.TENANT: text(key.tenant),
        k.DIGEST: text(key.digest),
        k.SCOPES: packed(sorted(key.scopes)),
        k.CREATED_AT: number(key.created_at),
    }
    if key.expires_at_ms is not None:
        item[k.KEY_EXPIRES_AT_MS] = number(key.expires_at_ms)
    if key.revoked_at is not None:
        item[k.REVOKED_AT] = number(key.revoked_at)
    return item


def _api_key_of(item: Item) -> ApiKey:
    fields = Fields(item)
    return ApiKey(
        id=fields.text(k.KEY_ID),
        tenant=fields.text(k.TENANT),
        digest=fields.text(k.DIGEST),
        scopes=frozenset(str(scope) for scope in fields.unpacked(k.SCOPES)),
        created_at=fields.number(k.CREATED_AT),
        expires_at_ms=fields.number_or_none(k.KEY_EXPIRES_AT_MS),
        revoked_at=fields.number_or_none(k.REVOKED_AT),
    )
