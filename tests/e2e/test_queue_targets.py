"""Jobs that send to queues, from the API to the message, against the running stack."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from carillon.client import ApiProblem, Client
from carillon.receiver import verify
from e2e.dev_stack import READY_SECONDS, DevStack
from e2e.live import Json, aws_client, ended_runs, eventually

BOUND_SECONDS = 60
SOON = {"delay": "PT1S"}
PAYLOAD = '{ "z":1.0, "name":"Grüße \N{BELL}" }'
NAMES = {"standard": "jobs-out", "fifo": "jobs-out.fifo"}

pytestmark = pytest.mark.timeout(READY_SECONDS + 120)


@dataclass
class LiveQueues:
    """The two queues that the local stage opens, and what has arrived in them."""

    sqs: Any
    urls: dict[str, str] = field(default_factory=dict)
    messages: dict[str, list[Json]] = field(default_factory=lambda: {kind: [] for kind in NAMES})

    def create(self) -> None:
        """Make both."""
        for kind, name in NAMES.items():
            fifo = {"FifoQueue": "true"} if kind == "fifo" else {}
            self.urls[kind] = self.sqs.create_queue(QueueName=name, Attributes=fifo)["QueueUrl"]

    def look(self) -> bool:
        """Take what has arrived; whether each has something."""
        for kind, url in self.urls.items():
            answer = self.sqs.receive_message(
                QueueUrl=url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], AttributeNames=["All"]
            )
            self.messages[kind] += answer.get("Messages", [])
        return all(self.messages.values())


@pytest.fixture(scope="module")
def queues(stack: DevStack) -> Iterator[LiveQueues]:
    """Both queues, there only as long as these tests."""
    made = LiveQueues(aws_client(stack.aws_endpoint, "sqs"))
    made.create()
    yield made
    for url in made.urls.values():
        with suppress(made.sqs.exceptions.QueueDoesNotExist):
            made.sqs.delete_queue(QueueUrl=url)


def sending(url: str, payload: str = PAYLOAD, **fields: Any) -> bytes:
    """The text of a job that sends to a queue."""
    definition = json.dumps({"schedule": SOON, "target": {"type": "queue", "queue_url": url}, **fields})
    return f'{definition[:-1]}, "payload": {payload}}}'.encode()


def test_each_kind_of_queue_gets_one_signed_message(stack: DevStack, client: Client, queues: LiveQueues) -> None:
    """The body is the payload to the byte, the attributes identify and sign it, and the run has succeeded."""
    jobs = {kind: client.create_job(sending(url)) for kind, url in queues.urls.items()}
    assert eventually(queues.look, BOUND_SECONDS)
    for kind, job in jobs.items():
        (run,) = ended_runs(client, job["id"], 1, BOUND_SECONDS)
        queues.look()
        (message,) = queues.messages[kind]
        assert (run["state"], run["attempt"], run["attempts"][0]["status"]) == ("succeeded", 1, 200)
        assert json.loads(run["attempts"][0]["response_excerpt"]) == {"MessageId": message["MessageId"]}
        assert message["Body"] == PAYLOAD
        verify(stack.signing_secret, message["MessageAttributes"], message["Body"])
        assert text_of(message, "webhook-id") == text_of(message, "Idempotency-Key") == run["id"]
        assert text_of(message, "Carillon-Scheduled-For") == run["scheduled_for"]
    in_order = queues.messages["fifo"][0]["Attributes"]
    assert in_order["MessageGroupId"] == jobs["fifo"]["id"]
    assert in_order["MessageDeduplicationId"] == ended_runs(client, jobs["fifo"]["id"], 1, 0)[0]["id"]


def text_of(message: Mapping[str, Any], name: str) -> str:
    """The text of an attribute."""
    text: str = message["MessageAttributes"][name]["StringValue"]
    return text


def test_a_queue_that_is_gone_is_a_dead_letter(client: Client, queues: LiveQueues) -> None:
    """It is told by its code, after one attempt."""
    url = queues.urls.pop("fifo")
    queues.sqs.delete_queue(QueueUrl=url)
    (run,) = ended_runs(client, client.create_job(sending(url))["id"], 1, BOUND_SECONDS)
    assert (run["state"], run["reason"], run["attempt"]) == ("dead_lettered", "queue_missing", 1)


@pytest.mark.parametrize(("queue", "code"), [("HighQueueUrl", "own_queue"), (None, "queue_not_allowed")])
def test_no_other_queue_is_a_target(stack: DevStack, client: Client, queue: str | None, code: str) -> None:
    """The stack's own queues, whose messages its workers believe, and any that the stage does not name."""
    url = stack.outputs[queue] if queue else "https://sqs.us-east-1.amazonaws.com/000000000000/nowhere"
    with pytest.raises(ApiProblem) as refused:
        client.create_job(sending(url))
    assert [error["code"] for error in refused.value.members["errors"]] == [code]
