"""From addresses to a connection: the very address that was checked is dialled, the name is kept for TLS."""

import select
import socket
import ssl
from collections.abc import Sequence
from errno import EINPROGRESS
from functools import cache
from ipaddress import ip_address

from carillon.adapters.http.budget import Budget, CallFailedError
from carillon.domain.outcomes import Failure

CONNECT_SECONDS = 3.0
MOST_DIALLED = 3


def dial(addresses: Sequence[str], port: int, budget: Budget) -> socket.socket:
    """A TCP connection to the first address that answers, IPv4 first, at most `MOST_DIALLED` of them.

    All tries share `CONNECT_SECONDS`; one that hangs leaves the others their part.

    Raises:
        CallFailedError: none answered.
    """
    # Stable: within a family the resolver's order stays.
    candidates = sorted(addresses, key=lambda address: ":" in address)[:MOST_DIALLED]
    seconds = CONNECT_SECONDS / len(candidates)
    failure = CallFailedError(Failure.CONNECT_ERROR)
    for address in candidates:
        try:
            return _connect(address, port, budget, seconds)
        except CallFailedError as error:
            if error.failure not in {Failure.CONNECT_ERROR, Failure.CONNECT_TIMEOUT}:
                raise
            failure = error
    raise failure


def start_tls(sock: socket.socket, context: ssl.SSLContext, host: str, budget: Budget) -> ssl.SSLSocket:
    """The connection with TLS on top, the certificate checked for the host. Takes the socket over, also when it fails.

    Raises:
        CallFailedError: the handshake failed or took too long.
    """
    try:
        tls = context.wrap_socket(sock, server_hostname=host, do_handshake_on_connect=False)
    except (OSError, ValueError) as error:
        sock.close()
        raise CallFailedError(Failure.TLS_ERROR) from error

    try:
        budget.patiently(_Handshake(tls))
    except BaseException:
        tls.close()
        raise
    return tls


@cache
def default_tls() -> ssl.SSLContext:
    """The TLS settings of every call, made once per process: the system's authorities, TLS 1.2 or newer, HTTP/1.1."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


def _connect(address: str, port: int, budget: Budget, seconds: float) -> socket.socket:
    sock = _socket(address)
    try:
        if sock.connect_ex((address, port)) == EINPROGRESS:
            budget.patiently(_Connecting(sock), within_seconds=seconds, otherwise=Failure.CONNECT_TIMEOUT)
        check_peer(_peer(sock), address)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        sock.close()
        raise
    return sock


def _socket(address: str) -> socket.socket:
    try:
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    except OSError as error:  # no such address family here, or no more sockets
        raise CallFailedError(Failure.CONNECT_ERROR) from error
    sock.setblocking(False)
    return sock


def _peer(sock: socket.socket) -> str:
    try:
        return str(sock.getpeername()[0])
    except OSError as error:  # the connection attempt failed
        raise CallFailedError(Failure.CONNECT_ERROR) from error


class _Connecting:
    """Waits until a socket has connected or failed to."""

    def __init__(self, sock: socket.socket) -> None:
        self._poll = select.poll()
        self._poll.register(sock, select.POLLOUT)

    def __call__(self, seconds: float) -> None:
        if not self._poll.poll(seconds * 1000):
            raise TimeoutError


class _Handshake:
    """Shakes hands; a handshake that ran out of its turn goes on in the next."""

    def __init__(self, tls: ssl.SSLSocket) -> None:
        self._tls = tls

    def __call__(self, seconds: float) -> None:
        self._tls.settimeout(seconds)
        try:
            self._tls.do_handshake()
        except TimeoutError:
            raise
        except OSError as error:  # what ssl raises, too
            raise CallFailedError(Failure.TLS_ERROR) from error


def check_peer(peer: str, address: str) -> None:
    """Make sure that the one connected to is the one that was checked.

    Raises:
        CallFailedError: it is another.
    """
    if ip_address(peer) != ip_address(address):
        raise CallFailedError(Failure.TARGET_BLOCKED)
