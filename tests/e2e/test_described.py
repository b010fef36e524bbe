"""The deployed service keeps to its published description."""

import json
from collections.abc import Iterator

import pytest

from carillon.client import Client
from e2e.dev_stack import DevStack
from support.asking import assert_as_described


@pytest.fixture
def tenants_key(stack: DevStack) -> Iterator[str]:
    """The key of a tenant of its own; what it leaves is cancelled, so that it keeps no worker busy."""
    created = stack.carillon("tenants", "create", "described", "--mode", "test", "--json")
    assert created.returncode == 0, created.stderr
    key: str = json.loads(created.stdout)["api_key"]
    yield key
    with Client(stack.url, key) as client:
        for job in [*client.jobs()]:
            client.cancel_job(job["id"])


def test_every_answer_is_described(stack: DevStack, tenants_key: str) -> None:
    """Examples, generated requests and stories of several: no server error, and no answer that is not described.

    The edges of every single field are asked of the same code without a stack, in the tests of the interface.
    """
    assert_as_described(stack.url, tenants_key, "--phases", "examples,fuzzing,stateful", "--max-examples", "4")
