"""`carillon dev`, and what all commands that start a stack share."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import click

from carillon_cli.config import json_option
from carillon_cli.dev.errors import REFUSED, DevError, Interrupted
from carillon_cli.dev.progress import Progress, welcome
from carillon_cli.dev.project import Project, checkout
from carillon_cli.dev.stack import Options, Running, running_stack
from carillon_cli.output import print_json

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FOLDER = click.Path(path_type=Path, file_okay=False)


def stack_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of every command that starts a stack."""
    for option in reversed(
        (
            click.option(
                "--port", type=click.IntRange(1, 65535), help="Port of the API.  [default: 8080 or the next free]"
            ),
            click.option("--state", type=_FOLDER, help="Keep jobs in this folder for the next start."),
            click.option("--auth", is_flag=True, help="Enforce IAM: each function has its own role's rights only."),
            click.option("--project", type=_FOLDER, default=checkout, hidden=True, help="The checkout to deploy."),
        )
    ):
        function = option(function)
    return function


@click.command()
@stack_options
@click.option("--ready-file", type=click.Path(path_type=Path, dir_okay=False), help="Written when the API can be used.")
@click.option("--stop-at-eof", is_flag=True, hidden=True, help="Stop when standard input ends, for programs.")
@json_option
def dev(*, ready_file: Path | None, stop_at_eof: bool, as_json: bool, **stack: Any) -> None:
    """Run Carillon on this machine: a local AWS, the deployed stack, a tenant and a key.

    Stays up until Ctrl-C or SIGTERM. Without --state nothing is kept.
    """

    def stay(running: Running, stop: threading.Event) -> None:
        if as_json:
            print_json(running.ready_document())
        else:
            click.echo(welcome(running.ready_document()))
        running.wait(stop)

    with_stack(options_of(ready_file=ready_file, **stack), stay, stop_at_eof=stop_at_eof)


def with_stack(options: Options, use: Callable[[Running, threading.Event], None], *, stop_at_eof: bool = False) -> None:
    """Start a stack, use it, stop it. `use` gets an event that a signal to stop sets.

    Raises:
        DevError: if a step failed, below the end of its log, or the start was broken off.
    """
    progress = Progress()
    try:
        with stop_signals() as stop:
            if stop_at_eof:
                threading.Thread(target=_watch_input, args=(stop,), daemon=True).start()
            with running_stack(options, progress, stop) as running:
                use(running, stop)
                progress.say("stopping")
    except Interrupted:
        raise DevError("stopped before it was done", REFUSED) from None
    except DevError as error:
        if error.log_tail:
            progress.say(error.log_tail)
        raise


@contextmanager
def stop_signals() -> Iterator[threading.Event]:
    """An event that is set by Ctrl-C, SIGTERM or the terminal's end, each unless it is ignored (as under nohup)."""
    stop = threading.Event()

    def handle(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    heeded = [number for number in _STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    former = {number: signal.signal(number, handle) for number in heeded}
    try:
        yield stop
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


def _watch_input(stop: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    stop.set()


def options_of(
    *, port: int | None, state: Path | None, auth: bool, project: Path, ready_file: Path | None = None
) -> Options:
    """What the options of `stack_options` mean."""
    return Options(port=port, state=state, ready_file=ready_file, enforces=auth, project=Project(project))
