"""Completing over HTTP: who may, what is understood, and what each refusal says."""

from typing import Any

import pytest

from carillon.domain.completions import new_token, token_digest
from carillon.domain.instants import format_instant
from carillon.domain.run import Attempt, Run, RunState
from support.api import SECRET_VALUE, ApiUnderTest, Json, Reply, assert_refused, job

ASYNC = {"mode": "async", "timeout": "PT1H", "heartbeat_timeout": "PT5M"}
HOUR_MS, MINUTE_MS = 3_600_000, 60_000
TOKEN = new_token(bytes(range(32)))
OLDER = new_token(bytes(32))


def awaited(api: ApiUnderTest, **fields: Any) -> Run:
    """A run of an asynchronous target, whose second attempt is awaited."""
    job_id, now_ms = api.create(target__completion=ASYNC)["id"], api.world.clock.now_ms()
    attempts = (
        Attempt(1, now_ms, now_ms, error="heartbeat_timeout", token_digest=token_digest(OLDER)),
        Attempt(2, now_ms, status=202, token_digest=token_digest(TOKEN)),
    )
    waits: dict[str, Any] = {
        "state": RunState.AWAITING_COMPLETION,
        "attempt": 2,
        "attempts": attempts,
        "next_fire_time": now_ms + 5 * MINUTE_MS,
        "heartbeat_ms": 5 * MINUTE_MS,
        "completion_until": now_ms + HOUR_MS,
    }
    return api.add_run(job_id, now_ms - 1_000, **{**waits, **fields})


def report(api: ApiUnderTest, run: Run, body: Json = None, *, token: str | None = TOKEN, **options: Any) -> Reply:
    """Complete a run by a token; None: with whatever the options hold."""
    if token is not None:
        options = {"headers": {"authorization": f"Bearer {token}"}, "key": None} | options
    document = {"outcome": "succeeded"} if body is None and "raw" not in options else body
    return api.call("POST", f"/v1/runs/{run.key.run_id}/complete", document, **options)


def beat(api: ApiUnderTest, run: Run, body: Json = None, **headers: str) -> Reply:
    """Give a sign of life by a token."""
    shown = headers or {"authorization": f"Bearer {TOKEN}"}
    return api.call("POST", f"/v1/runs/{run.key.run_id}/heartbeat", body, key=None, headers=shown)


def stored(api: ApiUnderTest, run: Run) -> Run | None:
    """The record as it is."""
    return api.world.runs.get(run.key)


def test_the_token_is_enough(api: ApiUnderTest) -> None:
    """No key is asked for; the answer says where the run stands, and nothing of what is in it."""
    run = awaited(api)
    reply = report(api, run, {"outcome": "succeeded", "result": {"rows": 12}})
    assert (reply.status, reply.json) == (
        200,
        {
            "id": run.key.run_id,
            "state": "succeeded",
            "attempt": 2,
            "heartbeat_due_at": None,
            "completion_due_at": None,
        },
    )
    shown = api.call("GET", f"/v1/runs/{run.key.run_id}").json
    attempt = shown["attempts"][1]
    assert (shown["state"], attempt["completion"], attempt["result"]) == ("succeeded", "succeeded", {"rows": 12})
    assert "awaiting" not in shown
    assert api.world.meter.counts["runs_succeeded"] == 1


def test_the_token_may_stand_in_the_header_in_which_it_came(api: ApiUnderTest) -> None:
    """Beside a key the token counts: it is the fence."""
    run = awaited(api)
    headers = {"Carillon-Completion-Token": OLDER}
    assert report(api, run, token=None, headers=headers).json["code"] == "stale_attempt"
    assert beat(api, run, **{"carillon-completion-token": TOKEN}).status == 200


def test_a_heartbeat_says_by_when_the_next_is_due(api: ApiUnderTest) -> None:
    """The clock of the heartbeat begins anew, that of the completion goes on."""
    run = awaited(api)
    api.world.clock.advance(4 * MINUTE_MS)
    now_ms = api.world.clock.now_ms()
    until_ms = run.completion_until or 0
    shown = {
        "heartbeat_due_at": format_instant(now_ms + 5 * MINUTE_MS),
        "completion_due_at": format_instant(until_ms),
    }
    assert beat(api, run).json == {"id": run.key.run_id, "state": "awaiting_completion", "attempt": 2, **shown}
    whole = api.call("GET", f"/v1/runs/{run.key.run_id}").json
    assert (whole["awaiting"], whole["next_attempt_at"]) == (shown, None)


