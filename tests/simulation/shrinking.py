"""Making a failing plan small: fewer jobs, edits and faults, a simpler stage, as long as it fails in the same way."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from .checker import violations
from .plan import Plan
from .world import World

MOST_TRIES = 1_500
"""Runs that one shrinking may cost."""

_SIMPLER: tuple[dict[str, Any], ...] = (
    {"regroup_at_ms": None},
    {"more_shards_at_ms": None},
    {"zone_change": None},
    {"catch_up": None},
    {"limit": None},
    {"restore_ms": None},
    {"ticks_by_queue": False},
    {"dispatcher_skews_ms": (0,)},
    {"worker_skews_ms": (0,)},
    {"client_skews_ms": (0,)},
    {"lag_ms": 0},
    {"shards": 1, "groups": 1},
    {"page_size": 1_000},
    {"most_receives": 1_000},
    {"batch": 1},
    {"poll_ms": 1},
    {"invocations_end": True},
    {"look_ahead_ms": 0},
    {"tick_ms": 1_000},
)
_LISTS = ("jobs", "redeliveries_ms", "spells", "thefts_ms", "corrections_ms", "script", "edits", "asks")


def kinds_of(found: Sequence[str]) -> set[str]:
    """The rules that violations break."""
    return {line.partition(":")[0] for line in found}


def shrink(plan: Plan, most_tries: int = MOST_TRIES) -> tuple[Plan, list[str]]:
    """The smallest plan found that breaks a rule which the given one breaks, and its violations."""
    world = World(plan)
    found = violations(world.run())
    return _Shrinking(kinds_of(found), most_tries).shrink(replace(plan, script=tuple(world.gate.struck)), found)


class _Shrinking:
    def __init__(self, kinds: set[str], most_tries: int) -> None:
        self._kinds = kinds
        self._tries_left = most_tries
        self._found: list[str] = []

    def shrink(self, plan: Plan, found: list[str]) -> tuple[Plan, list[str]]:
        self._found = found
        before = None
        while plan != before and self._tries_left > 0:
            before = plan
            for name in _LISTS:
                plan = self._fewer(plan, name)
            for simpler in _SIMPLER:
                plan = self._if_it_fails(plan, replace(plan, **simpler))
            plan = self._shorter(plan)
        return plan, self._found

    def _if_it_fails(self, plan: Plan, candidate: Plan) -> Plan:
        if candidate == plan or self._tries_left <= 0:
            return plan
        self._tries_left -= 1
        found = [line for line in violations(World(candidate).run()) if line.partition(":")[0] in self._kinds]
        if not found:
            return plan
        self._found = found
        return candidate

    def _fewer(self, plan: Plan, name: str) -> Plan:
        size = max(len(getattr(plan, name)) // 2, 1)
        while size and getattr(plan, name):
            items = getattr(plan, name)
            for kept in _without_chunks(items, size):
                smaller = self._if_it_fails(plan, replace(plan, **{name: kept}))
                if smaller is not plan:
                    plan = smaller
                    break
            else:
                size //= 2
        return plan

    def _shorter(self, plan: Plan) -> Plan:
        """Cut the time after the last thing that somebody does."""
        last_ms = max(
            [plan.start_ms, *(job.at_ms for job in plan.jobs), *(edit.at_ms for edit in (*plan.edits, *plan.asks))]
        )
        length_ms = max(last_ms - plan.start_ms + 10_000, plan.length_ms * 2 // 3)
        return self._if_it_fails(plan, replace(plan, length_ms=min(length_ms, plan.length_ms)))


def _without_chunks(items: Sequence[Any], size: int) -> Iterator[tuple[Any, ...]]:
    for start in range(0, len(items), size):
        yield (*items[:start], *items[start + size :])


def described(plan: Plan, told: Callable[[str], None]) -> None:
    """Tell a plan, one fact a line, instants in seconds from the start."""
    told(f"seed {plan.seed}, {plan.length_ms / 1000:g} s, {plan.groups} groups, {plan.shards} shards")
    for name in ("look_ahead_ms", "page_size", "tick_ms", "lag_ms", "batch", "most_receives", "ticks_by_queue"):
        told(f"  {name} = {getattr(plan, name)}")
    for name in ("dispatcher_skews_ms", "worker_skews_ms", "client_skews_ms"):
        told(f"  {name} = {getattr(plan, name)}")
    for job in plan.jobs:
        told(f"  {_at(plan, job.at_ms)} create {job}")
    for edit in plan.edits:
        told(f"  {_at(plan, edit.at_ms)} {edit}")
    for ask in plan.asks:
        told(f"  {_at(plan, ask.at_ms)} {ask}")
    for spell in plan.spells:
        told(f"  {_at(plan, spell.from_ms)} {spell}")
    for strike in plan.script or ():
        told(f"  {strike}")


def _at(plan: Plan, instant_ms: int) -> str:
    return f"{(instant_ms - plan.start_ms) / 1000:9.3f}"
