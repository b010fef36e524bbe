"""A message received from SQS."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from botocore.exceptions import ClientError

from carillon.adapters.aws import ask, error_code
from carillon.adapters.sqs.routing import invisible_seconds

_GONE: Final = frozenset(
    {
        "AWS.SimpleQueueService.MessageNotInflight",
        "InvalidParameterValue",  # the queue's word for a receipt that has run out
        "MessageNotInflight",
        "ReceiptHandleIsInvalid",
    }
)


@dataclass(frozen=True, slots=True)
class SqsDelivery:
    """One receipt of a message."""

    client: Any = field(repr=False)
    queue_url: str
    message_id: str
    body: str
    receipt_handle: str = field(repr=False)

    @classmethod
    def from_record(cls, client: Any, queue_url: str, record: Mapping[str, Any]) -> "SqsDelivery":
        """The delivery in a record of an event source mapping."""
        return cls(client, queue_url, record["messageId"], record["body"], record["receiptHandle"])

    def come_again_after(self, after_ms: int) -> None:
        """Let the message stay invisible for so long from now (rounded up to seconds, at most 12 hours).

        A receipt that has run out can do nothing any more, and has nothing left to do: the message is on its way again.

        Raises:
            UnavailableError: the queue did not answer.
        """
        try:
            ask(
                self.client.change_message_visibility,
                QueueUrl=self.queue_url,
                ReceiptHandle=self.receipt_handle,
                VisibilityTimeout=invisible_seconds(after_ms),
            )
        except ClientError as error:
            if error_code(error) not in _GONE:
                raise
