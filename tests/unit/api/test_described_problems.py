"""Every problem that the published description tells of a route is one that the route answers with.

The other direction is held by every test that calls the API: an answer that is not described fails it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from carillon.application.api_keys import MOST_KEYS
from carillon.domain.identity import RunKey
from carillon.domain.job import JobState, Revision
from carillon.domain.limits import CreateLimit, Limits
from carillon.domain.operations import OperationState
from carillon.domain.revisions import MOST_REVISIONS
from carillon.domain.run import RunState
from carillon.entrypoint.problems import KINDS
from carillon.ports.errors import UnavailableError
from support.api import JOB, Reply
from support.everything import NAME, ROUTES, TOKEN, UNKNOWN, Everything, description, operation_of

KEY = {"Idempotency-Key": "7c4a8d09-ca95-4c28"}
Provoke = Callable[[Everything, str], Reply]


def described() -> Iterator[tuple[str, str]]:
    """Each route with each code that it is said to answer."""
    for name in ROUTES:
        for response in operation_of(name)["responses"].values():
            codes = response.get("$ref", "").rpartition("/")[2].split(".")[1:]
            yield from ((name, code) for code in codes)


class Failing:
    """A port whose every call fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getattr__(self, _: str) -> Any:
        def fail(*_arguments: object, **_options: object) -> None:
            raise self.error

        return fail


@dataclass
class Taken:
    """Records of requests, where somebody with the same request is always a moment faster."""

    records: Any

    def get(self, *of: Any) -> Any:
        """What is kept."""
        return self.records.get(*of)

    def put(self, tenant: str, key: str, record: Any, *, seen: Any) -> bool:
        """The other one's record is kept, just like ours; ours is not."""
        self.records.put(tenant, key, record, seen=seen)
        return False


def with_headers(everything: Everything, name: str, **headers: str | None) -> dict[str, Any]:
    """The headers of a request as published, with some changed."""
    return {"headers": everything.request(name)["headers"] | headers}


def without_scope(everything: Everything, name: str) -> Reply:
    """A key that lacks the scope; of what grants scopes it has not itself, one that lacks those."""
    return everything.ask(
        name, key=everything.api.add_key("jobs:read" if ROUTES[name].scope != "jobs:read" else "admin:x")
    )


def from_a_store_that_fails(everything: Everything, name: str) -> Reply:
    """Keys cannot be looked up."""
    everything.api.handle = everything.api.build(keys=Failing(UnavailableError("no answer")))
    return everything.ask(name)


def from_a_bug(everything: Everything, name: str) -> Reply:
    """What every request needs is broken."""
    everything.api.handle = everything.api.build(clock=Failing(ZeroDivisionError("inner detail")))
    return everything.ask(name)


def with_a_bad_cursor(everything: Everything, name: str) -> Reply:
    """In the query, or in the body where it stands there."""
    if "cursor" in ROUTES[name].parameters:
        return everything.ask(name, query={"cursor": "garbage"})
    dry = {"dry_run": True, "cursor": "garbage"}
    return everything.ask(name, body={**everything.request(name)["body"], **dry})


def in_flight(everything: Everything, name: str) -> Reply:
    """Somebody else has begun the same request under the same key."""
    everything.api.handle = everything.api.build(requests=Taken(everything.api.world.requests))
    return everything.ask(name, **with_headers(everything, name, **KEY))


def under_a_used_key(everything: Everything, name: str) -> Reply:
    """Another request has been carried out under the key."""
    other = {"schedule": {"every": "PT1H"}}
    assert everything.api.call("POST", "/v1/schedules/preview", other, headers=KEY).status == 200
    return everything.ask(name, **with_headers(everything, name, **KEY))


def of_what_is_not_built(everything: Everything, name: str) -> Reply:
    """A key where answers are not kept, or a documented value that is not built."""
    if ROUTES[name].shows_secret:
        return everything.ask(name, **with_headers(everything, name, **KEY))
    body = everything.request(name)["body"]
    not_built = {"overlap": "skip"} if "preview" not in name else {"schedule": {"after": ["x"]}}
    return everything.ask(name, body={**body, **not_built})


def of_a_taken_name(everything: Everything, name: str) -> Reply:
    """Another job has the name."""
    everything.api.create(name="taken")
    return everything.ask(name, body={**everything.request(name)["body"], "name": "taken"})


