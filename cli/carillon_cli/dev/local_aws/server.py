"""Serves ministack with two paths of our own in front, and ends it in order."""

import asyncio
import os
import shutil
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from hypercorn.asyncio import serve
from hypercorn.config import Config

from carillon_cli.dev.local_aws.delays import watch_delays
from carillon_cli.dev.local_aws.saver import Saver
from carillon_cli.dev.local_aws.seams import Seams
from carillon_cli.dev.local_aws.settings import Settings
from carillon_cli.dev.local_aws.snapshot import SnapshotFile, restore

SAVED_PATH = "/_carillon/saved"
CHECKPOINT_PATH = "/_carillon/checkpoint"

# How long running functions may take to end before the last snapshot: a call in flight would be made again after
# the restart.
_DRAIN_SECONDS = 5.0
_GRACEFUL_SECONDS = 1.0

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class Server:
    """One local AWS from start to end.

    Attributes:
        orphaned: whether the starter went away without ending this process.
    """

    def __init__(self, settings: Settings, seams: Seams) -> None:
        self._settings = settings
        self._seams = seams
        self._stop = asyncio.Event()
        self.orphaned = False
        self._saver = Saver(seams.freeze, SnapshotFile(settings.snapshot, seams.encode))

    async def run(self) -> None:
        """Serve until SIGTERM, or until standard input ends because the starter has gone."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._stop.set)
        threading.Thread(target=self._watch_starter, args=(loop,), daemon=True).start()
        await serve(self._application, self._config(), shutdown_trigger=self._ended, mode="asgi")  # type: ignore[arg-type]  # hypercorn wants its own names for ASGI's dictionaries

    def _config(self) -> Config:
        config = Config()
        config.bind = [f"127.0.0.1:{self._settings.port}"]
        config.graceful_timeout = _GRACEFUL_SECONDS
        config.keep_alive_timeout = 75
        config.loglevel = "WARNING"
        return config

    def _watch_starter(self, loop: asyncio.AbstractEventLoop) -> None:
        while os.read(sys.stdin.fileno(), 1):  # nothing is sent: only the end arrives
            pass
        self.orphaned = True
        with suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(self._stop.set)

    async def _ended(self) -> None:
        """Run the side tasks until the end is asked for, then drain: what is saved last is at rest."""
        stop_watching = threading.Event()
        watcher = threading.Thread(target=watch_delays, args=(self._seams, stop_watching), daemon=True)
        self._seams.forget_stream_positions()
        watcher.start()
        saving = asyncio.create_task(self._saver.run()) if self._settings.keeps else None
        await self._stop.wait()
        stop_watching.set()
        if saving is not None:
            await self._drain()
            self._saver.close()
            await saving

    async def _drain(self) -> None:
        self._seams.stop_polling()
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while self._seams.functions_running():  # noqa: ASYNC110 - ministack has no event for it
                    await asyncio.sleep(0.05)

    async def _application(self, scope: Message, receive: Receive, send: Send) -> None:
        ours = scope["type"] == "http" and scope["path"] in (SAVED_PATH, CHECKPOINT_PATH)
        if not ours:
            await self._seams.application(scope, receive, send)
            return
        await _answer(send, await self._save(everything=scope["path"] == CHECKPOINT_PATH))

    async def _save(self, *, everything: bool) -> int:
        if not self._settings.keeps:
            return 204
        try:
            if everything:
                self._seams.save_services()
            await self._saver.saved()
        except OSError:
            return 500
        return 204


async def _answer(send: Send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


def run(settings: Settings) -> None:
    """Restore the state, serve, and clean up the temporary files."""
    os.umask(0o077)  # the state holds keys
    shutil.rmtree(settings.scratch, ignore_errors=True)
    settings.scratch.mkdir(parents=True)
    if settings.keeps:
        restore(settings.snapshot, settings.state)
    seams = Seams()
    seams.lock_queue_requests()
    seams.authorize_batches()
    server = Server(settings, seams)
    asyncio.run(server.run())
    shutil.rmtree(settings.scratch, ignore_errors=True)
    if server.orphaned and settings.throwaway is not None:
        shutil.rmtree(settings.throwaway, ignore_errors=True)
