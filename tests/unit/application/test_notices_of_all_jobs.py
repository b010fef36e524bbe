"""Whom a tenant has told of failed runs of all jobs: those of jobs that name nobody, and of jobs that are gone."""

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from carillon.domain.audit import Action, Actor, ActorType, AuditEvent
from carillon.domain.identity import RunKey
from carillon.domain.job import HttpTarget, QueueTarget, Target
from carillon.domain.messages import MessageKind, WorkMessage
from carillon.domain.outcomes import CallRequest, Failure, Outcome
from carillon.domain.retry import Jitter, RetryPolicy
from carillon.domain.run import Run, RunState
from carillon.domain.schedule import OneOff
from carillon.ports.errors import UnavailableError
from carillon.receiver import verify
from support.one_offs import DUE_MS, one_off
from support.world import NEIGHBOUR, QUEUE_URL, SECRET, START_MS, TENANT, World, failure, status

ALL = HttpTarget("https://alerts.example.net/all")
OWN = HttpTarget("https://alerts.example.net/own")
ONCE = RetryPolicy(max_attempts=1)
HOUR_MS = 3_600_000


def name(world: World, target: Target | None, tenant: str = TENANT) -> None:
    """Let a tenant name somebody."""
    actor = Actor(ActorType.API_KEY, "key", "request")
    event = AuditEvent(f"aud_{world.ids.token()}", world.clock.now_ms(), tenant, actor, Action.ON_FAILURE_SET, "x")
    world.failure_targets.set(tenant, target, event)


def failing(world: World, **spec: object) -> str:
    """A one-off that is tried once, and names nobody unless said."""
    return one_off(world, **{"retry": ONCE, **spec})


def told(world: World, target: HttpTarget = ALL) -> list[CallRequest]:
    """The calls of who is told."""
    return [request for request, _ in world.caller.calls if request.url == target.url]


def notice_of(world: World, run: Run) -> Run:
    """The record of the notice of a run."""
    assert run.notice is not None
    notice = world.runs.get(RunKey(run.key.job_id, run.notice))
    assert notice is not None
    return notice


def test_a_job_that_names_nobody_tells_whom_its_tenant_names() -> None:
    """Signed, by a notice like any other."""
    world = World()
    name(world, ALL)
    world.caller.script = [status(404)]
    job_id = failing(world)
    world.run_until(DUE_MS + 10_000)
    (request,) = told(world)
    headers = dict(request.headers)
    verify(SECRET, headers, request.body or b"", now_seconds=int(headers["webhook-timestamp"]))
    run = world.run_of(job_id, DUE_MS)
    assert (json.loads(request.body or b"")["run_id"], headers["webhook-id"]) == (
        run.key.run_id,
        notice_of(world, run).key.run_id,
    )
    assert notice_of(world, run).state is RunState.SUCCEEDED


def test_a_queue_may_be_named() -> None:
    """It gets a message of the same text."""
    world = World()
    name(world, QueueTarget(f"{QUEUE_URL}.fifo"))
    world.caller.script = [status(404)]
    failing(world)
    world.run_until(DUE_MS + 10_000)
    (message,) = world.target_queues.sent_to(f"{QUEUE_URL}.fifo")
    assert json.loads(message.body)["reason"] == "http_status"


def test_a_job_that_names_somebody_tells_nobody_else() -> None:
    """Its own goes first."""
    world = World()
    name(world, ALL)
    world.caller.script = [status(404)]
    failing(world, on_failure=OWN)
    world.run_until(DUE_MS + 10_000)
    assert (len(told(world, OWN)), told(world)) == (1, [])


def test_a_tenants_failures_are_told_to_nobody_else() -> None:
    """What one tenant has named is nothing to another."""
    world = World()
    name(world, ALL, NEIGHBOUR)
    world.caller.script = [status(404)]
    job_id = failing(world)
    world.run_until(DUE_MS + 10_000)
    assert (told(world), world.run_of(job_id, DUE_MS).notice) == ([], None)


def test_its_own_failure_makes_no_notice() -> None:
    """Who is told refuses: one dead letter more, and no further notice."""
    world = World()
    name(world, ALL)
    world.caller.script = [status(404), status(404)]
    job_id = failing(world)
    world.run_until(DUE_MS + 60_000)
    notice = notice_of(world, world.run_of(job_id, DUE_MS))
    assert (notice.state, notice.notice, len(told(world))) == (RunState.DEAD_LETTERED, None, 1)


