"""What the client sends again, what it does not, and that nothing is done twice by it."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from carillon.client import (
    ApiProblem,
    Client,
    ConflictError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    RateLimitedError,
    RevisionMismatchError,
    ServiceError,
    Transport,
    UnauthenticatedError,
    UnreachableError,
)
from support.api import JOB
from support.loopback import Script, Service

Call = Callable[[Client, str], Any]
KEYED: dict[str, Call] = {
    "create": lambda client, _: client.create_job(JOB),
    "pause": lambda client, job_id: client.pause_job(job_id),
    "resume": lambda client, job_id: client.resume_job(job_id),
    "trigger": lambda client, job_id: client.trigger_job(job_id),
    "preview": lambda client, _: client.preview_schedule({"cron": "@daily"}, count=1),
    "redrive": lambda client, _: client.redrive_dead_letters({}, dry_run=True),
    "destination": lambda client, _: client.add_destination("suffix", "carillon.dev"),
}
"""Posts whose answers are kept under a key."""

UNTOLD: dict[str, Call] = {
    "key": lambda client, _: client.create_api_key(["jobs:read"]),
    "secret": lambda client, _: client.rotate_signing_secret(),
}
"""Posts whose answers show a secret."""


@pytest.mark.parametrize("call", KEYED.values(), ids=KEYED)
def test_a_post_whose_answer_was_lost_is_replayed(client: Client, service: Service, call: Call) -> None:
    """The service has done it, and the answer got lost: the second try has the same key and brings that answer."""
    job_id = client.create_job(JOB)["id"]
    runs = len(service.api.world.state.runs.get(job_id, {}))
    service.keys.clear()
    service.script.append(Script.LOST)
    made = call(client, job_id)
    first, second = service.keys
    assert first is not None
    assert first == second
    assert made
    added = len(service.api.world.state.runs.get(job_id, {})) - runs
    assert added == (1 if "@" in str(made.get("id")) else 0)


def test_a_creation_whose_answer_was_lost_is_one_job(client: Client, service: Service) -> None:
    """However often it is sent, there is one, and it is the one that is given back."""
    service.script += [Script.LOST, None, Script.LOST]
    made = client.create_job(JOB)
    assert [*service.jobs] == [made["id"]]
    assert len(service.bodies) == 4
    assert len({*service.keys}) == 1


def test_calls_have_keys_of_their_own(client: Client, service: Service) -> None:
    """Two creations are two jobs, unless the caller names the key."""
    assert client.create_job(JOB)["id"] != client.create_job(JOB)["id"]
    one, again = (client.create_job(JOB, idempotency_key="nightly-1") for _ in range(2))
    assert one == again
    assert len({*service.keys}) == 3


@pytest.mark.parametrize("call", UNTOLD.values(), ids=UNTOLD)
@pytest.mark.parametrize("fate", [Script.LOST, Script.problem(503, "unavailable"), Script.problem(429, "later")])
def test_what_shows_a_secret_is_never_sent_again(client: Client, service: Service, call: Call, fate: Any) -> None:
    """Without a key a post goes out once, whatever becomes of it, on a connection that nobody used before."""
    service.script.append(fate)
    with pytest.raises((UnreachableError, ApiProblem)):
        call(client, "")
    assert service.keys == [None]


def test_a_patch_is_never_sent_again(client: Client, service: Service) -> None:
    """It is conditional: a repeat would lose to itself."""
    job_id = client.create_job(JOB)["id"]
    service.bodies.clear()
    service.script.append(Script.LOST)
    with pytest.raises(UnreachableError):
        client.update_job(job_id, {"priority": "low"}, if_match="*")
    assert len(service.bodies) == 1
    assert client.job(job_id)["priority"] == "low"


@pytest.mark.parametrize("remove", ["cancel_job", "remove_destination"])
def test_a_removal_whose_answer_was_lost_is_done(client: Client, service: Service, remove: str) -> None:
    """The second try finds nothing to remove, which is what was wanted; a first try that finds nothing says so."""
    ids = {"cancel_job": client.create_job(JOB)["id"]}
    ids["remove_destination"] = client.add_destination("suffix", "carillon.dev")["id"]
    service.script.append(Script.LOST)
    getattr(client, remove)(ids[remove])
    with pytest.raises(NotFoundError):
        client.remove_destination("dst_none")


def test_while_the_first_is_under_way_it_waits(client: Client, service: Service, pauses: list[float]) -> None:
    """409 `request_in_flight` passes: it waits as long as it is told, and asks again under the same key."""
    service.script.append(Script.problem(409, "request_in_flight", retry_after="3"))
    client.create_job(JOB)
    assert pauses == [3]
    assert len({*service.keys}) == 1


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_keyed_post_is_tried_again(client: Client, service: Service, pauses: list[float], status: int) -> None:
    """After a refusal that will pass; how long it waits has bounds, and comes from `Retry-After` if that is there."""
    service.script += [Script.problem(status, "later", retry_after="2"), Script.reply(status, "<html>")]
    client.create_job(JOB)
    assert pauses[0] == 2
    assert 0 < pauses[1] < 1


@pytest.mark.parametrize("retry_after", ["31", "99999999999", "Wed, 21 Oct 2099 07:28:00 GMT"])
def test_it_waits_no_longer_than_it_may(
    client: Client, service: Service, pauses: list[float], retry_after: str
) -> None:
    """A wait of more than half a minute is the caller's to decide: the refusal says how long."""
    service.script.append(Script.problem(429, "too_many_edits", retry_after=retry_after))
    with pytest.raises(RateLimitedError) as refused:
        client.create_job(JOB)
    assert pauses == []
    assert refused.value.retry_after_ms is not None
    assert refused.value.retry_after_ms > 30_000


