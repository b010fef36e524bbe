"""The kinds of fields that documents are made of. Each refuses with a code for programs and a sentence for people.

A refusal names the allowed values and never repeats the given one.
"""

import re
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from carillon.domain.durations import format_duration, parse_duration
from carillon.domain.job import MisfirePolicy, Priority
from carillon.domain.retry import Jitter
from carillon.domain.schedule_error import ScheduleError

SECOND_MS = 1_000
DAY_MS = 24 * 3600 * SECOND_MS

MOST_NAME_CHARACTERS = 128
MOST_LABELS = 32
MOST_LABEL_VALUE_CHARACTERS = 256
_LABEL_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,62}", re.ASCII)

Value = TypeVar("Value")
Number = TypeVar("Number", int, float)


class Document(BaseModel):
    """An object whose members are all known, each of exactly its type."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


def refused(code: str, detail: str) -> PydanticCustomError:
    """The refusal of one field."""
    return PydanticCustomError("refused", "{detail}", {"code": code, "detail": detail})


def within(low: Number, high: Number) -> Callable[[Number], Number]:
    """The check that a number lies within bounds, both included."""
    return _within(low, high, str)


def lasting(low_ms: int, high_ms: int) -> Callable[[int], int]:
    """The check that a duration (ms) lies within bounds, both included."""
    return _within(low_ms, high_ms, format_duration)


def counting(low: int, high: int) -> Callable[[list[Value]], list[Value]]:
    """The check that a list has so many entries."""

    def check(entries: list[Value]) -> list[Value]:
        if not low <= len(entries) <= high:
            raise refused("out_of_range", f"allowed: {low} to {high} entries")
        return entries

    return check


def _within(low: Number, high: Number, shown: Callable[[Number], str]) -> Callable[[Number], Number]:
    def check(number: Number) -> Number:
        if not low <= number <= high:
            raise refused("out_of_range", f"allowed: {shown(low)} to {shown(high)}")
        return number

    return check


def only_built(built: Value, shown: str) -> Callable[[Value], Value]:
    """The check that of the documented values the one is used that is built."""

    def check(value: Value) -> Value:
        if value != built:
            raise refused("not_supported", f"documented, but not built yet; for now only {shown}")
        return value

    return check


def _refuse_unbuilt(_: object) -> None:
    raise refused("not_supported", "documented, but not built yet")


def _read_duration(value: object) -> int:
    if not isinstance(value, str):
        raise refused("wrong_type", "must be an ISO 8601 duration as text, such as PT15S")
    try:
        return parse_duration(value)
    except ScheduleError as error:
        raise refused("invalid_value", f"{error.detail}; allowed: {error.allowed}") from None


def _check_name(name: str) -> str:
    if not 0 < len(name) <= MOST_NAME_CHARACTERS or not name.isprintable() or name != name.strip():
        raise refused(
            "invalid_value", f"allowed: 1 to {MOST_NAME_CHARACTERS} printable characters, no blank at either end"
        )
    return name


def _check_labels(labels: dict[str, str]) -> dict[str, str]:
    if len(labels) > MOST_LABELS:
        raise refused("out_of_range", f"at most {MOST_LABELS} labels are allowed")
    if not all(_LABEL_KEY.fullmatch(key) for key in labels):
        raise refused(
            "invalid_value", "a label's key is 1 to 63 letters, digits and . _ / -, the first a letter or digit"
        )
    return labels


def _check_label_value(value: str) -> str:
    if len(value) > MOST_LABEL_VALUE_CHARACTERS or not value.isprintable():
        raise refused("invalid_value", f"a label's value is up to {MOST_LABEL_VALUE_CHARACTERS} printable characters")
    return value


Unbuilt = Annotated[Any, BeforeValidator(_refuse_unbuilt)]
"""A documented field that is not built yet: refused wherever it stands, never ignored."""

Duration = Annotated[int, BeforeValidator(_read_duration, json_schema_input_type=str)]
"""An ISO 8601 duration, read into ms."""

Name = Annotated[str, AfterValidator(_check_name)]
LabelValue = Annotated[str, AfterValidator(_check_label_value)]
Labels = Annotated[dict[str, LabelValue], AfterValidator(_check_labels)]

PriorityName = Annotated[Priority, Field(strict=False)]
MisfireName = Annotated[MisfirePolicy, Field(strict=False)]
JitterName = Annotated[Jitter, Field(strict=False)]
"""Lax only in this: the text of a member is taken for the member."""
