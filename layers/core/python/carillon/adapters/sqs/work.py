"""The work queues in SQS."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from carillon.adapters.sqs.batches import MOST_ENTRIES, Entry, send_again, send_batch
from carillon.adapters.sqs.routing import QueueName, delay_seconds, queue_name
from carillon.domain.job import Lane, Priority
from carillon.domain.messages import WorkMessage
from carillon.ports.edges import Clock

Addressed = tuple[WorkMessage, Lane, Priority]


class SqsWorkQueues:
    """The conveyor between deciding and running. The tenant is the message group: fair queues share by it."""

    def __init__(self, client: Any, urls: Mapping[QueueName, str]) -> None:
        self._client = client
        self._urls = urls

    def send(self, messages: Sequence[Addressed], clock: Clock) -> list[bool]:
        """Send each to the queue of its lane and priority, to arrive when due. One answer a message, in order."""
        accepted = [False] * len(messages)
        for name, batch in _batches(messages):
            now_ms = clock.now_ms()  # read for each batch: the delay counts from when the queue gets it
            entries = [_entry(messages[position], now_ms) for position in batch]
            answers = send_batch(self._client, self._urls[name], entries)
            answers = send_again(self._client, self._urls[name], entries, answers, clock)
            for position, was_accepted in zip(batch, answers, strict=True):
                accepted[position] = was_accepted
        return accepted


def _batches(messages: Sequence[Addressed]) -> Iterator[tuple[QueueName, list[int]]]:
    """Positions of messages in batches, each for one queue."""
    by_queue: defaultdict[QueueName, list[int]] = defaultdict(list)
    for position, (_, lane, priority) in enumerate(messages):
        by_queue[queue_name(lane, priority)].append(position)
    for name, positions in by_queue.items():
        for start in range(0, len(positions), MOST_ENTRIES):
            yield name, positions[start : start + MOST_ENTRIES]


def _entry(addressed: Addressed, now_ms: int) -> Entry:
    message, _, priority = addressed
    return {
        "MessageBody": message.encode(),
        "DelaySeconds": delay_seconds(priority, message.due_ms, now_ms),
        "MessageGroupId": message.tenant,
    }
