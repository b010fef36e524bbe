"""PATCH /v1/jobs/{id}: what an edit changes, and what it leaves."""

import json

import pytest

from carillon.domain.instants import parse_instant
from carillon.domain.job import Lane
from carillon.domain.planning import window_offset
from support.api import MERGE_PATCH, ApiUnderTest, Json, assert_refused, job

MINUTE_MS = 60_000
HOUR_MS = 3_600_000
CRON = {"cron": "0 18 * * *", "timezone": "UTC", "dst_gap": "shift", "dst_overlap": "first"}
READ_ONLY = ("id", "state", "state_reason", "revision", "next_fire_time", "next_scheduled_for")


# --------------------------------------------------------------------------------------------------- what is changed

FIELDS: list[tuple[str, Json, Json]] = [
    ("priority", {"priority": "high"}, {"priority": "high"}),
    ("name", {"name": "nightly"}, {"name": "nightly"}),
    ("labels-are-merged", {"labels": {"tier": "1"}}, {"labels": {"team": "infra", "tier": "1"}}),
    ("a-label-is-removed", {"labels": {"team": None}}, {"labels": {}}),
    ("labels-are-removed", {"labels": None}, {"labels": {}}),
    ("deadline", {"deadline": "PT1M"}, {"deadline": "PT1M"}),
    ("deadline-is-removed", {"deadline": None}, {"deadline": None}),
    ("misfire-policy", {"misfire_policy": "skip"}, {"misfire_policy": "skip"}),
    ("null-is-the-default", {"misfire_policy": None, "priority": None}, {"misfire_policy": "fire_once"}),
    ("grace", {"misfire_grace": "PT5S", "max_catch_up": 3}, {"misfire_grace": "PT5S", "max_catch_up": 3}),
    ("retry-on", {"retry_on": [429]}, {"retry_on": [429]}),
    ("retry-on-is-removed", {"retry_on": None}, {"retry_on": None}),
    (
        "retry-is-replaced-whole",
        {"retry": {"base": "PT2S"}},
        {"retry": {"max_attempts": 5, "base": "PT2S", "factor": 2.0, "max_delay": "PT1M", "jitter": "full"}},
    ),
    ("retry-by-delays", {"retry": {"delays": ["PT1S"]}}, {"retry": {"max_attempts": 2, "delays": ["PT1S"]}}),
]


@pytest.mark.parametrize(("body", "shown"), [pytest.param(*row[1:], id=row[0]) for row in FIELDS])
def test_what_is_patched_and_nothing_else(api: ApiUnderTest, full: Json, body: Json, shown: Json) -> None:
    """B280: the named fields change, all others are kept, and so is the plan; the ETag and the time of edit move."""
    api.world.clock.advance(MINUTE_MS)
    after = api.patched(full["id"], body)
    changed = {"revision", "updated_at", *body}
    assert {name: after[name] for name in after.keys() - changed} == {
        name: full[name] for name in full.keys() - changed
    }
    assert {name: after[name] for name in shown} == shown
    assert (after["revision"], after["updated_at"]) == (2, "2026-09-21T14:14:20.000Z")


def test_the_target_is_merged(api: ApiUnderTest, full: Json) -> None:
    """Members of the target, and single headers, may be given alone."""
    after = api.patched(full["id"], {"target": {"timeout": "PT2M", "headers": {"X-A": "1"}}})
    assert after["target"] == {
        **full["target"],
        "timeout": "PT2M",
        "headers": {"X-Team": "infra", "X-A": "1"},
    }
    assert api.world.state.jobs[full["id"]].lane is Lane.LONG
    removed = api.patched(full["id"], {"target": {"timeout": None, "headers": {"X-Team": None}}})
    assert (removed["target"]["timeout"], removed["target"]["headers"]) == ("PT15S", {"X-A": "1"})


