"""A payload that is no text, from a file to the receiver, against the running stack."""

import json
from pathlib import Path

import pytest
import requests

from carillon.client import ApiProblem, Client
from carillon.receiver import verify
from carillon_cli.dev.receiver import Receiver
from e2e.dev_stack import READY_SECONDS, DevStack
from e2e.live import aws_client, ended_runs, job

BOUND_SECONDS = 60
TENANT = "dev"
SOON = {"delay": "PT1S"}
BYTES = b"\x89PNG\r\n\x1a\n\x00\xff" * 2_000 + bytes(range(256))
TYPE = 'image/x-mine; note="a b"'

pytestmark = pytest.mark.timeout(READY_SECONDS + 120)


def test_bytes_and_type_reach_the_receiver(stack: DevStack, client: Client, receiver: Receiver) -> None:
    """Uploaded as the interface says; delivered to the byte, with a signature over these bytes."""
    reference = client.upload(BYTES, TYPE)
    created = client.create_job(job(receiver.url("/uploaded"), SOON, payload_ref=reference))
    assert client.job(created["id"])["payload_ref"] == reference
    (run,) = ended_runs(client, created["id"], 1, BOUND_SECONDS)
    assert run["state"] == "succeeded", run
    (call,) = [each for each in receiver.calls() if each.path == "/uploaded"]
    assert (call.body, call.headers["content-type"]) == (BYTES, TYPE)
    assert call.headers["content-length"] == str(len(BYTES))
    verify(stack.signing_secret, call.headers, call.body)


def test_a_file_by_the_command_line(stack: DevStack, client: Client, receiver: Receiver, tmp_path: Path) -> None:
    """What is no JSON is uploaded and called with under the type of its name."""
    file = tmp_path / "logo.png"
    file.write_bytes(BYTES)
    words = ("jobs", "create", "--delay", "1s", "--url", receiver.url("/from-file"), "--payload-file", str(file))
    done = stack.carillon(*words, "--json")
    assert done.returncode == 0, done.stderr
    (run,) = ended_runs(client, json.loads(done.stdout)["id"], 1, BOUND_SECONDS)
    assert run["state"] == "succeeded", run
    (call,) = [each for each in receiver.calls() if each.path == "/from-file"]
    assert (call.body, call.headers["content-type"]) == (BYTES, "image/png")


def test_a_reference_is_of_one_tenant(stack: DevStack, client: Client, receiver: Receiver) -> None:
    """Another tenant's reference is as good as none, and is named by its field."""
    made = stack.carillon("tenants", "create", "uploading", "--json")
    assert made.returncode == 0, made.stderr
    with Client(stack.url, json.loads(made.stdout)["api_key"]) as other:
        theirs = other.upload(BYTES, TYPE)
    for reference in (theirs, "pay_" + "7" * 26):
        with pytest.raises(ApiProblem) as refused:
            client.create_job(job(receiver.url("/never"), SOON, payload_ref=reference))
        assert [(each.where, each.code) for each in refused.value.errors] == [("/payload_ref", "no_such_upload")]


def test_a_payload_that_is_gone(stack: DevStack, client: Client, receiver: Receiver) -> None:
    """The run is a dead letter with a code, after one attempt, and nobody was called without a body."""
    created = client.create_job(job(receiver.url("/gone"), {"delay": "P1D"}, payload_ref=client.upload(BYTES, TYPE)))
    s3, bucket = aws_client(stack.aws_endpoint, "s3"), stack.outputs["PayloadsBucket"]
    prefix = f"payloads/{TENANT}/{created['id']}/"
    (kept,) = s3.list_objects_v2(Bucket=bucket, Prefix=prefix)["Contents"]
    s3.delete_object(Bucket=bucket, Key=kept["Key"])
    client.trigger_job(created["id"])
    (run,) = ended_runs(client, created["id"], 1, BOUND_SECONDS)
    assert (run["state"], run["reason"], run["attempt"]) == ("dead_lettered", "payload_missing", 1)
    assert [each for each in receiver.calls() if each.path == "/gone"] == []
    client.cancel_job(created["id"])


def test_the_address_takes_what_was_asked_for(client: Client) -> None:
    """A plain HTTP client can put by the answer alone: address, method and headers are all in it."""
    leave = client.invite_upload("text/plain", 5)
    put = requests.request(leave["method"], leave["url"], data=b"hello", headers=leave["headers"], timeout=10)
    assert put.status_code == 200, put.text
