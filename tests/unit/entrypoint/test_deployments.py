"""A deployment asks whether it may go on: what CloudFormation's custom resource is answered."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from carillon.adapters.cloudformation import CloudFormationStacks, answer_at
from carillon.adapters.memory.world import MemoryWorld
from carillon.application.check_shards import CheckShards, FewerShardsError
from carillon.entrypoint.deployments import deployment_handler
from carillon.ports.errors import UnavailableError
from support.deployed import Context

STACK = "arn:aws:cloudformation:eu-west-1:111122223333:stack/Carillon-prod/1b2c"
URL = "https://cloudformation-custom-resource-response-euwest1.s3.amazonaws.test/answer?Signature=x"


def request(kind: str, shards: object) -> dict[str, Any]:
    """What CloudFormation sends: property values are texts."""
    return {
        "RequestType": kind,
        "RequestId": "f0e1",
        "ResponseURL": URL,
        "StackId": STACK,
        "ResourceType": "Custom::CarillonShards",
        "LogicalResourceId": "Shards",
        "ResourceProperties": {"ServiceToken": "arn:aws:lambda:…", "shards": shards},
    }


class Stacks:
    """CloudFormation, with one stack."""

    def __init__(self, *, rolls_back: bool | None) -> None:
        self._rolls_back = rolls_back

    def is_rolling_back(self, stack_id: str) -> bool:
        """As the test says; None: nobody answers."""
        assert stack_id == STACK
        if self._rolls_back is None:
            raise UnavailableError("no answer")
        return self._rolls_back


def answered(used: int, asked: dict[str, Any], *, rolls_back: bool | None = False) -> dict[str, str]:
    """What a request is answered where so many shards have been used."""
    world = MemoryWorld()
    if used:
        world.shards.raise_to(used)
    answers: list[tuple[str, dict[str, str]]] = []
    handler = deployment_handler(
        CheckShards(world.shards), Stacks(rolls_back=rolls_back), lambda url, answer: answers.append((url, answer))
    )
    handler(asked, Context())
    ((url, answer),) = answers
    assert url == URL
    assert {name: answer.pop(name) for name in ("StackId", "RequestId", "LogicalResourceId")} == {
        "StackId": STACK,
        "RequestId": "f0e1",
        "LogicalResourceId": "Shards",
    }
    assert answer.pop("PhysicalResourceId") == "shards"
    assert world.shards.highest() == used, "the check itself changes nothing"
    return answer


@pytest.mark.parametrize(
    ("used", "kind", "shards"),
    [(0, "Create", "64"), (8, "Create", "8"), (8, "Update", "8"), (8, "Update", "64"), (64, "Delete", "8")],
)
def test_goes_on(used: int, kind: str, shards: str) -> None:
    """A new stage, the same count, a higher one, and the end of a stage."""
    assert answered(used, request(kind, shards)) == {"Status": "SUCCESS"}


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_a_lower_count_is_refused_with_what_is_allowed(kind: str) -> None:
    """The reason, which CloudFormation shows, names the setting, what is wrong and what is allowed."""
    assert answered(64, request(kind, "8")) == {
        "Status": "FAILED",
        "Reason": "shards is 8, and jobs of this stage live on 64: allowed is 64 or more, "
        "since the count may be raised, never lowered",
    }


def test_the_way_back_from_a_failed_deployment_is_open() -> None:
    """One that raised the count and then failed goes back to the lower one; dispatchers scan up to the higher one."""
    assert answered(64, request("Update", "8"), rolls_back=True) == {"Status": "SUCCESS"}


def test_a_stack_that_cannot_be_read_is_not_taken_for_one_that_goes_back() -> None:
    """In doubt, the lower count is refused."""
    assert answered(64, request("Update", "8"), rolls_back=None)["Status"] == "FAILED"


@pytest.mark.parametrize("shards", ["", "many", None])
def test_what_cannot_be_checked_does_not_go_on(shards: object) -> None:
    """CloudFormation is answered at once, without our inner words, instead of waiting for its time-out."""
    assert answered(8, request("Update", shards)) == {
        "Status": "FAILED",
        "Reason": "the shard count could not be checked: see the log of the deployments function",
    }


def test_the_use_case_says_what_has_been_used() -> None:
    """Both counts stand in the error."""
    world = MemoryWorld()
    world.shards.raise_to(16)
    with pytest.raises(FewerShardsError, match="shards is 15, and jobs of this stage live on 16"):
        CheckShards(world.shards)(15)


class Client:
    """CloudFormation's client, with a stack in a state."""

    def __init__(self, status: str) -> None:
        self._status = status

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803 - AWS's name
        """The stack."""
        assert StackName == STACK
        return {"Stacks": [{"StackStatus": self._status}]}


@pytest.mark.parametrize(
    ("status", "rolls_back"),
    [
        ("UPDATE_IN_PROGRESS", False),
        ("CREATE_IN_PROGRESS", False),
        ("UPDATE_ROLLBACK_IN_PROGRESS", True),
        ("ROLLBACK_IN_PROGRESS", True),
    ],
)
def test_the_state_of_a_stack(status: str, *, rolls_back: bool) -> None:
    """The word is AWS's."""
    assert CloudFormationStacks(lambda: Client(status)).is_rolling_back(STACK) is rolls_back


@contextmanager
def waiting(*statuses: int) -> Iterator[tuple[str, list[tuple[str | None, bytes]]]]:
    """A place that answers with these statuses in turn, and what it got: content type and body."""
    got: list[tuple[str | None, bytes]] = []
    answers = list(statuses)

    class Place(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            got.append((self.headers["Content-Type"], self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(answers.pop(0))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Be silent."""

    server = HTTPServer(("127.0.0.1", 0), Place)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/answer?Signature=x", got
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=10)


def test_an_answer_arrives_once_and_without_a_content_type() -> None:
    """The signed address covers an empty one."""
    with waiting(200) as (url, got):
        answer_at(url, {"Status": "SUCCESS"})
    ((content_type, body),) = got
    assert (content_type or "") == ""
    assert json.loads(body) == {"Status": "SUCCESS"}


def test_an_answer_is_put_again_when_it_was_not_taken() -> None:
    """Twice refused, then taken."""
    with waiting(503, 500, 200) as (url, got):
        answer_at(url, {"Status": "SUCCESS"})
    assert len(got) == 3


def test_an_answer_that_is_never_taken_is_an_error() -> None:
    """So that the function fails visibly."""
    with waiting(403, 403, 403) as (url, _), pytest.raises(UnavailableError):
        answer_at(url, {"Status": "SUCCESS"})
