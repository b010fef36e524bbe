"""Walking a stored list page by page, in bounded steps, keeping what a filter admits."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")

MOST_STEPS = 5
"""Store pages read for one page of an answer."""

FILTERED_STEP = 100
"""Items of a store page when a filter may drop most of them."""


@dataclass(frozen=True, slots=True)
class Walked(Generic[Item]):
    """What a walk found. It may be less than asked for while `position`, from where to go on, is set."""

    items: tuple[Item, ...]
    position: str | None


def walk(
    fetch: Callable[[int, str | None], tuple[Sequence[Item], str | None]],
    *,
    admits: Callable[[Item], bool] | None,
    position_of: Callable[[Item], str],
    limit: int,
    start: str | None,
) -> Walked[Item]:
    """Collect up to `limit` items from behind a position.

    Args:
        fetch: (how many, from behind which position) → the items, and from where to go on (None at the end).
        admits: the filter, or None for all.
        position_of: the position of an item: the walk goes on behind the last one that was given out.
        limit: how many items at most.
        start: the position to start behind, or None for the beginning.
    """
    found: list[Item] = []
    position = start
    for _ in range(MOST_STEPS):
        items, following = fetch(FILTERED_STEP if admits else limit - len(found), position)
        for index, item in enumerate(items, start=1):
            if admits is None or admits(item):
                found.append(item)
            if len(found) == limit:
                return Walked(tuple(found), following if index == len(items) else position_of(item))
        if following is None:
            return Walked(tuple(found), None)
        position = following
    return Walked(tuple(found), position)
