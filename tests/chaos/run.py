"""Chaos on the real code: the deployed local stack behind a proxy that faults its AWS calls, and under kills.

`python -m tests.chaos.run --seconds 60` creates jobs of all kinds and edits them, while throttles, resets, lost answers
and delays strike the functions' calls and processes are killed. Then all that goes wrong ends, what is left is drained,
and the checker of the simulation judges the whole history. The last line is
`seconds=… occurrences=… faults=… kills=… violations=…`.
"""

import argparse
import re
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from carillon.adapters.dynamodb import keys as k
from carillon.client import Client
from carillon_cli.dev.command import stop_signals
from carillon_cli.dev.receiver import Receiver
from tests.simulation.checker import violations
from tests.simulation.history import History, Story

from .changes import changes_of
from .draining import drained, end_all
from .driver import Driver, Promises
from .history import history_of
from .plan import Kill, Plan, plan_of
from .planted import PLANTED
from .stage import Stage, staged
from .target import heard, mood

DRAIN_SECONDS = 900.0
MOST_TOLD = 50
MOST_STORIES = 3
_OF_JOB = re.compile(r"\[job ([0-9]+)\]$")


@dataclass(slots=True)
class Outcome:
    """What a run came to."""

    history: History
    faults: Counter[str]
    kills: Counter[str]
    promises: Promises
    requests: int
    drained_s: float


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; 0 if nothing was violated."""
    asked = _arguments().parse_args(arguments)
    seed = secrets.randbelow(10**6) if asked.seed is None else asked.seed
    _say(f"seed={seed}" + (f" planted={asked.planted}" if asked.planted else ""))
    with stop_signals() as stop, staged(stop, asked.planted) as stage:
        outcome = chaos(stage, seed, asked.seconds, stop)
        if stop.is_set():
            _say("stopped before it was done")
            return 2
        found = violations(outcome.history)
        tell(outcome, found)
        counts = f"occurrences={outcome.history.occurrences()} faults={outcome.faults.total()}"
        last_line = f"seconds={asked.seconds:g} {counts} kills={outcome.kills.total()} violations={len(found)}"
        _say("the stack is stopped: its many processes leave much to remove")
    _say(last_line)
    return 1 if found else 0


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long everything goes wrong")
    parser.add_argument("--seed", type=int, help="what is tried; by chance if not given")
    parser.add_argument("--planted", choices=[*PLANTED], help="plant this bug into the functions, to see it caught")
    return parser


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def chaos(stage: Stage, seed: int, seconds: float, stop: threading.Event) -> Outcome:
    """Let everything go wrong for a time, drain, and tell what happened.

    Args:
        stage: which is up.
        seed: of what is tried.
        seconds: how long.
        stop: set when somebody asks to stop.
    """
    with ExitStack() as undo:
        credentials = stage.running.credentials
        client = undo.enter_context(Client(stage.running.url, credentials.api_key))
        receiver = undo.enter_context(Receiver(credentials.signing_secret, lambda call: mood(seed, call)))
        plan, driver = plan_of(seed, seconds, receiver.url("/chaos")), Driver(client, stop)
        kills = _go_wrong(plan, stage, driver, stop)
        requests, faults = stage.proxy.requests(), stage.proxy.faults()
        stage.proxy.end()
        _say(f"faults and kills have ended; {requests} calls of AWS so far, {len(receiver.calls())} of the receiver")
        end_all(client, stop)
        begun = time.monotonic()
        is_drained = drained(stage, DRAIN_SECONDS, stop)
        drained_s = time.monotonic() - begun
        history = _history(stage, receiver, seed, driver.promises)
        if not is_drained:
            history.left.append(f"something was still going on after {DRAIN_SECONDS:g} s")
        return Outcome(history, faults, kills, driver.promises, requests, drained_s)


def _go_wrong(plan: Plan, stage: Stage, driver: Driver, stop: threading.Event) -> Counter[str]:
    """Play the plan; returns what was killed."""
    kills: Counter[str] = Counter()
    begun = time.monotonic()
    _say(f"{len(plan.scripts)} jobs, {len(plan.kills)} kills and {plan.seconds:g} s of faults begin")
    stage.proxy.begin(plan.rules)
    killing = threading.Thread(target=_kill, args=(plan.kills, stage, begun, kills, stop))
    killing.start()
    driver.run(plan.scripts, begun, begun + plan.seconds)
    stop.wait(max(begun + plan.seconds - time.monotonic(), 0))
    killing.join()
    return kills


def _kill(planned: Sequence[Kill], stage: Stage, begun: float, kills: Counter[str], stop: threading.Event) -> None:
    for number, kill in enumerate(planned):
        if stop.wait(max(begun + kill.at_s - time.monotonic(), 0)):
            return
        kills[kill.function.removesuffix("Function")] += stage.kill(kill.function, number * 0.618 % 1)


def _history(stage: Stage, receiver: Receiver, seed: int, promises: Promises) -> History:
    """The whole history: of the stream, the receiver, the promises, and of what is left in tables and queues."""
    table = stage.running.deployment.outputs["JobsTable"]
    changes = list(changes_of(stage.client("dynamodb"), stage.client("dynamodbstreams"), table))
    history = history_of(changes, [heard(seed, call) for call in receiver.calls()])
    runs = {run.key.run_id for story in history.stories.values() for run in story.records.values()}
    history.broken.extend(promises.broken(set(history.stories), runs))
    history.broken.extend(f"a bad signature: {call.run_id} {call.problem}" for call in receiver.calls() if call.problem)
    newest = {(change.item[k.PK]["S"], change.item[k.SK]["S"]): change.new for change in changes}
    if {key: item for key, item in newest.items() if item} != _by_key(stage.items("JobsTable")):
        history.broken.append("the table is not what its stream says")
    aside = [key for key in _by_key(stage.items("ControlTable")) if key[0].startswith("QUARANTINE#")]
    history.left.extend(f"set aside: {key}" for key in aside)
    history.left.extend(["messages"] * min(stage.messages(), 1))
    return history


def _by_key(items: Sequence[dict[str, dict[str, str]]]) -> dict[tuple[str, str], object]:
    return {(item[k.PK]["S"], item[k.SK]["S"]): item for item in items}


def tell(outcome: Outcome, found: Sequence[str]) -> None:
    """Print what came of it."""
    history = outcome.history
    ends = Counter(
        f"{run.state}{f' ({run.reason})' if run.reason else ''}"
        for story in history.stories.values()
        for run in story.records.values()
    )
    edits = Counter(edit.kind for story in history.stories.values() for edit in story.edits)
    attempts = Counter(min(call.attempt, 4) for call in history.calls)
    _say(f"jobs={len(history.stories)} calls={len(history.calls)} drained in {outcome.drained_s:.0f} s")
    for name, counts in (
        ("faults", outcome.faults),
        ("kills", outcome.kills),
        ("requests", outcome.promises.answers),
        ("edits", edits),
        ("calls by attempt", attempts),
        ("records", ends),
    ):
        _say(f"{name}: " + ", ".join(f"{what} {count}" for what, count in sorted(counts.items())))
    for line in found[:MOST_TOLD]:
        _say(f"VIOLATION {line}")
    concerned = {match[1] for match in map(_OF_JOB.search, found) if match}
    for story in [story for story in history.stories.values() if str(story.number) in concerned][:MOST_STORIES]:
        _tell_story(story)


def _tell_story(story: Story) -> None:
    """All that is known of a job that something is wrong with."""
    _say(f"job {story.number}: {story.job_id} {story.state} from {story.created_at} {story.schedule} {story.rules}")
    for edit in story.edits:
        _say(f"  {edit}")
    for name, run in sorted(story.records.items()):
        _say(f"  born {story.born.get(name)} decided {story.decided.get(run.scheduled_for)} {run}")


if __name__ == "__main__":
    sys.exit(main())
