"""POST /v1/jobs/{id}/pause and /resume."""

from dataclasses import replace
from typing import Any

import pytest

from carillon.domain.instants import format_instant, parse_instant
from carillon.domain.job import JobState
from support.api import ApiUnderTest, Json, Reply, assert_refused

MINUTE_MS = 60_000
NIGHTLY = {"cron": "0 2 * * *"}


def act(api: ApiUnderTest, job_id: str, action: str, body: Json = None, **headers: str) -> Reply:
    """Pause or resume a job; names of headers with an underscore for the hyphen."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return api.call("POST", f"/v1/jobs/{job_id}/{action}", body, headers=named)


def at(api: ApiUnderTest, instant: str) -> None:
    """Set the clock."""
    api.world.clock.set(parse_instant(instant))


def runs(api: ApiUnderTest, job_id: str) -> list[tuple[str, str, str, int]]:
    """The records of a job, oldest first: nominal time, state, reason, and how many occurrences it stands for."""
    shown = api.call("GET", f"/v1/jobs/{job_id}/runs").json["data"][::-1]
    return [
        (run["scheduled_for"], run["state"], run["reason"], run.get("block", {"count": 1})["count"]) for run in shown
    ]


def test_b149_resume_plans_from_now(api: ApiUnderTest) -> None:
    """B149: paused at 01:00, resumed at 07:49: nothing at 07:49, next is tomorrow, and the pause has its record."""
    at(api, "2026-06-01T00:30:00Z")
    job_id = api.create(schedule=NIGHTLY)["id"]
    at(api, "2026-06-01T01:00:00Z")
    paused = act(api, job_id, "pause")
    assert (paused.status, paused.headers["etag"]) == (200, '"2"')
    assert (paused.json["state"], paused.json["state_reason"], paused.json["next_fire_time"]) == ("paused", None, None)
    assert api.call("GET", f"/v1/jobs/{job_id}").text == paused.text
    at(api, "2026-06-01T07:49:00Z")
    resumed = act(api, job_id, "resume")
    assert (resumed.status, resumed.headers["etag"]) == (200, '"3"')
    assert (resumed.json["state"], resumed.json["next_fire_time"]) == ("scheduled", "2026-06-02T02:00:00.000Z")
    assert runs(api, job_id) == [("2026-06-01T02:00:00.000Z", "skipped", "paused", 1)]


@pytest.mark.parametrize(("body", "next_fire"), [({"catch_up": True}, "2026-06-01T02:00:00.000Z"), ({}, None)])
def test_b152_the_choice_to_catch_up(api: ApiUnderTest, body: Json, next_fire: str | None) -> None:
    """B152: it plans the paused time, this once; the policy of the job stays as it was."""
    at(api, "2026-06-01T00:30:00Z")
    job_id = api.create(schedule={"cron": "0 * * * *"}, misfire_policy="skip")["id"]
    at(api, "2026-06-01T01:30:00Z")
    api.world.state.put_job(replace(api.world.state.jobs[job_id], scheduled_for=parse_instant("2026-06-01T02:00:00Z")))
    act(api, job_id, "pause")
    at(api, "2026-06-01T07:49:00Z")
    resumed = act(api, job_id, "resume", body).json
    assert resumed["next_fire_time"] == (next_fire or "2026-06-01T08:00:00.000Z")
    assert resumed["misfire_policy"] == "skip"
    expected = [] if next_fire else [("2026-06-01T07:00:00.000Z", "skipped", "paused", 6)]
    assert runs(api, job_id) == expected


@pytest.mark.parametrize("policy", ["fire_once", "fire_all", "skip"])
@pytest.mark.parametrize("body", [None, {"catch_up": True}])
def test_b151_a_single_run_is_always_planned(api: ApiUnderTest, policy: str, body: Json) -> None:
    """B148, B151: its time came during the pause: never active without a next fire; the policy then decides."""
    due = format_instant(api.world.clock.now_ms() + MINUTE_MS)
    job_id = api.create(schedule={"delay": "PT1M"}, misfire_policy=policy)["id"]
    act(api, job_id, "pause")
    api.world.clock.advance(10 * MINUTE_MS)
    resumed = act(api, job_id, "resume", body).json
    assert (resumed["state"], resumed["next_scheduled_for"]) == ("scheduled", due)


def test_b154_repeats_change_nothing(api: ApiUnderTest) -> None:
    """B154: pause twice, resume twice, resume an active job: the same answer, and nothing is written."""
    job_id = api.create(schedule={"every": "PT7M"})["id"]
    for action in ("resume", "pause", "resume"):
        first = act(api, job_id, action)
        before = api.snapshot()
        api.world.clock.advance(MINUTE_MS)
        again = act(api, job_id, action)
        assert (again.status, again.text, again.headers["etag"]) == (200, first.text, first.headers["etag"])
        assert api.snapshot() == before


@pytest.mark.parametrize("action", ["pause", "resume"])
@pytest.mark.parametrize("state", [JobState.CANCELLED, JobState.COMPLETED, JobState.DISPATCHED, JobState.ERROR])
def test_b154_a_job_that_has_ended(api: ApiUnderTest, action: str, state: JobState) -> None:
    """B154: 409 job_finished, and nothing is written."""
    job_id = api.create(schedule={"delay": "PT1M"})["id"]
    ended = {"state": state, "scheduled_for": None, "next_fire_time": None, "planned": 1, "planned_until": 1}
    api.world.state.put_job(replace(api.world.state.jobs[job_id], version=2, **ended))
    before = api.snapshot()
    reply = act(api, job_id, action)
    assert_refused(reply, 409, set())
    assert reply.json["code"] == "job_finished"
    assert api.snapshot() == before


def test_b148_what_was_due_when_it_was_paused_is_recorded(api: ApiUnderTest) -> None:
    """B148: due, not confirmed, then paused: skipped with the reason, and not fired."""
    created = api.create(schedule={"every": "PT1M"})
    api.world.clock.advance(2 * MINUTE_MS)
    act(api, created["id"], "pause")
    assert [(state, reason) for _, state, reason, _ in runs(api, created["id"])] == [("skipped", "paused")] * 2


@pytest.mark.parametrize(("if_match", "status"), [('"1"', 200), ("*", 200), ('"2"', 412), ('W/"1"', 412)])
def test_a_condition_is_kept(api: ApiUnderTest, if_match: str, status: int) -> None:
    """If-Match is not asked for, and holds when it is there."""
    job_id = api.create(schedule=NIGHTLY)["id"]
    assert act(api, job_id, "pause", If_Match=if_match).status == status
    assert (api.world.state.jobs[job_id].state is JobState.PAUSED) == (status == 200)


BAD: list[tuple[str, dict[str, Any], int, set[tuple[str, str]]]] = [
    ("pause", {"body": {"until": "tomorrow"}}, 422, {("/until", "unknown_field")}),
    ("pause", {"body": {"catch_up": True}}, 422, {("/catch_up", "unknown_field")}),
    ("trigger", {"body": {"payload": 1}}, 422, {("/payload", "unknown_field")}),
    ("resume", {"body": {"catchup": True}}, 422, {("/catchup", "unknown_field")}),
    ("resume", {"body": {"catch_up": 1}}, 422, {("/catch_up", "wrong_type")}),
    ("resume", {"body": {"catch_up": "true"}}, 422, {("/catch_up", "wrong_type")}),
    ("resume", {"body": {"catch_up": None}}, 422, {("/catch_up", "wrong_type")}),
    ("resume", {"raw": "{"}, 400, {("", "bad_json")}),
    ("resume", {"raw": "[]"}, 400, {("", "bad_json")}),
    ("resume", {"body": {}, "headers": {"content-type": "text/plain"}}, 415, {("Content-Type", "unsupported")}),
    ("pause", {"raw": "{}", "headers": {"content-type": None}}, 415, {("Content-Type", "unsupported")}),
]


@pytest.mark.parametrize(("action", "request_", "status", "errors"), BAD)
def test_actions_that_are_not_valid(
    api: ApiUnderTest, action: str, request_: dict[str, Any], status: int, errors: set[tuple[str, str]]
) -> None:
    """What an action does not know, or cannot read, is refused and never ignored."""
    job_id = api.create(schedule=NIGHTLY)["id"]
    before = api.snapshot()
    assert_refused(api.call("POST", f"/v1/jobs/{job_id}/{action}", **request_), status, errors)
    assert api.snapshot() == before


@pytest.mark.parametrize("body", [{}, {"catch_up": False}])
def test_choices_may_be_spelled_out(api: ApiUnderTest, body: Json) -> None:
    """An empty object, and the usual choice, are the same as no body."""
    job_id = api.create(schedule=NIGHTLY)["id"]
    act(api, job_id, "pause", {})
    assert act(api, job_id, "resume", body).json["state"] == "scheduled"


def test_why_a_job_is_paused(api: ApiUnderTest) -> None:
    """A pause that was not the tenant's wish says why, on the job and in lists; the resume ends the reason."""
    job_id = api.create(schedule=NIGHTLY)["id"]
    act(api, job_id, "pause")
    api.world.state.specs[job_id] = replace(api.world.state.specs[job_id], state_reason="target_gone")
    assert api.call("GET", f"/v1/jobs/{job_id}").json["state_reason"] == "target_gone"
    assert api.call("GET", "/v1/jobs").json["data"][0]["state_reason"] == "target_gone"
    assert act(api, job_id, "resume").json["state_reason"] is None


def test_paused_jobs_are_found(api: ApiUnderTest) -> None:
    """The list can be filtered by the state."""
    ids = [api.create(schedule=NIGHTLY)["id"] for _ in range(3)]
    act(api, ids[1], "pause")
    listed = api.call("GET", "/v1/jobs", query={"state": "paused"}).json["data"]
    assert [each["id"] for each in listed] == [ids[1]]
