"""The queue of operations in SQS."""

from typing import Any

import pytest
from moto import mock_aws

from carillon.adapters.aws import new_client
from carillon.adapters.sqs.operations import INDEX_LAG_SECONDS, SqsOperationQueue
from carillon.domain.messages import OperationMessage
from carillon.ports.errors import UnavailableError
from contract.backends import a_session

MESSAGE = OperationMessage("acme", "op_1")


def test_a_message_is_sent_in_the_group_of_its_tenant() -> None:
    """Behind the time that the list of jobs may lag; the client is made when it is needed."""
    sent: list[dict[str, Any]] = []

    class Client:
        """Takes note."""

        def send_message(self, **request: Any) -> dict[str, Any]:
            """Send."""
            sent.append(request)
            return {"MessageId": "1"}

    made: list[Client] = []
    queue = SqsOperationQueue(lambda: made.append(Client()) or made[-1], "https://sqs.test/q")  # type: ignore[func-returns-value]
    assert made == []
    queue.send(MESSAGE)
    assert sent == [
        {
            "QueueUrl": "https://sqs.test/q",
            "MessageBody": MESSAGE.encode(),
            "MessageGroupId": "acme",
            "DelaySeconds": INDEX_LAG_SECONDS,
        }
    ]


def test_sqs_takes_it() -> None:
    """A standard queue knows groups, and gives the message back as it was sent."""
    with mock_aws():
        client = new_client(a_session(), "sqs")
        url = client.create_queue(QueueName="operations")["QueueUrl"]
        SqsOperationQueue(lambda: client, url).send(MESSAGE)
        attributes = client.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        assert attributes["ApproximateNumberOfMessagesDelayed"] == "1"


def test_a_queue_that_does_not_answer() -> None:
    """It may or may not have been sent: the request is to be repeated."""
    client = new_client(a_session(), "sqs", endpoint_url="http://127.0.0.1:9", most_attempts=1)
    with pytest.raises(UnavailableError):
        SqsOperationQueue(lambda: client, "http://127.0.0.1:9/q").send(MESSAGE)
