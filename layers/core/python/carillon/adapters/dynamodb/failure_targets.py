"""Whom tenants have told of failed runs of all their jobs, in the control table: one item a tenant that names one."""

from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, packed, text
from carillon.adapters.dynamodb.audit import event_item
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.spec_items import target_fields, target_of
from carillon.adapters.dynamodb.writes import ABSENT, Write, delete, key_of, put
from carillon.domain.audit import AuditEvent
from carillon.domain.job import Target

# A query and no get: the workers may query the control table, and need no further right.
_OF_TENANT: Final = f"#{k.PK} = :pk AND #{k.SK} = :sk"
_ALWAYS: Final = f"attribute_not_exists(#{k.PK}) OR attribute_exists(#{k.PK})"


class DynamoFailureTargets:
    """Whom tenants have told of failed runs of all their jobs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, tenant: str) -> Target | None:
        """Whom a tenant names, read with strong consistency; None if nobody."""
        pk, sk = k.failure_target_key(tenant)
        values = {":pk": text(pk), ":sk": text(sk)}
        pages = self._database.query(self._database.control, _OF_TENANT, values)
        return next((_target_in(item) for page in pages for item in page), None)

    def set(self, tenant: str, target: Target | None, event: AuditEvent) -> None:
        """Name somebody in place of whoever was named, or nobody, with the event that tells of it; both or neither."""
        change = self._change(key_of(*k.failure_target_key(tenant)), target)
        self._database.transact([change, put(self._database.control, event_item(event), ABSENT)])

    def _change(self, key: Item, target: Target | None) -> Write:
        if target is None:
            return delete(self._database.control, key, _ALWAYS)
        item = key | {k.TARGET: packed(target_fields(target))}
        return put(self._database.control, item, _ALWAYS)


def _target_in(item: Item) -> Target:
    fields = Fields(item)
    try:
        return target_of(fields.unpacked(k.TARGET))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise fields.unreadable(f"{k.TARGET} is damaged") from None
