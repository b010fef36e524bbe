"""The audit trail: every route that changes something leaves one event for each change, and the list of them."""

import json
from typing import Any

import pytest

from carillon.domain.audit import Action
from carillon.domain.instants import format_instant
from carillon.domain.run import RunState
from carillon.domain.tenancy import key_id_in
from support.api import MERGE_PATCH, SECRET_VALUE, ApiUnderTest, Json, Reply, assert_refused, job
from support.everything import ROUTES, TOKEN, Everything, operation_of

AUDIT = "/v1/audit-events"
CHANGING = [name for name, route in ROUTES.items() if route.method != "GET"]

SILENT = {
    "POST /v1/schedules/preview": "it computes, and stores nothing",
    "POST /v1/payloads": "it signs an address; what is put there becomes something with a job that refers to it",
    "POST /v1/runs/{run_id}/heartbeat": "a sign of life is part of a run's course, as an attempt is",
}
"""The routes that change nothing that an event could tell of, and why."""

EVENTS = {
    "POST /v1/jobs": [("job.created", "new")],
    "POST /v1/jobs/batch": [("job.created", "new"), ("job.created", "new")],
    "PATCH /v1/jobs/{job_id}": [("job.updated", "job_id")],
    "DELETE /v1/jobs/{job_id}": [("job.cancelled", "job_id")],
    "PUT /v1/jobs/by-name/{name}": [("job.created", "new")],
    "POST /v1/jobs/{job_id}/pause": [("job.paused", "job_id")],
    "POST /v1/jobs/{job_id}/resume": [("job.resumed", "job_id")],
    "POST /v1/jobs/{job_id}/trigger": [("job.triggered", "job_id")],
    "POST /v1/jobs/bulk": [("operation.started", "new")],
    "POST /v1/operations/{operation_id}/cancel": [("operation.cancelled", "operation_id")],
    "POST /v1/runs/{run_id}/cancel": [("run.cancelled", "run_id")],
    "POST /v1/runs/{run_id}/complete": [("run.completed", "run_id")],
    "POST /v1/runs/{run_id}/retry": [("run.redriven", "run_id")],
    "POST /v1/dead-letters/redrive": [("run.redriven", "run_id")],
    "POST /v1/keys": [("key.created", "new")],
    "POST /v1/keys/{key_id}/rotate": [("key.rotated", "key_id")],
    "DELETE /v1/keys/{key_id}": [("key.revoked", "key_id")],
    "POST /v1/destinations": [("destination.added", "new")],
    "POST /v1/destinations/{destination_id}/verify": [("destination.asked", "destination_id")],
    "DELETE /v1/destinations/{destination_id}": [("destination.removed", "destination_id")],
    "PUT /v1/on-failure": [("on_failure.set", "new")],
    "DELETE /v1/on-failure": [("on_failure.removed", "new")],
    "POST /v1/signing-secrets/rotate": [("signing_secret.rotated", "new")],
    "POST /v1/signing-secrets/{secret_id}/reveal": [("signing_secret.revealed", "secret_id")],
}
"""What each route leaves: actions, and to what they were done, by the names of path values."""

BODIES: dict[str, Json] = {
    "POST /v1/dead-letters/redrive": {"filter": {}, "dry_run": False},
    "POST /v1/jobs/bulk": {"action": "pause", "filter": {}},
}
"""Where the published example is one that changes nothing."""


def trail(api: ApiUnderTest, **query: str) -> list[Json]:
    """The events of acme, the oldest first, page by page."""
    found: list[Json] = []
    cursor: dict[str, str] = {}
    while True:
        reply = api.call("GET", AUDIT, query=query | cursor)
        assert reply.status == 200, reply.text
        found += reply.json["data"]
        if reply.json["next_cursor"] is None:
            return found[::-1]
        cursor = {"cursor": reply.json["next_cursor"]}


