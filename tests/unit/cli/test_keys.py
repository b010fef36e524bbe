"""`carillon keys`: making, rotating and revoking the tenant's keys."""

import json
from collections.abc import Callable
from typing import Any

from click.testing import Result

Run = Callable[..., Result]


def made(carillon: Run, *options: str) -> Any:
    """A new key."""
    return json.loads(carillon("keys", "create", *options, "--json").stdout)


def test_a_key_is_made_and_works(carillon: Run) -> None:
    """It is shown once, with a remark; a list never shows it."""
    shown = carillon("keys", "create", "--scope", "jobs:read", "--name", "dashboard")
    key = next(line.split()[1] for line in shown.stdout.splitlines() if line.startswith("key"))
    assert "cannot be shown again" in shown.stderr
    assert carillon("jobs", "list", "--api-key", key).exit_code == 0
    assert carillon("jobs", "cancel", "job_01K8Z3T6Q2W9Y5N7M4B1V0XCDE", "--api-key", key).exit_code == 1
    listed = carillon("keys", "list").stdout
    assert key not in listed
    assert "dashboard" in listed


def test_a_key_is_rotated_and_revoked(carillon: Run) -> None:
    """The old one ends as told; what is revoked opens nothing."""
    old = made(carillon, "--scope", "jobs:read")
    rotated = carillon("keys", "rotate", old["id"], "--overlap", "0s")
    assert f"{old['id']} is in force until" in rotated.stderr
    assert carillon("jobs", "list", "--api-key", old["key"]).exit_code == 1
    new = made(carillon, "--scope", "jobs:read", "--expires-at", "2999-01-01T00:00:00Z")
    assert carillon("keys", "revoke", new["id"]).exit_code == 0
    assert carillon("jobs", "list", "--api-key", new["key"]).exit_code == 1


def test_what_is_refused_is_one_line(carillon: Run) -> None:
    """Exit 1 with the reason, 2 for wrong usage; the last key stays."""
    assert carillon("keys", "create").exit_code == 2
    unknown = carillon("keys", "create", "--scope", "everything")
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    first = json.loads(carillon("keys", "list", "--json").stdout)["data"][0]["id"]
    refused = carillon("keys", "revoke", first)
    assert refused.exit_code == 1
    assert "last_key" in refused.stderr
