"""All ports in memory, over one state."""

from dataclasses import dataclass, field

from carillon.adapters.memory.control import MemoryGroupLeases, MemoryShardLedger, MemoryTickLedger
from carillon.adapters.memory.due import MemoryDueIndex
from carillon.adapters.memory.edges import MemoryClock, RecordingMeter, SequentialIds
from carillon.adapters.memory.jobs import MemoryJobStore
from carillon.adapters.memory.limits import MemoryJobCounts, MemoryTenantLimits
from carillon.adapters.memory.operations import MemoryOperationQueue, MemoryOperations
from carillon.adapters.memory.payloads import MemoryPayloads
from carillon.adapters.memory.queues import MemoryTickQueue, MemoryWorkQueues
from carillon.adapters.memory.requests import MemoryIdempotencyRecords
from carillon.adapters.memory.runs import MemoryRunStore
from carillon.adapters.memory.slots import MemorySlotLedger
from carillon.adapters.memory.state import MemoryState
from carillon.adapters.memory.statistics import MemoryGauges, MemoryStatistics
from carillon.adapters.memory.tenants import (
    MemoryApiKeys,
    MemoryAuditTrail,
    MemoryDestinations,
    MemoryFailureTargets,
    MemoryQuarantine,
    MemorySigningSecrets,
    MemoryTenants,
    MemoryVerifications,
)


@dataclass(slots=True)
class MemoryWorld:
    """A whole world in memory, by its clock and its seed."""

    clock: MemoryClock = field(default_factory=MemoryClock)
    seed: int = 0
    state: MemoryState = field(init=False)
    ids: SequentialIds = field(init=False)
    meter: RecordingMeter = field(init=False, default_factory=RecordingMeter)
    jobs: MemoryJobStore = field(init=False)
    runs: MemoryRunStore = field(init=False)
    due: MemoryDueIndex = field(init=False)
    leases: MemoryGroupLeases = field(init=False)
    shards: MemoryShardLedger = field(init=False)
    ticks: MemoryTickLedger = field(init=False)
    tick_queue: MemoryTickQueue = field(init=False)
    work_queues: MemoryWorkQueues = field(init=False)
    tenants: MemoryTenants = field(init=False)
    keys: MemoryApiKeys = field(init=False)
    secrets: MemorySigningSecrets = field(init=False)
    trail: MemoryAuditTrail = field(init=False)
    requests: MemoryIdempotencyRecords = field(init=False)
    limits: MemoryTenantLimits = field(init=False)
    counts: MemoryJobCounts = field(init=False)
    slots: MemorySlotLedger = field(init=False)
    quarantine: MemoryQuarantine = field(init=False)
    destinations: MemoryDestinations = field(init=False)
    failure_targets: MemoryFailureTargets = field(init=False)
    verifications: MemoryVerifications = field(init=False)
    operations: MemoryOperations = field(init=False)
    operation_queue: MemoryOperationQueue = field(init=False)
    payloads: MemoryPayloads = field(init=False, default_factory=MemoryPayloads)
    statistics: MemoryStatistics = field(init=False)
    gauges: MemoryGauges = field(init=False, default_factory=MemoryGauges)

    def __post_init__(self) -> None:
        self.state = MemoryState(self.clock)
        self.ids = SequentialIds(self.seed)
        self.jobs = MemoryJobStore(self.state)
        self.runs = MemoryRunStore(self.state)
        self.due = MemoryDueIndex(self.state)
        self.leases = MemoryGroupLeases(self.state)
        self.shards = MemoryShardLedger(self.state)
        self.ticks = MemoryTickLedger(self.state)
        self.tick_queue = MemoryTickQueue(self.clock)
        self.work_queues = MemoryWorkQueues(self.clock)
        self.tenants = MemoryTenants(self.state)
        self.keys = MemoryApiKeys(self.state)
        self.secrets = MemorySigningSecrets(self.state)
        self.requests = MemoryIdempotencyRecords(self.state)
        self.trail = MemoryAuditTrail(self.state)
        self.limits = MemoryTenantLimits(self.state)
        self.counts = MemoryJobCounts(self.state)
        self.slots = MemorySlotLedger(self.state)
        self.quarantine = MemoryQuarantine(self.state)
        self.destinations = MemoryDestinations(self.state)
        self.failure_targets = MemoryFailureTargets(self.state)
        self.verifications = MemoryVerifications(self.state)
        self.operations = MemoryOperations(self.state)
        self.operation_queue = MemoryOperationQueue()
        self.statistics = MemoryStatistics(self.state)
