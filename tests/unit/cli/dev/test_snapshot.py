"""The newest items and messages, kept in one file."""

import json
from pathlib import Path
from typing import Any

import pytest

from carillon_cli.dev.local_aws.snapshot import Frozen, SnapshotFile, restore

TABLE = "000000000000\x00us-east-1\x00'jobs'"
QUEUE = "000000000000\x00us-east-1\x00'http://localhost:14500/000000000000/ticks'"
ITEM = {"pk": {"S": "JOB#1"}, "sk": {"S": "JOB"}, "version": {"N": "1"}}
MESSAGE = {"id": "m1", "body": "tick", "visible_at": 17.5}


def frozen(item: dict[str, Any], *messages: dict[str, Any]) -> Frozen:
    """One table with one item, one queue."""
    return Frozen({TABLE: {"JOB#1": {"JOB": item}}}, {QUEUE: list(messages)})


def files(state: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The table and the queue in ministack's files."""
    dynamodb, sqs = (json.loads((state / name).read_text())["payload"] for name in ("dynamodb.json", "sqs.json"))
    return dynamodb["tables"]["data"][TABLE], sqs["queues"]["data"][QUEUE]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """What ministack wrote at its last orderly end: a table with an old item, a queue with an old message."""
    folder = tmp_path / "state"
    folder.mkdir()
    table = {"pk_name": "pk", "ItemCount": 1, "items": {"JOB#0": {"JOB": {"pk": {"S": "JOB#0"}}}}}
    queue = {"name": "ticks", "messages": [{"id": "m0"}]}
    documents = {
        "dynamodb": {"tables": {"data": {TABLE: table}}, "tags": {"a": 1}},
        "sqs": {"queues": {"data": {QUEUE: queue}}},
    }
    for service, payload in documents.items():
        (folder / f"{service}.json").write_text(json.dumps({"__ministack_format__": 2, "payload": payload}))
    return folder


def test_a_restart_finds_the_snapshot_not_the_older_files(tmp_path: Path, state: Path) -> None:
    """Items and messages come from the snapshot, definitions from ministack's own files."""
    SnapshotFile(tmp_path / "snapshot.json", json.dumps).write(frozen(ITEM, MESSAGE))
    restore(tmp_path / "snapshot.json", state)
    table, queue = files(state)
    assert table == {"pk_name": "pk", "ItemCount": 1, "items": {"JOB#1": {"JOB": ITEM}}}
    assert queue == {"name": "ticks", "messages": [MESSAGE]}
    assert json.loads((state / "dynamodb.json").read_text())["payload"]["tags"] == {"a": 1}


def test_an_item_that_was_replaced_is_written_anew(tmp_path: Path, state: Path) -> None:
    """A remembered text is used only for rows that are the same."""
    file = SnapshotFile(tmp_path / "snapshot.json", json.dumps)
    file.write(frozen(ITEM))
    newer = ITEM | {"version": {"N": "2"}}
    file.write(frozen(newer))
    restore(tmp_path / "snapshot.json", state)
    assert files(state)[0]["items"] == {"JOB#1": {"JOB": newer}}


def test_a_removed_row_is_gone(tmp_path: Path, state: Path) -> None:
    """A table that was emptied is empty after the restart."""
    file = SnapshotFile(tmp_path / "snapshot.json", json.dumps)
    file.write(frozen(ITEM, MESSAGE))
    file.write(Frozen({TABLE: {}}, {QUEUE: []}))
    restore(tmp_path / "snapshot.json", state)
    table, queue = files(state)
    assert (table["items"], table["ItemCount"], queue["messages"]) == ({}, 0, [])


def test_nothing_new_is_not_written(tmp_path: Path) -> None:
    """An idle stack does not write to the disk each second."""
    file = SnapshotFile(tmp_path / "snapshot.json", json.dumps)
    file.write(frozen(ITEM))
    (tmp_path / "snapshot.json").unlink()
    file.write(frozen(dict(ITEM)))
    assert not (tmp_path / "snapshot.json").exists()


def test_unchanged_rows_are_not_encoded_again(tmp_path: Path) -> None:
    """A snapshot costs what has changed, not what there is."""
    encoded: list[object] = []

    def encode(value: object) -> str:
        encoded.append(value)
        return json.dumps(value)

    file = SnapshotFile(tmp_path / "snapshot.json", encode)
    rows = {f"JOB#{number}": {"JOB": ITEM} for number in range(50)}
    file.write(Frozen({TABLE: rows}, {}))
    encoded.clear()
    file.write(Frozen({TABLE: rows | {"JOB#7": {"JOB": ITEM | {"version": {"N": "2"}}}}}, {}))
    assert len([value for value in encoded if value]) == 1


def test_a_table_that_is_defined_nowhere_is_left_out(tmp_path: Path, state: Path) -> None:
    """A snapshot of a half-made deployment does no harm."""
    unknown = Frozen({TABLE: {}, TABLE.replace("jobs", "new"): {"a": {"b": ITEM}}}, {})
    SnapshotFile(tmp_path / "snapshot.json", json.dumps).write(unknown)
    restore(tmp_path / "snapshot.json", state)
    assert files(state)[0]["items"] == {}


def test_without_a_snapshot_or_files_nothing_happens(tmp_path: Path) -> None:
    """A first start, and one after a deployment that never came to its end, find nothing to restore."""
    restore(tmp_path / "snapshot.json", tmp_path)
    SnapshotFile(tmp_path / "snapshot.json", json.dumps).write(frozen(ITEM))
    restore(tmp_path / "snapshot.json", tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["snapshot.json"]
