"""Whom a job tells of its failures: what is accepted, how it reads, and how a notice is found."""

from dataclasses import replace
from typing import Any

import pytest

from carillon.domain.identity import RunKey
from carillon.domain.job import HttpTarget, QueueTarget
from carillon.domain.notices import notice_of
from carillon.domain.run import Run, RunState
from carillon.domain.target_policy import of_stage
from support.api import ApiUnderTest, assert_refused, job

URL = "https://alerts.carillon.dev/failed"
QUEUE = "https://sqs.eu-west-1.amazonaws.com/111122223333/failed"
HTTP = {"type": "http", "url": URL}
FULL = {**HTTP, "method": "PUT", "headers": {"X-Team": "infra"}, "timeout": "PT30S"}


@pytest.fixture
def api() -> ApiUnderTest:
    """The API of a stage with one queue."""
    return ApiUnderTest(of_stage(queues=["acme=arn:aws:sqs:eu-west-1:111122223333:failed"]))


@pytest.mark.parametrize(
    ("sent", "shown", "stored"),
    [
        pytest.param(HTTP, {**HTTP, "method": "POST", "headers": {}, "timeout": "PT15S"}, HttpTarget(URL), id="http"),
        pytest.param(FULL, FULL, HttpTarget(URL, "PUT", (("X-Team", "infra"),), 30_000), id="all-of-it"),
        pytest.param(
            {"type": "queue", "queue_url": QUEUE}, {"type": "queue", "queue_url": QUEUE}, QueueTarget(QUEUE), id="queue"
        ),
        pytest.param(None, None, None, id="nobody"),
    ],
)
def test_whom_to_tell_is_part_of_the_job(api: ApiUnderTest, sent: Any, shown: Any, stored: Any) -> None:
    """It is stored, and shown with what was left out."""
    created = api.create(on_failure=sent)
    assert created["on_failure"] == shown
    kept = api.world.jobs.get(created["id"])
    assert kept is not None
    assert kept.spec.on_failure == stored
    assert api.create()["on_failure"] is None


REFUSED: list[tuple[str, Any, set[tuple[str, str]]]] = [
    ("text", URL, {("/on_failure", "wrong_type")}),
    ("no-type", {"url": URL}, {("/on_failure/type", "required")}),
    ("other-type", {"type": "mail", "url": URL}, {("/on_failure/type", "not_a_choice")}),
    ("no-url", {"type": "http"}, {("/on_failure/url", "required")}),
    ("private", {**HTTP, "url": "https://127.0.0.1/"}, {("/on_failure/url", "numeric_host")}),
    ("not-open", {"type": "queue", "queue_url": QUEUE + "2"}, {("/on_failure/queue_url", "queue_not_allowed")}),
    ("get", {**HTTP, "method": "GET"}, {("/on_failure/method", "not_a_choice")}),
    ("head", {**HTTP, "method": "HEAD"}, {("/on_failure/method", "not_a_choice")}),
    ("slow", {**HTTP, "timeout": "PT61S"}, {("/on_failure/timeout", "out_of_range")}),
    ("header", {**HTTP, "headers": {"Host": "a"}}, {("/on_failure/headers/Host", "reserved_header")}),
    ("unknown", {**HTTP, "retry": {}}, {("/on_failure/retry", "unknown_field")}),
    ("completion", {**HTTP, "completion": {"mode": "async"}}, {("/on_failure/completion", "conflicting_fields")}),
    ("cancel-url", {**HTTP, "cancel_url": URL}, {("/on_failure/cancel_url", "conflicting_fields")}),
]


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(("sent", "errors"), [pytest.param(*row[1:], id=row[0]) for row in REFUSED])
def test_what_could_not_be_told_is_refused(api: ApiUnderTest, sent: Any, errors: set[tuple[str, str]]) -> None:
    """It is judged like a target, with its own place; what is told needs a body and must not take long."""
    assert_refused(api.call("POST", "/v1/jobs", job(on_failure=sent)), 422, errors)


def test_errors_of_both_targets_are_told_at_once(api: ApiUnderTest) -> None:
    """Each at its place."""
    wrong = job(target__url="http://a.net/", on_failure={**HTTP, "url": "http://a.net/"})
    errors = {("/target/url", "bad_scheme"), ("/on_failure/url", "bad_scheme")}
    assert_refused(api.call("POST", "/v1/jobs", wrong), 422, errors)


def test_a_patch_replaces_it_whole(api: ApiUnderTest) -> None:
    """Set, replaced, left alone and removed; the plan of the job is not touched."""
    created = api.create()
    first = api.patched(created["id"], {"on_failure": FULL})
    assert first["on_failure"] == FULL
    assert api.patched(created["id"], {"labels": {"a": "b"}})["on_failure"] == FULL
    second = api.patched(created["id"], {"on_failure": HTTP})
    assert (second["on_failure"]["headers"], second["on_failure"]["method"]) == ({}, "POST")
    queue = {"type": "queue", "queue_url": QUEUE}
    assert api.patched(created["id"], {"on_failure": queue})["on_failure"] == queue
    removed = api.patched(created["id"], {"on_failure": None})
    assert (removed["on_failure"], removed["next_fire_time"]) == (None, created["next_fire_time"])


def failed(api: ApiUnderTest) -> tuple[Run, Run]:
    """A run that has failed, and its notice, both stored."""
    created = api.create(on_failure=HTTP)
    definition = api.world.jobs.get(created["id"])
    assert definition is not None
    assert definition.spec.on_failure is not None
    now_ms = api.world.clock.now_ms()
    dead = Run(
        key=RunKey.of(created["id"], now_ms),
        tenant="acme",
        state=RunState.DEAD_LETTERED,
        scheduled_for=now_ms,
        generation=1,
        priority=definition.job.priority,
        lane=definition.job.lane,
        shard=definition.job.shard,
        created_at=now_ms,
        ended_at=now_ms,
        reason="http_status",
    )
    notice = notice_of(dead, definition.spec, now_ms)
    dead = replace(dead, notice=notice.key.name)
    api.world.runs.end_with_notice(dead, notice, seen=None)
    return dead, notice


def test_run_and_notice_lead_to_each_other(api: ApiUnderTest) -> None:
    """By their ids; a notice reads like a run, and its body is shown to nobody."""
    dead, notice = failed(api)
    shown = api.call("GET", f"/v1/runs/{dead.key.run_id}").json
    assert shown["failure_notice"] == notice.key.run_id
    told = api.call("GET", f"/v1/runs/{notice.key.run_id}").json
    assert (told["notice_of"], told["state"], told["id"]) == (dead.key.run_id, "queued", notice.key.run_id)
    assert "body" not in told
    listed = api.call("GET", f"/v1/jobs/{dead.key.job_id}/runs").json["data"]
    assert [run["id"] for run in listed] == [dead.key.run_id]


def test_a_notice_belongs_to_its_tenant(api: ApiUnderTest) -> None:
    """Another one's key finds nothing."""
    _, notice = failed(api)
    assert api.call("GET", f"/v1/runs/{notice.key.run_id}", key=api.other_key).status == 404


def test_a_notice_that_waits_can_be_cancelled(api: ApiUnderTest) -> None:
    """Like any run that waits."""
    _, notice = failed(api)
    cancelled = api.call("POST", f"/v1/runs/{notice.key.run_id}/cancel")
    assert (cancelled.status, cancelled.json["state"]) == (200, "cancelled")
