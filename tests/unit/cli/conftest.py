"""A small service on a loopback port that answers as the real one does, and a way to run commands against it."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest
from click.testing import CliRunner, Result

from carillon.domain.tenancy import new_key_text
from carillon_cli.main import main

KEY = new_key_text("test", "01J00000000000000000000000", bytes(range(32)))
ZONES = {"UTC", "Asia/Kolkata", "America/New_York", "Europe/Berlin"}
VARIABLES = ("CARILLON_URL", "CARILLON_API_KEY", "CARILLON_PROFILE", "CARILLON_DEBUG")

Answer = tuple[int, Any, dict[str, str]]


@dataclass
class Service:
    """Jobs and runs behind HTTP. `script` holds answers to give before the real ones: a callable gets the request."""

    url: str = ""
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    bodies: list[bytes] = field(default_factory=list)
    script: deque[Callable[[str, str], Answer | None]] = field(default_factory=deque)
    lock: Lock = field(default_factory=Lock)

    def answer(self, method: str, target: str, key: str | None, body: bytes) -> Answer | None:
        """What the service says to a request; None stands for hanging up."""
        with self.lock:
            self.bodies.append(body)
            if self.script:
                scripted = self.script.popleft()(method, target)
                if scripted is None or scripted[0]:
                    return scripted
            if key != f"Bearer {KEY}":
                return problem(401, "unauthenticated", "A valid API key is required")
            parts = urlsplit(target)
            steps = [unquote(step) for step in parts.path.split("/")[1:]]
            return self._route(method, steps, dict(parse_qsl(parts.query)), body)

    def _route(self, method: str, steps: list[str], query: dict[str, str], body: bytes) -> Answer:
        match method, *steps:
            case "POST", "v1", "jobs":
                return self._create(json.loads(body))
            case "GET", "v1", "jobs":
                newest = [job for job in reversed(self.jobs.values()) if _wanted(job, query)]
                return _page(newest, query)
            case "GET", "v1", "jobs", job_id if job_id in self.jobs:
                return 200, self.jobs[job_id], {}
            case "DELETE", "v1", "jobs", job_id if job_id in self.jobs:
                self.jobs[job_id] |= {"state": "cancelled", "next_fire_time": None}
                return 204, None, {}
            case "GET", "v1", "jobs", job_id, "runs" if job_id in self.jobs:
                return _page([run for run in self.runs.values() if run["job_id"] == job_id], query)
            case "GET", "v1", "runs", run_id if run_id in self.runs:
                return 200, self.runs[run_id], {}
        return problem(404, "not_found", "There is no such thing")

    def _create(self, sent: dict[str, Any]) -> Answer:
        schedule = sent["schedule"]
        if schedule.get("timezone", "UTC") not in ZONES:
            return refusal("/schedule/timezone", "unknown_zone", "no such zone")
        if "cron" in schedule and len(schedule["cron"].split(" ")) != 5:
            return refusal("/schedule/cron", "invalid_value", "not five fields")
        holder = next((job for job in self.jobs.values() if sent.get("name") in (job["name"], "")), None)
        if holder and sent.get("name") and holder["state"] != "cancelled":
            return problem(409, "name_taken", "The name is taken", job_id=holder["id"])
        job_id = f"job_{len(self.jobs):026}"
        target = {"method": "POST", "headers": {}, "timeout": "PT15S"} | sent["target"]
        defaults = {"name": None, "labels": {}, "state": "scheduled", "next_fire_time": "2026-12-01T00:00:00.000Z"}
        self.jobs[job_id] = {"id": job_id} | defaults | sent | {"target": target}
        return 201, self.jobs[job_id], {"Location": f"/v1/jobs/{job_id}"}


def problem(status: int, code: str, title: str, **members: Any) -> Answer:
    """A refusal as the service writes it."""
    body = {"type": f"urn:carillon:problem:{code}", "title": title, "status": status, "detail": title, "code": code}
    return status, body | {"request_id": "req-1"} | members, {"Content-Type": "application/problem+json"}


def refusal(pointer: str, code: str, detail: str) -> Answer:
    """The refusal of one field."""
    errors = [{"pointer": pointer, "code": code, "detail": detail}]
    return problem(422, "invalid_fields", "Fields of the request are not valid", errors=errors)


def _wanted(job: dict[str, Any], query: dict[str, str]) -> bool:
    key, _, value = query.get("label", "").partition(":")
    return (
        query.get("state") in (None, job["state"])
        and (not key or job["labels"].get(key) == value)
        and (job["name"] or "").startswith(query.get("name_prefix", ""))
    )


def _page(items: list[Any], query: dict[str, str]) -> Answer:
    start, limit = int(query.get("cursor", "c0")[1:]), int(query.get("limit", "50"))
    end = start + limit
    return 200, {"data": items[start:end], "next_cursor": f"c{end}" if end < len(items) else None}, {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # one packet an answer
    service: Service

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = self.service.answer(self.command, self.path, self.headers.get("Authorization"), body)
        if answer is None:
            self.close_connection = True
            return
        status, value, headers = answer
        content = value if isinstance(value, bytes) else b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in ({"Content-Type": "application/json", "Content-Length": str(len(content))} | headers).items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(content)

    do_GET = _serve  # noqa: N815 - http.server's names
    do_POST = _serve  # noqa: N815 - same
    do_DELETE = _serve  # noqa: N815 - same

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    """The service, on a loopback port of its own."""
    known = Service()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"service": known}))
    known.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield known
    server.shutdown()
    thread.join(10)
    server.server_close()


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> pytest.MonkeyPatch:
    """An environment without any setting of the command line, and an empty place for profiles."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return monkeypatch


@pytest.fixture
def carillon(no_settings: pytest.MonkeyPatch, service: Service) -> Callable[..., Result]:
    """Runs the command line with the service and its key in the environment."""
    no_settings.setenv("CARILLON_URL", service.url)
    no_settings.setenv("CARILLON_API_KEY", KEY)
    no_settings.setattr("carillon_cli.transport.time.sleep", lambda _seconds: None)

    def run(*arguments: str, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(main, arguments, input=stdin)
        assert KEY not in result.output, "the key is never shown"
        return result

    return run


@pytest.fixture
def key() -> str:
    """The key that the service takes."""
    return KEY


class _Say:
    """Scripted answers."""

    @staticmethod
    def always(answer: Answer | None) -> Callable[[str, str], Answer | None]:
        """The same answer whatever is asked."""
        return lambda _method, _target: answer

    problem = staticmethod(problem)
    refusal = staticmethod(refusal)
    really: Answer = (0, None, {})
    """As a scripted answer: let the service answer by itself."""


@pytest.fixture
def say() -> type[_Say]:
    """How to write answers for the service's script."""
    return _Say
