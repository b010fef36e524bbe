"""The checkout that is deployed, and the tools that it needs."""

import hashlib
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from carillon_cli.dev.errors import USAGE, DevError

STACK_NAME = "Carillon-local"
TOOLKIT_NAME = "CDKToolkit"
STAGE = "local"
REGION = "us-east-1"
ACCOUNT = "000000000000"
# The local AWS takes any credentials; these are the ones that its documentation uses.
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}

# Everything that goes into the deployed template and its code.
_SOURCES = ("cdk.json", "package-lock.json", "requirements/layer.lock", "infra", "functions", "layers/core")


@dataclass(frozen=True)
class Project:
    """A checkout with a CDK app.

    Attributes:
        root: the folder that holds `cdk.json` and `node_modules`.
    """

    root: Path

    @property
    def cdk(self) -> Path:
        """The pinned CDK command line."""
        return self.root / "node_modules" / ".bin" / "cdk"

    def check(self) -> None:
        """Refuse a checkout from which nothing can be deployed.

        Raises:
            DevError: with what is missing and how to get it.
        """
        if not (self.root / "cdk.json").is_file():
            raise DevError(f"no cdk.json in {self.root}: run this from a checkout of Carillon", USAGE)
        if shutil.which("node") is None:
            raise DevError("node is not on the PATH: the CDK command line needs Node.js", USAGE)
        if not self.cdk.exists():
            raise DevError(f"the CDK command line is not installed: run `npm ci` in {self.root}", USAGE)

    def fingerprint(self) -> str:
        """A digest of all that is deployed: while it stays the same, a kept stack needs no deployment."""
        digest = hashlib.sha256(sys.version.encode())
        for file in sorted(file for source in _SOURCES for file in _files(self.root / source)):
            digest.update(f"{file.relative_to(self.root)}\0{file.stat().st_size}\0".encode() + file.read_bytes())
        return digest.hexdigest()


def _files(source: Path) -> Iterator[Path]:
    if source.is_file():
        yield source
    yield from (file for file in source.rglob("*") if file.is_file() and "__pycache__" not in file.parts)


def checkout() -> Path:
    """The checkout that this command was installed from."""
    return Path(__file__).resolve().parents[3]


def search_path() -> str:
    """The PATH for child programs: this interpreter's folder first, so that `python` means this Python."""
    return os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])
