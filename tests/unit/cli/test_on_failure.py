"""`carillon on-failure`: what it sends, and what it shows."""

import json
from collections.abc import Callable

import pytest
from click.testing import Result

Run = Callable[..., Result]
URL = "https://alerts.acme.com/failed"


def test_it_is_set_shown_and_removed(carillon: Run) -> None:
    """For programs: as the interface gives it."""
    assert json.loads(carillon("on-failure", "show", "--json").stdout) == {"target": None}
    named = json.loads(carillon("on-failure", "set", "--url", URL, "--json").stdout)
    assert (named["target"]["url"], named["target"]["type"]) == (URL, "http")
    assert json.loads(carillon("on-failure", "show", "--json").stdout) == named
    assert json.loads(carillon("on-failure", "remove", "--json").stdout) == {"target": None}
    assert json.loads(carillon("on-failure", "show", "--json").stdout) == {"target": None}


def test_people_get_lines(carillon: Run) -> None:
    """The members of the target, or a sentence."""
    assert "nobody is told" in carillon("on-failure", "show").stderr
    assert URL in carillon("on-failure", "set", "--url", URL).stdout
    assert "within a minute" in carillon("on-failure", "remove").stderr


@pytest.mark.parametrize("flags", [[], ["--url", URL, "--queue", "https://sqs.eu-west-1.amazonaws.com/1/x"]])
def test_one_of_the_two_is_given(carillon: Run, flags: list[str]) -> None:
    """Neither and both are a usage error."""
    assert carillon("on-failure", "set", *flags).exit_code == 2


def test_what_cannot_be_told_is_refused(carillon: Run) -> None:
    """With the reason, and nobody is named."""
    assert carillon("on-failure", "set", "--url", "https://10.0.0.1/").exit_code == 1
    assert json.loads(carillon("on-failure", "show", "--json").stdout) == {"target": None}
