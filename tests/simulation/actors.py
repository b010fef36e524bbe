"""Who acts in the simulation, each as its function's handler does, over the real use cases."""

import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from carillon.adapters.memory.queues import MemoryDelivery
from carillon.application.create_job import CreateJob, NewJob, ShardCount
from carillon.application.edit_job import Edit, EditJob
from carillon.application.trigger_run import TriggerRun
from carillon.domain import editing
from carillon.domain.editing import Edited, JobFinishedError, NothingAheadError
from carillon.domain.identity import ulid
from carillon.domain.job import Definition, HttpTarget, PlanningRules
from carillon.domain.revisions import TooManyEditsError
from carillon.domain.schedule import ScheduleError, encode
from carillon.domain.settling import Moment
from carillon.ports import NameTakenError, UnavailableError

from .history import EditKind, History, Story
from .kernel import KilledError
from .plan import EditPlan, JobPlan

if TYPE_CHECKING:
    from .world import World

RETENTION_MS = 30 * 24 * 3600 * 1000
TENANT = "acme"
EXPECTED = (UnavailableError, JobFinishedError, NothingAheadError, TooManyEditsError, ScheduleError, NameTakenError)


PAUSE_GONE = EditPlan(0, 0, EditKind.PAUSE)
"""What a worker wishes for a job whose target is gone."""


@dataclass(slots=True)
class Actor:
    """One process at one task.

    Attributes:
        name: what a trace calls it.
        dies_at: when its function's time is over (true clock).
        is_healthy: whether nothing has befallen it.
        read_seq: when it last read a job, among all events.
        wish: the edit that it makes.
    """

    name: str
    dies_at: int | None = None
    is_healthy: bool = True
    is_dead: bool = False
    read_seq: int = 0
    batch: "Batch | None" = None
    wish: EditPlan = PAUSE_GONE

    def __str__(self) -> str:
        return self.name

    def knows_as_of(self, history: History) -> int:
        """The event as of which it knows the job that it writes about: a worker has read it, others check its version."""
        return self.read_seq if self.batch else history.next_seq()

    def check_alive(self, now_ms: int) -> None:
        """Raise if the process has been killed."""
        if self.is_dead or (self.batch and self.batch.is_dead) or (self.dies_at is not None and now_ms >= self.dies_at):
            raise KilledError


@dataclass(frozen=True, slots=True)
class SkewedClock:
    """The clock of a machine: so much ahead of the true one."""

    world: "World"
    skew_ms: int

    def now_ms(self) -> int:
        """What this machine takes for the present."""
        return self.world.kernel.now + self.skew_ms

    def sleep_ms(self, duration_ms: int) -> None:
        """Let time pass."""
        self.world.gate.suspend(duration_ms)


class CheapIds:
    """Names that are the same each time; a job's name depends on its number alone."""

    def __init__(self, draw: Callable[[], float]) -> None:
        self.job_number = 0
        self.unit = draw
        self._made = 0

    def job_id(self, now_ms: int) -> str:
        """The name of the job in hand."""
        del now_ms
        return "job_" + ulid(0, (self.job_number + 1).to_bytes(10, "big"))

    def token(self) -> str:
        """The next token."""
        self._made += 1
        return f"T{self._made:025d}"


def guarded(world: "World", actor: Actor, task: Callable[[], Any]) -> Any:
    """Run a task as a handler would: what the world does to it is ordinary, anything else is a bug."""
    world.kernel.current = actor
    try:
        return task()
    except KilledError:
        actor.is_dead = True
        if actor.batch:
            actor.batch.is_dead = True
        if world.trace:
            world.trace("killed", actor.name)
    except EXPECTED as error:
        if world.trace:
            world.trace("failed", actor.name, repr(error))
    except Exception:  # noqa: BLE001 - what a handler would log as a bug
        world.history.broken.append(f"{actor.name} raised {traceback.format_exc(limit=-3)}")
    return None


# ------------------------------------------------------------------------------------------------------------ workers


@dataclass(slots=True)
class Delivery:
    """A receipt of a message, through the gate."""

    message_id: str
    body: str
    come_again_after: Callable[[int], None]


