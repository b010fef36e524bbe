"""From the URL to the connection: checked once more, resolved once, dialled as checked."""

from __future__ import annotations

import socket
from threading import Event
from typing import TYPE_CHECKING

import pytest

from carillon.adapters.http import dialling, resolving
from carillon.adapters.http.budget import Budget, CallFailedError
from carillon.adapters.http.dialling import check_peer
from carillon.adapters.http.resolving import Lookups, SystemResolver
from carillon.domain.destinations import ANYWHERE, Destination, DestinationKind
from carillon.domain.outcomes import Failure
from carillon.domain.targets import HOSTED, TargetPolicy, development

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.unit.adapters.http.conftest import Calls, MakeCalls, Script, Serve

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
FIRST_ONLY = TargetPolicy(schemes=frozenset({"http"}), ports=None, networks=("127.0.0.1/32",))


def test_b220_the_checked_address_is_dialled(
    serve: Serve, make_calls: MakeCalls, answering: Callable[[bytes], Script]
) -> None:
    """B220: a name that would point elsewhere on the second question is asked for once."""
    allowed = serve(answering(OK))
    inside = serve(answering(OK), address="127.0.0.2", port=allowed.port)
    call = make_calls(["127.0.0.1"], ["127.0.0.2"], policy=FIRST_ONLY)
    assert call(f"http://hooks.acme.com:{allowed.port}/").status == 200
    assert call.resolver.asked == ["hooks.acme.com"]
    assert (len(allowed.requests), inside.requests) == (1, [])


def test_b220_a_name_that_moved_inside_is_blocked_at_the_next_attempt(
    serve: Serve, make_calls: MakeCalls, answering: Callable[[bytes], Script]
) -> None:
    """B220, B226: every attempt asks and judges anew."""
    server = serve(answering(OK))
    call = make_calls(["127.0.0.1"], ["10.0.0.1"], policy=FIRST_ONLY)
    outcomes = [call(f"http://hooks.acme.com:{server.port}/") for _ in range(2)]
    assert [outcome.status or outcome.failure for outcome in outcomes] == [200, Failure.TARGET_BLOCKED]


@pytest.mark.parametrize(
    "answers",
    [
        ["10.0.0.1"],
        ["127.0.0.1", "10.0.0.1"],
        ["169.254.169.254", "127.0.0.1"],
        ["127.0.0.2"],
        ["::1", "127.0.0.1"],
        ["::ffff:127.0.0.1"],
        ["fe80::1%eth0", "127.0.0.1"],
        ["not an address"],
    ],
    ids=", ".join,
)
def test_one_bad_answer_blocks_the_target(
    serve: Serve, make_calls: MakeCalls, answering: Callable[[bytes], Script], answers: list[str]
) -> None:
    """Good addresses beside a bad one are not used."""
    server = serve(answering(OK))
    outcome = make_calls(answers, policy=FIRST_ONLY)(f"http://hooks.acme.com:{server.port}/")
    assert outcome.failure is Failure.TARGET_BLOCKED
    assert server.conversations == []


@pytest.mark.parametrize(
    "url", ["http://hooks.acme.com/", "https://127.0.0.1/", "https://localhost/", "https://hooks.acme.com:22/", "x", ""]
)
def test_b226_a_url_that_is_no_longer_allowed_is_blocked(make_calls: MakeCalls, url: str) -> None:
    """B226: a job that was stored under other rules is not called, and its name is not asked for."""
    call = make_calls(policy=HOSTED)
    assert call(url).failure is Failure.TARGET_BLOCKED
    assert call.resolver.asked == []


def test_a_host_that_is_no_destination_of_the_tenant_is_blocked(
    serve: Serve, make_calls: MakeCalls, answering: Callable[[bytes], Script]
) -> None:
    """Its name is not even asked for; a destination is called, on any port that the stage allows."""
    server, call = serve(answering(OK)), make_calls()
    only = ANYWHERE.having(Destination(DestinationKind.SUFFIX, "acme.com", 1))
    hosts = ["evil.com", "evilacme.com", "localhost", "hooks.acme.com"]
    outcomes = [call(f"http://{host}:{server.port}/", destinations=only) for host in hosts]
    assert [outcome.status or outcome.failure for outcome in outcomes] == [*[Failure.TARGET_BLOCKED] * 3, 200]
    assert call.resolver.asked == ["hooks.acme.com"]


def test_b227_blocked_refused_and_silent_inside_look_the_same(
    serve: Serve, make_calls: MakeCalls, answering: Callable[[bytes], Script]
) -> None:
    """B227: whether anybody listens at a private address makes no difference."""
    server = serve(answering(OK))
    call = make_calls(policy=TargetPolicy(schemes=frozenset({"http"}), ports=None))
    outcomes = [call(f"http://hooks.acme.com:{port}/") for port in (server.port, 9)]
    assert [outcome.failure for outcome in outcomes] == [Failure.TARGET_BLOCKED] * 2
    assert {(outcome.excerpt, *outcome.headers) for outcome in outcomes} == {("",)}
    assert server.conversations == []


