"""Reading what was done, newest first."""

from collections.abc import Sequence
from dataclasses import dataclass

from carillon.application.walking import Walked, walk
from carillon.domain.audit import Action, AuditEvent
from carillon.ports.tenancy import AuditTrail


@dataclass(frozen=True, slots=True)
class ListAuditEvents:
    """A tenant's audit events."""

    trail: AuditTrail

    def __call__(self, tenant: str, action: Action | None, limit: int, before: str | None) -> Walked[AuditEvent]:
        """A page of the list, from before the event of the id `before`."""

        def fetch(count: int, position: str | None) -> tuple[Sequence[AuditEvent], str | None]:
            page = self.trail.list_newest(tenant, count, position)
            return page.events, page.next_before

        return walk(
            fetch,
            admits=None if action is None else lambda event: event.action is action,
            position_of=lambda event: event.id,
            limit=limit,
            start=before,
        )
