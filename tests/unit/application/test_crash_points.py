"""For each step between acceptance and record: whoever makes it dies there, and every occurrence still ends once."""

from collections import Counter
from typing import Any

import pytest

from carillon.domain.job import HttpTarget, JobState
from carillon.domain.outcomes import CallRequest, Failure, Outcome
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import RunState
from carillon.domain.schedule import Every, OneOff
from support.world import START_MS, Fault, World, failure, status

STEPS = [
    "index.pages",
    "leases.take",
    "jobs.claim_many",
    "queues.send",
    "jobs.confirm_many",
    "leases.release",
    "jobs.get",
    "runs.save",
    "runs.get",
    "runs.leave_index",
]
END_MS = START_MS + 1_200_000


def scenario(fault: Fault | None) -> tuple[World, list[tuple[str, int]]]:
    """A one-off, a recurring job, and a job whose first attempt fails, until long after the last of them is due."""
    world = World(fault=fault)
    retry = RetryPolicy(max_attempts=10, jitter=Jitter.NONE, base_ms=2_000)
    once = world.create(OneOff(START_MS + 5_000), retry=retry)
    every = world.create(Every(20_000, START_MS, end_ms=START_MS + 60_000), retry=retry)
    flaky = world.create(OneOff(START_MS + 9_000), retry=retry, target=HttpTarget("https://flaky.example.net/"))
    answers = {"https://flaky.example.net/": [status(503), failure(Failure.TIMEOUT)]}
    plain = world.caller.call

    def call(request: CallRequest, **options: Any) -> Outcome:
        waiting = answers.get(request.url)
        if waiting:
            world.caller.script.insert(0, waiting.pop(0))
        return plain(request, **options)

    world.caller.call = call  # type: ignore[method-assign]
    world.run_until(END_MS)
    nominal = [(once, START_MS + 5_000), (flaky, START_MS + 9_000)]
    return world, nominal + [(every, START_MS + at) for at in (0, 20_000, 40_000, 60_000)]


def calls_of_the_quiet_scenario() -> Counter[str]:
    """How often each port method is called when nobody dies."""
    return scenario(None)[0].calls_made


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("method", STEPS)
def test_whoever_dies_at_a_step_loses_nothing(method: str, *, after: bool) -> None:
    """Every occurrence ends in one record that says succeeded; attempts only rise; no run is called as a new one."""
    made = calls_of_the_quiet_scenario()[method]
    assert made, f"the scenario never calls {method}: the test would prove nothing"
    picks = sorted({1, 2, 3, 4, 5, 6, 8, made} & set(range(1, made + 1)))
    for nth in picks:
        world, nominal = scenario(Fault(method, nth, after))
        for job_id, scheduled_for in nominal:
            run = world.run_of(job_id, scheduled_for)
            assert run.state is RunState.SUCCEEDED, f"{method} call {nth}: {run}"
            assert [attempt.number for attempt in run.attempts] == list(range(1, run.attempt + 1))
        assert sum(len(runs) for runs in world.state.runs.values()) == len(nominal)
        assert not [job for job in world.state.jobs.values() if job.state is JobState.SCHEDULED]
        assert set(world.caller.run_ids()) == {f"{job}@{world.run_of(job, at).key.name}" for job, at in nominal}


def test_nobody_is_called_twice_when_nobody_dies() -> None:
    """In the quiet scenario each run has one call an attempt, and each answer ends or retries it."""
    world, nominal = scenario(None)
    attempts = {f"{job}@{world.run_of(job, at).key.name}": world.run_of(job, at).attempt for job, at in nominal}
    assert world.caller.run_ids() == attempts
    assert sorted(attempts.values()) == [1, 1, 1, 1, 1, 3]
