"""A job whose target completes later, and what may be done about it."""

from typing import Any

from carillon.application.cancel_run import CancelRun
from carillon.application.complete_run import (
    CompleteRun,
    KeepAlive,
    Reporter,
)
from carillon.domain.completions import Completed, Report
from carillon.domain.identity import RunKey
from carillon.domain.job import Completion, HttpTarget
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import Run
from carillon.domain.schedule import OneOff, Schedule
from support.world import DAY_MS, START_MS, TENANT, World, status

SECOND_MS, MINUTE_MS, HOUR_MS = 1_000, 60_000, 3_600_000
RETENTION_MS = 30 * DAY_MS
ASYNC = HttpTarget("https://hooks.example.net/cb", completion=Completion(HOUR_MS, 5 * MINUTE_MS))
TWICE = RetryPolicy(max_attempts=2, base_ms=10_000, jitter=Jitter.NONE)
AT_ONCE = OneOff(START_MS)
SUCCEEDED, FAILED = Completed(Report.SUCCEEDED), Completed(Report.FAILED)
FOR_GOOD = Completed(Report.FAILED_FOR_GOOD)


class Story:
    """A job of an asynchronous target, up to where its first attempt is awaited."""

    def __init__(
        self,
        *script: Any,
        target: HttpTarget = ASYNC,
        retry: RetryPolicy = TWICE,
        schedule: Schedule = AT_ONCE,
    ) -> None:
        self.world = World()
        self.job_id = self.world.create(schedule, target=target, retry=retry)
        self.key = RunKey.of(self.job_id, START_MS)
        self.world.caller.script = list(script or (status(202),) * 3)

    def until(self, after_ms: int) -> "Story":
        """Let time pass up to so long after the due time."""
        self.world.run_until(START_MS + after_ms)
        return self

    @property
    def run(self) -> Run:
        """The record."""
        return self.world.run_of(self.job_id, START_MS)

    def token(self, attempt: int) -> str:
        """The token of an attempt, as its target was given it."""
        return headers_of(self.world, attempt - 1)["Carillon-Completion-Token"]

    def complete(self, completed: Completed = SUCCEEDED, *, attempt: int = 1, key_of: str | None = None) -> Run:
        """Report of an attempt, by its token or by a key of a tenant."""
        reporter = Reporter(tenant=key_of) if key_of else Reporter(token=self.token(attempt))
        return CompleteRun(self.world.records(), self.world.ids)(reporter, self.key.run_id, completed)

    def beat(self, attempt: int = 1) -> Run:
        """Give a sign of life."""
        return KeepAlive(self.world.records())(Reporter(token=self.token(attempt)), self.key.run_id)

    def cancel(self) -> Run:
        """Cancel the run."""
        return CancelRun(self.world.jobs, self.world.runs, RETENTION_MS)(TENANT, self.key.run_id, self.now_ms)

    @property
    def now_ms(self) -> int:
        """The present."""
        return self.world.clock.now_ms()


def headers_of(world: World, call: int) -> dict[str, str]:
    """What a call carried."""
    return dict(world.caller.calls[call][0].headers)
