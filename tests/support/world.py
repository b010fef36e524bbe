"""A whole Carillon in memory under a clock that tests set: the real use cases over the shipped memory adapters.

Nothing sleeps. `World.run_until` lets the clock step, and at each step the dispatcher and the workers do what is due.
A `Fault` kills whoever makes the n-th call of a port's method, before or after it has taken effect.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from carillon.adapters.memory.control import MemoryGroupLeases, MemoryShardLedger
from carillon.adapters.memory.due import MemoryDueIndex
from carillon.adapters.memory.edges import MemoryClock, RecordingMeter, SequentialIds
from carillon.adapters.memory.jobs import MemoryJobStore
from carillon.adapters.memory.limits import MemoryTenantLimits
from carillon.adapters.memory.payloads import MemoryPayloads
from carillon.adapters.memory.queues import MemoryDelivery, MemoryWorkQueues
from carillon.adapters.memory.runs import MemoryRunStore
from carillon.adapters.memory.slots import MemorySlotLedger
from carillon.adapters.memory.state import MemoryState
from carillon.adapters.memory.target_queues import MemoryTargetQueues
from carillon.adapters.memory.tenants import (
    MemoryBreakers,
    MemoryDestinations,
    MemoryFailureTargets,
    MemoryQuarantine,
    MemorySigningSecrets,
    MemoryVerifications,
)
from carillon.application.breakers import Breakers
from carillon.application.bury_message import BuryMessage
from carillon.application.claim_send_confirm import ClaimSendConfirm, DispatchCounts, DispatchRules
from carillon.application.dispatch_group import DispatchGroup
from carillon.application.execute_run import ExecuteRun, ExecutionTiming
from carillon.application.reserve_slots import ReserveSlots
from carillon.application.run_records import RunRecords
from carillon.domain.breaker import BreakerRules
from carillon.domain.identity import RunKey
from carillon.domain.job import Definition, HttpTarget, Job, JobSpec, JobState, Lane, PlanningRules, Priority, Revision
from carillon.domain.outcomes import CallRequest, Failure, Outcome, answered, failed
from carillon.domain.planning import fire_time
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import Run
from carillon.domain.schedule import Schedule, encode
from carillon.domain.slots import Pace
from carillon.domain.target_policy import of_stage
from carillon.ports.execution import Caller

START_MS = 1_790_000_000_000
DAY_MS = 24 * 3600 * 1000
API_URL = "https://api.carillon.test"
TENANT, NEIGHBOUR = "acme", "umbrella"
QUEUE_ARN = "arn:aws:sqs:eu-west-1:111122223333:orders"
QUEUE_URL = "https://sqs.eu-west-1.amazonaws.com/111122223333/orders"
SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="


class KilledError(BaseException):
    """The process that made the call is gone: nothing after the call happens, not even error handling."""


@dataclass
class Fault:
    """Kill whoever makes the n-th call (1-based) of a port's method, before or after it takes effect."""

    method: str
    nth: int
    after: bool
    seen: int = 0

    def strikes(self) -> bool:
        """Count a call; whether it is the one."""
        self.seen += 1
        return self.seen == self.nth


class Faulty:
    """A port whose calls are counted, and one of which may kill its caller."""

    def __init__(self, name: str, port: object, world: "World") -> None:
        self._name, self._port, self._world = name, port, world

    def __getattr__(self, method: str) -> Any:
        attribute = getattr(self._port, method)
        if not callable(attribute):
            return attribute

        def call(*args: object, **options: object) -> object:
            full_name = f"{self._name}.{method}"
            self._world.calls_made[full_name] += 1
            fault = self._world.fault
            struck = fault is not None and fault.method == full_name and fault.strikes()
            if struck and fault is not None and not fault.after:
                raise KilledError
            result = attribute(*args, **options)
            if struck:
                raise KilledError
            return result

        return call


