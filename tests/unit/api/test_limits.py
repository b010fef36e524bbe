"""What a tenant at a limit is answered, what uses its limits, and what its neighbours notice of it: nothing."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from carillon.domain.job import JobState
from carillon.domain.limits import CreateLimit, DispatchLimit, Limits
from support.api import ApiUnderTest, Json, Reply, job

KEY = {"Idempotency-Key": "7c4a8d09-ca95-4c28"}
UPLOAD = {"content_type": "image/png", "size": 5}


def limit(api: ApiUnderTest, **limits: Any) -> None:
    """Give acme limits."""
    api.world.limits.set("acme", Limits(**limits))


def used(api: ApiUnderTest, key: str = "") -> int:
    """How many jobs count, as the tenant is told."""
    number: int = api.call("GET", "/v1/limits", key=key).json["usage"]["jobs"]
    return number


def post(api: ApiUnderTest, headers: Any = None, key: str = "", **changes: Json) -> Reply:
    """Ask for a job."""
    return api.call("POST", "/v1/jobs", job(**changes), headers=headers, key=key)


def told(reply: Reply) -> tuple[int, str, str]:
    """Status, code and limit of a refusal."""
    return reply.status, reply.json["code"], reply.json["limit"]


def test_limits_are_shown_with_their_use(api: ApiUnderTest) -> None:
    """Each with its value, null where there is none; only jobs that count are used."""
    none = ["jobs", "payload_bytes", "create_rate", "create_burst", "dispatch_rate", "dispatch_burst"]
    assert api.call("GET", "/v1/limits").json == {"limits": dict.fromkeys(none), "usage": {"jobs": 0}}
    create, dispatch = CreateLimit.per_second(Decimal("0.5")), DispatchLimit.per_second(Decimal(20), 50)
    limit(api, jobs=1000, payload_bytes=65_536, create=create, dispatch=dispatch)
    for _ in range(2):
        api.create()
    assert api.call("DELETE", f"/v1/jobs/{api.create()['id']}").status == 204
    assert api.call("GET", "/v1/limits").json == {
        "limits": {
            "jobs": 1000,
            "payload_bytes": 65_536,
            "create_rate": 0.5,
            "create_burst": 5,
            "dispatch_rate": 20.0,
            "dispatch_burst": 50,
        },
        "usage": {"jobs": 2},
    }


def test_a_tenant_at_its_limit_is_told_which(api: ApiUnderTest) -> None:
    """422 with the limit's name; the neighbour creates on, and sees its own count."""
    limit(api, jobs=1)
    api.create()
    assert told(post(api)) == (422, "limit_reached", "jobs")
    assert post(api, key=api.other_key).status == 201
    assert (used(api), used(api, api.other_key)) == (1, 1)


def test_a_tenant_that_is_too_fast_is_told_when_to_go_on(api: ApiUnderTest) -> None:
    """429 with `Retry-After`, behind which it may; the neighbour is not slowed."""
    limit(api, create=CreateLimit(100, 1))
    api.create()
    reply = post(api)
    assert told(reply) == (429, "too_fast", "create_rate")
    assert post(api, key=api.other_key).status == 201
    api.world.clock.advance(int(reply.headers["retry-after"]) * 1_000)
    assert post(api).status == 201


def test_b241_what_creates_nothing_uses_nothing(api: ApiUnderTest) -> None:
    """Fields that are not valid, a taken name, a replay, a refusal by another limit: of both limits nothing is used."""
    limit(api, jobs=2, payload_bytes=20, create=CreateLimit(1, 2))
    first = post(api, KEY, name="backup")
    assert first.status == 201
    assert post(api, colour=1).status == 422
    assert post(api, schedule={"run_at": "2001-01-01T00:00:00Z"}).status == 422
    assert post(api, name="backup").json["code"] == "name_taken"
    assert told(post(api, payload="x" * 30)) == (422, "limit_reached", "payload_bytes")
    replayed = post(api, KEY, name="backup")
    assert (replayed.status, replayed.text, replayed.headers["idempotent-replayed"]) == (201, first.text, "true")
    assert used(api) == 1
    assert post(api).status == 201
    assert (used(api), told(post(api))) == (2, (422, "limit_reached", "jobs"))


def test_a_refusal_leaves_its_key_free(api: ApiUnderTest) -> None:
    """The same request under the same key succeeds when there is room."""
    limit(api, jobs=0)
    assert told(post(api, KEY)) == (422, "limit_reached", "jobs")
    limit(api, jobs=1)
    assert post(api, KEY).status == 201
    assert used(api) == 1


def test_in_a_batch_each_job_is_judged_by_itself(api: ApiUnderTest) -> None:
    """As many as there is room for are created, and the others told why not."""
    limit(api, jobs=2)
    reply = api.call("POST", "/v1/jobs/batch", {"jobs": [job(), job(colour=1), job(), job()]})
    assert [item["status"] for item in reply.json["data"]] == [201, 422, 201, 422]
    assert reply.json["data"][3]["problem"]["limit"] == "jobs"
    assert used(api) == 2


