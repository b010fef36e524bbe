"""Bugs of edits: each is a small mutation of what holds when a job is changed under way."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

from carillon.adapters.memory.jobs import MemoryJobStore
from carillon.application import execute_run, replan
from carillon.application.edit_job import EditJob
from carillon.domain import admission, editing, settling
from carillon.domain.job import JobState

from .planting import original, plant


@plant
def an_edit_leaves_the_version() -> Iterator[None]:
    """A dispatcher that had claimed the job before an edit writes its plan over it."""
    stored = original(EditJob, "_stored")

    def unfenced(self: EditJob, seen: Any, edited: Any) -> bool:
        job = replace(edited.definition.job, version=seen.job.version)
        return bool(stored(self, seen, replace(edited, definition=replace(edited.definition, job=job))))

    with patch.object(EditJob, "_stored", unfenced):
        yield


@plant
def no_segment_is_left() -> Iterator[None]:
    """What is due of the old schedule is forgotten by an edit."""
    with patch.object(editing, "segment_of", lambda _job, _at: None):
        yield


@plant
def nothing_is_settled() -> Iterator[None]:
    """A pause or a cancel forgets what is due."""
    with patch.object(settling, "_settled", lambda *_: ()):
        yield


@plant
def cancelled_jobs_are_called() -> Iterator[None]:
    """A worker does not ask whether the job has been cancelled."""
    with _ignoring(JobState.CANCELLED):
        yield


@plant
def paused_jobs_are_called() -> Iterator[None]:
    """A worker does not ask whether the job is paused."""
    with _ignoring(JobState.PAUSED):
        yield


@contextmanager
def _ignoring(state: JobState) -> Iterator[None]:
    judge = original(admission, "judge")

    def blind(message: Any, definition: Any, run: Any, now_ms: int) -> Any:
        if definition is not None and definition.job.state is state:
            definition = replace(definition, job=replace(definition.job, state=JobState.SCHEDULED))
        return judge(message, definition, run, now_ms)

    with patch.object(execute_run, "judge", blind):
        yield


@plant
def the_planned_are_not_counted() -> Iterator[None]:
    """An edit gives back runs that are not revoked."""
    with patch.object(editing, "_planned_at", lambda job, _at: max(job.planned - 3, 0)):
        yield


@plant
def twins_are_forgotten() -> Iterator[None]:
    """By the new rules of a zone, the next occurrence is planned from now on, whatever ran by the old ones."""

    def from_now(schedule: Any, *, stored_ms: int, planned_ms: int | None, now_ms: int) -> int:
        del planned_ms
        return stored_ms if stored_ms <= now_ms else schedule.next_after(now_ms) or stored_ms

    with patch.object(replan, "next_by_the_rules", from_now):
        yield


@plant
def claims_in_flight_are_summed_up() -> Iterator[None]:
    """A pause sums up what a dispatcher may have sent."""
    settled = original(settling, "_settled")
    replaced = original(MemoryJobStore, "replace")

    def replace_blindly(self: Any, definition: Any, **options: Any) -> bool:
        return bool(replaced(self, definition, **(options | {"seen_claim": None})))

    with (
        patch.object(editing, "settling", lambda *args: (settled(*args), None)),
        patch.object(MemoryJobStore, "replace", replace_blindly),
    ):
        yield
