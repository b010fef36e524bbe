"""The handlers of who is told of failed runs of all jobs: each parses, calls one use case, and maps the outcome."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carillon.application.failure_targets import NameFailureTarget
from carillon.domain.job import Target
from carillon.domain.targets import TargetPolicy
from carillon.entrypoint.http_request import Answer, Request, require_json
from carillon.entrypoint.json_text import read_object
from carillon.entrypoint.views import view_of_target
from carillon.ports.tenancy import DestinationStore

if TYPE_CHECKING:
    from carillon import answers

# ruff: noqa: PLC0415 - the validator of documents is half of a cold import, and reading needs none


@dataclass(frozen=True, slots=True)
class FailureTargetHandlers:
    """One method a route."""

    name: NameFailureTarget
    policy: TargetPolicy
    destinations: DestinationStore

    def get(self, request: Request) -> Answer:
        """GET /v1/on-failure."""
        return _answer(self.name.of(request.tenant))

    def put(self, request: Request) -> Answer:
        """PUT /v1/on-failure: held to what a target of the tenant's jobs is held to."""
        from carillon.entrypoint.wire.failure_targets import read_failure_target

        require_json(request)
        policy = self.policy.for_tenant(request.tenant).narrowed_to(self.destinations.of(request.tenant))
        target = read_failure_target(read_object(request.body), policy)
        self.name(request.tenant, request.actor, target, request.now_ms)
        return _answer(target)

    def remove(self, request: Request) -> Answer:
        """DELETE /v1/on-failure: nobody is told any more."""
        self.name(request.tenant, request.actor, None, request.now_ms)
        return Answer(204)


def _answer(target: Target | None) -> Answer:
    shown: answers.FailureTarget = {"target": None if target is None else view_of_target(target)}
    return Answer(200, json.dumps(shown))
