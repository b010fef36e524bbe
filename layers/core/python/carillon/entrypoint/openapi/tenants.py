"""The operations of what a tenant has beside jobs and runs."""

from collections.abc import Mapping

from carillon import answers
from carillon.entrypoint.openapi.operation import Answered, Body, Operation
from carillon.entrypoint.wire.actions import NoOptions, RotationOptions
from carillon.entrypoint.wire.destinations import DestinationDocument, VerificationDocument
from carillon.entrypoint.wire.failure_targets import FailureTargetDocument
from carillon.entrypoint.wire.keys import KeyDocument

_INSTANT = {"type": "string", "format": "date-time"}
_OVERLAP = Body(RotationOptions, {"overlap": "PT24H"}, is_required=False)

OPERATIONS: Mapping[str, Operation] = {
    "GET /v1/keys": Operation(
        "list_keys",
        "keys",
        "List the tenant's keys",
        {200: Answered("the tenant's [keys](#keys)", answers.ApiKeyList)},
    ),
    "POST /v1/keys": Operation(
        "create_key",
        "keys",
        "Make a further key",
        {201: Answered("the new key", answers.NewApiKey)},
        ("too_many_keys", "missing_scope"),
        Body(KeyDocument, {"scopes": ["keys:manage"], "name": "dashboard"}),
    ),
    "POST /v1/keys/{key_id}/rotate": Operation(
        "rotate_key",
        "keys",
        "Make a key in the place of another",
        {201: Answered("the key in its place", answers.RotatedApiKey)},
        ("not_found", "key_ended", "missing_scope"),
        _OVERLAP,
    ),
    "DELETE /v1/keys/{key_id}": Operation(
        "revoke_key",
        "keys",
        "Revoke a key",
        {204: Answered("the key is revoked")},
        ("not_found", "last_key"),
    ),
    "GET /v1/destinations": Operation(
        "list_destinations",
        "destinations",
        "List the destinations, oldest first",
        {200: Answered("the [destinations](#destinations), oldest first", answers.DestinationList)},
    ),
    "POST /v1/destinations": Operation(
        "add_destination",
        "destinations",
        "Register a destination",
        {
            201: Answered("the destination", answers.Destination),
            200: Answered("the one there is, if there is one of this name", answers.Destination),
        },
        (),
        Body(DestinationDocument, {"suffix": "carillon.dev"}),
    ),
    "DELETE /v1/destinations/{destination_id}": Operation(
        "remove_destination",
        "destinations",
        "Remove a destination",
        {204: Answered("it is removed")},
        ("not_found",),
    ),
    "POST /v1/destinations/{destination_id}/verify": Operation(
        "verify_destination",
        "destinations",
        "Ask a destination whether it wants to be called",
        {202: Answered("the [run that asks](#verifying-a-destination)", answers.Run, ("Location",))},
        ("not_found",),
        Body(VerificationDocument, {"url": "https://svc.carillon.dev/verify"}),
    ),
    "GET /v1/on-failure": Operation(
        "get_failure_target",
        "failures",
        "Show who is told of failed runs of all jobs",
        {200: Answered("[who is told](#told-of-the-failures-of-all-jobs), or null", answers.FailureTarget)},
    ),
    "PUT /v1/on-failure": Operation(
        "name_failure_target",
        "failures",
        "Name who is told of failed runs of all jobs",
        {200: Answered("who is told from now on", answers.FailureTarget)},
        (),
        Body(FailureTargetDocument, {"target": {"type": "http", "url": "https://svc.carillon.dev/failed"}}),
    ),
    "DELETE /v1/on-failure": Operation(
        "remove_failure_target",
        "failures",
        "Tell nobody of failed runs of jobs that name nobody",
        {204: Answered("nobody is told any more")},
    ),
    "GET /v1/signing-secrets": Operation(
        "list_signing_secrets",
        "signing secrets",
        "List the secrets that sign",
        {200: Answered("the [secrets that sign](#signing-secrets)", answers.SigningSecretList)},
    ),
    "POST /v1/signing-secrets/rotate": Operation(
        "rotate_signing_secret",
        "signing secrets",
        "Make a new secret",
        {201: Answered("the new secret", answers.RotatedSecret)},
        ("rotation_in_progress",),
        _OVERLAP,
    ),
    "POST /v1/signing-secrets/{secret_id}/reveal": Operation(
        "reveal_signing_secret",
        "signing secrets",
        "Show a secret that signs",
        {200: Answered("the secret", answers.RevealedSecret)},
        ("not_found",),
        Body(NoOptions, {}, is_required=False),
    ),
    "GET /v1/limits": Operation(
        "read_limits",
        "limits",
        "Read what the tenant may, and how much of it it uses",
        {200: Answered("the [limits](#limits), and the use of them", answers.LimitsAndUsage)},
    ),
    "GET /v1/audit-events": Operation(
        "list_audit_events",
        "audit",
        "List what was done, newest first",
        {200: Answered("a page of [what was done](#audit-events), newest first", answers.AuditEventList, ("Link",))},
    ),
    "GET /v1/stats": Operation(
        "get_statistics",
        "statistics",
        "Count what became of runs, by the hour",
        {200: Answered("[what became of runs](#statistics), and what waits in the queues", answers.Statistics)},
        parameters={
            "since": _INSTANT | {"description": "from the hour of this instant on, of the last seven days"},
            "until": _INSTANT | {"description": "to the end of the hour of this instant"},
        },
    ),
}
