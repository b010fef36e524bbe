"""Work on many jobs: what is asked for, and how far it has come.

An operation walks a tenant's jobs from the newest one there was when it was asked for to the oldest. It holds a page
of jobs that it acts on, and counts a page only when it lays it down: so whoever takes it up after a death acts on that
page once more, and counts it once. Every action may be repeated.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256

from carillon.domain.audit import CARILLON, Actor
from carillon.domain.identity import ulid
from carillon.domain.instants import DAY_MS
from carillon.domain.job_filter import JobFilter
from carillon.domain.operation_errors import OperationEndedError

KEPT_MS = 30 * DAY_MS
"""From when it was asked for. Its message is kept for 14 days at the most."""


class BulkAction(StrEnum):
    """What is done with each job."""

    PAUSE = "pause"
    RESUME = "resume"
    CANCEL = "cancel"
    TRIGGER = "trigger"


class OperationState(StrEnum):
    """How far it has come."""

    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Counts of jobs.

    Attributes:
        walked: looked at.
        matched: those of them that the filter admitted.
        done: those that are as the action leaves them.
        refused: how many were not changed, by the code of the reason.
    """

    walked: int = 0
    matched: int = 0
    done: int = 0
    refused: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation. Instants in epoch ms.

    Attributes:
        id: `op_` and a ULID.
        tenant: whose jobs.
        action: what is done with each.
        actor: who asked for it.
        wanted: which jobs.
        created_at: when it was asked for. No job that is younger is touched.
        updated_at: when its record was written last.
        rev: rises with each write of the record.
        position: the job behind which the walk goes on, or None at the end.
        in_hand: the jobs that are acted on.
    """

    id: str
    tenant: str
    action: BulkAction
    wanted: JobFilter
    created_at: int
    updated_at: int
    position: str | None
    state: OperationState = OperationState.QUEUED
    rev: int = 1
    in_hand: tuple[str, ...] = ()
    progress: Progress = field(default_factory=Progress)
    ended_at: int | None = None
    actor: Actor = CARILLON

    @property
    def has_ended(self) -> bool:
        """Whether nothing more is done."""
        return self.ended_at is not None

    @property
    def doer(self) -> Actor:
        """Who is to be named in the audit trail for what it does."""
        return replace(self.actor, operation=self.id)

    def seed_of(self, job_id: str) -> str:
        """The seed of the names that it makes for a job: the same each time, so that nothing is made twice."""
        return sha256(f"{self.id} {job_id}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Portion:
    """A piece of the walk: how many jobs were looked at, which were admitted, and where it goes on (None: it ends)."""

    walked: int
    admitted: tuple[str, ...]
    position: str | None


def asked(
    operation_id: str, tenant: str, action: BulkAction, wanted: JobFilter, now_ms: int, actor: Actor = CARILLON
) -> Operation:
    """A new operation, on the jobs that there are at an instant (epoch ms)."""
    return Operation(
        id=operation_id,
        tenant=tenant,
        action=action,
        actor=actor,
        wanted=wanted,
        created_at=now_ms,
        updated_at=now_ms,
        position=behind_all_of(now_ms),
    )


def behind_all_of(now_ms: int) -> str:
    """The position in a list of jobs, newest first, behind which those of an instant (epoch ms) and before it are."""
    return "job_" + ulid(now_ms + 1, bytes(10))


def advanced(operation: Operation, reasons: Sequence[str | None], portion: Portion, now_ms: int) -> Operation:
    """The jobs in hand are laid down, and those of the next portion taken up; without any more the operation ends.

    Args:
        operation: as read.
        reasons: of each job in hand, why it was refused, or None where it is as the action leaves it.
        portion: what comes next.
        now_ms: the present, epoch ms.
    """
    refused = Counter(reason for reason in reasons if reason is not None)
    before = operation.progress
    progress = Progress(
        walked=before.walked + portion.walked,
        matched=before.matched + len(portion.admitted),
        done=before.done + len(reasons) - refused.total(),
        refused=dict(Counter(before.refused) + refused),
    )
    is_over = not portion.admitted and portion.position is None
    return replace(
        operation,
        state=OperationState.SUCCEEDED if is_over else OperationState.RUNNING,
        rev=operation.rev + 1,
        updated_at=now_ms,
        ended_at=now_ms if is_over else None,
        position=portion.position,
        in_hand=portion.admitted,
        progress=progress,
    )


def cancelled(operation: Operation, now_ms: int) -> Operation:
    """The operation goes no further. What is in hand may be done still, and is not counted.

    Raises:
        OperationEndedError: it has come to its end.
    """
    if operation.state is OperationState.CANCELLED:
        return operation
    if operation.has_ended:
        raise OperationEndedError
    return replace(
        operation,
        state=OperationState.CANCELLED,
        rev=operation.rev + 1,
        updated_at=now_ms,
        ended_at=now_ms,
        position=None,
        in_hand=(),
    )
