"""What goes over the wire, and what is kept of the answer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from gzip import compress
from typing import TYPE_CHECKING

import pytest

from carillon.domain.outcomes import Failure, Outcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.adapters.http.conftest import Calls, Conversation, Script, Serve

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def lines(request: bytes) -> list[bytes]:
    """The head of a request, line by line."""
    return request.partition(b"\r\n\r\n")[0].split(b"\r\n")


def test_a_call_sends_what_was_asked_and_keeps_the_answer(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script]
) -> None:
    """The request line, our framing headers, the given headers and the body; back come status, headers and excerpt."""
    server = serve(answering(b"HTTP/1.1 201 Created\r\nContent-Type: text/plain\r\nServer: x\r\n\r\nhello"))
    outcome = call(f"http://hooks.acme.com:{server.port}/cb?a=%20b", headers=(("X-Team", "infra"), ("X-Empty", "")))
    assert (outcome.status, outcome.excerpt, outcome.truncated) == (201, "hello", False)
    assert outcome.headers == {"content-type": "text/plain"}
    assert sorted(lines(server.requests[0])) == [
        b"Accept-Encoding: identity",
        b"Connection: close",
        b"Content-Length: 2",
        f"Host: hooks.acme.com:{server.port}".encode(),
        b"POST /cb?a=%20b HTTP/1.1",
        b"X-Empty: ",
        b"X-Team: infra",
    ]


@pytest.mark.parametrize("text", ['{"t":"😱 Ж"}', '{ "z": 1.0, "a": "\\u0000" }'], ids=["B206", "B202"])
def test_body_bytes_arrive_exactly(serve: Serve, call: Calls, answering: Callable[[bytes], Script], text: str) -> None:
    """B206, B202: the bytes given, with their length in bytes."""
    server = serve(answering(OK))
    call(f"http://hooks.acme.com:{server.port}/", body=text.encode())
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert body == text.encode()
    assert f"Content-Length: {len(text.encode())}".encode() in head.split(b"\r\n")


@pytest.mark.parametrize(
    ("method", "length"), [("GET", []), ("HEAD", []), ("DELETE", []), *((m, [b"0"]) for m in ("POST", "PUT", "PATCH"))]
)
def test_b233_no_body(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script], method: str, length: list[bytes]
) -> None:
    """B233: a method that has no use for a body names no length, the others name 0."""
    server = serve(answering(b"HTTP/1.1 204 No Content\r\n\r\n"))
    assert call(f"http://hooks.acme.com:{server.port}/", method=method, body=None).status == 204
    named = [line.partition(b": ")[2] for line in lines(server.requests[0]) if line.startswith(b"Content-Length")]
    assert named == length


@pytest.mark.parametrize(
    ("response", "status", "excerpt"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokay", 200, "ok"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\nX-Trailer: a\r\n\r\n", 200, "ok"),
        (b"HTTP/1.0 200 OK\r\n\r\nok", 200, "ok"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" + OK, 200, "ok"),
        (b"HTTP/1.1 503 Busy\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n", 503, ""),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe", 200, "\ufffd\ufffd"),
    ],
    ids=["length", "chunked", "http-1.0", "1xx-then-200", "503", "not-text"],
)
def test_forms_of_answers(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script], response: bytes, status: int, excerpt: str
) -> None:
    """All framings of HTTP/1.x; interim answers are passed over and never taken for the final one."""
    server = serve(answering(response))
    outcome = call(f"http://hooks.acme.com:{server.port}/")
    assert (outcome.status, outcome.excerpt, outcome.truncated) == (status, excerpt, False)
    assert outcome.retry_after == ("7" if status == 503 else None)


def test_the_answer_to_head_has_no_body(serve: Serve, call: Calls, answering: Callable[[bytes], Script]) -> None:
    """A length without a body is right there."""
    server = serve(answering(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n"))
    outcome = call(f"http://hooks.acme.com:{server.port}/", method="HEAD", body=None)
    assert (outcome.status, outcome.headers) == (200, {"content-length": "500"})


def test_compressed_bodies_are_kept_as_they_are(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script]
) -> None:
    """B172: a bomb of 50 MB is 48 KB on the wire, and 4 KiB of those are kept, unopened."""
    bomb = compress(b"\0" * 50_000_000)
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(bomb)
    outcome = call(f"http://hooks.acme.com:{serve(answering(head + bomb)).port}/")
    assert (outcome.status, outcome.truncated) == (200, True)
    assert len(outcome.excerpt.encode()) <= 4096
    assert outcome.excerpt == bomb[:4096].decode("utf-8", "replace").encode()[:4096].decode("utf-8", "ignore")


@pytest.mark.parametrize(("size", "truncated"), [(4096, False), (4097, True)])
def test_the_excerpt_ends_at_its_cap(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script], size: int, *, truncated: bool
) -> None:
    """4 KiB fit; one byte more is cut and said so. The status line decides, not the length."""
    server = serve(answering(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % size + b"x" * size))
    outcome = call(f"http://hooks.acme.com:{server.port}/")
    assert (outcome.status, len(outcome.excerpt), outcome.truncated) == (200, 4096, truncated)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_b167_b221_redirects_are_not_followed(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script], status: int
) -> None:
    """B167, B221: one request, whose status is the outcome; the place it points to is never asked."""
    inside = serve(answering(OK))
    location = f"http://127.0.0.1:{inside.port}/latest/"
    server = serve(answering(f"HTTP/1.1 {status} Go\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()))
    outcome = call(f"http://hooks.acme.com:{server.port}/")
    assert (outcome.status, outcome.headers["location"]) == (status, location)
    assert (len(server.requests), inside.requests) == (1, [])


def test_nothing_is_carried_from_call_to_call(serve: Serve, call: Calls, answering: Callable[[bytes], Script]) -> None:
    """Each call has a connection of its own and sends no cookie."""
    server = serve(answering(b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"))
    for _ in range(2):
        call(f"http://hooks.acme.com:{server.port}/")
    first, second = server.requests
    assert first == second


def test_proxies_of_the_environment_are_ignored(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The variables that other clients obey have no effect."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert call(f"http://hooks.acme.com:{serve(answering(OK)).port}/").status == 200


def echo(conversation: Conversation) -> None:
    """A script that answers with the body it got."""
    body = conversation.read_request().partition(b"\r\n\r\n")[2]
    conversation.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)


def test_calls_side_by_side_do_not_mix(serve: Serve, call: Calls, certified: Callable[..., object]) -> None:
    """Fifty calls from as many threads over TLS each get their own answer."""
    server = serve(echo, certified())
    numbered = partial(_numbered, call, f"https://hooks.acme.com:{server.port}/")
    with ThreadPoolExecutor(50) as pool:
        outcomes = list(pool.map(numbered, range(50)))
    assert [outcome.failure or outcome.excerpt for outcome in outcomes] == [str(number) for number in range(50)]


def _numbered(call: Calls, url: str, number: int) -> Outcome:
    return call(url, body=str(number).encode(), within_ms=60_000)


@pytest.mark.parametrize(
    ("method", "headers"),
    [
        ("POST", (("X-A", "a\r\nX-Evil: 1"),)),
        ("POST", (("X-A", "a\nb"),)),
        ("POST", (("X-A", "a\0b"),)),
        ("POST", (("X-A", "a\r\n b"),)),
        ("POST", (("X-A", " a"),)),
        ("POST", (("X-é", "a"),)),
        ("POST", (("X A", "a"),)),
        ("POST", (("hOsT", "evil.com"),)),
        ("POST", (("Content-Length", "1"),)),
        ("POST", (("Transfer-Encoding", "chunked"),)),
        ("POST", (("Connection", "upgrade"),)),
        ("CONNECT", ()),
        ("TRACE", ()),
        ("OPTIONS", ()),
        ("GET / HTTP/1.1\r\nX: ", ()),
        ("get", ()),
    ],
    ids=ascii,
)
def test_what_could_break_out_of_the_request_is_never_sent(
    serve: Serve,
    call: Calls,
    answering: Callable[[bytes], Script],
    method: str,
    headers: tuple[tuple[str, str], ...],
) -> None:
    """B208, B209 at the last moment, whatever was stored: no connection is made."""
    server = serve(answering(OK))
    assert (
        call(f"http://hooks.acme.com:{server.port}/", method=method, headers=headers).failure is Failure.TARGET_BLOCKED
    )
    assert server.conversations == []
