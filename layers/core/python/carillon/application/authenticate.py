"""Who asks: from the text of an API key to the tenant it belongs to."""

from contextlib import suppress
from dataclasses import dataclass, field, replace

from carillon.domain.tenancy import ApiKey, Principal, digest_of, key_id_in, mode_in
from carillon.ports.errors import UnavailableError
from carillon.ports.tenancy import ApiKeys

CACHED_FOR_MS = 60_000
"""How long a key is believed without looking again: a revoked key may work for so long."""

MOST_CACHED = 1_024

USE_NOTED_EVERY_MS = 3_600_000
"""How exactly it is known when a key was used last."""


@dataclass(frozen=True, slots=True)
class Authenticate:
    """Checks keys. Mistyped ones are refused without a read, found ones are kept for a minute, unknown ones never."""

    keys: ApiKeys
    _seen: dict[str, tuple[ApiKey, int]] = field(default_factory=dict, repr=False, compare=False)

    def __call__(self, text: str, now_ms: int) -> Principal | None:
        """The owner of a key, or None: unknown, wrong, expired and revoked keys get the same answer."""
        key_id = key_id_in(text)
        if key_id is None:
            return None
        key = self._key(key_id, now_ms)
        if key is None:
            digest_of(text)  # as long a way as for a known id
            return None
        if not key.admits(text, now_ms):
            return None
        self._note_use(key, now_ms)
        return Principal(key.tenant, key.id, key.scopes, mode_in(text))

    def _note_use(self, key: ApiKey, now_ms: int) -> None:
        """Remember roughly when a key was used last: one write an hour and process."""
        if key.last_used_at is None or now_ms - key.last_used_at >= USE_NOTED_EVERY_MS:
            self._remember(replace(key, last_used_at=now_ms), self._seen[key.id][1])
            with suppress(UnavailableError):
                self.keys.note_use(key.id, now_ms)

    def _key(self, key_id: str, now_ms: int) -> ApiKey | None:
        seen = self._seen.get(key_id)
        if seen and 0 <= now_ms - seen[1] < CACHED_FOR_MS:
            return seen[0]
        key = self.keys.get(key_id)
        self._seen.pop(key_id, None)
        if key:
            self._remember(key, now_ms)
        return key

    def _remember(self, key: ApiKey, now_ms: int) -> None:
        if len(self._seen) >= MOST_CACHED:
            self._seen.clear()
        self._seen[key.id] = (key, now_ms)
