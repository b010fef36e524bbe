"""Who acts in the simulation: processes with clocks of their own, which can be killed and suspended."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from carillon.application.cancel_run import RunEndedError
from carillon.application.redrive import NotRedrivableError
from carillon.domain.editing import JobFinishedError, NothingAheadError
from carillon.domain.identity import ulid
from carillon.domain.revisions import TooManyEditsError
from carillon.domain.schedule import ScheduleError
from carillon.ports.errors import NameTakenError, UnavailableError

from .history import EditKind, History
from .kernel import KilledError
from .plan import AskKind, EditPlan

if TYPE_CHECKING:
    from .batches import Batch
    from .world import World

RETENTION_MS = 30 * 24 * 3600 * 1000
TENANT = "acme"
LIMITED = "umbra"
"""A tenant that may have a dispatch rate. Its jobs are edited by nobody."""

EXPECTED = (
    UnavailableError,
    JobFinishedError,
    NothingAheadError,
    TooManyEditsError,
    ScheduleError,
    NameTakenError,
    RunEndedError,
    NotRedrivableError,
)


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
        asks: what it asks of a run.
    """

    name: str
    dies_at: int | None = None
    is_healthy: bool = True
    is_dead: bool = False
    read_seq: int = 0
    batch: "Batch | None" = None
    wish: EditPlan = PAUSE_GONE
    asks: AskKind | None = None

    def __str__(self) -> str:
        return self.name

    def knows_as_of(self, history: History) -> int:
        """The event as of which it knows the job it writes about: a worker has read it, others check its version."""
        return self.read_seq if self.batch else history.next_seq()

    def check_alive(self, now_ms: int) -> None:
        """Raise if the process has been killed."""
        if self.is_dead or (self.batch and self.batch.is_dead) or (self.dies_at is not None and now_ms >= self.dies_at):
            raise KilledError


@dataclass(slots=True)
class SkewedClock:
    """The clock of a machine: so much ahead of the true one, until it is corrected."""

    world: "World"
    skew_ms: int

    def now_ms(self) -> int:
        """What this machine takes for the present."""
        return self.world.kernel.now + self.skew_ms

    def correct(self) -> None:
        """The clock is set, forward or back, and is wrong by another amount then."""
        most_ms = abs(self.skew_ms)
        self.skew_ms = self.world.draw.randint(-most_ms, most_ms)

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

    def secret_bytes(self, count: int) -> bytes:
        """The next bytes."""
        self._made += 1
        return self._made.to_bytes(count, "big")


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
