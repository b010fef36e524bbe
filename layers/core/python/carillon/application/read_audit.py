"""Reading what was done, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass

from carillon.application.walking import Walked, walk
from carillon.domain.audit import Action, AuditEvent, bounds
from carillon.ports.tenancy import AuditTrail


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Which events are wanted: all that is named holds.

    Attributes:
        action: what was done.
        actor: the id of who did it.
        target: the id of what it was done to; that of a job stands for its runs too.
        since_ms: at or after this instant, epoch ms.
        until_ms: before this instant, epoch ms.
    """

    action: Action | None = None
    actor: str | None = None
    target: str | None = None
    since_ms: int | None = None
    until_ms: int | None = None

    def admits(self, event: AuditEvent) -> bool:
        """Whether an event of the time is wanted."""
        return (
            self.action in (None, event.action)
            and self.actor in (None, event.actor.id)
            and (self.target is None or event.concerns(self.target))
        )

    @property
    def is_only_of_time(self) -> bool:
        """Whether every event of the time is wanted."""
        return self.action is None and self.actor is None and self.target is None


@dataclass(frozen=True, slots=True)
class ListAuditEvents:
    """A tenant's audit events."""

    trail: AuditTrail

    def __call__(self, tenant: str, wanted: AuditFilter, limit: int, before: str | None) -> Walked[AuditEvent]:
        """A page of the list, from before the event of the id `before`."""
        first, last = bounds(wanted.since_ms, wanted.until_ms)

        def fetch(count: int, position: str | None) -> tuple[Sequence[AuditEvent], str | None]:
            page = self.trail.list_newest(tenant, count, position, first)
            return page.events, page.next_before

        return walk(
            fetch,
            admits=None if wanted.is_only_of_time else wanted.admits,
            position_of=lambda event: event.id,
            limit=limit,
            start=last if before is None else before,
        )
