"""The handlers of jobs: each parses, calls one use case, and maps the outcome."""

import json
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import partial

from carillon.application.create_job import CreateJob
from carillon.application.edit_job import Edit, EditJob
from carillon.application.read_jobs import GetJob, JobNotFoundError, ListJobs
from carillon.application.redefine_job import redefine
from carillon.application.trigger_run import TriggerRun
from carillon.domain.editing import Edited, cancel, pause, resume
from carillon.domain.idempotency import KeptAnswer
from carillon.domain.job import Definition, JobState
from carillon.domain.job_filter import JobFilter
from carillon.domain.settling import Moment
from carillon.domain.targets import TargetPolicy
from carillon.entrypoint.action_bodies import body_of_action, refuse_options
from carillon.entrypoint.cursors import Cursors
from carillon.entrypoint.http_request import Answer, Request, require_json, require_merge_patch
from carillon.entrypoint.json_text import read_object
from carillon.entrypoint.pages import answer_page, bad_parameter, choice, read_page, single
from carillon.entrypoint.preconditions import conditions_of, etag_of, revisions_required, revisions_wanted
from carillon.entrypoint.problems import Refusal
from carillon.entrypoint.views import text_of_job, view_of_job, view_of_run
from carillon.ports.tenancy import DestinationStore

# ruff: noqa: PLC0415 - the validator of documents is half of a cold import, and reading needs none

_JOB_STATES = {str(state): state for state in JobState}


