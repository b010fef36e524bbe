"""Takes the dispatcher of a local stack away and shows what becomes of its jobs: `python -m tests.e2e.outage`.

The stack is one of its own. Before the outage, jobs are paused and edited across their fires. The run history of every
job is printed as a table and checked; a failed check is an exception. The last line is
`outage_minutes=… jobs=… records=… occurrences=… differences=0`.
"""

import argparse
import sys
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from carillon_cli.output import print_table, shown_ms

from .downtime import POLICIES, SINGLE_RUNS, Outage, Policy, Scale, assert_policy, outage_under_each_policy
from .edit_stories import edited_across_fires, paused_across_fires, single_run_paused_across_its_fire
from .histories import History, Stage, instant, running_stage
from .live import Json

# Nothing waits for this command, and other work may go on beside it.
READY_SECONDS = 900
COLUMNS = ("scheduled for", "occurrences", "state", "reason", "first start", "late")


def main() -> int:
    """Run all of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.outage", description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=int, default=30, help="how long the dispatcher is away [30]")
    scale = Scale(timedelta(minutes=parser.parse_args().minutes))
    with (
        TemporaryDirectory(prefix="carillon-outage-", ignore_cleanup_errors=True) as folder,
        running_stage(Path(folder), READY_SECONDS) as stage,
    ):
        shown = [*_show_edits(stage), *_show_outage(stage, scale)]
    records = sum(len(past.runs) for past in shown)
    occurrences = sum(run.get("block", {"count": 1})["count"] for past in shown for run in past.runs)
    _say(
        f"outage_minutes={scale.outage / timedelta(minutes=1):g} jobs={len(shown)} {records=} {occurrences=} "
        "differences=0"
    )
    return 0


def _show_edits(stage: Stage) -> Iterator[History]:
    """Jobs that are paused and edited across their fires."""
    for catch_up in (False, True):
        how = "with catch-up, misfire_policy fire_once" if catch_up else "from now on"
        yield _shown(f"every 2 s, paused for 9 s, resumed {how}", paused_across_fires(stage, catch_up=catch_up))
    for policy in ("fire_once", "skip"):
        title = f"a single run whose time came in a pause, misfire_policy {policy}"
        yield _shown(title, single_run_paused_across_its_fire(stage, policy))
    past, edited_at = edited_across_fires(stage)
    yield _shown(f"every 3 s, edited at {_clock(edited_at)} to every 5 s", past)


def _show_outage(stage: Stage, scale: Scale) -> Iterator[History]:
    """Jobs of each misfire policy."""
    _say(f"\nThe dispatcher is taken away for {scale.outage}, with jobs of every {scale.every}, grace {scale.grace}.")
    outage = outage_under_each_policy(stage, scale)
    _say(f"Its mapping was disabled from {_clock(outage.down_from)} to {_clock(outage.up_from)} UTC.")
    for policy in POLICIES:
        yield _shown(_title(policy), outage.histories[policy.name])
        assert_policy(stage, scale, policy, outage)
    yield from _shown_single_runs(outage)


def _shown_single_runs(outage: Outage) -> Iterator[History]:
    for policy in SINGLE_RUNS:
        yield _shown(f"a single run in the outage, misfire_policy {policy}", outage.single_runs[policy])


def _shown(title: str, past: History) -> History:
    _say(f"\n{title}\n")
    print_table(COLUMNS, [_row(run) for run in past.runs])
    return past


def _title(policy: Policy) -> str:
    return "a job with " + ", ".join(f"{name} {value}" for name, value in policy.fields.items())


def _row(run: Json) -> tuple[str, ...]:
    block = run.get("block")
    times = f"{_clock(instant(block['first']))} to {_clock(instant(block['last']))}" if block else None
    started = [_clock(instant(attempt["started_at"])) for attempt in run["attempts"][:1]]
    return (
        times or _clock(instant(run["scheduled_for"])),
        str(block["count"] if block else 1),
        run["state"],
        run["reason"] or "-",
        *(started or ["-"]),
        shown_ms(run["lateness_ms"]),
    )


def _clock(moment: datetime) -> str:
    return f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03}"


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - what the command is for


if __name__ == "__main__":
    sys.exit(main())
