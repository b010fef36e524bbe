"""Durations: milliseconds inside, ISO 8601 outside.

Only units of one length are accepted: weeks, days (24 hours), hours, minutes, seconds. Each at most once, in this
order, whole numbers of up to twelve digits; seconds may carry one to three digits of a fraction. Capital letters, no
sign.
"""

import re
from typing import Final

from carillon.domain.instants import DAY_MS, HOUR_MS, LAST_INSTANT_MS, MINUTE_MS, SECOND_MS
from carillon.domain.schedule_error import ScheduleError

WEEK_MS: Final = 7 * DAY_MS
LONGEST_MS: Final = LAST_INSTANT_MS

_DURATION = re.compile(
    r"P(?=[0-9T])(?:([0-9]{1,12})W)?(?:([0-9]{1,12})D)?"
    r"(?:T(?=[0-9])(?:([0-9]{1,12})H)?(?:([0-9]{1,12})M)?(?:([0-9]{1,12})(?:\.([0-9]{1,3}))?S)?)?"
)
_UNITS_MS: Final = (WEEK_MS, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS)
_ALLOWED: Final = "an ISO 8601 duration of weeks, days, hours, minutes and seconds, such as PT15S, PT1H30M or P1D"


def parse_duration(text: str, field: str = "duration") -> int:
    """Read an ISO 8601 duration.

    Args:
        text: For example `PT15S`, `P1DT2H` or `PT0.5S`.
        field: The name under which a refusal is reported.

    Returns:
        Milliseconds, zero or more.

    Raises:
        ScheduleError: The text is not such a duration; months and years are refused because their length varies.
    """
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ScheduleError(field, "not a duration", _ALLOWED)
    *counts, fraction = match.groups()
    whole_ms = sum(int(count or 0) * unit_ms for count, unit_ms in zip(counts, _UNITS_MS, strict=True))
    total_ms = whole_ms + int((fraction or "0").ljust(3, "0"))
    if total_ms > LONGEST_MS:
        raise ScheduleError(field, "longer than the calendar", _ALLOWED)
    return total_ms


def format_duration(duration_ms: int) -> str:
    """Milliseconds as the shortest ISO 8601 text in days, hours, minutes and seconds: `P1DT2H`, `PT0.5S`, `PT0S`."""
    days, rest_ms = divmod(duration_ms, DAY_MS)
    hours, rest_ms = divmod(rest_ms, HOUR_MS)
    minutes, rest_ms = divmod(rest_ms, MINUTE_MS)
    date_part = f"{days}D" if days else ""
    time_part = (f"{hours}H" if hours else "") + (f"{minutes}M" if minutes else "") + _seconds_text(rest_ms)
    if not date_part and not time_part:
        return "PT0S"
    return f"P{date_part}{'T' if time_part else ''}{time_part}"


def _seconds_text(rest_ms: int) -> str:
    if not rest_ms:
        return ""
    seconds, fraction = divmod(rest_ms, SECOND_MS)
    decimals = f".{fraction:03}".rstrip("0") if fraction else ""
    return f"{seconds}{decimals}S"
