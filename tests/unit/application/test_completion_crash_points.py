"""For each step of a run that is completed later: whoever makes it dies there, and the run ends once, as reported.

The receivers are as the documentation asks of them: they repeat a report that got no answer, and stop at a 409.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from carillon.application.complete_run import CompleteRun, KeepAlive, Reporter, RunEndedError, StaleAttemptError
from carillon.domain.completions import Completed, Report
from carillon.domain.job import Completion, HttpTarget
from carillon.domain.outcomes import CallRequest, Outcome, answered
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import RunState
from carillon.domain.schedule import OneOff
from support.world import START_MS, Fault, KilledError, World

SECOND_MS = 1_000
END_MS = START_MS + 500_000
STEPS = [
    "index.pages",
    "queues.send",
    "jobs.get",
    "runs.save",
    "runs.get",
    "runs.leave_index",
]


@dataclass
class Receiver:
    """A receiver that answers 202 and reports after a while; `silent`: of its first attempts it says no more.

    Its reports that were answered are kept by attempt. With `at_once` it reports while it is being called.
    """

    world: World
    takes_ms: int
    silent: int = 0
    at_once: bool = False
    beats: bool = False
    pending: list[tuple[int, int, str, str]] = field(default_factory=list)
    taken: dict[int, Report] = field(default_factory=dict)

    def call(self, request: CallRequest) -> Outcome:
        """Take a call."""
        headers = dict(request.headers)
        attempt, token = int(headers["Carillon-Attempt"]), headers["Carillon-Completion-Token"]
        if attempt > self.silent:
            due_ms = self.world.clock.now_ms() + self.takes_ms
            self.pending.append((due_ms, attempt, token, headers["webhook-id"]))
        if self.at_once:
            self.work()
        return answered(status=202, started_ms=0, duration_ms=1)

    def work(self) -> None:
        """Report what is done by now, and give a sign of life of the rest; what got no answer is tried again."""
        for one in list(self.pending):
            due_ms, attempt, token, run_id = one
            try:
                if self.world.clock.now_ms() >= due_ms:
                    complete = CompleteRun(self.world.records(), self.world.ids)
                    complete(Reporter(token), run_id, Completed(Report.SUCCEEDED))
                    self.taken[attempt] = Report.SUCCEEDED
                    self.pending.remove(one)
                elif self.beats:
                    KeepAlive(self.world.records())(Reporter(token), run_id)
            except (StaleAttemptError, RunEndedError):
                self.pending.remove(one)
            except KilledError:  # the function behind the API is gone, and the receiver has no answer
                continue


def scenario(fault: Fault | None) -> tuple[World, dict[str, Receiver]]:
    """Four runs: reported in time, by the help of signs of life, after a silent attempt, and before the answer."""
    world = World(fault=fault)
    receivers: dict[str, Receiver] = {}
    by_url: dict[str, Receiver] = {}
    for number, receiver in enumerate(
        (
            Receiver(world, 10 * SECOND_MS),
            Receiver(world, 70 * SECOND_MS, beats=True),
            Receiver(world, 5 * SECOND_MS, silent=1),
            Receiver(world, 0, at_once=True),
        )
    ):
        target = HttpTarget(f"https://r{number}.example.net/", completion=Completion(120_000, 30 * SECOND_MS))
        retry = RetryPolicy(max_attempts=10, jitter=Jitter.NONE, base_ms=2_000)
        job_id = world.create(OneOff(START_MS + number * SECOND_MS), target=target, retry=retry)
        receivers[job_id] = by_url[target.url] = receiver

    def call(request: CallRequest, *, deadline_ms: int, beat: Callable[[], bool], beat_every_ms: int) -> Outcome:
        del deadline_ms, beat, beat_every_ms
        world.caller.calls.append((request, world.clock.now_ms()))
        return by_url[request.url].call(request)

    world.caller.call = call  # type: ignore[method-assign]
    while world.clock.now_ms() < END_MS:
        world.dispatch()
        world.work()
        for receiver in receivers.values():
            receiver.work()
        world.clock.advance(SECOND_MS)
    return world, receivers


def calls_of_the_quiet_scenario() -> Counter[str]:
    """How often each port method is called when nobody dies."""
    return scenario(None)[0].calls_made


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("method", STEPS)
def test_whoever_dies_at_a_step_loses_no_report(method: str, *, after: bool) -> None:
    """Each run ends in one record that says succeeded; every report that was answered is in it, with its attempt."""
    made = calls_of_the_quiet_scenario()[method]
    assert made, f"the scenario never calls {method}: the test would prove nothing"
    for nth in sorted({*range(1, 21), made} & set(range(1, made + 1))):
        world, receivers = scenario(Fault(method, nth, after))
        for job_id, receiver in receivers.items():
            (run,) = world.history(job_id)
            assert run.state is RunState.SUCCEEDED, f"{method} call {nth}: {run}"
            assert [attempt.number for attempt in run.attempts] == list(range(1, run.attempt + 1))
            told = {each.number: each.report for each in run.attempts if each.report is not None}
            assert told == receiver.taken, f"{method} call {nth}: {run}"
            assert receiver.taken.keys() == {run.attempt}
        assert not world.index_is_waiting(), f"{method} call {nth}"


def test_each_attempt_is_called_once_when_nobody_dies() -> None:
    """And only the silent target has a second one."""
    world, receivers = scenario(None)
    assert [world.history(job_id)[0].attempt for job_id in receivers] == [1, 1, 2, 1]
    assert sum(world.caller.run_ids().values()) == 5
