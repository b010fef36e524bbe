"""DELETE /v1/jobs/{id}."""

import pytest

from carillon.domain.job import JobState
from carillon.domain.run import RunState
from support.api import ApiUnderTest, Json

MINUTE_MS = 60_000


def test_a_cancelled_job_never_runs(api: ApiUnderTest) -> None:
    """204 without a body; the job is shown as cancelled, with nothing ahead and a new revision."""
    created = api.create(schedule={"every": "PT1M"})
    reply = api.call("DELETE", f"/v1/jobs/{created['id']}")
    assert (reply.status, reply.text) == (204, "")
    assert "content-type" not in reply.headers
    read = api.call("GET", f"/v1/jobs/{created['id']}")
    assert (read.json["state"], read.json["next_fire_time"], read.headers["etag"]) == ("cancelled", None, '"2"')
    assert api.world.state.runs[created["id"]] == {}


def test_cancelling_twice_changes_nothing(api: ApiUnderTest) -> None:
    """A repeated cancel gives the same answer and writes nothing."""
    created = api.create()
    api.call("DELETE", f"/v1/jobs/{created['id']}")
    before = api.snapshot()
    api.world.clock.advance(MINUTE_MS)
    assert api.call("DELETE", f"/v1/jobs/{created['id']}").status == 204
    assert api.snapshot() == before


def test_what_was_due_ends_in_a_record(api: ApiUnderTest) -> None:
    """Occurrences due before the cancel that nobody confirmed are shown as cancelled runs."""
    created = api.create(schedule={"every": "PT1M"})
    api.world.clock.advance(3 * MINUTE_MS)
    api.call("DELETE", f"/v1/jobs/{created['id']}")
    runs = api.call("GET", f"/v1/jobs/{created['id']}/runs").json["data"]
    assert [(run["scheduled_for"], run["state"], run["reason"]) for run in runs] == [
        (f"2026-09-21T14:{minute}:20.000Z", "cancelled", "job_cancelled") for minute in (16, 15, 14)
    ]


@pytest.mark.parametrize(
    ("schedule", "settled"),
    [
        pytest.param({"every": "PT1M"}, [("2026-09-21T14:16:20.000Z", "skipped", "paused", 3)], id="recurring"),
        pytest.param({"delay": "PT1M"}, [("2026-09-21T14:14:20.000Z", "skipped", "paused", 1)], id="single"),
        pytest.param({"delay": "PT1H"}, [], id="single-ahead"),
    ],
)
def test_a_cancel_ends_a_pause(api: ApiUnderTest, schedule: Json, settled: list[tuple[str, str, str, int]]) -> None:
    """The time of the pause, up to the cancel, is one record of skipped occurrences; nothing later has one."""
    created = api.create(schedule=schedule)
    api.call("POST", f"/v1/jobs/{created['id']}/pause")
    api.world.clock.advance(3 * MINUTE_MS + 30_000)
    assert api.call("DELETE", f"/v1/jobs/{created['id']}").status == 204
    assert api.call("GET", f"/v1/jobs/{created['id']}").json["state"] == "cancelled"
    runs = api.call("GET", f"/v1/jobs/{created['id']}/runs").json["data"]
    assert [
        (run["scheduled_for"], run["state"], run["reason"], run.get("block", {"count": 1})["count"]) for run in runs
    ] == settled


@pytest.mark.parametrize(
    ("if_match", "status"),
    [
        *(("*", 204), ('"1"', 204), ('"7", "1"', 204)),
        *(('"2"', 412), ('W/"1"', 412), ('"x"', 412), ("1", 412), ("", 412), ('"01"', 412)),
        ('"' + "9" * 5_000 + '"', 412),
    ],
)
def test_a_cancel_of_a_revision(api: ApiUnderTest, if_match: str, status: int) -> None:
    """With If-Match a job is cancelled only in a revision that the client has seen."""
    created = api.create()
    reply = api.call("DELETE", f"/v1/jobs/{created['id']}", headers={"If-Match": if_match})
    assert reply.status == status
    cancelled = api.world.state.jobs[created["id"]].state is JobState.CANCELLED
    assert cancelled == (status == 204)
    if status == 412:
        assert reply.errors == {("If-Match", "revision_mismatch")}


def test_a_completed_job_can_be_cancelled(api: ApiUnderTest) -> None:
    """A cancel after the last run only says so; the record of the run stays."""
    created = api.create(schedule={"delay": "PT0S"})
    run = api.add_run(created["id"], api.world.clock.now_ms(), state=RunState.SUCCEEDED)
    assert api.call("DELETE", f"/v1/jobs/{created['id']}").status == 204
    assert api.world.runs.get(run.key) == run
