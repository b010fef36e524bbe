"""A tenant's dispatch limit: shown, set, or taken away."""

from dataclasses import dataclass

from carillon.domain.tenancy import DispatchLimit
from carillon.ports.tenancy import DispatchLimits, Tenants


class TenantNotFoundError(Exception):
    """There is no tenant of this id."""


@dataclass(frozen=True, slots=True)
class LimitTenant:
    """Reads and changes dispatch limits. Dispatchers know a change within a minute."""

    tenants: Tenants
    limits: DispatchLimits

    def limit_of(self, tenant_id: str) -> DispatchLimit | None:
        """The limit of a tenant, or None when it has none.

        Raises:
            TenantNotFoundError: there is no such tenant.
        """
        self._check(tenant_id)
        return self.limits.all().get(tenant_id)

    def __call__(self, tenant_id: str, limit: DispatchLimit | None) -> None:
        """Give a tenant a limit in place of the one it has, or none.

        What has its slot already keeps it; whatever is due from then on is under the new limit.

        Raises:
            TenantNotFoundError: there is no such tenant.
        """
        self._check(tenant_id)
        self.limits.set(tenant_id, limit)

    def _check(self, tenant_id: str) -> None:
        if self.tenants.get(tenant_id) is None:
            raise TenantNotFoundError(tenant_id)
