"""When snapshots are taken: each second, and at once when somebody waits for one."""

import asyncio
import logging
import time
from collections.abc import Callable
from contextlib import suppress

from carillon_cli.dev.local_aws.snapshot import Frozen, SnapshotFile

_logger = logging.getLogger("snapshot")
# The window that a `kill -9` of everything can lose, for writes that nobody waited for.
INTERVAL_SECONDS = 1.0
# After a snapshot that took t, rest for 3 t: at most a quarter of a processor goes into snapshots.
_REST_FACTOR = 3


class Saver:
    """Takes snapshots on the event loop and writes them beside it, one at a time."""

    def __init__(self, freeze: Callable[[], Frozen], file: SnapshotFile) -> None:
        self._freeze = freeze
        self._file = file
        self._wanted = asyncio.Event()
        self._closing = asyncio.Event()
        self._waiting: list[asyncio.Future[None]] = []

    async def run(self) -> None:
        """Save until closed, and once more then."""
        while not self._closing.is_set():
            await _within(self._wanted, INTERVAL_SECONDS)
            self._wanted.clear()
            began = time.monotonic()
            await self._save()
            await _within(self._closing, _REST_FACTOR * (time.monotonic() - began))
        await self._save()

    def close(self) -> None:
        """Let `run` take the last snapshot and end."""
        self._closing.set()
        self._wanted.set()

    async def saved(self) -> None:
        """Return when everything that has happened until now is in the file.

        Raises:
            OSError: if it could not be written.
        """
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        self._wanted.set()
        await waiter

    async def _save(self) -> None:
        """Take and write one snapshot; a failure is logged, and told to those who wait."""
        waiting, self._waiting = self._waiting, []
        failure: OSError | None = None
        try:
            await asyncio.to_thread(self._file.write, self._freeze())
        except (OSError, RuntimeError, TypeError, ValueError) as error:
            _logger.exception("no snapshot was written")
            failure = OSError(str(error))
        for waiter in waiting:
            _settle(waiter, failure)


async def _within(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


def _settle(waiter: asyncio.Future[None], failure: OSError | None) -> None:
    if waiter.done():  # the request was given up
        return
    if failure is None:
        waiter.set_result(None)
    else:
        waiter.set_exception(failure)
