"""Many jobs against the running stack: created in batches, put by their names, paused and run by operations."""

import pytest

from carillon.client import Client
from carillon_cli.dev.receiver import Receiver
from e2e.dev_stack import READY_SECONDS
from e2e.live import Json, checked, eventually, job

BOUND_SECONDS = 90
JOBS = 300
FAR = {"every": "P7D"}

pytestmark = pytest.mark.timeout(READY_SECONDS + 240)


def ended(client: Client, operation: Json) -> Json:
    """The operation at its end, or as it is at the limit."""
    seen: Json = {}

    def is_over() -> bool:
        seen.update(client.operation(operation["id"]))
        return seen["ended_at"] is not None

    assert eventually(is_over, BOUND_SECONDS), seen
    return seen


def test_three_hundred_jobs_are_paused_and_cancelled(client: Client, receiver: Receiver) -> None:
    """Those with the label and no others, each counted once; what is created behind the request is left alone."""
    wanted = {"labels": {"crowd": "bulk"}}
    one = job(receiver.url("/bulk-pause"), FAR, labels={"crowd": "bulk"})
    made = [client.create_jobs([one] * 100) for _ in range(JOBS // 100)]
    assert [batch["created"] for batch in made] == [100] * (JOBS // 100)
    ids = {item["job"]["id"] for batch in made for item in batch["data"]}  # type: ignore[typeddict-item]
    bystander = client.create_job(job(receiver.url("/bulk-pause"), FAR))["id"]

    assert eventually(lambda: client.try_on_jobs("pause", wanted)["progress"]["matched"] == JOBS, BOUND_SECONDS)
    paused = ended(client, dict(client.act_on_jobs("pause", wanted)))
    assert (paused["state"], paused["progress"]["matched"], paused["progress"]["done"]) == ("succeeded", JOBS, JOBS)
    assert {each["id"] for each in client.jobs({"label": "crowd:bulk", "state": "paused"})} == ids
    assert client.job(bystander)["state"] == "scheduled"

    again = client.act_on_jobs("cancel", wanted, idempotency_key="cancel-the-crowd")
    late = client.create_job(one)["id"]
    assert client.act_on_jobs("cancel", wanted, idempotency_key="cancel-the-crowd")["id"] == again["id"]
    assert ended(client, dict(again))["progress"]["done"] == JOBS
    assert client.job(late)["state"] == "scheduled"
    for job_id in (late, bystander):
        client.cancel_job(job_id)


def test_jobs_are_put_by_name_and_run_once_each(client: Client, receiver: Receiver) -> None:
    """Names with slashes come through the gateway; an unchanged job is not written; each is called once."""
    names = [f"bulk/run {number}%" for number in range(5)]
    for name in names:
        created, is_new = client.put_job(name, job(receiver.url("/bulk-run"), FAR))
        assert (created["name"], is_new) == (name, True)
        same, is_new = client.put_job(name, job(receiver.url("/bulk-run"), {"every": "PT168H"}))
        assert (same, is_new) == (created, False)
    run = ended(client, dict(client.act_on_jobs("trigger", {"name_prefix": "bulk/run "})))
    assert run["progress"]["done"] == len(names)
    assert eventually(lambda: len(receiver.calls("/bulk-run")) >= len(names), BOUND_SECONDS)
    calls = checked(receiver.calls("/bulk-run"))
    assert len({call.run_id.partition("@")[0] for call in calls}) == len(calls) == len(names)
    ended(client, dict(client.act_on_jobs("cancel", {"name_prefix": "bulk/run "})))
