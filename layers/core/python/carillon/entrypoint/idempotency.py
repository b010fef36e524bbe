"""`Idempotency-Key` on a POST: the answer of the first request is given again, marked as such."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from carillon.application.repeat_safely import RepeatSafely, Replayed, Turn
from carillon.domain.idempotency import KEY, KeptAnswer, fingerprint_of
from carillon.entrypoint.http_request import Answer, Request
from carillon.entrypoint.problems import FieldError, Refusal, invalid, refusal_of
from carillon.entrypoint.routing import Route

Handle = Callable[[Request], Answer]

_HEADER = "Idempotency-Key"
_SERVER_ERRORS = 500


def key_in(request: Request, *, shows_secret: bool) -> str | None:
    """The key of a request that may be repeated, or None.

    Raises:
        Refusal: the key is not of the form, or the route keeps no answers.
    """
    key = request.headers.get(_HEADER.lower())
    if key is None or request.method != "POST":
        return None
    if not KEY.fullmatch(key):
        wrong = FieldError("header", _HEADER, "invalid_value", "allowed: 1 to 255 visible ASCII characters")
        raise Refusal("malformed_request", f"{_HEADER} is not valid; {wrong.detail}", (wrong,))
    if shows_secret:
        detail = "answers that show a secret are not kept; leave it out"
        raise invalid([FieldError("header", _HEADER, "not_supported", detail)])
    return key


@dataclass(frozen=True, slots=True)
class Once:
    """Handles a request once a key."""

    repeat_safely: RepeatSafely

    def __call__(self, key: str, request: Request, route: Route[Handle]) -> Answer:
        """Handle a request, or answer as the first one was answered."""

        def act(turn: Turn) -> KeptAnswer:
            answer = route.handle(request.at(turn.now_ms, turn.ids, is_again=turn.is_again))
            return KeptAnswer(answer.status, answer.text, answer.headers)

        made = self.repeat_safely(
            request.tenant, key, _fingerprint(request), request.now_ms, act, is_refusal=_is_refusal
        )
        if isinstance(made, Replayed):
            kept = made.answer
            if route.recheck is not None:
                kept = route.recheck(request, kept)
            return Answer(kept.status, kept.text, {**kept.headers, "Idempotent-Replayed": "true"})
        return Answer(made.status, made.text, made.headers)


def _fingerprint(request: Request) -> str:
    """Of method, path, query and body, where the order of members counts as little as it does to us."""
    place = "\n".join((request.method, *request.segments, *(f"{name}={value}" for name, value in request.parameters)))
    return fingerprint_of(place.encode(), _in_order(request.body))


def _in_order(body: bytes) -> bytes:
    """A JSON body with its members sorted and its numbers as they were written; another body as it is."""
    try:
        value = json.loads(body, parse_int=_Written, parse_float=_Written, parse_constant=_Written)
        return json.dumps(value, sort_keys=True, default=vars).encode()
    except (ValueError, RecursionError):
        return body


class _Written:
    """A number as it was written: 1 and 1.0 are two payloads."""

    def __init__(self, text: str) -> None:
        self.number = text


def _is_refusal(error: Exception) -> bool:
    """Whether an exception becomes an answer that says that nothing was done."""
    refusal = refusal_of(error)
    return refusal is not None and refusal.status < _SERVER_ERRORS
