"""Which loopback ports a stack takes."""

import socket
from collections.abc import Iterator

import pytest

from carillon_cli.dev import ports
from carillon_cli.dev.errors import USAGE, DevError


@pytest.fixture
def taken() -> Iterator[int]:
    """A port on which somebody listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def test_a_wanted_port_in_use_is_refused_by_name(taken: int) -> None:
    """Who asked for a port gets that one or a line that says why not."""
    with pytest.raises(DevError, match=f"port {taken} is in use") as refusal:
        ports.api_port(taken)
    assert refusal.value.exit_code == USAGE


def test_the_next_free_port_is_taken(taken: int) -> None:
    """Without a wish a taken port is passed over."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    assert ports.first_free([taken, free]) == free


def test_no_free_port_is_a_clear_line(taken: int) -> None:
    """When all candidates are taken, the message tells what to do."""
    with pytest.raises(DevError, match="--port"):
        ports.first_free([taken])


def test_the_local_aws_keeps_out_of_the_systems_own_range() -> None:
    """A remembered port is none that a system hands out for outgoing connections (from 32768)."""
    assert ports.aws_port() < 32768
