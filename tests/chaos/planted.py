"""Bugs for the deployed functions: those of the simulation that lie in the shared layers, and one of an adapter."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.run_items import run_item
from carillon.adapters.dynamodb.runs import DynamoRunStore
from carillon.adapters.dynamodb.writes import put
from carillon.domain.run import Run, RunState
from carillon.ports.runs import Saved
from tests.simulation.planted import PLANTED as SIMULATED
from tests.simulation.planting import Plant, original

_ALWAYS = f"attribute_exists(#{k.PK}) OR attribute_not_exists(#{k.PK})"


@contextmanager
def starts_need_no_condition() -> Iterator[None]:
    """A worker starts a run whatever its record says by now."""
    saved = original(DynamoRunStore, "save")

    def save(self: Any, run: Run, *, seen: int | None) -> Any:
        if run.state is not RunState.RUNNING:
            return saved(self, run, seen=seen)
        self._database.write(put(self._database.jobs, run_item(run), _ALWAYS))
        return Saved(run)

    with patch.object(DynamoRunStore, "save", save):
        yield


_SHARED = (
    "advance_before_send",
    "confirm_ignores_what_was_not_sent",
    "claims_never_run_out",
    "nothing_is_held_until_due",
    "cancelled_jobs_are_called",
    "paused_jobs_are_called",
    "no_segment_is_left",
    "nothing_is_settled",
    "run_leases_never_run_out",
    "run_leases_are_not_looked_at",
    "lost_attempts_have_no_limit",
)

PLANTED: Mapping[str, Plant] = {
    "starts_need_no_condition": starts_need_no_condition,
    **{name: SIMULATED[name] for name in _SHARED},
}
"""By what they are called on the command line."""
