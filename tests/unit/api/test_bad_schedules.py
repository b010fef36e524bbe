"""POST /v1/jobs with schedules that cannot be: 422, a problem that names the field, nothing written."""

from typing import Any

import pytest

from support.api import ApiUnderTest, assert_refused, job

pytestmark = pytest.mark.usefixtures("nothing_written")
CRON = {"cron": "0 2 * * *"}

TIMES: list[tuple[str, dict[str, Any], str, str]] = [
    ("B271-an-hour-ago", {"run_at": "2026-09-21T13:13:20Z"}, "run_at", "no_occurrence"),
    ("B271-a-second-ago", {"run_at": "2026-09-21T14:13:19Z"}, "run_at", "no_occurrence"),
    ("B271-a-millisecond-ago", {"run_at": "2026-09-21T14:13:19.999Z"}, "run_at", "no_occurrence"),
    ("B272-past-the-calendar", {"run_at": "9999-12-31T23:59:59-12:00"}, "run_at", "invalid_value"),
    ("B272-before-the-calendar", {"run_at": "0001-01-01T00:00:00+14:00"}, "run_at", "invalid_value"),
    ("B272-leap-second", {"run_at": "2026-12-31T23:59:60Z"}, "run_at", "invalid_value"),
    ("B272-hour-24", {"run_at": "2026-12-01T24:00:00Z"}, "run_at", "invalid_value"),
    ("B272-no-such-day", {"run_at": "2027-02-29T00:00:00Z"}, "run_at", "invalid_value"),
    ("B272-offset-24", {"run_at": "2026-12-01T00:00:00+24:00"}, "run_at", "invalid_value"),
    ("B272-a-number", {"run_at": 1_893_456_000}, "run_at", "wrong_type"),
    ("B272-digits", {"run_at": "1893456000"}, "run_at", "invalid_value"),
    ("B272-full-width", {"run_at": "\uff12\uff10\uff13\uff10-01-01T00:00:00Z"}, "run_at", "invalid_value"),
    ("null", {"run_at": None}, "run_at", "wrong_type"),
    ("null-zone", {"run_at": "2030-01-01T00:00:00Z", "timezone": None}, "timezone", "wrong_type"),
    ("empty-zone", {"run_at": "2030-01-01T00:00:00", "timezone": ""}, "timezone", "invalid_value"),
    ("no-offset", {"run_at": "2030-01-01T00:00:00"}, "run_at", "invalid_value"),
    ("offset-and-zone", {"run_at": "2030-01-01T00:00:00Z", "timezone": "UTC"}, "run_at", "invalid_value"),
    ("gap-without-zone", {"run_at": "2030-01-01T00:00:00Z", "dst_gap": "skip"}, "dst_gap", "invalid_value"),
    (
        "skipped-local-time",
        {"run_at": "2027-03-14T02:30:00", "timezone": "America/New_York", "dst_gap": "skip"},
        "run_at",
        "invalid_value",
    ),
    (
        "both-of-a-one-off",
        {"run_at": "2026-11-01T01:30:00", "timezone": "America/New_York", "dst_overlap": "both"},
        "dst_overlap",
        "invalid_value",
    ),
    ("local-time-in-the-past", {"run_at": "2026-01-01T00:00:00", "timezone": "UTC"}, "run_at", "no_occurrence"),
    ("delay-of-a-month", {"delay": "P1M"}, "delay", "invalid_value"),
    ("delay-of-a-number", {"delay": 30}, "delay", "wrong_type"),
    ("negative-delay", {"delay": "-PT5S"}, "delay", "invalid_value"),
    ("delay-past-the-calendar", {"delay": "P4000000D"}, "delay", "invalid_value"),
    ("every-half-a-second", {"every": "PT0.5S"}, "every", "invalid_value"),
    ("every-nothing", {"every": "PT0S"}, "every", "invalid_value"),
    ("every-with-a-zone", {"every": "PT1H", "timezone": "UTC"}, "timezone", "unknown_field"),
    ("ended", {**CRON, "end_at": "2026-01-01T00:00:00Z"}, "end_at", "no_occurrence"),
    ("ends-before-the-first", {"every": "P1D", "end_at": "2026-09-22T00:00:00Z"}, "end_at", "no_occurrence"),
    (
        "ends-before-it-starts",
        {**CRON, "start_at": "2028-01-01T00:00:00Z", "end_at": "2027-01-01T00:00:00Z"},
        "end_at",
        "invalid_value",
    ),
    ("start-is-no-instant", {**CRON, "start_at": "tomorrow"}, "start_at", "invalid_value"),
    ("no-runs", {**CRON, "max_runs": 0}, "max_runs", "out_of_range"),
    ("too-many-runs", {**CRON, "max_runs": 1_000_001}, "max_runs", "out_of_range"),
    ("impossible-cron", {"cron": "0 0 31 2 *"}, "cron", "invalid_value"),
    ("four-fields", {"cron": "0 2 * *"}, "cron", "invalid_value"),
    ("six-fields", {"cron": "0 0 2 * * *"}, "cron", "invalid_value"),
    ("out-of-range-cron", {"cron": "60 2 * * *"}, "cron", "invalid_value"),
    ("empty-cron", {"cron": ""}, "cron", "invalid_value"),
    ("at-reboot", {"cron": "@reboot"}, "cron", "invalid_value"),
    ("endless-cron", {"cron": "0," * 50_000 + "0 * * * *"}, "cron", "invalid_value"),
    ("unknown-choice", {**CRON, "dst_gap": "jump"}, "dst_gap", "not_a_choice"),
]


