"""The newest items and messages in one file, written whole at short intervals.

ministack writes its state when it ends. A killed process would lose everything since its start; worse, tables and
queues from different instants would contradict each other: a job that has moved on, its message gone. So both are
taken at one instant and kept in one file, which is put in place in one step. At the next start it replaces the items
and messages in ministack's own files; everything else (definitions, functions, keys) comes from those.
"""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_logger = logging.getLogger("snapshot")

Rows = dict[str, dict[str, Any]]
# The items under one partition key, and their text with the key.
_Entry = tuple[dict[str, Any], str]
_Texts = dict[str, _Entry]


@dataclass(frozen=True)
class Frozen:
    """Data at one instant, by the keys that ministack's files use.

    Attributes:
        tables: table → partition key → sort key → item.
        queues: queue → messages.
    """

    tables: dict[str, Rows]
    queues: dict[str, list[dict[str, Any]]]


class SnapshotFile:
    """Writes snapshots; remembers the text of unchanged rows, so that a write costs little where little has changed."""

    def __init__(self, path: Path, encode: Callable[[object], str]) -> None:
        self._path = path
        self._encode = encode
        self._texts: dict[str, _Texts] = {}
        self._written = ""

    def write(self, frozen: Frozen) -> None:
        """Put this instant in place of the one before. Costs no disk write if nothing has changed."""
        self._texts = {name: self._encoded(rows, self._texts.get(name, {})) for name, rows in frozen.tables.items()}
        tables = _object((name, _joined(texts)) for name, texts in self._texts.items())
        text = f'{{"tables":{tables},"queues":{self._encode(frozen.queues)}}}'
        if text == self._written:
            return
        draft = self._path.with_suffix(".new")
        draft.write_text(text)
        draft.replace(self._path)
        self._written = text

    def _encoded(self, rows: Rows, known: _Texts) -> _Texts:
        return {key: self._entry(key, items, known.get(key)) for key, items in rows.items()}

    def _entry(self, key: str, items: dict[str, Any], known: _Entry | None) -> _Entry:
        if known is not None and known[0] == items:  # the same objects compare at once
            return known
        return items, f"{json.dumps(key)}:{self._encode(items)}"


def _joined(texts: _Texts) -> str:
    return "{" + ",".join(text for _, text in texts.values()) + "}"


def _object(entries: Iterator[tuple[str, str]]) -> str:
    return "{" + ",".join(f"{json.dumps(key)}:{text}" for key, text in entries) + "}"


def restore(snapshot: Path, state: Path) -> None:
    """Put a snapshot's items and messages into ministack's files. Does nothing where there is no snapshot."""
    if not snapshot.exists():
        return
    frozen = json.loads(snapshot.read_text())
    _replace(state / "dynamodb.json", "tables", frozen["tables"], _with_items)
    _replace(state / "sqs.json", "queues", frozen["queues"], _with_messages)


def _replace(file: Path, store: str, frozen: dict[str, Any], change: Callable[[dict[str, Any], Any], None]) -> None:
    if not file.exists():
        _logger.warning("%s is missing: its part of the snapshot cannot be used", file.name)
        return
    document = json.loads(file.read_text())
    entries = document["payload"][store]["data"]
    for key, data in frozen.items():
        if key in entries:
            change(entries[key], data)
    draft = file.with_suffix(".new")
    draft.write_text(json.dumps(document))
    draft.replace(file)


def _with_items(table: dict[str, Any], rows: Rows) -> None:
    table["items"] = rows
    table["ItemCount"] = sum(len(sorts) for sorts in rows.values())


def _with_messages(queue: dict[str, Any], messages: list[dict[str, Any]]) -> None:
    queue["messages"] = messages
