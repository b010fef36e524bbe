"""The list of dead letters: the latest first, page by page, also while it is being redriven."""

from dataclasses import replace

from carillon.domain.dead_letters import position_of
from carillon.domain.run import Run, RunState, redriven
from contract.backends import Stores
from contract.samples import NOW_MS, a_job, a_run

JOB = a_job()


def dead(stores: Stores, number: int, tenant: str = "acme") -> Run:
    """Store a dead letter; two of them die in each second."""
    run = a_run(
        JOB,
        NOW_MS + number * 1_000,
        tenant=tenant,
        state=RunState.DEAD_LETTERED,
        next_fire_time=None,
        ended_at=NOW_MS + number // 2 * 1_000,
    )
    stores.runs.save(run, seen=None)
    return run


def walked(stores: Stores, since_ms: int = 0) -> list[Run]:
    """The whole list, by pages of three."""
    found: list[Run] = []
    after = None
    while True:
        page = stores.runs.list_dead("acme", since_ms, 3, after)
        found.extend(page.runs)
        if page.next_after is None:
            return found
        after = page.next_after


def test_each_is_listed_once_the_latest_first(stores: Stores) -> None:
    """Also those that died in one millisecond; other tenants and other states are not listed."""
    runs = [dead(stores, number) for number in range(8)]
    dead(stores, 20, "umbrella")
    stores.runs.save(a_run(JOB, NOW_MS + 60_000), seen=None)
    found = walked(stores)
    assert sorted(found, key=position_of) == sorted(runs, key=position_of)
    assert [run.ended_at for run in found] == sorted((run.ended_at for run in runs), reverse=True)
    assert {run.key for run in walked(stores, NOW_MS + 3_000)} == {run.key for run in runs[6:]}


def test_the_list_goes_on_behind_one_that_left_it(stores: Stores) -> None:
    """A position holds although its dead letter has been redriven meanwhile."""
    runs = [dead(stores, number * 2) for number in range(4)]
    first = stores.runs.list_dead("acme", 0, 2, None)
    assert first.next_after == position_of(first.runs[-1])
    for run in first.runs:
        stores.runs.save(redriven(run, now_ms=NOW_MS, lane=run.lane), seen=run.rev)
    rest = stores.runs.list_dead("acme", 0, 2, first.next_after)
    assert (rest.runs, rest.next_after) == ((runs[1], runs[0]), None)
    assert [run.key for run in walked(stores)] == [runs[1].key, runs[0].key]


def test_a_redriven_run_is_stored_whole(stores: Stores) -> None:
    """What it has spent, and that it is to be cancelled, come back as they were written."""
    run = dead(stores, 1)
    again = replace(redriven(run, now_ms=NOW_MS, lane=run.lane), spent=7, is_cancelled=True)
    stores.runs.save(again, seen=run.rev)
    assert stores.runs.get(run.key) == again
