"""Signing secrets as records: which of a tenant's secrets sign, and until when. Their texts are elsewhere.

A rotation puts a new secret in front. The one before it goes on signing beside it for an overlap, in which receivers
can learn the new one; then it retires. So at most two sign at a time.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from carillon.domain.instants import DAY_MS

USUAL_OVERLAP_MS = DAY_MS
LONGEST_OVERLAP_MS = 7 * DAY_MS


class RotationInProgressError(Exception):
    """The secret before the newest one still signs, until an instant (epoch ms)."""

    def __init__(self, retires_at: int) -> None:
        super().__init__("a rotation is in progress")
        self.retires_at = retires_at


@dataclass(frozen=True, slots=True)
class SigningSecret:
    """A secret without its text. Instants in epoch ms; `retires_at` is None until another one is put in front."""

    id: str
    created_at: int
    retires_at: int | None = None

    def signs_at(self, now_ms: int) -> bool:
        """Whether it signs at an instant."""
        return self.retires_at is None or now_ms < self.retires_at


@dataclass(frozen=True, slots=True)
class Rotation:
    """A new secret in front of those that signed before (as they were seen), which retire at an instant (epoch ms)."""

    added: SigningSecret
    seen: tuple[SigningSecret, ...]
    retires_at: int

    @property
    def retired(self) -> tuple[SigningSecret, ...]:
        """Those that signed before, as they are then."""
        return tuple(replace(secret, retires_at=self.retires_at) for secret in self.seen)


def signing(secrets: Iterable[SigningSecret], now_ms: int) -> tuple[SigningSecret, ...]:
    """Those that sign at an instant, newest first."""
    return tuple(sorted((secret for secret in secrets if secret.signs_at(now_ms)), key=_age, reverse=True))


def rotated(secrets: Sequence[SigningSecret], secret_id: str, overlap_ms: int, now_ms: int) -> Rotation:
    """The rotation to a new secret. Without an overlap it signs alone from now on, whatever was in progress.

    Raises:
        RotationInProgressError: two would become three.
    """
    seen = signing(secrets, now_ms)
    retiring = [secret.retires_at for secret in seen if secret.retires_at is not None]
    if retiring and overlap_ms:
        raise RotationInProgressError(max(retiring))
    newest_ms = max((secret.created_at for secret in secrets), default=now_ms - 1)
    created_at = max(now_ms, newest_ms + 1)  # a clock that is behind must not put the new one second
    return Rotation(SigningSecret(secret_id, created_at), seen, now_ms + overlap_ms)


def _age(secret: SigningSecret) -> tuple[int, str]:
    return secret.created_at, secret.id
