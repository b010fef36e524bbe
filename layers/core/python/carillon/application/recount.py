"""Counting a tenant's jobs anew: after a table was restored, the count and the jobs may be of different instants."""

from collections.abc import Callable
from dataclasses import dataclass

from carillon.application.limit_tenant import TenantNotFoundError
from carillon.domain.counting import is_counted
from carillon.ports.jobs import JobStore
from carillon.ports.tenancy import JobCounts, TenantLimits, Tenants

PAGE = 100


class TenantBusyError(Exception):
    """The count changed while the jobs were looked at."""


@dataclass(frozen=True, slots=True)
class Recounted:
    """What was counted before, how many jobs count, and how many more are planned or paused that do not."""

    before: int
    jobs: int
    uncounted: int


@dataclass(frozen=True, slots=True)
class Recount:
    """Counts jobs anew. `settle`: waits until what has ended by now is freed."""

    tenants: Tenants
    jobs: JobStore
    counts: JobCounts
    limits: TenantLimits
    settle: Callable[[], None]

    def __call__(self, tenant_id: str, *, dry_run: bool) -> Recounted:
        """Look at all jobs of a tenant, and let the count be their number.

        Raises:
            TenantNotFoundError: there is no such tenant.
            TenantBusyError: it creates or ends jobs meanwhile: nothing was changed.
            UnavailableError: the stores do not answer, or others kept changing the limits.
        """
        if self.tenants.get(tenant_id) is None:
            raise TenantNotFoundError(tenant_id)
        slices = self.counts.slices(tenant_id)
        jobs, uncounted = self._walk(tenant_id)
        self.settle()
        if [each.used for each in self.counts.slices(tenant_id)] != [each.used for each in slices]:
            raise TenantBusyError(tenant_id)
        before = sum(each.used for each in slices)
        if before != jobs and not dry_run:
            fullest = max(slices, key=lambda each: each.used)
            if not self.counts.correct(tenant_id, fullest, fullest.used + jobs - before):
                raise TenantBusyError(tenant_id)
            self.limits.set(tenant_id, self.limits.of(tenant_id))  # so that the shares are of what counts now
        return Recounted(before, jobs, uncounted)

    def _walk(self, tenant_id: str) -> tuple[int, int]:
        counted = uncounted = 0
        after: str | None = None
        while True:
            page = self.jobs.list_newest(tenant_id, PAGE, after)
            for each in page.definitions:
                counted += each.job.counted is not None
                uncounted += each.job.counted is None and is_counted(each.job.state)
            if page.next_after is None:
                return counted, uncounted
            after = page.next_after
