"""The due index in DynamoDB."""

from collections.abc import Iterator, Sequence
from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.attributes import number
from carillon.adapters.dynamodb.database import Database
from carillon.adapters.dynamodb.due_items import due_entry, set_item_aside
from carillon.adapters.dynamodb.writes import key_of
from carillon.domain.due import DueEntry, UnreadableEntry

_BETWEEN: Final = f"#{k.SHARD} = :{k.SHARD} AND #{k.NEXT_FIRE_TIME} BETWEEN :since AND :until"
_DUE: Final = f"#{k.SHARD} = :{k.SHARD} AND #{k.NEXT_FIRE_TIME} <= :until"


class DynamoDueIndex:
    """The due index: eventually consistent, ordered by fire time within a shard."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def pages(self, shard: int, until_ms: int) -> Iterator[Sequence[DueEntry]]:
        """All entries of a shard due at or before an instant, page by page to the end, oldest first."""
        values = {f":{k.SHARD}": number(shard), ":until": number(until_ms)}
        for page in self._database.query(self._database.jobs, _DUE, values, index=k.DUE_INDEX):
            yield [due_entry(item) for item in page]

    def between(self, shard: int, since_ms: int, until_ms: int, most: int) -> Sequence[DueEntry]:
        """The first entries of a shard due between two instants, oldest first: at most so many, in one read."""
        values = {f":{k.SHARD}": number(shard), ":since": number(since_ms), ":until": number(until_ms)}
        pages = self._database.query(self._database.jobs, _BETWEEN, values, index=k.DUE_INDEX, page_limit=most)
        return [due_entry(item) for item in next(pages, [])]

    def set_aside(self, entry: UnreadableEntry) -> None:
        """Take an unreadable item out of the index, unless it has become readable since the index showed it."""
        item = self._database.get(self._database.jobs, key_of(entry.pk, entry.sk))
        if item is not None and k.SHARD in item and isinstance(due_entry(item), UnreadableEntry):
            set_item_aside(self._database, entry.pk, entry.sk, entry.reason)
