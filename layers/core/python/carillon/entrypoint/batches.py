"""A batch of SQS messages: each is handled in a guard of its own, side by side, and the answer names those not done.

An answer is never an error: a function error would bring every message back and slow the mapping for everyone.
"""

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from carillon.entrypoint.observability import Handler, LambdaContext
from carillon.ports.edges import Clock, Meter
from carillon.ports.execution import Delivery

logger = logging.getLogger("carillon")

HandleOne = Callable[[Delivery, int], bool]
"""Handles one message by a deadline (epoch ms); whether it may be deleted."""

ReceiveOne = Callable[[Mapping[str, Any]], Delivery]
"""Makes a delivery of one record of the event."""


def batch_handler(handle: HandleOne, receive: ReceiveOne, *, clock: Clock, meter: Meter, side_by_side: int) -> Handler:
    """A Lambda handler of SQS batches with partial answers.

    Args:
        handle: the use case, for one message.
        receive: makes a delivery of a record.
        clock: the present.
        meter: counts failures of ours.
        side_by_side: how many messages are handled at once.
    """
    pool = ThreadPoolExecutor(max_workers=side_by_side, thread_name_prefix="message")

    def guarded(record: Mapping[str, Any], stop_by_ms: int) -> bool:
        try:
            return handle(receive(record), stop_by_ms)
        except Exception:
            meter.count("message_failed")
            logger.exception(
                "message failed", extra={"action": "message_failed", "message_id": record.get("messageId")}
            )
            return False

    def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
        stop_by_ms = clock.now_ms() + context.get_remaining_time_in_millis()
        records = event["Records"]
        done = pool.map(lambda record: guarded(record, stop_by_ms), records)
        return {
            "batchItemFailures": [
                {"itemIdentifier": record["messageId"]}
                for record, is_done in zip(records, done, strict=True)
                if not is_done
            ]
        }

    return handler
