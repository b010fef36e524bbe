"""Bugs of completions: each is a small mutation of one rule of what targets report, or of their deadlines."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from carillon.application import bury_message, complete_run, execute_run
from carillon.domain import admission
from carillon.domain.completions import Standing
from carillon.domain.job import Completion
from carillon.domain.run import Run, RunState

from .planting import original, plant, saved_blindly


@plant
def an_acceptance_is_a_success() -> Iterator[None]:
    """A 202 ends the run, and what its target reports later is not heard."""
    with patch.object(execute_run, "ACCEPTED", -1):
        yield


@plant
def deadlines_put_off_come_all_the_same() -> Iterator[None]:
    """The message of a deadline counts although a sign of life has come behind it."""
    judge = original(admission, "judge")

    def careless(message: Any, definition: Any, run: Any, now_ms: int) -> Any:
        if run is not None and run.state is RunState.AWAITING_COMPLETION:
            message = replace(message, wait=run.wait)
        return judge(message, definition, run, now_ms)

    with patch.object(execute_run, "judge", careless), patch.object(bury_message, "judge", careless):
        yield


@plant
def signs_of_life_put_nothing_off() -> Iterator[None]:
    """They are taken, and the deadline stays."""
    alive = original(complete_run, "kept_alive")

    def deaf(run: Run, *, now_ms: int) -> Run:
        return replace(alive(run, now_ms=now_ms), next_fire_time=run.next_fire_time)

    with patch.object(complete_run, "kept_alive", deaf):
        yield


@plant
def the_whole_time_begins_with_the_due_time() -> Iterator[None]:
    """What is late has less time to be completed."""
    with patch.object(Completion, "until", lambda self, _now_ms, scheduled_for: scheduled_for + self.timeout_ms):
        yield


@plant
def tokens_of_older_attempts_count() -> Iterator[None]:
    """A target that has been given up speaks for the attempt that came after it."""
    standing = original(complete_run, "standing")

    def lenient(run: Run, attempt: Any) -> Any:
        return Standing.OPEN if run.may_be_completed else standing(run, attempt)

    with patch.object(complete_run, "standing", lenient):
        yield


@plant
def reports_need_no_condition() -> Iterator[None]:
    """A report is written over whatever stands there by now."""
    with saved_blindly(lambda run: bool(run.attempts) and run.attempts[-1].report is not None):
        yield
