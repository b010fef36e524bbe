"""From the name of a target to addresses, once per attempt and bounded in time."""

import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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

    One that hangs keeps its thread until the system gives up, so their number is bounded. The threads are kept: to
    start one costs as much as the rest of a lookup.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self._threads = ThreadPoolExecutor(MOST_LOOKUPS_AT_ONCE, thread_name_prefix="lookup")

    def addresses(self, host: str, budget: Budget) -> list[str]:
        """The addresses of a host, each once, in the resolver's order; none if it has none.

        Raises:
            CallFailedError: no answer in time.
        """
        try:
            lookup = self._threads.submit(self._answers, host)
        except RuntimeError as error:  # the process has as many threads as it may have
            raise CallFailedError(Failure.DNS_ERROR) from error
        try:
            return budget.patiently(lookup.result, within_seconds=DNS_SECONDS, otherwise=Failure.DNS_ERROR)
        finally:
            lookup.cancel()  # one that has not begun does not keep others waiting

    def _answers(self, host: str) -> list[str]:
        try:
            return list(dict.fromkeys(self._resolver.resolve(host)))
        except OSError:  # the same as no answers: a tenant learns no more than that
            return []
