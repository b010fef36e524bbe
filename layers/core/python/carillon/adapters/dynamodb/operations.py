"""Operations in the control table: one item each, changed on the condition of its `rev`, removed by TTL."""

from typing import Any, Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Attribute, Fields, Item, number, packed
from carillon.adapters.dynamodb.audit import telling
from carillon.adapters.dynamodb.database import Database, Written
from carillon.adapters.dynamodb.writes import ABSENT, key_of, put
from carillon.domain.audit import Actor, ActorType, AuditEvent
from carillon.domain.instants import SECOND_MS
from carillon.domain.job import JobState
from carillon.domain.job_filter import JobFilter
from carillon.domain.operations import KEPT_MS, BulkAction, Operation, OperationState, Progress

_NOBODY: Final = (ActorType.SYSTEM, "carillon", "")
"""Of operations that were asked for before it was kept by whom."""

_UNCHANGED: Final = f"#{k.REV} = :seen"


class DynamoOperations:
    """Records of operations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, operation: Operation, event: AuditEvent | None = None) -> Operation:
        """Store a new operation with its event, or give the one that there is."""
        stored = self._put(operation, ABSENT, event=event)
        return operation if stored is None else stored

    def get(self, tenant: str, operation_id: str) -> Operation | None:
        """The operation, or None."""
        item = self._database.get(self._database.control, key_of(*k.operation_key(tenant, operation_id)))
        return None if item is None else _operation_of(item)

    def replace(self, operation: Operation, event: AuditEvent | None = None) -> bool:
        """Store it if the stored one is that of the `rev` before, with an event. A repeat succeeds."""
        stored = self._put(operation, _UNCHANGED, {":seen": number(operation.rev - 1)}, event=event)
        return stored is None or stored == operation

    def _put(
        self,
        operation: Operation,
        condition: str,
        values: dict[str, Attribute] | None = None,
        *,
        event: AuditEvent | None,
    ) -> Operation | None:
        """Store an operation. Gives the one that is stored instead: the operation itself where there is none."""
        item = key_of(*k.operation_key(operation.tenant, operation.id)) | {
            k.REV: number(operation.rev),
            k.EXPIRES_AT: number((operation.created_at + KEPT_MS) // SECOND_MS),
            k.OPERATION: packed(_fields(operation)),
        }
        change = put(self._database.control, item, condition, values)
        written = self._database.write_with(change, telling(self._database, event))
        if isinstance(written, Written):
            return None
        return _NO_OPERATION if written.old is None else _operation_of(written.old)


def _fields(operation: Operation) -> dict[str, Any]:
    wanted, progress = operation.wanted, operation.progress
    return {
        "id": operation.id,
        "tenant": operation.tenant,
        "action": operation.action,
        "actor": [operation.actor.type, operation.actor.id, operation.actor.request_id],
        "wanted": [wanted.state, wanted.labels, wanted.name_prefix],
        "created_at": operation.created_at,
        "updated_at": operation.updated_at,
        "ended_at": operation.ended_at,
        "state": operation.state,
        "position": operation.position,
        "in_hand": operation.in_hand,
        "progress": [progress.walked, progress.matched, progress.done, dict(progress.refused)],
    }


def _operation_of(item: Item) -> Operation:
    """The operation in an item.

    Raises:
        UnreadableItemError: it is damaged.
    """
    fields = Fields(item)
    read = fields.unpacked(k.OPERATION)
    try:
        state, labels, name_prefix = read["wanted"]
        walked, matched, done, refused = read["progress"]
        actor_type, actor_id, request_id = read.get("actor", _NOBODY)
        return Operation(
            id=str(read["id"]),
            tenant=str(read["tenant"]),
            action=BulkAction(read["action"]),
            actor=Actor(ActorType(actor_type), str(actor_id), str(request_id)),
            wanted=JobFilter(
                None if state is None else JobState(state),
                tuple((str(key), str(value)) for key, value in labels),
                str(name_prefix),
            ),
            created_at=int(read["created_at"]),
            updated_at=int(read["updated_at"]),
            ended_at=read["ended_at"],
            state=OperationState(read["state"]),
            rev=fields.number(k.REV),
            position=read["position"],
            in_hand=tuple(map(str, read["in_hand"])),
            progress=Progress(walked=int(walked), matched=int(matched), done=int(done), refused=dict(refused)),
        )
    except (KeyError, TypeError, ValueError):
        raise fields.unreadable(f"{k.OPERATION} is damaged") from None


_NO_OPERATION: Final = Operation(
    id="",
    tenant="",
    action=BulkAction.PAUSE,
    wanted=JobFilter(),
    created_at=0,
    updated_at=0,
    position=None,
)
