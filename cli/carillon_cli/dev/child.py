"""Child programs: each in a process group of its own, its output in a log file, stopped as a group."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from carillon_cli.dev.errors import Interrupted

_POLL_SECONDS = 0.05
_TAIL_LINES = 25


@dataclass(frozen=True)
class Program:
    """What to run.

    Attributes:
        name: for messages and for the log file's name.
        argv: the program and its arguments.
        env: its whole environment.
        cwd: where it runs.
        log: the file that takes its output.
        inherits: open file descriptors that it keeps.
        leads: whether its first process stops the rest of the group by itself when it is asked to end.
    """

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    log: Path
    inherits: Sequence[int] = field(default=())
    leads: bool = False


class Child:
    """A running program.

    Its standard input is a pipe that this process holds: when this process dies, however it dies, the child reads
    the end of its input and can stop by itself.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        with program.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - programs of this project, no shell
                list(program.argv),
                env=dict(program.env),
                cwd=program.cwd,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=tuple(program.inherits),
            )

    @property
    def pid(self) -> int:
        """The process id, which is the group's id too."""
        return self._process.pid

    def exited(self) -> bool:
        """Whether the first process has ended. Leaves it unreaped, so that its group's id stays its own."""
        if self._process.returncode is not None:
            return True
        state = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return state is not None

    def wait(self, timeout_seconds: float, stop: threading.Event) -> int:
        """Wait for the end and return the exit status; at the limit the group is ended.

        Raises:
            Interrupted: if `stop` was set meanwhile.
            TimeoutError: at the limit.
        """
        deadline = time.monotonic() + timeout_seconds
        while not self.exited():
            if stop.wait(_POLL_SECONDS):
                raise Interrupted
            if time.monotonic() > deadline:
                self.stop(1.0)
                raise TimeoutError(f"{self.program.name} did not end within {timeout_seconds:.0f} s")
        return self._reap()

    def stop(self, grace_seconds: float) -> None:
        """End the whole group: asked first, killed after the grace. Does nothing the second time."""
        if self._process.returncode is not None:
            return
        self._ask()
        deadline = time.monotonic() + grace_seconds
        while not self.exited() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        self._reap()

    def _ask(self) -> None:
        with suppress(ProcessLookupError):
            if self.program.leads:
                os.kill(self.pid, signal.SIGTERM)
            else:
                os.killpg(self.pid, signal.SIGTERM)

    def _reap(self) -> int:
        with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
            os.killpg(self.pid, signal.SIGKILL)
        status = self._process.wait()
        if self._process.stdin is not None:
            self._process.stdin.close()
        return status

    def tail(self) -> str:
        """The end of what it wrote."""
        return tail(self.program.log)


def tail(log: Path) -> str:
    """The last lines of a log file, or nothing."""
    try:
        lines = log.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-_TAIL_LINES:])