@pytest.mark.parametrize(
    "answers",
    [["127.0.0.2", "127.0.0.1"], ["::1", "127.0.0.1"], ["127.0.0.2", "127.0.0.3", "127.0.0.1", "127.0.0.4"]],
    ids=", ".join,
)
def test_the_next_address_is_tried(
    serve: Serve, make_calls: MakeCalls, answering: Callable[[bytes], Script], answers: list[str]
) -> None:
    """IPv4 comes first, and an address where nobody listens is passed over; three are tried."""
    server = serve(answering(OK))
    assert make_calls(answers)(f"http://hooks.acme.com:{server.port}/").status == 200


@pytest.mark.parametrize("url", ["http://localhost:{port}/", "http://127.0.0.1:{port}/", "http://LOCALHOST.:{port}/"])
def test_development_calls_loopback_without_asking_anybody(
    serve: Serve, make_calls: MakeCalls, answering: Callable[[bytes], Script], url: str
) -> None:
    """`localhost` is this machine, whatever a name service says."""
    server = serve(answering(OK))
    call = make_calls(["10.0.0.1"], policy=development())
    assert call(url.format(port=server.port)).status == 200
    assert call.resolver.asked == []


@pytest.mark.parametrize("count", [0, 17])
def test_no_answer_or_too_many_are_a_dns_error(call: Calls, count: int) -> None:
    """A target has one address at least and no reason for more than sixteen."""
    call.resolver.answers = [[f"127.0.0.{number}" for number in range(1, count + 1)]]
    assert call("http://hooks.acme.com:9/").failure is Failure.DNS_ERROR


def test_repeated_answers_count_once(call: Calls) -> None:
    """Some resolvers give an address once for each kind of socket."""
    call.resolver.answers = [["127.0.0.1"] * 40]
    assert call("http://hooks.acme.com:9/").failure is Failure.CONNECT_ERROR


class Unanswered:
    """A resolver that fails, or hangs until it is let go."""

    def __init__(self, until: Event | None = None) -> None:
        self.until = until

    def resolve(self, host: str) -> Sequence[str]:
        """See `Resolver`."""
        if self.until is None:
            raise socket.gaierror(socket.EAI_NONAME, host)
        self.until.wait(10)
        return ["127.0.0.1"]


def budget(within_ms: int = 200) -> Budget:
    """A budget whose heart never beats."""
    return Budget(within_ms, lambda: True, 60_000)


def test_b163_an_unknown_name_is_a_dns_error(make_calls: MakeCalls) -> None:
    """B163: what the name service said is not passed on."""
    assert make_calls(resolver=Unanswered())("https://hooks.acme.com:9/").failure is Failure.DNS_ERROR


def test_a_lookup_that_hangs_ends_with_the_call() -> None:
    """The system's resolver knows no timeout; the call does."""
    until = Event()
    with pytest.raises(CallFailedError) as failed:
        Lookups(Unanswered(until)).addresses("hooks.acme.com", budget())
    until.set()
    assert failed.value.failure is Failure.DNS_ERROR


def test_lookups_that_hang_are_bounded_in_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead name service costs its users their answer, not the process its threads."""
    monkeypatch.setattr(resolving, "MOST_LOOKUPS_AT_ONCE", 2)
    until = Event()
    lookups = Lookups(Unanswered(until))
    for _ in range(3):
        with pytest.raises(CallFailedError):
            lookups.addresses("hooks.acme.com", budget(20))
    until.set()
    assert _eventually_answers(lookups)


def _eventually_answers(lookups: Lookups) -> bool:
    for _ in range(100):
        try:
            return lookups.addresses("hooks.acme.com", budget()) == ["127.0.0.1"]
        except CallFailedError:
            Event().wait(0.01)
    return False


def test_the_system_is_asked_for_the_complete_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trailing dot keeps search suffixes out; both families are asked for."""
    asked: list[object] = []

    def getaddrinfo(host: object, port: object, **options: object) -> list[tuple[object, ...]]:
        asked.append((host, port, options))
        return [(socket.AF_INET, 1, 6, "", ("192.0.2.1", 0)), (socket.AF_INET6, 1, 6, "", ("2001:db8::1", 0, 0, 0))]

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    assert SystemResolver().resolve("hooks.acme.com") == ["192.0.2.1", "2001:db8::1"]
    assert asked == [(b"hooks.acme.com.", None, {"type": socket.SOCK_STREAM})]


@pytest.mark.parametrize(
    ("peer", "address", "same"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("2606:4700:0:0::1111", "2606:4700::1111", True),
        ("10.0.0.1", "8.8.8.8", False),
    ],
)
def test_the_peer_is_the_one_that_was_checked(peer: str, address: str, *, same: bool) -> None:
    """If the system has connected us to anybody else, the call ends before a byte is sent."""
    if same:
        check_peer(peer, address)
        return
    with pytest.raises(CallFailedError) as failed:
        check_peer(peer, address)
    assert failed.value.failure is Failure.TARGET_BLOCKED


def test_nothing_is_sent_to_another_peer(
    serve: Serve, call: Calls, answering: Callable[[bytes], Script], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check stands between the connection and the first byte."""
    server = serve(answering(OK))
    monkeypatch.setattr(dialling, "_peer", lambda _sock: "127.0.0.9")
    assert call(f"http://hooks.acme.com:{server.port}/").failure is Failure.TARGET_BLOCKED
    server.close()
    assert server.requests in ([], [b""])
