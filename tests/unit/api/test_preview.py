"""POST /v1/schedules/preview: what a schedule means, by the code that plans and fires."""

import pytest

from carillon.domain.explaining.document import document_of
from carillon.domain.explaining.explanation import preview
from carillon.domain.instants import parse_instant, parse_local_time
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule
from support.api import SECRET_VALUE, ApiUnderTest, Json, Reply, assert_refused

pytestmark = pytest.mark.usefixtures("nothing_written")
LOCAL = {"run_at": "2027-01-01T00:00:00", "timezone": "UTC"}
NEW_YORK = {"cron": "30 1 * * *", "timezone": "America/New_York"}


def ask(api: ApiUnderTest, schedule: Json, **choices: Json) -> Reply:
    """Ask for a preview; `from_` stands for `from`."""
    return api.call(
        "POST", "/v1/schedules/preview", {"schedule": schedule, **{k.rstrip("_"): v for k, v in choices.items()}}
    )


def times(reply: Reply) -> list[str]:
    """The instants shown."""
    assert reply.status == 200, reply.text
    return [shown["at"] for shown in reply.json["occurrences"]]


def test_b262_two_passes_of_an_hour_look_different(api: ApiUnderTest) -> None:
    """B262: each occurrence in UTC and on the zone's clock, with its offset; the clock change and what it does."""
    reply = ask(api, {"cron": "*/30 1 * * *", "timezone": "America/New_York"}, from_="2025-11-02T04:00:00Z", count=4)
    assert [shown["local"] for shown in reply.json["occurrences"]] == [
        "2025-11-02T01:00:00.000-04:00",
        "2025-11-02T01:30:00.000-04:00",
        "2025-11-02T01:00:00.000-05:00",
        "2025-11-02T01:30:00.000-05:00",
    ]
    assert set(reply.json) == {"occurrences", "text", "clock_changes", "warnings"}
    assert [change["effect"] for change in reply.json["clock_changes"]] == ["twice"]


@pytest.mark.parametrize(
    ("sent", "schedule", "local"),
    [
        (NEW_YORK, CronSchedule("30 1 * * *", "America/New_York"), None),
        ({"every": "PT90M", "max_runs": 3}, Every.anchored(5_400_000, parse_instant("2026-01-01T00:00:00Z")), None),
        (
            {"run_at": "2027-03-14T02:30:00", "timezone": "America/New_York"},
            OneOff.at_local_time("2027-03-14T02:30:00", "America/New_York"),
            parse_local_time("2027-03-14T02:30:00"),
        ),
    ],
    ids=["cron", "every", "local time"],
)
def test_the_answer_is_that_of_the_command_line(
    api: ApiUnderTest, sent: Json, schedule: Schedule, local: int | None
) -> None:
    """One explanation, one document, whoever asks."""
    expected = preview(
        schedule,
        parse_instant("2026-01-01T00:00:00Z"),
        10,
        timezone=sent.get("timezone", "UTC"),
        run_at_local_ms=local,
        max_runs=sent.get("max_runs"),
    )
    assert ask(api, sent, from_="2026-01-01T00:00:00Z").json == document_of(expected)


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [
        ({"delay": "PT1H"}, ["2026-09-21T15:13:20.000Z"]),
        ({"every": "PT1H", "max_runs": 2}, ["2026-09-21T15:13:20.000Z", "2026-09-21T16:13:20.000Z"]),
        ({"cron": "0 9 * * MON#1", "end_at": "2026-10-06T00:00:00Z"}, ["2026-10-05T09:00:00.000Z"]),
        ({"run_at": "2026-01-01T00:00:00Z"}, []),
    ],
)
def test_without_an_instant_it_is_as_of_now(api: ApiUnderTest, schedule: Json, expected: list[str]) -> None:
    """Delays and intervals count from now, as they would for a job created now; what is past is said to be."""
    assert times(ask(api, schedule)) == expected


