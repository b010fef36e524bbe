"""`carillon jobs apply`: jobs in a file, by their names, as they are to be."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import click

from carillon.client import ApiProblem, Client
from carillon_cli.config import Service, uses_service
from carillon_cli.definition import checked_json, read_text
from carillon_cli.output import REFUSED, note, one_line, print_json

_STOPPING = frozenset({401, 403, 429, 503})
"""Refusals that say nothing about the job: the next one would fare the same."""

_COUNTED = ("created", "applied", "refused")
_BLANKS = " \t\n\r"


@dataclass(frozen=True, slots=True)
class Definition:
    """A job in a file: its name, and its text as it stands there."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a job: `created`, `applied` (it is as the file has it, by a change or not) or `refused`."""

    name: str
    outcome: str
    id: str | None = None
    revision: int | None = None
    reason: str | None = None


@click.command("apply")
@click.argument("file", metavar="FILE|-")
@uses_service()
def apply(service: Service, file: str) -> None:
    """Create or change the jobs in a file, by their names.

    The file holds a job as JSON, or a list of jobs; each has a name. A job that is as the file has it is left alone, so
    a repeat is safe. What the file does not say of a job has its default. Jobs that the file does not name are not
    touched. A job that is refused is reported, the others go on.

    \b
    carillon jobs apply jobs.json
    """  # noqa: D301 - click reads \b as "keep these lines"
    made = []
    for definition in _definitions(read_text(file, "FILE")):
        made.append(_apply(service.client, definition))
        if made[-1].reason is not None:
            note(one_line(f"{definition.name}: refused: {made[-1].reason}"))
    counts = {outcome: sum(each.outcome == outcome for each in made) for outcome in _COUNTED}
    if service.as_json:
        print_json({**counts, "jobs": [asdict(each) for each in made]})
    else:
        click.echo(" ".join(f"{name}={count}" for name, count in counts.items()))
    click.get_current_context().exit(REFUSED if counts["refused"] else 0)


def _apply(client: Client, definition: Definition) -> Applied:
    try:
        job, is_new = client.put_job(definition.name, definition.text.encode())
    except ApiProblem as problem:
        if problem.status in _STOPPING:
            raise
        return Applied(definition.name, "refused", reason=str(problem))
    return Applied(definition.name, "created" if is_new else "applied", job.get("id"), job.get("revision"))


def _definitions(text: str) -> list[Definition]:
    """The jobs in a file, to the letter: numbers in payloads keep their digits.

    Raises:
        click.UsageError: It holds something else, a job has no name, or two have the same.
    """
    value = checked_json(text, "FILE")
    parts = [*_parts(text)] if isinstance(value, list) else [(value, text)]
    made = [_definition(number, *part) for number, part in enumerate(parts, 1)]
    names = [each.name for each in made]
    for name in names:
        if names.count(name) > 1:
            raise click.UsageError(f"FILE: two jobs have the name {name}")
    return made


def _definition(number: int, value: Any, text: str) -> Definition:
    if not isinstance(value, dict):
        raise click.UsageError(f"FILE: job {number}: expected a JSON object")
    name = value.get("name")
    if not isinstance(name, str) or not name:
        raise click.UsageError(f"FILE: job {number} has no name, by which it could be found again")
    return Definition(name, text)


def _parts(text: str) -> Iterator[tuple[Any, str]]:
    """The elements of a list that is known to be JSON, each with its text."""
    decoder, at = json.JSONDecoder(), _behind(text, _behind(text, 0) + 1)
    while text[at] != "]":
        value, end = decoder.raw_decode(text, at)
        yield value, text[at:end]
        at = _behind(text, end)
        if text[at] == ",":
            at = _behind(text, at + 1)


def _behind(text: str, at: int) -> int:
    """The first place that is no blank."""
    while text[at] in _BLANKS:
        at += 1
    return at
