"""The end of a run and the notice that tells of it are one write."""

from dataclasses import replace

import pytest

from carillon.domain.job import HttpTarget, QueueTarget, Target
from carillon.domain.notices import notice_of
from carillon.domain.run import Run, RunState
from carillon.ports.runs import Refused, Saved
from contract.backends import Stores
from contract.samples import NOW_MS, a_definition, a_run, as_waiting

QUEUE_URL = "https://sqs.eu-west-1.amazonaws.com/111122223333/failed"
TOLD = HttpTarget("https://alerts.example.net/failed", headers=(("X-Team", "infra"),))
DEFINITION = a_definition()


def an_end(stores: Stores, *, seen: int = 2) -> tuple[Run, Run]:
    """A run that waits, stored, as it ends for good with its notice."""
    run = a_run(DEFINITION.job, rev=seen)
    stores.runs.save(run, seen=None)
    dead = replace(run, rev=seen + 1, state=RunState.DEAD_LETTERED, next_fire_time=None, ended_at=NOW_MS + 9)
    notice = notice_of(dead, DEFINITION.spec, NOW_MS + 9)
    return replace(dead, notice=notice.key.name), notice


def test_both_are_written(stores: Stores) -> None:
    """The run has ended, the notice waits in the due index; both read as they were written."""
    dead, notice = an_end(stores)
    assert stores.runs.end_with_notice(dead, notice, seen=2) == Saved(dead)
    assert (stores.runs.get(dead.key), stores.runs.get(notice.key)) == (dead, notice)
    assert stores.due_entries(dead.shard) == [as_waiting(notice)]


def test_a_first_record_may_end_so_too(stores: Stores) -> None:
    """A run that never started has no record before."""
    dead, notice = an_end(stores)
    never = replace(dead, key=replace(dead.key, name="20261012T023000000Z"), rev=1)
    assert stores.runs.end_with_notice(never, notice, seen=None) == Saved(never)
    assert stores.runs.get(notice.key) == notice


def test_neither_is_written_when_somebody_wrote_first(stores: Stores) -> None:
    """Who read an older rev loses both, and gets the newer record."""
    dead, notice = an_end(stores)
    newer = a_run(DEFINITION.job, rev=3, start_id="other")
    stores.runs.save(newer, seen=2)
    assert stores.runs.end_with_notice(dead, notice, seen=2) == Refused(newer)
    assert (stores.runs.get(dead.key), stores.runs.get(notice.key)) == (newer, None)


def test_a_write_whose_answer_was_lost_has_succeeded(stores: Stores) -> None:
    """Asked again it holds, and a notice that has moved on meanwhile stays where it is."""
    dead, notice = an_end(stores)
    stores.runs.end_with_notice(dead, notice, seen=2)
    running = replace(notice, rev=2, state=RunState.RUNNING, attempt=1, next_fire_time=None)
    stores.runs.save(running, seen=1)
    assert stores.runs.end_with_notice(dead, notice, seen=2) == Saved(dead)
    assert stores.runs.get(notice.key) == running


def test_a_notice_is_not_listed_among_the_runs(stores: Stores) -> None:
    """Whatever the page; as a dead letter it is listed like any other."""
    dead, notice = an_end(stores)
    stores.runs.end_with_notice(dead, notice, seen=2)
    other = a_run(DEFINITION.job, NOW_MS + 1_000)
    stores.runs.save(other, seen=None)
    assert stores.runs.list_newest(DEFINITION.job.id, 10, None).runs == (other, dead)
    assert stores.runs.list_newest(DEFINITION.job.id, 1, None).next_before == other.key.name
    assert stores.runs.list_newest(DEFINITION.job.id, 1, other.key.name).runs == (dead,)
    failed = replace(notice, rev=2, state=RunState.DEAD_LETTERED, next_fire_time=None, ended_at=NOW_MS + 20)
    stores.runs.save(failed, seen=1)
    assert stores.runs.list_dead(dead.tenant, 0, 10, None).runs == (failed, dead)


def test_a_notice_that_waits_is_handed_over_and_deferred_like_a_run(stores: Stores) -> None:
    """It goes the same road."""
    dead, notice = an_end(stores)
    stores.runs.end_with_notice(dead, notice, seen=2)
    assert stores.runs.defer(as_waiting(notice), NOW_MS + 60_000, granted=True)
    (entry,) = stores.due_entries(dead.shard)
    assert entry == as_waiting(replace(notice, next_fire_time=NOW_MS + 60_000, granted=True))
    assert stores.runs.leave_index(as_waiting(notice))
    assert stores.due_entries(dead.shard) == []


@pytest.mark.parametrize("target", [TOLD, QueueTarget(QUEUE_URL), None], ids=["http", "queue", "none"])
def test_a_job_keeps_whom_to_tell(stores: Stores, target: Target | None) -> None:
    """Stored with the job, and read as it was."""
    definition = a_definition()
    wanted = replace(definition, spec=replace(definition.spec, on_failure=target))
    stores.jobs.create(wanted)
    assert stores.jobs.get(wanted.job.id) == wanted
