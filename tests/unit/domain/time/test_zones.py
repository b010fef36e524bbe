"""Zones: which names are accepted, and that the rules are those of the package."""

from datetime import UTC, datetime
from random import Random

import pytest

from carillon.domain.posix_rule import PosixRule
from carillon.domain.schedule import CronSchedule, ScheduleError
from carillon.domain.tzif import read_zone_file
from carillon.domain.zones import CYCLE_S, SETTLED_S, find_zone, zone_names
from tests.unit.domain.time.oracles import library_zone

LAST_COMPARED_S = 253_402_300_799 - 86_400

REFUSED = {
    "B268-directory": "America",
    "B268-other-directory": "Europe",
    "B268-long": "A" * 5_000,
    "B268-zone.tab": "zone.tab",
    "B268-leapseconds": "leapseconds",
    "B268-tzdata.zi": "tzdata.zi",
    "B268-empty": "",
    "B268-parent": "../etc/passwd",
    "B268-absolute": "/etc/passwd",
    "B268-NUL": "America/New_York\0",
    "B269-lower-case-utc": "utc",
    "B269-lower-case": "europe/london",
    "B269-blank": "Europe/London ",
    "B269-PST": "PST",
    "B269-IST": "IST",
    "B269-Z": "Z",
    "B269-UTC+2": "UTC+2",
    "B269-offset": "+05:30",
    "B269-GMT+5": "GMT+5",
    "B269-localtime": "localtime",
    "B269-posixrules": "posixrules",
    "B269-Factory": "Factory",
    "B269-posix": "posix/Europe/Berlin",
    "B269-right": "right/Europe/Berlin",
}
ACCEPTED = {
    "UTC": 0,
    "Asia/Calcutta": 19_800,
    "Europe/Kiev": 7_200,
    "US/Pacific": -28_800,
    "America/Ciudad_Juarez": -25_200,
    "EST": -18_000,
    "Etc/GMT+5": -18_000,
    "GMT": 0,
}


@pytest.mark.parametrize("name", [pytest.param(name, id=case) for case, name in REFUSED.items()])
def test_what_is_no_zone_name_is_refused(name: str) -> None:
    """Only names of the list are looked up, so that no name reaches a file system."""
    with pytest.raises(ScheduleError) as refusal:
        CronSchedule("0 9 * * *", name)
    assert refusal.value.field == "timezone"


@pytest.mark.parametrize(
    ("name", "january_offset"), [pytest.param(*case, id=f"B269-{case[0]}") for case in ACCEPTED.items()]
)
def test_a_link_is_a_name_like_any_other(name: str, january_offset: int) -> None:
    """Old names and fixed zones are accepted; `Etc/GMT+5` is five hours behind UTC."""
    assert find_zone(name).span_at(1_768_435_200).offset_s == january_offset


def test_every_zone_agrees_with_the_library_at_every_edge() -> None:
    """All zones, from 1970 to 9999: offsets before and after each edge met are those that `zoneinfo` reads."""
    random = Random(2026)  # noqa: S311 - reproducible, not secret
    for name in sorted(zone_names()):
        zone, library = find_zone(name), library_zone(name)
        for latest in (2 * 10**9, 5 * 10**9, LAST_COMPARED_S):
            span = zone.span_at(random.randrange(latest))
            for second in (span.start_s - 1, span.start_s, span.end_s - 1, span.end_s):
                if 0 <= second <= LAST_COMPARED_S:
                    offset = datetime.fromtimestamp(second, UTC).astimezone(library).utcoffset()
                    assert offset is not None
                    assert (name, second, zone.span_at(second).offset_s) == (name, second, offset.total_seconds())


@pytest.mark.parametrize("name", ["Europe/Berlin", "Asia/Gaza", "Australia/Lord_Howe", "UTC", "Africa/Casablanca"])
def test_spans_follow_one_another_without_gaps(name: str) -> None:
    """Each span ends where the next begins and knows the offsets beside it, which differ: to the end of time."""
    zone = find_zone(name)
    for start in (0, SETTLED_S - 40 * 10**6, SETTLED_S + CYCLE_S - 40 * 10**6, SETTLED_S + 7 * CYCLE_S - 40 * 10**6):
        span = zone.span_at(start)
        for _ in range(6):
            if span.end_s > LAST_COMPARED_S:
                break
            following = zone.span_at(span.end_s)
            assert (following.start_s, following.offset_before_s) == (span.end_s, span.offset_s)
            assert following.offset_s == span.offset_after_s != span.offset_s
            span = following


def test_a_local_text_shows_which_pass_of_the_hour_it_is() -> None:
    """B262: the two 01:30s of the night look different."""
    zone = find_zone("America/New_York")
    texts = [zone.local_text(1_762_061_400_000 + n * 3_600_000) for n in (0, 1)]
    assert texts == ["2025-11-02T01:30:00.000-04:00", "2025-11-02T01:30:00.000-05:00"]


@pytest.mark.parametrize("rule", ["", "EST5EDT", "EST5EDT,J60,J300", "5", "EST5EDT,M3.6.0,M11.1.0", "<>5"])
def test_another_form_of_rule_is_refused(rule: str) -> None:
    """A rule that we would misread stops the loading of its zone instead."""
    with pytest.raises(ValueError, match="rule"):
        PosixRule.parse(rule)


@pytest.mark.parametrize("content", [b"TZif2".ljust(43, b"\0"), b"none".ljust(88, b"\0"), b"TZif\0".ljust(88, b"\0")])
def test_what_is_no_zone_file_is_refused(content: bytes) -> None:
    """Damaged zone data are an error, not an offset of zero."""
    with pytest.raises(ValueError, match="time zone file"):
        read_zone_file(content)
