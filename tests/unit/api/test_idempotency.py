"""`Idempotency-Key`: however often a request is repeated, and wherever it dies, it is carried out once."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from carillon.domain.idempotency import KEPT_MS, LEASE_MS
from carillon.domain.run import RunState
from carillon.ports.errors import UnavailableError
from support.api import ApiUnderTest, Json, Reply, assert_refused, job
from support.world import KilledError

KEY = {"Idempotency-Key": "7c4a8d09-ca95-4c28"}


def create(api: ApiUnderTest, body: Json = None, key: str = "", headers: Any = KEY) -> Reply:
    """Create a job under the key."""
    return api.call("POST", "/v1/jobs", body or job(), headers=headers, key=key)


def jobs(api: ApiUnderTest) -> list[str]:
    """The ids of acme's jobs."""
    return [each["id"] for each in api.call("GET", "/v1/jobs").json["data"]]


def test_b275_the_same_request_twice_is_one_job(api: ApiUnderTest) -> None:
    """B275: the same answer, marked as replayed; also when its members stand in another order, and the job has run."""
    body = job(name="nightly", payload={"b": 1, "a": [1.0, "ü"]})
    first = create(api, body)
    assert (first.status, "idempotent-replayed" in first.headers) == (201, False)
    api.store_job(first.json["id"], planned=1)
    raw = json.dumps(dict(reversed(list(body.items()))))
    for again in (
        create(api, body),
        api.call("POST", "/v1/jobs", raw=raw, headers=KEY | {"content-type": "application/json"}),
    ):
        assert (again.status, again.text) == (201, first.text)
        assert again.headers["idempotent-replayed"] == "true"
        assert (again.headers["location"], again.headers["etag"]) == (first.headers["location"], first.headers["etag"])
    assert jobs(api) == [first.json["id"]]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda api: create(api, job(priority="low")), id="body"),
        pytest.param(lambda api: create(api, job(payload=1.0)), id="number"),
        pytest.param(lambda api: api.call("POST", f"/v1/jobs/{jobs(api)[0]}/pause", headers=KEY), id="path"),
        pytest.param(lambda api: api.call("POST", "/v1/jobs", job(), query="x=1", headers=KEY), id="query"),
    ],
)
def test_b275_another_request_of_the_key_is_refused(api: ApiUnderTest, other: Callable[[ApiUnderTest], Reply]) -> None:
    """B275: 422 for another body or path, and nothing is done."""
    create(api, job(payload=1))
    before = api.snapshot()
    reply = other(api)
    assert reply.status == 422
    assert reply.json["code"] in ("idempotency_mismatch", "invalid_fields")
    assert api.snapshot() == before


def test_b277_a_cancelled_job_is_not_taken_for_planned(api: ApiUnderTest) -> None:
    """B277: the repeat says that the job of this key is cancelled; a new key makes a new job."""
    job_id = create(api).json["id"]
    api.call("DELETE", f"/v1/jobs/{job_id}")
    reply = create(api)
    assert (reply.status, reply.json["code"]) == (409, "job_finished")
    assert create(api, headers={"Idempotency-Key": "another"}).status == 201


def test_b278_a_key_belongs_to_its_tenant(api: ApiUnderTest) -> None:
    """B278: two tenants with one key have two jobs."""
    assert create(api).json["id"] != create(api, key=api.other_key).json["id"]


@pytest.mark.parametrize("text", ["k" * 256, "", "schlüssel", "a b"])
def test_b278_what_can_be_a_key(api: ApiUnderTest, text: str) -> None:
    """B278: 1 to 255 visible ASCII characters, else 400."""
    reply = create(api, headers={"Idempotency-Key": text})
    assert_refused(reply, 400, {("Idempotency-Key", "invalid_value")})
    assert jobs(api) == []


def test_a_refused_request_leaves_its_key(api: ApiUnderTest) -> None:
    """It was not carried out, so it may be sent again, put right."""
    assert create(api, job(priority="urgent")).status == 422
    assert create(api).status == 201


def test_b253_a_key_is_free_after_a_day(api: ApiUnderTest) -> None:
    """B253: whether or not the table has removed it by then."""
    first = create(api).json["id"]
    api.world.clock.advance(KEPT_MS - 1)
    assert create(api).json["id"] == first
    api.world.clock.advance(1)
    assert create(api).json["id"] != first


class Dying:
    """A port one of whose methods dies, before or behind its effect, the first time that it is called."""

    def __init__(self, port: Any, method: str, *, behind: bool, error: BaseException) -> None:
        self._port, self._method, self._behind, self._error = port, method, behind, error
        self._has_died = False

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(self._port, name)
        if name != self._method or self._has_died:
            return attribute

        def call(*arguments: Any, **options: Any) -> Any:
            self._has_died = True
            if self._behind:
                attribute(*arguments, **options)
            raise self._error

        return call


