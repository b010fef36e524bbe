"""TLS: the name is checked, nothing is sent before, and verification cannot be switched off."""

from __future__ import annotations

import socket
import ssl
import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
import trustme

from carillon.adapters.http.budget import Budget, CallFailedError
from carillon.adapters.http.dialling import default_tls, start_tls
from carillon.domain.outcomes import Failure

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.adapters.http.conftest import Calls, Conversation, Heart, MakeCalls, Script, Serve

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


@pytest.mark.parametrize("host", ["hooks.acme.com", "HOOKS.acme.com", "hooks.acme.com."])
def test_the_name_is_kept_for_sni_certificate_and_host(
    serve: Serve,
    call: Calls,
    answering: Callable[[bytes], Script],
    certified: Callable[..., ssl.SSLContext],
    host: str,
) -> None:
    """An address is dialled, a name is asked for and checked: lower-case, without a trailing dot."""
    server = serve(answering(OK), certified())
    assert call(f"https://{host}:{server.port}/").excerpt == "ok"
    assert server.names == ["hooks.acme.com"]
    assert f"Host: hooks.acme.com:{server.port}".encode() in server.requests[0].split(b"\r\n")


def test_a_certificate_for_another_name_stops_the_call(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script], certified: Callable[..., ssl.SSLContext]
) -> None:
    """No byte of the request leaves."""
    server = serve(answering(OK), certified("evil.acme.com"))
    assert call(f"https://hooks.acme.com:{server.port}/").failure is Failure.TLS_ERROR
    server.close()
    assert server.requests == [b""]


def test_a_certificate_of_an_unknown_authority_stops_the_call(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script], certified: Callable[..., ssl.SSLContext]
) -> None:
    """The right name does not help."""
    server = serve(answering(OK), certified(issuer=trustme.CA()))
    assert call(f"https://hooks.acme.com:{server.port}/").failure is Failure.TLS_ERROR
    server.close()
    assert server.requests == [b""]


def test_an_expired_certificate_stops_the_call(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script], authority: trustme.CA
) -> None:
    """The right name and the right authority do not help."""
    expired = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("hooks.acme.com", not_after=datetime(2020, 1, 1, tzinfo=UTC)).configure_cert(expired)
    server = serve(answering(OK), expired)
    assert call(f"https://hooks.acme.com:{server.port}/").failure is Failure.TLS_ERROR
    server.close()
    assert server.requests == [b""]


def test_a_self_signed_certificate_stops_the_call(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script], self_signed: ssl.SSLContext
) -> None:
    """Nobody vouches for it but itself."""
    server = serve(answering(OK), self_signed)
    assert call(f"https://hooks.acme.com:{server.port}/").failure is Failure.TLS_ERROR
    server.close()
    assert server.requests == [b""]


