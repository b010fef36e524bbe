"""What the history of a job proves: which nominal times it covers, how often, and what was called."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from carillon.client import Client
from carillon_cli.dev.receiver import Receiver

from .dev_stack import READY_SECONDS, DevStack
from .live import ENDED, Json, checked, eventually

SETTLE_SECONDS = 90


@dataclass(frozen=True)
class Stage:
    """A running stack, a client of it, and a receiver of its callbacks."""

    stack: DevStack
    client: Client
    receiver: Receiver


@contextmanager
def running_stage(folder: Path, ready_seconds: float = READY_SECONDS) -> Iterator[Stage]:
    """A stack that enforces IAM, with everything that its functions ask for granted."""
    stack = DevStack(folder, "--auth")
    try:
        stack.start(ready_seconds)
        with Client(stack.url, stack.api_key) as client, Receiver(stack.signing_secret) as receiver:
            yield Stage(stack, client, receiver)
        assert [line for line in stack.log_of_aws().splitlines() if "AccessDenied" in line] == []
    finally:
        stack.stop()


@dataclass(frozen=True)
class History:
    """All records of a job, oldest first."""

    runs: tuple[Json, ...]

    def of(self, state: str) -> list[datetime]:
        """The nominal times of the runs in a state, those of blocks left out."""
        return [instant(run["scheduled_for"]) for run in self.runs if run["state"] == state and "block" not in run]

    def covered(self, every: timedelta) -> Counter[datetime]:
        """How often each nominal time of a constant interval is in the history, be it in a record or in a block."""
        times: Counter[datetime] = Counter()
        for run in self.runs:
            block = run.get("block", {"count": 1, "first": run["scheduled_for"], "last": run["scheduled_for"]})
            in_block = grid(instant(block["first"]), instant(block["last"]), every)
            assert len(in_block) == block["count"]
            times.update(in_block)
        return times


def instant(text: str) -> datetime:
    """An instant as the API writes it."""
    return datetime.fromisoformat(text)


def grid(first: datetime, last: datetime, every: timedelta) -> list[datetime]:
    """The times of an interval from the first to the last, both included."""
    return [first + number * every for number in range((last - first) // every + 1)]


def history(stage: Stage, job_id: str) -> History:
    """The history of a job as it is now."""
    return History(tuple(reversed(list(stage.client.runs(job_id)))))


def succeeded(stage: Stage, job_id: str, count: int) -> bool:
    """Whether so many runs of a job have succeeded, within a bounded time."""
    return eventually(lambda: len(history(stage, job_id).of("succeeded")) >= count, SETTLE_SECONDS)


def settled(stage: Stage, job_id: str) -> History:
    """Cancel a job, let go what is under way, and give its history."""
    stage.client.cancel_job(job_id)
    assert eventually(lambda: all(run["state"] in ENDED for run in stage.client.runs(job_id)), SETTLE_SECONDS)
    return history(stage, job_id)


def assert_called_back(stage: Stage, path: str, past: History) -> None:
    """Each run that succeeded was called once, with its own nominal time; nothing else was called."""
    calls = checked(stage.receiver.calls(path))
    assert sorted(instant(call.headers["carillon-scheduled-for"]) for call in calls) == past.of("succeeded")
