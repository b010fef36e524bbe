"""The stage has one cursor key, whoever makes it first."""

from typing import Any

import pytest

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.stage_keys import KEY_BYTES, DynamoCursorKey
from carillon.adapters.dynamodb.writes import key_of
from carillon.adapters.memory.edges import SequentialIds
from carillon.ports.errors import UnreadableItemError
from contract.backends import Endpoint
from contract.conftest import LIVE


@pytest.fixture(params=["moto", LIVE])
def world(request: pytest.FixtureRequest) -> str:
    """Memory has no other processes to agree with."""
    return str(request.param)


def test_all_processes_seal_with_the_first_ones_key(endpoint: Endpoint) -> None:
    """What one process sealed another can open."""
    database = endpoint.database()
    first, second = (DynamoCursorKey(database, SequentialIds(seed)) for seed in (1, 2))
    assert len(first()) == KEY_BYTES
    assert first() == second() == first()


@pytest.mark.parametrize("damage", [{}, {k.SEALED: {"S": "text"}}, {k.SEALED: {"B": b"short"}}])
def test_a_damaged_key_is_refused(endpoint: Endpoint, damage: dict[str, Any]) -> None:
    """Nothing is sealed with half a key."""
    database = endpoint.database()
    database.client.put_item(TableName=database.control, Item=key_of(*k.CURSOR_KEY_KEY) | damage)
    with pytest.raises(UnreadableItemError, match="damaged"):
        DynamoCursorKey(database, SequentialIds(1))()
