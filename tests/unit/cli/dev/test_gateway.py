"""The API's front door keeps a request and its answer as they are."""

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from carillon_cli.dev.errors import DevError
from carillon_cli.dev.gateway import Gateway, Upstream
from carillon_cli.dev.ports import aws_port
from carillon_cli.dev.receiver import Answer, Receiver

SECRET = "whsec_" + "eHh4" * 8


class Door:
    """A gateway before a recording upstream."""

    def __init__(self, gateway: Gateway, upstream: Receiver) -> None:
        self.gateway = gateway
        self.upstream = upstream
        self.settled = 0

    def settle(self) -> None:
        """Count."""
        self.settled += 1

    def open(self) -> None:
        """Let requests through."""
        port = int(self.upstream.url().rsplit(":", 1)[1].strip("/"))
        self.gateway.open(Upstream(port, "/_aws/execute-api/abc/$default", self.settle))

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """One request through the door."""
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.port, timeout=10)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()


@contextmanager
def new_door() -> Iterator[Door]:
    """A gateway that is not open yet."""
    gateway = Gateway(aws_port())
    gateway.start()
    try:
        with Receiver(SECRET) as upstream:
            yield Door(gateway, upstream)
    finally:
        gateway.close()


@pytest.fixture
def door() -> Iterator[Door]:
    """A gateway that forwards."""
    with new_door() as made:
        made.open()
        yield made


def test_the_request_arrives_as_it_was_sent(door: Door) -> None:
    """Method, path with its escapes, query, headers (Host too) and body are kept; only the API's path is put before."""
    door.ask("PATCH", "/v1/runs/job_1%402026~ab?a=1&a=%20", b"\x00body", {"If-Match": '"3"', "Host": "localhost:8080"})
    [call] = door.upstream.calls()
    assert (call.method, call.body) == ("PATCH", b"\x00body")
    assert call.path == "/_aws/execute-api/abc/$default/v1/runs/job_1%402026~ab?a=1&a=%20"
    assert (call.headers["if-match"], call.headers["host"]) == ('"3"', "localhost:8080")


def test_the_answer_comes_back_as_it_was_given(door: Door) -> None:
    """Status, headers and body are kept."""
    headers = {"ETag": '"1"', "Content-Type": "application/problem+json"}
    door.upstream.answer("/_aws/execute-api/abc/$default/v1/jobs", Answer(422, headers=headers, body=b'{"code":"x"}'))
    response, body = door.ask("POST", "/v1/jobs", b"{}")
    assert (response.status, body) == (422, b'{"code":"x"}')
    assert response.getheader("ETag") == '"1"'
    assert response.getheader("Content-Type") == "application/problem+json"


def test_no_content_has_none(door: Door) -> None:
    """A 204 carries no body and claims none."""
    door.upstream.answer("/_aws/execute-api/abc/$default/v1/jobs/1", Answer(204))
    response, body = door.ask("DELETE", "/v1/jobs/1")
    assert (response.status, body, response.getheader("Content-Length")) == (204, b"", None)


@pytest.mark.parametrize(
    ("method", "status", "settled"), [("POST", 201, 1), ("DELETE", 204, 1), ("POST", 422, 0), ("GET", 200, 0)]
)
def test_what_was_accepted_is_saved_before_it_is_answered(door: Door, method: str, status: int, settled: int) -> None:
    """An accepted change waits for the state to be saved; refusals and reads wait for nothing."""
    door.upstream.answer("/_aws/execute-api/abc/$default/v1/jobs", Answer(status))
    door.ask(method, "/v1/jobs")
    assert door.settled == settled


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({}, b"x" * (10 * 1024 * 1024 + 1), 413),
        ({"Content-Length": "ten"}, None, 411),
        ({"Transfer-Encoding": "chunked"}, None, 411),
    ],
    ids=["beyond 10 MB", "no length", "chunked"],
)
def test_what_a_gateway_refuses_by_itself(door: Door, headers: dict[str, str], body: bytes | None, status: int) -> None:
    """Bodies that are too large or of unknown length never reach the function."""
    connection = http.client.HTTPConnection("127.0.0.1", door.gateway.port, timeout=10)
    connection.putrequest("POST", "/v1/jobs")
    for name, value in ({"Content-Length": str(len(body))} if body else headers).items():
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()  # the body is refused by its length, before it is sent
    assert response.status == status
    assert "message" in json.loads(response.read())
    connection.close()
    assert door.upstream.calls() == []


def test_it_says_not_yet_until_it_is_opened() -> None:
    """While the stack starts, requests are refused and not left hanging."""
    with new_door() as door:
        response, _ = door.ask("GET", "/v1/health")
        assert response.status == 503
        door.open()
        response, _ = door.ask("GET", "/v1/health")
        assert response.status == 200


@pytest.mark.parametrize(
    ("statuses", "fails"),
    [
        ([200], False),
        ([404], False),
        ([500], True),
        ([503], True),
        ([503, 503, 200], False),
        ([503, 500, 200], True),
    ],
)
def test_a_check_fails_only_on_a_fault(door: Door, statuses: list[int], *, fails: bool) -> None:
    """An API that answers is up, whatever it thinks of the path; one that is slow to start is asked again."""
    door.upstream.answer("/_aws/execute-api/abc/$default/v1/health", *(Answer(status) for status in statuses))
    with pytest.raises(DevError, match="status 50") if fails else nullcontext():
        door.gateway.check("/v1/health", pause_seconds=0)


def test_an_upstream_that_has_gone_is_a_503(door: Door) -> None:
    """A client sees the gateway's own refusal, not a broken connection."""
    door.upstream.close()
    response, _ = door.ask("GET", "/v1/health")
    assert response.status == 503
