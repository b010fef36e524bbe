"""POST /v1/jobs: what is accepted, and what the answer says of it."""

import json

import pytest

from carillon.domain.durations import parse_duration
from carillon.domain.instants import format_instant
from carillon.domain.job import Lane
from carillon.domain.planning import window_offset
from carillon.domain.targets import development
from support.api import ApiUnderTest, job

NOW = "2026-09-21T14:13:20.000Z"
FULL = {
    "name": "nightly-backup",
    "schedule": {"cron": "0 2 * * *", "timezone": "Asia/Kolkata"},
    "target": {
        "type": "http",
        "url": "https://svc.carillon.dev/backup",
        "method": "POST",
        "headers": {"X-Team": "infra"},
        "timeout": "PT15S",
    },
    "payload": {"depth": "full"},
    "priority": "normal",
    "retry": {"max_attempts": 5, "base": "PT1S", "factor": 2, "max_delay": "PT1M", "jitter": "full"},
    "misfire_policy": "fire_once",
    "misfire_grace": "PT1M",
    "max_catch_up": 100,
    "deadline": "PT5M",
    "window": "PT0S",
    "overlap": "allow",
    "labels": {"team": "infra"},
}


def test_the_documented_example_is_accepted_and_shown_whole(api: ApiUnderTest) -> None:
    """The example of the interface gives 201, where it is, its ETag, and every value that was sent."""
    reply = api.call("POST", "/v1/jobs", FULL)
    assert reply.status == 201
    created = reply.json
    assert reply.headers["location"] == f"/v1/jobs/{created['id']}"
    assert reply.headers["etag"] == '"1"'
    assert reply.headers["cache-control"] == "no-store"
    assert created["schedule"] == {**FULL["schedule"], "dst_gap": "shift", "dst_overlap": "first"}
    assert {name: created[name] for name in FULL if name != "schedule"} == {
        name: value for name, value in FULL.items() if name != "schedule"
    }
    assert created["state"] == "scheduled"
    assert created["revision"] == 1
    assert created["next_fire_time"] == created["next_scheduled_for"] == "2026-09-21T20:30:00.000Z"
    assert created["created_at"] == created["updated_at"] == NOW


def test_what_was_created_can_be_read_at_once(api: ApiUnderTest) -> None:
    """A job reads as it was answered at its creation, with the same ETag."""
    created = api.call("POST", "/v1/jobs", FULL)
    read = api.call("GET", created.headers["location"])
    assert (read.status, read.text, read.headers["etag"]) == (200, created.text, created.headers["etag"])


def test_defaults_are_shown(api: ApiUnderTest) -> None:
    """B280: what was left out is answered with the documented defaults."""
    created = api.create()
    assert created["misfire_policy"] == "fire_once"
    assert created["misfire_grace"] == "PT1M"
    assert created["max_catch_up"] == 100
    assert created["retry"] == {
        "max_attempts": 5,
        "base": "PT1S",
        "factor": 2.0,
        "max_delay": "PT1M",
        "jitter": "full",
    }
    assert (created["priority"], created["overlap"], created["window"]) == ("normal", "allow", "PT0S")
    assert (created["name"], created["deadline"], created["labels"]) == (None, None, {})
    assert created["target"]["method"] == "POST"
    assert created["target"]["timeout"] == "PT15S"
    assert "payload" not in created


