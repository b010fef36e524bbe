"""Batches of messages: one guard each, an answer that names exactly those not done, never an error."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from carillon.adapters.memory.edges import MemoryClock, RecordingMeter
from carillon.domain.messages import Tick
from carillon.entrypoint.batches import batch_handler
from carillon.entrypoint.ticks import OLDEST_TICK_MS, tick_handler
from carillon.ports.execution import Delivery


@dataclass(frozen=True)
class Received:
    """One message."""

    message_id: str
    body: str

    def come_again_after(self, after_ms: int) -> None:
        """Nothing is asked of the queue here."""


class Context:
    """What the Lambda runtime gives."""

    aws_request_id = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        """Ninety seconds."""
        return 90_000


def receive(record: Mapping[str, Any]) -> Delivery:
    """A delivery of a record."""
    return Received(record["messageId"], record["body"])


def event(*bodies: str) -> dict[str, Any]:
    """A batch."""
    return {"Records": [{"messageId": f"m{n}", "body": body} for n, body in enumerate(bodies)]}


def run(bodies: list[str]) -> tuple[Any, RecordingMeter]:
    """Handle a batch in which the body says what happens."""

    def handle(delivery: Delivery, stop_by_ms: int) -> bool:
        assert stop_by_ms == 90_000
        if delivery.body == "raises":
            raise RuntimeError("a bug")
        return delivery.body == "done"

    meter = RecordingMeter()
    handler = batch_handler(handle, receive, clock=MemoryClock(0), meter=meter, side_by_side=4)
    return handler(event(*bodies), Context()), meter


@pytest.mark.parametrize(
    ("bodies", "not_done"),
    [
        (["done"] * 10, []),
        (["done"] * 6 + ["raises"] + ["done"] * 3, ["m6"]),
        (["not done", "done", "raises"], ["m0", "m2"]),
    ],
    ids=["all", "B107-number-7-raises", "mixed"],
)
def test_b182_only_what_is_not_done_comes_back(bodies: list[str], not_done: list[str]) -> None:
    """B107, B182: the answer is a list of the ids of the messages not done; a raising one is one of them."""
    answer, meter = run(bodies)
    assert answer == {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in not_done]}
    assert meter.counts["message_failed"] == bodies.count("raises")


@pytest.mark.parametrize(
    ("late_ms", "dispatched"), [(0, [3]), (OLDEST_TICK_MS, [3]), (OLDEST_TICK_MS + 1, []), (-1_000, [3])]
)
def test_old_ticks_are_dropped(late_ms: int, dispatched: list[int]) -> None:
    """A tick more than five seconds old does nothing: newer ones have come."""
    clock, meter, groups = MemoryClock(), RecordingMeter(), []
    second = clock.now_ms() // 1000
    clock.set(second * 1000 + late_ms)
    handle = tick_handler(groups.append, clock=clock, meter=meter)
    assert handle(Received("m", Tick(3, second).encode()), 0)
    assert groups == dispatched


@pytest.mark.parametrize("body", ["", "nonsense", '{"v":2}'])
def test_an_unreadable_tick_is_counted_and_gone(body: str) -> None:
    """The next tick is a second away: a broken one is not worth keeping."""
    meter, groups = RecordingMeter(), []
    assert tick_handler(groups.append, clock=MemoryClock(), meter=meter)(Received("m", body), 0)
    assert (groups, meter.counts["unparsable_message"]) == ([], 1)
