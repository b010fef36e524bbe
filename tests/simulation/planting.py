"""Registers bugs that are planted into the product, one at a time, to see that the checker can fail."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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
