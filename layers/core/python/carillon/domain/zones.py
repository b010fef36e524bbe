"""Time zones by their IANA names, with the rules of the installed `tzdata` package and never the host's.

Accepted is every name that the package lists, spelled exactly so, `Factory` excepted. Links are names like any other
(`Asia/Calcutta`, `Europe/Kiev`, `US/Pacific`), and so are the fixed zones (`UTC`, `EST`, `Etc/GMT+5`; mind that POSIX
counts westwards: `Etc/GMT+5` is five hours *behind* UTC). Offsets and other abbreviations are refused.
"""

from bisect import bisect_right
from datetime import date
from functools import cached_property, lru_cache
from itertools import pairwise
from pkgutil import get_data
from typing import Final, NamedTuple

import tzdata  # type: ignore[import-untyped]  # the package has no types, and we read one constant of it

from carillon.domain.instants import EPOCH_ORDINAL, SECOND_MS, format_with_offset
from carillon.domain.posix_rule import DAY_SECONDS, PosixRule
from carillon.domain.schedule_error import ScheduleError
from carillon.domain.tzif import ZoneFile, read_zone_file

BEFORE_ALL_TIME_S: Final = -(10**12)
AFTER_ALL_TIME_S: Final = 10**12
CYCLE_YEARS: Final = 400
CYCLE_S: Final = 146_097 * DAY_SECONDS
"""The calendar, weekdays included, repeats after 400 years."""

_FIRST_SETTLED_YEAR: Final = 2101
SETTLED_S: Final = (date(_FIRST_SETTLED_YEAR, 1, 1).toordinal() - EPOCH_ORDINAL) * DAY_SECONDS
"""From here on each zone follows one rule, so that its clock changes repeat with the calendar."""

_LONGEST_NAME: Final = 64
_NOT_A_PLACE: Final = "Factory"


class Span(NamedTuple):
    """A stretch of time without a clock change: `start_s` <= UTC epoch second < `end_s`. Offsets in seconds east."""

    start_s: int
    end_s: int
    offset_s: int
    offset_before_s: int
    offset_after_s: int

    def moved(self, seconds: int) -> "Span":
        """The same stretch at another time."""
        return self._replace(start_s=self.start_s + seconds, end_s=self.end_s + seconds)


class _Spans:
    """Spans in their order, from before to after all time."""

    def __init__(self, first_offset: int, changes: list[tuple[int, int]]) -> None:
        real = [(BEFORE_ALL_TIME_S, first_offset)]
        real += [after for before, after in pairwise([*real, *changes]) if before[1] != after[1]]
        self._starts = [start for start, _ in real] + [AFTER_ALL_TIME_S]
        self._offsets = [offset for _, offset in real]

    def at(self, second: int) -> Span:
        i = bisect_right(self._starts, second) - 1
        offsets = self._offsets
        return Span(
            self._starts[i],
            self._starts[i + 1],
            offsets[i],
            offsets[i - 1] if i else offsets[i],
            offsets[i + 1] if i + 1 < len(offsets) else offsets[i],
        )


class Zone:
    """One zone's offsets from UTC, at any time."""

    def __init__(self, name: str, file: ZoneFile) -> None:
        self.name = name
        self._rule = PosixRule.parse(file.footer)
        listed_until = file.changes[-1][0] if file.changes else BEFORE_ALL_TIME_S
        last_listed_year = 1970 + max(listed_until, 0) // (366 * DAY_SECONDS)
        ruled = self._ruled_changes(last_listed_year, _FIRST_SETTLED_YEAR + 1)
        self._listed = _Spans(
            file.first_offset, [*file.changes, *(change for change in ruled if change[0] > listed_until)]
        )

    def span_at(self, second: int) -> Span:
        """The stretch without a clock change that holds this UTC epoch second."""
        if second < SETTLED_S or not self._rule.changes:
            return self._listed.at(second)
        moved_s = (second - SETTLED_S) // CYCLE_S * CYCLE_S
        return self._settled.at(second - moved_s).moved(moved_s)

    def local_text(self, instant_ms: int) -> str:
        """An instant as this zone's clock shows it, with the offset: `2025-11-02T01:30:00.000-05:00`."""
        return format_with_offset(instant_ms, self.span_at(instant_ms // SECOND_MS).offset_s)

    @cached_property
    def _settled(self) -> _Spans:
        """One whole cycle of the calendar under the zone's last rule, with a margin at both ends."""
        changes = self._ruled_changes(_FIRST_SETTLED_YEAR - 2, _FIRST_SETTLED_YEAR + CYCLE_YEARS + 1)
        return _Spans(changes[0][1], changes[1:])

    def _ruled_changes(self, first_year: int, last_year: int) -> list[tuple[int, int]]:
        return [change for year in range(first_year, last_year + 1) for change in self._rule.changes_in(year)]


@lru_cache(maxsize=1)
def zone_names() -> frozenset[str]:
    """The names that are accepted."""
    return frozenset(_package_file("zones").decode("ascii").split()) - {_NOT_A_PLACE}


def zone_data_version() -> str:
    """The IANA release of the rules in use, such as `2026f`."""
    return str(tzdata.IANA_VERSION)


def find_zone(name: str, field: str = "timezone") -> Zone:
    """The zone of this exact name.

    Args:
        name: An IANA name, such as `Asia/Kolkata`.
        field: The name under which a refusal is reported.

    Raises:
        ScheduleError: There is no zone of this name.
    """
    if len(name) > _LONGEST_NAME or name not in zone_names():
        raise ScheduleError(
            field,
            "not the name of a time zone",
            "an IANA name in its exact spelling, such as UTC, Europe/London or America/New_York; no offsets",
        )
    return _load(name)


@lru_cache(maxsize=1024)
def _load(name: str) -> Zone:
    return Zone(name, read_zone_file(_package_file(f"zoneinfo/{name}")))


def _package_file(path: str) -> bytes:
    content = get_data("tzdata", path)
    if content is None:
        raise LookupError(f"the tzdata package has no {path}")
    return content
