"""Another release of zone rules while jobs run: how it comes, and what it may not do.

Jobs are planned anew at some time after the deployment, so for a while an old plan is carried out under new rules. An
occurrence by the old rules has a twin by the new ones, at most half an interval away. One of the two runs. Both may,
once: the one that was dispatched between the deployment and the planning anew, or in a claim whose dispatcher died
before the deployment, and which is decided again after it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any
from unittest.mock import patch

from carillon.domain import cron_schedule, planning
from carillon.domain.run import RunState
from carillon.domain.schedule import Schedule

from .history import Bounds, Story
from .plan import ZoneChange


class ZoneRules:
    """The rules that all machines have."""

    def __init__(self, change: ZoneChange | None) -> None:
        self._change = change
        self._is_changed = False

    def change(self) -> None:
        """The new release is deployed: what was worked out by the old one is forgotten."""
        self._is_changed = True
        planning._schedule.cache_clear()

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """Let the product see these rules; afterwards it sees the real ones."""
        if self._change is None:
            yield
            return
        zone, becomes, real = self._change.zone, self._change.becomes, cron_schedule._zoned_cron

        def zoned_cron(expression: str, timezone: str, *choices: Any) -> Any:
            return real(expression, becomes if self._is_changed and timezone == zone else timezone, *choices)

        with patch.object(cron_schedule, "_zoned_cron", zoned_cron):
            yield
        planning._schedule.cache_clear()


def zone_violations(story: Story, rezoned: Schedule, bounds: Bounds) -> Iterator[str]:
    """What is wrong with the records of a job whose zone has got other rules."""
    until_ms = getattr(story.schedule, "end_ms", None) or 0
    old = tuple(story.schedule.between(story.created_at, until_ms))
    new = frozenset(rezoned.between(story.created_at, until_ms))
    ran = {run.scheduled_for for run in story.records.values()}
    for run in story.records.values():
        if run.block or run.state not in (RunState.SUCCEEDED, RunState.DEAD_LETTERED):
            yield f"wrong end: {run.key.name} is {run.state} ({run.reason}), and a zone's rules changed"
    yield from (f"extra record: {nominal} is none by any rules" for nominal in sorted(ran - new - set(old)))
    twins = [(nominal, _twin(nominal, old, new)) for nominal in old]
    yield from (f"missing: neither {one} nor its twin {twin}" for one, twin in twins if twin and not ran & {one, twin})
    twice = [one for one, twin in twins if twin and one != twin and ran >= {one, twin}]
    settled_ms = story.rezoned_at - bounds.skew_ms
    twin_of = dict(twins)
    by_old_rules = [
        one
        for one in twice
        if _decided(story, one) < settled_ms and _decided(story, one) != _decided(story, twin_of[one])
    ]
    if by_old_rules or len(twice) > 1:
        yield f"twice: {twice} and their twins ran; before the change {by_old_rules}"


def _decided(story: Story, nominal: int | None) -> int:
    """As of which instant an occurrence was first sent; two of the same instant may be one claim, decided again."""
    return story.decided.get(nominal or 0, (0, 0))[0]


def _twin(nominal: int, old: tuple[int, ...], new: frozenset[int]) -> int | None:
    """The nearest occurrence by the new rules, the earlier one of two; None when none is within half an interval."""
    reach_ms = min((later - one for one, later in pairwise(old)), default=0) // 2
    near = (other for other in sorted(new) if abs(other - nominal) <= reach_ms)
    return min(near, key=lambda other: abs(other - nominal), default=None)
