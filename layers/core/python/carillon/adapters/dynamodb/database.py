"""Reads and conditional writes of the two tables.

Reads of tables are strongly consistent, every page is followed, what a batch left unprocessed is asked for again, and
conflicts with a running transaction are waited out. A failed condition is an ordinary answer, with the old item.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from botocore.exceptions import ClientError

from carillon.adapters.aws import ask, error_code
from carillon.adapters.dynamodb.attributes import Attribute, Item
from carillon.adapters.dynamodb.writes import Write, names_in
from carillon.ports.errors import UnavailableError

MOST_TRIES: Final = 6
MOST_KEYS: Final = 100
_FIRST_PAUSE_SECONDS: Final = 0.02
_CONDITION_FAILED: Final = "ConditionalCheckFailed"
_TO_TRY_AGAIN: Final = frozenset(
    {"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded", "RequestLimitExceeded"}
)


@dataclass(frozen=True, slots=True)
class Written:
    """The write holds; `attributes` are what it was asked to return."""

    attributes: Item


@dataclass(frozen=True, slots=True)
class Lost:
    """The condition failed; `old` is the stored item, or None when there is none."""

    old: Item | None


@dataclass(frozen=True, slots=True)
class Cancelled:
    """A transaction was cancelled by conditions; `failed` are the positions that failed, with their old items."""

    failed: Mapping[int, Item | None]


@dataclass(frozen=True, slots=True)
class Database:
    """The tables, by a client of DynamoDB."""

    client: Any
    jobs: str
    control: str
    sleep: Callable[[float], None] = time.sleep

    def get(self, table: str, key: Item) -> Item | None:
        """An item, or None."""
        answer = ask(self.client.get_item, TableName=table, Key=key, ConsistentRead=True)
        item: Item | None = answer.get("Item")
        return item

    def query(
        self,
        table: str,
        condition: str,
        values: Mapping[str, Attribute],
        *,
        index: str | None = None,
        newest_first: bool = False,
        consistent: bool = True,
        page_limit: int | None = None,
        start: Item | None = None,
    ) -> Iterator[list[Item]]:
        """The pages of a query from behind a key, to the end.

        They are read with strong consistency, unless it is not asked for, for half the price; an index has none.
        """
        request: dict[str, Any] = {
            "TableName": table,
            "KeyConditionExpression": condition,
            "ExpressionAttributeNames": names_in(condition),
            "ExpressionAttributeValues": values,
            "ScanIndexForward": not newest_first,
            **({"IndexName": index} if index else {"ConsistentRead": consistent}),
            **({"Limit": page_limit} if page_limit else {}),
        }
        yield from self._pages(self.client.query, request, start)

    def scan(self, table: str, condition: str, values: Mapping[str, Attribute]) -> Iterator[list[Item]]:
        """The pages of a scan with a filter, to the end."""
        request = {
            "TableName": table,
            "FilterExpression": condition,
            "ExpressionAttributeNames": names_in(condition),
            "ExpressionAttributeValues": values,
            "ConsistentRead": True,
        }
        yield from self._pages(self.client.scan, request)

    def get_many(self, table: str, keys: Sequence[Item]) -> Iterator[Item]:
        """The items of these keys that exist, in no order."""
        for start in range(0, len(keys), MOST_KEYS):
            yield from self._get_batch(table, list(keys[start : start + MOST_KEYS]))

    def write(self, write: Write, *, returning: str = "NONE") -> Written | Lost:
        """Make one conditional write."""
        operation = getattr(self.client, f"{write.verb.lower()}_item")
        for _ in self.tries():
            try:
                answer = ask(operation, **write.request, ReturnValues=returning)
            except ClientError as error:
                if error_code(error) == "ConditionalCheckFailedException":
                    return Lost(_detail(error, "Item"))
                if error_code(error) != "TransactionConflictException":
                    raise
            else:
                return Written(answer.get("Attributes", {}))
        raise UnavailableError("the item is in a transaction")

    def transact(self, writes: Sequence[Write]) -> Cancelled | None:
        """Make all writes or none. Returns which conditions failed, or None when all is written."""
        parts = [write.as_part() for write in writes]
        for _ in self.tries():
            try:
                ask(self.client.transact_write_items, TransactItems=parts)
            except ClientError as error:
                cancelled = _cancelled(error)
                if cancelled.failed:
                    return cancelled
            else:
                return None
        raise UnavailableError("the items are in other transactions")

    def write_with(self, write: Write, others: Sequence[Write]) -> Written | Lost:
        """Make one conditional write together with others, or none: `Lost` tells of the first one alone."""
        if not others:
            return self.write(write)
        cancelled = self.transact([write, *others])
        return Written({}) if cancelled is None else Lost(cancelled.failed.get(0))

    def transact_with(self, required: Sequence[Write], optional: Sequence[Write]) -> Cancelled | None:
        """Make all required writes, with those optional ones whose conditions hold, or none.

        Returns which conditions of the required ones failed, by position, or None when all is written.
        """
        optional = list(optional)
        while True:
            cancelled = self.transact([*required, *optional])
            if cancelled is None or any(position < len(required) for position in cancelled.failed):
                return cancelled
            optional = [
                write for position, write in enumerate(optional, len(required)) if position not in cancelled.failed
            ]

    def tries(self) -> Iterator[int]:
        """Numbers of tries, with growing pauses between them."""
        for attempt in range(MOST_TRIES):
            if attempt:
                spread = random.uniform(0.5, 1.0)  # noqa: S311 - keeps contenders apart, guards nothing
                self.sleep(_FIRST_PAUSE_SECONDS * 2**attempt * spread)
            yield attempt

    def _pages(
        self, operation: Callable[..., Any], request: dict[str, Any], start: Item | None = None
    ) -> Iterator[list[Item]]:
        while True:
            answer = ask(operation, **request, **({"ExclusiveStartKey": start} if start else {}))
            yield answer.get("Items", [])
            start = answer.get("LastEvaluatedKey")
            if not start:
                return

    def _get_batch(self, table: str, keys: list[Item]) -> Iterator[Item]:
        for _ in self.tries():
            answer = ask(self.client.batch_get_item, RequestItems={table: {"Keys": keys, "ConsistentRead": True}})
            yield from answer.get("Responses", {}).get(table, [])
            keys = answer.get("UnprocessedKeys", {}).get(table, {}).get("Keys", [])
            if not keys:
                return
        raise UnavailableError("keys were left unprocessed")


def _cancelled(error: ClientError) -> Cancelled:
    """The conditions that failed in a cancelled transaction; none when it may simply be tried again.

    The reasons come as a list, one for each position, with the code `None` for the innocent. A conflict is another
    reason than a failed condition.
    """
    reasons: list[dict[str, Any]] = _detail(error, "CancellationReasons") or []
    failed = {
        position: reason.get("Item") or None
        for position, reason in enumerate(reasons)
        if reason.get("Code") == _CONDITION_FAILED
    }
    if not failed and not any(reason.get("Code") in _TO_TRY_AGAIN for reason in reasons):
        raise error
    return Cancelled(failed)


def _detail(error: ClientError, name: str) -> Any:
    """A member of an error's answer beside its code and message."""
    answer: Mapping[str, Any] = error.response
    return answer.get(name)
