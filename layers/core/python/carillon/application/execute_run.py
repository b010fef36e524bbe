"""A worker's handling of one message: hold, judge, start, call, finish.

Where it may die, and who repairs it:

- before the start is written: nobody was told; the message comes again by its visibility;
- after the start, before the finish: the message comes again, finds the lease run out, and the attempt is lost;
- after the finish, before the message is deleted: the message comes again, finds the run ended or waiting, and drops.

Two kinds of messages start nothing: the deadline of a completion fails its attempt, and of a run that was cancelled the
target is told.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from carillon.application.breakers import Breakers
from carillon.application.run_records import DONE, MOST_RACES, NOT_DONE, RACE_PAUSE_MS, RunRecords, facts, wants_notice
from carillon.domain.admission import (
    RUN_CANCELLED,
    Contested,
    Drop,
    End,
    Expire,
    Start,
    Superseded,
    Tell,
    WaitLonger,
    judge,
)
from carillon.domain.breaker import TARGET_UNAVAILABLE, Abandon, Park, Pass
from carillon.domain.callbacks import completable, request_of
from carillon.domain.completions import ACCEPTED, TOKEN_BYTES, new_token, token_digest
from carillon.domain.destinations import ANYWHERE
from carillon.domain.due import due_time
from carillon.domain.job import Completion, Definition, HttpTarget, JobSpec, QueueTarget, Target
from carillon.domain.messages import MessageKind, NewerMessageError, UnreadableMessageError, WorkMessage
from carillon.domain.outcomes import (
    TARGET_GONE,
    CallRequest,
    Failure,
    Outcome,
    SendRequest,
    Verdict,
    classify,
    error_code,
    failed,
)
from carillon.domain.retry_after import parse_retry_after
from carillon.domain.run import Attempt, Run, RunState, accepted, finished_attempt, heartbeat, started, waiting
from carillon.ports.edges import Ids
from carillon.ports.errors import PayloadMissingError, UnavailableError, UnreadableItemError
from carillon.ports.execution import Caller, Delivery, Sender
from carillon.ports.payloads import Payloads
from carillon.ports.runs import Refused, Saved
from carillon.ports.tenancy import DestinationStore, SigningSecrets, Verifications

logger = logging.getLogger("carillon")

LONGEST_HOLD_MS = 1_000
NEWER_MESSAGE_PAUSE_MS = 60_000
RECORDING_MARGIN_MS = 5_000
"""What must be left of an invocation after the longest possible call, to record its outcome."""


@dataclass(frozen=True, slots=True)
class ExecutionTiming:
    """Times of a worker, ms: a run's lease, its renewal, how long a message hides, the longest call.

    `hide_first`: hide the message for that time as the first act (its queue hides it for an invocation's whole length).
    """

    lease_ms: int = 60_000
    beat_ms: int = 20_000
    visibility_ms: int = 120_000
    call_limit_ms: int = 60_000
    hide_first: bool = False


@dataclass(frozen=True, slots=True)
class ExecuteRun:
    """The use case of the workers. `payloads` is asked for where they are when the first uploaded one is sent."""

    records: RunRecords
    secrets: SigningSecrets
    caller: Caller
    ids: Ids
    timing: ExecutionTiming
    destinations: DestinationStore
    breakers: Breakers
    sender: Sender
    api_url: str
    """Where targets reach the API of this stage, without a slash at its end."""
    payloads: Callable[[], Payloads]
    verifications: Verifications | None = None
    """Where it is recorded that a destination has answered its challenge."""

    def __call__(self, delivery: Delivery, stop_by_ms: int) -> bool:
        """Handle one message; returns whether it may be deleted.

        Args:
            delivery: the message.
            stop_by_ms: when the invocation is ended by force, epoch ms.
        """
        try:
            message = WorkMessage.decode(delivery.body)
        except NewerMessageError:
            delivery.come_again_after(NEWER_MESSAGE_PAUSE_MS)
            return NOT_DONE
        except UnreadableMessageError as error:
            self.records.meter.count("unparsable_message")
            said = {"action": "message_unreadable", "message_id": delivery.message_id, "why": str(error)}
            logger.error("message unreadable", extra=said)  # noqa: TRY400 - the trace says nothing about the message
            return NOT_DONE
        if not self._hold(message, delivery):
            return NOT_DONE
        if self.timing.hide_first:
            delivery.come_again_after(self.timing.visibility_ms)
        return self._begin(message, delivery, stop_by_ms)

    def _hold(self, message: WorkMessage, delivery: Delivery) -> bool:
        """Wait until a message is due by this worker's own clock, if that is under a second; never start early."""
        early_ms = message.due_ms - self.records.clock.now_ms()
        if early_ms >= LONGEST_HOLD_MS:
            delivery.come_again_after(early_ms - early_ms % 1_000)
            return False
        if early_ms > 0:
            self.records.clock.sleep_ms(early_ms)
        return True

    def _begin(self, message: WorkMessage, delivery: Delivery, stop_by_ms: int) -> bool:
        definition, run = self.records.read(message)
        for _ in range(MOST_RACES):
            result = self._try(message, definition, run, delivery, stop_by_ms)
            if isinstance(result, bool):
                return result
            if message.kind is MessageKind.FIRST or result.wait != message.wait:
                return DONE
            run = result
        delivery.come_again_after(RACE_PAUSE_MS)
        return NOT_DONE

    def _try(
        self, message: WorkMessage, definition: Definition | None, run: Run | None, delivery: Delivery, stop_by_ms: int
    ) -> bool | Run:
        """One judgement and its write: whether the message is done, or the record to judge by after a lost race."""
        now_ms = self.records.clock.now_ms()
        written: Saved | Refused
        subject = run or self.records.blank(message, definition, now_ms)
        match judge(message, definition, run, now_ms):
            case Drop(why):
                logger.info("message dropped", extra={"action": "message_dropped", **facts(subject), "why": why})
                return DONE
            case Superseded():
                return self.records.superseded(message, definition, delivery)
            case Contested():
                written = Refused(subject)
            case WaitLonger(at_ms):
                longer = waiting(subject, at_ms=at_ms, attempts=subject.attempts, lane=subject.lane, reason="paused")
                written = self.records.save(longer)
            case End() as end:
                written = self.records.end(subject, definition, end)
            case Expire():
                written = self.records.expire(subject, definition, self.ids.unit())
            case Tell():
                return _tell(self, subject, definition, delivery, stop_by_ms)
            case Start():
                return self._start(subject, definition, delivery, stop_by_ms)
        return DONE if isinstance(written, Saved) else self.records.settle(written, definition, delivery)

    def _start(self, run: Run, definition: Definition | None, delivery: Delivery, stop_by_ms: int) -> bool | Run:
        if definition is None:
            raise AssertionError("a job that is gone is never started")
        now_ms = self.records.clock.now_ms()
        if now_ms + self._timeout_ms(definition) + RECORDING_MARGIN_MS > stop_by_ms:
            delivery.come_again_after(0)  # another invocation has the time for it
            return NOT_DONE
        secrets = self.secrets.active(run.tenant, now_ms)
        if not secrets:
            written = self.records.end(run, definition, End(RunState.DEAD_LETTERED, "no_signing_secret"))
            return DONE if isinstance(written, Saved) else self.records.settle(written, definition, delivery)
        destinations = ANYWHERE if run.key.is_challenge else self.destinations.of(run.tenant)
        admission = self._admission(run, definition, now_ms)
        if not isinstance(admission, Pass):
            written = self._wait_for_target(run, definition, admission)
            return DONE if isinstance(written, Saved) else self.records.settle(written, definition, delivery)
        token = new_token(self.ids.secret_bytes(TOKEN_BYTES)) if definition.spec.target.completion else None
        begun = self.records.save(
            started(
                run,
                now_ms=now_ms,
                due_ms=_due_ms(run, definition),
                lease_ms=self.timing.lease_ms,
                start_id=self.ids.token(),
                revision=definition.spec.revision,
                token_digest=None if token is None else token_digest(token),
            )
        )
        if isinstance(begun, Refused):
            return self.records.settle(begun, definition, delivery)
        if run.attempt == 0 and begun.run.lateness_ms is not None and not run.key.is_aside:
            self.records.meter.observe_ms("lateness_ms", begun.run.lateness_ms)
        now_ms = self.records.clock.now_ms()
        deadline_ms = now_ms + self._timeout_ms(definition)
        spec = self._loaded(definition.spec, deadline_ms)
        sent_ms = self.records.clock.now_ms()
        if isinstance(spec, Failure):
            outcome = failed(spec, started_ms=now_ms, duration_ms=sent_ms - now_ms)
            return self._finish(begun.run, definition, outcome)
        request = request_of(begun.run, spec, secrets, destinations, sent_ms)
        if token is not None:
            request = completable(request, begun.run, self.api_url, token)
        return self._call(begun.run, definition, request, delivery, deadline_ms)

    def _loaded(self, spec: JobSpec, deadline_ms: int) -> JobSpec | Failure:
        """The definition with the bytes of its payload, or why they are not to be had. The time is the call's."""
        if spec.stored_payload is None:
            return spec
        try:
            payload = self.payloads().read(spec.tenant, spec.job_id, spec.stored_payload, deadline_ms)
        except PayloadMissingError:
            return Failure.PAYLOAD_MISSING
        except UnavailableError:
            return Failure.PAYLOAD_UNAVAILABLE
        return replace(spec, payload=payload)

    def _admission(self, run: Run, definition: Definition, now_ms: int) -> Pass | Park | Abandon:
        """What the circuit breaker of the target says to the run."""
        target = definition.spec.target
        if not isinstance(target, HttpTarget):
            return Pass()
        return self.breakers.admit(
            run.tenant,
            target.url,
            timeout_ms=self._timeout_ms(definition),
            due_ms=_due_ms(run, definition),
            now_ms=now_ms,
        )

    def _wait_for_target(self, run: Run, definition: Definition, admission: Park | Abandon) -> Saved | Refused:
        """The target does not answer: the run waits, and no attempt is spent on it; in the end it is given up."""
        if isinstance(admission, Abandon):
            return self.records.end(run, definition, End(RunState.DEAD_LETTERED, TARGET_UNAVAILABLE))
        self.records.meter.count("runs_parked")
        lane, at_ms = definition.spec.target.lane, admission.until_ms
        parked = waiting(run, at_ms=at_ms, attempts=run.attempts, lane=lane, reason=TARGET_UNAVAILABLE)
        return self.records.save(parked)

    def _call(
        self, run: Run, definition: Definition, request: CallRequest | SendRequest, delivery: Delivery, deadline_ms: int
    ) -> bool:
        if isinstance(request, SendRequest):
            return self._finish(run, definition, self.sender.send(request))
        pulse = _Pulse(run, self, delivery)
        outcome = self.caller.call(
            request,
            deadline_ms=deadline_ms,
            beat=pulse.beat,
            beat_every_ms=self.timing.beat_ms,
        )
        is_done = self._finish(pulse.run, definition, outcome)
        self.breakers.learn(run.tenant, request.url, outcome, self.records.clock.now_ms())
        return is_done

    def _timeout_ms(self, definition: Definition) -> int:
        return min(definition.spec.target.timeout_ms, self.timing.call_limit_ms)

    def _finish(self, run: Run, definition: Definition, outcome: Outcome) -> bool:
        """Record what came of an attempt, as long as it is still the current one."""
        for _ in range(MOST_RACES):
            written = self._record(run, definition, outcome)
            if isinstance(written, Saved):
                if written.run.reason == TARGET_GONE and not run.key.is_aside:
                    _pause_gone(self.records, written.run, definition.spec.target)
                return DONE
            newest = written.run
            if newest is not None and _was_completed(newest, run):
                return DONE
            if newest is None or not _is_same_attempt(newest, run):
                break
            run = newest
        # A newer attempt runs, or has run: this message is its safety net and must not be deleted by this worker.
        self.records.meter.count("finishes_refused")
        logger.warning("finish refused", extra={"action": "finish_refused", **facts(run)})
        return NOT_DONE

    def _record(self, run: Run, definition: Definition, outcome: Outcome) -> Saved | Refused:
        now_ms = self.records.clock.now_ms()
        verdict, error = classify(outcome, definition.spec.retry.retry_on), error_code(outcome)
        if verdict is Verdict.SUCCEEDED and run.key.is_challenge:
            error = _prove(self.verifications, run, outcome, now_ms)
            verdict = Verdict.SUCCEEDED if error is None else Verdict.PERMANENT
        attempts = finished_attempt(run, _attempt(run, outcome, error, now_ms))
        is_sent = verdict is Verdict.SUCCEEDED and isinstance(definition.spec.target, QueueTarget)
        is_accepted = run.may_be_completed and (is_sent or outcome.status == ACCEPTED)
        if verdict is Verdict.SUCCEEDED and not is_accepted:
            return self.records.end(run, definition, End(RunState.SUCCEEDED, ""), attempts=attempts)
        if run.is_cancelled:
            end, tells = End(RunState.CANCELLED, RUN_CANCELLED), wants_notice(definition)
            return self.records.end(run, definition, end, attempts=attempts, tells_cancel=tells)
        if is_accepted:
            return self._await(run, definition, attempts, now_ms)
        return self.records.fail(
            run,
            definition,
            attempts,
            unit=self.ids.unit(),
            permanent=None if verdict is Verdict.RETRYABLE else error or "permanent",
            retry_after_ms=None if outcome.retry_after is None else parse_retry_after(outcome.retry_after, now_ms),
        )

    def _await(self, run: Run, definition: Definition, attempts: tuple[Attempt, ...], now_ms: int) -> Saved | Refused:
        """Record that the target completes the attempt later; in the usual time, if the job has lost its own by now."""
        rules = definition.spec.target.completion or Completion()
        still_open = (*attempts[:-1], replace(attempts[-1], ended_at=None))
        until_ms = rules.until(now_ms, run.scheduled_for)
        self.records.meter.count("attempts_accepted")
        return self.records.save(
            accepted(run, now_ms=now_ms, attempts=still_open, until_ms=until_ms, heartbeat_ms=rules.heartbeat_ms)
        )


def _due_ms(run: Run, definition: Definition) -> int:
    """When a run is due, epoch ms: a notice, when the run that it tells of has ended."""
    return run.scheduled_for if run.key.is_aside else due_time(definition.job, run.key)


def _attempt(run: Run, outcome: Outcome, error: str | None, now_ms: int) -> Attempt:
    begun = run.attempts[-1]
    return Attempt(
        number=begun.number,
        started_at=begun.started_at,
        ended_at=now_ms,
        status=outcome.status,
        error=error,
        excerpt=outcome.excerpt or None,
        truncated=outcome.truncated,
        revision=begun.revision,
        token_digest=begun.token_digest,
    )


def _prove(verifications: Verifications | None, run: Run, outcome: Outcome, now_ms: int) -> str | None:
    """Judge the answer of a destination to its challenge, which is rare too."""
    from carillon.application.verified_destinations import prove  # noqa: PLC0415 - rare, not for a cold start

    return prove(verifications, run, outcome, now_ms)


def _pause_gone(records: RunRecords, run: Run, called: Target) -> None:
    """Pause the job of a target that is gone. It is rare, and only then a worker has to know of edits and calendars."""
    from carillon.application.pause_gone import pause_gone  # noqa: PLC0415 - rare, not for a cold start

    pause_gone(records, run, called)


def _tell(
    execution: ExecuteRun, run: Run, definition: Definition | None, delivery: Delivery, stop_by_ms: int
) -> bool | Run:
    """Tell a target of a cancel. That is rare as well."""
    from carillon.application.tell_cancelled import tell_cancelled  # noqa: PLC0415 - rare, not for a cold start

    return tell_cancelled(execution, run, definition, delivery, stop_by_ms)


def _was_completed(stored: Run, run: Run) -> bool:
    """Whether the attempt that a worker has started was completed, or awaited, before the worker could record its end.

    The message is not needed any more then: the run has ended, or waits in the due index.
    """
    has_gone_on = stored.state is not RunState.RUNNING and stored.start_id == run.start_id
    return has_gone_on and stored.attempts[-1].report is not None


def _is_same_attempt(stored: Run | None, run: Run) -> bool:
    """Whether the stored record is still that of the attempt which a worker has started."""
    return stored is not None and stored.state is RunState.RUNNING and stored.start_id == run.start_id


class _Pulse:
    """The sign of life of a running call: it extends the message's hiding and the run's lease."""

    def __init__(self, run: Run, execution: ExecuteRun, delivery: Delivery) -> None:
        self.run = run
        self._execution = execution
        self._delivery = delivery

    def beat(self) -> bool:
        """Extend both; False when the attempt is no longer the current one, so that the call is broken off."""
        try:
            self._delivery.come_again_after(self._execution.timing.visibility_ms)
            return self._renew()
        except (UnavailableError, UnreadableItemError):
            return True  # the lease may yet be renewed by the next beat; the call itself is well

    def _renew(self) -> bool:
        """Renew the lease; a beat whose answer was lost left the record one write further, and still ours."""
        records, timing = self._execution.records, self._execution.timing
        for _ in range(MOST_RACES):
            written = records.save(heartbeat(self.run, now_ms=records.clock.now_ms(), lease_ms=timing.lease_ms))
            if isinstance(written, Refused) and not _is_same_attempt(written.run, self.run):
                return False
            self.run = written.run or self.run
            if isinstance(written, Saved):
                return not self.run.is_cancelled
        return True