@pytest.mark.parametrize("schedule", [{"delay": "PT0S"}, {"run_at": "2026-09-21T14:13:20Z"}], ids=["delay", "run_at"])
def test_what_would_run_at_once_is_shown(api: ApiUnderTest, schedule: Json) -> None:
    """A creation accepts it and runs it now; so it is ahead, and there is nothing to warn of."""
    reply = ask(api, schedule)
    assert (times(reply), reply.json["warnings"]) == (["2026-09-21T14:13:20.000Z"], [])


def test_a_null_is_no_instant(api: ApiUnderTest) -> None:
    """`from` is left out, or an instant."""
    reply = api.call("POST", "/v1/schedules/preview", {"schedule": NEW_YORK, "from": None})
    assert_refused(reply, 422, {("/from", "wrong_type")})


def test_how_many(api: ApiUnderTest) -> None:
    """Ten unless said, up to a thousand."""
    assert len(times(ask(api, {"cron": "* * * * *"}))) == 10
    assert len(times(ask(api, {"cron": "* * * * *"}, count=1_000))) == 1_000


def test_warnings(api: ApiUnderTest) -> None:
    """Several occurrences in a window, and schedules that are very frequent, are remarked upon."""
    reply = ask(api, {"cron": "* * * * *"}, window="PT10M")
    assert {warning["code"] for warning in reply.json["warnings"]} == {"several_per_window", "very_frequent"}
    assert "constant delay of up to 10 minutes" in reply.json["text"]


BAD: list[tuple[str, Json, dict[str, Json], str, str]] = [
    ("cron", {"cron": "0 0 31 2 *"}, {}, "/schedule/cron", "invalid_value"),
    ("zone", {**NEW_YORK, "timezone": "Mars/Olympus"}, {}, "/schedule/timezone", "invalid_value"),
    ("twice", {**LOCAL, "dst_overlap": "both"}, {}, "/schedule/dst_overlap", "invalid_value"),
    ("offset-and-zone", {**LOCAL, "run_at": "2027-01-01T00:00:00Z"}, {}, "/schedule/run_at", "invalid_value"),
    ("two", {"cron": "@daily", "every": "PT1H"}, {}, "/schedule", "not_one_schedule"),
    ("after", {"after": ["job_1"]}, {}, "/schedule/after", "not_supported"),
    ("count-0", NEW_YORK, {"count": 0}, "/count", "out_of_range"),
    ("count-1001", NEW_YORK, {"count": 1_001}, "/count", "out_of_range"),
    ("count-text", NEW_YORK, {"count": "3"}, "/count", "wrong_type"),
    ("from", NEW_YORK, {"from_": SECRET_VALUE}, "/from", "invalid_value"),
    ("from-local", NEW_YORK, {"from_": "2026-01-01T00:00:00"}, "/from", "invalid_value"),
    ("from-number", NEW_YORK, {"from_": 0}, "/from", "wrong_type"),
    ("window", NEW_YORK, {"window": "P1D"}, "/window", "out_of_range"),
    ("unknown", NEW_YORK, {"until": "now"}, "/until", "unknown_field"),
    ("inner-name", NEW_YORK, {"from_at": "2026-01-01T00:00:00Z"}, "/from_at", "unknown_field"),
]


@pytest.mark.parametrize(("schedule", "choices", "where", "code"), [pytest.param(*row[1:], id=row[0]) for row in BAD])
def test_what_cannot_be_previewed(
    api: ApiUnderTest, schedule: Json, choices: dict[str, Json], where: str, code: str
) -> None:
    """A preview refuses what a creation refuses, by the same places and codes."""
    assert_refused(ask(api, schedule, **choices), 422, {(where, code)})


def test_a_preview_is_asked_for_in_json(api: ApiUnderTest) -> None:
    """As all documents are; a schedule must be there."""
    assert api.call("POST", "/v1/schedules/preview").status == 415
    assert_refused(api.call("POST", "/v1/schedules/preview", {}), 422, {("/schedule", "required")})
    first, again = (
        api.call("POST", "/v1/schedules/preview", {"schedule": NEW_YORK}, headers={"Idempotency-Key": "a"})
        for _ in "12"
    )
    assert (first.status, again.text) == (200, first.text)
