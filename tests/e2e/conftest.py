"""The deployed local stack, driven from outside.

Most end-to-end tests share one stack, started when the first of them needs it; some kill or change theirs and have
their own. Under pytest-xdist a file stays whole (`--dist loadfile`), and each worker shares a stack of its own among
the files that it gets. The longest files come first (`--no-loadscope-reorder`), so that the workers end together.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from carillon_cli.client import Client
from carillon_cli.dev.child import Child, Program
from carillon_cli.dev.ports import aws_port
from carillon_cli.dev.project import STACK_NAME
from carillon_cli.dev.receiver import Receiver

HERE = Path(__file__).parent
CARILLON = str(Path(sys.executable).parent / "carillon")
# The first start on a machine builds the dependency layer; the checks of continuous integration run beside it.
READY_SECONDS = 240
STOP_SECONDS = 30
COMMAND_SECONDS = 240
LONGEST_FIRST = ("test_edits_live", "test_long_stories", "test_local_stack", "test_enforced_rights", "test_lifecycle")


@pytest.hookimpl(tryfirst=True)  # before items are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what stands in this folder, with time enough to start the stack, and put the longest files first."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(READY_SECONDS + 120))
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    """The place of an item's file among the longest; all others keep their order behind them."""
    is_named = HERE in item.path.parents and item.path.stem in LONGEST_FIRST
    return LONGEST_FIRST.index(item.path.stem) if is_named else len(LONGEST_FIRST)


class DevStack:
    """One `carillon dev`: the state folder is the identity, processes come and go."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.ready_file = folder / "ready.json"
        self._port = aws_port()
        self._options = options
        self._child: Child | None = None

    def start(self) -> None:
        """Start it, or start it again, and wait until it is ready."""
        self.begin()
        self.wait_ready()

    def begin(self) -> None:
        """Start it without waiting. It ends with this process at the latest, by the end of its standard input."""
        self.stop()
        self.ready_file.unlink(missing_ok=True)
        command = [CARILLON, "dev", "--stop-at-eof", f"--port={self._port}"]
        argv = [*command, f"--state={self.state}", f"--ready-file={self.ready_file}", *self._options]
        self._child = Child(Program("carillon dev", argv, os.environ, self.folder, self.folder / "log", leads=True))

    def wait_ready(self) -> None:
        """Wait until its ready file is there; fail with the end of its log if that does not come."""
        deadline = time.monotonic() + READY_SECONDS
        while not self.ready_file.exists():
            if self._process().exited() or time.monotonic() > deadline:
                pytest.fail(f"carillon dev did not get ready:\n{self._process().tail()}", pytrace=False)
            time.sleep(0.1)

    def stop(self) -> None:
        """End it in order."""
        if self._child is not None:
            self._child.stop(STOP_SECONDS)

    def wait_ended(self) -> int:
        """Wait for an end that something else brought; its exit status."""
        return self._process().wait(STOP_SECONDS, threading.Event())

    def kill(self) -> None:
        """Kill all of it at one instant, as a power cut would: the command, the local AWS, the functions."""
        for pid in (self._process().pid, int((self.state / "aws-pid").read_text())):
            with suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
        self.stop()

    def carillon(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command against it, whatever its exit code."""
        command = [CARILLON, *arguments, f"--ready-file={self.ready_file}"]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=COMMAND_SECONDS)

    def function_processes(self, output: str) -> list[int]:
        """Process ids of a function, by its output's key (such as `WorkerFunction`)."""
        listed = subprocess.run(["ps", "-wweo", "pid=,args="], capture_output=True, text=True, check=True).stdout
        wanted = f"{self.state}/aws/tmp/ministack-lambda-{self.outputs[output]}-"
        return [int(line.split()[0]) for line in listed.splitlines() if wanted in line]

    def log_of_aws(self) -> str:
        """What the local AWS and the functions wrote."""
        return (self.state / "logs" / "aws.log").read_text(errors="replace")

    @property
    def pid(self) -> int:
        """Process id of the command."""
        return self._process().pid

    @property
    def url(self) -> str:
        """Of the API."""
        return self._value("url")

    @property
    def api_key(self) -> str:
        """Of the tenant `dev`."""
        return self._value("api_key")

    @property
    def signing_secret(self) -> str:
        """Of the tenant `dev`."""
        return self._value("signing_secret")

    @property
    def aws_endpoint(self) -> str:
        """Of the local AWS."""
        return self._value("aws_endpoint")

    @property
    def outputs(self) -> dict[str, str]:
        """Of the CloudFormation stack."""
        outputs: dict[str, str] = json.loads((self.state / "outputs.json").read_text())[STACK_NAME]
        return outputs

    def _value(self, name: str) -> str:
        value: str = json.loads(self.ready_file.read_text())[name]
        return value

    def _process(self) -> Child:
        assert self._child is not None, "it was never started"
        return self._child


@pytest.fixture(scope="session")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevStack]:
    """The stack that all tests share, ready."""
    shared = DevStack(tmp_path_factory.mktemp("stack"))
    try:
        shared.start()
        yield shared
    finally:
        shared.stop()


@pytest.fixture
def new_stack(tmp_path: Path) -> Iterator[Callable[..., DevStack]]:
    """Makes stacks that a test may kill: `new_stack(*options)`, not started yet. They are stopped after the test."""
    made: list[DevStack] = []

    def new(*options: str) -> DevStack:
        folder = tmp_path / f"stack-{len(made)}"
        folder.mkdir()
        made.append(DevStack(folder, *options))
        return made[-1]

    try:
        yield new
    finally:
        for each in made:
            each.stop()


@pytest.fixture
def client(stack: DevStack) -> Iterator[Client]:
    """A client of the shared stack with the key of its tenant."""
    with Client(stack.url, stack.api_key) as connected:
        yield connected


@pytest.fixture
def receiver(stack: DevStack) -> Iterator[Receiver]:
    """A receiver of callbacks with the signing secret of the shared stack's tenant."""
    with Receiver(stack.signing_secret) as listening:
        yield listening
