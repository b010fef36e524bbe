"""When snapshots are taken."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from carillon_cli.dev.local_aws.saver import Saver
from carillon_cli.dev.local_aws.snapshot import Frozen, SnapshotFile


class Data:
    """A table that a test changes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.value = 0

    def freeze(self) -> Frozen:
        """The value now."""
        return Frozen({"t": {"a": {"b": self.value}}}, {})

    def kept(self) -> int:
        """The value in the file."""
        value: int = json.loads(self.path.read_text())["tables"]["t"]["a"]["b"]
        return value


def saving(data: Data, use: Callable[[Saver], Awaitable[None]]) -> None:
    """Use a running saver, then close it; bounded in time."""

    async def run() -> None:
        saver = Saver(data.freeze, SnapshotFile(data.path, json.dumps))
        running = asyncio.create_task(saver.run())
        try:
            await use(saver)
        finally:
            saver.close()
            await running

    async def bounded() -> None:
        await asyncio.wait_for(run(), 30)

    asyncio.run(bounded())


def test_who_waits_finds_everything_from_before_in_the_file(tmp_path: Path) -> None:
    """`saved` returns only when what happened before the call is kept, again and again."""
    data = Data(tmp_path / "snapshot.json")

    async def use(saver: Saver) -> None:
        for value in range(1, 20):
            data.value = value
            await saver.saved()
            assert data.kept() == value

    saving(data, use)


def test_many_wait_for_one_snapshot(tmp_path: Path) -> None:
    """Waiting together costs no more than waiting alone."""
    data = Data(tmp_path / "snapshot.json")

    async def use(saver: Saver) -> None:
        data.value = 7
        await asyncio.gather(*(saver.saved() for _ in range(100)))
        assert data.kept() == 7

    saving(data, use)


def test_closing_takes_a_last_snapshot(tmp_path: Path) -> None:
    """What nobody waited for is kept at an orderly end."""
    data = Data(tmp_path / "snapshot.json")

    async def use(saver: Saver) -> None:
        await saver.saved()
        data.value = 9

    saving(data, use)
    assert data.kept() == 9


def test_who_waits_is_told_of_a_failure_and_saving_goes_on(tmp_path: Path) -> None:
    """A full disk is no silent loss, and no end."""
    data = Data(tmp_path / "missing" / "snapshot.json")

    async def use(saver: Saver) -> None:
        with pytest.raises(OSError, match="missing"):
            await saver.saved()
        data.path.parent.mkdir()
        data.value = 3
        await saver.saved()
        assert data.kept() == 3

    saving(data, use)
