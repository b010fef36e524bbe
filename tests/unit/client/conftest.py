"""The real API on a loopback port, and a client of it that does not really wait."""

from collections.abc import Iterator

import pytest

from carillon.client import Client, Transport
from support.loopback import Script, Service, running_service


class Pauses(list[float]):
    """A sleep that only takes notes."""

    def __call__(self, seconds: float) -> None:
        """Note how long."""
        self.append(seconds)


@pytest.fixture
def service() -> Iterator[Service]:
    """The service, on a loopback port of its own."""
    with running_service() as known:
        yield known


@pytest.fixture
def key(service: Service) -> str:
    """A key that the service takes."""
    return service.api.key


@pytest.fixture
def script() -> type[Script]:
    """How to write a service's script."""
    return Script


@pytest.fixture
def pauses() -> Pauses:
    """The pauses that were made, in seconds."""
    return Pauses()


@pytest.fixture
def client(service: Service, key: str, pauses: Pauses) -> Iterator[Client]:
    """A client of the service that does not really wait, and sends what may be repeated four times at most."""
    with Client("", transport=Transport(service.url, key, tries=4, sleep=pauses)) as made:
        yield made
