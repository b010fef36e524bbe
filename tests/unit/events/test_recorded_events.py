"""The recorded events of `events/`, each handed to its function as the deployment builds it."""

from hashlib import md5
from typing import Any

import pytest

from carillon.adapters.dynamodb import keys
from carillon.adapters.dynamodb.operations import DynamoOperations
from carillon.domain.job import Definition
from carillon.domain.job_filter import JobFilter
from carillon.domain.operations import BulkAction, OperationState, Progress, asked
from carillon.domain.run import RunState
from carillon.receiver import verify
from carillon_cli.dev.receiver import Answer, Receiver
from contract.samples import a_run
from unit.events.conftest import AT_MS, EVENTS, FIRST_JOB, SECOND_JOB, SECRET, TENANT, Deployment, event_of

ALL_DONE = {"batchItemFailures": []}
BY_OTHER_TESTS = "api_"
USED = {
    "dead_letters_batch",
    "dead_letters_poison_message",
    "dispatcher_old_tick",
    "dispatcher_tick",
    "dispatcher_unreadable_tick",
    "operations_message",
    "retention_deleted_job",
    "retention_expired_job",
    "retention_expired_run",
    "ticker_minute",
    "worker_batch",
    "worker_newer_message",
    "worker_poison_message",
    "worker_retry",
}


def failures(event: dict[str, Any], *positions: int) -> dict[str, Any]:
    """The answer that names the messages at these positions as not done."""
    return {"batchItemFailures": [{"itemIdentifier": event["Records"][at]["messageId"]} for at in positions]}


def test_every_event_is_used() -> None:
    """No event lies there that nothing hands over."""
    assert {file.stem for file in EVENTS.iterdir() if not file.stem.startswith(BY_OTHER_TESTS)} == USED


@pytest.mark.parametrize("name", sorted(USED))
def test_messages_are_whole(name: str) -> None:
    """Each message's digest is that of its body, and none comes twice."""
    records = [record for record in event_of(name).get("Records", []) if "body" in record]
    assert [md5(record["body"].encode()).hexdigest() for record in records] == [r["md5OfBody"] for r in records]  # noqa: S324 - SQS's digest
    assert len({record["messageId"] for record in records}) == len(records)


def test_the_minute_of_the_scheduler(deployment: Deployment) -> None:
    """Each minute the ticker sends the ticks of the coming two, one a second."""
    assert deployment.run("ticker_minute") == {"sent": 120}
    assert deployment.run("ticker_minute") == {"sent": 0}


def test_a_tick(deployment: Deployment) -> None:
    """A tick lets the dispatcher send what is due; the job is on its way."""
    deployment.add_job(FIRST_JOB)
    assert deployment.run("dispatcher_tick") == ALL_DONE
    assert [body["job"] for body in deployment.bodies("normal")] == [FIRST_JOB]
    stored = deployment.jobs.get(FIRST_JOB)
    assert stored is not None
    assert stored.job.state == "dispatched"


@pytest.mark.parametrize("name", ["dispatcher_old_tick", "dispatcher_unreadable_tick"])
def test_ticks_that_come_to_nothing(deployment: Deployment, name: str) -> None:
    """A tick that is late or unreadable is done with, and nothing is sent: the next one is a second away."""
    deployment.add_job(FIRST_JOB)
    deployment.clock.advance(60_000)
    assert deployment.run(name) == ALL_DONE
    assert deployment.bodies("normal") == []


def test_a_batch(deployment: Deployment, receiver: Receiver) -> None:
    """The worker calls the target of each message, signed, and records how it went."""
    for job_id in (FIRST_JOB, SECOND_JOB):
        deployment.add_job(job_id, receiver, spec={"payload": b'{"n": 1.0}'})
    assert deployment.run("worker_batch") == ALL_DONE
    for job_id in (FIRST_JOB, SECOND_JOB):
        [call] = receiver.calls(f"/{job_id}")
        verify(SECRET, call.headers, call.body, now_seconds=deployment.clock.now_ms() / 1000)
        run = deployment.record(job_id)
        assert run is not None
        assert (call.run_id, call.body, run.state) == (run.key.run_id, b'{"n": 1.0}', RunState.SUCCEEDED)


def test_a_retry(deployment: Deployment, receiver: Receiver) -> None:
    """The message of a run whose wait is over starts the next attempt of the same run."""
    definition = deployment.add_job(FIRST_JOB, receiver)
    deployment.runs.save(a_run(definition.job, AT_MS, rev=1), seen=None)
    assert deployment.run("worker_retry") == ALL_DONE
    [call] = receiver.calls()
    run = deployment.record(FIRST_JOB)
    assert run is not None
    assert (call.run_id, call.attempt, run.state, run.attempt) == (run.key.run_id, 2, RunState.SUCCEEDED, 2)


