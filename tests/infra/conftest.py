"""Each stage is synthesised once a session, from stub sources: what is asked about is the template, not the code."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from infra.parts.sources import Sources
from infra.stages import PROD, STAGES, Stage
from tests.infra.template import SERVICES, Template

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    Synthesise = Callable[[Stage], Template]

# Everything that a stage may switch on.
WATCHED = replace(PROD, name="watched", alarm_email="ops@example.com", tracing=True, api_url="https://api.acme.com")
ALL_STAGES = {**STAGES, WATCHED.name: WATCHED}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the tests of this folder share a worker where workers take groups, so that each stage is synthesised once."""
    for item in items:
        if "tests/infra/" in item.path.as_posix():
            item.add_marker(pytest.mark.xdist_group("infra"))


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    """A tree like the project's, with a line of code in each place, and a compiled file that must not be deployed."""
    root = tmp_path_factory.mktemp("sources")
    for name in sorted({*SERVICES.values()} - {"long_worker"}):
        _write(root / "functions" / name / "handler.py", f"# {name}\n")
        _write(root / "functions" / name / "__pycache__" / "handler.pyc", "")
    _write(root / "core" / "python" / "carillon" / "__init__.py", "# core\n")
    _write(root / "core" / "python" / "carillon" / "__pycache__" / "stale.pyc", "")
    _write(root / "dependencies" / "python" / "package.py", "# package\n")
    return Sources(root / "dependencies", "key-of-the-lock", root / "functions", root / "core")


@pytest.fixture(scope="session")
def synthesise(sources: Sources, tmp_path_factory: pytest.TempPathFactory) -> Synthesise:
    """Synthesises a stage as the command line does, with cdk-nag; the same stage only once."""
    done: dict[Stage, Template] = {}

    def synthesised(stage: Stage) -> Template:
        if stage not in done:
            done[stage] = _synthesise(stage, sources, tmp_path_factory.mktemp(stage.name))
        return done[stage]

    return synthesised


@pytest.fixture(params=list(ALL_STAGES))
def stage(request: pytest.FixtureRequest) -> Stage:
    """Each stage in turn, and one with all switches on."""
    return ALL_STAGES[request.param]


@pytest.fixture
def template(stage: Stage, synthesise: Synthesise) -> Template:
    """The template of `stage`."""
    return synthesise(stage)


def _synthesise(stage: Stage, sources: Sources, folder: Path) -> Template:
    from infra.app import add_stack, new_app  # noqa: PLC0415 - starts node, which only these tests should wait for

    named = {"aws:cdk:enable-path-metadata": True, "aws:cdk:enable-asset-metadata": True}  # as the command line does
    app = new_app(str(folder), named)
    stack = add_stack(app, stage, sources)
    app.synth()
    body: dict[str, Any] = json.loads((folder / f"{stack.stack_name}.template.json").read_text(encoding="utf-8"))
    return Template(body, folder, stack.termination_protection)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
