"""The store of runs in DynamoDB."""

from collections.abc import Sequence
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Item, number, text
from carillon.adapters.dynamodb.audit import telling
from carillon.adapters.dynamodb.database import Database, Written
from carillon.adapters.dynamodb.deferrals import run_deferral
from carillon.adapters.dynamodb.run_items import run_item, run_key, run_of
from carillon.adapters.dynamodb.writes import ABSENT, Write, put, update
from carillon.domain.audit import AuditEvent
from carillon.domain.dead_letters import place_at
from carillon.domain.due import DueRun
from carillon.domain.identity import RunKey
from carillon.domain.run import Run, RunState
from carillon.ports.errors import UnreadableItemError
from carillon.ports.runs import DeadPage, Refused, RunPage, Saved

_SAME_REV: Final = f"#{k.REV} = :seen"
_STILL_WAITS: Final = f"#{k.WAIT} = :{k.WAIT} AND attribute_exists(#{k.NEXT_FIRE_TIME})"
_RUNS_OF_JOB: Final = f"#{k.PK} = :pk AND #{k.SK} BETWEEN :oldest AND :newest"
_PAST_ALL_NAMES: Final = "~"
_DEAD_OF_TENANT: Final = f"#{k.DEAD_TENANT} = :tenant AND #{k.DEAD_AT} >= :since"


class DynamoRunStore:
    """Records of runs."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, key: RunKey) -> Run | None:
        """The record, read with strong consistency, or None."""
        item = self._database.get(self._database.jobs, run_key(key))
        return None if item is None else run_of(item)

    def save(self, run: Run, *, seen: int | None, event: AuditEvent | None = None) -> Saved | Refused:
        """Write a record if the stored one still has the rev `seen` (None: if there is none), and the event of it."""
        written = self._database.write_with(self._put(run, seen), telling(self._database, event))
        return Saved(run) if isinstance(written, Written) else _judged(run, written.old)

    def end_with_notice(
        self, run: Run, notice: Run, *, seen: int | None, event: AuditEvent | None = None
    ) -> Saved | Refused:
        """Write the end of a run, and the first record of the notice that tells of it; both or neither."""
        writes = [self._put(run, seen), self._put(notice, None), *telling(self._database, event)]
        cancelled = self._database.transact(writes)
        return Saved(run) if cancelled is None else _judged(run, cancelled.failed.get(0))

    def _put(self, run: Run, seen: int | None) -> Write:
        if seen is None:
            return put(self._database.jobs, run_item(run), ABSENT)
        return put(self._database.jobs, run_item(run), _SAME_REV, {":seen": number(seen)})

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

    def list_dead(self, tenant: str, since_ms: int, limit: int, after: str | None) -> DeadPage:
        """A tenant's dead letters that died at or after an instant, the latest first; damaged ones are left out."""
        found: list[Item] = []
        for page in self._database.query(
            self._database.jobs,
            _DEAD_OF_TENANT,
            {":tenant": text(tenant), ":since": number(since_ms)},
            index=k.DEAD_INDEX,
            newest_first=True,
            page_limit=limit + 1,
            start=None if after is None else _dead_entry(tenant, *place_at(after)),
        ):
            found.extend(page)
            if len(found) > limit:
                break
        runs = self._dead_runs(found[:limit])
        return DeadPage(runs, _position(found[limit - 1]) if len(found) > limit else None)

    def _dead_runs(self, entries: Sequence[Item]) -> tuple[Run, ...]:
        """The records behind entries of the index, in their order; those that are dead letters no more are left out."""
        keys = [{name: entry[name] for name in (k.PK, k.SK)} for entry in entries]
        items = {
            (item[k.PK]["S"], item[k.SK]["S"]): item for item in self._database.get_many(self._database.jobs, keys)
        }
        stored = (items.get((key[k.PK]["S"], key[k.SK]["S"])) for key in keys)
        runs = (_run_if_readable(item) for item in stored if item)
        return tuple(run for run in runs if run and run.state is RunState.DEAD_LETTERED)

    def leave_index(self, entry: DueRun) -> bool:
        """Take a waiting run out of the due index if it still waits with the entry's wait number."""
        key = run_key(RunKey(entry.job_id, entry.name))
        values = {f":{k.WAIT}": number(entry.wait)}
        write = update(self._database.jobs, key, f"REMOVE #{k.SHARD}", _STILL_WAITS, values)
        return isinstance(self._database.write(write), Written)

    def defer(self, entry: DueRun, until_ms: int, *, granted: bool) -> bool:
        """Move a waiting run to its slot, if it is still in the due index with the entry's wait number."""
        deferral = run_deferral(self._database.jobs, entry, until_ms, granted=granted)
        return isinstance(self._database.write(deferral), Written)


def _judged(run: Run, old: Item | None) -> Saved | Refused:
    """What a refused write of a run means, by the stored item: it may have come of an earlier try."""
    stored = run_of(old) if old else None
    return Saved(run) if stored == run else Refused(stored)


def _dead_entry(tenant: str, died_at: int, key: RunKey) -> Item:
    """The key of an entry of the index of dead letters."""
    return run_key(key) | {k.DEAD_TENANT: text(tenant), k.DEAD_AT: number(died_at)}


def _position(entry: Item) -> str:
    job_id, name = k.job_id_in(entry[k.PK]["S"]), k.run_name_in(entry[k.SK]["S"])
    return f"{entry[k.DEAD_AT]['N']}/{job_id}@{name}"


def _run_if_readable(item: Item) -> Run | None:
    try:
        return run_of(item)
    except UnreadableItemError:
        return None