@pytest.mark.parametrize("content_type", [MERGE_PATCH, "application/json", f"{MERGE_PATCH}; charset=utf-8"])
def test_media_types_of_patches(api: ApiUnderTest, full: Json, content_type: str) -> None:
    """A merge patch may be declared as one or as plain JSON."""
    headers = {"If-Match": '"1"', "content-type": content_type}
    reply = api.call("PATCH", f"/v1/jobs/{full['id']}", {"priority": "high"}, headers=headers)
    assert (reply.status, reply.headers["etag"]) == (200, '"2"')


# --------------------------------------------------------------------------------------------------------- the payload


@pytest.mark.parametrize("payload", ["[0.1, 30.40, 1E2]", '{"a": 1, "a": 2}', '{ "z" : null }', "false", '"é"'])
def test_a_payload_is_replaced_to_the_letter(api: ApiUnderTest, full: Json, payload: str) -> None:
    """B202: the new payload is the text as it stands in the patch, neither merged nor written anew."""
    reply = api.patch(full["id"], raw=f'{{"payload":\n {payload} , "priority": "high"}}')
    assert reply.status == 200
    stored = api.world.jobs.get(full["id"])
    assert stored is not None
    assert stored.spec.payload == payload.encode()
    assert f'"payload": {payload}}}' in reply.text


def test_a_payload_that_is_not_named_stays_to_the_letter(api: ApiUnderTest) -> None:
    """An edit of something else leaves every byte of the payload."""
    raw = '{"schedule": {"delay": "PT1H"}, "payload": [30.40,  1E2], "target": ' + json.dumps(job()["target"]) + "}"
    job_id = api.call("POST", "/v1/jobs", raw=raw).json["id"]
    assert '"payload": [30.40,  1E2]}' in api.patch(job_id, {"priority": "high"}).text


def test_a_null_removes_the_payload(api: ApiUnderTest, full: Json) -> None:
    """As any null of a merge patch: the callback has no body then."""
    assert "payload" not in api.patched(full["id"], {"payload": None})
    assert api.patched(full["id"], {"payload": None})["revision"] == 2


# -------------------------------------------------------------------------------------------------------- the schedule


def at(api: ApiUnderTest, instant: str) -> None:
    """Set the clock."""
    api.world.clock.set(parse_instant(instant))


@pytest.mark.parametrize(
    ("before", "created", "after", "edited", "next_fire"),
    [
        ("0 18 * * *", "2026-06-02T14:00:00Z", "0 10 * * *", "2026-06-02T15:00:00Z", "2026-06-03T10:00:00.000Z"),
        ("0 21 * * 2,5", "2024-02-06T22:00:00Z", "0 23 * * 3,0", "2024-02-09T02:10:00Z", "2024-02-11T23:00:00.000Z"),
        ("0 0 1 1 *", "2026-01-02T00:00:00Z", "0 * * * *", "2026-06-01T10:20:00Z", "2026-06-01T11:00:00.000Z"),
    ],
    ids=["B133", "B134", "B136"],
)
def test_an_edit_is_never_a_misfire(
    api: ApiUnderTest, before: str, created: str, after: str, edited: str, next_fire: str
) -> None:
    """The next fire is the new schedule's first one after the edit; nothing of its past is planned or recorded."""
    at(api, created)
    job_id = api.create(schedule={"cron": before})["id"]
    at(api, edited)
    shown = api.patched(job_id, {"schedule": {"cron": after}})
    assert (shown["next_fire_time"], shown["next_scheduled_for"], shown["state"]) == (next_fire, next_fire, "scheduled")
    assert not api.world.state.runs[job_id]
    assert not api.world.state.segments


def test_b155_a_paused_job_stays_paused(api: ApiUnderTest) -> None:
    """B155: after a PATCH the pause and the policy stand; from the resume on the new rule counts from now."""
    at(api, "2026-06-01T10:30:00Z")
    job_id = api.create(schedule={"cron": "0 * * * *"}, misfire_policy="skip")["id"]
    api.call("POST", f"/v1/jobs/{job_id}/pause")
    at(api, "2026-06-01T10:50:00Z")
    shown = api.patched(job_id, {"schedule": {"cron": "30 * * * *"}})
    assert (shown["state"], shown["next_fire_time"]) == ("paused", None)
    at(api, "2026-06-01T12:45:00Z")
    resumed = api.call("POST", f"/v1/jobs/{job_id}/resume").json
    assert (resumed["next_fire_time"], resumed["misfire_policy"]) == ("2026-06-01T13:30:00.000Z", "skip")


