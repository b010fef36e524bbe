"""The due index shows what is due in a shard, all of it, in order."""

import pytest

from carillon.domain.planning import DueJob
from contract.backends import Stores
from contract.samples import NOW_MS, a_definition, a_job, a_run, as_due, as_waiting


def test_only_what_is_due_is_shown(stores: Stores) -> None:
    """An entry is shown from its fire time on, in its own shard only."""
    due, later, elsewhere = (
        a_definition(next_fire_time=NOW_MS),
        a_definition(next_fire_time=NOW_MS + 1),
        a_definition(next_fire_time=NOW_MS, shard=2),
    )
    for definition in (due, later, elsewhere):
        stores.jobs.create(definition)
    assert stores.due_entries(until_ms=NOW_MS) == [as_due(due.job)]
    assert stores.due_entries(until_ms=NOW_MS + 1) == [as_due(due.job), as_due(later.job)]
    assert stores.due_entries(shard=2) == [as_due(elsewhere.job)]
    assert stores.due_entries(shard=3) == []


def test_jobs_and_runs_come_oldest_first(stores: Stores) -> None:
    """Jobs and waiting runs share one order: that of their fire times."""
    job = a_job()
    first, third = (a_definition(next_fire_time=NOW_MS + offset) for offset in (0, 2_000))
    second = a_run(job, next_fire_time=NOW_MS + 1_000)
    stores.jobs.create(third)
    stores.runs.save(second, seen=None)
    stores.jobs.create(first)
    assert stores.due_entries() == [as_due(first.job), as_waiting(second), as_due(third.job)]


def test_the_first_entries_of_a_span_are_shown(stores: Stores) -> None:
    """Both ends are included, the oldest come first, and no more than asked for."""
    ids = []
    for at_ms in (0, 1_000, 2_000, 3_000):
        definition = a_definition(next_fire_time=NOW_MS + at_ms)
        stores.jobs.create(definition)
        ids.append(definition.job.id)

    def shown(since_ms: int, until_ms: int, most: int) -> list[str]:
        entries = stores.due.between(1, NOW_MS + since_ms, NOW_MS + until_ms, most)
        return [entry.job_id for entry in entries if isinstance(entry, DueJob)]

    assert shown(1_000, 2_000, 10) == ids[1:3]
    assert shown(0, 9_000, 3) == ids[:3]
    assert shown(3_001, 9_000, 10) == []
    assert stores.due.between(2, NOW_MS, NOW_MS + 9_000, 10) == []


@pytest.mark.parametrize("count", [0, 1, 40])
def test_b127_every_entry_is_shown(stores: Stores, count: int) -> None:
    """B127: however many are due at once, all are shown."""
    definitions = [a_definition() for _ in range(count)]
    for definition in definitions:
        stores.jobs.create(definition)
    shown = [entry for page in stores.due.pages(1, NOW_MS + 60_000) for entry in page]
    assert sorted(entry.job_id for entry in shown) == [d.job.id for d in definitions]  # type: ignore[union-attr]  # jobs
