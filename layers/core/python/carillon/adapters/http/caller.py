"""The caller of targets: checks again, resolves once, dials what was checked, and speaks HTTP within one deadline."""

import socket
from collections.abc import Callable
from contextlib import closing
from ssl import SSLContext

from carillon.adapters.http.budget import Budget, CallFailedError
from carillon.adapters.http.dialling import default_tls, dial, start_tls
from carillon.adapters.http.exchange import Answer, exchange
from carillon.adapters.http.resolving import Lookups, Resolver, SystemResolver
from carillon.adapters.http.wire import Wire
from carillon.domain.addresses import judge_answers
from carillon.domain.headers import is_sendable
from carillon.domain.outcomes import METHODS, CallRequest, Failure, Outcome, answered, failed
from carillon.domain.targets import TargetAddress, TargetPolicy, TargetRefused, parse_target_url
from carillon.ports.edges import Clock

_LOOPBACK = ["127.0.0.1", "::1"]


class HttpCaller:
    """Calls targets; may be shared by any number of threads.

    Each call has a connection of its own and keeps nothing: no pool, no cookies, no redirects, no proxies of the
    environment, no decompression. The answer's body is read as far as it is kept.
    """

    def __init__(
        self,
        clock: Clock,
        policy: TargetPolicy,
        *,
        resolver: Resolver | None = None,
        tls: Callable[[], SSLContext] = default_tls,
    ) -> None:
        """Prepare calls.

        Args:
            clock: the present.
            policy: what may be called.
            resolver: the name service; the system's if not given.
            tls: the TLS settings, asked for when the first https target is called.
        """
        self._clock = clock
        self._policy = policy
        self._lookups = Lookups(resolver or SystemResolver())
        self._tls = tls

    def call(self, request: CallRequest, *, deadline_ms: int, beat: Callable[[], bool], beat_every_ms: int) -> Outcome:
        """See `ports.Caller`."""
        started_ms = self._clock.now_ms()
        budget = Budget(deadline_ms - started_ms, beat, beat_every_ms)
        try:
            answer = self._attempt(request, budget)
        except CallFailedError as error:
            return failed(error.failure, started_ms=started_ms, duration_ms=budget.elapsed_ms())
        return answered(
            status=answer.status,
            headers=answer.headers,
            body=answer.body,
            truncated=answer.truncated,
            started_ms=started_ms,
            duration_ms=budget.elapsed_ms(),
        )

    def _attempt(self, request: CallRequest, budget: Budget) -> Answer:
        address = self._checked(request)
        with closing(self._connected(address, budget)) as sock:
            return exchange(Wire(sock, budget), request, address)

    def _checked(self, request: CallRequest) -> TargetAddress:
        """What to call, judged anew: the rules may have become stricter since the job was stored."""
        if request.method not in METHODS or not all(is_sendable(name, value) for name, value in request.headers):
            raise CallFailedError(Failure.TARGET_BLOCKED)
        try:
            return parse_target_url(request.url, self._policy.narrowed_to(request.destinations))
        except TargetRefused as error:
            raise CallFailedError(Failure.TARGET_BLOCKED) from error

    def _connected(self, address: TargetAddress, budget: Budget) -> socket.socket:
        sock = dial(self._addresses(address, budget), address.port, budget)
        return sock if address.scheme == "http" else start_tls(sock, self._tls(), address.host, budget)

    def _addresses(self, address: TargetAddress, budget: Budget) -> list[str]:
        """The addresses of the target, all of which may be dialled."""
        if address.is_loopback:  # only a development policy lets these through; the name service has no say in them
            addresses = _LOOPBACK if address.host == "localhost" else [address.host]
        else:
            addresses = self._lookups.addresses(address.host, budget)
        refusal = judge_answers(addresses, self._policy)
        if refusal:
            raise CallFailedError(refusal)
        return addresses
