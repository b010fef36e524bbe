"""A local stack with kept state: killed, orphaned and stopped, and each time found again as it was."""

import os
import signal
import time
from collections.abc import Callable
from typing import Any

import pytest

from carillon.client import Client
from carillon_cli.dev.ports import is_free
from carillon_cli.dev.receiver import Receiver
from e2e.dev_stack import READY_SECONDS

DUE_SECONDS = 20
BOUND_SECONDS = 60


def eventually(truth: Callable[[], bool]) -> bool:
    """Whether it becomes true within a bounded time."""
    deadline = time.monotonic() + BOUND_SECONDS
    while not truth():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def job(url: str, seconds: int) -> dict[str, Any]:
    """A job that is due once."""
    return {"schedule": {"delay": f"PT{seconds}S"}, "target": {"type": "http", "url": url}, "payload": {"n": 1}}


def gone(pid: int) -> bool:
    """Whether a process has ended."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.mark.timeout(READY_SECONDS + 360)
def test_accepted_means_it_will_run_whatever_is_killed(new_stack: Callable[..., Any]) -> None:
    """A job whose 201 came survives a power cut right after it: after the restart it is called back, once."""
    stack = new_stack()
    stack.start()
    with Receiver(stack.signing_secret) as receiver:
        with Client(stack.url, stack.api_key) as client:
            created = client.create_job(job(receiver.url("/once"), DUE_SECONDS))
        key = stack.api_key
        stack.kill()

        stack.start()
        assert stack.api_key == key
        [call] = receiver.wait_for(1, DUE_SECONDS + BOUND_SECONDS)
        assert (call.job_id, call.problem) == (created["id"], None)
        with Client(stack.url, key) as client:
            assert eventually(lambda: [run["state"] for run in client.runs(created["id"])] == ["succeeded"])

        # The command is killed, the rest is not: the local AWS notices, saves and ends by itself.
        aws = int((stack.state / "aws-pid").read_text())
        os.kill(stack.pid, signal.SIGKILL)
        assert eventually(lambda: gone(aws))

        stack.start()
        with Client(stack.url, key) as client:
            assert [run["state"] for run in client.runs(created["id"])] == ["succeeded"]
        port = int(stack.url.rsplit(":", 1)[1])
        os.kill(stack.pid, signal.SIGTERM)
        assert stack.wait_ended() == 0
        assert is_free(port)
        assert len(receiver.calls()) == 1