@dataclass
class ScriptedCaller:
    """A target that answers by a script, then always with 200. Records each call with its instant."""

    clock: MemoryClock
    script: list[Callable[[CallRequest, Callable[[], bool]], Outcome]] = field(default_factory=list)
    calls: list[tuple[CallRequest, int]] = field(default_factory=list)

    def call(self, request: CallRequest, *, deadline_ms: int, beat: Callable[[], bool], beat_every_ms: int) -> Outcome:
        """Make one call."""
        del deadline_ms, beat_every_ms
        self.calls.append((request, self.clock.now_ms()))
        answer = self.script.pop(0) if self.script else status(200)
        return answer(request, beat)

    def run_ids(self) -> Counter[str]:
        """How often each run was called."""
        return Counter(dict(request.headers)["webhook-id"] for request, _ in self.calls)


def status(code: int, **headers: str) -> Callable[[CallRequest, Callable[[], bool]], Outcome]:
    """A script's step: answer with a status."""
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return lambda _request, _beat: answered(status=code, headers=named, started_ms=0, duration_ms=1)


def failure(code: Failure) -> Callable[[CallRequest, Callable[[], bool]], Outcome]:
    """A script's step: no answer."""
    return lambda _request, _beat: failed(code, started_ms=0, duration_ms=1)


def dies(_request: CallRequest, _beat: Callable[[], bool]) -> Outcome:
    """A script's step: the worker is killed in the middle of the call."""
    raise KilledError


