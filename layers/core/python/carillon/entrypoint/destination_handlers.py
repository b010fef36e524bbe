"""The handlers of destinations: each parses, calls one use case, and maps the outcome."""

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from carillon.application.destinations import EditDestinations
from carillon.application.verified_destinations import verified_at
from carillon.application.verify_destinations import AskDestination, WrongHostError
from carillon.domain.destinations import Destination, DestinationKind
from carillon.domain.instants import format_instant
from carillon.domain.targets import TargetPolicy
from carillon.entrypoint.http_request import Answer, Request, require_json
from carillon.entrypoint.json_text import read_object
from carillon.entrypoint.problems import FieldError, invalid
from carillon.entrypoint.views import shown_instant, view_of_run
from carillon.ports.tenancy import Verifications

if TYPE_CHECKING:
    from carillon import answers

# ruff: noqa: PLC0415 - the validator of documents is half of a cold import, and reading needs none


@dataclass(frozen=True, slots=True)
class DestinationHandlers:
    """One method a route."""

    edit: EditDestinations
    policy: TargetPolicy
    verifications: Verifications
    ask: AskDestination

    def list_destinations(self, request: Request) -> Answer:
        """GET /v1/destinations: a hundred at the most, so there is one page."""
        found = self.edit.all_of(request.tenant).entries
        known = self.verifications.of(request.tenant) if found else {}
        views = [view_of_destination(each, verified_at(each, known.get(each.id))) for each in found]
        shown: answers.DestinationList = {"data": views, "next_cursor": None}
        return Answer(200, json.dumps(shown))

    def register(self, request: Request) -> Answer:
        """POST /v1/destinations."""
        from carillon.entrypoint.wire.destinations import read_destination

        require_json(request)
        kind, name = read_destination(read_object(request.body), self.policy)
        destination, is_new = self.edit.register(request.tenant, kind, name, request.now_ms, request.actor)
        return Answer(201 if is_new else 200, json.dumps(self._view(request, destination)))

    def verify(self, request: Request) -> Answer:
        """POST /v1/destinations/{destination_id}/verify: a worker asks the destination, within seconds."""
        from carillon.entrypoint.wire.destinations import read_verification

        require_json(request)
        url, host = read_verification(read_object(request.body), self.policy)
        ask = self.ask if request.ids is None else replace(self.ask, ids=request.ids)
        try:
            destination_id = request.path_values["destination_id"]
            run = ask(request.tenant, destination_id, url, host, request.now_ms, request.actor)
        except WrongHostError as error:
            detail = f"only {error.expected} can answer for this destination"
            raise invalid([FieldError("pointer", "/url", "not_a_destination", detail)]) from None
        return Answer(202, json.dumps(view_of_run(run)), {"Location": request.path("v1", "runs", run.key.run_id)})

    def remove(self, request: Request) -> Answer:
        """DELETE /v1/destinations/{destination_id}."""
        self.edit.remove(request.tenant, request.path_values["destination_id"], request.now_ms, request.actor)
        return Answer(204)

    def _view(self, request: Request, destination: Destination) -> "answers.Destination":
        known = self.verifications.of(request.tenant).get(destination.id)
        return view_of_destination(destination, verified_at(destination, known))


def view_of_destination(destination: Destination, verified_ms: int | None) -> "answers.Destination":
    """A destination as answers show it."""
    times = {"created_at": format_instant(destination.created_at), "verified_at": shown_instant(verified_ms)}
    name = {"host" if destination.kind is DestinationKind.HOST else "suffix": destination.name}
    return cast("answers.Destination", {"id": destination.id, **name, **times})
