"""Short hand of the tables in these tests."""

import re

from carillon.domain.cron_schedule import CronSchedule
from carillon.domain.instants import parse_instant

_DAY_AND_TIME = re.compile(r"(?:(\d{4}-\d\d-\d\d)T)?(\d\d:\d\d(?::\d\d(?:\.\d+)?)?)Z?")


def utc(text: str) -> int:
    """One instant, seconds optional: `2026-06-01T09:00Z`."""
    return instants(text)[0]


def instants(text: str) -> list[int]:
    """Instants with blanks between them; the date is written only where it changes: `2026-06-01T09:00 10:00`."""
    day, found = "", []
    for word in text.split():
        match = _DAY_AND_TIME.fullmatch(word)
        assert match is not None, word
        day, time = match[1] or day, match[2]
        found.append(parse_instant(f"{day}T{time if time.count(':') == 2 else time + ':00'}Z"))
    return found


def following(schedule: CronSchedule, after_ms: int, count: int) -> list[int]:
    """The next so many nominal times, each asked for from the one before."""
    found: list[int] = []
    while len(found) < count:
        upcoming = schedule.next_after(found[-1] if found else after_ms)
        if upcoming is None:
            break
        found.append(upcoming)
    return found
