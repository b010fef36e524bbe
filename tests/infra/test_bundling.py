"""A layer is built whole or not at all, and again only when it would become another."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from infra.parts import bundling
from infra.parts.bundling import Platform, bundled_sources, host_platform, lambda_platform, layer_key, platform_of
from infra.stages import LOCAL, STAGES, Stage

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for built layers, and a small core beside it."""
    monkeypatch.setattr(bundling, "CACHE", tmp_path / "layers")
    monkeypatch.setattr(bundling, "CORE", tmp_path / "core")
    module = tmp_path / "core" / "carillon" / "__init__.py"
    module.parent.mkdir(parents=True)
    module.write_text("NUMBER = 1\n", encoding="utf-8")
    return tmp_path / "layers"


def fake_install(target: Path, _platform: Platform) -> None:
    """Puts down what an installation would, without the network."""
    for folder in ("botocore/data/dynamodb", "botocore/data/ec2", "bin", "tzdata"):
        (target / folder).mkdir(parents=True)
    (target / "botocore" / "data" / "endpoints.json").write_text("{}", encoding="utf-8")
    (target / "tzdata" / "__init__.py").write_text("", encoding="utf-8")


def failing_install(target: Path, _platform: Platform) -> None:
    """Is cut short half-way."""
    target.mkdir(parents=True)
    (target / "half.py").write_text("", encoding="utf-8")
    raise OSError("the network is gone")


def test_a_layer_is_built_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second synthesis takes the layer that is there: it works even when nothing can be installed any more."""
    monkeypatch.setattr(bundling, "install", fake_install)
    first = bundled_sources(LOCAL)
    monkeypatch.setattr(bundling, "install", failing_install)
    assert bundled_sources(LOCAL) == first
    assert first.dependencies.is_relative_to(cache)


def test_only_what_functions_load_is_in_it(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scripts and models of services that are not called are left out; all else stays, compiled."""
    monkeypatch.setattr(bundling, "install", fake_install)
    packages = bundled_sources(LOCAL).dependencies / "python"
    assert {path.name for path in packages.iterdir()} == {"botocore", "tzdata"}
    assert {path.name for path in (packages / "botocore" / "data").iterdir()} == {"dynamodb", "endpoints.json"}
    assert list((packages / "tzdata" / "__pycache__").iterdir())
    assert cache.exists()


def test_our_own_code_is_compiled_too(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each module of the core layer comes with its bytecode, and another source makes another layer."""
    monkeypatch.setattr(bundling, "install", fake_install)
    first = bundled_sources(LOCAL)
    package = first.core / "python" / "carillon"
    assert [path.suffix for path in (package / "__pycache__").iterdir()] == [".pyc"]
    assert bundled_sources(LOCAL) == first
    (cache.parent / "core" / "carillon" / "__init__.py").write_text("NUMBER = 2\n", encoding="utf-8")
    second = bundled_sources(LOCAL)
    assert (second.core / "python" / "carillon" / "__init__.py").read_text(encoding="utf-8") == "NUMBER = 2\n"
    assert second.core_key != first.core_key
    assert second.dependencies == first.dependencies


def test_a_build_cut_short_leaves_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a layer is never taken for a whole one."""
    monkeypatch.setattr(bundling, "install", failing_install)
    with pytest.raises(OSError, match="the network is gone"):
        bundled_sources(LOCAL)
    assert [path for path in cache.rglob("*") if path.is_file()] == []
    monkeypatch.setattr(bundling, "install", fake_install)
    assert (bundled_sources(LOCAL).dependencies / "python" / "tzdata").exists()


def test_two_builds_at_once_both_end_with_a_layer(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that finds at its end that another was first takes the other's layer."""

    def overtaken(target: Path, platform: Platform) -> None:
        fake_install(target, platform)
        monkeypatch.setattr(bundling, "install", fake_install)
        bundled_sources(LOCAL)

    monkeypatch.setattr(bundling, "install", overtaken)
    assert (bundled_sources(LOCAL).dependencies / "python" / "tzdata").exists()
    assert [path.name for path in cache.rglob(".unfinished-*")] == []


PLAIN = Platform("one", (), None)


@pytest.mark.parametrize(
    ("lock", "platform"),
    [(b"botocore==2", PLAIN), (b"botocore==1", Platform("two", (), None)), (b"botocore==1", Platform("one", (), "py"))],
    ids=["lock", "platform", "compiled"],
)
def test_another_layer_has_another_key(lock: bytes, platform: Platform) -> None:
    """The key, which is also the asset's hash, changes with the lock, the platform and the form."""
    assert layer_key(lock, platform) != layer_key(b"botocore==1", PLAIN)
    assert layer_key(b"botocore==1", PLAIN) == layer_key(b"botocore==1", PLAIN)


@pytest.mark.parametrize("stage", STAGES.values(), ids=lambda stage: stage.name)
def test_platforms(stage: Stage) -> None:
    """In AWS the wheels are for Lambda's processor and Python; on a laptop for the Python that runs the functions."""
    expected = host_platform() if stage.name == "local" else lambda_platform("arm64")
    assert platform_of(stage) == expected


def test_wheels_for_lambda_are_asked_for_by_platform() -> None:
    """The host's own platform plays no part in what is fetched for Lambda."""
    assert lambda_platform("arm64").uv_options == (
        "--python-platform",
        "aarch64-manylinux2014",
        "--python-version",
        "3.13",
    )
    assert host_platform().uv_options == ("--python", sys.executable)
