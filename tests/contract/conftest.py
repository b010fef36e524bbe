"""One suite over every store: each test runs in each of the worlds that its fixture names."""

import os
from collections.abc import Iterator

import pytest
from moto import mock_aws

from carillon.adapters.aws import new_client
from carillon.adapters.dynamodb.fenced import BatchedUpdates, SingleUpdates, Transport
from contract.backends import (
    Endpoint,
    PayloadsUnderTest,
    Queues,
    Stores,
    TargetQueues,
    a_session,
    memory_payloads,
    memory_queues,
    memory_stores,
    memory_target_queues,
)
from contract.counting import Counted
from contract.local_aws import local_aws

LIVE = pytest.param("live", marks=pytest.mark.e2e)
LIVE_BATCHED = pytest.param("live-batched", marks=pytest.mark.e2e)


@pytest.fixture(scope="session")
def live_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """The AWS of that URL if the environment names one, else a local AWS in a process of its own."""
    if url := os.environ.get("CARILLON_TEST_ENDPOINT_URL"):
        yield Endpoint(a_session(), url)
        return
    with local_aws(tmp_path_factory.mktemp("local-aws")) as url:
        yield Endpoint(a_session(), url)


@pytest.fixture(scope="session")
def moto_endpoint() -> Endpoint:
    """AWS in this process."""
    return Endpoint(a_session())


@pytest.fixture
def endpoint(world: str, request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """Where AWS is, in the worlds that have one; empty in the case of moto."""
    if world.startswith("live"):
        yield request.getfixturevalue("live_endpoint")
        return
    with mock_aws():
        yield request.getfixturevalue("moto_endpoint")


@pytest.fixture(params=["memory", "moto", LIVE])
def world(request: pytest.FixtureRequest) -> str:
    """The name of a world. A test module that wants others overrides this fixture."""
    return str(request.param)


TRANSPORTS: dict[str, Transport] = {"moto-threads": SingleUpdates(threads=4), "live-batched": BatchedUpdates()}


@pytest.fixture
def stores(world: str, request: pytest.FixtureRequest) -> Stores:
    """All stores of a world, empty."""
    if world == "memory":
        return memory_stores()
    endpoint: Endpoint = request.getfixturevalue("endpoint")
    return endpoint.stores(TRANSPORTS.get(world))


@pytest.fixture
def queues(world: str, request: pytest.FixtureRequest) -> Queues:
    """All queues of a world, empty."""
    if world == "memory":
        return memory_queues()
    endpoint: Endpoint = request.getfixturevalue("endpoint")
    return endpoint.queues()


@pytest.fixture
def target_queues(world: str, request: pytest.FixtureRequest) -> TargetQueues:
    """Queues of tenants, empty."""
    if world == "memory":
        return memory_target_queues()
    endpoint: Endpoint = request.getfixturevalue("endpoint")
    return endpoint.target_queues()


@pytest.fixture
def payloads(world: str, request: pytest.FixtureRequest) -> PayloadsUnderTest:
    """Uploaded payloads, none yet."""
    if world == "memory":
        return memory_payloads()
    endpoint: Endpoint = request.getfixturevalue("endpoint")
    return endpoint.payloads()


@pytest.fixture
def counted(world: str, stores: Stores, request: pytest.FixtureRequest) -> Counted:
    """A tenant's jobs in each world."""
    if world == "memory":
        return Counted(stores)
    endpoint: Endpoint = request.getfixturevalue("endpoint")
    return Counted(stores, new_client(endpoint.session, "dynamodbstreams", endpoint_url=endpoint.url))
