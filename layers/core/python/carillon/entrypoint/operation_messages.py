"""Messages of the queue of operations, as the operations function receives them."""

import logging
from collections.abc import Callable

from carillon.domain.messages import NewerMessageError, OperationMessage, UnreadableMessageError
from carillon.ports.edges import Meter
from carillon.ports.errors import UnavailableError
from carillon.ports.execution import Delivery

logger = logging.getLogger("carillon")

SPARE_MS = 20_000
"""Time for the page in hand, when no further one is begun."""

PAUSE_MS = 5_000
"""Before an operation is taken up again after a store did not answer."""

UNREADABLE_PAUSE_MS = 15 * 60 * 1000
"""Before a message is looked at again that this version cannot read: a newer one may come, or a person."""

Drive = Callable[[str, str, int], bool]
"""(tenant, operation id, until when) → whether nothing is left to do."""


def operation_handler(drive: Drive, meter: Meter) -> Callable[[Delivery, int], bool]:
    """The handling of one message. It comes again until its operation has ended: nobody has to send another."""

    def handle(delivery: Delivery, stop_by_ms: int) -> bool:
        try:
            message = OperationMessage.decode(delivery.body)
        except (UnreadableMessageError, NewerMessageError) as error:
            meter.count("unparsable_message")
            said = {"action": "operation_message_unreadable", "message_id": delivery.message_id, "why": str(error)}
            logger.error("message unreadable", extra=said)  # noqa: TRY400 - the trace says nothing about the message
            delivery.come_again_after(UNREADABLE_PAUSE_MS)
            return False
        try:
            is_done, pause_ms = drive(message.tenant, message.operation_id, stop_by_ms - SPARE_MS), 0
        except UnavailableError:
            is_done, pause_ms = False, PAUSE_MS
        if not is_done:
            delivery.come_again_after(pause_ms)
        return is_done

    return handle