def of_a_job_that_ended_by_itself(everything: Everything, name: str) -> Reply:
    """It holds its name still, and would be changed."""
    everything.api.store_job(everything.job["id"], state=JobState.COMPLETED, next_fire_time=None, scheduled_for=None)
    return everything.ask(name, ids={"name": NAME}, body={**everything.request(name)["body"], "name": NAME})


def of_an_ended_job(everything: Everything, name: str) -> Reply:
    """The job is cancelled; so is the one that the key of a repeated creation has made."""
    if name == "POST /v1/jobs":
        created = everything.ask(name, **with_headers(everything, name, **KEY))
        everything.ids["job_id"] = created.json["id"]
    if name.startswith("PUT"):
        return of_a_job_that_ended_by_itself(everything, name)
    assert everything.ask("DELETE /v1/jobs/{job_id}").status == 204
    return everything.ask(name, **with_headers(everything, name, **(KEY if name == "POST /v1/jobs" else {})))


def after_many_edits(everything: Everything, name: str) -> Reply:
    """As many edits as fit have been made in the last days."""
    if name.endswith("/resume"):
        assert everything.ask("POST /v1/jobs/{job_id}/pause").status == 200
    state, job_id = everything.api.world.state, everything.job["id"]
    spec, now_ms = state.specs[job_id], everything.api.world.clock.now_ms()
    made = [Revision(number, now_ms - 1_000 + number) for number in range(1, MOST_REVISIONS)]
    state.specs[job_id] = replace(spec, revisions=(*made, replace(spec.revisions[-1], generation=MOST_REVISIONS)))
    body = {"schedule": {"cron": "@hourly"}} if name.startswith("PATCH") else everything.request(name)["body"]
    if name.startswith("PUT"):
        return everything.ask(name, ids={"name": NAME}, body={**body, "name": NAME})
    return everything.ask(name, body=body)


def of_an_operation_that_ended(everything: Everything, name: str) -> Reply:
    """It has come to its end."""
    state = everything.api.world.state
    key = ("acme", everything.ids["operation_id"])
    state.operations[key] = replace(state.operations[key], state=OperationState.SUCCEEDED, ended_at=1)
    return everything.ask(name)


def of_a_run_that_succeeded(everything: Everything, name: str) -> Reply:
    """It has ended, and not as a dead letter."""
    run = everything.api.add_run(everything.job["id"], 5_000, state=RunState.SUCCEEDED)
    return everything.ask(name, ids={"run_id": run.key.run_id})


def with_a_token_of_an_attempt_that_has_ended(everything: Everything, name: str) -> Reply:
    """The run has gone on."""
    run_id = everything.awaited_run_id
    store = everything.api.world.runs
    run = store.get(RunKey.parse(run_id))
    assert run is not None
    store.save(replace(run, rev=run.rev + 1, attempt=3, state=RunState.RETRYING), seen=run.rev)
    return everything.ask(name, **with_headers(everything, name, **{"Carillon-Completion-Token": TOKEN}))


def of_a_completed_attempt(everything: Everything, name: str) -> Reply:
    """It was reported as succeeded."""
    assert everything.ask(name).status == 200
    return everything.ask(name, body={"outcome": "failed"})


def of_a_run_that_retries(everything: Everything, name: str) -> Reply:
    """It waits for a start, and not for a completion."""
    return everything.ask(name, ids={"run_id": everything.ids["run_id"]})


def with_many_keys(everything: Everything, name: str) -> Reply:
    """As many keys as may be are in force."""
    for _ in range(MOST_KEYS):
        everything.api.add_key("jobs:read")
    return everything.ask(name)


def of_a_revoked_key(everything: Everything, name: str) -> Reply:
    """It is in force no longer."""
    assert everything.ask("DELETE /v1/keys/{key_id}").status == 204
    return everything.ask(name)


def of_the_last_key(everything: Everything, name: str) -> Reply:
    """Nobody could manage keys without it."""
    assert everything.ask(name).status == 204
    return everything.ask(name, ids={"key_id": everything.api.key.split("_")[2]})


def of_a_second_rotation(everything: Everything, name: str) -> Reply:
    """The secret before still signs."""
    assert everything.ask(name).status == 201
    return everything.ask(name)


def of_another_revision(everything: Everything, name: str) -> Reply:
    """A change of a job in a revision that it never had. What would change nothing is no change."""
    if name.endswith("/resume"):
        everything.ask("POST /v1/jobs/{job_id}/pause")
    return everything.ask(name, **with_headers(everything, name, **{"If-Match": '"999"'}))


