"""Builds the layers: without Docker, and only when the sources, the lock or the platform changed.

It needs `uv`, and the network only when it builds the dependency layer.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING

from infra.parts.sources import ROOT, Sources

if TYPE_CHECKING:
    from collections.abc import Callable

    from infra.stages import Stage

LOCK_FILE = ROOT / "requirements" / "layer.lock"
CORE = ROOT / "layers" / "core" / "python"
CACHE = ROOT / "build" / "layers"
PYTHON_VERSION = "3.13"

# botocore carries the models of all services, 29 MB of them; these are the ones that Carillon calls.
KEPT_AWS_SERVICES = frozenset({"cloudformation", "cloudwatch", "dynamodb", "kms", "s3", "sqs"})

# Raise it when this file makes another layer of the same lock.
RECIPE = "2"


@dataclass(frozen=True)
class Platform:
    """For which interpreter packages are chosen."""

    name: str
    """Tells apart what must not be mixed, such as `aarch64-manylinux2014-3.13`."""

    uv_options: tuple[str, ...]
    """How uv is told."""

    interpreter: str | None
    """A Python of that version on this machine, which can compile for it; None if there is none."""


def lambda_platform(architecture: str) -> Platform:
    """The platform of the functions in AWS."""
    machine = {"arm64": "aarch64", "x86_64": "x86_64"}[architecture]
    return Platform(
        name=f"{machine}-manylinux2014-{PYTHON_VERSION}",
        uv_options=("--python-platform", f"{machine}-manylinux2014", "--python-version", PYTHON_VERSION),
        interpreter=_found_interpreter(PYTHON_VERSION),
    )


def host_platform() -> Platform:
    """The platform of the running interpreter, under which the local AWS runs the functions too."""
    return Platform(
        name=f"{sysconfig.get_platform()}-{sys.version_info.major}.{sys.version_info.minor}",
        uv_options=("--python", sys.executable),
        interpreter=sys.executable,
    )


def _found_interpreter(version: str) -> str | None:
    found = subprocess.run(  # noqa: S603 - fixed program, arguments from this file
        [sys.executable, "-m", "uv", "python", "find", "--no-project", "--no-python-downloads", version],
        capture_output=True,
        text=True,
        check=False,
    )
    return found.stdout.strip() if found.returncode == 0 else None


def platform_of(stage: Stage) -> Platform:
    """The platform for which a stage's dependencies are built."""
    return host_platform() if stage.dependencies_for == "host" else lambda_platform(stage.architecture)


def bundled_sources(stage: Stage) -> Sources:
    """The project's sources, with the layers for the stage's platform built if they were not yet.

    Raises:
        subprocess.CalledProcessError: The packages could not be fetched, or one does not match its hash.
    """
    platform = platform_of(stage)
    key, core_key = layer_key(LOCK_FILE.read_bytes(), platform), layer_key(_digest_of(CORE), platform)
    dependencies = _built(platform, key, lambda packages: _fill_with_dependencies(packages, platform))
    core = _built(platform, core_key, lambda packages: _fill_with_core(packages, platform))
    return Sources(dependencies=dependencies, dependencies_key=key, core=core, core_key=core_key)


def _digest_of(folder: Path) -> bytes:
    """A digest of all sources in a folder."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(f"{file.relative_to(folder)}\0{file.stat().st_size}\0".encode() + file.read_bytes())
    return digest.digest()


def layer_key(lock: bytes, platform: Platform) -> str:
    """A hash that changes when the layer's content would."""
    form = "compiled" if platform.interpreter else "source"
    recipe = "\n".join((RECIPE, platform.name, form, *sorted(KEPT_AWS_SERVICES))).encode()
    return hashlib.sha256(recipe + b"\n" + lock).hexdigest()


def _built(platform: Platform, key: str, fill: Callable[[Path], None]) -> Path:
    """A layer. It is made beside its place and moved there whole, so that a build cut short leaves no half layer."""
    folder = CACHE / platform.name / key[:16]
    if folder.exists():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(mkdtemp(dir=folder.parent, prefix=".unfinished-"))
    try:
        fill(unfinished / "python")
        _move(unfinished, folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder


def _fill_with_dependencies(packages: Path, platform: Platform) -> None:
    install(packages, platform)
    prune(packages)
    compile_packages(packages, platform)


def _fill_with_core(packages: Path, platform: Platform) -> None:
    shutil.copytree(CORE, packages, ignore=shutil.ignore_patterns("__pycache__"))
    compile_packages(packages, platform)


def _move(unfinished: Path, folder: Path) -> None:
    try:
        unfinished.rename(folder)
    except OSError:
        if not folder.exists():  # else another build was first, with the same content
            raise


def install(target: Path, platform: Platform) -> None:
    """Install the locked packages into a folder: wheels only, each checked against its hash."""
    options = (
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--no-deps",
        "--link-mode",
        "copy",
        "--target",
        str(target),
    )
    subprocess.run(  # noqa: S603 - fixed program, arguments from this file
        [sys.executable, "-m", "uv", "pip", "install", "--quiet", *options, *platform.uv_options, "-r", str(LOCK_FILE)],
        check=True,
    )


def prune(packages: Path) -> None:
    """Remove what functions never load: models of AWS services that are not called, and console scripts."""
    shutil.rmtree(packages / "bin", ignore_errors=True)
    models = packages / "botocore" / "data"
    for model in models.iterdir() if models.exists() else ():
        if model.is_dir() and model.name not in KEPT_AWS_SERVICES:
            shutil.rmtree(model)


def compile_packages(packages: Path, platform: Platform) -> None:
    """Compile the packages if a Python of their version is at hand.

    A function's layers cannot be written to, so without this each cold start compiles what it imports again: measured
    here, the imports of a handler take 0.5 s from source and 0.16 s compiled. The files are trusted whatever the time
    of their source says, because the layer's files keep no times.
    """
    if platform.interpreter is None:
        return
    subprocess.run(  # noqa: S603 - an interpreter found on this machine, arguments from this file
        [platform.interpreter, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash", str(packages)],
        check=False,  # a file that does not compile is left to fail where it is imported
    )
