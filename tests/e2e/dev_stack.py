"""One `carillon dev`, as end-to-end tests start it, stop it, kill it and look into it."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from carillon_cli.dev.child import Child, Program
from carillon_cli.dev.ports import aws_port
from carillon_cli.dev.project import STACK_NAME

CARILLON = str(Path(sys.executable).parent / "carillon")
# The first start on a machine builds the dependency layer; the checks of continuous integration run beside it.
READY_SECONDS = 480
STOP_SECONDS = 30
COMMAND_SECONDS = 240


class DevStack:
    """One `carillon dev`: the state folder is the identity, processes come and go."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.ready_file = folder / "ready.json"
        self._port = aws_port()
        self._options = options
        self._child: Child | None = None

    def start(self, ready_seconds: float = READY_SECONDS) -> None:
        """Start it, or start it again, and wait until it is ready."""
        self.begin()
        self.wait_ready(ready_seconds)

    def begin(self) -> None:
        """Start it without waiting. It ends with this process at the latest, by the end of its standard input."""
        self.stop()
        self.ready_file.unlink(missing_ok=True)
        command = [CARILLON, "dev", "--stop-at-eof", f"--port={self._port}"]
        argv = [*command, f"--state={self.state}", f"--ready-file={self.ready_file}", *self._options]
        self._child = Child(Program("carillon dev", argv, os.environ, self.folder, self.folder / "log", leads=True))

    def wait_ready(self, ready_seconds: float = READY_SECONDS) -> None:
        """Wait until its ready file is there; fail with the end of its log if that does not come."""
        deadline = time.monotonic() + ready_seconds
        while not self.ready_file.exists():
            if self._process().exited() or time.monotonic() > deadline:
                raise AssertionError(f"carillon dev did not get ready:\n{self._process().tail()}")
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