@pytest.mark.parametrize("retry_after", ["", "soon", "-5", "1.5"])
def test_a_wait_that_is_none_is_not_believed(
    client: Client, service: Service, pauses: list[float], retry_after: str
) -> None:
    """Then the pause is one of our own, with jitter."""
    service.script.append(Script.problem(503, "unavailable", retry_after=retry_after))
    client.create_job(JOB)
    assert 0.1 <= pauses[0] <= 0.2


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidError),
        (401, UnauthenticatedError),
        (403, ForbiddenError),
        (404, NotFoundError),
        (409, ConflictError),
        (412, RevisionMismatchError),
        (413, InvalidError),
        (415, InvalidError),
        (418, ApiProblem),
        (422, InvalidError),
        (428, InvalidError),
        (500, ServiceError),
    ],
)
def test_refusals_have_kinds(client: Client, service: Service, status: int, kind: type[ApiProblem]) -> None:
    """Each status has a class of its own, which is an `ApiProblem`; none of these is tried again."""
    service.script.append(Script.problem(status, "no"))
    with pytest.raises(ApiProblem) as refused:
        client.create_job(JOB)
    assert type(refused.value) is kind
    assert (refused.value.status, refused.value.code, refused.value.request_id) == (status, "no", "req-1")
    assert len(service.bodies) == 1


# ------------------------------------------------------------------------------------- peers that take their time


@contextmanager
def peer(*pieces: bytes, apart_seconds: float = 0.0) -> Iterator[str]:
    """A server that sends these pieces to whoever comes, one after another, and then holds the line."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        ended = threading.Event()

        def serve() -> None:
            server.settimeout(10)
            line, _ = server.accept()
            with line, suppress(OSError):  # whoever came has left
                line.recv(65536)
                for piece in pieces:
                    line.sendall(piece)
                    ended.wait(apart_seconds)
                ended.wait(10)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        ended.set()
        thread.join(10)


HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"


@pytest.mark.parametrize(
    ("pieces", "apart_seconds"),
    [
        pytest.param([], 0.0, id="says nothing"),
        pytest.param([b"HTTP/1.1 200 OK\r\n"], 0.0, id="stops in the head"),
        pytest.param([HEAD + b'{"status":'], 0.0, id="stops in the body"),
        pytest.param([HEAD, *[b" "] * 200], 0.02, id="sends a byte at a time"),
    ],
)
def test_a_peer_that_takes_its_time_is_left(pieces: list[bytes], apart_seconds: float) -> None:
    """Each wait has a bound, and so has the whole answer."""
    with peer(*pieces, apart_seconds=apart_seconds) as url:
        transport = Transport(url, timeout_seconds=0.3, answer_seconds=0.3, tries=1)
        begin = time.monotonic()
        with pytest.raises(UnreachableError):
            Client("", transport=transport).health()
        assert (
            time.monotonic() - begin < 10
        )  # far from the two seconds and more that all the pieces would take a slow peer


def test_an_answer_that_is_cut_short_is_none() -> None:
    """Fewer bytes than were announced are not taken for the answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            line, _ = server.accept()
            with line:
                line.recv(65536)
                line.sendall(HEAD + b'{"status": "ok"}')

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        transport = Transport(f"http://127.0.0.1:{server.getsockname()[1]}", timeout_seconds=5, tries=1)
        with pytest.raises(UnreachableError):
            Client("", transport=transport).health()
        thread.join(10)
