"""Jobs that are paused and edited across their fires: told once, for tests and for whoever wants to see the histories.

Each story asserts what it claims and gives the history that proves it.
"""

from datetime import datetime, timedelta
from typing import Literal

from carillon.client import etag

from .histories import SETTLE_SECONDS, History, Stage, assert_called_back, grid, history, instant, settled, succeeded
from .live import ended_runs, eventually, job, wait_until

PAUSE = timedelta(seconds=9)


def paused_across_fires(stage: Stage, *, catch_up: bool) -> History:
    """B148, B149, B152: nothing fires while paused, though it was sent ahead; then from now on, or by the policy."""
    path, every = f"/paused-{catch_up}", timedelta(seconds=2)
    fields = {"misfire_policy": "fire_once", "misfire_grace": "PT1S"}
    created = stage.client.create_job(job(stage.receiver.url(path), {"every": "PT2S"}, **fields))
    assert succeeded(stage, created["id"], 2)
    paused = stage.client.pause_job(created["id"])
    paused_at = instant(paused["updated_at"])
    assert (paused["state"], paused["next_fire_time"]) == ("paused", None)
    wait_until(paused_at + PAUSE)
    resumed = stage.client.resume_job(created["id"], catch_up=catch_up)
    resumed_at = instant(resumed["updated_at"])
    before = len(history(stage, created["id"]).of("succeeded"))
    assert succeeded(stage, created["id"], before + 2)

    past = settled(stage, created["id"])
    times = past.covered(every)
    assert set(times.values()) == {1}
    assert [*times] == grid(min(times), max(times), every)
    fired_in_pause = [at for at in past.of("succeeded") if paused_at < at <= resumed_at]
    assert len(fired_in_pause) <= (2 if catch_up else 0)  # the latest missed one, and one within its grace
    assert bool(fired_in_pause) == catch_up
    reasons = {run["reason"] for run in past.runs if run["state"] == "skipped"}
    assert reasons == ({"misfire"} if catch_up else {"paused"})
    assert_called_back(stage, path, past)
    return past


def single_run_paused_across_its_fire(stage: Stage, policy: Literal["fire_once", "skip"]) -> History:
    """B148, B151: never fired while paused; after the resume it runs late, or is recorded as missed."""
    state, job_state = {"fire_once": ("succeeded", "dispatched"), "skip": ("skipped", "completed")}[policy]
    path, fields = f"/once-{policy}", {"misfire_policy": policy, "misfire_grace": "PT1S"}
    created = stage.client.create_job(job(stage.receiver.url(path), {"delay": "PT4S"}, **fields))
    stage.client.pause_job(created["id"])
    wait_until(instant(created["next_scheduled_for"]) + timedelta(seconds=4))
    assert (stage.receiver.calls(path), list(stage.client.runs(created["id"]))) == ([], [])
    stage.client.resume_job(created["id"])
    [run] = ended_runs(stage.client, created["id"], 1, SETTLE_SECONDS)
    assert (run["state"], run["scheduled_for"]) == (state, created["next_scheduled_for"])
    assert eventually(lambda: stage.client.job(created["id"])["state"] == job_state, SETTLE_SECONDS)
    assert len(stage.receiver.calls(path)) == (state == "succeeded")
    return History((run,))


def edited_across_fires(stage: Stage) -> tuple[History, datetime]:
    """B133, B137: the old rule answers up to the edit, the new one behind it, though the old fires were sent ahead.

    Returns:
        The history, and the instant of the edit.
    """
    path, before, after = "/edited", timedelta(seconds=3), timedelta(seconds=5)
    created = stage.client.create_job(job(stage.receiver.url(path), {"every": "PT3S"}, name="edited"))
    first = instant(created["next_scheduled_for"])
    assert succeeded(stage, created["id"], 3)
    seen = stage.client.job(created["id"])
    patch = {"schedule": {"every": "PT5S"}, "name": "edited-since", "payload": {"n": 1.50}}
    edited = stage.client.update_job(created["id"], patch, if_match=etag(seen))
    edited_at = instant(edited["updated_at"])
    assert instant(edited["next_scheduled_for"]) == edited_at + after
    assert succeeded(stage, created["id"], len(history(stage, created["id"]).of("succeeded")) + 3)

    past = settled(stage, created["id"])
    old = [at for at in past.of("succeeded") if at <= edited_at]
    new = [at for at in past.of("succeeded") if at > edited_at]
    assert old == grid(first, edited_at, before)
    assert new == grid(edited_at + after, new[-1], after)
    assert {run["state"] for run in past.runs} <= {"succeeded", "cancelled"}
    assert_called_back(stage, path, past)
    bodies = {instant(call.headers["carillon-scheduled-for"]): call.body for call in stage.receiver.calls(path)}
    assert bodies[new[-1]] == b'{"n": 1.5}'
    return past, edited_at
