"""The destinations of a tenant: register, list, remove.

They hold for creations at once, and for attempts within a minute.
"""

from dataclasses import dataclass

from carillon.domain.audit import CARILLON, Action, Actor, told
from carillon.domain.destinations import MOST_DESTINATIONS, Destination, DestinationKind, Destinations
from carillon.ports.errors import UnavailableError
from carillon.ports.tenancy import DestinationStore

MOST_RACES = 10


class TooManyDestinationsError(Exception):
    """The tenant has as many destinations as it may have."""


class DestinationNotFoundError(Exception):
    """The tenant has no such destination."""


@dataclass(frozen=True, slots=True)
class EditDestinations:
    """Registers and removes destinations."""

    store: DestinationStore

    def all_of(self, tenant: str) -> Destinations:
        """What the tenant has registered."""
        return self.store.of(tenant)

    def register(
        self, tenant: str, kind: DestinationKind, name: str, now_ms: int, by: Actor = CARILLON
    ) -> tuple[Destination, bool]:
        """Register a destination; the one there is, if there is one of this name, and whether it is new.

        Raises:
            TooManyDestinationsError: there is no room for another.
            UnavailableError: others changed them each time we tried.
        """
        wanted = Destination(kind, name, now_ms)
        for _ in range(MOST_RACES):
            seen = self.store.of(tenant)
            if found := seen.find(wanted.id):
                return found, False
            if len(seen.entries) >= MOST_DESTINATIONS:
                raise TooManyDestinationsError(tenant)
            after = seen.having(wanted)
            event = told(
                Action.DESTINATION_ADDED, wanted.id, now_ms, tenant, by, [(f"/{kind}", None, name)], of=after.rev
            )
            if self.store.save(tenant, after, event):
                return wanted, True
        raise UnavailableError("the destinations keep changing")

    def remove(self, tenant: str, destination_id: str, now_ms: int, by: Actor = CARILLON) -> None:
        """Remove a destination. Without the last one, every host may be called again.

        Raises:
            DestinationNotFoundError: there is none of this id.
            UnavailableError: others changed them each time we tried.
        """
        for _ in range(MOST_RACES):
            seen = self.store.of(tenant)
            found, after = seen.find(destination_id), seen.lacking(destination_id)
            if found is None:
                raise DestinationNotFoundError(destination_id)
            changes = [(f"/{found.kind}", found.name, None)]
            event = told(Action.DESTINATION_REMOVED, destination_id, now_ms, tenant, by, changes, of=after.rev)
            if self.store.save(tenant, after, event):
                return
        raise UnavailableError("the destinations keep changing")
