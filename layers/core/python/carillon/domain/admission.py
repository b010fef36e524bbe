"""What a worker does with a message: start, end without a start, hold, put back, or drop. Pure; races are values.

Two questions, in this order. `judge` looks at the message, the job and the clock, and says what ought to be written.
If the record refuses that write because somebody else was there first, `resolve` looks at the record.
"""

from dataclasses import dataclass

from carillon.domain.due import due_time
from carillon.domain.identity import RunKey
from carillon.domain.job import Definition, JobState
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.domain.retry import MAX_AGE_MS
from carillon.domain.run import MOST_ATTEMPTS_LOST, Run, RunState

PAUSE_RETRY_MS = 60_000
LONGEST_PAUSE_RETRY_MS = 3_600_000
RUN_CANCELLED = "run_cancelled"
REMOVED = "on_failure_removed"


@dataclass(frozen=True, slots=True)
class Start:
    """Start the next attempt."""


@dataclass(frozen=True, slots=True)
class End:
    """Write the end of a run that does not start, with its reason."""

    state: RunState
    reason: str


@dataclass(frozen=True, slots=True)
class WaitLonger:
    """The job is paused: the run goes back to wait until this instant (epoch ms)."""

    at_ms: int


@dataclass(frozen=True, slots=True)
class PutBack:
    """Not yet: let the message come again after so many ms."""

    after_ms: int


@dataclass(frozen=True, slots=True)
class Lose:
    """The worker of the running attempt is dead: the attempt is lost."""


@dataclass(frozen=True, slots=True)
class Expire:
    """The deadline of an awaited attempt has come: it has failed."""


@dataclass(frozen=True, slots=True)
class Tell:
    """The target is to be told that the run was cancelled."""


@dataclass(frozen=True, slots=True)
class Contested:
    """The message's own attempt has been started already, by a worker that may be alive or dead: see `resolve`."""


@dataclass(frozen=True, slots=True)
class Superseded:
    """A newer definition answers for the occurrence: the message is void, unless its run was begun before the edit."""


@dataclass(frozen=True, slots=True)
class Drop:
    """The message is void; `why` is for the log."""

    why: str


Judgement = Start | End | WaitLonger | Expire | Tell | Contested | Superseded | Drop
Resolution = End | Lose | PutBack | Drop


def judge(message: WorkMessage, definition: Definition | None, run: Run | None, now_ms: int) -> Judgement:
    """What the job's rules say of a message that is due.

    Args:
        message: the message.
        definition: the job, read with strong consistency; None when it is gone.
        run: the record of the run if it was read (waiting runs), else None.
        now_ms: the present, epoch ms.
    """
    if message.kind is MessageKind.FIRST:
        return _judge_first(message, definition, now_ms)
    if run is None or run.wait != message.wait:
        return Drop("stale_wait")
    if run.owes_notice:
        return Tell()
    if run.state.has_ended:
        return Drop("stale_wait")
    if run.state is RunState.AWAITING_COMPLETION:
        return Expire()
    if not run.state.is_waiting:
        return Contested()
    return _judge_waiting(definition, run, now_ms)


def _judge_first(message: WorkMessage, definition: Definition | None, now_ms: int) -> Judgement:
    if definition is None:
        return End(RunState.DEAD_LETTERED, "job_missing")
    scheduled_for = message.key.scheduled_for
    newer = definition.spec.superseded_at(message.generation)
    if newer is not None and newer.since <= scheduled_for:
        return Superseded()
    if definition.job.state is JobState.CANCELLED:
        return End(RunState.CANCELLED, "job_cancelled")
    if definition.job.state is JobState.PAUSED:
        return End(RunState.SKIPPED, "paused")
    if _past_deadline(definition, message.key, now_ms):
        return End(RunState.SKIPPED, "deadline")
    if now_ms > scheduled_for + MAX_AGE_MS:
        return End(RunState.DEAD_LETTERED, "max_age")
    return Start()


def _judge_waiting(definition: Definition | None, run: Run, now_ms: int) -> Judgement:
    if definition is None:
        return End(RunState.DEAD_LETTERED, "job_missing")
    if definition.job.state is JobState.CANCELLED:
        return End(RunState.CANCELLED, "job_cancelled")
    if run.key.is_notice and definition.spec.on_failure is None:
        return End(RunState.CANCELLED, REMOVED)
    if run.key.is_manual and not run.key.is_aside:
        return Start()
    if now_ms > run.scheduled_for + MAX_AGE_MS:
        return End(RunState.DEAD_LETTERED, "max_age")
    if definition.job.state is JobState.PAUSED:
        return WaitLonger(now_ms + min(PAUSE_RETRY_MS * 2 ** min(run.wait, 6), LONGEST_PAUSE_RETRY_MS))
    if run.attempt == 0 and _past_deadline(definition, run.key, now_ms):
        return End(RunState.SKIPPED, "deadline")
    return Start()


def _past_deadline(definition: Definition, key: RunKey, now_ms: int) -> bool:
    """A deadline counts from when the run is due: a window that spreads runs must not make them late."""
    deadline_ms = definition.spec.deadline_ms
    return deadline_ms is not None and now_ms > due_time(definition.job, key) + deadline_ms


def resolve(run: Run, definition: Definition | None, now_ms: int) -> Resolution:
    """What the record of a run says to a message whose write it refused."""
    if run.state.has_ended:
        return Drop("ended")
    if run.state is not RunState.RUNNING:
        return Drop("waits_elsewhere")
    if run.lease_until > now_ms:
        return PutBack(run.lease_until - now_ms)
    if run.is_cancelled:
        return End(RunState.CANCELLED, RUN_CANCELLED)
    if definition is not None and definition.job.state is JobState.CANCELLED:
        return End(RunState.CANCELLED, "job_cancelled")
    return Lose()


def redrive_refusal(run: Run, definition: Definition, now_ms: int) -> str | None:
    """Why a run cannot be redriven, or None when it can."""
    if run.state is not RunState.DEAD_LETTERED:
        return f"it is {run.state}"
    if definition.job.state is JobState.CANCELLED:
        return "its job is cancelled"
    if run.key.is_aside or run.key.is_manual:
        return None
    if now_ms > run.scheduled_for + MAX_AGE_MS:
        return "it is older than 14 days"
    return "it is past its deadline" if _past_deadline(definition, run.key, now_ms) else None


def lost_for_good(run: Run, max_attempts: int) -> bool:
    """Whether a run whose current attempt is lost must not be tried again."""
    return run.attempt - run.spent >= max_attempts or run.lost + 1 >= MOST_ATTEMPTS_LOST
