"""The real API over memory adapters on a loopback port, and a way to run commands against it."""

import json
from base64 import b64encode
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qsl

import pytest
from click.testing import CliRunner, Result

from carillon_cli.main import main
from support.api import ApiUnderTest, Reply, event_of

VARIABLES = (
    "CARILLON_URL",
    "CARILLON_API_KEY",
    "CARILLON_PROFILE",
    "CARILLON_DEBUG",
    "AWS_ENDPOINT_URL",
    "AWS_PROFILE",
)
JSON = {"content-type": "application/json"}


@dataclass
class Service:
    """The API behind HTTP.

    `script` holds what is to happen to the next requests, one entry each: a `Reply` is given instead of the API's, a
    callable makes one, None hangs up, and `PASS` lets the API answer.
    """

    url: str = ""
    api: ApiUnderTest = field(default_factory=ApiUnderTest)
    bodies: list[bytes] = field(default_factory=list)
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
            step = self.script.popleft() if self.script else PASS
            if callable(step):
                step = step()
            return self.api.reply_to(event) if step is PASS else step


PASS = object()


def reply(status: int, value: Any, **headers: str) -> Reply:
    """An answer to put into a script: JSON, or a text as it is."""
    text = value if isinstance(value, str) else json.dumps(value)
    return Reply(status, JSON | {name.replace("_", "-"): value for name, value in headers.items()}, text)


def problem(status: int, code: str, **headers: str) -> Reply:
    """A refusal to put into a script."""
    members = {"type": "about:blank", "title": code, "status": status, "detail": code, "code": code}
    return reply(status, members | {"request_id": "req-1"}, **headers)


class _Handler(BaseHTTPRequestHandler):
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

    do_GET = _serve  # noqa: N815 - http.server's names
    do_POST = _serve  # noqa: N815 - same
    do_PUT = _serve  # noqa: N815 - same
    do_PATCH = _serve  # noqa: N815 - same
    do_DELETE = _serve  # noqa: N815 - same

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@dataclass
class Aws:
    """CloudFormation with some stacks, and a Lambda whose functions answer with their event, or fail if it says so."""

    url: str = ""
    stacks: dict[str, dict[str, str]] = field(default_factory=dict)
    log: str = "START\ncrl_live_SECRET was seen\nEND\n"

    def describe(self, name: str) -> tuple[int, str]:
        """What CloudFormation says of a stack."""
        if name not in self.stacks:
            error = f"<Error><Code>ValidationError</Code><Message>no {name}</Message></Error>"
            return 400, f"<ErrorResponse>{error}</ErrorResponse>"
        outputs = "".join(
            f"<member><OutputKey>{key}</OutputKey><OutputValue>{value}</OutputValue></member>"
            for key, value in self.stacks[name].items()
        )
        stack = f"<member><StackName>{name}</StackName><Outputs>{outputs}</Outputs></member>"
        result = f"<DescribeStacksResult><Stacks>{stack}</Stacks></DescribeStacksResult>"
        return 200, f"<DescribeStacksResponse>{result}</DescribeStacksResponse>"


class _AwsHandler(BaseHTTPRequestHandler):
    wbufsize = -1
    aws: Aws

    def do_POST(self) -> None:
        """Answer."""
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path.startswith("/2015-03-31/functions/"):
            failure = {"X-Amz-Function-Error": "Unhandled"} if "fail" in body else {}
            log = b64encode(self.aws.log.encode()).decode()
            self._answer(200, f'{{"got": {body}}}', {"X-Amz-Log-Result": log, **failure})
        else:
            self._answer(*self.aws.describe(dict(parse_qsl(body))["StackName"]), {})

    def _answer(self, status: int, text: str, headers: dict[str, str]) -> None:
        content = text.encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler], **members: Any) -> Iterator[str]:
    """A server on a loopback port of its own; gives its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (handler,), members))
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join(10)
    server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    """The service, on a loopback port of its own."""
    known = Service()
    with serving(_Handler, service=known) as known.url:
        yield known


@pytest.fixture
def aws(no_settings: pytest.MonkeyPatch) -> Iterator[Aws]:
    """The part of AWS that the command line asks, on a loopback port of its own; the operator's region is another."""
    no_settings.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    known = Aws()
    with serving(_AwsHandler, aws=known) as known.url:
        yield known


@pytest.fixture
def key(service: Service) -> str:
    """A key that the service takes."""
    return service.api.key


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> pytest.MonkeyPatch:
    """An environment without any setting of the command line, and an empty place for profiles."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return monkeypatch


@pytest.fixture
def carillon(no_settings: pytest.MonkeyPatch, service: Service, key: str) -> Callable[..., Result]:
    """Runs the command line with the service and its key in the environment, without real pauses."""
    no_settings.setenv("CARILLON_URL", service.url)
    no_settings.setenv("CARILLON_API_KEY", key)
    no_settings.setattr("carillon_cli.transport.time.sleep", lambda _seconds: None)

    def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(main, arguments, input=stdin)
        assert key not in result.output, "the key is never shown"
        return result

    return run


class Script:
    """How to write a service's script."""

    reply = staticmethod(reply)
    problem = staticmethod(problem)
    hang_up = None
    PASS = PASS


@pytest.fixture
def script() -> type[Script]:
    """How to write a service's script."""
    return Script
