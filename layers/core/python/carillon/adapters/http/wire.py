"""The bytes of a connection under a call's deadline, counted."""

import socket

from carillon.adapters.http.budget import Budget, CallFailedError
from carillon.domain.outcomes import Failure

MOST_READ_BYTES = 16 * 1024


class Wire:
    """Reads and writes of one connection, plain or TLS, each within what is left of the call."""

    def __init__(self, sock: socket.socket, budget: Budget) -> None:
        self._sock = sock
        self._budget = budget
        self._allowed = 0

    def allow(self, count: int) -> None:
        """Let so many bytes be read from here on."""
        self._allowed = count

    def read(self) -> bytes:
        """The next bytes; empty at the end.

        Raises:
            CallFailedError: the time is over, the connection broke, or more came than is allowed.
        """
        if self._allowed <= 0:
            raise CallFailedError(Failure.RESPONSE_TOO_LARGE)

        data = self._budget.patiently(self._receive)
        self._allowed -= len(data)
        return data

    def _receive(self, seconds: float) -> bytes:
        self._sock.settimeout(seconds)
        try:
            return self._sock.recv(MOST_READ_BYTES)
        except TimeoutError:
            raise
        except OSError as error:
            raise CallFailedError(Failure.PROTOCOL_ERROR) from error

    def write(self, data: bytes) -> None:
        """Send all of it, or as much as the target takes: it may answer, and close, without having read to the end.

        Raises:
            CallFailedError: the time is over.
        """
        rest = memoryview(data)

        def send(seconds: float) -> int:
            self._sock.settimeout(seconds)
            try:
                return self._sock.send(rest)
            except TimeoutError:
                raise
            except OSError:
                return len(rest)  # reading will tell whether there is an answer

        while rest:
            rest = rest[self._budget.patiently(send) :]
