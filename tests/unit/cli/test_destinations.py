"""`carillon destinations`: what it sends, and what it shows."""

import json
from collections.abc import Callable

from click.testing import Result

Run = Callable[..., Result]


def test_a_destination_is_added_listed_and_removed(carillon: Run) -> None:
    """For programs: as the interface gives it."""
    host = json.loads(carillon("destinations", "add", "Hooks.acme.com", "--json").stdout)
    suffix = json.loads(carillon("destinations", "add", "acme.net", "--suffix", "--json").stdout)
    listed = json.loads(carillon("destinations", "list", "--json").stdout)
    assert (host["host"], suffix["suffix"]) == ("hooks.acme.com", "acme.net")
    assert listed == {"data": [host, suffix], "next_cursor": None}
    assert carillon("destinations", "remove", host["id"]).exit_code == 0
    assert json.loads(carillon("destinations", "list", "--json").stdout)["data"] == [suffix]


def test_people_get_a_table(carillon: Run) -> None:
    """With the id that removes a destination, its kind and its name."""
    carillon("destinations", "add", "acme.net", "--suffix")
    head, row = carillon("destinations", "list").stdout.splitlines()
    assert head.split() == ["DESTINATION", "KIND", "NAME", "CREATED", "VERIFIED"]
    assert row.split()[1:3] == ["suffix", "acme.net"]


def test_jobs_keep_to_them(carillon: Run) -> None:
    """A job that calls another host is refused with its reason."""
    carillon("destinations", "add", "hooks.acme.com")
    refused = carillon("jobs", "create", "--delay", "10s", "--url", "https://other.com/")
    assert (refused.exit_code, "destinations" in refused.stderr) == (1, True)
    assert carillon("jobs", "create", "--delay", "10s", "--url", "https://hooks.acme.com/").exit_code == 0


def test_what_cannot_be_one_is_refused(carillon: Run) -> None:
    """With the reason, and nothing is registered."""
    assert carillon("destinations", "add", "10.0.0.1").exit_code == 1
    assert carillon("destinations", "remove", "dst_unknown").exit_code == 1
    assert json.loads(carillon("destinations", "list", "--json").stdout)["data"] == []
