"""Claims of due jobs: updates of lease attributes only, which no index shows. One write unit, the index untouched."""

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import ZERO, number, text
from carillon.adapters.dynamodb.fenced import FencedUpdate
from carillon.adapters.dynamodb.job_items import job_key, lease_attributes
from carillon.domain.job import ClaimLease
from carillon.ports.jobs import Claim


def claim_update(table: str, claim: Claim) -> FencedUpdate:
    """The update that is a claim: of a job without a lease, or, taking over, with that very lease."""
    fence = {k.LEASE_UNTIL: ZERO} if claim.takes_over is None else {k.CLAIM_ID: text(claim.takes_over)}
    return FencedUpdate(
        table=table,
        key=job_key(claim.entry.job_id, claim.entry.segment),
        sets=lease_attributes(ClaimLease(claim.epoch, claim.until, claim.claim_id, claim.decided_at)),
        equal={k.VERSION: number(claim.entry.version), **fence},
        at_most={k.LEASE_EPOCH: number(claim.epoch)},
    )