@dataclass
class World:
    """The system. `groups` shard groups of one shard each unless said; breakers open only where a test wants it."""

    shards: int = 1
    groups: int = 1
    look_ahead_ms: int = 60_000
    page_size: int = 1000
    catch_up: Pace | None = None
    breaker_failures: int = 1_000_000
    fault: Fault | None = None
    calls_made: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.clock = self.make_clock()
        self.ids = SequentialIds(7)
        self.meter = RecordingMeter()
        self.state = MemoryState(self.clock)
        self.index = MemoryDueIndex(self.state, page_size=self.page_size)
        self.jobs = MemoryJobStore(self.state)
        self.runs = MemoryRunStore(self.state)
        self.slots = MemorySlotLedger(self.state)
        self.limits = MemoryTenantLimits(self.state)
        self.queues = MemoryWorkQueues(self.clock)
        self.leases = MemoryGroupLeases(self.state)
        self.caller = ScriptedCaller(self.clock)
        self.destinations = MemoryDestinations(self.state)
        self.failure_targets = MemoryFailureTargets(self.state)
        self.verifications = MemoryVerifications(self.state)
        rules = BreakerRules(failures=self.breaker_failures)
        self.breakers = Breakers(MemoryBreakers(self.state), self.meter, self.ids, rules)
        self.target_queues = MemoryTargetQueues(self.clock, of_stage(queues=[f"*={QUEUE_ARN}", f"*={QUEUE_ARN}.fifo"]))
        self.payloads = MemoryPayloads()
        self.secrets = MemorySigningSecrets(self.state)
        for tenant in (TENANT, NEIGHBOUR):
            self.secrets.add(tenant, "sec_1", SECRET, START_MS)

    def make_clock(self) -> Any:
        """The clock that tests set."""
        return MemoryClock(START_MS)

    def port(self, name: str) -> Any:
        """One of the ports, with its faults."""
        return Faulty(name, getattr(self, name), self)

    def dispatcher(self) -> DispatchGroup:
        """A dispatcher, as a new process would build it."""
        rules = DispatchRules(self.groups, self.shards, self.look_ahead_ms, retention_ms=30 * DAY_MS)
        steps = ClaimSendConfirm(
            index=self.port("index"),
            jobs=self.port("jobs"),
            runs=self.port("runs"),
            queues=self.port("queues"),
            reserve=self.reserve(),
            clock=self.clock,
            ids=self.ids,
            meter=self.meter,
            rules=rules,
        )
        return DispatchGroup(self.port("index"), self.port("leases"), MemoryShardLedger(self.state), steps, rules)

    def reserve(self) -> ReserveSlots:
        """The step that gives slots."""
        return ReserveSlots(self.limits, self.port("slots"), self.meter, self.look_ahead_ms, self.catch_up)

    def records(self) -> RunRecords:
        """The records of runs."""
        return RunRecords(
            self.port("jobs"),
            self.port("runs"),
            self.clock,
            self.meter,
            retention_ms=30 * DAY_MS,
            named=self.port("failure_targets"),
        )

    def worker(self, caller: Caller | None = None, breakers: Breakers | None = None) -> ExecuteRun:
        """A worker, as a new process would build it; of the world's own targets and breakers unless said."""
        return ExecuteRun(
            self.records(),
            self.secrets,
            caller or self.caller,
            self.ids,
            ExecutionTiming(),
            self.destinations,
            breakers or self.breakers,
            self.target_queues,
            API_URL,
            lambda: self.port("payloads"),
            self.port("verifications"),
        )

    def burier(self) -> BuryMessage:
        """The handler of dead letters."""
        return BuryMessage(self.records(), MemoryQuarantine(self.state))

    def create(
        self,
        schedule: Schedule,
        *,
        rules: PlanningRules | None = None,
        priority: Priority = Priority.NORMAL,
        tenant: str = TENANT,
        shard: int = 0,
        **spec: Any,
    ) -> str:
        """Store a job whose first occurrence is the schedule's next one; returns its id."""
        now_ms = self.clock.now_ms()
        first = schedule.next_after(now_ms - 1)
        assert first is not None
        job_id, rules = self.ids.job_id(now_ms), rules or PlanningRules()
        target = spec.pop("target", HttpTarget("https://hooks.example.net/cb"))
        job = Job(
            id=job_id,
            tenant=tenant,
            state=JobState.SCHEDULED,
            schedule=encode(schedule),
            rules=rules.encode(),
            shard=shard,
            lane=target.lane,
            priority=priority,
            version=1,
            generation=1,
            created_at=now_ms,
            scheduled_for=first,
            next_fire_time=fire_time(job_id, rules, first),
        )
        retry = spec.pop("retry", RetryPolicy(jitter=Jitter.NONE))
        half = JobSpec(job_id, tenant, target, retry, (Revision(1, 0),), 1, now_ms, now_ms, **spec)
        self.jobs.create(Definition(job, half))
        return job_id

    def dispatch(self) -> DispatchCounts | None:
        """One tick for each group; None when a dispatcher was killed."""
        counts = None
        for group in range(self.groups):
            try:
                counts = self.dispatcher()(group)
            except KilledError:
                counts = None
        return counts

    def receive(self, limit: int = 1000) -> list[MemoryDelivery]:
        """All visible messages of all queues, as the queues' mappings take them."""
        return [
            delivery
            for name, queue in self.queues.queues.items()
            for delivery in queue.receive(limit, 930_000 if name.value == "long" else 120_000)
        ]

    def work(self) -> None:
        """Let workers handle everything visible; one that is killed leaves its message to come again."""
        for delivery in self.receive():
            self.handle(delivery)

    def handle(self, delivery: MemoryDelivery) -> bool:
        """Let one worker handle one message."""
        try:
            done = self.worker()(delivery, self.clock.now_ms() + 900_000)
        except KilledError:
            return False
        if done:
            delivery.delete()
        return done

    def run_until(self, until_ms: int, step_ms: int = 1_000) -> None:
        """Let time pass; at each step dispatcher and workers do what is due."""
        while self.clock.now_ms() < until_ms:
            self.dispatch()
            self.work()
            self.clock.advance(step_ms)

    def run_of(self, job_id: str, scheduled_for: int) -> Run:
        """The record of an occurrence; it must exist."""
        run = self.runs.get(RunKey.of(job_id, scheduled_for))
        assert run is not None, "no record"
        return run

    def history(self, job_id: str) -> list[Run]:
        """All records of a job, oldest first."""
        return [run for _, run in sorted(self.state.runs[job_id].items())]

    def index_is_waiting(self) -> bool:
        """Whether anything is left in the due index."""
        return any(
            page for shard in range(self.shards) for page in self.index.pages(shard, self.clock.now_ms() + DAY_MS)
        )

    def lane_of(self, job_id: str) -> Lane:
        """The lane of a job."""
        return self.state.jobs[job_id].lane
