"""Hostile answers over TLS: reading stops at its cap, and memory does not follow what is sent."""

from __future__ import annotations

import gc
import resource
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from gzip import compress
from typing import TYPE_CHECKING

import pytest

from carillon.adapters.http.exchange import MOST_BODY_WIRE_BYTES, MOST_HEAD_BYTES
from carillon.adapters.http.wire import MOST_READ_BYTES, Wire
from carillon.domain.outcomes import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.adapters.http.conftest import Calls, Conversation, Script, Serve

MB = 1_000_000
HEAD = b"HTTP/1.1 200 OK\r\n"
BOMB = compress(bytes(50 * MB))


def body(conversation: Conversation) -> None:
    """100 MB of body."""
    conversation.send(HEAD + b"Content-Length: 100000000\r\n\r\n")
    conversation.flood(b"a" * 64_000, 100 * MB)


def chunks(conversation: Conversation) -> None:
    """100 MB in chunks of one byte."""
    conversation.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    conversation.flood(b"1\r\na\r\n" * 10_000, 100 * MB)


def bomb(conversation: Conversation) -> None:
    """50 MB in 48 KB."""
    conversation.send(HEAD + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(BOMB) + BOMB)


def headers(conversation: Conversation) -> None:
    """100 MB of headers."""
    conversation.send(HEAD)
    conversation.flood((b"X-A: " + b"a" * 500 + b"\r\n") * 100, 100 * MB)


def early_hints(conversation: Conversation) -> None:
    """Interim answers without end."""
    conversation.flood(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" * 1_000, 100 * MB)


ENDS: dict[Script, tuple[int | Failure, int]] = {
    body: (200, MOST_HEAD_BYTES + MOST_BODY_WIRE_BYTES),
    chunks: (200, MOST_HEAD_BYTES + MOST_BODY_WIRE_BYTES),
    bomb: (200, MOST_HEAD_BYTES + MOST_BODY_WIRE_BYTES),
    headers: (Failure.RESPONSE_TOO_LARGE, MOST_HEAD_BYTES),
    early_hints: (Failure.RESPONSE_TOO_LARGE, MOST_HEAD_BYTES),
}


def after_the_request(script: Script) -> Script:
    """A script that reads the request first."""

    def play(conversation: Conversation) -> None:
        conversation.read_request()
        script(conversation)

    return play


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many bytes each read has given."""
    counts: list[int] = []
    read = Wire.read

    def counted(wire: Wire) -> bytes:
        data = read(wire)
        counts.append(len(data))
        return data

    monkeypatch.setattr(Wire, "read", counted)
    return counts


@pytest.mark.parametrize("script", ENDS, ids=lambda script: script.__name__)
def test_b172_no_more_is_read_than_is_allowed(
    serve: Serve, call: Calls, certified: Callable[..., object], received: list[int], script: Script
) -> None:
    """B172: of 100 MB over TLS some 64 KiB of head and as much of body, in Python's memory never more than 2 MB."""
    expected, most = ENDS[script]
    url = f"https://hooks.acme.com:{serve(after_the_request(script), certified()).port}/"
    gc.collect()
    tracemalloc.start()
    outcome = call(url)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (outcome.status or outcome.failure) == expected
    assert sum(received) <= most + 2 * MOST_READ_BYTES
    assert peak < 2 * MB
    assert len(outcome.excerpt.encode()) <= 4096


def highest_rss_mb() -> float:
    """The most memory that this process has held, MB."""
    highest = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return highest / (MB if sys.platform == "darwin" else 1000)


def test_memory_stays_flat_under_fifty_floods_side_by_side(
    serve: Serve, call: Calls, certified: Callable[..., object]
) -> None:
    """Five gigabytes are on offer; what the process holds at most grows by less than one answer of them."""
    url = f"https://hooks.acme.com:{serve(after_the_request(body), certified()).port}/"
    with ThreadPoolExecutor(50) as pool:
        list(pool.map(lambda _: call(url), range(10)))
        before = highest_rss_mb()
        outcomes = list(pool.map(lambda _: call(url, within_ms=60_000), range(50)))
    assert {(outcome.status, outcome.truncated) for outcome in outcomes} == {(200, True)}
    assert highest_rss_mb() - before < 100
