"""The HTTP API: each handler parses, calls one use case, and maps the outcome. All refusals are problem+json."""

import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from carillon import __version__
from carillon.application.authenticate import Authenticate
from carillon.application.create_job import CreateJob, ShardCount
from carillon.application.edit_job import EditJob
from carillon.application.read_jobs import GetJob, JobFilter, ListJobs
from carillon.application.read_runs import GetRun, ListRuns
from carillon.domain.editing import cancel
from carillon.domain.job import Definition, JobState
from carillon.domain.run import RunState
from carillon.domain.targets import TargetPolicy
from carillon.domain.tenancy import Principal
from carillon.entrypoint import problems
from carillon.entrypoint.cursors import Cursors
from carillon.entrypoint.http_request import (
    Answer,
    Event,
    Request,
    gateway_request_id_of,
    read_request,
    request_id_of,
    require_json,
)
from carillon.entrypoint.json_text import read_object
from carillon.entrypoint.pages import answer_page, bad_parameter, choice, read_page, single
from carillon.entrypoint.problems import FieldError, Refusal, invalid
from carillon.entrypoint.routing import Route, find_route, not_built
from carillon.entrypoint.views import text_of_job, view_of_job, view_of_run
from carillon.ports import Clock, Ids, JobStore, RunStore, ShardLedger, Tenants

logger = logging.getLogger("carillon")

Api = Callable[[Event, object], dict[str, Any]]
Handle = Callable[[Request], Answer]

_BEARER = re.compile(r"bearer +([!-~]+)", re.ASCII | re.IGNORECASE)
_TAGS_OF_OURS = re.compile(r'(W/)?"([1-9][0-9]{0,14})"', re.ASCII)
_JOB_STATES = {str(state): state for state in JobState}
_RUN_STATES = {str(state): state for state in RunState}
_CHALLENGE = 'Bearer realm="carillon"'
_PAGE = frozenset({"limit", "cursor"})


def build_api(  # noqa: PLR0913 - the composition root names each port
    *,
    jobs: JobStore,
    runs: RunStore,
    tenants: Tenants,
    shard_ledger: ShardLedger,
    clock: Clock,
    ids: Ids,
    cursor_key: Callable[[], bytes],
    policy: TargetPolicy,
    shards: int,
    retention_ms: int,
) -> Api:
    """The API over its ports.

    Args:
        jobs: the job store.
        runs: the run store.
        tenants: where API keys are found.
        shard_ledger: learns of our shard count before the first job is created.
        clock: the present.
        ids: ids of new jobs.
        cursor_key: gives the secret that seals cursors: the same for all instances of the stage, at least 32 bytes.
        policy: which targets the stage allows.
        shards: how many shards new jobs are hashed onto.
        retention_ms: how long ended jobs and runs are kept.
    """
    handlers = _Handlers(
        CreateJob(jobs, ids, ShardCount(shard_ledger, shards)),
        GetJob(jobs),
        ListJobs(jobs),
        EditJob(jobs, runs, retention_ms),
        GetRun(runs),
        ListRuns(jobs, runs),
        Cursors(cursor_key),
        policy,
    )
    return _Front(_routes(handlers), Authenticate(tenants), clock)


def _routes(handlers: "_Handlers") -> tuple[Route[Handle], ...]:
    return (
        Route("POST", "/v1/jobs", "jobs:write", handlers.create_job),
        Route("GET", "/v1/jobs", "jobs:read", handlers.list_jobs, _PAGE | {"state", "label", "name_prefix"}),
        Route("GET", "/v1/jobs/{job_id}", "jobs:read", handlers.get_job),
        Route("DELETE", "/v1/jobs/{job_id}", "jobs:write", handlers.cancel_job),
        Route("GET", "/v1/jobs/{job_id}/runs", "runs:read", handlers.list_runs, _PAGE | {"state"}),
        Route("GET", "/v1/runs/{run_id}", "runs:read", handlers.get_run),
        Route("GET", "/v1/health", None, health),
        *not_built(),
    )


@dataclass(frozen=True, slots=True)
class _Front:
    """What happens to every request: route, key, scope, parameters, handler; and to everything that is raised."""

    routes: tuple[Route[Handle], ...]
    authenticate: Authenticate
    clock: Clock

    def __call__(self, event: Event, _: object) -> dict[str, Any]:
        """Answer an event of the gateway."""
        request_id = request_id_of(event)
        try:
            answer = self._answer(read_request(event, self.clock.now_ms()))
        except Exception as error:  # noqa: BLE001 - the last line: a bug is logged whole, and answered without detail
            answer = _refuse(error, request_id)
        facts = {"status": answer.status, "request_id": request_id, "gateway_request_id": gateway_request_id_of(event)}
        logger.info("answered", extra={"action": "api_answered", **facts})
        return answer.as_event(request_id)

    def _answer(self, request: Request) -> Answer:
        route, path_values = find_route(self.routes, request)
        principal = None if route.scope is None else self._principal(request, route.scope)
        if route.handle is None:
            raise Refusal("not_supported", f"documented, but not built yet: {route.method} {route.template}")
        _check_parameters(request, route)
        return route.handle(request.of(principal, path_values))

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


