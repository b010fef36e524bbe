"""Requests that die at any call of a store: their repeat ends as if nothing had been.

The calls are counted, not listed: each request is made once as it is, and then once for each call that it made, with
its process dying before the call, or behind it with the answer lost.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from carillon.adapters.memory.edges import RecordingMeter
from carillon.application.drive_operation import ActOnJob, DriveOperation
from carillon.application.edit_job import EditJob
from carillon.application.trigger_run import TriggerRun
from carillon.domain.audit import Change
from carillon.domain.idempotency import LEASE_MS
from support.api import MERGE_PATCH, RETENTION_MS, ApiUnderTest, Json, Reply, job
from support.lives import KilledError, Life, living

KEY = {"Idempotency-Key": "7c4a8d09-ca95-4c28", "content-type": "application/json"}


def create(api: ApiUnderTest, _: list[Json]) -> Reply:
    """One job with a name."""
    return api.call("POST", "/v1/jobs", job(name="once"), headers=KEY)


def create_batch(api: ApiUnderTest, _: list[Json]) -> Reply:
    """Three jobs, one of which is refused."""
    jobs = [job(name="first"), job(priority="urgent"), job(name="second")]
    return api.call("POST", "/v1/jobs/batch", {"jobs": jobs}, headers=KEY)


def patch(api: ApiUnderTest, jobs: list[Json]) -> Reply:
    """An edit of what was read, on the condition of its ETag."""
    headers = {"If-Match": jobs[0]["etag"], "content-type": MERGE_PATCH}
    return api.call("PATCH", f"/v1/jobs/{jobs[0]['id']}", {"priority": "high", "labels": {"a": "b"}}, headers=headers)


def reschedule(api: ApiUnderTest, jobs: list[Json]) -> Reply:
    """An edit that makes a new generation, whatever the ETag."""
    headers = {"If-Match": "*", "content-type": MERGE_PATCH}
    body = {"schedule": {"run_at": "2031-01-01T00:00:00Z"}}
    return api.call("PATCH", f"/v1/jobs/{jobs[0]['id']}", body, headers=headers)


def put_new(api: ApiUnderTest, _: list[Json]) -> Reply:
    """A job by a name that nobody has."""
    return api.call("PUT", "/v1/jobs/by-name/mine", job(name="mine"))


def put_other(api: ApiUnderTest, _: list[Json]) -> Reply:
    """Another definition for a name that is there."""
    return api.call("PUT", "/v1/jobs/by-name/job-0", job(name="job-0", priority="high"))


def pause(api: ApiUnderTest, jobs: list[Json]) -> Reply:
    """An edit under a key."""
    return api.call("POST", f"/v1/jobs/{jobs[0]['id']}/pause", headers=KEY)


def trigger(api: ApiUnderTest, jobs: list[Json]) -> Reply:
    """A run by hand."""
    return api.call("POST", f"/v1/jobs/{jobs[0]['id']}/trigger", headers=KEY)


def cancel(api: ApiUnderTest, jobs: list[Json]) -> Reply:
    """The end of a job."""
    return api.call("DELETE", f"/v1/jobs/{jobs[0]['id']}")


def ask_bulk(api: ApiUnderTest, _: list[Json]) -> Reply:
    """Work on many jobs."""
    return api.call("POST", "/v1/jobs/bulk", {"action": "pause", "filter": {}}, headers=KEY)


REQUESTS: dict[str, Callable[[ApiUnderTest, list[Json]], Reply]] = {
    request.__name__: request
    for request in (
        create,
        create_batch,
        patch,
        reschedule,
        put_new,
        put_other,
        pause,
        trigger,
        cancel,
        ask_bulk,
    )
}


REPEATED = {"put_new": 200}
"""What else the repeat may be answered: what a PUT has made is there then, and as it is wanted."""


def a_world() -> tuple[ApiUnderTest, list[Json]]:
    """An API with three jobs, each with its ETag."""
    api = ApiUnderTest()
    jobs = [api.create(name=f"job-{number}", labels={"n": str(number)}) for number in range(3)]
    return api, [job | {"etag": api.call("GET", f"/v1/jobs/{job['id']}").headers["etag"]} for job in jobs]


def left(api: ApiUnderTest) -> Json:
    """What is there: each job as it reads, its runs, the operations, and the events; without ids and instants."""
    state = api.world.state
    jobs = {spec.name: (state.jobs[spec.job_id].state, spec.revision, spec.labels) for spec in state.specs.values()}
    runs = sorted((state.specs[job_id].name, run.state) for job_id, runs in state.runs.items() for run in runs.values())
    trail = api.world.trail.list_newest("acme", 100, None).events
    events = sorted((event.action, event.actor.type, _lasting(event.changes)) for event in trail)
    return jobs, runs, events, len(state.operations)


def _lasting(changes: Iterable[Change]) -> list[Change]:
    """What a change says, but for the names that are drawn anew in each world."""
    return [(pointer, before, None if pointer == "/run" else after) for pointer, before, after in changes]


def made(name: str, life: Life) -> tuple[ApiUnderTest, Reply | None]:
    """A request made by a process of a life: the world behind it, and its answer if it came to one."""
    api, jobs = a_world()
    living(api, life)
    try:
        reply = REQUESTS[name](api, jobs)
    except KilledError:
        reply = None
    living(api, Life())
    if reply is None:
        api.world.clock.advance(LEASE_MS)
        reply = REQUESTS[name](api, jobs)
    return api, reply


def deaths(names: Iterable[str], live: Callable[[str, Life], object]) -> Iterator[Any]:
    """Each of these with each call at which it can die: `live` lets a process of some life do it."""
    for name in names:
        life = Life()
        live(name, life)
        for number, call in enumerate(life.calls):
            for behind in (False, True):
                where = f"{'behind' if behind else 'before'}-{number}-{call}"
                yield pytest.param(name, number, behind, id=f"{name}-{where}")


DEATHS = list(deaths(REQUESTS, made))


def test_every_request_makes_calls() -> None:
    """Without any there would be nothing below."""
    assert {case.values[0] for case in DEATHS} == REQUESTS.keys()


@pytest.mark.parametrize(("name", "number", "behind"), DEATHS)
def test_the_repeat_of_a_request_that_died(name: str, number: int, *, behind: bool) -> None:
    """It is answered as the first would have been, and leaves one job, one run, one operation, one event a change."""
    undisturbed, expected = made(name, Life())
    life = Life(number, behind)
    api, reply = made(name, life)
    assert len(life.calls) == number + 1, "it has not died"
    assert reply is not None
    assert expected is not None
    assert reply.status in {expected.status, REPEATED.get(name)}, reply.text
    assert reply.json.keys() == expected.json.keys() if reply.text else not expected.text
    assert left(api) == left(undisturbed)


def carry_out(api: ApiUnderTest, life: Life) -> None:
    """Let the operations function take the messages of its queue; one that it dies over comes again."""
    world = api.world
    jobs, runs, operations = (life.watch(getattr(world, name), name) for name in ("jobs", "runs", "operations"))
    act = ActOnJob(EditJob(jobs, runs, RETENTION_MS), TriggerRun(jobs, runs, world.ids, RETENTION_MS))
    drive = DriveOperation(operations, jobs, act, world.clock, RecordingMeter())
    while world.operation_queue.messages:
        message = world.operation_queue.messages[-1]
        try:
            is_done = drive(message.tenant, message.operation_id, 2**50)
        except KilledError:
            continue
        if is_done:
            world.operation_queue.messages.remove(message)


def operated(action: str, life: Life) -> ApiUnderTest:
    """The world behind an operation."""
    api, _ = a_world()
    reply = api.call("POST", "/v1/jobs/bulk", {"action": action, "filter": {}}, headers=KEY)
    assert reply.status == 202
    carry_out(api, life)
    return api


@pytest.mark.parametrize(("action", "number", "behind"), list(deaths(("pause", "cancel", "trigger"), operated)))
def test_an_operation_whose_worker_died(action: str, number: int, *, behind: bool) -> None:
    """Its message comes again: each job is acted on once, and each event told once."""
    expected = left(operated(action, Life()))
    life = Life(number, behind)
    assert left(operated(action, life)) == expected
    assert len(life.calls) > number + 1, "nothing came behind the death"
