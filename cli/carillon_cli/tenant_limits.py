"""The options of a tenant's limits, and how limits are shown."""

from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import click

from carillon.domain.limits import BadLimitError, CreateLimit, DispatchLimit, Limits, RateLimit

Options = Mapping[str, Any]


class _Rate(click.ParamType[Decimal]):
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            return Decimal(value)
        except InvalidOperation:
            self.fail(f"{value!r} is not a number", param, ctx)


_RATES: Final[Mapping[str, tuple[type[RateLimit], str, str]]] = {
    "create": (
        CreateLimit,
        "Most jobs that may be created a second, 0.001 to 10000.",
        "Most that may be created at once after a rest.  [ten seconds' worth]",
    ),
    "dispatch": (
        DispatchLimit,
        "Most runs that may start a second, 0.001 to 10000.",
        "Most that may start at once after a rest.  [a second's worth]",
    ),
}
"""By the member of `Limits`: of what kind it is, and the help of its two options."""

_NUMBERS: Final[Mapping[str, str]] = {
    "jobs": "Most jobs that there may be with something still planned.",
    "payload_bytes": "Most bytes that the payload of a job may have.",
}
"""By the member of `Limits`: the help of its option."""


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that set limits; `limits_from` reads them."""
    for name, (_, rate_help, burst_help) in reversed(list(_RATES.items())):
        command = click.option(f"--{name}-burst", type=int, help=burst_help)(command)
        command = click.option(f"--{name}-rate", type=_Rate(), help=rate_help)(command)
    for name, said in reversed(list(_NUMBERS.items())):
        command = click.option(_option(name), type=int, help=said)(command)
    return command


def no_limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that take limits away as well."""
    for option in (*(_option(f"no_{name}_rate") for name in _RATES), *(_option(f"no_{name}") for name in _NUMBERS)):
        command = click.option(option, is_flag=True, help="Take the limit away.")(command)
    return command


def changes_from(options: Options) -> dict[str, Any]:
    """What the options change of `Limits`, by member; None takes a limit away.

    Raises:
        click.UsageError: they make no limit that there is.
    """
    changes: dict[str, Any] = {}
    for name in _NUMBERS:
        changes |= _change(options, name, name, options[name])
    for name in _RATES:
        changes |= _change(options, name, f"{name}_rate", _rate_from(name, options))
    try:
        Limits(**changes)
    except BadLimitError as error:
        raise click.UsageError(str(error)) from error
    return changes


def limit_fields(limits: Limits) -> dict[str, float | int | None]:
    """Limits as they are shown."""
    shown: dict[str, float | int | None] = {name: getattr(limits, name) for name in _NUMBERS}
    for name in _RATES:
        limit: RateLimit | None = getattr(limits, name)
        shown |= {
            f"{name}_rate": None if limit is None else limit.rate_milli / 1000,
            f"{name}_burst": None if limit is None else limit.burst,
        }
    return shown


def _change(options: Options, name: str, option: str, wanted: object) -> dict[str, Any]:
    is_removed = options.get(f"no_{option}", False)
    if is_removed and wanted is not None:
        raise click.UsageError(f"give {_option(option)} or {_option(f'no_{option}')}, not both")
    return {name: wanted} if is_removed or wanted is not None else {}


def _rate_from(name: str, options: Options) -> RateLimit | None:
    rate, burst = options[f"{name}_rate"], options[f"{name}_burst"]
    if rate is None:
        if burst is not None:
            raise click.UsageError(f"--{name}-burst needs --{name}-rate")
        return None
    try:
        return _RATES[name][0].per_second(rate, burst)
    except BadLimitError as error:
        raise click.UsageError(str(error)) from error


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
