"""A world in which every route has something to do, and a request for each that makes it do it.

The routes come from the routing table and the bodies from the published description, so a new route is in it as soon
as it is described. It needs more here only if its path names something new, or if it acts on something special.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from carillon.domain.completions import new_token, token_digest
from carillon.domain.identity import ulid
from carillon.domain.run import Attempt, RunState
from carillon.domain.statistics import Ending, Told
from carillon.entrypoint.routing import Route
from support.api import ApiUnderTest, Json, Reply, description

UNKNOWN_ULID = ulid(1, bytes(10))
UNKNOWN: Mapping[str, str] = {
    "job_id": f"job_{UNKNOWN_ULID}",
    "run_id": f"job_{UNKNOWN_ULID}@20260921T141320000Z",
    "key_id": UNKNOWN_ULID,
    "secret_id": f"sec_{UNKNOWN_ULID}",
    "destination_id": "dst_00000000000000000000000000",
    "operation_id": f"op_{UNKNOWN_ULID}",
    "code": "no_such_code",
    "name": "no-such-name",
}
"""Ids of the right form that name nothing, by the names of path values."""

COUNTED = 7_340_451
"""So many runs of acme's are counted: nobody else may be shown that either."""

NAME = "acme-secret-plan"
"""In the names of what acme has: nobody else may be shown it."""


def routing_table() -> tuple[Route[Any], ...]:
    """All routes."""
    routes: tuple[Route[Any], ...] = ApiUnderTest().handle.routes  # type: ignore[attr-defined]  # the front knows them
    return tuple(routes)


TOKEN = new_token(bytes(32))
"""Of the run that waits to be completed."""

ROUTES: Mapping[str, Route[Any]] = {f"{route.method} {route.template}": route for route in routing_table()}
WITH_KEY = [name for name, route in ROUTES.items() if route.scope is not None]
WITH_ID = [name for name in WITH_KEY if "{" in name and "{name}" not in name]
"""Those of one thing that is the tenant's. A name is in the path too, but every tenant may have a job of it."""


def operation_of(name: str) -> Json:
    """What is published of a route."""
    method, _, template = name.partition(" ")
    return description().document["paths"][template][method.lower()]


@dataclass
class Everything:
    """A tenant, acme, that has one of each; `ids`: of them, by the names of path values."""

    api: ApiUnderTest = field(default_factory=ApiUnderTest)
    ids: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make one of each."""
        self.job = self.api.create(name=NAME, labels={"plan": NAME}, schedule={"cron": "@daily"}, target__url=_URL)
        self.ids |= {
            "job_id": self.job["id"],
            "run_id": self._run(1_000, RunState.RETRYING, attempt=1),
            "key_id": self._made("/v1/keys", {"scopes": ["keys:manage"], "name": NAME})["id"],
            "secret_id": self.api.call("GET", "/v1/signing-secrets").json["data"][0]["id"],
            "destination_id": self._made("/v1/destinations", {"suffix": "svc.carillon.dev"})["id"],
            "operation_id": self._operation(),
            "code": "name_taken",
        }
        now_ms = self.api.world.clock.now_ms()
        ending = Ending("acme", RunState.SKIPPED, "misfire", now_ms, runs=COUNTED)
        self.api.world.statistics.count([Told("an-event", ending)])
        self.special: Mapping[str, Callable[[], dict[str, str]]] = {
            "POST /v1/runs/{run_id}/retry": lambda: {"run_id": self.dead_run_id},
            "PUT /v1/jobs/by-name/{name}": lambda: {
                "name": self.request("PUT /v1/jobs/by-name/{name}")["body"]["name"]
            },
            "POST /v1/runs/{run_id}/heartbeat": lambda: {"run_id": self.awaited_run_id},
            "POST /v1/runs/{run_id}/complete": lambda: {"run_id": self.awaited_run_id},
        }

    @cached_property
    def dead_run_id(self) -> str:
        """A dead letter of the job."""
        now_ms = self.api.world.clock.now_ms()
        return self._run(2_000, RunState.DEAD_LETTERED, attempt=1, ended_at=now_ms - 500)

    @cached_property
    def awaited_run_id(self) -> str:
        """A run of the job that waits to be completed, with `TOKEN`."""
        now_ms = self.api.world.clock.now_ms()
        attempts = (Attempt(1, now_ms, token_digest="old"), Attempt(2, now_ms, token_digest=token_digest(TOKEN)))
        waits = {"attempt": 2, "attempts": attempts, "completion_until": now_ms + 60_000}
        return self._run(3_000, RunState.AWAITING_COMPLETION, next_fire_time=now_ms + 60_000, **waits)

    def _run(self, age_ms: int, state: RunState, **fields: Any) -> str:
        now_ms = self.api.world.clock.now_ms()
        return self.api.add_run(self.job["id"], now_ms - age_ms, state=state, **fields).key.run_id

    def _operation(self) -> str:
        wanted = {"action": "pause", "filter": {"name_prefix": NAME, "state": "paused"}}
        return str(self.api.call("POST", "/v1/jobs/bulk", wanted).json["id"])

    def _made(self, path: str, body: Json) -> Json:
        reply = self.api.call("POST", path, body)
        assert reply.status == 201, reply.text
        return reply.json

    def ask(self, name: str, *, ids: Mapping[str, str] | None = None, **changes: Any) -> Reply:
        """Make the request of a route, as published, with what is changed of it (`call` of the API says how)."""
        method, _, template = name.partition(" ")
        known = self.ids | (self.special[name]() if name in self.special and ids is None else {})
        path = template.format_map({**known, **(ids or {})})
        return self.api.call(method, path, **(self.request(name) | changes))

    def request(self, name: str) -> dict[str, Any]:
        """Body and headers of a request, as published."""
        told = operation_of(name)
        headers = {each["name"]: "*" for each in told["parameters"] if each["name"] == "If-Match" and each["required"]}
        if "requestBody" not in told:
            return {"headers": headers}
        media_type, content = next(iter(told["requestBody"]["content"].items()))
        return {"body": content["examples"]["usual"]["value"], "headers": {**headers, "content-type": media_type}}


_URL = "https://svc.carillon.dev/acme-hook"
