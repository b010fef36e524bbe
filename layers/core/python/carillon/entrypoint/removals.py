"""Removals in the stream of the jobs table: which of them are jobs that the TTL took."""

import logging
from collections.abc import Callable
from typing import Any

from carillon.entrypoint.observability import Handler, LambdaContext
from carillon.ports.edges import Meter

logger = logging.getLogger("carillon")

_TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
_JOB_KIND = "job"
_JOB_PREFIX = "JOB#"


def removal_handler(remove: Callable[[str, str | None], None], meter: Meter) -> Handler:
    """A Lambda handler of the table's stream with partial answers: on failure, from the failed record on again."""

    def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
        for record in event["Records"]:
            job_id = _expired_job(record)
            if job_id is None:
                continue
            try:
                remove(job_id, _owner_of_objects(record))
            except Exception:
                meter.count("removal_failed")
                logger.exception("removal failed", extra={"action": "removal_failed", "job_id": job_id})
                return {"batchItemFailures": [{"itemIdentifier": record["dynamodb"]["SequenceNumber"]}]}
        return {"batchItemFailures": []}

    return handler


def _expired_job(record: dict[str, Any]) -> str | None:
    """The job of a record that says that the TTL removed its hot half, else None."""
    identity = record.get("userIdentity") or {}
    old = record.get("dynamodb", {}).get("OldImage", {})
    if record.get("eventName") != "REMOVE" or any(identity.get(name) != value for name, value in _TTL.items()):
        return None
    pk = old.get("pk", {}).get("S", "")
    if old.get("kind", {}).get("S") != _JOB_KIND or not pk.startswith(_JOB_PREFIX):
        return None
    return str(pk.removeprefix(_JOB_PREFIX))


def _owner_of_objects(record: dict[str, Any]) -> str | None:
    """The tenant of a job that had uploaded payloads."""
    old = record["dynamodb"]["OldImage"]
    return str(old["tenant"]["S"]) if old.get("has_objects", {}).get("BOOL") is True else None
