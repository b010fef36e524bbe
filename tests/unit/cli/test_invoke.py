"""`carillon invoke`: a function runs with an event from a file, and its answer and log are shown."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from carillon_cli.main import main

Run = Callable[..., Result]


@pytest.fixture
def invoke(aws: Any, tmp_path: Path) -> Run:
    """Runs `carillon invoke` with an event, against the AWS that a ready file names."""
    aws.stacks["Carillon-local"] = {"TickerFunction": "the-ticker"}
    ready = tmp_path / "ready.json"
    ready.write_text(json.dumps({"url": "http://x", "aws_endpoint": aws.url}))

    def run(function: str, event: str, *flags: str) -> Result:
        (tmp_path / "event.json").write_text(event)
        arguments = ["invoke", function, str(tmp_path / "event.json"), "--ready-file", str(ready), *flags]
        return CliRunner().invoke(main, arguments)

    return run


def test_the_answer_and_the_log_are_shown(invoke: Run) -> None:
    """The answer goes to stdout, the end of the log to stderr, without keys."""
    result = invoke("ticker", '{"tick": 1}')
    assert (result.exit_code, json.loads(result.stdout)) == (0, {"got": {"tick": 1}})
    assert result.stderr.splitlines() == ["START", "crl_live_… was seen", "END"]


def test_an_event_may_have_gaps(invoke: Run) -> None:
    """What the event leaves open is filled in, whatever signs it holds; the rest of the event stays as it is."""
    result = invoke("ticker", '{"key": "${KEY}", "stage": "$default", "job": "${JOB}"}', "--set", 'KEY=a"b=c')
    assert json.loads(result.stdout) == {"got": {"key": 'a"b=c', "stage": "$default", "job": "${JOB}"}}
    refused = invoke("ticker", "{}", "--set", "KEY")
    assert (refused.exit_code, refused.stdout) == (2, "")


def test_a_failed_function_is_1(invoke: Run) -> None:
    """A function that failed leaves with 1, and its answer says how."""
    result = invoke("ticker", '{"fail": true}')
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == "carillon: the function failed: Unhandled"


def test_programs_get_one_document(invoke: Run, aws: Any) -> None:
    """With --json the answer, the log and the kind of failure are one document."""
    told = json.loads(invoke("ticker", '{"fail": true}', "--json").stdout)
    assert told == {"answer": {"got": {"fail": True}}, "log": aws.log, "function_error": "Unhandled"}


@pytest.mark.parametrize(
    ("function", "event", "code", "says"),
    [
        ("gardener", "{}", 2, "gardener"),
        ("ticker", "{", 2, "EVENT is not JSON"),
        ("worker", "{}", 1, "no output WorkerFunction"),
    ],
)
def test_what_cannot_be_run_is_told(invoke: Run, function: str, event: str, code: int, says: str) -> None:
    """An unknown function, an event that is none, and a stack without the function are each one line."""
    result = invoke(function, event)
    assert (result.exit_code, result.stdout) == (code, "")
    assert says in result.stderr
