"""Values in DynamoDB's typed form, written and strictly read."""

import json
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NoReturn, TypeVar

from carillon.ports.errors import UnreadableItemError

Attribute = dict[str, Any]
Item = dict[str, Attribute]

_E = TypeVar("_E", bound=StrEnum)


def text(value: str) -> Attribute:
    """A string."""
    return {"S": value}


def number(value: int) -> Attribute:
    """A whole number."""
    return {"N": str(value)}


def raw(value: bytes) -> Attribute:
    """Bytes."""
    return {"B": value}


def packed(value: object) -> Attribute:
    """A structure that only our code reads, as compact JSON: half the size of nested attributes."""
    return {"S": json.dumps(value, ensure_ascii=False, separators=(",", ":"))}


def texts(value: Mapping[str, str]) -> Attribute:
    """A map of strings."""
    return {"M": {name: text(entry) for name, entry in value.items()}}


TRUE: Final[Attribute] = {"BOOL": True}
ZERO: Final = number(0)
EMPTY: Final = text("")


class Fields:
    """The attributes of an item, each read as the type that it has to have.

    Every reader raises UnreadableItemError, naming the item and the attribute, when it is missing or of another type.
    """

    __slots__ = ("_item",)

    def __init__(self, item: Mapping[str, Attribute]) -> None:
        self._item = item

    def has(self, name: str) -> bool:
        """Whether there is such an attribute."""
        return name in self._item

    def text(self, name: str) -> str:
        """A string."""
        value = self._value(name, "S")
        if not isinstance(value, str):
            self._refuse(name)
        return value

    def number(self, name: str) -> int:
        """A whole number."""
        try:
            return int(self._value(name, "N"))
        except (ValueError, TypeError):
            self._refuse(name)

    def raw(self, name: str) -> bytes:
        """Bytes."""
        value = self._value(name, "B")
        if not isinstance(value, bytes):
            self._refuse(name)
        return value

    def flag(self, name: str) -> bool:
        """True or false; false when it is missing."""
        return self.has(name) and self._value(name, "BOOL") is True

    def texts(self, name: str) -> dict[str, str]:
        """A map of strings; empty when it is missing."""
        if not self.has(name):
            return {}
        try:
            return {key: entry["S"] for key, entry in self._value(name, "M").items()}
        except (KeyError, TypeError, AttributeError):
            self._refuse(name)

    def one_of(self, kind: type[_E], name: str) -> _E:
        """A word of a closed set."""
        try:
            return kind(self.text(name))
        except ValueError:
            self._refuse(name)

    def unpacked(self, name: str) -> Any:
        """What `packed` wrote."""
        try:
            return json.loads(self.text(name))
        except (ValueError, RecursionError):
            self._refuse(name)

    def text_or_none(self, name: str) -> str | None:
        """A string, or None when it is missing."""
        return self.text(name) if self.has(name) else None

    def number_or_none(self, name: str) -> int | None:
        """A whole number, or None when it is missing."""
        return self.number(name) if self.has(name) else None

    def unreadable(self, why: str) -> UnreadableItemError:
        """The error that this item is not what it should be."""
        key = "/".join(str(self._item.get(name, {}).get("S", "?")) for name in ("pk", "sk"))
        return UnreadableItemError(f"{key}: {why}")

    def _value(self, name: str, kind: str) -> Any:
        try:
            return self._item[name][kind]
        except KeyError:
            self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        raise self.unreadable(f"{name} is missing or of the wrong kind")


def size_of(item: Mapping[str, Attribute]) -> int:
    """The size of an item in bytes, as DynamoDB counts it (numbers by their upper bound)."""
    return sum(len(name.encode()) + _size(value) for name, value in item.items())


def _size(attribute: Attribute) -> int:
    kind, value = next(iter(attribute.items()))
    match kind:
        case "S":
            return len(value.encode())
        case "N":
            return len(value) // 2 + 2
        case "B":
            return len(value)
        case "M":
            return 3 + sum(1 + len(name.encode()) + _size(entry) for name, entry in value.items())
        case _:
            return 1
