"""From the document of a schedule to the schedule."""

from carillon.domain.instants import parse_instant
from carillon.domain.schedule import CronSchedule, Every, OneOff, Schedule, ScheduleError
from carillon.entrypoint.wire.documents import CronDocument, DelayDocument, EveryDocument, RunAtDocument

Recurring = CronDocument | EveryDocument
AnySchedule = RunAtDocument | DelayDocument | Recurring


def read_schedule(document: AnySchedule, now_ms: int) -> Schedule:
    """The schedule of a document.

    Args:
        document: of the right shape.
        now_ms: the instant of creation, epoch ms: delays and intervals count from it.

    Raises:
        ScheduleError: a value in it cannot be; the error names the field.
    """
    match document:
        case RunAtDocument():
            return _one_off(document)
        case DelayDocument(delay=delay_ms):
            return OneOff.after_delay(delay_ms, now_ms)
        case EveryDocument(every=interval_ms):
            return Every.anchored(interval_ms, now_ms, *_bounds(document))
        case CronDocument():
            start_ms, end_ms = _bounds(document)
            return CronSchedule(
                document.cron, document.timezone, document.dst_gap, document.dst_overlap, start_ms, end_ms
            )


def max_runs_of(document: AnySchedule) -> int | None:
    """How often the job runs at most."""
    return document.max_runs if isinstance(document, Recurring) else None


def is_local(document: RunAtDocument) -> bool:
    """Whether a single run is given on the clock of a zone: then the zone is named."""
    return "timezone" in document.model_fields_set


def _one_off(document: RunAtDocument) -> OneOff:
    if is_local(document):
        return OneOff.at_local_time(document.run_at, document.timezone, document.dst_gap, document.dst_overlap)
    for field in sorted(document.model_fields_set & {"dst_gap", "dst_overlap"}):
        raise ScheduleError(field, "has no meaning for an instant", "together with a local time and a timezone")
    return OneOff.at_instant(document.run_at)


def _bounds(document: Recurring) -> tuple[int | None, int | None]:
    return (
        None if document.start_at is None else parse_instant(document.start_at, "start_at"),
        None if document.end_at is None else parse_instant(document.end_at, "end_at"),
    )
