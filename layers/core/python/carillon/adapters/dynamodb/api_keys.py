"""API keys in the control table: each by its id, and beside its tenant an item that leads to it."""

from collections.abc import Sequence
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Attribute, Fields, Item, number, packed, text
from carillon.adapters.dynamodb.audit import telling
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.writes import ABSENT, Write, key_of, put, setting, update
from carillon.domain.audit import AuditEvent
from carillon.domain.tenancy import ApiKey

_KEYS_OF_TENANT: Final = f"#{k.PK} = :pk AND begins_with(#{k.SK}, :key)"
_THERE: Final = f"attribute_exists(#{k.PK})"


class DynamoApiKeys:
    """The keys of tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, key: ApiKey, event: AuditEvent | None = None) -> None:
        """Store a new key, with its event, in one transaction.

        Raises:
            ValueError: another key has this id.
        """
        if self._database.transact([*self._adding(key), *telling(self._database, event)]) and self.get(key.id) != key:
            raise ValueError(f"{key.id}: another key has this id")

    def get(self, key_id: str) -> ApiKey | None:
        """The key, or None."""
        item = self._database.get(self._database.control, key_of(*k.api_key_key(key_id)))
        return None if item is None else _api_key_of(item)

    def list_all(self, tenant: str) -> Sequence[ApiKey]:
        """A tenant's keys."""
        values = {":pk": text(k.tenant_pk(tenant)), ":key": text(k.KEY_PREFIX)}
        pages = self._database.query(self._database.control, _KEYS_OF_TENANT, values)
        ids = [item[k.SK]["S"].removeprefix(k.KEY_PREFIX) for page in pages for item in page]
        items = self._database.get_many(self._database.control, [key_of(*k.api_key_key(key_id)) for key_id in ids])
        return [_api_key_of(item) for item in items]

    def replace(self, seen: ApiKey, changed: ApiKey, event: AuditEvent, added: ApiKey | None = None) -> bool:
        """Give a key another end, with its event and a key in its place, in one transaction."""
        adding = [] if added is None else self._adding(added)
        return self._database.transact([self._ending(seen, changed), *adding, *telling(self._database, event)]) is None

    def note_use(self, key_id: str, at_ms: int) -> None:
        """Remember when a key was used last."""
        change, values = setting({k.LAST_USED_AT: number(at_ms)})
        self._database.write(update(self._database.control, key_of(*k.api_key_key(key_id)), change, _THERE, values))

    def _adding(self, key: ApiKey) -> list[Write]:
        leading = key_of(*k.tenants_key_key(key.tenant, key.id))
        return [put(self._database.control, item, ABSENT) for item in (_api_key_item(key), leading)]

    def _ending(self, seen: ApiKey, changed: ApiKey) -> Write:
        change, values = setting(_ends(changed))
        conditions = [_THERE]
        for name in (k.KEY_EXPIRES_AT_MS, k.REVOKED_AT):
            stored = _ends(seen).get(name)
            conditions.append(f"attribute_not_exists(#{name})" if stored is None else f"#{name} = :seen_{name}")
            values |= {} if stored is None else {f":seen_{name}": stored}
        key = key_of(*k.api_key_key(seen.id))
        return update(self._database.control, key, change, " AND ".join(conditions), values)


def _ends(key: ApiKey) -> dict[str, Attribute]:
    ends = {k.KEY_EXPIRES_AT_MS: key.expires_at_ms, k.REVOKED_AT: key.revoked_at}
    return {name: number(at_ms) for name, at_ms in ends.items() if at_ms is not None}


def _api_key_item(key: ApiKey) -> Item:
    item = key_of(*k.api_key_key(key.id)) | {
        k.KEY_ID: text(key.id),
        k.TENANT: text(key.tenant),
        k.DIGEST: text(key.digest),
        k.SCOPES: packed(sorted(key.scopes)),
        k.CREATED_AT: number(key.created_at),
        k.HINT: text(key.hint),
        **_ends(key),
    }
    if key.name is not None:
        item[k.NAME] = text(key.name)
    if key.last_used_at is not None:
        item[k.LAST_USED_AT] = number(key.last_used_at)
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
        name=fields.text_or_none(k.NAME),
        hint=fields.text_or_none(k.HINT) or "",
        last_used_at=fields.number_or_none(k.LAST_USED_AT),
    )
