"""PATCH /v1/jobs/{id}: conditions, media types, jobs that would not be valid, jobs that have ended, and lost races."""

from dataclasses import replace
from typing import Any

import pytest

from carillon.adapters.memory.jobs import MemoryJobStore
from carillon.domain.job import JobState, Revision
from carillon.domain.revisions import MOST_REVISIONS
from carillon.ports.errors import UnavailableError
from support.api import MERGE_PATCH, SECRET_VALUE, ApiUnderTest, Json, assert_refused


@pytest.mark.parametrize(
    ("if_match", "status"),
    [
        *(("*", 200), ('"1"', 200), ('"7", "1"', 200), (' "1" ', 200)),
        *(('"2"', 412), ('W/"1"', 412), ('W/"1", "3"', 412), ('"x"', 412), ("1", 412), ("", 412), ('"01"', 412)),
        (None, 428),
    ],
)
def test_an_edit_is_of_a_revision(api: ApiUnderTest, full: Json, if_match: str | None, status: int) -> None:
    """428 without a condition, 412 when it does not hold; lists and * may stand, weak tags match nothing."""
    reply = api.patch(full["id"], {"priority": "high"}, if_match=if_match)
    assert reply.status == status
    assert (api.world.state.specs[full["id"]].revision == 2) == (status == 200)
    if status != 200:
        code = {412: "revision_mismatch", 428: "required"}[status]
        assert_refused(reply, status, {("If-Match", code)})


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/json-patch+json", "application/xml"])
def test_other_media_types(api: ApiUnderTest, full: Json, content_type: str | None) -> None:
    """415, and the answer says which patches are read."""
    headers = {"If-Match": "*", "content-type": content_type}
    reply = api.call("PATCH", f"/v1/jobs/{full['id']}", {"priority": "high"}, headers=headers)
    assert_refused(reply, 415, {("Content-Type", "unsupported")})
    assert reply.headers["accept-patch"] == f"{MERGE_PATCH}, application/json"


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize("raw", ["", "[]", "null", '"a"', '{"name": "a", "name": "b"}', '{"name": NaN}', b"\xff"])
def test_patches_that_are_no_object(api: ApiUnderTest, raw: str | bytes) -> None:
    """A patch of a job is an object that can be read in one way only."""
    assert_refused(api.patch("job_" + "0" * 26, raw=raw), 400, {("", "bad_json")})


MINUTE_MS = 60_000
CRON = {"cron": "0 18 * * *"}
FUTURE = {"run_at": "2031-01-01T00:00:00Z"}
BAD: list[tuple[str, Json, set[tuple[str, str]]]] = [
    ("unknown", {"nmae": SECRET_VALUE}, {("/nmae", "unknown_field")}),
    ("unknown-removed", {"nmae": None}, {("/nmae", "unknown_field")}),
    ("read-only", {"id": "job_1", "revision": 7}, {("/id", "unknown_field"), ("/revision", "unknown_field")}),
    ("state", {"state": "paused"}, {("/state", "unknown_field")}),
    ("next-fire", {"next_fire_time": "2031-01-01T00:00:00Z"}, {("/next_fire_time", "unknown_field")}),
    ("unknown-of-target", {"target": {"verb": "GET"}}, {("/target/verb", "unknown_field")}),
    ("unknown-of-target-removed", {"target": {"verb": None}}, {("/target/verb", "unknown_field")}),
    ("no-target", {"target": None}, {("/target", "required")}),
    ("no-url", {"target": {"url": None}}, {("/target/url", "required")}),
    ("target-is-text", {"target": SECRET_VALUE}, {("/target", "wrong_type")}),
    ("no-schedule", {"schedule": None}, {("/schedule", "required")}),
    ("schedule-is-not-merged", {"schedule": {"timezone": "UTC"}}, {("/schedule", "not_one_schedule")}),
    ("two-schedules", {"schedule": {**FUTURE, "every": "PT1H"}}, {("/schedule", "not_one_schedule")}),
    ("cron", {"schedule": {"cron": "61 * * * *"}}, {("/schedule/cron", "invalid_value")}),
    ("past", {"schedule": {"run_at": "2026-09-21T14:13:19.999Z"}}, {("/schedule/run_at", "no_occurrence")}),
    (
        "ended",
        {"schedule": {"cron": "0 2 * * *", "end_at": "2026-09-21T20:00:00Z"}},
        {("/schedule/end_at", "no_occurrence")},
    ),
    ("B280-wrong", {"misfire_policy": "FIRE_ALL"}, {("/misfire_policy", "not_a_choice")}),
    ("attempts", {"retry": {"max_attempts": 0}}, {("/retry/max_attempts", "out_of_range")}),
    ("both-retries", {"retry": {"delays": ["PT1S"], "factor": 3}}, {("/retry/factor", "conflicting_fields")}),
    ("window", {"window": "P1D"}, {("/window", "out_of_range")}),
    ("overlap", {"overlap": "skip"}, {("/overlap", "not_supported")}),
    ("payload-ref", {"payload_ref": "pay_1"}, {("/payload_ref", "invalid_value")}),
    ("url", {"target": {"url": "https://127.0.0.1/"}}, {("/target/url", "numeric_host")}),
    ("header", {"target": {"headers": {"Host": "a"}}}, {("/target/headers/Host", "reserved_header")}),
    ("header-twice", {"target": {"headers": {"x-team": "a"}}}, {("/target/headers/x-team", "duplicate_header")}),
    ("label", {"labels": {"a b": "c"}}, {("/labels", "invalid_value")}),
    ("name", {"name": " nightly"}, {("/name", "invalid_value")}),
]


