"""Which headers a tenant may add to a callback."""

import pytest

from carillon.domain.headers import HeaderProblem, header_problems, is_sendable


def codes(*headers: tuple[str, str]) -> list[str]:
    """The codes of what is wrong."""
    return [problem.code for problem in header_problems(headers)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X-Team", "infra"),
        ("Authorization", "Bearer abc=="),
        ("Content-Type", "application/json; charset=utf-8"),
        ("X-Empty", ""),
        ("X-Tab", "a\tb  c"),
        ("a" * 64, "v"),
        ("!#$%&'*+.^_`|~-", "v"),
    ],
)
def test_ordinary_headers_pass(name: str, value: str) -> None:
    """Any token of up to 64 characters with a value of visible ASCII, blanks and tabs inside."""
    assert header_problems([(name, value)]) == []
    assert is_sendable(name, value)


@pytest.mark.parametrize(
    "value",
    ["a\r\nX-Evil: 1", "a\nb", "a\rb", "a\0b", " a", "a ", "\ta", "a\t", "a\r\n b", "é", "a\x7f", "a\x0bb", "a\n"],
    ids=ascii,
)
def test_b208_values_that_leave_their_line_are_refused(value: str) -> None:
    """B208: line ends, NUL, other control characters, folding and outer blanks are no part of a value."""
    assert codes(("X-A", value)) == ["bad_header_value"]
    assert not is_sendable("X-A", value)


@pytest.mark.parametrize("name", ["", "X A", "X:A", "X-é", "X-A\n", "X\0", "a" * 65, "(x)", "X/A"], ids=ascii)
def test_b208_names_that_are_no_tokens_are_refused(name: str) -> None:
    """B208: a name is a token of RFC 9110 of at most 64 characters."""
    assert codes((name, "v")) == ["bad_header_name"]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "Host",
            "hOsT",
            "Content-Length",
            "Transfer-Encoding",
            "Connection",
            "Keep-Alive",
            "TE",
            "Trailer",
            "Upgrade",
        ),
        *(
            "Proxy-Authorization",
            "Proxy-Connection",
            "Expect",
            "Via",
            "Forwarded",
            "X-Forwarded-For",
            "X-Forwarded-Host",
            "X-Real-IP",
        ),
        *("Date", "Accept-Encoding", "User-Agent", "Cookie", "webhook-signature", "Webhook-Id", "webhook-timestamp"),
        *("Carillon-Attempt", "Idempotency-Key", "X-Aws-Parameters-Secrets-Token", "x-amz-date", "Metadata"),
        *("Metadata-Flavor", "X-aws-ec2-metadata-token"),
    ],
)
def test_b209_names_with_a_meaning_of_their_own_are_refused(name: str) -> None:
    """B209: framing, identity, signature and metadata headers, compared without case."""
    assert codes((name, "v")) == ["reserved_header"]


@pytest.mark.parametrize("names", [("X-A", "x-a"), ("x-a", "X-A"), ("x-a", "x-a")])
def test_b212_names_are_compared_without_case(names: tuple[str, str]) -> None:
    """B212: the second spelling of a name is a duplicate, and the problem points at it."""
    problems = header_problems([(name, "1") for name in names])
    assert [(problem.index, problem.name, problem.code) for problem in problems] == [(1, names[1], "duplicate_header")]


def test_b212_number_and_size_are_limited() -> None:
    """B212: 32 headers and 8 KiB in all pass, one more of either does not."""
    many = [(f"X-{number}", "v") for number in range(33)]
    assert codes(*many[:32]) == []
    assert codes(*many) == ["too_many_headers"]
    assert codes(("X-Big", "v" * (8192 - 9))) == []
    assert codes(("X-Big", "v" * (8192 - 8))) == ["headers_too_large"]
    assert codes(("X-Big", "v" * 65536)) == ["headers_too_large"]


def test_a_problem_never_repeats_the_value() -> None:
    """Details are for people and logs: what was sent is in neither."""
    problem = HeaderProblem(0, "X-A", "bad_header_value", header_problems([("X-A", "s3cret\n")])[0].detail)
    assert header_problems([("X-A", "s3cret\n")]) == [problem]
    assert "s3cret" not in problem.detail


@pytest.mark.parametrize("name", ["Host", "content-length", "Transfer-Encoding", "Connection", "Upgrade", "Expect"])
def test_nobody_but_the_client_frames_the_message(name: str) -> None:
    """Our own headers pass the last check before sending; those that frame the message do not."""
    assert is_sendable("webhook-signature", "v1,abc=")
    assert not is_sendable(name, "x")
