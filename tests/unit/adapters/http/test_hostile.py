"""Servers that misbehave: one deadline, bounded reading, the right error code."""

from __future__ import annotations

import socket
import struct
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from carillon.domain.outcomes import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.adapters.http.conftest import Calls, Conversation, Script, Serve

MB = 1_000_000
HEAD = b"HTTP/1.1 200 OK\r\n"


def drip_headers(conversation: Conversation) -> None:
    """B170: a header that never ends, byte by byte."""
    conversation.read_request()
    conversation.send_slowly(HEAD + b"X-A: " + b"a" * 10_000)


def drip_body(conversation: Conversation) -> None:
    """B170: headers at once, then the body byte by byte."""
    conversation.read_request()
    conversation.send(HEAD + b"Content-Length: 10000\r\n\r\n")
    conversation.send_slowly(b"a" * 10_000)


def drip_chunks(conversation: Conversation) -> None:
    """A body of one-byte chunks without end."""
    conversation.read_request()
    conversation.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    conversation.send_slowly(b"1\r\na\r\n" * 10_000)


def drip_early_hints(conversation: Conversation) -> None:
    """Interim answers without end, slowly."""
    conversation.read_request()
    conversation.send_slowly(b"HTTP/1.1 103 Early Hints\r\n\r\n" * 1_000, every_seconds=0.005)


def say_nothing(conversation: Conversation) -> None:
    """Take the request, and no more."""
    conversation.read_request()
    conversation.stop.wait(10)


def read_nothing(conversation: Conversation) -> None:
    """Take the connection, and no more."""
    conversation.stop.wait(10)


@pytest.mark.parametrize(
    "script",
    [drip_headers, drip_body, drip_chunks, drip_early_hints, say_nothing, read_nothing],
    ids=lambda s: s.__name__,
)
def test_b170_b173_b175_one_deadline_bounds_everything(serve: Serve, call: Calls, script: Script) -> None:
    """B170, B173, B175: progress does not buy time."""
    server = serve(script)
    body = b"x" * (20 * MB) if script is read_nothing else b"{}"
    outcome = call(f"http://hooks.acme.com:{server.port}/", body=body, within_ms=300)
    assert outcome.failure is Failure.TIMEOUT
    assert outcome.duration_ms >= 300


def test_a_call_without_time_is_not_made(serve: Serve, call: Calls) -> None:
    """A deadline that has passed is a timeout, and nobody is called."""
    server = serve(say_nothing)
    assert call(f"http://127.0.0.1:{server.port}/", within_ms=0).failure in {Failure.TIMEOUT, Failure.CONNECT_TIMEOUT}
    assert server.requests in ([], [b""])


def flood_headers(conversation: Conversation) -> None:
    """100 MB of headers."""
    conversation.read_request()
    conversation.send(HEAD)
    conversation.flood(b"X-A: " + b"a" * 1_000 + b"\r\n", 100 * MB)


def flood_one_header(conversation: Conversation) -> None:
    """One header of 100 MB."""
    conversation.read_request()
    conversation.send(HEAD + b"X-A: ")
    conversation.flood(b"a" * 10_000, 100 * MB)


def flood_early_hints(conversation: Conversation) -> None:
    """Interim answers without end, at full speed."""
    conversation.read_request()
    conversation.flood(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 100, 100 * MB)


def flood_status_line(conversation: Conversation) -> None:
    """A status line of 100 MB."""
    conversation.read_request()
    conversation.send(b"HTTP/1.1 200 ")
    conversation.flood(b"a" * 10_000, 100 * MB)


@pytest.mark.parametrize(
    "script", [flood_headers, flood_one_header, flood_early_hints, flood_status_line], ids=lambda s: s.__name__
)
def test_the_head_of_an_answer_is_bounded(serve: Serve, call: Calls, script: Script) -> None:
    """Reading stops after some 64 KiB; what the server got rid of beyond that sits in the system's buffers."""
    server = serve(script)
    outcome = call(f"http://hooks.acme.com:{server.port}/")
    server.close()
    assert outcome.failure is Failure.RESPONSE_TOO_LARGE
    assert server.conversations[0].sent < 30 * MB


def flood_body(conversation: Conversation) -> None:
    """B172: 100 MB at full speed."""
    conversation.read_request()
    conversation.send(HEAD + b"Content-Length: 100000000\r\n\r\n")
    conversation.flood(b"a" * 10_000, 100 * MB)


def flood_chunks(conversation: Conversation) -> None:
    """100 MB in chunks."""
    conversation.read_request()
    conversation.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    conversation.flood(b"2710\r\n" + b"a" * 10_000 + b"\r\n", 100 * MB)


def flood_until_closed(conversation: Conversation) -> None:
    """100 MB without a length."""
    conversation.read_request()
    conversation.send(HEAD + b"\r\n")
    conversation.flood(b"a" * 10_000, 100 * MB)


def flood_chunk_extensions(conversation: Conversation) -> None:
    """Hardly any body, wrapped in 100 MB of chunk extensions."""
    conversation.read_request()
    conversation.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    conversation.flood(b"1;" + b"a" * 10_000 + b"\r\na\r\n", 100 * MB)


