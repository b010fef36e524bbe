"""Paths, methods, request ids, failures of our own, and events as the gateway makes them."""

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from carillon.domain.identity import ulid
from carillon.domain.run import Attempt, RunState, SkippedBlock
from carillon.domain.zones import zone_data_version
from support.api import ApiUnderTest

EVENTS = Path(__file__).parents[3] / "events"
JOB_ID = "job_" + ulid(0, bytes(10))


def test_health_needs_no_key(api: ApiUnderTest) -> None:
    """Anybody may ask whether the API answers."""
    reply = api.call("GET", "/v1/health", key=None)
    assert (reply.status, reply.json["status"]) == (200, "ok")


def test_b076_the_service_tells_its_zone_data(api: ApiUnderTest) -> None:
    """B076: the release of the rules that this function plans by, whatever the host has."""
    assert api.call("GET", "/v1/health", key=None).json["zone_data"] == zone_data_version() >= "2026f"


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/v1",
        "/v2/jobs",
        "/v1/job",
        "/v1/jobs/",
        f"/v1/jobs/{JOB_ID}/",
        f"/v1/jobs/{JOB_ID}/attempts",
        "//jobs",
    ],
)
def test_unknown_paths(api: ApiUnderTest, path: str) -> None:
    """A path that is not documented is 404 as a problem, with or without a key."""
    for key in ("", None):
        reply = api.call("GET", path, key=key)
        assert (reply.status, reply.json["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PUT", "/v1/jobs", "GET, POST"),
        ("DELETE", "/v1/jobs", "GET, POST"),
        ("POST", f"/v1/jobs/{JOB_ID}", "DELETE, GET, PATCH"),
        ("POST", f"/v1/jobs/{JOB_ID}/runs", "GET"),
        ("GET", f"/v1/jobs/{JOB_ID}/pause", "POST"),
        ("GET", "/v1/schedules/preview", "POST"),
        ("GET", "/v1/jobs/batch", "POST"),
        ("DELETE", "/v1/jobs/bulk", "POST"),
        ("GET", "/v1/jobs/by-name/nightly", "PUT"),
        ("HEAD", "/v1/health", "GET"),
        ("DELETE", "/v1/jobs/batch", "POST"),
        ("POST", "/v1/jobs/by-name/pause", "PUT"),
        ("OPTIONS", "/v1/jobs", "GET, POST"),
    ],
)
def test_wrong_methods(api: ApiUnderTest, method: str, path: str, allowed: str) -> None:
    """A known path with another method is 405, telling the methods that it has."""
    reply = api.call(method, path)
    assert (reply.status, reply.json["code"], reply.headers["allow"]) == (405, "method_not_allowed", allowed)


@pytest.mark.parametrize("job_id", ["job_1", "nightly", "..", "%2e%2e", "job_" + "Z" * 26, JOB_ID.lower(), "é"])
def test_ids_that_are_none(api: ApiUnderTest, job_id: str) -> None:
    """Whatever stands for an id and is none is unknown."""
    for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/runs")):
        assert api.call(method, f"/v1/jobs/{job_id}{path}").status == 404


@pytest.mark.parametrize("name", ["", "20260921T141320000", "20269921T141320000Z", "20260921T141320000Z~ABC", "x"])
def test_run_ids_that_are_none(api: ApiUnderTest, name: str) -> None:
    """Whatever stands for a run id and is none is unknown."""
    assert api.call("GET", f"/v1/runs/{JOB_ID}@{name}").status == 404


@pytest.mark.parametrize("separator", ["@", "%40"])
def test_a_run_by_its_id(api: ApiUnderTest, separator: str) -> None:
    """A run is found by its id, percent-encoded or not, and shown with its attempts."""
    owner = api.create()["id"]
    attempts = (
        Attempt(1, 1_790_000_000_250, 1_790_000_000_500, 500, "http_status", "no", truncated=True, revision=1),
        Attempt(2, 1_790_000_001_000, revision=2),
    )
    run = api.add_run(
        owner, 1_790_000_000_000, state=RunState.RUNNING, attempt=2, attempts=attempts, lateness_ms=250, lease_until=9
    )
    reply = api.call("GET", f"/v1/runs/{run.key.run_id.replace('@', separator)}")
    assert reply.status == 200
    assert reply.json == {
        "id": f"{owner}@20260921T141320000Z",
        "job_id": owner,
        "state": "running",
        "reason": None,
        "scheduled_for": "2026-09-21T14:13:20.000Z",
        "attempt": 2,
        "attempts": [
            {
                "number": 1,
                "started_at": "2026-09-21T14:13:20.250Z",
                "ended_at": "2026-09-21T14:13:20.500Z",
                "status": 500,
                "error": "http_status",
                "response_excerpt": "no",
                "response_truncated": True,
                "job_revision": 1,
            },
            {
                "number": 2,
                "started_at": "2026-09-21T14:13:21.000Z",
                "ended_at": None,
                "status": None,
                "error": None,
                "response_excerpt": None,
                "response_truncated": False,
                "job_revision": 2,
            },
        ],
        "lateness_ms": 250,
        "next_attempt_at": None,
        "priority": "normal",
        "created_at": "2026-09-21T14:13:20.000Z",
        "ended_at": None,
    }


