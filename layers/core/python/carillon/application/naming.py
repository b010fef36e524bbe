"""Names of what belongs to a tenant: keys, secrets, events."""

from carillon.domain.identity import ulid
from carillon.ports.edges import Ids

_RANDOM_BYTES = 10


def new_ulid(ids: Ids, now_ms: int) -> str:
    """A new ULID of an instant (epoch ms)."""
    return ulid(now_ms, ids.secret_bytes(_RANDOM_BYTES))