def flood_trailers(conversation: Conversation) -> None:
    """A small body with 100 MB of trailers."""
    conversation.read_request()
    conversation.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n")
    conversation.flood(b"X-A: " + b"a" * 1_000 + b"\r\n", 100 * MB)


@pytest.mark.parametrize(
    "script",
    [flood_body, flood_chunks, flood_until_closed, flood_chunk_extensions, flood_trailers],
    ids=lambda s: s.__name__,
)
def test_b172_the_body_is_read_as_far_as_it_is_kept(serve: Serve, call: Calls, script: Script) -> None:
    """B172: the status line counts, the body is cut, the server is left alone with the rest."""
    server = serve(script)
    outcome = call(f"http://hooks.acme.com:{server.port}/")
    server.close()
    assert (outcome.status, outcome.truncated) == (200, True)
    assert len(outcome.excerpt) <= 4096
    assert server.conversations[0].sent < 30 * MB


def stall_in_the_body(conversation: Conversation) -> None:
    """More than is kept, and then nothing."""
    conversation.read_request()
    conversation.send(HEAD + b"Content-Length: 100000\r\n\r\n" + b"a" * 5_000)
    conversation.stop.wait(10)


def test_what_is_not_kept_is_not_waited_for(serve: Serve, call: Calls) -> None:
    """Once the excerpt is full, a target that stalls costs nobody time."""
    outcome = call(f"http://hooks.acme.com:{serve(stall_in_the_body).port}/", within_ms=1_000)
    assert (outcome.status, outcome.excerpt, outcome.truncated) == (200, "a" * 4096, True)


def reset(conversation: Conversation) -> None:
    """Read the request, then reset the connection."""
    conversation.read_request()
    conversation.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.mark.parametrize(
    "response",
    [
        pytest.param(b"", id="closed-without-an-answer"),
        pytest.param(b"HTTP/1.1 200", id="closed-in-the-status-line"),
        pytest.param(HEAD + b"X-A: 1\r\n", id="closed-in-the-headers"),
        pytest.param(HEAD + b"Content-Length: 10\r\n\r\nabc", id="closed-in-the-body"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab", id="closed-in-a-chunk"),
        pytest.param(HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", id="bad-chunk"),
        pytest.param(HEAD + b"Content-Length: x\r\n\r\n", id="bad-length"),
        pytest.param(HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", id="two-lengths"),
        pytest.param(HEAD + b"no colon\r\n\r\n", id="bad-header"),
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", id="another-protocol"),
        pytest.param(b"HTTP/1.1 20 OK\r\n\r\n", id="bad-status"),
        pytest.param(b"HTTP/1.1 101 Switching Protocols\r\n\r\n", id="101"),
        pytest.param(b"HTTP/1.1 103 Early Hints\r\n\r\n", id="closed-after-1xx"),
        pytest.param(b"HTTP/2 200 OK\r\n\r\n", id="another-version"),
        pytest.param(b"\x15\x03\x03\x00\x02\x02\x28" * 10, id="binary"),
    ],
)
def test_what_is_no_answer_is_a_protocol_error(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script], response: bytes
) -> None:
    """Nothing of what was sent shows: a banner tells a tenant nothing."""
    outcome = call(f"http://hooks.acme.com:{serve(answering(response)).port}/")
    assert outcome.failure is Failure.PROTOCOL_ERROR
    assert (outcome.excerpt, outcome.headers) == ("", {})


def test_b163_a_reset_is_a_protocol_error(serve: Serve, call: Calls) -> None:
    """B163: the connection broke after the request."""
    assert call(f"http://hooks.acme.com:{serve(reset).port}/").failure is Failure.PROTOCOL_ERROR


def refuse_early(conversation: Conversation) -> None:
    """Answer before the body has come, and take no more of it."""
    while b"\r\n\r\n" not in conversation.request:
        conversation.request += conversation.sock.recv(100)
    conversation.send(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n")
    conversation.sock.shutdown(socket.SHUT_WR)
    conversation.stop.wait(0.2)
    while conversation.sock.recv(65536):
        pass


def test_an_early_answer_counts(serve: Serve, call: Calls) -> None:
    """A server may refuse a large body while it is being sent."""
    assert call(f"http://hooks.acme.com:{serve(refuse_early).port}/", body=b"x" * 256 * 1024).status == 413


def test_b163_a_refused_connection_is_a_connect_error(call: Calls) -> None:
    """B163: nobody listens there."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        port = listener.getsockname()[1]
    assert call(f"http://hooks.acme.com:{port}/").failure is Failure.CONNECT_ERROR


def test_a_connection_that_hangs_is_a_connect_timeout(call: Calls) -> None:
    """A listener whose queue is full does not answer at all."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=0)) as listener:
        waiting = []
        for _ in range(4):
            sock = socket.socket()
            waiting.append(sock)
            sock.setblocking(False)
            sock.connect_ex(listener.getsockname())
        outcome = call(f"http://hooks.acme.com:{listener.getsockname()[1]}/", within_ms=300)
        for sock in waiting:
            sock.close()
    assert outcome.failure is Failure.CONNECT_TIMEOUT