@dataclass(frozen=True, slots=True)
class JobHandlers:
    """One method a route."""

    create: CreateJob
    get: GetJob
    list: ListJobs
    edit: EditJob
    trigger: TriggerRun
    cursors: Cursors
    policy: TargetPolicy
    destinations: DestinationStore

    def create_job(self, request: Request) -> Answer:
        """POST /v1/jobs."""
        from carillon.entrypoint.wire.jobs import read_job

        require_json(request)
        new = read_job(read_object(request.body, opaque={"payload"}), self._policy(request), request.now_ms)
        create = self.create if request.ids is None else replace(self.create, ids=request.ids)
        return self._created(request, create(request.tenant, new, request.now_ms, request.actor))

    def recheck_creation(self, request: Request, kept: KeptAnswer) -> KeptAnswer:
        """Whoever repeats a creation must not take a job for planned that has been cancelled since.

        Raises:
            Refusal: it is cancelled or gone.
        """
        try:
            state = self.get(request.tenant, json.loads(kept.text or "{}").get("id", "")).job.state
        except JobNotFoundError:
            state = JobState.CANCELLED
        if state is JobState.CANCELLED:
            raise Refusal(
                "job_finished", "the job that this Idempotency-Key created is cancelled or gone: take a new key"
            )
        return kept

    def create_batch(self, request: Request) -> Answer:
        """POST /v1/jobs/batch."""
        from carillon.entrypoint.batch_handlers import Batch

        require_json(request)
        return Batch(self.create, self.get)(request, self._policy(request))

    def recheck_batch(self, request: Request, kept: KeptAnswer) -> KeptAnswer:
        """Of a repeated batch, the jobs that have been cancelled since are told as such."""
        from carillon.entrypoint.batch_handlers import Batch

        return Batch(self.create, self.get).recheck(request, kept)

    def get_job(self, request: Request) -> Answer:
        """GET /v1/jobs/{job_id}."""
        return _shown(self.get(request.tenant, request.path_values["job_id"]))

    def list_jobs(self, request: Request) -> Answer:
        """GET /v1/jobs."""
        asked = read_page(request, self.cursors)
        walked = self.list(request.tenant, _job_filter(request), asked.limit, asked.position)
        return answer_page(
            request, asked, walked, self.cursors, view=view_of_job, position_of=lambda definition: definition.job.id
        )

    def cancel_job(self, request: Request) -> Answer:
        """DELETE /v1/jobs/{job_id}."""
        self._edited(request, cancel, revisions_wanted(request))
        return Answer(204)

    def patch_job(self, request: Request) -> Answer:
        """PATCH /v1/jobs/{job_id}."""
        from carillon.entrypoint.wire.patches import read_patch

        only = revisions_required(request)
        require_merge_patch(request)
        sent = read_object(request.body, opaque={"payload"})

        policy = self._policy(request)

        def patch(seen: Definition, at: Moment) -> Edited:
            wish = read_patch(seen, sent, policy, at.now_ms)
            return redefine(seen, self.create.kept(request.tenant, seen.job.id, wish, seen.spec), at)

        return _shown(self._edited(request, patch, only))

    def put_job(self, request: Request) -> Answer:
        """PUT /v1/jobs/by-name/{name}."""
        from carillon.application.put_job import PutJob
        from carillon.entrypoint.wire.puts import read_put

        require_json(request)
        name, conditions = request.path_values["name"], conditions_of(request)
        wish = read_put(read_object(request.body, opaque={"payload"}), name, self._policy(request))
        put = PutJob(self.edit.jobs, self.create, self.edit)
        made = put(request.tenant, name, request.now_ms, wish, conditions.check, by=request.actor)
        if not made.is_new:
            return _shown(made.definition)
        return self._created(request, made.definition)

    def pause_job(self, request: Request) -> Answer:
        """POST /v1/jobs/{job_id}/pause."""
        refuse_options(request)
        return _shown(self._edited(request, pause, revisions_wanted(request)))

    def resume_job(self, request: Request) -> Answer:
        """POST /v1/jobs/{job_id}/resume."""
        from carillon.entrypoint.wire.actions import ResumeOptions, read_options

        options = read_options(body_of_action(request), ResumeOptions)
        resumed = partial(resume, catch_up=options.catch_up)
        return _shown(self._edited(request, resumed, revisions_wanted(request)))

    def trigger_run(self, request: Request) -> Answer:
        """POST /v1/jobs/{job_id}/trigger."""
        refuse_options(request)
        trigger = self.trigger if request.ids is None else replace(self.trigger, ids=request.ids)
        job_id = request.path_values["job_id"]
        run = trigger(request.tenant, job_id, request.now_ms, is_again=request.is_again, by=request.actor)
        return Answer(202, json.dumps(view_of_run(run)), {"Location": request.path("v1", "runs", run.key.run_id)})

    def _created(self, request: Request, definition: Definition) -> Answer:
        location = request.path("v1", "jobs", definition.job.id)
        return Answer(201, text_of_job(definition), {"Location": location, "ETag": etag_of(definition)})

    def _policy(self, request: Request) -> TargetPolicy:
        """What the stage and the tenant itself allow."""
        return self.policy.for_tenant(request.tenant).narrowed_to(self.destinations.of(request.tenant))

    def _edited(self, request: Request, edit: Edit, only_revisions: Collection[int] | None) -> Definition:
        job_id = request.path_values["job_id"]
        return self.edit(request.tenant, job_id, request.now_ms, edit, only_revisions, by=request.actor)


def preview_schedule(request: Request) -> Answer:
    """POST /v1/schedules/preview: of no tenant, and nothing is read."""
    from carillon.domain.explaining.document import document_of
    from carillon.entrypoint.wire.previews import read_preview

    require_json(request)
    return Answer(200, json.dumps(document_of(read_preview(read_object(request.body), request.now_ms))))


def _shown(definition: Definition) -> Answer:
    return Answer(200, text_of_job(definition), {"ETag": etag_of(definition)})


def _job_filter(request: Request) -> JobFilter:
    labels = tuple(value.partition(":") for name, value in request.parameters if name == "label")
    if not all(separator and key for key, separator, _ in labels):
        raise bad_parameter("label", "invalid_value", "expected: key, a colon, value")
    return JobFilter(
        choice(request, "state", _JOB_STATES),
        tuple((key, value) for key, _, value in labels),
        single(request, "name_prefix") or "",
    )
