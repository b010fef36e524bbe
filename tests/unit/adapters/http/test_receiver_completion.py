"""The receiver's helper to complete an attempt later: where it reports, with what, and what it makes of a refusal."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import Any

import pytest

from carillon.receiver import Completion, CompletionError, WebhookError

RUN = "job_01M8MX0REB67WD2ANKW6N989AG@20261130T001742107Z"


class Api:
    """An API that answers as told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.status, self.answer = 200, '{"state": "awaiting_completion"}'
        self.asked: list[tuple[str, dict[str, str], str]] = []
        api = self

        class Handler(BaseHTTPRequestHandler):
            """Answers any POST."""

            def do_POST(self) -> None:
                """Keep the request."""
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                api.asked.append((self.path, dict(self.headers), body))
                self.send_response(api.status)
                self.end_headers()
                self.wfile.write(api.answer.encode())

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def completion(self) -> Completion:
        """What a callback of this API brings."""
        url = f"{self.url}/v1/runs/{RUN}/complete"
        return Completion.of({"CARILLON-COMPLETION-URL": url, "carillon-completion-token": "crt_t"}, self.url + "/")


@pytest.fixture
def api() -> Iterator[Api]:
    """One that runs."""
    one = Api()
    thread = Thread(target=one.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield one
    one.server.shutdown()
    one.server.server_close()
    thread.join()


def test_reports_go_to_the_right_place_with_the_token(api: Api) -> None:
    """A sign of life has no body; the others are JSON."""
    completion = api.completion()
    assert completion.heartbeat() == {"state": "awaiting_completion"}
    completion.succeeded({"rows": 3})
    completion.failed("disk full", retry=False)
    paths = [path for path, _, _ in api.asked]
    assert paths == [f"/v1/runs/{RUN}/{action}" for action in ("heartbeat", "complete", "complete")]
    assert {headers["Authorization"] for _, headers, _ in api.asked} == {"Bearer crt_t"}
    assert [json.loads(body) for _, _, body in api.asked[1:]] == [
        {"outcome": "succeeded", "result": {"rows": 3}},
        {"outcome": "failed", "retry": False, "result": "disk full"},
    ]


@pytest.mark.parametrize(
    ("answer", "code"), [('{"code": "stale_attempt"}', "stale_attempt"), ("<html>", "unknown"), ('["x"]', "unknown")]
)
def test_a_refusal_says_why(api: Api, answer: str, code: str) -> None:
    """By the code of its problem, if it is one."""
    api.status, api.answer = 409, answer
    with pytest.raises(CompletionError) as refused:
        api.completion().succeeded()
    assert (refused.value.status, refused.value.code) == (409, code)


def test_no_answer_may_be_repeated(api: Api) -> None:
    """Nobody listens any more, or it is no JSON."""
    api.answer = "nonsense"
    with pytest.raises(CompletionError) as broken:
        api.completion().heartbeat()
    assert (broken.value.status, broken.value.code) == (None, "no_answer")


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Carillon-Completion-Url": f"https://api.example.com/v1/runs/{RUN}/complete"},
        {"Carillon-Completion-Url": "file:///v1/runs/x/complete", "Carillon-Completion-Token": "t"},
        {"Carillon-Completion-Url": "https://evil.example.net/v1/runs/x/complete", "Carillon-Completion-Token": "t"},
        {"Carillon-Completion-Url": "https://api.example.com.evil.net/complete", "Carillon-Completion-Token": "t"},
    ],
)
def test_headers_of_no_completion_or_another_address_are_refused(headers: dict[str, str]) -> None:
    """Headers are not signed, so an address that is not the known one is not believed."""
    with pytest.raises(WebhookError):
        Completion.of(headers, api_url="https://api.example.com")


def test_a_token_does_not_stand_in_logs() -> None:
    """The text of a completion does not hold it."""
    assert "crt_t" not in repr(Completion("https://api.example.com/complete", "crt_t"))