def test_a_token_is_never_shown(api: ApiUnderTest) -> None:
    """Neither it nor its digest stands in any answer about the run."""
    run = awaited(api)
    texts = [api.call("GET", f"/v1/runs/{run.key.run_id}").text, beat(api, run).text, report(api, run).text]
    assert not [text for text in texts if TOKEN in text or token_digest(TOKEN) in text]


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {new_token(b'x' * 32)}"},
        {"authorization": "Bearer crt_"},
        {"carillon-completion-token": ""},
        {"carillon-completion-token": "crl_test_x"},
        {"carillon-completion-token": token_digest(TOKEN)},
        {"authorization": f"Bearer {token_digest(TOKEN)}"},
        {"authorization": TOKEN},
        {},
    ],
)
def test_without_its_token_or_a_key_nothing_opens(api: ApiUnderTest, headers: dict[str, str]) -> None:
    """401 for both routes, whether or not there is such a run; the digest is no token."""
    run = awaited(api)
    for run_id in (run.key.run_id, "job_01ARZ3NDEKTSV4RRFFQ69G5FAV@20300101T000000000Z", "nonsense"):
        for action in ("complete", "heartbeat"):
            body = {"outcome": "succeeded"} if action == "complete" else None
            reply = api.call("POST", f"/v1/runs/{run_id}/{action}", body, key=None, headers=headers)
            assert (reply.status, reply.json["code"]) == (401, "unauthenticated")
    assert stored(api, run) == run


def test_a_token_opens_no_other_route(api: ApiUnderTest) -> None:
    """It is for two routes of one run."""
    run = awaited(api)
    for method, path in (("GET", f"/v1/runs/{run.key.run_id}"), ("POST", f"/v1/runs/{run.key.run_id}/cancel")):
        assert api.call(method, path, key=None, headers={"authorization": f"Bearer {TOKEN}"}).status == 401


def test_a_key_needs_the_scope_and_the_tenant(api: ApiUnderTest) -> None:
    """Another tenant's run is not there; a key that may only read may not complete."""
    run = awaited(api)
    assert report(api, run, token=None, key=api.other_key).status == 404
    assert report(api, run, token=None, key=api.add_key("runs:read")).status == 403
    assert report(api, run, token=None, key=api.add_key("runs:write")).status == 200


@pytest.mark.parametrize(
    ("body", "state", "reason"),
    [
        ({"outcome": "failed"}, RunState.RETRYING, None),
        ({"outcome": "failed", "retry": True}, RunState.RETRYING, None),
        ({"outcome": "failed", "retry": False}, RunState.DEAD_LETTERED, "failed_by_target"),
        ({"outcome": "succeeded", "retry": False}, RunState.SUCCEEDED, None),
        ({"outcome": "succeeded", "result": None}, RunState.SUCCEEDED, None),
    ],
)
def test_what_is_reported_is_what_becomes_of_it(
    api: ApiUnderTest, body: Json, state: RunState, reason: str | None
) -> None:
    """And a repeat is answered alike."""
    run = awaited(api)
    first, again = report(api, run, body), report(api, run, body)
    assert (first.status, first.json["state"]) == (200, state)
    assert (again.status, again.json) == (200, first.json)
    written = stored(api, run)
    assert written is not None
    assert (written.state, written.reason, written.attempts[1].result) == (state, reason, None)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"token": OLDER}, "stale_attempt"),
        ({"state": RunState.RETRYING, "completion_until": None}, "stale_attempt"),
        ({"state": RunState.CANCELLED, "next_fire_time": None, "completion_until": None}, "run_ended"),
        ({"state": RunState.DEAD_LETTERED, "next_fire_time": None, "completion_until": None}, "run_ended"),
    ],
    ids=["older-attempt", "timed-out", "cancelled", "dead"],
)
def test_who_comes_too_late_is_told_why(api: ApiUnderTest, change: dict[str, Any], code: str) -> None:
    """409 with a code of its own, for a completion and for a sign of life; nothing is written."""
    fields = {name: value for name, value in change.items() if name != "token"}
    run, token = awaited(api, **fields), change.get("token", TOKEN)
    for reply in (report(api, run, token=token), beat(api, run, authorization=f"Bearer {token}")):
        assert_refused(reply, 409, set())
        assert reply.json["code"] == code
    assert stored(api, run) == run


def test_another_outcome_is_refused(api: ApiUnderTest) -> None:
    """409: what was reported first stands."""
    run = awaited(api)
    report(api, run)
    refused = report(api, run, {"outcome": "failed"})
    assert (refused.status, refused.json["code"]) == (409, "already_completed")


def test_a_key_completes_only_what_waits_for_it(api: ApiUnderTest) -> None:
    """409 not_awaited."""
    run = awaited(api, state=RunState.RETRYING, completion_until=None)
    refused = report(api, run, token=None)
    assert (refused.status, refused.json["code"]) == (409, "not_awaited")


