"""A run whose payload was uploaded: its bytes and its type are sent, or it is told why not."""

import json

import pytest

from carillon.application.remove_expired import RemoveExpired
from carillon.domain.job import HttpTarget, StoredPayload
from carillon.domain.outcomes import Failure
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import RunState
from carillon.domain.uploads import MOST_UPLOAD_BYTES
from carillon.ports.errors import UnavailableError
from carillon.receiver import verify
from support.one_offs import DUE_MS, one_off
from support.world import SECRET, TENANT, World, status

REF = "pay_" + "A" * 26
BYTES = b"\x89PNG\r\n\x1a\n\x00\xff" * 100
THREE_TRIES = RetryPolicy(max_attempts=3, base_ms=1_000, jitter=Jitter.NONE)


def uploaded(world: World, body: bytes = BYTES, **spec: object) -> str:
    """A one-off whose payload was uploaded."""
    stored = StoredPayload(REF, "image/png", len(body))
    job_id = one_off(world, stored_payload=stored, **spec)
    world.payloads.upload(TENANT, REF, "image/png", body)
    assert world.payloads.keep(TENANT, REF, job_id, MOST_UPLOAD_BYTES) == stored
    return job_id


def test_bytes_and_type_are_sent_and_signed() -> None:
    """The receiver gets what was uploaded, under the type that was said, with a signature over these bytes."""
    world = World()
    uploaded(world)
    world.run_until(DUE_MS + 2_000)
    ((request, _),) = world.caller.calls
    headers = dict(request.headers)
    assert (request.body, headers["Content-Type"]) == (BYTES, "image/png")
    verify(SECRET, headers, BYTES, now_seconds=int(headers["webhook-timestamp"]))


def test_a_type_among_the_headers_of_the_target_counts_more() -> None:
    """Whoever names one there wants that one, and one alone is sent."""
    world = World()
    target = HttpTarget("https://hooks.example.net/cb", headers=(("content-type", "application/x-thing"),))
    uploaded(world, target=target)
    world.run_until(DUE_MS + 2_000)
    ((request, _),) = world.caller.calls
    assert [value for name, value in request.headers if name.lower() == "content-type"] == ["application/x-thing"]


def test_each_attempt_reads_it_anew() -> None:
    """A retry sends the same bytes; nothing is kept between attempts."""
    world = World()
    uploaded(world, retry=THREE_TRIES)
    world.caller.script = [status(503), status(200)]
    world.run_until(DUE_MS + 10_000)
    assert [request.body for request, _ in world.caller.calls] == [BYTES, BYTES]


def test_a_missing_payload_is_the_end() -> None:
    """No attempt would find it: the run is dead-lettered with a code, and the target is never called without a body."""
    world = World()
    job_id = uploaded(world, retry=THREE_TRIES)
    world.payloads.remove_all(TENANT, job_id)
    world.run_until(DUE_MS + 10_000)
    run = world.run_of(job_id, DUE_MS)
    assert (run.state, run.reason) == (RunState.DEAD_LETTERED, "payload_missing")
    assert [attempt.error for attempt in run.attempts] == [Failure.PAYLOAD_MISSING]
    assert world.caller.calls == []


def test_a_missing_payload_is_told_of() -> None:
    """The notice of such a failure has a body of its own, and does not look for what is gone."""
    world = World()
    job_id = uploaded(world, on_failure=HttpTarget("https://hooks.example.net/failed"))
    world.payloads.remove_all(TENANT, job_id)
    world.run_until(DUE_MS + 10_000)
    ((request, _),) = world.caller.calls
    assert request.url == "https://hooks.example.net/failed"
    assert dict(request.headers)["Content-Type"] == "application/json"
    assert json.loads(request.body or b"")["reason"] == "payload_missing"


def test_a_payload_that_cannot_be_read_now_is_tried_again() -> None:
    """An outage of the store is an attempt that failed, like one of the target."""
    world = World()
    job_id = uploaded(world, retry=THREE_TRIES)
    world.payloads.is_down = True
    world.run_until(DUE_MS + 2_000)
    run = world.run_of(job_id, DUE_MS)
    assert run.attempts[0].error == Failure.PAYLOAD_UNAVAILABLE
    world.payloads.is_down = False
    world.run_until(DUE_MS + 10_000)
    run = world.run_of(job_id, DUE_MS)
    assert run.state is RunState.SUCCEEDED
    assert [request.body for request, _ in world.caller.calls] == [BYTES]


def test_the_time_of_a_read_is_the_calls() -> None:
    """What the read takes is not there for the call any more: one deadline is over both."""
    world = World()
    uploaded(world, target=HttpTarget("https://hooks.example.net/cb", timeout_ms=9_000))
    deadlines: list[tuple[str, int, int]] = []
    read, call = world.payloads.read, world.caller.call

    class Slow:
        def read(self, tenant: str, job_id: str, payload: StoredPayload, deadline_ms: int) -> bytes:
            deadlines.append(("read", world.clock.now_ms(), deadline_ms))
            world.clock.advance(4_000)
            return read(tenant, job_id, payload, deadline_ms)

    def timed(request: object, *, deadline_ms: int, **rest: object) -> object:
        deadlines.append(("call", world.clock.now_ms(), deadline_ms))
        return call(request, deadline_ms=deadline_ms, **rest)  # type: ignore[arg-type]

    world.payloads = Slow()  # type: ignore[assignment]
    world.caller.call = timed  # type: ignore[method-assign, assignment]
    world.run_until(DUE_MS + 2_000)
    (_, begun_ms, first), (_, called_ms, second) = deadlines
    assert first == second == begun_ms + 9_000
    assert called_ms == begun_ms + 4_000


@pytest.mark.parametrize("owner", [TENANT, None])
def test_payloads_go_with_their_job(owner: str | None) -> None:
    """When the job is removed its payloads are; a job that never had any is not looked for."""
    world = World()
    job_id = uploaded(world)
    world.state.remove_job(job_id)
    asked: list[object] = []
    remove = RemoveExpired(world.jobs, lambda: asked.append(1) or world.payloads, world.meter)  # type: ignore[func-returns-value]
    remove(job_id, owner)
    assert (len(asked), bool(world.payloads.payloads)) == ((1, False) if owner else (0, True))
    assert world.jobs.get(job_id) is None


def test_a_removal_that_fails_can_be_repeated() -> None:
    """Payloads go first: while they are there, the other half of the job is, and the stream brings the record again."""
    world = World()
    job_id = uploaded(world)
    world.state.remove_job(job_id)
    world.payloads.is_down = True
    remove = RemoveExpired(world.jobs, lambda: world.payloads, world.meter)
    with pytest.raises(UnavailableError):
        remove(job_id, TENANT)
    assert job_id in world.state.specs
    world.payloads.is_down = False
    remove(job_id, TENANT)
    assert job_id not in world.state.specs
    assert world.payloads.payloads == {}