@pytest.mark.parametrize("paused", [False, True], ids=["scheduled", "paused"])
@pytest.mark.parametrize(("body", "errors"), [pytest.param(*row[1:], id=row[0]) for row in BAD])
def test_jobs_that_would_not_be_valid(
    api: ApiUnderTest, full: Json, body: Json, errors: set[tuple[str, str]], *, paused: bool
) -> None:
    """The merged document is judged as at a creation; what is wrong is named by its place, and nothing is written."""
    if paused:
        api.call("POST", f"/v1/jobs/{full['id']}/pause")
    before = api.snapshot()
    assert_refused(api.patch(full["id"], body), 422, errors)
    assert api.snapshot() == before


def test_a_payload_that_is_too_large(api: ApiUnderTest, full: Json) -> None:
    """The limits of a creation hold."""
    assert_refused(api.patch(full["id"], {"payload": "a" * 256 * 1024}), 413, {("/payload", "too_large")})


@pytest.mark.parametrize("state", [JobState.DISPATCHED, JobState.COMPLETED, JobState.CANCELLED])
@pytest.mark.parametrize("body", [{"schedule": FUTURE}, {"priority": "high"}, {"name": "again"}])
def test_a_job_that_has_ended(api: ApiUnderTest, state: JobState, body: Json) -> None:
    """B154: 409 job_finished, and nothing is written."""
    job_id = api.create(schedule={"delay": "PT1M"})["id"]
    api.store_job(job_id, state=state, scheduled_for=None, next_fire_time=None, planned=1, planned_until=1)
    before = api.snapshot()
    reply = api.patch(job_id, body)
    assert_refused(reply, 409, set())
    assert reply.json["code"] == "job_finished"
    assert api.snapshot() == before


def test_a_single_run_that_was_only_sent_ahead_can_be_moved(api: ApiUnderTest) -> None:
    """Handed over before its time, and not yet due: the edit takes it back."""
    created = api.create(schedule={"delay": "PT1M"})
    due_ms = api.world.clock.now_ms() + MINUTE_MS
    api.store_job(
        created["id"],
        state=JobState.DISPATCHED,
        scheduled_for=None,
        next_fire_time=None,
        planned=1,
        planned_until=due_ms,
    )
    shown = api.patched(created["id"], {"schedule": FUTURE})
    assert (shown["state"], shown["next_fire_time"]) == ("scheduled", "2031-01-01T00:00:00.000Z")


