"""`carillon preview`: what a schedule means and when it runs next, without any service."""

import re
import time
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import click

from carillon.domain.clock_changes import as_gap, as_overlap
from carillon.domain.durations import parse_duration
from carillon.domain.explaining.document import document_of
from carillon.domain.explaining.explanation import MOST_OCCURRENCES, Explanation, preview
from carillon.domain.instants import format_instant, parse_instant, parse_local_time
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule, ScheduleError
from carillon_cli.config import json_option
from carillon_cli.output import print_json, print_table
from carillon_cli.shorthand import DurationType

DEFAULT_COUNT = 10
_DURATION = DurationType()
_DASHED = re.compile(r"-[^-\s]*\s.*", re.DOTALL)
_WITH_OFFSET = re.compile(r".*(?:[Zz]|[+-][0-9:]+)", re.DOTALL)
_DATE_LENGTH = len("2026-10-12")
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MEANINGLESS = {
    "expression": (),
    "every": ("dst_gap", "dst_overlap"),
    "run_at": ("start_at", "end_at", "max_runs", "window"),
}


class _ExpressionCommand(click.Command):
    """A command whose argument may begin with a dash: `-5 * * * *` is no option but an expression, if a wrong one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put such an argument last, behind the mark after which there are no options."""
        dashed = [text for text in args if _DASHED.fullmatch(text)]
        if dashed and "--" not in args:
            args = [*(text for text in args if text not in dashed), "--", *dashed]
        return super().parse_args(ctx, args)


@click.command("preview", cls=_ExpressionCommand)
@click.argument("expression", required=False)
@click.option("--run-at", metavar="TIME", help="Instead: once (RFC 3339; without an offset it is local to --tz).")
@click.option("--every", type=_DURATION, help="Instead: again and again, so far apart, such as 30m.")
@click.option(
    "--tz", "--timezone", "timezone", metavar="ZONE", help="The clock's zone (IANA name).  [UTC, for an expression]"
)
@click.option("--dst-gap", type=click.Choice(["shift", "skip"]), help="For times that the clock skips.  [shift]")
@click.option("--dst-overlap", type=click.Choice(["first", "last", "both"]), help="For times that come twice.  [first]")
@click.option("--start-at", metavar="INSTANT", help="Not before this time.")
@click.option("--end-at", metavar="INSTANT", help="Not after this time.")
@click.option("--max-runs", type=int, help="Not more often than this.")
@click.option("--window", type=_DURATION, help="Over how long runs are spread.")
@click.option("--from", "from_at", metavar="INSTANT", help="Show what comes later than this.  [now]")
@click.option(
    "--count", type=click.IntRange(1, MOST_OCCURRENCES), default=DEFAULT_COUNT, help=f"How many.  [{DEFAULT_COUNT}]"
)
@json_option
def preview_command(*, as_json: bool, **flags: Any) -> None:
    """Show what a schedule means and when it runs next.

    EXPRESSION has five fields (minute, hour, day of month, month, day of week), such as "0 9 * * MON#1", or is one of
    @hourly, @daily, @weekly, @monthly and @yearly. No service is asked.
    """
    _check_kind(flags)
    try:
        explanation = _explanation(flags)
    except ScheduleError as refusal:
        raise click.ClickException(str(refusal)) from None
    if as_json:
        print_json(document_of(explanation))
    else:
        _print_for_people(explanation)


def _check_kind(flags: Mapping[str, Any]) -> None:
    kinds = [kind for kind in _MEANINGLESS if flags[kind] is not None]
    if len(kinds) != 1:
        raise click.UsageError("give exactly one of EXPRESSION, --run-at and --every")
    for name in _MEANINGLESS[kinds[0]]:
        if flags[name] is not None:
            raise click.UsageError(f"{_flag(name)} has no meaning with {_flag(kinds[0])}")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _explanation(flags: Mapping[str, Any]) -> Explanation:
    from_at = flags["from_at"]
    from_ms = time.time_ns() // 1_000_000 if from_at is None else parse_instant(from_at, "from")
    return preview(
        _schedule(flags, from_ms),
        from_ms,
        flags["count"],
        parse_duration(flags["window"] or "PT0S", "window"),
        timezone=_zone(flags),
        run_at_local_ms=parse_local_time(flags["run_at"], "run_at") if _is_local(flags) else None,
        max_runs=flags["max_runs"],
    )


def _schedule(flags: Mapping[str, Any], from_ms: int) -> Schedule:
    timezone = _zone(flags)
    choices = as_gap(flags["dst_gap"] or "shift"), as_overlap(flags["dst_overlap"] or "first")
    bounds = [None if flags[name] is None else parse_instant(flags[name], name) for name in ("start_at", "end_at")]
    if flags["every"] is not None:
        return Every.anchored(parse_duration(flags["every"], "every"), from_ms, *bounds)
    if flags["expression"] is not None:
        return CronSchedule(flags["expression"], timezone, *choices, *bounds)
    if _is_local(flags):
        return OneOff.at_local_time(flags["run_at"], timezone, *choices)
    return OneOff.at_instant(flags["run_at"])


def _zone(flags: Mapping[str, Any]) -> str:
    return "UTC" if flags["timezone"] is None else str(flags["timezone"])


def _is_local(flags: Mapping[str, Any]) -> bool:
    """Whether a single run is given on the clock of a zone."""
    run_at = flags["run_at"]
    return run_at is not None and flags["timezone"] is not None and not _WITH_OFFSET.fullmatch(run_at)


def _print_for_people(explanation: Explanation) -> None:
    click.echo(explanation.text)
    occurrences = [(_shown(format_instant(each.at_ms)), *_day_and_time(each.local)) for each in explanation.occurrences]
    changes = [
        (_shown(each.before), _shown(each.after), each.effect, each.detail) for each in explanation.clock_changes
    ]
    warnings = [(each.code, each.detail) for each in explanation.warnings]
    _print_if_any(("UTC", "DAY", "LOCAL"), occurrences)
    _print_if_any(("CLOCK BEFORE", "CLOCK AFTER", "EFFECT", "CLOCK CHANGE"), changes)
    _print_if_any(("WARNING", "MEANING"), warnings)


def _print_if_any(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    if rows:
        click.echo()
        print_table(columns, rows)


def _day_and_time(local: str) -> tuple[str, str]:
    return _WEEKDAYS[date.fromisoformat(local[:_DATE_LENGTH]).weekday()], _shown(local)


def _shown(instant: str) -> str:
    """An instant for people: a blank for the T, and no thousandths where there are none."""
    return instant.replace("T", " ").replace(".000", "")
