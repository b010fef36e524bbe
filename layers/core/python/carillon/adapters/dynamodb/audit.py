"""Audit events in the control table: a partition a tenant, sorted by id and so by time."""

from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, number, packed, text
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.writes import ABSENT, Write, key_of, put
from carillon.domain.audit import KEPT_MS, Action, Actor, ActorType, AuditEvent
from carillon.domain.instants import SECOND_MS
from carillon.ports.errors import UnreadableItemError
from carillon.ports.tenancy import AuditPage

_EVENTS_OF_TENANT: Final = f"#{k.PK} = :pk AND #{k.SK} BETWEEN :since AND :before"
_BEFORE_ALL_IDS: Final = "!"
_PAST_ALL_IDS: Final = "~"


class DynamoAuditTrail:
    """What was done by whom."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def append(self, event: AuditEvent) -> None:
        """Add an event. A repeat adds nothing."""
        self._database.write(put(self._database.control, event_item(event), ABSENT))

    def list_newest(self, tenant: str, limit: int, before: str | None, since: str | None = None) -> AuditPage:
        """A tenant's events, newest first, from before the one id to the other; damaged ones are left out."""
        if since is not None and before is not None and since >= before:  # no range to the database
            return AuditPage((), None)
        values = {
            ":pk": text(k.audit_pk(tenant)),
            ":since": text(_BEFORE_ALL_IDS if since is None else since),
            ":before": text(_PAST_ALL_IDS if before is None else before),
        }
        found: list[Item] = []
        for page in self._database.query(
            self._database.control, _EVENTS_OF_TENANT, values, newest_first=True, page_limit=limit + 2
        ):
            # The bounds of a range are within it, so the id to go on before comes along.
            found.extend(item for item in page if item[k.SK]["S"] != before)
            if len(found) > limit:
                break
        events = tuple(event for event in map(_event_if_readable, found[:limit]) if event)
        return AuditPage(events, found[limit - 1][k.SK]["S"] if len(found) > limit else None)


def telling(database: Database, event: AuditEvent | None) -> list[Write]:
    """The write of an event beside the change that it tells of; nothing where there is none."""
    return [] if event is None else [put(database.control, event_item(event), ABSENT)]


def event_item(event: AuditEvent) -> Item:
    """An event as it is stored; TTL removes it after a year."""
    actor = event.actor
    return key_of(k.audit_pk(event.tenant), event.id) | {
        k.TENANT: text(event.tenant),
        k.OCCURRED_AT: number(event.occurred_at),
        k.ACTOR: packed([actor.type, actor.id, actor.request_id, *([actor.operation] if actor.operation else ())]),
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
    actor_type, actor_id, request_id, *operation = fields.unpacked(k.ACTOR)
    return AuditEvent(
        id=fields.text(k.SK),
        occurred_at=fields.number(k.OCCURRED_AT),
        tenant=fields.text(k.TENANT),
        actor=Actor(ActorType(actor_type), actor_id, request_id, *operation),
        action=fields.one_of(Action, k.ACTION),
        target=fields.text(k.TARGET_ID),
        changes=tuple((path, before, after) for path, before, after in fields.unpacked(k.CHANGES)),
    )
