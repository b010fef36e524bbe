"""What ministack is told through its environment."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from carillon_cli.dev.project import ACCOUNT, CREDENTIALS, REGION

# Everything else of the caller's environment stays outside: functions inherit what is here.
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "SYSTEMROOT")
# Idle surplus function processes are kept for an hour: a cold start costs about a second here.
_WARM_SECONDS = 3600


@dataclass(frozen=True)
class Settings:
    """How one local AWS is run.

    Attributes:
        port: where it listens on the loopback address.
        directory: its state and its temporary files.
        keeps: whether its state is kept for a restart.
        enforces: whether IAM is enforced.
        throwaway: a folder to remove at the end if the starter has gone and cannot do it.
    """

    port: int
    directory: Path
    keeps: bool
    enforces: bool
    throwaway: Path | None = None

    @property
    def state(self) -> Path:
        """Where ministack keeps one file per service."""
        return self.directory / "state"

    @property
    def snapshot(self) -> Path:
        """The newest items and messages."""
        return self.directory / "snapshot.json"

    @property
    def scratch(self) -> Path:
        """Temporary files: the unpacked code of running functions."""
        return self.directory / "tmp"

    @property
    def endpoint(self) -> str:
        """Its address for clients."""
        return f"http://127.0.0.1:{self.port}"


def environment(settings: Settings, inherited: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The whole environment of the local AWS, and so of every function process that it starts."""
    return {name: inherited[name] for name in _INHERITED if name in inherited} | {
        **CREDENTIALS,
        "AUTH": "true" if settings.enforces else "false",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ENDPOINT_URL": settings.endpoint,
        "AWS_REGION": REGION,
        "GATEWAY_PORT": str(settings.port),
        "IOT_MTLS_ENABLED": "0",  # would take the fixed port 8883
        "LAMBDA_WARM_TTL_SECONDS": str(_WARM_SECONDS),
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "MINISTACK_REGION": REGION,
        "PERSIST_STATE": "1" if settings.keeps else "0",
        "PYTHONUNBUFFERED": "1",
        "S3_DATA_DIR": str(settings.directory / "s3"),
        "S3_PERSIST": "1" if settings.keeps else "0",
        "SFTP_ENABLED": "0",  # would take the fixed port 2222
        "STATE_DIR": str(settings.state),
        "TMPDIR": str(settings.scratch),
        "TZ": "UTC",
    }


def arguments(settings: Settings) -> list[str]:
    """The settings as arguments of the local AWS's process."""
    return [
        f"--port={settings.port}",
        f"--directory={settings.directory}",
        "--keep" if settings.keeps else "--no-keep",
        "--enforce" if settings.enforces else "--no-enforce",
        *([] if settings.throwaway is None else [f"--throwaway={settings.throwaway}"]),
    ]
