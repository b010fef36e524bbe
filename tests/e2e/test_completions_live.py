"""Targets that complete later, on the deployed stack: 202, signs of life, the report, and what comes too late."""

import pytest

from carillon.client import Client
from carillon.receiver import Completion, CompletionError
from carillon_cli.dev.receiver import Answer, Call, Receiver
from tests.e2e.dev_stack import DevStack
from tests.e2e.live import Json, checked, ended_runs, eventually, job

BOUND_SECONDS = 60
ACCEPTED = Answer(status=202)


def once(receiver: Receiver, completion: Json, **target: object) -> Json:
    """A job that runs at once and is completed later."""
    asynchronous = {"completion": {"mode": "async", **completion}, **target}
    retry = {"max_attempts": 2, "base": "PT0S"}
    return job(receiver.url("/work"), {"delay": "PT1S"}, target=asynchronous, retry=retry)


def calls_of(receiver: Receiver, path: str, count: int) -> list[Call]:
    """The calls of a path, as soon as there are so many, each with a right signature."""
    assert eventually(lambda: sum(call.path == path for call in receiver.calls()) >= count, BOUND_SECONDS)
    return checked([call for call in receiver.calls() if call.path == path])


def state_of(client: Client, run_id: str) -> str:
    """The state of a run."""
    return str(client.run(run_id)["state"])


def test_an_attempt_is_completed_with_what_its_call_has_brought(
    stack: DevStack, client: Client, receiver: Receiver
) -> None:
    """Without a key, at the address that it names; the run is awaited meanwhile, and keeps the result."""
    receiver.answer("/work", ACCEPTED)
    created = client.create_job(once(receiver, {"timeout": "PT5M", "heartbeat_timeout": "PT1M"}))
    (call,) = calls_of(receiver, "/work", 1)
    completion = Completion.of(call.headers, api_url=stack.url)
    assert eventually(lambda: state_of(client, call.run_id) == "awaiting_completion", BOUND_SECONDS)
    before = client.run(call.run_id)["awaiting"]
    beaten = completion.heartbeat()
    assert beaten["heartbeat_due_at"] > before["heartbeat_due_at"]
    assert beaten["completion_due_at"] == before["completion_due_at"]
    done = completion.succeeded({"rows": 12})
    assert (done["state"], completion.succeeded({"rows": 12})) == ("succeeded", done)
    (run,) = ended_runs(client, created["id"], 1, BOUND_SECONDS)
    (attempt,) = run["attempts"]
    assert (attempt["status"], attempt["completion"], attempt["result"]) == (202, "succeeded", {"rows": 12})
    with pytest.raises(CompletionError) as late:
        completion.heartbeat()
    assert (late.value.status, late.value.code) == (409, "run_ended")


def test_a_target_that_falls_silent_is_called_again(stack: DevStack, client: Client, receiver: Receiver) -> None:
    """The first attempt has failed by its heartbeat, and its token is stale; the second one is the run's."""
    receiver.answer("/work", ACCEPTED)
    created = client.create_job(once(receiver, {"heartbeat_timeout": "PT1S"}))
    first, second = calls_of(receiver, "/work", 2)[:2]
    assert (first.run_id, first.headers["carillon-attempt"], second.headers["carillon-attempt"]) == (
        second.run_id,
        "1",
        "2",
    )
    with pytest.raises(CompletionError) as stale:
        Completion.of(first.headers, api_url=stack.url).succeeded()
    assert (stale.value.status, stale.value.code) == (409, "stale_attempt")
    assert Completion.of(second.headers, api_url=stack.url).succeeded()["state"] == "succeeded"
    (run,) = ended_runs(client, created["id"], 1, BOUND_SECONDS)
    assert (run["state"], run["attempts"][0]["error"]) == ("succeeded", "heartbeat_timeout")


def test_a_run_that_is_cancelled_is_told_to_its_target(stack: DevStack, client: Client, receiver: Receiver) -> None:
    """Once, with a signature; its completion comes too late."""
    receiver.answer("/work", ACCEPTED)
    client.create_job(once(receiver, {}, cancel_url=receiver.url("/stop")))
    (call,) = calls_of(receiver, "/work", 1)
    assert eventually(lambda: state_of(client, call.run_id) == "awaiting_completion", BOUND_SECONDS)
    assert client.cancel_run(call.run_id)["state"] == "cancelled"
    (told,) = calls_of(receiver, "/stop", 1)
    assert told.headers["webhook-id"] == f"cancel_{call.run_id}"
    assert told.headers["carillon-run-id"] == call.run_id
    with pytest.raises(CompletionError) as late:
        Completion.of(call.headers, api_url=stack.url).succeeded()
    assert late.value.code == "run_ended"


def test_an_operator_completes_with_a_key(stack: DevStack, client: Client, receiver: Receiver) -> None:
    """By the command line, without the token."""
    receiver.answer("/work", ACCEPTED)
    client.create_job(once(receiver, {}))
    (call,) = calls_of(receiver, "/work", 1)
    assert eventually(lambda: state_of(client, call.run_id) == "awaiting_completion", BOUND_SECONDS)
    made = stack.carillon("runs", "complete", call.run_id, "--failed", "--no-retry", "--result", '"by hand"')
    assert made.returncode == 0, made.stderr
    run = client.run(call.run_id)
    assert (run["state"], run["reason"], run["attempts"][0]["result"]) == (
        "dead_lettered",
        "failed_by_target",
        "by hand",
    )