@pytest.mark.parametrize(
    ("schedule", "shown", "first"),
    [
        ({"run_at": "2026-09-21T20:00:00+05:30"}, {"run_at": "2026-09-21T14:30:00.000Z"}, "2026-09-21T14:30:00.000Z"),
        (
            {"run_at": "2026-11-01T01:30:00", "timezone": "America/New_York", "dst_overlap": "last"},
            {"run_at": "2026-11-01T06:30:00.000Z"},
            "2026-11-01T06:30:00.000Z",
        ),
        ({"delay": "PT10S"}, {"run_at": "2026-09-21T14:13:30.000Z"}, "2026-09-21T14:13:30.000Z"),
        ({"delay": "PT0S"}, {"run_at": NOW}, NOW),
        ({"every": "PT90S"}, {"every": "PT1M30S"}, "2026-09-21T14:14:50.000Z"),
        (
            {"every": "PT1H", "start_at": "2026-09-22T00:00:00Z", "end_at": "2026-10-01T00:00:00Z", "max_runs": 3},
            {
                "every": "PT1H",
                "start_at": "2026-09-22T00:00:00.000Z",
                "end_at": "2026-10-01T00:00:00.000Z",
                "max_runs": 3,
            },
            "2026-09-22T00:00:00.000Z",
        ),
        (
            {"every": "PT1H", "start_at": "2026-09-21T00:00:01Z"},
            {"every": "PT1H", "start_at": "2026-09-21T00:00:01.000Z"},
            "2026-09-21T15:00:01.000Z",
        ),
        (
            {"cron": "@daily"},
            {"cron": "@daily", "timezone": "UTC", "dst_gap": "shift", "dst_overlap": "first"},
            "2026-09-22T00:00:00.000Z",
        ),
        (
            {"cron": "0  9 * * MON-FRI", "timezone": "Europe/Berlin", "dst_gap": "skip", "dst_overlap": "both"},
            {"cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "dst_gap": "skip", "dst_overlap": "both"},
            "2026-09-22T07:00:00.000Z",
        ),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else None,
)
def test_each_kind_of_schedule(api: ApiUnderTest, schedule: dict[str, object], shown: object, first: str) -> None:
    """Every kind of schedule is accepted, shown in its canonical form, and planned from its creation."""
    created = api.create(schedule=schedule)
    assert created["schedule"] == shown
    assert created["next_fire_time"] == first


def test_an_instant_that_is_now_runs_at_once(api: ApiUnderTest) -> None:
    """B271: a run_at equal to the present is due, not past."""
    assert api.create(schedule={"run_at": NOW})["next_fire_time"] == NOW


@pytest.mark.parametrize("window", ["PT0S", "PT1S", "PT10M", "PT23H"])
def test_a_window_spreads_the_runs(api: ApiUnderTest, window: str) -> None:
    """Shown are the nominal time and when the run is due: a constant delay of the job later, less than the window."""
    created = api.create(schedule={"cron": "0 2 * * *"}, window=window)
    stored = api.world.state.jobs[created["id"]]
    assert (created["window"], created["next_scheduled_for"]) == (window, "2026-09-22T02:00:00.000Z")
    delay_ms = window_offset(stored.id, parse_duration(window))
    assert created["next_fire_time"] == format_instant((stored.scheduled_for or 0) + delay_ms)
    assert stored.next_fire_time == (stored.scheduled_for or 0) + delay_ms


@pytest.mark.parametrize(
    ("retry", "shown"),
    [
        ({"delays": ["PT5S", "PT5M"]}, {"max_attempts": 3, "delays": ["PT5S", "PT5M"]}),
        ({"delays": ["PT5S"], "max_attempts": 10}, {"max_attempts": 10, "delays": ["PT5S"]}),
        (
            {"max_attempts": 1, "jitter": "none"},
            {"max_attempts": 1, "base": "PT1S", "factor": 2.0, "max_delay": "PT1M", "jitter": "none"},
        ),
    ],
)
def test_retry_by_delays_or_formula(api: ApiUnderTest, retry: object, shown: object) -> None:
    """A list of delays replaces the formula; without a number of attempts there is one more than delays."""
    assert api.create(retry=retry)["retry"] == shown


def test_long_calls_take_the_long_lane(api: ApiUnderTest) -> None:
    """A timeout over a minute sends a job's runs by the long queue."""
    lanes = [
        api.world.state.jobs[api.create(target__timeout=timeout)["id"]].lane for timeout in ("PT1M", "PT1M1S", "PT14M")
    ]
    assert lanes == [Lane.SHORT, Lane.LONG, Lane.LONG]


def test_null_stands_for_none_where_there_may_be_none(api: ApiUnderTest) -> None:
    """A client may send null for a name, a deadline, bounds and the statuses to retry."""
    created = api.create(
        name=None, deadline=None, retry_on=None, schedule={"every": "PT1M", "start_at": None, "max_runs": None}
    )
    assert (created["name"], created["deadline"], created["retry_on"]) == (None, None, None)


def test_the_shard_ledger_knows_our_count_before_a_job_lives_there(api: ApiUnderTest) -> None:
    """Jobs are hashed onto the stage's shards, or onto more if more were ever used; the ledger learns of it."""
    api.create()
    assert api.world.shards.highest() == 64
    api.world.shards.raise_to(4096)
    api.handle = api.build()
    shards = [api.world.state.jobs[api.create()["id"]].shard for _ in range(20)]
    assert max(shards) >= 64


def test_a_taken_name_is_a_conflict_that_names_the_holder(api: ApiUnderTest) -> None:
    """Names are unique within a tenant: 409 with the holder's id; another tenant may use the same."""
    holder = api.create(name="nightly")
    reply = api.call("POST", "/v1/jobs", job(name="nightly"))
    assert (reply.status, reply.json["code"], reply.json["job_id"]) == (409, "name_taken", holder["id"])
    assert reply.errors == {("/name", "name_taken")}
    assert api.call("POST", "/v1/jobs", job(name="nightly"), key=api.other_key).status == 201


def test_a_cancelled_job_gives_its_name_back(api: ApiUnderTest) -> None:
    """After a cancel the name may be used again."""
    holder = api.create(name="nightly")
    api.call("DELETE", f"/v1/jobs/{holder['id']}")
    assert api.create(name="nightly")["id"] != holder["id"]


def test_a_development_stage_may_allow_loopback() -> None:
    """With the stage's explicit setting, and only then, http to loopback is accepted."""
    local = job(target__url="http://127.0.0.1:8123/hook")
    assert ApiUnderTest(policy=development()).call("POST", "/v1/jobs", local).status == 201
    assert ApiUnderTest().call("POST", "/v1/jobs", local).status == 422


def test_a_body_in_base64_is_read(api: ApiUnderTest) -> None:
    """The gateway hands some bodies over in base64."""
    reply = api.call("POST", "/v1/jobs", raw=json.dumps(job(name="b64")).encode())
    assert (reply.status, reply.json["name"]) == (201, "b64")


@pytest.mark.parametrize(
    "content_type", ["application/json", "application/json; charset=utf-8", 'Application/JSON;charset="UTF-8"']
)
def test_spellings_of_the_content_type(api: ApiUnderTest, content_type: str) -> None:
    """JSON in UTF-8 may be declared in any usual spelling, under a header name in any case."""
    headers = {"content-type": None, "Content-Type": content_type}
    assert api.call("POST", "/v1/jobs", job(), headers=headers).status == 201