SAME: list[tuple[str, Json, Json]] = [
    ("nothing", CRON, {}),
    ("cron", CRON, {"schedule": CRON}),
    ("cron-without-defaults", CRON, {"schedule": {"cron": "0  18 * * *"}}),
    ("cron-by-a-name", {"cron": "0 9 * * 1"}, {"schedule": {"cron": "0 9 * * Mon"}}),
    ("cron-by-a-number", {"cron": "0 9 * JAN 0"}, {"schedule": {"cron": "00 9 ? 1 7"}}),
    ("cron-without-its-alias", {"cron": "@daily"}, {"schedule": {"cron": "0 0 * * *"}}),
    ("every", {"every": "PT1H"}, {"schedule": {"every": "PT60M"}}),
    ("every-with-nulls", {"every": "PT1H"}, {"schedule": {"every": "PT1H", "start_at": None, "max_runs": None}}),
    ("every-of-days", {"every": "P1D", "max_runs": 3}, {"schedule": {"every": "PT24H", "max_runs": 3}}),
    ("started", {"every": "PT1H", "start_at": "2026-09-22T00:00:00Z"}, None),
    ("once", {"run_at": "2030-01-01T00:00:00Z"}, {"schedule": {"run_at": "2030-01-01T05:30:00+05:30"}}),
    ("delay", {"delay": "PT1H"}, None),
]


@pytest.mark.parametrize(("schedule", "body"), [pytest.param(*row[1:], id=row[0]) for row in SAME])
def test_a_patch_of_what_is_so_already_changes_nothing(api: ApiUnderTest, schedule: Json, body: Json) -> None:
    """B104, B154: the same ETag, plan and bytes, whatever the spelling; None: the whole job as it is shown."""
    created = api.create(schedule=schedule, labels={"a": "b"}, payload=[1.5], retry={"delays": ["PT1S", "PT2S"]})
    api.world.clock.advance(17_000)
    before = api.snapshot()
    writable = {name: value for name, value in created.items() if name not in (*READ_ONLY, "created_at", "updated_at")}
    reply = api.patch(created["id"], writable if body is None else body)
    assert (reply.status, reply.headers["etag"]) == (200, '"1"')
    assert reply.text == api.call("GET", f"/v1/jobs/{created['id']}").text
    assert api.snapshot() == before


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("0 9 * * 1", "0 9 * * 2"),
        ("0 9 1 * *", "0 9 1 * 0-6"),
        ("0-59 9 * * *", "* 9 * * *"),
    ],
    ids=["another-day", "a-star-is-no-range-of-days", "a-star-is-no-range-of-minutes"],
)
def test_another_meaning_is_an_edit(api: ApiUnderTest, before: str, after: str) -> None:
    """What the rules for both day fields, or for clock changes, tell apart is not the same expression."""
    job_id = api.create(schedule={"cron": before})["id"]
    shown = api.patched(job_id, {"schedule": {"cron": after}})
    assert (shown["schedule"]["cron"], shown["revision"]) == (after, 2)


