"""What an attempt's outcome means for the run."""

import pytest

from carillon.domain.outcomes import Failure, Outcome, Verdict, answered, classify, error_code, failed


def status(code: int, *headers: tuple[str, str]) -> Outcome:
    """An answer with this status."""
    return answered(status=code, headers=headers, started_ms=0, duration_ms=1)


S, R, P, G = Verdict.SUCCEEDED, Verdict.RETRYABLE, Verdict.PERMANENT, Verdict.GONE


@pytest.mark.parametrize(
    ("codes", "verdict", "error"),
    [
        ([200, 201, 202, 204, 207, 299], S, None),
        ([100, 101, 103, 199, 600, 999], R, "protocol_error"),
        ([300, 301, 302, 303, 304, 307, 308], P, "redirect_not_followed"),
        ([400, 401, 403, 404, 405, 406, 411, 413, 414, 415, 418, 422, 426, 431, 451, 499], P, "http_status"),
        ([408, 409, 425, 429], R, "http_status"),
        ([410], G, "target_gone"),
        ([500, 502, 503, 504, 507, 520, 599], R, "http_status"),
        ([501, 505], P, "http_status"),
    ],
)
def test_b163_statuses(codes: list[int], verdict: Verdict, error: str | None) -> None:
    """B163, B167, B221: exactly the documented table; a redirect is a failure with its status."""
    assert {classify(status(code)) for code in codes} == {verdict}
    assert {error_code(status(code)) for code in codes} == {error}


PERMANENT = {
    Failure.PAYLOAD_MISSING,
    Failure.TARGET_BLOCKED,
    Failure.CANCELLED,
    Failure.QUEUE_ACCESS_DENIED,
    Failure.QUEUE_MISSING,
    Failure.QUEUE_REFUSED,
}


@pytest.mark.parametrize("failure", Failure)
def test_b163_failures_without_an_answer(failure: Failure) -> None:
    """Network trouble passes; what is blocked, gone or refused, and a cancelled call, no further try mends."""
    outcome = failed(failure, started_ms=0, duration_ms=1)
    assert classify(outcome) is (P if failure in PERMANENT else R)
    assert classify(outcome, retry_on=()) is classify(outcome)
    assert error_code(outcome) == failure.value


@pytest.mark.parametrize(
    ("code", "verdict"), [(404, R), (410, R), (302, R), (503, P), (429, P), (200, S), (101, R), (500, P)]
)
def test_retry_on_replaces_the_list_of_statuses(code: int, verdict: Verdict) -> None:
    """What the job names is retried, what it does not name is not; success stays success."""
    assert classify(status(code), retry_on=[302, 404, 410]) is verdict


def test_a_gone_target_that_the_job_does_not_retry_stays_gone() -> None:
    """410 pauses the job unless the job itself says that it is worth a retry."""
    assert classify(status(410), retry_on=[503]) is G


@pytest.mark.parametrize(("code", "verdict"), [(503, P), (429, P), (410, P), (200, S), (202, S)])
def test_a_target_may_ask_not_to_be_tried_again(code: int, verdict: Verdict) -> None:
    """`webhook-delivery: abort-message` ends a failed run, even one whose status is on the job's own list."""
    outcome = status(code, ("Webhook-Delivery", " Abort-Message "))
    assert outcome.abort
    assert classify(outcome, retry_on=[503, 429]) is verdict
    assert error_code(outcome) == (None if verdict is S else "aborted_by_target")


def test_only_useful_headers_are_kept() -> None:
    """Cookies, banners and the rest are dropped; what is kept is printable and short; the first of a name counts."""
    outcome = status(
        302,
        ("Location", "http://169.254.169.254/"),
        ("Set-Cookie", "a=b"),
        ("Server", "x"),
        ("Content-Type", "text/\x1bhtml\xe9"),
        ("Server-Timing", "t" * 5000),
        ("Retry-After", "5"),
        ("Retry-After", "9"),
    )
    assert outcome.headers == {
        "location": "http://169.254.169.254/",
        "content-type": "text/?html?",
        "server-timing": "t" * 1024,
        "retry-after": "5",
    }
    assert outcome.retry_after == "5"
    assert outcome.kind == "answered"


@pytest.mark.parametrize(
    ("body", "excerpt", "truncated"),
    [
        (b"", "", False),
        (b"x" * 4096, "x" * 4096, False),
        (b"x" * 4097, "x" * 4096, True),
        (b"\xff" * 4096, "\ufffd" * 1365, False),
        (b"x" + "€".encode() * 2000, "x" + "€" * 1365, True),
        (b"xx" + "€".encode() * 2000, "xx" + "€" * 1364, True),
    ],
    ids=["empty", "fits", "one-more", "not-text", "cut-on-the-sign", "cut-inside-a-sign"],
)
def test_b205_the_excerpt_is_text_of_bounded_size(body: bytes, excerpt: str, *, truncated: bool) -> None:
    """B205: at most 4 KiB of valid UTF-8, whatever the bytes were, and marked when cut."""
    outcome = answered(status=200, body=body, started_ms=0, duration_ms=1)
    assert (outcome.excerpt, outcome.truncated) == (excerpt, truncated)
    assert len(outcome.excerpt.encode()) <= 4096


def test_an_outcome_is_an_answer_or_a_failure() -> None:
    """Neither both nor none."""
    with pytest.raises(ValueError, match="not both"):
        Outcome(started_ms=0, duration_ms=0)
    with pytest.raises(ValueError, match="not both"):
        Outcome(started_ms=0, duration_ms=0, status=200, failure=Failure.TIMEOUT)
    assert failed(Failure.TIMEOUT, started_ms=0, duration_ms=0).kind == "failed"
