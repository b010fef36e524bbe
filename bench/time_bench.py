"""How long the next occurrence takes, beside croniter and cronsim in the same run.

`python bench/time_bench.py` walks each expression on from a few starts in New York, the parsed schedule at hand in all
three. A question's time is the best of five, so that a busy machine shows less; the worst is the slowest question.
"""

import csv
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter_ns

from croniter import croniter
from cronsim import CronSim

from carillon.domain.schedule import CronSchedule, ScheduleError
from tests.unit.domain.time.oracles import library_zone

ZONE = "America/New_York"
COMMON = (
    "* * * * *",
    "*/5 * * * *",
    "0 * * * *",
    "0 9 * * *",
    "30 2 * * *",
    "0 9 * * MON-FRI",
    "0 0 1 * *",
    "15 14 1,15 * *",
)
NASTY = (
    "0 0 29 2 */7",
    "0 0 29 2 *",
    "0 0 L-3 * *",
    "0 0 15W * *",
    "*/7 * * * *",
    "0 0 * * 1#5",
    "0 0 31 12 */7",
    "59 23 L 2 *",
)
STARTS = tuple(
    datetime(year, month, day, 5, 59, 59, tzinfo=UTC)
    for year, month, day in ((2026, 3, 8), (2026, 6, 14), (2026, 11, 1), (2097, 1, 1), (2103, 11, 4))
)
STEPS, ROUNDS = 5, 5


def ours_us(expression: str, start: datetime) -> list[float]:
    """The time of each of a few steps."""
    schedule, at_ms, times = CronSchedule(expression, ZONE), int(start.timestamp() * 1_000), []
    for _ in range(STEPS):
        ask = partial(schedule.next_after, at_ms)
        times.append(min(step_us(ask) for _ in range(ROUNDS)))
        at_ms = schedule.next_after(at_ms) or at_ms
    return times


def theirs_us(new_walk: Callable[[], Callable[[], object]]) -> list[float]:
    """The time of each of a few steps of a library's walk, which cannot be asked twice: several walk side by side."""
    walks = [new_walk() for _ in range(ROUNDS)]
    return [min(step_us(walk) for walk in walks) for _ in range(STEPS)]


def croniter_walk(expression: str, start: datetime) -> Callable[[], object]:
    """Croniter's next, again and again."""
    walk: Callable[[], object] = croniter(expression, start).get_next
    return walk


def cronsim_walk(expression: str, start: datetime) -> Callable[[], object]:
    """Cronsim's next, again and again."""
    return CronSim(expression, start).__next__


def step_us(step: Callable[[], object]) -> float:
    """How long one call takes."""
    begin = perf_counter_ns()
    step()
    return (perf_counter_ns() - begin) / 1_000


def real_expressions() -> list[str]:
    """The cron lines of a public CI system that can fire."""
    path = Path(__file__).parents[1] / "tests" / "data" / "real_schedules.csv"
    with path.open(encoding="utf-8", newline="") as file:
        expressions = {row["expression"] for row in csv.DictReader(file) if row["kind"] == "cron"}
    return sorted(filter(can_fire, expressions))


def can_fire(expression: str) -> bool:
    """Whether we accept it."""
    try:
        CronSchedule(expression)
    except ScheduleError:
        return False
    return True


def main() -> None:
    """Print a line an expression, and the summary last."""
    zone, common, croniters, cronsims = library_zone(ZONE), list[float](), list[float](), list[float]()
    for expression in COMMON:
        for start in STARTS:
            local = start.astimezone(zone)
            common += ours_us(expression, start)
            croniters += theirs_us(partial(croniter_walk, expression, local))
            cronsims += theirs_us(partial(cronsim_walk, expression, local))
    worst: dict[str, float] = {}
    for expression in (*NASTY, *real_expressions()):
        worst[expression] = max(time for start in STARTS for time in ours_us(expression, start))
    for expression in sorted(worst, key=worst.__getitem__, reverse=True)[:8]:
        print(f"{worst[expression]:9.1f} us at worst  {expression}")
    ours, slowest = median(common), max(*worst.values(), *common)
    ratios = f"vs_croniter={ours / median(croniters):.3f} vs_cronsim={ours / median(cronsims):.3f}"
    print(f"median_us={ours:.1f} worst_us={slowest:.1f} {ratios}")


if __name__ == "__main__":
    main()
