"""Dead letters and single runs over HTTP: list, redrive one, redrive many, cancel."""

import pytest

from carillon.domain.instants import format_instant
from carillon.domain.run import Run, RunState
from support.api import ApiUnderTest, Json, assert_refused

DEAD, REDRIVE = "/v1/dead-letters", "/v1/dead-letters/redrive"


def dead(api: ApiUnderTest, job_id: str, age_ms: int, **fields: object) -> Run:
    """A dead letter of a job, so old."""
    now_ms = api.world.clock.now_ms()
    defaults = {"state": RunState.DEAD_LETTERED, "ended_at": now_ms - age_ms, "attempt": 1}
    return api.add_run(job_id, now_ms - age_ms - 1_000, **{**defaults, **fields})


def listed(api: ApiUnderTest, **query: str) -> list[str]:
    """The ids of dead letters."""
    return [run["id"] for run in api.call("GET", DEAD, query=query).json["data"]]


def test_dead_letters_are_listed_and_filtered(api: ApiUnderTest) -> None:
    """The latest first, by job and by time, page by page; another tenant's never."""
    one, two = (api.create()["id"] for _ in range(2))
    runs = [dead(api, job_id, age_ms) for job_id, age_ms in ((one, 3_000), (two, 2_000), (one, 1_000))]
    ids = [run.key.run_id for run in runs]
    assert listed(api) == ids[::-1]
    assert listed(api, job=one) == [ids[2], ids[0]]
    assert listed(api, since=format_instant(runs[1].ended_at or 0)) == [ids[2], ids[1]]
    page = api.call("GET", DEAD, query={"limit": "2"}).json
    assert listed(api, limit="2", cursor=page["next_cursor"]) == [ids[0]]
    assert api.call("GET", DEAD, key=api.other_key).json["data"] == []
    assert_refused(api.call("GET", DEAD, query={"since": "yesterday"}), 422, {("since", "invalid_value")})


def test_a_dead_letter_is_redriven(api: ApiUnderTest) -> None:
    """B112: 202 with the run, due at once, and where to look at it; a second time 409."""
    run = dead(api, api.create()["id"], 1_000)
    reply = api.call("POST", f"/v1/runs/{run.key.run_id}/retry")
    assert (reply.status, reply.json["state"], reply.json["reason"]) == (202, "retrying", "redriven")
    assert reply.json["next_attempt_at"] == format_instant(api.world.clock.now_ms())
    assert api.call("GET", reply.headers["location"]).json == reply.json
    again = api.call("POST", f"/v1/runs/{run.key.run_id}/retry")
    assert_refused(again, 409, set())
    assert again.json["code"] == "not_redrivable"
    assert listed(api) == []


def test_many_are_redriven_by_a_filter(api: ApiUnderTest) -> None:
    """A dry run says how many; nothing but the filter's runs is touched; refusals are counted by reason."""
    one, late = api.create()["id"], api.create(deadline="PT1S")["id"]
    for job_id in (one, one, late):
        dead(api, job_id, 60_000 + len(listed(api)))
    before = api.snapshot()
    counted = api.call("POST", REDRIVE, {"filter": {}, "dry_run": True})
    refused = {"it is past its deadline": 1}
    assert counted.json == {"redriven": 2, "refused": refused, "dry_run": True, "next_cursor": None}
    assert api.snapshot() == before
    assert api.call("POST", REDRIVE, {"filter": {"job": late}}).json["redriven"] == 0
    assert api.call("POST", REDRIVE, {"filter": {"job": one}}).json["redriven"] == 2
    assert api.call("POST", REDRIVE, {"filter": {"job": one}}).json["redriven"] == 0


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        pytest.param({}, {("/filter", "required")}, id="no filter"),
        pytest.param({"filter": None}, {("/filter", "wrong_type")}, id="null"),
        pytest.param({"filter": {"state": "x"}}, {("/filter/state", "unknown_field")}, id="unknown filter"),
        pytest.param({"filter": {"since": "now"}}, {("/filter/since", "invalid_value")}, id="bad instant"),
        pytest.param({"filter": {}, "dry_run": "yes"}, {("/dry_run", "wrong_type")}, id="dry_run as text"),
    ],
)
def test_a_bad_redrive_is_refused(api: ApiUnderTest, body: Json, errors: set[tuple[str, str]]) -> None:
    """And nothing is redriven."""
    run = dead(api, api.create()["id"], 1_000)
    assert_refused(api.call("POST", REDRIVE, body), 422, errors)
    assert listed(api) == [run.key.run_id]


def test_a_cursor_of_another_filter_is_refused(api: ApiUnderTest) -> None:
    """A redrive does not go on in a list that it was not begun for."""
    dead(api, api.create()["id"], 1_000)
    dead(api, api.create()["id"], 1_000)
    cursor = api.call("GET", DEAD, query={"limit": "1"}).json["next_cursor"]
    assert_refused(api.call("POST", REDRIVE, {"filter": {}, "cursor": cursor}), 400, {("cursor", "bad_cursor")})


@pytest.mark.parametrize("cursor", ["", "x", "garbage"])
def test_a_cursor_that_is_none_is_refused(api: ApiUnderTest, cursor: str) -> None:
    """An empty one too: a redrive does not begin anew, or fail, because of it."""
    assert_refused(api.call("POST", REDRIVE, {"filter": {}, "cursor": cursor}), 400, {("cursor", "bad_cursor")})


def test_a_waiting_run_is_cancelled(api: ApiUnderTest) -> None:
    """200 with the run, also a second time; what has ended otherwise gets 409."""
    job_id = api.create()["id"]
    run_id = api.call("POST", f"/v1/jobs/{job_id}/trigger").json["id"]
    for _ in range(2):
        reply = api.call("POST", f"/v1/runs/{run_id}/cancel")
        assert (reply.status, reply.json["state"], reply.json["reason"]) == (200, "cancelled", "run_cancelled")
    ended = api.add_run(job_id, 1_000)
    refused = api.call("POST", f"/v1/runs/{ended.key.run_id}/cancel")
    assert_refused(refused, 409, set())
    assert refused.json["code"] == "run_ended"


@pytest.mark.parametrize("action", ["cancel", "retry"])
def test_another_tenants_run_is_unknown(api: ApiUnderTest, action: str) -> None:
    """As is one that never was; and reading is not writing."""
    run = dead(api, api.create()["id"], 1_000)
    path = f"/v1/runs/{run.key.run_id}/{action}"
    assert_refused(api.call("POST", path, key=api.other_key), 404, set())
    assert_refused(api.call("POST", f"/v1/runs/nothing/{action}"), 404, set())
    assert api.call("POST", path, key=api.add_key("runs:read")).status == 403
    assert_refused(api.call("POST", path, {"force": True}), 422, {("/force", "unknown_field")})
    assert listed(api) == [run.key.run_id]
