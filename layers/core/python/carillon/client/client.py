"""The calls of the interface, one method each."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar, cast
from urllib.parse import quote, urlencode
from uuid import uuid4

from carillon.client.problems import BadAnswerError, BadIdError, PagingError
from carillon.client.transport import Answer, Request, Transport, put_to

if TYPE_CHECKING:
    from carillon import answers

JsonObject = dict[str, Any]
Filters = Mapping[str, str | None]
Item = TypeVar("Item")

PAGE_SIZE = 100
_CREATED = 201
MOST_EMPTY_PAGES = 1_000
"""How many empty pages in a row a list may have. A filter that matches little has some; without end is a fault."""


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """One page of a list. `next_cursor` leads to the next one, or is None at the end."""

    items: tuple[Item, ...]
    next_cursor: str | None


class Client:
    """The calls of the interface, for one service and one key. It may be used from several threads.

    Every call may raise `ApiProblem` (the service refused; its subclasses say how), `UnreachableError` (no answer came)
    or `BadAnswerError` (the answer is not one of this service's), and with an id that cannot be one `BadIdError`.

    **What is tried again.** When no answer comes, or the service has no time at the moment, a read and a `DELETE` are
    sent again, and so is a `POST` under an `Idempotency-Key`: the service carries it out once. Where no key is given,
    the client makes one for each call. Calls whose answers show a secret have none, and are never sent again; nor are
    patches, which are conditional.

    Args:
        url: The base of the service.
        api_key: The key to call it with; None where none is needed.
        transport: How it is called, in place of both: with other timeouts and tries.
    """

    def __init__(self, url: str, api_key: str | None = None, *, transport: Transport | None = None) -> None:
        self._transport = transport or Transport(url, api_key)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()

    # ------------------------------------------------------------------------------------------------------- jobs

    def create_job(self, definition: Mapping[str, Any] | bytes, *, idempotency_key: str | None = None) -> "answers.Job":
        """Create a job and give it back whole.

        Args:
            definition: As the interface describes it; as bytes it is sent to the letter (numbers keep their digits).
            idempotency_key: Under which it may be repeated by another call, for a day; without one, by this call alone.
        """
        body = definition if isinstance(definition, bytes) else json.dumps(definition, ensure_ascii=False).encode()
        return cast("answers.Job", self._post_once("/v1/jobs", body, idempotency_key))

    def put_job(
        self, name: str, definition: Mapping[str, Any] | bytes, *, if_match: str | None = None, only_new: bool = False
    ) -> tuple["answers.Job", bool]:
        """Let the job of a name be as defined; gives it whole, and whether it is new. A repeat changes nothing.

        Args:
            name: Unique among the tenant's jobs.
            definition: The whole job; as bytes it is sent to the letter (numbers keep their digits).
            if_match: The ETag of the revision that it is meant for (`etag` tells it), if it is to be one.
            only_new: Whether a job that is there already is to be left alone, and the request refused.
        """
        body = definition if isinstance(definition, bytes) else json.dumps(definition, ensure_ascii=False).encode()
        conditions = ({"If-Match": if_match} if if_match else {}) | ({"If-None-Match": "*"} if only_new else {})
        headers = {"Content-Type": "application/json", **conditions}
        path = f"/v1/jobs/by-name/{_segment(name)}"
        answer = self._transport.send(Request("PUT", path, body, headers, repeatable=not conditions))
        return cast("answers.Job", _json_object(answer)), answer.status == _CREATED

    def create_jobs(
        self, definitions: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None
    ) -> "answers.Batch":
        """Create up to a hundred jobs; what became of each is told in their order, with its status.

        Args:
            definitions: As the interface describes them.
            idempotency_key: As of `create_job`.
        """
        body = json.dumps({"jobs": list(definitions)}, ensure_ascii=False).encode()
        return cast("answers.Batch", self._post_once("/v1/jobs/batch", body, idempotency_key))

    def invite_upload(self, content_type: str, size: int) -> "answers.Upload":
        """Ask for leave to upload a payload of so many bytes: where to put it, and the reference for jobs."""
        body, headers = (
            json.dumps({"content_type": content_type, "size": size}).encode(),
            {"Content-Type": "application/json"},
        )
        asked = Request("POST", "/v1/payloads", body, headers, repeatable=True)  # it stores nothing
        return cast("answers.Upload", _json_object(self._transport.send(asked)))

    def upload(self, data: bytes, content_type: str) -> str:
        """Upload a payload; gives the reference by which a job may take it within a day (`payload_ref`)."""
        leave = self.invite_upload(content_type, len(data))
        reference, url, headers = leave.get("payload_ref"), leave.get("url"), leave.get("headers")
        if not (isinstance(reference, str) and isinstance(url, str) and isinstance(headers, dict)):
            raise BadAnswerError("the leave to upload came without its parts")
        put_to(url, data, headers)
        return reference

    def job(self, job_id: str) -> "answers.Job":
        """The job of an id, as it is now."""
        return cast("answers.Job", self._get(f"/v1/jobs/{_segment(job_id)}"))

    def jobs(self, filters: Filters | None = None) -> Iterator["answers.ListedJob"]:
        """All jobs, newest first. Filters: `state`, `label` (`key:value`), `name_prefix`."""
        return self._items("/v1/jobs", filters)

    def first_jobs(self, filters: Filters | None = None, most: int | None = None) -> "Page[answers.ListedJob]":
        """The newest jobs, `most` of them (1 or more) or all, as one page. The filter `cursor` goes on from a page."""
        return self._first("/v1/jobs", filters, most)

    def update_job(self, job_id: str, patch: Mapping[str, Any] | bytes, *, if_match: str) -> "answers.Job":
        """Change a job by a merge patch (RFC 7396) and give it back whole.

        Args:
            job_id: Which job.
            patch: As the interface describes it; as bytes it is sent to the letter (numbers keep their digits).
            if_match: The ETag of the revision that the patch is meant for (`etag` tells it), or `*` for any.
        """
        body = patch if isinstance(patch, bytes) else json.dumps(patch, ensure_ascii=False).encode()
        headers = {"Content-Type": "application/merge-patch+json", "If-Match": if_match}
        answer = self._transport.send(Request("PATCH", f"/v1/jobs/{_segment(job_id)}", body, headers))
        return cast("answers.Job", _json_object(answer))

    def cancel_job(self, job_id: str) -> None:
        """Cancel a job: what has not started never runs."""
        self._delete(f"/v1/jobs/{_segment(job_id)}")

    def pause_job(self, job_id: str) -> "answers.Job":
        """Pause a job: what has not started does not run until it is resumed."""
        return cast("answers.Job", self._act(f"/v1/jobs/{_segment(job_id)}/pause", {}))

    def resume_job(self, job_id: str, *, catch_up: bool = False) -> "answers.Job":
        """Resume a job from now on, or with the paused time made up for by its misfire policy."""
        return cast("answers.Job", self._act(f"/v1/jobs/{_segment(job_id)}/resume", {"catch_up": catch_up}))

    def trigger_job(self, job_id: str) -> "answers.Run":
        """Run a job now, whatever its plan; gives the run."""
        return cast("answers.Run", self._act(f"/v1/jobs/{_segment(job_id)}/trigger", {}))

    def preview_schedule(self, schedule: Mapping[str, Any], **options: Any) -> "answers.Preview":
        """What a schedule means. Options: `count`, `window`, and under `from_` the instant to look from."""
        asked = {"schedule": schedule, **{name.rstrip("_"): value for name, value in options.items()}}
        return cast("answers.Preview", self._act("/v1/schedules/preview", asked))

    # ------------------------------------------------------------------------------------------------- operations

    def act_on_jobs(
        self, action: str, wanted: Mapping[str, Any], *, idempotency_key: str | None = None
    ) -> "answers.Operation":
        """Begin to `pause`, `resume`, `cancel` or `trigger` all jobs that a filter admits; gives the operation.

        Args:
            action: What to do with each.
            wanted: The filter: `state`, `labels` and `name_prefix`, as far as they matter. Empty: all jobs.
            idempotency_key: Under which it may be repeated by another call, for a day.
        """
        body = json.dumps({"action": action, "filter": wanted}).encode()
        return cast("answers.Operation", self._post_once("/v1/jobs/bulk", body, idempotency_key))

    def try_on_jobs(self, action: str, wanted: Mapping[str, Any], cursor: str | None = None) -> "answers.BulkTrial":
        """Count what an action would do, in portions; `next_cursor` leads to the next one."""
        asked = {"action": action, "filter": wanted, "dry_run": True, "cursor": cursor}
        return cast("answers.BulkTrial", self._act("/v1/jobs/bulk", asked))

    def operation(self, operation_id: str) -> "answers.Operation":
        """The operation of an id, and how far it has come."""
        return cast("answers.Operation", self._get(f"/v1/operations/{_segment(operation_id)}"))

    def cancel_operation(self, operation_id: str) -> "answers.Operation":
        """End an operation before its end; what it has done stays done."""
        return cast("answers.Operation", self._act(f"/v1/operations/{_segment(operation_id)}/cancel", {}))

    # ------------------------------------------------------------------------------------------------------- runs

    def run(self, run_id: str) -> "answers.Run":
        """The run of an id, with its attempts."""
        return cast("answers.Run", self._get(f"/v1/runs/{_segment(run_id)}"))

    def runs(self, job_id: str, filters: Filters | None = None) -> Iterator["answers.Run"]:
        """All runs of a job, newest first. Filter: `state`."""
        return self._items(f"/v1/jobs/{_segment(job_id)}/runs", filters)

    def first_runs(self, job_id: str, filters: Filters | None = None, most: int | None = None) -> "Page[answers.Run]":
        """The newest runs of a job, `most` of them (1 or more) or all, as one page."""
        return self._first(f"/v1/jobs/{_segment(job_id)}/runs", filters, most)

    def cancel_run(self, run_id: str) -> "answers.Run":
        """Cancel one run: one that waits ends, one that is being called is broken off."""
        return cast("answers.Run", self._act(f"/v1/runs/{_segment(run_id)}/cancel", {}))

    def complete_run(
        self, run_id: str, outcome: str, *, retry: bool | None = None, result: str | None = None
    ) -> "answers.CompletionState":
        """Report how the attempt under way went, in place of its target: where the run stands then.

        Args:
            run_id: Of a run whose target completes later.
            outcome: `succeeded` or `failed`.
            retry: Of a failure, whether it is tried again by the job's rules; None for as usual, which is yes.
            result: JSON text of up to 4 KiB, sent to the letter.
        """
        text = json.dumps({"outcome": outcome} | ({} if retry is None else {"retry": retry}))
        if result is not None:
            text = f'{text[:-1]}, "result": {result}}}'
        path = f"/v1/runs/{_segment(run_id)}/complete"
        return cast("answers.CompletionState", self._post_once(path, text.encode(), None))

    def keep_run_alive(self, run_id: str) -> "answers.CompletionState":
        """Give a sign of life of the attempt under way, in place of its target: where the run stands then."""
        return cast("answers.CompletionState", self._act(f"/v1/runs/{_segment(run_id)}/heartbeat", {}))

    def retry_run(self, run_id: str) -> "answers.Run":
        """Redrive a dead-lettered run."""
        return cast("answers.Run", self._act(f"/v1/runs/{_segment(run_id)}/retry", {}))

    def dead_letters(self, filters: Filters | None = None) -> Iterator["answers.Run"]:
        """All dead letters, the latest first. Filters: `job`, `since`."""
        return self._items("/v1/dead-letters", filters)

    def first_dead_letters(self, filters: Filters | None = None, most: int | None = None) -> "Page[answers.Run]":
        """The latest dead letters, `most` of them (1 or more) or all, as one page. Filters: `job`, `since`."""
        return self._first("/v1/dead-letters", filters, most)

    def redrive_dead_letters(self, filters: Filters, *, dry_run: bool, cursor: str | None = None) -> "answers.Redriven":
        """Redrive a portion of the dead letters that a filter (`job`, `since`) names; `next_cursor` leads to the next.

        It may be repeated: what is redriven is a dead letter no more.
        """
        wanted = {name: value for name, value in filters.items() if value is not None}
        asked = {"filter": wanted, "dry_run": dry_run, "cursor": cursor}
        return cast("answers.Redriven", self._act("/v1/dead-letters/redrive", asked))

    # ----------------------------------------------------------------------------------------------------- tenant

    def api_keys(self) -> "Page[answers.ApiKey]":
        """The tenant's keys, newest first, without their texts."""
        return self._page("/v1/keys", {})

    def create_api_key(
        self, scopes: Sequence[str], *, name: str | None = None, expires_at: str | None = None
    ) -> "answers.NewApiKey":
        """Make a key, which is given with its text. If no answer came there may be one that nobody knows: list them."""
        wish = {"scopes": list(scopes), "name": name, "expires_at": expires_at}
        given = {field: value for field, value in wish.items() if value is not None}
        return cast("answers.NewApiKey", self._post_untold("/v1/keys", given))

    def rotate_api_key(self, key_id: str, overlap: str | None = None) -> "answers.RotatedApiKey":
        """Make a key in the place of another one, which stays in force for an ISO 8601 overlap."""
        options = {} if overlap is None else {"overlap": overlap}
        return cast("answers.RotatedApiKey", self._post_untold(f"/v1/keys/{_segment(key_id)}/rotate", options))

    def revoke_api_key(self, key_id: str) -> None:
        """Take a key out of force."""
        self._delete(f"/v1/keys/{_segment(key_id)}")

    def destinations(self) -> "Page[answers.Destination]":
        """Where the tenant lets its jobs call, oldest first."""
        return self._page("/v1/destinations", {})

    def add_destination(self, kind: str, name: str) -> "answers.Destination":
        """Register a `host`, or a `suffix` with all below it; the one there is, if there is one."""
        return cast("answers.Destination", self._act("/v1/destinations", {kind: name}))

    def remove_destination(self, destination_id: str) -> None:
        """Remove a destination. Without the last one, jobs may call every host again."""
        self._delete(f"/v1/destinations/{_segment(destination_id)}")

    def verify_destination(self, destination_id: str, url: str) -> "answers.Run":
        """Have a URL of a destination asked whether it wants to be called; gives the run that asks."""
        return cast("answers.Run", self._act(f"/v1/destinations/{_segment(destination_id)}/verify", {"url": url}))

    def failure_target(self) -> "answers.FailureTarget":
        """Who is told of failed runs of jobs that name nobody themselves; its `target` is None if nobody is."""
        return cast("answers.FailureTarget", self._get("/v1/on-failure"))

    def name_failure_target(self, target: Mapping[str, Any]) -> "answers.FailureTarget":
        """Name a target that is told of failed runs of jobs that name nobody themselves."""
        return cast("answers.FailureTarget", self._put("/v1/on-failure", {"target": dict(target)}))

    def remove_failure_target(self) -> None:
        """Have nobody told of them any more."""
        self._delete("/v1/on-failure")

    def signing_secrets(self) -> "Page[answers.SigningSecret]":
        """The secrets that sign, newest first, without their texts."""
        return self._page("/v1/signing-secrets", {})

    def rotate_signing_secret(self, overlap: str | None = None) -> "answers.RotatedSecret":
        """Make a new secret, which is given with its text; the one before it signs for an ISO 8601 overlap still.

        If no answer came, the new secret can be listed and revealed.
        """
        options = {} if overlap is None else {"overlap": overlap}
        return cast("answers.RotatedSecret", self._post_untold("/v1/signing-secrets/rotate", options))

    def reveal_signing_secret(self, secret_id: str) -> "answers.RevealedSecret":
        """A secret that signs, with its text."""
        path = f"/v1/signing-secrets/{_segment(secret_id)}/reveal"
        return cast("answers.RevealedSecret", self._post_untold(path, {}))

    def limits(self) -> "answers.LimitsAndUsage":
        """What the tenant may, and how much of it it uses."""
        return cast("answers.LimitsAndUsage", self._get("/v1/limits"))

    def audit_events(self, filters: Filters | None = None) -> Iterator["answers.AuditEvent"]:
        """All audit events, newest first. Filters: `action`, `actor`, `target`, `since`, `until`."""
        return self._items("/v1/audit-events", filters)

    def first_audit_events(self, filters: Filters | None = None, most: int | None = None) -> "Page[answers.AuditEvent]":
        """The newest audit events, `most` of them (1 or more) or all, as one page. Filters: as for `audit_events`."""
        return self._first("/v1/audit-events", filters, most)

    def statistics(self, since: str | None = None, until: str | None = None) -> "answers.Statistics":
        """What became of the runs that ended in the whole hours around two instants; by itself, in the last 24."""
        bounds = {name: value for name, value in (("since", since), ("until", until)) if value is not None}
        return cast("answers.Statistics", self._get("/v1/stats" + (f"?{urlencode(bounds)}" if bounds else "")))

    # ---------------------------------------------------------------------------------------------------- service

    def health(self) -> "answers.Health":
        """That the service answers, its version, and the release of its zone data."""
        return cast("answers.Health", self._get("/v1/health"))

    def description(self) -> JsonObject:
        """The interface as an OpenAPI document."""
        return self._get("/v1/openapi.json")

    # ------------------------------------------------------------------------------------------------------ lists

    def pages(self, path: str, filters: Filters | None = None, most: int | None = None) -> Iterator[Page[Any]]:
        """The pages of a list, to its end or until `most` items came. Empty pages are followed.

        Each page is asked for no more than is still missing, so that the cursor of the last one leads on.

        Raises:
            PagingError: A cursor came twice, or more than `MOST_EMPTY_PAGES` empty pages in a row: it would never end.
        """
        query, walk, missing = dict(filters or {}), _Walk(), most
        while missing is None or missing > 0:
            page = self._page(path, query | {"limit": str(min(missing or PAGE_SIZE, PAGE_SIZE))})
            walk.check(page)
            yield page
            if page.next_cursor is None:
                return
            query["cursor"] = page.next_cursor
            missing = None if missing is None else missing - len(page.items)

    def _page(self, path: str, query: Filters) -> Page[Any]:
        given = urlencode({name: value for name, value in query.items() if value is not None})
        answer = self._get(f"{path}?{given}" if given else path)
        items, cursor = answer.get("data"), answer.get("next_cursor")
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise BadAnswerError("a list came without its data")
        if cursor is not None and not isinstance(cursor, str):
            raise BadAnswerError("a list came with a cursor that is no text")
        return Page(tuple(items), cursor or None)

    def _items(self, path: str, filters: Filters | None) -> Iterator[Any]:
        for page in self.pages(path, filters):
            yield from page.items

    def _first(self, path: str, filters: Filters | None, most: int | None) -> Page[Any]:
        pages = list(self.pages(path, filters, most))
        return Page(tuple(item for page in pages for item in page.items), pages[-1].next_cursor)

    # --------------------------------------------------------------------------------------------------- requests

    def _get(self, path: str) -> JsonObject:
        return _json_object(self._transport.send(Request("GET", path, repeatable=True)))

    def _put(self, path: str, document: Mapping[str, Any]) -> JsonObject:
        """Let something be as said; it may be sent again, because a second one does no more than the first."""
        body, headers = json.dumps(document).encode(), {"Content-Type": "application/json"}
        return _json_object(self._transport.send(Request("PUT", path, body, headers, repeatable=True)))

    def _delete(self, path: str) -> None:
        """Remove something; it may be sent again, because a second one does no more than the first."""
        self._transport.send(Request("DELETE", path, repeatable=True))

    def _act(self, path: str, options: Mapping[str, Any]) -> JsonObject:
        return self._post_once(path, json.dumps(options).encode(), None)

    def _post_once(self, path: str, body: bytes, key: str | None) -> JsonObject:
        """Post under a key, so that it may be sent again."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": key or str(uuid4())}
        return _json_object(self._transport.send(Request("POST", path, body, headers, repeatable=True)))

    def _post_untold(self, path: str, options: Mapping[str, Any]) -> JsonObject:
        """Post where the answer shows a secret: it is not kept, so it must not be sent again."""
        body, headers = json.dumps(options).encode(), {"Content-Type": "application/json"}
        return _json_object(self._transport.send(Request("POST", path, body, headers)))


def etag(job: Mapping[str, Any]) -> str:
    """The ETag of a job as it was given: what to send as `If-Match`."""
    return f'"{job.get("revision")}"'


class _Walk:
    """Guards a walk through a list against having no end."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._empty_in_a_row = 0

    def check(self, page: Page[Any]) -> None:
        """Take note of a page that came.

        Raises:
            PagingError: Going on would never end.
        """
        if page.next_cursor is None:
            return
        if page.next_cursor in self._seen:
            raise PagingError("the service repeated a cursor: the list would never end")
        self._seen.add(page.next_cursor)
        self._empty_in_a_row = 0 if page.items else self._empty_in_a_row + 1
        if self._empty_in_a_row > MOST_EMPTY_PAGES:
            raise PagingError(f"the service sent more than {MOST_EMPTY_PAGES} empty pages in a row")


def _segment(text: str) -> str:
    """A path segment. What would change the path's meaning is no id.

    Raises:
        BadIdError: It cannot be an id.
    """
    if not text.strip("."):
        raise BadIdError("an id must not be empty")
    return quote(text, safe="@~")


def _json_object(answer: Answer) -> JsonObject:
    try:
        value = json.loads(answer.body)
    except (ValueError, RecursionError) as error:
        raise BadAnswerError("the answer is not JSON: is this the address of the service?") from error
    if not isinstance(value, dict):
        raise BadAnswerError("the answer is not a JSON object: is this the address of the service?")
    return value
