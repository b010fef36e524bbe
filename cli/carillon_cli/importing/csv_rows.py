"""A table of schedules: CSV with the columns `id,kind,expression`.

`kind` is `cron` (five fields or an alias) or `interval` (a duration such as `24h`, `30m` or `1h30m`). Each line stands
alone: a cell holds no line break, so that an open quote spoils one line and not the rest of the file.
"""

import csv
from collections.abc import Iterator

from carillon_cli.importing.rows import BadFileError, BadLine, Line, Row, cron_text, text_lines
from carillon_cli.shorthand import iso_duration

HEADER = ["id", "kind", "expression"]


def is_csv(data: bytes) -> bool:
    """Whether the first line that is not blank is this table's header."""
    _, first = next(_filled_lines(data), (0, None))
    return _is_header(first)


def read_csv(data: bytes, prefix: str, timezone: str) -> Iterator[Line]:
    """The lines of a table, in order, without the header and blank ones.

    Args:
        data: The file.
        prefix: Stands before each id in the name of its job.
        timezone: Zone of the cron expressions.

    Raises:
        BadFileError: The first line is not the header.
    """
    lines = _filled_lines(data)
    _, header = next(lines, (0, ""))
    if not _is_header(header):
        raise BadFileError(f"expected the header {','.join(HEADER)} in the first line")
    first_lines: dict[str, int] = {}
    for number, text in lines:
        yield _read_line(number, text, prefix, timezone, first_lines)


def _read_line(number: int, text: str | None, prefix: str, timezone: str, first_lines: dict[str, int]) -> Line:
    try:
        identifier, kind, expression = _cells(text)
    except ValueError as error:
        return BadLine(number, str(error))
    if not identifier:
        return BadLine(number, "the id is empty")
    first = first_lines.setdefault(identifier, number)
    if first != number:
        return BadLine(number, f"the id stands in line {first} already", f"{prefix}/{identifier}")
    try:
        schedule = _schedule(kind, expression, timezone)
    except ValueError as error:
        return BadLine(number, str(error), f"{prefix}/{identifier}")
    return Row(number, f"{prefix}/{identifier}", schedule)


def _schedule(kind: str, expression: str, timezone: str) -> dict[str, str]:
    if not expression:
        raise ValueError("the expression is empty")
    if kind == "interval":
        return {"every": iso_duration(expression)}
    if kind == "cron":
        return {"cron": cron_text(expression), "timezone": timezone}
    raise ValueError("the kind is neither cron nor interval")


def _cells(text: str | None) -> list[str]:
    if text is None:
        raise ValueError("not UTF-8")
    try:
        cells = [cell.strip() for row in csv.reader([text], strict=True) for cell in row]
    except csv.Error as error:
        raise ValueError(f"not CSV: {error}") from error
    if len(cells) != len(HEADER):
        raise ValueError(f"expected {len(HEADER)} cells, found {len(cells)}")
    return cells


def _is_header(text: str | None) -> bool:
    try:
        return [cell.lower() for cell in _cells(text)] == HEADER
    except ValueError:
        return False


def _filled_lines(data: bytes) -> Iterator[tuple[int, str | None]]:
    return ((number, text) for number, text in text_lines(data) if text is None or text.strip())
