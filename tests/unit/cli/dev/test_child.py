"""Child programs are ended as a group, and do not outlive their starter for long."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from carillon_cli.dev.child import Child, Program, tail
from carillon_cli.dev.errors import Interrupted

# Starts a program of its own and tells its process id; both wait, the second deaf to requests to end.
FAMILY = """
import signal, subprocess, sys, time
deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(60)"
other = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
other.stdout.readline()
print(other.pid, flush=True)
time.sleep(60)
"""
# Starts a child as `carillon dev` does, tells its id, and waits to be killed.
STARTER = """
import os, sys, time
from pathlib import Path
from carillon_cli.dev.child import Child, Program
watch = "import sys; print('up', flush=True); sys.stdin.read(); print('starter gone', flush=True)"
child = Child(Program("watch", [sys.executable, "-c", watch], dict(os.environ), Path("."), Path(sys.argv[1])))
print(child.pid, flush=True)
time.sleep(60)
"""


def eventually(truth: Callable[[], bool]) -> bool:
    """Whether it becomes true within a bounded time."""
    deadline = time.monotonic() + 20
    while not truth():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def start(tmp_path: Path, code: str, *, leads: bool = False) -> Child:
    """A child that runs some Python."""
    argv = [sys.executable, "-c", code]
    return Child(Program("test", argv, dict(os.environ), tmp_path, tmp_path / "log", leads=leads))


def test_the_exit_status_and_the_output_are_kept(tmp_path: Path) -> None:
    """What a program wrote is in its log, and its status is told."""
    child = start(tmp_path, "print('hello'); raise SystemExit(3)")
    assert child.wait(20, threading.Event()) == 3
    assert child.tail() == "hello"


@pytest.mark.parametrize("leads", [False, True])
def test_stopping_ends_the_whole_group(tmp_path: Path, *, leads: bool) -> None:
    """Programs started by the program end too, deaf ones included, whoever is asked first."""
    child = start(tmp_path, FAMILY, leads=leads)
    assert eventually(lambda: child.tail() != "")
    grandchild = int(child.tail())
    child.stop(0.2)
    assert not runs(child.pid)
    assert eventually(lambda: not runs(grandchild))
    child.stop(0.2)  # a second time does nothing


def test_a_program_beyond_its_time_is_ended(tmp_path: Path) -> None:
    """No step waits for ever."""
    child = start(tmp_path, "import time; time.sleep(60)")
    with pytest.raises(TimeoutError, match="test did not end"):
        child.wait(0.1, threading.Event())
    assert not runs(child.pid)


def test_a_request_to_stop_ends_the_wait(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a step is heard."""
    stop = threading.Event()
    stop.set()
    child = start(tmp_path, "import time; time.sleep(60)")
    with pytest.raises(Interrupted):
        child.wait(20, stop)
    child.stop(0.2)


def test_a_child_hears_that_its_starter_was_killed(tmp_path: Path) -> None:
    """A starter that is killed outright takes its end of the pipe with it."""
    starter = subprocess.Popen([sys.executable, "-c", STARTER, str(tmp_path / "log")], stdout=subprocess.PIPE)
    assert starter.stdout is not None
    with starter.stdout:
        child = int(starter.stdout.readline())
    assert eventually(lambda: tail(tmp_path / "log") == "up")
    starter.send_signal(signal.SIGKILL)
    starter.wait()
    assert eventually(lambda: not runs(child))
    assert tail(tmp_path / "log").endswith("starter gone")


def test_a_missing_log_has_no_tail(tmp_path: Path) -> None:
    """Nothing written is nothing to show."""
    assert tail(tmp_path / "missing") == ""
