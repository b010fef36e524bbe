"""Deferrals: jobs and runs that are not sent but moved to their slot in the due index, by one update each.

Three write units: the item, and the index, which takes an entry out and puts one in.
"""

from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import TRUE, ZERO, Item, number
from carillon.adapters.dynamodb.database import Lost
from carillon.adapters.dynamodb.fenced import Answer, FencedUpdate
from carillon.adapters.dynamodb.job_items import job_if_readable, job_key
from carillon.adapters.dynamodb.run_items import run_key
from carillon.adapters.dynamodb.writes import Write, setting, update
from carillon.adapters.store_rules import was_deferred
from carillon.domain.due import DueRun
from carillon.domain.identity import RunKey
from carillon.ports.jobs import JobDeferral

_STILL_THERE: Final = f"#{k.WAIT} = :{k.WAIT} AND attribute_exists(#{k.SHARD})"


def job_deferral(table: str, deferral: JobDeferral) -> FencedUpdate:
    """The update of a job that nobody has claimed."""
    entry = deferral.entry
    sets, removes = _moved(deferral.until_ms, granted=deferral.granted)
    return FencedUpdate(
        table=table,
        key=job_key(entry.job_id, entry.segment),
        sets={**sets, k.VERSION: number(entry.version + 1)},
        removes=removes,
        equal={k.VERSION: number(entry.version), k.LEASE_UNTIL: ZERO},
        at_most={k.LEASE_EPOCH: number(deferral.epoch)},
    )


def is_deferred(answer: Answer, deferral: JobDeferral) -> bool:
    """Whether a deferral holds, by the answer to its update; an earlier try of it may have succeeded."""
    if not isinstance(answer, Lost):
        return answer is not None
    stored = job_if_readable(answer.old)
    return stored is not None and was_deferred(stored, deferral)


def run_deferral(table: str, entry: DueRun, until_ms: int, *, granted: bool) -> Write:
    """The update of a run that still waits in the due index."""
    sets, removes = _moved(until_ms, granted=granted)
    change, values = setting(sets, removing=removes)
    change = change.replace("SET ", f"SET #{k.REV} = #{k.REV} + :one, ", 1)
    values |= {":one": number(1), f":{k.WAIT}": number(entry.wait)}
    return update(table, run_key(RunKey(entry.job_id, entry.name)), change, _STILL_THERE, values)


def _moved(until_ms: int, *, granted: bool) -> tuple[Item, tuple[str, ...]]:
    moved = {k.NEXT_FIRE_TIME: number(until_ms)}
    return (moved | {k.GRANTED: TRUE}, ()) if granted else (moved, (k.GRANTED,))
