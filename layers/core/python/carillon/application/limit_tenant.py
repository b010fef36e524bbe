"""A tenant's limits: shown, set, or taken away."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from carillon.domain.limits import Limits
from carillon.ports.tenancy import TenantLimits, Tenants


class TenantNotFoundError(Exception):
    """There is no tenant of this id."""


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

    def __call__(self, tenant_id: str, changes: Mapping[str, Any]) -> Limits:
        """Change some limits of a tenant, and leave the others; returns what holds then.

        What has its slot already keeps it; whatever is due from then on is under the new limit.

        Args:
            tenant_id: whose.
            changes: the members of `Limits` that change; None takes a limit away.

        Raises:
            TenantNotFoundError: there is no such tenant.
            BadLimitError: there is no such limit.
        """
        limits = replace(self.limits_of(tenant_id), **changes)
        if changes:
            self.limits.set(tenant_id, limits)
        return limits

    def _check(self, tenant_id: str) -> None:
        if self.tenants.get(tenant_id) is None:
            raise TenantNotFoundError(tenant_id)
