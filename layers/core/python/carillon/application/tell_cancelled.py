"""Telling a target that the run which it was called for has been cancelled: once, as far as we can, and no more.

That it is told is written before it is. A worker that dies between the two, or gets no answer, leaves it untold.
"""

import logging
from typing import TYPE_CHECKING

from carillon.application.run_records import DONE, NOT_DONE, facts
from carillon.domain.callbacks import cancel_notice
from carillon.domain.job import Definition, HttpTarget
from carillon.domain.run import Run, noticed
from carillon.ports.execution import Delivery
from carillon.ports.runs import Refused

if TYPE_CHECKING:  # which loads this module in turn
    from carillon.application.execute_run import ExecuteRun

logger = logging.getLogger("carillon")

LONGEST_NOTICE_MS = 10_000
_MARGIN_MS = 5_000


def tell_cancelled(
    execution: "ExecuteRun", run: Run, definition: Definition | None, delivery: Delivery, stop_by_ms: int
) -> bool | Run:
    """Tell the target of a cancelled run, by the newest definition of its job; whether the message is done."""
    records, now_ms = execution.records, execution.records.clock.now_ms()
    if now_ms + LONGEST_NOTICE_MS + _MARGIN_MS > stop_by_ms:
        delivery.come_again_after(0)  # another invocation has the time for it
        return NOT_DONE
    written = records.save(noticed(run))
    if isinstance(written, Refused):
        return records.settle(written, definition, delivery)
    target = None if definition is None else definition.spec.target
    secrets = execution.secrets.active(run.tenant, now_ms)
    if not isinstance(target, HttpTarget) or target.cancel_url is None or not secrets:
        return DONE
    destinations = execution.destinations.of(run.tenant)
    outcome = execution.caller.call(
        cancel_notice(run, target, secrets, destinations, now_ms),
        deadline_ms=now_ms + min(target.timeout_ms, LONGEST_NOTICE_MS),
        beat=lambda: True,
        beat_every_ms=LONGEST_NOTICE_MS,
    )
    records.meter.count("cancels_told")
    said = {"action": "cancel_told", **facts(run), "status": outcome.status, "failure": outcome.failure}
    logger.info("target told of a cancel", extra=said)
    return DONE
