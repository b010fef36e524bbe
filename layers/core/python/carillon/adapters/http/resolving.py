"""From the name of a target to addresses, once per attempt and bounded in time."""

import socket
from collections.abc import Sequence
from threading import BoundedSemaphore, Event, Thread
from typing import Protocol

from carillon.adapters.http.budget import Budget, CallFailedError
from carillon.domain.outcomes import Failure

DNS_SECONDS = 3.0
MOST_LOOKUPS_AT_ONCE = 64


class Resolver(Protocol):
    """Asks the name service."""

    def resolve(self, host: str) -> Sequence[str]:
        """The IPv4 and IPv6 addresses of a host name without trailing dot, as text.

        Raises:
            OSError: the name does not exist, or nobody answered.
        """
        ...


class SystemResolver:
    """The operating system's resolver."""

    def resolve(self, host: str) -> Sequence[str]:
        """See `Resolver`. The name is asked for as complete: the system's search suffixes do not apply."""
        found = socket.getaddrinfo(f"{host}.".encode("ascii"), None, type=socket.SOCK_STREAM)
        return [str(address[0]) for _, _, _, _, address in found]


class Lookups:
    """Lookups that end in time although the system's resolver knows no timeout.

    One that hangs keeps its thread until the system gives up, so their number is bounded as well.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._free = BoundedSemaphore(MOST_LOOKUPS_AT_ONCE)

    def addresses(self, host: str, budget: Budget) -> list[str]:
        """The addresses of a host, each once, in the resolver's order; none if it has none.

        Raises:
            CallFailedError: no answer in time.
        """
        lookup = self._begin(host)
        budget.patiently(lookup.wait, within_seconds=DNS_SECONDS, otherwise=Failure.DNS_ERROR)
        return list(dict.fromkeys(lookup.answers))

    def _begin(self, host: str) -> "_Lookup":
        if not self._free.acquire(blocking=False):
            raise CallFailedError(Failure.DNS_ERROR)
        lookup = _Lookup()
        try:
            Thread(target=self._ask, args=(host, lookup), name="lookup", daemon=True).start()
        except RuntimeError as error:  # the process has as many threads as it may have
            self._free.release()
            raise CallFailedError(Failure.DNS_ERROR) from error
        return lookup

    def _ask(self, host: str, lookup: "_Lookup") -> None:
        try:
            lookup.answers = self._resolver.resolve(host)
        except OSError:
            pass  # the same as no answers: a tenant learns no more than that
        finally:
            self._free.release()
            lookup.done.set()


class _Lookup:
    def __init__(self) -> None:
        self.done = Event()
        self.answers: Sequence[str] = ()

    def wait(self, seconds: float) -> None:
        if not self.done.wait(seconds):
            raise TimeoutError
