"""Jobs that run once, at one instant, and messages of them: what many tests of workers begin with."""

from carillon.domain import editing
from carillon.domain.identity import RunKey
from carillon.domain.job import Lane, Priority
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.domain.schedule import OneOff
from carillon.domain.settling import Moment
from support.world import START_MS, TENANT, World

DUE_MS = START_MS + 2_000


def one_off(world: World, **spec: object) -> str:
    """A job that is due in two seconds."""
    return world.create(OneOff(DUE_MS), **spec)


def cancel(world: World, job_id: str) -> None:
    """Cancel a job now, without the settling that the use case adds."""
    seen = world.jobs.get(job_id)
    assert seen is not None
    after = editing.cancel(seen, Moment(world.clock.now_ms(), 0)).definition
    assert world.jobs.replace(after, seen_version=seen.job.version, seen_revision=seen.spec.revision, records=())


def send_again(world: World, job_id: str, *, generation: int = 1) -> None:
    """Put a duplicate of the first message of a job's occurrence into its queue."""
    message = WorkMessage(MessageKind.FIRST, RunKey.of(job_id, DUE_MS), TENANT, DUE_MS, generation, 0, "again")
    world.queues.send([(message, Lane.SHORT, Priority.NORMAL)], world.clock)
