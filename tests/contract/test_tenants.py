"""Tenants, their keys and secrets, and what nobody can read."""

from dataclasses import replace

import pytest

from carillon.domain.tenancy import ApiKey, Tenant
from contract.backends import Stores
from contract.samples import NOW_MS

KEY = ApiKey("01J" + "0" * 23, "acme", "ab" * 32, frozenset({"jobs:read", "jobs:write"}), NOW_MS)


def test_a_tenant_is_created_once(stores: Stores) -> None:
    """A second tenant of the same id is refused; a repeat of the first create has succeeded."""
    acme = Tenant("acme", NOW_MS)
    assert stores.tenants.create(acme)
    assert stores.tenants.create(acme)
    assert not stores.tenants.create(Tenant("acme", NOW_MS + 1))
    assert stores.tenants.get("acme") == acme
    assert stores.tenants.get("umbrella") is None


def test_all_tenants_are_listed(stores: Stores) -> None:
    """The list holds every tenant and nothing else."""
    tenants = {Tenant(f"tenant-{number}", NOW_MS + number) for number in range(5)}
    for tenant in tenants:
        stores.tenants.create(tenant)
        stores.secrets.add(tenant.id, "sec_1", "whsec_AAAA", NOW_MS)
    stores.keys.add(KEY)
    stores.shards.raise_to(8)
    assert set(stores.tenants.list_all()) == tenants


@pytest.mark.parametrize(
    "key",
    [KEY, replace(KEY, scopes=frozenset(), expires_at_ms=NOW_MS + 1, revoked_at=NOW_MS)],
    ids=["plain", "everything set"],
)
def test_a_key_is_read_as_it_was_added(stores: Stores, key: ApiKey) -> None:
    """Nothing of a key is lost by storing it, and adding it again is no error."""
    stores.keys.add(key)
    stores.keys.add(key)
    assert stores.keys.get(key.id) == key
    assert stores.keys.get("01J" + "1" * 23) is None


def test_a_key_id_is_never_used_twice(stores: Stores) -> None:
    """Another key of the same id is refused, and the first one stays."""
    stores.keys.add(KEY)
    with pytest.raises(ValueError, match="another key"):
        stores.keys.add(replace(KEY, digest="cd" * 32))
    assert stores.keys.get(KEY.id) == KEY


def test_secrets_come_newest_first(stores: Stores) -> None:
    """A tenant signs with all its secrets, the newest first, as soon as they are added; others see none of them."""
    assert stores.secrets.active("acme", NOW_MS) in ([], ())
    stores.secrets.add("acme", "sec_b", "whsec_old", NOW_MS)
    assert list(stores.secrets.active("acme", NOW_MS)) == ["whsec_old"]
    stores.secrets.add("acme", "sec_a", "whsec_new", NOW_MS + 1)
    stores.secrets.add("acme", "sec_a", "whsec_new", NOW_MS + 1)
    assert list(stores.secrets.active("acme", NOW_MS)) == ["whsec_new", "whsec_old"]
    assert list(stores.secrets.active("umbrella", NOW_MS)) == []


def test_a_message_can_be_set_aside_twice(stores: Stores) -> None:
    """Whatever the message holds, setting it aside never fails."""
    for body in ("", "x" * 5_000, "☠\x00"):
        stores.quarantine.set_aside(f"message {len(body)}", body, "not JSON", NOW_MS)
        stores.quarantine.set_aside(f"message {len(body)}", body, "not JSON", NOW_MS)
