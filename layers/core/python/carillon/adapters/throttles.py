"""What AWS says when it is asked for too much: counted by reason, wherever in an answer it stands.

A whole request may be throttled, a statement of a batch that succeeds, an entry of a batch of messages, or a part of a
transaction. botocore tries the first kind again by itself, so it is observed where botocore decides about that.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from threading import Lock
from typing import Any, Final

from carillon.ports.edges import Meter

_CODES: Final = frozenset(
    {
        "OverLimit",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "Throttling",
        "ThrottlingError",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)


class ThrottleReason(StrEnum):
    """Why less is to be asked for. The first two are a hot key: of an index (a shard, that is), or of a table."""

    INDEX_KEY = "index_key"
    TABLE_KEY = "table_key"
    CAPACITY = "capacity"
    ACCOUNT = "account"
    QUEUE = "queue"
    UNSAID = "unsaid"


class Throttles:
    """How often the services have asked for less, and why. One for all clients and threads of a process."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._seen = 0
        self._lock = Lock()

    def seen(self) -> int:
        """How often, since the process began."""
        return self._seen

    def watch(self, client: Any) -> None:
        """Count what the answers to a client say from now on, those that it tries again by itself included."""
        client.meta.events.register("needs-retry", self._look)

    def _look(self, *, response: tuple[Any, Mapping[str, Any]] | None, operation: Any, **_: Any) -> None:
        if response is None:
            return
        is_queue = operation.service_model.service_name == "sqs"
        for reason in _reasons(response[1]):
            self._note(ThrottleReason.QUEUE if is_queue else reason)

    def _note(self, reason: ThrottleReason) -> None:
        with self._lock:
            self._seen += 1
        self._meter.count(f"throttled_{reason}")


def _reasons(answer: Mapping[str, Any]) -> Iterator[ThrottleReason]:
    """A reason for each request, statement, entry or part that was throttled."""
    if _is_throttled(answer.get("Error")):
        said = answer.get("ThrottlingReasons") or answer.get("throttlingReasons") or [{}]
        yield _reason(answer["Error"], str(said[0].get("reason", "")))
    statements = (response["Error"] for response in answer.get("Responses") or () if "Error" in response)
    for error in (*statements, *(answer.get("Failed") or ()), *(answer.get("CancellationReasons") or ())):
        if _is_throttled(error):
            yield _reason(error, "")


def _is_throttled(error: Mapping[str, Any] | None) -> bool:
    return error is not None and error.get("Code") in _CODES


def _reason(error: Mapping[str, Any], said: str) -> ThrottleReason:
    """DynamoDB says `{Table|Index}{Read|Write}{limit}`, where it says anything."""
    if error["Code"] == "RequestLimitExceeded" or said.endswith("AccountLimitExceeded"):
        return ThrottleReason.ACCOUNT
    if said.endswith("KeyRangeThroughputExceeded"):
        return ThrottleReason.INDEX_KEY if said.startswith("Index") else ThrottleReason.TABLE_KEY
    return ThrottleReason.CAPACITY if said else ThrottleReason.UNSAID
