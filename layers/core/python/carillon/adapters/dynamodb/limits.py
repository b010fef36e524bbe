"""Limits of tenants in the control table."""

from collections.abc import Mapping
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import text
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.limit_items import limits_if_readable, limits_in
from carillon.adapters.dynamodb.writes import key_of
from carillon.domain.audit import AuditEvent
from carillon.domain.limits import NO_LIMITS, Limits

_LIMITS: Final = f"#{k.PK} = :pk"


class DynamoTenantLimits:
    """The limits of those tenants that have some: a partition of their own, so that one query reads them all."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> Mapping[str, Limits]:
        """The limits of every tenant that has some. Those that cannot be read are left out, and logged."""
        values = {":pk": text(k.LIMITS_PK)}
        items = (item for page in self._database.query(self._database.control, _LIMITS, values) for item in page)
        read = (one for one in map(limits_if_readable, items) if one)
        return {tenant: limits for tenant, limits in read if limits != NO_LIMITS}

    def of(self, tenant: str) -> Limits:
        """The limits of a tenant; none when they cannot be read, which is logged."""
        return limits_in(self._database.get(self._database.control, key_of(*k.limit_key(tenant))))

    def set(self, tenant: str, limits: Limits, event: AuditEvent | None = None) -> None:
        """Give a tenant limits in place of those it has, with the event of it. One of jobs holds from this instant on.

        Raises:
            UnavailableError: nobody answered, or others kept coming first.
        """
        from carillon.adapters.dynamodb.counters import JobCounters  # noqa: PLC0415 - who only reads limits needs none

        JobCounters(self._database).share(tenant, limits, event)
