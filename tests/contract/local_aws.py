"""A local AWS in a process of its own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

START_SECONDS = 60
STOP_SECONDS = 10


@contextmanager
def local_aws(folder: Path) -> Iterator[str]:
    """A local AWS on a free loopback port, for as long as the block runs; gives its URL."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "hypercorn", "ministack.app:app", "--bind", f"127.0.0.1:{port}"]
    environment = os.environ | {"GATEWAY_PORT": str(port), "STATE_DIR": str(folder)}
    with (folder / "local-aws.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log, cwd=folder)
    try:
        _await_answer(f"{url}/_ministack/ready", process)
        yield url
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_answer(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, "the local AWS ended by itself"
        try:
            with urlopen(url, timeout=1):  # noqa: S310 - our own loopback server
                return
        except (URLError, OSError):
            time.sleep(0.05)
    raise TimeoutError("the local AWS does not answer")
