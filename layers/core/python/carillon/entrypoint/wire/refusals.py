"""From the validator's errors to ours: a pointer, a stable code and a sentence, never the value."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from carillon.domain.instants import parse_instant
from carillon.domain.schedule_error import ScheduleError
from carillon.domain.targets import TargetRefused
from carillon.entrypoint.problems import FieldError, invalid, pointer
from carillon.entrypoint.wire.documents import SCHEDULE_KINDS, TARGET_KINDS
from carillon.entrypoint.wire.fields import Document

SomeDocument = TypeVar("SomeDocument", bound=Document)

_MEANINGS = {
    "extra_forbidden": ("unknown_field", "there is no such field here"),
    "missing": ("required", "this field is required"),
    "string_type": ("wrong_type", "must be a text"),
    "int_type": ("wrong_type", "must be a whole number"),
    "float_type": ("wrong_type", "must be a number"),
    "bool_type": ("wrong_type", "must be true or false"),
    "dict_type": ("wrong_type", "must be an object"),
    "model_type": ("wrong_type", "must be an object"),
    "list_type": ("wrong_type", "must be a list"),
}
_OTHER = ("invalid_value", "this value is not allowed")
_KEY_MARK = "[key]"
_KINDS: Mapping[str | int, tuple[str, ...]] = {
    "schedule": SCHEDULE_KINDS,
    "target": TARGET_KINDS,
    "on_failure": TARGET_KINDS,
}


def validated(kind: type[SomeDocument], members: Mapping[str, Any]) -> SomeDocument:
    """A document of a kind.

    Raises:
        Refusal: something in it is not valid; each error names its field.
    """
    try:
        return kind.model_validate(members)
    except ValidationError as error:
        raise invalid(errors_of(error)) from None


def read_instant(text: str, place: str) -> int:
    """The instant (epoch ms) that a member of a document holds; `place`: the member, as a pointer.

    Raises:
        Refusal: it holds none.
    """
    try:
        return parse_instant(text, place)
    except ScheduleError as error:
        detail = f"{error.detail}; allowed: {error.allowed}"
        raise invalid([FieldError("pointer", place, "invalid_value", detail)]) from None


def errors_of(error: ValidationError) -> tuple[FieldError, ...]:
    """One error for each thing that the validator found."""
    found = error.errors(include_url=False, include_input=False)
    return tuple(FieldError("pointer", _pointer(each["loc"]), *_meaning(each)) for each in found)


def error_of_schedule(error: ScheduleError) -> FieldError:
    """The error of a time or a schedule that cannot be."""
    return FieldError(
        "pointer", pointer("schedule", error.field), "invalid_value", f"{error.detail}; allowed: {error.allowed}"
    )


def error_of_target(error: TargetRefused, place: str, member: str) -> FieldError:
    """The error of a URL that may not be called or sent to; `place`: of the target, `member`: of the URL in it."""
    return FieldError("pointer", pointer(place, member), error.code, error.detail)


def _meaning(error: ErrorDetails) -> tuple[str, str]:
    kind, context = error["type"], error.get("ctx", {})
    if kind == "refused":
        return str(context["code"]), str(context["detail"])
    if kind in ("enum", "literal_error"):
        return "not_a_choice", f"allowed: {context['expected']}"
    return _MEANINGS.get(kind, _OTHER)


def _pointer(steps: Sequence[str | int]) -> str:
    """Where the error is in what was sent: the validator adds the kind of schedule or target, and a mark to keys."""
    sent = [step for step in steps if step != _KEY_MARK]
    if len(sent) > 1 and sent[1] in _KINDS.get(sent[0], ()):
        del sent[1]
    return pointer(*sent)
