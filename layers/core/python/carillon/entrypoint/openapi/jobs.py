"""The operations of jobs and schedules."""

from collections.abc import Mapping

from carillon import answers
from carillon.domain.job import JobState
from carillon.entrypoint.openapi.operation import Answered, Body, Operation
from carillon.entrypoint.wire.actions import NoOptions, ResumeOptions
from carillon.entrypoint.wire.batches import BatchDocument
from carillon.entrypoint.wire.documents import JobDocument
from carillon.entrypoint.wire.previews import PreviewDocument
from carillon.entrypoint.wire.uploads import UploadDocument

_NIGHTLY = {
    "name": "nightly-backup",
    "schedule": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
    "target": {"type": "http", "url": "https://svc.carillon.dev/backup", "headers": {"X-Team": "infra"}},
    "payload": {"depth": "full"},
    "labels": {"team": "infra"},
}
_HOURLY = {
    "schedule": {"every": "PT1H"},
    "target": {"type": "http", "url": "https://svc.carillon.dev/hourly"},
}
_PREVIEW = {
    "schedule": {"cron": "30 2 * * *", "timezone": "Europe/Berlin"},
    "from": "2027-03-27T00:00:00Z",
    "count": 2,
}
_SHOWN = Answered("the job", answers.Job, ("ETag",))

OPERATIONS: Mapping[str, Operation] = {
    "POST /v1/jobs": Operation(
        "create_job",
        "jobs",
        "Create a job",
        {201: Answered("the job", answers.Job, ("Location", "ETag"))},
        ("name_taken", "job_finished", "limit_reached", "too_fast", "not_supported"),
        Body(JobDocument, _NIGHTLY),
    ),
    "POST /v1/jobs/batch": Operation(
        "create_jobs",
        "jobs",
        "Create up to a hundred jobs",
        {200: Answered("[what became of each](#creating-many-jobs)", answers.Batch)},
        (),
        Body(BatchDocument, {"jobs": [_HOURLY, {**_HOURLY, "priority": "low"}]}),
    ),
    "GET /v1/jobs": Operation(
        "list_jobs",
        "jobs",
        "List jobs, newest first",
        {200: Answered("a page of jobs, newest first", answers.JobList, ("Link",))},
        parameters={"state": {"type": "string", "enum": [str(state) for state in JobState]}},
    ),
    "GET /v1/jobs/{job_id}": Operation(
        "get_job",
        "jobs",
        "Read a job as it was last written",
        {200: Answered("the job, as it was last written", answers.Job, ("ETag",))},
        ("not_found",),
    ),
    "PATCH /v1/jobs/{job_id}": Operation(
        "patch_job",
        "jobs",
        "Change a job by a merge patch",
        {200: Answered("the job [as it is then](#changing-a-job)", answers.Job, ("ETag",))},
        ("not_found", "name_taken", "job_finished", "too_many_edits", "limit_reached", "not_supported"),
        Body(JobDocument, {"priority": "high", "labels": {"tier": "1"}}, is_patch=True),
        if_match="required",
    ),
    "PUT /v1/jobs/by-name/{name}": Operation(
        "put_job",
        "jobs",
        "Create a job, or change the one of this name",
        {
            201: Answered("the new job", answers.Job, ("Location", "ETag")),
            200: Answered("the job of this name, [as it is then](#jobs-by-name)", answers.Job, ("ETag",)),
        },
        ("job_finished", "too_many_edits", "limit_reached", "too_fast", "not_supported"),
        Body(JobDocument, _NIGHTLY),
        if_match="optional",
        if_none_match=True,
    ),
    "DELETE /v1/jobs/{job_id}": Operation(
        "cancel_job",
        "jobs",
        "Cancel a job",
        {204: Answered("the job is cancelled")},
        ("not_found",),
        if_match="optional",
    ),
    "POST /v1/jobs/{job_id}/pause": Operation(
        "pause_job",
        "jobs",
        "Pause a job",
        {200: _SHOWN},
        ("not_found", "job_finished", "too_many_edits", "limit_reached"),
        Body(NoOptions, {}, is_required=False),
        if_match="optional",
    ),
    "POST /v1/jobs/{job_id}/resume": Operation(
        "resume_job",
        "jobs",
        "Resume a job",
        {200: _SHOWN},
        ("not_found", "job_finished", "too_many_edits", "limit_reached"),
        Body(ResumeOptions, {"catch_up": True}, is_required=False),
        if_match="optional",
    ),
    "POST /v1/jobs/{job_id}/trigger": Operation(
        "trigger_job",
        "jobs",
        "Run a job now",
        {202: Answered("the [run](#running-a-job-by-hand)", answers.Run, ("Location",))},
        ("not_found", "job_finished"),
        Body(NoOptions, {}, is_required=False),
    ),
    "POST /v1/payloads": Operation(
        "invite_upload",
        "payloads",
        "Ask for leave to upload a payload",
        {201: Answered("[where to upload](#payloads)", answers.Upload)},
        ("limit_reached",),
        Body(UploadDocument, {"content_type": "image/png", "size": 48_213}),
    ),
    "POST /v1/schedules/preview": Operation(
        "preview_schedule",
        "schedules",
        "Tell what a schedule means",
        {200: Answered("[what a schedule means](#previewing-a-schedule)", answers.Preview)},
        ("not_supported",),
        Body(PreviewDocument, _PREVIEW),
    ),
}
