"""Destinations: registered, listed, removed, and kept to by jobs."""

import json

import pytest

from carillon.domain.destinations import MOST_DESTINATIONS, Destination, DestinationKind, Verification
from support.api import SECRET_VALUE, ApiUnderTest, Json, Reply, assert_refused, job

PATH = "/v1/destinations"


def register(api: ApiUnderTest, **body: Json) -> Json:
    """Register a destination, which must be accepted."""
    reply = api.call("POST", PATH, body)
    assert reply.status == 201, reply.text
    return reply.json


def test_a_destination_is_registered_listed_and_removed(api: ApiUnderTest) -> None:
    """Its id is what removes it; the list is one page, oldest first; names are in lower case."""
    host, suffix = register(api, host="Hooks.Acme.com."), register(api, suffix="acme.net")
    assert (host["host"], suffix["suffix"]) == ("hooks.acme.com", "acme.net")
    assert set(host) == {"id", "host", "created_at", "verified_at"}
    assert host["verified_at"] is None
    assert api.call("GET", PATH).json == {"data": [host, suffix], "next_cursor": None}
    assert api.call("DELETE", f"{PATH}/{host['id']}").status == 204
    assert api.call("GET", PATH).json["data"] == [suffix]
    assert_refused(api.call("DELETE", f"{PATH}/{host['id']}"), 404, set())


def test_naming_it_twice_makes_no_second_one(api: ApiUnderTest) -> None:
    """200 with the first."""
    first = register(api, host="hooks.acme.com")
    api.world.clock.advance(1_000)
    again = api.call("POST", PATH, {"host": "HOOKS.acme.com"})
    assert (again.status, again.json) == (200, first)
    assert api.call("GET", PATH).json["data"] == [first]


@pytest.mark.parametrize(
    ("body", "where", "code"),
    [
        ({}, "/host", "required"),
        ({"host": None}, "/host", "required"),
        ({"host": "a.com", "suffix": "b.com"}, "/suffix", "conflicting_fields"),
        ({"host": 7}, "/host", "wrong_type"),
        ({"host": "10.0.0.1"}, "/host", "numeric_host"),
        ({"suffix": "com"}, "/suffix", "bad_host"),
        ({"suffix": "internal.corp"}, "/suffix", "reserved_name"),
        ({"host": f"https://{SECRET_VALUE}.com/"}, "/host", "bad_host"),
        ({"host": "a.com", "port": 443}, "/port", "unknown_field"),
    ],
)
def test_what_no_target_could_be_is_refused(api: ApiUnderTest, body: Json, where: str, code: str) -> None:
    """At its field, with the codes of targets, and nothing is stored."""
    assert_refused(api.call("POST", PATH, body), 422, {(where, code)})
    assert api.world.state.destinations == {}


def test_jobs_keep_to_the_destinations(api: ApiUnderTest) -> None:
    """Creation and patch refuse other hosts; a job of before stays, and its other fields can be changed no more."""
    before = api.create(target__url="https://old.acme.com/")
    register(api, host="hooks.acme.com")
    register(api, suffix="acme.net")
    outside = {("/target/url", "not_a_destination")}
    assert_refused(api.call("POST", "/v1/jobs", job(target__url="https://other.com/")), 422, outside)
    created = api.create(target__url="https://deep.acme.net/cb")
    assert_refused(api.patch(created["id"], {"target": {"url": "https://acme.com/"}}), 422, outside)
    assert_refused(api.patch(before["id"], {"priority": "low"}), 422, outside)
    assert api.patched(before["id"], {"target": {"url": "https://hooks.acme.com/"}})["revision"] == 2


def test_one_can_be_used_at_once_and_the_last_one_opens_all_again(api: ApiUnderTest) -> None:
    """Creations read what was last written."""
    kept = register(api, host="hooks.acme.com")
    api.create(target__url="https://hooks.acme.com/")
    api.call("DELETE", f"{PATH}/{kept['id']}")
    api.create(target__url="https://other.com/")


def test_tenants_have_their_own(api: ApiUnderTest) -> None:
    """Another tenant neither sees nor feels them, nor can it remove them."""
    mine = register(api, host="hooks.acme.com")
    assert api.call("GET", PATH, key=api.other_key).json["data"] == []
    assert api.call("POST", "/v1/jobs", job(), key=api.other_key).status == 201
    assert_refused(api.call("DELETE", f"{PATH}/{mine['id']}", key=api.other_key), 404, set())


@pytest.mark.parametrize(("method", "path"), [("GET", PATH), ("POST", PATH), ("DELETE", f"{PATH}/dst_1")])
def test_only_an_admin_decides_where_jobs_call(api: ApiUnderTest, method: str, path: str) -> None:
    """A key that may write jobs could otherwise let itself out."""
    key = api.add_key("jobs:write", "jobs:read")
    reply = api.call(method, path, {"host": "a.com"} if method == "POST" else None, key=key)
    assert_refused(reply, 403, set())


