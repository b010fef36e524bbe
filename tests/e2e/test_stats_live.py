"""Statistics of the running stack: what became of runs is counted from the table's stream, exactly."""

import pytest

from carillon.client import Client
from carillon_cli.dev.receiver import Answer, Receiver
from e2e.dev_stack import READY_SECONDS, DevStack
from e2e.live import eventually, job
from e2e.test_limits_live import created_tenant

BOUND_SECONDS = 90

pytestmark = pytest.mark.timeout(READY_SECONDS + 180)


def test_runs_are_counted_as_they_ended(stack: DevStack, receiver: Receiver) -> None:
    """Three succeed, one of them at its second attempt, two are given up; another tenant's are not among them."""
    receiver.answer("/gone", *[Answer(404)] * 2)
    receiver.answer("/again", Answer(503), Answer(200))
    soon = {"delay": "PT1S"}
    with (
        Client(stack.url, created_tenant(stack, "counted")) as counted,
        Client(stack.url, created_tenant(stack, "beside")) as beside,
    ):
        beside.create_job(job(receiver.url("/ok"), soon))
        for path in ("/ok", "/ok", "/gone", "/gone"):
            counted.create_job(job(receiver.url(path), soon))
        counted.create_job(job(receiver.url("/again"), soon, retry={"base": "PT1S", "jitter": "none"}))
        assert eventually(lambda: counted.statistics()["runs"]["total"] == 5, BOUND_SECONDS)
        told = counted.statistics()
        assert (told["runs"]["succeeded"], told["runs"]["dead_lettered"]) == (3, 2)
        assert told["attempts"] == 6
        assert eventually(lambda: beside.statistics()["runs"]["total"] == 1, BOUND_SECONDS)
