"""The payload: any JSON, kept and given out byte for byte."""

import pytest

from carillon.domain.callbacks import request_of
from carillon.domain.destinations import ANYWHERE
from carillon.domain.signing import new_secret
from carillon.receiver import verify
from support.api import ApiUnderTest, Reply

SECRET = new_secret(bytes(32))

PAYLOADS = [
    ("B202-numbers", "[0.1, 30.40, 1E2, 12345678901234567890123456789012345678901, 1.0]"),
    ("B202-thousands-of-digits", "[" + "9" * 5_000 + ", -" + "8" * 5_000 + ", 1e999]"),
    ("B203-40-deep", "[" * 40 + "]" * 40),
    ("63-deep", "[" * 63 + "]" * 63),
    ("B206-unicode", '{"t":"😱 Ж"}'),
    ("B206-escaped", '{"t":"\\ud83d\\ude31"}'),
    ("lone-surrogate", '"\\ud800"'),
    ("B211-nul", '"\\u0000"'),
    ("B229-blanks-and-order", '{ "z" : 1.0,\n\t"a" : [ ] }'),
    ("key-twice", '{"a": 1, "a": 2}'),
    ("null", "null"),
    ("false", "false"),
    ("empty-text", '""'),
    ("number", "-0.0"),
    ("B199-the-largest", '"' + "☕" * 87_380 + 'ab"'),
]


def create(api: ApiUnderTest, payload: str) -> Reply:
    """Create a job with this text for its payload, in the middle of the document."""
    url = "https://svc.carillon.dev/hook"
    raw = f'{{"schedule": {{"delay": "PT1M"}}, "payload":\n {payload}\t, "target": {{"type": "http", "url": "{url}"}}}}'
    return api.call("POST", "/v1/jobs", raw=raw)


@pytest.mark.parametrize("payload", [pytest.param(payload, id=name) for name, payload in PAYLOADS])
def test_the_receiver_gets_the_bytes_that_were_sent(api: ApiUnderTest, payload: str) -> None:
    """The stored payload, the answers and the signed body are the text as it stood, neither parsed nor written anew."""
    reply = create(api, payload)
    assert reply.status == 201, reply.text
    job_id = reply.headers["location"].rpartition("/")[2]
    stored = api.world.jobs.get(job_id)
    assert stored is not None
    assert stored.spec.payload == payload.encode()
    assert f'"payload": {payload}}}' in reply.text
    assert api.call("GET", reply.headers["location"]).text == reply.text
    run = api.add_run(job_id, 1_790_000_060_000, attempt=1)
    request = request_of(run, stored.spec, [SECRET], ANYWHERE, 1_790_000_060_000)
    assert request.body == payload.encode()
    verify(SECRET, dict(request.headers), request.body, now_seconds=1_790_000_060)


def test_without_a_payload_there_is_no_body(api: ApiUnderTest) -> None:
    """A job without a payload shows none, and its callback has no body."""
    created = api.create(target__method="GET")
    stored = api.world.jobs.get(created["id"])
    assert stored is not None
    assert "payload" not in created
    assert stored.spec.payload is None
    assert request_of(api.add_run(created["id"], 1_790_000_000_000), stored.spec, [SECRET], ANYWHERE, 0).body is None


def test_lists_leave_payloads_out(api: ApiUnderTest) -> None:
    """A list of a hundred jobs must not be as large as a hundred payloads."""
    create(api, '{"big": true}')
    assert "payload" not in api.call("GET", "/v1/jobs").json["data"][0]
