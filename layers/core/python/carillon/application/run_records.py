"""Writing the ends and the losses of runs: shared by whoever finds them, workers and the dead-letter handler alike."""

import logging
from dataclasses import dataclass, replace

from carillon.domain.admission import RUN_CANCELLED, Drop, End, PutBack, lost_for_good, resolve
from carillon.domain.audit import AuditEvent
from carillon.domain.completions import timeout_of
from carillon.domain.failing import FailingRules
from carillon.domain.job import Definition, JobState, Lane, Priority, Target
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.domain.retry import GiveUp, decide_retry
from carillon.domain.run import Attempt, FailedRow, Run, RunState, ended, finished_attempt, waiting
from carillon.ports.edges import Clock, Meter
from carillon.ports.errors import UnavailableError, UnreadableItemError
from carillon.ports.execution import Delivery
from carillon.ports.jobs import JobStore
from carillon.ports.runs import Refused, RunStore, Saved
from carillon.ports.tenancy import FailureTargets

logger = logging.getLogger("carillon")

DONE = True
NOT_DONE = False
"""Whether a message may be deleted. One that may not comes again when its visibility runs out."""

MOST_RACES = 5
"""Lost races in a row before a message is left to come again."""

RACE_PAUSE_MS = 1_000


@dataclass(frozen=True, slots=True)
class RunRecords:
    """The records of runs, with what their ends need.

    `failing`: when a job is paused for its failures; None: never. `named`: whom tenants have told of failed runs of all
    jobs; None: nobody. `event`: what each of the writes is told of by, where somebody's act is written; of a run's own
    course nothing else is told.
    """

    jobs: JobStore
    runs: RunStore
    clock: Clock
    meter: Meter
    retention_ms: int
    failing: FailingRules | None = None
    named: FailureTargets | None = None
    event: AuditEvent | None = None

    def blank(self, message: WorkMessage, definition: Definition | None, now_ms: int) -> Run:
        """The record that a first message would begin: not written yet, so its `rev` is 0."""
        job = definition.job if definition else None
        return Run(
            key=message.key,
            tenant=message.tenant,
            state=RunState.QUEUED,
            scheduled_for=message.key.scheduled_for,
            generation=message.generation,
            priority=job.priority if job else Priority.NORMAL,
            lane=job.lane if job else Lane.SHORT,
            shard=job.shard if job else 0,  # a run whose job is gone never waits
            created_at=now_ms,
            rev=0,
        )

    def save(self, run: Run) -> Saved | Refused:
        """Write a record that was moved on from its last stored rev (a blank one: from none)."""
        return self.runs.save(run, seen=run.rev - 1 or None, event=self.event)

    def end(
        self,
        run: Run,
        definition: Definition | None,
        end: End,
        *,
        attempts: tuple[Attempt, ...] | None = None,
        tells_cancel: bool = False,
    ) -> Saved | Refused:
        """Write the end of a run; that of a dead letter together with its notice, if somebody wants one.

        A dead letter that is one too many pauses its job afterwards.

        With `tells_cancel`, its target is told of the cancel afterwards.
        """
        now_ms = self.clock.now_ms()
        over = ended(
            run,
            end.state,
            now_ms=now_ms,
            expires_at=(now_ms + self.retention_ms) // 1000,
            reason=end.reason or None,
            attempts=attempts,
            notice=tells_cancel,
        )
        saved = self._bury(over, definition) if over.state is RunState.DEAD_LETTERED else self.save(over)
        if isinstance(saved, Saved):
            kind = "challenges" if run.key.is_challenge else "notices" if run.key.is_notice else "runs"
            self.meter.count(f"{kind}_{end.state}")
            logger.info("run ended", extra={"action": "run_ended", **facts(run), "state": end.state, "why": end.reason})
            if saved.run.failed_row is not None:
                self._pause_failing(saved.run)
        return saved

    def _bury(self, dead: Run, definition: Definition | None) -> Saved | Refused:
        dead = replace(dead, failed_row=self._failed_row(dead, definition))
        notice = self._notice(dead, definition)
        return self.save(dead) if notice is None else self._save_with(dead, notice)

    def _failed_row(self, dead: Run, definition: Definition | None) -> FailedRow | None:
        """How many runs of the job have failed in a row with this one, where that is counted."""
        if self.failing is None or definition is None or dead.key.is_aside:
            return None
        from carillon.application.pause_failing import failed_in_a_row  # noqa: PLC0415 - rare, not for a cold start

        return failed_in_a_row(self, dead, definition)

    def _pause_failing(self, dead: Run) -> None:
        from carillon.application.pause_failing import pause_failing  # noqa: PLC0415 - rare, not for a cold start

        pause_failing(self, dead)

    def _notice(self, dead: Run, definition: Definition | None) -> Run | None:
        """The notice of a dead letter: none if nobody is to be told, or if it is a notice itself."""
        if dead.key.is_aside or not self._tells_somebody(dead, definition):
            return None
        from carillon.domain.notices import notice_of  # noqa: PLC0415 - rare, not for a cold start

        return notice_of(dead, definition.spec if definition else None, self.clock.now_ms())

    def _tells_somebody(self, dead: Run, definition: Definition | None) -> bool:
        """Whether somebody is named. Where that cannot be read there is a notice, which finds out when it runs."""
        if definition is not None and definition.spec.on_failure is not None:
            return True
        try:
            return self._named_by(dead.tenant) is not None
        except (UnavailableError, UnreadableItemError):
            return True

    def _named_by(self, tenant: str) -> Target | None:
        return None if self.named is None else self.named.of(tenant)

    def _save_with(self, dead: Run, notice: Run) -> Saved | Refused:
        told = replace(dead, notice=notice.key.name)
        return self.runs.end_with_notice(told, notice, seen=dead.rev - 1 or None, event=self.event)

    def read(self, message: WorkMessage) -> tuple[Definition | None, Run | None]:
        """The job of a message, and the record of its run if it has one already; the job as that run has it."""
        definition = self.jobs.get(message.key.job_id)
        run = self.runs.get(message.key) if message.kind is MessageKind.WAIT else None
        if run is None or not message.key.is_aside:
            return definition, run
        if message.key.is_challenge:
            from carillon.domain.challenges import as_challenge  # noqa: PLC0415 - rare, not for a cold start

            return as_challenge(run), run
        from carillon.domain.notices import as_notice  # noqa: PLC0415 - rare, not for a cold start

        has_own = definition is not None and definition.spec.on_failure is not None
        return as_notice(definition, run, None if has_own else self._named_by(run.tenant)), run

    def lose(self, run: Run, definition: Definition | None) -> Saved | Refused:
        """Write that the worker of the current attempt is dead: the next try goes alone, by the long lane."""
        now_ms = self.clock.now_ms()
        attempts = finished_attempt(run, replace(run.attempts[-1], ended_at=now_ms, error="worker_lost"))
        if definition is None:
            return self.end(run, definition, End(RunState.DEAD_LETTERED, "job_missing"), attempts=attempts)
        if lost_for_good(run, definition.spec.retry.max_attempts):
            return self.end(run, definition, End(RunState.DEAD_LETTERED, "worker_lost"), attempts=attempts)
        self.meter.count("attempts_lost")
        logger.warning("attempt lost", extra={"action": "attempt_lost", **facts(run)})
        return self.save(waiting(run, at_ms=now_ms, attempts=attempts, lane=Lane.LONG, reason="worker_lost", lost=1))

    def fail(
        self,
        run: Run,
        definition: Definition,
        attempts: tuple[Attempt, ...],
        *,
        unit: float,
        permanent: str | None = None,
        retry_after_ms: int | None = None,
    ) -> Saved | Refused:
        """Write what follows the failure of the current attempt by the job's rules: another one, or a dead letter.

        Args:
            run: as it was read.
            definition: the newest one of the job.
            attempts: those of the run, the current one with its end.
            unit: the draw of the jitter, in [0, 1).
            permanent: the reason why no further attempt could help, or None.
            retry_after_ms: the wait that the target asked for, or None.
        """
        decision = decide_retry(
            definition.spec.retry,
            attempt=run.attempt - run.spent,
            permanent=permanent,
            retry_after_ms=retry_after_ms,
            scheduled_for=run.scheduled_for,
            now_ms=self.clock.now_ms(),
            unit=unit,
        )
        if isinstance(decision, GiveUp):
            return self.end(run, definition, End(RunState.DEAD_LETTERED, decision.reason), attempts=attempts)
        self.meter.count("attempts_failed")
        return self.save(waiting(run, at_ms=decision.at_ms, attempts=attempts, lane=definition.spec.target.lane))

    def expire(self, run: Run, definition: Definition | None, unit: float) -> Saved | Refused:
        """Write that the deadline of an awaited attempt has come: a failure like any other."""
        error = timeout_of(run)
        attempts = finished_attempt(run, replace(run.attempts[-1], ended_at=self.clock.now_ms(), error=error))
        if definition is None:
            return self.end(run, definition, End(RunState.DEAD_LETTERED, "job_missing"), attempts=attempts)
        if definition.job.state is JobState.CANCELLED:
            return self.end(run, definition, End(RunState.CANCELLED, "job_cancelled"), attempts=attempts)
        self.meter.count("completions_missed")
        logger.warning("completion missed", extra={"action": "completion_missed", **facts(run), "why": error})
        return self.fail(run, definition, attempts, unit=unit)

    def superseded(self, message: WorkMessage, definition: Definition | None, delivery: Delivery) -> bool:
        """What becomes of a first message of an older definition: it is void, unless a worker had begun its run.

        Then the worker had read the job before the edit, and the message is the safety net of its attempt.
        """
        begun = self.runs.get(message.key)
        return begun is None or self.settle(Refused(begun), definition, delivery) is not NOT_DONE

    def settle(self, refused: Refused, definition: Definition | None, delivery: Delivery) -> bool | Run:
        """What a refused write means for the message: done, not done, or (the record) to be judged again."""
        if refused.run is None or refused.run.state.is_waiting:
            return refused.run or _come_again(delivery, RACE_PAUSE_MS)
        resolution = resolve(refused.run, definition, self.clock.now_ms())
        if isinstance(resolution, Drop):
            said = {"action": "message_dropped", **facts(refused.run), "why": resolution.why}
            logger.info("message dropped", extra=said)
            return DONE
        if isinstance(resolution, PutBack):
            return _come_again(delivery, resolution.after_ms)
        if isinstance(resolution, End):
            attempts = _broken_off(refused.run, self.clock.now_ms(), resolution.reason)
            tells = resolution.reason == RUN_CANCELLED and definition is not None and wants_notice(definition)
            written = self.end(refused.run, definition, resolution, attempts=attempts, tells_cancel=tells)
        else:
            written = self.lose(refused.run, definition)
        return DONE if isinstance(written, Saved) else _come_again(delivery, RACE_PAUSE_MS)


def wants_notice(definition: Definition) -> bool:
    """Whether the target of a job is to be told of the cancel of a run that is under way."""
    return definition.spec.target.cancel_url is not None


def _broken_off(run: Run, now_ms: int, reason: str) -> tuple[Attempt, ...]:
    return finished_attempt(run, replace(run.attempts[-1], ended_at=now_ms, error=reason))


def _come_again(delivery: Delivery, after_ms: int) -> bool:
    delivery.come_again_after(after_ms)
    return NOT_DONE


def facts(run: Run) -> dict[str, object]:
    """What a log line says of a run: never payloads, headers or addresses."""
    return {"job_id": run.key.job_id, "run_id": run.key.run_id, "attempt": run.attempt, "tenant": run.tenant}
