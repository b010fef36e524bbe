"""Who is told of a failure, from the API to the notice, against the running stack."""

import json

import pytest

from carillon.client import Client
from carillon.receiver import verify
from carillon_cli.dev.receiver import Answer, Receiver
from e2e.dev_stack import READY_SECONDS, DevStack
from e2e.live import Json, aws_client, checked, ended_runs, eventually, job

BOUND_SECONDS = 60
SOON = {"delay": "PT1S"}
QUEUE = "jobs-out"

pytestmark = pytest.mark.timeout(READY_SECONDS + 180)


def test_a_failure_is_told_by_a_call_and_by_a_message(stack: DevStack, client: Client, receiver: Receiver) -> None:
    """Each notice is signed, names the run that failed, and has a record of its own that says that it was told."""
    receiver.answer("/work", Answer(404))
    sqs = aws_client(stack.aws_endpoint, "sqs")
    queue_url = sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
    by_call = {"type": "http", "url": receiver.url("/failed")}
    by_message = {"type": "queue", "queue_url": queue_url}
    jobs = [
        client.create_job(job(receiver.url("/work"), SOON, payload={"secret": 1}, on_failure=told))
        for told in (by_call, by_message)
    ]
    runs = [ended_runs(client, each["id"], 1, BOUND_SECONDS)[0] for each in jobs]
    assert [(run["state"], run["reason"]) for run in runs] == [("dead_lettered", "http_status")] * 2
    messages: list[Json] = []

    def arrived() -> bool:
        answer = sqs.receive_message(QueueUrl=queue_url, MaxNumberOfMessages=10, MessageAttributeNames=["All"])
        messages.extend(answer.get("Messages", []))
        return bool(messages) and any(call.path == "/failed" for call in receiver.calls())

    assert eventually(arrived, BOUND_SECONDS)
    (call,) = checked([each for each in receiver.calls() if each.path == "/failed"])
    (message,) = messages
    verify(stack.signing_secret, message["MessageAttributes"], message["Body"])
    for run, told in zip(runs, (call.body, message["Body"]), strict=True):
        document = json.loads(told)
        assert (document["type"], document["run_id"]) == ("run.dead_lettered", run["id"])
        assert (document["reason"], document["last_attempt"]["status"]) == ("http_status", 404)
        assert "secret" not in document
        notice_id = run["failure_notice"]
        assert eventually(lambda known=notice_id: client.run(known)["state"] == "succeeded", BOUND_SECONDS)
        assert client.run(notice_id)["notice_of"] == run["id"]
    sqs.delete_queue(QueueUrl=queue_url)


def test_a_tenant_has_failures_of_all_jobs_told(stack: DevStack, client: Client, receiver: Receiver) -> None:
    """A job that names nobody is told of to whom the tenant has named; a job that names somebody, to them alone."""
    receiver.answer("/work", Answer(404))
    assert client.name_failure_target({"type": "http", "url": receiver.url("/all")})["target"]
    try:
        created = [
            client.create_job(job(receiver.url("/work"), SOON, **told))
            for told in ({}, {"on_failure": {"type": "http", "url": receiver.url("/own")}})
        ]
        runs = [ended_runs(client, each["id"], 1, BOUND_SECONDS)[0] for each in created]

        def told_at(path: str) -> list[str]:
            return [json.loads(call.body)["run_id"] for call in receiver.calls() if call.path == path]

        assert eventually(lambda: bool(told_at("/all") and told_at("/own")), BOUND_SECONDS)
        assert (told_at("/all"), told_at("/own")) == ([runs[0]["id"]], [runs[1]["id"]])
        assert client.run(runs[0]["failure_notice"])["notice_of"] == runs[0]["id"]
        (call,) = checked([each for each in receiver.calls() if each.path == "/all"])
        verify(stack.signing_secret, dict(call.headers), call.body)
    finally:
        client.remove_failure_target()
    assert client.failure_target() == {"target": None}
