"""Real servers on loopback, an authority of their own, and a caller that trusts it."""

import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Event, Thread

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from carillon.adapters.http.caller import HttpCaller
from carillon.adapters.http.dialling import default_tls
from carillon.adapters.http.resolving import Resolver
from carillon.domain.destinations import ANYWHERE, Destinations
from carillon.domain.outcomes import CallRequest, Outcome
from carillon.domain.targets import TargetPolicy

NOW_MS = 1_800_000_000_000
HOST = "hooks.acme.com"
Script = Callable[["Conversation"], None]


@dataclass
class Conversation:
    """One connection as its server sees it."""

    sock: socket.socket
    stop: Event
    request: bytes = b""
    sent: int = 0

    def read_request(self) -> bytes:
        """Read to the end of the request, whose body has the length that it says."""
        while b"\r\n\r\n" not in self.request:
            self._receive()
        head, _, _ = self.request.partition(b"\r\n\r\n")
        lengths = [line[15:] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        while len(self.request) < len(head) + 4 + int(lengths[0] if lengths else 0):
            self._receive()
        return self.request

    def _receive(self) -> None:
        data = self.sock.recv(65536)
        if not data:
            raise ConnectionError("the request ended early")
        self.request += data

    def send(self, data: bytes) -> None:
        """Send, and count what was sent."""
        self.sock.sendall(data)
        self.sent += len(data)

    def send_slowly(self, data: bytes, every_seconds: float = 0.02) -> None:
        """Send byte by byte until the data or the test ends."""
        for byte in data:
            if self.stop.wait(every_seconds):
                return
            self.send(bytes([byte]))

    def flood(self, piece: bytes, total: int) -> None:
        """Send the piece again and again until so many bytes were sent."""
        while self.sent < total and not self.stop.is_set():
            self.send(piece)


@dataclass
class Server:
    """A listener that plays a script with each connection."""

    listener: socket.socket
    script: Script
    tls: ssl.SSLContext | None
    stop: Event = field(default_factory=Event)
    conversations: list[Conversation] = field(default_factory=list)
    names: list[str | None] = field(default_factory=list)
    threads: list[Thread] = field(default_factory=list)

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.listener.getsockname()[1])

    @property
    def requests(self) -> list[bytes]:
        """What was asked so far, a request a connection."""
        return [conversation.request for conversation in self.conversations]

    def run(self) -> None:
        """Take connections until the listener is closed."""
        with suppress(OSError):
            while True:
                sock, _ = self.listener.accept()
                thread = Thread(target=self._converse, args=(sock,), daemon=True)
                self.threads.append(thread)
                thread.start()

    def _converse(self, sock: socket.socket) -> None:
        conversation = Conversation(sock, self.stop)
        self.conversations.append(conversation)
        with suppress(OSError), closing(sock):
            sock.settimeout(10)
            if self.tls is None:
                self.script(conversation)
                return
            with self.tls.wrap_socket(sock, server_side=True) as secured:
                conversation.sock = secured
                self.script(conversation)

    def close(self) -> None:
        """Stop, and wait for the conversations to end."""
        self.stop.set()
        # Closing alone does not wake up an accept that is waiting.
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(timeout=10)


