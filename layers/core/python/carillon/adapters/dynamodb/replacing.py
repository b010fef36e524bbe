"""The two writes of an edit: one for each half, each on the condition of the count that was read."""

from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import number, text
from carillon.adapters.dynamodb.job_items import (
    LEASE_ATTRIBUTES,
    OPTIONAL_ATTRIBUTES,
    job_item,
    job_key,
    lease_attributes,
)
from carillon.adapters.dynamodb.spec_items import spec_item
from carillon.adapters.dynamodb.writes import Write, put, setting, update
from carillon.domain.job import ClaimLease, Definition, Job

_SAME_VERSION: Final = f"#{k.VERSION} = :seen"
_SAME_CLAIM: Final = f"{_SAME_VERSION} AND #{k.CLAIM_ID} = :claim"
_SAME_REVISION: Final = f"#{k.REVISION} = :seen"
_NOT_SET: Final = frozenset({k.PK, k.SK, *LEASE_ATTRIBUTES})


def replacement(
    table: str, definition: Definition, seen_version: int, seen_revision: int, seen_claim: str | None
) -> list[Write]:
    """The writes of both halves.

    The hot half is updated, not put: a claim made since it was read stands, unless the version rises, and the epoch of
    the newest owner stands in any case.
    """
    spec = put(table, spec_item(definition.spec), _SAME_REVISION, {":seen": number(seen_revision)})
    return [_job_update(table, definition.job, seen_version, seen_claim), spec]


def _job_update(table: str, job: Job, seen_version: int, seen_claim: str | None) -> Write:
    item = job_item(job)
    attributes = {name: value for name, value in item.items() if name not in _NOT_SET}
    if job.version != seen_version:
        void = lease_attributes(ClaimLease())
        attributes |= {name: void[name] for name in LEASE_ATTRIBUTES if name != k.LEASE_EPOCH}
    missing = tuple(name for name in OPTIONAL_ATTRIBUTES if name not in item)
    change, values = setting(attributes, removing=missing)
    values |= {":seen": number(seen_version)}
    if seen_claim is None:
        return update(table, job_key(job.id), change, _SAME_VERSION, values)
    return update(table, job_key(job.id), change, _SAME_CLAIM, values | {":claim": text(seen_claim)})
