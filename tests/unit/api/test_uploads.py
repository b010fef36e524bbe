"""Uploads of payloads by HTTP: asking for one, and jobs that refer to one."""

import re
from typing import Any

import pytest

from carillon.domain.target_policy import of_stage
from carillon.domain.uploads import MOST_UPLOAD_BYTES
from support.api import ApiUnderTest, Json, assert_refused, job

WISH = {"content_type": "image/png", "size": 5}
BYTES = b"\x89PN\x00\xff"
QUEUE = "https://sqs.eu-west-1.amazonaws.com/111122223333/orders"
QUEUES = ["*=arn:aws:sqs:eu-west-1:111122223333:orders"]


def uploaded(api: ApiUnderTest, tenant: str = "acme", key: str = "", body: bytes = BYTES) -> str:
    """The reference of an upload that was made."""
    reply = api.call("POST", "/v1/payloads", {**WISH, "size": len(body)}, key=key)
    assert reply.status == 201, reply.text
    reference: str = reply.json["payload_ref"]
    api.world.payloads.upload(tenant, reference, reply.json["headers"]["Content-Type"], body)
    return reference


def spec_of(api: ApiUnderTest, job_id: str) -> Any:
    """The stored half of a job."""
    stored = api.world.jobs.get(job_id)
    assert stored is not None
    return stored.spec


def test_the_leave_to_upload(api: ApiUnderTest) -> None:
    """A reference that nobody can guess, where to put what, and until when. Nothing is stored."""
    before = api.snapshot()
    reply = api.call("POST", "/v1/payloads", WISH)
    assert reply.status == 201
    assert re.fullmatch("pay_[0-9A-Z]{26}", reply.json["payload_ref"])
    assert (reply.json["method"], reply.json["headers"]) == ("PUT", {"Content-Type": "image/png"})
    assert reply.json["url"].startswith("https://")
    assert reply.json["expires_at"] == "2026-09-21T14:28:20.000Z"
    assert api.snapshot() == before
    assert api.call("POST", "/v1/payloads", WISH).json["payload_ref"] != reply.json["payload_ref"]


BAD: list[tuple[str, Json, set[tuple[str, str]]]] = [
    ("nothing", {}, {("/content_type", "required"), ("/size", "required")}),
    ("empty", {**WISH, "size": 0}, {("/size", "out_of_range")}),
    ("too-large", {**WISH, "size": MOST_UPLOAD_BYTES + 1}, {("/size", "out_of_range")}),
    ("size-is-text", {**WISH, "size": "5"}, {("/size", "wrong_type")}),
    ("unknown", {**WISH, "tenant": "globex"}, {("/tenant", "unknown_field")}),
    *(
        (f"type-{name}", {**WISH, "content_type": text}, {("/content_type", "invalid_value")})
        for name, text in {
            "empty": "",
            "one-part": "image",
            "blank": "image /png",
            "B208-line-feed": "image/png\nX-Evil: 1",
            "B208-return": "image/png\r\nX-Evil: 1",
            "not-ascii": "imagé/png",
            "open-quote": 'a/b; c="d',
            "long": "a/" + "b" * 254,
        }.items()
    ),
]


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(("body", "errors"), [pytest.param(*row[1:], id=row[0]) for row in BAD])
def test_leave_that_is_not_given(api: ApiUnderTest, body: Json, errors: set[tuple[str, str]]) -> None:
    """Size and type are checked when leave is asked for, each by its name."""
    assert_refused(api.call("POST", "/v1/payloads", body), 422, errors)


@pytest.mark.parametrize(
    "content_type", ["a/b", "text/csv; charset=utf-8", 'a/b;c="d e";f=g', "application/vnd.x+json"]
)
def test_types_that_are_taken(api: ApiUnderTest, content_type: str) -> None:
    """With parameters, quoted or not."""
    assert api.call("POST", "/v1/payloads", {**WISH, "content_type": content_type}).status == 201


def test_leave_is_not_kept_for_repetition(api: ApiUnderTest) -> None:
    """The URL is a secret: an Idempotency-Key, which would keep it for a day, is refused."""
    reply = api.call("POST", "/v1/payloads", WISH, headers={"Idempotency-Key": "once"})
    assert_refused(reply, 422, {("Idempotency-Key", "not_supported")})


def test_who_may_not_write_jobs_may_not_upload(api: ApiUnderTest) -> None:
    """The scope is that of creating jobs."""
    assert api.call("POST", "/v1/payloads", WISH, key=api.add_key("jobs:read")).status == 403


