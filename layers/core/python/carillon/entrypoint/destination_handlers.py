"""The handlers of destinations: each parses, calls one use case, and maps the outcome."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carillon.application.destinations import EditDestinations
from carillon.domain.destinations import Destination, DestinationKind
from carillon.domain.instants import format_instant
from carillon.domain.targets import TargetPolicy
from carillon.entrypoint.http_request import Answer, Request, require_json
from carillon.entrypoint.json_text import read_object

if TYPE_CHECKING:
    from carillon import answers

# ruff: noqa: PLC0415 - the validator of documents is half of a cold import, and reading needs none


@dataclass(frozen=True, slots=True)
class DestinationHandlers:
    """One method a route."""

    edit: EditDestinations
    policy: TargetPolicy

    def list_destinations(self, request: Request) -> Answer:
        """GET /v1/destinations: a hundred at the most, so there is one page."""
        found = self.edit.all_of(request.tenant).entries
        shown: answers.DestinationList = {"data": [view_of_destination(each) for each in found], "next_cursor": None}
        return Answer(200, json.dumps(shown))

    def register(self, request: Request) -> Answer:
        """POST /v1/destinations."""
        from carillon.entrypoint.wire.destinations import read_destination

        require_json(request)
        kind, name = read_destination(read_object(request.body), self.policy)
        destination, is_new = self.edit.register(request.tenant, kind, name, request.now_ms)
        return Answer(201 if is_new else 200, json.dumps(view_of_destination(destination)))

    def remove(self, request: Request) -> Answer:
        """DELETE /v1/destinations/{destination_id}."""
        self.edit.remove(request.tenant, request.path_values["destination_id"])
        return Answer(204)


def view_of_destination(destination: Destination) -> "answers.Destination":
    """A destination as answers show it."""
    created_at = format_instant(destination.created_at)
    if destination.kind is DestinationKind.HOST:
        return {"id": destination.id, "host": destination.name, "created_at": created_at}
    return {"id": destination.id, "suffix": destination.name, "created_at": created_at}
