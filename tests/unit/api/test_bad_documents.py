"""POST /v1/jobs with fields that are not valid: 422, a problem that names each, nothing written."""

from typing import Any

import pytest

from support.api import SECRET_VALUE, ApiUnderTest, assert_refused, job

pytestmark = pytest.mark.usefixtures("nothing_written")
CRON = {"cron": "0 2 * * *"}

FIELDS: list[tuple[str, dict[str, Any], str, str]] = [
    ("unknown-field", {"nmae": SECRET_VALUE}, "/nmae", "unknown_field"),
    ("unknown-inner-field", {"target__verb": SECRET_VALUE}, "/target/verb", "unknown_field"),
    ("unknown-field-of-schedule", {"schedule": {**CRON, "zone": "UTC"}}, "/schedule/zone", "unknown_field"),
    ("pointer-is-escaped", {"a/b~c": 1}, "/a~1b~0c", "unknown_field"),
    ("lone-surrogate-as-a-name", {"\ud800": 1}, "", "invalid_value"),
    ("answers-are-no-documents", {"id": "job_1"}, "/id", "unknown_field"),
    ("B274-true", {"retry__max_attempts": True}, "/retry/max_attempts", "wrong_type"),
    ("B274-text", {"retry__max_attempts": "3"}, "/retry/max_attempts", "wrong_type"),
    ("B274-3.0", {"retry__max_attempts": 3.0}, "/retry/max_attempts", "wrong_type"),
    ("B274-3.5", {"retry__max_attempts": 3.5}, "/retry/max_attempts", "wrong_type"),
    ("B274-negative", {"retry__max_attempts": -1}, "/retry/max_attempts", "out_of_range"),
    ("B274-zero", {"retry__max_attempts": 0}, "/retry/max_attempts", "out_of_range"),
    ("B274-101", {"retry__max_attempts": 101}, "/retry/max_attempts", "out_of_range"),
    ("B274-1e9-float", {"retry__max_attempts": 1e9}, "/retry/max_attempts", "wrong_type"),
    ("B274-a-milliard", {"retry__max_attempts": 10**9}, "/retry/max_attempts", "out_of_range"),
    ("B274-beyond-64-bits", {"retry__max_attempts": 10**19}, "/retry/max_attempts", "out_of_range"),
    ("B274-thousands-of-digits", {"retry__max_attempts": 10**4000}, "/retry/max_attempts", "wrong_type"),
    ("B274-null", {"retry__max_attempts": None}, "/retry/max_attempts", "wrong_type"),
    ("B274-timeout-0", {"target__timeout": 0}, "/target/timeout", "wrong_type"),
    ("B274-timeout-0.1", {"target__timeout": 0.1}, "/target/timeout", "wrong_type"),
    ("B274-timeout-901", {"target__timeout": 901}, "/target/timeout", "wrong_type"),
    ("B274-timeout-PT0S", {"target__timeout": "PT0S"}, "/target/timeout", "out_of_range"),
    ("B274-timeout-PT0.1S", {"target__timeout": "PT0.1S"}, "/target/timeout", "out_of_range"),
    ("B274-timeout-PT901S", {"target__timeout": "PT901S"}, "/target/timeout", "out_of_range"),
    ("factor-below-1", {"retry__factor": 0.5}, "/retry/factor", "out_of_range"),
    ("factor-true", {"retry__factor": True}, "/retry/factor", "wrong_type"),
    ("base-too-long", {"retry__base": "P2D"}, "/retry/base", "out_of_range"),
    ("jitter", {"retry__jitter": "some"}, "/retry/jitter", "not_a_choice"),
    ("no-delays", {"retry": {"delays": []}}, "/retry/delays", "out_of_range"),
    ("bad-delay", {"retry": {"delays": ["PT1S", "soon"]}}, "/retry/delays/1", "invalid_value"),
    ("delays-and-formula", {"retry": {"delays": ["PT1S"], "base": "PT1S"}}, "/retry/base", "conflicting_fields"),
    ("retry-on-200", {"retry_on": [200]}, "/retry_on/0", "out_of_range"),
    ("retry-is-a-list", {"retry": []}, "/retry", "wrong_type"),
    ("B280-unknown", {"misfire_policy": "ignore"}, "/misfire_policy", "not_a_choice"),
    ("B280-wrong-case", {"misfire_policy": "FIRE_ONCE"}, "/misfire_policy", "not_a_choice"),
    ("B280-null", {"misfire_policy": None}, "/misfire_policy", "not_a_choice"),
    ("priority", {"priority": "urgent"}, "/priority", "not_a_choice"),
    ("catch-up-0", {"max_catch_up": 0}, "/max_catch_up", "out_of_range"),
    ("grace", {"misfire_grace": "P15D"}, "/misfire_grace", "out_of_range"),
    ("window-of-a-day", {"window": "P1D"}, "/window", "out_of_range"),
    ("window-a-millisecond-too-long", {"window": "PT23H0.001S"}, "/window", "out_of_range"),
    ("window-null", {"window": None}, "/window", "wrong_type"),
    ("deadline-0", {"deadline": "PT0S"}, "/deadline", "out_of_range"),
    ("B211-control-character", {"name": "a\u0001"}, "/name", "invalid_value"),
    ("B211-noncharacter", {"name": "a\ufffe"}, "/name", "invalid_value"),
    ("lone-surrogate", {"name": "a\ud800"}, "/name", "invalid_value"),
    ("empty-name", {"name": ""}, "/name", "invalid_value"),
    ("blank-name", {"name": " nightly"}, "/name", "invalid_value"),
    ("long-name", {"name": "n" * 129}, "/name", "invalid_value"),
    ("name-is-a-number", {"name": 7}, "/name", "wrong_type"),
    ("label-key", {"labels": {"a b": "c"}}, "/labels", "invalid_value"),
    ("label-with-colon", {"labels": {"a:b": "c"}}, "/labels", "invalid_value"),
    ("label-key-too-long", {"labels": {"k" * 64: "c"}}, "/labels", "invalid_value"),
    ("label-value", {"labels": {"team": "a\n"}}, "/labels/team", "invalid_value"),
    ("label-value-too-long", {"labels": {"team": "v" * 257}}, "/labels/team", "invalid_value"),
    ("label-is-a-number", {"labels": {"team": 1}}, "/labels/team", "wrong_type"),
    ("33-labels", {"labels": {f"k{n}": "v" for n in range(33)}}, "/labels", "out_of_range"),
    ("method", {"target__method": "TRACE"}, "/target/method", "not_a_choice"),
    ("method-in-small-letters", {"target__method": "post"}, "/target/method", "not_a_choice"),
    ("unknown-target", {"target__type": "lambda"}, "/target/type", "not_a_choice"),
    ("url-is-null", {"target__url": None}, "/target/url", "wrong_type"),
]