def asked(name: str) -> tuple[Everything, Reply, dict[str, str], list[Json]]:
    """Ask what a route is for; gives the world, the answer, the ids that were in it, and the events that it left."""
    everything = Everything()
    ids = dict(everything.ids)
    if name in everything.special:
        ids |= everything.special[name]()
    if name == "POST /v1/jobs/{job_id}/resume":
        everything.ask("POST /v1/jobs/{job_id}/pause")
    if name == "DELETE /v1/on-failure":
        everything.ask("PUT /v1/on-failure")
    if name == "POST /v1/dead-letters/redrive":
        ids["run_id"] = everything.dead_run_id
    known = {event["id"] for event in trail(everything.api)}
    body = {"body": BODIES[name]} if name in BODIES else {}
    reply = everything.ask(name, **body)
    assert reply.status < 300, reply.text
    return everything, reply, ids, [event for event in trail(everything.api) if event["id"] not in known]


@pytest.mark.parametrize("name", [name for name in CHANGING if name not in SILENT])
def test_every_change_leaves_its_event(name: str) -> None:
    """One event for each change, with who, what and to what; nothing that was there before is named as new."""
    everything, reply, ids, left = asked(name)
    assert [event["action"] for event in left] == [action for action, _ in EVENTS[name]]
    for event, (_, to) in zip(left, EVENTS[name], strict=True):
        assert event["target"] == ids[to] if to != "new" else event["target"] not in ids.values()
        assert event["actor"] == {"type": "api_key", "id": key_id_in(everything.api.key)}
        assert event["request_id"] == reply.headers["x-request-id"]
        assert event["operation"] is None


@pytest.mark.parametrize("name", SILENT)
def test_what_leaves_no_event(name: str) -> None:
    """The exceptions, which are few, and say why."""
    assert asked(name)[3] == []


def test_the_routes_are_all_here() -> None:
    """A route that is not GET either stands in the table of events, or among the exceptions: no one is forgotten."""
    assert set(CHANGING) == EVENTS.keys() | SILENT.keys()
    told = {action for events in EVENTS.values() for action, _ in events}
    by_others = {Action.TENANT_CREATED, Action.LIMITS_CHANGED, Action.JOB_REPLANNED}
    assert told | by_others == set(Action)


@pytest.mark.parametrize("name", [name for name in CHANGING if "Idempotency-Key" in str(operation_of(name))])
def test_a_replay_leaves_no_event(name: str) -> None:
    """Nothing is done a second time, so nothing is told a second time."""
    everything = Everything()
    headers = everything.request(name)["headers"] | {"Idempotency-Key": "once"}
    ids = everything.ids | (everything.special[name]() if name in everything.special else {})
    first = everything.ask(name, headers=headers, ids=ids)
    assert first.status < 300
    before = trail(everything.api)
    again = everything.ask(name, headers=headers, ids=ids)
    assert (again.status, again.headers["idempotent-replayed"]) == (first.status, "true")
    assert trail(everything.api) == before


@pytest.mark.parametrize("name", [name for name in CHANGING if "{" in name and "{name}" not in name])
def test_a_refusal_leaves_no_event(name: str) -> None:
    """Neither in the trail of who asks, nor in that of whose it is."""
    everything = Everything()
    ids = everything.ids | (everything.special[name]() if name in everything.special else {})
    before = trail(everything.api)
    assert everything.ask(name, key=everything.api.other_key, ids=ids).status == 404
    assert trail(everything.api) == before
    assert everything.api.world.state.audit["globex"] == {}


def test_bad_documents_leave_no_event(api: ApiUnderTest) -> None:
    """What is refused by its fields, and in a batch those that are."""
    assert api.call("POST", "/v1/jobs", job(priority="urgent")).status == 422
    api.call("POST", "/v1/jobs/batch", {"jobs": [job(colour=1), job(), job(priority=1)]})
    assert [event["action"] for event in trail(api)] == ["job.created"]


def changes(event: Json) -> dict[str, tuple[Any, Any]]:
    """The changes of an event by their pointers."""
    return {each["pointer"]: (each["before"], each["after"]) for each in event["changes"]}