@dataclass(frozen=True, slots=True)
class _Handlers:
    """One method a route."""

    create: CreateJob
    get: GetJob
    list: ListJobs
    edit: EditJob
    get_one_run: GetRun
    list_of_runs: ListRuns
    cursors: Cursors
    policy: TargetPolicy

    def create_job(self, request: Request) -> Answer:
        """POST /v1/jobs."""
        from carillon.entrypoint.wire.jobs import read_job  # noqa: PLC0415 - half of a cold import, and only this route needs it

        _refuse_idempotency_key(request)
        require_json(request)
        new = read_job(read_object(request.body, opaque={"payload"}), self.policy, request.now_ms)
        definition = self.create(request.tenant, new, request.now_ms)
        location = request.path("v1", "jobs", definition.job.id)
        return Answer(201, text_of_job(definition), {"Location": location, "ETag": _etag(definition)})

    def get_job(self, request: Request) -> Answer:
        """GET /v1/jobs/{job_id}."""
        definition = self.get(request.tenant, request.path_values["job_id"])
        return Answer(200, text_of_job(definition), {"ETag": _etag(definition)})

    def list_jobs(self, request: Request) -> Answer:
        """GET /v1/jobs."""
        asked = read_page(request, self.cursors)
        walked = self.list(request.tenant, _job_filter(request), asked.limit, asked.position)
        return answer_page(
            request, asked, walked, self.cursors, view=view_of_job, position_of=lambda definition: definition.job.id
        )

    def cancel_job(self, request: Request) -> Answer:
        """DELETE /v1/jobs/{job_id}."""
        only = _revisions(request.headers.get("if-match", "*"))
        self.edit(request.tenant, request.path_values["job_id"], request.now_ms, cancel, only)
        return Answer(204)

    def list_runs(self, request: Request) -> Answer:
        """GET /v1/jobs/{job_id}/runs."""
        asked = read_page(request, self.cursors)
        state = choice(request, "state", _RUN_STATES)
        walked = self.list_of_runs(request.tenant, request.path_values["job_id"], state, asked.limit, asked.position)
        return answer_page(request, asked, walked, self.cursors, view=view_of_run, position_of=lambda run: run.key.name)

    def get_run(self, request: Request) -> Answer:
        """GET /v1/runs/{run_id}."""
        return Answer(200, json.dumps(view_of_run(self.get_one_run(request.tenant, request.path_values["run_id"]))))


def health(_: Request) -> Answer:
    """GET /v1/health: this function answers. It reads nothing, because anybody may ask."""
    return Answer(200, json.dumps({"status": "ok", "version": __version__}))


def _refuse(error: Exception, request_id: str) -> Answer:
    refusal = problems.refusal_of(error)
    if refusal is None:
        logger.error("request failed", exc_info=error, extra={"action": "api_failed", "request_id": request_id})
        refusal = problems.INTERNAL_ERROR
    return Answer(refusal.status, refusal.as_text(request_id), refusal.headers, problems.MEDIA_TYPE)


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


def _refuse_idempotency_key(request: Request) -> None:
    if "idempotency-key" in request.headers:
        raise invalid(
            [FieldError("header", "Idempotency-Key", "not_supported", "documented, but not built yet; leave it out")]
        )


def _job_filter(request: Request) -> JobFilter:
    labels = tuple(value.partition(":") for name, value in request.parameters if name == "label")
    if not all(separator and key for key, separator, _ in labels):
        raise bad_parameter("label", "invalid_value", "expected: key, a colon, value")
    return JobFilter(
        choice(request, "state", _JOB_STATES),
        tuple((key, value) for key, _, value in labels),
        single(request, "name_prefix") or "",
    )


def _etag(definition: Definition) -> str:
    return f'"{definition.spec.revision}"'


def _revisions(if_match: str) -> frozenset[int] | None:
    """The revisions that an If-Match header admits, or None for any. Weak tags, and tags not of ours, admit none."""
    if if_match.strip() == "*":
        return None
    return frozenset(int(number) for weak, number in _TAGS_OF_OURS.findall(if_match) if not weak)
