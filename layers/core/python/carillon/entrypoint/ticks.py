"""Ticks as the dispatcher receives them. `now` never comes from a tick: it only says whose turn it is."""

import logging
from collections.abc import Callable

from carillon.domain.messages import NewerMessageError, Tick, UnreadableMessageError
from carillon.ports.edges import Clock, Meter
from carillon.ports.execution import Delivery

logger = logging.getLogger("carillon")

OLDEST_TICK_MS = 5_000
"""A tick that comes later than this is dropped: a newer one has come, or comes within a second."""


def tick_handler(dispatch: Callable[[int], object], *, clock: Clock, meter: Meter) -> Callable[[Delivery, int], bool]:
    """The handling of one tick. A tick is always done: the next one is a second away."""

    def handle(delivery: Delivery, _stop_by_ms: int) -> bool:
        try:
            tick = Tick.decode(delivery.body)
        except (UnreadableMessageError, NewerMessageError) as error:
            meter.count("unparsable_message")
            said = {"action": "tick_unreadable", "message_id": delivery.message_id, "why": str(error)}
            logger.error("tick unreadable", extra=said)  # noqa: TRY400 - the trace says nothing about the message
            return True
        if clock.now_ms() - tick.second * 1000 > OLDEST_TICK_MS:
            meter.count("ticks_dropped")
            return True
        dispatch(tick.group)
        return True

    return handle
