"""Bad requests to the running API: the right status, a problem that names what is wrong, and nothing written."""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import pytest

from carillon.client import Client
from e2e.dev_stack import DevStack
from e2e.live import Json, aws_client
from support.api import Reply, assert_refused, job

JSON = {"Content-Type": "application/json"}
CRON = {"cron": "0 2 * * *"}
NOBODY = "job_01ARZ3NDEKTSV4RRFFQ69G5FAV"

DOCUMENTS: list[tuple[str, Json, int, str, str]] = [
    ("unknown-field", job(nmae="x"), 422, "/nmae", "unknown_field"),
    ("unknown-inner-field", job(target__verb="POST"), 422, "/target/verb", "unknown_field"),
    ("two-schedules", job(schedule={**CRON, "every": "PT1H"}), 422, "/schedule", "not_one_schedule"),
    ("no-schedule", job(schedule={}), 422, "/schedule", "not_one_schedule"),
    ("past", job(schedule={"run_at": "2020-01-01T00:00:00Z"}), 422, "/schedule/run_at", "no_occurrence"),
    ("absurd", job(schedule={"run_at": "9999-12-31T23:59:59-12:00"}), 422, "/schedule/run_at", "invalid_value"),
    ("no-such-day", job(schedule={"run_at": "2031-02-29T00:00:00Z"}), 422, "/schedule/run_at", "invalid_value"),
    ("a-number", job(schedule={"run_at": 1_893_456_000}), 422, "/schedule/run_at", "wrong_type"),
    ("negative-delay", job(schedule={"delay": "-PT5S"}), 422, "/schedule/delay", "invalid_value"),
    ("too-often", job(schedule={"every": "PT0.5S"}), 422, "/schedule/every", "invalid_value"),
    ("unknown-zone", job(schedule={**CRON, "timezone": "Mars/Olympus"}), 422, "/schedule/timezone", "invalid_value"),
    ("zone-as-path", job(schedule={**CRON, "timezone": "../etc/passwd"}), 422, "/schedule/timezone", "invalid_value"),
    ("impossible-cron", job(schedule={"cron": "0 0 31 2 *"}), 422, "/schedule/cron", "invalid_value"),
    ("four-fields", job(schedule={"cron": "0 2 * *"}), 422, "/schedule/cron", "invalid_value"),
    ("no-url", job(target__url="svc.carillon.dev/hook"), 422, "/target/url", "bad_scheme"),
    ("file-url", job(target__url="file:///etc/passwd"), 422, "/target/url", "bad_scheme"),
    ("user-in-url", job(target__url="https://me@svc.carillon.dev/"), 422, "/target/url", "userinfo"),
    ("private-address", job(target__url="https://10.0.0.1/hook"), 422, "/target/url", "numeric_host"),
    ("metadata", job(target__url="http://169.254.169.254/latest/"), 422, "/target/url", "numeric_host"),
    ("split-header", job(target__headers={"X-A": "a\r\nX-Evil: 1"}), 422, "/target/headers/X-A", "bad_header_value"),
    ("our-header", job(target__headers={"webhook-id": "x"}), 422, "/target/headers/webhook-id", "reserved_header"),
    ("no-attempts", job(retry__max_attempts=0), 422, "/retry/max_attempts", "out_of_range"),
    ("true-for-a-number", job(retry__max_attempts=True), 422, "/retry/max_attempts", "wrong_type"),
    ("unknown-priority", job(priority="urgent"), 422, "/priority", "not_a_choice"),
    ("payload-too-large", job(payload="a" * 256 * 1024), 413, "/payload", "too_large"),
    ("payload-too-large-in-bytes", job(payload="\N{HOT BEVERAGE}" * 100_000), 413, "/payload", "too_large"),
    ("body-too-large", job(name="n" * 600_000), 413, "", "too_large"),
]

