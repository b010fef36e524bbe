"""Whether a job that is there is the one that a line asks for."""

from collections.abc import Callable, Mapping
from typing import Any

from carillon_cli.shorthand import duration_ms


def differences(wanted: Mapping[str, Any], job: Mapping[str, Any]) -> list[str]:
    """The fields of schedule and target in which a job is not as wanted. What the line leaves open is not compared."""
    return [
        f"{part}.{name}"
        for part in ("schedule", "target")
        for name, value in wanted[part].items()
        if not _same(name, value, _member(job.get(part), name))
    ]


def _same(name: str, wanted: Any, there: Any) -> bool:
    return bool(_SAME.get(name, _equal)(wanted, there))


def _equal(wanted: Any, there: Any) -> bool:
    return bool(wanted == there)


def _same_duration(wanted: str, there: Any) -> bool:
    try:
        return isinstance(there, str) and duration_ms(wanted) == duration_ms(there)
    except ValueError:
        return False


def _same_headers(wanted: Mapping[str, str], there: Any) -> bool:
    return isinstance(there, dict) and _lowered(wanted) == _lowered(there)


def _lowered(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None


_SAME: Mapping[str, Callable[[Any, Any], bool]] = {
    "every": _same_duration,
    "timeout": _same_duration,
    "headers": _same_headers,
}
