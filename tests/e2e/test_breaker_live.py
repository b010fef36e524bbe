"""A target that does not answer, and comes back, against the running stack."""

import threading

import pytest

from carillon.client import Client
from carillon_cli.dev.receiver import Answer, Call, Receiver
from e2e.dev_stack import READY_SECONDS, DevStack
from e2e.live import Json, checked, eventually, job

BOUND_SECONDS = 90
JOBS = 40
SOON = {"delay": "PT2S"}
PATIENT = {"max_attempts": 50, "base": "PT2S", "max_delay": "PT10S", "jitter": "none"}

pytestmark = pytest.mark.timeout(READY_SECONDS + 3 * BOUND_SECONDS)


def the_runs(client: Client, jobs: list[str]) -> list[Json]:
    """The runs of all jobs that have one."""
    return [run for job_id in jobs for run in client.runs(job_id)]


def test_runs_wait_for_a_target_and_come_back_with_it(stack: DevStack, client: Client) -> None:
    """While it is down, runs wait untried; once it answers they are called, signed and only once each."""
    is_well = threading.Event()

    def mood(_call: Call) -> Answer:
        return Answer(200 if is_well.is_set() else 503)

    with Receiver(stack.signing_secret, mood) as receiver:
        jobs = [client.create_job(job(receiver.url("/"), SOON, retry=PATIENT))["id"] for _ in range(JOBS)]

        def waiting() -> list[Json]:
            return [run for run in the_runs(client, jobs) if run.get("reason") == "target_unavailable"]

        assert eventually(lambda: len(waiting()) >= JOBS // 2, BOUND_SECONDS)
        calls_when_open = len(receiver.calls())
        assert calls_when_open < JOBS * 3, "without a breaker each run would be tried again and again"
        assert {run["state"] for run in waiting()} <= {"queued", "retrying"}
        is_well.set()

        def succeeded() -> list[Json]:
            return [run for run in the_runs(client, jobs) if run["state"] == "succeeded"]

        assert eventually(lambda: len(succeeded()) >= JOBS // 4, BOUND_SECONDS)
        done = succeeded()
        answered = [call.run_id for call in checked(receiver.calls()) if call.run_id in {run["id"] for run in done}]
        assert all(
            answered.count(run["id"]) == len(run["attempts"]) for run in map(client.run, (r["id"] for r in done))
        )
        for job_id in jobs:
            client.cancel_job(job_id)