Serve = Callable[..., Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers: `serve(script, tls=None, address="127.0.0.1")`. They end with the test."""
    servers: list[Server] = []

    def start(script: Script, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1", port: int = 0) -> Server:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        server = Server(socket.create_server((address, port), family=family), script, tls)
        servers.append(server)
        if tls is not None:
            tls.sni_callback = lambda _sock, name, _context: server.names.append(name)
        thread = Thread(target=server.run, daemon=True)
        thread.start()
        server.threads.append(thread)
        return server

    yield start
    for server in servers:
        server.close()


@pytest.fixture(scope="session")
def authority() -> trustme.CA:
    """The only authority that the caller under test trusts."""
    return trustme.CA()


@pytest.fixture
def certified(authority: trustme.CA) -> Callable[..., ssl.SSLContext]:
    """Server-side TLS settings with a certificate for these names."""

    def make(*names: str, issuer: trustme.CA = authority) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        issuer.issue_cert(*(names or (HOST,))).configure_cert(context)
        return context

    return make


@pytest.fixture
def self_signed(tmp_path: Path) -> ssl.SSLContext:
    """Server-side TLS settings whose certificate is right in all but that it vouches for itself."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "self-signed.pem"
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(private + certificate.public_bytes(Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@dataclass
class FakeResolver:
    """Answers in the order given, the last answer for ever, and keeps what it was asked."""

    answers: list[Sequence[str]]
    asked: list[str] = field(default_factory=list)

    def resolve(self, host: str) -> Sequence[str]:
        """See `Resolver`."""
        self.asked.append(host)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class FixedClock:
    """A clock that stands still: the caller reads it once and goes on by the monotonic one."""

    def now_ms(self) -> int:
        """See `Clock`."""
        return NOW_MS

    def sleep_ms(self, duration_ms: int) -> None:
        """See `Clock`."""
        raise NotImplementedError(duration_ms)


LOOPBACK_POLICY = TargetPolicy(
    schemes=frozenset({"https", "http"}), ports=None, networks=("127.0.0.0/8", "::1/128"), allow_loopback_http=True
)


@dataclass
class Calls:
    """Calls with a caller under test."""

    caller: HttpCaller
    resolver: FakeResolver

    def __call__(
        self,
        url: str,
        *,
        method: str = "POST",
        headers: tuple[tuple[str, str], ...] = (),
        body: bytes | None = b"{}",
        within_ms: int = 30_000,
        beat: Callable[[], bool] = lambda: True,
        beat_every_ms: int = 20_000,
        destinations: Destinations = ANYWHERE,
    ) -> Outcome:
        """Make one call."""
        request = CallRequest(method, url, headers, body, destinations)
        return self.caller.call(request, deadline_ms=NOW_MS + within_ms, beat=beat, beat_every_ms=beat_every_ms)


MakeCalls = Callable[..., Calls]


@pytest.fixture(scope="session")
def trusting(authority: trustme.CA) -> ssl.SSLContext:
    """Client-side TLS settings, as those of real calls but for the authority; made once, as those are."""
    context = default_tls.__wrapped__()
    authority.configure_trust(context)
    return context


@pytest.fixture
def make_calls(trusting: ssl.SSLContext) -> MakeCalls:
    """A caller: `make_calls(*answers, policy=…, resolver=…)`; names resolve to 127.0.0.1 unless told otherwise."""

    def make(
        *answers: Sequence[str], policy: TargetPolicy = LOOPBACK_POLICY, resolver: Resolver | None = None
    ) -> Calls:
        fake = FakeResolver(list(answers) or [["127.0.0.1"]])
        return Calls(HttpCaller(FixedClock(), policy, resolver=resolver or fake, tls=lambda: trusting), fake)

    return make


@pytest.fixture
def call(make_calls: MakeCalls) -> Calls:
    """The ordinary caller of these tests."""
    return make_calls()


class Heart:
    """Beats so often, then says that the run was cancelled."""

    def __init__(self, beats: int = 1_000_000) -> None:
        self.beats = beats
        self.count = 0

    def __call__(self) -> bool:
        """Beat."""
        self.count += 1
        return self.count < self.beats


@pytest.fixture
def make_heart() -> type[Heart]:
    """A heartbeat to count: `make_heart(beats=…)`."""
    return Heart


def answer(response: bytes, conversation: Conversation) -> None:
    """A script: read the request, send this."""
    conversation.read_request()
    conversation.send(response)


@pytest.fixture
def answering() -> Callable[[bytes], Script]:
    """Scripts that answer a request with these bytes and close."""
    return lambda response: partial(answer, response)
