"""What was done by whom: events that are added with the change that they tell of, and never changed."""

from dataclasses import dataclass
from enum import StrEnum

from carillon.domain.instants import DAY_MS

KEPT_MS = 365 * DAY_MS


class ActorType(StrEnum):
    """Who can act."""

    API_KEY = "api_key"
    OPERATOR = "operator"


class Action(StrEnum):
    """What can be done that is worth an event."""

    KEY_CREATED = "key.created"
    KEY_ROTATED = "key.rotated"
    KEY_REVOKED = "key.revoked"
    SECRET_ROTATED = "signing_secret.rotated"  # noqa: S105 - the name of an action
    SECRET_REVEALED = "signing_secret.revealed"  # noqa: S105 - same
    ON_FAILURE_SET = "on_failure.set"
    ON_FAILURE_REMOVED = "on_failure.removed"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts: the id of a key, or the name of an operator's session; and the id of the request."""

    type: ActorType
    id: str
    request_id: str


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
        changes: member → its text before and after (None: there was none). Never a secret.
    """

    id: str
    occurred_at: int
    tenant: str
    actor: Actor
    action: Action
    target: str
    changes: tuple[tuple[str, str | None, str | None], ...] = ()
