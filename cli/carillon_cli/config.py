"""Where the service is and with which key: flags, environment, a ready file or a profile.

Of several sources the first that has a value wins: flags, the ready file, a profile named by flag, the variables
`CARILLON_URL` and `CARILLON_API_KEY`, the profile in `CARILLON_PROFILE`, the profile `default`.
"""

import json
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import click

from carillon.client import Client
from carillon.client.transport import checked_key, checked_url

DEFAULT_PROFILE = "default"
_FLAGS = ("url", "api_key", "profile", "ready_file")


@dataclass(frozen=True, slots=True)
class Connection:
    """A service and the key to call it with."""

    url: str
    api_key: str = field(repr=False)


class Service:
    """What a command gets: the client, made when it is first needed, and whether the caller wants JSON."""

    def __init__(self, flags: Mapping[str, str | None], *, as_json: bool) -> None:
        self.as_json = as_json
        self._flags = flags
        self._client: Client | None = None

    @property
    def client(self) -> Client:
        """The client of the service that the flags, the environment or a profile name.

        Raises:
            click.UsageError: They name none.
        """
        if self._client is None:
            connection = resolve(self._flags, os.environ)
            self._client = Client(connection.url, connection.api_key)
        return self._client

    def close(self) -> None:
        """Close the client's connections."""
        if self._client is not None:
            self._client.close()


def resolve(flags: Mapping[str, str | None], environ: Mapping[str, str]) -> Connection:
    """Find the service and the key.

    Args:
        flags: Any of `url`, `api_key`, `profile`, `ready_file`.
        environ: The environment.

    Raises:
        click.UsageError: One of them is missing or unusable; the message never holds the key.
    """
    found: dict[str, str] = {}
    for source in _sources(flags, environ):
        found = {name: value.strip() for name in ("url", "api_key") if (value := source.get(name))} | found
    if "url" not in found:
        raise click.UsageError("no service is named: give --url, CARILLON_URL or a profile")
    if "api_key" not in found:
        raise click.UsageError("no key is given: give --api-key, CARILLON_API_KEY or a profile")
    try:
        checked_url(found["url"])
        checked_key(found["api_key"])
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    return Connection(found["url"], found["api_key"])


def read_ready_file(path: str) -> dict[str, str]:
    """The texts in a file that `carillon dev --ready-file` wrote.

    Raises:
        click.UsageError: It is not there yet or no such file.
    """
    try:
        values = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise click.UsageError(f"cannot read the ready file {path}: {error.strerror}") from error
    except ValueError as error:
        raise click.UsageError(f"the ready file {path} is not JSON") from error
    if not isinstance(values, dict):
        raise click.UsageError(f"the ready file {path} is not a JSON object")
    return {name: value for name, value in values.items() if isinstance(value, str)}


def read_profile(name: str, environ: Mapping[str, str], *, required: bool) -> dict[str, str]:
    """The texts of a profile: the table of its name in the configuration file.

    Raises:
        click.UsageError: The file is damaged, or it has no such profile though one is required.
    """
    path = config_path(environ)
    try:
        profiles = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        profiles = {}
    except OSError as error:
        raise click.UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError:  # the parser's message may quote the line with the key
        raise click.UsageError(f"{path} is not TOML") from None
    profile = profiles.get(name)
    if isinstance(profile, dict):
        return {key: value for key, value in profile.items() if isinstance(value, str)}
    if required:
        raise click.UsageError(f"{path} has no profile [{name}]")
    return {}


def config_path(environ: Mapping[str, str]) -> Path:
    """The configuration file: `carillon/config.toml` in XDG_CONFIG_HOME, or else in `~/.config`."""
    home = environ.get("XDG_CONFIG_HOME") or Path("~/.config").expanduser()
    return Path(home) / "carillon" / "config.toml"


def json_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """The option `--json`; the function gets `as_json`, also true when it stood before the subcommand."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
    @wraps(function)
    def command(*args: Any, as_json: bool, **options: Any) -> Any:
        return function(*args, as_json=as_json or bool(_root_params().get("as_json")), **options)

    return command


def uses_service(*, url_is_target: bool = False) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a function a command that calls the service: it gets a `Service` first and has the options of connections.

    Args:
        url_is_target: Whether `--url` means something else for this command, so that only `--api-url` is added.
    """
    url_flags = ("--api-url",) if url_is_target else ("--url", "--api-url")

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @click.option(*url_flags, "connection_url", metavar="URL", help="Where the service is.")
        @click.option("--api-key", "connection_api_key", metavar="KEY", help="The key to call it with.")
        @click.option("--profile", "connection_profile", metavar="NAME", help="A profile of the configuration file.")
        @click.option("--ready-file", "connection_ready_file", metavar="FILE", help="Written by `carillon dev`.")
        @json_option
        @wraps(function)
        def command(*args: Any, as_json: bool, **options: Any) -> None:
            flags = {name: options.pop(f"connection_{name}") or _root_params().get(name) for name in _FLAGS}
            with closing(Service(flags, as_json=as_json)) as service:
                function(service, *args, **options)

        return command

    return decorate


def _sources(flags: Mapping[str, str | None], environ: Mapping[str, str]) -> Iterator[Mapping[str, str | None]]:
    """The sources, first the one that wins."""
    yield flags
    if ready_file := flags.get("ready_file"):
        yield read_ready_file(ready_file)
    if profile := flags.get("profile"):
        yield read_profile(profile, environ, required=True)
    yield {"url": environ.get("CARILLON_URL"), "api_key": environ.get("CARILLON_API_KEY")}
    if profile := environ.get("CARILLON_PROFILE"):
        yield read_profile(profile, environ, required=True)
    yield read_profile(DEFAULT_PROFILE, environ, required=False)


def _root_params() -> Mapping[str, Any]:
    return click.get_current_context().find_root().params
