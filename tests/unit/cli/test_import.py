"""`carillon jobs import`: a file of schedules becomes jobs, once, however often it is imported."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from carillon_cli.importing.comparison import differences
from carillon_cli.importing.importer import Outcome
from carillon_cli.importing.importer import Result as Line
from carillon_cli.importing.progress import EVERY_SECONDS, with_lines

Run = Callable[..., Result]
DATA = Path(__file__).parents[2] / "data"
URL = "https://svc.carillon.dev/hook"
TABLE = "id,kind,expression\na,cron,0 2 * * *\nb,interval,24h\nc,cron,0 3 * * *\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of three good lines."""
    (tmp_path / "nightly.csv").write_text(TABLE)
    return tmp_path / "nightly.csv"


def importing(run: Run, path: Path, *flags: str) -> Result:
    """The import of a file."""
    return run("jobs", "import", str(path), "--url", URL, *flags)


def test_each_line_becomes_a_job(carillon: Run, service: Any, table: Path) -> None:
    """Every line is a job of its own name, with the zone and the settings given."""
    result = importing(carillon, table, "--timezone", "Asia/Kolkata", "--label", "from=nightly", "--timeout", "5s")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == "created=3 unchanged=0 differs=0 refused=0\n"
    jobs = {job["name"]: job for job in service.jobs.values()}
    in_kolkata = {"timezone": "Asia/Kolkata", "dst_gap": "shift", "dst_overlap": "first"}
    assert {name: job["schedule"] for name, job in jobs.items()} == {
        "nightly/a": {"cron": "0 2 * * *", **in_kolkata},
        "nightly/b": {"every": "P1D"},
        "nightly/c": {"cron": "0 3 * * *", **in_kolkata},
    }
    assert all(job["target"]["url"] == URL and job["target"]["timeout"] == "PT5S" for job in jobs.values())
    assert all(job["labels"] == {"from": "nightly"} for job in jobs.values())


def test_a_repeat_changes_nothing(carillon: Run, service: Any, table: Path) -> None:
    """What an earlier import has created is found unchanged; the cancelled ones are created again."""
    importing(carillon, table)
    assert importing(carillon, table).stdout == "created=0 unchanged=3 differs=0 refused=0\n"
    carillon("jobs", "cancel", next(job_id for job_id, job in service.jobs.items() if job["name"] == "nightly/b"))
    assert importing(carillon, table).stdout == "created=1 unchanged=2 differs=0 refused=0\n"


@pytest.mark.parametrize(
    ("before", "now", "flags", "what"),
    [
        pytest.param("0 2 * * *", "0 4 * * *", (), "schedule.cron", id="time"),
        pytest.param("0 2 * * *", "0 2 * * *", ("--timezone", "Asia/Kolkata"), "schedule.timezone", id="zone"),
        pytest.param("0 2 * * *", "0 2 * * *", ("--method", "PUT"), "target.method", id="method"),
        pytest.param("0 2 * * *", "0 2 * * *", ("--header", "X-A: 1"), "target.headers", id="headers"),
    ],
)
def test_a_job_that_differs_is_left_and_told(
    carillon: Run, service: Any, table: Path, *, before: str, now: str, flags: tuple[str, ...], what: str
) -> None:
    """A job of the name with another schedule or target is not touched; the line says what differs, the code is 1."""
    table.write_text(f"id,kind,expression\na,cron,{before}\n")
    importing(carillon, table)
    stored = json.dumps(service.jobs)
    table.write_text(f"id,kind,expression\na,cron,{now}\n")
    result = importing(carillon, table, *flags)
    assert result.exit_code == 1
    assert result.stdout == "created=0 unchanged=0 differs=1 refused=0\n"
    assert f"line 2 (nightly/a): differs: the job there has another {what}" in result.stderr
    assert json.dumps(service.jobs) == stored


