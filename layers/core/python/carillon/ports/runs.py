"""The store of runs, with what it answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # types alone: who uses a part of this loads no other
    from carillon.domain.audit import AuditEvent
    from carillon.domain.due import DueRun
    from carillon.domain.identity import RunKey
    from carillon.domain.run import Run


@dataclass(frozen=True, slots=True)
class Saved:
    """The write holds (also when an earlier, unanswered try of the same write had succeeded)."""

    run: Run


@dataclass(frozen=True, slots=True)
class Refused:
    """Somebody else wrote first: `run` is the stored record (None: there is none)."""

    run: Run | None


@dataclass(frozen=True, slots=True)
class RunPage:
    """A page of a job's runs, newest first; `next_before` is the name to go on before, or None at the end."""

    runs: tuple[Run, ...]
    next_before: str | None


@dataclass(frozen=True, slots=True)
class DeadPage:
    """A page of dead letters, the latest first; `next_after` is the position to go on behind, or None at the end."""

    runs: tuple[Run, ...]
    next_after: str | None


class RunStore(Protocol):
    """Records of runs. A run is written whole, on the condition of the `rev` that was read."""

    def get(self, key: RunKey) -> Run | None:
        """The record, read with strong consistency, or None.

        Raises:
            UnreadableItemError: the stored record is damaged.
        """
        ...

    def save(self, run: Run, *, seen: int | None, event: AuditEvent | None = None) -> Saved | Refused:
        """Write a record if the stored one still has the rev `seen` (None: if there is none), and the event of it.

        It is in the due index while `next_fire_time` is set, and in the index of dead letters while dead-lettered.
        """
        ...

    def end_with_notice(
        self, run: Run, notice: Run, *, seen: int | None, event: AuditEvent | None = None
    ) -> Saved | Refused:
        """Write the end of a run as `save` does, and the first record of the notice that tells of it; both or neither.

        The notice is in the due index from then on. It is found by `get`, and not listed among the job's runs.
        """
        ...

    def list_newest(self, job_id: str, limit: int, before: str | None) -> RunPage:
        """A job's runs without notices, newest nominal time first, from before the name given."""
        ...

    def list_dead(self, tenant: str, since_ms: int, limit: int, after: str | None) -> DeadPage:
        """A tenant's dead letters that died at or after an instant (epoch ms), the latest first.

        A position reads `<when it died, epoch ms>/<run id>`. What has been redriven meanwhile is simply missing, so a
        page may be short while `next_after` is set; what has died a moment ago may be missing too.
        """
        ...

    def leave_index(self, entry: DueRun) -> bool:
        """Take a waiting run out of the due index if it still waits with the entry's wait number."""
        ...

    def defer(self, entry: DueRun, until_ms: int, *, granted: bool) -> bool:
        """Move a waiting run to its slot in the due index, rev + 1, if it is still there with the entry's wait."""
        ...