def test_tls_below_1_2_is_not_spoken(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script], certified: Callable[..., ssl.SSLContext]
) -> None:
    """A server that knows nothing newer is not called."""
    old = certified()
    old.set_ciphers("ALL:@SECLEVEL=0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
    server = serve(answering(OK), old)
    assert call(f"https://hooks.acme.com:{server.port}/").failure is Failure.TLS_ERROR


@pytest.mark.skipif(not socket.has_ipv6, reason="this system has no IPv6")
def test_an_ipv6_target_keeps_its_name(
    serve: Serve,
    make_calls: MakeCalls,
    answering: Callable[[bytes], Script],
    certified: Callable[..., ssl.SSLContext],
) -> None:
    """The address is dialled without brackets; SNI, certificate and Host have the name."""
    server = serve(answering(OK), certified(), address="::1")
    assert make_calls(["::1"])(f"https://hooks.acme.com:{server.port}/").excerpt == "ok"
    assert server.names == ["hooks.acme.com"]
    assert f"Host: hooks.acme.com:{server.port}".encode() in server.requests[0].split(b"\r\n")


def test_proxies_of_the_environment_are_ignored_under_tls(
    serve: Serve,
    call: Calls,
    answering: Callable[[bytes], Script],
    certified: Callable[..., ssl.SSLContext],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """(d): the proxy that the variables name is a server that listens, and it hears nothing."""
    proxy, server = serve(answering(OK)), serve(answering(OK), certified())
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
    assert call(f"https://hooks.acme.com:{server.port}/").status == 200
    assert proxy.conversations == []


@pytest.mark.parametrize("part", ["headers", "body"])
def test_b170_a_slow_drip_under_tls_ends_at_the_deadline(
    serve: Serve, call: Calls, certified: Callable[..., ssl.SSLContext], part: str
) -> None:
    """B170: each byte is a record of its own, and none of them buys time."""

    def drip(conversation: Conversation) -> None:
        conversation.read_request()
        conversation.send(b"HTTP/1.1 200 OK\r\n" + (b"Content-Length: 9999\r\n\r\n" if part == "body" else b"X-A: "))
        conversation.send_slowly(b"a" * 10_000)

    server = serve(drip, certified())
    outcome = call(f"https://hooks.acme.com:{server.port}/", within_ms=500)
    assert outcome.failure is Failure.TIMEOUT
    assert outcome.duration_ms >= 500


def test_b163_a_server_that_speaks_no_tls(serve: Serve, call: Calls, answering: Callable[[bytes], Script]) -> None:
    """B163: plain HTTP on an https port is a TLS error, and so is a connection that is closed at once."""
    plain = serve(lambda conversation: conversation.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    closed = serve(lambda _conversation: None)
    for server in (plain, closed):
        assert call(f"https://hooks.acme.com:{server.port}/").failure is Failure.TLS_ERROR
    assert call(f"http://hooks.acme.com:{serve(answering(OK)).port}/").status == 200


def test_a_stalled_handshake_ends_at_the_deadline(serve: Serve, call: Calls) -> None:
    """The server takes the connection and never says hello."""
    server = serve(lambda conversation: _wait(conversation, 10))
    assert call(f"https://hooks.acme.com:{server.port}/", within_ms=300).failure is Failure.TIMEOUT


def test_a_handshake_that_takes_several_turns_succeeds(
    serve: Serve,
    call: Calls,
    make_heart: type[Heart],
    answering: Callable[[bytes], Script],
    certified: Callable[..., ssl.SSLContext],
) -> None:
    """A handshake cut into turns by the heartbeat goes on where it was."""
    context, script, heart = certified(), answering(OK), make_heart()

    def late(conversation: Conversation) -> None:
        while heart.count < 3 and not conversation.stop.wait(0.005):
            pass
        with context.wrap_socket(conversation.sock, server_side=True) as secured:
            conversation.sock = secured
            script(conversation)

    outcome = call(f"https://hooks.acme.com:{serve(late).port}/", beat=heart, beat_every_ms=20)
    assert outcome.excerpt == "ok"
    assert heart.count > 2


def test_a_tls_read_that_takes_several_turns_succeeds(
    serve: Serve, call: Calls, make_heart: type[Heart], certified: Callable[..., ssl.SSLContext]
) -> None:
    """Records that trickle in, with many beats between them, are put together all the same."""
    heart = make_heart()
    big = b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\n" + b"x" * 3990

    def trickle(conversation: Conversation) -> None:
        conversation.read_request()
        for piece in (big[:5], big[5:30], big[30:], b"y" * 10):
            _wait(conversation, 0.06)
            conversation.send(piece)

    server = serve(trickle, certified())
    outcome = call(f"https://hooks.acme.com:{server.port}/", beat=heart, beat_every_ms=10)
    assert (outcome.status, outcome.excerpt) == (200, "x" * 3990 + "y" * 10)
    assert heart.count > 4


def test_a_large_body_over_tls_arrives_in_turns(
    serve: Serve, call: Calls, make_heart: type[Heart], certified: Callable[..., ssl.SSLContext]
) -> None:
    """A write that has to wait for a slow reader goes on after each beat, and no byte is lost or doubled."""
    heart = make_heart()
    body = bytes(range(256)) * 40_000

    def slow_reader(conversation: Conversation) -> None:
        _wait(conversation, 0.2)
        conversation.read_request()
        conversation.send(OK)

    server = serve(slow_reader, certified())
    outcome = call(f"https://hooks.acme.com:{server.port}/", body=body, beat=heart, beat_every_ms=20)
    assert outcome.status == 200
    assert server.requests[0].partition(b"\r\n\r\n")[2] == body
    assert heart.count > 2


def test_a_connection_that_broke_before_the_handshake_is_a_tls_error() -> None:
    """Not an exception of the socket's."""
    sock = socket.socket()
    sock.close()
    with pytest.raises(CallFailedError) as failed:
        start_tls(sock, default_tls(), "hooks.acme.com", Budget(1_000, lambda: True, 60_000))
    assert failed.value.failure is Failure.TLS_ERROR


def test_the_settings_of_real_calls() -> None:
    """Certificates and names are checked, TLS 1.2 is the oldest, HTTP/1.1 the only protocol; made once."""
    context = default_tls()
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.minimum_version == ssl.TLSVersion.TLSv1_2
    assert default_tls() is context


def _wait(conversation: Conversation, seconds: float) -> None:
    conversation.stop.wait(seconds)