@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize(
    ("port", "method"), [("requests", "get"), ("requests", "put"), ("jobs", "create")], ids=lambda value: value
)
def test_a_creation_that_was_killed_is_one_job_in_the_end(
    api: ApiUnderTest, port: str, method: str, *, behind: bool
) -> None:
    """The repeat finds the key under way until its lease runs out, and then ends in one job."""
    dying = Dying(getattr(api.world, port), method, behind=behind, error=KilledError())
    api.handle = api.build(**{port: dying})
    with pytest.raises(KilledError):
        create(api, job(name="once"))
    waiting = create(api, job(name="once"))
    if waiting.status != 201:
        assert (waiting.status, waiting.json["code"]) == (409, "request_in_flight")
        assert waiting.headers["retry-after"] == "5"
        api.world.clock.advance(LEASE_MS)
    reply = create(api, job(name="once"))
    assert reply.status == 201
    assert jobs(api) == [reply.json["id"]]
    assert api.call("GET", f"/v1/jobs/{reply.json['id']}").text == reply.text


def test_a_store_that_did_not_answer_can_be_asked_again_at_once(api: ApiUnderTest) -> None:
    """503, and the repeat recognises what the first try has written."""
    dying = Dying(api.world.jobs, "create", behind=True, error=UnavailableError("no answer"))
    api.handle = api.build(jobs=dying)
    assert create(api).status == 503
    reply = create(api)
    assert reply.status == 201
    assert jobs(api) == [reply.json["id"]]


def test_another_request_is_refused_while_the_first_is_under_way(api: ApiUnderTest) -> None:
    """B275: the fingerprint is looked at before the lease."""
    api.handle = api.build(jobs=Dying(api.world.jobs, "create", behind=False, error=KilledError()))
    with pytest.raises(KilledError):
        create(api)
    assert create(api, job(priority="low")).json["code"] == "idempotency_mismatch"


def test_a_run_by_hand_is_one_run(api: ApiUnderTest) -> None:
    """Replayed, and carried out again behind a death, also when the run has begun meanwhile."""
    job_id = create(api, headers={}).json["id"]
    dying = Dying(api.world.runs, "save", behind=True, error=KilledError())
    api.handle = api.build(runs=dying)
    with pytest.raises(KilledError):
        api.call("POST", f"/v1/jobs/{job_id}/trigger", headers=KEY)
    ((name, run),) = api.world.state.runs[job_id].items()
    api.world.state.runs[job_id][name] = run.__class__(
        **{field: getattr(run, field) for field in run.__slots__} | {"state": RunState.RUNNING, "rev": 2}
    )
    api.world.clock.advance(LEASE_MS)
    first = api.call("POST", f"/v1/jobs/{job_id}/trigger", headers=KEY)
    again = api.call("POST", f"/v1/jobs/{job_id}/trigger", headers=KEY)
    assert (first.status, again.text) == (202, first.text)
    assert list(api.world.state.runs[job_id]) == [name]
    assert first.json["id"].endswith(name)


def test_a_redrive_is_one_redrive(api: ApiUnderTest) -> None:
    """Without a key the second one is refused; with one it is the same, also when the first one died."""
    now_ms = api.world.clock.now_ms()
    run = api.add_run(create(api, headers={}).json["id"], now_ms, state=RunState.DEAD_LETTERED, attempt=2, ended_at=1)
    api.handle = api.build(runs=Dying(api.world.runs, "save", behind=True, error=KilledError()))
    path = f"/v1/runs/{run.key.run_id}/retry"
    with pytest.raises(KilledError):
        api.call("POST", path, headers=KEY)
    api.world.clock.advance(LEASE_MS)
    first = api.call("POST", path, headers=KEY)
    assert (first.status, first.json["state"]) == (202, "retrying")
    assert api.call("POST", path, headers=KEY).text == first.text
    assert api.call("POST", path).status == 409


@pytest.mark.parametrize("action", ["pause", "resume"])
def test_edits_take_keys_too(api: ApiUnderTest, action: str) -> None:
    """The answer is that of the first time, whatever has become of the job since."""
    job_id = create(api, headers={}).json["id"]
    first = api.call("POST", f"/v1/jobs/{job_id}/{action}", headers=KEY)
    api.patched(job_id, {"priority": "low"})
    again = api.call("POST", f"/v1/jobs/{job_id}/{action}", headers=KEY)
    assert (again.status, again.text) == (200, first.text)


@pytest.mark.parametrize("path", ["/v1/keys", "/v1/keys/x/rotate", "/v1/signing-secrets/rotate"])
def test_answers_that_show_a_secret_are_not_kept(api: ApiUnderTest, path: str) -> None:
    """So they take no key, and say so."""
    assert_refused(api.call("POST", path, {}, headers=KEY), 422, {("Idempotency-Key", "not_supported")})
    assert api.world.state.requests == {}
