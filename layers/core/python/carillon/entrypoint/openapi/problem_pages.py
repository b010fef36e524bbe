"""What each kind of problem means and what to do about it: for the page behind its `type`, and for the documents."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape

from carillon.entrypoint.problems import KINDS


@dataclass(frozen=True, slots=True)
class Page:
    """Of one kind of problem: when it is answered, and what to do then. In Markdown, with code spans only."""

    when: str
    remedy: str


PAGES: Mapping[str, Page] = {
    "malformed_request": Page(
        "an `Idempotency-Key` that cannot be one; the body is not a JSON object in UTF-8, a key stands twice, it is "
        "nested deeper than 64 levels; the path or query cannot be read",
        "Correct the request. The same request is refused again.",
    ),
    "bad_cursor": Page(
        "the cursor is not of this list, or too old",
        "Begin the list anew, without a cursor, with the filters that you want.",
    ),
    "unauthenticated": Page(
        "no key in force; no attempt of such a run has this token",
        "Send `Authorization: Bearer` and a key of your tenant that has neither expired nor been revoked.",
    ),
    "missing_scope": Page(
        "the key lacks the route's scope, or one that it wants to grant",
        "Use a key with the scope that `detail` names, or have one made.",
    ),
    "not_found": Page(
        "no such path, job or run for this key",
        "Look at the id, and at whose key you use: what belongs to another tenant is not found either.",
    ),
    "method_not_allowed": Page("see `Allow`", "Use one of the methods that the header `Allow` names."),
    "name_taken": Page(
        "another job has the name; `job_id` says which",
        "If you meant to create that job, it is there already. Else take another name.",
    ),
    "request_in_flight": Page(
        "the first request of this `Idempotency-Key` is under way; try again after `Retry-After`",
        "Send the same request again, under the same key.",
    ),
    "run_ended": Page("the run has ended in another state", "There is nothing left to cancel, or to complete."),
    "stale_attempt": Page(
        "the attempt of the token has ended, and the run has gone on",
        "Stop working on this attempt: a later one answers for the run, or will.",
    ),
    "already_completed": Page(
        "another outcome was reported of the attempt",
        "The outcome that was reported first stands. Look at the run for which it was.",
    ),
    "not_awaited": Page(
        "no attempt of the run waits to be completed",
        "Look at the state of the run: only `running` and `awaiting_completion` of a target with `completion` can be.",
    ),
    "operation_ended": Page("the operation has come to its end", "There is nothing left to cancel."),
    "not_redrivable": Page(
        "the run is no dead letter any more, is too old or past its deadline, or its job has ended",
        "Look at the run. To run the job all the same, trigger it.",
    ),
    "key_ended": Page("the key to be rotated is in force no longer", "Make a new key."),
    "last_key": Page(
        "without this key nobody could manage the tenant's keys",
        "Make another key with the scope `keys:manage` and without an end first.",
    ),
    "too_many_keys": Page("20 keys are in force", "Revoke a key that is not used: see `last_used_at` in the list."),
    "rotation_in_progress": Page(
        "the secret before the newest one still signs, until `previous_expires_at`",
        "Wait until then, or rotate with an overlap of `PT0S`.",
    ),
    "job_finished": Page(
        "the job has ended in a way that does not allow this",
        "Create a new job. With the `Idempotency-Key` of a job that is gone: take a new key.",
    ),
    "revision_mismatch": Page(
        "`If-Match` names another revision, or there is no job; `If-None-Match`, and there is one",
        "Read the job, decide again whether the change is wanted, and send it with the new `ETag`.",
    ),
    "too_large": Page(
        "a body above 512 KiB (of a batch of jobs 4 MiB), a payload above 256 KiB, or a result above 4 KiB",
        "Send less, or send where it can be read.",
    ),
    "unsupported_media_type": Page(
        "not `application/json` in UTF-8 (of a `PATCH`, see `Accept-Patch`), or a content encoding",
        "Send the body as it is, with the header `Content-Type: application/json`.",
    ),
    "invalid_fields": Page("see `errors`", "Correct each place that `errors` names. Nothing was done."),
    "idempotency_mismatch": Page(
        "the `Idempotency-Key` was used for another request",
        "Take a new key for each request, and the same key only for repeating it.",
    ),
    "limit_reached": Page(
        "a limit of the tenant is reached; `limit` names it",
        "Of `jobs`: cancel jobs, or wait until some have ended. Of `payload_bytes`: send less. Or ask the operator for "
        "more.",
    ),
    "not_supported": Page(
        "documented, but not built yet",
        "Leave out what `errors` names.",
    ),
    "precondition_required": Page(
        "a `PATCH` without `If-Match`",
        "Send the `ETag` that you have seen as `If-Match`, or `*` for whichever revision there is.",
    ),
    "too_many_edits": Page(
        "the job's schedule was edited too often; try again after `Retry-After`",
        "Wait, or create another job for what changes so often.",
    ),
    "too_fast": Page(
        "the tenant creates jobs faster than its limit `create_rate`; try again after `Retry-After`",
        "Wait, create many jobs more evenly, or ask the operator for more.",
    ),
    "internal_error": Page(
        "a fault of ours, recorded under the `request_id`",
        "Tell the operator the `request_id`. It may or may not have been carried out: repeat it with an "
        "`Idempotency-Key`.",
    ),
    "unavailable": Page(
        "try again after `Retry-After`; the request may or may not have been carried out",
        "Repeat it, a creation with the same `Idempotency-Key`.",
    ),
}


def html_of(code: str) -> str:
    """The page of a kind of problem.

    Raises:
        KeyError: there is no such kind.
    """
    status, title = KINDS[code]
    page = PAGES[code]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<h1>{escape(title)}</h1><p>Status {status}, code <code>{escape(code)}</code></p>"
        f"<h2>When</h2><p>{_html(page.when)}</p><h2>What to do</h2><p>{_html(page.remedy)}</p></html>\n"
    )


def _html(markdown: str) -> str:
    parts = escape(markdown, quote=False).split("`")
    return "".join(f"<code>{part}</code>" if index % 2 else part for index, part in enumerate(parts))
