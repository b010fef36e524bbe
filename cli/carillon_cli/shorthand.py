"""Durations as people type them: `90s`, `30m`, `1h30m`, `24h`, `1d`, `2w`, or ISO 8601 as the interface wants them."""

import re

import click

from carillon.domain.durations import WEEK_MS, format_duration, parse_duration
from carillon.domain.instants import DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS

ALLOWED = (
    "whole numbers with the units w, d, h, m, s or ms, largest first, such as 24h or 1h30m; or ISO 8601, such as PT24H"
)
_UNITS_MS = (WEEK_MS, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, 1)
_NUMBER = "([0-9]{1,12})"
_SHORTHAND = re.compile(
    rf"(?=.)(?:{_NUMBER}w)?(?:{_NUMBER}d)?(?:{_NUMBER}h)?(?:{_NUMBER}m(?!s))?(?:{_NUMBER}s)?(?:{_NUMBER}ms)?", re.ASCII
)


class DurationType(click.ParamType[str]):
    """A click type that turns a typed duration into ISO 8601."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The duration in ISO 8601."""
        try:
            return iso_duration(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


def iso_duration(text: str) -> str:
    """A typed duration in ISO 8601.

    Raises:
        ValueError: It is none; the message says what is.
    """
    return format_duration(duration_ms(text))


def duration_ms(text: str) -> int:
    """A typed duration in milliseconds.

    Raises:
        ValueError: It is none; the message says what is.
    """
    match = _SHORTHAND.fullmatch(text)
    if match:
        return sum(int(count or 0) * unit_ms for count, unit_ms in zip(match.groups(), _UNITS_MS, strict=True))
    if not text.startswith("P"):
        raise ValueError(f"not a duration; allowed: {ALLOWED}")
    return parse_duration(text)
