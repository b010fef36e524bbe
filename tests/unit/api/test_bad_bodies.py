"""POST /v1/jobs with bodies that are not read at all: 400, 413, 415, nothing written."""

import json

import pytest

from support.api import ApiUnderTest, assert_refused, job

pytestmark = pytest.mark.usefixtures("nothing_written")

BODIES: list[tuple[str, str | bytes]] = [
    ("empty", ""),
    ("blank", " \n"),
    ("cut", '{"schedule": '),
    ("trailing-comma", '{"name": "a",}'),
    ("trailing-text", "{} {}"),
    ("single-quotes", "{'name': 'a'}"),
    ("comment", '{"name": "a" /* b */}'),
    ("no-object", "[]"),
    ("text", '"a"'),
    ("null", "null"),
    ("nan", '{"retry": {"factor": NaN}}'),
    ("infinity-in-the-payload", '{"payload": [-Infinity]}'),
    ("raw-control-character", '{"name": "a\u0000"}'),
    ("key-twice", '{"name": "a", "name": "b"}'),
    ("key-twice-by-escape", '{"name": "a", "n\\u0061me": "b"}'),
    ("inner-key-twice", '{"target": {"url": "https://a.dev", "url": "https://b.dev"}}'),
    ("B203-2000-brackets", '{"payload": ' + "[" * 2_000),
    ("B203-2000-levels", '{"payload": ' + "[" * 2_000 + "]" * 2_000 + "}"),
    ("B203-100000-levels", '{"payload": ' + "[" * 100_000 + "]" * 100_000 + "}"),
    ("65-levels", '{"payload": ' + "[" * 64 + "]" * 64 + "}"),
    ("utf-8-with-mark", "\ufeff{}".encode()),
    ("utf-16", '{"name": "a"}'.encode("utf-16")),
    ("latin-1", '{"name": "é"}'.encode("latin-1")),
    ("cut-sign", '{"name": "é"}'.encode()[:-3] + b'"}'),
]


@pytest.mark.parametrize("raw", [pytest.param(raw, id=name) for name, raw in BODIES])
def test_bodies_that_are_not_json(api: ApiUnderTest, raw: str | bytes) -> None:
    """What is no JSON object, or could be read in two ways, is 400, never a failure of ours."""
    reply = api.call("POST", "/v1/jobs", raw=raw)
    assert_refused(reply, 400, {("", "bad_json")})
    assert reply.json["code"] == "malformed_request"


def test_a_body_that_is_no_base64(api: ApiUnderTest) -> None:
    """An event whose body cannot be decoded is a malformed request."""
    assert api.call("POST", "/v1/jobs", raw="!", headers={}).status == 400


@pytest.mark.parametrize(
    ("headers", "where"),
    [
        ({"content-type": None}, "Content-Type"),
        ({"content-type": "text/plain"}, "Content-Type"),
        ({"content-type": "application/x-www-form-urlencoded"}, "Content-Type"),
        ({"content-type": "application/merge-patch+json"}, "Content-Type"),
        ({"content-type": "application/json; charset=latin-1"}, "Content-Type"),
        ({"content-type": "application/json, text/plain"}, "Content-Type"),
        ({"content-encoding": "gzip"}, "Content-Encoding"),
    ],
)
def test_other_content_types(api: ApiUnderTest, headers: dict[str, str | None], where: str) -> None:
    """Only plain JSON in UTF-8 is read; the header at fault is named."""
    assert_refused(api.call("POST", "/v1/jobs", job(), headers=headers), 415, {(where, "unsupported")})


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        pytest.param(json.dumps(job(payload="☕" * 136_534), ensure_ascii=False), "/payload", id="B199-409602-bytes"),
        pytest.param(json.dumps(job(payload="☕" * 136_000), ensure_ascii=False), "/payload", id="B199-408000-bytes"),
        pytest.param(json.dumps(job(payload="a" * (256 * 1024 - 1))), "/payload", id="a-byte-too-many"),
        pytest.param(json.dumps(job(name="n" * 600_000)), "", id="whole-body"),
    ],
)
def test_bodies_that_are_too_large(api: ApiUnderTest, raw: str, where: str) -> None:
    """B199: sizes count in bytes of UTF-8; beyond them 413, never a failure of the store."""
    assert_refused(api.call("POST", "/v1/jobs", raw=raw), 413, {(where, "too_large")})