BODIES: list[tuple[str, bytes]] = [
    ("empty", b""),
    ("cut", b'{"schedule": '),
    ("trailing-comma", b'{"name": "a",}'),
    ("list", b"[]"),
    ("nan", b'{"payload": NaN}'),
    ("key-twice", b'{"name": "a", "name": "b"}'),
    ("deep", b'{"payload": ' + b"[" * 2_000 + b"]" * 2_000 + b"}"),
    ("utf-16", '{"name": "a"}'.encode("utf-16")),
]

HEADERS: list[tuple[str, dict[str, str], int, str]] = [
    ("text", {"Content-Type": "text/plain"}, 415, "Content-Type"),
    ("form", {"Content-Type": "application/x-www-form-urlencoded"}, 415, "Content-Type"),
    ("other-charset", {"Content-Type": "application/json; charset=latin-1"}, 415, "Content-Type"),
    ("compressed", {**JSON, "Content-Encoding": "gzip"}, 415, "Content-Encoding"),
]

KEYS: list[tuple[str, str | None]] = [
    ("none", None),
    ("empty", "Bearer "),
    ("basic", "Basic YTpi"),
    ("no-key-of-ours", "Bearer hello"),
    ("unknown", f"Bearer crl_test_{NOBODY[4:]}_{'A' * 43}000000"),
]

PATHS: list[tuple[str, str, str, int]] = [
    ("unknown-path", "GET", "/v1/gardens", 404),
    ("unknown-job", "GET", f"/v1/jobs/{NOBODY}", 404),
    ("no-job-id", "GET", "/v1/jobs/x", 404),
    ("unknown-run", "GET", f"/v1/runs/{NOBODY}@20300101T000000000Z", 404),
    ("no-run-id", "GET", "/v1/runs/x", 404),
    ("cancel-an-unknown-job", "DELETE", f"/v1/jobs/{NOBODY}", 404),
    ("method", "PUT", "/v1/jobs", 405),
    ("bad-limit", "GET", "/v1/jobs?limit=0", 422),
    ("bad-cursor", "GET", "/v1/jobs?cursor=abc", 400),
    ("unknown-parameter", "GET", "/v1/jobs?page=2", 422),
]


@dataclass(frozen=True)
class World:
    """The running stack, a job of its tenant, and the key of another tenant."""

    stack: DevStack
    job_id: str
    strangers_key: str

    def ask(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> Reply:
        """Make a request to the letter."""
        address = urlsplit(self.stack.url)
        with closing(http.client.HTTPConnection("127.0.0.1", address.port or 0, timeout=30)) as connection:
            connection.request(method, path, body, dict(headers))
            answer = connection.getresponse()
            return Reply(answer.status, {n.lower(): v for n, v in answer.getheaders()}, answer.read().decode())

    def as_dev(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        """Make a request with the tenant's key."""
        return self.ask(method, path, body, {**JSON, **headers, "Authorization": f"Bearer {self.stack.api_key}"})

    def as_stranger(self, method: str, path: str) -> Reply:
        """Make a request with the other tenant's key."""
        return self.ask(method, path, None, {"Authorization": f"Bearer {self.strangers_key}"})

    def keys_of_items(self) -> set[tuple[str, ...]]:
        """The keys of all items that refused requests could have written: jobs, their other halves, names of jobs.

        Runs and segments are left out: jobs of other tests fire on the same stack meanwhile.
        """
        with closing(aws_client(self.stack.aws_endpoint, "dynamodb")) as dynamodb:
            pages = dynamodb.get_paginator("scan")
            jobs = items_of(pages.paginate(TableName=self.stack.outputs["JobsTable"], ConsistentRead=True))
            control = items_of(pages.paginate(TableName=self.stack.outputs["ControlTable"], ConsistentRead=True))
        written_by_clients = {("job", *key) for key in jobs if key[1] in {"JOB", "JOB#SPEC"}}
        return written_by_clients | {("name", *key) for key in control if key[0].startswith("NAME#")}


def items_of(pages: Any) -> set[tuple[str, str, str]]:
    """Keys of items, with what else tells a change: the revision of a job's other half."""
    return {
        (item["pk"]["S"], item["sk"]["S"], item.get("revision", {}).get("N", ""))
        for page in pages
        for item in page["Items"]
    }


@pytest.fixture(scope="module")
def world(stack: DevStack) -> World:
    """The stack with a second tenant."""
    created = stack.carillon("tenants", "create", "stranger", "--mode", "test", "--json")
    assert created.returncode == 0, created.stderr
    with Client(stack.url, stack.api_key) as client:
        own = client.create_job(job(name="of-dev", payload={"keep": "this"}))
    return World(stack, own["id"], json.loads(created.stdout)["api_key"])


@pytest.fixture(autouse=True)
def nothing_written(world: World) -> Iterator[None]:
    """Whatever the test sends, the tables hold what they held."""
    before = world.keys_of_items()
    yield
    assert world.keys_of_items() == before


@pytest.mark.parametrize(
    ("document", "status", "where", "code"), [pytest.param(*row[1:], id=row[0]) for row in DOCUMENTS]
)
def test_documents(world: World, document: Json, status: int, where: str, code: str) -> None:
    """A job that cannot be is refused under the name of its field."""
    body = json.dumps(document, ensure_ascii=False).encode()
    assert_refused(world.as_dev("POST", "/v1/jobs", body), status, {(where, code)})


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in BODIES])
def test_bodies(world: World, body: bytes) -> None:
    """What is no JSON object, or could be read in two ways, is 400."""
    assert_refused(world.as_dev("POST", "/v1/jobs", body), 400, {("", "bad_json")})