@pytest.mark.parametrize(
    ("schedule", "wanted", "next_fire"),
    [
        ({"every": "PT1H"}, {"every": "PT1H", "end_at": "2030-01-01T00:00:00Z"}, "2026-09-21T15:13:20.000Z"),
        ({"every": "PT1H"}, {"every": "PT30M"}, "2026-09-21T14:53:20.000Z"),
        ({"every": "PT1H"}, {"every": "PT1H", "start_at": "2026-09-21T00:00:00Z"}, "2026-09-21T15:00:00.000Z"),
        ({"every": "PT1H", "start_at": "2030-01-01T00:00:00Z"}, {"every": "PT1H"}, "2026-09-21T15:23:20.000Z"),
        ({"cron": "0 18 * * *"}, {"every": "PT1H"}, "2026-09-21T15:23:20.000Z"),
        ({"every": "PT1H"}, {"delay": "PT5M"}, "2026-09-21T14:28:20.000Z"),
        ({"every": "PT1H"}, {"delay": "PT0S"}, "2026-09-21T14:23:20.000Z"),
    ],
    ids=["bound", "interval", "start", "no-start-any-more", "from-cron", "delay", "at-once"],
)
def test_where_an_interval_is_anchored_after_an_edit(
    api: ApiUnderTest, schedule: Json, wanted: Json, next_fire: str
) -> None:
    """Created at 14:13:20, edited at 14:23:20: the same interval keeps its anchor; a new one begins with the edit."""
    job_id = api.create(schedule=schedule)["id"]
    api.world.clock.advance(10 * MINUTE_MS)
    assert api.patched(job_id, {"schedule": wanted})["next_fire_time"] == next_fire


def test_what_was_due_before_an_edit_is_left_to_the_old_schedule(api: ApiUnderTest) -> None:
    """Occurrences due and not confirmed become a segment; the answer shows the new plan."""
    job_id = api.create(schedule={"every": "PT1M"})["id"]
    api.world.clock.advance(3 * MINUTE_MS)
    assert api.patched(job_id, {"schedule": {"cron": "@daily"}})["next_fire_time"] == "2026-09-22T00:00:00.000Z"
    assert list(api.world.state.segments) == [(job_id, 1)]


def test_a_limit_that_is_reached_completes_the_job(api: ApiUnderTest) -> None:
    """`max_runs` belongs to the schedule: nothing is shown as next that is not to come."""
    job_id = api.create(schedule={"every": "PT1M"})["id"]
    api.store_job(job_id, planned=5)
    shown = api.patched(job_id, {"schedule": {"every": "PT1M", "max_runs": 5}})
    assert (shown["state"], shown["next_fire_time"]) == ("completed", None)


def test_a_window_moves_the_fire_and_not_the_occurrence(api: ApiUnderTest) -> None:
    """Both times are shown: the nominal one, and when its run is due."""
    job_id = api.create(schedule=CRON)["id"]
    shown = api.patched(job_id, {"window": "PT1H"})
    stored = api.world.state.jobs[job_id]
    assert shown["window"] == "PT1H"
    assert shown["next_scheduled_for"] == "2026-09-21T18:00:00.000Z"
    assert stored.next_fire_time == (stored.scheduled_for or 0) + window_offset(job_id, HOUR_MS)
    assert api.patched(job_id, {"window": None})["next_fire_time"] == shown["next_scheduled_for"]


# ------------------------------------------------------------------------------------------------------------ the name


def test_a_job_is_renamed(api: ApiUnderTest) -> None:
    """The new name is its own, and the former one is free."""
    job_id = api.create(name="nightly")["id"]
    assert api.patched(job_id, {"name": "daily"})["name"] == "daily"
    assert api.call("POST", "/v1/jobs", job(name="daily")).json["job_id"] == job_id
    assert api.create(name="nightly")["id"] != job_id
    assert api.patched(job_id, {"name": None})["name"] is None
    api.create(name="daily")


def test_a_taken_name_is_a_conflict(api: ApiUnderTest) -> None:
    """409 with the holder's id, and the job keeps its name and everything else."""
    holder = api.create(name="daily")["id"]
    job_id = api.create(name="nightly")["id"]
    before = api.snapshot()
    reply = api.patch(job_id, {"name": "daily", "priority": "high"})
    assert_refused(reply, 409, {("/name", "name_taken")})
    assert (reply.json["code"], reply.json["job_id"]) == ("name_taken", holder)
    assert api.snapshot() == before
