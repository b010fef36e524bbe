"""The machines of the stage: the real use cases, each over ports behind the gate and by a clock of its own."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from carillon.adapters.memory.control import MemoryGroupLeases, MemoryShardLedger, MemoryTickLedger
from carillon.adapters.memory.due import MemoryDueIndex
from carillon.adapters.memory.limits import MemoryTenantLimits
from carillon.adapters.memory.payloads import MemoryPayloads
from carillon.adapters.memory.queues import MemoryTickQueue
from carillon.adapters.memory.runs import MemoryRunStore
from carillon.adapters.memory.slots import MemorySlotLedger
from carillon.adapters.memory.target_queues import MemoryTargetQueues
from carillon.adapters.memory.tenants import MemoryBreakers, MemoryDestinations, MemoryQuarantine, MemorySigningSecrets
from carillon.adapters.remembering import RememberingBreakers
from carillon.application.breakers import Breakers
from carillon.application.bury_message import BuryMessage
from carillon.application.claim_send_confirm import ClaimSendConfirm, DispatchRules
from carillon.application.create_job import ShardCount
from carillon.application.dispatch_group import DispatchGroup
from carillon.application.execute_run import ExecuteRun, ExecutionTiming
from carillon.application.extend_ticks import ExtendTicks
from carillon.application.reserve_slots import ReserveSlots
from carillon.application.run_records import RunRecords
from carillon.domain.breaker import BreakerRules
from carillon.domain.limits import Limits
from carillon.entrypoint.ticks import tick_handler
from carillon.ports.errors import UnavailableError

from .actors import LIMITED, RETENTION_MS, TENANT, SkewedClock
from .target import API_URL, Caller

if TYPE_CHECKING:
    from .world import World

LONGEST_WAIT_MS = 600_000
"""For a target that does not answer: instead of a day."""

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
SHORT = ExecutionTiming()
LONG = ExecutionTiming(visibility_ms=60_000, call_limit_ms=840_000, hide_first=True)
JOB_METHODS = (
    "create",
    "get",
    "list_newest",
    "replace",
    "claim_many",
    "confirm_many",
    "defer_many",
    "set_error",
    "delete",
)
RUN_METHODS = ("get", "save", "list_newest", "leave_index", "defer")


class SilentMeter:
    """A meter that nobody reads."""

    def count(self, name: str, value: int = 1) -> None:
        """Count nothing."""

    def observe_group_ms(self, name: str, group: int, value_ms: int) -> None:
        """Nothing."""

    def observe_ms(self, name: str, value_ms: int) -> None:
        """Observe nothing."""


@dataclass(frozen=True, slots=True)
class Dispatcher:
    """A machine that dispatches: a group by itself, or what a tick says."""

    clock: SkewedClock
    groups: int
    dispatch: Callable[[int], Any]
    handle: Callable[[Any, int], bool]


@dataclass(frozen=True, slots=True)
class Server:
    """A machine of the API. It learns the count of shards once."""

    clock: SkewedClock
    shards: ShardCount


@dataclass(frozen=True, slots=True)
class Worker:
    """A machine that calls targets, in both lanes, and one that buries dead letters."""

    clock: SkewedClock
    short: Callable[[Any, int], bool]
    long: Callable[[Any, int], bool]
    bury: Callable[[Any, int], bool]


class Machines:
    """Builds them."""

    def __init__(self, world: "World", send: Callable[..., Any]) -> None:
        plan, gate, state = world.plan, world.gate, world.state
        self._world = world
        self._meter = SilentMeter()
        self._quarantine = MemoryQuarantine(state)
        self.tick_queue = MemoryTickQueue(world.kernel)
        secrets = MemorySigningSecrets(state)
        for tenant in (TENANT, LIMITED):
            secrets.add(tenant, "sec_1", SECRET, plan.start_ms)
        limits = MemoryTenantLimits(state)
        limits.set(LIMITED, Limits(dispatch=plan.limit))
        self.ports = SimpleNamespace(
            index=gate.index(MemoryDueIndex(state, lag_ms=plan.lag_ms, page_size=plan.page_size)),
            jobs=gate.port("jobs", world.jobs, JOB_METHODS),
            runs=gate.port("runs", MemoryRunStore(state), RUN_METHODS),
            queues=gate.port("queues", SimpleNamespace(send=send), ("send",)),
            leases=gate.port("leases", MemoryGroupLeases(state), ("take", "renew", "release")),
            ledger=gate.port("ledger", MemoryShardLedger(state), ("highest", "raise_to")),
            limits=limits,  # remembered by the real dispatcher: no call of its own
            slots=gate.port("slots", MemorySlotLedger(state), ("reserve",)),
            ticks=gate.port("ticks", MemoryTickLedger(state), ("begin", "extend", "end")),
            tick_queue=gate.port("tick_queue", self.tick_queue, ("send",)),
            secrets=gate.port("secrets", secrets, ("active",)),
            breakers=gate.port("breakers", MemoryBreakers(state), ("of", "save")),
            destinations=MemoryDestinations(state),  # remembered by the real worker
        )

    def server(self, skew_ms: int, shards: int) -> Server:
        """A server of a stage with so many shards."""
        return Server(SkewedClock(self._world, skew_ms), ShardCount(self.ports.ledger, shards))

    def dispatcher(self, skew_ms: int, groups: int, shards: int) -> Dispatcher:
        """A dispatcher of a stage with so many groups and shards."""
        world, ports, clock = self._world, self.ports, SkewedClock(self._world, skew_ms)
        rules = DispatchRules(groups, shards, world.plan.look_ahead_ms, RETENTION_MS)
        steps = ClaimSendConfirm(
            index=ports.index,
            jobs=ports.jobs,
            runs=ports.runs,
            queues=ports.queues,
            reserve=ReserveSlots(ports.limits, ports.slots, self._meter, rules.look_ahead_ms, world.plan.catch_up),
            clock=clock,
            ids=world.ids,
            meter=self._meter,
            rules=rules,
        )
        dispatch = DispatchGroup(ports.index, ports.leases, ports.ledger, steps, rules, self._in_any_order)
        return Dispatcher(clock, groups, dispatch, tick_handler(dispatch, clock=clock, meter=self._meter))

    def worker(self, skew_ms: int) -> Worker:
        """A worker; the handler of dead letters has its clock."""
        world, ports, clock = self._world, self.ports, SkewedClock(self._world, skew_ms)
        records = self.records(clock)
        parts = (records, ports.secrets, Caller(world, clock), world.ids)
        queues = MemoryTargetQueues(clock)
        bury = BuryMessage(records, self._quarantine)
        return Worker(
            clock,
            ExecuteRun(*parts, SHORT, ports.destinations, self._breakers(clock), queues, API_URL, MemoryPayloads),
            ExecuteRun(*parts, LONG, ports.destinations, self._breakers(clock), queues, API_URL, MemoryPayloads),
            lambda delivery, _stop_by_ms: bury(delivery),
        )

    def records(self, clock: SkewedClock) -> RunRecords:
        """The records of runs, as a machine of this clock handles them."""
        return RunRecords(self.ports.jobs, self.ports.runs, clock, self._meter, RETENTION_MS)

    def _breakers(self, clock: SkewedClock) -> Breakers:
        rules = BreakerRules(longest_wait_ms=LONGEST_WAIT_MS)
        return Breakers(RememberingBreakers(self.ports.breakers, clock), self._meter, self._world.ids, rules)

    def ticker(self, clock: SkewedClock, groups: int) -> ExtendTicks:
        """The ticker."""
        return ExtendTicks(self.ports.ticks, self.ports.tick_queue, clock, self._world.ids, self._meter, groups)

    def _in_any_order(self, function: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
        """A pool's `map`: everything is begun, in any order, and the first failure is told when all have ended."""
        tasks = list(values)
        if len(tasks) == 1:
            return [function(tasks[0])]
        results: dict[int, Any] = {}
        failure: Exception | None = None
        for number in sorted(range(len(tasks)), key=lambda _: self._world.draw.random()):
            try:
                results[number] = function(tasks[number])
            except UnavailableError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return [results[number] for number in range(len(tasks))]
