"""Cancelling one run: one that waits or is awaited ends at once, a call is broken off by its worker's next beat.

The target of an attempt that was under way is told, if the job names where.
"""

from dataclasses import dataclass, replace

from carillon.application.edit_job import MOST_RACES
from carillon.application.read_runs import GetRun
from carillon.domain.admission import RUN_CANCELLED
from carillon.domain.audit import CARILLON, Action, Actor, told
from carillon.domain.instants import SECOND_MS
from carillon.domain.outcomes import Failure
from carillon.domain.run import Attempt, Run, RunState, cancel_asked, ended, finished_attempt
from carillon.ports.errors import UnavailableError
from carillon.ports.jobs import JobStore
from carillon.ports.runs import RunStore, Saved


class RunEndedError(Exception):
    """The run has ended already, in another state."""

    def __init__(self, state: RunState) -> None:
        super().__init__(f"the run is {state}")
        self.state = state


@dataclass(frozen=True, slots=True)
class CancelRun:
    """Cancels runs. `retention_ms`: how long ended runs are kept."""

    jobs: JobStore
    runs: RunStore
    retention_ms: int

    def __call__(self, tenant: str, run_id: str, now_ms: int, by: Actor = CARILLON) -> Run:
        """Cancel a run, with the event that tells who did; returns it as it is then.

        To cancel a cancelled one changes nothing.

        Raises:
            RunNotFoundError: the tenant has none of this id, or it has no record yet.
            RunEndedError: it has ended in another state.
            UnavailableError: others kept writing the run.
        """
        for _ in range(MOST_RACES):
            seen = GetRun(self.runs)(tenant, run_id)
            if seen.state is RunState.CANCELLED or seen.is_cancelled:
                return seen
            if seen.state.has_ended:
                raise RunEndedError(seen.state)
            changes = [("/state", str(seen.state), str(RunState.CANCELLED))]
            event = told(Action.RUN_CANCELLED, run_id, now_ms, tenant, by, changes, of=seen.rev)
            written = self.runs.save(self._cancelled(seen, now_ms), seen=seen.rev, event=event)
            if isinstance(written, Saved):
                return written.run
        raise UnavailableError("the run keeps changing")

    def _cancelled(self, run: Run, now_ms: int) -> Run:
        if run.state is RunState.RUNNING:
            return cancel_asked(run)
        is_awaited = run.state is RunState.AWAITING_COMPLETION
        return ended(
            run,
            RunState.CANCELLED,
            now_ms=now_ms,
            expires_at=(now_ms + self.retention_ms) // SECOND_MS,
            reason=RUN_CANCELLED,
            attempts=_broken_off(run, now_ms) if is_awaited else None,
            notice=is_awaited and self._names_cancel_url(run),
        )

    def _names_cancel_url(self, run: Run) -> bool:
        definition = self.jobs.get(run.key.job_id)
        return definition is not None and definition.spec.target.cancel_url is not None


def _broken_off(run: Run, now_ms: int) -> tuple[Attempt, ...]:
    return finished_attempt(run, replace(run.attempts[-1], ended_at=now_ms, error=Failure.CANCELLED))
