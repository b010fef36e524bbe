"""A whole Carillon under virtual time: the real use cases over the shipped memory adapters, driven by a plan."""

import logging
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

from carillon.adapters.memory.control import MemoryGroupLeases, MemoryShardLedger, MemoryTickLedger
from carillon.adapters.memory.due import MemoryDueIndex
from carillon.adapters.memory.queues import MemoryDelivery, MemoryQueue, MemoryTickQueue, MemoryWorkQueues
from carillon.adapters.memory.runs import MemoryRunStore
from carillon.adapters.memory.tenants import MemoryQuarantine, MemorySigningSecrets
from carillon.adapters.sqs.routing import QueueName, delay_seconds, queue_name
from carillon.application.bury_message import BuryMessage
from carillon.application.claim_send_confirm import ClaimSendConfirm, DispatchRules
from carillon.application.dispatch_group import DispatchGroup
from carillon.application.execute_run import ExecuteRun, ExecutionTiming
from carillon.application.extend_ticks import ExtendTicks
from carillon.application.run_records import RunRecords
from carillon.domain.job import JobState, Lane, Priority
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.domain.schedule import decode
from carillon.entrypoint.ticks import tick_handler
from carillon.ports import Clock, GroupLease, Meter, UnavailableError

from . import actors
from .actors import RETENTION_MS, TENANT, Actor, Batch, CheapIds, Client, SkewedClock, guarded
from .gate import Gate
from .history import Bounds, EditKind, History
from .kernel import Kernel
from .plan import EditPlan, JobPlan, Plan, Spell, TargetPlan, draws
from .target import Caller
from .watch import WatchedJobs, WatchedState

SECRET = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
MOST_QUIET_MS = 4 * 3600 * 1000
"""So long after the load and the faults, all must have ended."""

PROMPT_MS = 5_000
IDLE_SHARE = 0.1
"""Of the ticks that would find nothing, so many are carried out: an index that lags may show something to them."""

HEALTHY_SKEW_MS = 35_000
SHORT = ExecutionTiming()
LONG = ExecutionTiming(visibility_ms=60_000, call_limit_ms=840_000, hide_first=True)
JOB_METHODS = ("create", "get", "list_newest", "replace", "claim_many", "confirm_many", "set_error", "delete")
RUN_METHODS = ("get", "save", "list_newest", "leave_index")


class SilentMeter:
    """A meter that nobody reads."""

    def count(self, name: str, value: int = 1) -> None:
        """Count nothing."""

    def observe_ms(self, name: str, value_ms: int) -> None:
        """Observe nothing."""


class Trace:
    """A readable account of a run, one line an event."""

    def __init__(self, kernel: Kernel, start_ms: int) -> None:
        self._kernel, self._start_ms = kernel, start_ms

    def __call__(self, what: str, *facts: object) -> None:
        """Print an event with its instant, in seconds from the start."""
        at_s = (self._kernel.now - self._start_ms) / 1000
        actor = self._kernel.current
        print(f"{at_s:10.3f} {what:8} {actor!s:24}", *(fact for fact in facts if fact is not None))  # noqa: T201 - a trace


