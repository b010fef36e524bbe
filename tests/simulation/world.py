"""A whole Carillon under virtual time: the real use cases over the shipped memory adapters, driven by a plan.

What the protocol tolerates of clocks, as runs of this have shown:

- Dispatchers may be half a minute apart in either direction, and more: versions, claims and epochs decide, not clocks.
  What they call missed is missed by their own clock: with one that is ahead, an occurrence may be skipped so much too
  early. Where ticks come by their queue, a dispatcher may be 5 s ahead of the ticker: beyond, it takes ticks for old.
- Workers: nothing starts early by its worker's clock. A living worker keeps its attempt while the others are less than
  40 s ahead of it: what is left of the lease of 60 s when the beat of 20 s comes. Beyond, the attempt is taken for lost
  and tried again; nothing else happens.
- Servers of the API may be half a minute apart. An edit governs from behind the one before it, and from behind all
  that has begun, so a slow clock brings nothing back; a fast one makes an edit hold that much later.

And what it does not promise: between the read and the write of an edit a worker may begin an occurrence that the edit
takes out; it runs, and has its record. If more than ten occurrences around it are skipped later, their summary may
count it, too.
"""

import logging
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from carillon.adapters.memory.queues import MemoryDelivery
from carillon.adapters.memory.state import TickRange
from carillon.domain.job import JobState
from carillon.domain.schedule import decode
from carillon.ports.dispatch import GroupLease

from . import clients
from .actors import Actor, CheapIds, guarded
from .conveyor import Conveyor
from .gate import Gate
from .history import Bounds, EditKind, History
from .kernel import Kernel
from .machines import Dispatcher, Machines, Server
from .plan import AskPlan, EditPlan, JobPlan, Plan, Spell, TargetPlan, draws
from .watch import WatchedJobs, WatchedState
from .zones import ZoneRules

if TYPE_CHECKING:
    from collections.abc import Callable

    from carillon.application.run_records import RunRecords

MOST_QUIET_MS = 4 * 3600 * 1000
"""So long after the load and the faults, all must have ended."""

PROMPT_MS = 5_000
IDLE_SHARE = 0.1
"""Of the ticks that would find nothing, so many are carried out: an index that lags may show something to them."""

HEALTHY_SKEW_MS = 35_000
"""While workers' clocks are no further apart, no attempt of a living worker is lost. The protocol's bound is what is
left of a run's lease between two beats: 60 s - 20 s."""

