"""The HTTP API: routes to handlers, and what happens to every request. All refusals are problem+json."""

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

from carillon.application.authenticate import Authenticate
from carillon.application.create_job import CreateJob, ShardCount
from carillon.application.edit_job import EditJob
from carillon.application.read_jobs import GetJob, ListJobs
from carillon.application.read_runs import GetRun, ListRuns
from carillon.application.repeat_safely import RepeatSafely
from carillon.application.trigger_run import TriggerRun
from carillon.application.uploads import InviteUpload, KeepUpload
from carillon.domain.targets import TargetPolicy
from carillon.domain.tenancy import Principal
from carillon.entrypoint import problems
from carillon.entrypoint.cursors import Cursors
from carillon.entrypoint.http_request import (
    MOST_BATCH_BYTES,
    Answer,
    Event,
    Request,
    base_of,
    check_size,
    gateway_request_id_of,
    read_request,
    request_id_of,
)
from carillon.entrypoint.idempotency import Once, key_in
from carillon.entrypoint.job_handlers import JobHandlers, preview_schedule
from carillon.entrypoint.operation_handlers import OperationHandlers
from carillon.entrypoint.payload_handlers import PayloadHandlers
from carillon.entrypoint.problems import FieldError, Refusal, invalid
from carillon.entrypoint.routing import Route, find_route
from carillon.entrypoint.run_handlers import RunHandlers
from carillon.entrypoint.service_handlers import describing, explain_problem, health, open_console
from carillon.ports.dispatch import ShardLedger
from carillon.ports.edges import Clock, Ids, Meter
from carillon.ports.jobs import JobStore
from carillon.ports.operations import OperationQueue, OperationStore
from carillon.ports.payloads import Uploads
from carillon.ports.runs import RunStore
from carillon.ports.tenancy import (
    ApiKeys,
    AuditTrail,
    DestinationStore,
    IdempotencyRecords,
    JobCounts,
    SigningSecrets,
    TenantLimits,
)

if TYPE_CHECKING:
    from carillon.domain.failing import FailingRules
    from carillon.entrypoint.completion_handlers import CompletionHandlers
    from carillon.entrypoint.dead_letter_handlers import DeadLetterHandlers
    from carillon.entrypoint.destination_handlers import DestinationHandlers
    from carillon.entrypoint.failure_target_handlers import FailureTargetHandlers
    from carillon.entrypoint.key_handlers import KeyHandlers
    from carillon.entrypoint.statistics_handlers import StatisticsHandlers
    from carillon.entrypoint.tenant_handlers import TenantHandlers
    from carillon.ports.statistics import QueueGauges, StatisticsStore
    from carillon.ports.tenancy import FailureTargets, Verifications

# ruff: noqa: PLC0415 - what few requests need is loaded with the first of them

logger = logging.getLogger("carillon")

Api = Callable[[Event, object], dict[str, Any]]
Handle = Callable[[Request], Answer]
Handlers = TypeVar("Handlers")

_BEARER = re.compile(r"bearer +([!-~]+)", re.ASCII | re.IGNORECASE)
_CHALLENGE = 'Bearer realm="carillon"'
_PAGE = frozenset({"limit", "cursor"})
_AUDIT_FILTERS = frozenset({"action", "actor", "target", "since", "until"})


