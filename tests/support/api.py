"""The whole HTTP API over the memory adapters, called with events as the gateway makes them."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any
from urllib.parse import urlencode

from carillon.adapters.memory.world import MemoryWorld
from carillon.application.create_tenant import CreateTenant
from carillon.domain.identity import RunKey
from carillon.domain.run import Run, RunState
from carillon.domain.targets import HOSTED, TargetPolicy
from carillon.domain.tenancy import ApiKey, digest_of, new_key_text
from carillon.entrypoint.http_api import build_api

from .description import Description

DAY_MS = 24 * 3600 * 1000
RETENTION_MS = 30 * DAY_MS
CURSOR_KEY = bytes(range(32))
MERGE_PATCH = "application/merge-patch+json"
JOB = {
    "schedule": {"run_at": "2030-01-01T00:00:00Z"},
    "target": {"type": "http", "url": "https://svc.carillon.dev/hook"},
}

Json = Any


@dataclass(frozen=True)
class Reply:
    """An answer: the body as text and as JSON, headers by lower-case name."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Json:
        """The document."""
        return json.loads(self.text)

    @property
    def errors(self) -> set[tuple[str, str]]:
        """(where, code) of each error of a problem."""
        assert self.headers["content-type"] == "application/problem+json"
        places = ("pointer", "parameter", "header")
        return {
            (next(error[place] for place in places if place in error), error["code"])
            for error in self.json.get("errors", [])
        }


SECRET_VALUE = "z9q7k3-not-to-be-echoed"
"""Stands in requests where nothing may repeat it."""


def assert_refused(reply: Reply, status: int, errors: set[tuple[str, str]]) -> None:
    """The answer is a whole problem of this status, with these errors."""
    problem = reply.json
    assert (reply.status, problem["status"], reply.errors) == (status, status, errors)
    assert problem["type"] == f"/v1/problems/{problem['code']}"
    assert problem["request_id"] == reply.headers["x-request-id"]
    assert all(problem[member] for member in ("title", "detail"))
    assert all(error["detail"] for error in problem.get("errors", []))
    assert SECRET_VALUE not in reply.text


def changed(document: Mapping[str, Json], **changes: Json) -> dict[str, Json]:
    """A copy of a document with members set; names with two underscores reach into inner objects."""
    copy: dict[str, Json] = deepcopy(dict(document))
    for name, value in changes.items():
        *path, last = name.split("__")
        inner = copy
        for step in path:
            inner = inner.setdefault(step, {})
        inner[last] = value
    return copy


def job(**changes: Json) -> dict[str, Json]:
    """A job document, changed as told: `job(schedule={…}, target__url="…")`."""
    return changed(JOB, **changes)


@cache
def description() -> Description:
    """The published description of the interface."""
    answer = ApiUnderTest().handle(event_of("GET", "/v1/openapi.json", "", {}, None), None)
    assert answer["statusCode"] == 200, answer["body"]
    return Description(json.loads(answer["body"]))


