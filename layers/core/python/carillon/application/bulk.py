"""Work on many jobs: asking for it, trying it, looking at it, ending it. Carrying it out is `drive_operation`."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from carillon.application.edit_job import MOST_RACES, Edit
from carillon.domain.audit import CARILLON, Action, Actor, Change, told
from carillon.domain.editing import JobFinishedError, cancel, pause, resume
from carillon.domain.identity import is_ulid
from carillon.domain.job import Definition, JobState
from carillon.domain.job_filter import JobFilter
from carillon.domain.messages import OperationMessage
from carillon.domain.operation_errors import OperationNotFoundError
from carillon.domain.operations import (
    KEPT_MS,
    BulkAction,
    Operation,
    Portion,
    Progress,
    asked,
    behind_all_of,
    cancelled,
)
from carillon.domain.revisions import TooManyEditsError
from carillon.domain.settling import Moment
from carillon.ports.edges import Ids
from carillon.ports.errors import UnavailableError
from carillon.ports.jobs import JobStore
from carillon.ports.operations import OperationQueue, OperationStore

PAGE = 100
"""Jobs that are read, held and counted together."""

MOST_PAGES_TRIED = 20
"""Pages that one request of a trial looks at: it has to end within the time of an API call."""

EDITS: Mapping[BulkAction, Edit] = {
    BulkAction.PAUSE: pause,
    BulkAction.RESUME: partial(resume, catch_up=False),
    BulkAction.CANCEL: cancel,
}
"""The edit of each action. A trigger is none."""


@dataclass(frozen=True, slots=True)
class StartOperation:
    """Asks for work on many jobs."""

    operations: OperationStore
    queue: OperationQueue
    ids: Ids

    def __call__(
        self, tenant: str, action: BulkAction, wanted: JobFilter, now_ms: int, by: Actor = CARILLON
    ) -> Operation:
        """Store an operation on the jobs that there are, with the event that tells who did, and have it carried out.

        Asked again with the same names it is the same operation, however far it has come.

        Raises:
            UnavailableError: it may not be carried out; then it stays as it is until it is removed.
        """
        operation_id = "op_" + self.ids.job_id(now_ms).removeprefix("job_")
        event = told(Action.OPERATION_STARTED, operation_id, now_ms, tenant, by, _wish(action, wanted), of=1)
        operation = self.operations.create(asked(operation_id, tenant, action, wanted, now_ms, by), event)
        self.queue.send(OperationMessage(tenant, operation_id))
        return operation


def _wish(action: BulkAction, wanted: JobFilter) -> Iterator[Change]:
    yield "/action", None, str(action)
    if wanted.state is not None:
        yield "/filter/state", None, str(wanted.state)
    if wanted.labels:
        yield "/filter/labels", None, ", ".join(f"{key}:{value}" for key, value in wanted.labels)
    if wanted.name_prefix:
        yield "/filter/name_prefix", None, wanted.name_prefix


@dataclass(frozen=True, slots=True)
class GetOperation:
    """One operation."""

    operations: OperationStore

    def __call__(self, tenant: str, operation_id: str, now_ms: int) -> Operation:
        """The tenant's operation.

        Raises:
            OperationNotFoundError: the tenant has none of this id, or had it too long ago.
        """
        prefix, _, name = operation_id.partition("_")
        operation = self.operations.get(tenant, operation_id) if prefix == "op" and is_ulid(name) else None
        if operation is None or now_ms >= operation.created_at + KEPT_MS:
            raise OperationNotFoundError(operation_id)
        return operation


@dataclass(frozen=True, slots=True)
class CancelOperation:
    """Ends an operation before its end."""

    operations: OperationStore

    def __call__(self, tenant: str, operation_id: str, now_ms: int, by: Actor = CARILLON) -> Operation:
        """Let an operation go no further; what it has done stays done.

        Raises:
            OperationNotFoundError: the tenant has none of this id.
            OperationEndedError: it has come to its end.
            UnavailableError: it moved on each time we tried.
        """
        for _ in range(MOST_RACES):
            seen = GetOperation(self.operations)(tenant, operation_id, now_ms)
            ended = cancelled(seen, now_ms)
            changes = [("/state", str(seen.state), str(ended.state))]
            event = told(Action.OPERATION_CANCELLED, operation_id, now_ms, tenant, by, changes, of=seen.rev)
            if ended == seen or self.operations.replace(ended, event):
                return ended
        raise UnavailableError("the operation keeps moving on")


def portion_of(jobs: JobStore, tenant: str, wanted: JobFilter, position: str) -> tuple[Portion, Sequence[Definition]]:
    """A page of a tenant's jobs from behind a position, with those of them that are wanted."""
    page = jobs.list_newest(tenant, PAGE, position)
    admitted = [definition for definition in page.definitions if wanted.admits(definition)]
    ids = tuple(definition.job.id for definition in admitted)
    return Portion(len(page.definitions), ids, page.next_after), admitted


@dataclass(frozen=True, slots=True)
class Trial:
    """What an action would do to a part of a tenant's jobs, and from where to go on (None: it was all)."""

    progress: Progress
    position: str | None


@dataclass(frozen=True, slots=True)
class TryBulk:
    """Counts what an action would do, in portions; writes nothing. `retention_ms`: how long ended jobs are kept."""

    jobs: JobStore
    retention_ms: int

    def __call__(
        self, tenant: str, action: BulkAction, wanted: JobFilter, now_ms: int, after: str | None = None
    ) -> Trial:
        """Look at a portion of the jobs that there are, from behind the position `after`."""
        position: str | None = after or behind_all_of(now_ms)
        walked = matched = 0
        refused: Counter[str] = Counter()
        for _ in range(MOST_PAGES_TRIED):
            if position is None:
                break
            portion, admitted = portion_of(self.jobs, tenant, wanted, position)
            reasons = [self._refusal(action, definition, now_ms) for definition in admitted]
            refused.update(reason for reason in reasons if reason is not None)
            walked, matched, position = walked + portion.walked, matched + len(admitted), portion.position
        done = matched - refused.total()
        return Trial(Progress(walked=walked, matched=matched, done=done, refused=dict(refused)), position)

    def _refusal(self, action: BulkAction, seen: Definition, now_ms: int) -> str | None:
        if action is BulkAction.TRIGGER:
            return "job_finished" if seen.job.state is JobState.CANCELLED else None
        try:
            EDITS[action](seen, Moment(now_ms, self.retention_ms, frozenset()))
        except JobFinishedError:
            return "job_finished"
        except TooManyEditsError:
            return "too_many_edits"
        except ValueError:
            return "unreadable"
        return None
