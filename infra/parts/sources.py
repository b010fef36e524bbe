"""Where the code that gets deployed lies on disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Sources:
    """The folders that become functions and layers."""

    dependencies: Path
    """Built dependency layer: a folder that holds `python/`."""

    dependencies_key: str
    """Stands for the content of the dependency layer; changes when it changes."""

    functions: Path = ROOT / "functions"
    """One folder per function, each with a `handler.py`."""

    core: Path = ROOT / "layers" / "core"
    """The core layer: a folder that holds `python/carillon`."""

    core_key: str | None = None
    """Stands for the content of a compiled core layer; None: it is source, and hashed as it lies there."""
