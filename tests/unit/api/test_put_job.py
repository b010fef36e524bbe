"""PUT /v1/jobs/by-name/{name}: a job that is there afterwards as it was asked for, once, however often it is asked."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from carillon.domain.job import JobState
from carillon.ports.errors import NameTakenError
from support.api import JOB, ApiUnderTest, Json, Reply, assert_refused, event_of, job

MINUTE_MS = 60_000
PATH = "/v1/jobs/by-name/nightly"
FULL = job(
    schedule={"cron": "0 18 * * MON-FRI", "timezone": "Europe/Berlin"},
    target__headers={"X-Team": "infra", "X-Zone": "b"},
    payload={"depth": "full"},
    retry={"delays": ["PT1S", "PT60S"]},
    retry_on=[503, 500],
    labels={"team": "infra", "tier": "1"},
    deadline="PT5M",
)


def put(api: ApiUnderTest, body: Json = None, path: str = PATH, **options: Any) -> Reply:
    """Put a job."""
    return api.call("PUT", path, body, **options)


def test_a_job_is_created_under_its_name(api: ApiUnderTest) -> None:
    """201 with all that a creation answers, and the job is there by its id."""
    reply = put(api, FULL)
    made = reply.json
    assert (reply.status, made["name"], reply.headers["etag"]) == (201, "nightly", '"1"')
    assert reply.headers["location"] == f"/v1/jobs/{made['id']}"
    assert api.call("GET", reply.headers["location"]).text == reply.text


def test_another_definition_replaces_the_one_there_is(api: ApiUnderTest) -> None:
    """200: the job keeps its id and its creation; what the new document leaves out has its default again."""
    first = put(api, FULL).json
    api.world.clock.advance(MINUTE_MS)
    reply = put(api, job(name="nightly", priority="high"))
    now = reply.json
    assert (reply.status, reply.headers["etag"]) == (200, '"2"')
    assert (now["id"], now["created_at"], now["priority"]) == (first["id"], first["created_at"], "high")
    assert (now["labels"], now["deadline"], now["target"]["headers"]) == ({}, None, {})
    assert "payload" not in now
    assert len(api.world.state.jobs) == 1


SAME: Mapping[str, tuple[Json, Json]] = {
    "to-the-letter": (FULL, FULL),
    "the-name-in-the-body": (FULL, {**FULL, "name": "nightly"}),
    "cron-by-meaning": (FULL, {**FULL, "schedule": {"cron": "0 18 * * 1-5", "timezone": "Europe/Berlin"}}),
    "defaults-spelled-out": (FULL, {**FULL, "priority": "normal", "window": "PT0S", "misfire_policy": "fire_once"}),
    "durations": (FULL, {**FULL, "deadline": "PT300S", "retry": {"max_attempts": 3, "delays": ["PT1S", "PT1M"]}}),
    "headers-by-meaning": (FULL, {**FULL, "target": {**FULL["target"], "headers": {"x-zone": "b", "x-team": "infra"}}}),
    "statuses-in-another-order": (FULL, {**FULL, "retry_on": [500, 503]}),
    "labels-in-another-order": (FULL, {**FULL, "labels": {"tier": "1", "team": "infra"}}),
    "an-instant-with-another-offset": (JOB, job(schedule={"run_at": "2030-01-01T05:30:00+05:30"})),
    "an-interval-on-its-anchor": (job(schedule={"every": "PT1H"}), job(schedule={"every": "PT60M"})),
    "a-delay-from-when-it-was-first-said": (job(schedule={"delay": "PT1H"}), job(schedule={"delay": "PT60M"})),
}


@pytest.mark.parametrize(("first", "again"), SAME.values(), ids=SAME)
def test_an_unchanged_job_is_not_written(api: ApiUnderTest, first: Json, again: Json) -> None:
    """What means the same changes nothing: the same revision, the same ETag, and no write at all."""
    created = put(api, first)
    assert created.status == 201
    before = api.snapshot()
    api.world.clock.advance(MINUTE_MS)
    reply = put(api, again)
    assert (reply.status, reply.text, reply.headers["etag"]) == (200, created.text, '"1"')
    assert api.snapshot() == before


OTHER: Mapping[str, tuple[Json, Json]] = {
    "payload-to-the-letter": (job(payload=[1.5]), '{"schedule": {"run_at": "2030-01-01T00:00:00Z"}, "payload": [1.50]'),
    "another-delay": (job(schedule={"delay": "PT1H"}), job(schedule={"delay": "PT2H"})),
    "a-header": (FULL, {**FULL, "target": {**FULL["target"], "headers": {"X-Zone": "c", "X-Team": "infra"}}}),
    "a-status": (FULL, {**FULL, "retry_on": [500]}),
    "no-payload": (FULL, {name: value for name, value in FULL.items() if name != "payload"}),
}


@pytest.mark.parametrize(("first", "again"), OTHER.values(), ids=OTHER)
def test_what_differs_is_written(api: ApiUnderTest, first: Json, again: Json) -> None:
    """Another value, however small the difference, is another revision."""
    assert put(api, first).status == 201
    api.world.clock.advance(MINUTE_MS)
    target = ', "target": {"type": "http", "url": "https://svc.carillon.dev/hook"}}'
    headers = {"content-type": "application/json"}
    reply = put(api, raw=again + target, headers=headers) if isinstance(again, str) else put(api, again)
    assert (reply.status, reply.headers["etag"]) == (200, '"2"')


def test_a_changed_delay_may_be_said_again(api: ApiUnderTest) -> None:
    """The delay of an edit counts from the edit, and said again it is the same too."""
    put(api, job(schedule={"delay": "PT1H"}))
    api.world.clock.advance(MINUTE_MS)
    changed = put(api, job(schedule={"delay": "PT2H"}))
    assert changed.json["next_fire_time"] == "2026-09-21T16:14:20.000Z"
    api.world.clock.advance(MINUTE_MS)
    assert put(api, job(schedule={"delay": "PT2H"})).text == changed.text


# ------------------------------------------------------------------------------------------------------- conditions

CONDITIONS = [
    # (headers, status if there is no job, status if there is one of revision 1)
    ({}, 201, 200),
    ({"If-Match": "*"}, 412, 200),
    ({"If-Match": '"1"'}, 412, 200),
    ({"If-Match": '"2", "1"'}, 412, 200),
    ({"If-Match": '"2"'}, 412, 412),
    ({"If-Match": 'W/"1"'}, 412, 412),
    ({"If-None-Match": "*"}, 201, 412),
    ({"If-None-Match": '"1"'}, 201, 412),
    ({"If-None-Match": 'W/"1"'}, 201, 412),
    ({"If-None-Match": '"2"'}, 201, 200),
    ({"If-Match": '"1"', "If-None-Match": "*"}, 412, 412),
]


@pytest.mark.parametrize("exists", [False, True], ids=["no-job", "a-job"])
@pytest.mark.parametrize(("headers", "new", "old"), CONDITIONS, ids=str)
def test_conditions(api: ApiUnderTest, headers: dict[str, str], new: int, old: int, *, exists: bool) -> None:
    """`If-Match` and `If-None-Match` as in RFC 9110: a condition that does not hold is 412 and nothing is written."""
    if exists:
        put(api, FULL)
    before = api.snapshot()
    reply = put(api, job(priority="high"), headers={"content-type": "application/json", **headers})
    assert reply.status == (old if exists else new), reply.text
    if reply.status == 412:
        assert reply.json["code"] == "revision_mismatch"
        assert {name for name, _ in reply.errors} <= headers.keys()
        assert api.snapshot() == before


def test_a_condition_holds_for_an_unchanged_job_too(api: ApiUnderTest) -> None:
    """Whoever has seen another revision learns of it, though the definition is the same."""
    put(api, FULL)
    reply = put(api, FULL, headers={"content-type": "application/json", "If-Match": '"7"'})
    assert_refused(reply, 412, {("If-Match", "revision_mismatch")})


# --------------------------------------------------------------------------------------------------- ended and gone


def test_b142_a_cancelled_job_holds_no_name(api: ApiUnderTest) -> None:
    """B142: a new job is created in the place of a cancelled one, with an id of its own."""
    first = put(api, FULL).json
    assert api.call("DELETE", f"/v1/jobs/{first['id']}").status == 204
    again = put(api, FULL)
    assert (again.status, again.headers["etag"]) == (201, '"1"')
    assert again.json["id"] != first["id"]


def test_a_job_that_is_gone_holds_no_name(api: ApiUnderTest) -> None:
    """Where the job was removed and its name is not free yet, a new job takes it."""
    first = put(api, FULL).json
    api.world.state.remove_job(first["id"])
    again = put(api, FULL)
    assert (again.status, again.json["id"] == first["id"]) == (201, False)


def test_a_job_that_ended_by_itself_stays_as_it_is(api: ApiUnderTest) -> None:
    """Said again unchanged it is answered as it is, also when its time has passed; another definition is refused."""
    wanted = job(schedule={"run_at": "2026-09-21T14:14:00Z"})
    first = put(api, wanted).json
    api.store_job(first["id"], state=JobState.DISPATCHED, next_fire_time=None, scheduled_for=None)
    api.world.clock.advance(60 * MINUTE_MS)
    same = put(api, wanted)
    assert (same.status, same.json["state"], same.json["revision"]) == (200, "dispatched", 1)
    before = api.snapshot()
    other = put(api, job(schedule={"run_at": "2031-01-01T00:00:00Z"}))
    assert (other.status, other.json["code"]) == (409, "job_finished")
    assert api.snapshot() == before


def test_a_paused_job_stays_paused(api: ApiUnderTest) -> None:
    """Its definition says nothing of pauses, so neither an unchanged nor a changed one resumes it."""
    job_id = put(api, FULL).json["id"]
    api.call("POST", f"/v1/jobs/{job_id}/pause")
    assert put(api, FULL).json["state"] == "paused"
    assert put(api, {**FULL, "labels": {}}).json["state"] == "paused"


def test_a_renamed_job_has_left_its_name(api: ApiUnderTest) -> None:
    """The name is free for a new job; the renamed one is left alone."""
    first = put(api, FULL).json
    api.patched(first["id"], {"name": "weekly"})
    again = put(api, FULL)
    assert (again.status, again.json["id"] == first["id"]) == (201, False)
    assert api.call("GET", f"/v1/jobs/{first['id']}").json["name"] == "weekly"


# --------------------------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        pytest.param({**FULL, "name": "weekly"}, {("/name", "conflicting_fields")}, id="another-name"),
        pytest.param({**FULL, "name": None}, {("/name", "conflicting_fields")}, id="no-name"),
        pytest.param({**FULL, "colour": 1}, {("/colour", "unknown_field")}, id="unknown"),
        pytest.param({**FULL, "overlap": "skip"}, {("/overlap", "not_supported")}, id="not-built"),
        pytest.param({"target": FULL["target"]}, {("/schedule", "required")}, id="no-schedule"),
        pytest.param(
            job(schedule={"run_at": "2020-01-01T00:00:00Z"}), {("/schedule/run_at", "no_occurrence")}, id="B271-past"
        ),
        pytest.param(job(target__url="https://10.0.0.1/"), {("/target/url", "address_refused")}, id="target"),
    ],
)
@pytest.mark.parametrize("exists", [False, True], ids=["no-job", "a-job"])
def test_what_cannot_be_a_job(api: ApiUnderTest, body: Json, errors: set[tuple[str, str]], *, exists: bool) -> None:
    """The same refusals as of a creation, whether the job is there or not; nothing is written."""
    if exists:
        put(api, FULL)
    before = api.snapshot()
    reply = put(api, body)
    assert reply.status == 422
    assert {place for place, _ in reply.errors} == {place for place, _ in errors}
    assert api.snapshot() == before


@pytest.mark.parametrize("name", ["a" * 129, "a%00b", "%EF%BF%BE"])
def test_names_that_no_job_may_have(api: ApiUnderTest, name: str) -> None:
    """B211: the name in the path is held to the rules of names."""
    assert_refused(put(api, JOB, f"/v1/jobs/by-name/{name}"), 422, {("/name", "invalid_value")})


@pytest.mark.parametrize("path", ["import/row%201", "import%2Frow%201"])
def test_slashes_in_names(api: ApiUnderTest, path: str) -> None:
    """Encoded or not, because gateways decode: imports give such names."""
    answer = api.handle(
        event_of(
            "PUT",
            f"/v1/jobs/by-name/{path}",
            "",
            {"authorization": f"Bearer {api.key}", "content-type": "application/json"},
            '{"schedule": {"every": "PT1H"}, "target": {"type": "http", "url": "https://svc.carillon.dev/hook"}}',
        ),
        None,
    )
    assert answer["statusCode"] == 201
    assert api.world.jobs.holder_of("acme", "import/row 1") is not None


# ------------------------------------------------------------------------------------------------------------ races


def at_the_next(api: ApiUnderTest, method: str, act: Callable[[], Any], error: Exception | None = None) -> None:
    """Let something happen, or fail, at the next call of a method of the job store, before it."""
    real = getattr(api.world.jobs, method)

    def once(*arguments: Any, **options: Any) -> Any:
        setattr(api.world.jobs, method, real)
        act()
        if error is not None:
            raise error
        return real(*arguments, **options)

    setattr(api.world.jobs, method, once)


def test_of_two_who_create_one_changes(api: ApiUnderTest) -> None:
    """Both found no job: one creates it, the other one finds the name taken and changes that job; there is one."""
    at_the_next(api, "create", lambda: put(api, FULL))
    reply = put(api, {**FULL, "priority": "high"})
    assert (reply.status, reply.json["revision"], reply.json["priority"]) == (200, 2, "high")
    assert len(api.world.state.jobs) == 1


def test_of_two_who_create_only_one_is_refused(api: ApiUnderTest) -> None:
    """With `If-None-Match: *` the second one learns that there is a job by now."""
    at_the_next(api, "create", lambda: put(api, FULL))
    headers = {"content-type": "application/json", "If-None-Match": "*"}
    assert_refused(put(api, FULL, headers=headers), 412, {("If-None-Match", "revision_mismatch")})
    assert len(api.world.state.jobs) == 1


def test_a_job_that_is_cancelled_meanwhile_is_created_anew(api: ApiUnderTest) -> None:
    """Between the look at the name and the edit somebody cancels: what is asked for is there afterwards."""
    first = put(api, FULL).json
    at_the_next(api, "replace", lambda: api.call("DELETE", f"/v1/jobs/{first['id']}"))
    reply = put(api, {**FULL, "priority": "high"})
    assert (reply.status, reply.json["state"]) == (201, "scheduled")
    assert api.world.jobs.holder_of("acme", "nightly") == reply.json["id"] != first["id"]


def test_a_lost_answer_may_be_asked_for_again(api: ApiUnderTest) -> None:
    """Whatever became of the first try, the second one ends in one job as wanted."""
    put(api, FULL)
    real = api.world.jobs.replace

    def lost(*arguments: Any, **options: Any) -> bool:
        real(*arguments, **options)
        api.world.jobs.replace = real  # type: ignore[method-assign]  # once
        raise ConnectionError

    api.world.jobs.replace = lost  # type: ignore[method-assign]  # see above
    assert put(api, {**FULL, "priority": "high"}).status == 500
    again = put(api, {**FULL, "priority": "high"})
    assert (again.status, again.json["revision"]) == (200, 2)


def test_a_name_without_rest_is_503(api: ApiUnderTest) -> None:
    """A name that changes hands at every look is given up in the end: nothing is half done."""

    def taken(_: Any, **_more: Any) -> None:
        raise NameTakenError("job_x")

    api.world.jobs.create = taken  # type: ignore[method-assign]  # the store of this test
    assert put(api, FULL).status == 503
    assert not api.world.state.jobs


def test_damaged_jobs_are_mended(api: ApiUnderTest) -> None:
    """A job in the state `error` is planned again by a whole definition."""
    made = put(api, FULL).json
    stored = api.world.state.jobs[made["id"]]
    api.world.state.put_job(replace(stored, state=JobState.ERROR, error="unreadable", next_fire_time=None))
    assert put(api, {**FULL, "schedule": {"every": "PT1H"}}).json["state"] == "scheduled"
