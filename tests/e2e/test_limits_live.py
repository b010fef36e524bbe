"""Limits of tenants against the running stack: exact under a crowd, free again after every ending."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from carillon.client import ApiProblem, Client
from carillon_cli.dev.receiver import Receiver
from e2e.dev_stack import READY_SECONDS, DevStack
from e2e.live import eventually, job

BOUND_SECONDS = 60
LIMIT, THERE, AT_ONCE = 10, 9, 20
FAR = {"every": "P7D"}

pytestmark = pytest.mark.timeout(READY_SECONDS + 180)


def created_tenant(stack: DevStack, name: str, *options: str) -> str:
    """A tenant of its own with limits; its key."""
    made = stack.carillon("tenants", "create", name, *options, "--json")
    assert made.returncode == 0, made.stderr
    key: str = json.loads(made.stdout)["api_key"]
    return key


def outcome(client: Client, wanted: dict[str, Any]) -> str:
    """What becomes of a creation: the limit that is reached, or the id of the job."""
    try:
        return client.create_job(wanted)["id"]
    except ApiProblem as problem:
        return str(problem.members["limit"])


def used(client: Client) -> int:
    """How many jobs count."""
    return client.limits()["usage"]["jobs"]


def test_b236_one_of_twenty_gets_the_last_place(stack: DevStack, client: Client, receiver: Receiver) -> None:
    """Nine of ten exist, twenty are created at once; every ending frees a place; the neighbour notices nothing."""
    key = created_tenant(stack, "crowded", "--jobs", str(LIMIT))
    far = job(receiver.url("/never"), FAR)
    with Client(stack.url, key) as crowded:
        ids = [outcome(crowded, far) for _ in range(THERE)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            outcomes = list(pool.map(lambda _: outcome(crowded, far), range(AT_ONCE)))
        assert outcomes.count("jobs") == AT_ONCE - 1
        assert used(crowded) == LIMIT == len(list(crowded.jobs({"state": "scheduled"})))
        client.cancel_job(client.create_job(far)["id"])

        crowded.cancel_job(ids[0])
        assert eventually(lambda: used(crowded) == THERE, BOUND_SECONDS)
        soon = crowded.create_job(job(receiver.url("/soon"), {"delay": "PT1S"}))["id"]
        assert outcome(crowded, far) == "jobs"
        assert eventually(lambda: used(crowded) == THERE, BOUND_SECONDS)
        assert crowded.job(soon)["state"] == "dispatched"
        crowded.pause_job(ids[1])
        assert outcome(crowded, far) != "jobs"
        assert used(crowded) == LIMIT

        recounted = stack.carillon("tenants", "recount", "crowded", "--json")
        assert json.loads(recounted.stdout) == {
            "tenant": "crowded",
            "before": LIMIT,
            "jobs": LIMIT,
            "uncounted": 0,
            "changed": False,
        }


def test_limits_are_changed_by_the_operator(stack: DevStack, receiver: Receiver) -> None:
    """A limit of jobs holds at once, whatever the functions remember."""
    key = created_tenant(stack, "changing", "--create-rate", "0.01", "--create-burst", "2", "--payload-bytes", "64")
    far = job(receiver.url("/never"), FAR)
    with Client(stack.url, key) as changing:
        assert outcome(changing, {**far, "payload": "x" * 63}) == "payload_bytes"
        first = outcome(changing, far)
        changed = stack.carillon("tenants", "limits", "changing", "--jobs", "1", "--json")
        assert json.loads(changed.stdout)["jobs"] == 1
        assert outcome(changing, far) == "jobs"
        assert changing.job(first)["state"] == "scheduled"
    unlimited = stack.carillon("tenants", "limits", "changing", "--no-jobs", "--json")
    assert json.loads(unlimited.stdout)["jobs"] is None
