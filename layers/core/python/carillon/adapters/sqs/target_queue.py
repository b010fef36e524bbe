"""Sending to the queues of tenants. A client of its own: it gives up sooner, so that a send keeps within its time."""

from collections.abc import Callable
from json import dumps
from threading import Lock
from typing import Any, Final

from botocore.exceptions import ClientError

from carillon.adapters.aws import ask, error_code
from carillon.domain.outcomes import Failure, Outcome, SendRequest, answered, failed
from carillon.domain.queues import QueueAddress
from carillon.domain.targets import TargetPolicy, TargetRefused, check_queue_url
from carillon.ports.edges import Clock
from carillon.ports.errors import UnavailableError

MOST_ATTEMPTS: Final = 1
"""Of a client for these sends. One whose answer was lost may have arrived: whether to send again, as another attempt,
is for the job's own rules to say."""

ANSWER_SECONDS: Final = 5.0
"""This and the connecting is less than a send may take."""

_SENT: Final = 200
_MISSING: Final = frozenset({"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"})
_DENIED: Final = frozenset(
    {"AccessDenied", "AccessDeniedException", "KMS.AccessDeniedException", "KmsAccessDenied", "KmsDisabled"}
)
_LATER: Final = frozenset(
    {
        "ExpiredToken",  # these are about our own keys, which are renewed
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "KMS.ThrottlingException",
        "KmsThrottled",
        "RequestExpired",
        "UnrecognizedClientException",
    }
)


class SqsSender:
    """Sends to queues that the stage has opened to a tenant; may be shared by any number of threads."""

    def __init__(self, clock: Clock, policy: TargetPolicy, client_in: Callable[[str], Any]) -> None:
        """Prepare sends.

        Args:
            clock: the present.
            policy: what the stage allows.
            client_in: makes a client for a region (empty: the function's own). Asked once for each region.
        """
        self._clock = clock
        self._policy = policy
        self._client_in = client_in
        self._clients: dict[str, Any] = {}
        self._lock = Lock()

    def send(self, request: SendRequest) -> Outcome:
        """See `ports.Sender`."""
        started_ms = self._clock.now_ms()
        try:
            message_id = self._sent(request)
        except _NotSentError as error:
            return failed(error.failure, started_ms=started_ms, duration_ms=self._clock.now_ms() - started_ms)
        return answered(
            status=_SENT,
            body=dumps({"MessageId": message_id}).encode(),
            started_ms=started_ms,
            duration_ms=self._clock.now_ms() - started_ms,
        )

    def _sent(self, request: SendRequest) -> str:
        """Send; the name that the queue gave the message."""
        queue = self._checked(request)
        try:
            return str(ask(self._client(queue.region).send_message, **_message(request, queue))["MessageId"])
        except UnavailableError as error:
            raise _NotSentError(Failure.QUEUE_UNAVAILABLE) from error
        except ClientError as error:
            raise _NotSentError(_failure(error_code(error))) from error

    def _checked(self, request: SendRequest) -> QueueAddress:
        """Where to send, judged anew: the list may have become shorter since the job was stored."""
        try:
            return check_queue_url(request.queue_url, self._policy.for_tenant(request.tenant))
        except TargetRefused as error:
            raise _NotSentError(Failure.TARGET_BLOCKED) from error

    def _client(self, region: str) -> Any:
        with self._lock:
            if region not in self._clients:
                self._clients[region] = self._client_in(region)
            return self._clients[region]


class _NotSentError(Exception):
    def __init__(self, failure: Failure) -> None:
        super().__init__(failure)
        self.failure = failure


def _message(request: SendRequest, queue: QueueAddress) -> dict[str, Any]:
    attributes = {name: {"DataType": "String", "StringValue": value} for name, value in request.attributes}
    message = {"QueueUrl": request.queue_url, "MessageBody": request.body, "MessageAttributes": attributes}
    if queue.is_fifo:
        message |= {"MessageGroupId": request.group, "MessageDeduplicationId": request.deduplication}
    return message


def _failure(code: str) -> Failure:
    if code in _MISSING:
        return Failure.QUEUE_MISSING
    if code in _DENIED:
        return Failure.QUEUE_ACCESS_DENIED
    return Failure.QUEUE_UNAVAILABLE if code in _LATER else Failure.QUEUE_REFUSED
