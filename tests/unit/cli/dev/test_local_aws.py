"""The local AWS as a process: what a killed one keeps, how it ends, what it inherits."""

import http.client
import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from botocore.session import get_session

from carillon_cli.dev.aws import LocalAws
from carillon_cli.dev.errors import UNREACHABLE, DevError
from carillon_cli.dev.local_aws.settings import Settings, arguments, environment
from carillon_cli.dev.ports import aws_port, is_free
from carillon_cli.dev.project import CREDENTIALS, REGION
from carillon_cli.dev.workspace import Workspace, workspace

PLACE = Settings(14500, Path("/place/aws"), keeps=True, enforces=False)


@pytest.fixture
def area(tmp_path: Path) -> Iterator[Workspace]:
    """A folder for one."""
    with workspace(tmp_path / "state") as opened:
        yield opened


@pytest.fixture
def aws(area: Workspace) -> Iterator[LocalAws]:
    """A ready local AWS that keeps its state; ended in any case."""
    started = start(area, aws_port())
    yield started
    started.stop()


def start(area: Workspace, port: int) -> LocalAws:
    """Start one and wait for it."""
    started = LocalAws(Settings(port, area.aws, keeps=True, enforces=False), area)
    try:
        started.wait_ready(threading.Event())
    except BaseException:
        started.stop()
        raise
    return started


def client(aws: LocalAws, service: str) -> Any:
    """A client for it."""
    return get_session().create_client(
        service,
        region_name=REGION,
        endpoint_url=aws.endpoint,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )


def fill(aws: LocalAws) -> str:
    """A table with an item and a queue with a delayed message; returns the queue's URL."""
    dynamodb, sqs = client(aws, "dynamodb"), client(aws, "sqs")
    dynamodb.create_table(
        TableName="jobs",
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        BillingMode="PAY_PER_REQUEST",
    )
    url: str = sqs.create_queue(QueueName="work")["QueueUrl"]
    aws.checkpoint()
    dynamodb.put_item(TableName="jobs", Item={"pk": {"S": "1"}, "raw": {"B": b"\x00\xff"}})
    sqs.send_message(QueueUrl=url, MessageBody="later", DelaySeconds=1)
    return url


def found(aws: LocalAws, queue_url: str) -> tuple[Any, str]:
    """The item and the message."""
    item = client(aws, "dynamodb").get_item(TableName="jobs", Key={"pk": {"S": "1"}})["Item"]
    messages = client(aws, "sqs").receive_message(QueueUrl=queue_url, WaitTimeSeconds=10)["Messages"]
    return item, messages[0]["Body"]


@pytest.mark.parametrize("orderly", [True, False], ids=["SIGTERM", "SIGKILL"])
def test_a_restart_finds_items_and_messages(aws: LocalAws, area: Workspace, *, orderly: bool) -> None:
    """What was settled survives an orderly end as well as a killed process, binary values and delays included."""
    url = fill(aws)
    if orderly:
        aws.stop()
    else:
        aws.settle()
        os.killpg(aws.child.pid, signal.SIGKILL)
        aws.stop()
    again = start(area, aws.settings.port)
    try:
        assert found(again, url) == ({"pk": {"S": "1"}, "raw": {"B": b"\x00\xff"}}, "later")
    finally:
        again.stop()


def test_stopping_leaves_nothing(aws: LocalAws, area: Workspace) -> None:
    """Process, port and temporary files are gone afterwards."""
    aws.stop()
    assert is_free(aws.settings.port)
    assert not (area.aws / "tmp").exists()


def test_one_that_ends_early_is_told_with_its_log(aws: LocalAws, area: Workspace) -> None:
    """One that finds its port taken ends by itself; the message brings the end of its log."""
    second = LocalAws(replace(aws.settings, directory=area.root / "second"), area)
    try:
        second.child.wait(60, threading.Event())
        aws.stop()  # else the first one would answer for the second
        with pytest.raises(DevError, match="did not start") as failure:
            second.wait_ready(threading.Event())
    finally:
        second.stop()
    assert failure.value.exit_code == UNREACHABLE
    assert "in use" in failure.value.log_tail


def test_a_save_that_nobody_answers_is_told(aws: LocalAws) -> None:
    """Settling is a courtesy and gives up quietly; a checkpoint is needed and does not."""
    aws.stop()
    aws.settle()
    with pytest.raises(DevError, match="could not save"):
        aws.checkpoint()


def test_unknown_paths_are_aws(aws: LocalAws) -> None:
    """Only our own two paths are ours."""
    connection = http.client.HTTPConnection("127.0.0.1", aws.settings.port, timeout=10)
    connection.request("GET", "/_ministack/health")
    assert connection.getresponse().status == 200
    connection.close()


def test_functions_inherit_nothing_of_the_callers_environment() -> None:
    """No key, profile or proxy of the caller reaches the local AWS and its functions."""
    inherited = {"PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "real", "HTTP_PROXY": "http://p", "CARILLON_API_KEY": "k"}
    env = environment(PLACE, inherited)
    assert env["PATH"] == "/bin"
    assert env["AWS_SECRET_ACCESS_KEY"] == "test"
    assert env["AWS_ENDPOINT_URL"] == "http://127.0.0.1:14500"
    assert not {"HTTP_PROXY", "CARILLON_API_KEY"} & env.keys()


@pytest.mark.parametrize(("keeps", "value"), [(True, "1"), (False, "0")])
def test_state_is_kept_only_when_wanted(*, keeps: bool, value: str) -> None:
    """Without --state neither tables nor objects are written."""
    env = environment(replace(PLACE, keeps=keeps), {})
    assert (env["PERSIST_STATE"], env["S3_PERSIST"]) == (value, value)


def test_iam_is_enforced_only_when_wanted() -> None:
    """`--auth` reaches ministack."""
    assert environment(replace(PLACE, enforces=True), {})["AUTH"] == "true"
    assert "--enforce" in arguments(replace(PLACE, enforces=True))
    assert "--no-enforce" in arguments(PLACE)
