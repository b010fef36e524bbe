"""Asks a running service whatever its published description allows, and much of what it does not (schemathesis)."""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PROGRAM = str(Path(sys.executable).parent / "schemathesis")
LONGEST_SECONDS = 300


def assert_as_described(url: str, key: str, *options: str) -> None:
    """Every answer is one that the description has, and none is a fault of the server.

    No status, header, media type or member is another; what the description does not allow is refused; keys are asked
    for, and methods that a path does not have are told as such.
    """
    command = [PROGRAM, "--config-file", str(HERE / "schemathesis.toml"), "run", f"{url}/v1/openapi.json"]
    command += ["--header", f"Authorization: Bearer {key}", "--no-color", *options]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS, cwd=HERE.parents[1]
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2_000:]
    assert "Selected: 0" not in done.stdout
