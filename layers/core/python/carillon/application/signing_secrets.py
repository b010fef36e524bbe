"""The signing secrets of a tenant: listing, rotating and revealing them. The last two leave an audit event."""

from collections.abc import Sequence
from dataclasses import dataclass

from carillon.application.naming import new_ulid
from carillon.domain.audit import Action, Actor, AuditEvent
from carillon.domain.instants import format_instant
from carillon.domain.secrets import Rotation, SigningSecret, rotated, signing
from carillon.domain.signing import new_secret
from carillon.ports.edges import Ids
from carillon.ports.errors import UnavailableError
from carillon.ports.tenancy import AuditTrail, SigningSecrets

_SIGNING_BYTES = 32
_MOST_TRIES = 4


class SecretNotFoundError(LookupError):
    """The tenant has no such secret, or it signs no more."""


@dataclass(frozen=True, slots=True)
class RevealedSecret:
    """A secret with its text."""

    secret: SigningSecret
    text: str


@dataclass(frozen=True, slots=True)
class ListSecrets:
    """The secrets that sign."""

    secrets: SigningSecrets

    def __call__(self, tenant: str, now_ms: int) -> Sequence[SigningSecret]:
        """Those that sign at an instant, newest first."""
        return signing(self.secrets.list_all(tenant), now_ms)


@dataclass(frozen=True, slots=True)
class RotateSecret:
    """Puts a new secret in front."""

    secrets: SigningSecrets
    ids: Ids

    def __call__(self, tenant: str, actor: Actor, overlap_ms: int, now_ms: int) -> tuple[Rotation, str]:
        """Rotate; gives the rotation and the text of the new secret. Of two at once, one is refused.

        Raises:
            RotationInProgressError: the secret before the newest one still signs.
            UnavailableError: others kept rotating meanwhile.
        """
        text = new_secret(self.ids.secret_bytes(_SIGNING_BYTES))
        for _ in range(_MOST_TRIES):
            rotation = rotated(self.secrets.list_all(tenant), f"sec_{new_ulid(self.ids, now_ms)}", overlap_ms, now_ms)
            event = self._event(tenant, actor, rotation, now_ms)
            if self.secrets.rotate(tenant, rotation, text, event):
                return rotation, text
        raise UnavailableError("the secrets were being rotated by others")

    def _event(self, tenant: str, actor: Actor, rotation: Rotation, now_ms: int) -> AuditEvent:
        retires_at = format_instant(rotation.retires_at)
        changes = tuple((f"/{secret.id}/retires_at", _shown(secret.retires_at), retires_at) for secret in rotation.seen)
        event_id = f"aud_{new_ulid(self.ids, now_ms)}"
        return AuditEvent(event_id, now_ms, tenant, actor, Action.SECRET_ROTATED, rotation.added.id, changes)


@dataclass(frozen=True, slots=True)
class RevealSecret:
    """Shows a secret once more. The event is written first: nothing is shown that was not recorded."""

    secrets: SigningSecrets
    trail: AuditTrail
    ids: Ids

    def __call__(self, tenant: str, actor: Actor, secret_id: str, now_ms: int) -> RevealedSecret:
        """Reveal one that signs.

        Raises:
            SecretNotFoundError: the tenant has none of this id that signs.
        """
        found = [secret for secret in signing(self.secrets.list_all(tenant), now_ms) if secret.id == secret_id]
        if not found:
            raise SecretNotFoundError(secret_id)
        event_id = f"aud_{new_ulid(self.ids, now_ms)}"
        self.trail.append(AuditEvent(event_id, now_ms, tenant, actor, Action.SECRET_REVEALED, secret_id))
        text = self.secrets.reveal(tenant, secret_id)
        if text is None:
            raise SecretNotFoundError(secret_id)
        return RevealedSecret(found[0], text)


def _shown(instant_ms: int | None) -> str | None:
    return None if instant_ms is None else format_instant(instant_ms)
