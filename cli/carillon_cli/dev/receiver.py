"""A receiver of callbacks on the loopback address, for demos and tests.

It keeps every call, checks each with the `standardwebhooks` package (which knows nothing of Carillon), and answers
as it is told to.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from http.server import BaseHTTPRequestHandler
from typing import Self

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from carillon_cli.dev.serving import LoopbackServer


@dataclass(frozen=True)
class Answer:
    """How a call is answered.

    Attributes:
        status: of the answer.
        delay_seconds: to wait before it.
        headers: of the answer.
        body: of the answer.
    """

    status: int = 200
    delay_seconds: float = 0.0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True)
class Call:
    """One call that came in.

    Attributes:
        method: of the request.
        path: of the request, with its query.
        headers: by their names in small letters.
        body: the raw bytes.
        received_ms: when its header had arrived, epoch ms.
        problem: why the signature is not right, or None.
    """

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    received_ms: int
    problem: str | None

    @property
    def run_id(self) -> str:
        """The run that it belongs to."""
        return self.headers["webhook-id"]

    @property
    def job_id(self) -> str:
        """The job that it belongs to."""
        return self.headers["carillon-job-id"]

    @property
    def attempt(self) -> int:
        """Which attempt it is, from 1."""
        return int(self.headers["carillon-attempt"])

    @property
    def late_ms(self) -> int:
        """How long after its nominal time it came."""
        scheduled_for = datetime.fromisoformat(self.headers["carillon-scheduled-for"])
        return self.received_ms - round(scheduled_for.timestamp() * 1000)


class Receiver:
    """Listens from the moment it is made, at a free port; use it as a context manager.

    `choose` answers the calls of paths for which no answers were set; without it they are answered by 200.
    """

    def __init__(self, signing_secret: str, choose: Callable[[Call], Answer] | None = None) -> None:
        self._webhook = Webhook(signing_secret)
        self._choose = choose or (lambda _call: Answer())
        self._calls: list[Call] = []
        self._answers: dict[str, deque[Answer]] = {}
        self._changed = threading.Condition()
        self._server = LoopbackServer(("127.0.0.1", 0), partial(_Handler, self._take))
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    def url(self, path: str = "/") -> str:
        """The address of a path."""
        return f"http://127.0.0.1:{self._server.server_address[1]}{path}"

    def answer(self, path: str, *answers: Answer) -> None:
        """Answer calls of a path by these in turn, and by the last of them from then on."""
        with self._changed:
            self._answers[path] = deque(answers)

    def calls(self, path: str | None = None) -> list[Call]:
        """The calls so far, in order of arrival; of one path if given."""
        with self._changed:
            return [call for call in self._calls if path in (None, call.path)]

    def wait_for(self, enough: int | Callable[[list[Call]], bool], timeout_seconds: float) -> list[Call]:
        """Wait until so many calls have come, or `enough` of them says yes; returns all, also at the limit."""
        reached = enough if callable(enough) else lambda calls: len(calls) >= enough
        with self._changed:
            self._changed.wait_for(lambda: reached(self._calls), timeout_seconds)
            return list(self._calls)

    def _take(self, call: Call) -> tuple[Call, Answer]:
        checked = Call(call.method, call.path, call.headers, call.body, call.received_ms, self._problem(call))
        with self._changed:
            self._calls.append(checked)
            self._changed.notify_all()
            return checked, self._next_answer(checked)

    def _next_answer(self, call: Call) -> Answer:
        answers = self._answers.get(call.path)
        if not answers:
            return self._choose(call)
        return answers.popleft() if len(answers) > 1 else answers[0]

    def _problem(self, call: Call) -> str | None:
        try:
            self._webhook.verify(call.body, dict(call.headers), json_parse=False)
        except (WebhookVerificationError, ValueError) as error:
            return str(error) or type(error).__name__
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def __init__(self, take: Callable[[Call], tuple[Call, Answer]], *connection: object) -> None:
        self._take = take
        super().__init__(*connection)  # type: ignore[arg-type]  # socketserver's three, passed through

    def _serve(self) -> None:
        received_ms = time.time_ns() // 1_000_000
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", "0")))
        _, answer = self._take(Call(self.command, self.path, headers, body, received_ms, None))
        time.sleep(answer.delay_seconds)
        self._reply(answer)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _serve  # noqa: N815 - http.server's names

    def _reply(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Say nothing: who uses the receiver reports what came."""
