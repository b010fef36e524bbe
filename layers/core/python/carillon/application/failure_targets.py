"""Whom a tenant has told of failed runs of all jobs that name nobody themselves. A change leaves an audit event."""

from dataclasses import dataclass

from carillon.application.naming import new_ulid
from carillon.domain.audit import Action, Actor, AuditEvent
from carillon.domain.job import QueueTarget, Target
from carillon.domain.job_changes import masked_url
from carillon.ports.edges import Ids
from carillon.ports.tenancy import FailureTargets


@dataclass(frozen=True, slots=True)
class NameFailureTarget:
    """Reads and changes it. The last of two who change it at once is right."""

    targets: FailureTargets
    ids: Ids

    def of(self, tenant: str) -> Target | None:
        """Who is told, or None."""
        return self.targets.of(tenant)

    def __call__(self, tenant: str, actor: Actor, target: Target | None, now_ms: int) -> None:
        """Name somebody, or nobody any more. What is so already changes nothing."""
        seen = self.targets.of(tenant)
        if target == seen:
            return
        action = Action.ON_FAILURE_REMOVED if target is None else Action.ON_FAILURE_SET
        changes = (("/target", _address(seen), _address(target)),)
        event_id = f"aud_{new_ulid(self.ids, now_ms)}"
        event = AuditEvent(event_id, now_ms, tenant, actor, action, "on_failure", changes)
        self.targets.set(tenant, target, event)


def _address(target: Target | None) -> str | None:
    """Where a target is, without what stands behind the host in its URL, which may be a secret."""
    if target is None:
        return None
    return target.queue_url if isinstance(target, QueueTarget) else masked_url(target.url)
