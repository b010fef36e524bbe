"""Secrets are stored encrypted, for one tenant and one id, and are kept in clear for five minutes at most."""

import pytest
from botocore.exceptions import ClientError

from carillon.adapters import kms
from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Item
from carillon.adapters.dynamodb.writes import key_of
from carillon.adapters.kms import KEPT_FOR_MS, KmsSigningSecrets
from contract.backends import Stores
from contract.conftest import LIVE
from contract.samples import NOW_MS


@pytest.fixture(params=["moto", LIVE])
def world(request: pytest.FixtureRequest) -> str:
    """Memory keeps secrets in clear."""
    return str(request.param)


def stored(stores: Stores, tenant: str, secret_id: str) -> Item:
    """The item of a secret."""
    assert stores.database is not None
    item = stores.database.get(stores.database.control, key_of(*k.secret_key(tenant, secret_id)))
    assert item is not None
    return item


def plant(stores: Stores, item: Item) -> None:
    """Write an item as it is."""
    assert stores.database is not None
    stores.database.client.put_item(TableName=stores.database.control, Item=item)


def remove(stores: Stores, tenant: str, secret_id: str) -> None:
    """Remove a secret behind the adapter's back."""
    assert stores.database is not None
    key = key_of(*k.secret_key(tenant, secret_id))
    stores.database.client.delete_item(TableName=stores.database.control, Key=key)


def test_the_table_never_holds_a_secret_in_clear(stores: Stores) -> None:
    """What is stored is ciphertext."""
    stores.secrets.add("acme", "sec_1", "whsec_topsecret", NOW_MS)
    assert b"topsecret" not in stored(stores, "acme", "sec_1")[k.CIPHERTEXT]["B"]


def test_a_secret_of_another_tenant_cannot_be_read(stores: Stores) -> None:
    """A ciphertext copied to another tenant, or to another id, does not decrypt."""
    stores.secrets.add("acme", "sec_1", "whsec_a", NOW_MS)
    stolen = stored(stores, "acme", "sec_1")
    for tenant, secret_id in (("umbrella", "sec_1"), ("acme", "sec_2")):
        plant(stores, stolen | key_of(*k.secret_key(tenant, secret_id)))
    for tenant in ("umbrella", "acme"):
        with pytest.raises(ClientError, match="InvalidCiphertext"):
            stores.secrets.active(tenant, NOW_MS)


def test_a_secret_is_kept_for_five_minutes(stores: Stores) -> None:
    """Until then it is not read again, from then on it is."""
    stores.secrets.add("acme", "sec_1", "whsec_a", NOW_MS)
    assert list(stores.secrets.active("acme", NOW_MS)) == ["whsec_a"]
    remove(stores, "acme", "sec_1")
    assert list(stores.secrets.active("acme", NOW_MS + KEPT_FOR_MS - 1)) == ["whsec_a"]
    assert list(stores.secrets.active("acme", NOW_MS + KEPT_FOR_MS)) == []


def test_a_clock_that_goes_back_reads_again(stores: Stores) -> None:
    """A secret read in the future is not kept until then."""
    stores.secrets.add("acme", "sec_1", "whsec_a", NOW_MS)
    stores.secrets.active("acme", NOW_MS + 10**9)
    remove(stores, "acme", "sec_1")
    assert list(stores.secrets.active("acme", NOW_MS)) == []


def test_a_secret_id_is_never_used_twice(stores: Stores) -> None:
    """Another secret of the same id is refused, and the first one stays."""
    stores.secrets.add("acme", "sec_1", "whsec_a", NOW_MS)
    with pytest.raises(ValueError, match="another secret"):
        stores.secrets.add("acme", "sec_1", "whsec_b", NOW_MS)
    assert list(stores.secrets.active("acme", NOW_MS)) == ["whsec_a"]


def test_that_there_is_none_is_not_remembered(stores: Stores) -> None:
    """The first secret of a tenant counts at once, also where it was not added."""
    assert list(stores.secrets.active("acme", NOW_MS)) == []
    stores.secrets.add("umbrella", "sec_1", "whsec_a", NOW_MS)
    assert stores.database is not None
    elsewhere = KmsSigningSecrets(stores.database, stores.secrets._kms, stores.secrets._kms_key_id)  # type: ignore[attr-defined]  # the adapter under test
    elsewhere.add("acme", "sec_1", "whsec_b", NOW_MS)
    assert list(stores.secrets.active("acme", NOW_MS)) == ["whsec_b"]


def test_the_memory_of_secrets_is_bounded(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tenants without end do not fill the function's memory."""
    monkeypatch.setattr(kms, "MOST_CACHED_TENANTS", 2)
    for number in range(7):
        stores.secrets.add(f"tenant-{number}", "sec_1", "whsec_a", NOW_MS)
        stores.secrets.active(f"tenant-{number}", NOW_MS)
        assert len(stores.secrets._cache) <= 2  # type: ignore[attr-defined]  # the adapter under test