def patched(api: ApiUnderTest, job_id: str, patch: Json) -> Reply:
    """Patch a job, whatever its revision, a moment later: what happens in one millisecond has no order."""
    api.world.clock.advance(1)
    headers = {"if-match": "*", "content-type": MERGE_PATCH}
    return api.call("PATCH", f"/v1/jobs/{job_id}", patch, headers=headers)


def test_b235_an_edit_tells_members_and_no_secrets(api: ApiUnderTest) -> None:
    """B235: before and after of what changed; headers and payloads are told of, and never shown."""
    made = api.create(
        name="nightly",
        target__url=f"https://svc.carillon.dev/hooks/{SECRET_VALUE}",
        target__headers={"Authorization": SECRET_VALUE, "X-Team": "infra"},
        payload={"pin": SECRET_VALUE},
        labels={"a/b": "1", "old": "x"},
    )
    patch = {
        "priority": "high",
        "schedule": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
        "target": {
            "headers": {"Authorization": f"{SECRET_VALUE}2"},
            "cancel_url": f"https://x.carillon.dev/{SECRET_VALUE}",
        },
        "payload": {"pin": f"{SECRET_VALUE}!"},
        "labels": {"a/b": "2", "old": None},
    }
    assert patched(api, made["id"], patch).status == 200
    created, updated = trail(api)
    assert changes(created) == {
        "/name": (None, "nightly"),
        "/schedule/run_at": (None, "2030-01-01T00:00:00.000Z"),
        "/target/url": (None, "https://svc.carillon.dev/***"),
    }
    told = changes(updated)
    assert told["/priority"] == ("normal", "high")
    assert told["/schedule/run_at"] == ("2030-01-01T00:00:00.000Z", None)
    assert told["/schedule/cron"] == (None, "0 2 * * *")
    assert told["/schedule/timezone"] == (None, "Asia/Kolkata")
    assert told["/target/headers/authorization"] == ("***", "***")
    assert told["/target/cancel_url"] == (None, "https://x.carillon.dev/***")
    assert told["/payload"][0].startswith("*** (")
    assert (told["/labels/a~1b"], told["/labels/old"]) == (("1", "2"), ("x", None))
    assert not {"/name", "/target/url", "/target/headers/x-team", "/misfire_policy"} & told.keys()
    assert SECRET_VALUE not in json.dumps(trail(api))
    assert SECRET_VALUE not in repr(api.world.state.audit)


def test_an_edit_that_changes_nothing_leaves_no_event(api: ApiUnderTest) -> None:
    """By PATCH, by PUT, by pause and resume and cancel of what is so already, and by a limit of the same value."""
    made = api.call("PUT", "/v1/jobs/by-name/same", job()).json
    assert made["state"] == "scheduled"
    patched(api, made["id"], {"priority": "normal"})
    api.call("PUT", "/v1/jobs/by-name/same", job())
    for action in ("resume", "pause", "pause"):
        api.world.clock.advance(1)
        assert api.call("POST", f"/v1/jobs/{made['id']}/{action}").status == 200
    for _ in range(2):
        api.world.clock.advance(1)
        assert api.call("DELETE", f"/v1/jobs/{made['id']}").status == 204
    for _ in range(2):
        api.world.clock.advance(1)
        api.call("POST", "/v1/destinations", {"host": "svc.carillon.dev"})
    actions = [event["action"] for event in trail(api)]
    assert actions == ["job.created", "job.paused", "job.cancelled", "destination.added"]


def test_put_tells_whether_it_made_or_changed(api: ApiUnderTest) -> None:
    """The first creates, the next one updates the same job."""
    made = api.call("PUT", "/v1/jobs/by-name/x", job()).json
    api.world.clock.advance(1)
    api.call("PUT", "/v1/jobs/by-name/x", job(deadline="PT5M"))
    assert [(event["action"], event["target"]) for event in trail(api)] == [
        ("job.created", made["id"]),
        ("job.updated", made["id"]),
    ]
    assert changes(trail(api)[1]) == {"/deadline": (None, "PT5M")}


