"""The kinds of fields that documents are made of. Each refuses with a code for programs and a sentence for people.

A refusal names the allowed values and never repeats the given one.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_after_validator_function

from carillon.answers import DURATION_PATTERN, Form
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

UNBUILT = "x-unbuilt"
"""Marks the schema of a field that is not built yet: it is left out of what is published."""

Value = TypeVar("Value")
Number = TypeVar("Number", int, float)


class Document(BaseModel):
    """An object whose members are all known, each of exactly its type."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


def refused(code: str, detail: str) -> PydanticCustomError:
    """The refusal of one field."""
    return PydanticCustomError("refused", "{detail}", {"code": code, "detail": detail})


@dataclass(frozen=True, slots=True, eq=False)
class Rule(Generic[Value]):
    """A check of a field that also says of itself what it lets pass: it stands in the annotation of the field.

    Attributes:
        check: gives the value back, or refuses it.
        schema: the same rule as members of a JSON schema.
    """

    check: Callable[[Value], Value]
    schema: Mapping[str, Any]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check behind whatever the field's type checks."""
        return no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, core: Any, handler: Any) -> dict[str, Any]:
        """Say it in the schema of the field."""
        return {**handler(core), **self.schema}


def within(low: Number, high: Number) -> Rule[Number]:
    """A number lies within bounds, both included."""
    return Rule(_within(low, high, str), {"minimum": low, "maximum": high})


def lasting(low_ms: int, high_ms: int) -> Rule[int]:
    """A duration (ms) lies within bounds, both included."""
    bounds = {"x-minimum": format_duration(low_ms), "x-maximum": format_duration(high_ms)}
    return Rule(_within(low_ms, high_ms, format_duration), bounds)


def counting(low: int, high: int) -> Rule[list[Value]]:
    """A list has so many entries."""

    def check(entries: list[Value]) -> list[Value]:
        if not low <= len(entries) <= high:
            raise refused("out_of_range", f"allowed: {low} to {high} entries")
        return entries

    return Rule(check, {"minItems": low, "maxItems": high})


def _within(low: Number, high: Number, shown: Callable[[Number], str]) -> Callable[[Number], Number]:
    def check(number: Number) -> Number:
        if not low <= number <= high:
            raise refused("out_of_range", f"allowed: {shown(low)} to {shown(high)}")
        return number

    return check


def only_built(built: Value, shown: str) -> Rule[Value]:
    """Of the documented values the one is used that is built; the schema knows no other."""

    def check(value: Value) -> Value:
        if value != built:
            raise refused("not_supported", f"documented, but not built yet; for now only {shown}")
        return value

    return Rule(check, {"enum": [built]})


def told(text: str, default: str | None = None) -> Any:
    """What a field means, for the description of the interface and its page: with links into `docs/api.md`.

    `default` says in words what holds without the field, where its default value does not say it.
    """
    return Field(description=text, json_schema_extra=None if default is None else {"x-default": default})


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


Unbuilt = Annotated[Any, BeforeValidator(_refuse_unbuilt), Form(**{UNBUILT: True})]
"""A documented field that is not built yet: refused wherever it stands, never ignored."""

Duration = Annotated[
    int,
    BeforeValidator(_read_duration, json_schema_input_type=str),
    Form(pattern=DURATION_PATTERN, examples=["PT15S"]),
]
"""An ISO 8601 duration, read into ms."""

Name = Annotated[str, Rule(_check_name, {"minLength": 1, "maxLength": MOST_NAME_CHARACTERS, "pattern": r"^\S(.*\S)?$"})]
LabelValue = Annotated[str, Rule(_check_label_value, {"maxLength": MOST_LABEL_VALUE_CHARACTERS})]
Labels = Annotated[
    dict[str, LabelValue],
    Rule(_check_labels, {"maxProperties": MOST_LABELS, "propertyNames": {"pattern": f"^{_LABEL_KEY.pattern}$"}}),
]

PriorityName = Annotated[Priority, Field(strict=False)]
MisfireName = Annotated[MisfirePolicy, Field(strict=False)]
JitterName = Annotated[Jitter, Field(strict=False)]
"""Lax only in this: the text of a member is taken for the member."""
