"""A secret of the stage itself, made by whoever needs it first."""

from typing import Final

from carillon.adapters.dynamodb import keys as k
from carillon.adapters.dynamodb.database import Database, Written
from carillon.adapters.dynamodb.writes import ABSENT, key_of, put
from carillon.ports.edges import Ids
from carillon.ports.errors import UnreadableItemError

KEY_BYTES: Final = 32


class DynamoCursorKey:
    """The key that seals cursors: one for the stage, kept by each process once it has seen it."""

    def __init__(self, database: Database, ids: Ids) -> None:
        self._database = database
        self._ids = ids
        self._key = b""

    def __call__(self) -> bytes:
        """The key: 32 bytes. Of several processes that make it at once, the first one's counts for all."""
        if not self._key:
            self._key = self._shared()
        return self._key

    def _shared(self) -> bytes:
        made = self._ids.secret_bytes(KEY_BYTES)
        item = key_of(*k.CURSOR_KEY_KEY) | {k.SEALED: {"B": made}}
        written = self._database.write(put(self._database.control, item, ABSENT))
        if isinstance(written, Written):
            return made
        stored = (written.old or {}).get(k.SEALED, {}).get("B")
        if not isinstance(stored, bytes) or len(stored) != KEY_BYTES:
            raise UnreadableItemError("the cursor key is damaged")
        return stored