@pytest.mark.parametrize(("changes", "where", "code"), [pytest.param(*row[1:], id=row[0]) for row in FIELDS])
def test_fields_that_are_not_valid(api: ApiUnderTest, changes: dict[str, Any], where: str, code: str) -> None:
    """Each field takes its type and range and nothing that merely resembles it; the problem points at it."""
    assert_refused(api.call("POST", "/v1/jobs", job(**changes)), 422, {(where, code)})


URLS = [
    ("no-url", "svc.carillon.dev/hook", "bad_scheme"),
    ("http", "http://svc.carillon.dev/hook", "bad_scheme"),
    ("file", "file:///etc/passwd", "bad_scheme"),
    ("private-address", "https://10.0.0.1/hook", "numeric_host"),
    ("loopback", "https://127.0.0.1/hook", "numeric_host"),
    ("metadata", "https://169.254.169.254/latest/meta-data", "numeric_host"),
    ("decimal", "https://2130706433/", "numeric_host"),
    ("ipv6", "https://[::1]/", "ip_literal"),
    ("localhost", "https://localhost/hook", "reserved_name"),
    ("internal", "https://db.internal/hook", "reserved_name"),
    ("user", f"https://{SECRET_VALUE}@svc.carillon.dev/", "userinfo"),
    ("port", "https://svc.carillon.dev:22/", "bad_port"),
    ("fragment", "https://svc.carillon.dev/#x", "fragment"),
    ("blank", "https://svc.carillon.dev/a b", "bad_character"),
    ("unicode", "https://bücher.carillon.dev/", "not_ascii"),
    ("lone-surrogate", "https://svc.carillon.dev/\ud800", "not_ascii"),
    ("empty", "", "bad_length"),
    ("long", "https://svc.carillon.dev/" + "a" * 2048, "bad_length"),
]


@pytest.mark.parametrize(("url", "code"), [pytest.param(*row[1:], id=row[0]) for row in URLS])
def test_targets_that_may_not_be_called(api: ApiUnderTest, url: str, code: str) -> None:
    """Malformed URLs, and URLs of private or special hosts, are refused at the creation, not at the first run."""
    assert_refused(api.call("POST", "/v1/jobs", job(target__url=url)), 422, {("/target/url", code)})


