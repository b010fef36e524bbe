"""A run as an item. It is in the due index while it waits, and in the index of dead letters while it is one."""

from typing import Any

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import TRUE, Fields, Item, number, packed, raw, text
from carillon.adapters.dynamodb.job_items import job_id_of
from carillon.adapters.dynamodb.writes import key_of
from carillon.adapters.store_rules import is_due_listed
from carillon.domain.dead_letters import place_of
from carillon.domain.identity import BadIdentityError, RunKey
from carillon.domain.job import Lane, Priority
from carillon.domain.run import Attempt, FailedRow, Run, RunState, SkippedBlock


def run_key(key: RunKey) -> Item:
    """The key of a run's item."""
    return key_of(k.job_pk(key.job_id), k.run_sk(key.name))


def run_item(run: Run) -> Item:
    """The item of a run. What is not set is not written: the item of one ordinary attempt stays under 1 KB."""
    item = run_key(run.key) | {
        k.KIND: text(k.RUN_KIND),
        k.TENANT: text(run.tenant),
        k.STATE: text(run.state),
        k.SCHEDULED_FOR: number(run.scheduled_for),
        k.GENERATION: number(run.generation),
        k.PRIORITY: text(run.priority),
        k.LANE: text(run.lane),
        k.HOME_SHARD: number(run.shard),
        k.CREATED_AT: number(run.created_at),
        k.REV: number(run.rev),
        k.WAIT: number(run.wait),
        k.ATTEMPT: number(run.attempt),
    }
    numbers = {
        k.NEXT_FIRE_TIME: run.next_fire_time,
        k.LOST: run.lost or None,
        k.SPENT: run.spent or None,
        k.LEASE_UNTIL: run.lease_until or None,
        k.COMPLETION_UNTIL: run.completion_until,
        k.HEARTBEAT_MS: run.heartbeat_ms,
        k.LATENESS_MS: run.lateness_ms,
        k.ENDED_AT: run.ended_at,
        k.EXPIRES_AT: run.expires_at,
    }
    item |= {name: number(value) for name, value in numbers.items() if value is not None}
    if run.is_cancelled:
        item[k.IS_CANCELLED] = TRUE
    if run.granted:
        item[k.GRANTED] = TRUE
    if run.start_id:
        item[k.START_ID] = text(run.start_id)
    if run.reason is not None:
        item[k.REASON] = text(run.reason)
    if run.attempts:
        item[k.ATTEMPTS] = packed([_attempt_fields(attempt) for attempt in run.attempts])
    if run.block is not None:
        item[k.BLOCK] = packed([run.block.count, run.block.first, run.block.last])
    if run.notice is not None:
        item[k.NOTICE] = text(run.notice)
    if run.body is not None:
        item[k.NOTICE_BODY] = raw(run.body)
    if run.failed_row is not None:
        item[k.FAILED_ROW] = packed([run.failed_row.runs, run.failed_row.since])
    return item | _index_attributes(run)


def _index_attributes(run: Run) -> Item:
    if is_due_listed(run):
        return {k.SHARD: number(run.shard)}
    if run.state is RunState.DEAD_LETTERED:
        return {k.DEAD_TENANT: text(run.tenant), k.DEAD_AT: number(place_of(run)[0])}
    return {}


