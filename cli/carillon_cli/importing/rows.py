"""What a file of schedules consists of, whatever its format."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_BLANKS = re.compile("[ \t]+")
ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
    "@every_minute": "* * * * *",
}


class BadFileError(ValueError):
    """The file as a whole is not what it was taken for."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line that asks for a job. Equal lines of a repeated import have equal names."""

    line: int
    name: str
    schedule: Mapping[str, Any]
    payload: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot become a job, and why. `name` is its own name for the job, if it has one."""

    line: int
    reason: str
    name: str | None = None


Line = Row | BadLine


def text_lines(data: bytes) -> Iterator[tuple[int, str | None]]:
    """The lines of a file with their numbers from 1, without their ends; None for what is not UTF-8."""
    for number, raw in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        try:
            yield number, raw.removesuffix(b"\r").decode()
        except UnicodeDecodeError:
            yield number, None


def cron_text(expression: str) -> str:
    """An expression with single blanks; an alias such as `@daily` is spelled out."""
    single = _BLANKS.sub(" ", expression.strip())
    return ALIASES.get(single.lower(), single)
