"""Queues of tenants in memory, with the stage's list and SQS's rules for order and for what comes twice."""

from collections import defaultdict
from dataclasses import dataclass, field
from json import dumps

from carillon.domain.outcomes import Failure, Outcome, SendRequest, answered, failed
from carillon.domain.target_policy import HOSTED, TargetPolicy
from carillon.domain.targets import TargetRefused, check_queue_url
from carillon.ports.edges import Clock

REMEMBERED_MS = 300_000
"""For how long a FIFO queue knows what it has had."""


@dataclass(slots=True)
class MemoryTargetQueues:
    """Sends to queues that the policy opens. Each exists unless `failures` says otherwise, by its URL."""

    clock: Clock
    policy: TargetPolicy = HOSTED
    failures: dict[str, Failure] = field(default_factory=dict)
    _sent: defaultdict[str, list[tuple[SendRequest, int]]] = field(default_factory=lambda: defaultdict(list))

    def send(self, request: SendRequest) -> Outcome:
        """See `ports.Sender`."""
        now_ms = self.clock.now_ms()
        if failure := self._failure(request):
            return failed(failure, started_ms=now_ms, duration_ms=0)
        sent = self._sent[request.queue_url]
        known = next((n for n, (other, at_ms) in enumerate(sent) if self._is_repeat(request, other, at_ms)), None)
        if known is None:
            sent.append((request, now_ms))
        body = dumps({"MessageId": f"message-{len(sent) - 1 if known is None else known}"}).encode()
        return answered(status=200, body=body, started_ms=now_ms, duration_ms=0)

    def sent_to(self, queue_url: str) -> list[SendRequest]:
        """What a queue has got, in order."""
        return [request for request, _ in self._sent[queue_url]]

    def _failure(self, request: SendRequest) -> Failure | None:
        try:
            check_queue_url(request.queue_url, self.policy.for_tenant(request.tenant))
        except TargetRefused:
            return Failure.TARGET_BLOCKED
        return self.failures.get(request.queue_url)

    def _is_repeat(self, request: SendRequest, other: SendRequest, at_ms: int) -> bool:
        is_known = request.deduplication == other.deduplication and self.clock.now_ms() - at_ms < REMEMBERED_MS
        return is_known and check_queue_url(request.queue_url, self.policy).is_fifo
