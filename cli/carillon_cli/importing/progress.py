"""Showing on stderr how far an import is: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator

from carillon_cli.importing.importer import Outcome, Result
from carillon_cli.output import note, one_line

# ruff: noqa: PLC0415 - rich takes longer to import than most commands take: only who has a terminal loads it

EVERY_SECONDS = 5.0
_TOLD = (Outcome.REFUSED, Outcome.DIFFERS)


def told(result: Result) -> str | None:
    """What people have to be told of a line, or None."""
    if result.outcome not in _TOLD:
        return None
    name = f" ({result.name})" if result.name else ""
    return one_line(f"line {result.line}{name}: {result.outcome}: {result.reason}")


def shown(results: Iterable[Result], total: int) -> Iterator[Result]:
    """The same results, with the progress shown on the way."""
    return _with_bar(results, total) if sys.stderr.isatty() else with_lines(results, total)


def with_lines(
    results: Iterable[Result], total: int, monotonic: Callable[[], float] = time.monotonic
) -> Iterator[Result]:
    """The same results; a line for each that was refused, and each five seconds one on how far it is."""
    last = monotonic()
    for count, result in enumerate(results, start=1):
        if line := told(result):
            note(line)
        if monotonic() - last >= EVERY_SECONDS:
            note(f"{count} of {total} lines done")
            last = monotonic()
        yield result


def _with_bar(results: Iterable[Result], total: int) -> Iterator[Result]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("importing", total=total)
        for result in results:
            if line := told(result):
                progress.console.print(line, markup=False, highlight=False, soft_wrap=True)
            progress.advance(task)
            yield result
