"""All that was ever written to the jobs table, in order, as its stream tells it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from carillon.adapters.dynamodb.attributes import Item


@dataclass(frozen=True, slots=True)
class Change:
    """One write of one item.

    Attributes:
        seq: its place among all changes, from 1.
        at_ms: when, by the second: it was up to a second later.
        old: the item before, or None.
        new: the item after, or None.
    """

    seq: int
    at_ms: int
    old: Item | None
    new: Item | None

    @property
    def item(self) -> Item:
        """The item, as it is after or else was before."""
        item = self.new or self.old
        assert item
        return item


def changes_of(dynamodb: Any, streams: Any, table: str) -> Iterator[Change]:
    """Every change since the table was made.

    Args:
        dynamodb: a client of the database.
        streams: a client of its streams.
        table: the name of a table whose stream has new and old images.
    """
    for seq, record in enumerate(_records(streams, dynamodb.describe_table(TableName=table)["Table"]), start=1):
        written = record["dynamodb"]
        at_ms = round(written["ApproximateCreationDateTime"].timestamp() * 1000)
        yield Change(seq, at_ms, written.get("OldImage"), written.get("NewImage"))


def _records(streams: Any, table: Any) -> Iterator[Any]:
    """The records of a stream of one shard, which is all that a table of the local AWS has."""
    arn = table["LatestStreamArn"]
    [shard] = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    begin = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
    iterator = streams.get_shard_iterator(**begin)["ShardIterator"]
    while True:
        page = streams.get_records(ShardIterator=iterator)
        if not page["Records"]:
            return
        yield from page["Records"]
        iterator = page["NextShardIterator"]
