"""Reading runs: one, or a job's list. Another tenant's run is as unknown as one that never was."""

from collections.abc import Sequence
from dataclasses import dataclass

from carillon.application.read_jobs import job_of_tenant
from carillon.application.walking import Walked, walk
from carillon.domain.identity import BadIdentityError, RunKey
from carillon.domain.run import Run, RunState
from carillon.ports.jobs import JobStore
from carillon.ports.runs import RunStore


class RunNotFoundError(LookupError):
    """The tenant has no such run, or it has no record yet."""


@dataclass(frozen=True, slots=True)
class GetRun:
    """One run."""

    runs: RunStore

    def __call__(self, tenant: str, run_id: str) -> Run:
        """The tenant's run of a public id.

        Raises:
            RunNotFoundError: the tenant has none of this id.
        """
        try:
            run = self.runs.get(RunKey.parse(run_id))
        except BadIdentityError as error:
            raise RunNotFoundError(run_id) from error
        if run is None or run.tenant != tenant:
            raise RunNotFoundError(run_id)
        return run


@dataclass(frozen=True, slots=True)
class ListRuns:
    """A job's runs, newest nominal time first."""

    jobs: JobStore
    runs: RunStore

    def __call__(self, tenant: str, job_id: str, state: RunState | None, limit: int, before: str | None) -> Walked[Run]:
        """A page of the list, from before the run of the name `before`.

        Raises:
            JobNotFoundError: the tenant has no such job.
        """
        job_of_tenant(self.jobs, tenant, job_id)

        def fetch(count: int, position: str | None) -> tuple[Sequence[Run], str | None]:
            page = self.runs.list_newest(job_id, count, position)
            return page.runs, page.next_before

        return walk(
            fetch,
            admits=None if state is None else lambda run: run.state is state,
            position_of=lambda run: run.key.name,
            limit=limit,
            start=before,
        )
