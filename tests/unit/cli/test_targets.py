"""`carillon targets check`: the hosted policy without a service."""

import json

import pytest
from click.testing import CliRunner, Result

from carillon_cli.main import main
from support.target_rows import ROWS, TargetRow, id_of

NO_SERVICE = {"CARILLON_URL": None, "CARILLON_API_KEY": None}


def check(*arguments: str) -> Result:
    """Run the command without any setting of a service."""
    return CliRunner().invoke(main, ["targets", "check", *arguments], env=NO_SERVICE)


@pytest.mark.parametrize("row", ROWS, ids=id_of)
def test_programs_get_the_decision(row: TargetRow) -> None:
    """One document and an exit code; neither the URL nor an address is repeated."""
    result = check(row.url, *(f"--answer={answer}" for answer in row.answers), "--json")
    document = json.loads(result.stdout)
    assert (document["allowed"], document["code"], result.exit_code) == (row.code is None, row.code, bool(row.code))
    assert (document["reason"] is None, result.stderr) == (row.code is None, "")
    assert not any(text in str(document["reason"]) for text in (row.url, *row.answers) if len(text) > 8)


def test_people_get_a_line() -> None:
    """What it is, its code and its reason."""
    allowed, refused = check("https://hooks.acme.com/"), check("https://10.0.0.1/")
    assert (allowed.exit_code, allowed.stdout) == (0, "allowed\n")
    line = "refused (numeric_host): a target is named by a host name, not by an address\n"
    assert (refused.exit_code, refused.stdout, refused.stderr) == (1, line, "")


def test_without_answers_only_the_url_is_judged() -> None:
    """As when a job is created: no name is looked up, of hosts that there are not either."""
    assert check("https://no-such-host.acme.com/").exit_code == 0


def test_json_may_stand_before_the_subcommand() -> None:
    """As with every command."""
    result = CliRunner().invoke(main, ["--json", "targets", "check", "https://hooks.acme.com/"], env=NO_SERVICE)
    assert json.loads(result.stdout) == {"allowed": True, "code": None, "reason": None}


@pytest.mark.parametrize("arguments", [(), ("https://a.com/", "https://b.com/"), ("https://a.com/", "--answer")])
def test_wrong_usage_is_no_decision(arguments: tuple[str, ...]) -> None:
    """One URL, and options that have their value."""
    result = check(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