def build_api(  # noqa: PLR0913 - the composition root names each port
    *,
    jobs: JobStore,
    runs: RunStore,
    keys: ApiKeys,
    secrets: SigningSecrets,
    destinations: DestinationStore,
    uploads: Callable[[], Uploads],
    trail: AuditTrail,
    limits: TenantLimits,
    counts: JobCounts,
    requests: IdempotencyRecords,
    operations: Callable[[], OperationStore],
    operation_queue: OperationQueue,
    shard_ledger: ShardLedger,
    clock: Clock,
    ids: Ids,
    meter: Meter,
    cursor_key: Callable[[], bytes],
    policy: TargetPolicy,
    shards: int,
    retention_ms: int,
    failure_targets: "Callable[[], FailureTargets]",
    verifications: "Callable[[], Verifications]",
    statistics: "Callable[[], tuple[StatisticsStore, QueueGauges]]",
    verify_destinations: bool = False,
    failing: "FailingRules | None" = None,
) -> Api:
    """The API over its ports.

    Args:
        jobs: the job store.
        runs: the run store.
        keys: the tenants' API keys.
        secrets: the tenants' signing secrets.
        destinations: where tenants let their jobs call.
        uploads: gives the place of uploaded payloads, when it is first needed.
        trail: where audit events are kept.
        limits: what tenants may, as it was at most a minute ago.
        counts: how many jobs of tenants count.
        requests: where requests are kept that may be repeated.
        operations: makes the store of operations when a request is about one: few are.
        operation_queue: has operations carried out.
        shard_ledger: learns of our shard count before the first job is created.
        clock: the present.
        ids: ids of new jobs.
        meter: counts the ends of runs that are completed here.
        cursor_key: gives the secret that seals cursors: the same for all instances of the stage, at least 32 bytes.
        policy: which targets the stage allows.
        shards: how many shards new jobs are hashed onto.
        retention_ms: how long ended jobs and runs are kept.
        failure_targets: gives the store of whom tenants have told of failures, when a request or a failure needs it.
        verifications: gives the store of verified destinations, likewise.
        statistics: gives the counts of runs and the gauges of the queues, likewise.
        verify_destinations: whether only verified destinations may be called.
        failing: when a job is paused for its failures; None: never.
    """
    admitting = _verified(destinations, verifications()) if verify_destinations else destinations
    shard_count = ShardCount(shard_ledger, shards)
    cursors = Cursors(cursor_key)
    of_jobs = JobHandlers(
        CreateJob(jobs, ids, shard_count, KeepUpload(uploads), limits.of),
        GetJob(jobs),
        ListJobs(jobs),
        EditJob(jobs, runs, retention_ms, limits.of),
        TriggerRun(jobs, runs, ids, retention_ms),
        cursors,
        policy,
        admitting,
    )
    routes = _routes(
        of_jobs,
        RunHandlers(GetRun(runs), ListRuns(jobs, runs), cursors),
        _later(lambda: _of_dead_letters(jobs, runs, retention_ms, cursors)),
        _later(lambda: _of_tenants(secrets, trail, limits, counts, ids, cursors)),
        _later(lambda: _of_keys(keys, ids)),
        _later(lambda: _of_destinations(destinations, policy, verifications(), runs, shard_count, ids)),
        of_failure_targets=_later(lambda: _of_failure_targets(failure_targets(), policy, admitting, ids)),
        of_completions=_later(
            lambda: _of_completions(
                jobs, runs, clock, meter, ids, retention_ms, failing=failing, named=failure_targets()
            )
        ),
        of_operations=OperationHandlers(operations, operation_queue, jobs, ids, cursors, retention_ms),
        of_payloads=PayloadHandlers(InviteUpload(uploads, ids, limits.of)),
        of_statistics=_later(lambda: _of_statistics(*statistics())),
    )
    return _Front(routes, Authenticate(keys), Once(RepeatSafely(requests, ids)), clock)


def _later(make: Callable[[], Handlers]) -> Handlers:
    """Handlers that are made, and loaded, with the first request to one of them."""
    return cast("Handlers", _Later(make))


