"""API keys over HTTP: made, listed, rotated, revoked; never more than the key that asks; each change on record."""

from collections.abc import Mapping

import pytest

from carillon.application.api_keys import MOST_KEYS
from carillon.application.authenticate import CACHED_FOR_MS
from carillon.domain.instants import format_instant
from carillon.domain.tenancy import key_id_in
from support.api import ApiUnderTest, Json, Reply, assert_refused
from support.lives import Life, living

KEYS = "/v1/keys"


def make(api: ApiUnderTest, *scopes: str, key: str = "", **fields: Json) -> Json:
    """Make a key, which must be accepted."""
    reply = api.call("POST", KEYS, {"scopes": list(scopes or ("jobs:read",)), **fields}, key=key)
    assert reply.status == 201, reply.text
    return reply.json


def listed(api: ApiUnderTest, key: str = "") -> list[Json]:
    """The keys, as they are shown."""
    data: list[Json] = api.call("GET", KEYS, key=key).json["data"]
    return data


def reading(api: ApiUnderTest, key: str) -> Reply:
    """A request that needs jobs:read."""
    return api.call("GET", "/v1/jobs", key=key)


def actions(api: ApiUnderTest) -> list[tuple[str, str]]:
    """The audit trail, the oldest first: what was done to which key."""
    return [(each["action"], each["target"]) for each in api.call("GET", "/v1/audit-events").json["data"]][::-1]


def test_a_new_key_opens_what_it_is_told_to(api: ApiUnderTest) -> None:
    """Its text is shown once; nothing that is stored or listed holds it."""
    made = make(api, "jobs:read", name="dashboard")
    assert made["key"].startswith(f"crl_test_{made['id']}_")
    assert reading(api, made["key"]).status == 200
    assert api.call("POST", "/v1/jobs", {}, key=made["key"]).status == 403
    assert made["key"] not in api.call("GET", KEYS).text
    assert made["key"] not in repr(api.world.state)
    shown = {name: value for name, value in made.items() if name != "key"}
    (one,) = [each for each in listed(api) if each["id"] == made["id"]]
    assert one == {**shown, "last_used_at": format_instant(api.world.clock.now_ms())}
    assert (one["name"], one["hint"], one["scopes"]) == ("dashboard", made["key"][-4:], ["jobs:read"])


def test_a_key_grants_no_more_than_the_one_that_makes_it(api: ApiUnderTest) -> None:
    """403 names what is missing, and no key is made."""
    manager = make(api, "keys:manage", "jobs:read")["key"]
    refused = api.call("POST", KEYS, {"scopes": ["jobs:read", "jobs:write", "admin"]}, key=manager)
    assert_refused(refused, 403, set())
    assert refused.json["detail"].endswith("missing: admin, jobs:write")
    assert make(api, "jobs:read", key=manager)["scopes"] == ["jobs:read"]
    mighty = next(each["id"] for each in listed(api) if each["scopes"] == ["admin"])
    assert_refused(api.call("POST", f"{KEYS}/{mighty}/rotate", key=manager), 403, set())
    assert len(listed(api)) == 3


def test_a_key_ends_when_it_was_told_to(api: ApiUnderTest) -> None:
    """At that very instant it is in force no longer."""
    end_ms = api.world.clock.now_ms() + 60_000
    key = make(api, expires_at=format_instant(end_ms))["key"]
    api.world.clock.set(end_ms - 1)
    assert reading(api, key).status == 200
    api.world.clock.set(end_ms)
    assert reading(api, key).status == 401


def test_a_rotation_leaves_both_in_force_for_the_overlap(api: ApiUnderTest) -> None:
    """Then the new one alone, with the scopes, the name and the end of the old one."""
    old = make(api, "jobs:read", "runs:read", name="worker")
    reply = api.call("POST", f"{KEYS}/{old['id']}/rotate", {"overlap": "PT1H"})
    new = reply.json
    assert reply.status == 201
    assert (new["scopes"], new["name"], new["expires_at"]) == (old["scopes"], "worker", None)
    (before,) = new["previous"]
    assert (before["id"], before["expires_at"]) == (old["id"], format_instant(api.world.clock.now_ms() + 3_600_000))
    assert [reading(api, each["key"]).status for each in (old, new)] == [200, 200]
    api.world.clock.advance(3_600_000 + CACHED_FOR_MS)
    assert [reading(api, each["key"]).status for each in (old, new)] == [401, 200]
    again = api.call("POST", f"{KEYS}/{old['id']}/rotate")
    assert (again.status, again.json["code"]) == (409, "key_ended")


def test_a_revoked_key_opens_nothing_within_a_minute(api: ApiUnderTest) -> None:
    """Revoking it again changes nothing; it stays in the list."""
    made = make(api)
    assert reading(api, made["key"]).status == 200
    for _ in range(2):
        assert api.call("DELETE", f"{KEYS}/{made['id']}").status == 204
    api.world.clock.advance(CACHED_FOR_MS)
    assert reading(api, made["key"]).status == 401
    (shown,) = [each for each in listed(api) if each["id"] == made["id"]]
    assert shown["revoked_at"] == format_instant(api.world.clock.now_ms() - CACHED_FOR_MS)
    assert actions(api) == [("key.created", made["id"]), ("key.revoked", made["id"])]


