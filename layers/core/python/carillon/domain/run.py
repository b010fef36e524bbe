"""A run: the record and execution of one occurrence. Its states, its legal moves, and nothing else.

States, and who causes each edge::

              ┌──────────────────────── g ───────────────────────┐
              ▼                                                  │
    (none) ─a─► running ─b─► succeeded                         retrying, queued
      │ │        │ │ └─c─► awaiting_completion ─d─► succeeded, retrying or dead_lettered
      │ │        │ └───e─► retrying ─────────────────────────────▲
      │ │        └─────f─► dead_lettered, cancelled ◄──── f ─────┤
      │ └─h─► skipped, cancelled, dead_lettered     ◄──── h ─────┤
      └───i─► queued ────────────────────────────────────────────┤
                               dead_lettered ─j─► retrying, queued ┘

    a  a worker starts the first attempt          b  the target answered 2xx
    c  the target answered 202 to an async job    d  completion, or its deadline
    e  the attempt failed, or its worker died     f  no further attempt; or cancelled
    g  a worker starts the next attempt           h  rules that forbid the first start
    i  somebody runs the job by hand              j  somebody redrives a dead letter

Every write of a run is conditional on its `rev`, the count of writes so far: whoever read an older one loses.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from carillon.domain.identity import RunKey
from carillon.domain.job import Lane, Priority


class RunState(StrEnum):
    """What a run is doing, as people say it."""

    QUEUED = "queued"
    RUNNING = "running"
    AWAITING_COMPLETION = "awaiting_completion"
    RETRYING = "retrying"
    SUCCEEDED = "succeeded"
    DEAD_LETTERED = "dead_lettered"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"

    @property
    def has_ended(self) -> bool:
        """Whether nothing will change the run any more, short of a redrive."""
        return self in _ENDED

    @property
    def is_waiting(self) -> bool:
        """Whether the next thing to happen to the run is a start."""
        return self in (RunState.QUEUED, RunState.RETRYING)


_ENDED = frozenset({RunState.SUCCEEDED, RunState.DEAD_LETTERED, RunState.CANCELLED, RunState.SKIPPED})
_MOVES: dict[RunState | None, frozenset[RunState]] = {
    None: frozenset({RunState.RUNNING, RunState.QUEUED}) | (_ENDED - {RunState.SUCCEEDED}),
    RunState.QUEUED: frozenset({RunState.QUEUED, RunState.RUNNING}) | (_ENDED - {RunState.SUCCEEDED}),
    RunState.RETRYING: frozenset({RunState.RETRYING, RunState.RUNNING}) | (_ENDED - {RunState.SUCCEEDED}),
    RunState.RUNNING: frozenset({RunState.RUNNING, RunState.AWAITING_COMPLETION, RunState.RETRYING})
    | (_ENDED - {RunState.SKIPPED}),
    RunState.AWAITING_COMPLETION: frozenset({RunState.AWAITING_COMPLETION, RunState.RETRYING})
    | (_ENDED - {RunState.SKIPPED}),
    RunState.DEAD_LETTERED: frozenset({RunState.RETRYING, RunState.QUEUED}),
    RunState.CANCELLED: frozenset({RunState.CANCELLED}),  # its target is told of it
}

MOST_ATTEMPTS_LOST = 3
"""After so many attempts whose worker died, the run is taken for the cause."""


REDRIVEN = "redriven"

MOST_ATTEMPTS_KEPT = 100
MOST_EXCERPTS_KEPT = 10
"""Of the newest attempts: escaped, an excerpt may take 24 KB, and a result 12, of an item that has 400."""


class IllegalMoveError(Exception):
    """A run was asked to go where its state does not allow: a bug, never a race."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try. `status` is the HTTP status, `error` a code of the closed set; instants in epoch ms.

    Of a target that completes later: `token_digest` is of the token that this attempt was given, `report` what was
    reported with it, `result` the JSON text that came along.
    """

    number: int
    started_at: int
    ended_at: int | None = None
    status: int | None = None
    error: str | None = None
    excerpt: str | None = None
    truncated: bool = False
    revision: int = 0
    token_digest: str | None = None
    report: str | None = None
    result: str | None = None


@dataclass(frozen=True, slots=True)
class SkippedBlock:
    """A block of skipped occurrences in one record: how many, the first and the last (epoch ms)."""

    count: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class FailedRow:
    """How many runs of a job have failed in a row, up to one of them, and since when (epoch ms)."""

    runs: int
    since: int


@dataclass(frozen=True, slots=True)
class Run:
    """The record of one occurrence (or of one block of skipped ones). Instants in epoch ms.

    `spent`: how many attempts had been made when somebody redrove it: they no longer count against the job's limit.
    `is_cancelled`: somebody wants the running attempt broken off. `completion_until` and `heartbeat_ms`: until when the
    target has to complete the attempt, and how far apart its signs of life may be, while it is awaited.
    """

    key: RunKey
    tenant: str
    state: RunState
    scheduled_for: int
    generation: int
    priority: Priority
    lane: Lane
    shard: int
    created_at: int
    rev: int = 1
    wait: int = 0
    attempt: int = 0
    lost: int = 0
    spent: int = 0
    is_cancelled: bool = False
    lease_until: int = 0
    start_id: str = ""
    next_fire_time: int | None = None  # only while something is to happen: this puts it in the due index
    completion_until: int | None = None
    heartbeat_ms: int | None = None
    granted: bool = False  # whether that is a rate slot
    reason: str | None = None
    attempts: tuple[Attempt, ...] = ()
    lateness_ms: int | None = None
    block: SkippedBlock | None = None
    ended_at: int | None = None
    expires_at: int | None = None  # epoch seconds
    notice: str | None = None  # the name of the run that tells of this one's failure
    body: bytes | None = None  # of a notice: what it tells
    failed_row: FailedRow | None = None  # of a dead letter

    @property
    def was_redriven(self) -> bool:
        """Whether it goes on, or has gone on, behind a redrive."""
        return self.reason == REDRIVEN or self.attempt > self.spent > 0

    @property
    def owes_notice(self) -> bool:
        """Whether the target has still to be told that it was cancelled."""
        return self.state is RunState.CANCELLED and self.next_fire_time is not None

    @property
    def may_be_completed(self) -> bool:
        """Whether the current attempt is under way and was given a token to complete it with."""
        under_way = self.state in (RunState.RUNNING, RunState.AWAITING_COMPLETION)
        return under_way and self.attempts[-1].token_digest is not None


def check_move(before: RunState | None, after: RunState) -> None:
    """Raise unless a run may go from one state to the other (None: it has no record yet).

    Raises:
        IllegalMoveError: it may not.
    """
    if after not in _MOVES.get(before, frozenset()):
        raise IllegalMoveError(f"a run cannot go from {before} to {after}")


def _moved(run: Run, state: RunState, **changes: object) -> Run:
    check_move(run.state, state)
    return replace(run, state=state, rev=run.rev + 1, **changes)  # type: ignore[arg-type]  # each caller names fields of Run


def started(
    run: Run,
    *,
    now_ms: int,
    due_ms: int,
    lease_ms: int,
    start_id: str,
    revision: int,
    token_digest: str | None = None,
) -> Run:
    """The next attempt of a waiting run begins, under a lease. The first one is late by the time since it was due."""
    number = run.attempt + 1
    return _moved(
        run,
        RunState.RUNNING,
        attempt=number,
        start_id=start_id,
        lease_until=now_ms + lease_ms,
        next_fire_time=None,
        granted=False,
        reason=None,
        attempts=(*run.attempts, Attempt(number, now_ms, revision=revision, token_digest=token_digest)),
        lateness_ms=now_ms - due_ms if run.lateness_ms is None else run.lateness_ms,
    )


def heartbeat(run: Run, *, now_ms: int, lease_ms: int) -> Run:
    """The worker of a running attempt is alive."""
    return _moved(run, RunState.RUNNING, lease_until=now_ms + lease_ms)


def cancel_asked(run: Run) -> Run:
    """Somebody wants the running attempt broken off: its worker reads that with its next sign of life."""
    return _moved(run, RunState.RUNNING, is_cancelled=True)


def accepted(run: Run, *, now_ms: int, attempts: tuple[Attempt, ...], until_ms: int, heartbeat_ms: int | None) -> Run:
    """The target will complete the attempt later: its deadline waits in the due index, and no worker does."""
    return _moved(
        run,
        RunState.AWAITING_COMPLETION,
        wait=run.wait + 1,
        next_fire_time=_deadline(now_ms, until_ms, heartbeat_ms),
        completion_until=until_ms,
        heartbeat_ms=heartbeat_ms,
        lease_until=0,
        attempts=attempts,
    )


def heard_early(run: Run) -> Run:
    """The target of a running attempt is alive, and its 202 is not recorded yet: whoever is about to reckons anew."""
    return _moved(run, RunState.RUNNING)


def kept_alive(run: Run, *, now_ms: int) -> Run:
    """The target of an awaited attempt is alive. The wait number rises: a deadline that was sent is void.

    Never does it come sooner for that: the clock that hears the sign may be behind the one that set the deadline.
    """
    until_ms = now_ms if run.completion_until is None else run.completion_until
    deadline_ms = max(_deadline(now_ms, until_ms, run.heartbeat_ms), run.next_fire_time or 0)
    return _moved(run, RunState.AWAITING_COMPLETION, wait=run.wait + 1, next_fire_time=deadline_ms)


def _deadline(now_ms: int, until_ms: int, heartbeat_ms: int | None) -> int:
    return until_ms if heartbeat_ms is None else min(until_ms, now_ms + heartbeat_ms)


def noticed(run: Run) -> Run:
    """The target of a cancelled run is told of it now, and not again."""
    return _moved(run, RunState.CANCELLED, next_fire_time=None)


def redriven(run: Run, *, now_ms: int, lane: Lane) -> Run:
    """A dead letter gets all its attempts anew, numbered on from the last one; it is due at once."""
    return _moved(
        run,
        RunState.RETRYING if run.attempt else RunState.QUEUED,
        wait=run.wait + 1,
        next_fire_time=now_ms,
        spent=run.attempt,
        lost=0,
        lane=lane,
        reason=REDRIVEN,
        notice=None,
        failed_row=None,
        ended_at=None,
        expires_at=None,
    )


def finished_attempt(run: Run, attempt: Attempt) -> tuple[Attempt, ...]:
    """The attempts of a run with the current one replaced by how it ended.

    Of many the oldest go, and all but the newest lose their excerpts: a record that had outgrown its item could not be
    written any more, and the run not be ended.
    """
    older = run.attempts[:-1][-(MOST_ATTEMPTS_KEPT - 1) :]
    bare = max(len(older) + 1 - MOST_EXCERPTS_KEPT, 0)
    return (*(replace(each, excerpt=None, result=None) for each in older[:bare]), *older[bare:], attempt)


def waiting(
    run: Run,
    *,
    at_ms: int,
    attempts: tuple[Attempt, ...],
    lane: Lane,
    reason: str | None = None,
    lost: int = 0,
) -> Run:
    """The run waits in the due index for its next attempt. The wait number rises: older messages are void."""
    return _moved(
        run,
        RunState.RETRYING if run.attempt else RunState.QUEUED,
        wait=run.wait + 1,
        next_fire_time=at_ms,
        granted=False,
        lease_until=0,
        attempts=attempts,
        lane=lane,
        reason=reason,
        lost=run.lost + lost,
        completion_until=None,
        heartbeat_ms=None,
    )


def ended(
    run: Run,
    state: RunState,
    *,
    now_ms: int,
    expires_at: int,
    reason: str | None = None,
    attempts: tuple[Attempt, ...] | None = None,
    notice: bool = False,
) -> Run:
    """The run has ended. `notice`: its target is to be told, for which it waits in the due index."""
    return _moved(
        run,
        state,
        reason=reason,
        attempts=run.attempts if attempts is None else attempts,
        ended_at=now_ms,
        expires_at=expires_at,
        lease_until=0,
        wait=run.wait + notice,
        next_fire_time=now_ms if notice else None,
        granted=False,
        completion_until=None,
        heartbeat_ms=None,
    )
