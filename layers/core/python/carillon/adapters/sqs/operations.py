"""The queue of operations in SQS."""

from collections.abc import Callable
from typing import Any, Final

from carillon.adapters.aws import ask
from carillon.domain.messages import OperationMessage

INDEX_LAG_SECONDS: Final = 2
"""The list of jobs may lag by about a second: what was created just before an operation is to be in it."""


class SqsOperationQueue:
    """What has operations carried on. `client` makes a client when one is needed: few requests do."""

    def __init__(self, client: Callable[[], Any], url: str) -> None:
        self._client = client
        self._url = url

    def send(self, message: OperationMessage) -> None:
        """Have an operation carried on, in the group of its tenant, so that a large one delays no other tenant's."""
        ask(
            self._client().send_message,
            QueueUrl=self._url,
            MessageBody=message.encode(),
            MessageGroupId=message.tenant,
            DelaySeconds=INDEX_LAG_SECONDS,
        )
