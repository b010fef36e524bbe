"""Completing an attempt whose target answers later, and its signs of life in between.

Who reports shows the token of the attempt, or is a key of the tenant that may write runs; a key speaks of whatever
attempt is under way. Both may come before the worker has recorded the target's 202: the target may be faster.

The first to write the end of an attempt has it: a report, a deadline, a cancel or the worker. Whoever comes later
learns what stands. A report that is repeated is answered as the first time, also when the run has gone on meanwhile.
"""

from dataclasses import dataclass, replace

from carillon.application.cancel_run import RunEndedError
from carillon.application.read_runs import GetRun, RunNotFoundError
from carillon.application.run_records import MOST_RACES, RunRecords
from carillon.domain.admission import RUN_CANCELLED, End
from carillon.domain.audit import Action, Actor, told
from carillon.domain.completions import FAILED_BY_TARGET, Completed, Report, Standing, attempt_of, standing
from carillon.domain.identity import BadIdentityError, RunKey
from carillon.domain.run import Attempt, Run, RunState, finished_attempt, heard_early, kept_alive
from carillon.ports.edges import Ids
from carillon.ports.errors import UnavailableError
from carillon.ports.runs import Refused, Saved


class WrongTokenError(Exception):
    """There is no attempt with this token in this run, or no such run."""


class StaleAttemptError(Exception):
    """The attempt has ended, and the run has gone on without it."""


class NotAwaitedError(Exception):
    """Nobody is to complete the run as it is."""

    def __init__(self, state: RunState) -> None:
        super().__init__(f"the run is {state}")
        self.state = state


class OtherReportError(Exception):
    """The attempt has been completed already, with another outcome."""


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who reports: the holder of a token, or a key's tenant, with who is to be named in the audit trail.

    Holders of tokens are not: theirs is the answer of a target, which the run's own record tells of.
    """

    token: str | None = None
    tenant: str = ""
    actor: Actor | None = None


@dataclass(frozen=True, slots=True)
class CompleteRun:
    """Completes attempts."""

    records: RunRecords
    ids: Ids

    def __call__(self, reporter: Reporter, run_id: str, completed: Completed) -> Run:
        """Record what is reported of an attempt; returns the run as it is then.

        Raises:
            WrongTokenError: the token belongs to no attempt of such a run.
            RunNotFoundError: the key's tenant has no such run.
            OtherReportError: another outcome has been reported of the attempt.
            StaleAttemptError: the attempt has ended, and the run has gone on.
            RunEndedError: the run has ended, and not by a report of this attempt.
            NotAwaitedError: nobody is to complete the run.
            UnavailableError: others kept writing the run.
        """
        for _ in range(MOST_RACES):
            run, attempt = _seen(self.records, reporter, run_id)
            if _has_been_reported(run, attempt, completed):
                return run
            _check_open(run, attempt)
            written = self._write(self._telling(run, completed, reporter.actor), run, completed)
            if isinstance(written, Saved):
                return written.run
        raise UnavailableError("the run keeps changing")

    def _telling(self, run: Run, completed: Completed, actor: Actor | None) -> RunRecords:
        """The records, with which the write that follows tells of the report."""
        if actor is None:
            return self.records
        changes, now_ms = [("/completion", None, str(completed.report))], self.records.clock.now_ms()
        event = told(Action.RUN_COMPLETED, run.key.run_id, now_ms, run.tenant, actor, changes, of=run.rev)
        return replace(self.records, event=event)

    def _write(self, records: RunRecords, run: Run, completed: Completed) -> Saved | Refused:
        now_ms, failed = records.clock.now_ms(), completed.report is not Report.SUCCEEDED
        ended = replace(
            run.attempts[-1],
            ended_at=now_ms,
            error=FAILED_BY_TARGET if failed else None,
            report=completed.report,
            result=completed.result,
        )
        attempts = finished_attempt(run, ended)
        if not failed:
            return records.end(run, None, End(RunState.SUCCEEDED, ""), attempts=attempts)
        if run.is_cancelled:
            return records.end(run, None, End(RunState.CANCELLED, RUN_CANCELLED), attempts=attempts)
        definition = records.jobs.get(run.key.job_id)
        if definition is None:
            return records.end(run, None, End(RunState.DEAD_LETTERED, "job_missing"), attempts=attempts)
        permanent = FAILED_BY_TARGET if completed.report is Report.FAILED_FOR_GOOD else None
        return records.fail(run, definition, attempts, unit=self.ids.unit(), permanent=permanent)


@dataclass(frozen=True, slots=True)
class KeepAlive:
    """Takes the signs of life of attempts."""

    records: RunRecords

    def __call__(self, reporter: Reporter, run_id: str) -> Run:
        """Put the deadline of the next sign of life off; returns the run as it is then.

        Where no signs of life are asked for there is nothing to put off. Before the 202 is recorded neither; but then
        the record is marked, so that the worker reckons the deadline from when it comes to write it, however late.

        Raises:
            WrongTokenError: the token belongs to no attempt of such a run.
            RunNotFoundError: the key's tenant has no such run.
            StaleAttemptError: the attempt has ended, and the run has gone on.
            RunEndedError: the run has ended.
            NotAwaitedError: nobody is to complete the run.
            UnavailableError: others kept writing the run.
        """
        for _ in range(MOST_RACES):
            run, attempt = _seen(self.records, reporter, run_id)
            _check_open(run, attempt)
            if run.state is RunState.RUNNING:
                alive = heard_early(run)
            elif run.heartbeat_ms is None:
                return run
            else:
                alive = kept_alive(run, now_ms=self.records.clock.now_ms())
            written = self.records.save(alive)
            if isinstance(written, Saved):
                return written.run
        raise UnavailableError("the run keeps changing")


def _seen(records: RunRecords, reporter: Reporter, run_id: str) -> tuple[Run, Attempt | None]:
    """The run, and the attempt whose token was shown."""
    if reporter.token is None:
        return GetRun(records.runs)(reporter.tenant, run_id), None
    try:
        run = records.runs.get(RunKey.parse(run_id))
    except BadIdentityError:
        run = None
    attempt = attempt_of(run, reporter.token) if run else None
    if run is None or attempt is None:
        raise WrongTokenError
    return run, attempt


def _has_been_reported(run: Run, attempt: Attempt | None, completed: Completed) -> bool:
    """Whether just this has been reported of the attempt; without a token, of the latest one if it has ended."""
    if attempt is None and run.attempts and not run.may_be_completed:
        attempt = run.attempts[-1]
    if attempt is None or attempt.report is None:
        return False
    if attempt.report != completed.report:
        raise OtherReportError
    return True


def _check_open(run: Run, attempt: Attempt | None) -> None:
    match standing(run, attempt):
        case Standing.STALE:
            raise StaleAttemptError
        case Standing.ENDED:
            raise RunEndedError(run.state)
        case Standing.NOT_ASKED:
            raise NotAwaitedError(run.state)


__all__ = [
    "CompleteRun",
    "KeepAlive",
    "NotAwaitedError",
    "OtherReportError",
    "Reporter",
    "RunEndedError",
    "RunNotFoundError",
    "StaleAttemptError",
    "WrongTokenError",
]
