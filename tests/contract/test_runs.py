"""Records of runs are written whole, by whoever read them last."""

from dataclasses import replace

import pytest

from carillon.domain.due import DueRun
from carillon.domain.identity import RunKey
from carillon.domain.run import Run, RunState, ended, kept_alive, noticed, waiting
from carillon.ports.runs import Refused, Saved
from contract.backends import Stores
from contract.samples import NOW_MS, a_full_run, a_job, a_run, a_skipped, an_awaited_run, as_waiting

JOB = a_job()


@pytest.mark.parametrize(
    "run",
    [a_run(JOB), a_full_run(JOB), an_awaited_run(JOB), a_skipped(JOB, NOW_MS), a_skipped(JOB, NOW_MS, count=40)],
    ids=["waiting", "everything set", "awaited", "skipped", "block"],
)
def test_what_was_saved_is_read_as_it_was(stores: Stores, run: Run) -> None:
    """Nothing of a run is lost or changed by storing it."""
    assert stores.runs.save(run, seen=None) == Saved(run)
    assert stores.runs.get(run.key) == run


def test_unknown_run_is_none(stores: Stores) -> None:
    """A run that nobody began is not found."""
    assert stores.runs.get(RunKey.of(JOB.id, NOW_MS)) is None


def test_b109_a_second_first_write_is_refused(stores: Stores) -> None:
    """B109: of two that begin the same run one wins; the other gets the winner's record."""
    run, other = a_run(JOB, start_id="A"), a_run(JOB, start_id="B")
    stores.runs.save(run, seen=None)
    assert stores.runs.save(other, seen=None) == Refused(run)
    assert stores.runs.get(run.key) == run


def test_a_write_whose_answer_was_lost_has_succeeded(stores: Stores) -> None:
    """The same write again holds, first or later."""
    run = a_run(JOB)
    assert stores.runs.save(run, seen=None) == Saved(run)
    assert stores.runs.save(run, seen=None) == Saved(run)
    later = replace(run, rev=3, attempt=2)
    assert stores.runs.save(later, seen=2) == Saved(later)
    assert stores.runs.save(later, seen=2) == Saved(later)


def test_b098_a_late_write_is_refused(stores: Stores) -> None:
    """B098: who read an older rev loses, and gets the newer record."""
    run = a_run(JOB)
    stores.runs.save(run, seen=None)
    newer = replace(run, rev=3, state=RunState.RUNNING, next_fire_time=None)
    stores.runs.save(newer, seen=2)
    late = replace(run, rev=3, state=RunState.DEAD_LETTERED, next_fire_time=None)
    assert stores.runs.save(late, seen=2) == Refused(newer)
    assert stores.runs.get(run.key) == newer


def test_a_write_to_a_missing_record_is_refused(stores: Stores) -> None:
    """A record that was removed is not brought back by who still had it."""
    run = a_run(JOB)
    assert stores.runs.save(run, seen=1) == Refused(None)
    assert stores.runs.get(run.key) is None


def test_a_run_is_due_while_it_waits(stores: Stores) -> None:
    """A waiting run is in the due index, a running or ended one is not."""
    run = a_run(JOB)
    stores.runs.save(run, seen=None)
    assert stores.due_entries() == [as_waiting(run)]
    running = replace(run, rev=3, state=RunState.RUNNING, next_fire_time=None)
    stores.runs.save(running, seen=2)
    assert stores.due_entries() == []
    awaiting = replace(running, rev=4, state=RunState.AWAITING_COMPLETION, next_fire_time=NOW_MS)
    stores.runs.save(awaiting, seen=3)
    assert stores.due_entries() == [as_waiting(awaiting)]
    stores.runs.save(replace(awaiting, rev=5, state=RunState.DEAD_LETTERED, next_fire_time=None), seen=4)
    assert stores.due_entries() == []


def test_a_run_leaves_the_index_by_its_wait_number(stores: Stores) -> None:
    """A run leaves the due index if it still waits as it was seen, and comes back when it is put to wait again."""
    run = a_run(JOB)
    stores.runs.save(run, seen=None)
    assert not stores.runs.leave_index(replace(as_waiting(run), wait=7))
    assert stores.due_entries() == [as_waiting(run)]
    assert stores.runs.leave_index(as_waiting(run))
    assert stores.runs.leave_index(as_waiting(run)), "a repeat has succeeded"
    assert stores.due_entries() == []
    assert stores.runs.get(run.key) == run, "its record is untouched"
    again = replace(run, rev=3, wait=2)
    stores.runs.save(again, seen=2)
    assert not stores.runs.leave_index(as_waiting(run)), "an older sight of it changes nothing"
    assert stores.due_entries() == [as_waiting(again)]


