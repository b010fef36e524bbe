"""`carillon smoke`: a stack, some jobs, and proof that each callback came, was signed and was recorded."""

import math
import threading
import time
from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

import click

from carillon.client import Client
from carillon_cli.dev.command import options_of, stack_options, with_stack
from carillon_cli.dev.errors import REFUSED, DevError, Interrupted
from carillon_cli.dev.receiver import Call, Receiver
from carillon_cli.dev.stack import Running

_ONE_OFFS = 12
_DELAYS_SECONDS = (3, 4, 5)
_RECURRING = 3
_RUNS_EACH = 4
_EXPECTED = _ONE_OFFS + _RECURRING * _RUNS_EACH
_CALLBACKS_SECONDS = 60.0
_RECORDS_SECONDS = 20.0
_LOOK_SECONDS = 0.25


@click.command()
@stack_options
def smoke(**stack: Any) -> None:
    """Start everything, run some jobs, and fail unless each was called back, verified and recorded."""
    calls: list[Call] = []
    with_stack(options_of(**stack), lambda running, stop: calls.extend(_prove(running, stop)))
    click.echo(figures([call.late_ms for call in calls]))


def figures(late_ms: Sequence[int]) -> str:
    """The last line: how many callbacks, and how late they were."""
    return f"callbacks={len(late_ms)} late_p50_ms={percentile(late_ms, 50)} late_p99_ms={percentile(late_ms, 99)}"


def percentile(values: Sequence[int], percent: int) -> int:
    """The smallest value that at least so many percent of the values do not exceed (nearest rank)."""
    return sorted(values)[max(0, math.ceil(len(values) * percent / 100) - 1)]


def _prove(running: Running, stop: threading.Event) -> list[Call]:
    with (
        Client(running.url, running.credentials.api_key) as client,
        Receiver(running.credentials.signing_secret) as receiver,
    ):
        jobs = [client.create_job(job)["id"] for job in _jobs(receiver.url("/smoke"))]
        calls = _first_calls(_callbacks(receiver, stop))
        _check_signatures(calls)
        _check_records(client, jobs, stop)
    return calls


def _jobs(url: str) -> list[dict[str, Any]]:
    delays = islice(cycle(_DELAYS_SECONDS), _ONE_OFFS)
    schedules: list[dict[str, Any]] = [{"delay": f"PT{delay}S"} for delay in delays]
    schedules += [{"every": "PT1S", "max_runs": _RUNS_EACH}] * _RECURRING
    target = {"type": "http", "url": url}
    return [{"schedule": schedule, "target": target, "payload": {"smoke": True}} for schedule in schedules]


def _callbacks(receiver: Receiver, stop: threading.Event) -> list[Call]:
    deadline = time.monotonic() + _CALLBACKS_SECONDS
    while time.monotonic() < deadline:
        calls = receiver.wait_for(lambda calls: len(_first_calls(calls)) >= _EXPECTED, _LOOK_SECONDS)
        if len(_first_calls(calls)) >= _EXPECTED:
            return calls
        if stop.is_set():
            raise Interrupted
    raise DevError(f"only {len(_first_calls(receiver.calls()))} of {_EXPECTED} callbacks came", REFUSED)


def _first_calls(calls: Sequence[Call]) -> list[Call]:
    """One call for each run: delivery is at least once."""
    return list({call.run_id: call for call in reversed(calls)}.values())


def _check_signatures(calls: Sequence[Call]) -> None:
    for call in calls:
        if call.problem is not None:
            raise DevError(f"the signature of {call.run_id} is wrong: {call.problem}", REFUSED)


def _check_records(client: Client, jobs: Sequence[str], stop: threading.Event) -> None:
    """Wait until the API says of each run that it succeeded: the record is written after the answer to the call."""
    deadline = time.monotonic() + _RECORDS_SECONDS
    while True:
        states = [run["state"] for job in jobs for run in client.runs(job)]
        if states.count("succeeded") == _EXPECTED == len(states):
            return
        if time.monotonic() > deadline:
            counted = ", ".join(f"{states.count(state)} {state}" for state in sorted(set(states)))
            raise DevError(f"of {_EXPECTED} runs the API says: {counted or 'nothing'}", REFUSED)
        if stop.wait(_LOOK_SECONDS):
            raise Interrupted
