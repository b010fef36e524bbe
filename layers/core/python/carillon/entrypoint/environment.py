"""Typed values in the environment: a function's settings as the deployment writes them and the function reads them.

The variable of a field is `CARILLON_` + the field's name in upper case. The deployment writes the variables from
the same types (`to_environ`) as the functions read (`load`), so a field cannot be forgotten on either side.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PREFIX = "CARILLON_"

NO_ENTRIES = "none"
"""What a variable says whose list is empty."""


class SettingsError(ValueError):
    """The environment does not make a valid settings value; the message names every variable at fault."""


@dataclass(frozen=True)
class Between:
    """The inclusive bounds of a whole number."""

    low: int
    high: int


@dataclass(frozen=True)
class Starts:
    """The beginnings of which a text must have one."""

    allowed: tuple[str, ...]


@dataclass(frozen=True)
class Listed:
    """What each entry of a list has to be, and the words for it. The variable holds the entries with blanks between."""

    entry: str
    is_allowed: Callable[[str], object]


T = TypeVar("T")


def variable(field_name: str) -> str:
    """Name of the environment variable of a settings field."""
    return PREFIX + field_name.upper()


def load(settings_type: type[T], environ: Mapping[str, str]) -> T:
    """Read one function's settings.

    Args:
        settings_type: One of the types of `settings`.
        environ: The environment, usually `os.environ`.

    Raises:
        SettingsError: Variables are missing or not allowed; the message has a line for each, saying what is allowed.
    """
    values: dict[str, Any] = {}
    problems: list[str] = []
    for name, hint in get_type_hints(settings_type, include_extras=True).items():
        try:
            values[name] = _read(variable(name), hint, environ)
        except SettingsError as error:
            problems.append(str(error))
    if problems:
        raise SettingsError("\n".join(problems))
    return settings_type(**values)


def to_environ(settings: Any) -> dict[str, str]:
    """The environment from which `load` reads these settings, of one of the types of `settings`, again."""
    return {variable(field.name): _written(getattr(settings, field.name)) for field in fields(settings)}


def _read(name: str, hint: Any, environ: Mapping[str, str]) -> Any:
    text = environ.get(name)
    if text is None:
        raise SettingsError(f"{name} is not set; allowed: {_allowed(hint)}")
    try:
        return _parsed(hint, text)
    except ValueError:
        raise SettingsError(f"{name} is {text!r}; allowed: {_allowed(hint)}") from None


def _written(value: object) -> str:
    if isinstance(value, tuple):
        return " ".join(value) or NO_ENTRIES
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parts(hint: Any) -> tuple[Any, Any]:
    """The plain type of a hint, and the constraint annotated to it or None."""
    if get_origin(hint) is Annotated:
        plain, constraint = get_args(hint)
        return plain, constraint
    return hint, None


def _allowed(hint: Any) -> str:
    plain, constraint = _parts(hint)
    if plain is bool:
        return "true or false"
    if isinstance(constraint, Between):
        return f"a whole number from {constraint.low} to {constraint.high}"
    if isinstance(constraint, Listed):
        return f"{constraint.entry} with blanks between, or {NO_ENTRIES}"
    if isinstance(constraint, Starts):
        return f"a text that starts with {' or '.join(constraint.allowed)}"
    if get_origin(plain) is Literal:
        return " or ".join(get_args(plain))
    return "a text that is not empty"


def _parsed(hint: Any, text: str) -> Any:
    plain, constraint = _parts(hint)
    if isinstance(constraint, Between):
        return _whole_number(text, constraint)
    if plain is bool:
        return {"true": True, "false": False}[_one_of(text, ("true", "false"))]
    if isinstance(constraint, Listed):
        return _entries(text, constraint)
    if isinstance(constraint, Starts):
        return _beginning(text, constraint)
    if get_origin(plain) is Literal:
        return _one_of(text, get_args(plain))
    return _not_empty(text)


def _whole_number(text: str, bounds: Between) -> int:
    if not (text.isascii() and text.isdigit()) or not bounds.low <= int(text) <= bounds.high:
        raise ValueError(text)
    return int(text)


def _one_of(text: str, allowed: tuple[str, ...]) -> str:
    if text not in allowed:
        raise ValueError(text)
    return text


def _entries(text: str, listed: Listed) -> tuple[str, ...]:
    entries = () if text == NO_ENTRIES else tuple(text.split(" "))
    if not all(map(listed.is_allowed, entries)):
        raise ValueError(text)
    return entries


def _beginning(text: str, starts: Starts) -> str:
    if not text.startswith(starts.allowed):
        raise ValueError(text)
    return text


def _not_empty(text: str) -> str:
    if not text.strip():
        raise ValueError(text)
    return text
