"""Keys change their end together with an audit event, on the condition of the end that was seen."""

from dataclasses import replace

from carillon.domain.audit import Action, Actor, ActorType, AuditEvent
from carillon.domain.tenancy import ApiKey
from contract.backends import Stores
from contract.samples import NOW_MS

KEY = ApiKey("01J" + "0" * 23, "acme", "ab" * 32, frozenset({"jobs:read"}), NOW_MS, name="Grüße", hint="wxyz")
OTHER = replace(KEY, id="01J" + "1" * 23, digest="cd" * 32, name=None, expires_at_ms=NOW_MS + 9)
ACTOR = Actor(ActorType.API_KEY, KEY.id, "req-1")


def event(number: int) -> AuditEvent:
    """An event."""
    return AuditEvent(f"aud_{number:026}", NOW_MS, "acme", ACTOR, Action.KEY_CREATED, KEY.id)


def recorded(stores: Stores) -> int:
    """How many events there are."""
    return len(stores.trail.list_newest("acme", 99, None).events)


def test_keys_are_listed_with_their_tenant(stores: Stores) -> None:
    """All of a tenant's and no others, whole; making one again changes nothing and tells nothing."""
    stores.keys.add(KEY, event(1))
    stores.keys.add(KEY, event(2))
    stores.keys.add(OTHER)
    stores.keys.add(replace(KEY, id="01J" + "2" * 23, tenant="umbrella"))
    assert sorted(stores.keys.list_all("acme"), key=lambda key: key.id) == [KEY, OTHER]
    assert stores.keys.list_all("nobody") == []


def test_a_key_is_rotated_as_a_whole(stores: Stores) -> None:
    """Its end, the new key and the event; of two who saw the same end, one holds."""
    stores.keys.add(KEY)
    ending = replace(KEY, expires_at_ms=NOW_MS + 60_000)
    assert stores.keys.replace(KEY, ending, event(1), OTHER)
    assert not stores.keys.replace(KEY, replace(KEY, expires_at_ms=NOW_MS + 1), event(2), replace(OTHER, id="x" * 26))
    assert (stores.keys.get(KEY.id), stores.keys.get(OTHER.id)) == (ending, OTHER)
    assert stores.keys.get("x" * 26) is None
    assert recorded(stores) == 1
    revoked = replace(ending, revoked_at=NOW_MS + 5)
    assert stores.keys.replace(ending, revoked, event(3))
    assert stores.keys.get(KEY.id) == revoked


def test_a_use_is_noted_and_disturbs_no_change(stores: Stores) -> None:
    """A key that is gone is not brought back by it."""
    stores.keys.add(KEY)
    stores.keys.note_use(KEY.id, NOW_MS + 7)
    assert stores.keys.get(KEY.id) == replace(KEY, last_used_at=NOW_MS + 7)
    assert stores.keys.replace(KEY, replace(KEY, revoked_at=NOW_MS + 8), event(1))
    assert stores.keys.get(KEY.id) == replace(KEY, last_used_at=NOW_MS + 7, revoked_at=NOW_MS + 8)
    stores.keys.note_use(OTHER.id, NOW_MS)
    assert stores.keys.get(OTHER.id) is None
