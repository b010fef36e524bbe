"""A strict reader of JSON objects that also keeps each member's text as it stood.

The standard library's reader lets pass what two readers may understand differently: keys that stand twice (the last
one wins), `NaN` and `Infinity`, a byte order mark. They are refused. The text of a member is kept because a payload has
to reach its receiver byte for byte: `30.40` stays `30.40`, and a number of 41 digits keeps them all.
"""

import json
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

MOST_LEVELS = 64
"""How deep arrays and objects may be nested, the outermost one counted."""

MOST_OUTER_LEVELS = 256
"""The same of an object whose elements are judged by themselves: one that is nested too deep is refused alone."""

_BLANKS = " \t\n\r"
_LONGEST_WHOLE_NUMBER = 20


class JsonError(ValueError):
    """The text is not a JSON object that we read. The message never repeats any of it."""


@dataclass(frozen=True, slots=True)
class JsonObject:
    """An object as read: its members, and the text of each as it stood."""

    members: dict[str, Any]
    texts: dict[str, str]


def read_object(body: bytes, opaque: Collection[str] = (), *, most_levels: int = MOST_LEVELS) -> JsonObject:
    """Read a JSON object.

    Args:
        body: UTF-8, without a byte order mark.
        opaque: names of members inside which keys may stand twice, because we do not look into them.
        most_levels: how deep it may be nested.

    Raises:
        JsonError: it is no such object, or nested deeper than that.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise JsonError("the body is not UTF-8") from error
    try:
        found = _Reader(text, opaque).read()
    except RecursionError as error:
        raise _too_deep(most_levels) from error
    except json.JSONDecodeError as error:
        raise _not_json(text, error.pos) from error
    if _levels(found.members) > most_levels:
        raise _too_deep(most_levels)
    return found


def read_list(body: bytes, member: str) -> tuple[dict[str, Any], list[str]]:
    """Read a JSON object of whose members one is a list: all members, and the text of each element of the list.

    The elements are not judged: whoever reads one reads its text. There are none if the member is no list.

    Raises:
        JsonError: it is no such object, or nested deeper than `MOST_OUTER_LEVELS`.
    """
    found = read_object(body, opaque={member}, most_levels=MOST_OUTER_LEVELS)
    is_list = isinstance(found.members.get(member), list)
    return found.members, list(_elements(found.texts[member])) if is_list else []


def _elements(text: str) -> Iterator[str]:
    """The texts of the elements of a list that has been read already."""
    at = _behind_blanks(text, 1)
    while text[at] != "]":
        begin, (_, at) = at, _LENIENT.raw_decode(text, at)
        yield text[begin:at]
        at = _behind_blanks(text, at)
        if text[at] == ",":
            at = _behind_blanks(text, at + 1)


def _behind_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BLANKS:
        at += 1
    return at


@dataclass(slots=True)
class _Reader:
    """Reads the outermost object by hand, to know where each member's text begins and ends."""

    text: str
    opaque: Collection[str]
    at: int = 0

    def read(self) -> JsonObject:
        found = JsonObject({}, {})
        self._expect("{")
        if not self._skips("}"):
            self._read_member(found)
            while self._skips(","):
                self._read_member(found)
            self._expect("}")
        self._skip_blanks()
        if self.at < len(self.text):
            raise _not_json(self.text, self.at)
        return found

    def _read_member(self, found: JsonObject) -> None:
        key = self._read_key()
        _check_new(key, found.members)
        self._expect(":")
        self._skip_blanks()
        begin = self.at
        found.members[key], self.at = (_LENIENT if key in self.opaque else _STRICT).raw_decode(self.text, begin)
        found.texts[key] = self.text[begin : self.at]

    def _read_key(self) -> str:
        self._skip_blanks()
        if not self.text.startswith('"', self.at):
            raise _not_json(self.text, self.at)
        key, self.at = _LENIENT.raw_decode(self.text, self.at)
        return str(key)

    def _expect(self, sign: str) -> None:
        if not self._skips(sign):
            raise _not_json(self.text, self.at)

    def _skips(self, sign: str) -> bool:
        self._skip_blanks()
        if not self.text.startswith(sign, self.at):
            return False
        self.at += 1
        return True

    def _skip_blanks(self) -> None:
        self.at = _behind_blanks(self.text, self.at)


def _not_json(text: str, position: int) -> JsonError:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return JsonError(f"the body is not a JSON object: unexpected at line {line}, column {column}")


def _too_deep(most_levels: int) -> JsonError:
    return JsonError(f"the body is nested deeper than {most_levels} levels")


def _check_new(key: str, members: dict[str, Any]) -> None:
    if key in members:
        raise JsonError("a key stands twice in one object")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for key, value in pairs:
        _check_new(key, members)
        members[key] = value
    return members


def _refuse_constant(_: str) -> NoReturn:
    raise JsonError("NaN and Infinity are no JSON numbers")


def _whole_number(digits: str) -> int | float:
    """A whole number, as a float if it is longer than any field admits: int() refuses thousands of digits."""
    return int(digits) if len(digits) <= _LONGEST_WHOLE_NUMBER else float(digits)


_LENIENT = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_whole_number)
_STRICT = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_whole_number, object_pairs_hook=_without_repeats)


def _levels(value: Any) -> int:
    """How deep arrays and objects are nested, level by level: no recursion."""
    depth, level = 0, [value]
    while level:
        level = [inner for outer in level for inner in _inner(outer) if isinstance(inner, dict | list)]
        depth += 1
    return depth


def _inner(outer: dict[str, Any] | list[Any]) -> Collection[Any]:
    return outer.values() if isinstance(outer, dict) else outer