@pytest.mark.parametrize("wanted", [None, replace(ALL, url="https://alerts.example.net/new")], ids=["removed", "moved"])
def test_each_attempt_tells_whom_the_tenant_names_by_then(wanted: HttpTarget | None) -> None:
    """A wrong address can be mended; where nobody is named any more, the notice is cancelled."""
    world = World()
    name(world, ALL)
    world.caller.script = [status(404), status(503)]
    job_id = failing(world)
    world.run_until(DUE_MS + 1_000)
    assert world.run_of(job_id, DUE_MS).notice
    name(world, wanted)
    world.run_until(DUE_MS + 60_000)
    notice = notice_of(world, world.run_of(job_id, DUE_MS))
    if wanted is None:
        assert (notice.state, notice.reason) == (RunState.CANCELLED, "on_failure_removed")
    else:
        assert (notice.state, told(world)) == (RunState.SUCCEEDED, [])
        assert world.caller.calls[-1][0].url == wanted.url


def test_a_run_whose_job_is_gone_is_told_too() -> None:
    """Nobody but its tenant could be told: the job's own target went with the job."""
    world = World()
    name(world, ALL)
    key = RunKey.of("job_01K5A1B2C3D4E5F6G7H8J9K0MN", DUE_MS)
    queue = world.queues.queues["normal"]  # type: ignore[index]  # names are texts
    queue.send(WorkMessage(MessageKind.FIRST, key, TENANT, DUE_MS, 1, 0, "x").encode())
    world.clock.set(DUE_MS)
    world.run_until(DUE_MS + 10_000)
    run = world.run_of(key.job_id, DUE_MS)
    assert (run.state, run.reason) == (RunState.DEAD_LETTERED, "job_missing")
    (request,) = told(world)
    document = json.loads(request.body or b"")
    assert (document["reason"], document["job_id"], document["job_name"]) == ("job_missing", key.job_id, None)
    assert notice_of(world, run).state is RunState.SUCCEEDED


def test_where_nobody_can_say_who_is_named_the_notice_finds_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store without an answer holds no end of a run up, and loses no notice."""
    world = World()
    name(world, ALL)
    answers = [UnavailableError("no answer")]
    asked = world.failure_targets.of

    def of(tenant: str) -> Target | None:
        """Does not answer the first time."""
        if answers:
            raise answers.pop()
        return asked(tenant)

    monkeypatch.setattr(world.failure_targets, "of", of)
    world.caller.script = [status(404)]
    job_id = failing(world)
    world.run_until(DUE_MS + 10_000)
    assert world.run_of(job_id, DUE_MS).state is RunState.DEAD_LETTERED
    assert len(told(world)) == 1


def test_a_success_asks_nobody() -> None:
    """Who is named is read when a run has failed, and not before."""
    world = World()
    name(world, ALL)
    failing(world)
    world.run_until(DUE_MS + 10_000)
    assert world.calls_made["failure_targets.of"] == 0


@pytest.mark.parametrize("own", [True, False], ids=["by its job", "by its tenant"])
def test_a_run_that_has_waited_a_day_for_its_target_is_told(*, own: bool) -> None:
    """The circuit breaker gives it up without a call, and it ends like any failure: with its notice."""
    world = World(breaker_failures=5)
    target = OWN if own else ALL
    if not own:
        name(world, ALL)

    def answers(request: CallRequest, beat: Callable[[], bool]) -> Outcome:
        """The jobs' target is down all the time; who is told is up, at another host."""
        return (status(200) if request.url == target.url else failure(Failure.CONNECT_ERROR))(request, beat)

    world.caller.script = [answers] * 1_000
    retry = RetryPolicy(max_attempts=100, jitter=Jitter.NONE)
    on_failure = OWN if own else None
    ids = [
        world.create(OneOff(START_MS + 1_000 * number), retry=retry, on_failure=on_failure) for number in range(1, 13)
    ]
    world.run_until(START_MS + 60_000)
    world.run_until(START_MS + 32 * HOUR_MS, step_ms=30_000)
    runs = [run for job_id in ids for run in world.history(job_id) if not run.key.is_notice]
    assert {(run.state, run.reason) for run in runs} == {(RunState.DEAD_LETTERED, "target_unavailable")}
    documents = [json.loads(request.body or b"") for request in told(world, target)]
    assert sorted(document["run_id"] for document in documents) == sorted(run.key.run_id for run in runs)
    assert {document["reason"] for document in documents} == {"target_unavailable"}
    assert {notice_of(world, run).state for run in runs} == {RunState.SUCCEEDED}
