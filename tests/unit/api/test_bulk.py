"""POST /v1/jobs/bulk and its operations: what is asked for, what is told."""

from typing import Any

import pytest

from carillon.adapters.memory.edges import RecordingMeter
from carillon.application import bulk
from carillon.application.drive_operation import ActOnJob, DriveOperation
from carillon.application.edit_job import EditJob
from carillon.application.trigger_run import TriggerRun
from carillon.domain.messages import OperationMessage
from carillon.ports.errors import UnavailableError
from support.api import RETENTION_MS, ApiUnderTest, Json, Reply, assert_refused

KEY = {"Idempotency-Key": "7c4a8d09-ca95-4c28", "content-type": "application/json"}


def ask(api: ApiUnderTest, action: str = "pause", wanted: Json = None, **more: Json) -> Reply:
    """Ask for work on many jobs."""
    headers = more.pop("headers", None)
    return api.call("POST", "/v1/jobs/bulk", {"action": action, "filter": wanted or {}, **more}, headers=headers)


def carry_out(api: ApiUnderTest) -> None:
    """Do what the operations function does with the messages of its queue."""
    world = api.world
    act = ActOnJob(
        EditJob(world.jobs, world.runs, RETENTION_MS), TriggerRun(world.jobs, world.runs, world.ids, RETENTION_MS)
    )
    drive = DriveOperation(world.operations, world.jobs, act, world.clock, RecordingMeter())
    while world.operation_queue.messages:
        message = world.operation_queue.messages.pop()
        assert drive(message.tenant, message.operation_id, 2**50)


def test_an_operation_is_asked_for_and_looked_at(api: ApiUnderTest) -> None:
    """202 with where it can be read; it is queued, then done, with counts."""
    jobs = [api.create(labels={"team": team})["id"] for team in ("infra", "infra", "web")]
    reply = ask(api, "pause", {"labels": {"team": "infra"}})
    operation = reply.json
    assert (reply.status, reply.headers["location"]) == (202, f"/v1/operations/{operation['id']}")
    nothing = {"walked": 0, "matched": 0, "done": 0, "refused": {}}
    assert operation == {
        "id": operation["id"],
        "action": "pause",
        "filter": {"state": None, "labels": {"team": "infra"}, "name_prefix": None},
        "state": "queued",
        "progress": nothing,
        "created_at": "2026-09-21T14:13:20.000Z",
        "updated_at": "2026-09-21T14:13:20.000Z",
        "ended_at": None,
    }
    assert api.call("GET", reply.headers["location"]).text == reply.text
    assert api.world.operation_queue.messages == [OperationMessage("acme", operation["id"])]
    api.world.clock.advance(1_000)
    carry_out(api)
    assert api.call("GET", reply.headers["location"]).json == {
        **operation,
        "state": "succeeded",
        "progress": {"walked": 3, "matched": 2, "done": 2, "refused": {}},
        "updated_at": "2026-09-21T14:13:21.000Z",
        "ended_at": "2026-09-21T14:13:21.000Z",
    }
    assert [api.call("GET", f"/v1/jobs/{job_id}").json["state"] for job_id in jobs] == ["paused", "paused", "scheduled"]


@pytest.mark.parametrize("action", ["pause", "resume", "cancel", "trigger"])
def test_a_trial_tells_what_would_be_done(api: ApiUnderTest, action: str) -> None:
    """200 with the counts that the operation comes to, and nothing is written or sent."""
    api.create(name="nightly/a")
    cancelled = api.create(name="nightly/b")["id"]
    api.create(name="weekly")
    api.call("DELETE", f"/v1/jobs/{cancelled}")
    before = api.snapshot()
    trial = ask(api, action, {"name_prefix": "nightly/"}, dry_run=True)
    assert (trial.status, trial.json["dry_run"], trial.json["next_cursor"]) == (200, True, None)
    assert api.snapshot() == before
    assert (api.world.state.operations, api.world.operation_queue.messages) == ({}, [])
    operation = ask(api, action, {"name_prefix": "nightly/"}).json
    carry_out(api)
    ended = api.call("GET", f"/v1/operations/{operation['id']}").json
    assert ended["progress"] == trial.json["progress"]
    assert trial.json["progress"]["refused"] == ({} if action == "cancel" else {"job_finished": 1})


