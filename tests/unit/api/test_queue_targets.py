"""Jobs whose target is a queue: which are accepted, how they read, and how one kind of target becomes the other."""

from typing import Any

import pytest

from carillon.domain.job import Lane, QueueTarget
from carillon.domain.target_policy import of_stage
from support.api import SECRET_VALUE, ApiUnderTest, assert_refused, job

ARN = "arn:aws:sqs:eu-west-1:111122223333:"
URL = "https://sqs.eu-west-1.amazonaws.com/111122223333/"
POLICY = of_stage(queues=[f"acme={ARN}orders", f"acme={ARN}orders.fifo", f"globex={ARN}theirs", f"gl*={ARN}beginning"])


def queue(name: str = "orders", **members: Any) -> dict[str, Any]:
    """A target."""
    return {"type": "queue", "queue_url": URL + name, **members}


@pytest.fixture
def api() -> ApiUnderTest:
    """The API of a stage with a list of queues."""
    return ApiUnderTest(POLICY)


@pytest.mark.parametrize("name", ["orders", "orders.fifo"])
def test_a_queue_that_is_open_to_the_tenant_is_a_target(api: ApiUnderTest, name: str) -> None:
    """It is stored, and reads as it was sent; it takes the lane of short calls."""
    created = api.create(target=queue(name), payload={"n": 1})
    assert created["target"] == queue(name)
    stored = api.world.jobs.get(created["id"])
    assert stored is not None
    assert (stored.spec.target, stored.job.lane) == (QueueTarget(URL + name), Lane.SHORT)
    listed = api.call("GET", "/v1/jobs").json["data"]
    assert [each["target"] for each in listed] == [queue(name)]


def test_what_is_sent_may_have_to_be_completed(api: ApiUnderTest) -> None:
    """It reads with the default filled in, and can be taken away."""
    created = api.create(target=queue(completion={"mode": "async"}), payload=1)
    assert created["target"] == queue(completion={"mode": "async", "timeout": "PT6H"})
    assert api.patched(created["id"], {"target": {"completion": None}})["target"] == queue()


REFUSED: list[tuple[str, Any, str]] = [
    ("other-tenants", URL + "theirs", "queue_not_allowed"),
    ("other-beginning", URL + "beginning", "queue_not_allowed"),
    ("on-no-list", URL + "nowhere", "queue_not_allowed"),
    ("other-account", URL.replace("1111", "9999") + "orders", "queue_not_allowed"),
    ("other-region", URL.replace("eu-west", "us-east") + "orders", "queue_not_allowed"),
    ("own", URL + "Carillon-dev-QueuesHigh5E3A8D4F", "own_queue"),
    ("arn", f"{ARN}orders", "bad_queue_url"),
    ("local", "http://localhost:4566/111122223333/orders", "bad_queue_url"),
    ("http", URL.replace("https", "http") + "orders", "bad_queue_url"),
    ("other-host", f"https://sqs.eu-west-1.amazonaws.com.{SECRET_VALUE}.net/111122223333/orders", "bad_queue_url"),
    ("user", "https://sqs.eu-west-1.amazonaws.com@evil.net/111122223333/orders", "bad_queue_url"),
    ("path", URL + "orders/../theirs", "bad_queue_url"),
    ("query", URL + "orders?Action=DeleteQueue", "bad_queue_url"),
    ("line-end", URL + "orders\n", "bad_queue_url"),
    ("empty", "", "bad_queue_url"),
    ("null", None, "wrong_type"),
    ("number", 7, "wrong_type"),
]


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(("url", "code"), [pytest.param(*row[1:], id=row[0]) for row in REFUSED])
def test_any_other_queue_is_refused(api: ApiUnderTest, url: Any, code: str) -> None:
    """The list decides by tenant, region, account and name; one form of URL is read at all."""
    reply = api.call("POST", "/v1/jobs", job(target=queue(queue_url=url), payload=1))
    assert_refused(reply, 422, {("/target/queue_url", code)})


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    ("target", "errors"),
    [
        pytest.param({"type": "queue"}, {("/target/queue_url", "required")}, id="no-queue"),
        pytest.param(queue(url="https://a.net/"), {("/target/url", "unknown_field")}, id="url-beside-it"),
        pytest.param(queue(timeout="PT5S"), {("/target/timeout", "unknown_field")}, id="timeout"),
        pytest.param(queue(cancel_url="https://a.net/"), {("/target/cancel_url", "unknown_field")}, id="cancel-url"),
        pytest.param(queue(completion={}), {("/target/completion/mode", "required")}, id="completion"),
        pytest.param(
            queue(completion={"mode": "async", "timeout": "PT1M", "heartbeat_timeout": "PT2M"}),
            {("/target/completion/heartbeat_timeout", "out_of_range")},
            id="heartbeat",
        ),
        pytest.param(
            {"type": "http", "url": "https://a.net/", "queue_url": URL},
            {("/target/queue_url", "unknown_field")},
            id="queue-of-an-http-target",
        ),
        pytest.param({"url": "https://a.net/"}, {("/target/type", "required")}, id="no-type"),
        pytest.param("queue", {("/target", "wrong_type")}, id="text"),
        pytest.param(None, {("/target", "wrong_type")}, id="null"),
    ],
)
def test_each_kind_of_target_has_its_own_fields(api: ApiUnderTest, target: Any, errors: set[tuple[str, str]]) -> None:
    """What belongs to the other kind is unknown here; the error points at what was sent."""
    assert_refused(api.call("POST", "/v1/jobs", job(target=target, payload=1)), 422, errors)


