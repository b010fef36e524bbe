"""The folder that one local stack lives in: state, logs, credentials, and the lock that keeps a second one out."""

import fcntl
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from carillon_cli.dev.errors import USAGE, DevError

# A killed predecessor's local AWS writes its last state before it lets go.
_LOCK_WAIT_SECONDS = 15.0


@dataclass(frozen=True)
class Workspace:
    """Paths of one local stack.

    Attributes:
        root: the folder itself.
        temporary: whether it is removed at the end.
        lock: the open lock file; the local AWS inherits it, so that it counts as in use until that has gone too.
    """

    root: Path
    temporary: bool
    lock: IO[str]

    @property
    def aws(self) -> Path:
        """State of the local AWS."""
        return self.root / "aws"

    @property
    def logs(self) -> Path:
        """One log file per child program."""
        return self.root / "logs"

    @property
    def assembly(self) -> Path:
        """What `cdk synth` wrote."""
        return self.root / "cdk.out"

    @property
    def outputs(self) -> Path:
        """The stack's outputs, as the CDK writes them."""
        return self.root / "outputs.json"

    @property
    def credentials(self) -> Path:
        """The tenant's key and signing secret, readable by the owner only."""
        return self.root / "credentials.json"

    @property
    def aws_port(self) -> Path:
        """The port that the state belongs to: queue addresses hold it, so a restart has to use it again."""
        return self.root / "aws-port"

    @property
    def aws_pid(self) -> Path:
        """The process id of the local AWS, which is its process group too."""
        return self.root / "aws-pid"

    @property
    def fingerprint(self) -> Path:
        """The digest of what is deployed; written once the deployment itself is kept."""
        return self.root / "deployed"

    def deployed_fingerprint(self) -> str | None:
        """The digest of what is deployed, or None."""
        return self.fingerprint.read_text() if self.fingerprint.exists() else None


@contextmanager
def workspace(state: Path | None) -> Iterator[Workspace]:
    """Open the given folder, or a temporary one that is removed at the end.

    Raises:
        DevError: if another `carillon dev` is using it, or it cannot be written.
    """
    root = _folder(state)
    try:
        with _locked(root) as lock:
            opened = Workspace(root, state is None, lock)
            opened.logs.mkdir(exist_ok=True)
            opened.aws.mkdir(exist_ok=True)
            yield opened
    finally:
        if state is None:
            shutil.rmtree(root, ignore_errors=True)


def _folder(state: Path | None) -> Path:
    if state is None:
        return Path(tempfile.mkdtemp(prefix="carillon-dev-"))
    try:
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DevError(f"cannot use {state} for the state: {error.strerror}", USAGE) from error
    return state.resolve()


@contextmanager
def _locked(root: Path) -> Iterator[IO[str]]:
    try:
        lock = (root / "lock").open("a+")
    except OSError as error:
        raise DevError(f"cannot write in {root}: {error.strerror}", USAGE) from error
    with lock:
        _take(lock, root)
        yield lock


def _take(lock: IO[str], root: Path) -> None:
    deadline = time.monotonic() + _LOCK_WAIT_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise DevError(f"{root} is in use by another `carillon dev`", USAGE) from None
            time.sleep(0.1)
        else:
            return


def write_json(path: Path, document: dict[str, Any]) -> None:
    """Write a JSON file in one step, readable by the owner only: a reader sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump(document, file, indent=2)
            file.write("\n")
        Path(name).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
