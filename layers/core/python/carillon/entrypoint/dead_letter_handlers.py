"""The handlers of dead letters, and of what people do to single runs."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carillon.application.cancel_run import CancelRun
from carillon.application.redrive import DeadLetterFilter, ListDeadLetters, RedriveMany, RedriveRun
from carillon.domain.dead_letters import position_of
from carillon.entrypoint.action_bodies import refuse_options
from carillon.entrypoint.cursors import Cursors
from carillon.entrypoint.http_request import Answer, Request, require_json
from carillon.entrypoint.json_text import read_object
from carillon.entrypoint.pages import answer_page, instant, read_page, single
from carillon.entrypoint.views import view_of_run

if TYPE_CHECKING:
    from carillon import answers

# ruff: noqa: PLC0415 - the validator of documents is half of a cold import, and reading needs none


@dataclass(frozen=True, slots=True)
class DeadLetterHandlers:
    """One method a route."""

    cancel: CancelRun
    redrive: RedriveRun
    list: ListDeadLetters
    redrive_many: RedriveMany
    cursors: Cursors

    def cancel_run(self, request: Request) -> Answer:
        """POST /v1/runs/{run_id}/cancel."""
        refuse_options(request)
        run = self.cancel(request.tenant, request.path_values["run_id"], request.now_ms, request.actor)
        return Answer(200, json.dumps(view_of_run(run)))

    def retry_run(self, request: Request) -> Answer:
        """POST /v1/runs/{run_id}/retry."""
        refuse_options(request)
        run_id = request.path_values["run_id"]
        run = self.redrive(request.tenant, run_id, request.now_ms, is_again=request.is_again, by=request.actor)
        return Answer(202, json.dumps(view_of_run(run)), {"Location": request.path("v1", "runs", run.key.run_id)})

    def list_dead_letters(self, request: Request) -> Answer:
        """GET /v1/dead-letters."""
        asked = read_page(request, self.cursors)
        walked = self.list(request.tenant, _filter(request), asked.limit, asked.position)
        return answer_page(request, asked, walked, self.cursors, view=view_of_run, position_of=position_of)

    def redrive_dead_letters(self, request: Request) -> Answer:
        """POST /v1/dead-letters/redrive."""
        from carillon.entrypoint.wire.redrives import read_redrive

        require_json(request)
        wish = read_redrive(read_object(request.body))
        listing = f"redrive {wish.wanted}"
        after = None
        if wish.cursor is not None:
            after = self.cursors.open(wish.cursor, request.tenant, listing, request.now_ms)
        made = self.redrive_many(
            request.tenant, wish.wanted, request.now_ms, dry_run=wish.dry_run, after=after, by=request.actor
        )
        cursor = made.position and self.cursors.seal(request.tenant, listing, made.position, request.now_ms)
        shown: answers.Redriven = {
            "redriven": made.redriven,
            "refused": dict(made.refused),
            "dry_run": wish.dry_run,
            "next_cursor": cursor,
        }
        return Answer(200, json.dumps(shown))


def _filter(request: Request) -> DeadLetterFilter:
    return DeadLetterFilter(single(request, "job"), instant(request, "since") or 0)
