"""Tenants, what belongs to them, and the quarantine in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from carillon.adapters.memory.state import MemoryState, SetAside
from carillon.domain.audit import AuditEvent
from carillon.domain.breaker import Breaker
from carillon.domain.destinations import ANYWHERE, Destinations, Verification
from carillon.domain.job import Target
from carillon.domain.secrets import Rotation, SigningSecret, signing
from carillon.domain.tenancy import ApiKey, Tenant
from carillon.ports.tenancy import AuditPage

MOST_KEPT_CHARACTERS = 1024


class MemoryTenants:
    """Tenants."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def create(self, tenant: Tenant, event: AuditEvent | None = None) -> bool:
        """Store a new tenant, with its event. False when there is one of this id."""
        with self._state.lock:
            if tenant.id not in self._state.tenants:
                self._state.tell(event)
            return self._state.tenants.setdefault(tenant.id, tenant) == tenant

    def get(self, tenant_id: str) -> Tenant | None:
        """The tenant, or None."""
        return self._state.tenants.get(tenant_id)

    def list_all(self) -> Sequence[Tenant]:
        """Every tenant."""
        with self._state.lock:
            return list(self._state.tenants.values())


class MemoryApiKeys:
    """The keys of tenants."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def add(self, key: ApiKey, event: AuditEvent | None = None) -> None:
        """Store a new key, with its event."""
        with self._state.lock:
            if self._state.api_keys.setdefault(key.id, key) != key:
                raise ValueError(f"{key.id}: another key has this id")
            self._state.tell(event)

    def get(self, key_id: str) -> ApiKey | None:
        """The key, or None."""
        return self._state.api_keys.get(key_id)

    def list_all(self, tenant: str) -> Sequence[ApiKey]:
        """A tenant's keys."""
        with self._state.lock:
            return [key for key in self._state.api_keys.values() if key.tenant == tenant]

    def replace(self, seen: ApiKey, changed: ApiKey, event: AuditEvent, added: ApiKey | None = None) -> bool:
        """Give a key another end, with its event and a key in its place."""
        with self._state.lock:
            stored = self._state.api_keys.get(seen.id)
            if stored is None or _end(stored) != _end(seen):
                return False
            self._state.api_keys[seen.id] = replace(
                stored, expires_at_ms=changed.expires_at_ms, revoked_at=changed.revoked_at
            )
            if added is not None:
                self._state.api_keys[added.id] = added
            self._state.tell(event)
            return True

    def note_use(self, key_id: str, at_ms: int) -> None:
        """Remember when a key was used last."""
        with self._state.lock:
            if stored := self._state.api_keys.get(key_id):
                self._state.api_keys[key_id] = replace(stored, last_used_at=at_ms)


def _end(key: ApiKey) -> tuple[int | None, int | None]:
    return key.expires_at_ms, key.revoked_at


class MemorySigningSecrets:
    """The secrets that sign a tenant's callbacks, in clear."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def active(self, tenant: str, now_ms: int) -> Sequence[str]:
        """The texts to sign with, newest first."""
        with self._state.lock:
            kept = self._state.secrets[tenant]
            return [kept[secret.id][1] for secret in signing((secret for secret, _ in kept.values()), now_ms)]

    def add(self, tenant: str, secret_id: str, text: str, now_ms: int) -> None:
        """Store a new secret."""
        with self._state.lock:
            self._state.secrets[tenant].setdefault(secret_id, (SigningSecret(secret_id, now_ms), text))

    def list_all(self, tenant: str) -> Sequence[SigningSecret]:
        """The tenant's secrets without their texts."""
        with self._state.lock:
            return [secret for secret, _ in self._state.secrets[tenant].values()]

    def rotate(self, tenant: str, rotation: Rotation, text: str, event: AuditEvent) -> bool:
        """Store the new secret, let the others retire, and add the event."""
        with self._state.lock:
            kept = self._state.secrets[tenant]
            if any(seen.id not in kept or kept[seen.id][0] != seen for seen in rotation.seen):
                return False
            kept.update((retired.id, (retired, kept[retired.id][1])) for retired in rotation.retired)
            kept[rotation.added.id] = (rotation.added, text)
            self._state.tell(event)
            return True

    def reveal(self, tenant: str, secret_id: str) -> str | None:
        """The text of a secret, or None."""
        with self._state.lock:
            found = self._state.secrets[tenant].get(secret_id)
            return None if found is None else found[1]