def test_a_trial_of_many_jobs_comes_in_portions(api: ApiUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each with a cursor of its action and filter alone, until there is none."""
    monkeypatch.setattr(bulk, "PAGE", 2)
    monkeypatch.setattr(bulk, "MOST_PAGES_TRIED", 2)
    for _ in range(9):
        api.create()
    walked, cursor = 0, None
    for _ in range(3):
        portion = ask(api, "pause", dry_run=True, cursor=cursor).json
        walked, cursor = walked + portion["progress"]["walked"], portion["next_cursor"]
        if cursor:
            refused = ask(api, "cancel", dry_run=True, cursor=cursor)
            assert_refused(refused, 400, {("cursor", "bad_cursor")})
    assert (walked, cursor) == (9, None)


@pytest.mark.parametrize(
    ("body", "errors"),
    [
        pytest.param({}, {("/action", "required"), ("/filter", "required")}, id="nothing"),
        pytest.param({"action": "pause"}, {("/filter", "required")}, id="no-filter"),
        pytest.param({"action": "delete", "filter": {}}, {("/action", "not_a_choice")}, id="action"),
        pytest.param({"action": None, "filter": {}}, {("/action", "not_a_choice")}, id="null"),
        pytest.param({"action": "pause", "filter": []}, {("/filter", "wrong_type")}, id="list"),
        pytest.param({"action": "pause", "filter": {"colour": 1}}, {("/filter/colour", "unknown_field")}, id="unknown"),
        pytest.param({"action": "pause", "filter": {"state": "new"}}, {("/filter/state", "not_a_choice")}, id="state"),
        pytest.param({"action": "pause", "filter": {"labels": {"": "x"}}}, {("/filter/labels", "")}, id="label"),
        pytest.param({"action": "pause", "filter": {"name_prefix": ""}}, {("/filter/name_prefix", "")}, id="prefix"),
        pytest.param(
            {"action": "pause", "filter": {"name_prefix": "x" * 129}}, {("/filter/name_prefix", "")}, id="long-prefix"
        ),
        pytest.param({"action": "pause", "filter": {}, "dry_run": 1}, {("/dry_run", "wrong_type")}, id="dry-run"),
        pytest.param(
            {"action": "pause", "filter": {}, "cursor": "x"}, {("/cursor", "conflicting_fields")}, id="cursor"
        ),
        pytest.param({"action": "pause", "filter": {}, "catch_up": True}, {("/catch_up", "unknown_field")}, id="more"),
    ],
)
def test_what_cannot_be_asked_for(api: ApiUnderTest, body: Json, errors: set[tuple[str, str]]) -> None:
    """Refused by its field; nothing is stored, nothing is sent."""
    reply = api.call("POST", "/v1/jobs/bulk", body)
    assert reply.status == 422
    assert {place for place, _ in errors} <= {place for place, _ in reply.errors}
    assert {code for _, code in errors if code} <= {code for _, code in reply.errors}
    assert (api.world.state.operations, api.world.operation_queue.messages) == ({}, [])


def test_b275_a_repeat_is_the_same_operation(api: ApiUnderTest) -> None:
    """B275: under a key; without one it is another."""
    first = ask(api, headers=KEY)
    again = ask(api, headers=KEY)
    assert (again.text, again.headers["idempotent-replayed"]) == (first.text, "true")
    assert ask(api).json["id"] != first.json["id"]
    assert len(api.world.state.operations) == 2


@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
def test_a_request_that_was_broken_off_is_one_operation(api: ApiUnderTest, *, behind: bool) -> None:
    """Stored and not sent, or sent and not answered: the repeat under the key ends in one that is carried out once."""
    job_id = api.create()["id"]
    send = api.world.operation_queue.send

    def failing(message: OperationMessage) -> None:
        api.world.operation_queue.send = send  # type: ignore[method-assign]  # once
        if behind:
            send(message)
        raise UnavailableError("no answer")

    api.world.operation_queue.send = failing  # type: ignore[method-assign]  # the queue of this test
    assert ask(api, "trigger", headers=KEY).status == 503
    api.world.clock.advance(5_000)
    reply = ask(api, "trigger", headers=KEY)
    assert reply.status == 202
    assert len(api.world.state.operations) == 1
    carry_out(api)
    assert len(api.call("GET", f"/v1/jobs/{job_id}/runs").json["data"]) == 1


def test_an_operation_is_cancelled(api: ApiUnderTest) -> None:
    """It ends where it is; cancelled again it is the same; one that has ended is refused."""
    job_id = api.create()["id"]
    path = ask(api).headers["location"]
    reply = api.call("POST", f"{path}/cancel")
    assert (reply.status, reply.json["state"], reply.json["ended_at"]) == (200, "cancelled", "2026-09-21T14:13:20.000Z")
    assert api.call("POST", f"{path}/cancel").text == reply.text
    carry_out(api)
    assert api.call("GET", f"/v1/jobs/{job_id}").json["state"] == "scheduled"
    other = ask(api).headers["location"]
    carry_out(api)
    refused = api.call("POST", f"{other}/cancel")
    assert (refused.status, refused.json["code"]) == (409, "operation_ended")


@pytest.mark.parametrize("operation_id", ["op_", "op_x", "job_01M8MX0REB67WD2ANKW6N989AG", "..", "é"])
def test_ids_that_are_none(api: ApiUnderTest, operation_id: str) -> None:
    """Whatever stands for an operation and is none is unknown."""
    assert api.call("GET", f"/v1/operations/{operation_id}").status == 404


def test_two_tenants_do_not_touch_each_other(api: ApiUnderTest) -> None:
    """An operation on all jobs is one on all of the tenant's."""
    mine = api.create()["id"]
    body: Any = {"action": "cancel", "filter": {}}
    assert api.call("POST", "/v1/jobs/bulk", body, key=api.other_key).status == 202
    carry_out(api)
    assert api.call("GET", f"/v1/jobs/{mine}").json["state"] == "scheduled"


@pytest.mark.parametrize(
    "operation_id", ["x", "a" * 3_000, "op_", "op_x", "job_" + "0" * 26], ids=lambda text: text[:5]
)
def test_ids_of_operations_that_are_none(api: ApiUnderTest, operation_id: str) -> None:
    """Whatever stands for an id and is none is unknown, and no store is asked."""
    api.handle = api.build(operations=lambda: None)
    assert api.call("GET", f"/v1/operations/{operation_id}").status == 404
    assert api.call("POST", f"/v1/operations/{operation_id}/cancel").status == 404
