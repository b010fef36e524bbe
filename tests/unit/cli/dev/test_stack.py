"""A start-up that fails half-way leaves nothing behind."""

import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from carillon_cli.dev.errors import REFUSED, DevError, Interrupted
from carillon_cli.dev.ports import aws_port, is_free
from carillon_cli.dev.progress import Progress
from carillon_cli.dev.project import Project
from carillon_cli.dev.stack import Options, running_stack

# Stands in for the CDK: says what it was asked to do and, for one step, fails or never ends.
CDK = """#!{python}
import sys, time
print("asked to", sys.argv[1], flush=True)
if sys.argv[1] == {step!r}:
    {action}
"""


@pytest.fixture
def options(tmp_path: Path) -> Options:
    """A checkout with a stand-in for the CDK, which `cdk` changes."""
    (tmp_path / "checkout" / "node_modules" / ".bin").mkdir(parents=True)
    (tmp_path / "checkout" / "cdk.json").write_text("{}")
    port = aws_port()
    ready = tmp_path / "ready.json"
    ready.write_text("of a stack that was killed")
    return Options(port, tmp_path / "state", ready, project=Project(tmp_path / "checkout"))


def cdk(options: Options, step: str, action: str) -> None:
    """Let a step of the CDK do something."""
    options.project.cdk.write_text(CDK.format(python=sys.executable, step=step, action=action))
    options.project.cdk.chmod(0o755)


def nothing_is_left(options: Options) -> bool:
    """Whether both ports are free, no process works in the folder and no ready file stands."""
    assert options.port is not None
    assert options.state is not None
    assert options.ready_file is not None
    aws_port = int((options.state / "aws-port").read_text())
    commands = subprocess.run(["ps", "-wweo", "args"], capture_output=True, text=True, check=True).stdout
    return (
        is_free(options.port)
        and is_free(aws_port)
        and str(options.state.parent) not in commands
        and not options.ready_file.exists()
    )


@pytest.mark.parametrize("step", ["bootstrap", "synth"])
def test_a_step_that_fails_brings_its_log_and_ends_all(options: Options, step: str) -> None:
    """The message names the step, its log's end is shown, and what was started before it is stopped."""
    cdk(options, step, "raise SystemExit(7)")
    with (
        pytest.raises(DevError, match=f"cdk {step} failed with status 7") as failure,
        running_stack(options, Progress(), threading.Event()),
    ):
        pass
    assert failure.value.exit_code == REFUSED
    assert failure.value.log_tail == f"asked to {step}"
    assert nothing_is_left(options)


def test_a_request_to_stop_in_a_step_ends_all(options: Options) -> None:
    """Ctrl-C while the CDK works is heard at once."""
    cdk(options, "bootstrap", "time.sleep(60)")
    stop = threading.Event()
    timer = threading.Timer(2.0, stop.set)
    timer.start()
    with pytest.raises(Interrupted), running_stack(options, Progress(), stop):
        pass
    timer.join()
    assert nothing_is_left(options)


def test_a_port_in_use_starts_nothing(options: Options) -> None:
    """A wish that cannot be met is refused before anything runs."""
    cdk(options, "none", "pass")
    with (
        socket.create_server(("127.0.0.1", options.port or 0)),
        pytest.raises(DevError, match="in use"),
        running_stack(options, Progress(), threading.Event()),
    ):
        pass
    assert options.state is not None
    assert not options.state.exists()
