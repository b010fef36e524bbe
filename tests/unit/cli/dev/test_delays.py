"""Delayed messages are delivered when their delay is over."""

import threading
import time
from collections.abc import Iterator

from carillon_cli.dev.local_aws.delays import watch_delays


class Queue:
    """Stands in for ministack: one message, and a poller that notes when it was woken."""

    def __init__(self, visible: float) -> None:
        self.visible = visible
        self.woken = threading.Event()
        self.woken_at = 0.0

    def visible_times(self) -> Iterator[float]:
        """When the message becomes visible."""
        yield self.visible

    def wake_pollers(self) -> None:
        """Note it."""
        self.woken_at = time.time()
        self.woken.set()


def watched(queue: Queue, timeout_seconds: float) -> bool:
    """Watch a queue; whether its poller was woken within a bounded time."""
    stop = threading.Event()
    watcher = threading.Thread(target=watch_delays, args=(queue, stop))
    watcher.start()
    try:
        return queue.woken.wait(timeout_seconds)
    finally:
        stop.set()
        watcher.join()


def test_the_poller_is_woken_when_a_delay_is_over() -> None:
    """Not before: that would find nothing. Not only at the poller's own next look."""
    queue = Queue(time.time() + 0.3)
    assert watched(queue, 30)
    assert queue.woken_at >= queue.visible


def test_messages_that_were_visible_before_wake_nobody() -> None:
    """A message that waits for a free function must not keep the poller spinning."""
    assert not watched(Queue(time.time() - 5), 0.3)
