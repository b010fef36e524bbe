"""What the stream of the jobs table tells of runs that have ended."""

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from carillon.domain.run import RunState
from carillon.domain.statistics import Ending, Told
from carillon.entrypoint.observability import Handler, LambdaContext
from carillon.ports.edges import Meter

logger = logging.getLogger("carillon")

_RUN_KIND = "run"
_RUN_PREFIX = "RUN#"
_WORD = re.compile(r"[a-z][a-z0-9_]{0,39}", re.ASCII)
OTHER_REASON = "other"

Record = Mapping[str, Any]


def ending_handler(count: Callable[[Sequence[Told]], None], meter: Meter) -> Handler:
    """A Lambda handler of the table's stream: all of a batch is counted, or told again from its beginning.

    Never from its middle: what was counted is remembered by where a batch began. So a record that cannot be read is
    left out and told of, instead of holding up the others for ever.
    """

    def handler(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
        records = event["Records"]
        told = [one for one in (_told(record, meter) for record in records) if one]
        try:
            count(told)
        except Exception:
            meter.count("counting_failed")
            logger.exception("counting failed", extra={"action": "counting_failed"})
            return {"batchItemFailures": [{"itemIdentifier": records[0]["dynamodb"]["SequenceNumber"]}]}
        meter.count("runs_counted", sum(one.ending.runs for one in told))
        return {"batchItemFailures": []}

    return handler


def _told(record: Record, meter: Meter) -> Told | None:
    try:
        ending = _ending(record["dynamodb"])
        return None if ending is None else Told(str(record["eventID"]), ending)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        meter.count("ending_unreadable")
        logger.error("ending unreadable", extra={"action": "ending_unreadable", "why": repr(error)})  # noqa: TRY400 - the trace says no more
        return None


def _ending(change: Record) -> Ending | None:
    """The end of a run that a change of its item is, or None when it is none.

    Notices and challenges are no runs of their jobs. A dead letter that was redriven ends again: its first start was
    counted at its first end, and so were the attempts until then.
    """
    before, after = change.get("OldImage") or {}, change.get("NewImage") or {}
    if after.get("kind", {}).get("S") != _RUN_KIND or not after["sk"]["S"].startswith(_RUN_PREFIX):
        return None
    state = RunState(after["state"]["S"])
    if not state.has_ended or (before and RunState(before["state"]["S"]).has_ended):
        return None
    spent = _number(after, "spent") or 0
    return Ending(
        tenant=str(after["tenant"]["S"]),
        state=state,
        reason=_reason(after),
        ended_at=int(after["ended_at"]["N"]),
        runs=int(json.loads(after["block"]["S"])[0]) if "block" in after else 1,
        attempts=int(after["attempt"]["N"]) - spent,
        lateness_ms=None if spent else _number(after, "lateness_ms"),
    )


def _number(item: Record, name: str) -> int | None:
    return int(item[name]["N"]) if name in item else None


def _reason(item: Record) -> str | None:
    """The word that says why; one that is none would not fit among the counts."""
    if "reason" not in item:
        return None
    reason = str(item["reason"]["S"])
    return reason if _WORD.fullmatch(reason) else OTHER_REASON
