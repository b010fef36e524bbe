"""Keys: which are believed. What they open is in `test_walls.py`."""

import pytest

from carillon.domain.identity import ulid
from carillon.domain.tenancy import new_key_text
from carillon.ports.errors import UnavailableError
from support.api import ApiUnderTest, job

UNKNOWN_KEY = new_key_text("test", ulid(0, bytes(10)), bytes(32))


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
