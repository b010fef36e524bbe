"""A target that does not answer: its runs wait with all their attempts, others go on, and it is let back in gently."""

from collections import Counter

import pytest

from carillon.adapters.memory.tenants import MemoryBreakers
from carillon.adapters.remembering import RememberingBreakers
from carillon.application.breakers import Breakers
from carillon.application.edit_job import EditJob
from carillon.domain import editing
from carillon.domain.breaker import RAMP_MS, TARGET_UNAVAILABLE, BreakerRules, Park, Pass, first_opened
from carillon.domain.job import HttpTarget
from carillon.domain.outcomes import Failure
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import Run, RunState
from carillon.domain.schedule import Every, OneOff
from carillon.ports.errors import UnavailableError
from tests.support.world import NEIGHBOUR, START_MS, TENANT, World, failure, status

DEAD, WELL = HttpTarget("https://dead.example.net/a"), HttpTarget("https://well.example.net/b")
MINUTE_MS = 60_000


def runs_of(world: World, job_id: str) -> list[Run]:
    """A job's records, oldest first."""
    return sorted(world.state.runs[job_id].values(), key=lambda run: run.key.name)


def a_failing_world(jobs: int, *, max_attempts: int = 2) -> tuple[World, list[str]]:
    """Jobs that run once, a second apart, to a target that refuses connections; a breaker opens after five."""
    world = World(breaker_failures=5)
    retry = RetryPolicy(max_attempts, jitter=Jitter.NONE, base_ms=1_000)
    ids = [world.create(OneOff(START_MS + 1_000 * n), target=DEAD, retry=retry) for n in range(1, jobs + 1)]
    world.caller.script = [failure(Failure.CONNECT_ERROR)] * 1_000
    return world, ids


def test_attempts_are_not_spent_while_it_is_open() -> None:
    """Of forty runs in forty seconds only the first few, and one probe at a time, are tried."""
    world, ids = a_failing_world(40)
    world.run_until(START_MS + 42_000)
    runs = [run for job_id in ids for run in runs_of(world, job_id)]
    waiting = [run for run in runs if run.reason == TARGET_UNAVAILABLE]
    assert len(runs) == 40
    assert len(world.caller.calls) == 5 + 2  # five to open it; probes after 10 and after 20 more seconds
    assert sum(run.attempt for run in runs) == len(world.caller.calls)
    assert len(waiting) >= 34
    assert {run.state for run in waiting} <= {RunState.QUEUED, RunState.RETRYING}


def test_others_are_called_as_ever() -> None:
    """Neither another host of the same tenant waits, nor the same host of another tenant."""
    world, _ = a_failing_world(20)
    world.run_until(START_MS + 12_000)
    world.caller.script = []
    elsewhere = world.create(OneOff(world.clock.now_ms() + 1_000), target=WELL)
    foreign = world.create(OneOff(world.clock.now_ms() + 1_000), target=DEAD, tenant=NEIGHBOUR)
    world.run_until(world.clock.now_ms() + 3_000)
    assert [run.state for job_id in (elsewhere, foreign) for run in runs_of(world, job_id)] == [RunState.SUCCEEDED] * 2


