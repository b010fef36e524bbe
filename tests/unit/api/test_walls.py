"""The walls, on every route of the routing table: between tenants, and between scopes."""

import pytest

from carillon.domain.run import RunState
from carillon.domain.tenancy import SCOPES, key_id_in, new_key_text
from support.everything import COUNTED, NAME, ROUTES, UNKNOWN, WITH_ID, WITH_KEY, Everything, operation_of
from support.lives import Life, living


@pytest.mark.parametrize("name", WITH_KEY)
def test_every_route_asks_for_its_scope(name: str) -> None:
    """With all scopes but the one of the route: 403, and nothing happens; with it alone, or as admin: let in."""
    everything, scope = Everything(), ROUTES[name].scope
    assert scope is not None
    api = everything.api
    _ = everything.dead_run_id, everything.awaited_run_id
    others = [each for each in SCOPES if each not in (scope, "admin")]
    before = api.snapshot()
    refused = everything.ask(name, key=api.add_key(*others))
    assert (refused.status, refused.json["code"]) == (403, "missing_scope")
    assert api.snapshot() == before
    assert everything.ask(name, key=api.add_key(scope)).status < 300
    assert Everything().ask(name).status < 300  # the first key is an admin's


@pytest.mark.parametrize("name", WITH_ID)
def test_what_belongs_to_another_tenant_is_not_there(name: str) -> None:
    """Another tenant's id gets the answer of one that never was, word for word, and nothing is changed."""
    everything = Everything()
    stranger = everything.api.other_key
    ids = everything.ids | (everything.special[name]() if name in everything.special else {})
    before = everything.api.snapshot()
    foreign = everything.ask(name, key=stranger, ids=ids)
    unknown = everything.ask(name, key=stranger, ids=UNKNOWN)
    assert (foreign.status, foreign.json["code"]) == (404, "not_found")
    assert (foreign.text, foreign.headers) == (unknown.text, unknown.headers)
    assert everything.api.snapshot() == before


@pytest.mark.parametrize("name", WITH_ID)
def test_what_belongs_to_another_tenant_takes_no_other_time(name: str) -> None:
    """Another tenant's id costs the same calls of the stores, in the same order, as one that never was."""
    everything = Everything()
    stranger = everything.api.other_key
    ids = everything.ids | (everything.special[name]() if name in everything.special else {})
    everything.api.call("GET", "/v1/jobs", key=stranger)  # notes that the key is in use
    seen: list[list[str]] = []
    for asked_for in (ids, UNKNOWN):
        life = Life()
        living(everything.api, life)
        assert everything.ask(name, key=stranger, ids=asked_for).status == 404
        seen.append(life.calls)
    foreign, unknown = seen
    assert foreign == unknown
    assert foreign, "it was refused without a look"


def test_a_wrong_key_takes_no_other_time_than_one_that_never_was() -> None:
    """The same calls of the stores, whether there is a key of this id or not."""
    everything = Everything()
    right = everything.api.key
    wrong = new_key_text("test", key_id_in(right), bytes(32))
    unknown = new_key_text("test", "0" * 26, bytes(32))
    seen: list[list[str]] = []
    for key in (wrong, unknown):
        life = Life()
        living(everything.api, life)
        assert everything.ask("GET /v1/jobs", key=key).status == 401
        seen.append(life.calls)
    assert seen[0] == seen[1] != []


@pytest.mark.parametrize("name", [name for name in WITH_KEY if name not in WITH_ID])
def test_nothing_of_another_tenant_is_shown(name: str) -> None:
    """Where no id stands in the path, nothing that is acme's is in the answer to globex, in body or headers."""
    everything = Everything()
    reply = everything.ask(name, key=everything.api.other_key)
    assert reply.status < 300
    whole = reply.text + repr(reply.headers)
    secrets = (*everything.ids.values(), everything.dead_run_id, "acme-hook", NAME, str(COUNTED))
    assert [secret for secret in secrets if secret in whole] == []


@pytest.mark.parametrize("name", [name for name in WITH_KEY if "cursor" in ROUTES[name].parameters])
def test_a_cursor_is_its_tenants_own(name: str) -> None:
    """A cursor of acme's list is refused for globex, and tells nothing; the list may be of an id that both know."""
    everything = Everything()
    api = everything.api
    api.create(name="another")
    _ = everything.dead_run_id, everything.awaited_run_id
    api.add_run(everything.job["id"], 9_000, state=RunState.DEAD_LETTERED, ended_at=api.world.clock.now_ms() - 9)
    api.call("POST", "/v1/keys", {"scopes": ["jobs:read"]})
    cursor = everything.ask(name, query={"limit": "1"}).json["next_cursor"]
    assert cursor is not None
    refused = everything.ask(name, query={"limit": "1", "cursor": cursor}, key=api.other_key)
    assert refused.status in (400, 404)
    assert refused.json["code"] in ("bad_cursor", "not_found")
    assert everything.ids["job_id"] not in refused.text


@pytest.mark.parametrize("name", [name for name in WITH_KEY if "Idempotency-Key" in str(operation_of(name))])
def test_an_idempotency_key_is_its_tenants_own(name: str) -> None:
    """What acme was answered under a key is not given to globex under the same one."""
    everything = Everything()
    headers = everything.request(name)["headers"] | {"Idempotency-Key": "shared"}
    assert everything.ask(name, headers=headers).status < 300
    other = everything.ask(name, headers=headers, key=everything.api.other_key, ids=everything.ids)
    assert "idempotent-replayed" not in other.headers
    assert other.status == 404 if name in WITH_ID else other.status < 300


def test_the_matrix_covers_the_table() -> None:
    """There are routes with ids and without, and all of them ask for a scope but those that anybody may call."""
    free = {name for name, route in ROUTES.items() if route.scope is None}
    assert free == {"GET /v1/health", "GET /v1/openapi.json", "GET /v1/problems/{code}", "GET /console"}
    assert len(WITH_ID) > 10
    assert len(WITH_KEY) > 20
