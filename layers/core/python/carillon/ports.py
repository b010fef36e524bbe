"""What the use cases need of the world: protocols with their contracts.

Every adapter of a protocol is held to one contract suite. Instants are epoch ms. A lost race is an ordinary result; an
exception means that the world did not answer (`Unavailable`), and whatever was asked may or may not have happened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # types alone: who uses a part of this loads no other
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from carillon.domain.audit import AuditEvent
    from carillon.domain.destinations import Destinations
    from carillon.domain.due import DueEntry, DueJob, DueRun, Occurrence, UnreadableEntry
    from carillon.domain.idempotency import IdempotencyRecord
    from carillon.domain.identity import RunKey
    from carillon.domain.job import Definition, Job, JobState, Lane, Priority
    from carillon.domain.messages import Tick, WorkMessage
    from carillon.domain.outcomes import CallRequest, Outcome
    from carillon.domain.run import Run
    from carillon.domain.secrets import Rotation, SigningSecret
    from carillon.domain.slots import Pace
    from carillon.domain.tenancy import ApiKey, DispatchLimit, Tenant


class UnavailableError(Exception):
    """A store or queue did not answer within its retries. What was asked may or may not have happened."""


class NameTakenError(Exception):
    """Another job of the tenant holds the name."""

    def __init__(self, job_id: str) -> None:
        super().__init__("the name is taken")
        self.job_id = job_id


class UnreadableItemError(Exception):
    """An item of the table is not what its key says."""


# --------------------------------------------------------------------------------------------------- edges of the world


class Clock(Protocol):
    """The only source of the present."""

    def now_ms(self) -> int:
        """The present, epoch ms."""
        ...

    def sleep_ms(self, duration_ms: int) -> None:
        """Let so much time pass."""
        ...


class Ids(Protocol):
    """The only source of randomness."""

    def job_id(self, now_ms: int) -> str:
        """A new job id."""
        ...

    def token(self) -> str:
        """A new unguessable name of a claim, a start or an owner: 26 characters."""
        ...

    def unit(self) -> float:
        """A draw in [0, 1)."""
        ...

    def secret_bytes(self, count: int) -> bytes:
        """Random bytes fit for keys."""
        ...


class Meter(Protocol):
    """Figures for operators. Names are stable; neither tenants nor jobs are ever a dimension. Groups are few."""

    def count(self, name: str, value: int = 1) -> None:
        """Add to a counter."""
        ...

    def observe_ms(self, name: str, value_ms: int) -> None:
        """Record a duration, ms."""
        ...

    def observe_group_ms(self, name: str, group: int, value_ms: int) -> None:
        """Record a duration of one shard group, ms."""
        ...


# ---------------------------------------------------------------------------------------------------------------- jobs


@dataclass(frozen=True, slots=True)
class Claim:
    """A wish to decide a due job: who (epoch of the group lease), under which name, until and as of when.

    With `takes_over` set, the claim of that name must have been found with its lease run out, and `decided_at` is that
    claim's, so that the second owner decides what the first one did.
    """

    entry: DueJob
    epoch: int
    claim_id: str
    until: int
    decided_at: int
    takes_over: str | None = None


@dataclass(frozen=True, slots=True)
class Claimed:
    """The claim holds (also when an earlier, unanswered try of the same claim had succeeded)."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class ClaimRefused:
    """The claim does not hold; `job` is the stored job, or None when it is gone, damaged or nobody answered for it."""

    claim: Claim
    job: Job | None


ClaimResult = Claimed | ClaimRefused


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The end of a claim: what comes next, and the records of what was skipped.

    `planned_until`: the latest nominal time that was sent, or None when nothing was. `is_partial`: the queue has not
    accepted all, and maybe some behind the one that comes next: the lease is left as one that has run out, so that what
    is left is taken over, and decided as of the same instant. `granted`: what comes next has its rate slot.
    """

    claim: Claim
    upcoming: Occurrence | None
    planned: int
    state: JobState
    expires_at: int | None
    records: tuple[Run, ...] = ()
    planned_until: int | None = None
    is_partial: bool = False
    granted: bool = False


@dataclass(frozen=True, slots=True)
class JobDeferral:
    """A job that is not claimed: its occurrence is due again at a slot (epoch ms), which it was granted or not."""

    entry: DueJob
    epoch: int
    until_ms: int
    granted: bool


@dataclass(frozen=True, slots=True)
class JobPage:
    """A page of a tenant's jobs, newest first; `next_after` is the id to go on after, or None at the end."""

    definitions: tuple[Definition, ...]
    next_after: str | None


@dataclass(frozen=True, slots=True)
class Renaming:
    """An edit gives a job the name of its new definition (None: no name), in place of this one (None: it had none)."""

    former: str | None