def test_all_run_once_it_answers_again_and_not_at_once() -> None:
    """The probe that is answered closes it; what has waited comes back over a minute, each exactly once."""
    world, ids = a_failing_world(200, max_attempts=100)
    world.run_until(START_MS + 230_000)
    calls_before = len(world.caller.calls)
    world.caller.script = []
    begun_ms = world.clock.now_ms()
    world.run_until(begun_ms + 20 * MINUTE_MS)
    runs = [run for job_id in ids for run in runs_of(world, job_id)]
    assert {run.state for run in runs} == {RunState.SUCCEEDED}
    starts = sorted(run.attempts[-1].started_at for run in runs)
    assert len(world.caller.calls) - calls_before == len(starts) == 200
    by_second = Counter((at - starts[0]) // 1_000 for at in starts)
    assert max(by_second.values()) <= 20, "the ramp lets a tenth of them through at first"
    assert starts[-1] - starts[0] <= RAMP_MS + 2 * 300_000
    assert world.meter.counts["breakers_closed"] == 1


def test_a_target_that_is_dead_for_a_day_makes_dead_letters() -> None:
    """They say why, and few attempts were made: those that opened the breaker, and a probe every five minutes."""
    world, ids = a_failing_world(60, max_attempts=100)
    world.run_until(START_MS + 90_000)
    world.run_until(START_MS + 32 * 3_600_000, step_ms=30_000)
    runs = [run for job_id in ids for run in runs_of(world, job_id)]
    assert {(run.state, run.reason) for run in runs} == {(RunState.DEAD_LETTERED, TARGET_UNAVAILABLE)}
    assert sum(run.attempt for run in runs) == len(world.caller.calls) <= 5 + 32 * 12 + 8
    assert max(run.wait for run in runs) <= 100, "the longer they wait, the rarer they look"


def test_a_deadline_holds_while_a_run_waits() -> None:
    """A run that has never started and is past its deadline is skipped, not called late."""
    world, _ = a_failing_world(6)
    world.run_until(START_MS + 8_000)
    job_id = world.create(OneOff(START_MS + 9_000), target=DEAD, deadline_ms=5_000)
    world.run_until(START_MS + 5 * MINUTE_MS)
    (run,) = runs_of(world, job_id)
    assert (run.state, run.reason, run.attempt) == (RunState.SKIPPED, "deadline", 0)


def test_a_waiting_run_is_cancelled_with_its_job() -> None:
    """Waiting for a target is waiting like any other."""
    world, ids = a_failing_world(12)
    world.run_until(START_MS + 14_000)
    assert runs_of(world, ids[-1])[0].reason == TARGET_UNAVAILABLE
    edit = EditJob(world.jobs, world.runs, 0)
    edit(TENANT, ids[-1], world.clock.now_ms(), editing.cancel)
    world.run_until(START_MS + 5 * MINUTE_MS)
    (run,) = runs_of(world, ids[-1])
    assert (run.state, run.attempt) == (RunState.CANCELLED, 0)


@pytest.mark.parametrize("answer", [200, 404, 500], ids=["well", "refuses", "fails-itself"])
def test_any_answer_ends_the_row(answer: int) -> None:
    """Four failures and an answer, again and again: it never opens."""
    world = World(breaker_failures=5)
    job_id = world.create(
        Every(1_000, START_MS, end_ms=START_MS + 29_000), target=DEAD, retry=RetryPolicy(max_attempts=1)
    )
    world.caller.script = [*[failure(Failure.TIMEOUT)] * 4, status(answer)] * 6
    world.run_until(START_MS + 35_000)
    assert len(world.caller.calls) == len(runs_of(world, job_id)) == 30
    assert world.state.breakers == {}


def test_failures_far_apart_are_not_in_a_row() -> None:
    """A job that fails each hour is tried each hour."""
    world = World(breaker_failures=2)
    world.create(
        Every(3_600_000, START_MS, end_ms=START_MS + 3 * 3_600_000), target=DEAD, retry=RetryPolicy(max_attempts=1)
    )
    world.caller.script = [failure(Failure.TIMEOUT)] * 4
    world.run_until(START_MS + 4 * 3_600_000 + 5_000, step_ms=60_000)
    assert len(world.caller.calls) == 4
    assert world.state.breakers == {}


class BrokenStore(MemoryBreakers):
    """A store that does not answer."""

    def of(self, tenant: str) -> dict[str, object]:  # type: ignore[override]  # it never returns
        """Nothing."""
        raise UnavailableError(tenant)

    save = of  # type: ignore[assignment]  # same


def test_where_breakers_cannot_be_read_calls_are_made() -> None:
    """They protect calls; they must not prevent them."""
    world, ids = a_failing_world(8)
    world.breakers = Breakers(BrokenStore(world.state), world.meter, world.ids, world.breakers.rules)
    world.run_until(START_MS + 15_000)
    assert len(world.caller.calls) == 16
    assert world.meter.counts["breakers_unread"] > 0
    assert {run.state for job_id in ids for run in runs_of(world, job_id)} == {RunState.DEAD_LETTERED}


def test_a_probe_whose_worker_dies_is_followed_by_another() -> None:
    """Nobody waits for it longer than its call may take."""
    world, ids = a_failing_world(8, max_attempts=100)
    world.run_until(START_MS + 10_000)
    (breaker,) = world.state.breakers.values()
    assert world.state.breakers
    probed = breaker.probed(breaker.retry_at, 15_000, "p1")
    world.breakers.store.save(probed)
    world.caller.script = []
    world.run_until(probed.probe_until + 2 * MINUTE_MS)
    assert {run.state for job_id in ids for run in runs_of(world, job_id)} == {RunState.SUCCEEDED}
    assert min(run.attempts[-1].started_at for job_id in ids for run in runs_of(world, job_id)) >= probed.probe_until


def test_of_two_processes_that_remember_it_open_one_probes() -> None:
    """Both find that it may be probed, by what they remember: the write of the probe tells who does."""
    world = World()
    store, rules = MemoryBreakers(world.state), BreakerRules()
    store.save(first_opened(TENANT, "dead.example.net:443", START_MS, rules))
    processes = [Breakers(RememberingBreakers(store, world.clock), world.meter, world.ids, rules) for _ in range(2)]
    world.clock.set(START_MS + rules.pause_ms(1) - 10)

    def verdicts() -> list[type]:
        """What each is told, a moment after the other."""
        told = []
        for each in processes:
            now_ms = world.clock.now_ms()
            told.append(type(each.admit(TENANT, DEAD.url, timeout_ms=1_000, due_ms=START_MS, now_ms=now_ms)))
            world.clock.advance(1)
        return told

    assert verdicts() == [Park, Park]
    world.clock.set(START_MS + rules.pause_ms(1))
    assert verdicts() == [Pass, Park]
