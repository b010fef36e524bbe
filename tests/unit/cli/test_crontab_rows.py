"""Crontabs, line by line, with their oddities."""

from pathlib import Path
from typing import Any

import pytest

from carillon_cli.importing.crontab_rows import read_crontab
from carillon_cli.importing.rows import BadLine, Row

DATA = Path(__file__).parents[2] / "data"


def read(text: str, **options: Any) -> list[Row | BadLine]:
    """What a crontab is read as, with Europe/Berlin where it names no zone."""
    return list(read_crontab(text.encode(), "p", "Europe/Berlin", **options))


def only_row(text: str, **options: Any) -> Row:
    """The one row of a crontab."""
    (row,) = read(text, **options)
    assert isinstance(row, Row)
    return row


@pytest.mark.parametrize(
    ("line", "cron", "command"),
    [
        ("0 2 * * * backup", "0 2 * * *", "backup"),
        ("  0\t2  * * *\tbackup  --full ", "0 2 * * *", "backup  --full"),
        ("*/5 * * * 1-5 a # b", "*/5 * * * 1-5", "a # b"),
        ("@daily rotate", "0 0 * * *", "rotate"),
        ("@ANNUALLY a", "0 0 1 1 *", "a"),
        ("@hourly\ta b", "0 * * * *", "a b"),
        ("0 0 * * sun X=1 run", "0 0 * * sun", "X=1 run"),
        ('0 0 * * * sh -c "a = b"', "0 0 * * *", 'sh -c "a = b"'),
        ("0 0 * * * a \\", "0 0 * * *", "a \\"),
        ("0 0 * * * date +\\%F", "0 0 * * *", "date +%F"),
        ("0 0 * * * a\\b", "0 0 * * *", "a\\b"),
        ("0 0 * * * Привет\r", "0 0 * * *", "Привет"),
    ],
)
def test_an_entry_becomes_a_schedule_and_a_command(line: str, cron: str, command: str) -> None:
    """Time fields come out with single blanks, aliases spelled out, the command as it stands."""
    row = only_row(line)
    assert row.schedule == {"cron": cron, "timezone": "Europe/Berlin"}
    assert row.payload == {"command": command}


@pytest.mark.parametrize(
    ("command", "payload"),
    [
        ("mail boss%Hello%", {"command": "mail boss", "stdin": "Hello\n"}),
        ("mail%a%b", {"command": "mail", "stdin": "a\nb\n"}),
        ("mail 5\\%%a 6\\% b", {"command": "mail 5%", "stdin": "a 6% b\n"}),
        ("cat%", {"command": "cat", "stdin": "\n"}),
        ("a \\\\%b", {"command": "a \\\\", "stdin": "b\n"}),
    ],
)
def test_a_percent_sign_begins_the_input(command: str, payload: dict[str, str]) -> None:
    """The first bare % ends the command; behind it is its input, where it breaks lines; a backslash keeps it a sign."""
    assert only_row(f"0 0 * * * {command}").payload == payload


@pytest.mark.parametrize(
    "line", ["", "   ", "# 0 0 * * * a", "  #", "PATH=/bin", "a_1 = 0 0 * * * b", "'X Y'=z", 'MAILTO=""']
)
def test_lines_that_are_no_entries_are_passed_over(line: str) -> None:
    """Blank lines, comments and settings ask for no job."""
    assert read(line) == []


