"""Tenants and the checking of keys."""

import pytest

from carillon.adapters.memory.tenants import MemoryApiKeys
from carillon.adapters.memory.world import MemoryWorld
from carillon.application.authenticate import CACHED_FOR_MS, MOST_CACHED, USE_NOTED_EVERY_MS, Authenticate
from carillon.application.create_tenant import BadTenantError, CreateTenant, NewTenant, TenantExistsError
from carillon.domain.signing import key_of
from carillon.domain.tenancy import ApiKey, Tenant, key_id_in
from carillon.ports.errors import UnavailableError


def create(world: MemoryWorld, tenant_id: str = "acme") -> NewTenant:
    """A new tenant."""
    return CreateTenant(world.tenants, world.keys, world.secrets, world.limits, world.ids)(
        tenant_id, "test", world.clock.now_ms()
    )


class CountingKeys(MemoryApiKeys):
    """The keys of a world, with a count of the reads and of the writes."""

    def __init__(self, world: MemoryWorld) -> None:
        super().__init__(world.state)
        self.reads = 0
        self.writes = 0

    def get(self, key_id: str) -> ApiKey | None:
        """Read."""
        self.reads += 1
        return super().get(key_id)

    def note_use(self, key_id: str, at_ms: int) -> None:
        """Write."""
        self.writes += 1
        super().note_use(key_id, at_ms)


def test_a_new_tenant_can_use_its_key_at_once() -> None:
    """The key opens the tenant's data as admin; its text is stored nowhere; the signing secret is in force."""
    world = MemoryWorld()
    made = create(world)
    principal = Authenticate(world.keys)(made.key_text, world.clock.now_ms())
    assert principal is not None
    assert (principal.tenant, principal.key_id) == ("acme", made.key_id)
    assert principal.may("jobs:write")
    assert made.key_text not in repr(world.state)
    assert list(world.secrets.active("acme", world.clock.now_ms())) == [made.signing_secret]
    assert len(key_of(made.signing_secret)) == 32


@pytest.mark.parametrize("tenant_id", ["", "ab", "Acme", "1acme", "acme-", "a" * 41, "acme corp", "../acme", "acmé"])
def test_ids_that_are_no_tenants(tenant_id: str) -> None:
    """A tenant's id is short and plain, so that it can stand in keys of tables."""
    world = MemoryWorld()
    with pytest.raises(BadTenantError):
        create(world, tenant_id)
    assert world.state.tenants == {}


def test_a_tenant_is_created_once() -> None:
    """A second creation is refused and changes neither keys nor secrets."""
    world = MemoryWorld()
    made = create(world)
    with pytest.raises(TenantExistsError):
        create(world)
    assert list(world.state.api_keys) == [made.key_id]
    assert list(world.secrets.active("acme", 0)) == [made.signing_secret]


def test_a_creation_that_was_broken_off_can_be_repeated() -> None:
    """A tenant that has no signing secret yet is completed, with a key whose text is known."""
    world = MemoryWorld()
    world.tenants.create(Tenant("acme", 1))
    made = create(world)
    assert Authenticate(world.keys)(made.key_text, 0) is not None
    assert list(world.secrets.active("acme", 0)) == [made.signing_secret]


def test_a_mistyped_key_costs_no_read() -> None:
    """The checksum refuses noise before the store is asked."""
    world = MemoryWorld()
    text = create(world).key_text
    counting = CountingKeys(world)
    authenticate = Authenticate(counting)
    assert all(
        authenticate(wrong, 0) is None for wrong in ("", "x", text[:-1], text[:-2] + text[-1] + text[-2], text + "0")
    )
    assert counting.reads == 0


def test_a_key_is_read_once_a_minute() -> None:
    """A found key is believed for a minute; after that the store is asked again, so that a revocation counts."""
    world = MemoryWorld()
    made = create(world)
    counting = CountingKeys(world)
    authenticate = Authenticate(counting)
    revoked_at = CACHED_FOR_MS - 1
    assert authenticate(made.key_text, 0)
    stored = world.state.api_keys[made.key_id]
    world.state.api_keys[made.key_id] = ApiKey(
        stored.id, stored.tenant, stored.digest, stored.scopes, stored.created_at, revoked_at=revoked_at
    )
    assert authenticate(made.key_text, revoked_at)
    assert counting.reads == 1
    assert authenticate(made.key_text, CACHED_FOR_MS) is None
    assert counting.reads == 2


def test_it_is_known_to_the_hour_when_a_key_was_used() -> None:
    """A busy key costs one write an hour; a store that does not take it refuses nobody."""
    world = MemoryWorld()
    made = create(world)
    counting = CountingKeys(world)
    authenticate = Authenticate(counting)
    for now_ms in range(0, 2 * USE_NOTED_EVERY_MS, 50_000):
        assert authenticate(made.key_text, now_ms)
    assert counting.writes == 2
    assert world.state.api_keys[made.key_id].last_used_at == USE_NOTED_EVERY_MS
    counting.note_use = unavailable  # type: ignore[method-assign]  # it does not answer
    assert authenticate(made.key_text, 2 * USE_NOTED_EVERY_MS)


def unavailable(_key_id: str, _at_ms: int) -> None:
    """Do not answer."""
    raise UnavailableError


def test_a_clock_that_was_set_back_does_not_prolong_belief() -> None:
    """A remembered key from the future is read again."""
    world = MemoryWorld()
    text = create(world).key_text
    counting = CountingKeys(world)
    authenticate = Authenticate(counting)
    authenticate(text, 10_000)
    authenticate(text, 9_999)
    assert counting.reads == 2


def test_a_new_key_works_although_it_was_tried_before() -> None:
    """That a key is unknown is never remembered."""
    world = MemoryWorld()
    text = create(world).key_text
    key = world.state.api_keys.pop(key_id_in(text) or "")
    authenticate = Authenticate(world.keys)
    assert authenticate(text, 0) is None
    world.keys.add(key)
    assert authenticate(text, 1) is not None


def test_memory_is_bounded() -> None:
    """However many keys are used, so many are remembered at most."""
    world = MemoryWorld()
    authenticate = Authenticate(world.keys)
    for number in range(MOST_CACHED + 2):
        assert authenticate(create(world, f"tenant{number}").key_text, 0)
    assert len(authenticate._seen) <= MOST_CACHED


def test_a_store_that_does_not_answer_is_not_a_refusal() -> None:
    """When the store cannot be reached the caller is told so, not that the key is wrong."""

    class Silent:
        """Does not answer."""

        def get(self, _: str) -> None:
            """Does not answer."""
            raise UnavailableError

    with pytest.raises(UnavailableError):
        Authenticate(Silent())(create(MemoryWorld()).key_text, 0)
