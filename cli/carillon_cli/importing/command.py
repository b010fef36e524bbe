"""The command `carillon jobs import`."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import PurePath
from typing import Any, BinaryIO

import click

from carillon_cli.config import Service, uses_service
from carillon_cli.definition import TARGET_OPTIONS, checked_json, payload_text, settings_of, with_options
from carillon_cli.importing.crontab_rows import read_crontab
from carillon_cli.importing.csv_rows import is_csv, read_csv
from carillon_cli.importing.importer import Importer, Outcome, Result, definition_of, refused
from carillon_cli.importing.preview import Planned, preview
from carillon_cli.importing.progress import shown, told
from carillon_cli.importing.rows import BadFileError, BadLine, Line, Row
from carillon_cli.output import REFUSED, note, print_json, print_table

_STDIN_PREFIX = "import"
_PLANNED_COLUMNS = ("LINE", "NAME", "SCHEDULE", "FIRST FIRE")


@click.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--payload", metavar="JSON|@FILE", help="The payload of the lines that bring none.")
@click.option("--format", "form", type=click.Choice(["csv", "crontab"]), help="What the file is.  [seen from it]")
@click.option("--timezone", default="UTC", metavar="ZONE", help="Zone where the file names none.  [UTC]")
@click.option("--prefix", help="Stands before each job's name.  [name of the file]")
@click.option("--system", "has_users", is_flag=True, help="The crontab has a user before each command.")
@click.option("--parallel", type=click.IntRange(1, 64), default=8, help="How many requests at a time.  [8]")
@click.option("--dry-run", is_flag=True, help="Only show what would be created; the service is not asked.")
@with_options(TARGET_OPTIONS)
@uses_service(url_is_target=True)
def import_jobs(
    service: Service, file: BinaryIO, *, dry_run: bool, parallel: int, payload: str | None, **flags: Any
) -> None:
    """Create a job for each line of a CSV table (id,kind,expression) or a crontab.

    A repeat is safe: each line has a name of its own (prefix/id, or prefix/hash for a crontab), and a job that is there
    is compared with its line: unchanged, or differs. A line that cannot be taken is reported, the others go on.

    Of a crontab, the command becomes the payload {"command": ...}; the target has to know what to do with it.
    """
    lines = _lines(file, **{name: flags.pop(name) for name in ("form", "timezone", "prefix", "has_users")})
    settings = settings_of(flags) | _payload_of(payload)
    if dry_run:
        code = _show_plan(lines, settings, as_json=service.as_json)
    else:
        code = _import(service, lines, settings, parallel)
    click.get_current_context().exit(code)


def _payload_of(given: str | None) -> dict[str, Any]:
    text = payload_text(given)
    return {} if text is None else {"payload": checked_json(text, "--payload")}


def _lines(file: BinaryIO, *, form: str | None, timezone: str, prefix: str | None, has_users: bool) -> list[Line]:
    data = file.read()
    path = PurePath(getattr(file, "name", "-"))
    prefix = prefix or (_STDIN_PREFIX if path.name in ("-", "<stdin>") else path.stem)
    if form == "csv" or (form is None and (path.suffix.lower() == ".csv" or is_csv(data))):
        try:
            return list(read_csv(data, prefix, timezone))
        except BadFileError as error:
            raise click.UsageError(f"{path}: {error}") from error
    return list(read_crontab(data, prefix, timezone, has_users=has_users))


def _import(service: Service, lines: Iterable[Line], settings: Mapping[str, Any], parallel: int) -> int:
    rows, results = _divided(lines)
    importer = Importer(service.client, settings)
    _tell(results)
    try:
        for result in shown(importer.run(rows, parallel), len(rows)):
            results.append(result)
    finally:
        _report(results, as_json=service.as_json)
    if importer.failure is not None:
        raise importer.failure
    return REFUSED if _counts(results, (Outcome.REFUSED, Outcome.DIFFERS)) else 0


def _divided(lines: Iterable[Line]) -> tuple[list[Row], list[Result]]:
    """The rows to send, and the results of the lines that cannot be."""
    rows, results = [], []
    for line in lines:
        if isinstance(line, Row):
            rows.append(line)
        else:
            results.append(refused(line))
    return rows, results


def _tell(results: Iterable[Result]) -> None:
    for result in results:
        if text := told(result):
            note(text)


def _counts(results: Iterable[Result], outcomes: Iterable[Outcome]) -> int:
    counts = Counter(result.outcome for result in results)
    return sum(counts[outcome] for outcome in outcomes)


def _report(results: list[Result], *, as_json: bool) -> None:
    counts = {outcome.value: _counts(results, (outcome,)) for outcome in Outcome}
    if as_json:
        ordered = sorted(results, key=lambda result: result.line)
        print_json({**counts, "lines": [asdict(result) for result in ordered]})
        return
    if not counts[Outcome.NOT_TRIED]:
        del counts[Outcome.NOT_TRIED]
    click.echo(" ".join(f"{name}={count}" for name, count in counts.items()))


def _show_plan(lines: Iterable[Line], settings: Mapping[str, Any], *, as_json: bool) -> int:
    now_ms = time.time_ns() // 1_000_000
    rows, results = _divided(lines)
    seen = [preview(row, now_ms) for row in rows]
    planned = [plan for plan in seen if isinstance(plan, Planned)]
    results += [refused(line) for line in seen if isinstance(line, BadLine)]
    _tell(results)
    if as_json:
        jobs = [
            {"line": plan.row.line, "first": plan.first, "job": definition_of(plan.row, settings)} for plan in planned
        ]
        print_json({"would_create": jobs, "refused": [asdict(result) for result in results]})
    else:
        print_table(_PLANNED_COLUMNS, [_planned_row(plan) for plan in planned])
        click.echo(f"would_create={len(planned)} refused={len(results)}")
    return REFUSED if results else 0


def _planned_row(plan: Planned) -> tuple[object, ...]:
    return plan.row.line, plan.row.name, " ".join(plan.row.schedule.values()), plan.first