DISPATCHER_LASTS_MS = 55_000
OVERLAP_MS = 20_000
USUAL_RECEIVES = 1_000


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
        self.jobs = WatchedJobs(self.state)
        self.ids = CheapIds(self.draw.random)
        self.targets: dict[str, TargetPlan] = {}
        self.down: set[str] = set()
        self.conveyor = Conveyor(self)
        self._machines = Machines(self, self.conveyor.send)
        self.conveyor.workers = [self._machines.worker(skew) for skew in plan.worker_skews_ms]
        self._groups = plan.groups
        self._shards = plan.shards
        self._dispatchers = self._dispatchers_of()
        self._clients = self._clients_of()
        self._rules = ZoneRules(plan.zone_change)
        self._is_closing = False

    def dies_at(self, lasts_ms: int) -> int | None:
        """When an invocation that begins now is ended by force."""
        return self.kernel.now + lasts_ms if self.plan.invocations_end else None

    # -------------------------------------------------------------------------------------------------------- running

    def run(self) -> History:
        """Run the plan to its end."""
        plan, kernel = self.plan, self.kernel
        for job in plan.jobs:
            kernel.at(job.at_ms, partial(self._create, job))
        for wish in plan.edits:
            kernel.at(wish.at_ms, partial(self._edit, wish))
        for asked in plan.asks:
            kernel.at(asked.at_ms, partial(self._ask, asked))
        self._plan_trouble()
        kernel.at(max(plan.end_ms, plan.quiet_ms), self._close)
        kernel.at(plan.start_ms, self._tick)
        if plan.ticks_by_queue:
            kernel.at(plan.start_ms - plan.start_ms % 60_000, self._extend_ticks)
        with self._rules.in_force():
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
        history.left.extend(self.conveyor.left())
        return history

    # --------------------------------------------------------------------------------------------------------- trouble

    def _plan_trouble(self) -> None:
        plan, kernel = self.plan, self.kernel
        for spell in plan.spells:
            kernel.at(spell.from_ms, partial(self._begin, spell))
            kernel.at(min(spell.until_ms, plan.quiet_ms), partial(self._end, spell))
        for at_ms in plan.thefts_ms:
            kernel.at(at_ms, self._steal)
        for at_ms in plan.corrections_ms:
            kernel.at(at_ms, self._correct)
        if plan.zone_change is not None:
            kernel.at(plan.zone_change.at_ms, self._rules.change)
            kernel.at(plan.zone_change.at_ms + plan.zone_change.replan_every_ms, self._replan)
        for at_ms in plan.redeliveries_ms:
            kernel.at(at_ms, self.conveyor.redeliver)
        if plan.restore_ms is not None:
            kernel.at(plan.restore_ms // 2 + plan.start_ms // 2, self._back_up)
        if plan.regroup_at_ms is not None:
            kernel.at(plan.regroup_at_ms, self._regroup)
        if plan.more_shards_at_ms is not None:
            kernel.at(plan.more_shards_at_ms, self._raise_shards)
        if not plan.is_calm:
            kernel.at(plan.quiet_ms, self._fall_quiet)

    def _begin(self, spell: Spell) -> None:
        self.down.add(spell.what)
        if spell.what not in ("ticks", "workers"):
            self.gate.begin(spell)

    def _end(self, spell: Spell) -> None:
        self.down.discard(spell.what)
        self.gate.end(spell)

    def _fall_quiet(self) -> None:
        self.gate.fall_quiet()
        self.down.clear()

    def _correct(self) -> None:
        for machine in (*self._clients, *self._dispatchers, *self.conveyor.workers):
            machine.clock.correct()

    def _steal(self) -> None:
        """Somebody takes a group and does nothing with it."""
        group = self.draw.randrange(self._groups)
        stored = self.state.leases.get(group, GroupLease(group, "", 0, 0))
        epoch = max(stored.epoch + 1, self.kernel.now)
        self.state.leases[group] = GroupLease(group, "thief", epoch, self.kernel.now + 10_000)

    def _back_up(self) -> None:
        state = self.state
        copy = (dict(state.leases), state.shards, replace(state.ticks))
        self.kernel.at(self.plan.restore_ms or 0, partial(self._restore, *copy))

    def _restore(self, leases: dict[int, GroupLease], shards: int, ticks: TickRange) -> None:
        """The control table is put back to an older copy: who owns what, how many shards there are, what is covered."""
        self.state.leases.clear()
        self.state.leases.update(leases)
        self.state.shards, self.state.ticks = shards, ticks

    def _regroup(self) -> None:
        """A deployment changes how many groups there are."""
        self._groups = self.plan.groups % 3 + 1
        self._deploy()

    def _raise_shards(self) -> None:
        """A deployment raises how many shards there are."""
        self._shards += self.plan.more_shards
        self._deploy()

    def _deploy(self) -> None:
        """For a while machines of the old settings and of the new ones run side by side."""
        dispatchers, servers = self._dispatchers_of(), self._clients_of()
        self._dispatchers = [*self._dispatchers, *dispatchers]
        self._clients = [*self._clients, *servers]
        self.kernel.at(self.kernel.now + OVERLAP_MS, partial(self._retire, dispatchers, servers))

    def _retire(self, dispatchers: list[Dispatcher], servers: list[Server]) -> None:
        self._dispatchers, self._clients = dispatchers, servers

    # --------------------------------------------------------------------------------------------------------- tenants

    def _clients_of(self) -> list[Server]:
        return [self._machines.server(skew, self._shards) for skew in self.plan.client_skews_ms]

    def _create(self, job: JobPlan) -> None:
        self.ids.job_number = job.number
        self.targets[self.ids.job_id(0)] = job.target
        clients.create(self, job, self._machines.ports, self._clients[job.number % len(self._clients)])

    def _edit(self, wish: EditPlan, tries: int = 2) -> None:
        clients.edit(self, wish, self._machines.ports, self._clients[wish.client % len(self._clients)], tries=tries)

    def _ask(self, wish: AskPlan) -> None:
        clients.ask(self, wish, self._machines.ports, self._clients[wish.client % len(self._clients)], tries=2)

    def records_of_api(self) -> "RunRecords":
        """The records of runs, as some server of the API handles them."""
        return self._machines.records(self.draw.choice(self._clients).clock)

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

    def _replan(self) -> None:
        """The operator lets jobs be planned anew, again and again: what could not be moved may be by then."""
        change = self.plan.zone_change
        if change is None or self._is_closing:
            return
        self.kernel.at(self.kernel.now + change.replan_every_ms, self._replan)
        operator = Actor("operator", wish=EditPlan(0, self.kernel.now, EditKind.REPLAN))
        guarded(self, operator, partial(clients.replan, self._machines.ports, self._clients[0]))

    # ----------------------------------------------------------------------------------------------------- dispatchers

    def _dispatchers_of(self) -> list[Dispatcher]:
        return [self._machines.dispatcher(skew, self._groups, self._shards) for skew in self.plan.dispatcher_skews_ms]

    def _tick(self) -> None:
        """Tick on while something is due; at the end, only when something is about to be."""
        tick_ms, kernel = self.plan.tick_ms, self.kernel
        if not self._is_closing:
            self._tick_now()
            kernel.at(kernel.now + tick_ms, self._tick)
            return
        self._end_jobs()
        earliest = min(self.state.due_at.values(), default=None)
        if earliest is not None:
            ahead_ms = earliest[0] - self.plan.look_ahead_ms - 30_000
            if ahead_ms <= kernel.now:
                self._tick_now()
            kernel.at(max(ahead_ms, kernel.now + tick_ms), self._tick)
        elif (next_ms := kernel.next_at()) is not None:
            kernel.at(max(next_ms, kernel.now + tick_ms), self._tick)

    def _tick_now(self) -> None:
        """Some dispatcher looks at each group; now and then two of them do."""
        if "ticks" in self.down:
            return
        if self.plan.ticks_by_queue and not self._is_closing:
            for delivery in self._machines.tick_queue.queue.receive(10, 60_000):
                self.kernel.at(self.kernel.now, partial(self._take_tick, delivery))
            return
        for dispatcher in {id(one): one for one in self.draw.choices(self._dispatchers, k=2)}.values():
            by_ms = dispatcher.clock.now_ms() + self.plan.look_ahead_ms
            busy = {shard % dispatcher.groups for at_ms, shard in self.state.due_at.values() if at_ms <= by_ms}
            for group in range(dispatcher.groups):
                if group in busy or self.draw.random() < IDLE_SHARE:
                    self.kernel.at(self.kernel.now, partial(self._dispatch, dispatcher, group))
            if self.draw.random() < 0.8:
                return

    def _dispatch(self, dispatcher: Dispatcher, group: int) -> None:
        actor = Actor(f"dispatcher {dispatcher.clock.skew_ms:+} of {group}", self.dies_at(DISPATCHER_LASTS_MS))
        guarded(self, actor, partial(dispatcher.dispatch, group))

    def _take_tick(self, delivery: MemoryDelivery) -> None:
        dispatcher = self.draw.choice(self._dispatchers)
        actor = Actor(f"dispatcher {dispatcher.clock.skew_ms:+}", self.dies_at(DISPATCHER_LASTS_MS))
        if guarded(self, actor, partial(dispatcher.handle, delivery, 0)):
            delivery.delete()

    def _extend_ticks(self) -> None:
        """Once a minute, somewhat late."""
        if not self._is_closing:
            minute_ms = self.kernel.now - self.kernel.now % 60_000 + 60_000
            self.kernel.at(minute_ms + self.draw.randrange(5_000), self._extend_ticks)
        if "ticks" not in self.down:
            guarded(self, Actor("ticker"), self._machines.ticker(self._dispatchers[0].clock, self._groups))


def _bounds(plan: Plan) -> Bounds:
    machines = (*plan.dispatcher_skews_ms, *plan.worker_skews_ms, *plan.client_skews_ms, 0)
    workers_apart_ms = _most_apart(plan.worker_skews_ms, plan)
    return Bounds(
        skew_ms=_most_apart(machines, plan),
        set_back_ms=workers_apart_ms if plan.corrections_ms else 0,
        promises_health=workers_apart_ms < HEALTHY_SKEW_MS,
        prompt_ms=PROMPT_MS if plan.is_calm else None,
        paces_late=plan.catch_up is not None,
        found_after_ms=max(0, plan.tick_ms - plan.look_ahead_ms),
        gives_up=plan.most_receives < USUAL_RECEIVES,
    )


def _most_apart(skews_ms: tuple[int, ...], plan: Plan) -> int:
    """How far these clocks are apart at most, ms; a correction may put each to the other side."""
    return 2 * max(map(abs, skews_ms)) if plan.corrections_ms else max(skews_ms) - min(skews_ms)
