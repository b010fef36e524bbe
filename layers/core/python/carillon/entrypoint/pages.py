"""Pages of lists: the parameters that ask for one, and the answer."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from carillon.application.walking import Walked
from carillon.domain.instants import parse_instant
from carillon.domain.schedule_error import ScheduleError
from carillon.entrypoint.cursors import Cursors
from carillon.entrypoint.http_request import Answer, Request
from carillon.entrypoint.problems import FieldError, Refusal, invalid

DEFAULT_LIMIT = 50
HIGHEST_LIMIT = 100
MOST_PAGE_CHARACTERS = 2 * 1024 * 1024
"""Larger pages end early, with a cursor: a function's answer is limited to 6 MB."""

Item = TypeVar("Item")
Choice = TypeVar("Choice")


@dataclass(frozen=True, slots=True)
class Asked:
    """A page that was asked for: of which list (filters included), how long, and from behind which position."""

    listing: str
    limit: int
    position: str | None


def read_page(request: Request, cursors: Cursors) -> Asked:
    """The page that a request asks for.

    Raises:
        Refusal: the limit is no number within bounds, or a parameter stands twice.
        BadCursorError: the cursor is not one of this list.
    """
    listing = _listing(request)
    cursor = single(request, "cursor")
    position = None if cursor is None else cursors.open(cursor, request.tenant, listing, request.now_ms)
    return Asked(listing, _limit(single(request, "limit")), position)


def single(request: Request, name: str) -> str | None:
    """The value of a parameter that may stand once.

    Raises:
        Refusal: it stands more than once.
    """
    values = [value for each, value in request.parameters if each == name]
    if len(values) > 1:
        raise bad_parameter(name, "repeated", "may stand only once")
    return values[0] if values else None


def choice(request: Request, name: str, choices: Mapping[str, Choice]) -> Choice | None:
    """The meaning of a parameter that is one of a few words, or None when it does not stand.

    Raises:
        Refusal: it is none of them.
    """
    value = single(request, name)
    if value is not None and value not in choices:
        raise bad_parameter(name, "not_a_choice", f"allowed: {', '.join(choices)}")
    return None if value is None else choices[value]


def instant(request: Request, name: str) -> int | None:
    """The instant (epoch ms) in a parameter that may stand once, or None when it does not stand.

    Raises:
        Refusal: it is none.
    """
    value = single(request, name)
    try:
        return None if value is None else parse_instant(value, name)
    except ScheduleError as error:
        raise bad_parameter(name, "invalid_value", f"{error.detail}; allowed: {error.allowed}") from None


def bad_parameter(name: str, code: str, detail: str) -> Refusal:
    """The refusal of a parameter of the query."""
    return invalid([FieldError("parameter", name, code, detail)])


def answer_page(
    request: Request,
    asked: Asked,
    walked: Walked[Item],
    cursors: Cursors,
    *,
    view: Callable[[Item], Any],
    position_of: Callable[[Item], str],
) -> Answer:
    """The answer with a page, with where the list goes on, in the body and as a link."""
    texts, position = _fitting(walked, view, position_of)
    cursor = None
    headers = {}
    if position is not None:
        cursor = cursors.seal(request.tenant, asked.listing, position, request.now_ms)
        headers["Link"] = f'<{_link(request, cursor)}>; rel="next"'
    text = f'{{"data": [{", ".join(texts)}], "next_cursor": {json.dumps(cursor)}}}'
    return Answer(200, text, headers)


def _fitting(
    walked: Walked[Item], view: Callable[[Item], Any], position_of: Callable[[Item], str]
) -> tuple[list[str], str | None]:
    """The items as texts, as many as fit, and from where to go on."""
    texts: list[str] = []
    room = MOST_PAGE_CHARACTERS
    for index, item in enumerate(walked.items):
        text = json.dumps(view(item))
        room -= len(text)
        if texts and room < 0:
            return texts, position_of(walked.items[index - 1])
        texts.append(text)
    return texts, walked.position


def _listing(request: Request) -> str:
    """The name of a list, filters included: what a cursor of it is bound to."""
    filters = sorted((name, value) for name, value in request.parameters if name not in ("limit", "cursor"))
    return json.dumps([request.segments, filters])


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= HIGHEST_LIMIT):  # noqa: PLR2004 - digits of the highest limit
        raise bad_parameter("limit", "out_of_range", f"allowed: 1 to {HIGHEST_LIMIT}")
    return int(text)


def _link(request: Request, cursor: str) -> str:
    kept = [(name, value) for name, value in request.parameters if name != "cursor"]
    path = request.path(*(quote(segment, safe="@~") for segment in request.segments))
    return f"{path}?{urlencode([*kept, ('cursor', cursor)])}"
