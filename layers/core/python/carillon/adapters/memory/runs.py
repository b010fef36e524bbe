"""The store of runs in memory."""

from dataclasses import replace

from carillon.adapters.memory.state import MemoryState
from carillon.domain.audit import AuditEvent
from carillon.domain.dead_letters import Place, place_at, place_of, position_of
from carillon.domain.identity import RunKey, is_aside_name
from carillon.domain.planning import DueRun
from carillon.domain.run import Run, RunState
from carillon.ports.runs import DeadPage, Refused, RunPage, Saved


class MemoryRunStore:
    """Records of runs."""

    def __init__(self, state: MemoryState) -> None:
        self._state = state

    def get(self, key: RunKey) -> Run | None:
        """The record, or None."""
        with self._state.lock:
            return self._state.runs[key.job_id].get(key.name)

    def save(self, run: Run, *, seen: int | None, event: AuditEvent | None = None) -> Saved | Refused:
        """Write a record if the stored one still has the rev `seen` (None: if there is none), and the event of it."""
        with self._state.lock:
            stored = self.get(run.key)
            if (stored.rev if stored else None) == seen:
                self._state.put_run(run)
                self._state.tell(event)
                return Saved(run)
        return Saved(run) if stored == run else Refused(stored)

    def end_with_notice(
        self, run: Run, notice: Run, *, seen: int | None, event: AuditEvent | None = None
    ) -> Saved | Refused:
        """Write the end of a run, and the first record of the notice that tells of it; both or neither."""
        with self._state.lock:
            known = self.get(run.key) == run
            saved = self.save(run, seen=seen, event=event)
            if isinstance(saved, Saved) and not known:
                self._state.put_run(notice)
            return saved

    def list_newest(self, job_id: str, limit: int, before: str | None) -> RunPage:
        """A job's runs, newest nominal time first, from before the name given."""
        with self._state.lock:
            runs = self._state.runs[job_id]
            listed = (name for name in runs if not is_aside_name(name))
            names = sorted((name for name in listed if before is None or name < before), reverse=True)
            page = tuple(runs[name] for name in names[:limit])
        return RunPage(page, page[-1].key.name if len(names) > limit else None)

    def list_dead(self, tenant: str, since_ms: int, limit: int, after: str | None) -> DeadPage:
        """A tenant's dead letters that died at or after an instant, the latest first."""
        with self._state.lock:
            runs = [run for of_job in self._state.runs.values() for run in of_job.values()]
        dead = (run for run in runs if run.tenant == tenant and run.state is RunState.DEAD_LETTERED)
        bound = None if after is None else _bound(after)
        wanted = [run for run in dead if place_of(run)[0] >= since_ms and (bound is None or place_of(run) < bound)]
        wanted.sort(key=place_of, reverse=True)
        return DeadPage(tuple(wanted[:limit]), position_of(wanted[limit - 1]) if len(wanted) > limit else None)

    def leave_index(self, entry: DueRun) -> bool:
        """Take a waiting run out of the due index if it still waits with the entry's wait number."""
        with self._state.lock:
            stored = self._state.runs[entry.job_id].get(entry.name)
            if stored is None or stored.next_fire_time is None or stored.wait != entry.wait:
                return False
            self._state.hand_over((entry.job_id, entry.name))
            return True

    def defer(self, entry: DueRun, until_ms: int, *, granted: bool) -> bool:
        """Move a waiting run to its slot, if it is still in the due index with the entry's wait number."""
        with self._state.lock:
            key = (entry.job_id, entry.name)
            shown, stored = self._state.entry_of(key), self._state.runs[entry.job_id].get(entry.name)
            if shown is None or stored is None or shown.wait != entry.wait:
                return False
            self._state.put_run(replace(stored, rev=stored.rev + 1, next_fire_time=until_ms, granted=granted))
            return True


def _bound(position: str) -> Place:
    died_at, key = place_at(position)
    return died_at, key.run_id
