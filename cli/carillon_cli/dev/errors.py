"""How a failed start-up ends: one clear line and an exit code."""

import click

REFUSED = 1
USAGE = 2
UNREACHABLE = 3


class DevError(click.ClickException):
    """Ends the command with one line on stderr, below the end of a log where that helps.

    Attributes:
        exit_code: `REFUSED` (a step was turned down), `USAGE` (something to correct at this machine),
            `UNREACHABLE` (the local AWS or its API does not answer).
        log_tail: the last lines of the log of the step that failed, or nothing.
    """

    def __init__(self, message: str, exit_code: int, log_tail: str = "") -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]  # click reads it from the instance
        self.log_tail = log_tail


class Interrupted(Exception):  # noqa: N818 - a request to stop, not an error
    """Somebody asked to stop while a step was under way."""
