"""Targets that complete what they have accepted: later, sometimes before their 202 is heard, twice, or never."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from carillon.application.cancel_run import RunEndedError
from carillon.application.complete_run import (
    CompleteRun,
    KeepAlive,
    NotAwaitedError,
    OtherReportError,
    Reporter,
    StaleAttemptError,
    WrongTokenError,
)
from carillon.domain.completions import Completed, Report

from .actors import Actor, guarded
from .history import Call, Reported
from .plan import LaterPlan, drawn

if TYPE_CHECKING:
    from .world import World

MOST_TRIES = 3
AGAIN_MS = 2_000
REFUSALS = (NotAwaitedError, OtherReportError, RunEndedError, StaleAttemptError, WrongTokenError)


@dataclass(frozen=True, slots=True)
class Accepted:
    """An attempt that a target has taken over, with the token that lets it report."""

    call: Call
    token: str
    key: str


def follow(world: "World", accepted: Accepted, later: LaterPlan) -> None:
    """Plan what the target of an attempt will say of it. It depends on the run and the attempt alone."""
    key, now_ms = accepted.key, world.kernel.now
    ends_ms = now_ms + round(later.most_ms * drawn(key, 5))
    if later.beats_every_ms is not None:
        for at_ms in range(now_ms + later.beats_every_ms, ends_ms, later.beats_every_ms):
            world.kernel.at(at_ms, partial(_say, world, accepted, None))
    if drawn(key, 6) < later.silent:
        return
    first, other = _reports(later, key)
    world.kernel.at(ends_ms, partial(_say, world, accepted, first))
    if drawn(key, 7) < later.repeats:
        world.kernel.at(ends_ms + round(20_000 * drawn(key, 8)), partial(_say, world, accepted, first))
    if drawn(key, 9) < later.contradicts:
        world.kernel.at(ends_ms + round(20_000 * drawn(key, 10)), partial(_say, world, accepted, other))


def _reports(later: LaterPlan, key: str) -> tuple[Report, Report]:
    """What a target reports, and what one would that contradicts itself."""
    failure = Report.FAILED_FOR_GOOD if drawn(key, 11) < later.fails_for_good else Report.FAILED
    return (failure, Report.SUCCEEDED) if drawn(key, 12) < later.fails else (Report.SUCCEEDED, failure)


def _say(world: "World", accepted: Accepted, report: Report | None, tries: int = MOST_TRIES) -> None:
    """Report, or give a sign of life (None); who gets no answer says it again, so many times."""
    call = accepted.call
    said = Reported(call.job_id, call.name, call.attempt, report, world.kernel.now)
    world.history.reports.append(said)
    actor = Actor(f"target of {call.name} {call.attempt}")
    said.answer = guarded(world, actor, partial(_answer, world, accepted, report))
    if world.trace:
        world.trace("report", actor.name, report or "alive", said.answer)
    if said.answer is None and tries > 1:
        world.kernel.at(world.kernel.now + AGAIN_MS, partial(_say, world, accepted, report, tries - 1))


def _answer(world: "World", accepted: Accepted, report: Report | None) -> str:
    """What the API answers: `taken`, or the name of its refusal."""
    records, run_id = world.records_of_api(), f"{accepted.call.job_id}@{accepted.call.name}"
    reporter = Reporter(token=accepted.token)
    try:
        if report is None:
            KeepAlive(records)(reporter, run_id)
        else:
            CompleteRun(records, world.ids)(reporter, run_id, Completed(report))
    except REFUSALS as refused:
        return type(refused).__name__
    return Reported.TAKEN