@pytest.mark.usefixtures("nothing_written")
@pytest.mark.parametrize(
    ("members", "code"),
    [('"name": "n"', "required"), ('"payload": "\uffff"', "invalid_value"), ('"payload": ["\ufffe"]', "invalid_value")],
    ids=["none", "ffff", "fffe"],
)
def test_a_message_has_a_body_that_sqs_takes(api: ApiUnderTest, members: str, code: str) -> None:
    """A job without a payload would fail at each attempt, and so would one of code points that SQS refuses."""
    assert_refused(api.call("POST", "/v1/jobs", raw=raw_job(members)), 422, {("/payload", code)})


def raw_job(members: str) -> str:
    """The text of a job with a queue as its target and with these members beside."""
    target = f'{{"type": "queue", "queue_url": "{URL}orders"}}'
    return f'{{"schedule": {{"delay": "PT1H"}}, "target": {target}, {members}}}'


@pytest.mark.parametrize("text", ["null", '"\\uffff"', ' {"a" : 1.0} ', '"Grüße \U0001f980"'])
def test_any_other_payload_is_kept_to_the_byte(api: ApiUnderTest, text: str) -> None:
    """Escaped, every code point is text that SQS takes."""
    reply = api.call("POST", "/v1/jobs", raw=raw_job(f'"payload":{text}'))
    assert reply.status == 201, reply.text
    stored = api.world.jobs.get(reply.json["id"])
    assert stored is not None
    assert stored.spec.payload == text.strip().encode()


def test_a_patch_turns_one_kind_of_target_into_the_other_and_back(api: ApiUnderTest) -> None:
    """A target of another type takes the place of the whole one: nothing of the former stays."""
    created = api.create(target__headers={"X-A": "1"}, target__timeout="PT2M", payload={"n": 1})
    patched = api.patched(created["id"], {"target": queue("orders.fifo")})
    assert patched["target"] == queue("orders.fifo")
    moved = api.patched(created["id"], {"target": {"queue_url": URL + "orders"}})
    assert moved["target"] == queue("orders")
    back = api.patched(created["id"], {"target": {"type": "http", "url": "https://svc.carillon.dev/hook"}})
    assert (back["target"]["headers"], back["target"]["timeout"]) == ({}, "PT15S")
    assert back["schedule"] == created["schedule"]


@pytest.mark.parametrize(
    ("patch", "errors"),
    [
        pytest.param({"target": {"type": "queue"}}, {("/target/queue_url", "required")}, id="without-a-queue"),
        pytest.param({"target": queue("nowhere")}, {("/target/queue_url", "queue_not_allowed")}, id="not-open"),
        pytest.param({"target": queue(), "payload": None}, {("/payload", "required")}, id="without-payload"),
        pytest.param({"target": queue(verb=None)}, {("/target/verb", "unknown_field")}, id="unknown"),
        pytest.param(
            {"target": {"type": "lambda"}}, {("/target/type", "not_a_choice"), ("/target/url", "required")}, id="lambda"
        ),
    ],
)
def test_a_patch_is_judged_like_a_creation(api: ApiUnderTest, patch: Any, errors: set[tuple[str, str]]) -> None:
    """Nothing is changed by a patch that makes no valid job."""
    created = api.create(payload={"n": 1})
    assert_refused(api.patch(created["id"], patch), 422, errors)
    assert api.call("GET", f"/v1/jobs/{created['id']}").json == created