class JobStore(Protocol):
    """Jobs, both halves."""

    def create(self, definition: Definition) -> None:
        """Store a new job, its other half and its name, all or nothing. A repeat of the same definition succeeds.

        Raises:
            NameTakenError: another job of the tenant holds the name.
        """
        ...

    def get(self, job_id: str) -> Definition | None:
        """Both halves, read with strong consistency, or None.

        Raises:
            UnreadableItemError: the stored job is damaged.
        """
        ...

    def list_newest(self, tenant: str, limit: int, after: str | None) -> JobPage:
        """A tenant's jobs, newest first, from behind the job `after`, in every state.

        A job deleted meanwhile is simply missing, so a page may be short while `next_after` is set.
        """
        ...

    def replace(
        self,
        definition: Definition,
        *,
        seen_version: int,
        seen_revision: int,
        records: Sequence[Run],
        segment: Job | None = None,
        seen_claim: str | None = None,
        renaming: Renaming | None = None,
    ) -> bool:
        """Store both halves if neither has changed since it was read, together with what settles the past.

        With `seen_claim` set, the job must not have been claimed under another name meanwhile either: whoever claims
        may send what is being settled.

        All or nothing: new run records, and the segment of the old plan that the due index is to drain. A record whose
        run has one already is left as it is. When the job is cancelled, its name becomes free; when it is renamed, its
        new name is taken and the former one becomes free. Returns False when the job has changed.

        Raises:
            NameTakenError: another job of the tenant holds the new name.
        """
        ...

    def claim_many(self, claims: Sequence[Claim]) -> list[ClaimResult]:
        """Try each claim by itself; one result a claim, in the order given. The due index is untouched.

        It holds if `version` is as in the entry, and the stored epoch not above ours, and there is no lease (or, taking
        over, the lease is that of the named claim). Where only some were answered for, the others count as refused.

        Raises:
            UnavailableError: none was answered for.
        """
        ...

    def confirm_many(self, confirmations: Sequence[Confirmation]) -> list[bool]:
        """End each claim by itself: the next occurrence, version + 1, no lease; and its records; all or nothing.

        A partial one leaves the lease as one that has run out.

        Without a next occurrence the job leaves the due index, and a segment is removed. A record whose run has one
        already is left as it is. One answer a confirmation, in the order given; False when the claim is no longer
        ours, or nobody answered: then it runs out, and the occurrence is found again.
        """
        ...

    def defer_many(self, deferrals: Sequence[JobDeferral]) -> list[bool]:
        """Move each job by itself to its slot in the due index, version + 1, if it is as seen and without a claim.

        One answer a deferral, in the order given; False also where nobody answered. What is moved all the same is due
        at its slot; the slot of what is not is wasted.
        """
        ...

    def set_error(self, entry: DueJob, reason: str) -> bool:
        """Take a job that cannot be decided out of the due index: state `error`. False: its version has moved on."""
        ...

    def delete(self, job_id: str) -> None:
        """Remove what is left of a job whose hot half is gone: its other half and its name, if still its own."""
        ...


# ---------------------------------------------------------------------------------------------------------------- runs


@dataclass(frozen=True, slots=True)
class Saved:
    """The write holds (also when an earlier, unanswered try of the same write had succeeded)."""

    run: Run


@dataclass(frozen=True, slots=True)
class Refused:
    """Somebody else wrote first: `run` is the stored record (None: there is none)."""

    run: Run | None


@dataclass(frozen=True, slots=True)
class RunPage:
    """A page of a job's runs, newest first; `next_before` is the name to go on before, or None at the end."""

    runs: tuple[Run, ...]
    next_before: str | None


@dataclass(frozen=True, slots=True)
class DeadPage:
    """A page of dead letters, the latest first; `next_after` is the position to go on behind, or None at the end."""

    runs: tuple[Run, ...]
    next_after: str | None


class RunStore(Protocol):
    """Records of runs. A run is written whole, on the condition of the `rev` that was read."""

    def get(self, key: RunKey) -> Run | None:
        """The record, read with strong consistency, or None.

        Raises:
            UnreadableItemError: the stored record is damaged.
        """
        ...

    def save(self, run: Run, *, seen: int | None) -> Saved | Refused:
        """Write a record if the stored one still has the rev `seen` (None: if there is none).

        It is in the due index while `next_fire_time` is set, and in the index of dead letters while dead-lettered.
        """
        ...

    def list_newest(self, job_id: str, limit: int, before: str | None) -> RunPage:
        """A job's runs, newest nominal time first, from before the name given."""
        ...

    def list_dead(self, tenant: str, since_ms: int, limit: int, after: str | None) -> DeadPage:
        """A tenant's dead letters that died at or after an instant (epoch ms), the latest first.

        A position reads `<when it died, epoch ms>/<run id>`. What has been redriven meanwhile is simply missing, so a
        page may be short while `next_after` is set; what has died a moment ago may be missing too.
        """
        ...

    def leave_index(self, entry: DueRun) -> bool:
        """Take a waiting run out of the due index if it still waits with the entry's wait number."""
        ...

    def defer(self, entry: DueRun, until_ms: int, *, granted: bool) -> bool:
        """Move a waiting run to its slot in the due index, rev + 1, if it is still there with the entry's wait."""
        ...