@pytest.mark.parametrize(("headers", "status", "where"), [pytest.param(*row[1:], id=row[0]) for row in HEADERS])
def test_headers(world: World, headers: dict[str, str], status: int, where: str) -> None:
    """Only plain JSON is read; the header at fault is named."""
    reply = world.as_dev("POST", "/v1/jobs", json.dumps(job()).encode(), **headers)
    assert_refused(reply, status, {(where, "unsupported")})


@pytest.mark.parametrize("authorization", [pytest.param(value, id=name) for name, value in KEYS])
@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/jobs"), ("GET", "/v1/jobs"), ("DELETE", "/v1/jobs/x")])
def test_keys(world: World, method: str, path: str, authorization: str | None) -> None:
    """Without a key that is in force nobody learns anything."""
    headers = JSON if authorization is None else {**JSON, "Authorization": authorization}
    reply = world.ask(method, path, json.dumps(job()).encode(), headers)
    assert_refused(reply, 401, {("Authorization", reply.json["errors"][0]["code"])})
    assert reply.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(("method", "path", "status"), [pytest.param(*row[1:], id=row[0]) for row in PATHS])
def test_paths(world: World, method: str, path: str, status: int) -> None:
    """What is not there, not allowed or not understood is a problem too."""
    reply = world.as_dev(method, path)
    assert_refused(reply, status, reply.errors)


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("DELETE", ""), ("GET", "/runs")])
def test_another_tenants_job_is_not_there(world: World, method: str, path: str) -> None:
    """With another tenant's key a job answers as one that never was, and stays as it is."""
    theirs = world.as_stranger(method, f"/v1/jobs/{world.job_id}{path}")
    nobodys = world.as_stranger(method, f"/v1/jobs/{NOBODY}{path}")
    assert_refused(theirs, 404, nobodys.errors)
    assert theirs.json["detail"].replace(world.job_id, "") == nobodys.json["detail"].replace(NOBODY, "")
    assert world.as_dev("GET", f"/v1/jobs/{world.job_id}").json["state"] == "scheduled"


def test_another_tenants_list_is_empty(world: World) -> None:
    """A tenant lists its own jobs only, and reads no other's runs."""
    assert world.as_stranger("GET", "/v1/jobs").json["data"] == []
    assert world.as_stranger("GET", f"/v1/runs/{world.job_id}@20300101T000000000Z").status == 404


def test_a_name_is_taken_once(world: World) -> None:
    """A second job of the same name is refused and names the first."""
    reply = world.as_dev("POST", "/v1/jobs", json.dumps(job(name="of-dev")).encode())
    assert_refused(reply, 409, reply.errors)
    assert (reply.json["code"], reply.json["job_id"]) == ("name_taken", world.job_id)