class MemoryAuditTrail:
    """What was done by whom."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def append(self, event: AuditEvent) -> None:
        """Add an event."""
        with self._state.lock:
            self._state.tell(event)

    def list_newest(self, tenant: str, limit: int, before: str | None, since: str | None = None) -> AuditPage:
        """A tenant's events, newest first."""
        with self._state.lock:
            events = self._state.audit[tenant]
            within = (key for key in events if (before is None or key < before) and key >= (since or ""))
            found = sorted(within, reverse=True)
            page = tuple(events[key] for key in found[:limit])
            return AuditPage(page, found[limit - 1] if len(found) > limit else None)


class MemoryDestinations:
    """Where tenants let their jobs call."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def of(self, tenant: str) -> Destinations:
        """What a tenant has registered."""
        return self._state.destinations.get(tenant, ANYWHERE)

    def save(self, tenant: str, destinations: Destinations, event: AuditEvent | None = None) -> bool:
        """Store them if the stored ones are those of the `rev` before, with an event. A repeat succeeds."""
        with self._state.lock:
            stored = self.of(tenant)
            if stored.rev == destinations.rev - 1:
                self._state.destinations[tenant] = destinations
                self._state.tell(event)
                return True
            return stored == destinations


class MemoryVerifications:
    """Which destinations were verified."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def of(self, tenant: str) -> Mapping[str, Verification]:
        """A tenant's, by the ids of the destinations."""
        with self._state.lock:
            return dict(self._state.verifications[tenant])

    def save(self, tenant: str, destination_id: str, verification: Verification) -> None:
        """Record one, in place of an earlier one."""
        with self._state.lock:
            self._state.verifications[tenant][destination_id] = verification


class MemoryFailureTargets:
    """Whom tenants have told of failed runs of all their jobs."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def of(self, tenant: str) -> Target | None:
        """Whom a tenant names; None if nobody."""
        return self._state.failure_targets.get(tenant)

    def set(self, tenant: str, target: Target | None, event: AuditEvent) -> None:
        """Name somebody in place of whoever was named, or nobody, with the event that tells of it."""
        with self._state.lock:
            if target is None:
                self._state.failure_targets.pop(tenant, None)
            else:
                self._state.failure_targets[tenant] = target
            self._state.audit[tenant].setdefault(event.id, event)


class MemoryBreakers:
    """The breakers that have opened."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def of(self, tenant: str) -> Mapping[str, Breaker]:
        """A tenant's breakers by their targets."""
        with self._state.lock:
            return {target: each for (owner, target), each in self._state.breakers.items() if owner == tenant}

    def save(self, breaker: Breaker) -> bool:
        """Store it if the stored one is that of the `rev` before, or none. A repeat of the same write succeeds."""
        key = (breaker.tenant, breaker.target)
        with self._state.lock:
            stored = self._state.breakers.get(key)
            if stored is None or stored.rev == breaker.rev - 1:
                self._state.breakers[key] = breaker
                return True
            return stored == breaker


class MemoryQuarantine:
    """Where messages go that nobody can read."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def set_aside(self, message_id: str, body: str, reason: str, now_ms: int) -> None:  # noqa: ARG002 - kept for ever
        """Keep the beginning of a message."""
        with self._state.lock:
            self._state.set_aside.append(SetAside(message_id, body[:MOST_KEPT_CHARACTERS], reason))