@pytest.mark.parametrize(("schedule", "field", "code"), [pytest.param(*row[1:], id=row[0]) for row in TIMES])
def test_schedules_that_cannot_be(api: ApiUnderTest, schedule: dict[str, Any], field: str, code: str) -> None:
    """Past, absurd and malformed times are refused under the name of their field; none is a failure of ours."""
    assert_refused(api.call("POST", "/v1/jobs", job(schedule=schedule)), 422, {(f"/schedule/{field}", code)})


ZONES = [
    *("America", "Europe", "A" * 5_000, "zone.tab", "leapseconds", "tzdata.zi", "", "../etc/passwd", "/etc/passwd"),
    "America/New_York\0",
]
LOOSE_ZONES = [
    *("utc", "europe/london", "Europe/London ", "PST", "IST", "Z", "UTC+2", "+05:30", "GMT+5"),
    *("localtime", "posixrules", "Factory", "posix/Europe/Berlin", "right/Europe/Berlin"),
]


@pytest.mark.parametrize(
    "zone",
    [pytest.param(zone, id=f"B268-{zone[:20]!r}") for zone in ZONES]
    + [pytest.param(zone, id=f"B269-{zone!r}") for zone in LOOSE_ZONES],
)
def test_unknown_zones(api: ApiUnderTest, zone: str) -> None:
    """Only exact IANA names are zones, whatever files the host has."""
    reply = api.call("POST", "/v1/jobs", job(schedule={**CRON, "timezone": zone}))
    assert_refused(reply, 422, {("/schedule/timezone", "invalid_value")})


NOT_ONE: list[tuple[str, Any, set[tuple[str, str]]]] = [
    ("two", {"cron": "0 2 * * *", "every": "PT1H"}, {("/schedule", "not_one_schedule")}),
    ("one-that-is-not-built", {"run_at": "2030-01-01T00:00:00Z", "after": []}, {("/schedule", "not_one_schedule")}),
    ("none", {"timezone": "UTC"}, {("/schedule", "not_one_schedule")}),
    ("empty", {}, {("/schedule", "not_one_schedule")}),
    ("text", "0 2 * * *", {("/schedule", "not_one_schedule")}),
    ("null", None, {("/schedule", "not_one_schedule")}),
    ("list", [{"cron": "0 2 * * *"}], {("/schedule", "not_one_schedule")}),
]


@pytest.mark.parametrize(("schedule", "errors"), [pytest.param(*row[1:], id=row[0]) for row in NOT_ONE])
def test_exactly_one_schedule(api: ApiUnderTest, schedule: Any, errors: set[tuple[str, str]]) -> None:
    """A schedule is exactly one of the kinds: neither two nor none is guessed at."""
    assert_refused(api.call("POST", "/v1/jobs", job(schedule=schedule)), 422, errors)