HEADERS: list[tuple[str, dict[str, Any], str, str]] = [
    ("B208-crlf", {"X-A": "a\r\nX-Evil: 1"}, "/X-A", "bad_header_value"),
    ("B208-lf", {"X-A": "a\nb"}, "/X-A", "bad_header_value"),
    ("B208-cr", {"X-A": "a\rb"}, "/X-A", "bad_header_value"),
    ("B208-nul", {"X-A": "a\0"}, "/X-A", "bad_header_value"),
    ("B208-leading-blank", {"X-A": " a"}, "/X-A", "bad_header_value"),
    ("B208-empty-name", {"": "a"}, "/", "bad_header_name"),
    ("B208-blank-in-name", {"X A": "a"}, "/X A", "bad_header_name"),
    ("B208-colon-in-name", {"X:A": "a"}, "/X:A", "bad_header_name"),
    ("B208-accent", {"X-é": "a"}, "/X-é", "bad_header_name"),
    ("B209-host", {"Host": "a"}, "/Host", "reserved_header"),
    ("B209-host-in-other-case", {"hOsT": "a"}, "/hOsT", "reserved_header"),
    ("B209-content-length", {"Content-Length": "1"}, "/Content-Length", "reserved_header"),
    ("B209-transfer-encoding", {"Transfer-Encoding": "chunked"}, "/Transfer-Encoding", "reserved_header"),
    ("B209-connection", {"Connection": "close"}, "/Connection", "reserved_header"),
    ("B209-our-signature", {"Webhook-Signature": "v1,x"}, "/Webhook-Signature", "reserved_header"),
    ("B209-our-job", {"carillon-job-id": "x"}, "/carillon-job-id", "reserved_header"),
    ("B212-twice-by-case", {"X-A": "1", "x-a": "2"}, "/x-a", "duplicate_header"),
    ("B212-200-headers", {f"X-{n}": "1" for n in range(200)}, "", "too_many_headers"),
    ("B212-64-KB", {"X-A": "a" * 65_536}, "", "headers_too_large"),
    ("lone-surrogate", {"X-A": "\ud800"}, "/X-A", "bad_header_value"),
    ("number", {"X-A": 1}, "/X-A", "wrong_type"),
]


@pytest.mark.parametrize(("headers", "where", "code"), [pytest.param(*row[1:], id=row[0]) for row in HEADERS])
def test_headers_that_may_not_be_sent(api: ApiUnderTest, headers: dict[str, Any], where: str, code: str) -> None:
    """Headers that would break out of their line, frame the message or pass for ours are refused by name."""
    reply = api.call("POST", "/v1/jobs", job(target__headers=headers))
    assert_refused(reply, 422, {(f"/target/headers{where}", code)})


NOT_BUILT: list[tuple[str, dict[str, Any], str]] = [
    ("after", {"schedule": {"after": ["job_01ARZ3NDEKTSV4RRFFQ69G5FAV"]}}, "/schedule/after"),
    ("overlap-skip", {"overlap": "skip"}, "/overlap"),
    ("overlap-queue", {"overlap": "queue"}, "/overlap"),
    ("overlap-cancel", {"overlap": "cancel_previous"}, "/overlap"),
]


@pytest.mark.parametrize(("changes", "where"), [pytest.param(*row[1:], id=row[0]) for row in NOT_BUILT])
def test_what_is_documented_and_not_built_is_never_ignored(
    api: ApiUnderTest, changes: dict[str, Any], where: str
) -> None:
    """A documented value that is not built yet gives 422 not_supported, naming the field."""
    reply = api.call("POST", "/v1/jobs", job(**changes))
    assert_refused(reply, 422, {(where, "not_supported")})
    assert reply.json["code"] == "not_supported"


def test_everything_that_is_wrong_is_told_at_once(api: ApiUnderTest) -> None:
    """All errors of one kind of check come in one answer."""
    shape = api.call("POST", "/v1/jobs", {"schedule": CRON, "nmae": 1, "priority": "urgent"})
    assert_refused(shape, 422, {("/target", "required"), ("/nmae", "unknown_field"), ("/priority", "not_a_choice")})
    values = job(schedule={"cron": "61 * * * *"}, target__url="http://x", target__headers={"Host": "x"})
    assert_refused(
        api.call("POST", "/v1/jobs", values),
        422,
        {
            ("/schedule/cron", "invalid_value"),
            ("/target/url", "bad_scheme"),
            ("/target/headers/Host", "reserved_header"),
        },
    )


def test_a_flood_of_errors_is_cut(api: ApiUnderTest) -> None:
    """A thousand unknown fields of long names do not make a thousand long errors."""
    reply = api.call("POST", "/v1/jobs", job(**{f"{n}{'x' * 400}": 1 for n in range(1_000)}))
    assert reply.status == 422
    assert len(reply.json["errors"]) == 32
    assert len(reply.text) < 16_384