def test_a_job_takes_an_upload(api: ApiUnderTest) -> None:
    """It shows the reference, in lists too, and no payload; it has a copy of its own, under what was uploaded."""
    reference = uploaded(api)
    created = api.create(payload_ref=reference)
    assert created["payload_ref"] == reference
    assert "payload" not in created
    assert api.call("GET", "/v1/jobs").json["data"][0]["payload_ref"] == reference
    stored = spec_of(api, created["id"]).stored_payload
    assert (stored.reference, stored.content_type, stored.size_bytes) == (reference, "image/png", len(BYTES))
    assert api.world.payloads.payloads["acme", created["id"], reference] == ("image/png", BYTES)
    assert api.world.state.jobs[created["id"]].has_objects


def test_many_jobs_may_take_one_upload(api: ApiUnderTest) -> None:
    """Each has its own copy: none goes with another's job."""
    reference = uploaded(api)
    ids = [api.create(payload_ref=reference)["id"] for _ in range(3)]
    assert set(api.world.payloads.payloads) == {("acme", job_id, reference) for job_id in ids}


NOBODYS = "pay_" + "7" * 26


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    ("reference", "code"),
    [
        pytest.param(NOBODYS, "no_such_upload", id="of-nothing"),
        pytest.param("pay_1", "invalid_value", id="no-reference"),
        pytest.param("../globex/pay_" + "7" * 26, "invalid_value", id="a-path"),
        pytest.param(NOBODYS + "\n", "invalid_value", id="line-feed"),
        pytest.param(7, "wrong_type", id="number"),
    ],
)
def test_references_that_lead_nowhere(api: ApiUnderTest, reference: Json, code: str) -> None:
    """They are refused by the field's name, at a creation and at a put, and nothing is written."""
    for method, path in (("POST", "/v1/jobs"), ("PUT", "/v1/jobs/by-name/report")):
        assert_refused(api.call(method, path, job(payload_ref=reference)), 422, {("/payload_ref", code)})


def test_an_upload_of_another_tenant_is_none(api: ApiUnderTest) -> None:
    """Answered like one that never was: whoever knows a reference has no more by it."""
    theirs = uploaded(api, "globex", api.other_key)
    refused = api.call("POST", "/v1/jobs", job(payload_ref=theirs))
    assert_refused(refused, 422, {("/payload_ref", "no_such_upload")})
    nobodys = api.call("POST", "/v1/jobs", job(payload_ref=NOBODYS))
    assert refused.json["errors"] == nobodys.json["errors"]
    assert api.world.payloads.payloads == {}


def test_what_was_asked_for_and_not_uploaded_is_none(api: ApiUnderTest) -> None:
    """Leave alone makes no payload."""
    reference = api.call("POST", "/v1/payloads", WISH).json["payload_ref"]
    assert_refused(api.call("POST", "/v1/jobs", job(payload_ref=reference)), 422, {("/payload_ref", "no_such_upload")})


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        pytest.param("image/png", b"x" * (MOST_UPLOAD_BYTES + 1), id="too-large"),
        pytest.param("image/png\r\nX-Evil: 1", BYTES, id="B208-type"),
    ],
)
def test_what_is_not_as_was_asked_for_is_none(api: ApiUnderTest, content_type: str, body: bytes) -> None:
    """Should the store ever take what the leave did not name, no job takes it."""
    reference = uploaded(api)
    api.world.payloads.upload("acme", reference, content_type, body)
    assert_refused(api.call("POST", "/v1/jobs", job(payload_ref=reference)), 422, {("/payload_ref", "no_such_upload")})


@pytest.mark.usefixtures("nothing_written")
def test_a_payload_and_an_upload_are_too_much(api: ApiUnderTest) -> None:
    """One of them is the body; which one is not guessed. Null is a payload too."""
    reference = uploaded(api)
    for payload in ({"n": 1}, None):
        refused = api.call("POST", "/v1/jobs", job(payload=payload, payload_ref=reference))
        assert_refused(refused, 422, {("/payload_ref", "conflicting_fields")})


def test_a_queue_takes_no_upload() -> None:
    """A message is text: the field is named, and nothing is copied."""
    api = ApiUnderTest(policy=of_stage(queues=QUEUES))
    wish = {**job(payload_ref=uploaded(api)), "target": {"type": "queue", "queue_url": QUEUE}}
    assert_refused(api.call("POST", "/v1/jobs", wish), 422, {("/payload_ref", "conflicting_fields")})
    assert api.world.payloads.payloads == {}


