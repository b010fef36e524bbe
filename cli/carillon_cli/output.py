"""What the command line writes: results on stdout, everything else on stderr, failures as one line and an exit code."""

import json
import os
import re
import traceback
from collections.abc import Iterable, Sequence
from typing import Any

import click

from carillon.client import ApiProblem, BadAnswerError, BadIdError, ClientError, UnreachableError

# ruff: noqa: PLC0415 - rich takes longer to import than most commands take: only who prints a table loads it

REFUSED = 1
NOT_REACHABLE = 3
_KEY = re.compile(r"crl_(live|test)_\w+")
_SERVER_FAULT = 500
_WIDTH_OF_PIPES = 10_000


def print_json(value: Any) -> None:
    """Write one JSON document to stdout, in ASCII, so that any pipe can carry it."""
    click.echo(json.dumps(value, indent=2))


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table for people to stdout. In a pipe nothing is cut or wrapped."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console = Console(width=_WIDTH_OF_PIPES)
    table = Table(*columns, box=None, pad_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*(Text(shown(cell)) for cell in row))
    with console.capture() as lines:
        console.print(table)
    for line in lines.get().splitlines():
        click.echo(line.rstrip())


def print_fields(fields: Iterable[tuple[str, object]]) -> None:
    """Write names and values to stdout, a line each; what has no value is left out."""
    present = [(name, value) for name, value in fields if value not in (None, "", {}, [])]
    width = max((len(name) for name, _ in present), default=0)
    for name, value in present:
        click.echo(f"{name:<{width}}  {shown(value)}")


def shown(value: object) -> str:
    """A value as one line that a terminal can show: nothing in it can steer the terminal."""
    if value is None:
        return "-"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in text)


def shown_ms(duration_ms: object) -> str:
    """A duration in milliseconds as people read it."""
    if not isinstance(duration_ms, int):
        return "-"
    return f"{duration_ms} ms" if abs(duration_ms) < 1_000 else f"{duration_ms / 1_000:.1f} s"  # noqa: PLR2004 - a second


def note(text: str) -> None:
    """Write a remark for people to stderr: one line, and no key in it."""
    click.echo(one_line(text), err=True)


def one_line(text: str) -> str:
    """A text on one line, with no key in it."""
    return without_keys(shown(" ".join(text.split())))


def without_keys(text: str) -> str:
    """A text with the secret part of every key taken out."""
    return _KEY.sub(r"crl_\1_…", text)


def report_failure(error: Exception) -> int:
    """Write a failure to stderr as one line; with CARILLON_DEBUG=1 also where it came from.

    Returns:
        The exit code.
    """
    if os.environ.get("CARILLON_DEBUG") == "1":
        click.echo(without_keys("".join(traceback.format_exception(error))), err=True)
    message, code = _verdict(error)
    note(f"carillon: {message}")
    return code


def _verdict(error: Exception) -> tuple[str, int]:
    if isinstance(error, click.UsageError):
        command = f" (see '{error.ctx.command_path} --help')" if error.ctx else ""
        return f"{error.format_message()}{command}", error.exit_code
    if isinstance(error, click.ClickException):
        return error.format_message(), error.exit_code
    if isinstance(error, click.Abort):
        return "aborted", REFUSED
    if isinstance(error, ApiProblem):
        return _problem_line(error), REFUSED
    if isinstance(error, BadIdError):
        return str(error), click.UsageError.exit_code
    if isinstance(error, ClientError):
        return str(error), NOT_REACHABLE if isinstance(error, UnreachableError | BadAnswerError) else REFUSED
    return f"unexpected {type(error).__name__}: {error} (CARILLON_DEBUG=1 shows where)", REFUSED


def _problem_line(problem: ApiProblem) -> str:
    request = f" [request {problem.request_id}]" if problem.request_id and problem.status >= _SERVER_FAULT else ""
    return f"{problem}{request}"


def _escaped(sign: str) -> str:
    return " " if sign in "\n\t" else sign.encode("unicode_escape", "surrogatepass").decode()
