"""Runs the simulation: `python -m tests.simulation.run --seeds 200`; see `--help`.

A failing seed is told with its violations, and as the smallest scenario that fails in the same way. The last line is
`seeds=… occurrences=… violations=… planted=…/…`.
"""

import argparse
import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from time import monotonic

from .checker import violations
from .drawing import plan_of
from .planted import KNOWN, PLANTED
from .shrinking import described, shrink
from .world import World

MOST_SEEDS_PER_BUG = 500
SEEDS_PER_TASK = 20
TOLD_EVERY = 100


@dataclass(slots=True)
class Tally:
    """What some seeds came to."""

    seeds: int = 0
    occurrences: int = 0
    calls: int = 0
    failing: dict[int, list[str]] = field(default_factory=dict)

    def add(self, other: "Tally") -> None:
        """Add what other seeds came to."""
        self.seeds += other.seeds
        self.occurrences += other.occurrences
        self.calls += other.calls
        self.failing |= other.failing


def run_seeds(seeds: Sequence[int]) -> Tally:
    """Run some seeds."""
    tally = Tally()
    for seed in seeds:
        history = World(plan_of(seed)).run()
        found = violations(history)
        tally.seeds += 1
        tally.occurrences += history.occurrences()
        tally.calls += len(history.calls)
        if found:
            tally.failing[seed] = found
    return tally


def catch(name: str, seeds: Sequence[int]) -> tuple[int, str] | None:
    """The first of the seeds that catches a planted bug, and a violation that it shows; None when none does."""
    with PLANTED[name]():
        for seed in seeds:
            found = violations(World(plan_of(seed)).run())
            if found:
                return seed, found[0]
    return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; 0 if all is as it should be."""
    asked = _arguments().parse_args(arguments)
    if asked.replay is not None:
        return _replay(asked.replay, planted=asked.planted, traced=asked.trace, shrunk=asked.shrink)
    tally = Tally()
    if asked.seeds and not asked.planted:
        tally = _tally(range(asked.first, asked.first + asked.seeds), asked.workers)
        if tally.failing:
            _tell_small(min(tally.failing))
    names = [asked.planted] if asked.planted else [] if asked.no_planted else list(PLANTED)
    caught = _catch_all(names, asked)
    violated = sum(map(len, tally.failing.values()))
    _say(f"seeds={tally.seeds} occurrences={tally.occurrences} violations={violated} planted={caught}/{len(names)}")
    return 0 if not violated and caught == len(names) else 1


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=100, help="how many seeds to run")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the work")
    parser.add_argument("--planted", choices=[*PLANTED], help="only look for the seed that catches this planted bug")
    parser.add_argument("--no-planted", action="store_true", help="plant no bugs")
    parser.add_argument(
        "--known", action="store_true", help="plant each bug only at the seed that is known to catch it"
    )
    parser.add_argument("--replay", type=int, metavar="SEED", help="run one seed and tell its violations")
    parser.add_argument("--trace", action="store_true", help="with --replay: tell everything that happens")
    parser.add_argument("--shrink", action="store_true", help="with --replay: make the scenario small if it fails")
    return parser


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _tally(seeds: range, workers: int) -> Tally:
    tally, begun = Tally(), monotonic()
    for done in _shared(seeds, workers):
        tally.add(done)
        _tell_failing(done)
        if tally.seeds % TOLD_EVERY == 0:
            rate = round(tally.occurrences / (monotonic() - begun) * 60)
            _say(f"{tally.seeds} seeds, {tally.occurrences} occurrences, {tally.calls} calls, {rate} a minute")
    return tally


def _shared(seeds: range, workers: int) -> Iterator[Tally]:
    tasks = [seeds[start : start + SEEDS_PER_TASK] for start in range(0, len(seeds), SEEDS_PER_TASK)]
    if workers == 1:
        yield from map(run_seeds, tasks)
        return
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield from pool.map(run_seeds, tasks)


def _tell_failing(tally: Tally) -> None:
    for seed, found in tally.failing.items():
        _say(f"seed {seed}: {len(found)} violations")
        for line in found[:5]:
            _say(f"  {line}")


def _tell_small(seed: int) -> None:
    plan, found = shrink(plan_of(seed))
    _say(f"the smallest scenario that fails as seed {seed} does:")
    described(plan, _say)
    for line in found[:10]:
        _say(f"  -> {line}")


def _replay(seed: int, *, planted: str | None, traced: bool, shrunk: bool) -> int:
    if planted:
        with PLANTED[planted]():
            return _replay(seed, planted=None, traced=traced, shrunk=shrunk)
    history = World(plan_of(seed), traced=traced).run()
    found = violations(history)
    for line in found:
        _say(line)
    if found and shrunk:
        _tell_small(seed)
    _say(f"seed={seed} occurrences={history.occurrences()} violations={len(found)} history={history.digest()[:16]}")
    return 1 if found else 0


def _catch_all(names: Sequence[str], asked: argparse.Namespace) -> int:
    caught = 0
    for name in names:
        seeds = [KNOWN[name]] if asked.known else range(asked.first, asked.first + MOST_SEEDS_PER_BUG)
        found = catch(name, seeds)
        caught += found is not None
        _say(f"planted {name}: " + (f"caught by seed {found[0]}: {found[1][:150]}" if found else "NOT CAUGHT"))
    return caught


if __name__ == "__main__":
    sys.exit(main())