@pytest.mark.parametrize(
    ("raw", "status", "errors"),
    [
        ("", 400, {("", "bad_json")}),
        ("{}", 422, {("/outcome", "required")}),
        ('{"outcome": "done"}', 422, {("/outcome", "not_a_choice")}),
        ('{"outcome": true}', 422, {("/outcome", "not_a_choice")}),
        ('{"outcome": "failed", "retry": "no"}', 422, {("/retry", "wrong_type")}),
        ('{"outcome": "succeeded", "retry": true}', 422, {("/retry", "conflicting_fields")}),
        ('{"outcome": "succeeded", "error": "' + SECRET_VALUE + '"}', 422, {("/error", "unknown_field")}),
        ('{"outcome": "succeeded", "result": NaN}', 400, {("", "bad_json")}),
        ('{"outcome": "succeeded", "outcome": "failed"}', 400, {("", "bad_json")}),
        ('{"outcome": "succeeded", "result": "' + "x" * 4_095 + '"}', 413, {("/result", "too_large")}),
        ('{"outcome": "succeeded", "result": "' + "ü" * 2_048 + '"}', 413, {("/result", "too_large")}),
    ],
)
def test_a_bad_report_is_refused_by_its_place(
    api: ApiUnderTest, raw: str, status: int, errors: set[tuple[str, str]]
) -> None:
    """And nothing is half done."""
    run = awaited(api)
    reply = report(api, run, raw=raw)
    assert reply.status == status
    assert not errors or reply.errors == errors
    assert SECRET_VALUE not in reply.text
    assert stored(api, run) == run


def test_a_heartbeat_has_no_choices(api: ApiUnderTest) -> None:
    """What is in its body is refused by name."""
    assert_refused(beat(api, awaited(api), {"progress": 5}), 422, {("/progress", "unknown_field")})


@pytest.mark.parametrize(
    "text", ["0.10", '"\\ud800"', "[[30.40, 12345678901234567890123]]", '{"a": 1, "a": 2}', "false"]
)
def test_a_result_is_any_json(api: ApiUnderTest, text: str) -> None:
    """It is kept as it was sent."""
    run = awaited(api)
    assert report(api, run, raw=f'{{"outcome": "succeeded", "result": {text} }}').status == 200
    written = stored(api, run)
    assert written is not None
    assert written.attempts[1].result == text
    assert "result" in api.call("GET", f"/v1/runs/{run.key.run_id}").json["attempts"][1]


def test_a_result_of_just_four_kib_is_taken(api: ApiUnderTest) -> None:
    """The bound counts bytes, quotes included."""
    assert report(api, awaited(api), raw='{"outcome": "failed", "result": "' + "x" * 4_094 + '"}').status == 200


@pytest.mark.parametrize(
    ("completion", "where", "code"),
    [
        ({}, "/target/completion/mode", "required"),
        ({"mode": "sync"}, "/target/completion/mode", "not_a_choice"),
        ({"mode": "async", "timeout": "PT0S"}, "/target/completion/timeout", "out_of_range"),
        ({"mode": "async", "timeout": "P15D"}, "/target/completion/timeout", "out_of_range"),
        ({"mode": "async", "timeout": 60}, "/target/completion/timeout", "wrong_type"),
        ({"mode": "async", "heartbeat_timeout": "PT0.5S"}, "/target/completion/heartbeat_timeout", "out_of_range"),
        ({"mode": "async", "heartbeat_timeout": "PT7H"}, "/target/completion/heartbeat_timeout", "out_of_range"),
        ({"mode": "async", "url": "https://x"}, "/target/completion/url", "unknown_field"),
        ("async", "/target/completion", "wrong_type"),
    ],
)
def test_a_bad_completion_is_refused(api: ApiUnderTest, completion: Json, where: str, code: str) -> None:
    """At the creation, by its place."""
    assert_refused(api.call("POST", "/v1/jobs", job(target__completion=completion)), 422, {(where, code)})


def test_what_is_asked_for_is_shown_and_can_be_changed(api: ApiUnderTest) -> None:
    """With the defaults filled in; null takes it away."""
    created = api.create(target__completion={"mode": "async"}, target__cancel_url="https://svc.carillon.dev/stop")
    assert created["target"]["completion"] == {"mode": "async", "timeout": "PT6H"}
    assert created["target"]["cancel_url"] == "https://svc.carillon.dev/stop"
    longer = api.patched(created["id"], {"target": {"completion": {"heartbeat_timeout": "PT1M"}}})
    assert longer["target"]["completion"] == {"mode": "async", "timeout": "PT6H", "heartbeat_timeout": "PT1M"}
    plain = api.patched(created["id"], {"target": {"completion": None, "cancel_url": None}})
    assert not {"completion", "cancel_url"} & plain["target"].keys()


def test_who_is_told_of_a_cancel_has_to_be_a_destination(api: ApiUnderTest) -> None:
    """Like whoever is called."""
    assert api.call("POST", "/v1/destinations", {"host": "svc.carillon.dev"}).status == 201
    reply = api.call("POST", "/v1/jobs", job(target__cancel_url="https://other.carillon.dev/stop"))
    assert_refused(reply, 422, {("/target/cancel_url", "not_a_destination")})
