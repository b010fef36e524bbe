"""All that the memory stores hold, and the record of what the due index has to show."""

from collections import defaultdict
from dataclasses import dataclass, field
from threading import RLock

from carillon.adapters.store_rules import due_job, due_run
from carillon.domain.audit import AuditEvent
from carillon.domain.breaker import Breaker
from carillon.domain.destinations import Destinations, Verification
from carillon.domain.idempotency import IdempotencyRecord
from carillon.domain.job import Job, JobSpec, Target
from carillon.domain.limits import Limits
from carillon.domain.operations import Operation
from carillon.domain.planning import DueEntry, DueJob, DueRun, UnreadableEntry
from carillon.domain.run import Run
from carillon.domain.secrets import SigningSecret
from carillon.domain.slots import Calendar
from carillon.domain.statistics import Ending
from carillon.domain.tenancy import ApiKey, Tenant
from carillon.ports.dispatch import GroupLease
from carillon.ports.edges import Clock

ItemKey = tuple[str, str]
"""The job id, and the name of the run or nothing: sorts as the tables' keys do."""


@dataclass(frozen=True, slots=True)
class IndexChange:
    """At an instant (epoch ms) the entry of an item became this one (None: it left the index)."""

    at_ms: int
    key: ItemKey
    entry: DueEntry | None
    next_fire_time: int = 0


@dataclass(frozen=True, slots=True)
class SetAside:
    """What was kept of something that nobody could read."""

    key: str
    body: str
    reason: str


@dataclass(slots=True)
class TickRange:
    """Who extends the covered range of seconds, and how far it reaches."""

    owner: str = ""
    lease_until: int = 0
    covered_until: int = 0


@dataclass(slots=True)
class MemoryState:
    """The tables. Whoever reads more than one value, or writes, holds `lock`."""

    clock: Clock
    lock: RLock = field(default_factory=RLock)
    jobs: dict[str, Job] = field(default_factory=dict)
    specs: dict[str, JobSpec] = field(default_factory=dict)
    segments: dict[tuple[str, int], Job] = field(default_factory=dict)
    names: dict[tuple[str, str], str] = field(default_factory=dict)
    runs: defaultdict[str, dict[str, Run]] = field(default_factory=lambda: defaultdict(dict))
    handed_over: set[ItemKey] = field(default_factory=set)
    index_changes: list[IndexChange] = field(default_factory=list)
    unreadable: dict[ItemKey, UnreadableEntry] = field(default_factory=dict)
    set_aside: list[SetAside] = field(default_factory=list)
    leases: dict[int, GroupLease] = field(default_factory=dict)
    shards: int = 0
    ticks: TickRange = field(default_factory=TickRange)
    tenants: dict[str, Tenant] = field(default_factory=dict)
    api_keys: dict[str, ApiKey] = field(default_factory=dict)
    destinations: dict[str, Destinations] = field(default_factory=dict)
    verifications: defaultdict[str, dict[str, Verification]] = field(default_factory=lambda: defaultdict(dict))
    failure_targets: dict[str, Target] = field(default_factory=dict)
    breakers: dict[tuple[str, str], Breaker] = field(default_factory=dict)
    secrets: defaultdict[str, dict[str, tuple[SigningSecret, str]]] = field(default_factory=lambda: defaultdict(dict))
    requests: dict[tuple[str, str], IdempotencyRecord] = field(default_factory=dict)
    audit: defaultdict[str, dict[str, AuditEvent]] = field(default_factory=lambda: defaultdict(dict))
    limits: dict[str, Limits] = field(default_factory=dict)
    turns: dict[str, tuple[int, int]] = field(default_factory=dict)
    calendars: dict[str, Calendar] = field(default_factory=dict)
    operations: dict[tuple[str, str], Operation] = field(default_factory=dict)
    endings: dict[str, Ending] = field(default_factory=dict)

    def tell(self, event: AuditEvent | None) -> None:
        """Add an event to the trail of its tenant. A repeat adds nothing."""
        if event is not None:
            self.audit[event.tenant].setdefault(event.id, event)

    def put_job(self, job: Job) -> None:
        """Store the hot half of a job or a segment of it, and what the due index shows of it."""
        before = self.plan(job.id, job.segment)
        if job.segment is None:
            self.jobs[job.id] = job
        else:
            self.segments[job.id, job.segment] = job
        self._show(_plan_key(job), due_job(before) if before else None, due_job(job))

    def counted(self, tenant: str) -> int:
        """How many jobs of a tenant count."""
        return sum(job.tenant == tenant and job.counted is not None for job in self.jobs.values())

    def plan(self, job_id: str, segment: int | None) -> Job | None:
        """The hot half of a job, or a segment of it, or None."""
        return self.jobs.get(job_id) if segment is None else self.segments.get((job_id, segment))

    def remove_segment(self, drained: Job) -> None:
        """Remove a segment that has nothing left."""
        if drained.segment is not None:
            self._show(_plan_key(drained), due_job(self.segments.pop((drained.id, drained.segment))), None)

    def remove_job(self, job_id: str) -> None:
        """Remove the hot half of a job, as TTL does."""
        before = self.jobs.pop(job_id, None)
        self._show((job_id, ""), due_job(before) if before else None, None)

    def put_run(self, run: Run) -> None:
        """Store a run, and what the due index shows of it."""
        key = (run.key.job_id, run.key.name)
        before = self.entry_of(key)
        self.handed_over.discard(key)
        self.runs[run.key.job_id][run.key.name] = run
        self._show(key, before, due_run(run))

    def hand_over(self, key: ItemKey) -> None:
        """Take a waiting run out of the due index."""
        before = self.entry_of(key)
        self.handed_over.add(key)
        self._show(key, before, None)

    def plant_unreadable(self, entry: UnreadableEntry, next_fire_time: int) -> None:
        """Put something into the due index that is no job and no run."""
        with self.lock:
            key = (entry.pk, entry.sk)
            self.unreadable[key] = entry
            self.index_changes.append(IndexChange(self.clock.now_ms(), key, entry, next_fire_time))

    def remove_unreadable(self, entry: UnreadableEntry) -> bool:
        """Take it out again. False when it is gone already."""
        key = (entry.pk, entry.sk)
        if self.unreadable.pop(key, None) is None:
            return False
        self.index_changes.append(IndexChange(self.clock.now_ms(), key, None))
        return True

    def entry_of(self, key: ItemKey) -> DueRun | None:
        """What an index without lag shows of a run."""
        run = self.runs[key[0]].get(key[1])
        return due_run(run) if run and key not in self.handed_over else None

    def _show(self, key: ItemKey, before: DueJob | DueRun | None, after: DueJob | DueRun | None) -> None:
        if before != after:
            fires_at = after.next_fire_time if after else 0
            self.index_changes.append(IndexChange(self.clock.now_ms(), key, after, fires_at))


def _plan_key(job: Job) -> ItemKey:
    return job.id, "" if job.segment is None else f"SEG#{job.segment}"