@pytest.mark.parametrize(
    ("wanted", "there", "different"),
    [
        ({"every": "PT24H"}, {"every": "P1D", "start_at": "2026-12-01T00:00:00.000Z"}, []),
        ({"every": "PT24H"}, {"every": "PT25H"}, ["schedule.every"]),
        ({"every": "PT24H"}, {"cron": "0 0 * * *"}, ["schedule.every"]),
        ({"every": "PT24H"}, {"every": 86_400}, ["schedule.every"]),
        ({"cron": "0 0 * * *", "timezone": "UTC"}, {"cron": "0 0 * * *", "timezone": "UTC", "dst_gap": "shift"}, []),
        ({"cron": "0 0 * * *"}, None, ["schedule.cron"]),
    ],
)
def test_what_differs_is_judged_by_its_meaning(wanted: Any, there: Any, different: list[str]) -> None:
    """Durations are compared as such, what a line leaves open not at all, and an odd answer differs."""
    assert differences({"schedule": wanted, "target": {}}, {"schedule": there}) == different


def test_refused_lines_are_told_and_the_others_go_on(carillon: Run, service: Any) -> None:
    """Each bad line is told on stderr with number and reason, whoever refused it; the rest is created."""
    result = importing(carillon, DATA / "sample.crontab", "--timezone", "Mars/Base")
    assert result.exit_code == 1
    assert result.stdout == "created=3 unchanged=0 differs=0 refused=5\n"
    told = {line.split(":")[0].split(" (")[0]: line for line in result.stderr.splitlines()}
    assert set(told) == {"line 5", "line 6", "line 11", "line 13", "line 15"}
    assert "@reboot names no time" in told["line 11"]
    assert "/schedule/timezone: " in told["line 5"]
    assert {job["payload"]["command"] for job in service.jobs.values()} >= {"/usr/bin/rotate", "mail -s 100% boss"}


def test_programs_get_every_line(carillon: Run) -> None:
    """With --json the document has the counts and each line in its order, also when the code is 1."""
    result = importing(carillon, DATA / "sample_schedules.csv", "--json", "--prefix", "p")
    answer = json.loads(result.stdout)
    assert result.exit_code == 1
    assert {name: answer[name] for name in ("created", "unchanged", "differs", "refused", "not_tried")} == {
        "created": 3,
        "unchanged": 0,
        "differs": 0,
        "refused": 4,
        "not_tried": 0,
    }
    lines = [(line["line"], line["name"], line["outcome"], bool(line["reason"])) for line in answer["lines"]]
    assert lines == [
        (2, "p/nightly", "created", False),
        (3, "p/poll", "created", False),
        (5, "p/bad", "refused", True),
        (6, "p/nightly", "refused", True),
        (7, "p/odd", "refused", True),
        (8, None, "refused", True),
        (9, "p/last", "created", False),
    ]


@pytest.mark.parametrize(
    ("status", "code", "says"),
    [
        pytest.param(401, 1, "unauthenticated", id="wrong key"),
        pytest.param(503, 1, "unavailable", id="down"),
        pytest.param(None, 3, "does not answer", id="gone"),
    ],
)
def test_an_import_stops_when_no_line_can_succeed(  # noqa: PLR0917 - three fixtures and a row of the table
    carillon: Run, service: Any, table: Path, script: Any, status: int | None, code: int, says: str
) -> None:
    """A wrong key or a dead service ends the import; what was not tried is counted, and a repeat goes on from there."""
    broken = script.hang_up if status is None else script.problem(status, says)
    service.script += [script.PASS, *[broken] * 20]
    result = importing(carillon, table, "--parallel", "1")
    assert result.exit_code == code
    assert result.stdout == "created=1 unchanged=0 differs=0 refused=0 not_tried=2\n"
    assert says in result.stderr.splitlines()[-1]
    service.script.clear()
    assert importing(carillon, table).stdout == "created=2 unchanged=1 differs=0 refused=0\n"


def test_an_answer_that_was_lost_creates_nothing_twice(carillon: Run, service: Any, table: Path, key: str) -> None:
    """When the service has created a job and its answer is lost, the second try finds the job by its name."""

    def create_and_hang_up() -> None:
        definition = {
            "name": "nightly/a",
            "schedule": {"cron": "0 2 * * *"},
            "target": {"type": "http", "url": URL},
        }
        service.api.call("POST", "/v1/jobs", definition, key=key)

    service.script.append(create_and_hang_up)
    result = importing(carillon, table, "--parallel", "1")
    assert result.stdout == "created=2 unchanged=1 differs=0 refused=0\n"
    assert len(service.jobs) == 3


