"""Audit events in the control table: a partition a tenant, sorted by id and so by time."""

from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, number, packed, text
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.writes import ABSENT, key_of, put
from carillon.domain.audit import KEPT_MS, Action, Actor, ActorType, AuditEvent
from carillon.domain.instants import SECOND_MS
from carillon.ports.errors import UnreadableItemError
from carillon.ports.tenancy import AuditPage

_EVENTS_OF_TENANT: Final = f"#{k.PK} = :pk AND #{k.SK} < :before"
_PAST_ALL_IDS: Final = "~"


class DynamoAuditTrail:
    """What was done by whom."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, event: AuditEvent) -> None:
        """Add an event. A repeat adds nothing."""
        self._database.write(put(self._database.control, event_item(event), ABSENT))

    def list_newest(self, tenant: str, limit: int, before: str | None) -> AuditPage:
        """A tenant's events, newest first, from before the id given; damaged ones are left out."""
        values = {":pk": text(k.audit_pk(tenant)), ":before": text(_PAST_ALL_IDS if before is None else before)}
        found: list[Item] = []
        for page in self._database.query(
            self._database.control, _EVENTS_OF_TENANT, values, newest_first=True, page_limit=limit + 1
        ):
            found.extend(page)
            if len(found) > limit:
                break
        events = tuple(event for event in map(_event_if_readable, found[:limit]) if event)
        return AuditPage(events, found[limit - 1][k.SK]["S"] if len(found) > limit else None)


def event_item(event: AuditEvent) -> Item:
    """An event as it is stored; TTL removes it after a year."""
    actor = event.actor
    return key_of(k.audit_pk(event.tenant), event.id) | {
        k.TENANT: text(event.tenant),
        k.OCCURRED_AT: number(event.occurred_at),
        k.ACTOR: packed([actor.type, actor.id, actor.request_id]),
        k.ACTION: text(event.action),
        k.TARGET_ID: text(event.target),
        k.CHANGES: packed(event.changes),
        k.EXPIRES_AT: number((event.occurred_at + KEPT_MS) // SECOND_MS),
    }


def _event_if_readable(item: Item) -> AuditEvent | None:
    try:
        return _event_of(item)
    except (UnreadableItemError, TypeError, ValueError):
        return None


def _event_of(item: Item) -> AuditEvent:
    fields = Fields(item)
    actor_type, actor_id, request_id = fields.unpacked(k.ACTOR)
    return AuditEvent(
        id=fields.text(k.SK),
        occurred_at=fields.number(k.OCCURRED_AT),
        tenant=fields.text(k.TENANT),
        actor=Actor(ActorType(actor_type), actor_id, request_id),
        action=fields.one_of(Action, k.ACTION),
        target=fields.text(k.TARGET_ID),
        changes=tuple((path, before, after) for path, before, after in fields.unpacked(k.CHANGES)),
    )
