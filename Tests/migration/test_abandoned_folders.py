"""A migration that is killed leaves a folder beside the store. The next open for writing removes it."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
from corestone import Container, Model

MODEL = Model({"Note": {"title": "string"}})


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "a.sqlite"
    Container(MODEL, path).close()
    return path


def abandoned(store: Path, name: str) -> Path:
    folder = store.parent / name
    folder.mkdir()
    (folder / ".lock").touch()
    (folder / "result").write_bytes(b"half of a store")
    return folder


def test_abandoned_folder_is_removed_at_the_next_open(store: Path) -> None:
    folder = abandoned(store, ".a.sqlite.1y2p0ij32e8e7.corestone-part")
    Container(MODEL, store, read_only=True).close()
    assert folder.exists(), "opening a store read-only changes nothing"
    Container(MODEL, store).close()
    assert not folder.exists()


def test_folder_of_a_running_process_is_kept(store: Path) -> None:
    folder = abandoned(store, ".a.sqlite.1y2p0ij32e8e7.corestone-part")
    with (folder / ".lock").open("r+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        Container(MODEL, store).close()
        assert folder.exists()
    Container(MODEL, store).close()
    assert not folder.exists()


@pytest.mark.parametrize(
    "name", [".b.sqlite.1y2p0ij32e8e7.corestone-part", ".a.sqlite.my-work.corestone-part", "a.sqlite-work"]
)
def test_folders_of_other_files_are_kept(store: Path, name: str) -> None:
    folder = abandoned(store, name)
    Container(MODEL, store).close()
    assert folder.exists()