def test_the_last_key_that_manages_keys_stays(api: ApiUnderTest) -> None:
    """Keys that cannot manage keys, and one that will end, are no reason to let it go."""
    first = key_id_in(api.key)
    make(api, "jobs:read")
    make(api, "keys:manage", expires_at=format_instant(api.world.clock.now_ms() + 60_000))
    refused = api.call("DELETE", f"{KEYS}/{first}")
    assert (refused.status, refused.json["code"]) == (409, "last_key")
    make(api, "keys:manage")
    assert api.call("DELETE", f"{KEYS}/{first}").status == 204


def test_so_many_keys_and_no_more(api: ApiUnderTest) -> None:
    """Those that are revoked make room."""
    made = [make(api) for _ in range(MOST_KEYS - 1)]
    refused = api.call("POST", KEYS, {"scopes": ["jobs:read"]})
    assert (refused.status, refused.json["code"]) == (409, "too_many_keys")
    api.call("DELETE", f"{KEYS}/{made[0]['id']}")
    make(api)


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        pytest.param({}, {("/scopes", "required")}, id="no scopes"),
        pytest.param({"scopes": []}, {("/scopes", "out_of_range")}, id="none"),
        pytest.param({"scopes": ["jobs:*"]}, {("/scopes/0", "not_a_choice")}, id="unknown scope"),
        pytest.param({"scopes": "admin"}, {("/scopes", "wrong_type")}, id="a text"),
        pytest.param({"scopes": ["admin"], "name": ""}, {("/name", "invalid_value")}, id="empty name"),
        pytest.param(
            {"scopes": ["admin"], "expires_at": "2020-01-01T00:00:00Z"}, {("/expires_at", "out_of_range")}, id="past"
        ),
        pytest.param({"scopes": ["admin"], "expires_at": "soon"}, {("/expires_at", "invalid_value")}, id="no instant"),
        pytest.param({"scopes": ["admin"], "tenant": "globex"}, {("/tenant", "unknown_field")}, id="another tenant"),
    ],
)
def test_a_bad_key_is_refused(api: ApiUnderTest, body: Mapping[str, Json], errors: set[tuple[str, str]]) -> None:
    """And none is made, and none is on record."""
    assert_refused(api.call("POST", KEYS, body), 422, errors)
    assert (len(listed(api)), actions(api)) == (1, [])


def test_another_tenants_keys_are_unknown(api: ApiUnderTest) -> None:
    """They are not listed, not rotated, not revoked, and go on working."""
    theirs = key_id_in(api.other_key)
    assert theirs not in {each["id"] for each in listed(api)}
    assert_refused(api.call("POST", f"{KEYS}/{theirs}/rotate"), 404, set())
    assert_refused(api.call("DELETE", f"{KEYS}/{theirs}"), 404, set())
    assert_refused(api.call("DELETE", f"{KEYS}/unknown"), 404, set())
    assert reading(api, api.other_key).status == 200


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", ""), ("POST", "/x/rotate"), ("DELETE", "/x")])
def test_managing_keys_needs_its_scope(api: ApiUnderTest, method: str, path: str) -> None:
    """Every other scope together is not enough."""
    others = ("jobs:read", "jobs:write", "runs:read", "runs:write", "secrets:manage", "audit:read")
    assert api.call(method, KEYS + path, key=api.add_key(*others)).status == 403


def test_who_may_less_shuts_out_nobody_who_may_more(api: ApiUnderTest) -> None:
    """A key that manages keys revokes those that grant no more than itself; an admin's is not among them."""
    manager, reader, peer = make(api, "keys:manage"), make(api, "jobs:read"), make(api, "keys:manage")
    for key_id in (key_id_in(api.key), reader["id"]):
        refused = api.call("DELETE", f"{KEYS}/{key_id}", key=manager["key"])
        assert (refused.status, refused.json["code"]) == (403, "missing_scope")
    assert reading(api, api.key).status == 200
    assert api.call("DELETE", f"{KEYS}/{peer['id']}", key=manager["key"]).status == 204


def test_the_event_of_a_rotation_names_the_new_key(api: ApiUnderTest) -> None:
    """Whoever acts later by that key is found by its id."""
    old = make(api)
    new = api.call("POST", f"{KEYS}/{old['id']}/rotate").json
    (event, *_) = api.call("GET", "/v1/audit-events", query={"action": "key.rotated"}).json["data"]
    assert event["target"] == old["id"]
    assert {"pointer": "/replaced_by", "before": None, "after": new["id"]} in event["changes"]


@pytest.mark.parametrize("key_id", ["x", "a" * 3_000, "%F0%9F%98%80" * 300, "0" * 25, "é"], ids=lambda text: text[:4])
def test_ids_that_are_none(api: ApiUnderTest, key_id: str) -> None:
    """No store is asked for what cannot be an id: a key of a table has a longest length."""
    life = Life()
    living(api, life)
    for method, path in (("POST", f"{KEYS}/{key_id}/rotate"), ("DELETE", f"{KEYS}/{key_id}")):
        assert api.call(method, path).status == 404
    assert set(life.calls) <= {"keys.get", "keys.note_use"}
    assert life.calls.count("keys.get") == 1, "the one that opens the door, which is remembered"