class World:
    """One run of the simulation."""

    def __init__(self, plan: Plan, *, traced: bool = False) -> None:
        logging.getLogger("carillon").setLevel(logging.CRITICAL + 1)
        self.plan = plan
        self.kernel = Kernel(plan.start_ms, limit=max(plan.end_ms, plan.quiet_ms) + MOST_QUIET_MS)
        self.kernel.current = Actor("world")
        self.trace: Callable[..., None] | None = Trace(self.kernel, plan.start_ms) if traced else None
        self.gate = Gate(plan, self.kernel, self.trace)
        self.draw = draws(f"world {plan.seed}")
        self.history = History(_bounds(plan))
        self.state = WatchedState(self.kernel, self.history, lambda: self.kernel.current, self.trace)
        self.ids = CheapIds(self.draw.random)
        self.meter: Meter = SilentMeter()
        self.targets: dict[str, TargetPlan] = {}
        self.dead = MemoryQueue("dead", self.kernel)
        self.queues = MemoryWorkQueues(self.kernel, most_receives=plan.most_receives)
        self.tick_queue = MemoryTickQueue(self.kernel)
        self._down: set[str] = set()
        self._polls: dict[str, int] = {}
        self._sent: list[tuple[WorkMessage, Lane, Priority]] = []
        self._groups = plan.groups
        self._is_closing = False
        self._build()

    # ------------------------------------------------------------------------------------------------------- building

    def _build(self) -> None:
        plan, gate, state = self.plan, self.gate, self.state
        self.jobs = WatchedJobs(state)
        self.leases = MemoryGroupLeases(state)
        self._index = MemoryDueIndex(state, lag_ms=plan.lag_ms, page_size=plan.page_size)
        secrets = MemorySigningSecrets()
        secrets.add(TENANT, "sec_1", SECRET, plan.start_ms)
        self.ports = SimpleNamespace(
            index=gate.index(self._index),
            jobs=gate.port("jobs", self.jobs, JOB_METHODS),
            runs=gate.port("runs", MemoryRunStore(state), RUN_METHODS),
            queues=gate.port("queues", SimpleNamespace(send=self._send), ("send",)),
            leases=gate.port("leases", self.leases, ("take", "renew", "release")),
            ledger=gate.port("ledger", MemoryShardLedger(state), ("highest", "raise_to")),
            ticks=gate.port("ticks", MemoryTickLedger(state), ("begin", "extend", "end")),
            tick_queue=gate.port("tick_queue", self.tick_queue, ("send",)),
            secrets=gate.port("secrets", secrets, ("active",)),
        )
        self._dispatchers = [self._dispatcher(skew, plan.groups) for skew in plan.dispatcher_skews_ms]
        self._regrouped = [self._dispatcher(skew, plan.groups % 3 + 1) for skew in plan.dispatcher_skews_ms]
        self._workers = [self._worker(skew) for skew in plan.worker_skews_ms]
        self._clients = [SkewedClock(self, skew) for skew in plan.client_skews_ms]
        self._buriers = [self._burier(skew) for skew in plan.worker_skews_ms]

    def _dispatcher(self, skew_ms: int, groups: int) -> SimpleNamespace:
        ports, clock = self.ports, SkewedClock(self, skew_ms)
        rules = DispatchRules(groups, self.plan.shards, self.plan.look_ahead_ms, RETENTION_MS)
        steps = ClaimSendConfirm(
            index=ports.index,
            jobs=ports.jobs,
            runs=ports.runs,
            queues=ports.queues,
            clock=clock,
            ids=self.ids,  # type: ignore[arg-type]  # what a dispatcher asks of it
            meter=self.meter,
            rules=rules,
        )
        dispatch = DispatchGroup(ports.index, ports.leases, ports.ledger, steps, rules, self._in_any_order)
        handle = tick_handler(dispatch, clock=clock, meter=self.meter)
        return SimpleNamespace(dispatch=dispatch, handle=handle, clock=clock, groups=groups)

    def _in_any_order(self, function: Callable[[Any], Any], values: Iterable[Any]) -> list[Any]:
        """A pool's `map`: everything is begun, in any order, and the first failure is told when all have ended."""
        tasks = list(values)
        results: dict[int, Any] = {}
        failure: Exception | None = None
        for number in sorted(range(len(tasks)), key=lambda _: self.draw.random()):
            try:
                results[number] = function(tasks[number])
            except UnavailableError as error:
                failure = failure or error
        if failure is not None:
            raise failure
        return [results[number] for number in range(len(tasks))]

    def _records(self, clock: Clock) -> RunRecords:
        return RunRecords(self.ports.jobs, self.ports.runs, clock, self.meter, RETENTION_MS)

    def _worker(self, skew_ms: int) -> SimpleNamespace:
        clock = SkewedClock(self, skew_ms)
        parts = (self._records(clock), self.ports.secrets, Caller(self, clock), self.ids)
        short, long = ExecuteRun(*parts, SHORT), ExecuteRun(*parts, LONG)  # type: ignore[arg-type]  # as above
        return SimpleNamespace(short=short, long=long, clock=clock)

    def _burier(self, skew_ms: int) -> SimpleNamespace:
        clock = SkewedClock(self, skew_ms)
        bury = BuryMessage(self._records(clock), MemoryQuarantine(self.state))
        return SimpleNamespace(handle=lambda delivery, _stop_by_ms: bury(delivery))

    # -------------------------------------------------------------------------------------------------------- running

    def run(self) -> History:
        """Run the plan to its end."""
        plan, kernel = self.plan, self.kernel
        for job in plan.jobs:
            kernel.at(job.at_ms, partial(self._create, job))
        for wish in plan.edits:
            kernel.at(wish.at_ms, partial(self._edit, wish))
        for spell in plan.spells:
            kernel.at(spell.from_ms, partial(self._begin, spell))
            kernel.at(min(spell.until_ms, plan.quiet_ms), partial(self._end, spell))
        for at_ms in plan.thefts_ms:
            kernel.at(at_ms, self._steal)
        for at_ms in plan.redeliveries_ms:
            kernel.at(at_ms, self._redeliver)
        if plan.restore_ms is not None:
            kernel.at(plan.restore_ms // 2 + plan.start_ms // 2, self._back_up)
        if plan.regroup_at_ms is not None:
            kernel.at(plan.regroup_at_ms, self._regroup)
        if not plan.is_calm:
            kernel.at(plan.quiet_ms, self._fall_quiet)
        kernel.at(max(plan.end_ms, plan.quiet_ms), self._close)
        kernel.at(plan.start_ms, self._tick)
        if plan.ticks_by_queue:
            kernel.at(plan.start_ms - plan.start_ms % 60_000, self._extend_ticks)
        has_ended = kernel.run()
        return self._finish(has_ended=has_ended)

    def _finish(self, *, has_ended: bool) -> History:
        history, state = self.history, self.state
        for job_id, story in history.stories.items():
            story.records = state.runs[job_id]
            story.state = state.jobs[job_id].state
        for call in history.calls:
            actor = call.actor
            call.healthy = call.answered and actor.is_healthy and not actor.is_dead and not actor.batch.is_dead
        if not has_ended:
            history.left.append("something was still going on when all should have ended")
        history.left.extend(f"due: {key}" for key in state.due_at)
        history.left.extend(f"segment: {key}" for key in state.segments)
        history.left.extend(f"set aside: {aside}" for aside in state.set_aside)
        for name, queue in self.queues.queues.items():
            history.left.extend([f"message in {name}"] * len(queue))
        history.left.extend(["dead letter"] * len(self.dead))
        return history

    # --------------------------------------------------------------------------------------------------------- trouble

    def _begin(self, spell: Spell) -> None:
        self._down.add(spell.what)
        if spell.what not in ("ticks", "workers"):
            self.gate.begin(spell)

    def _end(self, spell: Spell) -> None:
        self._down.discard(spell.what)
        self.gate.end(spell)

    def _fall_quiet(self) -> None:
        self.gate.fall_quiet()
        self._down.clear()

    def _steal(self) -> None:
        """Somebody takes a group and does nothing with it."""
        group = self.draw.randrange(self._groups)
        stored = self.state.leases.get(group, GroupLease(group, "", 0, 0))
        epoch = max(stored.epoch + 1, self.kernel.now)
        self.state.leases[group] = GroupLease(group, "thief", epoch, self.kernel.now + 10_000)

    def _back_up(self) -> None:
        copy = dict(self.state.leases)
        self.kernel.at(self.plan.restore_ms or 0, partial(self._restore, copy))

    def _restore(self, copy: dict[int, GroupLease]) -> None:
        """The control table is put back to an older copy."""
        self.state.leases.clear()
        self.state.leases.update(copy)

    def _regroup(self) -> None:
        """A deployment changes how many groups there are; for a while both kinds of dispatchers run."""
        dispatchers = self._dispatchers
        self._groups = self._regrouped[0].groups
        self._dispatchers = [*dispatchers, *self._regrouped]
        self.kernel.at(self.kernel.now + 20_000, lambda: setattr(self, "_dispatchers", self._regrouped))

    def _redeliver(self) -> None:
        """A queue delivers an old message again."""
        if self._sent:
            message, lane, priority = self.draw.choice(self._sent)
            self._put(message, lane, priority, 0)

    # --------------------------------------------------------------------------------------------------------- tenants

    def _create(self, job: JobPlan) -> None:
        self.ids.job_number = job.number
        self.targets[self.ids.job_id(0)] = job.target
        actors.create(self, job, self.ports, self._clients[job.number % len(self._clients)])

    def _edit(self, wish: EditPlan, tries: int = 2) -> None:
        actors.edit(self, wish, self.ports, self._clients[wish.client % len(self._clients)], tries=tries)

    def _close(self) -> None:
        """The load has ended."""
        self._fall_quiet()
        self._is_closing = True
        self._end_jobs()

    def _end_jobs(self) -> None:
        """Leave nothing paused or without an end."""
        for job_id, story in self.history.stories.items():
            kind = self._closing(self.state.jobs[job_id].state, self.state.jobs[job_id].schedule)
            if kind:
                self._edit(EditPlan(story.number, self.kernel.now, kind), tries=10)

    def _closing(self, state: JobState, schedule: str) -> EditKind | None:
        if state is JobState.PAUSED:
            return self.draw.choice((EditKind.RESUME, EditKind.CATCH_UP, EditKind.CANCEL))
        if state is JobState.SCHEDULED and getattr(decode(schedule), "end_ms", 0) is None:
            return EditKind.CANCEL
        return None

    # ----------------------------------------------------------------------------------------------------- dispatchers

    def _tick(self) -> None:
        """Each tick, some dispatcher looks at each group; now and then two of them do."""
        plan, kernel, now_ms = self.plan, self.kernel, self.kernel.now
        if not self._is_closing:
            self._tick_now()
            kernel.at(now_ms + plan.tick_ms, self._tick)
            return
        self._end_jobs()
        earliest = min(self.state.due_at.values(), default=None)
        if earliest is not None:
            due_ms, _ = earliest
            if due_ms <= now_ms + plan.look_ahead_ms + 30_000:
                self._tick_now()
                kernel.at(now_ms + plan.tick_ms, self._tick)
            else:
                kernel.at(due_ms - plan.look_ahead_ms - 30_000, self._tick)
        elif kernel.next_at() is not None:
            kernel.at(max(kernel.next_at() or 0, now_ms + plan.tick_ms), self._tick)

    def _tick_now(self) -> None:
        if "ticks" in self._down:
            return
        if self.plan.ticks_by_queue and not self._is_closing:
            self._take_ticks()
            return
        for dispatcher in {id(d): d for d in self.draw.choices(self._dispatchers, k=2)}.values():
            by_ms = dispatcher.clock.now_ms() + self.plan.look_ahead_ms
            busy = {shard % dispatcher.groups for at_ms, shard in self.state.due_at.values() if at_ms <= by_ms}
            for group in range(dispatcher.groups):
                if group in busy or self.draw.random() < IDLE_SHARE:
                    self.kernel.at(self.kernel.now, partial(self._dispatch, dispatcher, group))
            if self.draw.random() < 0.8:  # noqa: PLR2004 - a share
                return

    def _dispatch(self, dispatcher: SimpleNamespace, group: int) -> None:
        actor = Actor(f"dispatcher {dispatcher.clock.skew_ms:+} of {group}", self._dies_at(55_000))
        guarded(self, actor, partial(dispatcher.dispatch, group))

    def _dies_at(self, lasts_ms: int) -> int | None:
        return self.kernel.now + lasts_ms if self.plan.invocations_end else None

    def _take_ticks(self) -> None:
        for delivery in self.tick_queue.queue.receive(10, 60_000):
            self.kernel.at(self.kernel.now, partial(self._take_tick, delivery))

    def _take_tick(self, delivery: MemoryDelivery) -> None:
        dispatcher = self.draw.choice(self._dispatchers)
        actor = Actor(f"dispatcher {dispatcher.clock.skew_ms:+}", self._dies_at(55_000))
        if guarded(self, actor, partial(dispatcher.handle, delivery, 0)):
            delivery.delete()

    def _extend_ticks(self) -> None:
        clock = self._dispatchers[0].clock
        extend = ExtendTicks(self.ports.ticks, self.ports.tick_queue, clock, self.ids, self.meter, self._groups)  # type: ignore[arg-type]  # as above
        if not self._is_closing:
            late_ms = self.draw.randrange(5_000)
            self.kernel.at(self.kernel.now - self.kernel.now % 60_000 + 60_000 + late_ms, self._extend_ticks)
        if "ticks" not in self._down:
            guarded(self, Actor("ticker"), extend)

    # ---------------------------------------------------------------------------------------------------------- queues

    def _send(self, messages: Sequence[tuple[WorkMessage, Lane, Priority]], clock: Clock) -> list[bool]:
        for message, lane, priority in messages:
            self._note_sent(message, lane, priority)
        accepted = self.queues.send(messages, clock)
        now_ms, own_ms = self.kernel.now, clock.now_ms()
        earliest: dict[str, int] = {}
        for message, lane, priority in messages:
            name = queue_name(lane, priority)
            delay_ms = delay_seconds(priority, message.due_ms, own_ms) * 1000
            earliest[name] = min(delay_ms, earliest.get(name, delay_ms))
        for name, delay_ms in earliest.items():
            self._poll_by(name, now_ms + delay_ms)
        return accepted

    def _note_sent(self, message: WorkMessage, lane: Lane, priority: Priority) -> None:
        if self.plan.redeliveries_ms:
            self._sent.append((message, lane, priority))
        if message.kind is MessageKind.FIRST:
            story = self.history.stories[message.key.job_id]
            decided_at = self.jobs.decided_at[message.claim_id]
            story.decided.setdefault(message.key.scheduled_for, (decided_at, message.due_ms))

    def _put(self, message: WorkMessage, lane: Lane, priority: Priority, delay_ms: int) -> None:
        name = queue_name(lane, priority)
        self.queues.queues[name].send(message.encode(), delay_ms=delay_ms)
        self._poll_by(name, self.kernel.now)

    def hide(self, delivery: MemoryDelivery, after_ms: int) -> None:
        """Let a message come again later."""
        delivery.come_again_after(after_ms)
        self._poll_by(delivery.queue.name, self.kernel.now + after_ms)

    def _poll_by(self, name: str, visible_at: int | None) -> None:
        """See that a queue is looked at as soon as something in it is visible."""
        if visible_at is None:
            return
        poll_at = max(visible_at, self.kernel.now) + self.draw.randrange(self.plan.poll_ms)
        if self._polls.get(name, poll_at + 1) > poll_at:
            self._polls[name] = poll_at
            self.kernel.at(poll_at, partial(self._poll, name, poll_at))

    def _poll(self, name: str, poll_at: int) -> None:
        """Take what is visible, and see that the queue is looked at again."""
        if self._polls.get(name) != poll_at:
            return
        del self._polls[name]
        if "workers" in self._down:
            self._poll_by(name, self.kernel.now + 1_000)
        elif name == self.dead.name:
            self._bury()
            self._poll_by(name, self.dead.next_visible_at())
        else:
            queue = self.queues.queues[QueueName(name)]
            self._receive(queue)
            self._poll_by(name, queue.next_visible_at())

    def _receive(self, queue: MemoryQueue) -> None:
        """Hand what is visible to workers, in any order."""
        is_long = queue.name == QueueName.LONG
        received = queue.receive(1_000, 930_000 if is_long else 120_000)
        self._collect_dead(queue)
        if not self.plan.is_calm:
            self.draw.shuffle(received)
        size = 1 if is_long else self.plan.batch
        for start in range(0, len(received), size):
            self.kernel.at(self.kernel.now, self._batch(received[start : start + size], is_long=is_long).go_on)

    def _batch(self, deliveries: Sequence[MemoryDelivery], *, is_long: bool) -> Batch:
        machine = self.draw.choice(self._workers)
        lasts_ms = 900_000 if is_long else 90_000
        return Batch(
            world=self,
            name=f"worker {machine.clock.skew_ms:+}" + (" long" if is_long else ""),
            handle=machine.long if is_long else machine.short,
            deliveries=deliveries,
            stop_by_ms=machine.clock.now_ms() + lasts_ms,
            dies_at=self._dies_at(lasts_ms),
        )

    def _collect_dead(self, queue: MemoryQueue) -> None:
        for body in queue.dead:
            self.dead.send(body)
            self._poll_by(self.dead.name, self.kernel.now)
        queue.dead.clear()

    def _bury(self) -> None:
        burier = self.draw.choice(self._buriers)
        for delivery in self.dead.receive(10, 120_000):
            self.kernel.at(self.kernel.now, Batch(self, "dead letters", burier.handle, (delivery,), 0, None).go_on)


def _bounds(plan: Plan) -> Bounds:
    machines = (*plan.dispatcher_skews_ms, *plan.worker_skews_ms, *plan.client_skews_ms, 0)
    workers = plan.worker_skews_ms
    return Bounds(
        skew_ms=max(machines) - min(machines),
        promises_health=max(workers) - min(workers) < HEALTHY_SKEW_MS,
        prompt_ms=PROMPT_MS if plan.is_calm else None,
        gives_up=plan.most_receives < 1_000,  # noqa: PLR2004 - the product's own setting
    )
