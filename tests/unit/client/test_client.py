"""The client: what it understands of answers, and that no list keeps it for ever."""

from typing import Any

import pytest

from carillon.client import ApiProblem, BadAnswerError, Client, PagingError, UnreachableError
from carillon.client.transport import LONGEST_PAUSE_MS, Transport

DEFINITION = {"schedule": {"delay": "PT10S"}, "target": {"type": "http", "url": "https://svc.carillon.dev/"}}


def test_a_job_is_created_read_listed_and_cancelled(client: Client, service: Any) -> None:
    """The calls of a job's life reach the service and bring its answers back."""
    job = client.create_job(DEFINITION)
    assert client.job(job["id"]) == job
    assert [listed["id"] for listed in client.jobs()] == [job["id"]]
    client.cancel_job(job["id"])
    assert service.jobs[job["id"]]["state"] == "cancelled"


@pytest.mark.parametrize("status", [429, 503])
def test_a_read_is_tried_again_after_a_temporary_refusal(
    client: Client, service: Any, pauses: list[float], script: Any, status: int
) -> None:
    """429 and 503 are not the end of a read: the pause is the one asked for, or a short one of our own."""
    service.script += [script.problem(status, "later", retry_after="2"), script.problem(status, "later")]
    assert list(client.jobs()) == []
    assert pauses[0] == 2
    assert 0 < pauses[1] < 1


@pytest.mark.parametrize(
    ("status", "retry_after"), [(400, None), (404, None), (500, None), (503, str(LONGEST_PAUSE_MS // 1000 + 1))]
)
def test_a_lasting_refusal_is_final(
    client: Client, service: Any, pauses: list[float], script: Any, status: int, retry_after: str | None
) -> None:
    """A refusal that will not pass, or not soon, is raised at once."""
    service.script.append(script.problem(status, "no", **({"retry_after": retry_after} if retry_after else {})))
    with pytest.raises(ApiProblem) as refused:
        list(client.jobs())
    assert refused.value.status == status
    assert pauses == []


def test_tries_have_an_end(client: Client, service: Any, pauses: list[float], script: Any) -> None:
    """A service that refuses for ever is asked four times, no more."""
    service.script += [script.problem(503, "unavailable")] * 10
    with pytest.raises(ApiProblem):
        client.job("job_1")
    assert len(service.bodies) == 4
    assert len(pauses) == 3


def test_a_read_survives_a_broken_line(client: Client, service: Any, script: Any) -> None:
    """A connection that the other side has closed is replaced."""
    client.create_job(DEFINITION)
    service.script.append(script.hang_up)
    assert len(list(client.jobs())) == 1


def test_connections_that_were_kept_too_long_cost_one_try(client: Client, pauses: list[float]) -> None:
    """However many are kept, when the other side has closed them all a read survives it by a single repeat."""
    for _ in range(8):
        client.create_job(DEFINITION)
    for connection in client._transport._idle:
        connection.sock.close()
    assert len(list(client.jobs())) == 8
    assert len(pauses) == 1


def test_a_service_that_is_not_there_is_unreachable(key: str, pauses: list[float]) -> None:
    """Nobody listens on port 1: the error names the place and not the key."""
    client = Client("", transport=Transport("http://127.0.0.1:1", key, tries=2, sleep=pauses.append))
    with pytest.raises(UnreachableError, match=r"http://127\.0\.0\.1:1 does not answer") as error:
        client.job("job_1")
    assert key not in str(error.value)


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param((200, "<html>hello</html>"), id="another server"),
        pytest.param((200, [1]), id="no object"),
        pytest.param((200, "[" * 100_000), id="brackets without end"),
        pytest.param((200, {"data": 3, "next_cursor": None}), id="data is no list"),
        pytest.param((200, {"data": [], "next_cursor": 3}), id="cursor is no text"),
        pytest.param((302, ""), id="redirect"),
    ],
)
def test_an_answer_of_another_kind_is_told_apart(client: Client, service: Any, script: Any, answer: Any) -> None:
    """What this service would never answer is neither taken for data nor followed elsewhere with the key."""
    service.script.append(script.reply(*answer))
    with pytest.raises(BadAnswerError):
        list(client.jobs())


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(
            (422, {"title": "t", "code": "c", "errors": [{"pointer": "/a/b", "detail": "wrong"}]}),
            "/a/b: wrong (422 c)",
            id="field",
        ),
        pytest.param(
            (400, {"code": "bad_cursor", "errors": [{"parameter": "cursor", "code": "bad_cursor"}]}),
            "cursor: bad_cursor (400 bad_cursor)",
            id="parameter",
        ),
        pytest.param((403, {"message": "Forbidden"}), "Forbidden (403 http_403)", id="gateway"),
        pytest.param((502, "<html>"), "HTTP status 502 (502 http_502)", id="proxy"),
        pytest.param((400, {"code": 1, "errors": "x", "detail": None}), "HTTP status 400 (400 http_400)", id="odd"),
    ],
)
def test_a_refusal_says_what_it_can(client: Client, service: Any, script: Any, answer: Any, message: str) -> None:
    """A problem names its fields; any other refusal at least its status."""
    service.script += [script.reply(*answer)] * 4  # some are tried again
    with pytest.raises(ApiProblem) as refused:
        client.create_job(DEFINITION)
    assert str(refused.value) == message


