"""The stack with IAM enforced: each function does all of its work with the rights of its own role."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from carillon.client import ApiProblem, Client
from carillon_cli.dev.receiver import Answer, Receiver
from e2e.dev_stack import READY_SECONDS, DevStack
from e2e.live import aws_client, checked, ended_runs, eventually, job

EVENTS = Path(__file__).parents[2] / "events"
EVENTS_JOB = "job_01JWNJBZW0000G40R40M30E209"  # the first job in the recorded events
BOUND_SECONDS = 60
SOON = {"delay": "PT2S"}
# Longer than the 20 s after which a worker gives a sign of life, by its own right to hide messages.
LONG_CALL_SECONDS = 22
JOBS = {
    "/high": {"priority": "high"},
    "/low": {"priority": "low"},
    "/long-lane": {"target": {"timeout": "PT2M"}},
    "/long-call": {"target": {"timeout": "PT45S"}},
    "/retried": {"retry": {"max_attempts": 3, "base": "PT1S", "jitter": "none"}},
}

pytestmark = pytest.mark.timeout(READY_SECONDS + 180)


def test_no_function_lacks_a_right(new_stack: Callable[..., DevStack], tmp_path: Path) -> None:
    """Jobs run, retry, are listed, imported and cancelled; ends are recorded and cleared; nobody is denied anything."""
    stack = new_stack("--auth")
    stack.start()
    assert_enforced(stack)
    with Client(stack.url, stack.api_key) as client, Receiver(stack.signing_secret) as receiver:
        assert_jobs_run(client, receiver)
        assert_a_message_is_sent(stack, client)
        assert_a_failure_is_told(client, receiver)
        assert_an_upload_is_sent_and_removed(stack, client, receiver, tmp_path)
        assert_jobs_are_imported_listed_and_cancelled(stack, client, receiver, tmp_path)
        assert_many_jobs_are_changed(client, receiver)
        assert_ends_are_recorded_and_cleared(stack, client, receiver, tmp_path)
    log = stack.log_of_aws()
    assert [line for line in log.splitlines() if "AccessDenied" in line or "not authorized" in line] == []


def assert_enforced(stack: DevStack) -> None:
    """Somebody without rights is turned away: else this test would say nothing."""
    iam = aws_client(stack.aws_endpoint, "iam")
    iam.create_user(UserName="nobody")
    key = iam.create_access_key(UserName="nobody")["AccessKey"]
    stranger = aws_client(stack.aws_endpoint, "dynamodb", (key["AccessKeyId"], key["SecretAccessKey"]))
    with pytest.raises(ClientError, match="AccessDenied"):
        stranger.scan(TableName=stack.outputs["JobsTable"])


def assert_jobs_run(client: Client, receiver: Receiver) -> None:
    """Every queue, both workers, the sign of life and the retry."""
    receiver.answer("/retried", Answer(503), Answer(200))
    receiver.answer("/long-call", Answer(delay_seconds=LONG_CALL_SECONDS))
    jobs = {path: client.create_job(job(receiver.url(path), SOON, **fields)) for path, fields in JOBS.items()}
    recurring = client.create_job(job(receiver.url("/each-second"), {"every": "PT1S", "max_runs": 3}))
    runs = {path: ended_runs(client, jobs[path]["id"], 1, BOUND_SECONDS) for path in JOBS}
    assert [run["state"] for of_one in runs.values() for run in of_one] == ["succeeded"] * len(JOBS)
    assert [run["attempt"] for run in runs["/retried"]] == [2]
    assert [run["state"] for run in ended_runs(client, recurring["id"], 3, BOUND_SECONDS)] == ["succeeded"] * 3
    checked(receiver.calls())


def assert_a_message_is_sent(stack: DevStack, client: Client) -> None:
    """To the queue that the stage names."""
    url = aws_client(stack.aws_endpoint, "sqs").create_queue(QueueName="jobs-out")["QueueUrl"]
    target = {"type": "queue", "queue_url": url}
    sent = client.create_job({"schedule": SOON, "target": target, "payload": {"n": 1}})
    assert [run["state"] for run in ended_runs(client, sent["id"], 1, BOUND_SECONDS)] == ["succeeded"]


def assert_a_failure_is_told(client: Client, receiver: Receiver) -> None:
    """The end and its notice are one transaction of the worker."""
    receiver.answer("/unknown-there", Answer(404))
    told = {"type": "http", "url": receiver.url("/failed")}
    failing = client.create_job(job(receiver.url("/unknown-there"), SOON, on_failure=told))
    (run,) = ended_runs(client, failing["id"], 1, BOUND_SECONDS)
    assert run["state"] == "dead_lettered"
    assert eventually(lambda: client.run(run["failure_notice"])["state"] == "succeeded", BOUND_SECONDS)


def assert_an_upload_is_sent_and_removed(stack: DevStack, client: Client, receiver: Receiver, folder: Path) -> None:
    """Put by a signed address, copied, read by the worker, removed with its job; a missing one is told as such."""
    body = b"\x00\xff uploaded"
    sent = client.create_job(job(receiver.url("/uploaded"), SOON, payload_ref=client.upload(body, "image/png")))
    assert [run["state"] for run in ended_runs(client, sent["id"], 1, BOUND_SECONDS)] == ["succeeded"]
    assert [call.body for call in receiver.calls() if call.path == "/uploaded"] == [body]
    with pytest.raises(ApiProblem, match="payload_ref"):
        client.create_job(job(receiver.url("/never"), SOON, payload_ref="pay_" + "7" * 26))
    dynamodb, s3 = (aws_client(stack.aws_endpoint, service) for service in ("dynamodb", "s3"))
    dynamodb.delete_item(
        TableName=stack.outputs["JobsTable"], Key={"pk": {"S": f"JOB#{sent['id']}"}, "sk": {"S": "JOB"}}
    )
    event = json.loads((EVENTS / "retention_expired_job.json").read_text())
    for record in event["Records"]:
        record["dynamodb"]["OldImage"] |= {"tenant": {"S": "dev"}, "has_objects": {"BOOL": True}}
    file = folder / "with-objects.json"
    file.write_text(json.dumps(event).replace(EVENTS_JOB, sent["id"]))
    done = stack.carillon("invoke", "retention", str(file), "--json")
    assert json.loads(done.stdout)["answer"] == {"batchItemFailures": []}, done.stdout
    kept = s3.list_objects_v2(Bucket=stack.outputs["PayloadsBucket"], Prefix=f"payloads/dev/{sent['id']}/")
    assert kept["KeyCount"] == 0


def assert_jobs_are_imported_listed_and_cancelled(
    stack: DevStack, client: Client, receiver: Receiver, folder: Path
) -> None:
    """A few schedules by the command; each is found again by its name, and cancelled."""
    table = folder / "few.csv"
    table.write_text("id,kind,expression\nnightly,cron,0 2 * * *\npoll,interval,6h\n")
    done = stack.carillon("jobs", "import", str(table), "--url", receiver.url("/few"), "--json")
    assert (done.returncode, json.loads(done.stdout)["created"]) == (0, 2), done.stderr
    imported = list(client.jobs({"name_prefix": "few/"}))
    assert {each["name"] for each in imported} == {"few/nightly", "few/poll"}
    for each in imported:
        client.cancel_job(each["id"])
        assert client.job(each["id"])["state"] == "cancelled"


def assert_many_jobs_are_changed(client: Client, receiver: Receiver) -> None:
    """Created together and put by name; each action on all of them by the operations function; names are free then."""
    one = job(receiver.url("/crowd"), {"every": "P7D"})
    assert client.create_jobs([{**one, "name": "crowd/1 %"}, {**one, "name": "crowd/2"}])["created"] == 2
    (_, is_new), (_, is_new_again) = client.put_job("crowd/1 %", one), client.put_job("crowd/3", one)
    assert (is_new, is_new_again) == (False, True)
    for action in ("pause", "resume", "trigger", "cancel"):
        operation = client.act_on_jobs(action, {"name_prefix": "crowd/"})["id"]
        assert eventually(lambda: client.operation(operation)["ended_at"] is not None, BOUND_SECONDS)  # noqa: B023 - called at once
        progress = client.operation(operation)["progress"]
        assert (progress["matched"], progress["done"]) == (3, 3), action
    assert client.put_job("crowd/2", one)[1]
    client.cancel_job(next(client.jobs({"name_prefix": "crowd/2", "state": "scheduled"}))["id"])


def assert_ends_are_recorded_and_cleared(stack: DevStack, client: Client, receiver: Receiver, folder: Path) -> None:
    """A dead letter becomes the end of a run; what TTL leaves of a job is removed, and its name is free again."""
    owned = client.create_job(job(receiver.url("/never"), {"delay": "P1D"}, name="of-the-past"))["id"]
    for function, event in (("dead_letters", "dead_letters_batch"), ("dead_letters", "dead_letters_poison_message")):
        assert invoked(stack, function, event, owned, folder) == {"batchItemFailures": []}
    assert [run["state"] for run in client.runs(owned)] == ["dead_lettered"]
    dynamodb = aws_client(stack.aws_endpoint, "dynamodb")
    dynamodb.delete_item(TableName=stack.outputs["JobsTable"], Key={"pk": {"S": f"JOB#{owned}"}, "sk": {"S": "JOB"}})
    assert invoked(stack, "retention", "retention_expired_job", owned, folder) == {"batchItemFailures": []}
    client.create_job(job(receiver.url("/never"), {"delay": "P1D"}, name="of-the-past"))


def invoked(stack: DevStack, function: str, event: str, job_id: str, folder: Path) -> object:
    """What a function answers to a recorded event that is about this job."""
    file = folder / f"{event}.json"
    file.write_text((EVENTS / f"{event}.json").read_text().replace(EVENTS_JOB, job_id))
    done = stack.carillon("invoke", function, str(file), "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["answer"]
