"""Which headers a tenant may add to a callback.

Refused is what would change how the message is framed or routed, what could pass for our own words (signature,
identity), and what opens metadata services on the way. Names are compared without case, as HTTP does.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

MOST_HEADERS = 32
MOST_HEADER_BYTES = 8 * 1024
MOST_NAME_CHARACTERS = 64
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", re.ASCII)
_VALUE = re.compile(r"([!-~]([\t -~]*[!-~])?)?", re.ASCII)
_SEPARATORS = 4  # the colon, the blank and the line end that each header adds on the wire

_FRAMING = frozenset(
    {
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_RESERVED = _FRAMING | {
    "accept-encoding",
    "cookie",
    "date",
    "forwarded",
    "idempotency-key",
    "metadata",
    "metadata-flavor",
    "user-agent",
    "via",
    "x-real-ip",
}
_RESERVED_BEGINNINGS = ("carillon-", "proxy-", "webhook-", "x-amz-", "x-aws-", "x-forwarded-")


@dataclass(frozen=True, slots=True)
class HeaderProblem:
    """Why a header, or the set of them (`index` and `name` None), is refused. The detail never repeats the value."""

    index: int | None
    name: str | None
    code: str
    detail: str


def header_problems(headers: Iterable[tuple[str, str]]) -> list[HeaderProblem]:
    """What is wrong with the headers that a tenant wants on a callback; empty if nothing.

    Args:
        headers: (name, value) pairs in the tenant's order.
    """
    pairs = list(headers)
    problems = _set_problems(pairs)
    seen: set[str] = set()
    for index, (name, value) in enumerate(pairs):
        found = _problem(name, value, seen)
        if found:
            problems.append(HeaderProblem(index, name, *found))
        seen.add(name.lower())
    return problems


def is_sendable(name: str, value: str) -> bool:
    """Whether a header, our own included, has a form that cannot break out of its line or frame the message anew."""
    return bool(_TOKEN.fullmatch(name) and _VALUE.fullmatch(value)) and name.lower() not in _FRAMING


def _set_problems(pairs: list[tuple[str, str]]) -> list[HeaderProblem]:
    problems = []
    if len(pairs) > MOST_HEADERS:
        problems.append(HeaderProblem(None, None, "too_many_headers", f"at most {MOST_HEADERS} headers are allowed"))
    if sum(_wire_bytes(name, value) for name, value in pairs) > MOST_HEADER_BYTES:
        problems.append(
            HeaderProblem(None, None, "headers_too_large", f"at most {MOST_HEADER_BYTES} bytes of headers are allowed")
        )
    return problems


def _wire_bytes(name: str, value: str) -> int:
    return len(name.encode("utf-8", "replace")) + len(value.encode("utf-8", "replace")) + _SEPARATORS


def _problem(name: str, value: str, seen: set[str]) -> tuple[str, str] | None:
    """The code and the detail of what is wrong with one header."""
    lower = name.lower()
    if len(name) > MOST_NAME_CHARACTERS or not _TOKEN.fullmatch(name):
        return "bad_header_name", f"a header name is an HTTP token of 1 to {MOST_NAME_CHARACTERS} characters"
    if lower in _RESERVED or lower.startswith(_RESERVED_BEGINNINGS):
        return "reserved_header", "this header is set by the scheduler or by HTTP itself"
    if lower in seen:
        return "duplicate_header", "header names are compared without case, and each may stand once"
    if not _VALUE.fullmatch(value):
        return "bad_header_value", "a header value is visible ASCII, with blanks and tabs only inside"
    return None