def test_too_many_edits(api: ApiUnderTest, full: Json) -> None:
    """429 with the time to wait in seconds; an edit of something else than the schedule is not counted."""
    now_ms = api.world.clock.now_ms()
    spec = api.world.state.specs[full["id"]]
    revisions = tuple(Revision(number, now_ms - 1_000 + number) for number in range(1, MOST_REVISIONS + 1))
    api.world.state.specs[full["id"]] = replace(spec, revisions=revisions)
    reply = api.patch(full["id"], {"schedule": {"cron": "@daily"}})
    assert_refused(reply, 429, set())
    assert reply.json["code"] == "too_many_edits"
    assert int(reply.headers["retry-after"]) == 15 * 24 * 3600
    assert api.patch(full["id"], {"priority": "high"}).status == 200


def test_a_damaged_job_is_mended_by_a_new_schedule(api: ApiUnderTest, full: Json) -> None:
    """A job in error says so, wants a schedule, and is planned again with one."""
    api.store_job(full["id"], state=JobState.ERROR, schedule="??", scheduled_for=None, next_fire_time=None, error="x")
    assert_refused(api.patch(full["id"], {"priority": "high"}), 422, {("/schedule", "required")})
    shown = api.patched(full["id"], {"schedule": CRON})
    assert (shown["state"], shown["next_fire_time"]) == ("scheduled", "2026-09-21T18:00:00.000Z")
    assert "error" not in shown


# --------------------------------------------------------------------------------------------------------------- races


class Contended(MemoryJobStore):
    """A store in which a dispatcher is faster so many times, and which then may not answer at all."""

    def __init__(self, api: ApiUnderTest, faster: int, *, silent: bool = False) -> None:
        super().__init__(api.world.state)
        self.faster, self.silent = faster, silent

    def replace(self, definition: Any, **conditions: Any) -> bool:
        """Lose the race, or write."""
        if self.silent:
            raise UnavailableError("in another transaction")
        if self.faster:
            self.faster -= 1
            stored = self._state.jobs[definition.job.id]
            self._state.put_job(replace(stored, version=stored.version + 1))
        return super().replace(definition, **conditions)


@pytest.mark.parametrize(("faster", "status"), [(1, 200), (9, 200), (10, 503)])
def test_b145_a_lost_race_is_run_again(api: ApiUnderTest, full: Json, faster: int, status: int) -> None:
    """B137, B145: a dispatcher that writes first costs another reading, never the edit, and never a failure of ours."""
    api.handle = api.build(jobs=Contended(api, faster))
    reply = api.patch(full["id"], {"schedule": {"cron": "0 10 * * *"}}, if_match='"1"')
    assert reply.status == status
    shown = api.call("GET", f"/v1/jobs/{full['id']}").json
    assert shown["schedule"]["cron"] == ("0 10 * * *" if status == 200 else "0 18 * * *")


def test_b145_a_conflict_that_lasts_is_not_a_failure_of_ours(api: ApiUnderTest, full: Json) -> None:
    """B145: when the tables do not answer: 503 with Retry-After."""
    api.handle = api.build(jobs=Contended(api, 0, silent=True))
    reply = api.patch(full["id"], {"priority": "high"})
    assert (reply.status, reply.json["code"], reply.headers["retry-after"]) == (503, "unavailable", "1")


def test_a_stale_writer_loses(api: ApiUnderTest, full: Json) -> None:
    """Of two clients who have seen the same revision, the second gets 412."""
    assert api.patch(full["id"], {"priority": "high"}, if_match='"1"').status == 200
    assert api.patch(full["id"], {"priority": "low"}, if_match='"1"').status == 412
    assert api.call("GET", f"/v1/jobs/{full['id']}").json["priority"] == "high"


def test_the_repeat_of_a_patch_whose_answer_was_lost(api: ApiUnderTest) -> None:
    """The job is as the patch would have it: 200, by its own first try. Another wish for that revision is 412."""
    job_id = api.create()["id"]
    etag = api.call("GET", f"/v1/jobs/{job_id}").headers["etag"]
    first = api.patch(job_id, {"priority": "low"}, if_match=etag)
    again = api.patch(job_id, {"priority": "low"}, if_match=etag)
    assert (again.status, again.text, again.headers["etag"]) == (200, first.text, first.headers["etag"])
    assert api.patch(job_id, {"priority": "high"}, if_match=etag).status == 412
