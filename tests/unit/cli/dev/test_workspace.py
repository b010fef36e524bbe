"""The folder that a stack lives in."""

import json
import stat
from pathlib import Path

import pytest

from carillon_cli.dev import workspace as module
from carillon_cli.dev.errors import USAGE, DevError
from carillon_cli.dev.workspace import workspace, write_json


def test_a_temporary_folder_is_removed_at_the_end() -> None:
    """Without --state nothing is left behind."""
    with workspace(None) as area:
        assert area.temporary
        assert area.aws.is_dir()
    assert not area.root.exists()


def test_a_state_folder_stays_and_is_private(tmp_path: Path) -> None:
    """With --state the folder is kept, and only its owner can look into it: it holds keys."""
    with workspace(tmp_path / "state") as area:
        area.credentials.write_text("{}")
    assert (tmp_path / "state" / "credentials.json").exists()
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700


def test_one_stack_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second stack on the same state is refused; after the first has ended the folder is free again."""
    monkeypatch.setattr(module, "_LOCK_WAIT_SECONDS", 0.0)
    with workspace(tmp_path):
        with pytest.raises(DevError, match="in use by another") as refusal, workspace(tmp_path):
            pass
        assert refusal.value.exit_code == USAGE
    with workspace(tmp_path):
        pass


def test_a_state_that_is_a_file_is_a_usage_error(tmp_path: Path) -> None:
    """A path that cannot be a folder is refused in one line."""
    (tmp_path / "file").write_text("")
    with pytest.raises(DevError, match="cannot use") as refusal, workspace(tmp_path / "file"):
        pass
    assert refusal.value.exit_code == USAGE


def test_json_is_written_whole_and_privately(tmp_path: Path) -> None:
    """A ready file appears in one step, readable by its owner only, and nothing else is left beside it."""
    target = tmp_path / "sub" / "ready.json"
    write_json(target, {"url": "http://localhost:8080"})
    assert json.loads(target.read_text()) == {"url": "http://localhost:8080"}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert list(target.parent.iterdir()) == [target]


def test_a_document_that_is_no_json_leaves_no_draft(tmp_path: Path) -> None:
    """A failed write leaves neither the file nor a draft of it."""
    with pytest.raises(TypeError):
        write_json(tmp_path / "ready.json", {"url": object()})
    assert list(tmp_path.iterdir()) == []
