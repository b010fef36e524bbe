"""What verified destinations are to workers and to whoever creates jobs.

What a worker finds of a destination it writes before the end of the run that asked: if it dies between the two, the
receiver is asked once more.
"""

from dataclasses import dataclass, replace

from carillon.domain.audit import AuditEvent
from carillon.domain.challenges import NOT_ECHOED, challenge_in, is_echoed
from carillon.domain.destinations import Destination, Destinations, Verification
from carillon.domain.outcomes import Outcome
from carillon.domain.run import Run
from carillon.ports.tenancy import DestinationStore, Verifications


def prove(verifications: Verifications | None, run: Run, outcome: Outcome, now_ms: int) -> str | None:
    """Record that a destination has answered a challenge as it should; or the error code of an answer that is none."""
    challenge = challenge_in(run)
    if not is_echoed(challenge, outcome):
        return NOT_ECHOED
    if verifications is not None:
        verified = Verification(challenge.registered_at, now_ms)
        verifications.save(run.tenant, challenge.destination_id, verified)
    return None


@dataclass(frozen=True, slots=True)
class VerifiedDestinations:
    """Destinations of a stage that asks for their verification: who has not answered yet may not be called."""

    store: DestinationStore
    verifications: Verifications

    def of(self, tenant: str) -> Destinations:
        """What a tenant has registered, and what of it is pending."""
        found = self.store.of(tenant)
        if not found.entries:
            return found
        known = self.verifications.of(tenant)
        entries = tuple(
            replace(each, is_pending=verified_at(each, known.get(each.id)) is None) for each in found.entries
        )
        return replace(found, entries=entries)

    def save(self, tenant: str, destinations: Destinations, event: AuditEvent | None = None) -> bool:
        """Store them."""
        return self.store.save(tenant, destinations, event)


def verified_at(destination: Destination, known: Verification | None) -> int | None:
    """When a destination was verified, epoch ms. What was removed and registered anew is another one."""
    is_same = known is not None and known.registered_at == destination.created_at
    return known.at if known is not None and is_same else None
