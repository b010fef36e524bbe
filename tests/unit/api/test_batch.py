"""POST /v1/jobs/batch: many creations in one request, each by itself."""

import json
from typing import Any

import pytest

from carillon.domain.idempotency import MOST_KEPT_BYTES
from carillon.entrypoint.http_request import MOST_BATCH_BYTES
from carillon.entrypoint.wire.batches import MOST_JOBS
from carillon.ports.errors import UnavailableError
from support.api import ApiUnderTest, Json, Reply, assert_refused, job
from support.world import KilledError

KEY = {"Idempotency-Key": "7c4a8d09-ca95-4c28", "content-type": "application/json"}


def send(api: ApiUnderTest, *jobs: Json, **options: Any) -> Reply:
    """Create jobs."""
    return api.call("POST", "/v1/jobs/batch", {"jobs": jobs}, **options)


def named(*names: str) -> list[Json]:
    """Jobs of these names."""
    return [job(name=name) for name in names]


def statuses(reply: Reply) -> list[int]:
    """The status of each item."""
    assert reply.status == 200, reply.text
    return [item["status"] for item in reply.json["data"]]


def test_each_job_is_created_and_answered(api: ApiUnderTest) -> None:
    """In the order in which they were sent, as lists show them; they are there by their ids."""
    reply = send(api, *named("a", "b"), job(payload=[1]))
    assert statuses(reply) == [201, 201, 201]
    assert (reply.json["created"], reply.json["refused"]) == (3, 0)
    made = [item["job"] for item in reply.json["data"]]
    assert [each["name"] for each in made] == ["a", "b", None]
    assert [each for each in api.call("GET", "/v1/jobs").json["data"] if each not in made] == []
    assert len({each["id"] for each in made}) == 3


BAD: list[tuple[str, str, int, str]] = [
    ("not-an-object", "3", 400, "malformed_request"),
    ("null", "null", 400, "malformed_request"),
    ("a-list", "[{}]", 400, "malformed_request"),
    ("a-key-twice", '{"schedule": {"every": "PT1H"}, "schedule": {"every": "PT2H"}}', 400, "malformed_request"),
    ("B203-too-deep", json.dumps(job(payload=json.loads("[" * 80 + "]" * 80))), 400, "malformed_request"),
    ("unknown-field", json.dumps(job(colour="red")), 422, "invalid_fields"),
    ("not-built", json.dumps(job(overlap="skip")), 422, "not_supported"),
    ("B271-in-the-past", json.dumps(job(schedule={"run_at": "2020-01-01T00:00:00Z"})), 422, "invalid_fields"),
    ("refused-target", json.dumps(job(target__url="https://localhost/")), 422, "invalid_fields"),
    ("taken-name", json.dumps(job(name="first")), 409, "name_taken"),
    ("large-payload", json.dumps(job(payload="x" * 300_000)), 413, "too_large"),
]


@pytest.mark.parametrize(("bad", "status", "code"), [pytest.param(*row[1:], id=row[0]) for row in BAD])
def test_a_bad_one_does_not_stop_its_neighbours(api: ApiUnderTest, bad: str, status: int, code: str) -> None:
    """It has the answer that its creation alone would have had, and nothing of it is written; the others are jobs."""
    good = [json.dumps(each) for each in named("first", "last")]
    body = f'{{"jobs": [{good[0]}, {bad} , {good[1]}]}}'
    reply = api.call("POST", "/v1/jobs/batch", raw=body, headers={"content-type": "application/json"})
    assert statuses(reply) == [201, status, 201]
    problem = reply.json["data"][1]["problem"]
    assert (problem["status"], problem["code"]) == (status, code)
    assert problem["request_id"] == reply.headers["x-request-id"]
    assert sorted(spec.name or "" for spec in api.world.state.specs.values()) == ["first", "last"]
    if code == "name_taken":
        assert problem["job_id"] == reply.json["data"][0]["job"]["id"]


def test_b202_payloads_are_kept_to_the_letter(api: ApiUnderTest) -> None:
    """B202: each as it stood in the request, whatever stands around it."""
    payloads = ["[0.1, 30.40, 1E2]", '{ "z" : null }', '"] , {"', "12345678901234567890123456789012345678901"]
    rest = json.dumps(job())[1:]
    body = '{ "jobs" :\n[ ' + " ,\t".join(f'{{"payload": {each}, {rest}' for each in payloads) + " ] }"
    reply = api.call("POST", "/v1/jobs/batch", raw=body, headers={"content-type": "application/json"})
    ids = [item["job"]["id"] for item in reply.json["data"]]
    assert [(api.world.state.specs[job_id].payload or b"").decode() for job_id in ids] == payloads


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        pytest.param({}, {("/jobs", "required")}, id="none"),
        pytest.param({"jobs": {}}, {("/jobs", "wrong_type")}, id="object"),
        pytest.param({"jobs": []}, {("/jobs", "out_of_range")}, id="empty"),
        pytest.param({"jobs": [job()] * (MOST_JOBS + 1)}, {("/jobs", "out_of_range")}, id="101"),
        pytest.param({"jobs": [job()], "atomic": True}, {("/atomic", "unknown_field")}, id="unknown"),
    ],
)
@pytest.mark.usefixtures("nothing_written")
def test_what_is_no_batch(api: ApiUnderTest, body: Json, errors: set[tuple[str, str]]) -> None:
    """The whole is refused, and nothing is created."""
    assert_refused(api.call("POST", "/v1/jobs/batch", body), 422, errors)


