"""B220: a name server that first gives an address outside and then one inside. A real one, asked over UDP."""

from __future__ import annotations

import socket
import struct
from contextlib import closing, suppress
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from carillon.domain.outcomes import Failure
from carillon.domain.target_policy import TargetPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tests.unit.adapters.http.conftest import MakeCalls, Script, Serve

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
OUTSIDE, INSIDE = "127.0.0.2", "127.0.0.1"
ONLY_OUTSIDE = TargetPolicy(schemes=frozenset({"http"}), ports=None, networks=(f"{OUTSIDE}/32",))
"""What is outside stands for the internet here: nothing beyond this machine is called."""

_HEAD = struct.Struct("!6H")


@dataclass
class NameServer:
    """Answers each question for an address (type A) with the next of its answers, to be kept for no time."""

    sock: socket.socket
    answers: list[Sequence[str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Answer until the socket is closed."""
        with suppress(OSError):
            while True:
                question, client = self.sock.recvfrom(512)
                if not question:
                    return
                self.sock.sendto(self._answer(question), client)

    def _answer(self, question: bytes) -> bytes:
        number, _, _, _, _, _ = _HEAD.unpack_from(question)
        self.asked.append(_name_in(question))
        given = self.answers.pop(0)
        records = b"".join(
            b"\xc0\x0c" + struct.pack("!2HIH", 1, 1, 0, 4) + socket.inet_aton(address) for address in given
        )
        return _HEAD.pack(number, 0x8180, 1, len(given), 0, 0) + question[_HEAD.size :] + records


def _name_in(question: bytes) -> str:
    labels, at = [], _HEAD.size
    while size := question[at]:
        labels.append(question[at + 1 : at + 1 + size].decode())
        at += 1 + size
    return ".".join(labels)


@dataclass(frozen=True)
class DnsResolver:
    """The caller's resolver, asking one name server by datagrams and remembering nothing."""

    server: tuple[str, int]

    def resolve(self, host: str) -> Sequence[str]:
        """See `Resolver`."""
        name = b"".join(bytes([len(label)]) + label.encode() for label in host.split(".")) + b"\0"
        with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as sock:
            sock.settimeout(5)
            sock.sendto(_HEAD.pack(7, 0x0100, 1, 0, 0, 0) + name + struct.pack("!2H", 1, 1), self.server)
            answer = sock.recv(512)
        count = _HEAD.unpack_from(answer)[3]
        records = answer[_HEAD.size + len(name) + 4 :]
        return [socket.inet_ntoa(records[16 * number + 12 : 16 * number + 16]) for number in range(count)]


@pytest.fixture
def name_server() -> Iterator[NameServer]:
    """A name server that runs."""
    server = NameServer(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
    server.sock.bind(("127.0.0.1", 0))
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    yield server
    with closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as waker:
        waker.sendto(b"", server.sock.getsockname())
    thread.join(timeout=5)
    server.sock.close()


def test_b220_the_second_answer_of_a_rebinding_name_server_is_never_dialled(
    name_server: NameServer, serve: Serve, make_calls: MakeCalls, answering: Callable[[bytes], Script]
) -> None:
    """One call asks once and dials what it has checked; the next one asks anew, and is blocked by what it learns."""
    outside = serve(answering(OK), address=OUTSIDE)
    inside = serve(answering(OK), address=INSIDE, port=outside.port)
    name_server.answers = [[OUTSIDE], [INSIDE], [OUTSIDE, INSIDE], [OUTSIDE]]
    call = make_calls(policy=ONLY_OUTSIDE, resolver=DnsResolver(name_server.sock.getsockname()))
    outcomes = [call(f"http://rebind.acme.com:{outside.port}/") for _ in range(4)]
    told = [outcome.status or outcome.failure for outcome in outcomes]
    assert told == [200, Failure.TARGET_BLOCKED, Failure.TARGET_BLOCKED, 200]
    assert name_server.asked == ["rebind.acme.com"] * 4, "once a call"
    assert (len(outside.requests), inside.conversations) == (2, [])
    assert [outcome.excerpt for outcome in outcomes] == ["ok", "", "", "ok"]
