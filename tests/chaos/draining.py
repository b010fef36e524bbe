"""The end: nothing is left paused or without an end, and everything that is under way comes to its record."""

import threading
import time

from carillon.adapters.dynamodb import keys as k
from carillon.client import ApiProblem, Client
from carillon.domain.run import RunState

from .history import CATCHING_UP, RESUMES
from .stage import Stage

LOOK_SECONDS = 2.0


def end_all(client: Client, stop: threading.Event) -> None:
    """Cancel what would recur for ever, resume every other paused job, cancel the rest of the paused."""
    for number, job in enumerate(list(client.jobs())):
        if stop.is_set():
            return
        is_endless = "run_at" not in job["schedule"]
        if job["state"] == "paused" and number % 3:
            client.resume_job(job["id"], catch_up=job["labels"].get(RESUMES) == CATCHING_UP)
        if is_endless or (job["state"] == "paused" and number % 3 == 0):
            _cancel(client, job["id"])


def _cancel(client: Client, job_id: str) -> None:
    try:
        client.cancel_job(job_id)
    except ApiProblem as problem:
        if problem.code != "job_finished":
            raise


def drained(stage: Stage, bound_seconds: float, stop: threading.Event) -> bool:
    """Wait until nothing is due, under way or in a queue; False if that does not come in time."""
    deadline = time.monotonic() + bound_seconds
    while not _is_empty(stage):
        if time.monotonic() > deadline or stop.wait(LOOK_SECONDS):
            return False
    return True


def _is_empty(stage: Stage) -> bool:
    items = stage.items("JobsTable")
    is_due = any(k.SHARD in item for item in items)
    is_under_way = any(item[k.KIND]["S"] == k.RUN_KIND and not RunState(item[k.STATE]["S"]).has_ended for item in items)
    return not is_due and not is_under_way and not stage.messages()
