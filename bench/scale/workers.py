"""The workers: how many invocations there may be, and which batches they begin."""

from collections import defaultdict
from dataclasses import dataclass

from bench.scale import facts
from bench.scale.calls import POINTS, Calls, batch_seconds
from bench.scale.settings import Settings


@dataclass(frozen=True)
class Room:
    """How many batches may be begun, and what allows no more."""

    batches: float
    held_by: str


class Mapping:
    """The event source mapping of a queue: how many batches it hands over at once, by the time since it has work."""

    def __init__(self, settings: Settings) -> None:
        self._pollers = settings.pollers
        self._most = settings.most_batches

    def batches_at_once(self, seconds: float) -> float:
        """So many, when messages have been there for so long."""
        if self._pollers:
            least, most = self._pollers
            ramped = facts.POLLER_BATCHES * least + facts.PROVISIONED_BATCHES_PER_SECOND * seconds
            return min(ramped, facts.POLLER_BATCHES * most)
        ramped = facts.STANDARD_FIRST_BATCHES + facts.STANDARD_BATCHES_PER_SECOND * seconds
        return min(ramped, facts.STANDARD_MOST_BATCHES, self._most)


class Workers:
    """One function's environments, and the batches in them.

    A step stands for the same time in each call. With `warmed_up`, a long steady load has made all there can be.
    """

    def __init__(self, settings: Settings, calls: Calls, step: float, *, warmed_up: bool = False) -> None:
        self._batch = settings.batch
        self._mapping = Mapping(settings)
        self._most = settings.account_concurrency - settings.other_concurrency
        self._steps_busy = [max(1, round(seconds / step)) for seconds in batch_seconds(calls, settings)]
        self._step = step
        self._ends: defaultdict[int, float] = defaultdict(float)
        self._now = 0
        self._since: int | None = None
        self.environments = 0.0
        self._to_make = float(facts.ENVIRONMENTS_AT_ONCE)
        self.busy = self.most_busy = self.busy_seconds = 0.0
        if warmed_up:
            self._since = -(10**9)
            self.environments = float(self._most)

    @property
    def in_flight(self) -> float:
        """Messages in its hands."""
        return self.busy * self._batch

    def pass_step(self, *, has_work: bool) -> float:
        """Let a step pass; returns how many batches have ended in it."""
        self._now += 1
        ended = self._ends.pop(self._now, 0.0)
        self.busy = max(0.0, self.busy - ended)
        self.busy_seconds += self.busy * self._step
        refilled = self._to_make + facts.ENVIRONMENTS_PER_SECOND * self._step
        self._to_make = min(float(facts.ENVIRONMENTS_AT_ONCE), refilled)
        if has_work and self._since is None:
            self._since = self._now
        return ended

    def room(self) -> Room:
        """How many more batches may be begun now."""
        if self._since is None:
            return Room(0.0, "")
        seconds = (self._now - self._since) * self._step
        return min(
            Room(self._mapping.batches_at_once(seconds) - self.busy, "pollers"),
            Room(self._most - self.busy, "concurrency of the account"),
            Room(self.environments - self.busy + self._to_make, "new environments"),
            Room(facts.MESSAGES_IN_FLIGHT / self._batch - self.busy, "messages in flight"),
            key=lambda room: room.batches,
        )

    def begin(self, batches: float) -> float:
        """Begin batches for which there is room; returns how many of them have to wait for a new environment."""
        cold = max(0.0, self.busy + batches - self.environments)
        self.environments += cold
        self._to_make -= cold
        self._end_later(batches - cold, 0)
        self._end_later(cold, round(facts.COLD_START_SECONDS / self._step))
        self.busy += batches
        self.most_busy = max(self.most_busy, self.busy)
        return cold

    def _end_later(self, batches: float, delay: int) -> None:
        for steps in self._steps_busy:
            self._ends[self._now + delay + steps] += batches / POINTS