def test_a_block_of_occurrences_says_how_many(api: ApiUnderTest) -> None:
    """One record for many occurrences tells their count, the first and the last."""
    owner = api.create()["id"]
    run = api.add_run(owner, 60_000, state=RunState.SKIPPED, reason="misfire", block=SkippedBlock(12, 1_000, 60_000))
    block = api.call("GET", f"/v1/runs/{run.key.run_id}").json["block"]
    assert block == {"count": 12, "first": "1970-01-01T00:00:01.000Z", "last": "1970-01-01T00:01:00.000Z"}


@pytest.mark.parametrize(
    ("given", "shown"),
    [(None, "JKJaXmPLvHcESHA="), ("abc-123", "abc-123"), ("a b", "JKJaXmPLvHcESHA="), ("x" * 129, "JKJaXmPLvHcESHA=")],
)
def test_request_ids(api: ApiUnderTest, given: str | None, shown: str) -> None:
    """Every answer has a request id: the client's own if it can be logged, or else the gateway's."""
    for path in ("/v1/jobs", "/nowhere"):
        assert api.call("GET", path, headers={"X-Request-Id": given}).headers["x-request-id"] == shown


def test_a_bug_is_logged_whole_and_answered_without_detail(api: ApiUnderTest, caplog: pytest.LogCaptureFixture) -> None:
    """An unforeseen failure is a 500 problem with the request id; the trace is in the log only."""

    class Broken:
        """A store with a bug."""

        def get(self, _: str) -> None:
            """Fails."""
            raise ZeroDivisionError("inner detail")

    api.handle = api.build(jobs=Broken())
    with caplog.at_level(logging.INFO, logger="carillon"):
        reply = api.call("GET", f"/v1/jobs/{JOB_ID}")
    assert (reply.status, reply.json["code"]) == (500, "internal_error")
    assert "inner detail" not in reply.text
    assert "ZeroDivisionError" not in reply.text
    failed = next(record for record in caplog.records if record.__dict__.get("action") == "api_failed")
    assert failed.__dict__["request_id"] == reply.json["request_id"]
    assert failed.exc_info


def test_a_stage_with_a_name_stands_before_the_path(api: ApiUnderTest) -> None:
    """Behind a named stage the paths that we give out begin with the stage, so that clients can follow them."""
    event = json.loads((EVENTS / "api_create.json").read_text())
    event["headers"]["authorization"] = f"Bearer {api.key}"
    event["requestContext"]["stage"] = "prod"
    event["rawPath"] = "/prod/v1/jobs"
    reply = api.reply_to(event)
    assert reply.status == 201
    assert reply.headers["location"].startswith("/prod/v1/jobs/job_")


def test_reading_needs_no_validator() -> None:
    """A cold start loads the validator of documents only when one is sent: it is half of the import."""
    code = "import sys, carillon.entrypoint.http_api; print('pydantic' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"


def from_file(api: ApiUnderTest, name: str, **ids: str) -> Any:
    """A recorded event, with a key and ids of this world."""
    text = (EVENTS / f"api_{name}.json").read_text()
    for placeholder, value in {"API_KEY": api.key, **ids}.items():
        text = text.replace(f"${{{placeholder}}}", value)
    return json.loads(text)


def test_recorded_events(api: ApiUnderTest) -> None:
    """The events in `events/` are answered as their names say."""
    created = api.reply_to(from_file(api, "create"))
    assert created.status == 201
    job_id = created.json["id"]
    assert api.reply_to(from_file(api, "get", JOB_ID=job_id)).json["id"] == job_id
    assert [item["id"] for item in api.reply_to(from_file(api, "list")).json["data"]] == [job_id]
    assert api.reply_to(from_file(api, "list_runs", JOB_ID=job_id)).json["data"] == []
    assert api.reply_to(from_file(api, "cancel", JOB_ID=job_id)).status == 204
    assert api.reply_to(from_file(api, "bad_json")).status == 400
    assert api.reply_to(from_file(api, "no_key")).status == 401
    assert api.reply_to(from_file(api, "health")).status == 200