def test_an_awaited_run_is_found_by_its_deadline(stores: Stores) -> None:
    """It is in the due index at its deadline, as what it is, and whole in its record."""
    run = an_awaited_run(JOB)
    stores.runs.save(run, seen=None)
    assert stores.runs.get(run.key) == run
    (entry,) = stores.due_entries()
    assert isinstance(entry, DueRun)
    assert (entry.next_fire_time, entry.state, entry.is_start) == (NOW_MS + 300_000, run.state, False)


def test_a_heartbeat_moves_the_deadline_and_voids_what_was_seen_of_it(stores: Stores) -> None:
    """Whoever has seen the older deadline takes nothing out of the index, whenever the sign of life came."""
    run = an_awaited_run(JOB)
    stores.runs.save(run, seen=None)
    beaten = kept_alive(run, now_ms=NOW_MS + 200_000)
    assert stores.runs.save(beaten, seen=run.rev) == Saved(beaten)
    assert not stores.runs.leave_index(as_waiting(run))
    assert stores.due_entries() == [as_waiting(beaten)]
    assert stores.runs.leave_index(as_waiting(beaten))
    again = kept_alive(beaten, now_ms=NOW_MS + 400_000)
    assert stores.runs.save(again, seen=beaten.rev) == Saved(again)
    assert stores.due_entries() == [as_waiting(again)]


def test_of_a_deadline_and_a_completion_one_is_written(stores: Stores) -> None:
    """Both have read the same record; who comes second learns what the first has written."""
    run = an_awaited_run(JOB)
    stores.runs.save(run, seen=None)
    done = ended(run, RunState.SUCCEEDED, now_ms=NOW_MS + 300_000, expires_at=1)
    late = waiting(run, at_ms=NOW_MS + 301_000, attempts=run.attempts, lane=run.lane)
    assert stores.runs.save(done, seen=run.rev) == Saved(done)
    assert stores.runs.save(late, seen=run.rev) == Refused(done)
    assert stores.due_entries() == []


def test_a_cancelled_run_is_due_until_its_target_is_told(stores: Stores) -> None:
    """A notice waits like anything else; when it is written that it is given, it has left."""
    run = an_awaited_run(JOB)
    stores.runs.save(run, seen=None)
    owed = ended(run, RunState.CANCELLED, now_ms=NOW_MS, expires_at=1, notice=True)
    stores.runs.save(owed, seen=run.rev)
    assert stores.due_entries() == [as_waiting(owed)]
    assert not stores.runs.leave_index(as_waiting(run))
    stores.runs.save(noticed(owed), seen=owed.rev)
    assert stores.due_entries() == []
    assert stores.runs.get(run.key) == noticed(owed)


def test_a_run_that_does_not_wait_leaves_nothing(stores: Stores) -> None:
    """A run that has been started or has no record is not touched."""
    run = a_run(JOB)
    assert not stores.runs.leave_index(as_waiting(run))
    stores.runs.save(replace(run, state=RunState.RUNNING, next_fire_time=None), seen=None)
    assert not stores.runs.leave_index(as_waiting(run))


@pytest.mark.parametrize("size", [1, 2, 4, 5, 50])
def test_b194_lists_show_each_run_once_newest_first(stores: Stores, size: int) -> None:
    """B194: pages of any size show every run of the job once, by nominal time, and the last one says so."""
    job = a_job()
    runs = [a_run(job, NOW_MS + offset) for offset in (3_000, 1, 0, 2_000)]
    for run in [*runs, a_run(a_job())]:
        stores.runs.save(run, seen=None)
    seen: list[Run] = []
    before, pages = None, 0
    while pages == 0 or before is not None:
        page = stores.runs.list_newest(job.id, size, before)
        seen.extend(page.runs)
        before, pages = page.next_before, pages + 1
    assert seen == sorted(runs, key=lambda run: run.scheduled_for, reverse=True)
    assert pages == -(-len(runs) // size)
