"""Loopback ports: which one to take, and whether it is free."""

import random
import socket
from collections.abc import Iterable

from carillon_cli.dev.errors import USAGE, DevError

DEFAULT_API_PORT = 8080
_API_PORTS_TRIED = 100
# Below the range from which systems take ports for outgoing connections: a stack that comes back to its
# remembered port must not find it taken by chance.
_AWS_PORTS = range(14500, 16500)


def is_free(port: int) -> bool:
    """Whether this port of the loopback address can be listened on."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def first_free(candidates: Iterable[int]) -> int:
    """The first free port of the candidates.

    Raises:
        DevError: if all are taken.
    """
    for port in candidates:
        if is_free(port):
            return port
    raise DevError("found no free loopback port: name one with --port", USAGE)


def api_port(wanted: int | None) -> int:
    """The port of the API: the wanted one, else 8080 or the next that is free.

    Raises:
        DevError: if the wanted port is taken.
    """
    if wanted is None:
        return first_free(range(DEFAULT_API_PORT, DEFAULT_API_PORT + _API_PORTS_TRIED))
    if not is_free(wanted):
        raise DevError(f"port {wanted} is in use: stop what listens there, or give another --port", USAGE)
    return wanted


def aws_port() -> int:
    """A free port for a new local AWS, at a random place so that stacks starting together do not meet."""
    ports = list(_AWS_PORTS)
    start = random.randrange(len(ports))  # noqa: S311 - spreads ports, guards nothing
    return first_free(ports[start:] + ports[:start])
