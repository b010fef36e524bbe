"""The due index in memory. It can be told to lag behind the table."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from carillon.adapters.memory.state import IndexChange, ItemKey, MemoryState, SetAside
from carillon.domain.planning import DueEntry, UnreadableEntry

_Place = tuple[int, ItemKey]
"""Where an entry stands in its shard: by fire time, then by key."""


class MemoryDueIndex:
    """The due index.

    Attributes:
        lag_writes: so many of the newest changes of the index are not shown yet.
        lag_ms: changes younger than this are not shown yet. An index never goes back to what it showed before.
    """

    def __init__(self, state: MemoryState, *, lag_writes: int = 0, lag_ms: int = 0, page_size: int = 1000) -> None:
        self.lag_writes = lag_writes
        self.lag_ms = lag_ms
        self._state = state
        self._page_size = page_size
        self._shown_changes = 0
        self._shards: defaultdict[int, dict[_Place, DueEntry]] = defaultdict(dict)
        self._places: dict[ItemKey, tuple[int, _Place]] = {}

    def pages(self, shard: int, until_ms: int) -> Iterator[Sequence[DueEntry]]:
        """All entries of a shard due at or before an instant, oldest first; each page shows the index as it is then."""
        after: _Place | None = None
        while True:
            page = self._page(shard, until_ms, after)
            if page:
                yield [entry for _, entry in page]
            if len(page) < self._page_size:
                return
            after = page[-1][0]

    def between(self, shard: int, since_ms: int, until_ms: int, most: int) -> Sequence[DueEntry]:
        """The first entries of a shard due between two instants, oldest first: at most so many."""
        return [entry for _, entry in self._page(shard, until_ms, (since_ms, ("", "")))[:most]]

    def set_aside(self, entry: UnreadableEntry) -> None:
        """Take an unreadable item out of the index; it is kept in the state's list."""
        with self._state.lock:
            if self._state.remove_unreadable(entry):
                self._state.set_aside.append(SetAside(f"{entry.pk}/{entry.sk}", "", entry.reason))

    def _page(self, shard: int, until_ms: int, after: _Place | None) -> list[tuple[_Place, DueEntry]]:
        with self._state.lock:
            self._catch_up()
            due = [
                (place, entry)
                for place, entry in self._shards[shard].items()
                if place[0] <= until_ms and (after is None or place > after)
            ]
        due.sort(key=lambda found: found[0])
        return due[: self._page_size]

    def _catch_up(self) -> None:
        changes = self._state.index_changes
        newest_shown = len(changes) - self.lag_writes
        old_enough_ms = self._state.clock.now_ms() - self.lag_ms
        while self._shown_changes < newest_shown and changes[self._shown_changes].at_ms <= old_enough_ms:
            self._apply(changes[self._shown_changes])
            self._shown_changes += 1

    def _apply(self, change: IndexChange) -> None:
        if change.key in self._places:
            shard, place = self._places.pop(change.key)
            del self._shards[shard][place]
        if change.entry is not None:
            place = (change.next_fire_time, change.key)
            self._shards[change.entry.shard][place] = change.entry
            self._places[change.key] = (change.entry.shard, place)
