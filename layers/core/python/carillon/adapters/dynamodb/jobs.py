"""The job store in DynamoDB."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Fields, Item, number, text
from carillon.adapters.dynamodb.audit import telling
from carillon.adapters.dynamodb.claims import claim_update
from carillon.adapters.dynamodb.confirms import confirm_update, confirm_with, is_plain, was_ours
from carillon.adapters.dynamodb.database import Database, Lost, Written
from carillon.adapters.dynamodb.deferrals import is_deferred, job_deferral
from carillon.adapters.dynamodb.due_items import LONGEST_REASON, set_item_aside
from carillon.adapters.dynamodb.fenced import Answer, SingleUpdates, Transport
from carillon.adapters.dynamodb.job_items import job_if_readable, job_item, job_key, job_of
from carillon.adapters.dynamodb.job_names import JobNames
from carillon.adapters.dynamodb.replacing import replacement
from carillon.adapters.dynamodb.run_items import run_item
from carillon.adapters.dynamodb.spec_items import spec_item, spec_key, spec_of
from carillon.adapters.dynamodb.writes import ABSENT, Write, delete, put, setting, update
from carillon.adapters.store_rules import (
    holds_claim,
    is_same_creation,
    is_same_edit,
    was_set_to_error,
)
from carillon.domain.job import Definition, Job, JobSpec, JobState
from carillon.domain.limits import NO_LIMITS, Limits
from carillon.ports.errors import NameTakenError, UnavailableError, UnreadableItemError
from carillon.ports.jobs import Claim, Claimed, ClaimRefused, ClaimResult, Confirmation, JobDeferral, JobPage, Renaming

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from carillon.adapters.dynamodb.counters import Asking, JobCounters
    from carillon.domain.audit import AuditEvent
    from carillon.domain.counting import Place
    from carillon.domain.due import DueJob
    from carillon.domain.run import Run

_BOTH_HALVES: Final = f"#{k.PK} = :pk AND begins_with(#{k.SK}, :job)"
_NEWEST_OF_TENANT: Final = f"#{k.TENANT} = :tenant"
_NEWEST_AFTER: Final = f"{_NEWEST_OF_TENANT} AND #{k.LISTED} < :after"
MOST_RACES: Final = 12


class DynamoJobStore:
    """Jobs, both halves. `transport` is that of claims and their ends."""

    def __init__(self, database: Database, *, transport: Transport | None = None) -> None:
        self._database = database
        self._transport = transport or SingleUpdates()
        self._names = JobNames(database)

    @cached_property
    def _counters(self) -> JobCounters:
        from carillon.adapters.dynamodb.counters import JobCounters  # noqa: PLC0415 - only creations count

        return JobCounters(self._database)

    def create(self, definition: Definition, *, limits: Limits = NO_LIMITS, event: AuditEvent | None = None) -> None:
        """Store a new job, its other half, its name and its event, and count it, all or nothing.

        Raises:
            NameTakenError: another job of the tenant holds the name.
            LimitReachedError: the tenant has as many jobs as it may.
            TooFastError: the tenant creates jobs faster than it may.
            ItemTooLargeError: the job does not fit into an item.
            ValueError: another job has this id.
        """
        job, spec = definition.job, definition.spec

        def halves(place: Place | None) -> list[Write]:
            return [
                put(self._database.jobs, job_item(_counted(job, place)), ABSENT),
                put(self._database.jobs, spec_item(spec), ABSENT),
                *telling(self._database, event),
            ]

        if not self._write_with_name(halves, (), spec, (_asking(job, creates=True), limits)):
            self._check_repeat(definition)

    def get(self, job_id: str) -> Definition | None:
        """Both halves, by one strongly consistent query, or None."""
        values = {":pk": text(k.job_pk(job_id)), ":job": text(k.JOB_SK)}
        found = {
            item[k.SK]["S"]: item
            for page in self._database.query(self._database.jobs, _BOTH_HALVES, values)
            for item in page
        }
        return _definition(found.get(k.JOB_SK), found.get(k.SPEC_SK))

    def holder_of(self, tenant: str, name: str) -> str | None:
        """The id of the job that took a name last, or None when the name is free."""
        return self._names.holder(tenant, name)

    def list_newest(self, tenant: str, limit: int, after: str | None) -> JobPage:
        """A tenant's jobs, newest first, from behind the job `after`; damaged ones are left out."""
        found = self._listed(tenant, limit + 1, after)
        page = found[:limit]
        keys = [key for job_id in page for key in (job_key(job_id), spec_key(job_id))]
        items = {(i[k.PK]["S"], i[k.SK]["S"]): i for i in self._database.get_many(self._database.jobs, keys)}
        halves = ((items.get((pk, k.JOB_SK)), items.get((pk, k.SPEC_SK))) for pk in map(k.job_pk, page))
        readable = (_definition_if_readable(job, spec) for job, spec in halves)
        definitions = tuple(definition for definition in readable if definition)
        return JobPage(definitions, page[-1] if len(found) > limit else None)

    def replace(  # noqa: PLR0913 - what an edit may come with, all or nothing
        self,
        definition: Definition,
        *,
        seen_version: int,
        seen_revision: int,
        records: Sequence[Run],
        segment: Job | None = None,
        seen_claim: str | None = None,
        renaming: Renaming | None = None,
        event: AuditEvent | None = None,
        limits: Limits | None = None,
    ) -> bool:
        """Store both halves if neither has changed since it was read, with what settles the past, all or nothing.

        The claim of a dispatcher stands unless the version rises, which voids it; the stored epoch always stands.

        Raises:
            NameTakenError: another job of the tenant holds the new name.
            LimitReachedError: the job is to be counted, and the tenant has as many as it may.
            ItemTooLargeError: the job does not fit into an item any more.
        """
        job = definition.job

        def required(place: Place | None) -> list[Write]:
            counted = definition if place is None else replace(definition, job=_counted(job, place))
            halves = replacement(self._database.jobs, counted, seen_version, seen_revision, seen_claim)
            if segment is not None:
                halves.append(put(self._database.jobs, job_item(replace(segment, counted=None)), ABSENT))
            return [*halves, *telling(self._database, event)]

        optional = [*self._freeing(definition, renaming), *self._recording(records)]
        counting = None if limits is None else (_asking(job, creates=False), limits)
        if self._write_with_name(required, optional, definition.spec if renaming else None, counting):
            return True
        stored = self.get(definition.job.id)
        return stored is not None and is_same_edit(stored.spec, definition.spec, seen_revision)

    def claim_many(self, claims: Sequence[Claim]) -> list[ClaimResult]:
        """Try each claim by itself. A job whose lease is damaged is taken out of the due index.

        Raises:
            UnavailableError: there was no answer for any of them.
        """
        answers = self._transport(self._database, [claim_update(self._database.jobs, claim) for claim in claims])
        if claims and all(answer is None for answer in answers):
            raise UnavailableError("no claim was answered")
        return [self._claim_result(claim, answer) for claim, answer in zip(claims, answers, strict=True)]

    def confirm_many(self, confirmations: Sequence[Confirmation]) -> list[bool]:
        """End each claim by itself; with its records, all or nothing."""
        table, plain = self._database.jobs, [one for one in confirmations if is_plain(one)]
        answers = iter(self._transport(self._database, [confirm_update(table, one) for one in plain]))
        return [
            was_ours(next(answers), one.claim)
            if is_plain(one)
            else confirm_with(self._database, one, self._recording(one.records))
            for one in confirmations
        ]

    def defer_many(self, deferrals: Sequence[JobDeferral]) -> list[bool]:
        """Move each job by itself to its slot in the due index."""
        updates = [job_deferral(self._database.jobs, deferral) for deferral in deferrals]
        answers = self._transport(self._database, updates)
        return [is_deferred(answer, deferral) for answer, deferral in zip(answers, deferrals, strict=True)]

    def set_error(self, entry: DueJob, reason: str) -> bool:
        """Take a job that cannot be decided out of the due index: state `error`."""
        attributes = {
            k.STATE: text(JobState.ERROR),
            k.ERROR: text(reason[:LONGEST_REASON]),
            k.VERSION: number(entry.version + 1),
            k.LEASE_UNTIL: number(0),
            k.CLAIM_ID: text(""),
            k.DECIDED_AT: number(0),
        }
        change, values = setting(attributes, removing=(k.SHARD, k.NEXT_FIRE_TIME, k.SCHEDULED_FOR, k.COUNTED))
        values[":seen"] = number(entry.version)
        key = job_key(entry.job_id, entry.segment)
        written = self._database.write(update(self._database.jobs, key, change, f"#{k.VERSION} = :seen", values))
        if isinstance(written, Written):
            return True
        stored = job_if_readable(written.old)
        return stored is not None and was_set_to_error(stored, entry)

    def delete(self, job_id: str) -> None:
        """Remove what is left of a job whose hot half is gone: its name first, because the other half tells it."""
        key = spec_key(job_id)
        item = self._database.get(self._database.jobs, key)
        if item is None or self._database.get(self._database.jobs, job_key(job_id)) is not None:
            return
        fields = Fields(item)
        if (name := fields.text_or_none(k.NAME)) is not None:
            self._names.free(fields.text(k.TENANT), name, job_id)
        self._database.write(delete(self._database.jobs, key, f"attribute_exists(#{k.PK})"))

    def _write_with_name(
        self,
        required: Callable[[Place | None], Sequence[Write]],
        optional: Sequence[Write],
        named: JobSpec | None,
        counting: tuple[Asking, Limits] | None,
    ) -> bool:
        """Make all required writes, with those optional ones whose conditions hold; a job takes its name and its place.

        Returns False when a condition of the required ones failed: then neither name nor limit is looked at.

        Raises:
            NameTakenError: another job of the tenant holds the name.
            LimitReachedError: the tenant has as many jobs as it may.
            TooFastError: the tenant creates jobs faster than it may.
        """
        former_holder: str | None = None
        place = None if counting is None else self._counters.first_place(*counting)
        for _ in range(MOST_RACES):
            writes = required(place)
            naming = [] if named is None else self._names.taking(named, former_holder)
            taking = [] if counting is None or place is None else [self._counters.taking(counting[0].tenant, place)]
            cancelled = self._database.transact_with([*writes, *naming, *taking], optional)
            if cancelled is None:
                if counting is not None and place is not None:
                    self._counters.taken(counting[0].tenant, place)
                return True
            if any(position < len(writes) for position in cancelled.failed):
                return False
            if naming and len(writes) in cancelled.failed:
                former_holder = self._former_holder(cancelled.failed[len(writes)])
            if counting is not None and place is not None and (at := len(writes) + len(naming)) in cancelled.failed:
                place = self._counters.next_place(counting[0], place, cancelled.failed[at])
        raise UnavailableError("the name or the place keeps changing hands")

    def _freeing(self, definition: Definition, renaming: Renaming | None) -> list[Write]:
        """The write that frees the name that a job has no more."""
        spec = definition.spec
        if renaming is not None:
            return self._names.freeing(spec.tenant, renaming.former, spec.job_id)
        is_cancelled = definition.job.state is JobState.CANCELLED
        return self._names.freeing(spec.tenant, spec.name, spec.job_id) if is_cancelled else []

    def _check_repeat(self, definition: Definition) -> None:
        stored = self.get(definition.job.id)
        if stored is None or not is_same_creation(stored.spec, definition.spec):
            raise ValueError(f"{definition.job.id}: another job has this id")

    def _former_holder(self, name_item: Item | None) -> str | None:
        """The job that a name may be taken from, because it is gone or cancelled; None: nobody holds the name."""
        if name_item is None:
            return None
        holder = Fields(name_item).text(k.JOB_ID)
        item = self._database.get(self._database.jobs, job_key(holder))
        if item is not None and item.get(k.STATE) != text(JobState.CANCELLED):
            raise NameTakenError(holder)
        return holder

    def _listed(self, tenant: str, limit: int, after: str | None) -> list[str]:
        condition, values = _NEWEST_OF_TENANT, {":tenant": text(tenant)}
        if after is not None:
            condition, values = _NEWEST_AFTER, values | {":after": text(after)}
        found: list[str] = []
        for page in self._database.query(
            self._database.jobs, condition, values, index=k.BY_TENANT_INDEX, newest_first=True, page_limit=limit
        ):
            found.extend(item[k.LISTED]["S"] for item in page)
            if len(found) >= limit:
                break
        return found[:limit]

    def _recording(self, records: Sequence[Run]) -> list[Write]:
        return [put(self._database.jobs, run_item(run), ABSENT) for run in records]

    def _claim_result(self, claim: Claim, answer: Answer) -> ClaimResult:
        if isinstance(answer, Written):
            return Claimed(claim)
        if not isinstance(answer, Lost) or answer.old is None:
            return ClaimRefused(claim, None)
        try:
            stored = job_of(answer.old)
        except UnreadableItemError as error:
            set_item_aside(self._database, answer.old[k.PK]["S"], answer.old[k.SK]["S"], str(error))
            return ClaimRefused(claim, None)
        return Claimed(claim) if holds_claim(stored, claim) else ClaimRefused(claim, stored)


def _counted(job: Job, place: Place | None) -> Job:
    return replace(job, counted=None if place is None else place.mark)


def _definition(job: Item | None, spec: Item | None) -> Definition | None:
    if job is None:
        return None
    if spec is None:
        raise Fields(job).unreadable("the other half is missing")
    return Definition(job_of(job), spec_of(spec))


def _definition_if_readable(job: Item | None, spec: Item | None) -> Definition | None:
    try:
        return _definition(job, spec)
    except UnreadableItemError:
        return None


def _asking(job: Job, *, creates: bool) -> Asking:
    """Who asks for a place. Dispatchers and workers, who take none, load nothing of it."""
    from carillon.adapters.dynamodb.counters import Asking  # noqa: PLC0415 - only creations count

    return Asking(job.tenant, job.id, job.created_at, creates=creates)