def empty_pages(script: Any, number: int) -> list[Any]:
    """So many empty pages, each with another cursor."""
    return [script.reply(200, {"data": [], "next_cursor": f"c{position}"}) for position in range(number)]


def test_b188_empty_pages_are_followed(client: Client, service: Any, script: Any) -> None:
    """B188: an empty page with a cursor is no end, however many there are within reason."""
    service.script += [*empty_pages(script, 500), script.reply(200, {"data": [{"id": "job_1"}], "next_cursor": None})]
    assert [job["id"] for job in client.jobs()] == ["job_1"]


def test_b266_a_repeated_cursor_is_an_error(client: Client, service: Any, script: Any) -> None:
    """B266: a service that gives the same cursor again is not followed for ever."""
    service.script += [script.reply(200, {"data": [{"id": "x"}], "next_cursor": "same"})] * 3
    with pytest.raises(PagingError, match="repeated a cursor"):
        list(client.jobs())


def test_b266_empty_pages_without_end_are_an_error(client: Client, service: Any, script: Any) -> None:
    """B266: 1,001 empty pages in a row are taken for a fault."""
    service.script += empty_pages(script, 1_001)
    with pytest.raises(PagingError, match="1000 empty pages in a row"):
        list(client.jobs())


def test_the_last_cursor_of_a_part_leads_on(client: Client) -> None:
    """A list cut at a limit ends on a page's border, so its cursor goes on right behind it."""
    made = [client.create_job(DEFINITION)["id"] for _ in range(7)]
    first = client.first_jobs(most=5)
    rest = client.first_jobs({"cursor": first.next_cursor}, most=5)
    assert [job["id"] for job in (*first.items, *rest.items)] == sorted(made, reverse=True)
    assert rest.next_cursor is None


@pytest.mark.parametrize("job_id", ["", ".", "..", "..."])
def test_an_id_cannot_lead_elsewhere(client: Client, job_id: str) -> None:
    """What a path would read as a step to another place is no id."""
    with pytest.raises(ValueError, match="an id"):
        client.job(job_id)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "svc.example.com",
        "ftp://a",
        "http://",
        "http://u:p@a",
        "http://a/?q",
        "http://a/#f",
        "http://a:x",
        "http://[a",
    ],
)
def test_a_url_that_is_none_is_refused(url: str) -> None:
    """Only http and https with a host, and nothing that would carry secrets or be lost."""
    with pytest.raises(ValueError, match="the service's URL"):
        Transport(url)


@pytest.mark.parametrize("ending", ["\n", "\r\nX-Evil: 1", " b", "\x00", "ü"])
def test_a_key_that_is_none_is_refused_without_repeating_it(key: str, ending: str) -> None:
    """A key that would break the header is refused, and the refusal does not show it."""
    with pytest.raises(ValueError, match="the API key") as refused:
        Transport("http://127.0.0.1:1", key + ending)
    assert key not in str(refused.value)
