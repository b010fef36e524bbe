"""Whatever a tenant or a target sends: a verdict, never a crash, and no two readings."""

from urllib.parse import urlsplit

import pytest
from h11 import LocalProtocolError, Request
from hypothesis import given
from hypothesis import strategies as st

from carillon.domain.addresses import address_allowed
from carillon.domain.headers import header_problems
from carillon.domain.outcomes import answered
from carillon.domain.retry_after import parse_retry_after
from carillon.domain.targets import HOSTED, TargetRefused, parse_target_url

MARKS = ["https", "http", "://", "//", *":/@\\#?[]%.-_\t\n \0"]
NAMES = ["acme.com", "127.0.0.1", "::1", "localhost", "443", "8443", "0", "0x7f", "xn--", "xn--a", "①", "。", "é", "a"]
PIECES = st.sampled_from(MARKS + NAMES)
URLS = st.one_of(
    st.text(),
    st.lists(PIECES, max_size=12).map("".join),
    st.lists(PIECES, max_size=8).map(lambda pieces: "https://acme.com" + "".join(pieces)),
    st.lists(PIECES, max_size=8).map(lambda pieces: "https://" + "".join(pieces)),
)


@given(url=URLS)
def test_a_url_that_is_allowed_is_read_alike_by_others(url: str) -> None:
    """What passes means the same to Python's own parser: scheme, host, port, path and query."""
    try:
        address = parse_target_url(url, HOSTED)
    except TargetRefused:
        return
    parts = urlsplit(url)
    assert (parts.scheme, parts.username, parts.fragment) == ("https", None, "")
    assert (parts.hostname or "").removesuffix(".") == address.host
    assert (parts.port or 443) == address.port
    assert address.path_and_query.endswith(parts.path)
    assert address.host.isascii()
    assert not address_allowed(address.host, HOSTED)


@given(text=st.text())
def test_no_text_is_taken_for_an_address_by_mistake(text: str) -> None:
    """Text that is no address is refused without an exception."""
    assert address_allowed(text, HOSTED) in {True, False}


@given(text=st.one_of(st.text(), st.from_regex(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")))
def test_no_retry_after_breaks_its_reader(text: str) -> None:
    """The wait is within a day, or there is none."""
    wait_ms = parse_retry_after(text, 1_800_000_000_000)
    assert wait_ms is None or 0 <= wait_ms <= 24 * 3600 * 1000


@given(
    name=st.one_of(st.text(max_size=70), st.text("aZ-_9", min_size=1)),
    value=st.one_of(st.text(), st.text("a\t \r\n\0")),
)
def test_a_header_that_is_allowed_is_allowed_by_the_grammar(name: str, value: str) -> None:
    """Our rules are at least as strict as those of an HTTP/1.1 parser."""
    if header_problems([(name, value)]):
        return
    try:
        Request(method="POST", target="/", headers=[("Host", "acme.com"), (name, value)])
    except LocalProtocolError:
        pytest.fail("the parser refuses what we allow")


@given(body=st.binary(max_size=6000), status=st.integers(200, 599))
def test_any_body_makes_an_excerpt(body: bytes, status: int) -> None:
    """Valid UTF-8 of at most 4 KiB."""
    outcome = answered(status=status, body=body, started_ms=0, duration_ms=0)
    assert len(outcome.excerpt.encode("utf-8")) <= 4096
    assert outcome.truncated is (len(body) > 4096)
