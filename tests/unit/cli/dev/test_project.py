"""What can be deployed, and whether it has changed."""

from pathlib import Path

import pytest

from carillon_cli.dev.errors import USAGE, DevError
from carillon_cli.dev.operator import environment
from carillon_cli.dev.project import Project


def project(root: Path) -> Project:
    """A complete checkout, as far as the checks look."""
    (root / "node_modules" / ".bin").mkdir(parents=True)
    (root / "node_modules" / ".bin" / "cdk").write_text("")
    (root / "cdk.json").write_text("{}")
    (root / "infra").mkdir()
    (root / "infra" / "app.py").write_text("1")
    return Project(root)


def test_a_complete_checkout_passes(tmp_path: Path) -> None:
    """Nothing is refused that can be deployed."""
    project(tmp_path).check()


@pytest.mark.parametrize(
    ("missing", "said"),
    [("cdk.json", "no cdk.json"), ("node_modules/.bin/cdk", "run `npm ci`")],
)
def test_what_is_missing_is_named(tmp_path: Path, missing: str, said: str) -> None:
    """Each missing piece is one line that says how to get it, and a usage error."""
    checkout = project(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(DevError, match=said) as refusal:
        checkout.check()
    assert refusal.value.exit_code == USAGE


def test_missing_node_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The CDK needs Node.js: without it nothing else is tried."""
    checkout = project(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DevError, match="node is not on the PATH"):
        checkout.check()


@pytest.mark.parametrize(
    ("file", "differs"),
    [
        ("infra/app.py", True),
        ("infra/parts/new.py", True),
        ("functions/api/handler.py", True),
        ("requirements/layer.lock", True),
        ("infra/__pycache__/app.pyc", False),
        ("docs/design.md", False),
    ],
)
def test_the_fingerprint_follows_what_is_deployed(tmp_path: Path, file: str, *, differs: bool) -> None:
    """It changes with the template's code and the functions' code, and with nothing else."""
    checkout = project(tmp_path)
    before = checkout.fingerprint()
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("changed")
    assert (checkout.fingerprint() != before) is differs


def test_the_cdk_sees_the_local_aws_only() -> None:
    """No profile, key or region of the caller's reaches the CDK; a proxy stays, but not for the loopback address."""
    inherited = {"AWS_PROFILE": "work", "AWS_SECRET_ACCESS_KEY": "real", "HTTPS_PROXY": "http://p", "NO_PROXY": "corp"}
    env = environment("http://127.0.0.1:14500", inherited)
    assert "AWS_PROFILE" not in env
    assert env["AWS_SECRET_ACCESS_KEY"] == "test"
    assert env["AWS_ENDPOINT_URL"] == "http://127.0.0.1:14500"
    assert env["HTTPS_PROXY"] == "http://p"
    assert env["NO_PROXY"] == "corp,127.0.0.1,localhost"
