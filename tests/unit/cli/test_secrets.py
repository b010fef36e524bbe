"""`carillon secrets` and `carillon audit`: rotating and revealing, and what is left of it."""

import json
from collections.abc import Callable
from typing import Any

from click.testing import Result

Run = Callable[..., Result]


def test_a_rotation_shows_the_new_secret(carillon: Run) -> None:
    """The text on standard output, and until when the old one signs as a remark."""
    old = json.loads(carillon("secrets", "list", "--json").stdout)["data"][0]["id"]
    made = carillon("secrets", "rotate", "--overlap", "2h")
    new = json.loads(carillon("secrets", "list", "--json").stdout)["data"][0]["id"]
    assert made.exit_code == 0
    assert new in made.stdout
    assert "whsec_" in made.stdout
    assert f"{old} signs until" in made.stderr


def test_a_list_shows_no_text(carillon: Run) -> None:
    """Both secrets of an overlap stand in it, with the end of the older one."""
    carillon("secrets", "rotate")
    listed = carillon("secrets", "list").stdout
    assert "whsec_" not in listed
    assert [len(line.split()) for line in listed.splitlines()[1:]] == [3, 3]


def test_a_secret_is_revealed_and_that_is_recorded(carillon: Run, service: Any) -> None:
    """As JSON it is the service's answer; the audit trail has both acts, newest first."""
    made = json.loads(carillon("secrets", "rotate", "--json").stdout)
    shown = json.loads(carillon("secrets", "reveal", made["id"], "--json").stdout)
    assert shown["secret"] == made["secret"]
    lines = carillon("audit", "list").stdout.splitlines()
    assert [line.split()[1] for line in lines[1:]] == ["signing_secret.revealed", "signing_secret.rotated"]
    listed = json.loads(carillon("audit", "list", "--action", "signing_secret.rotated", "--json").stdout)
    assert listed["data"] == service.api.call("GET", "/v1/audit-events").json["data"][1:]


def test_a_refused_rotation_is_one_line(carillon: Run) -> None:
    """Exit 1, the reason, and no secret."""
    carillon("secrets", "rotate")
    refused = carillon("secrets", "rotate")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "rotation_in_progress" in refused.stderr
    assert carillon("secrets", "rotate", "--overlap", "soon").exit_code == 2
    assert carillon("secrets", "reveal", "sec_unknown").exit_code == 1
