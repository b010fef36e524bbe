"""`carillon preview`: the calendar without a service."""

import json
import subprocess
import sys
from typing import Any

import pytest
from click.testing import CliRunner, Result

from carillon_cli.main import main

FROM = ("--from", "2026-06-01T00:00:00Z")
NEW_YORK = ("--tz", "America/New_York")
NOON_NS = 1_791_806_400_250_000_000
"""2026-10-12T12:00:00.250Z"""


def preview(*arguments: str) -> Result:
    """Run the command without any setting of a service."""
    return CliRunner().invoke(main, ["preview", *arguments], env={"CARILLON_URL": None, "CARILLON_API_KEY": None})


def document(*arguments: str) -> dict[str, Any]:
    """What it prints for programs."""
    result = preview(*arguments, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    value = json.loads(result.stdout)
    assert isinstance(value, dict)
    return value


def times(*arguments: str) -> list[str]:
    """The instants of the occurrences."""
    return [each["at"] for each in document(*arguments)["occurrences"]]


def test_programs_get_occurrences_words_and_warnings() -> None:
    """The whole document: instants in UTC to the millisecond, local texts with offsets, codes for warnings."""
    assert document("30 1 * * *", *NEW_YORK, "--from", "2025-11-01T12:00:00Z", "--count", "2") == {
        "occurrences": [
            {"at": "2025-11-02T05:30:00.000Z", "local": "2025-11-02T01:30:00.000-04:00"},
            {"at": "2025-11-03T06:30:00.000Z", "local": "2025-11-03T01:30:00.000-05:00"},
        ],
        "text": "At 01:30 every day, America/New_York time",
        "clock_changes": [
            {
                "at": "2025-11-02T06:00:00.000Z",
                "before": "2025-11-02T02:00:00.000-04:00",
                "after": "2025-11-02T01:00:00.000-05:00",
                "effect": "once",
                "detail": "On 2025-11-02 01:00 to 02:00 comes twice; 01:30 runs the first time only",
            }
        ],
        "warnings": [
            {
                "code": "clock_change_ahead",
                "detail": "On 2025-11-02 01:00 to 02:00 comes twice; 01:30 runs the first time only.",
            }
        ],
    }


QUESTIONS = [
    ("B259-nth-in-a-zone", ("0 9 * * MON#1", *NEW_YORK), ["2026-06-01T13:00", "2026-07-06T13:00"]),
    ("B259-both", ("0 9 */2 * 1",), ["2026-06-01T09:00", "2026-06-15T09:00"]),
    ("alias", ("@monthly",), ["2026-07-01T00:00", "2026-08-01T00:00"]),
    ("later-than-from", ("0 0 * * *",), ["2026-06-02T00:00", "2026-06-03T00:00"]),
    ("interval", ("--every", "PT30M"), ["2026-06-01T00:30", "2026-06-01T01:00"]),
    ("interval-as-people-type-it", ("--every", "30m"), ["2026-06-01T00:30", "2026-06-01T01:00"]),
    (
        "interval-from-start",
        ("--every", "1h", "--start-at", "2026-07-01T00:10:00Z"),
        ["2026-07-01T00:10", "2026-07-01T01:10"],
    ),
    ("bounds", ("0 0 * * *", "--end-at", "2026-06-02T12:00:00Z"), ["2026-06-02T00:00"]),
    ("limit", ("0 0 * * *", "--max-runs", "1"), ["2026-06-02T00:00"]),
    ("once", ("--run-at", "2026-07-01T00:00:00Z"), ["2026-07-01T00:00"]),
    ("once-on-a-clock", ("--run-at", "2026-07-01T00:00:00", *NEW_YORK), ["2026-07-01T04:00"]),
    ("once-with-an-offset-shown-elsewhere", ("--run-at", "2026-07-01T00:00:00+02:00", *NEW_YORK), ["2026-06-30T22:00"]),
    ("once-in-a-gap", ("--run-at", "2027-03-14T02:30:00", *NEW_YORK), ["2027-03-14T07:00"]),
    ("once-at-the-last", ("--run-at", "2026-11-01T01:30:00", "--dst-overlap", "last", *NEW_YORK), ["2026-11-01T06:30"]),
]


@pytest.mark.parametrize(("arguments", "expected"), [pytest.param(*case, id=name) for name, *case in QUESTIONS])
def test_the_next_times_are_those_of_the_engine(arguments: tuple[str, ...], expected: list[str]) -> None:
    """Cron, interval and single run, from the first of June on."""
    assert times(*arguments, *FROM, "--count", "2") == [f"{text}:00.000Z" for text in expected]


def test_choices_for_clock_changes_are_kept() -> None:
    """`--dst-gap skip` leaves the day out, `--dst-overlap both` runs twice."""
    spring, autumn = ("--from", "2025-03-08T12:00:00Z"), ("--from", "2025-11-01T12:00:00Z")
    assert times("30 2 * * *", *NEW_YORK, *spring, "--count", "1") == ["2025-03-09T07:00:00.000Z"]
    assert times("30 2 * * *", *NEW_YORK, *spring, "--count", "1", "--dst-gap", "skip") == ["2025-03-10T06:30:00.000Z"]
    assert times("30 1 * * *", *NEW_YORK, *autumn, "--count", "2", "--dst-overlap", "both") == [
        "2025-11-02T05:30:00.000Z",
        "2025-11-02T06:30:00.000Z",
    ]


def test_without_a_start_it_shows_what_comes_after_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command reads the clock; ten times unless asked for more."""
    monkeypatch.setattr("time.time_ns", lambda: NOON_NS)
    found = times("*/5 * * * *")
    assert (found[0], len(found)) == ("2026-10-12T12:05:00.000Z", 10)


def test_json_may_stand_before_the_command() -> None:
    """`carillon --json preview` is the same as `carillon preview --json`."""
    result = CliRunner().invoke(main, ["--json", "preview", "@daily", *FROM])
    assert json.loads(result.stdout) == document("@daily", *FROM)


def test_people_get_words_and_tables() -> None:
    """The sentence first, then the occurrences, the clock changes and the warnings, each only if there are any."""
    result = preview("30 2 * * *", *NEW_YORK, "--from", "2025-03-08T12:00:00Z", "--count", "2")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "At 02:30 every day, America/New_York time",
        "",
        "UTC                   DAY  LOCAL",
        "2025-03-09 07:00:00Z  Sun  2025-03-09 03:00:00-04:00",
        "2025-03-10 06:30:00Z  Mon  2025-03-10 02:30:00-04:00",
        "",
        "CLOCK BEFORE               CLOCK AFTER                EFFECT  CLOCK CHANGE",
        (
            "2025-03-09 02:00:00-05:00  2025-03-09 03:00:00-04:00  moved   "
            "On 2025-03-09 the clock skips 02:00 to 03:00; 02:30 runs at 03:00 instead"
        ),
        "",
        "WARNING             MEANING",
        "clock_change_ahead  On 2025-03-09 the clock skips 02:00 to 03:00; 02:30 runs at 03:00 instead.",
    ]
    assert preview("0 9 * * *", *FROM, "--count", "1").stdout.splitlines()[3:] == [
        "2026-06-01 09:00:00Z  Mon  2026-06-01 09:00:00Z"
    ]


REFUSED = [
    ("minute", ("61 * * * *",), ("cron: the minute field", "out of range 0-59", "allowed: 0-59")),
    ("B010", ("0 22-2 * * *",), ("cron: the hour field", "downwards")),
    ("B011", ("0 0 31 2 *",), ("cron: no date ever matches",)),
    ("B019-dash", ("-5 * * * *",), ("cron: the minute field", "cannot be read")),
    ("B019-dash-behind-a-mark", ("--", "-5 * * * *"), ("cron: the minute field", "cannot be read")),
    ("B019-name", ("0 0 * * MON_FRI",), ("cron: the day-of-week field",)),
    ("B019-full-width", ("\uff10 0 * * *",), ("cron: has characters",)),
    ("B020-six-fields", ("0 0 9 * * 1",), ("cron: has 6 fields", "five fields")),
    ("B020-newline", ("0 9 * *\n1",), ("cron: has characters",)),
    ("B020-empty", ("",), ("cron: has 0 fields",)),
    ("B022-R", ("R * * * *",), ("H or R", "`window`")),
    ("@every", ("@every 5m",), ("@every", '{"every": duration}')),
    ("zone", ("0 9 * * *", "--tz", "EST5"), ("timezone: not the name", "IANA name")),
    ("B271-from", ("0 9 * * *", "--from", "yesterday"), ("from: not an instant", "RFC 3339")),
    ("too-short", ("--every", "0s"), ("every: too short", "PT1S")),
    ("no-such-time", ("--run-at", "2027-03-14T02:30:00", *NEW_YORK, "--dst-gap", "skip"), ("run_at:", "skip")),
    ("local-without-zone", ("--run-at", "2027-03-14T02:30:00"), ("run_at: not an instant", "offset")),
    (
        "twice",
        ("--run-at", "2026-11-01T01:30:00", *NEW_YORK, "--dst-overlap", "both"),
        ("dst_overlap:", "first or last"),
    ),
    ("end", ("0 9 * * *", "--start-at", "2026-06-02T00:00:00Z", "--end-at", "2026-06-01T00:00:00Z"), ("end_at:",)),
    ("limit", ("0 9 * * *", "--max-runs", "0"), ("max_runs: out of range",)),
    ("limit-too-high", ("0 9 * * *", "--max-runs", "1000001"), ("max_runs: out of range", "1,000,000")),
    ("window-of-a-day", ("0 9 * * *", "--window", "24h"), ("window: out of range", "PT23H")),
    ("zone-empty", ("0 9 * * *", "--tz", ""), ("timezone: not the name",)),
    ("one-field", ("5",), ("cron: has 1 field;", "five fields")),
]


@pytest.mark.parametrize("extra", [(), ("--json",)])
@pytest.mark.parametrize(("arguments", "says"), [pytest.param(*case, id=name) for name, *case in REFUSED])
def test_what_is_refused_is_one_line_and_1(
    arguments: tuple[str, ...], says: tuple[str, ...], extra: tuple[str, ...]
) -> None:
    """The field, what is wrong and what is allowed, on stderr; nothing on stdout."""
    result = preview(*extra, *arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert all(part in line for part in says), line
    assert "; allowed: " in line


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param((), "exactly one of EXPRESSION, --run-at and --every", id="nothing"),
        pytest.param(("0 9 * * *", "--every", "1h"), "exactly one of", id="two schedules"),
        pytest.param(("0", "9", "*", "*", "*"), "unexpected extra arguments", id="no quotes"),
        pytest.param(("0 9 * * *", "--count", "0"), "--count", id="count"),
        pytest.param(("0 9 * * *", "--dst-gap", "jump"), "--dst-gap", id="choice"),
        pytest.param(("0 9 * * *", "--nonsense"), "--nonsense", id="no such option"),
        pytest.param(("--every", "soon"), "--every", id="duration"),
        pytest.param(("--every", "1h", "--dst-gap", "skip"), "--dst-gap has no meaning with --every", id="no clock"),
        pytest.param(("--run-at", "2026-07-01T00:00:00Z", "--max-runs", "2"), "no meaning with --run-at", id="limit"),
    ],
)
def test_wrong_usage_is_2(arguments: tuple[str, ...], says: str) -> None:
    """What is no question about a schedule at all leaves with 2 and one line."""
    result = preview(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert says in line


def test_it_loads_no_aws_and_no_table_drawing_for_programs() -> None:
    """A preview for programs imports neither an AWS library nor what only people need, so that it starts at once."""
    code = "import sys; from carillon_cli.main import main; main(standalone_mode=False); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code, "preview", "@daily", "--json"],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    ).stdout.split()
    assert "carillon_cli.preview" in loaded
    assert not {"boto3", "botocore", "rich", "pydantic", "zoneinfo"} & set(loaded)
