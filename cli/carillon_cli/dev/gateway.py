"""The API's front door: forwards each request on `http://localhost:<port>` to the local AWS's HTTP API.

Keeps method, path, query, headers, body and status as they are. Limits and refusals are those of API Gateway:
bodies up to 10 MB, answers within 30 s.
"""

import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler

from carillon_cli.dev.errors import UNREACHABLE, DevError
from carillon_cli.dev.serving import LoopbackServer

_BODY_BYTES_LIMIT = 10 * 1024 * 1024
_ANSWER_SECONDS = 30.0
_CHECKS = 5
# Both ends of the connection decide these for themselves.
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_READING = frozenset(("GET", "HEAD", "OPTIONS"))
Headers = list[tuple[str, str]]


@dataclass(frozen=True)
class Upstream:
    """Where requests go.

    Attributes:
        port: of the local AWS, on the loopback address.
        prefix: put before each path.
        settle: called after a successful request that may have changed something, before it is answered.
    """

    port: int
    prefix: str
    settle: Callable[[], None]


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: Headers
    body: bytes


class Gateway:
    """A listening front door; answers 503 until it is told where to forward to."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._upstream: Upstream | None = None
        self._servers = list(_listen(port, partial(_Handler, lambda: self._upstream)))

    def open(self, upstream: Upstream) -> None:
        """Forward from now on."""
        self._upstream = upstream

    def start(self) -> None:
        """Serve in the background."""
        for server in self._servers:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

    def check(self, path: str, pause_seconds: float = 1.0) -> None:
        """Ask for a path, and so start what answers.

        On a busy machine a first function may take longer to start than a request may wait: a 503 is asked again.

        Raises:
            DevError: if no answer comes, or one that speaks of a fault.
        """
        status = self._status(path)
        for _ in range(_CHECKS - 1):
            if status != HTTPStatus.SERVICE_UNAVAILABLE:
                break
            time.sleep(pause_seconds)
            status = self._status(path)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise DevError(f"the API answers {path} with status {status}", UNREACHABLE)

    def _status(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=_ANSWER_SECONDS + 5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            raise DevError(f"the API does not answer: {error}", UNREACHABLE) from error
        finally:
            connection.close()

    def close(self) -> None:
        """Stop listening."""
        for server in self._servers:
            server.shutdown()
            server.server_close()


class _ServerV6(LoopbackServer):
    address_family = socket.AF_INET6


def _listen(port: int, handler: Callable[..., BaseHTTPRequestHandler]) -> Iterable[LoopbackServer]:
    """Listen on both loopback addresses, since `localhost` may mean either; the second is welcome, not needed."""
    yield LoopbackServer(("127.0.0.1", port), handler)
    with suppress(OSError):
        yield _ServerV6(("::1", port), handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60  # seconds of silence after which a connection is closed

    def __init__(self, upstream: Callable[[], Upstream | None], *connection: object) -> None:
        self._upstream = upstream
        super().__init__(*connection)  # type: ignore[arg-type]  # socketserver's three, passed through

    def _serve(self) -> None:
        upstream = self._upstream()
        length = self.headers.get("content-length", "0")
        if "transfer-encoding" in self.headers or not length.isdecimal():
            self._refuse(HTTPStatus.LENGTH_REQUIRED)
        elif int(length) > _BODY_BYTES_LIMIT:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        elif upstream is None:
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            self._forward(upstream, self.rfile.read(int(length)))

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = _serve  # noqa: N815 - http.server's names

    def _forward(self, upstream: Upstream, body: bytes) -> None:
        try:
            answer = self._ask(upstream, body)
            if self.command not in _READING and answer.status < HTTPStatus.BAD_REQUEST:
                upstream.settle()
        except (OSError, http.client.HTTPException):
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)
        else:
            self._reply(answer)

    def _ask(self, upstream: Upstream, body: bytes) -> _Answer:
        connection = http.client.HTTPConnection("127.0.0.1", upstream.port, timeout=_ANSWER_SECONDS)
        try:
            connection.putrequest(self.command, upstream.prefix + self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in _end_to_end(self.headers.items()):
                connection.putheader(name, value)
            connection.endheaders(body or None)
            response = connection.getresponse()
            return _Answer(response.status, _end_to_end(response.getheaders()), response.read())
        finally:
            connection.close()

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer as API Gateway does by itself; what was not read of the request ends the connection."""
        self.close_connection = True
        body = json.dumps({"message": status.phrase}).encode()
        self._reply(_Answer(status, [("Content-Type", "application/json"), ("Connection", "close")], body))

    def _reply(self, answer: _Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            if name.lower() != "content-length":
                self.send_header(name, value)
        if answer.status != HTTPStatus.NO_CONTENT:
            self.send_header("Content-Length", str(self._length(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def _length(self, answer: _Answer) -> int:
        """The body's length; of an answer to HEAD, the length that it names."""
        named = [value for name, value in answer.headers if name.lower() == "content-length"]
        return int(named[0]) if self.command == "HEAD" and named else len(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing: the function logs each request."""


def _end_to_end(headers: Iterable[tuple[str, str]]) -> Headers:
    return [(name, value) for name, value in headers if name.lower() not in _HOP_BY_HOP]
