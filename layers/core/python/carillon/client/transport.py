"""HTTP for the client: kept connections, one try or several, never a redirect."""

import http.client
import random
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urlsplit

from carillon import __version__
from carillon.client.problems import ApiProblem, BadAnswerError, NotFoundError, UnreachableError, problem_from
from carillon.domain.retry_after import parse_retry_after

LARGEST_ANSWER_BYTES = 64 * 1024 * 1024
_PIECE_BYTES = 64 * 1024
LONGEST_PAUSE_MS = 30_000
FIRST_PAUSE_MS = 200
_TEMPORARY_STATUSES = frozenset({429, 502, 503, 504})
_TEMPORARY_CODES = frozenset({"request_in_flight"})
_FIRST_REDIRECT = 300
_NO_CONTENT = 204


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of the service. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Request:
    """A request. `path` begins with a slash and may carry a query.

    `repeatable` says that sending it twice has the effect of sending it once.
    """

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = False


class Transport:
    """Sends requests to one service; may be used from several threads.

    Args:
        url: The base of the service, `http` or `https`, with a path if need be.
        api_key: Sent as the bearer token, if given; appears in no message.
        timeout_seconds: How long to wait for the connection, and for each piece of the answer.
        answer_seconds: How long the whole answer may take, however steadily its pieces come.
        tries: How often a repeatable request is sent at most. It pauses after a failed connection, a 429, 502, 503 or
            504, and while the first request of its Idempotency-Key is under way: as long as `Retry-After` says, or from
            a fifth of a second, doubling, with jitter. A longer wait than 30 s is not made: the refusal is raised.
        sleep: Lets so many seconds pass; `time.sleep` if not given.

    Raises:
        ValueError: The URL or the key cannot be used; the message does not repeat the key.
    """

    def __init__(
        self,
        url: str,
        api_key: str | None = None,
        *,
        timeout_seconds: float = 30.0,
        answer_seconds: float = 120.0,
        tries: int = 5,
        sleep: Callable[[float], None] | None = None,
    ) -> None:
        self._base = checked_url(url)
        self._authorization = {"Authorization": f"Bearer {checked_key(api_key)}"} if api_key else {}
        self._timeout_seconds = timeout_seconds
        self._answer_seconds = answer_seconds
        self._tries = tries
        self._sleep = time.sleep if sleep is None else sleep
        self._idle: deque[http.client.HTTPConnection] = deque()

    def send(self, request: Request) -> Answer:
        """Send a request and give the answer, which is below 300.

        Raises:
            ApiProblem: The service refused.
            UnreachableError: No answer came.
            BadAnswerError: The answer is a redirect or too large.
        """
        for attempt in range(1, (self._tries if request.repeatable else 1) + 1):
            try:
                return self._send_once(request)
            except NotFoundError:
                if request.method != "DELETE" or attempt == 1:
                    raise
                return Answer(_NO_CONTENT, {}, b"")  # an earlier try, whose answer was lost, has removed it
            except (ApiProblem, UnreachableError) as error:
                pause_ms = _pause_ms(error, attempt)
                if not request.repeatable or attempt == self._tries or pause_ms is None:
                    raise
            self._sleep(pause_ms / 1000)
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """Close the connections that are kept."""
        while self._idle:
            self._idle.pop().close()

    def _send_once(self, request: Request) -> Answer:
        connection = self._connection(fresh=not request.repeatable)
        try:
            answer = self._exchange(connection, request)
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self.close()  # those kept as long as this one have been closed by the other side as well
            raise UnreachableError(f"{self._where} does not answer: {_reason(error)}") from error
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)
        return _accepted(answer)

    def _connection(self, *, fresh: bool) -> http.client.HTTPConnection:
        """A kept connection may have been closed by the other side; what must not be sent twice takes a fresh one."""
        with suppress(IndexError):  # another thread may take the last one at any moment
            if not fresh:
                return self._idle.pop()
        kind = http.client.HTTPSConnection if self._base.scheme == "https" else http.client.HTTPConnection
        return kind(self._base.hostname or "", self._base.port, timeout=self._timeout_seconds)

    def _exchange(self, connection: http.client.HTTPConnection, request: Request) -> Answer:
        own = {"Accept": "application/json", "User-Agent": f"carillon-client/{__version__}"}
        headers = own | self._authorization | dict(request.headers)
        connection.request(request.method, self._base.path.rstrip("/") + request.path, request.body, headers)
        response = connection.getresponse()
        body = self._body(response, time.monotonic() + self._answer_seconds)
        return Answer(response.status, {name.lower(): value for name, value in response.headers.items()}, body)

    def _body(self, response: http.client.HTTPResponse, deadline: float) -> bytes:
        """The whole body, piece by piece: a peer that sends a byte at a time never lets a read time out."""
        body = bytearray()
        while piece := response.read1(_PIECE_BYTES):
            body += piece
            if len(body) > LARGEST_ANSWER_BYTES:
                raise BadAnswerError(f"{self._where} sent an answer of more than {LARGEST_ANSWER_BYTES} bytes")
            if time.monotonic() > deadline:
                raise TimeoutError(f"the answer took longer than {self._answer_seconds:g} s")
        if response.length:
            raise http.client.IncompleteRead(bytes(body), response.length)
        response.close()  # the connection stays, to be used again
        return bytes(body)

    @property
    def _where(self) -> str:
        return f"{self._base.scheme}://{self._base.netloc}"