def run_of(item: Item) -> Run:
    """The run in an item.

    Raises:
        UnreadableItemError: it is damaged.
    """
    fields = Fields(item)
    try:
        attempts = _attempts(fields.unpacked(k.ATTEMPTS)) if fields.has(k.ATTEMPTS) else ()
        block = _block(*fields.unpacked(k.BLOCK)) if fields.has(k.BLOCK) else None
        row = _failed_row(*fields.unpacked(k.FAILED_ROW)) if fields.has(k.FAILED_ROW) else None
    except (KeyError, TypeError, ValueError) as error:
        raise fields.unreadable("attempts, block or row of failures are damaged") from error
    return Run(
        key=run_key_of(fields),
        tenant=fields.text(k.TENANT),
        state=fields.one_of(RunState, k.STATE),
        scheduled_for=fields.number(k.SCHEDULED_FOR),
        generation=fields.number(k.GENERATION),
        priority=fields.one_of(Priority, k.PRIORITY),
        lane=fields.one_of(Lane, k.LANE),
        shard=fields.number(k.HOME_SHARD),
        created_at=fields.number(k.CREATED_AT),
        rev=fields.number(k.REV),
        wait=fields.number(k.WAIT),
        attempt=fields.number(k.ATTEMPT),
        lost=fields.number_or_none(k.LOST) or 0,
        spent=fields.number_or_none(k.SPENT) or 0,
        is_cancelled=fields.flag(k.IS_CANCELLED),
        lease_until=fields.number_or_none(k.LEASE_UNTIL) or 0,
        start_id=fields.text_or_none(k.START_ID) or "",
        next_fire_time=fields.number_or_none(k.NEXT_FIRE_TIME),
        completion_until=fields.number_or_none(k.COMPLETION_UNTIL),
        heartbeat_ms=fields.number_or_none(k.HEARTBEAT_MS),
        granted=fields.flag(k.GRANTED),
        reason=fields.text_or_none(k.REASON),
        attempts=attempts,
        lateness_ms=fields.number_or_none(k.LATENESS_MS),
        block=block,
        ended_at=fields.number_or_none(k.ENDED_AT),
        expires_at=fields.number_or_none(k.EXPIRES_AT),
        notice=fields.text_or_none(k.NOTICE),
        body=fields.raw(k.NOTICE_BODY) if fields.has(k.NOTICE_BODY) else None,
        failed_row=row,
    )


def run_key_of(fields: Fields) -> RunKey:
    """The run that an item belongs to.

    Raises:
        UnreadableItemError: its key names none.
    """
    name = k.run_name_in(fields.text(k.SK))
    if name is None:
        raise fields.unreadable("the key names no run")
    try:
        return RunKey.from_parts(job_id_of(fields), name)
    except BadIdentityError as error:
        raise fields.unreadable("the key names no run") from error


def _attempt_fields(attempt: Attempt) -> dict[str, object]:
    fields = {
        "number": attempt.number,
        "started_at": attempt.started_at,
        "ended_at": attempt.ended_at,
        "status": attempt.status,
        "error": attempt.error,
        "excerpt": attempt.excerpt,
        "truncated": attempt.truncated or None,
        "revision": attempt.revision,
        "token_digest": attempt.token_digest,
        "report": attempt.report,
        "result": attempt.result,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _attempts(entries: list[dict[str, Any]]) -> tuple[Attempt, ...]:
    return tuple(_attempt(entry) for entry in entries)


def _attempt(fields: dict[str, Any]) -> Attempt:
    return Attempt(
        number=int(fields["number"]),
        started_at=int(fields["started_at"]),
        ended_at=_number_or_none(fields, "ended_at"),
        status=_number_or_none(fields, "status"),
        error=_text_or_none(fields, "error"),
        excerpt=_text_or_none(fields, "excerpt"),
        truncated=bool(fields.get("truncated", False)),
        revision=int(fields["revision"]),
        token_digest=_text_or_none(fields, "token_digest"),
        report=_text_or_none(fields, "report"),
        result=_text_or_none(fields, "result"),
    )


def _number_or_none(fields: dict[str, Any], name: str) -> int | None:
    return int(fields[name]) if name in fields else None


def _text_or_none(fields: dict[str, Any], name: str) -> str | None:
    return str(fields[name]) if name in fields else None


def _block(count: int, first: int, last: int) -> SkippedBlock:
    return SkippedBlock(int(count), int(first), int(last))


def _failed_row(runs: int, since: int) -> FailedRow:
    return FailedRow(int(runs), int(since))
