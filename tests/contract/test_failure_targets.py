"""Whom tenants have told of all failures: one target a tenant, changed together with its event."""

import pytest

from carillon.domain.audit import Action, Actor, ActorType, AuditEvent
from carillon.domain.job import HttpTarget, QueueTarget, Target
from carillon.ports.errors import UnreadableItemError
from contract.backends import Stores
from contract.samples import NOW_MS

CALL = HttpTarget("https://alerts.acme.com/ü?x=1", "PUT", (("X-A", "ä"),), timeout_ms=9_000)
MESSAGE = QueueTarget("https://sqs.eu-west-1.amazonaws.com/111122223333/failed")


def named(stores: Stores, tenant: str, target: Target | None, number: int = 1) -> None:
    """Name somebody, with an event of this number."""
    actor = Actor(ActorType.API_KEY, "key", "request")
    event_id, action = f"aud_{number:026}", Action.ON_FAILURE_SET if target else Action.ON_FAILURE_REMOVED
    event = AuditEvent(event_id, NOW_MS, tenant, actor, action, "on_failure", (("/target", None, "there"),))
    stores.failure_targets.set(tenant, target, event)


def test_a_tenant_begins_with_nobody(stores: Stores) -> None:
    """What was never named reads as nobody."""
    assert stores.failure_targets.of("acme") is None


@pytest.mark.parametrize("target", [CALL, MESSAGE], ids=["call", "message"])
def test_who_is_named_is_read_by_its_tenant_alone(stores: Stores, target: Target) -> None:
    """With everything that belongs to it; another tenant has nobody, and the list of tenants is as it was."""
    named(stores, "acme", target)
    assert stores.failure_targets.of("acme") == target
    assert stores.failure_targets.of("globex") is None
    assert list(stores.tenants.list_all()) == []


def test_the_last_one_named_is_told(stores: Stores) -> None:
    """In place of the one before, or nobody; taking nobody away does no harm. Each change has its event."""
    for number, target in enumerate([CALL, MESSAGE, None, None], start=1):
        named(stores, "acme", target, number)
        assert stores.failure_targets.of("acme") == target
    assert [event.id[-1] for event in stores.trail.list_newest("acme", 10, None).events] == ["4", "3", "2", "1"]


def test_a_repeat_after_a_lost_answer_changes_nothing(stores: Stores) -> None:
    """The same change with the same event is there once."""
    named(stores, "acme", CALL)
    named(stores, "acme", CALL)
    assert stores.failure_targets.of("acme") == CALL
    assert len(stores.trail.list_newest("acme", 10, None).events) == 1


@pytest.mark.parametrize("damaged", ["null", "[]", "{}", '{"url": "https://a.com/"}', "{"])
def test_damage_is_an_error(stores: Stores, damaged: str) -> None:
    """A target that cannot be read is never nobody."""
    if stores.database is None:
        assert stores.state is not None, "memory holds no text that could be damaged"
        return
    item = {"pk": {"S": "TENANT#acme"}, "sk": {"S": "ON_FAILURE"}, "target": {"S": damaged}}
    stores.database.client.put_item(TableName=stores.database.control, Item=item)
    with pytest.raises(UnreadableItemError):
        stores.failure_targets.of("acme")
