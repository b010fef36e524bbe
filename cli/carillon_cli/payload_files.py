"""The payload of a job from a file: in the job itself if it is a small JSON text, else uploaded."""

import mimetypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from carillon.client import Client
from carillon.domain.uploads import MOST_UPLOAD_BYTES
from carillon_cli.definition import checked_json, payload_text

MOST_INLINE_BYTES = 16 * 1024
"""What is larger is cheaper as an upload: a job with it is read and written whole."""

_JSON = "application/json"
_UNKNOWN = "application/octet-stream"

Command = TypeVar("Command", bound=Callable[..., Any])


def payload_options(command: Command) -> Command:
    """The flags of a payload that is a file."""
    of_type = click.option("--payload-type", metavar="TYPE", help="Its content type.  [by the file's name]")
    of_file = click.option(
        "--payload-file",
        metavar="FILE",
        help="A file as the body: small JSON stands in the job, all else is uploaded, up to 4 MiB.",
    )
    return of_file(of_type(command))


def payload_of(client: Client, flags: Mapping[str, Any]) -> tuple[dict[str, Any], str | None]:
    """What the flags say of the payload: members of the job, and the text of a payload that stands in it.

    Raises:
        click.UsageError: A file cannot be read, is empty or too large, or the flags contradict each other.
    """
    path, content_type = flags["payload_file"], flags["payload_type"]
    if path is None:
        if content_type is not None:
            raise click.UsageError("--payload-type is of a --payload-file")
        return {}, payload_text(flags["payload"])
    if flags["payload"] is not None:
        raise click.UsageError("give --payload or --payload-file, not both")
    data = _read(path)
    content_type = content_type or mimetypes.guess_type(path)[0] or _UNKNOWN
    if content_type == _JSON and len(data) <= MOST_INLINE_BYTES and (text := _json_text(data)) is not None:
        return {}, text
    return {"payload_ref": client.upload(data, content_type)}, None


def _read(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_UPLOAD_BYTES + 1)
    except OSError as error:
        raise click.UsageError(f"--payload-file: cannot read {path}: {error.strerror}") from error
    if not 0 < len(data) <= MOST_UPLOAD_BYTES:
        raise click.UsageError(f"--payload-file: {path} has to have 1 to {MOST_UPLOAD_BYTES} bytes")
    return data


def _json_text(data: bytes) -> str | None:
    """The text, if it is JSON."""
    try:
        text = data.decode()
        checked_json(text, "--payload-file")
    except (UnicodeDecodeError, click.UsageError):
        return None
    return text