@pytest.mark.parametrize(
    ("text", "zones"),
    [
        ("{e}\nCRON_TZ=Asia/Kolkata\n{e}\n{e}", ["Europe/Berlin", "Asia/Kolkata", "Asia/Kolkata"]),
        ("CRON_TZ=Asia/Kolkata\n{e}\nCRON_TZ=UTC\n{e}", ["Asia/Kolkata", "UTC"]),
        ("CRON_TZ=Asia/Kolkata\n{e}\nCRON_TZ=\n{e}", ["Asia/Kolkata", "Europe/Berlin"]),
        ("TZ=Asia/Kolkata\n{e}", ["Asia/Kolkata"]),
        ("CRON_TZ=UTC\nTZ=Asia/Kolkata\n{e}\nCRON_TZ=\n{e}", ["UTC", "Asia/Kolkata"]),
        (' CRON_TZ = "America/New_York" \n{e}', ["America/New_York"]),
        ("TZ=:America/New_York\n{e}", ["America/New_York"]),
        ("# CRON_TZ=UTC\n{e}", ["Europe/Berlin"]),
        ("CRON_TZ_OLD=UTC\n{e}", ["Europe/Berlin"]),
    ],
)
def test_a_zone_holds_for_the_lines_below_it(text: str, zones: list[str]) -> None:
    """CRON_TZ, or else TZ, is the zone from its line on, and of none above."""
    rows = read(text.format(e="0 2 * * * a"))
    assert [row.schedule["timezone"] for row in rows if isinstance(row, Row)] == zones


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("0 2 * *", "expected five time fields and a command"),
        ("hello", "expected five time fields and a command"),
        ("0 2 * * *", "there is no command"),
        ("@daily", "there is no command"),
        ("@reboot warm", "@reboot names no time"),
        ("@fortnightly a", "no such alias"),
        ("@600 a", "no such alias"),
    ],
)
def test_a_bad_line_says_why(line: str, reason: str) -> None:
    """A line that is no entry is told with its number and reason, and spoils no other."""
    before, bad, after = read(f"0 0 * * * a\n{line}\n0 0 * * * b")
    assert isinstance(before, Row)
    assert isinstance(after, Row)
    assert isinstance(bad, BadLine)
    assert bad.line == 2
    assert reason in bad.reason


def test_bytes_that_are_no_text_spoil_one_line() -> None:
    """A line in another encoding is refused by itself."""
    bad, good = read_crontab(b"0 0 * * * caf\xe9\n0 0 * * * b\n", "p", "UTC")
    assert bad == BadLine(1, "not UTF-8")
    assert isinstance(good, Row)


def test_a_system_crontab_names_a_user() -> None:
    """With users, the sixth column is one and goes into the payload beside the command."""
    row = only_row("17 * * * * root cd / && run-parts", has_users=True)
    assert row.payload == {"command": "cd / && run-parts", "user": "root"}
    (bad,) = read("17 * * * * root", has_users=True)
    assert isinstance(bad, BadLine)


def test_names_come_from_what_a_line_says() -> None:
    """Lines that move keep their names; equal lines are told apart by a counter."""
    first = [row.name for row in read("0 0 * * * a\n0 0 * * * b\n0 0 * * * a")]
    moved = [row.name for row in read("# new\n0  0 * * *  b\n@daily a\n\n0 0 * * * a")]
    assert len(set(first)) == 3
    assert sorted(first) == sorted(moved)
    assert first[2] == f"{first[0]}-2"


@pytest.mark.parametrize("other", ["0 1 * * * a", "0 0 * * * b", "CRON_TZ=UTC\n0 0 * * * a"])
def test_another_entry_has_another_name(other: str) -> None:
    """Time, zone and command are all part of what a line says."""
    assert only_row("0 0 * * * a").name != only_row(other).name


def test_the_sample_is_read_to_its_end() -> None:
    """A whole crontab: entries, settings, zones and bad lines each where they stand."""
    lines = list(read_crontab((DATA / "sample.crontab").read_bytes(), "shop", "UTC"))
    assert [(row.line, *row.schedule.values()) for row in lines if isinstance(row, Row)] == [
        (5, "0 2 * * *", "UTC"),
        (6, "*/15 9-17 * * 1-5", "UTC"),
        (9, "30 9 * * MON", "Asia/Kolkata"),
        (10, "0 0 * * *", "Asia/Kolkata"),
        (12, "0 9 1 * *", "Asia/Kolkata"),
        (15, "0 2 * * *", "UTC"),
    ]
    assert [line.line for line in lines if isinstance(line, BadLine)] == [11, 13]
