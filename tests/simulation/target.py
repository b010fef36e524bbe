"""The targets: how they answer, and the note of each call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carillon.domain.outcomes import CallRequest, Failure, Outcome, answered, failed

from .history import Call
from .kernel import KilledError
from .plan import drawn
from .reports import Accepted, follow

if TYPE_CHECKING:
    from .actors import SkewedClock
    from .world import World

API_URL = "https://api.carillon.test"
_OK = answered(status=200, started_ms=0, duration_ms=1)
_TAKEN_OVER = answered(status=202, started_ms=0, duration_ms=1)
_SHARE_OF_LATER = 0.8
_LONGEST_ACCEPTING_MS = 2_000


@dataclass(frozen=True, slots=True)
class Caller:
    """Calls targets from one machine. What a target does depends on the run and the attempt alone."""

    world: "World"
    clock: "SkewedClock"

    def call(self, request: CallRequest, *, deadline_ms: int, beat: Callable[[], bool], beat_every_ms: int) -> Outcome:
        """Make one call, noting it; it may take long, be broken off, or kill the worker."""
        world, headers = self.world, dict(request.headers)
        actor = world.kernel.current
        job_id, _, name = headers["webhook-id"].partition("@")
        call = Call(
            job_id=job_id,
            name=name,
            attempt=int(headers["Carillon-Attempt"]),
            at_ms=world.kernel.now,
            own_ms=self.clock.now_ms(),
            read_seq=actor.read_seq,
            actor=actor,
        )
        world.history.calls.append(call)
        outcome = self._outcome(call, headers.get("Carillon-Completion-Token"), deadline_ms, beat, beat_every_ms)
        call.status, call.answered = outcome.status, True
        return outcome

    def _outcome(
        self, call: Call, token: str | None, deadline_ms: int, beat: Callable[[], bool], beat_every_ms: int
    ) -> Outcome:
        plan = self.world.targets[call.job_id]
        key = f"{call.job_id[-6:]}{call.name}{call.attempt}"
        fate = drawn(key, self.world.plan.seed)
        takes_ms = 0
        if plan.slow and drawn(key, 1) < plan.slow:
            takes_ms = round(plan.slow_ms * drawn(key, 2))
            broken_off = self._wait(takes_ms, deadline_ms, beat, beat_every_ms)
            if broken_off is not None:
                return broken_off
        if fate < plan.kills:
            raise KilledError
        if fate < plan.kills + plan.fails:
            return _failure(plan.statuses[int(drawn(key, 3) * len(plan.statuses))], takes_ms)
        if plan.later is None or token is None or drawn(key, 4) >= _SHARE_OF_LATER:
            return _OK
        call.is_accepted = True
        follow(self.world, Accepted(call, token, key), plan.later)
        self.world.gate.suspend(round(_LONGEST_ACCEPTING_MS * drawn(key, 13)))
        return _TAKEN_OVER

    def _wait(self, takes_ms: int, deadline_ms: int, beat: Callable[[], bool], beat_every_ms: int) -> Outcome | None:
        ends_at = self.clock.now_ms() + takes_ms
        while (left_ms := min(ends_at, deadline_ms) - self.clock.now_ms()) > 0:
            self.world.gate.suspend(min(left_ms, beat_every_ms))
            if left_ms > beat_every_ms and not beat():
                return failed(Failure.CANCELLED, started_ms=0, duration_ms=takes_ms)
        return failed(Failure.TIMEOUT, started_ms=0, duration_ms=takes_ms) if ends_at > deadline_ms else None


def _failure(status: int, takes_ms: int) -> Outcome:
    if not status:
        return failed(Failure.TIMEOUT, started_ms=0, duration_ms=takes_ms)
    headers = (("Retry-After", "7"),) if status == 429 else ()
    return answered(status=status, headers=headers, started_ms=0, duration_ms=takes_ms)
