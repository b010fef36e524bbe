"""The destinations of tenants: one value a tenant, and nobody's change is lost."""

import pytest

from carillon.domain.destinations import ANYWHERE, Destination, DestinationKind
from carillon.ports.errors import UnreadableItemError
from contract.backends import Stores
from contract.samples import NOW_MS

HOST = Destination(DestinationKind.HOST, "hooks.acme.com", NOW_MS)
SUFFIX = Destination(DestinationKind.SUFFIX, "acme.net", NOW_MS + 1)


def test_a_tenant_begins_without_any(stores: Stores) -> None:
    """What was never stored reads as none."""
    assert stores.destinations.of("acme") == ANYWHERE


def test_what_is_stored_is_read_by_its_tenant_alone(stores: Stores) -> None:
    """Kinds, names, times and order stay; another tenant has none, and the list of tenants is as it was."""
    both = ANYWHERE.having(HOST).having(SUFFIX)
    assert stores.destinations.save("acme", ANYWHERE.having(HOST))
    assert stores.destinations.save("acme", both)
    assert stores.destinations.of("acme") == both
    assert stores.destinations.of("globex") == ANYWHERE
    assert list(stores.tenants.list_all()) == []


def test_the_last_one_can_be_removed(stores: Stores) -> None:
    """None is a value like any other: its `rev` goes on."""
    one = ANYWHERE.having(HOST)
    none = one.lacking(HOST.id)
    assert stores.destinations.save("acme", one)
    assert stores.destinations.save("acme", none)
    assert stores.destinations.of("acme") == none
    assert not stores.destinations.save("acme", one)


def test_of_two_who_change_the_same_one_loses(stores: Stores) -> None:
    """The first write stands, and its repeat after a lost answer succeeds."""
    first, second = ANYWHERE.having(HOST), ANYWHERE.having(SUFFIX)
    assert stores.destinations.save("acme", first)
    assert not stores.destinations.save("acme", second)
    assert stores.destinations.save("acme", first)
    assert stores.destinations.of("acme") == first


@pytest.mark.parametrize("damaged", ["null", "[[]]", '[["host"]]', '[["planet", "a.com", 1]]', "{"])
def test_damage_opens_nothing(stores: Stores, damaged: str) -> None:
    """Destinations that cannot be read are an error, never none: none would mean anywhere."""
    if stores.database is None:
        assert stores.state is not None, "memory holds no text that could be damaged"
        return
    stores.destinations.save("acme", ANYWHERE.having(HOST))
    stores.database.client.put_item(
        TableName=stores.database.control,
        Item={
            "pk": {"S": "TENANT#acme"},
            "sk": {"S": "DESTINATIONS"},
            "rev": {"N": "1"},
            "destinations": {"S": damaged},
        },
    )
    with pytest.raises(UnreadableItemError):
        stores.destinations.of("acme")
