"""The queues: ticks to the dispatcher, and the conveyors of due runs with their dead-letter queues."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from aws_cdk import Duration
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.parts.acknowledge import acknowledge

if TYPE_CHECKING:
    from infra.stages import Stage

KEPT_FOR = Duration.days(14)  # the longest that SQS keeps anything
WORKER_VISIBILITY_SECONDS = 120
LONG_WORKER_VISIBILITY_SECONDS = 930
DEAD_LETTER_VISIBILITY_SECONDS = 120
OPERATIONS_VISIBILITY_SECONDS = 150
TICK_VISIBILITY_SECONDS = 60
TICK_RETENTION_SECONDS = 180

# Every early return of a message, a live lease or a throttled function counts as a receive: the count ends messages
# that nothing can handle, it never decides how often a run is tried.
MAX_RECEIVES = 1000


@dataclass(frozen=True)
class WorkQueue:
    """A conveyor of due runs, and where SQS puts the messages that it gives up."""

    name: str
    queue: sqs.Queue
    dead_letters: sqs.Queue
    late_after_seconds: int
    """Age of the oldest message, beyond the look-ahead, at which a person should know."""


class Queues(Construct):
    """All queues of a stage."""

    def __init__(self, scope: Construct, construct_id: str, stage: Stage) -> None:
        super().__init__(scope, construct_id)
        self._has_tls = not stage.imitated_aws
        self.ticks = self._tick_queue()
        self.high = self._work_queue("High", WORKER_VISIBILITY_SECONDS, late_after_seconds=60)
        self.normal = self._work_queue("Normal", WORKER_VISIBILITY_SECONDS, late_after_seconds=300)
        self.low = self._work_queue("Low", WORKER_VISIBILITY_SECONDS, late_after_seconds=1800)
        self.long = self._work_queue("Long", LONG_WORKER_VISIBILITY_SECONDS, late_after_seconds=900)
        self.failed_removals = self._failed_removals()
        self.operations_dead_letters = self._operations_dead_letters()
        self.operations = self._queue(
            "Operations",
            OPERATIONS_VISIBILITY_SECONDS,
            redrive=sqs.DeadLetterQueue(queue=self.operations_dead_letters, max_receive_count=MAX_RECEIVES),
        )

    @property
    def work(self) -> tuple[WorkQueue, ...]:
        """The queues that carry runs."""
        return (self.high, self.normal, self.low, self.long)

    def _tick_queue(self) -> sqs.Queue:
        queue = self._queue("Ticks", TICK_VISIBILITY_SECONDS, retention=Duration.seconds(TICK_RETENTION_SECONDS))
        acknowledge(
            queue,
            "AwsSolutions-SQS3",
            "A tick is worth nothing after five seconds: the next one does its work",
        )
        return queue

    def _work_queue(self, name: str, visibility_seconds: int, late_after_seconds: int) -> WorkQueue:
        dead_letters = self._queue(f"{name}DeadLetters", DEAD_LETTER_VISIBILITY_SECONDS)
        redrive = sqs.DeadLetterQueue(queue=dead_letters, max_receive_count=MAX_RECEIVES)
        queue = self._queue(name, visibility_seconds, redrive=redrive)
        return WorkQueue(name.lower(), queue, dead_letters, late_after_seconds)

    def _failed_removals(self) -> sqs.Queue:
        queue = self._queue("FailedRemovals", DEAD_LETTER_VISIBILITY_SECONDS)
        acknowledge(
            queue, "AwsSolutions-SQS3", "Here a stream puts what it gave up; an alarm watches the queue's depth"
        )
        return queue

    def _operations_dead_letters(self) -> sqs.Queue:
        queue = self._queue("OperationsDeadLetters", DEAD_LETTER_VISIBILITY_SECONDS)
        acknowledge(
            queue, "AwsSolutions-SQS3", "Here lie messages that nobody could carry out; an alarm watches its depth"
        )
        return queue

    def _queue(
        self,
        construct_id: str,
        visibility_seconds: int,
        *,
        retention: Duration = KEPT_FOR,
        redrive: sqs.DeadLetterQueue | None = None,
    ) -> sqs.Queue:
        queue = sqs.Queue(
            self,
            construct_id,
            encryption=sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=self._has_tls,
            retention_period=retention,
            visibility_timeout=Duration.seconds(visibility_seconds),
            dead_letter_queue=redrive,
        )
        if not self._has_tls:
            acknowledge(queue, "AwsSolutions-SQS4", "The local AWS has no TLS: its queues never leave this machine")
        return queue
