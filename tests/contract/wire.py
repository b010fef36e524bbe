"""AWS as a script: each request of a real client gets the next answer, in AWS's own wire format."""

import json
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from carillon.adapters.aws import new_client
from carillon.adapters.dynamodb.database import Database
from contract.backends import a_session


@dataclass(frozen=True)
class Answer:
    """An answer: its status and its JSON, or what came in its place."""

    body: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    raw: bytes | None = None


def error(code: str, status: int = 400, **members: Any) -> Answer:
    """An error's answer."""
    return Answer({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": code, **members}, status)


def cancelled(*codes: str, items: dict[int, Any] | None = None) -> Answer:
    """The answer of a cancelled transaction: a reason for each position."""
    held = items or {}
    reasons = [{"Code": code, **({"Item": held[at]} if at in held else {})} for at, code in enumerate(codes)]
    return error("TransactionCanceledException", CancellationReasons=reasons)


class _Body:
    """The body of an answer, as the client reads it."""

    def __init__(self, body: bytes) -> None:
        self._body = body

    def stream(self, *_: object, **__: object) -> list[bytes]:
        """All of it at once."""
        return [self._body]


@dataclass
class Wire:
    """A script of answers, and the requests that it got. A request after its end fails the test."""

    answers: list[Answer | Exception]
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    def client(self, service: str = "dynamodb") -> Any:
        """A client as the functions make it, whose requests end here. It does not try again by itself."""
        client = new_client(a_session(), service, most_attempts=1, endpoint_url="http://127.0.0.1:9")
        client.meta.events.register(f"before-send.{service}", self._answer)
        return client

    def database(self) -> Database:
        """The tables behind this wire."""
        return Database(self.client(), "jobs", "control", sleep=self.pauses.append)

    @property
    def operations(self) -> list[str]:
        """What was asked for, in order."""
        return [operation for operation, _ in self.requests]

    def _answer(self, request: AWSPreparedRequest, **_: object) -> AWSResponse:
        operation = str(request.headers["X-Amz-Target"], "ascii").partition(".")[2]
        self.requests.append((operation, json.loads(request.body)))
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        body = _Body(json.dumps(answer.body).encode() if answer.raw is None else answer.raw)
        return AWSResponse(request.url, answer.status, {"content-type": "application/x-amz-json-1.0"}, body)
