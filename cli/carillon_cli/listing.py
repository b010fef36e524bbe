"""What all lists have in common: how much is asked for, and how it is shown."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import click

from carillon.client import Page
from carillon_cli.output import note, print_json, print_table

DEFAULT_MOST = 50


def list_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a list. The function gets `most` (None: all of it) and `cursor`."""

    @click.option("--limit", type=click.IntRange(min=1), help=f"How many at most.  [{DEFAULT_MOST}]")
    @click.option("--all", "everything", is_flag=True, help="The list to its end.")
    @click.option("--cursor", metavar="CURSOR", help="Go on where an earlier list ended.")
    @wraps(function)
    def command(*args: Any, limit: int | None, everything: bool, **options: Any) -> Any:
        if everything and limit is not None:
            raise click.UsageError("give --limit or --all, not both")
        return function(*args, most=None if everything else limit or DEFAULT_MOST, **options)

    return command


def print_page(
    page: Page[Any], columns: Sequence[str], row: Callable[[Mapping[str, Any]], Sequence[object]], *, as_json: bool
) -> None:
    """Show a page: for programs as the interface gives it, for people as a table, with a remark when there is more."""
    if as_json:
        print_json({"data": list(page.items), "next_cursor": page.next_cursor})
        return
    print_table(columns, [row(item) for item in page.items])
    if page.next_cursor is not None:
        note("there are more: --all, or a larger --limit")
