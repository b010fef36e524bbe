"""The handlers for targets that complete an attempt later: with the attempt's token, or with a key."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from carillon.application.complete_run import CompleteRun, KeepAlive, Reporter
from carillon.domain.completions import TOKEN_PREFIX
from carillon.domain.run import Run
from carillon.entrypoint.action_bodies import refuse_options
from carillon.entrypoint.http_request import Answer, Request, require_json
from carillon.entrypoint.json_text import read_object
from carillon.entrypoint.views import shown_instant

if TYPE_CHECKING:
    from carillon import answers

TOKEN_HEADER = "carillon-completion-token"  # noqa: S105 - the name of a header, no secret
_BEARER = "bearer "


def completion_token(request: Request) -> str | None:
    """The token that a request shows: in the header in which it was given, or as a bearer's."""
    shown = request.headers.get(TOKEN_HEADER)
    if shown is not None:
        return shown.strip()
    authorization = request.headers.get("authorization", "")
    bearer = authorization[len(_BEARER) :].strip() if authorization.lower().startswith(_BEARER) else ""
    return bearer if bearer.startswith(TOKEN_PREFIX) else None


@dataclass(frozen=True, slots=True)
class CompletionHandlers:
    """One method a route."""

    complete: CompleteRun
    keep_alive: KeepAlive

    def complete_run(self, request: Request) -> Answer:
        """POST /v1/runs/{run_id}/complete."""
        from carillon.entrypoint.wire.completions import read_completed  # noqa: PLC0415 - reading needs no validator

        require_json(request)
        completed = read_completed(read_object(request.body, opaque=("result",)))
        return _answer(self.complete(_reporter(request), request.path_values["run_id"], completed))

    def heartbeat(self, request: Request) -> Answer:
        """POST /v1/runs/{run_id}/heartbeat."""
        refuse_options(request)
        return _answer(self.keep_alive(_reporter(request), request.path_values["run_id"]))


def _reporter(request: Request) -> Reporter:
    if request.principal is not None:
        return Reporter(tenant=request.tenant, actor=request.actor)
    return Reporter(token=completion_token(request) or "")


def _answer(run: Run) -> Answer:
    """What the holder of a token may know: where the run stands, and by when to be heard of again."""
    shown: answers.CompletionState = {
        "id": run.key.run_id,
        "state": run.state,
        "attempt": run.attempt,
        "heartbeat_due_at": None if run.heartbeat_ms is None else shown_instant(run.next_fire_time),
        "completion_due_at": shown_instant(run.completion_until),
    }
    return Answer(200, json.dumps(shown))
