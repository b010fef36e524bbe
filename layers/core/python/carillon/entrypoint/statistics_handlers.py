"""The handler of statistics."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carillon.application.read_statistics import ReadStatistics, Statistics
from carillon.domain.instants import format_instant, parse_instant
from carillon.domain.run import RunState
from carillon.domain.schedule_error import ScheduleError
from carillon.domain.statistics import BadWindowError, Tally
from carillon.entrypoint.http_request import Answer, Request
from carillon.entrypoint.pages import bad_parameter, single

if TYPE_CHECKING:
    from carillon import answers
    from carillon.ports.statistics import QueueFigures


@dataclass(frozen=True, slots=True)
class StatisticsHandlers:
    """One method a route."""

    read: ReadStatistics

    def read_statistics(self, request: Request) -> Answer:
        """GET /v1/stats."""
        since, until = _instant(request, "since"), _instant(request, "until")
        try:
            found = self.read(request.tenant, since, until, request.now_ms)
        except BadWindowError as error:
            raise bad_parameter(error.field, "out_of_range", f"{error.detail}; allowed: {error.allowed}") from None
        return Answer(200, json.dumps(view_of_statistics(found)))


def _instant(request: Request, name: str) -> int | None:
    text = single(request, name)
    try:
        return None if text is None else parse_instant(text, name)
    except ScheduleError as error:
        raise bad_parameter(name, "invalid_value", f"{error.detail}; allowed: {error.allowed}") from None


def view_of_statistics(found: Statistics) -> "answers.Statistics":
    """Statistics as they are shown. What cannot be known is null, and named."""
    total = found.total
    return {
        "since": format_instant(found.window.since),
        "until": format_instant(found.window.until),
        "runs": _runs(total),
        "reasons": {
            "dead_lettered": dict(total.reasons(RunState.DEAD_LETTERED)),
            "cancelled": dict(total.reasons(RunState.CANCELLED)),
            "skipped": dict(total.reasons(RunState.SKIPPED)),
        },
        "success_share": None if total.success_share is None else round(total.success_share, 6),
        "attempts": total.attempts,
        "lateness_ms": _lateness(total),
        "hours": [
            {
                "hour": format_instant(hour),
                "runs": _runs(tally),
                "attempts": tally.attempts,
                "lateness_ms": _lateness(tally),
            }
            for hour, tally in found.hours.items()
        ],
        "queues": {name: _figures(figures) for name, figures in found.queues.items()},
        "unknown": _unknown(found.queues),
    }


def _runs(tally: Tally) -> "answers.EndCounts":
    return {
        "total": tally.total,
        "succeeded": tally.of(RunState.SUCCEEDED),
        "dead_lettered": tally.of(RunState.DEAD_LETTERED),
        "cancelled": tally.of(RunState.CANCELLED),
        "skipped": tally.of(RunState.SKIPPED),
    }


def _lateness(tally: Tally) -> "answers.Lateness":
    return {
        "count": tally.started,
        "p50": tally.percentile_ms(50),
        "p95": tally.percentile_ms(95),
        "p99": tally.percentile_ms(99),
    }


def _figures(figures: "QueueFigures") -> "answers.QueueFigures":
    return {
        "waiting": figures.waiting,
        "delayed": figures.delayed,
        "in_flight": figures.in_flight,
        "oldest_age_seconds": figures.oldest_age_seconds,
    }


def _unknown(queues: Mapping[str, "QueueFigures"]) -> list[str]:
    shown = {name: _figures(figures) for name, figures in queues.items()}
    return [f"/queues/{name}/{each}" for name, own in shown.items() for each, value in own.items() if value is None]
