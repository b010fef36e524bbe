"""What a command leaves behind: its exit code, one line on stderr, and nothing half done on stdout."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from carillon_cli.main import main

Run = Callable[..., Result]
CREATE = ("jobs", "create", "--delay", "10s", "--url", "https://svc.carillon.dev/")
UNKNOWN = "job_00000000000000000000000000"


def one_line(result: Result) -> str:
    """The only line on stderr."""
    (line,) = result.stderr.splitlines()
    return line


@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_b265_success_is_0(carillon: Run, extra: tuple[str, ...]) -> None:
    """B265: a command that did what it was asked leaves with 0 and says nothing on stderr."""
    result = carillon(*CREATE, *extra)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout


@pytest.mark.parametrize("extra", [(), ("--json",)])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(("jobs", "get", UNKNOWN), "not_found", id="unknown job"),
        pytest.param(("jobs", "cancel", UNKNOWN), "not_found", id="unknown job to cancel"),
        pytest.param(("jobs", "trigger", UNKNOWN), "not_found", id="unknown job to trigger"),
        pytest.param(("jobs", "pause", UNKNOWN), "not_found", id="unknown job to pause"),
        pytest.param(("jobs", "update", UNKNOWN, "--name", "x"), "not_found", id="unknown job to update"),
        pytest.param(("runs", "get", f"{UNKNOWN}@x"), "not_found", id="unknown run"),
        pytest.param(("runs", "list", UNKNOWN), "not_found", id="runs of an unknown job"),
        pytest.param(
            ("jobs", "create", "--cron", "* * * * *", "--timezone", "Mars/Base", "--url", "https://svc.carillon.dev/"),
            "/schedule/timezone: ",
            id="refused field",
        ),
        pytest.param(("--api-key", "crl_test_wrong", "jobs", "list"), "unauthenticated", id="wrong key"),
    ],
)
def test_b265_a_refusal_is_1(carillon: Run, arguments: tuple[str, ...], says: str, extra: tuple[str, ...]) -> None:
    """B265: what the service refused leaves with 1, names the field or reason on stderr, and nothing on stdout."""
    result = carillon(*arguments, *extra)
    assert (result.exit_code, result.stdout) == (1, "")
    assert says in one_line(result)


@pytest.mark.parametrize("extra", [(), ("--json",)])
@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(("jobs", "get"), "Missing argument 'ID'", id="missing argument"),
        pytest.param(("jobs", "get", ""), "an id must not be empty", id="empty id"),
        pytest.param(("jobs", "trigger"), "Missing argument 'ID'", id="nothing to trigger"),
        pytest.param(("jobs", "trigger", "x", "now"), "unexpected extra argument", id="too many arguments"),
        pytest.param(("jobs", "list", "--limit", "0"), "--limit", id="bad number"),
        pytest.param(("jobs", "list", "--limit", "1", "--all"), "not both", id="contradiction"),
        pytest.param(("jobs", "list", "--state", "asleep"), "--state", id="no such state"),
        pytest.param(("jobs", "frobnicate"), "No such command", id="no such command"),
        pytest.param(("jobs", "create", "--url", "https://svc.carillon.dev/"), "exactly one of", id="no schedule"),
        pytest.param((*CREATE, "--every", "1h"), "exactly one of", id="two schedules"),
        pytest.param((*CREATE, "--timeout", "soon"), "--timeout", id="bad duration"),
        pytest.param((*CREATE, "--payload", "{"), "--payload is not JSON", id="bad payload"),
        pytest.param((*CREATE, "--payload", "[NaN]"), "--payload is not JSON", id="no number"),
        pytest.param((*CREATE, "--payload", "@/nowhere"), "cannot read /nowhere", id="missing file"),
        pytest.param((*CREATE, "--header", "X-Team"), "NAME:VALUE", id="bad header"),
        pytest.param((*CREATE, "--header", "A: 1", "--header", "a: 2"), "twice", id="header given twice"),
        pytest.param((*CREATE, "--label", "=x"), "KEY=VALUE", id="bad label"),
        pytest.param((*CREATE, "--from-file", "-"), "--from-file", id="two definitions"),
        pytest.param(("jobs", "import", "/nowhere", "--url", "https://svc.carillon.dev/"), "/nowhere", id="no file"),
        pytest.param(("--url", "ftp://x", "jobs", "list"), "URL must be http", id="bad address"),
        pytest.param(("--profile", "none", "jobs", "list"), "no profile [none]", id="no such profile"),
    ],
)
def test_b265_wrong_usage_is_2(carillon: Run, arguments: tuple[str, ...], says: str, extra: tuple[str, ...]) -> None:
    """B265: what is wrong already here leaves with 2 and never asks the service."""
    result = carillon(*arguments, *extra)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in one_line(result)


@pytest.mark.parametrize("action", ["pause", "resume", "trigger"])
def test_b265_an_action_on_an_ended_job_is_refused(carillon: Run, service: Any, action: str) -> None:
    """B265: run-now and the like on a cancelled job leave with 1, the reason on stderr, nothing on stdout."""
    job_id = json.loads(carillon(*CREATE, "--json").stdout)["id"]
    carillon("jobs", "cancel", job_id)
    result = carillon("jobs", action, job_id, "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "409 job_finished" in one_line(result)
    assert not service.api.world.state.runs[job_id]


def test_b265_a_trigger_runs_once(carillon: Run, service: Any, script: Any) -> None:
    """B265: when the answer is lost the command asks again under the same key, and the job has run once by it."""
    job_id = json.loads(carillon(*CREATE, "--json").stdout)["id"]
    service.script.append(script.LOST)
    asked = len(service.bodies)
    assert carillon("jobs", "trigger", job_id).exit_code == 0
    assert len(service.bodies) == asked + 2
    assert len(service.api.world.state.runs[job_id]) == 1


def test_b265_a_trigger_that_is_never_answered_is_3(carillon: Run, service: Any, script: Any) -> None:
    """B265: however often it was tried, the code is 3, and the job has run once at the most."""
    job_id = json.loads(carillon(*CREATE, "--json").stdout)["id"]
    service.script += [script.LOST] * 10
    assert carillon("jobs", "trigger", job_id).exit_code == 3
    assert len(service.api.world.state.runs[job_id]) == 1


@pytest.mark.parametrize("extra", [(), ("--json",)])
def test_b265_not_reachable_is_3(carillon: Run, extra: tuple[str, ...]) -> None:
    """B265: where nobody answers, the code is 3 and the line names the place."""
    result = carillon("--url", "http://127.0.0.1:1", *CREATE, *extra)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "http://127.0.0.1:1 does not answer" in one_line(result)


def test_another_server_is_not_taken_for_the_service(carillon: Run, service: Any, script: Any) -> None:
    """An address where something else answers counts as not reached."""
    service.script.append(script.reply(200, "<html>"))
    result = carillon("jobs", "list")
    assert result.exit_code == 3
    assert "is this the address of the service?" in one_line(result)


def test_b266_a_list_without_end_stops(carillon: Run, service: Any, script: Any) -> None:
    """B266: the command says why it stopped, and does not show half a list as a whole one."""
    service.script += [script.reply(200, {"data": [{"id": "job_1"}], "next_cursor": "same"})] * 5
    result = carillon("jobs", "list", "--all", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "repeated a cursor" in one_line(result)


def test_a_failure_of_the_service_can_be_looked_up(carillon: Run, service: Any, script: Any) -> None:
    """For a fault of the service the line has the request's id."""
    service.script.append(script.problem(500, "internal_error"))
    assert "[request req-1]" in one_line(carillon("jobs", "list"))