def put_to(url: str, data: bytes, headers: Mapping[str, str]) -> None:
    """Put bytes where a signed URL lets anybody put them. It is tried again: the same bytes come to the same.

    Raises:
        ApiProblem: It was refused.
        UnreachableError: No answer came.
        BadAnswerError: The URL is none, or the answer is a redirect.
    """
    place, query = url.partition("?")[::2]
    try:
        parts = checked_url(place)
    except ValueError as error:
        raise BadAnswerError("the URL to upload to is none") from error
    transport = Transport(f"{parts.scheme}://{parts.netloc}")
    try:
        transport.send(Request("PUT", f"{parts.path}?{query}", data, headers, repeatable=True))
    finally:
        transport.close()


def checked_url(url: str) -> SplitResult:
    """The parts of a service's base URL.

    Raises:
        ValueError: It is not one.
    """
    wanted = "the service's URL must be http(s)://host[:port][/path], without user, query or fragment"
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port)
        (parts.hostname or "").encode("idna")
    except ValueError as error:
        raise ValueError(wanted) from error
    if not usable or parts.username is not None or parts.query or parts.fragment or not parts.path.isascii():
        raise ValueError(wanted)
    return parts


def checked_key(api_key: str) -> str:
    """A key fit for a header.

    Raises:
        ValueError: It holds characters that no key has; the message does not repeat it.
    """
    if not api_key.isascii() or not api_key.isprintable() or " " in api_key:
        raise ValueError("the API key holds characters that no key has")
    return api_key


def _accepted(answer: Answer) -> Answer:
    if answer.status < _FIRST_REDIRECT:
        return answer
    wait = answer.headers.get("retry-after")
    retry_after_ms = None if wait is None else parse_retry_after(wait, time.time_ns() // 1_000_000)
    problem = problem_from(answer.status, answer.body, retry_after_ms)
    if answer.status < 400:  # noqa: PLR2004 - where refusals begin
        raise BadAnswerError(f"the service answered with a redirect ({answer.status}), which is not followed")
    raise problem


def _pause_ms(error: ApiProblem | UnreachableError, attempt: int) -> int | None:
    """How long to wait before the next try, or None when there is no use in one."""
    if isinstance(error, ApiProblem) and not _is_temporary(error):
        return None
    if isinstance(error, ApiProblem) and error.retry_after_ms is not None:
        return error.retry_after_ms if error.retry_after_ms <= LONGEST_PAUSE_MS else None
    most_ms = min(FIRST_PAUSE_MS << (attempt - 1), LONGEST_PAUSE_MS)
    return random.randint(most_ms // 2, most_ms)  # noqa: S311 - spreads clients, guards nothing


def _is_temporary(problem: ApiProblem) -> bool:
    return problem.status in _TEMPORARY_STATUSES or problem.code in _TEMPORARY_CODES


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
