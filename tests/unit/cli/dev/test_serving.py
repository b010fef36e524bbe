"""The server under the front door and the receiver."""

import socket
import struct
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from threading import Event, Thread

import pytest

from carillon_cli.dev.serving import LoopbackServer

BOUND_SECONDS = 20
RESET_AT_CLOSE = struct.pack("ii", 1, 0)


class Serving(LoopbackServer):
    """A server whose answers wait until its client has gone, and that says when it is done with a connection."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.gone, self.done = Event(), Event()
        super().__init__(("127.0.0.1", 0), Handler)

    def shutdown_request(self, request: object) -> None:
        """After everything that a connection brings."""
        super().shutdown_request(request)  # type: ignore[arg-type]
        self.done.set()


class Handler(BaseHTTPRequestHandler):
    """Answers at length, or fails."""

    server: Serving

    def do_GET(self) -> None:
        """Wait for the client to be gone, then answer."""
        assert self.server.gone.wait(BOUND_SECONDS)
        if self.server.failure:
            raise self.server.failure
        for _ in range(100):
            self.wfile.write(b"x" * 100_000)


@pytest.fixture
def server() -> Iterator[Serving]:
    """A listening server."""
    listening = Serving()
    Thread(target=listening.serve_forever, args=(0.02,), daemon=True).start()
    yield listening
    listening.shutdown()
    listening.server_close()


def leave(server: Serving) -> None:
    """Ask, and close the connection before the answer."""
    client = socket.create_connection(server.server_address[:2], timeout=BOUND_SECONDS)
    client.sendall(b"GET / HTTP/1.0\r\n\r\n")
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
    client.close()
    server.gone.set()
    assert server.done.wait(BOUND_SECONDS)


def test_a_client_that_goes_away_is_no_news(server: Serving, capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing is said of a connection that its client has closed."""
    leave(server)
    assert capfd.readouterr().err == ""


def test_other_failures_are_told(server: Serving, capfd: pytest.CaptureFixture[str]) -> None:
    """A fault of the server's own is not swallowed."""
    server.failure = ValueError("a fault of its own")
    leave(server)
    assert "a fault of its own" in capfd.readouterr().err
