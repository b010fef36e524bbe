"""Keys, scopes and the wall between tenants."""

import pytest

from carillon.domain.identity import ulid
from carillon.domain.tenancy import new_key_text
from carillon.ports.errors import UnavailableError
from support.api import ApiUnderTest, job

UNKNOWN_KEY = new_key_text("test", ulid(0, bytes(10)), bytes(32))
ROUTES = [
    ("POST", "/v1/jobs", "jobs:write"),
    ("GET", "/v1/jobs", "jobs:read"),
    ("POST", "/v1/schedules/preview", "jobs:read"),
    ("GET", "/v1/jobs/{job}", "jobs:read"),
    ("PATCH", "/v1/jobs/{job}", "jobs:write"),
    ("POST", "/v1/jobs/{job}/pause", "jobs:write"),
    ("POST", "/v1/jobs/{job}/resume", "jobs:write"),
    ("POST", "/v1/jobs/{job}/trigger", "jobs:write"),
    ("DELETE", "/v1/jobs/{job}", "jobs:write"),
    ("GET", "/v1/jobs/{job}/runs", "runs:read"),
    ("GET", "/v1/runs/{run}", "runs:read"),
]


BODIES = {
    ("POST", "/v1/jobs"): job(),
    ("PATCH", "/v1/jobs/{job}"): {"priority": "high"},
    ("POST", "/v1/schedules/preview"): {"schedule": {"cron": "@daily"}},
}
ANY = {"If-Match": "*"}


def paths(api: ApiUnderTest) -> dict[str, str]:
    """The ids of a job of acme's and of its run."""
    created = api.create()
    return {"job": created["id"], "run": api.add_run(created["id"], 1_790_000_000_000).key.run_id}


@pytest.mark.parametrize(("method", "template", "scope"), ROUTES)
def test_every_route_asks_for_its_scope(api: ApiUnderTest, method: str, template: str, scope: str) -> None:
    """Without the scope a key gets 403 and nothing happens; with it, or as admin, it is let in."""
    path = template.format_map(paths(api))
    body = BODIES.get((method, template))
    others = {"jobs:read", "jobs:write", "runs:read", "runs:write", "keys:manage"} - {scope}
    before = api.snapshot()
    reply = api.call(method, path, body, headers=ANY, key=api.add_key(*others))
    assert (reply.status, reply.json["code"]) == (403, "missing_scope")
    assert api.snapshot() == before
    assert api.call(method, path, body, headers=ANY, key=api.add_key(scope)).status < 300


def test_the_wall_between_tenants(api: ApiUnderTest) -> None:
    """Another tenant's id answers like one that never was: same status, same words, nothing changed."""
    ids = paths(api)
    before = api.snapshot()
    for method, template, _ in [route for route in ROUTES if "{" in route[1]]:
        unknown = {"job": "job_" + ulid(1, bytes(10)), "run": "job_" + ulid(1, bytes(10)) + "@20260921T141320000Z"}
        body = BODIES.get((method, template))
        foreign_reply = api.call(method, template.format_map(ids), body, headers=ANY, key=api.other_key)
        unknown_reply = api.call(method, template.format_map(unknown), body, headers=ANY, key=api.other_key)
        assert foreign_reply.status == 404
        assert (foreign_reply.text, foreign_reply.headers) == (unknown_reply.text, unknown_reply.headers)
    assert api.call("GET", "/v1/jobs", key=api.other_key).json["data"] == []
    assert api.snapshot() == before


@pytest.mark.parametrize(
    ("authorization", "code"),
    [
        pytest.param(None, "missing_key", id="none"),
        pytest.param("", "missing_key", id="empty"),
        pytest.param("Bearer", "missing_key", id="no-key"),
        pytest.param("Bearer ", "missing_key", id="blank"),
        pytest.param("Basic YTpi", "missing_key", id="basic"),
        pytest.param("Bearer a b", "missing_key", id="two-words"),
        pytest.param(UNKNOWN_KEY, "missing_key", id="no-scheme"),
        pytest.param(f"Bearer {UNKNOWN_KEY}", "wrong_key", id="unknown"),
        pytest.param(f"Bearer {UNKNOWN_KEY[:-1]}", "wrong_key", id="cut"),
        pytest.param("Bearer crl_test_", "wrong_key", id="prefix"),
        pytest.param("Bearer é", "missing_key", id="not-ascii"),
    ],
)
def test_no_key_or_a_wrong_one(api: ApiUnderTest, authorization: str | None, code: str) -> None:
    """Without a key in force: 401 with a challenge, a problem that names the header, and nothing is written."""
    before = api.snapshot()
    reply = api.call("POST", "/v1/jobs", job(), headers={"authorization": authorization})
    assert (reply.status, reply.json["code"]) == (401, "unauthenticated")
    assert reply.errors == {("Authorization", code)}
    assert reply.headers["www-authenticate"].startswith('Bearer realm="carillon"')
    assert api.snapshot() == before


def test_a_wrong_secret_is_told_like_an_unknown_key(api: ApiUnderTest) -> None:
    """A known id with another secret, and with a valid checksum, gets the answer of an unknown key."""
    key_id = api.key.split("_")[2]
    wrong = new_key_text("test", key_id, bytes(32))
    replies = [api.call("GET", "/v1/jobs", key=key) for key in (wrong, UNKNOWN_KEY)]
    assert replies[0] == replies[1]


def test_the_scheme_may_be_written_in_any_case(api: ApiUnderTest) -> None:
    """`bearer` is `Bearer`, as HTTP has it."""
    assert api.call("GET", "/v1/jobs", headers={"authorization": f"bearer  {api.key}"}).status == 200


def test_a_key_that_has_expired(api: ApiUnderTest) -> None:
    """From its expiry on a key is refused, even while it is remembered."""
    key = api.add_key("jobs:read", expires_at_ms=api.world.clock.now_ms() + 1_000)
    assert api.call("GET", "/v1/jobs", key=key).status == 200
    api.world.clock.advance(1_000)
    assert api.call("GET", "/v1/jobs", key=key).status == 401


def test_the_key_is_judged_before_the_body(api: ApiUnderTest) -> None:
    """Who has no key learns nothing about what would be wrong with the rest."""
    assert api.call("POST", "/v1/jobs", raw="{", key=None).status == 401
    assert api.call("GET", "/v1/jobs", query="nonsense=1", key=None).status == 401


def test_a_store_that_does_not_answer(api: ApiUnderTest) -> None:
    """When keys cannot be looked up: 503 with Retry-After, neither let in nor refused for good."""

    class Silent:
        """Keys that cannot be reached."""

        def get(self, _: str) -> None:
            """Does not answer."""
            raise UnavailableError("the table did not answer")

    api.handle = api.build(keys=Silent())
    reply = api.call("GET", "/v1/jobs")
    assert (reply.status, reply.json["code"], reply.headers["retry-after"]) == (503, "unavailable", "1")
    assert "table" not in reply.text
