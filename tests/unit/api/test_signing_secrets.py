"""Signing secrets over HTTP: listed without their texts, rotated, revealed; each act in the audit trail."""

import pytest

from carillon.domain.instants import format_instant
from support.api import ApiUnderTest, Json, assert_refused

DAY_MS = 24 * 3600 * 1000
SECRETS, ROTATE, AUDIT = "/v1/signing-secrets", "/v1/signing-secrets/rotate", "/v1/audit-events"


def rotate(api: ApiUnderTest, body: Json = None) -> Json:
    """Rotate, which must be accepted."""
    reply = api.call("POST", ROTATE, body)
    assert reply.status == 201, reply.text
    return reply.json


def events(api: ApiUnderTest, **query: str) -> list[Json]:
    """The audit events."""
    data: list[Json] = api.call("GET", AUDIT, query=query).json["data"]
    return data


def test_b235_a_secret_is_listed_without_its_text(api: ApiUnderTest) -> None:
    """B235: neither a list nor an audit event shows a secret."""
    made = rotate(api)
    reply = api.call("GET", SECRETS)
    assert [each["id"] for each in reply.json["data"]] == [made["id"], made["previous"][0]["id"]]
    assert "whsec_" not in reply.text
    assert "whsec_" not in api.call("GET", AUDIT).text


def test_a_rotation_takes_a_day_unless_told(api: ApiUnderTest) -> None:
    """B230: both sign until the overlap is over, the new one first."""
    now_ms = api.world.clock.now_ms()
    before = api.world.secrets.active("acme", now_ms)
    made = rotate(api)
    assert made["previous"][0]["expires_at"] == format_instant(now_ms + DAY_MS)
    assert made["expires_at"] is None
    assert list(api.world.secrets.active("acme", now_ms + DAY_MS - 1)) == [made["secret"], *before]
    assert list(api.world.secrets.active("acme", now_ms + DAY_MS)) == [made["secret"]]


def test_a_second_rotation_waits_for_the_first(api: ApiUnderTest) -> None:
    """Or it is told to take effect at once."""
    first = rotate(api, {"overlap": "PT1H"})
    reply = api.call("POST", ROTATE, {"overlap": "PT1H"})
    assert_refused(reply, 409, set())
    assert reply.json["code"] == "rotation_in_progress"
    assert reply.json["previous_expires_at"] == first["previous"][0]["expires_at"]
    second = rotate(api, {"overlap": "PT0S"})
    assert [each["id"] for each in api.call("GET", SECRETS).json["data"]] == [second["id"]]


@pytest.mark.parametrize(
    ("body", "error"),
    [
        pytest.param({"overlap": "P8D"}, ("/overlap", "out_of_range"), id="longer than a week"),
        pytest.param({"overlap": "-PT1S"}, ("/overlap", "invalid_value"), id="negative"),
        pytest.param({"overlap": 60}, ("/overlap", "wrong_type"), id="a number"),
        pytest.param({"overlap": None}, ("/overlap", "wrong_type"), id="null"),
        pytest.param({"secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}, ("/secret", "unknown_field"), id="own text"),
    ],
)
def test_a_bad_rotation_is_refused(api: ApiUnderTest, body: Json, error: tuple[str, str]) -> None:
    """And nothing is rotated."""
    assert_refused(api.call("POST", ROTATE, body), 422, {error})
    assert len(api.call("GET", SECRETS).json["data"]) == 1
    assert events(api) == []


def test_a_secret_is_revealed_once_more(api: ApiUnderTest) -> None:
    """The current one and the one that retires, and it leaves an event each time."""
    made = rotate(api)
    for _ in range(2):
        shown = api.call("POST", f"{SECRETS}/{made['id']}/reveal")
        assert (shown.status, shown.json["secret"]) == (200, made["secret"])
    assert [event["action"] for event in events(api)] == [
        "signing_secret.revealed",
        "signing_secret.revealed",
        "signing_secret.rotated",
    ]


def test_only_what_signs_is_revealed(api: ApiUnderTest) -> None:
    """Nothing of another tenant, nothing unknown, nothing retired; and no event says so."""
    theirs = api.call("GET", SECRETS, key=api.other_key).json["data"][0]["id"]
    rotate(api, {"overlap": "PT0S"})
    retired = next(each.id for each in api.world.secrets.list_all("acme") if each.retires_at is not None)
    for secret_id in (theirs, retired, "sec_unknown"):
        assert_refused(api.call("POST", f"{SECRETS}/{secret_id}/reveal"), 404, set())
    assert len(events(api)) == 1


def test_an_event_says_who_did_what(api: ApiUnderTest) -> None:
    """The key's id and the request's, the secret, and when the one before retires."""
    key = api.add_key("secrets:manage")
    old = api.call("GET", SECRETS).json["data"][0]["id"]
    reply = api.call("POST", ROTATE, {"overlap": "PT1H"}, key=key, headers={"X-Request-Id": "req-7"})
    (event,) = events(api)
    assert event["actor"] == {"type": "api_key", "id": key.split("_")[2]}
    assert (event["request_id"], event["target"]) == ("req-7", reply.json["id"])
    expires_at = reply.json["previous"][0]["expires_at"]
    assert event["changes"] == [{"pointer": f"/{old}/retires_at", "before": None, "after": expires_at}]


def test_events_are_filtered_paged_and_ones_own(api: ApiUnderTest) -> None:
    """A page leads to the next; a filter keeps one action; another tenant sees none."""
    ids = [rotate(api, {"overlap": "PT0S"})["id"] for _ in range(3)]
    api.call("POST", f"{SECRETS}/{ids[-1]}/reveal")
    assert [each["target"] for each in events(api, action="signing_secret.rotated")] == ids[::-1]
    page = api.call("GET", AUDIT, query={"limit": "3"}).json
    rest = api.call("GET", AUDIT, query={"limit": "3", "cursor": page["next_cursor"]}).json
    assert [each["target"] for each in page["data"] + rest["data"]] == [ids[-1], *ids[::-1]]
    assert api.call("GET", AUDIT, key=api.other_key).json["data"] == []
    assert_refused(api.call("GET", AUDIT, query={"action": "x"}), 422, {("action", "not_a_choice")})


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", SECRETS, "secrets:manage"),
        ("POST", ROTATE, "secrets:manage"),
        ("POST", f"{SECRETS}/sec_x/reveal", "secrets:manage"),
        ("GET", AUDIT, "audit:read"),
    ],
)
def test_each_needs_its_scope(api: ApiUnderTest, method: str, path: str, scope: str) -> None:
    """Every other scope is not enough."""
    others = {"jobs:read", "jobs:write", "runs:read", "runs:write", "keys:manage", "secrets:manage", "audit:read"}
    assert api.call(method, path, key=api.add_key(*(others - {scope}))).status == 403
    assert api.call(method, path, key=api.add_key(scope)).status in (200, 201, 404)
