"""The options of a dispatch limit, and how one is shown."""

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

import click

from carillon.domain.tenancy import BadLimitError, DispatchLimit


class _Rate(click.ParamType[Decimal]):
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Decimal:
        try:
            return Decimal(value)
        except InvalidOperation:
            self.fail(f"{value!r} is not a number", param, ctx)


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a dispatch limit."""
    rate = click.option("--dispatch-rate", type=_Rate(), help="Most runs that may start a second, 0.001 to 10000.")
    burst = click.option(
        "--dispatch-burst", type=int, help="Most that may start at once after a rest.  [a second's worth]"
    )
    return rate(burst(command))


def limit_from(rate: Decimal | None, burst: int | None) -> DispatchLimit | None:
    """The limit that the options make, or None when they make none.

    Raises:
        click.UsageError: they make no limit that there is.
    """
    if rate is None:
        if burst is not None:
            raise click.UsageError("--dispatch-burst needs --dispatch-rate")
        return None
    try:
        return DispatchLimit.per_second(rate, burst)
    except BadLimitError as error:
        raise click.UsageError(str(error)) from error


def limit_fields(limit: DispatchLimit | None) -> dict[str, float | int | None]:
    """A limit as it is shown."""
    return {
        "dispatch_rate": None if limit is None else limit.rate_milli / 1000,
        "dispatch_burst": None if limit is None else limit.burst,
    }
