"""What was done by whom: events that are added with the change that they tell of, and never changed."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from carillon.domain.identity import ulid
from carillon.domain.instants import DAY_MS

KEPT_MS = 365 * DAY_MS

LONGEST_VALUE = 200
"""Characters of a value that are kept."""

MOST_BYTES = 8 * 1024
"""Of the changes of one event. What is beyond is counted, and left out."""

_ULID_BYTES = 10
_BYTES_OF_PUNCTUATION = 16


class ActorType(StrEnum):
    """Who can act."""

    API_KEY = "api_key"
    OPERATOR = "operator"
    SYSTEM = "system"


class Action(StrEnum):
    """What can be done that is worth an event."""

    JOB_CREATED = "job.created"
    JOB_UPDATED = "job.updated"
    JOB_PAUSED = "job.paused"
    JOB_RESUMED = "job.resumed"
    JOB_CANCELLED = "job.cancelled"
    JOB_REPLANNED = "job.replanned"
    JOB_TRIGGERED = "job.triggered"
    RUN_CANCELLED = "run.cancelled"
    RUN_COMPLETED = "run.completed"
    RUN_REDRIVEN = "run.redriven"
    OPERATION_STARTED = "operation.started"
    OPERATION_CANCELLED = "operation.cancelled"
    DESTINATION_ADDED = "destination.added"
    DESTINATION_ASKED = "destination.asked"
    DESTINATION_REMOVED = "destination.removed"
    TENANT_CREATED = "tenant.created"
    LIMITS_CHANGED = "limits.changed"
    KEY_CREATED = "key.created"
    KEY_ROTATED = "key.rotated"
    KEY_REVOKED = "key.revoked"
    SECRET_ROTATED = "signing_secret.rotated"  # noqa: S105 - the name of an action
    SECRET_REVEALED = "signing_secret.revealed"  # noqa: S105 - the name of an action
    ON_FAILURE_SET = "on_failure.set"
    ON_FAILURE_REMOVED = "on_failure.removed"


Change = tuple[str, str | None, str | None]
"""A member by its JSON pointer, and its text before and after (None: there was none)."""


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: the id of a key, the name of an operator's session, or a part of the system; and for which request.

    `operation`: the work on many jobs in whose course it is done.
    """

    type: ActorType
    id: str
    request_id: str = ""
    operation: str | None = None


CARILLON = Actor(ActorType.SYSTEM, "carillon")
"""Whatever nobody asked for."""


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One event.

    Attributes:
        id: `aud_` and a ULID: sorts by time.
        occurred_at: epoch ms.
        tenant: whose data it concerns.
        actor: who did it.
        action: what was done.
        target: the id of what it was done to.
        changes: what it changed. Never a secret.
    """

    id: str
    occurred_at: int
    tenant: str
    actor: Actor
    action: Action
    target: str
    changes: tuple[Change, ...] = ()

    def concerns(self, target: str) -> bool:
        """Whether it was done to something, or to a run of a job."""
        return self.target == target or self.target.startswith(f"{target}@")


def told(
    action: Action, target: str, now_ms: int, tenant: str, actor: Actor, changes: Iterable[Change] = (), *, of: object
) -> AuditEvent:
    """The event of a change. It has the same id each time that the same change is tried as of the same instant.

    Args:
        action: what is done.
        target: the id of what it is done to.
        now_ms: the instant of the change, epoch ms.
        tenant: whose data it concerns.
        actor: who does it.
        changes: what it changes; long values are cut, and what is too much is left out.
        of: the count of the target's changes, which tells this one from all others.
    """
    name = sha256(f"{tenant}\n{target}\n{action}\n{of}".encode()).digest()[:_ULID_BYTES]
    event_id = f"aud_{ulid(now_ms, name)}"
    return AuditEvent(event_id, now_ms, tenant, actor, action, target, tuple(_within(changes)))


def bounds(since_ms: int | None, until_ms: int | None) -> tuple[str | None, str | None]:
    """The ids between which the events of a time are: at or after the first, before the second (None: no bound)."""
    first, last = (None if at is None else f"aud_{ulid(at, bytes(_ULID_BYTES))}" for at in (since_ms, until_ms))
    return first, last


def _within(changes: Iterable[Change]) -> Iterator[Change]:
    room, left_out = MOST_BYTES, 0
    for pointer, before, after in changes:
        change = (pointer, _cut(before), _cut(after))
        room -= _BYTES_OF_PUNCTUATION + sum(len((text or "").encode()) for text in change)
        if room < 0:
            left_out += 1
        else:
            yield change
    if left_out:
        yield ("", None, f"{left_out} more")


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"
