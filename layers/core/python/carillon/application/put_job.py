"""A job by the name that its client has chosen: created if there is none, changed if it differs, or left alone."""

from collections.abc import Callable
from dataclasses import dataclass

from carillon.application.create_job import CreateJob, NewJob
from carillon.application.edit_job import MOST_RACES, EditJob
from carillon.application.read_jobs import JobNotFoundError
from carillon.application.redefine_job import redefine
from carillon.domain.audit import CARILLON, Actor
from carillon.domain.editing import Edited
from carillon.domain.job import Definition, JobState
from carillon.domain.settling import Moment
from carillon.ports.errors import NameTakenError, UnavailableError
from carillon.ports.jobs import JobStore

Wish = Callable[[int, Definition | None], NewJob]
"""The whole job that is wanted, as of an instant (epoch ms), seen the job there is."""

Check = Callable[[int | None], None]
"""Raises what is to be answered when the revision there is (None: there is no job) is not one that may be changed."""


class _HolderGoneError(Exception):
    """The job that held the name is cancelled, or has another name: the name is free."""


@dataclass(frozen=True, slots=True)
class Put:
    """The job as it is then, and whether it is new."""

    definition: Definition
    is_new: bool


@dataclass(frozen=True, slots=True)
class PutJob:
    """Creates or changes jobs by their names. Of two at once, one creates and the other one changes."""

    jobs: JobStore
    create: CreateJob
    edit: EditJob

    def __call__(self, tenant: str, name: str, now_ms: int, wish: Wish, check: Check, *, by: Actor = CARILLON) -> Put:
        """Let the job of a name be as wanted; what is as wanted is not written.

        A cancelled job holds no name. One that has ended by itself does, and can only be put again unchanged.

        Args:
            tenant: who asks.
            name: of the job, which is also in the wish.
            now_ms: the present, epoch ms.
            wish: the whole job that is wanted.
            check: refuses by the revision there is.
            by: who puts it.

        Raises:
            NoOccurrenceError: the schedule has no occurrence ahead; the error names the field at fault.
            JobFinishedError: the job of this name has ended and would be changed.
            TooManyEditsError: its schedule was edited too often lately.
            NoSuchUploadError: the tenant has no upload of the reference.
            LimitReachedError: the tenant has as many jobs as it may, or its payloads must be smaller.
            TooFastError: the tenant creates jobs faster than it may.
            UnavailableError: the job or its name was changed by others each time we tried.
        """
        for _ in range(MOST_RACES):
            holder = self.jobs.holder_of(tenant, name)
            changed = None if holder is None else self._changed(tenant, holder, name, now_ms, wish, check, by=by)
            if changed is not None:
                return Put(changed, is_new=False)
            check(None)
            try:
                return Put(self.create(tenant, wish(now_ms, None), now_ms, by), is_new=True)
            except NameTakenError:  # by somebody who asks for the same at the same time
                continue
        raise UnavailableError("the name keeps changing hands")

    def _changed(
        self, tenant: str, job_id: str, name: str, now_ms: int, wish: Wish, check: Check, *, by: Actor
    ) -> Definition | None:
        """The job as it is then, or None when it holds the name no more."""

        def change(seen: Definition, at: Moment) -> Edited:
            if seen.job.state is JobState.CANCELLED or seen.spec.name != name:
                raise _HolderGoneError
            check(seen.spec.revision)
            wanted = self.create.kept(tenant, job_id, wish(at.now_ms, seen), seen.spec)
            return redefine(seen, wanted, at)

        try:
            return self.edit(tenant, job_id, now_ms, change, by=by)
        except (_HolderGoneError, JobNotFoundError):
            return None
