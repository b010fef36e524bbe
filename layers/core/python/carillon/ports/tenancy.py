"""What belongs to tenants: their keys, secrets, limits and destinations, and what was done with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # types alone: who uses a part of this loads no other
    from collections.abc import Iterable, Mapping, Sequence

    from carillon.domain.audit import AuditEvent
    from carillon.domain.counting import Slice
    from carillon.domain.destinations import Destinations, Verification
    from carillon.domain.idempotency import IdempotencyRecord
    from carillon.domain.job import Target
    from carillon.domain.limits import Limits
    from carillon.domain.secrets import Rotation, SigningSecret
    from carillon.domain.tenancy import ApiKey, Tenant


class SigningSecrets(Protocol):
    """The secrets that sign a tenant's callbacks."""

    def active(self, tenant: str, now_ms: int) -> Sequence[str]:
        """The texts (`whsec_…`) to sign with, newest first; empty when the tenant has none.

        A rotation made elsewhere is known within five minutes; a secret whose time is known retires on time.
        """
        ...

    def add(self, tenant: str, secret_id: str, text: str, now_ms: int) -> None:
        """Store a new secret, encrypted."""
        ...

    def list_all(self, tenant: str) -> Sequence[SigningSecret]:
        """The tenant's secrets without their texts, in no order, read with strong consistency."""
        ...

    def rotate(self, tenant: str, rotation: Rotation, text: str, event: AuditEvent) -> bool:
        """Store the new secret, let those that were seen retire, and add the event; all or nothing.

        Returns False when one of them is no longer as it was seen.
        """
        ...

    def reveal(self, tenant: str, secret_id: str) -> str | None:
        """The text of a secret, or None when there is no such."""
        ...


class Tenants(Protocol):
    """Tenants."""

    def create(self, tenant: Tenant, event: AuditEvent | None = None) -> bool:
        """Store a new tenant, with the event that tells of it. False when there is one of this id."""
        ...

    def get(self, tenant_id: str) -> Tenant | None:
        """The tenant, or None."""
        ...

    def list_all(self) -> Iterable[Tenant]:
        """Every tenant, in no order."""
        ...


class ApiKeys(Protocol):
    """The keys of tenants."""

    def add(self, key: ApiKey, event: AuditEvent | None = None) -> None:
        """Store a new key, with the event that tells of it; all or nothing. A repeat of the same key succeeds.

        Raises:
            ValueError: another key has this id.
        """
        ...

    def get(self, key_id: str) -> ApiKey | None:
        """The key, or None."""
        ...

    def list_all(self, tenant: str) -> Sequence[ApiKey]:
        """A tenant's keys, those included that are in force no longer, in no order; read with strong consistency."""
        ...

    def replace(self, seen: ApiKey, changed: ApiKey, event: AuditEvent, added: ApiKey | None = None) -> bool:
        """Give a key another end, with the event that tells of it and a key in its place, if any; all or nothing.

        Returns False when the key's end is no longer as it was seen.
        """
        ...

    def note_use(self, key_id: str, at_ms: int) -> None:
        """Remember when a key was used last. A key that is gone stays so."""
        ...


@dataclass(frozen=True, slots=True)
class AuditPage:
    """A page of a tenant's audit events, newest first; `next_before` is the id to go on before, or None at the end."""

    events: tuple[AuditEvent, ...]
    next_before: str | None


class AuditTrail(Protocol):
    """What was done by whom. Events are only ever added."""

    def append(self, event: AuditEvent) -> None:
        """Add an event. A repeat adds nothing."""
        ...

    def list_newest(self, tenant: str, limit: int, before: str | None, since: str | None = None) -> AuditPage:
        """A tenant's events, newest first, from before the one id to the other: that one included."""
        ...


class IdempotencyRecords(Protocol):
    """Requests that may be repeated, by tenant and key."""

    def get(self, tenant: str, key: str) -> IdempotencyRecord | None:
        """The record, read with strong consistency, or None."""
        ...

    def put(self, tenant: str, key: str, record: IdempotencyRecord, *, seen: IdempotencyRecord | None) -> bool:
        """Write a record if the stored one is still that which was seen, by its seed and its lease (None: none)."""
        ...

    def forget(self, tenant: str, key: str, seen: IdempotencyRecord) -> None:
        """Remove a record that is still the one that was seen."""
        ...


class TenantLimits(Protocol):
    """The limits of tenants."""

    def all(self) -> Mapping[str, Limits]:
        """The limits of every tenant that has some. A change may be seen some time later."""
        ...

    def of(self, tenant: str) -> Limits:
        """The limits of a tenant. A change may be seen some time later."""
        ...

    def set(self, tenant: str, limits: Limits, event: AuditEvent | None = None) -> None:
        """Give a tenant limits in place of those it has, with the event that tells of it."""
        ...


class JobCounts(Protocol):
    """How many jobs of tenants count, in slices."""

    def slices(self, tenant: str) -> Sequence[Slice]:
        """All slices of a tenant's count, each read with strong consistency."""
        ...

    def correct(self, tenant: str, seen: Slice, counted: int) -> bool:
        """Let a slice count so many jobs, if it counts as many as were seen."""
        ...


class FreedJobs(Protocol):
    """Places of jobs that count no more."""

    def free(self, tenant: str, second: int, freed: Mapping[str, int]) -> None:
        """Free places of a tenant's jobs, each once however often this is asked.

        `second`: in which it was told of, epoch seconds; `freed`: by the event that told of each, the job's mark.

        Raises:
            UnavailableError: not all of it is done.
        """
        ...


class DestinationStore(Protocol):
    """Where tenants let their jobs call."""

    def of(self, tenant: str) -> Destinations:
        """What a tenant has registered; none if nothing.

        Raises:
            UnreadableItemError: what is stored is damaged.
        """
        ...

    def save(self, tenant: str, destinations: Destinations, event: AuditEvent | None = None) -> bool:
        """Store them if the stored ones are those of the `rev` before, with the event that tells of it.

        A repeat of the same write succeeds.
        """
        ...


class FailureTargets(Protocol):
    """Whom tenants have told of failed runs of all their jobs that name nobody themselves."""

    def of(self, tenant: str) -> Target | None:
        """Whom a tenant names; None if nobody.

        Raises:
            UnreadableItemError: what is stored is damaged.
        """
        ...

    def set(self, tenant: str, target: Target | None, event: AuditEvent) -> None:
        """Name somebody in place of whoever was named, or nobody, with the event that tells of it; both or neither."""
        ...


class Verifications(Protocol):
    """Which destinations were verified. Workers add them."""

    def of(self, tenant: str) -> Mapping[str, Verification]:
        """A tenant's, by the ids of the destinations."""
        ...

    def save(self, tenant: str, destination_id: str, verification: Verification) -> None:
        """Record one, in place of an earlier one."""
        ...
