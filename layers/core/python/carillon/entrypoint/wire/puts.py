"""From the document of a job under a name to the wish for it."""

from carillon.application.create_job import NewJob
from carillon.application.put_job import Wish
from carillon.domain.job import Definition
from carillon.domain.schedule import OneOff, Schedule, ScheduleError, decode
from carillon.domain.targets import TargetPolicy
from carillon.entrypoint.json_text import JsonObject
from carillon.entrypoint.problems import FieldError, invalid
from carillon.entrypoint.wire.documents import DelayDocument, JobDocument
from carillon.entrypoint.wire.jobs import read_payload, read_wish
from carillon.entrypoint.wire.refusals import validated


def read_put(sent: JsonObject, name: str, policy: TargetPolicy) -> Wish:
    """The wish for the job of a name, as of an instant that is known later.

    Args:
        sent: the document, with the text of its payload; it may leave the name out.
        name: of the job.
        policy: which targets the stage and the tenant allow.

    Raises:
        Refusal: its shape is not valid; each error names its field. The wish itself raises it for what is left.
    """
    payload = read_payload(sent)
    if sent.members.get("name", name) != name:
        raise invalid([FieldError("pointer", "/name", "conflicting_fields", "must be that of the path, or missing")])
    document = validated(JobDocument, {**sent.members, "name": name})

    def wish(now_ms: int, seen: Definition | None) -> NewJob:
        return read_wish(
            document, payload, policy, now_ms, schedule=None if seen is None else _asked_before(document, seen)
        )

    return wish


def _asked_before(document: JobDocument, seen: Definition) -> Schedule | None:
    """The stored schedule, if it is what the same delay came to when it was asked for first.

    A delay counts from the request that begins it: said again, it would begin again each time.
    """
    if not isinstance(document.schedule, DelayDocument):
        return None
    try:
        before = decode(seen.job.schedule)
    except ScheduleError:  # damaged: the wish mends it
        return None
    if not isinstance(before, OneOff):
        return None
    begun = before.at_ms - document.schedule.delay
    # An edit governs from the millisecond after it, a creation from its own.
    return before if any(begun in (each.since - 1, each.since) for each in seen.spec.revisions) else None