def test_b250_a_target_reports_without_an_event(api: ApiUnderTest) -> None:
    """A token's report is the answer of the target, which the run itself tells of; a key's is somebody's act."""
    everything = Everything(api)
    before = trail(api)
    path = f"/v1/runs/{everything.awaited_run_id}/complete"
    reply = api.call("POST", path, {"outcome": "succeeded"}, key=TOKEN)
    assert reply.status == 200, reply.text
    assert trail(api) == before


def test_long_values_and_many_members_are_cut(api: ApiUnderTest) -> None:
    """Of an edit of the largest definition there is, the event stays small, and says how much it leaves out."""
    made = api.create()
    labels = {f"{number:02}{'k' * 60}": "ü" * 200 for number in range(50)}
    reply = patched(api, made["id"], {"labels": labels})
    if reply.status == 422:  # labels are bounded more tightly: as many as may be
        labels = {f"k{number}": "v" * 60 for number in range(10)}
        assert patched(api, made["id"], {"labels": labels}).status == 200
    (updated,) = trail(api)[1:]
    assert len(json.dumps(updated, ensure_ascii=False).encode()) < 12_000


# ------------------------------------------------------------------------------------------------------ the list


def test_the_list_is_filtered(api: ApiUnderTest) -> None:
    """By action, actor, target (a job with its runs) and time; all that is named holds."""
    first = api.create(name="a")
    api.world.clock.advance(5_000)
    second = api.create(name="b")
    api.world.clock.advance(5_000)
    noon = format_instant(api.world.clock.now_ms())
    key = api.add_key("jobs:write", "runs:write")
    run = api.add_run(first["id"], 2_000, state=RunState.RETRYING, attempt=1).key.run_id
    assert api.call("POST", f"/v1/runs/{run}/cancel", key=key).status == 200
    api.world.clock.advance(5_000)
    assert api.call("POST", f"/v1/jobs/{second['id']}/pause", key=key).status == 200
    everything = trail(api)
    assert [event["action"] for event in everything] == ["job.created", "job.created", "run.cancelled", "job.paused"]
    maker, doer = everything[0]["actor"]["id"], everything[2]["actor"]["id"]
    assert maker != doer
    for query, found in (
        ({"action": "job.created"}, everything[:2]),
        ({"actor": doer}, everything[2:]),
        ({"target": first["id"]}, [everything[0], everything[2]]),
        ({"target": run}, [everything[2]]),
        ({"target": first["id"][:-1]}, []),
        ({"since": noon}, everything[2:]),
        ({"until": noon}, everything[:2]),
        ({"since": noon, "until": noon}, []),
        ({"since": noon, "actor": maker}, []),
        ({"until": noon, "target": second["id"]}, [everything[1]]),
    ):
        assert trail(api, **query) == found, query
        assert trail(api, **query, limit="1") == found, query


def test_a_cursor_belongs_to_its_filter(api: ApiUnderTest) -> None:
    """The position of one filter is none of another's."""
    for _ in range(3):
        api.create()
    cursor = api.call("GET", AUDIT, query={"limit": "1", "action": "job.created"}).json["next_cursor"]
    for query in ({}, {"action": "job.updated"}, {"action": "job.created", "until": "2030-01-01T00:00:00Z"}):
        refused = api.call("GET", AUDIT, query={**query, "limit": "1", "cursor": cursor})
        assert (refused.status, refused.json["code"]) == (400, "bad_cursor")


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("action", "job.made", "not_a_choice"),
        ("since", "yesterday", "invalid_value"),
        ("until", "2026-10-12T02:30:00", "invalid_value"),
    ],
)
def test_bad_filters_are_refused(api: ApiUnderTest, name: str, value: str, code: str) -> None:
    """The answer names the parameter, and what is allowed."""
    reply = api.call("GET", AUDIT, query={name: value})
    assert_refused(reply, 422, {(name, code)})
