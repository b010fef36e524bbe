"""`carillon stats`: what became of runs, by the hour."""

import time
from collections.abc import Mapping
from typing import Any

import click

from carillon.domain.instants import format_instant
from carillon_cli.config import Service, uses_service
from carillon_cli.output import note, print_fields, print_json, print_table, shown_ms
from carillon_cli.shorthand import duration_ms

_ENDS = ("total", "succeeded", "dead_lettered", "cancelled", "skipped")
_HOUR_COLUMNS = ("HOUR", *(name.upper() for name in _ENDS), "ATTEMPTS", "P50", "P95", "P99")
_QUEUE_COLUMNS = ("QUEUE", "WAITING", "DELAYED", "IN FLIGHT", "OLDEST")


class _TimeType(click.ParamType[str]):
    """An instant, which the service reads, or how long ago it was."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002 - click's signature
        """The instant."""
        text = str(value)
        try:
            return format_instant(max(time.time_ns() // 1_000_000 - duration_ms(text), 0))
        except ValueError:
            return text


_TIME = _TimeType()


@click.command()
@click.option("--since", type=_TIME, metavar="TIME", help="From this instant on, or so long ago, such as 6h.  [24h]")
@click.option("--until", type=_TIME, metavar="TIME", help="Until this instant, or until so long ago.  [now]")
@click.option("--hours", "by_hour", is_flag=True, help="Also each hour by itself.")
@uses_service()
def stats(service: Service, since: str | None, until: str | None, *, by_hour: bool) -> None:
    """Count what became of runs that ended within some time, in whole hours, and what waits in the queues now.

    Seven days are kept. Lateness is how long after its time a run's first attempt began.
    """
    found = service.client.statistics(since, until)
    if service.as_json:
        print_json(found)
        return
    _print(found)
    if by_hour:
        click.echo()
        print_table(_HOUR_COLUMNS, map(_row_of_hour, found.get("hours", [])))
    click.echo()
    print_table(_QUEUE_COLUMNS, (_row_of_queue(name, each) for name, each in found.get("queues", {}).items()))
    if found.get("unknown"):
        note(f"not known now: {', '.join(found['unknown'])}")


def _print(found: Mapping[str, Any]) -> None:
    runs, share = found.get("runs") or {}, found.get("success_share")
    lateness, reasons = found.get("lateness_ms") or {}, found.get("reasons") or {}
    print_fields(
        [
            ("since", found.get("since")),
            ("until", found.get("until")),
            ("runs", runs.get("total")),
            *((name, _with_reasons(runs.get(name), reasons.get(name) or {})) for name in _ENDS[1:]),
            ("success", None if share is None else f"{share:.2%}"),
            ("attempts", found.get("attempts")),
            *((f"lateness {each}", _bound(lateness.get(each))) for each in ("p50", "p95", "p99")),
        ]
    )


def _with_reasons(many: object, reasons: Mapping[str, int]) -> str:
    told = ", ".join(f"{count} {reason}" for reason, count in reasons.items())
    return f"{many} ({told})" if told else str(many)


def _bound(lateness_ms: object) -> str | None:
    return None if lateness_ms is None else f"at most {shown_ms(lateness_ms)}"


def _row_of_hour(hour: Mapping[str, Any]) -> tuple[object, ...]:
    runs, lateness = hour.get("runs") or {}, hour.get("lateness_ms") or {}
    late = (shown_ms(lateness.get(each)) for each in ("p50", "p95", "p99"))
    return hour.get("hour"), *(runs.get(name) for name in _ENDS), hour.get("attempts"), *late


def _row_of_queue(name: str, figures: Mapping[str, Any]) -> tuple[object, ...]:
    age = figures.get("oldest_age_seconds")
    counts = (figures.get(each) for each in ("waiting", "delayed", "in_flight"))
    return name, *counts, None if age is None else f"{age} s"
