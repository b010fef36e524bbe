"""Updates that hold only while an item is as it was read, by two transports.

One request each, or PartiQL statements in batches of 25, each with its own condition. Which is better is a matter of
processor time and latency; what an update does, and when it is refused, is the same: a batch is billed as its updates.
"""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, Protocol

from carillon.adapters.aws import ask
from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import Attribute, Item
from carillon.adapters.dynamodb.database import Database, Lost, Written
from carillon.adapters.dynamodb.writes import Write, setting, update
from carillon.ports.errors import UnavailableError

MOST_STATEMENTS: Final = 25

Answer = Written | Lost | None
"""What became of one update; None: nobody answered for it."""


@dataclass(frozen=True, slots=True)
class FencedUpdate:
    """An update of one item under conditions.

    Attributes:
        table: its table.
        key: its key.
        sets: the attributes to set.
        removes: the names of the attributes to remove.
        equal: attributes that must be as given.
        at_most: numbers that must not be above those given.
    """

    table: str
    key: Item
    sets: Item
    equal: Item
    removes: tuple[str, ...] = ()
    at_most: Item = field(default_factory=dict)

    def as_write(self) -> Write:
        """The update as a request of its own, or as a part of a transaction."""
        change, values = setting(self.sets, removing=self.removes)
        conditions = [f"#{name} = :if_{name}" for name in self.equal] + [
            f"#{name} <= :most_{name}" for name in self.at_most
        ]
        values |= {f":if_{name}": value for name, value in self.equal.items()}
        values |= {f":most_{name}": value for name, value in self.at_most.items()}
        return update(self.table, self.key, change, " AND ".join(conditions), values)

    def as_statement(self) -> dict[str, Any]:
        """The update as a PartiQL statement."""
        parameters: list[Attribute] = [
            *self.sets.values(),
            *self.key.values(),
            *self.equal.values(),
            *self.at_most.values(),
        ]
        return {
            "Statement": _statement(self.table, tuple(self.sets), self.removes, tuple(self.equal), tuple(self.at_most)),
            "Parameters": parameters,
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }


@lru_cache(maxsize=64)  # it says names only, and there are few shapes of updates
def _statement(
    table: str, sets: tuple[str, ...], removes: tuple[str, ...], equal: tuple[str, ...], at_most: tuple[str, ...]
) -> str:
    changes = [f'SET "{name}"=?' for name in sets] + [f'REMOVE "{name}"' for name in removes]
    conditions = [f'"{name}"=?' for name in (k.PK, k.SK, *equal)] + [f'"{name}"<=?' for name in at_most]
    return f'UPDATE "{table}" {" ".join(changes)} WHERE {" AND ".join(conditions)}'


class Transport(Protocol):
    """How updates get to the table."""

    def __call__(self, database: Database, updates: Sequence[FencedUpdate]) -> list[Answer]:
        """Try each update by itself; one answer an update, in order. After a silence the rest is not tried any more."""
        ...


@dataclass(frozen=True, slots=True)
class SingleUpdates:
    """A request each, over so many threads."""

    threads: int = 1

    def __call__(self, database: Database, updates: Sequence[FencedUpdate]) -> list[Answer]:
        """Try each update by itself."""
        if self.threads == 1:
            return _until_silence(database, updates)
        slices = [updates[start :: self.threads] for start in range(min(self.threads, len(updates)))]
        answers: list[Answer] = [None] * len(updates)
        with ThreadPoolExecutor(self.threads) as pool:
            for start, part in enumerate(pool.map(lambda own: _until_silence(database, own), slices)):
                answers[start :: self.threads] = part
        return answers


def _until_silence(database: Database, updates: Sequence[FencedUpdate]) -> list[Answer]:
    answers: list[Answer] = [None] * len(updates)
    for position, one in enumerate(updates):
        try:
            answers[position] = database.write(one.as_write())
        except UnavailableError:
            break
    return answers


_CONDITION_FAILED: Final = "ConditionalCheckFailed"
_TO_TRY_AGAIN: Final = frozenset(
    {
        "InternalServerError",
        "ProvisionedThroughputExceeded",
        "RequestLimitExceeded",
        "ThrottlingError",
        "TransactionConflict",
    }
)


@dataclass(frozen=True, slots=True)
class BatchedUpdates:
    """Batches of statements. A request that succeeds may hold failures, each of its own kind."""

    def __call__(self, database: Database, updates: Sequence[FencedUpdate]) -> list[Answer]:
        """Try each update by itself."""
        answers: list[Answer] = [None] * len(updates)
        with suppress(UnavailableError):  # what has no answer by then stays without one
            for batch in _batches(updates):
                for position, answer in _ask_batch(database, updates, batch):
                    answers[position] = answer
        return answers


def _batches(updates: Sequence[FencedUpdate]) -> Iterator[list[int]]:
    """Positions in batches in which no item comes twice: DynamoDB refuses a batch in which one does."""
    batch: dict[tuple[str, str], int] = {}
    for position, one in enumerate(updates):
        place = one.key[k.PK]["S"], one.key[k.SK]["S"]
        if place in batch or len(batch) == MOST_STATEMENTS:
            yield list(batch.values())
            batch = {}
        batch[place] = position
    if batch:
        yield list(batch.values())


def _ask_batch(
    database: Database, updates: Sequence[FencedUpdate], batch: list[int]
) -> Iterator[tuple[int, Written | Lost]]:
    """The answers of a batch by position; those that are put off are asked for again."""
    for _ in database.tries():
        statements = [updates[position].as_statement() for position in batch]
        responses = ask(database.client.batch_execute_statement, Statements=statements)["Responses"]
        put_off = []
        for position, response in zip(batch, responses, strict=True):
            if response.get("Error", {}).get("Code") in _TO_TRY_AGAIN:
                put_off.append(position)
            else:
                yield position, _answer(response)
        batch = put_off
        if not batch:
            return


def _answer(response: Mapping[str, Any]) -> Written | Lost:
    error = response.get("Error")
    if not error:
        return Written({})
    if error["Code"] != _CONDITION_FAILED:
        raise RuntimeError(f"an update was refused for what it is: {error['Code']}: {error.get('Message')}")
    return Lost(error.get("Item") or None)
