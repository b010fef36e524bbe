"""Answers that may be a little old, remembered so that an idle tick need not ask again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:  # types alone: who remembers one thing loads no other
    from collections.abc import Callable, Mapping

    from carillon.domain.audit import AuditEvent
    from carillon.domain.breaker import Breaker
    from carillon.domain.destinations import Destinations
    from carillon.domain.job import Target
    from carillon.domain.limits import Limits
    from carillon.ports.dispatch import ShardLedger
    from carillon.ports.edges import Clock
    from carillon.ports.execution import BreakerStore
    from carillon.ports.statistics import QueueFigures, QueueGauges
    from carillon.ports.tenancy import DestinationStore, FailureTargets, TenantLimits

Known = TypeVar("Known")


class RememberingShardLedger:
    """A shard ledger that asks again only every so often.

    The count rises when a deployment raises it, whose dispatchers know it from their own settings: what is remembered
    matters only to those of the deployment before it, for as long as they last.
    """

    def __init__(self, ledger: ShardLedger, clock: Clock, for_ms: int = 10_000) -> None:
        self._ledger = ledger
        self._clock = clock
        self._for_ms = for_ms
        self._known = 0
        self._asked_at = -for_ms

    def highest(self) -> int:
        """The count as it was at most so long ago."""
        now_ms = self._clock.now_ms()
        if not 0 <= now_ms - self._asked_at < self._for_ms:
            self._known = self._ledger.highest()
            self._asked_at = now_ms
        return self._known

    def raise_to(self, shards: int) -> int:
        """Make the count at least this; returns the count in force."""
        self._known = self._ledger.raise_to(shards)
        return self._known


class RememberingTenantLimits:
    """Limits that are asked for again only every so often, and only when somebody wants to know.

    Who asks for those of a tenant asks for that tenant alone: it has no need of all.
    """

    def __init__(self, limits: TenantLimits, clock: Clock, for_ms: int = 30_000) -> None:
        self._limits = limits
        self._clock = clock
        self._for_ms = for_ms
        self._known: Mapping[str, Limits] = {}
        self._asked_at = -for_ms
        self._by_tenant = _ByTenant(limits.of, clock, for_ms)

    def all(self) -> Mapping[str, Limits]:
        """The limits as they were at most so long ago."""
        now_ms = self._clock.now_ms()
        if not 0 <= now_ms - self._asked_at < self._for_ms:
            self._asked_at = now_ms
            self._known = self._limits.all()
        return self._known

    def of(self, tenant: str) -> Limits:
        """The limits of a tenant as they were at most so long ago."""
        return self._by_tenant.of(tenant)

    def set(self, tenant: str, limits: Limits, event: AuditEvent | None = None) -> None:
        """Give a tenant limits in place of those it has, with the event of it."""
        self._limits.set(tenant, limits, event)
        self._asked_at = -self._for_ms
        self._by_tenant.forget(tenant)


class _ByTenant(Generic[Known]):
    """What was asked for of each tenant, and is asked for again only after so long."""

    MOST_KEPT = 1_024

    def __init__(self, ask: Callable[[str], Known], clock: Clock, for_ms: int) -> None:
        self._ask = ask
        self._clock = clock
        self._for_ms = for_ms
        self._known: dict[str, tuple[Known, int]] = {}

    def of(self, tenant: str) -> Known:
        """The answer as it was at most so long ago."""
        now_ms = self._clock.now_ms()
        known = self._known.get(tenant)
        if known is not None and 0 <= now_ms - known[1] < self._for_ms:
            return known[0]
        found = self._ask(tenant)
        if len(self._known) >= self.MOST_KEPT:
            self._known.clear()
        self._known[tenant] = (found, now_ms)
        return found

    def forget(self, tenant: str) -> None:
        """Ask again the next time."""
        self._known.pop(tenant, None)


class RememberingDestinations:
    """Destinations that are asked for again only every so often: a worker calls for many runs of a tenant in a row."""

    def __init__(self, store: DestinationStore, clock: Clock, for_ms: int = 60_000) -> None:
        self._store = store
        self._known = _ByTenant(store.of, clock, for_ms)

    def of(self, tenant: str) -> Destinations:
        """What the tenant had registered at most so long ago."""
        return self._known.of(tenant)

    def save(self, tenant: str, destinations: Destinations, event: AuditEvent | None = None) -> bool:
        """Store them, and ask again the next time."""
        self._known.forget(tenant)
        return self._store.save(tenant, destinations, event)


class RememberingFailureTargets:
    """Whom tenants have told of failures, asked for again only every so often: a tenant's runs fail in rows."""

    def __init__(self, targets: FailureTargets, clock: Clock, for_ms: int = 60_000) -> None:
        self._targets = targets
        self._known = _ByTenant(targets.of, clock, for_ms)

    def of(self, tenant: str) -> Target | None:
        """Whom the tenant named at most so long ago."""
        return self._known.of(tenant)

    def set(self, tenant: str, target: Target | None, event: AuditEvent) -> None:
        """Name somebody else, and ask again the next time."""
        self._known.forget(tenant)
        self._targets.set(tenant, target, event)


class RememberingBreakers:
    """Breakers that are asked for again only every other second: what others have opened is known as soon."""

    def __init__(self, store: BreakerStore, clock: Clock, for_ms: int = 2_000) -> None:
        self._store = store
        self._known = _ByTenant(store.of, clock, for_ms)

    def of(self, tenant: str) -> Mapping[str, Breaker]:
        """A tenant's breakers as they were at most so long ago."""
        return self._known.of(tenant)

    def save(self, breaker: Breaker) -> bool:
        """Store it, and ask again the next time."""
        try:
            return self._store.save(breaker)
        finally:
            self._known.forget(breaker.tenant)


class RememberingGauges:
    """Figures that are asked for again only every so often: all tenants ask about the same queues."""

    def __init__(self, gauges: QueueGauges, clock: Clock, for_ms: int = 10_000) -> None:
        self._known = _ByTenant(lambda _all: gauges.read(), clock, for_ms)

    def read(self) -> Mapping[str, QueueFigures]:
        """The figures as they were at most so long ago."""
        return self._known.of("")
