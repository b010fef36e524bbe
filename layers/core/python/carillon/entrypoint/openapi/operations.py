"""The operations of the interface that are about work on many jobs."""

from collections.abc import Mapping

from carillon import answers
from carillon.domain.operations import BulkAction
from carillon.entrypoint.openapi.operation import Answered, Body, Operation
from carillon.entrypoint.wire.actions import NoOptions
from carillon.entrypoint.wire.bulk import BulkDocument

OPERATIONS: Mapping[str, Operation] = {
    "POST /v1/jobs/bulk": Operation(
        "act_on_jobs",
        "operations",
        "Pause, resume, cancel or trigger many jobs",
        {
            202: Answered("the [operation](#many-jobs-at-once) that does it", answers.Operation, ("Location",)),
            200: Answered("counts, of a dry run", answers.BulkTrial),
        },
        ("bad_cursor",),
        Body(BulkDocument, {"action": str(BulkAction.PAUSE), "filter": {"labels": {"team": "infra"}}}),
    ),
    "GET /v1/operations/{operation_id}": Operation(
        "get_operation",
        "operations",
        "Read how far an operation has come",
        {200: Answered("the operation", answers.Operation)},
        ("not_found",),
    ),
    "POST /v1/operations/{operation_id}/cancel": Operation(
        "cancel_operation",
        "operations",
        "End an operation before its end",
        {200: Answered("the operation", answers.Operation)},
        ("not_found", "operation_ended"),
        Body(NoOptions, {}, is_required=False),
    ),
}
