"""The tick queue in SQS."""

from collections.abc import Sequence
from typing import Any

from carillon.adapters.sqs.batches import MOST_ENTRIES, send_batch
from carillon.adapters.sqs.routing import tick_delay_seconds
from carillon.domain.messages import Tick


class SqsTickQueue:
    """The queue that wakes the dispatchers."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._url = url

    def send(self, ticks: Sequence[Tick], now_ms: int) -> list[bool]:
        """Send each so that it arrives in its second; one answer a tick, in order."""
        entries = [
            {"MessageBody": tick.encode(), "DelaySeconds": tick_delay_seconds(tick.second, now_ms)} for tick in ticks
        ]
        starts = range(0, len(entries), MOST_ENTRIES)
        batches = (send_batch(self._client, self._url, entries[start : start + MOST_ENTRIES]) for start in starts)
        return [was_accepted for batch in batches for was_accepted in batch]
