"""Which queue a message takes, and for how many seconds it stays there unseen."""

from enum import StrEnum

from carillon.domain.job import Lane, Priority

LONGEST_DELAY_SECONDS = 900
"""SQS delays a message no longer than this. Whoever receives one that is not due yet puts it back."""

LONGEST_INVISIBLE_SECONDS = 12 * 3600 - 1_000
"""SQS allows 12 hours from the receipt on, and refuses more: this leaves room for the time since the receipt."""


class QueueName(StrEnum):
    """The work queues."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"
    LONG = "long"


def queue_name(lane: Lane, priority: Priority) -> QueueName:
    """The queue of a lane and a priority: long calls hold nobody up, so they keep to themselves."""
    return QueueName.LONG if lane is Lane.LONG else QueueName(priority.value)


def delay_seconds(priority: Priority, due_ms: int, now_ms: int) -> int:
    """The delay of a work message: high priority comes early and is held to the millisecond, others never early."""
    remaining_ms = min(max(due_ms - now_ms, 0), LONGEST_DELAY_SECONDS * 1000)
    return remaining_ms // 1000 if priority is Priority.HIGH else whole_seconds(remaining_ms)


def tick_delay_seconds(second: int, now_ms: int) -> int:
    """The delay of a tick: it arrives within its second, never before it."""
    return min(whole_seconds(max(second * 1000 - now_ms, 0)), LONGEST_DELAY_SECONDS)


def invisible_seconds(after_ms: int) -> int:
    """For how long a received message is to stay out of sight."""
    return min(whole_seconds(max(after_ms, 0)), LONGEST_INVISIBLE_SECONDS)


def whole_seconds(duration_ms: int) -> int:
    """A duration in seconds, rounded up."""
    return -(-duration_ms // 1000)