def test_a_poison_message(deployment: Deployment, receiver: Receiver) -> None:
    """A message that nobody can read is reported as not done, and its neighbours are called all the same."""
    for job_id in (FIRST_JOB, SECOND_JOB):
        deployment.add_job(job_id, receiver)
    receiver.answer(f"/{SECOND_JOB}", Answer(404))
    assert deployment.run("worker_poison_message") == failures(event_of("worker_poison_message"), 1)
    ends = [deployment.record(job_id) for job_id in (FIRST_JOB, SECOND_JOB)]
    assert [run.state for run in ends if run] == [RunState.SUCCEEDED, RunState.DEAD_LETTERED]


def test_a_message_of_a_newer_version(deployment: Deployment, receiver: Receiver) -> None:
    """What a newer dispatcher wrote is left for a newer worker."""
    deployment.add_job(FIRST_JOB, receiver)
    assert deployment.run("worker_newer_message") == failures(event_of("worker_newer_message"), 0)
    assert (receiver.calls(), deployment.record(FIRST_JOB)) == ([], None)


def test_dead_letters(deployment: Deployment) -> None:
    """Runs whose messages SQS gave up end where people see them: one undeliverable, one whose job is gone."""
    deployment.add_job(FIRST_JOB)
    assert deployment.run("dead_letters_batch") == ALL_DONE
    ends = [deployment.record(job_id) for job_id in (FIRST_JOB, SECOND_JOB)]
    assert [(run.state, run.reason) for run in ends if run] == [
        (RunState.DEAD_LETTERED, "undeliverable"),
        (RunState.DEAD_LETTERED, "job_missing"),
    ]


def test_an_operation(deployment: Deployment) -> None:
    """The function carries the operation of its message to its end; a message whose operation is gone is done with."""
    assert deployment.run("operations_message") == ALL_DONE
    deployment.add_job(FIRST_JOB)
    operation = asked("op_01M8MX0REB67WD2ANKW6N989AG", TENANT, BulkAction.PAUSE, JobFilter(), 2**42)
    operations = DynamoOperations(deployment.database)
    operations.create(operation)
    assert deployment.run("operations_message") == ALL_DONE
    ended = operations.get(TENANT, operation.id)
    assert ended is not None
    assert (ended.state, ended.progress) == (OperationState.SUCCEEDED, Progress(walked=1, matched=1, done=1))
    stored = deployment.jobs.get(FIRST_JOB)
    assert stored is not None
    assert stored.job.state == "paused"


def test_a_dead_letter_that_nobody_can_read(deployment: Deployment) -> None:
    """It is set aside for a person, whole."""
    assert deployment.run("dead_letters_poison_message") == ALL_DONE
    assert deployment.set_aside() == ["<message/>"]


def test_an_expired_job(deployment: Deployment) -> None:
    """When TTL has removed a job's hot half, the other half goes and the name is free."""
    left = named_job_without_its_hot_half(deployment)
    assert deployment.run("retention_expired_job") == ALL_DONE
    assert remains(deployment, left) == (False, False)


@pytest.mark.parametrize("name", ["retention_expired_run", "retention_deleted_job"])
def test_other_removals(deployment: Deployment, name: str) -> None:
    """The removal of a run, and of a job by somebody else than TTL, removes nothing more."""
    left = named_job_without_its_hot_half(deployment)
    assert deployment.run(name) == ALL_DONE
    assert remains(deployment, left) == (True, True)


def named_job_without_its_hot_half(deployment: Deployment) -> Definition:
    """What TTL leaves of a job."""
    definition = deployment.add_job(FIRST_JOB, name="nightly")
    deployment.drop_hot_half(FIRST_JOB)
    return definition


def remains(deployment: Deployment, definition: Definition) -> tuple[bool, bool]:
    """Whether the other half and the name of a job are still there."""
    database = deployment.database
    halves = database.get(database.jobs, item_key(keys.job_pk(definition.job.id), keys.SPEC_SK))
    name = database.get(database.control, item_key(*keys.name_key(definition.job.tenant, "nightly")))
    return halves is not None, name is not None


def item_key(pk: str, sk: str) -> dict[str, dict[str, str]]:
    """A key as DynamoDB writes it."""
    return {"pk": {"S": pk}, "sk": {"S": sk}}
