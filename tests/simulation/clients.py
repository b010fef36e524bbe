"""The clients of the API: they create jobs, edit them, and ask for runs."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from carillon.application.cancel_run import CancelRun
from carillon.application.create_job import CreateJob, NewJob
from carillon.application.edit_job import Edit, EditJob
from carillon.application.redrive import RedriveRun
from carillon.application.replan import Replan, ReplanCounts
from carillon.application.trigger_run import TriggerRun
from carillon.domain import editing
from carillon.domain.editing import Edited
from carillon.domain.job import Definition, HttpTarget, PlanningRules
from carillon.domain.run import Run, RunState
from carillon.domain.schedule import OneOff, Schedule, encode
from carillon.domain.settling import Moment

from .actors import LIMITED, RETENTION_MS, TENANT, Actor, guarded
from .history import EditKind, Story
from .plan import AskKind, AskPlan, EditPlan, JobPlan

if TYPE_CHECKING:
    from .machines import Server
    from .world import World


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
        change = world.plan.zone_change
        world.history.stories[definition.job.id] = Story(
            job_id=definition.job.id,
            number=job.number,
            created_at=definition.job.created_at,
            schedule=_wanted(job, definition.job.created_at),
            rules=job.rules,
            max_attempts=job.retry.max_attempts,
            deadline_ms=job.deadline_ms,
            completion=job.completion,
            limit=world.plan.limit if job.tenant == LIMITED else None,
            rezoned=change and change.of(job.schedule),
            rezoned_at=change.at_ms if change else 0,
        )


def create(world: "World", job: JobPlan, ports: Any, server: "Server") -> None:
    """Create a job; what is accepted is there."""
    client = Client(f"client creates {job.number}", job=job, world=world)
    world.kernel.current = client
    use_case = CreateJob(ports.jobs, world.ids, server.shards)
    now_ms = server.clock.now_ms()
    new = NewJob(
        schedule=_wanted(job, now_ms),
        target=HttpTarget(f"https://t{job.number}.example.net/", timeout_ms=job.timeout_ms, completion=job.completion),
        retry=job.retry,
        rules=job.rules,
        priority=job.priority,
        deadline_ms=job.deadline_ms,
    )
    world.ids.job_number = job.number
    accepted = guarded(world, client, lambda: use_case(job.tenant, new, now_ms))
    if accepted and accepted.job.id not in world.state.jobs:
        world.history.broken.append(f"{accepted.job.id}: accepted, and not there")


def _wanted(job: JobPlan, now_ms: int) -> Schedule:
    return job.schedule if job.delay_ms is None else OneOff(now_ms + job.delay_ms)


def edit(world: "World", wish: EditPlan, ports: Any, server: "Server", *, tries: int = 1) -> None:
    """Edit a job; a client that gets no answer asks again, so many times."""
    world.ids.job_number = wish.job
    job_id = world.ids.job_id(0)
    if job_id not in world.history.stories:
        return
    client = Client(f"client {wish.client} {wish.kind} {wish.job}", wish=wish, world=world)
    if world.trace:
        world.trace("wish", client.name, wish.schedule and encode(wish.schedule), wish.window_ms)
    for _ in range(tries):
        answer = guarded(world, client, lambda: _asked(world, ports, wish, job_id, server.clock.now_ms()))
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


def ask(world: "World", wish: AskPlan, ports: Any, server: "Server", *, tries: int) -> None:
    """Ask for one run of a job; a client that gets no answer asks again, so many times."""
    world.ids.job_number = wish.job
    runs = world.state.runs.get(world.ids.job_id(0), {})
    candidates = sorted(run.key.run_id for run in runs.values() if _may_be_asked(run, wish.kind))
    if not candidates:
        return
    run_id = candidates[int(wish.share * len(candidates))]
    client = Client(f"client {wish.client} {wish.kind} {wish.job}", asks=wish.kind, world=world)
    if world.trace:
        world.trace("asks", client.name, run_id)
    for again in range(tries):
        answer = guarded(world, client, lambda: _asked_of_run(ports, wish, run_id, server, is_again=again > 0))  # noqa: B023 - called at once
        if answer is not None or client.is_dead:
            return


def _may_be_asked(run: Run, kind: AskKind) -> bool:
    is_wanted = run.state is RunState.DEAD_LETTERED if kind is AskKind.REDRIVE else not run.state.has_ended
    return is_wanted and run.block is None


def _asked_of_run(ports: Any, wish: AskPlan, run_id: str, server: "Server", *, is_again: bool) -> Run:
    now_ms = server.clock.now_ms()
    if wish.kind is AskKind.CANCEL:
        return CancelRun(ports.jobs, ports.runs, RETENTION_MS)(TENANT, run_id, now_ms)
    return RedriveRun(ports.jobs, ports.runs, RETENTION_MS)(TENANT, run_id, now_ms, is_again=is_again)


def replan(ports: Any, server: "Server") -> None:
    """Plan anew, by the present rules of zones, what older rules have planned."""
    edits = EditJob(ports.jobs, ports.runs, RETENTION_MS)
    walk = Replan(ports.index, ports.jobs, edits, ports.ledger, server.clock)
    for _ in walk(ReplanCounts(), dry_run=False):
        pass


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
