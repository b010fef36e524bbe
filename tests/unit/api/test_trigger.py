"""POST /v1/jobs/{id}/trigger."""

import re
from dataclasses import replace

import pytest

from carillon.domain.job import JobState
from carillon.domain.planning import DueRun
from support.api import ApiUnderTest, assert_refused

NOW = "2026-09-21T14:13:20.000Z"


@pytest.mark.parametrize("prepared", [None, "pause"])
def test_a_manual_run_is_queued_at_once(api: ApiUnderTest, prepared: str | None) -> None:
    """202 with the run and where it is; it waits in the due index, and the job's plan is as before, paused or not."""
    created = api.create(schedule={"cron": "0 2 * * *"}, priority="high", target__timeout="PT5M")
    if prepared:
        api.call("POST", f"/v1/jobs/{created['id']}/{prepared}")
    job = api.world.state.jobs[created["id"]]
    reply = api.call("POST", f"/v1/jobs/{created['id']}/trigger")
    assert reply.status == 202
    run = reply.json
    assert re.fullmatch(rf"{created['id']}@20260921T141320000Z~[0-9A-HJKMNP-TV-Z]{{4}}", run["id"])
    assert reply.headers["location"] == f"/v1/runs/{run['id']}"
    assert (run["state"], run["attempt"], run["scheduled_for"], run["next_attempt_at"]) == ("queued", 0, NOW, NOW)
    assert api.call("GET", reply.headers["location"]).json == run
    assert api.world.state.jobs[created["id"]] == job
    [page] = api.world.due.pages(job.shard, api.world.clock.now_ms())
    [entry] = page
    assert isinstance(entry, DueRun)
    assert (entry.name, entry.wait, entry.lane, entry.priority) == (run["id"].split("@")[1], 1, "long", "high")


def test_b251_manual_and_scheduled_runs_are_listed_together(api: ApiUnderTest) -> None:
    """B251: both are shown, newest first."""
    created = api.create(schedule={"every": "PT1M"})
    api.add_run(created["id"], api.world.clock.now_ms())
    api.world.clock.advance(1_000)
    manual = api.call("POST", f"/v1/jobs/{created['id']}/trigger").json
    listed = api.call("GET", f"/v1/jobs/{created['id']}/runs").json["data"]
    assert [run["id"] for run in listed] == [manual["id"], f"{created['id']}@20260921T141320000Z"]
    assert api.call("GET", f"/v1/jobs/{created['id']}").json == created


@pytest.mark.parametrize("state", list(JobState))
def test_which_jobs_run_by_hand(api: ApiUnderTest, state: JobState) -> None:
    """All but cancelled ones, for which the answer is 409."""
    job_id = api.create(schedule={"delay": "PT1M"})["id"]
    api.world.state.put_job(replace(api.world.state.jobs[job_id], state=state, next_fire_time=None))
    reply = api.call("POST", f"/v1/jobs/{job_id}/trigger", {})
    if state is not JobState.CANCELLED:
        assert reply.status == 202
        return
    assert_refused(reply, 409, set())
    assert reply.json["code"] == "job_finished"
    assert not api.world.state.runs[job_id]
