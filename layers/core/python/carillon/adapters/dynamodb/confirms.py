"""The ends of claims.

The claim's name stays on the job, so that a repeat of a confirm whose answer was lost finds that it has succeeded.
"""

from collections.abc import Sequence
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import TRUE, Item, number, text
from carillon.adapters.dynamodb.database import Cancelled, Database, Lost
from carillon.adapters.dynamodb.fenced import Answer, FencedUpdate
from carillon.adapters.dynamodb.job_items import job_if_readable, job_key
from carillon.adapters.dynamodb.writes import Write, delete
from carillon.adapters.store_rules import lease_until_after, was_confirmed
from carillon.ports.jobs import Claim, Confirmation

_OUR_CLAIM: Final = f"#{k.VERSION} = :seen AND #{k.CLAIM_ID} = :mine"


def is_plain(confirmation: Confirmation) -> bool:
    """Whether a confirm is one update: it has no records, and leaves the item where it is."""
    return not confirmation.records and not _is_drained(confirmation)


def confirm_update(table: str, confirmation: Confirmation) -> FencedUpdate:
    """The update that ends a claim."""
    claim, upcoming = confirmation.claim, confirmation.upcoming
    sets: Item = {
        k.STATE: text(confirmation.state),
        k.VERSION: number(claim.entry.version + 1),
        k.PLANNED: number(confirmation.planned),
        k.LEASE_UNTIL: number(lease_until_after(confirmation)),
    }
    if confirmation.planned_until is not None:
        sets[k.PLANNED_UNTIL] = number(confirmation.planned_until)
    if upcoming:
        sets[k.NEXT_FIRE_TIME] = number(upcoming.due_ms)
        sets[k.SCHEDULED_FOR] = number(upcoming.scheduled_for)
    if confirmation.expires_at is not None:
        sets[k.EXPIRES_AT] = number(confirmation.expires_at)
    if confirmation.granted:
        sets[k.GRANTED] = TRUE
    leaving = () if upcoming else (k.SHARD, k.NEXT_FIRE_TIME, k.SCHEDULED_FOR, k.COUNTED)
    missing = tuple(name for name in (k.GRANTED, k.EXPIRES_AT) if name not in sets)
    return FencedUpdate(table, _key(claim), sets, equal=_ours(claim), removes=(*leaving, *missing))


def was_ours(answer: Answer, claim: Claim) -> bool:
    """Whether a confirm holds, by the answer to its update; an earlier try of it may have succeeded."""
    return answer is not None and (not isinstance(answer, Lost) or _came_of(answer.old, claim))


def confirm_with(database: Database, confirmation: Confirmation, records: Sequence[Write]) -> bool:
    """End a claim with its records, all or nothing; a drained segment is removed."""
    claim, is_drained = confirmation.claim, _is_drained(confirmation)
    end = _removal(database.jobs, claim) if is_drained else confirm_update(database.jobs, confirmation).as_write()
    cancelled = database.transact_with([end], records)
    if not isinstance(cancelled, Cancelled):
        return True
    # Only the one who drains a segment removes it.
    return is_drained if cancelled.failed[0] is None else _came_of(cancelled.failed[0], claim)


def _is_drained(confirmation: Confirmation) -> bool:
    return confirmation.claim.entry.segment is not None and confirmation.upcoming is None


def _came_of(old: Item | None, claim: Claim) -> bool:
    stored = job_if_readable(old)
    return stored is not None and was_confirmed(stored, claim)


def _removal(table: str, claim: Claim) -> Write:
    return delete(table, _key(claim), _OUR_CLAIM, {":seen": number(claim.entry.version), ":mine": text(claim.claim_id)})


def _key(claim: Claim) -> Item:
    return job_key(claim.entry.job_id, claim.entry.segment)


def _ours(claim: Claim) -> Item:
    return {k.VERSION: number(claim.entry.version), k.CLAIM_ID: text(claim.claim_id)}