@dataclass(slots=True)
class Batch:
    """An invocation of a worker: its messages are handled side by side, and deleted together when all are done."""

    world: "World"
    name: str
    handle: Callable[[Any, int], bool]
    deliveries: Sequence[MemoryDelivery]
    stop_by_ms: int
    dies_at: int | None
    is_dead: bool = False
    _begun: int = 0
    _open: int = 0
    _done: list[MemoryDelivery] = field(default_factory=list)

    def go_on(self) -> None:
        """Handle what is not begun yet. Whenever one message's handling is suspended, the next one is taken up."""
        while self._begun < len(self.deliveries) and not self.is_dead:
            delivery = self.deliveries[self._begun]
            self._begun += 1
            self._open += 1
            self._handle(delivery)
            self._open -= 1
        if self._begun == len(self.deliveries) and not self._open and not self.is_dead:
            self._delete()

    def step_aside(self) -> None:
        """One message's handling is about to be suspended: the others do not wait for it."""
        if self._begun < len(self.deliveries) and not self.is_dead:
            self.world.kernel.at(self.world.kernel.now, self.go_on)

    def _delete(self) -> None:
        poller = Actor("poller")
        done, self._done = self._done, []
        for delivery in done:
            guarded(self.world, poller, self.world.gate.gated("delivery", "delete", delivery.delete))

    def _handle(self, delivery: MemoryDelivery) -> None:
        world = self.world
        actor = Actor(self.name, self.dies_at, batch=self)
        hide = world.gate.gated("delivery", "come_again_after", partial(world.hide, delivery))
        gated = Delivery(delivery.message_id, delivery.body, hide)
        if world.trace:
            world.trace("message", self.name, delivery.body)
        if guarded(world, actor, partial(self.handle, gated, self.stop_by_ms)):
            self._done.append(delivery)


# ------------------------------------------------------------------------------------------------------------ clients


@dataclass(slots=True)
class Client(Actor):
    """A client and the API that serves it."""

    job: JobPlan | None = None
    world: "World | None" = None

    def has_created(self, definition: Definition) -> None:
        """Note a job that is stored."""
        job, world = self.job, self.world
        assert job
        assert world
        world.history.stories[definition.job.id] = Story(
            job_id=definition.job.id,
            number=job.number,
            created_at=definition.job.created_at,
            schedule=job.schedule,
            rules=job.rules,
            max_attempts=job.retry.max_attempts,
            deadline_ms=job.deadline_ms,
        )


def create(world: "World", job: JobPlan, ports: Any, clock: SkewedClock) -> None:
    """Create a job; what is accepted is there."""
    client = Client(f"client creates {job.number}", job=job, world=world)
    world.kernel.current = client
    use_case = CreateJob(ports.jobs, world.ids, ShardCount(ports.ledger, world.plan.shards))
    new = NewJob(
        schedule=job.schedule,
        target=HttpTarget(f"https://t{job.number}.example.net/", timeout_ms=job.timeout_ms),
        retry=job.retry,
        rules=job.rules,
        priority=job.priority,
        deadline_ms=job.deadline_ms,
    )
    world.ids.job_number = job.number
    accepted = guarded(world, client, lambda: use_case(TENANT, new, clock.now_ms()))
    if accepted and accepted.job.id not in world.state.jobs:
        world.history.broken.append(f"{accepted.job.id}: accepted, and not there")


def edit(world: "World", wish: EditPlan, ports: Any, clock: SkewedClock, *, tries: int = 1) -> None:
    """Edit a job; a client that gets no answer asks again, so many times."""
    world.ids.job_number = wish.job
    job_id = world.ids.job_id(0)
    if job_id not in world.history.stories:
        return
    client = Client(f"client {wish.client} {wish.kind} {wish.job}", wish=wish, world=world)
    if world.trace:
        world.trace("wish", client.name, wish.schedule and encode(wish.schedule), wish.window_ms)
    for _ in range(tries):
        answer = guarded(world, client, lambda: _asked(world, ports, wish, job_id, clock.now_ms()))
        if answer is not None or client.is_dead:
            return


def _asked(world: "World", ports: Any, wish: EditPlan, job_id: str, now_ms: int) -> Any:
    """Ask the API; a manual run that is accepted is there."""
    if wish.kind is not EditKind.TRIGGER:
        return EditJob(ports.jobs, ports.runs, RETENTION_MS)(TENANT, job_id, now_ms, edit_of(wish))
    run = TriggerRun(ports.jobs, ports.runs, world.ids, RETENTION_MS)(TENANT, job_id, now_ms)
    if run.key.name not in world.state.runs[job_id]:
        world.history.broken.append(f"{run.key.run_id}: accepted, and not there")
    return run


def edit_of(wish: EditPlan) -> Edit:
    """The product's edit that fulfils a wish."""
    match wish.kind:
        case EditKind.PAUSE:
            return editing.pause
        case EditKind.RESUME:
            return partial(editing.resume, catch_up=False)
        case EditKind.CATCH_UP:
            return partial(editing.resume, catch_up=True)
        case EditKind.CANCEL:
            return editing.cancel
    return partial(_changed, wish)


def _changed(wish: EditPlan, seen: Definition, at: Moment) -> Edited:
    job, rules = seen.job, PlanningRules.decode(seen.job.rules)
    if wish.schedule is not None:
        job = replace(job, schedule=encode(wish.schedule))
    if wish.window_ms is not None:
        job = replace(job, rules=replace(rules, window_ms=wish.window_ms).encode())
    if wish.priority is not None:
        job = replace(job, priority=wish.priority)
    return editing.change(seen, replace(seen, job=job), at)
