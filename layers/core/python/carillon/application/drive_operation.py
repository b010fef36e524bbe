"""Carrying an operation on, a page at a time, for as long as there is time.

Its record says which jobs are in hand. They are acted on, all of them; then one conditional write counts them and takes
the next page up. Whoever dies in between leaves the page in hand: the next one acts on it again, which changes nothing
that was done, and counts it once.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from carillon.application.bulk import EDITS, portion_of
from carillon.application.edit_job import EditJob
from carillon.application.read_jobs import JobNotFoundError
from carillon.application.trigger_run import TriggerRun
from carillon.domain.editing import JobFinishedError
from carillon.domain.idempotency import SeededIds
from carillon.domain.operations import BulkAction, Operation, Portion, advanced
from carillon.domain.revisions import TooManyEditsError
from carillon.ports.edges import Clock, Meter
from carillon.ports.errors import LimitReachedError, UnavailableError, UnreadableItemError
from carillon.ports.jobs import JobStore
from carillon.ports.operations import OperationStore

logger = logging.getLogger("carillon")

MOST_EMPTY_PAGES = 20
"""Pages without a job that is wanted, after which the record is written all the same."""

_REASONS: tuple[tuple[type[Exception], str], ...] = (
    (JobFinishedError, "job_finished"),
    (JobNotFoundError, "not_found"),
    (TooManyEditsError, "too_many_edits"),
    (LimitReachedError, "limit_reached"),
    (UnreadableItemError, "unreadable"),
)


class Spread(Protocol):
    """Calls a function for each, side by side or one after the other; the results in order."""

    def __call__(
        self, function: Callable[[str], str | None], each: Iterable[str], /
    ) -> Iterable[str | None]:  # the shape of `map`
        """The results."""
        ...


@dataclass(frozen=True, slots=True)
class ActOnJob:
    """Does with one job what an operation asks for. Doing it again changes nothing."""

    edit: EditJob
    trigger: TriggerRun

    def __call__(self, operation: Operation, job_id: str, now_ms: int) -> str | None:
        """Act on a job. Returns why it was refused, or None.

        Raises:
            UnavailableError: nobody answered; it may or may not be done.
        """
        try:
            self._act(operation, job_id, now_ms)
        except UnavailableError:
            raise
        except Exception as error:  # one job that cannot be handled must not stop the others
            for kind, reason in _REASONS:
                if isinstance(error, kind):
                    return reason
            said = {"action": "operation_job_failed", "operation_id": operation.id, "job_id": job_id}
            logger.exception("an operation met a fault of ours", extra=said)
            return "internal_error"
        return None

    def _act(self, operation: Operation, job_id: str, now_ms: int) -> None:
        if operation.action is not BulkAction.TRIGGER:
            self.edit(operation.tenant, job_id, now_ms, EDITS[operation.action], by=operation.doer)
            return
        trigger = replace(self.trigger, ids=SeededIds(operation.seed_of(job_id)))
        trigger(operation.tenant, job_id, operation.created_at, is_again=True, due_ms=now_ms, by=operation.doer)


@dataclass(frozen=True, slots=True)
class DriveOperation:
    """Carries operations on."""

    operations: OperationStore
    jobs: JobStore
    act: ActOnJob
    clock: Clock
    meter: Meter
    spread: Spread = map

    def __call__(self, tenant: str, operation_id: str, stop_by_ms: int) -> bool:
        """Carry an operation on until an instant (epoch ms). Returns whether nothing is left to do.

        Raises:
            UnavailableError: the stores do not answer; what was counted is done.
        """
        operation = self.operations.get(tenant, operation_id)
        while operation is not None and not operation.has_ended:
            if self.clock.now_ms() >= stop_by_ms:
                return False
            moved = self._moved_on(operation)
            if not self.operations.replace(moved):  # cancelled, or somebody else is at it
                stored = self.operations.get(tenant, operation_id)
                return stored is None or stored.has_ended
            operation = moved
        if operation is not None:
            said = {"action": "operation_ended", "operation_id": operation.id, "tenant": tenant}
            logger.info("an operation ended", extra={**said, "state": str(operation.state)})
        return True

    def _moved_on(self, operation: Operation) -> Operation:
        def acted(job_id: str) -> str | None:
            return self.act(operation, job_id, self.clock.now_ms())

        reasons = list(self.spread(acted, operation.in_hand))
        self.meter.count("operation_jobs", len(reasons))
        return advanced(operation, reasons, self._next(operation), self.clock.now_ms())

    def _next(self, operation: Operation) -> Portion:
        """The next page that has a job that is wanted."""
        walked, position = 0, operation.position
        for _ in range(MOST_EMPTY_PAGES):
            if position is None:
                break
            portion, _ = portion_of(self.jobs, operation.tenant, operation.wanted, position)
            walked, position = walked + portion.walked, portion.position
            if portion.admitted:
                return replace(portion, walked=walked)
        return Portion(walked, (), position)