def test_a_bug_is_one_line_too(carillon: Run, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    """An exception nobody foresaw shows no trace and no key; with CARILLON_DEBUG=1 it shows where, still without."""

    def broken(*_: object) -> None:
        raise RuntimeError(f"no luck\nwith {key}")

    monkeypatch.setattr("carillon.client.Client.job", broken)
    result = carillon("jobs", "get", UNKNOWN)
    assert result.exit_code == 1
    assert one_line(result).startswith("carillon: unexpected RuntimeError: no luck with crl_test_…")
    monkeypatch.setenv("CARILLON_DEBUG", "1")
    assert "Traceback" in carillon("jobs", "get", UNKNOWN).stderr


def test_hostile_texts_cannot_steer_the_terminal(carillon: Run, service: Any, script: Any) -> None:
    """Control characters in answers come out as text, in tables, fields and errors."""
    hostile = "a\x1b[2Jb\u202ec"
    job = {"id": UNKNOWN, "name": hostile}
    for answer, arguments in (
        (script.reply(200, {"data": [job], "next_cursor": None}), ("jobs", "list")),
        (script.reply(200, job), ("jobs", "get", UNKNOWN)),
        (script.problem(404, hostile), ("jobs", "get", UNKNOWN)),
    ):
        service.script.append(answer)
        output = carillon(*arguments).output
        assert "\\x1b[2J" in output
        assert not {"\x1b", "\u202e"} & set(output)


def test_help_needs_no_service_and_no_subcommand(no_settings: pytest.MonkeyPatch) -> None:
    """The help of the whole lists all commands with exit code 0."""
    del no_settings
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert all(name in result.stdout for name in ("dev", "invoke", "jobs", "runs", "tenants"))


def test_json_may_stand_before_the_command(carillon: Run) -> None:
    """`carillon --json …` and `carillon … --json` are the same."""
    carillon(*CREATE)
    before, after = carillon("--json", "jobs", "list"), carillon("jobs", "list", "--json")
    assert json.loads(before.stdout) == json.loads(after.stdout)