@dataclass
class ApiUnderTest:
    """The API with two tenants, `acme` and `globex`. `key` is acme's."""

    policy: TargetPolicy = HOSTED
    world: MemoryWorld = field(default_factory=MemoryWorld)
    key: str = ""
    other_key: str = ""
    handle: Callable[[Mapping[str, Any], object], dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        create_tenant = CreateTenant(
            self.world.tenants, self.world.keys, self.world.secrets, self.world.limits, self.world.ids
        )
        self.key, self.other_key = (
            create_tenant(tenant, "test", self.world.clock.now_ms()).key_text for tenant in ("acme", "globex")
        )
        self.world.state.audit.clear()  # so that it tells of what tests do
        self.handle = self.build()

    def build(self, **ports: Any) -> Callable[[Mapping[str, Any], object], dict[str, Any]]:
        """The API over this world's ports, or others in their place."""
        world = self.world
        own = {
            "jobs": world.jobs,
            "runs": world.runs,
            "keys": world.keys,
            "shard_ledger": world.shards,
            "destinations": world.destinations,
            "uploads": lambda: world.payloads,
        }
        own |= {"operations": lambda: world.operations, "operation_queue": world.operation_queue}
        own |= {"secrets": world.secrets, "trail": world.trail, "requests": world.requests}
        own |= {"limits": world.limits, "counts": world.counts}
        edges = {"clock": world.clock, "ids": world.ids, "meter": world.meter, "cursor_key": lambda: CURSOR_KEY}
        own |= {"statistics": lambda: (world.statistics, world.gauges)}
        own |= {"failure_targets": lambda: world.failure_targets, "verifications": lambda: world.verifications}
        rules = {"policy": self.policy, "shards": 64, "retention_ms": RETENTION_MS}
        return build_api(**{**own, **edges, **rules, **ports})

    def add_key(self, *scopes: str, tenant: str = "acme", **fields: Any) -> str:
        """A further key, and its text."""
        now_ms = self.world.clock.now_ms()
        key_id = self.world.ids.job_id(now_ms).removeprefix("job_")
        text = new_key_text("test", key_id, self.world.ids.secret_bytes(32))
        self.world.keys.add(ApiKey(key_id, tenant, digest_of(text), frozenset(scopes), now_ms, **fields))
        return text

    def call(
        self,
        method: str,
        path: str,
        body: Json = None,
        *,
        raw: str | bytes | None = None,
        query: Mapping[str, str] | str = "",
        headers: Mapping[str, str | None] | None = None,
        key: str | None = "",
    ) -> Reply:
        """Make a request: `body` is sent as JSON, `raw` as it is; a header of None is left out, as is a key of None."""
        text = raw if raw is not None else None if body is None else json.dumps(body)
        sent: dict[str, str | None] = {} if text is None else {"content-type": "application/json"}
        if key is not None:
            sent["authorization"] = f"Bearer {key or self.key}"
        sent |= headers or {}
        event = event_of(method, path, query if isinstance(query, str) else urlencode(query), sent, text)
        return self.reply_to(event)

    def reply_to(self, event: Mapping[str, Any]) -> Reply:
        """Hand over an event."""
        answer = self.handle(event, None)
        json.dumps(answer)
        faults = list(description().faults(event, answer))
        assert not faults, faults
        headers = {name.lower(): value for name, value in answer["headers"].items()}
        return Reply(answer["statusCode"], headers, answer["body"])

    def create(self, **changes: Json) -> Json:
        """Create a job that must be accepted."""
        reply = self.call("POST", "/v1/jobs", job(**changes))
        assert reply.status == 201, reply.text
        return reply.json

    def patch(
        self, job_id: str, body: Json = None, *, if_match: str | None = "*", raw: str | bytes | None = None
    ) -> Reply:
        """Patch a job."""
        headers = {"If-Match": if_match, "content-type": MERGE_PATCH}
        return self.call("PATCH", f"/v1/jobs/{job_id}", body, raw=raw, headers=headers)

    def patched(self, job_id: str, body: Json) -> Json:
        """Patch a job, which must be accepted; the job as answered, which is how it reads."""
        reply = self.patch(job_id, body)
        assert reply.status == 200, reply.text
        assert self.call("GET", f"/v1/jobs/{job_id}").text == reply.text
        return reply.json

    def store_job(self, job_id: str, **changes: Any) -> None:
        """Change what is stored of the hot half of a job, as a dispatcher would."""
        stored = self.world.state.jobs[job_id]
        self.world.state.put_job(replace(stored, version=stored.version + 1, **changes))

    def add_run(self, job_id: str, scheduled_for: int, **fields: Any) -> Run:
        """Store the record of a run of acme's."""
        stored = self.world.jobs.get(job_id)
        assert stored is not None
        defaults = {
            "key": RunKey.of(job_id, scheduled_for),
            "tenant": stored.job.tenant,
            "state": RunState.SUCCEEDED,
            "scheduled_for": scheduled_for,
            "generation": 1,
            "priority": stored.job.priority,
            "lane": stored.job.lane,
            "shard": stored.job.shard,
            "created_at": self.world.clock.now_ms(),
        }
        run = Run(**{**defaults, **fields})
        self.world.runs.save(run, seen=None)
        return run

    def snapshot(self) -> tuple[Json, ...]:
        """All that is stored, to be compared."""
        state = self.world.state
        runs = {job_id: dict(runs) for job_id, runs in state.runs.items() if runs}
        return dict(state.jobs), dict(state.specs), dict(state.names), runs


def event_of(
    method: str, path: str, query: str, headers: Mapping[str, str | None], body: str | bytes | None
) -> dict[str, Any]:
    """An event of an HTTP API, payload format 2.0."""
    event: dict[str, Any] = {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {name: value for name, value in headers.items() if value is not None},
        "requestContext": {
            "http": {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
            "requestId": "JKJaXmPLvHcESHA=",
            "stage": "$default",
        },
        "isBase64Encoded": isinstance(body, bytes),
    }
    if body is not None:
        event["body"] = b64encode(body).decode() if isinstance(body, bytes) else body
    return event
