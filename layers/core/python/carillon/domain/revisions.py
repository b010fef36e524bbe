"""The revisions of a job's schedule: which generation answers for which nominal times.

A message names the generation that planned it, and is as old as its queue lets it become: so revisions are kept for as
long as a message may ask for them, and an edit that would push out a younger one is refused.
"""

from dataclasses import replace

from carillon.domain.instants import DAY_MS
from carillon.domain.job import Definition, Job, JobSpec, Revision, RevisionKind

MOST_REVISIONS = 50
REVISIONS_KEPT_MS = 15 * DAY_MS
"""No message is older than the 14 days that a queue keeps it: a revision younger than this may still be asked for."""


class TooManyEditsError(Exception):
    """One more edit would push out a revision that a message may still refer to.

    `retry_at` is the instant from which it would do, epoch ms; `wait_ms` how long that is from the edit.
    """

    def __init__(self, retry_at: int, now_ms: int) -> None:
        super().__init__("too many edits")
        self.retry_at = retry_at
        self.wait_ms = retry_at - now_ms


def newest_revision(spec: JobSpec) -> Revision:
    """The revision that governs in the end."""
    return max(spec.revisions, key=lambda revision: revision.generation)


def paused_since(seen: Definition) -> int:
    """The instant of the pause, or of the last edit during it."""
    return newest_revision(seen.spec).since - 1


def revised(spec: JobSpec, job: Job, kind: RevisionKind, now_ms: int, *, forced: bool = False) -> Definition:
    """The job with a new revision of its schedule, from the next millisecond on.

    A cancel is never refused: it is the last revision, and leaves nothing that an older one could be asked for.

    Raises:
        TooManyEditsError: too many young revisions, and not `forced`.
    """
    kept = _still_asked_for(spec.revisions, now_ms)
    if len(kept) >= MOST_REVISIONS and not forced:
        raise TooManyEditsError(kept[1].since + REVISIONS_KEPT_MS, now_ms)
    revised = replace(
        next_revision(spec, now_ms),
        revisions=(*kept, Revision(job.generation, now_ms + 1, kind)),
        listed_state=_LISTED_STATES.get(kind, "active"),
        state_reason=spec.state_reason if kind is RevisionKind.PAUSED else None,
    )
    return Definition(job, revised)


_LISTED_STATES = {RevisionKind.PAUSED: "paused", RevisionKind.CANCELLED: "cancelled"}


def _still_asked_for(revisions: tuple[Revision, ...], now_ms: int) -> tuple[Revision, ...]:
    """The revisions that a message in a queue may need: those that governed in the last 15 days."""
    ended_by = [*revisions[1:], None]
    return tuple(
        revision
        for revision, successor in zip(revisions, ended_by, strict=True)
        if successor is None or successor.since > now_ms - REVISIONS_KEPT_MS
    )


def next_revision(spec: JobSpec, now_ms: int) -> JobSpec:
    """The other half of a job with something changed: its ETag rises."""
    return replace(spec, revision=spec.revision + 1, updated_at=now_ms)
