"""The end of a claim."""

from collections.abc import Sequence
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import TRUE, Item, number, text
from carillon.adapters.dynamodb.database import Cancelled, Database, Lost
from carillon.adapters.dynamodb.job_items import job_if_readable, job_key
from carillon.adapters.dynamodb.writes import Write, delete, setting, update
from carillon.adapters.store_rules import is_still_granted, was_confirmed
from carillon.ports import Claim, Confirmation

_OUR_CLAIM: Final = f"#{k.VERSION} = :seen AND #{k.CLAIM_ID} = :mine"


def confirm(database: Database, confirmation: Confirmation, records: Sequence[Write]) -> bool:
    """End a claim with its records: one write if there are none, else all or nothing. A drained segment is removed.

    The claim's name stays on the job, so that a repeat of a confirm whose answer was lost finds that it has succeeded.
    """
    claim = confirmation.claim
    is_drained = claim.entry.segment is not None and confirmation.upcoming is None
    write = _removal(database.jobs, claim) if is_drained else confirm_write(database.jobs, confirmation)
    if not records:
        written = database.write(write)
        return not isinstance(written, Lost) or _was_ours(written.old, claim, is_drained=is_drained)
    cancelled = database.transact_with([write], records)
    return not isinstance(cancelled, Cancelled) or _was_ours(cancelled.failed[0], claim, is_drained=is_drained)


def _was_ours(old: Item | None, claim: Claim, *, is_drained: bool) -> bool:
    if old is None:
        return is_drained  # only the one who drains a segment removes it
    stored = job_if_readable(old)
    return stored is not None and was_confirmed(stored, claim)


def confirm_write(table: str, confirmation: Confirmation) -> Write:
    """The update that ends a claim."""
    claim, upcoming = confirmation.claim, confirmation.upcoming
    attributes = {
        k.STATE: text(confirmation.state),
        k.VERSION: number(claim.entry.version + 1),
        k.PLANNED: number(confirmation.planned),
        k.LEASE_UNTIL: number(0),
    }
    if confirmation.planned_until is not None:
        attributes[k.PLANNED_UNTIL] = number(confirmation.planned_until)
    if upcoming:
        attributes[k.NEXT_FIRE_TIME] = number(upcoming.due_ms)
        attributes[k.SCHEDULED_FOR] = number(upcoming.scheduled_for)
    if confirmation.expires_at is not None:
        attributes[k.EXPIRES_AT] = number(confirmation.expires_at)
    if is_still_granted(confirmation):
        attributes[k.GRANTED] = TRUE
    leaving = () if upcoming else (k.SHARD, k.NEXT_FIRE_TIME, k.SCHEDULED_FOR)
    missing = tuple(name for name in (k.GRANTED, k.EXPIRES_AT) if name not in attributes)
    change, values = setting(attributes, removing=(*leaving, *missing))
    return update(table, _key(claim), change, _OUR_CLAIM, values | _ours(claim))


def _removal(table: str, claim: Claim) -> Write:
    return delete(table, _key(claim), _OUR_CLAIM, _ours(claim))


def _key(claim: Claim) -> Item:
    return job_key(claim.entry.job_id, claim.entry.segment)


def _ours(claim: Claim) -> Item:
    return {":seen": number(claim.entry.version), ":mine": text(claim.claim_id)}
