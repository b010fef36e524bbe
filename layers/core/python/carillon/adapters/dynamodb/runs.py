"""The store of runs in DynamoDB."""

from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Item, number, text
from carillon.adapters.dynamodb.database import Database, Written
from carillon.adapters.dynamodb.run_items import run_item, run_key, run_of
from carillon.adapters.dynamodb.writes import ABSENT, put, update
from carillon.domain.identity import RunKey
from carillon.domain.planning import DueRun
from carillon.domain.run import Run
from carillon.ports import Refused, RunPage, Saved, UnreadableItemError

_SAME_REV: Final = f"#{k.REV} = :seen"
_STILL_WAITS: Final = f"#{k.WAIT} = :{k.WAIT} AND attribute_exists(#{k.NEXT_FIRE_TIME})"
_RUNS_OF_JOB: Final = f"#{k.PK} = :pk AND #{k.SK} BETWEEN :oldest AND :newest"
_PAST_ALL_NAMES: Final = "~"


class DynamoRunStore:
    """Records of runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: RunKey) -> Run | None:
        """The record, read with strong consistency, or None."""
        item = self._database.get(self._database.jobs, run_key(key))
        return None if item is None else run_of(item)

    def save(self, run: Run, *, seen: int | None) -> Saved | Refused:
        """Write a record if the stored one still has the rev `seen` (None: if there is none)."""
        item = run_item(run)
        if seen is None:
            written = self._database.write(put(self._database.jobs, item, ABSENT))
        else:
            written = self._database.write(put(self._database.jobs, item, _SAME_REV, {":seen": number(seen)}))
        if isinstance(written, Written):
            return Saved(run)
        stored = run_of(written.old) if written.old else None
        return Saved(run) if stored == run else Refused(stored)

    def list_newest(self, job_id: str, limit: int, before: str | None) -> RunPage:
        """A job's runs, newest nominal time first, from before the name given; damaged ones are left out."""
        values = {
            ":pk": text(k.job_pk(job_id)),
            ":oldest": text(k.run_sk("")),
            ":newest": text(k.run_sk(_PAST_ALL_NAMES if before is None else before)),
        }
        found: list[Item] = []
        for page in self._database.query(
            self._database.jobs, _RUNS_OF_JOB, values, newest_first=True, page_limit=limit + 2
        ):
            # The bounds of a range are within it, so the name to go on before comes along.
            found.extend(item for item in page if before is None or item[k.SK]["S"] != k.run_sk(before))
            if len(found) > limit:
                break
        names = [k.run_name_in(item[k.SK]["S"]) for item in found[:limit]]
        runs = tuple(run for run in map(_run_if_readable, found[:limit]) if run)
        return RunPage(runs, names[-1] if len(found) > limit else None)

    def leave_index(self, entry: DueRun) -> bool:
        """Take a waiting run out of the due index if it still waits with the entry's wait number."""
        key = run_key(RunKey(entry.job_id, entry.name))
        values = {f":{k.WAIT}": number(entry.wait)}
        write = update(self._database.jobs, key, f"REMOVE #{k.SHARD}", _STILL_WAITS, values)
        return isinstance(self._database.write(write), Written)


def _run_if_readable(item: Item) -> Run | None:
    try:
        return run_of(item)
    except UnreadableItemError:
        return None
