"""The handlers of work on many jobs."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carillon.entrypoint.action_bodies import refuse_options
from carillon.entrypoint.cursors import Cursors
from carillon.entrypoint.http_request import Answer, Request, require_json
from carillon.entrypoint.json_text import read_object
from carillon.ports.edges import Ids
from carillon.ports.jobs import JobStore
from carillon.ports.operations import OperationQueue, OperationStore

if TYPE_CHECKING:
    from carillon import answers
    from carillon.application.bulk import Trial
    from carillon.domain.job_filter import JobFilter
    from carillon.domain.operations import Operation, Progress
    from carillon.entrypoint.wire.bulk import BulkWish

# ruff: noqa: PLC0415 - few requests are of operations: who makes another loads none of it


@dataclass(frozen=True, slots=True)
class OperationHandlers:
    """One method a route. `operations` makes the store when needed; `retention_ms`: how long ended jobs are kept."""

    operations: Callable[[], OperationStore]
    queue: OperationQueue
    jobs: JobStore
    ids: Ids
    cursors: Cursors
    retention_ms: int

    def start(self, request: Request) -> Answer:
        """POST /v1/jobs/bulk."""
        from carillon.application.bulk import StartOperation
        from carillon.entrypoint.wire.bulk import read_bulk

        require_json(request)
        wish = read_bulk(read_object(request.body))
        if wish.dry_run:
            return self._tried(request, wish)
        start = StartOperation(self.operations(), self.queue, request.ids or self.ids)
        operation = start(request.tenant, wish.action, wish.wanted, request.now_ms, request.actor)
        return Answer(202, _text(operation), {"Location": request.path("v1", "operations", operation.id)})

    def get(self, request: Request) -> Answer:
        """GET /v1/operations/{operation_id}."""
        from carillon.application.bulk import GetOperation

        operation_id = request.path_values["operation_id"]
        return Answer(200, _text(GetOperation(self.operations())(request.tenant, operation_id, request.now_ms)))

    def cancel(self, request: Request) -> Answer:
        """POST /v1/operations/{operation_id}/cancel."""
        from carillon.application.bulk import CancelOperation

        refuse_options(request)
        operation_id = request.path_values["operation_id"]
        cancel = CancelOperation(self.operations())
        return Answer(200, _text(cancel(request.tenant, operation_id, request.now_ms, request.actor)))

    def _tried(self, request: Request, wish: "BulkWish") -> Answer:
        from carillon.application.bulk import TryBulk

        listing = f"bulk {wish.action} {wish.wanted}"
        after = wish.cursor and self.cursors.open(wish.cursor, request.tenant, listing, request.now_ms)
        try_bulk = TryBulk(self.jobs, self.retention_ms)
        trial = try_bulk(request.tenant, wish.action, wish.wanted, request.now_ms, after)
        cursor = trial.position and self.cursors.seal(request.tenant, listing, trial.position, request.now_ms)
        return Answer(200, json.dumps(_trial(wish, trial, cursor)))


def _text(operation: "Operation") -> str:
    return json.dumps(view_of_operation(operation))


def view_of_operation(operation: "Operation") -> "answers.Operation":
    """An operation, and how far it has come."""
    from carillon.domain.instants import format_instant
    from carillon.entrypoint.views import shown_instant

    return {
        "id": operation.id,
        "action": operation.action,
        "filter": _filter(operation.wanted),
        "state": operation.state,
        "progress": _progress(operation.progress),
        "created_at": format_instant(operation.created_at),
        "updated_at": format_instant(operation.updated_at),
        "ended_at": shown_instant(operation.ended_at),
    }


def _trial(wish: "BulkWish", trial: "Trial", cursor: str | None) -> "answers.BulkTrial":
    return {
        "action": wish.action,
        "filter": _filter(wish.wanted),
        "dry_run": True,
        "progress": _progress(trial.progress),
        "next_cursor": cursor,
    }


def _filter(wanted: "JobFilter") -> "answers.JobFilter":
    return {"state": wanted.state, "labels": dict(wanted.labels), "name_prefix": wanted.name_prefix or None}


def _progress(progress: "Progress") -> "answers.Progress":
    return {
        "walked": progress.walked,
        "matched": progress.matched,
        "done": progress.done,
        "refused": dict(progress.refused),
    }
