"""A rotation and its audit event are written together or not at all, on the condition of what was seen."""

from dataclasses import replace

from carillon.domain.audit import Action, Actor, ActorType, AuditEvent
from carillon.domain.secrets import Rotation, SigningSecret, rotated
from contract.backends import Stores
from contract.samples import NOW_MS

ACTOR = Actor(ActorType.API_KEY, "01J" + "0" * 23, "req-1")
OLD = SigningSecret("sec_old", NOW_MS)


def event(number: int, tenant: str = "acme") -> AuditEvent:
    """An event of a rotation."""
    changes = (("/sec_old/retires_at", None, "2026-01-01T00:00:00.000Z"),)
    return AuditEvent(f"aud_{number:026}", NOW_MS, tenant, ACTOR, Action.SECRET_ROTATED, "sec_new", changes)


def rotation(stores: Stores, name: str, overlap_ms: int = 60_000, now_ms: int = NOW_MS + 5) -> Rotation:
    """The rotation to a secret of that name, as of what is stored."""
    return rotated(stores.secrets.list_all("acme"), name, overlap_ms, now_ms)


def test_both_sign_during_the_overlap_and_then_the_new_one_alone(stores: Stores) -> None:
    """The older one retires on time without being read again."""
    stores.secrets.add("acme", OLD.id, "whsec_old", OLD.created_at)
    assert stores.secrets.rotate("acme", rotation(stores, "sec_new"), "whsec_new", event(1))
    assert list(stores.secrets.active("acme", NOW_MS + 60_004)) == ["whsec_new", "whsec_old"]
    assert list(stores.secrets.active("acme", NOW_MS + 60_005)) == ["whsec_new"]


def test_a_rotation_is_listed_and_revealed(stores: Stores) -> None:
    """What is listed has no texts; a text comes by its id alone."""
    stores.secrets.add("acme", OLD.id, "whsec_old", OLD.created_at)
    made = rotation(stores, "sec_new")
    assert stores.secrets.rotate("acme", made, "whsec_new", event(1))
    assert set(stores.secrets.list_all("acme")) == {*made.retired, made.added}
    assert stores.secrets.reveal("acme", "sec_new") == "whsec_new"
    assert stores.secrets.reveal("acme", "sec_old") == "whsec_old"
    assert stores.secrets.reveal("acme", "sec_other") is None
    assert stores.secrets.reveal("umbrella", "sec_new") is None


def test_of_two_rotations_at_once_one_holds(stores: Stores) -> None:
    """The other one leaves neither a secret nor an event."""
    stores.secrets.add("acme", OLD.id, "whsec_old", OLD.created_at)
    first, second = rotation(stores, "sec_a"), rotation(stores, "sec_b", overlap_ms=1_000)
    assert stores.secrets.rotate("acme", first, "whsec_a", event(1))
    assert not stores.secrets.rotate("acme", second, "whsec_b", event(2))
    assert stores.secrets.reveal("acme", "sec_b") is None
    assert [each.id for each in stores.trail.list_newest("acme", 10, None).events] == [event(1).id]
    at_once = rotation(stores, "sec_c", overlap_ms=0)
    assert stores.secrets.rotate("acme", at_once, "whsec_c", event(3))
    assert list(stores.secrets.active("acme", NOW_MS + 5)) == ["whsec_c"]


def test_events_come_newest_first_page_by_page(stores: Stores) -> None:
    """Each tenant has its own, adding one again changes nothing, and nothing of one is lost."""
    for number in range(5):
        stores.trail.append(event(number))
    stores.trail.append(replace(event(3), target="sec_another"))
    stores.trail.append(event(9, "umbrella"))
    first = stores.trail.list_newest("acme", 2, None)
    assert first.events == (event(4), event(3))
    second = stores.trail.list_newest("acme", 2, first.next_before)
    assert second.events == (event(2), event(1))
    last = stores.trail.list_newest("acme", 2, second.next_before)
    assert (last.events, last.next_before) == ((event(0),), None)
    assert stores.trail.list_newest("nobody", 2, None).events == ()