def test_as_many_as_fit(api: ApiUnderTest) -> None:
    """A hundred jobs, and four mebibytes to the byte; one byte more is 413 with nothing created."""
    whole = json.dumps({"jobs": [job(payload="x" * 40_000)] * MOST_JOBS})
    fitting = whole[:-1] + " " * (MOST_BATCH_BYTES - len(whole)) + "}"
    headers = {"content-type": "application/json"}
    refused = api.call("POST", "/v1/jobs/batch", raw=fitting + " ", headers=headers)
    assert_refused(refused, 413, {("", "too_large")})
    assert not api.world.state.jobs
    reply = api.call("POST", "/v1/jobs/batch", raw=fitting, headers=headers)
    assert statuses(reply) == [201] * MOST_JOBS
    assert len(api.world.state.jobs) == MOST_JOBS
    assert "payload" not in reply.text


def test_other_routes_take_no_more_than_before(api: ApiUnderTest) -> None:
    """The larger limit is the batch's alone."""
    raw = json.dumps(job()) + " " * 524_288
    assert api.call("POST", "/v1/jobs", raw=raw, headers={"content-type": "application/json"}).status == 413


# ------------------------------------------------------------------------------------------------------ repeats


def test_b275_a_repeat_is_answered_as_the_first(api: ApiUnderTest) -> None:
    """B275: with the refusals that the first one had, though the name is free by now."""
    api.create(name="taken")
    first = send(api, *named("a", "taken", "b"), headers=KEY)
    assert statuses(first) == [201, 409, 201]
    again = send(api, *named("a", "taken", "b"), headers=KEY)
    assert (again.text, again.headers["idempotent-replayed"]) == (first.text, "true")
    assert len(api.world.state.jobs) == 3
    assert send(api, *named("a"), headers=KEY).json["code"] == "idempotency_mismatch"


def test_b277_a_cancelled_job_is_told_as_such(api: ApiUnderTest) -> None:
    """B277: a repeat does not tell of a job that is cancelled or gone as created; its neighbours stay."""
    first = send(api, *named("a", "b", "c"), headers=KEY)
    ids = [item["job"]["id"] for item in first.json["data"]]
    api.call("DELETE", f"/v1/jobs/{ids[0]}")
    api.world.state.remove_job(ids[2])
    again = send(api, *named("a", "b", "c"), headers=KEY)
    assert statuses(again) == [409, 201, 409]
    codes = [item["problem"]["code"] if "problem" in item else None for item in again.json["data"]]
    assert codes == ["job_finished", None, "job_finished"]
    assert (again.json["created"], again.json["refused"]) == (1, 2)


@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
@pytest.mark.parametrize("error", [UnavailableError("no answer"), KilledError()], ids=["silence", "death"])
@pytest.mark.parametrize("at", range(5))
def test_a_batch_that_is_broken_off_is_completed_by_its_repeat(
    api: ApiUnderTest, at: int, error: BaseException, *, behind: bool
) -> None:
    """Wherever it ends, before or behind a write: the repeat ends in one job each, with the first one's ids."""
    create = api.world.jobs.create
    calls = 0

    def dying(definition: Any, **more: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == at + 1 and not behind:
            raise error
        create(definition, **more)
        if calls == at + 1:
            raise error

    api.world.jobs.create = dying  # type: ignore[method-assign]  # the store of this test
    wanted = [*named("a", "b"), job(colour=1), *named("c", "d"), job()]
    try:
        assert send(api, *wanted, headers=KEY).status == 503
    except KilledError:
        api.world.clock.advance(30_000)
    begun = set(api.world.state.jobs)
    again = send(api, *wanted, headers=KEY)
    assert statuses(again) == [201, 201, 422, 201, 201, 201]
    assert begun <= set(api.world.state.jobs)
    assert len(api.world.state.jobs) == 5
    assert {item["job"]["id"] for item in again.json["data"] if "job" in item} == set(api.world.state.jobs)


def test_without_a_key_silence_is_told_of_the_job_it_met(api: ApiUnderTest) -> None:
    """The others are created; the client sees which may or may not be there."""
    create = api.world.jobs.create
    failing = iter([None, UnavailableError("no answer"), ZeroDivisionError("inner detail"), None])

    def sometimes(definition: Any, **more: Any) -> None:
        if error := next(failing):
            raise error
        create(definition, **more)

    api.world.jobs.create = sometimes  # type: ignore[method-assign]  # the store of this test
    reply = send(api, *named("a", "b", "c", "d"))
    assert statuses(reply) == [201, 503, 500, 201]
    assert "inner detail" not in reply.text


def test_an_answer_that_is_too_large_to_keep_is_made_again(api: ApiUnderTest) -> None:
    """The repeat carries the request out again, finds all written, and answers the same."""
    long = {f"label-{number}": "ä" * 120 for number in range(32)}
    wanted = [job(labels=long) for _ in range(MOST_JOBS)]
    first = send(api, *wanted, headers=KEY)
    assert len(first.text.encode()) > MOST_KEPT_BYTES
    again = send(api, *wanted, headers=KEY)
    assert (again.status, again.text) == (200, first.text)
    assert len(api.world.state.jobs) == MOST_JOBS
    job_id = first.json["data"][7]["job"]["id"]
    api.call("DELETE", f"/v1/jobs/{job_id}")
    assert statuses(send(api, *wanted, headers=KEY)).index(409) == 7