def test_by_its_name_a_job_is_counted_once(api: ApiUnderTest) -> None:
    """Put again, changed or not, it takes no other place; a new name is refused."""
    limit(api, jobs=1)
    assert api.call("PUT", "/v1/jobs/by-name/backup", job()).status == 201
    assert api.call("PUT", "/v1/jobs/by-name/backup", job()).status == 200
    assert api.call("PUT", "/v1/jobs/by-name/backup", job(priority="low")).status == 200
    assert told(api.call("PUT", "/v1/jobs/by-name/other", job())) == (422, "limit_reached", "jobs")
    assert used(api) == 1


def pause(api: ApiUnderTest, job_id: str) -> Reply:
    """Pause it."""
    return api.call("POST", f"/v1/jobs/{job_id}/pause")


def reschedule(api: ApiUnderTest, job_id: str) -> Reply:
    """Give it another time."""
    return api.patch(job_id, {"schedule": {"delay": "P2D"}})


@pytest.mark.parametrize("edit", [pause, reschedule])
def test_what_brings_a_job_back_takes_a_place(api: ApiUnderTest, edit: Callable[[ApiUnderTest, str], Reply]) -> None:
    """A one-off that is on its way already can be stopped or moved, if there is a place for it."""
    limit(api, jobs=1)
    one = api.create(schedule={"delay": "PT30S"})["id"]
    ahead = api.world.clock.now_ms() + 30_000
    api.store_job(
        one, state=JobState.DISPATCHED, next_fire_time=None, scheduled_for=None, planned_until=ahead, counted=None
    )
    other = api.create()["id"]
    assert told(edit(api, one)) == (422, "limit_reached", "jobs")
    assert api.call("GET", f"/v1/jobs/{one}").json["state"] == "dispatched"
    assert api.call("DELETE", f"/v1/jobs/{other}").status == 204
    assert edit(api, one).status == 200
    assert (used(api), told(post(api))) == (1, (422, "limit_reached", "jobs"))


def test_other_edits_and_runs_by_hand_use_nothing(api: ApiUnderTest) -> None:
    """Nor does whatever is done with a job that counts already."""
    limit(api, jobs=1, create=CreateLimit(1, 1))
    one = api.create()["id"]
    for path in ("pause", "resume", "trigger"):
        assert api.call("POST", f"/v1/jobs/{one}/{path}").status in (200, 202)
        assert used(api) == 1
    assert api.patch(one, {"labels": {"tier": "1"}}).status == 200
    assert used(api) == 1


# ------------------------------------------------------------------------------------------------------------ payloads


def test_a_payload_fits_to_the_byte(api: ApiUnderTest) -> None:
    """As it is sent: of a text, with its quotes. One byte more is refused at its field."""
    limit(api, payload_bytes=12)
    assert post(api, payload="x" * 10).status == 201
    reply = post(api, payload="x" * 11)
    assert told(reply) == (422, "limit_reached", "payload_bytes")
    assert reply.errors == {("/payload", "limit_reached")}
    assert used(api) == 1


def test_a_payload_that_was_there_before_the_limit_stays(api: ApiUnderTest) -> None:
    """Its job can be changed; only another payload is judged."""
    one = api.create(payload="x" * 50)["id"]
    limit(api, payload_bytes=12)
    assert api.patch(one, {"priority": "low"}).status == 200
    assert told(api.patch(one, {"payload": "y" * 50})) == (422, "limit_reached", "payload_bytes")
    assert api.patch(one, {"payload": "y"}).status == 200


def test_an_upload_is_bounded_when_it_is_asked_for(api: ApiUnderTest) -> None:
    """Of so many bytes the URL takes exactly those, so larger ones are not let in at all."""
    limit(api, payload_bytes=5)
    assert api.call("POST", "/v1/payloads", UPLOAD).status == 201
    reply = api.call("POST", "/v1/payloads", {**UPLOAD, "size": 6})
    assert (told(reply), reply.errors) == (
        (422, "limit_reached", "payload_bytes"),
        {("/size", "limit_reached")},
    )


def test_an_upload_from_before_the_limit_is_not_taken(api: ApiUnderTest) -> None:
    """The job that would refer to it is refused, and nothing is copied for it."""
    invited = api.call("POST", "/v1/payloads", UPLOAD).json
    api.world.payloads.upload("acme", invited["payload_ref"], "image/png", b"12345")
    limit(api, payload_bytes=4)
    reply = api.call("POST", "/v1/jobs", {**job(), "payload_ref": invited["payload_ref"]})
    assert (told(reply), reply.errors) == (
        (422, "limit_reached", "payload_bytes"),
        {("/payload_ref", "limit_reached")},
    )
    assert (used(api), api.world.payloads.payloads) == (0, {})
    limit(api, payload_bytes=5)
    assert api.call("POST", "/v1/jobs", {**job(), "payload_ref": invited["payload_ref"]}).status == 201
