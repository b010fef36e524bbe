"""What the stream of the jobs table tells: which jobs the TTL took, and which jobs count no more."""

import logging
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from carillon.entrypoint.observability import Handler, LambdaContext
from carillon.ports.edges import Meter
from carillon.ports.tenancy import FreedJobs

logger = logging.getLogger("carillon")

_TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
_JOB_KIND = "job"
_JOB_PREFIX = "JOB#"


Record = Mapping[str, Any]


def removal_handler(remove: Callable[[str, str | None], None], freed: FreedJobs, meter: Meter) -> Handler:
    """A Lambda handler of the table's stream with partial answers: on failure, from the first failed record on again.

    What was done of those behind it is done again then, which changes nothing.
    """

    def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
        records = event["Records"]
        not_done = [*_free(records, freed, meter), *_remove(records, remove, meter)]
        if not not_done:
            return {"batchItemFailures": []}
        return {"batchItemFailures": [{"itemIdentifier": records[min(not_done)]["dynamodb"]["SequenceNumber"]}]}

    return handler


def _remove(records: Sequence[Record], remove: Callable[[str, str | None], None], meter: Meter) -> list[int]:
    """Clear up behind the jobs that the TTL took; gives the position of the first that failed."""
    for position, record in enumerate(records):
        job_id = _expired_job(record)
        if job_id is None:
            continue
        try:
            remove(job_id, _owner_of_objects(record))
        except Exception:
            meter.count("removal_failed")
            logger.exception("removal failed", extra={"action": "removal_failed", "job_id": job_id})
            return [position]
    return []


def _free(records: Sequence[Record], freed: FreedJobs, meter: Meter) -> list[int]:
    """Count no more what counts no more, all of a tenant and a second together; gives the positions that failed."""
    groups: defaultdict[tuple[str, int], dict[int, tuple[str, int]]] = defaultdict(dict)
    for position, record in enumerate(records):
        place = _place_left(record)
        if place is not None:
            tenant = str(record["dynamodb"]["OldImage"]["tenant"]["S"])
            second = int(record["dynamodb"]["ApproximateCreationDateTime"])
            groups[tenant, second][position] = (str(record["eventID"]), place)
    not_done: list[int] = []
    for (tenant, second), places in groups.items():
        try:
            freed.free(tenant, second, dict(places.values()))
            meter.count("places_freed", len(places))
        except Exception:
            meter.count("freeing_failed")
            logger.exception("freeing failed", extra={"action": "freeing_failed", "tenant": tenant})
            not_done.extend(places)
    return not_done


def _place_left(record: Record) -> int | None:
    """The mark of a job that counted until this change of it, or None when it counts still or did not before."""
    change = record.get("dynamodb", {})
    before, after = change.get("OldImage", {}), change.get("NewImage", {})
    if before.get("kind", {}).get("S") != _JOB_KIND or "counted" not in before or "counted" in after:
        return None
    return int(before["counted"]["N"])


def _expired_job(record: Record) -> str | None:
    """The job of a record that says that the TTL removed its hot half, else None."""
    identity = record.get("userIdentity") or {}
    old = record.get("dynamodb", {}).get("OldImage", {})
    if record.get("eventName") != "REMOVE" or any(identity.get(name) != value for name, value in _TTL.items()):
        return None
    pk = old.get("pk", {}).get("S", "")
    if old.get("kind", {}).get("S") != _JOB_KIND or not pk.startswith(_JOB_PREFIX):
        return None
    return str(pk.removeprefix(_JOB_PREFIX))


def _owner_of_objects(record: Record) -> str | None:
    """The tenant of a job that had uploaded payloads."""
    old = record["dynamodb"]["OldImage"]
    return str(old["tenant"]["S"]) if old.get("has_objects", {}).get("BOOL") is True else None
