"""The API keys of a tenant: listing, making, rotating and revoking them. Each change leaves an audit event."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from carillon.application.naming import new_ulid
from carillon.domain.audit import Action, Actor, AuditEvent
from carillon.domain.identity import is_ulid
from carillon.domain.instants import format_instant
from carillon.domain.tenancy import ApiKey, Principal, issued, new_key_text
from carillon.ports.edges import Ids
from carillon.ports.errors import UnavailableError
from carillon.ports.tenancy import ApiKeys

MOST_KEYS = 20
"""Keys of a tenant that are in force at once: many services, and a rotation under way."""

_KEY_BYTES = 32
_MOST_TRIES = 4
_MANAGES = "keys:manage"


class KeyNotFoundError(LookupError):
    """The tenant has no such key."""


class TooManyKeysError(Exception):
    """So many keys are in force that no further one may be made."""


class ScopesExceededError(Exception):
    """A key cannot grant what the key that makes it does not have; `scopes` are those."""

    def __init__(self, scopes: Iterable[str]) -> None:
        super().__init__("a key grants no more than the one that makes it")
        self.scopes = tuple(sorted(scopes))


class LastKeyError(Exception):
    """Without this key nobody could manage the tenant's keys any more."""


class KeyEndedError(Exception):
    """The key is in force no longer."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key with its text, which is shown this once."""

    key: ApiKey
    text: str


@dataclass(frozen=True, slots=True)
class ListKeys:
    """A tenant's keys, those included that are in force no longer."""

    keys: ApiKeys

    def __call__(self, tenant: str) -> Sequence[ApiKey]:
        """The keys, newest first."""
        return sorted(self.keys.list_all(tenant), key=lambda key: (key.created_at, key.id), reverse=True)


@dataclass(frozen=True, slots=True)
class KeyMaker:
    """Makes the texts and events of keys. `mode` stands in the texts: of the key that asks."""

    ids: Ids

    def make(self, tenant: str, mode: str, scopes: frozenset[str], now_ms: int) -> NewKey:
        """A new key that is stored nowhere yet."""
        text = new_key_text(mode, new_ulid(self.ids, now_ms), self.ids.secret_bytes(_KEY_BYTES))
        return NewKey(issued(text, tenant, scopes, now_ms), text)

    def event(self, action: Action, key: ApiKey, actor: Actor, now_ms: int, **ends: int | None) -> AuditEvent:
        """The event of a change; `ends`: instants that the key has been given, by their names."""
        changes = tuple((f"/{name}", None, format_instant(at)) for name, at in ends.items() if at is not None)
        return AuditEvent(f"aud_{new_ulid(self.ids, now_ms)}", now_ms, key.tenant, actor, action, key.id, changes)


@dataclass(frozen=True, slots=True)
class CreateKey:
    """Makes further keys."""

    keys: ApiKeys
    maker: KeyMaker

    def __call__(
        self,
        principal: Principal,
        actor: Actor,
        scopes: frozenset[str],
        now_ms: int,
        *,
        name: str | None = None,
        expires_at_ms: int | None = None,
    ) -> NewKey:
        """Make a key of the asking key's tenant.

        Raises:
            ScopesExceededError: it would grant more than the asking key does.
            TooManyKeysError: the tenant has so many already.
        """
        _check_scopes(principal, scopes)
        if len(in_force(self.keys.list_all(principal.tenant), now_ms)) >= MOST_KEYS:
            raise TooManyKeysError
        new = self.maker.make(principal.tenant, principal.mode, scopes, now_ms)
        key = replace(new.key, name=name, expires_at_ms=expires_at_ms)
        self.keys.add(key, self.maker.event(Action.KEY_CREATED, key, actor, now_ms, expires_at=expires_at_ms))
        return NewKey(key, new.text)


@dataclass(frozen=True, slots=True)
class RotateKey:
    """Puts a new key in the place of another one, which stays in force for an overlap."""

    keys: ApiKeys
    maker: KeyMaker

    def __call__(
        self, principal: Principal, actor: Actor, key_id: str, overlap_ms: int, now_ms: int
    ) -> tuple[NewKey, ApiKey]:
        """Rotate a key of the asking key's tenant; gives the new one, and the old one with its end.

        Raises:
            KeyNotFoundError: the tenant has none of this id.
            KeyEndedError: it is in force no longer.
            ScopesExceededError: it grants more than the asking key does.
            UnavailableError: others kept changing it.
        """
        for _ in range(_MOST_TRIES):
            seen = key_of_tenant(self.keys, principal.tenant, key_id)
            if not seen.is_in_force(now_ms):
                raise KeyEndedError
            _check_scopes(principal, seen.scopes)
            new = self.maker.make(principal.tenant, principal.mode, seen.scopes, now_ms)
            added = replace(new.key, name=seen.name, expires_at_ms=seen.expires_at_ms)
            end_ms = now_ms + overlap_ms
            old = replace(seen, expires_at_ms=min(end_ms, seen.expires_at_ms or end_ms))
            told = self.maker.event(Action.KEY_ROTATED, seen, actor, now_ms, expires_at=old.expires_at_ms)
            event = replace(told, changes=(*told.changes, ("/replaced_by", None, added.id)))
            if self.keys.replace(seen, old, event, added):
                return NewKey(added, new.text), old
        raise UnavailableError("the key keeps changing")


@dataclass(frozen=True, slots=True)
class RevokeKey:
    """Takes a key out of force: at once in the table, within a minute in functions that remember it."""

    keys: ApiKeys
    maker: KeyMaker

    def __call__(self, principal: Principal, actor: Actor, key_id: str, now_ms: int) -> None:
        """Revoke a key of the asking key's tenant; one that is revoked already stays as it is.

        Raises:
            KeyNotFoundError: the tenant has none of this id.
            ScopesExceededError: it grants more than the asking key does: who may less must not shut out who may more.
            LastKeyError: no other key could manage keys then, now and for good.
            UnavailableError: others kept changing it.
        """
        for _ in range(_MOST_TRIES):
            seen = key_of_tenant(self.keys, principal.tenant, key_id)
            if seen.revoked_at is not None:
                return
            _check_scopes(principal, seen.scopes)
            others = [key for key in in_force(self.keys.list_all(principal.tenant), now_ms) if key.id != key_id]
            if seen.is_in_force(now_ms) and not any(key.may(_MANAGES) and key.expires_at_ms is None for key in others):
                raise LastKeyError
            event = self.maker.event(Action.KEY_REVOKED, seen, actor, now_ms, revoked_at=now_ms)
            if self.keys.replace(seen, replace(seen, revoked_at=now_ms), event):
                return
        raise UnavailableError("the key keeps changing")


def _check_scopes(principal: Principal, scopes: Iterable[str]) -> None:
    exceeding = [scope for scope in scopes if not principal.may(scope)]
    if exceeding:
        raise ScopesExceededError(exceeding)


def key_of_tenant(keys: ApiKeys, tenant: str, key_id: str) -> ApiKey:
    """The tenant's key of an id.

    Raises:
        KeyNotFoundError: the tenant has none, whatever others have.
    """
    key = keys.get(key_id) if is_ulid(key_id) else None
    if key is None or key.tenant != tenant:
        raise KeyNotFoundError(key_id)
    return key


def in_force(keys: Iterable[ApiKey], now_ms: int) -> list[ApiKey]:
    """Those that open anything at an instant."""
    return [key for key in keys if key.is_in_force(now_ms)]
