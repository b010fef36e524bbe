"""The real API over memory adapters on a loopback port, and what may be made to happen to requests on their way."""

import json
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any

from support.api import ApiUnderTest, Reply, event_of

JSON = {"content-type": "application/json"}


@dataclass
class Service:
    """The API behind HTTP.

    `script` holds what is to happen to the next requests, one entry each: a `Reply` is given instead of the API's, a
    callable makes one, None hangs up, `PASS` lets the API answer, and `LOST` lets it answer and then hangs up.
    """

    url: str = ""
    api: ApiUnderTest = field(default_factory=ApiUnderTest)
    bodies: list[bytes] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    script: deque[Any] = field(default_factory=deque)
    lock: Lock = field(default_factory=Lock)

    @property
    def jobs(self) -> dict[str, dict[str, Any]]:
        """All jobs as the API shows them one by one, by id, oldest first."""
        stored = self.api.world.jobs.list_newest("acme", 10_000, None).definitions
        ids = sorted(definition.job.id for definition in stored)
        return {job_id: self.api.call("GET", f"/v1/jobs/{job_id}").json for job_id in ids}

    def answer(self, event: dict[str, Any], body: bytes) -> Reply | None:
        """What happens to a request; None stands for hanging up."""
        with self.lock:
            self.bodies.append(body)
            self.api.world.clock.advance(1)  # no two requests come in the same millisecond
            step = self.script.popleft() if self.script else PASS
            if callable(step):
                step = step()
            self.keys.append(event["headers"].get("idempotency-key"))
            if step in (PASS, LOST):
                answer = self.api.reply_to(event)
                return answer if step is PASS else None
            return step


PASS, LOST = object(), object()


def reply(status: int, value: Any, **headers: str) -> Reply:
    """An answer to put into a script: JSON, or a text as it is."""
    text = value if isinstance(value, str) else json.dumps(value)
    return Reply(status, JSON | {name.replace("_", "-"): value for name, value in headers.items()}, text)


def problem(status: int, code: str, **headers: str) -> Reply:
    """A refusal to put into a script."""
    members = {"type": "about:blank", "title": code, "status": status, "detail": code, "code": code}
    return reply(status, members | {"request_id": "req-1"}, **headers)


class ServiceHandler(BaseHTTPRequestHandler):
    """Hands requests to the service as the gateway does."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer
    service: Service

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path, _, query = self.path.partition("?")
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.service.answer(event_of(self.command, path, query, headers, body or None), body)
        if answer is None:
            self.close_connection = True
            return
        content = answer.text.encode()
        self.send_response(answer.status)
        for name, value in {**answer.headers, "content-length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_PATCH = do_DELETE = do_PUT = do_OPTIONS = _serve  # noqa: N815 - http.server's names

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], **members: Any) -> Iterator[str]:
    """A server on a loopback port of its own; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (handler,), members))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(10)
        server.server_close()


@contextmanager
def running_service() -> Iterator[Service]:
    """The service, on a loopback port of its own."""
    known = Service()
    with serving(ServiceHandler, service=known) as known.url:
        yield known


class Script:
    """How to write a service's script."""

    reply = staticmethod(reply)
    problem = staticmethod(problem)
    hang_up = None
    PASS = PASS
    LOST = LOST
