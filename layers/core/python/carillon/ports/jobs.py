"""The store of jobs, with what is asked of it and what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from carillon.domain.limits import NO_LIMITS

if TYPE_CHECKING:  # types alone: who uses a part of this loads no other
    from collections.abc import Sequence

    from carillon.domain.audit import AuditEvent
    from carillon.domain.due import DueJob, Occurrence
    from carillon.domain.job import Definition, Job, JobState
    from carillon.domain.limits import Limits
    from carillon.domain.run import Run


@dataclass(frozen=True, slots=True)
class Claim:
    """A wish to decide a due job: who (epoch of the group lease), under which name, until and as of when.

    With `takes_over` set, the claim of that name must have been found with its lease run out, and `decided_at` is that
    claim's, so that the second owner decides what the first one did.
    """

    entry: DueJob
    epoch: int
    claim_id: str
    until: int
    decided_at: int
    takes_over: str | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """The claim holds (also when an earlier, unanswered try of the same claim had succeeded)."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class ClaimRefused:
    """The claim does not hold; `job` is the stored job, or None when it is gone, damaged or nobody answered for it."""

    claim: Claim
    job: Job | None


ClaimResult = Claimed | ClaimRefused


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The end of a claim: what comes next, and the records of what was skipped.

    `planned_until`: the latest nominal time that was sent, or None when nothing was. `is_partial`: the queue has not
    accepted all, and maybe some behind the one that comes next: the lease is left as one that has run out, so that what
    is left is taken over, and decided as of the same instant. `granted`: what comes next has its rate slot.
    """

    claim: Claim
    upcoming: Occurrence | None
    planned: int
    state: JobState
    expires_at: int | None
    records: tuple[Run, ...] = ()
    planned_until: int | None = None
    is_partial: bool = False
    granted: bool = False


@dataclass(frozen=True, slots=True)
class JobDeferral:
    """A job that is not claimed: its occurrence is due again at a slot (epoch ms), which it was granted or not."""

    entry: DueJob
    epoch: int
    until_ms: int
    granted: bool


@dataclass(frozen=True, slots=True)
class JobPage:
    """A page of a tenant's jobs, newest first; `next_after` is the id to go on after, or None at the end."""

    definitions: tuple[Definition, ...]
    next_after: str | None


@dataclass(frozen=True, slots=True)
class Renaming:
    """An edit gives a job the name of its new definition (None: no name), in place of this one (None: it had none)."""

    former: str | None


class JobStore(Protocol):
    """Jobs, both halves."""

    def create(self, definition: Definition, *, limits: Limits = NO_LIMITS, event: AuditEvent | None = None) -> None:
        """Store a new job, its other half, its name and the event that tells of it, and count it, all or nothing.

        A repeat of the same definition succeeds, and adds no event. `limits`: of the tenant, as they were at most a
        minute ago; that of jobs holds as it is stored.

        Raises:
            NameTakenError: another job of the tenant holds the name.
            LimitReachedError: the tenant has as many jobs as it may.
            TooFastError: the tenant creates jobs faster than it may.
        """
        ...

    def get(self, job_id: str) -> Definition | None:
        """Both halves, read with strong consistency, or None.

        Raises:
            UnreadableItemError: the stored job is damaged.
        """
        ...

    def holder_of(self, tenant: str, name: str) -> str | None:
        """The id of the job that took a name last, read with strong consistency, or None when the name is free.

        It may be of a job that is gone meanwhile.
        """
        ...

    def list_newest(self, tenant: str, limit: int, after: str | None) -> JobPage:
        """A tenant's jobs, newest first, from behind the job `after`, in every state.

        A job deleted meanwhile is simply missing, so a page may be short while `next_after` is set.
        """
        ...

    def replace(  # noqa: PLR0913 - what an edit may come with, all or nothing
        self,
        definition: Definition,
        *,
        seen_version: int,
        seen_revision: int,
        records: Sequence[Run],
        segment: Job | None = None,
        seen_claim: str | None = None,
        renaming: Renaming | None = None,
        event: AuditEvent | None = None,
        limits: Limits | None = None,
    ) -> bool:
        """Store both halves if neither has changed since it was read, together with what settles the past.

        With `seen_claim` set, the job must not have been claimed under another name meanwhile either: whoever claims
        may send what is being settled.

        All or nothing: new run records, the segment of the old plan that the due index is to drain, and the event that
        tells of the change. A record whose run has one already is left as it is. When the job is cancelled, its name
        becomes free; when it is renamed, its new name is taken and the former one becomes free. With `limits` set, the
        job is counted again. Returns False when the job has changed.

        Raises:
            NameTakenError: another job of the tenant holds the new name.
            LimitReachedError: the job is to be counted, and the tenant has as many as it may.
        """
        ...

    def claim_many(self, claims: Sequence[Claim]) -> list[ClaimResult]:
        """Try each claim by itself; one result a claim, in the order given. The due index is untouched.

        It holds if `version` is as in the entry, and the stored epoch not above ours, and there is no lease (or, taking
        over, the lease is that of the named claim). Where only some were answered for, the others count as refused.

        Raises:
            UnavailableError: none was answered for.
        """
        ...

    def confirm_many(self, confirmations: Sequence[Confirmation]) -> list[bool]:
        """End each claim by itself: the next occurrence, version + 1, no lease; and its records; all or nothing.

        A partial one leaves the lease as one that has run out.

        Without a next occurrence the job leaves the due index, and a segment is removed. A record whose run has one
        already is left as it is. One answer a confirmation, in the order given; False when the claim is no longer
        ours, or nobody answered: then it runs out, and the occurrence is found again.
        """
        ...

    def defer_many(self, deferrals: Sequence[JobDeferral]) -> list[bool]:
        """Move each job by itself to its slot in the due index, version + 1, if it is as seen and without a claim.

        One answer a deferral, in the order given; False also where nobody answered. What is moved all the same is due
        at its slot; the slot of what is not is wasted.
        """
        ...

    def set_error(self, entry: DueJob, reason: str) -> bool:
        """Take a job that cannot be decided out of the due index: state `error`. False: its version has moved on."""
        ...

    def delete(self, job_id: str) -> None:
        """Remove what is left of a job whose hot half is gone: its other half and its name, if still its own."""
        ...