class _Later:
    """Stands for handlers until one is called."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._made: object | None = None

    def __getattr__(self, name: str) -> Handle:
        def handle(request: Request) -> Answer:
            self._made = self._made or self._make()
            answer: Answer = getattr(self._made, name)(request)
            return answer

        return handle


def _of_dead_letters(jobs: JobStore, runs: RunStore, retention_ms: int, cursors: Cursors) -> "DeadLetterHandlers":
    from carillon.application.cancel_run import CancelRun
    from carillon.application.redrive import ListDeadLetters, RedriveMany, RedriveRun
    from carillon.entrypoint.dead_letter_handlers import DeadLetterHandlers

    dead, redrive = ListDeadLetters(runs), RedriveRun(jobs, runs, retention_ms)
    return DeadLetterHandlers(CancelRun(jobs, runs, retention_ms), redrive, dead, RedriveMany(dead, redrive), cursors)


def _of_completions(
    jobs: JobStore,
    runs: RunStore,
    clock: Clock,
    meter: Meter,
    ids: Ids,
    retention_ms: int,
    *,
    failing: "FailingRules | None",
    named: "FailureTargets",
) -> "CompletionHandlers":
    from carillon.application.complete_run import CompleteRun, KeepAlive
    from carillon.application.run_records import RunRecords
    from carillon.entrypoint.completion_handlers import CompletionHandlers

    records = RunRecords(jobs, runs, clock, meter, retention_ms, failing, named)
    return CompletionHandlers(CompleteRun(records, ids), KeepAlive(records))


def _of_tenants(
    secrets: SigningSecrets, trail: AuditTrail, limits: TenantLimits, counts: JobCounts, ids: Ids, cursors: Cursors
) -> "TenantHandlers":
    from carillon.application.limit_tenant import ReadLimits
    from carillon.application.read_audit import ListAuditEvents
    from carillon.application.signing_secrets import ListSecrets, RevealSecret, RotateSecret
    from carillon.entrypoint.tenant_handlers import TenantHandlers

    rotate, reveal = RotateSecret(secrets, ids), RevealSecret(secrets, trail, ids)
    return TenantHandlers(
        ListSecrets(secrets), rotate, reveal, ListAuditEvents(trail), ReadLimits(limits, counts), cursors
    )


def _of_keys(keys: ApiKeys, ids: Ids) -> "KeyHandlers":
    from carillon.application.api_keys import CreateKey, KeyMaker, ListKeys, RevokeKey, RotateKey
    from carillon.entrypoint.key_handlers import KeyHandlers

    maker = KeyMaker(ids)
    return KeyHandlers(ListKeys(keys), CreateKey(keys, maker), RotateKey(keys, maker), RevokeKey(keys, maker))


def _verified(destinations: DestinationStore, verifications: "Verifications") -> DestinationStore:
    from carillon.application.verified_destinations import VerifiedDestinations

    return VerifiedDestinations(destinations, verifications)


def _of_destinations(
    destinations: DestinationStore,
    policy: TargetPolicy,
    verifications: "Verifications",
    runs: RunStore,
    shards: ShardCount,
    ids: Ids,
) -> "DestinationHandlers":
    from carillon.application.destinations import EditDestinations
    from carillon.application.verify_destinations import AskDestination
    from carillon.entrypoint.destination_handlers import DestinationHandlers

    ask = AskDestination(destinations, runs, shards, ids)
    return DestinationHandlers(EditDestinations(destinations), policy, verifications, ask)


def _of_failure_targets(
    targets: "FailureTargets", policy: TargetPolicy, destinations: DestinationStore, ids: Ids
) -> "FailureTargetHandlers":
    from carillon.application.failure_targets import NameFailureTarget
    from carillon.entrypoint.failure_target_handlers import FailureTargetHandlers

    return FailureTargetHandlers(NameFailureTarget(targets, ids), policy, destinations)


def _of_statistics(store: "StatisticsStore", gauges: "QueueGauges") -> "StatisticsHandlers":
    from carillon.application.read_statistics import ReadStatistics
    from carillon.entrypoint.statistics_handlers import StatisticsHandlers

    return StatisticsHandlers(ReadStatistics(store, gauges))


def _routes(  # noqa: PLR0913 - the handlers of each area
    of_jobs: JobHandlers,
    of_runs: RunHandlers,
    of_dead: "DeadLetterHandlers",
    of_tenants: "TenantHandlers",
    of_keys: "KeyHandlers",
    of_destinations: "DestinationHandlers",
    *,
    of_failure_targets: "FailureTargetHandlers",
    of_completions: "CompletionHandlers",
    of_operations: OperationHandlers,
    of_payloads: PayloadHandlers,
    of_statistics: "StatisticsHandlers",
) -> tuple[Route[Handle], ...]:
    routes: tuple[Route[Handle], ...] = (
        Route("POST", "/v1/jobs", "jobs:write", of_jobs.create_job, recheck=of_jobs.recheck_creation),
        Route(
            "POST",
            "/v1/jobs/batch",
            "jobs:write",
            of_jobs.create_batch,
            recheck=of_jobs.recheck_batch,
            most_bytes=MOST_BATCH_BYTES,
        ),
        Route("GET", "/v1/jobs", "jobs:read", of_jobs.list_jobs, _PAGE | {"state", "label", "name_prefix"}),
        Route("GET", "/v1/jobs/{job_id}", "jobs:read", of_jobs.get_job),
        Route("PATCH", "/v1/jobs/{job_id}", "jobs:write", of_jobs.patch_job),
        Route("DELETE", "/v1/jobs/{job_id}", "jobs:write", of_jobs.cancel_job),
        Route("PUT", "/v1/jobs/by-name/{name}", "jobs:write", of_jobs.put_job, spans=True),
        Route("POST", "/v1/jobs/{job_id}/pause", "jobs:write", of_jobs.pause_job),
        Route("POST", "/v1/jobs/{job_id}/resume", "jobs:write", of_jobs.resume_job),
        Route("POST", "/v1/jobs/{job_id}/trigger", "jobs:write", of_jobs.trigger_run),
        Route("POST", "/v1/jobs/bulk", "jobs:write", of_operations.start),
        Route("GET", "/v1/operations/{operation_id}", "jobs:read", of_operations.get),
        Route("POST", "/v1/operations/{operation_id}/cancel", "jobs:write", of_operations.cancel),
        Route("GET", "/v1/jobs/{job_id}/runs", "runs:read", of_runs.list_runs, _PAGE | {"state"}),
        Route("GET", "/v1/runs/{run_id}", "runs:read", of_runs.get_run),
        Route("POST", "/v1/runs/{run_id}/cancel", "runs:write", of_dead.cancel_run),
        Route("POST", "/v1/runs/{run_id}/heartbeat", "runs:write", of_completions.heartbeat, takes_token=True),
        Route("POST", "/v1/runs/{run_id}/complete", "runs:write", of_completions.complete_run, takes_token=True),
        Route("POST", "/v1/runs/{run_id}/retry", "runs:write", of_dead.retry_run),
        Route("GET", "/v1/dead-letters", "runs:read", of_dead.list_dead_letters, _PAGE | {"job", "since"}),
        Route("POST", "/v1/dead-letters/redrive", "runs:write", of_dead.redrive_dead_letters),
        Route("POST", "/v1/payloads", "jobs:write", of_payloads.invite_upload, shows_secret=True),
        Route("POST", "/v1/schedules/preview", "jobs:read", preview_schedule),
        Route("GET", "/v1/keys", "keys:manage", of_keys.list_keys),
        Route("POST", "/v1/keys", "keys:manage", of_keys.create_key, shows_secret=True),
        Route("POST", "/v1/keys/{key_id}/rotate", "keys:manage", of_keys.rotate_key, shows_secret=True),
        Route("DELETE", "/v1/keys/{key_id}", "keys:manage", of_keys.revoke_key),
        Route("GET", "/v1/destinations", "admin", of_destinations.list_destinations),
        Route("POST", "/v1/destinations", "admin", of_destinations.register),
        Route("DELETE", "/v1/destinations/{destination_id}", "admin", of_destinations.remove),
        Route("POST", "/v1/destinations/{destination_id}/verify", "admin", of_destinations.verify),
        Route("GET", "/v1/on-failure", "admin", of_failure_targets.get),
        Route("PUT", "/v1/on-failure", "admin", of_failure_targets.put),
        Route("DELETE", "/v1/on-failure", "admin", of_failure_targets.remove),
        Route("GET", "/v1/signing-secrets", "secrets:manage", of_tenants.list_secrets),
        Route("POST", "/v1/signing-secrets/rotate", "secrets:manage", of_tenants.rotate_secret, shows_secret=True),
        Route(
            "POST",
            "/v1/signing-secrets/{secret_id}/reveal",
            "secrets:manage",
            of_tenants.reveal_secret,
            shows_secret=True,
        ),
        Route("GET", "/v1/audit-events", "audit:read", of_tenants.list_audit_events, _PAGE | _AUDIT_FILTERS),
        Route("GET", "/v1/limits", "jobs:read", of_tenants.read_limits),
        Route("GET", "/v1/stats", "jobs:read", of_statistics.read_statistics, frozenset({"since", "until"})),
        Route("GET", "/v1/health", None, health),
        Route("GET", "/v1/openapi.json", None, describing(lambda: routes)),
        Route("GET", "/v1/problems/{code}", None, explain_problem),
        Route("GET", "/console", None, open_console),
    )
    return routes


@dataclass(frozen=True, slots=True)
class _Front:
    """What happens to every request: route, key, scope, parameters, handler; and to everything that is raised."""

    routes: tuple[Route[Handle], ...]
    authenticate: Authenticate
    once: Once
    clock: Clock

    def __call__(self, event: Event, _: object) -> dict[str, Any]:
        """Answer an event of the gateway."""
        request_id = request_id_of(event)
        try:
            answer = self._answer(read_request(event, self.clock.now_ms()))
        except Exception as error:  # noqa: BLE001 - the last line: a bug is logged whole, and answered without detail
            answer = _refuse(error, request_id, base_of(event))
        facts = {"status": answer.status, "request_id": request_id, "gateway_request_id": gateway_request_id_of(event)}
        logger.info("answered", extra={"action": "api_answered", **facts})
        return answer.as_event(request_id)

    def _answer(self, request: Request) -> Answer:
        route, path_values = find_route(self.routes, request)
        check_size(request, route.most_bytes)
        shows_token = route.takes_token and _shows_token(request)
        principal = None if route.scope is None or shows_token else self._principal(request, route.scope)
        _check_parameters(request, route)
        known = request.of(principal, path_values)
        key = key_in(known, shows_secret=route.shows_secret)
        return route.handle(known) if key is None or principal is None else self.once(key, known, route)

    def _principal(self, request: Request, scope: str) -> Principal:
        bearer = _BEARER.fullmatch(request.headers.get("authorization", ""))
        if bearer is None:
            raise _unauthenticated("missing_key", "expected: Bearer and an API key", _CHALLENGE)
        principal = self.authenticate(bearer[1], request.now_ms)
        if principal is None:
            raise _unauthenticated("wrong_key", "no such API key is in force", f'{_CHALLENGE}, error="invalid_token"')
        if not principal.may(scope):
            raise Refusal("missing_scope", f"the API key lacks the scope {scope}")
        return principal


def _shows_token(request: Request) -> bool:
    from carillon.entrypoint.completion_handlers import completion_token

    return completion_token(request) is not None


def _refuse(error: Exception, request_id: str, base: str) -> Answer:
    refusal = problems.refusal_of(error)
    if refusal is None:
        logger.error("request failed", exc_info=error, extra={"action": "api_failed", "request_id": request_id})
        refusal = problems.INTERNAL_ERROR
    return Answer(refusal.status, refusal.as_text(request_id, base), refusal.headers, problems.MEDIA_TYPE)


def _unauthenticated(code: str, detail: str, challenge: str) -> Refusal:
    return Refusal(
        "unauthenticated",
        detail,
        (FieldError("header", "Authorization", code, detail),),
        headers={"WWW-Authenticate": challenge},
    )


def _check_parameters(request: Request, route: Route[Handle]) -> None:
    unknown = sorted({name for name, _ in request.parameters} - route.parameters)
    if unknown:
        raise invalid(FieldError("parameter", name, "unknown_parameter", "not known here") for name in unknown)
