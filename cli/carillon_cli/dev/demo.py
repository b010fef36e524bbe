"""`carillon demo`: a stack, a receiver, and two jobs whose callbacks are shown as they come."""

import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import click

from carillon.client import Client, ClientError
from carillon_cli.dev.command import options_of, stack_options, with_stack
from carillon_cli.dev.progress import welcome
from carillon_cli.dev.receiver import Call, Receiver
from carillon_cli.dev.stack import Running

_JOBS = {
    "/in-3-seconds": {"delay": "PT3S"},
    "/every-5-seconds": {"every": "PT5S"},
}
_LOOK_SECONDS = 0.5


@click.command()
@stack_options
def demo(**stack: Any) -> None:
    """Show Carillon at work: one job due in 3 seconds and one each 5 seconds, until Ctrl-C."""
    with_stack(options_of(**stack), _show)


def _show(running: Running, stop: threading.Event) -> None:
    click.echo(welcome(running.ready_document()))
    with (
        Client(running.url, running.credentials.api_key) as client,
        Receiver(running.credentials.signing_secret) as receiver,
    ):
        jobs = [client.create_job(_job(receiver.url(path), schedule)) for path, schedule in _JOBS.items()]
        click.echo("\nCallbacks, as they come:\n")
        try:
            _follow(receiver, running, stop)
        finally:
            _cancel(client, jobs)


def _job(url: str, schedule: dict[str, str]) -> dict[str, Any]:
    return {"schedule": schedule, "target": {"type": "http", "url": url}, "payload": {"hello": "from Carillon"}}


def _follow(receiver: Receiver, running: Running, stop: threading.Event) -> None:
    shown = 0
    while not stop.is_set():
        running.check()
        calls = receiver.wait_for(shown + 1, _LOOK_SECONDS)
        for call in calls[shown:]:
            click.echo(_line(call))
        shown = len(calls)


def _line(call: Call) -> str:
    came = datetime.fromtimestamp(call.received_ms / 1000).astimezone().strftime("%H:%M:%S")
    verdict = "signature verified" if call.problem is None else f"signature wrong: {call.problem}"
    return f"  {came}  {call.path:<18}  {call.late_ms:>5} ms late  {verdict}  {call.run_id}"


def _cancel(client: Client, jobs: Sequence[Mapping[str, Any]]) -> None:
    """Leave nothing that would call a receiver that has gone."""
    for job in jobs:
        with suppress(ClientError):
            client.cancel_job(job["id"])
