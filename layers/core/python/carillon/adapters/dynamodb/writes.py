"""Conditional writes as values: each is sent alone or as a part of a transaction."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Literal

from carillon.adapters.dynamodb.attributes import Attribute, Item, text
from carillon.adapters.dynamodb.keys import PK, SK

Verb = Literal["Put", "Update", "Delete"]

ABSENT: Final = f"attribute_not_exists(#{PK})"
"""The condition that there is no such item."""

ALWAYS: Final = f"{ABSENT} OR attribute_exists(#{PK})"
"""The condition that always holds."""

_ALIAS = re.compile(r"#(\w+)", re.ASCII)


@lru_cache(maxsize=512)
def _names_in(expression: str) -> dict[str, str]:
    return {f"#{name}": name for name in _ALIAS.findall(expression)}


def names_in(*expressions: str) -> dict[str, str]:
    """The attribute names of expressions in which every name stands as `#name`."""
    return dict(_names_in(" ".join(expressions)))


@dataclass(frozen=True, slots=True)
class Write:
    """One write. When its condition fails, the answer carries the old item."""

    verb: Verb
    request: dict[str, Any]

    def as_part(self) -> dict[str, Any]:
        """The write as one action of a transaction."""
        return {self.verb: self.request}


def key_of(pk: str, sk: str) -> Item:
    """The key of an item."""
    return {PK: text(pk), SK: text(sk)}


def put(table: str, item: Item, condition: str, values: Mapping[str, Attribute] | None = None) -> Write:
    """Write a whole item."""
    return Write("Put", {"TableName": table, "Item": item, **_conditional(condition, values)})


def delete(table: str, key: Item, condition: str, values: Mapping[str, Attribute] | None = None) -> Write:
    """Remove an item."""
    return Write("Delete", {"TableName": table, "Key": key, **_conditional(condition, values)})


def update(table: str, key: Item, change: str, condition: str, values: Mapping[str, Attribute]) -> Write:
    """Change some attributes of an item."""
    request = {"TableName": table, "Key": key, "UpdateExpression": change, **_conditional(condition, values, change)}
    return Write("Update", request)


def setting(attributes: Mapping[str, Attribute], removing: tuple[str, ...] = ()) -> tuple[str, dict[str, Attribute]]:
    """The expression that sets and removes attributes, with its values (`:name` for each attribute `name`)."""
    sets = ", ".join(f"#{name} = :{name}" for name in attributes)
    removes = ", ".join(f"#{name}" for name in removing)
    change = " ".join(part for part in (sets and f"SET {sets}", removes and f"REMOVE {removes}") if part)
    return change, {f":{name}": value for name, value in attributes.items()}


def _conditional(condition: str, values: Mapping[str, Attribute] | None, change: str = "") -> dict[str, Any]:
    conditional: dict[str, Any] = {
        "ConditionExpression": condition,
        "ExpressionAttributeNames": names_in(condition, change),
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    if values:
        conditional["ExpressionAttributeValues"] = dict(values)
    return conditional