# ------------------------------------------------------------------------------------------------------------- dispatch


class DueIndex(Protocol):
    """The due index: eventually consistent, ordered by fire time within a shard."""

    def pages(self, shard: int, until_ms: int) -> Iterator[Sequence[DueEntry]]:
        """All entries of a shard due at or before an instant, page by page to the end, oldest first.

        What cannot be read is given as such, alone.
        """
        ...

    def set_aside(self, entry: UnreadableEntry) -> None:
        """Take an unreadable item out of the index; it stays in the table with state `error` and the reason."""
        ...


@dataclass(frozen=True, slots=True)
class GroupLease:
    """Ownership of a shard group: `epoch` rises with every owner, across groups and restores."""

    group: int
    owner: str
    epoch: int
    until: int


class GroupLeases(Protocol):
    """Who may dispatch a group of shards."""

    def take(self, group: int, owner: str, now_ms: int, lease_ms: int) -> GroupLease | None:
        """Take a group that is free, expired or ours, with `epoch = max(stored + 1, now_ms)`. None: it is held."""
        ...

    def renew(self, lease: GroupLease, now_ms: int, lease_ms: int) -> GroupLease | None:
        """Hold on to a group. None: it is no longer ours, and nothing may be written under this lease."""
        ...

    def release(self, lease: GroupLease) -> None:
        """Give a group up, if still ours."""
        ...


class ShardLedger(Protocol):
    """The highest shard count ever used. It only rises: jobs keep the shard they were created in."""

    def highest(self) -> int:
        """The count, or 0 when none is known."""
        ...

    def raise_to(self, shards: int) -> int:
        """Make the count at least this; returns the count in force."""
        ...


class SlotLedger(Protocol):
    """The calendars of slots: whatever is given is stored before it is told, so no slot is given twice."""

    def reserve(
        self, name: str, pace: Pace, chains: Sequence[Sequence[int]], now_ms: int, horizon_ms: int
    ) -> list[tuple[int, ...]]:
        """Take slots in the calendar of that name, as `domain.slots.allot` gives them.

        Raises:
            UnavailableError: nobody answered, or others kept coming first; slots may have been wasted.
        """
        ...


class TickLedger(Protocol):
    """Up to which absolute second ticks have been sent."""

    def begin(self, owner: str, now_ms: int, lease_ms: int) -> int | None:
        """Become the one who extends the range; the first second not covered (0 at first). None: another is at it."""
        ...

    def extend(self, owner: str, covered_until: int) -> bool:
        """Record that all seconds before this one are covered, if still the owner."""
        ...

    def end(self, owner: str) -> None:
        """Let the next one begin at once."""
        ...


class TickQueue(Protocol):
    """The queue that wakes the dispatchers."""

    def send(self, ticks: Sequence[Tick], now_ms: int) -> list[bool]:
        """Send each so that it arrives in its second; one answer a tick, in order: whether it was accepted."""
        ...


class WorkQueues(Protocol):
    """The conveyor between deciding and running."""

    def send(self, messages: Sequence[tuple[WorkMessage, Lane, Priority]], clock: Clock) -> list[bool]:
        """Send each to the queue of its lane and priority, to arrive when due (delay computed at the send).

        High priority rounds the delay down (the worker holds the rest), others up. One answer a message, in order.
        """
        ...


# ------------------------------------------------------------------------------------------------------------ execution


class Delivery(Protocol):
    """One received message, as far as its queue is concerned."""

    @property
    def message_id(self) -> str:
        """The queue's name of the message."""
        ...

    @property
    def body(self) -> str:
        """What was received."""
        ...

    def come_again_after(self, after_ms: int) -> None:
        """Let the message stay invisible for so long from now (rounded up to seconds, at most 12 hours)."""
        ...


class Caller(Protocol):
    """Calls targets. Never raises for what the target, the network or the name service does."""

    def call(self, request: CallRequest, *, deadline_ms: int, beat: Callable[[], bool], beat_every_ms: int) -> Outcome:
        """Make one call within one deadline (epoch ms), calling `beat` every so often while it waits.

        When `beat` returns False the call is broken off and the outcome is the error `cancelled`.
        """
        ...


