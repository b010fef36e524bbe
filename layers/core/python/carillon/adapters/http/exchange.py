"""One request and its answer over an open connection.

The grammar is h11's, a parser without I/O that refuses what does not fit HTTP/1.1 in either direction: folded headers,
NUL and line ends in values, conflicting lengths, a final 1xx. What is read, and for how long, is decided here.
"""

from dataclasses import dataclass

import h11

from carillon.adapters.http.budget import CallFailedError
from carillon.adapters.http.wire import MOST_READ_BYTES, Wire
from carillon.domain.outcomes import MOST_EXCERPT_BYTES, CallRequest, Failure
from carillon.domain.targets import TargetAddress

MOST_HEAD_BYTES = 64 * 1024
"""Of the answer, interim answers included."""
MOST_BODY_WIRE_BYTES = 64 * 1024
"""Of the body as it comes over the wire: chunk headers and trailers count as well."""

_METHODS_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


@dataclass(frozen=True, slots=True)
class Answer:
    """What was read of an answer: the final status, all headers, the beginning of the body, whether there was more."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    truncated: bool


def exchange(wire: Wire, request: CallRequest, address: TargetAddress) -> Answer:
    """Send a request and read its answer, as far as it is kept.

    Raises:
        CallFailedError: the time is over, the connection broke, the head is too large, or it is not HTTP.
    """
    # The wire stops first: its bound is the one that has an error code of its own.
    grammar = h11.Connection(h11.CLIENT, max_incomplete_event_size=MOST_HEAD_BYTES + MOST_READ_BYTES)
    try:
        message = _message(grammar, request, address)
    except h11.LocalProtocolError as error:
        raise CallFailedError(Failure.TARGET_BLOCKED) from error
    wire.write(message)
    try:
        response = _read_head(grammar, wire)
        body, truncated = _read_body(grammar, wire)
    except h11.RemoteProtocolError as error:
        raise CallFailedError(Failure.PROTOCOL_ERROR) from error
    headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers]
    return Answer(response.status_code, headers, body, truncated)


def _message(grammar: h11.Connection, request: CallRequest, address: TargetAddress) -> bytes:
    """The whole request, so that a small one leaves in one packet."""
    headers = [
        ("Host", address.host_header),
        *request.headers,
        ("Accept-Encoding", "identity"),
        ("Connection", "close"),
    ]
    if request.body is not None or request.method in _METHODS_WITH_BODY:
        headers.append(("Content-Length", str(len(request.body or b""))))
    events: list[h11.Event] = [h11.Request(method=request.method, target=address.path_and_query, headers=headers)]
    if request.body:
        events.append(h11.Data(data=request.body))
    events.append(h11.EndOfMessage())
    return b"".join(grammar.send(event) or b"" for event in events)


def _read_head(grammar: h11.Connection, wire: Wire) -> h11.Response:
    """The head of the final answer; interim ones are passed over, all within one bound."""
    wire.allow(MOST_HEAD_BYTES)
    while True:
        event = _next(grammar, wire)
        if isinstance(event, h11.Response):
            return event
        if not isinstance(event, h11.InformationalResponse):
            raise CallFailedError(Failure.PROTOCOL_ERROR)


def _read_body(grammar: h11.Connection, wire: Wire) -> tuple[bytes, bool]:
    """The beginning of the body, and whether there is more. The status line has decided by now: reading may stop."""
    wire.allow(MOST_BODY_WIRE_BYTES)
    body = bytearray()
    while len(body) <= MOST_EXCERPT_BYTES:
        try:
            event = _next(grammar, wire)
        except CallFailedError as error:
            if error.failure is Failure.RESPONSE_TOO_LARGE:
                return bytes(body), True
            raise
        if not isinstance(event, h11.Data):
            return bytes(body), False
        body += event.data
    return bytes(body[:MOST_EXCERPT_BYTES]), True


def _next(grammar: h11.Connection, wire: Wire) -> object:
    while (event := grammar.next_event()) is h11.NEED_DATA:
        grammar.receive_data(wire.read())
    return event
