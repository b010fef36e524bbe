"""The document that asks what a schedule means."""

from typing import Annotated, cast

from pydantic import Field

from carillon.answers import Instant
from carillon.domain.explaining.explanation import MOST_OCCURRENCES, Explanation, preview
from carillon.domain.instants import parse_local_time
from carillon.domain.schedule import ScheduleError
from carillon.entrypoint.json_text import JsonObject
from carillon.entrypoint.problems import invalid
from carillon.entrypoint.wire.documents import RunAtDocument, ScheduleDocument, Window
from carillon.entrypoint.wire.fields import Document, told, within
from carillon.entrypoint.wire.refusals import error_of_schedule, read_instant, validated
from carillon.entrypoint.wire.schedules import AnySchedule, is_local, max_runs_of, read_schedule

DEFAULT_COUNT = 10


class PreviewDocument(Document):
    """A schedule as in a job, and what is to be shown of it: `count` occurrences later than `from` (absent: now)."""

    schedule: Annotated[ScheduleDocument, told("as in a job")]
    from_at: Instant = Field(
        default="",
        alias="from",
        description="show what comes later than this; delays, and intervals without a start, count from it",
        json_schema_extra={"x-default": "now"},
    )
    count: Annotated[int, within(1, MOST_OCCURRENCES), told("1 to 1,000")] = DEFAULT_COUNT
    window: Annotated[Window, told("as in a job: several occurrences within one are warned of")] = 0


def read_preview(sent: JsonObject, now_ms: int) -> Explanation:
    """The explanation that is asked for. Delays, and intervals without a start, count from the instant `from`.

    Raises:
        Refusal: something in the document is not valid; each error names its field.
    """
    document = validated(PreviewDocument, sent.members)
    schedule = cast("AnySchedule", document.schedule)
    from_ms = read_instant(document.from_at, "/from") if "from_at" in document.model_fields_set else now_ms
    try:
        timezone, local_ms = _local_reading(schedule)
        return preview(
            read_schedule(schedule, from_ms),
            from_ms,
            document.count,
            document.window,
            timezone=timezone,
            run_at_local_ms=local_ms,
            max_runs=max_runs_of(schedule),
        )
    except ScheduleError as error:
        raise invalid([error_of_schedule(error)]) from None


def _local_reading(schedule: AnySchedule) -> tuple[str, int | None]:
    """The zone of a single run that was given as a time on its clock, and that time; UTC and None of all others."""
    if isinstance(schedule, RunAtDocument) and is_local(schedule):
        return schedule.timezone, parse_local_time(schedule.run_at, "run_at")
    return "UTC", None
