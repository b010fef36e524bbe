"""The simulation itself: it holds on some seeds, repeats itself, catches planted bugs, and shrinks what fails."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from carillon.domain.schedule import Every
from simulation.checker import violations
from simulation.drawing import plan_of
from simulation.plan import FAULTS, JobPlan, Plan, TargetPlan
from simulation.planted import KNOWN, PLANTED
from simulation.run import catch, main
from simulation.shrinking import kinds_of, shrink
from simulation.world import World

ROOT = Path(__file__).parents[2]
SEEDS = range(1_000, 1_040)
START_MS = Plan(seed=0).start_ms


@pytest.mark.parametrize("first", SEEDS[::10])
def test_the_promises_hold(first: int) -> None:
    """Ten seeds show no violation, and something happens in them."""
    occurrences = 0
    for seed in range(first, first + 10):
        history = World(plan_of(seed)).run()
        assert violations(history) == [], f"replay with: python -m tests.simulation.run --replay {seed} --trace"
        occurrences += history.occurrences()
    assert occurrences > 1_000


def test_a_seed_is_a_history() -> None:
    """The same seed gives the same history to the last call, also by the script of its faults; another one another."""
    world = World(plan_of(5))
    digest = world.run().digest()
    assert World(plan_of(5)).run().digest() == digest
    assert world.gate.struck
    assert World(replace(plan_of(5), script=tuple(world.gate.struck))).run().digest() == digest
    assert World(plan_of(6)).run().digest() != digest


def test_a_failing_seed_replays_exactly_in_another_process() -> None:
    """Its violations and its whole history are the same, whatever order the interpreter gives to sets."""
    asked = ["--replay", str(KNOWN["advance_before_send"]), "--planted", "advance_before_send"]
    told = [_in_a_process(asked, hash_seed) for hash_seed in ("1", "2")]
    assert "missing: " in told[0]
    assert told[0] == told[1]


def _in_a_process(arguments: list[str], hash_seed: str) -> str:
    command = [sys.executable, "-m", "tests.simulation.run", *arguments]
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert ended.returncode == 1, ended.stderr
    return ended.stdout


def test_every_planted_bug_has_its_seed() -> None:
    """The list of known seeds leaves no bug out, and there are enough of them."""
    assert set(KNOWN) == set(PLANTED)
    assert len(PLANTED) >= 12
    assert all(seed < 500 for seed in KNOWN.values())


@pytest.mark.parametrize("name", KNOWN)
def test_a_planted_bug_is_caught(name: str) -> None:
    """The checker can fail: each bug shows at its seed, and without it the seed shows nothing."""
    assert catch(name, [KNOWN[name]]) is not None
    assert violations(World(plan_of(KNOWN[name])).run()) == []


def test_a_failing_plan_is_made_small() -> None:
    """What is left fails in the same way, with fewer jobs and faults."""
    plan = plan_of(KNOWN["advance_before_send"])
    with PLANTED["advance_before_send"]():
        world = World(plan)
        found = violations(world.run())
        small, still_found = shrink(plan, most_tries=150)
    assert len(small.jobs) + len(small.script or ()) < (len(plan.jobs) + len(world.gate.struck)) // 2
    assert kinds_of(still_found) & kinds_of(found)


def test_without_faults_nothing_is_struck() -> None:
    """A calm world: each occurrence is called once, on time."""
    job = JobPlan(0, START_MS, Every(1_000, START_MS, None, START_MS + 100_000))
    world = World(Plan(seed=1, jobs=(job,), is_calm=True))
    history = world.run()
    assert violations(history) == []
    assert world.gate.struck == []
    assert (history.occurrences(), len(history.calls)) == (100, 100)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_kind_of_fault_strikes(fault: str) -> None:
    """Each fault is really there: a plan of that one alone is struck by it, and holds."""
    job = JobPlan(0, START_MS, Every(1_000, START_MS, None, START_MS + 100_000))
    plan = Plan(seed=2, jobs=(job,), faults=(fault,), fault_every=10, quiet_ms=START_MS + 100_000)
    world = World(plan)
    assert violations(world.run()) == []
    assert {strike.action for strike in world.gate.struck} == {fault}


@pytest.mark.parametrize(
    ("skews", "faults"),
    [
        pytest.param({"worker_skews_ms": (-60_000, 90_000)}, ("again",), id="B244-workers"),
        pytest.param({"dispatcher_skews_ms": (0, 90_000)}, (), id="B244-dispatchers"),
    ],
)
def test_clocks_that_are_far_apart_lose_attempts_and_nothing_else(
    skews: dict[str, tuple[int, ...]], faults: tuple[str, ...]
) -> None:
    """A living worker's attempt, or dispatcher's lease, may be taken for lost then; no attempt is called twice."""
    target = TargetPlan(slow=0.3, slow_ms=50_000)
    job = JobPlan(0, START_MS, Every(1_000, START_MS, None, START_MS + 100_000), timeout_ms=60_000, target=target)
    plan = Plan(seed=3, jobs=(job,), faults=faults, fault_every=50, **skews)
    assert violations(World(plan).run()) == []


def test_the_last_line_is_the_result(capsys: pytest.CaptureFixture[str]) -> None:
    """The command line ends in the figures, and fails when something is wrong."""
    assert main(["--seeds", "3", "--planted", "advance_before_send"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "seeds=0 occurrences=0 violations=0 planted=1/1"
    assert main(["--seeds", "2", "--no-planted"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("seeds=2 occurrences=")


def test_a_replay_tells_everything(capsys: pytest.CaptureFixture[str]) -> None:
    """A trace names what happens, by whom and when; the faults are among it."""
    assert main(["--replay", "5", "--trace"]) == 0
    told = capsys.readouterr().out
    assert "FAULT" in told
    assert told.splitlines()[-1].startswith("seed=5 occurrences=")
