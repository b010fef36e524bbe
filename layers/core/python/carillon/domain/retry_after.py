"""The Retry-After header (RFC 9110, 10.2.3): how long a target wants to be left alone."""

import re
from datetime import UTC, datetime

from carillon.domain.retry import LONGEST_RETRY_AFTER_MS

_MOST_DIGITS = 10
_SECONDS = re.compile(r"[0-9]+", re.ASCII)
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2}) GMT"
_DATE_FORMS = (
    re.compile(
        rf"[A-Z][a-z]{{2}}, (?P<day>[0-9]{{2}}) (?P<month>[A-Z][a-z]{{2}}) (?P<year>[0-9]{{4}}) {_TIME}", re.ASCII
    ),
    re.compile(
        rf"[A-Z][a-z]{{5,8}}, (?P<day>[0-9]{{2}})-(?P<month>[A-Z][a-z]{{2}})-(?P<year>[0-9]{{2}}) {_TIME}", re.ASCII
    ),
)
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_CENTURY = 100
_YEARS_AHEAD = 50


def parse_retry_after(text: str, now_ms: int) -> int | None:
    """The wait that a Retry-After header asks for, in milliseconds, at most `LONGEST_RETRY_AFTER_MS`.

    Read are whole seconds in ASCII digits and the two HTTP-date forms that carry GMT; a date that has passed is 0.

    Args:
        text: the header's value.
        now_ms: the present, epoch ms.

    Returns:
        The wait, or None when the text is neither form: then it is as if the header were not there.
    """
    text = text.strip(" \t")
    if _SECONDS.fullmatch(text):
        digits = text.lstrip("0") or "0"  # Python refuses to read numbers of thousands of digits
        return LONGEST_RETRY_AFTER_MS if len(digits) > _MOST_DIGITS else _capped(int(digits) * 1000)
    at_ms = _http_date_ms(text, now_ms)
    return None if at_ms is None else _capped(at_ms - now_ms)


def _capped(wait_ms: int) -> int:
    return min(max(wait_ms, 0), LONGEST_RETRY_AFTER_MS)


def _http_date_ms(text: str, now_ms: int) -> int | None:
    match = next(filter(None, (form.fullmatch(text) for form in _DATE_FORMS)), None)
    if match is None or match["month"] not in _MONTHS:
        return None
    year, month = _year(match["year"], now_ms), _MONTHS.index(match["month"]) + 1
    day, hour, minute, second = (int(match[name]) for name in ("day", "hour", "minute", "second"))
    try:
        date = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None
    return round(date.timestamp()) * 1000


def _year(text: str, now_ms: int) -> int:
    """A year of four digits as it is; one of two digits is the one nearest ahead, up to 50 years, else past."""
    if len(text) > 2:  # noqa: PLR2004 - the two forms differ in just this
        return int(text)
    this_year = datetime.fromtimestamp(now_ms / 1000, UTC).year
    year = this_year - this_year % _CENTURY + int(text)
    return year - _CENTURY if year > this_year + _YEARS_AHEAD else year
