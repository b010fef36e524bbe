"""The three steps of dispatch, for one page of due entries.

A crash between any two steps leaves the item in the due index with a lease that runs out. The next owner claims it
again and decides as of the first claim's instant, and the run record, unique by its key, swallows the duplicate. So
there is no recovery code here, and nothing to sweep.

- What has to wait for a slot is moved to it without a claim, in one write.
- A claim that another owner holds is left alone; one whose lease has run out is taken over, keeping its instant.
- What the queue does not accept is what the confirm advances to. It is decided as of the same instant again, because
  what came behind it may have been accepted.
- A waiting run is sent without a claim, and leaves the index if it still waits with the number that was sent.
- What cannot be decided or read is set aside, alone.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields

from carillon.application.reserve_slots import Admitted, ReserveSlots
from carillon.domain.identity import RunKey
from carillon.domain.job import JobState, Lane, Priority, expiry_seconds
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.domain.pacing import Slots, paced
from carillon.domain.planning import (
    DueEntry,
    DueJob,
    DueRun,
    Occurrence,
    Plan,
    UnreadableEntry,
    decide,
    skipped_record,
)
from carillon.ports.dispatch import DueIndex, WorkQueues
from carillon.ports.edges import Clock, Ids, Meter
from carillon.ports.jobs import Claim, Claimed, ClaimRefused, Confirmation, JobDeferral, JobStore
from carillon.ports.runs import RunStore

logger = logging.getLogger("carillon")

Addressed = tuple[WorkMessage, Lane, Priority]


@dataclass(frozen=True, slots=True)
class DispatchRules:
    """Times of a dispatcher, ms, and the shape of its stage.

    Attributes:
        groups: how many shard groups the stage has; group g owns the shards congruent to it.
        shards: the shard count of the settings; the highest ever used counts if it is more.
        look_ahead_ms: how far before its time an occurrence may be claimed.
        retention_ms: how long a finished job is kept.
        claim_lease_ms: how long a claim holds.
        group_lease_ms: how long a group is owned without a renewal.
        budget_ms: how long one invocation works at most.
    """

    groups: int
    shards: int
    look_ahead_ms: int
    retention_ms: int
    claim_lease_ms: int = 30_000
    group_lease_ms: int = 10_000
    budget_ms: int = 40_000


@dataclass(slots=True)
class DispatchCounts:
    """What one invocation did. `lag_ms` is the greatest lateness of a send, ms."""

    sent: int = 0
    unsent: int = 0
    claimed: int = 0
    refused: int = 0
    taken_over: int = 0
    confirmed: int = 0
    skipped: int = 0
    waits_sent: int = 0
    deferred: int = 0
    paced: int = 0
    left: int = 0
    set_aside: int = 0
    errors: int = 0
    lag_ms: int | None = None

    def add(self, other: "DispatchCounts") -> None:
        """Add what another part of the invocation did."""
        for name, value in other.figures().items():
            if name == "lag_ms":
                self.lag_ms = max((lag for lag in (self.lag_ms, value) if lag is not None), default=None)
            else:
                setattr(self, name, getattr(self, name) + value)

    def figures(self) -> dict[str, int | None]:
        """The counts by name."""
        return {name: getattr(self, name) for name in _FIGURES}


_FIGURES = tuple(one.name for one in fields(DispatchCounts))  # `asdict` copies deeply, for each slice of each tick


@dataclass(slots=True)
class _Decided:
    """A claim with its plan, and what the queue said of its sends."""

    claim: Claim
    plan: Plan
    accepted: list[bool] = field(default_factory=list)

    @property
    def first_unsent(self) -> int | None:
        """The position of the earliest send that was not accepted."""
        return self.accepted.index(False) if False in self.accepted else None


@dataclass(frozen=True, slots=True)
class ClaimSendConfirm:
    """The steps, with what they need."""

    index: DueIndex
    jobs: JobStore
    runs: RunStore
    queues: WorkQueues
    reserve: ReserveSlots
    clock: Clock
    ids: Ids
    meter: Meter
    rules: DispatchRules

    def __call__(self, entries: Sequence[DueEntry], epoch: int, counts: DispatchCounts) -> None:
        """Handle a page of due entries under a group lease of this epoch."""
        for entry in entries:
            if isinstance(entry, UnreadableEntry):
                self._set_aside(entry, counts)
        admitted = self.reserve(entries, self.clock.now_ms())
        held = self._defer(admitted, epoch, counts)
        passing = [*admitted.passing, *held]
        self._dispatch_jobs([entry for entry in passing if isinstance(entry, DueJob)], epoch, admitted, counts)
        self._dispatch_runs([entry for entry in passing if isinstance(entry, DueRun)], admitted, counts)

    # ------------------------------------------------------------------------------------------------------ deferrals

    def _defer(self, admitted: Admitted, epoch: int, counts: DispatchCounts) -> Sequence[DueJob]:
        """Move what has to wait to its slots; returns the jobs that are not as they were seen, perhaps to take over."""
        counts.left += admitted.left
        if admitted.lag_ms is not None:
            _note_lag(counts, admitted.lag_ms)
        if not admitted.deferred:
            return ()
        jobs = [
            JobDeferral(entry, epoch, slots.times_ms[0], slots.granted)
            for entry, slots in admitted.deferred
            if isinstance(entry, DueJob)
        ]
        moved = self.jobs.defer_many(jobs)
        for one, holds in zip(jobs, moved, strict=True):
            _note_deferral(counts, granted=one.granted, holds=holds)
        for entry, slots in admitted.deferred:
            if isinstance(entry, DueRun):
                holds = self.runs.defer(entry, slots.times_ms[0], granted=slots.granted)
                _note_deferral(counts, granted=slots.granted, holds=holds)
        return [one.entry for one, holds in zip(jobs, moved, strict=True) if not holds]

    # ------------------------------------------------------------------------------------------------------------ jobs

    def _dispatch_jobs(self, entries: Sequence[DueJob], epoch: int, admitted: Admitted, counts: DispatchCounts) -> None:
        claims = self._claim(entries, epoch, counts)
        decided = [plan for plan in (self._decide(claim, admitted, counts) for claim in claims) if plan]
        self._send(decided, counts)
        self._confirm(decided, counts)

    def _claim(self, entries: Sequence[DueJob], epoch: int, counts: DispatchCounts) -> list[Claim]:
        """The claims that hold, first tries and take-overs alike."""
        now_ms = self.clock.now_ms()
        until = now_ms + self.rules.claim_lease_ms
        results = self.jobs.claim_many([Claim(entry, epoch, self.ids.token(), until, now_ms) for entry in entries])
        takeovers = [
            claim for claim in (self._takeover(r, now_ms) for r in results if isinstance(r, ClaimRefused)) if claim
        ]
        counts.taken_over += len(takeovers)
        results = [*results, *self.jobs.claim_many(takeovers)]
        held = [result.claim for result in results if isinstance(result, Claimed)]
        counts.claimed += len(held)
        counts.refused += len(entries) - len(held)
        return held

    def _takeover(self, refused: ClaimRefused, now_ms: int) -> Claim | None:
        """The claim to try next: that of an owner whose lease has run out, with the instant it decided as of."""
        claim, job = refused.claim, refused.job
        if job is None or job.version != claim.entry.version or job.lease.epoch > claim.epoch:
            return None
        if job.lease.until == 0 or job.lease.until > now_ms:
            return None
        return Claim(
            entry=claim.entry,
            epoch=claim.epoch,
            claim_id=self.ids.token(),
            until=claim.until,
            decided_at=job.lease.decided_at,
            takes_over=job.lease.claim_id,
        )

    def _decide(self, claim: Claim, admitted: Admitted, counts: DispatchCounts) -> _Decided | None:
        """The plan of a claimed job; a job that cannot be decided is set aside, and its neighbours go on."""
        try:
            plan = decide(claim.entry, claim.decided_at, self.rules.look_ahead_ms)
        except Exception as error:
            counts.errors += 1
            self.meter.count("undecidable_job")
            logger.exception("job cannot be decided", extra={"action": "job_error", "job_id": claim.entry.job_id})
            self.jobs.set_error(claim.entry, f"cannot be decided: {type(error).__name__}")
            return None
        slots = admitted.slots_of(claim.entry)
        return _Decided(claim, plan if slots is None else self._at_slots(claim, plan, slots, counts))

    def _at_slots(self, claim: Claim, plan: Plan, slots: Slots, counts: DispatchCounts) -> Plan:
        """The plan in its slots. Of one that is taken over all is sent: its first owner may have sent it already."""
        horizon_ms = self.clock.now_ms() + self.rules.look_ahead_ms
        if claim.takes_over is not None:
            slots = slots.all_by(horizon_ms, len(plan.sends))
        in_slots = paced(plan, slots, horizon_ms)
        if len(in_slots.sends) < len(plan.sends):
            _note_deferral(counts, granted=in_slots.granted, holds=True)
        return in_slots

    def _send(self, decided: Iterable[_Decided], counts: DispatchCounts) -> None:
        """Send the occurrences of all plans together; each plan learns what became of its own."""
        owners = [(one, occurrence) for one in decided for occurrence in one.plan.sends]
        accepted = self.queues.send([_first_message(one.claim, occurrence) for one, occurrence in owners], self.clock)
        now_ms = self.clock.now_ms()
        for (one, occurrence), was_accepted in zip(owners, accepted, strict=True):
            one.accepted.append(was_accepted)
            counts.sent += was_accepted
            counts.unsent += not was_accepted
            if was_accepted:
                _note_lag(counts, now_ms - occurrence.due_ms)

    def _confirm(self, decided: Sequence[_Decided], counts: DispatchCounts) -> None:
        confirmed = self.jobs.confirm_many([self._confirmation(one) for one in decided])
        for one, holds in zip(decided, confirmed, strict=True):
            counts.confirmed += holds
            counts.skipped += sum(block.count for block in one.plan.skips) if holds else 0

    def _confirmation(self, one: _Decided) -> Confirmation:
        """The end of a claim: it advances to the earliest occurrence that the queue did not accept, if any."""
        entry, plan, now_ms = one.claim.entry, one.plan, self.clock.now_ms()
        upcoming, planned, state, granted = plan.upcoming, plan.planned, plan.state, plan.granted
        if one.first_unsent is not None:
            upcoming, state = plan.sends[one.first_unsent], JobState.SCHEDULED
            planned, granted = entry.planned + one.first_unsent, True
        sent = plan.sends[: one.first_unsent]
        last_ms = max((occurrence.due_ms for occurrence in sent), default=now_ms)
        return Confirmation(
            claim=one.claim,
            upcoming=upcoming,
            planned=planned,
            state=state,
            planned_until=max((occurrence.scheduled_for for occurrence in sent), default=None),
            is_partial=one.first_unsent is not None,
            granted=granted,
            expires_at=None if upcoming else expiry_seconds(max(last_ms, now_ms), self.rules.retention_ms),
            records=tuple(
                skipped_record(entry, block, plan.skip_reason, now_ms, self.rules.retention_ms) for block in plan.skips
            ),
        )

    # ------------------------------------------------------------------------------------------------------------ runs

    def _dispatch_runs(self, entries: Sequence[DueRun], admitted: Admitted, counts: DispatchCounts) -> None:
        """Send waiting runs. A crash before one leaves the index repeats its message, whose wait number voids it."""
        due_ms = [_due_ms(entry, admitted.slots_of(entry)) for entry in entries]
        accepted = self.queues.send([_wait_message(*each) for each in zip(entries, due_ms, strict=True)], self.clock)
        now_ms = self.clock.now_ms()
        for entry, was_accepted in zip(entries, accepted, strict=True):
            counts.unsent += not was_accepted
            if was_accepted:
                counts.waits_sent += 1
                _note_lag(counts, now_ms - entry.next_fire_time)
                self.runs.leave_index(entry)

    def _set_aside(self, entry: UnreadableEntry, counts: DispatchCounts) -> None:
        counts.set_aside += 1
        self.meter.count("unreadable_entry")
        said = {"action": "entry_set_aside", "pk": entry.pk, "sk": entry.sk, "why": entry.reason}
        logger.error("entry set aside", extra=said)
        self.index.set_aside(entry)


def _first_message(claim: Claim, occurrence: Occurrence) -> Addressed:
    entry = claim.entry
    message = WorkMessage(
        kind=MessageKind.FIRST,
        key=RunKey.of(entry.job_id, occurrence.scheduled_for),
        tenant=entry.tenant,
        due_ms=occurrence.due_ms,
        generation=entry.generation,
        wait=0,
        claim_id=claim.claim_id,
    )
    return message, entry.lane, entry.priority


def _due_ms(entry: DueRun, slots: Slots | None) -> int:
    """When a waiting run is due: at its slot, if it had to ask for one."""
    return max([entry.next_fire_time, *(slots.times_ms[:1] if slots else ())])


def _wait_message(entry: DueRun, due_ms: int) -> Addressed:
    message = WorkMessage(
        kind=MessageKind.WAIT,
        key=RunKey(entry.job_id, entry.name),
        tenant=entry.tenant,
        due_ms=due_ms,
        generation=entry.generation,
        wait=entry.wait,
        claim_id="",
    )
    return message, entry.lane, entry.priority


def _note_lag(counts: DispatchCounts, lag_ms: int) -> None:
    counts.lag_ms = max(counts.lag_ms or 0, lag_ms)


def _note_deferral(counts: DispatchCounts, *, granted: bool, holds: bool) -> None:
    counts.deferred += holds and granted
    counts.paced += holds and not granted
