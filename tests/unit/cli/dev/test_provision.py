"""The first tenant's credentials, and the environment in which they are made."""

import os
from dataclasses import asdict
from pathlib import Path

import pytest

from carillon_cli.dev.operator import local_operator
from carillon_cli.dev.provision import Credentials
from carillon_cli.dev.workspace import write_json


def test_kept_credentials_are_found_again(tmp_path: Path) -> None:
    """A restart has the same key; a first start has none."""
    credentials = Credentials("dev", "crl_test_a_b", "whsec_c")
    assert Credentials.load(tmp_path / "credentials.json") is None
    write_json(tmp_path / "credentials.json", asdict(credentials))
    assert Credentials.load(tmp_path / "credentials.json") == credentials


def test_the_callers_aws_is_out_of_sight_and_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """While the tenant is made no client here can reach the caller's account; afterwards all is as before."""
    monkeypatch.setenv("AWS_PROFILE", "work")
    before = dict(os.environ)
    with local_operator("http://127.0.0.1:14500"):
        assert "AWS_PROFILE" not in os.environ
        assert os.environ["AWS_ENDPOINT_URL"] == "http://127.0.0.1:14500"
    assert dict(os.environ) == before
