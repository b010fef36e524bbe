"""The dispatcher: all due entries of a shard group, under the group's lease.

Finding nothing, it writes nothing. Finding something, it takes the group's lease and works until a read finds nothing
new; then it gives the lease up. The index lags, so what was handled may be seen again: it is not handled again.

A sweep goes from the oldest entry to the look-ahead. Where that takes long, because much is overdue or much is due in
the same minute, it looks up what is due at the present now and then: a job that has just been created does not wait
until a backlog has been gone through.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import Protocol, TypeVar

from carillon.application.claim_send_confirm import ClaimSendConfirm, DispatchCounts, DispatchRules
from carillon.application.width import Width
from carillon.domain.planning import DueEntry, DueJob, DueRun
from carillon.ports.dispatch import DueIndex, GroupLease, GroupLeases, ShardLedger
from carillon.ports.errors import UnavailableError

logger = logging.getLogger("carillon")

SLICE_ENTRIES = 100
"""Entries that are claimed, sent and confirmed together: four batches of claims, ten of messages, four of confirms."""

BEHIND_MS = 1_000
"""A group that sends later than this after the time is told by its number: one that is in time costs no metric."""

PRESENT_EVERY_MS = 1_000
"""So often a long sweep looks up what is due at the present. A sweep that is over sooner never does."""

PRESENT_BACK_MS, PRESENT_AHEAD_MS = 5_000, 1_000
"""How far behind and before this instant that is."""

MOST_PRESENT = SLICE_ENTRIES
"""Entries of a shard in such a look: the sweep itself goes on, too."""

PORTION_ENTRIES = 32 * SLICE_ENTRIES
"""Entries between two looks at the time and the lease: seconds of work, and enough slices that few threads idle."""

In = TypeVar("In")
Out = TypeVar("Out")


class Spread(Protocol):
    """Applies a function to each value, in order or side by side, and gives the results in order, as `map` does."""

    def __call__(self, function: Callable[[In], Out], values: Iterable[In], /) -> Iterable[Out]:
        """Apply it."""
        ...


class _OwnershipLostError(Exception):
    """The group belongs to somebody else now."""


@dataclass(frozen=True, slots=True)
class DispatchGroup:
    """The use case of the dispatcher."""

    index: DueIndex
    leases: GroupLeases
    ledger: ShardLedger
    steps: ClaimSendConfirm
    rules: DispatchRules
    spread: Spread = map
    width: Width = field(default_factory=Width)

    def __call__(self, group: int) -> DispatchCounts:
        """Dispatch what is due in a group; the counts are what was done."""
        counts = DispatchCounts()
        pages = self.pages(group)
        first = next(pages, None)
        if first is None:
            return counts
        now_ms = self.steps.clock.now_ms()
        lease = self.leases.take(group, self.steps.ids.token(), now_ms, self.rules.group_lease_ms)
        if lease is None:
            return counts
        tenure = _Tenure(self, lease, counts, stop_at_ms=now_ms + self.rules.budget_ms, looked_at_ms=now_ms)
        try:
            tenure.work(chain((first,), pages))
        except _OwnershipLostError:
            self.steps.meter.count("group_lease_lost")
        except UnavailableError:
            self.steps.meter.count("dispatch_interrupted")
            self._give_up(tenure.lease)
        else:
            self._give_up(tenure.lease)
        self._report(group, counts)
        return counts

    def _give_up(self, lease: GroupLease) -> None:
        """Let the next tick go on at once; where that cannot be said, it waits until the lease has run out."""
        with suppress(UnavailableError):
            self.leases.release(lease)

    def pages(self, group: int) -> Iterator[Sequence[DueEntry]]:
        """What one sweep over the group's shards finds, in portions that are not empty.

        A page of each shard is read at once, and their entries are dealt out in turn. A shard is one partition key of
        the due index, which takes 1,000 write units a second: one shard after another would hold a spike to that.
        """
        now_ms = self.steps.clock.now_ms()
        until_ms = now_ms + self.rules.look_ahead_ms
        readers = [self.index.pages(shard, until_ms) for shard in self._shards(group)]
        while readers:
            read = list(zip(self.spread(_next_page, readers), readers, strict=True))
            yield from _portions([_ripe(page, now_ms) for page, _ in read if page])
            readers = [reader for page, reader in read if page is not None]

    def present(self, group: int) -> Iterator[Sequence[DueEntry]]:
        """What is due about now, some of each shard, in portions that are not empty."""
        now_ms = self.steps.clock.now_ms()
        since_ms, until_ms = now_ms - PRESENT_BACK_MS, now_ms + PRESENT_AHEAD_MS

        def look(shard: int) -> Sequence[DueEntry]:
            return _ripe(self.index.between(shard, since_ms, until_ms, MOST_PRESENT), now_ms)

        yield from _portions(list(self.spread(look, self._shards(group))))

    def _shards(self, group: int) -> Sequence[int]:
        return range(group, max(self.rules.shards, self.ledger.highest()), self.rules.groups)

    def _report(self, group: int, counts: DispatchCounts) -> None:
        self.steps.meter.count("occurrences_sent", counts.sent)
        if counts.deferred:
            self.steps.meter.count("occurrences_deferred", counts.deferred)
        if counts.paced:
            self.steps.meter.count("occurrences_paced", counts.paced)
        if counts.lag_ms is not None:
            self.steps.meter.observe_ms("dispatch_lag_ms", counts.lag_ms)
            if counts.lag_ms >= BEHIND_MS:
                self.steps.meter.observe_group_ms("group_lag_ms", group, counts.lag_ms)
        said = {"action": "group_dispatched", "group": group, **counts.figures()}
        logger.info("group dispatched", extra=said)


@dataclass(slots=True)
class _Tenure:
    """The time in which one invocation owns a group."""

    dispatch: DispatchGroup
    lease: GroupLease
    counts: DispatchCounts
    stop_at_ms: int
    looked_at_ms: int
    handled: set[tuple[str, ...]] = field(default_factory=set)
    sent: int = 0
    unsent: int = 0

    def work(self, pages: Iterable[Sequence[DueEntry]]) -> None:
        """Sweep until a sweep finds nothing new, or the queues take nothing of it, or the time is up."""
        while self._sweep(pages) and not self._refused():
            pages = self.dispatch.pages(self.lease.group)

    def _refused(self) -> bool:
        """Whether the queues took nothing of what was sent: it is new again at once, and waits for the next tick."""
        sent, unsent = self.counts.sent + self.counts.waits_sent, self.counts.unsent
        refused = unsent > self.unsent and sent == self.sent
        self.sent, self.unsent = sent, unsent
        return refused

    def _sweep(self, pages: Iterable[Sequence[DueEntry]]) -> bool:
        found = False
        for page in pages:
            now_ms = self.dispatch.steps.clock.now_ms()
            if now_ms >= self.stop_at_ms:
                self.dispatch.steps.meter.count("group_overrun")
                return False
            if now_ms - self.looked_at_ms >= PRESENT_EVERY_MS:
                found |= self._look_at_the_present()
            found |= self._handle_new(page)
        return found

    def _look_at_the_present(self) -> bool:
        """Handle what is due about now out of turn; whether there was anything new."""
        found = [self._handle_new(portion) for portion in self.dispatch.present(self.lease.group)]
        self.looked_at_ms = self.dispatch.steps.clock.now_ms()
        return any(found)

    def _handle_new(self, entries: Sequence[DueEntry]) -> bool:
        """Handle those of these entries that have not been handled; whether there were any."""
        fresh = [entry for entry in entries if _identity(entry) not in self.handled]
        if not fresh:
            return False
        self._hold_on()
        self._handle(fresh)
        self.handled.update(map(_identity, fresh))
        return True

    def _handle(self, entries: Sequence[DueEntry]) -> None:
        """Handle entries in slices, side by side if the stage wants that: each slice is claimed, sent and confirmed."""
        slices = [entries[start : start + SLICE_ENTRIES] for start in range(0, len(entries), SLICE_ENTRIES)]
        for wave in self.dispatch.width.waves(slices):
            for counts in self.dispatch.spread(self._handle_slice, wave):
                self.counts.add(counts)

    def _handle_slice(self, entries: Sequence[DueEntry]) -> DispatchCounts:
        counts = DispatchCounts()
        self.dispatch.steps(entries, self.lease.epoch, counts)
        return counts

    def _hold_on(self) -> None:
        """Renew the lease in good time; under a lost one nothing more is written."""
        now_ms, lease_ms = self.dispatch.steps.clock.now_ms(), self.dispatch.rules.group_lease_ms
        if self.lease.until - now_ms > lease_ms // 2:
            return
        renewed = self.dispatch.leases.renew(self.lease, now_ms, lease_ms)
        if renewed is None:
            raise _OwnershipLostError
        self.lease = renewed


def _next_page(reader: Iterator[Sequence[DueEntry]]) -> Sequence[DueEntry] | None:
    return next(reader, None)


def _ripe(page: Sequence[DueEntry], now_ms: int) -> Sequence[DueEntry]:
    """The entries that may be handled. A deadline may not before its time: until then it may be met, or moved."""
    return [
        entry for entry in page if not isinstance(entry, DueRun) or entry.is_start or entry.next_fire_time <= now_ms
    ]


def _portions(pages: Iterable[Sequence[DueEntry]]) -> Iterator[Sequence[DueEntry]]:
    """The entries of these pages, one of each in turn."""
    dealt = [entry for turn in zip_longest(*pages) for entry in turn if entry is not None]
    return (dealt[start : start + PORTION_ENTRIES] for start in range(0, len(dealt), PORTION_ENTRIES))


def _identity(entry: DueEntry) -> tuple[str, ...]:
    """What tells an entry from what it becomes once it is handled."""
    if isinstance(entry, DueJob):
        return entry.job_id, str(entry.segment), str(entry.version)
    if isinstance(entry, DueRun):
        return entry.job_id, entry.name, str(entry.wait)
    return entry.pk, entry.sk
