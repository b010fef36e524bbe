"""Bugs of the workers: each is a small mutation of one rule of start, call and finish."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from carillon.application import bury_message, cancel_run, execute_run, redrive, run_records
from carillon.application.execute_run import ExecuteRun
from carillon.domain import admission
from carillon.domain.admission import Drop, PutBack
from carillon.domain.job import JobSpec
from carillon.domain.run import Run, RunState

from .planting import original, plant, saved_blindly


@plant
def starts_need_no_condition() -> Iterator[None]:
    """A worker starts a run whatever its record says by now."""
    with saved_blindly(lambda run: run.state is RunState.RUNNING):
        yield


@plant
def finishes_need_no_condition() -> Iterator[None]:
    """A worker that wakes up late writes its outcome over a newer attempt."""
    with saved_blindly(lambda run: run.attempt > 0 and run.state is not RunState.RUNNING):
        yield


@plant
def the_generation_is_forgotten() -> Iterator[None]:
    """A message of an older definition is as good as any."""
    with patch.object(JobSpec, "superseded_at", lambda _self, _generation: None):
        yield


@plant
def the_wait_number_is_ignored() -> Iterator[None]:
    """A duplicate of the message of one retry starts another one."""
    judge = original(admission, "judge")

    def careless(message: Any, definition: Any, run: Any, now_ms: int) -> Any:
        if run is not None and not run.state.has_ended:
            message = replace(message, wait=run.wait)
        return judge(message, definition, run, now_ms)

    with patch.object(execute_run, "judge", careless), patch.object(bury_message, "judge", careless):
        yield


@plant
def messages_of_running_retries_are_dropped() -> Iterator[None]:
    """The message of a retry whose worker has died is taken for a stale one."""
    judge = original(admission, "judge")

    def drops(message: Any, definition: Any, run: Any, now_ms: int) -> Any:
        judgement = judge(message, definition, run, now_ms)
        return Drop("stale_wait") if isinstance(judgement, admission.Contested) else judgement

    with patch.object(execute_run, "judge", drops), patch.object(bury_message, "judge", drops):
        yield


@plant
def lost_attempts_are_not_counted() -> Iterator[None]:
    """A run may kill its workers for ever."""

    def waiting(run: Run, **options: Any) -> Run:
        return moved(run, **(options | {"lost": 0}))

    moved = original(run_records, "waiting")
    with patch.object(run_records, "waiting", waiting):
        yield


@plant
def lost_attempts_have_no_limit() -> Iterator[None]:
    """A run is tried again although its last attempt is lost."""
    with patch.object(run_records, "lost_for_good", lambda _run, _most: False):
        yield


@plant
def the_only_attempt_is_tried_again() -> Iterator[None]:
    """A run that may be tried once is tried again when its worker has died: surely it had not called yet."""
    rule = original(run_records, "lost_for_good")

    def hopeful(run: Run, most: int) -> Any:
        return rule(run, most) and most > 1

    with patch.object(run_records, "lost_for_good", hopeful):
        yield


@plant
def run_leases_never_run_out() -> Iterator[None]:
    """The message of a dead worker's run is put back for ever."""
    resolve = original(admission, "resolve")

    def patient(run: Run, definition: Any, now_ms: int) -> Any:
        resolution = resolve(run, definition, now_ms)
        return PutBack(60_000) if run.state is RunState.RUNNING else resolution

    with patch.object(run_records, "resolve", patient):
        yield


@plant
def run_leases_are_not_looked_at() -> Iterator[None]:
    """A duplicate takes the attempt of a living worker for lost."""
    resolve = original(admission, "resolve")
    impatient = lambda run, definition, _now_ms: resolve(replace(run, lease_until=0), definition, 1)  # noqa: E731 - a patch
    with patch.object(run_records, "resolve", impatient):
        yield


@plant
def beats_do_not_renew() -> Iterator[None]:
    """A long call's lease runs out although its worker is alive."""
    with patch.object(execute_run._Pulse, "_renew", lambda _self: True):
        yield


@plant
def nothing_is_held_until_due() -> Iterator[None]:
    """A message that comes early starts early."""
    with patch.object(ExecuteRun, "_hold", lambda *_: True):
        yield


@plant
def cancels_of_called_runs_are_forgotten() -> Iterator[None]:
    """A run that is being called is asked to end in a record that its worker never looks at."""
    with patch.object(cancel_run, "cancel_asked", lambda run: replace(run, rev=run.rev + 1, state=RunState.CANCELLED)):
        yield


@plant
def redrives_number_from_the_start() -> Iterator[None]:
    """A redriven run has its attempts anew, under numbers that its target has seen."""
    redriven = original(redrive, "redriven")

    def afresh(run: Run, **facts: Any) -> Run:
        return replace(redriven(run, **facts), attempt=0, attempts=(), spent=0)

    with patch.object(redrive, "redriven", afresh):
        yield


@plant
def redrives_count_the_attempts_before() -> Iterator[None]:
    """A redriven run that fails once more is a dead letter at once."""
    redriven = original(redrive, "redriven")

    def counted(run: Run, **facts: Any) -> Run:
        return replace(redriven(run, **facts), spent=0)

    with patch.object(redrive, "redriven", counted):
        yield
