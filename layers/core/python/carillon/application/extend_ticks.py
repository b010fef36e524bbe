"""The ticker: each minute, it extends the range of seconds that have their ticks to two minutes ahead.

It sends first and records after, in steps: a crash between the two repeats at most one step's ticks, and a gap cannot
be. A scheduler that calls it twice finds the range held or covered; one that calls it late finds a minute in hand.
"""

import logging
from dataclasses import dataclass

from carillon.domain.messages import Tick
from carillon.ports.dispatch import TickLedger, TickQueue
from carillon.ports.edges import Clock, Ids, Meter

logger = logging.getLogger("carillon")

COVER_AHEAD_SECONDS = 120
STEP_SECONDS = 10
LEASE_MS = 30_000

FURTHEST_SECONDS = 2 * COVER_AHEAD_SECONDS
"""Further than this nobody extends the range whose clock is right within minutes."""


@dataclass(frozen=True, slots=True)
class TickCounts:
    """What one call did."""

    sent: int
    covered_until: int


@dataclass(frozen=True, slots=True)
class ExtendTicks:
    """The use case of the ticker."""

    ledger: TickLedger
    queue: TickQueue
    clock: Clock
    ids: Ids
    meter: Meter
    groups: int

    def __call__(self) -> TickCounts:
        """Extend the covered range. What the queue does not accept stays uncovered for the next call."""
        owner, now_ms = self.ids.token(), self.clock.now_ms()
        covered = self.ledger.begin(owner, now_ms, LEASE_MS)
        if covered is None:
            return TickCounts(0, 0)
        sent, until = 0, now_ms // 1000 + COVER_AHEAD_SECONDS
        second = self._first(covered, now_ms // 1000)
        while second < until:
            step_end = min(second + STEP_SECONDS, until)
            ticks = [Tick(group, at) for at in range(second, step_end) for group in range(self.groups)]
            accepted = self.queue.send(ticks, self.clock.now_ms())
            sent += sum(accepted)
            if not all(accepted):
                self.meter.count("ticks_refused", len(ticks) - sum(accepted))
                step_end = ticks[accepted.index(False)].second
            if not self.ledger.extend(owner, step_end):
                break
            if not all(accepted):
                break
            second = step_end
        self.ledger.end(owner)
        logger.info("ticks extended", extra={"action": "ticks_extended", "sent": sent, "covered_until": second})
        return TickCounts(sent, second)

    def _first(self, covered: int, now: int) -> int:
        """The second to begin with. A range that reaches further than any can was extended by a clock that was wrong.

        Its ticks come when their seconds do, at the wrong time; until then each minute sends those of the next two, and
        some twice, which costs a read of a group's lease.
        """
        if covered <= now + FURTHEST_SECONDS:
            return max(covered, now)
        self.meter.count("ticks_far_ahead")
        logger.error("ticks far ahead", extra={"action": "ticks_far_ahead", "covered_until": covered})
        return now
