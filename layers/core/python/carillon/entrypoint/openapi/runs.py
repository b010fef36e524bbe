"""The operations of runs and dead letters."""

from collections.abc import Mapping

from carillon import answers
from carillon.domain.run import RunState
from carillon.entrypoint.openapi.operation import Answered, Body, Operation
from carillon.entrypoint.wire.actions import NoOptions
from carillon.entrypoint.wire.completions import CompleteDocument
from carillon.entrypoint.wire.redrives import RedriveDocument

_COMPLETING = ("not_found", "run_ended", "stale_attempt", "not_awaited")

OPERATIONS: Mapping[str, Operation] = {
    "GET /v1/jobs/{job_id}/runs": Operation(
        "list_runs",
        "runs",
        "List the runs of a job, newest first",
        {200: Answered("a page of runs, newest first", answers.RunList, ("Link",))},
        ("not_found",),
        parameters={"state": {"type": "string", "enum": [str(state) for state in RunState]}},
    ),
    "GET /v1/runs/{run_id}": Operation(
        "get_run",
        "runs",
        "Read a run with its attempts",
        {200: Answered("the run", answers.Run)},
        ("not_found",),
    ),
    "POST /v1/runs/{run_id}/cancel": Operation(
        "cancel_run",
        "runs",
        "Cancel a run",
        {200: Answered("the [run](#cancelling-a-run)", answers.Run)},
        ("not_found", "run_ended"),
        Body(NoOptions, {}, is_required=False),
    ),
    "POST /v1/runs/{run_id}/heartbeat": Operation(
        "keep_run_alive",
        "runs",
        "Give a sign of life of an attempt that is completed later",
        {200: Answered("where the run stands; see [completing later](#completing-later)", answers.CompletionState)},
        _COMPLETING,
        Body(NoOptions, {}, is_required=False),
    ),
    "POST /v1/runs/{run_id}/complete": Operation(
        "complete_run",
        "runs",
        "Complete an attempt",
        {200: Answered("where the run stands; see [completing later](#completing-later)", answers.CompletionState)},
        (*_COMPLETING, "already_completed"),
        Body(CompleteDocument, {"outcome": "succeeded", "result": {"rows": 1200}}),
    ),
    "POST /v1/runs/{run_id}/retry": Operation(
        "retry_run",
        "runs",
        "Redrive a dead-lettered run",
        {202: Answered("the [run](#dead-letters)", answers.Run, ("Location",))},
        ("not_found", "not_redrivable"),
        Body(NoOptions, {}, is_required=False),
    ),
    "GET /v1/dead-letters": Operation(
        "list_dead_letters",
        "dead letters",
        "List dead-lettered runs, the latest first",
        {200: Answered("a page of dead-lettered runs, the latest first", answers.RunList, ("Link",))},
    ),
    "POST /v1/dead-letters/redrive": Operation(
        "redrive_dead_letters",
        "dead letters",
        "Redrive a portion of the dead-lettered runs",
        {200: Answered("counts", answers.Redriven)},
        ("bad_cursor",),
        Body(RedriveDocument, {"filter": {"since": "2026-10-12T02:00:00Z"}, "dry_run": True}),
    ),
}
