"""Tables of schedules, line by line."""

from pathlib import Path

import pytest

from carillon_cli.importing.csv_rows import is_csv, read_csv
from carillon_cli.importing.rows import BadFileError, BadLine, Row

DATA = Path(__file__).parents[2] / "data"
HEADER = b"id,kind,expression\n"


def only_line(line: bytes) -> Row | BadLine:
    """What a table of one line is read as."""
    (read,) = read_csv(HEADER + line, "p", "Europe/Berlin")
    return read


@pytest.mark.parametrize(
    ("line", "schedule"),
    [
        (b'a,cron,"0 6,18 * * *"', {"cron": "0 6,18 * * *", "timezone": "Europe/Berlin"}),
        (b" a , cron , 0  9 \t* * MON ", {"cron": "0 9 * * MON", "timezone": "Europe/Berlin"}),
        (b"a,cron,@Daily", {"cron": "0 0 * * *", "timezone": "Europe/Berlin"}),
        (b"a,interval,24h", {"every": "P1D"}),
        (b"a,interval,1h30m\r", {"every": "PT1H30M"}),
        (b"a,interval,PT5M", {"every": "PT5M"}),
    ],
)
def test_a_line_becomes_a_schedule(line: bytes, schedule: dict[str, str]) -> None:
    """The kind decides how the expression is read; blanks around cells do not matter."""
    assert only_line(line) == Row(2, "p/a", schedule)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"a,cron", "expected 3 cells, found 2"),
        (b"a,cron,0 0,12 * * *", "expected 3 cells, found 4"),
        (b",cron,* * * * *", "the id is empty"),
        (b"a,weekly,1", "the kind is neither cron nor interval"),
        (b"a,cron,", "the expression is empty"),
        (b"a,interval,fortnightly", "not a duration"),
        (b'a,cron,"0 0 * * *', "not CSV"),
        (b"a,cron,\xff", "not UTF-8"),
    ],
)
def test_a_bad_line_says_why(line: bytes, reason: str) -> None:
    """A line that is no schedule is told with its number and reason."""
    read = only_line(line)
    assert isinstance(read, BadLine)
    assert read.line == 2
    assert reason in read.reason


def test_a_bad_line_spoils_no_other() -> None:
    """The lines round a bad one are read, with their own numbers; blank ones are not lines."""
    lines = list(read_csv((DATA / "sample_schedules.csv").read_bytes(), "p", "UTC"))
    assert [(line.line, line.name) for line in lines if isinstance(line, Row)] == [
        (2, "p/nightly"),
        (3, "p/poll"),
        (9, "p/last"),
    ]
    assert [(line.line, line.reason.split(":")[0].split(";")[0]) for line in lines if isinstance(line, BadLine)] == [
        (5, "not a duration"),
        (6, "the id stands in line 2 already"),
        (7, "the kind is neither cron nor interval"),
        (8, "not CSV"),
    ]


@pytest.mark.parametrize(
    ("data", "answer"),
    [
        (HEADER, True),
        (b"\xef\xbb\xbf\r\n ID, Kind ,Expression\r\n", True),
        (b'"id","kind","expression"\n', True),
        (b"0 0 * * * a\n" + HEADER, False),
        (b"", False),
        (b"\xff\n", False),
    ],
)
def test_a_table_is_known_by_its_header(data: bytes, answer: bool) -> None:  # noqa: FBT001 - a column of the table
    """The header says that a file is a table: in any case of letters, quoted or not, after a byte order mark."""
    assert is_csv(data) is answer


@pytest.mark.parametrize("data", [b"", b"a,cron,* * * * *\n", b"kind,id,expression\n"])
def test_a_table_without_its_header_is_refused_whole(data: bytes) -> None:
    """Without the header nobody knows what the columns mean."""
    with pytest.raises(BadFileError, match="id,kind,expression"):
        list(read_csv(data, "p", "UTC"))


def test_all_real_schedules_are_read() -> None:
    """Each of the 1,344 schedules of a public CI system becomes a row with a name of its own."""
    rows = list(read_csv((DATA / "real_schedules.csv").read_bytes(), "real", "UTC"))
    assert all(isinstance(row, Row) for row in rows)
    assert len({row.name for row in rows}) == 1_344
