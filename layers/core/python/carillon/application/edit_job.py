"""Editing a job in time, so that every occurrence up to that instant still ends in a record.

What no worker has begun to start is under the edit's rule. What was due but not yet confirmed by a dispatcher is
settled in the transaction of the edit; what is already in a queue is judged by the worker that reads its message.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from carillon.application.create_job import LimitsOf
from carillon.application.read_jobs import job_of_tenant
from carillon.domain.audit import CARILLON, Actor, AuditEvent, told
from carillon.domain.counting import is_counted
from carillon.domain.editing import Edited
from carillon.domain.job import Definition
from carillon.domain.job_changes import action_of, changes_between
from carillon.domain.revisions import newest_revision
from carillon.domain.settling import Moment, unsettled_from
from carillon.ports.errors import UnavailableError
from carillon.ports.jobs import JobStore, Renaming
from carillon.ports.runs import RunStore

MOST_RACES = 10
"""Lost races in a row before we give up: a dispatcher that changes the job each time has to lose some time."""

MOST_SENT_UNCONFIRMED = 100
"""Occurrences that one decision of a dispatcher may have sent: so many may have a record already."""

Edit = Callable[[Definition, Moment], Edited]
"""One of the edits of `domain.editing`, with its own arguments bound."""


class RevisionMismatchError(Exception):
    """The job's revision is none of those that the client has seen."""


@dataclass(frozen=True, slots=True)
class EditJob:
    """Edits jobs.

    Attributes:
        jobs: the job store.
        runs: the run store.
        retention_ms: how long ended jobs and runs are kept.
        limits_of: what tenants may. A job that an edit brings back is counted again under it; without, it is not.
    """

    jobs: JobStore
    runs: RunStore
    retention_ms: int
    limits_of: LimitsOf | None = None

    def __call__(
        self,
        tenant: str,
        job_id: str,
        now_ms: int,
        edit: Edit,
        only_revisions: Collection[int] | None = None,
        *,
        by: Actor = CARILLON,
    ) -> Definition:
        """Edit a job, with the event that tells who did; an edit that changes nothing writes nothing, no event either.

        Returns the job as it is then. What is as the edit would have it is not refused, in whatever revision: it may be
        the repeat of an edit whose answer was lost (RFC 9110, 13.1.1).

        Args:
            tenant: who asks.
            job_id: which job.
            now_ms: the present, epoch ms.
            edit: what to change.
            only_revisions: change it only in one of these revisions, if given.
            by: who does it.

        Raises:
            JobNotFoundError: the tenant has no such job.
            RevisionMismatchError: the job has another revision.
            NameTakenError: the edit gives it a name that another job holds.
            LimitReachedError: the edit brings an ended job back, and the tenant has as many as it may.
            UnavailableError: the job was changed by others each time we tried.
            Exception: what the edit itself raises.
        """
        for _ in range(MOST_RACES):
            seen = job_of_tenant(self.jobs, tenant, job_id)
            edited = edit(seen, self._moment(seen, now_ms))
            has_changed = only_revisions is not None and seen.spec.revision not in only_revisions
            if has_changed and edited.definition != seen:
                raise RevisionMismatchError(job_id)
            if edited.definition == seen or self._stored(seen, edited, _event(seen, edited.definition, now_ms, by)):
                return edited.definition
        raise UnavailableError("the job keeps changing")

    def _stored(self, seen: Definition, edited: Edited, event: AuditEvent) -> bool:
        is_counted_after = is_counted(edited.definition.job.state)
        limits_of = self.limits_of if is_counted_after and seen.job.counted is None else None
        return self.jobs.replace(
            edited.definition if is_counted_after else _not_counted(edited.definition),
            seen_version=seen.job.version,
            seen_revision=seen.spec.revision,
            records=edited.records,
            segment=edited.segment,
            seen_claim=seen.job.lease.claim_id if edited.records or edited.segment else None,
            renaming=None if edited.definition.spec.name == seen.spec.name else Renaming(seen.spec.name),
            event=event,
            limits=None if limits_of is None else limits_of(seen.job.tenant),
        )

    def _moment(self, seen: Definition, now_ms: int) -> Moment:
        """When the edit is made: behind the edit before it and behind all that has a record, whatever the clocks say.

        What an edit governs is never older than what has begun by then; so nothing is planned or skipped a second time.
        """
        newest = self.runs.list_newest(seen.job.id, MOST_SENT_UNCONFIRMED, None).runs
        recorded = [run.scheduled_for for run in newest if not run.key.is_manual]
        at_ms = max([now_ms, newest_revision(seen.spec).since, *recorded[:1]])
        first_ms = unsettled_from(seen)
        return Moment(
            at_ms, self.retention_ms, frozenset(nominal for nominal in recorded if first_ms <= nominal <= at_ms)
        )


def _event(seen: Definition, edited: Definition, now_ms: int, by: Actor) -> AuditEvent:
    """What tells of an edit. Each raises the job's generation or its revision, so no two have the same counts."""
    counts = f"{edited.job.generation}.{edited.spec.revision}"
    changes = changes_between(seen, edited)
    return told(action_of(seen, edited), edited.job.id, now_ms, edited.job.tenant, by, changes, of=counts)


def _not_counted(definition: Definition) -> Definition:
    return replace(definition, job=replace(definition.job, counted=None))
