"""Registers bugs that are planted into the product, one at a time, to see that the checker can fail."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from carillon.adapters.memory.runs import MemoryRunStore
from carillon.domain.run import Run
from carillon.ports.runs import Saved

Plant = Callable[[], Any]
"""Makes a context in which the bug is there."""

PLANTED: dict[str, Plant] = {}


def plant(bug: Callable[[], Iterator[None]]) -> Callable[[], Any]:
    """Register a bug by the name of its function."""
    made = contextmanager(bug)
    PLANTED[bug.__name__] = made
    return made


def original(owner: object, name: str) -> Any:
    """What a bug replaces."""
    return getattr(owner, name)


def saved_blindly(these: Callable[[Run], bool]) -> Any:
    """A context in which these records are written over whatever stands there by now."""

    def save(self: Any, run: Run, **options: Any) -> Any:
        if these(run):
            self._state.put_run(run)
            return Saved(run)
        return saved(self, run, **options)

    saved = original(MemoryRunStore, "save")
    return patch.object(MemoryRunStore, "save", save)
