"""Instants: UTC epoch milliseconds inside, RFC 3339 outside.

What is accepted is the RFC 3339 profile of ISO 8601, decided as follows:

- The offset is required: `Z` or `±hh:mm` up to 23:59. `-00:00` (offset unknown, time known) is read as UTC.
- `t` and `z` may be lower case, as RFC 3339 allows. The blank instead of `T` is refused.
- One to nine digits of a second's fraction; what is finer than a millisecond is cut, not rounded.
- Leap seconds (`:60`), `24:00` and days that the calendar lacks are refused.
- Instants run from 1970-01-01T00:00:00.000Z to 9999-12-31T23:59:59.999Z, measured after conversion to UTC.
"""

import re
from datetime import date
from typing import Final

from carillon.domain.schedule_error import ScheduleError

EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
FIRST_INSTANT_MS: Final = 0
LAST_INSTANT_MS: Final = 253_402_300_799_999
DAY_MS: Final = 86_400_000
HOUR_MS: Final = 3_600_000
MINUTE_MS: Final = 60_000
SECOND_MS: Final = 1_000

_DATE_AND_TIME = (
    r"(?P<year>[0-9]{4})-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
    r"[Tt](?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9]):(?P<second>[0-5][0-9])(?:\.(?P<fraction>[0-9]{1,9}))?"
)
_OFFSET = r"(?:[Zz]|(?P<sign>[+-])(?P<offset_hours>[01][0-9]|2[0-3]):(?P<offset_minutes>[0-5][0-9]))"
_INSTANT = re.compile(_DATE_AND_TIME + _OFFSET)
_LOCAL_TIME = re.compile(_DATE_AND_TIME)
_COMPACT = re.compile(
    r"(?P<year>[0-9]{4})(?P<month>[0-9]{2})(?P<day>[0-9]{2})"
    r"T(?P<hour>[01][0-9]|2[0-3])(?P<minute>[0-5][0-9])(?P<second>[0-5][0-9])(?P<fraction>[0-9]{3})Z"
)
_ALLOWED_INSTANT = (
    "an RFC 3339 instant with an offset, such as 2026-10-12T02:30:00Z or 2026-10-12T08:00:00.500+05:30, "
    "from 1970 to 9999, without leap seconds"
)
_ALLOWED_LOCAL_TIME = "a local time without an offset, such as 2026-10-12T08:00:00, from 1970 to 9999"


def parse_instant(text: str, field: str = "instant") -> int:
    """Read an RFC 3339 instant.

    Args:
        text: For example `2026-10-12T08:00:00.5+05:30`.
        field: The name under which a refusal is reported.

    Returns:
        Epoch milliseconds.

    Raises:
        ScheduleError: The text is not an instant, or lies outside 1970 to 9999.
    """
    match = _INSTANT.fullmatch(text)
    if match is None:
        raise ScheduleError(field, "not an instant", _ALLOWED_INSTANT)
    return _within_range(_milliseconds(match, field, _ALLOWED_INSTANT) - _offset_ms(match), field, _ALLOWED_INSTANT)


def parse_local_time(text: str, field: str = "local time") -> int:
    """Read a wall clock time, as milliseconds since 1970-01-01T00:00:00 on the same wall clock.

    Raises:
        ScheduleError: The text is no such time, carries an offset, or lies outside 1970 to 9999.
    """
    match = _LOCAL_TIME.fullmatch(text)
    if match is None:
        raise ScheduleError(field, "not a local time", _ALLOWED_LOCAL_TIME)
    return _within_range(_milliseconds(match, field, _ALLOWED_LOCAL_TIME), field, _ALLOWED_LOCAL_TIME)


def parse_compact(text: str, field: str = "instant") -> int:
    """Read what `format_compact` wrote, and nothing else.

    Raises:
        ScheduleError: The text is not of that form.
    """
    allowed = "a UTC instant such as 20261012T023000000Z"
    match = _COMPACT.fullmatch(text)
    if match is None:
        raise ScheduleError(field, "not a compact instant", allowed)
    return _within_range(_milliseconds(match, field, allowed), field, allowed)


def format_instant(instant_ms: int) -> str:
    """Epoch milliseconds as `YYYY-MM-DDTHH:MM:SS.mmmZ`."""
    return format_with_offset(instant_ms, 0)


def format_compact(instant_ms: int) -> str:
    """Epoch milliseconds as `YYYYMMDDTHHMMSSmmmZ`: the form in run ids; sorts by time."""
    day, hour, minute, second, fraction = _clock_reading(instant_ms)
    return f"{day:%Y%m%d}T{hour:02}{minute:02}{second:02}{fraction:03}Z"


def format_with_offset(instant_ms: int, offset_seconds: int) -> str:
    """An instant on a wall clock that is `offset_seconds` east of UTC: `2026-10-12T08:00:00.000+05:30`.

    Offset zero is written `Z`. Historic offsets with seconds are written with seconds, as ISO 8601-2 does.
    """
    day, hour, minute, second, fraction = _clock_reading(instant_ms + offset_seconds * SECOND_MS)
    return f"{day.isoformat()}T{hour:02}:{minute:02}:{second:02}.{fraction:03}{_offset_text(offset_seconds)}"


def _clock_reading(wall_ms: int) -> tuple[date, int, int, int, int]:
    days, rest_ms = divmod(wall_ms, DAY_MS)
    rest_seconds, fraction = divmod(rest_ms, SECOND_MS)
    rest_minutes, second = divmod(rest_seconds, 60)
    hour, minute = divmod(rest_minutes, 60)
    return date.fromordinal(EPOCH_ORDINAL + days), hour, minute, second, fraction


def _offset_text(offset_seconds: int) -> str:
    if offset_seconds == 0:
        return "Z"
    minutes, second = divmod(abs(offset_seconds), 60)
    seconds_text = f":{second:02}" if second else ""
    return f"{'+' if offset_seconds > 0 else '-'}{minutes // 60:02}:{minutes % 60:02}{seconds_text}"


def _milliseconds(match: re.Match[str], field: str, allowed: str) -> int:
    year, month, day, hour, minute, second = map(int, match.group("year", "month", "day", "hour", "minute", "second"))
    try:
        days = date(year, month, day).toordinal() - EPOCH_ORDINAL
    except ValueError:
        raise ScheduleError(field, "a day that the calendar does not have", allowed) from None
    fraction_ms = int((match["fraction"] or "0")[:3].ljust(3, "0"))
    return days * DAY_MS + hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS + fraction_ms


def _offset_ms(match: re.Match[str]) -> int:
    sign = match["sign"]
    if sign is None:
        return 0
    size_ms = int(match["offset_hours"]) * HOUR_MS + int(match["offset_minutes"]) * MINUTE_MS
    return -size_ms if sign == "-" else size_ms


def _within_range(instant_ms: int, field: str, allowed: str) -> int:
    if not FIRST_INSTANT_MS <= instant_ms <= LAST_INSTANT_MS:
        raise ScheduleError(field, "outside the years 1970 to 9999", allowed)
    return instant_ms
