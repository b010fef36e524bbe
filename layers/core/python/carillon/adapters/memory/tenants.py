"""Tenants, keys, secrets and the quarantine in memory."""

from collections import defaultdict
from collections.abc import Sequence

from carillon.adapters.memory.state import MemoryState, SetAside
from carillon.domain.tenancy import ApiKey, Tenant

MOST_KEPT_CHARACTERS = 1024


class MemoryTenants:
    """Tenants and their keys."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def create(self, tenant: Tenant) -> bool:
        """Store a new tenant. False when there is one of this id."""
        with self._state.lock:
            return self._state.tenants.setdefault(tenant.id, tenant) == tenant

    def get(self, tenant_id: str) -> Tenant | None:
        """The tenant, or None."""
        return self._state.tenants.get(tenant_id)

    def list_all(self) -> Sequence[Tenant]:
        """Every tenant."""
        with self._state.lock:
            return list(self._state.tenants.values())

    def add_key(self, key: ApiKey) -> None:
        """Store a new key."""
        with self._state.lock:
            if self._state.api_keys.setdefault(key.id, key) != key:
                raise ValueError(f"{key.id}: another key has this id")

    def key(self, key_id: str) -> ApiKey | None:
        """The key, or None."""
        return self._state.api_keys.get(key_id)


class MemorySigningSecrets:
    """The secrets that sign a tenant's callbacks, in clear."""

    def __init__(self) -> None:
        self._secrets: defaultdict[str, dict[str, tuple[int, str]]] = defaultdict(dict)

    def active(self, tenant: str, now_ms: int) -> Sequence[str]:  # noqa: ARG002 - nothing expires here
        """The texts to sign with, newest first."""
        newest_first = sorted(self._secrets[tenant].values(), reverse=True)
        return [text for _, text in newest_first]

    def add(self, tenant: str, secret_id: str, text: str, now_ms: int) -> None:
        """Store a new secret."""
        self._secrets[tenant].setdefault(secret_id, (now_ms, text))


class MemoryQuarantine:
    """Where messages go that nobody can read."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def set_aside(self, message_id: str, body: str, reason: str, now_ms: int) -> None:  # noqa: ARG002 - kept for ever
        """Keep the beginning of a message."""
        with self._state.lock:
            self._state.set_aside.append(SetAside(message_id, body[:MOST_KEPT_CHARACTERS], reason))