def test_an_outage_of_the_store_is_told(api: ApiUnderTest) -> None:
    """503, and no job: it may be tried again."""
    reference = uploaded(api)
    api.world.payloads.is_down = True
    assert api.call("POST", "/v1/jobs", job(payload_ref=reference)).status == 503
    assert api.world.state.jobs == {}


def test_a_taken_name_copies_nothing(api: ApiUnderTest) -> None:
    """What is refused leaves no copy that no job refers to."""
    api.create(name="report")
    reference = uploaded(api)
    assert api.call("POST", "/v1/jobs", job(name="report", payload_ref=reference)).status == 409
    assert api.world.payloads.payloads == {}


# ------------------------------------------------------------------------------------------------------------- changes


def test_a_patch_lets_an_upload_take_the_place_of_a_payload(api: ApiUnderTest) -> None:
    """And a payload that of an upload; what was before is gone from the job."""
    job_id = api.create(payload={"n": 1})["id"]
    reference = uploaded(api)
    patched = api.patch(job_id, {"payload_ref": reference}).json
    assert ("payload" in patched, patched["payload_ref"]) == (False, reference)
    assert spec_of(api, job_id).payload is None
    patched = api.patch(job_id, {"payload": {"n": 2}}).json
    assert ("payload_ref" in patched, patched["payload"]) == (False, {"n": 2})
    assert spec_of(api, job_id).stored_payload is None
    assert api.world.state.jobs[job_id].has_objects, "the copy is there until the job goes"


@pytest.mark.parametrize("patch", [{"payload_ref": None}, {"payload_ref": None, "payload": None}])
def test_a_null_removes_the_upload(api: ApiUnderTest, patch: Json) -> None:
    """The job has no body then."""
    job_id = api.create(payload_ref=uploaded(api))["id"]
    patched = api.patch(job_id, patch).json
    assert {"payload", "payload_ref"}.isdisjoint(patched)


def test_what_a_patch_does_not_name_stays(api: ApiUnderTest) -> None:
    """Also when the upload itself is gone: the job has its copy."""
    reference = uploaded(api)
    job_id = api.create(payload_ref=reference)["id"]
    api.world.payloads.uploads.clear()
    etag = api.call("GET", f"/v1/jobs/{job_id}").headers["etag"]
    patched = api.patch(job_id, {"priority": "high"})
    assert (patched.json["payload_ref"], patched.headers["etag"]) == (reference, '"2"')
    assert etag == '"1"'
    assert api.patch(job_id, {"payload_ref": reference}).headers["etag"] == '"2"', "the same again changes nothing"


def test_a_patch_refers_to_what_there_is(api: ApiUnderTest) -> None:
    """A reference of nothing is refused, and the job stays."""
    job_id = api.create(payload={"n": 1})["id"]
    before = api.snapshot()
    assert_refused(api.patch(job_id, {"payload_ref": NOBODYS}), 422, {("/payload_ref", "no_such_upload")})
    both = {"payload_ref": NOBODYS, "payload": 1}
    assert_refused(api.patch(job_id, both), 422, {("/payload_ref", "conflicting_fields")})
    assert api.snapshot() == before


def test_a_put_takes_an_upload_once(api: ApiUnderTest) -> None:
    """Created by it, left alone by the same again after the upload is gone, changed by another."""
    first, second = uploaded(api), uploaded(api)
    path = "/v1/jobs/by-name/report"
    assert api.call("PUT", path, job(payload_ref=first)).status == 201
    api.world.payloads.uploads.pop(("acme", first))
    again = api.call("PUT", path, job(payload_ref=first))
    assert (again.status, again.json["revision"]) == (200, 1)
    changed = api.call("PUT", path, job(payload_ref=second)).json
    assert (changed["revision"], changed["payload_ref"]) == (2, second)


def test_a_repeated_creation_copies_to_the_same_place(api: ApiUnderTest) -> None:
    """By its Idempotency-Key it is one job, with one copy."""
    wish, key = job(payload_ref=uploaded(api)), {"Idempotency-Key": "once"}
    first, second = (api.call("POST", "/v1/jobs", wish, headers=key) for _ in range(2))
    assert first.json["id"] == second.json["id"]
    assert len(api.world.payloads.payloads) == 1