def test_there_is_a_limit(api: ApiUnderTest) -> None:
    """A hundred; one more is refused, and one of those is still found."""
    for number in range(MOST_DESTINATIONS):
        register(api, host=f"h{number}.acme.com")
    assert_refused(api.call("POST", PATH, {"host": "one-more.acme.com"}), 422, {("", "out_of_range")})
    assert api.call("POST", PATH, {"host": "h7.acme.com"}).status == 200


def test_a_lost_race_is_tried_again(api: ApiUnderTest) -> None:
    """What another request registers in between is not lost."""
    store = api.world.destinations
    save, other = store.save, Destination(DestinationKind.HOST, "other.com", 1)

    class Busy(type(store)):  # type: ignore[misc]  # the class of the world's own store
        """A store that another request changes first, once."""

        raced = False

        def save(self, tenant: str, destinations: object, event: object = None) -> bool:
            """Store, behind the other."""
            if not Busy.raced:
                Busy.raced = True
                save(tenant, store.of(tenant).having(other))
            return bool(save(tenant, destinations, event))

    api.handle = api.build(destinations=Busy(api.world.state))
    register(api, host="hooks.acme.com")
    assert [each["host"] for each in api.call("GET", PATH).json["data"]] == ["other.com", "hooks.acme.com"]


def asked(api: ApiUnderTest, destination: Json, url: str) -> Reply:
    """Have a destination asked."""
    return api.call("POST", f"{PATH}/{destination['id']}/verify", {"url": url})


def test_a_destination_is_asked_by_a_run(api: ApiUnderTest) -> None:
    """202 with the run that a worker makes, which leads to what came of it and shows no token."""
    kept = register(api, host="hooks.acme.com")
    reply = asked(api, kept, "https://Hooks.acme.com/verify")
    run = reply.json
    assert (reply.status, run["state"], run["verifies"]) == (202, "queued", kept["id"])
    assert reply.headers["location"].endswith(f"/v1/runs/{run['id']}")
    assert api.call("GET", f"/v1/runs/{run['id']}").json == run
    assert api.call("GET", f"/v1/runs/{run['id']}", key=api.other_key).status == 404
    (stored,) = api.world.state.runs[run["job_id"]].values()
    assert stored.next_fire_time is not None
    token = json.loads(stored.body or b"")["challenge"]
    assert token not in reply.text


@pytest.mark.parametrize(
    ("body", "where", "code"),
    [
        ({}, "/url", "required"),
        ({"url": 7}, "/url", "wrong_type"),
        ({"url": "https://10.0.0.1/"}, "/url", "numeric_host"),
        ({"url": "http://hooks.acme.com/"}, "/url", "bad_scheme"),
        ({"url": "https://other.acme.com/"}, "/url", "not_a_destination"),
        ({"url": "https://deep.hooks.acme.com/"}, "/url", "not_a_destination"),
        ({"url": "https://hooks.acme.com/", "colour": 1}, "/colour", "unknown_field"),
    ],
)
def test_where_it_cannot_be_asked_is_refused(api: ApiUnderTest, body: Json, where: str, code: str) -> None:
    """At its field, and nobody is asked."""
    kept = register(api, suffix="hooks.acme.com")
    assert_refused(api.call("POST", f"{PATH}/{kept['id']}/verify", body), 422, {(where, code)})
    assert not any(api.world.state.runs.values())


def test_only_an_own_destination_can_be_asked(api: ApiUnderTest) -> None:
    """Another tenant's, or none, is not found."""
    kept = register(api, host="hooks.acme.com")
    path, body = f"{PATH}/{kept['id']}/verify", {"url": "https://hooks.acme.com/"}
    assert api.call("POST", path, body, key=api.other_key).status == 404
    assert_refused(api.call("POST", f"{PATH}/dst_unknown/verify", body), 404, set())


def test_a_stage_may_ask_for_verification(api: ApiUnderTest) -> None:
    """Then a job is accepted only when its destination has answered, and the list says when that was."""
    api.handle = api.build(verify_destinations=True)
    kept = register(api, host="hooks.acme.com")
    wish = job(target__url="https://hooks.acme.com/cb")
    assert_refused(api.call("POST", "/v1/jobs", wish), 422, {("/target/url", "not_a_destination")})
    registered = api.world.destinations.of("acme").entries[0].created_at
    api.world.verifications.save("acme", kept["id"], Verification(registered, registered + 1_000))
    assert api.call("POST", "/v1/jobs", wish).status == 201
    (shown,) = api.call("GET", PATH).json["data"]
    assert shown["verified_at"] is not None
    assert api.call("POST", PATH, {"host": "hooks.acme.com"}).json == shown