def test_a_thousand_real_schedules_side_by_side(carillon: Run, service: Any) -> None:
    """1,344 schedules of a public CI system: each arrives once, but for 30 and 31 February."""
    result = importing(carillon, DATA / "real_schedules.csv", "--parallel", "8", "--json")
    answer = json.loads(result.stdout)
    assert [line["line"] for line in answer["lines"]] == list(range(2, 1_346))
    assert [line["line"] for line in answer["lines"] if line["outcome"] != "created"] == [1_037, 1_280]
    told = [line for line in result.stderr.splitlines() if not line.endswith("lines done")]  # each five seconds
    assert all("no date ever matches" in line for line in told)
    created = {line["name"] for line in answer["lines"] if line["outcome"] == "created"}
    assert {job["name"] for job in service.jobs.values()} == created
    assert len(service.jobs) == answer["created"] == 1_342


@pytest.mark.parametrize(
    ("name", "text", "flags", "names"),
    [
        pytest.param("jobs.txt", TABLE, (), 3, id="table by its header"),
        pytest.param("crontab", "0 0 * * * a\n", (), 1, id="crontab by default"),
        pytest.param("jobs.csv", "0 0 * * * a\n", ("--format", "crontab"), 1, id="told"),
        pytest.param("crontab", "", (), 0, id="nothing in it"),
        pytest.param("crontab", "17 * * * * root a\n", ("--system",), 1, id="with users"),
    ],
)
def test_the_format_is_seen_from_the_file(
    carillon: Run, service: Any, tmp_path: Path, *, name: str, text: str, flags: tuple[str, ...], names: int
) -> None:
    """A header makes a table, all else is a crontab, and --format has the last word."""
    (tmp_path / name).write_text(text)
    assert importing(carillon, tmp_path / name, *flags).exit_code == 0
    assert len(service.jobs) == names


def test_a_csv_file_without_header_is_refused_whole(carillon: Run, service: Any, tmp_path: Path) -> None:
    """A file called .csv that has no header is a mistake in the file, not a thousand bad crontab lines."""
    (tmp_path / "a.csv").write_text("a,cron,* * * * *\n")
    result = importing(carillon, tmp_path / "a.csv")
    assert (result.exit_code, result.stdout, service.jobs) == (2, "", {})
    assert "expected the header id,kind,expression" in result.stderr


def test_a_table_may_come_from_stdin(carillon: Run, service: Any) -> None:
    """With - the file is stdin, and the names begin with `import`."""
    assert carillon("jobs", "import", "-", "--url", URL, stdin=TABLE).exit_code == 0
    assert sorted(job["name"] for job in service.jobs.values()) == ["import/a", "import/b", "import/c"]


def test_a_dry_run_asks_nobody(no_settings: pytest.MonkeyPatch, carillon: Run, tmp_path: Path) -> None:
    """Without a service, each line is judged by the rules of schedules and shown with its first fire."""
    no_settings.delenv("CARILLON_URL")
    (tmp_path / "t.csv").write_text(TABLE + "d,cron,0 0 31 2 *\ne,interval,500ms\n")
    result = importing(carillon, tmp_path / "t.csv", "--dry-run")
    assert result.exit_code == 1
    assert result.stdout.splitlines()[-1] == "would_create=3 refused=2"
    assert [line.split(":")[0] for line in result.stderr.splitlines()] == ["line 5 (t/d)", "line 6 (t/e)"]
    answer = json.loads(importing(carillon, tmp_path / "t.csv", "--dry-run", "--json").stdout)
    assert [plan["job"]["name"] for plan in answer["would_create"]] == ["t/a", "t/b", "t/c"]
    assert all(plan["first"].endswith("Z") for plan in answer["would_create"])
    assert [line["line"] for line in answer["refused"]] == [5, 6]


def test_progress_is_told_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    """Where no bar can be drawn, a line says how far it is, at most one each five seconds."""
    clock = iter([0.0, 1.0, EVERY_SECONDS, 6.0, 2 * EVERY_SECONDS, 2 * EVERY_SECONDS + 1])
    now = 0.0

    def monotonic() -> float:
        nonlocal now
        now = next(clock, now)
        return now

    results = [Line(number, Outcome.CREATED) for number in range(1, 5)]
    assert list(with_lines(results, 4, monotonic)) == results
    assert capsys.readouterr().err.splitlines() == ["2 of 4 lines done", "4 of 4 lines done"]