class SigningSecrets(Protocol):
    """The secrets that sign a tenant's callbacks."""

    def active(self, tenant: str, now_ms: int) -> Sequence[str]:
        """The texts (`whsec_…`) to sign with, newest first; empty when the tenant has none.

        A rotation made elsewhere is known within five minutes; a secret whose time is known retires on time.
        """
        ...

    def add(self, tenant: str, secret_id: str, text: str, now_ms: int) -> None:
        """Store a new secret, encrypted."""
        ...

    def list_all(self, tenant: str) -> Sequence[SigningSecret]:
        """The tenant's secrets without their texts, in no order, read with strong consistency."""
        ...

    def rotate(self, tenant: str, rotation: Rotation, text: str, event: AuditEvent) -> bool:
        """Store the new secret, let those that were seen retire, and add the event; all or nothing.

        Returns False when one of them is no longer as it was seen.
        """
        ...

    def reveal(self, tenant: str, secret_id: str) -> str | None:
        """The text of a secret, or None when there is no such."""
        ...


# -------------------------------------------------------------------------------------------------------------- tenants


class Tenants(Protocol):
    """Tenants."""

    def create(self, tenant: Tenant) -> bool:
        """Store a new tenant. False when there is one of this id."""
        ...

    def get(self, tenant_id: str) -> Tenant | None:
        """The tenant, or None."""
        ...

    def list_all(self) -> Iterable[Tenant]:
        """Every tenant, in no order."""
        ...


class ApiKeys(Protocol):
    """The keys of tenants."""

    def add(self, key: ApiKey, event: AuditEvent | None = None) -> None:
        """Store a new key, with the event that tells of it; all or nothing. A repeat of the same key succeeds.

        Raises:
            ValueError: another key has this id.
        """
        ...

    def get(self, key_id: str) -> ApiKey | None:
        """The key, or None."""
        ...

    def list_all(self, tenant: str) -> Sequence[ApiKey]:
        """A tenant's keys, those included that are in force no longer, in no order; read with strong consistency."""
        ...

    def replace(self, seen: ApiKey, changed: ApiKey, event: AuditEvent, added: ApiKey | None = None) -> bool:
        """Give a key another end, with the event that tells of it and a key in its place, if any; all or nothing.

        Returns False when the key's end is no longer as it was seen.
        """
        ...

    def note_use(self, key_id: str, at_ms: int) -> None:
        """Remember when a key was used last. A key that is gone stays so."""
        ...


@dataclass(frozen=True, slots=True)
class AuditPage:
    """A page of a tenant's audit events, newest first; `next_before` is the id to go on before, or None at the end."""

    events: tuple[AuditEvent, ...]
    next_before: str | None


class AuditTrail(Protocol):
    """What was done by whom. Events are only ever added."""

    def append(self, event: AuditEvent) -> None:
        """Add an event. A repeat adds nothing."""
        ...

    def list_newest(self, tenant: str, limit: int, before: str | None) -> AuditPage:
        """A tenant's events, newest first, from before the id given."""
        ...


class IdempotencyRecords(Protocol):
    """Requests that may be repeated, by tenant and key."""

    def get(self, tenant: str, key: str) -> IdempotencyRecord | None:
        """The record, read with strong consistency, or None."""
        ...

    def put(self, tenant: str, key: str, record: IdempotencyRecord, *, seen: IdempotencyRecord | None) -> bool:
        """Write a record if the stored one is still that which was seen, by its seed and its lease (None: none)."""
        ...

    def forget(self, tenant: str, key: str, seen: IdempotencyRecord) -> None:
        """Remove a record that is still the one that was seen."""
        ...


class DispatchLimits(Protocol):
    """The limits of those tenants that have one."""

    def all(self) -> Mapping[str, DispatchLimit]:
        """Every limit by its tenant. A change may be seen some time later."""
        ...

    def set(self, tenant: str, limit: DispatchLimit | None) -> None:
        """Give a tenant a limit in place of the one it has, or none."""
        ...


class DestinationStore(Protocol):
    """Where tenants let their jobs call."""

    def of(self, tenant: str) -> Destinations:
        """What a tenant has registered; none if nothing.

        Raises:
            UnreadableItemError: what is stored is damaged.
        """
        ...

    def save(self, tenant: str, destinations: Destinations) -> bool:
        """Store them if the stored ones are those of the `rev` before. A repeat of the same write succeeds."""
        ...


class Quarantine(Protocol):
    """Where messages go that nobody can read."""

    def set_aside(self, message_id: str, body: str, reason: str, now_ms: int) -> None:
        """Keep the message (cut to 1,024 characters) for 90 days, for a person to look at."""
        ...
