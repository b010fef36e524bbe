"""Who is told of failed runs of all jobs: named, shown, removed, and held to what targets are held to."""

import pytest

from carillon.domain.job import HttpTarget
from support.api import SECRET_VALUE, ApiUnderTest, Json, assert_refused

PATH = "/v1/on-failure"
URL = "https://alerts.acme.com/failed"
HTTP = {"type": "http", "url": URL}
SHOWN = {**HTTP, "method": "POST", "headers": {}, "timeout": "PT15S"}


def test_it_is_named_shown_and_removed(api: ApiUnderTest) -> None:
    """Nobody at first; then the target with what was not given filled in; then nobody again, however often."""
    assert api.call("GET", PATH).json == {"target": None}
    assert api.call("PUT", PATH, {"target": HTTP}).json == {"target": SHOWN}
    assert api.call("GET", PATH).json == {"target": SHOWN}
    assert api.world.state.failure_targets == {"acme": HttpTarget(URL)}
    assert [api.call("DELETE", PATH).status for _ in range(2)] == [204, 204]
    assert api.call("GET", PATH).json == {"target": None}


def test_each_change_leaves_an_event(api: ApiUnderTest) -> None:
    """With where it is before and after, the host alone; what is so already is no change."""
    shown = "https://" + URL.split("/")[2] + "/***"
    api.call("PUT", PATH, {"target": {**HTTP, "url": f"{URL}?token={SECRET_VALUE}"}})
    api.call("PUT", PATH, {"target": {**HTTP, "url": f"{URL}?token={SECRET_VALUE}"}})
    api.world.clock.advance(1)
    api.call("DELETE", PATH)
    api.call("DELETE", PATH)
    events = api.call("GET", "/v1/audit-events").json["data"]
    assert [(each["action"], each["target"], each["changes"]) for each in events] == [
        ("on_failure.removed", "on_failure", [{"pointer": "/target", "before": shown, "after": None}]),
        ("on_failure.set", "on_failure", [{"pointer": "/target", "before": None, "after": shown}]),
    ]


BAD: list[tuple[str, Json, set[tuple[str, str]]]] = [
    ("nothing", {}, {("/target", "required")}),
    ("null", {"target": None}, {("/target", "wrong_type")}),
    ("text", {"target": URL}, {("/target", "wrong_type")}),
    ("no-type", {"target": {"url": URL}}, {("/target/type", "required")}),
    ("other-type", {"target": {**HTTP, "type": "mail"}}, {("/target/type", "not_a_choice")}),
    ("private", {"target": {**HTTP, "url": "https://127.0.0.1/"}}, {("/target/url", "numeric_host")}),
    ("get", {"target": {**HTTP, "method": "GET"}}, {("/target/method", "not_a_choice")}),
    ("slow", {"target": {**HTTP, "timeout": "PT61S"}}, {("/target/timeout", "out_of_range")}),
    ("header", {"target": {**HTTP, "headers": {"Host": "a"}}}, {("/target/headers/Host", "reserved_header")}),
    (
        "completion",
        {"target": {**HTTP, "completion": {"mode": "async"}}},
        {("/target/completion", "conflicting_fields")},
    ),
    ("cancel-url", {"target": {**HTTP, "cancel_url": URL}}, {("/target/cancel_url", "conflicting_fields")}),
    (
        "queue",
        {"target": {"type": "queue", "queue_url": "https://sqs.eu-west-1.amazonaws.com/111122223333/x"}},
        {("/target/queue_url", "queue_not_allowed")},
    ),
    ("unknown", {"target": HTTP, "colour": 1}, {("/colour", "unknown_field")}),
]


@pytest.mark.parametrize(("sent", "errors"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_what_cannot_be_told_is_refused(api: ApiUnderTest, sent: Json, errors: set[tuple[str, str]]) -> None:
    """At its field, and whoever was named stays."""
    api.call("PUT", PATH, {"target": HTTP})
    assert_refused(api.call("PUT", PATH, sent), 422, errors)
    assert api.call("GET", PATH).json == {"target": SHOWN}


def test_it_keeps_to_the_destinations(api: ApiUnderTest) -> None:
    """Like any target of the tenant's."""
    api.call("POST", "/v1/destinations", {"host": "hooks.acme.com"})
    refused = api.call("PUT", PATH, {"target": HTTP})
    assert_refused(refused, 422, {("/target/url", "not_a_destination")})
    assert api.call("PUT", PATH, {"target": {**HTTP, "url": "https://hooks.acme.com/failed"}}).status == 200


def test_tenants_have_their_own(api: ApiUnderTest) -> None:
    """Another tenant neither sees, feels nor removes it."""
    api.call("PUT", PATH, {"target": HTTP})
    assert api.call("GET", PATH, key=api.other_key).json == {"target": None}
    assert api.call("DELETE", PATH, key=api.other_key).status == 204
    assert api.call("GET", PATH).json == {"target": SHOWN}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_it_is_for_admins(api: ApiUnderTest, method: str) -> None:
    """A key for jobs alone may not see where failures are told, nor lead them elsewhere."""
    key = api.add_key("jobs:read", "jobs:write", "runs:read", "runs:write")
    body = {"target": HTTP} if method == "PUT" else None
    assert api.call(method, PATH, body, key=key).status == 403
