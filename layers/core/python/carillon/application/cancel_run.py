"""Cancelling one run: one that waits ends at once, one that is being called is broken off by its worker's next beat."""

from dataclasses import dataclass

from carillon.application.edit_job import MOST_RACES
from carillon.application.read_runs import GetRun
from carillon.domain.admission import RUN_CANCELLED
from carillon.domain.instants import SECOND_MS
from carillon.domain.run import Run, RunState, cancel_asked, ended
from carillon.ports.errors import UnavailableError
from carillon.ports.runs import RunStore, Saved


class RunEndedError(Exception):
    """The run has ended already, in another state."""

    def __init__(self, state: RunState) -> None:
        super().__init__(f"the run is {state}")
        self.state = state


@dataclass(frozen=True, slots=True)
class CancelRun:
    """Cancels runs. `retention_ms`: how long ended runs are kept."""

    runs: RunStore
    retention_ms: int

    def __call__(self, tenant: str, run_id: str, now_ms: int) -> Run:
        """Cancel a run; returns it as it is then. To cancel a cancelled one changes nothing.

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
            written = self.runs.save(self._cancelled(seen, now_ms), seen=seen.rev)
            if isinstance(written, Saved):
                return written.run
        raise UnavailableError("the run keeps changing")

    def _cancelled(self, run: Run, now_ms: int) -> Run:
        if run.state is RunState.RUNNING:
            return cancel_asked(run)
        expires_at = (now_ms + self.retention_ms) // SECOND_MS
        return ended(run, RunState.CANCELLED, now_ms=now_ms, expires_at=expires_at, reason=RUN_CANCELLED)
