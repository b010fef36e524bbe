"""Where a tenant lets its jobs call: hosts, or all at and below a suffix. With none, anywhere the stage allows."""

from dataclasses import dataclass, replace
from enum import StrEnum
from hashlib import sha256

MOST_DESTINATIONS = 100
_ID_CHARACTERS = 26


class DestinationKind(StrEnum):
    """What a destination names."""

    HOST = "host"
    SUFFIX = "suffix"


@dataclass(frozen=True, slots=True)
class Destination:
    """One host, or a suffix with all that lies below it. Lower-case, without a trailing dot."""

    kind: DestinationKind
    name: str
    created_at: int
    is_pending: bool = False  # where the stage asks for verification: it has not answered yet, and lets nobody call

    @property
    def id(self) -> str:
        """The same for the same destination, so that naming it twice makes no second one."""
        return "dst_" + sha256(f"{self.kind}:{self.name}".encode()).hexdigest()[:_ID_CHARACTERS]

    def admits(self, host: str) -> bool:
        """Whether a host (lower-case, no trailing dot) is, or lies in, this destination."""
        is_in = host == self.name or (self.kind is DestinationKind.SUFFIX and host.endswith(f".{self.name}"))
        return is_in and not self.is_pending


@dataclass(frozen=True, slots=True)
class Verification:
    """That a destination, registered at an instant, has answered its challenge; both in epoch ms."""

    registered_at: int
    at: int


@dataclass(frozen=True, slots=True)
class Destinations:
    """All of a tenant, oldest first; `rev` counts their changes."""

    entries: tuple[Destination, ...] = ()
    rev: int = 0

    def admits(self, host: str) -> bool:
        """Whether a host (lower-case, no trailing dot) may be called; every host while there are no destinations."""
        return not self.entries or any(each.admits(host) for each in self.entries)

    def find(self, destination_id: str) -> Destination | None:
        """The destination of an id, or None."""
        return next((each for each in self.entries if each.id == destination_id), None)

    def having(self, destination: Destination) -> "Destinations":
        """These and one more."""
        return replace(self, entries=(*self.entries, destination), rev=self.rev + 1)

    def lacking(self, destination_id: str) -> "Destinations":
        """These without one."""
        return replace(self, entries=tuple(e for e in self.entries if e.id != destination_id), rev=self.rev + 1)


ANYWHERE = Destinations()
"""Of a tenant that has registered none."""