def beyond_a_limit(everything: Everything, name: str) -> Reply:
    """The tenant may have no more jobs, or a payload that is smaller; the job is one that does not count."""
    everything.api.world.limits.set("acme", Limits(jobs=0, payload_bytes=1))
    if name.startswith("PATCH"):
        return everything.ask(name, body={"payload": {"depth": "full"}})
    if name.endswith(("/pause", "/resume")):
        state, now_ms = everything.api.world.state, everything.api.world.clock.now_ms()
        ended = JobState.DISPATCHED if name.endswith("/pause") else JobState.PAUSED
        job = replace(state.jobs[everything.job["id"]], state=ended, planned_until=now_ms + 60_000, counted=None)
        state.put_job(job)
    return everything.ask(name)


def too_fast(everything: Everything, name: str) -> Reply:
    """Another job has been created just now."""
    everything.api.world.limits.set("acme", Limits(create=CreateLimit(1, 1)))
    everything.api.create()
    return everything.ask(name)


PROVOKE: Mapping[str, Provoke] = {
    "malformed_request": lambda everything, name: everything.ask(name, query="a=%ff"),
    "too_large": lambda everything, name: everything.ask(name, raw="x" * (ROUTES[name].most_bytes + 1)),
    "invalid_fields": lambda everything, name: everything.ask(name, query={"nonsense": "1"}),
    "unauthenticated": lambda everything, name: everything.ask(name, key=None),
    "missing_scope": without_scope,
    "unavailable": from_a_store_that_fails,
    "internal_error": from_a_bug,
    "not_found": lambda everything, name: everything.ask(name, ids=UNKNOWN),
    "bad_cursor": with_a_bad_cursor,
    "unsupported_media_type": lambda everything, name: everything.ask(
        name, raw="{}", **with_headers(everything, name, **{"content-type": "text/plain"})
    ),
    "revision_mismatch": of_another_revision,
    "precondition_required": lambda everything, name: everything.ask(
        name, **with_headers(everything, name, **{"If-Match": None})
    ),
    "request_in_flight": in_flight,
    "idempotency_mismatch": under_a_used_key,
    "not_supported": of_what_is_not_built,
    "name_taken": of_a_taken_name,
    "job_finished": of_an_ended_job,
    "too_many_edits": after_many_edits,
    "limit_reached": beyond_a_limit,
    "too_fast": too_fast,
    "run_ended": of_a_run_that_succeeded,
    "operation_ended": of_an_operation_that_ended,
    "not_redrivable": of_a_run_that_succeeded,
    "stale_attempt": with_a_token_of_an_attempt_that_has_ended,
    "already_completed": of_a_completed_attempt,
    "not_awaited": of_a_run_that_retries,
    "too_many_keys": with_many_keys,
    "key_ended": of_a_revoked_key,
    "last_key": of_the_last_key,
    "rotation_in_progress": of_a_second_rotation,
}
"""By code: how it is provoked on whatever route tells of it."""


@pytest.mark.parametrize(("name", "code"), [*described()])
def test_what_is_described_happens(name: str, code: str) -> None:
    """The route answers with this code, and with the code's status."""
    reply = PROVOKE[code](Everything(), name)
    assert (reply.json["code"], reply.status) == (code, KINDS[code][0]), reply.text


def test_what_is_not_described_is_noticed() -> None:
    """An answer with a status, a code, a member or a header that nobody told of is a fault, and so is a request."""
    everything = Everything()
    event = {"rawPath": "/v1/jobs", "rawQueryString": "", "requestContext": {"http": {"method": "POST"}}}
    told = description()
    base = {"X-Request-Id": "x", "Cache-Control": "no-store"}

    def faults(status: int, body: str, sent: Any = None, **headers: str) -> list[str]:
        kind = "application/json" if status < 300 else "application/problem+json"
        answer = {"statusCode": status, "headers": {**base, "Content-Type": kind, **headers}, "body": body}
        return list(told.faults({**event, "body": sent}, answer))

    created = everything.api.call("POST", "/v1/jobs", JOB).text
    assert faults(201, created) == []
    assert len(faults(201, created, X_Colour="red")) == 1
    assert len(faults(201, created[:-1] + ', "colour": 1}')) == 1
    assert len(faults(201, created, '{"colour": 1}')) > 0
    assert len(faults(202, created)) == 1
    refused = everything.api.call("POST", "/v1/jobs", {"colour": 1}).text
    assert faults(422, refused) == []
    assert len(faults(422, refused.replace("invalid_fields", "other"))) > 0
