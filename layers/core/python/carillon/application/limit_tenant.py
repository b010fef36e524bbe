"""A tenant's limits: shown, set, or taken away."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from carillon.domain.audit import CARILLON, Action, Actor, AuditEvent, Change, told
from carillon.domain.limits import Limits
from carillon.ports.tenancy import JobCounts, TenantLimits, Tenants


class TenantNotFoundError(Exception):
    """There is no tenant of this id."""


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Tells a tenant what it may, and how much of it it uses."""

    limits: TenantLimits
    counts: JobCounts

    def __call__(self, tenant_id: str) -> tuple[Limits, int]:
        """The limits, and how many jobs count."""
        return self.limits.of(tenant_id), sum(each.used for each in self.counts.slices(tenant_id))


@dataclass(frozen=True, slots=True)
class LimitTenant:
    """Reads and changes limits. Who asks for them knows a change within a minute."""

    tenants: Tenants
    limits: TenantLimits

    def limits_of(self, tenant_id: str) -> Limits:
        """The limits of a tenant.

        Raises:
            TenantNotFoundError: there is no such tenant.
        """
        self._check(tenant_id)
        return self.limits.of(tenant_id)

    def __call__(self, tenant_id: str, changes: Mapping[str, Any], now_ms: int, by: Actor = CARILLON) -> Limits:
        """Change some limits of a tenant, and leave the others; returns what holds then. No change leaves no event.

        What has its slot already keeps it; whatever is due from then on is under the new limit.

        Args:
            tenant_id: whose.
            changes: the members of `Limits` that change; None takes a limit away.
            now_ms: the present, epoch ms.
            by: who changes them.

        Raises:
            TenantNotFoundError: there is no such tenant.
            BadLimitError: there is no such limit.
        """
        seen = self.limits_of(tenant_id)
        limits = replace(seen, **changes)
        if limits != seen:
            self.limits.set(tenant_id, limits, limits_changed(tenant_id, seen, limits, now_ms, by))
        return limits

    def _check(self, tenant_id: str) -> None:
        if self.tenants.get(tenant_id) is None:
            raise TenantNotFoundError(tenant_id)


def limits_changed(tenant_id: str, before: Limits, after: Limits, now_ms: int, by: Actor) -> AuditEvent:
    """The event of limits in place of others."""
    changes = list(_changes(before, after))
    return told(Action.LIMITS_CHANGED, tenant_id, now_ms, tenant_id, by, changes, of=changes)


def _changes(before: Limits, after: Limits) -> Iterator[Change]:
    old, new = (dict(_members(limits)) for limits in (before, after))
    for pointer in sorted({*old, *new}):
        if old.get(pointer) != new.get(pointer):
            yield pointer, old.get(pointer), new.get(pointer)


def _members(limits: Limits) -> Iterator[tuple[str, str]]:
    for name, value in asdict(limits).items():
        if isinstance(value, dict):
            yield from ((f"/{name}/{part}", str(number)) for part, number in value.items())
        elif value is not None:
            yield f"/{name}", str(value)
