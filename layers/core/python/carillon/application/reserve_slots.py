"""The step of dispatch before the claim: slots for what must not all start at once.

Two kinds of entries ask for slots, all others pass by without a read:

- those of a tenant with a dispatch rate. Waiting runs (retries, manual runs) ask like first ones: a limit that retries
  get round is no limit. What was granted its slot already does not ask again;
- those that are late, of any tenant: after an outage they are spread by the catch-up pace of their tenant, so that the
  recovery is no spike of its own. They take these slots in a calendar of their own, so what is due now is not behind
  them, and under a dispatch rate in the pace of half of it; being due there, they ask under the rate like the others.

An entry whose first slot lies within the look-ahead is dispatched with its occurrences at their slots. Any other is
deferred: due again at its slot, out of its neighbours' way until then.

A process may die after taking slots, or find that others have the entries: the slots are wasted, none is given twice.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from carillon.domain.job import Priority
from carillon.domain.limits import DispatchLimit
from carillon.domain.pacing import Slots
from carillon.domain.planning import DueEntry, DueJob, DueRun, Plan, decide
from carillon.domain.slots import LONGEST_INTERVAL_US, Pace
from carillon.ports.dispatch import SlotLedger
from carillon.ports.edges import Meter
from carillon.ports.errors import UnavailableError
from carillon.ports.tenancy import TenantLimits

LATE_AFTER_MS = 60_000
"""What is later than this when it is found comes of an outage: it is paced."""

RATE_SHARE_OF_LATE = 2
"""Under a dispatch rate, what is late gets at most one slot in so many."""

_RANKS = (Priority.HIGH, Priority.NORMAL, Priority.LOW)


@dataclass(frozen=True, slots=True)
class Admitted:
    """What becomes of entries.

    Attributes:
        passing: those that may be dispatched now, in their order.
        slots: the slots of those of them that had to ask, by their identity.
        deferred: those that are to be due again at the first of their slots.
        left: how many were left for another time, because nobody gave slots.
        lag_ms: how late the latest of what is paced was when it was found, ms; its slots do not show that.
    """

    passing: Sequence[DueEntry]
    slots: Mapping[int, Slots] = field(default_factory=dict)
    deferred: Sequence[tuple[DueEntry, Slots]] = ()
    left: int = 0
    lag_ms: int | None = None

    def slots_of(self, entry: DueEntry) -> Slots | None:
        """The slots of an entry, or None when it did not have to ask."""
        return self.slots.get(id(entry))


@dataclass(slots=True)
class _Asking:
    """An entry that asks: when its occurrences are due, which of them are late, and the slots it has so far.

    The first one may be paced already, and due at its slot, while those that were missed with it are still late.
    """

    entry: DueJob | DueRun
    due_ms: tuple[int, ...]
    late: range
    plan: Plan | None
    slots: Slots

    def late_due_ms(self) -> tuple[int, ...]:
        """When those that are late were due."""
        return self.due_ms[self.late.start : self.late.stop]

    def is_deferred(self, horizon_ms: int) -> bool:
        """Whether nothing of it can be sent yet: it moves, and what was missed behind it is decided at its slot."""
        if not self.slots.times_ms or self.slots.times_ms[0] <= horizon_ms:
            return False
        if self.plan is None or not isinstance(self.entry, DueJob):
            return True
        return self.plan.sends[0].scheduled_for == self.entry.scheduled_for


@dataclass(frozen=True, slots=True)
class ReserveSlots:
    """The step. `catch_up`: the pace of what is late, by tenant; None: it is not paced."""

    limits: TenantLimits
    ledger: SlotLedger
    meter: Meter
    look_ahead_ms: int
    catch_up: Pace | None = None

    def __call__(self, entries: Sequence[DueEntry], now_ms: int) -> Admitted:
        """Reserve slots for those of these entries that have to ask, as of an instant (epoch ms)."""
        limits = {tenant: own.dispatch for tenant, own in self.limits.all().items() if own.dispatch is not None}
        asking = {id(entry): self._asking(entry, limits, now_ms) for entry in entries}
        by_tenant: defaultdict[str, list[_Asking]] = defaultdict(list)
        for one in sorted((one for one in asking.values() if one is not None), key=_rank):
            by_tenant[one.entry.tenant].append(one)
        if not by_tenant:
            return Admitted(entries)
        left = {id(one.entry) for tenant, own in by_tenant.items() for one in self._left(tenant, own, limits, now_ms)}
        return self._admitted([entry for entry in entries if id(entry) not in left], asking, len(left), now_ms)

    def _admitted(
        self, entries: Sequence[DueEntry], asking: Mapping[int, _Asking | None], left: int, now_ms: int
    ) -> Admitted:
        horizon_ms = now_ms + self.look_ahead_ms
        asked = {key: one for key, one in asking.items() if one is not None}
        deferred = {key for key, one in asked.items() if one.is_deferred(horizon_ms)}
        return Admitted(
            passing=[entry for entry in entries if id(entry) not in deferred],
            slots={key: one.slots for key, one in asked.items()},
            deferred=[(entry, asked[id(entry)].slots) for entry in entries if id(entry) in deferred],
            left=left,
            lag_ms=max((now_ms - each_ms for one in asked.values() for each_ms in one.late_due_ms()), default=None),
        )

    # ------------------------------------------------------------------------------------------------------ who asks

    def _asking(self, entry: DueEntry, limits: Mapping[str, DispatchLimit], now_ms: int) -> _Asking | None:
        if not isinstance(entry, (DueJob, DueRun)):
            return None
        if isinstance(entry, DueRun) and not entry.is_start:
            return None
        is_limited, late_before_ms = entry.tenant in limits, self._late_before(now_ms)
        if isinstance(entry, DueRun):
            return _asking_run(entry, late_before_ms) if is_limited or entry.next_fire_time < late_before_ms else None
        if not is_limited and min(entry.scheduled_for, entry.next_fire_time) >= late_before_ms:
            return None
        asking = self._asking_job(entry, now_ms)
        return asking if asking and (is_limited or asking.late) else None

    def _asking_job(self, entry: DueJob, now_ms: int) -> _Asking | None:
        try:
            plan = decide(entry, now_ms, self.look_ahead_ms)
        except Exception:  # noqa: BLE001 - the claim finds out, and sets the job aside
            return None
        due_ms = tuple(accumulate((occurrence.due_ms for occurrence in plan.sends), max))
        late = [at for at, each in enumerate(plan.sends) if each.due_ms < self._late_before(now_ms)]
        if not due_ms:
            return None
        return _Asking(entry, due_ms, _span(late), plan, Slots(due_ms, granted=False))

    def _late_before(self, now_ms: int) -> int:
        return 0 if self.catch_up is None else now_ms - LATE_AFTER_MS

    # ------------------------------------------------------------------------------------------------ what they get

    def _left(
        self, tenant: str, asking: Sequence[_Asking], limits: Mapping[str, DispatchLimit], now_ms: int
    ) -> Sequence[_Asking]:
        """Give a tenant's entries their slots; those that are left without, because nobody answered, to be found again.

        A tenant whose calendar is in too much demand, or cannot be written, delays nobody else.
        """
        try:
            self._pace_late(tenant, asking, limits.get(tenant), now_ms)
            if tenant in limits:
                self._ration(tenant, asking, limits[tenant], now_ms)
        except UnavailableError:
            self.meter.count("slots_unavailable", len(asking))
            return asking
        return ()

    def _pace_late(self, tenant: str, asking: Sequence[_Asking], limit: DispatchLimit | None, now_ms: int) -> None:
        late = [one for one in asking if one.late]
        if late and self.catch_up is not None:
            pace = _slower(self.catch_up, limit)
            chains = [one.late_due_ms() for one in late]
            for one, times_ms in zip(late, self._reserve(f"{tenant}#late", pace, chains, now_ms), strict=True):
                rest_ms = one.due_ms[one.late.stop :] if len(times_ms) == len(one.late) else ()
                in_turn = accumulate((*one.due_ms[: one.late.start], *times_ms, *rest_ms), max)
                one.slots = Slots(tuple(in_turn), granted=False)

    def _ration(self, tenant: str, asking: Sequence[_Asking], limit: DispatchLimit, now_ms: int) -> None:
        """Slots under the rate, for what can be sent within the look-ahead: what is paced beyond it asks there."""
        horizon_ms = now_ms + self.look_ahead_ms
        given = [_given(one) for one in asking]
        chains = [
            [slot_ms for slot_ms in one.slots.times_ms[skip:] if slot_ms <= horizon_ms]
            for one, skip in zip(asking, given, strict=True)
        ]
        for one, skip, chain, times_ms in zip(
            asking, given, chains, self._reserve(tenant, limit.pace, chains, now_ms), strict=True
        ):
            before, paced_beyond = one.slots.times_ms[:skip], one.slots.times_ms[skip + len(chain) :][:1]
            is_cut = bool(times_ms) and times_ms[-1] > horizon_ms
            one.slots = Slots(before + times_ms + (() if is_cut else paced_beyond), granted=is_cut)

    def _reserve(
        self, name: str, pace: Pace, chains: Sequence[Sequence[int]], now_ms: int
    ) -> Sequence[tuple[int, ...]]:
        """Slots in the calendar of that name and interval.

        For a while after a change of a limit one dispatcher still knows the old one: in a calendar that they shared,
        each would take what the other has taken for free.
        """
        if not any(chains):
            return [()] * len(chains)
        name = f"{name}@{pace.interval_us}"
        return self.ledger.reserve(name, pace, chains, now_ms, now_ms + self.look_ahead_ms)


def _asking_run(entry: DueRun, late_before_ms: int) -> _Asking | None:
    """A waiting run that has to ask: it is late, or has no slot yet."""
    is_late, due_ms = entry.next_fire_time < late_before_ms, (entry.next_fire_time,)
    if entry.granted and not is_late:
        return None
    return _Asking(entry, due_ms, range(int(is_late)), None, Slots(due_ms, granted=False))


def _span(positions: Sequence[int]) -> range:
    """From the first to the last of some positions."""
    return range(positions[0], positions[-1] + 1) if positions else range(0)


def _rank(one: _Asking) -> int:
    """Of what is due at the same time, high priority gets its slot first."""
    return _RANKS.index(one.entry.priority)


def _given(one: _Asking) -> int:
    """How many of the first occurrences have their slot under the rate already: the one that was deferred to it."""
    return int(one.entry.granted)


def _slower(catch_up: Pace, limit: DispatchLimit | None) -> Pace:
    if limit is None:
        return catch_up
    interval_us = max(catch_up.interval_us, limit.pace.interval_us * RATE_SHARE_OF_LATE)
    return Pace(min(interval_us, LONGEST_INTERVAL_US), 1)
