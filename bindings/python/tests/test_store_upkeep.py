"""Operations on whole stores: copying, replacing, moving, destroying, metadata and logs."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import corestone
from corestone import (
    Container,
    Coordinator,
    InvalidArgumentError,
    Model,
    NotAStoreError,
    StoreBusyError,
    StoreError,
    TypeMismatchError,
    UnsupportedError,
)

LARGE = b"x" * 200_000


@pytest.fixture
def photos() -> Model:
    return Model({"Photo": {"title": "string", "data": "binary? external"}})


def add(container: Container, title: str, data: bytes | None = None) -> None:
    ctx = container.context()
    ctx.insert("Photo", title=title, data=data)
    ctx.save()


def titles(model: Model, path: Path) -> list[str]:
    with Container(model, path, must_exist=True) as container:
        return [each.title for each in container.context().fetch("Photo", sort="title")]


def files(path: Path) -> list[Path]:
    return sorted((path.parent / f".{path.stem}_SUPPORT" / "_EXTERNAL_DATA").glob("*"))


def test_backup_copies_the_whole_store(photos: Model, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    told: list[tuple[int, int]] = []
    with Container(photos, tmp_path / "a.sqlite") as container:
        add(container, "a", LARGE)
        container.coordinator.backup(container.store, copy, progress=lambda done, total: told.append((done, total)))
        assert told[-1][0] == told[-1][1] > len(LARGE)
        add(container, "b", LARGE)
        ctx = container.context()
        ctx.delete(ctx.fetch("Photo", "title == 'a'")[0])
        ctx.save()
        assert titles(photos, copy) == ["a"]
        assert corestone.check(copy) == []
        assert len(files(copy)) == 1
        container.coordinator.backup(container.store, copy)
        assert titles(photos, copy) == ["b"]
        assert corestone.check(copy) == []
        assert len(files(copy)) == 1
        with Container(photos, copy) as other:
            assert other.context().fetch("Photo")[0].data == LARGE
            assert other.store.identifier == container.store.identifier


def test_cancelled_backup_leaves_no_file(photos: Model, tmp_path: Path) -> None:
    def fail(done: int, total: int) -> None:
        raise ZeroDivisionError

    with Container(photos, tmp_path / "a.sqlite") as container:
        add(container, "a", LARGE)
        with pytest.raises(ZeroDivisionError):
            container.coordinator.backup(container.store, tmp_path / "copy.sqlite", progress=fail)
        assert not (tmp_path / "copy.sqlite").exists()
        assert files(tmp_path / "copy.sqlite") == []
        with pytest.raises(TypeMismatchError, match="progress"):
            container.coordinator.backup(container.store, tmp_path / "copy.sqlite", progress=3)  # type: ignore[arg-type]


def test_backup_does_not_overwrite_existing_files(photos: Model, tmp_path: Path) -> None:
    Container(photos, tmp_path / "b.sqlite").close()
    (tmp_path / "text").write_text("this is no store")
    with Container(photos, tmp_path / "a.sqlite") as container:
        backup = container.coordinator.backup
        with pytest.raises(InvalidArgumentError, match="is not a copy of"):
            backup(container.store, tmp_path / "b.sqlite")
        with pytest.raises(InvalidArgumentError, match="the same store"):
            backup(container.store, container.path)
        with pytest.raises(NotAStoreError):
            backup(container.store, tmp_path / "text")
        with pytest.raises(StoreError, match="does not exist"):
            backup(container.store, tmp_path / "none" / "c.sqlite")


@pytest.mark.parametrize("options", [{"journal": "rollback"}, {"read_only": True}])
def test_backup_works_with_every_open_option(photos: Model, tmp_path: Path, options: dict[str, Any]) -> None:
    with Container(photos, tmp_path / "a.sqlite") as container:
        add(container, "a", LARGE)
    with Container(photos, tmp_path / "a.sqlite", **options) as container:
        container.coordinator.backup(container.store, tmp_path / "copy.sqlite")
    assert titles(photos, tmp_path / "copy.sqlite") == ["a"]


def test_backup_copies_a_dev_null_store_but_not_an_in_memory_store(photos: Model, tmp_path: Path) -> None:
    with Container(photos, "/dev/null") as container:
        add(container, "a", LARGE)
        container.coordinator.backup(container.store, tmp_path / "copy.sqlite")
    assert titles(photos, tmp_path / "copy.sqlite") == ["a"]
    with Container(photos, "m", type="InMemory") as container, pytest.raises(UnsupportedError, match="migrate"):
        container.coordinator.backup(container.store, tmp_path / "other.sqlite")


def test_replace_store_replaces_the_file(photos: Model, tmp_path: Path) -> None:
    source, target = tmp_path / "source.sqlite", tmp_path / "a.sqlite"
    for path, title in ((source, "new"), (target, "old")):
        with Container(photos, path) as container:
            add(container, title, LARGE)
    coordinator = Coordinator(photos)
    coordinator.add_store(target)
    told: list[Any] = []
    with coordinator.observe("stores_did_change", lambda _, changes: told.append(changes.removed)):
        coordinator.replace_store(target, source)
    assert len(told) == 1
    assert coordinator.stores == []
    assert titles(photos, target) == titles(photos, source) == ["new"]
    assert corestone.check(target) == []
    assert len(files(target)) == 1
    coordinator.replace_store(tmp_path / "copy.sqlite", source)
    assert titles(photos, tmp_path / "copy.sqlite") == ["new"]
    with pytest.raises(StoreError):
        coordinator.replace_store(target, tmp_path / "none.sqlite")
    with pytest.raises(InvalidArgumentError):
        coordinator.replace_store(target, target)
    assert titles(photos, target) == ["new"]


def test_replace_store_honours_locks(photos: Model, tmp_path: Path) -> None:
    source, target = tmp_path / "source.sqlite", tmp_path / "a.sqlite"
    for path, title in ((source, "new"), (target, "old")):
        with Container(photos, path) as container:
            add(container, title)
    other = sqlite3.connect(target, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusyError):
        Coordinator(photos).replace_store(target, source, busy_timeout=0.05)
    other.close()
    assert titles(photos, target) == ["old"]


def test_migrate_store_moves_the_store(photos: Model, tmp_path: Path) -> None:
    with Container(photos, tmp_path / "a.sqlite") as container:
        add(container, "a", LARGE)
        ctx = container.context()
        photo = ctx.fetch("Photo")[0]
        coordinator, store = container.coordinator, container.store
        with pytest.raises(StoreError):
            coordinator.set_store_path(store, tmp_path / "b.sqlite")
        coordinator.backup(store, tmp_path / "b.sqlite")
        coordinator.set_store_path(store, tmp_path / "b.sqlite")
        assert store.path == str(tmp_path / "b.sqlite")
        assert photo.data == LARGE
        photo.title = "b"
        ctx.save()
        add(container, "c", LARGE)
        assert coordinator.store_at(tmp_path / "a.sqlite") is None
        found = coordinator.store_at(tmp_path / "." / "b.sqlite")
        assert found is not None
        assert found.identifier == store.identifier
        assert [each.path for each in coordinator.stores] == [store.path]
    assert titles(photos, tmp_path / "a.sqlite") == ["a"]
    assert titles(photos, tmp_path / "b.sqlite") == ["b", "c"]


def test_metadata_can_be_read_and_set(photos: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Container(photos, path) as container:
        coordinator, store = container.coordinator, container.store
        values = coordinator.metadata(store)
        assert values["NSStoreUUID"] == store.identifier
        assert values["NSStoreType"] == "SQLite"
        coordinator.set_metadata(store, {**values, "note": [1, "two", b"three"]})
        assert "note" not in corestone.metadata(path)
        assert coordinator.metadata(store)["note"] == [1, "two", b"three"]
        container.context().save()
        assert corestone.metadata(path)["note"] == [1, "two", b"three"]
        coordinator.set_metadata(store, {})
        add(container, "a")
        assert "note" not in corestone.metadata(path)
        assert corestone.metadata(path) == values
        for key in ("NSStoreUUID", "NSStoreType", "NSStoreModelVersionHashes"):
            with pytest.raises(InvalidArgumentError, match=key) as raised:
                coordinator.set_metadata(store, {key: "x"})
            assert raised.value.key == key
        with pytest.raises(TypeMismatchError):
            coordinator.set_metadata(store, {"note": object()})
        with pytest.raises(TypeMismatchError):
            coordinator.set_metadata(store, [1])  # type: ignore[arg-type]
    corestone.set_metadata(path, {"label": "archive"})
    assert corestone.metadata(path) == {**values, "label": "archive"}
    with pytest.raises(InvalidArgumentError, match="NSStoreUUID"):
        corestone.set_metadata(path, {"NSStoreUUID": "x"})
    with pytest.raises(StoreError):
        corestone.set_metadata(tmp_path / "none.sqlite", {})
    assert titles(photos, path) == ["a"]


@pytest.mark.parametrize("value", ["a\0b", "\uffff", {"in": [{"\x01": 1}]}])
def test_metadata_invalid_in_xml_is_rejected_when_set(photos: Model, tmp_path: Path, value: Any) -> None:
    """It is refused when it is set, not by the saves to come."""
    path = tmp_path / "a.xml"
    with Container(photos, path, type="XML") as container:
        coordinator, store = container.coordinator, container.store
        with pytest.raises(InvalidArgumentError, match=r"note.*remove the character") as raised:
            coordinator.set_metadata(store, {"note": value, "other": 1})
        assert raised.value.key == "note"
        coordinator.set_metadata(store, {"other": 1})
        add(container, "a")
    with pytest.raises(InvalidArgumentError, match=r"note.*remove the character"):
        corestone.set_metadata(path, {"note": value})
    assert corestone.metadata(path)["other"] == 1
    for kind in ("SQLite", "Binary"):
        with Container(photos, tmp_path / kind, type=kind) as container:
            container.coordinator.set_metadata(container.store, {"note": value})
            add(container, "a")
        assert corestone.metadata(tmp_path / kind)["note"] == value


def test_metadata_of_a_store_in_memory_is_kept(photos: Model) -> None:
    with Container(photos, "m", type="InMemory") as container:
        container.coordinator.set_metadata(container.store, {"note": "x"})
        container.context().save()
        assert container.coordinator.metadata(container.store)["note"] == "x"


def test_checkpoint_empties_the_write_ahead_log(photos: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Container(photos, path) as container:
        add(container, "a")
        found = container.coordinator.checkpoint(container.store, "full")
        assert found is not None
        assert found.is_complete
        assert found.pages > 0
        container.coordinator.checkpoint(container.store, "truncate")
        assert Path(f"{path}-wal").stat().st_size == 0
        with pytest.raises(InvalidArgumentError, match="passive"):
            container.coordinator.checkpoint(container.store, "whole")
    with Container(photos, tmp_path / "b.sqlite", journal="rollback") as container:
        assert container.coordinator.checkpoint(container.store) is None
    with Container(photos, "m", type="InMemory") as container, pytest.raises(UnsupportedError):
        container.coordinator.checkpoint(container.store)


def test_optimize_deletes_orphaned_files(photos: Model, tmp_path: Path) -> None:
    import os
    import uuid

    path = tmp_path / "a.sqlite"
    with Container(photos, path) as container:
        add(container, "a", LARGE)
        orphan = files(path)[0].with_name(str(uuid.uuid4()).upper())
        orphan.write_bytes(b"x")
        os.utime(orphan, (0, 0))
        assert container.coordinator.optimize(container.store) == 1
        assert not orphan.exists()
        assert len(files(path)) == 1
        assert container.coordinator.optimize(container.store) == 0
        assert container.context().fetch("Photo")[0].data == LARGE


def test_forced_destruction_ignores_locks(photos: Model, tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Container(photos, path) as container:
        add(container, "a", LARGE)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    coordinator = Coordinator(photos)
    with pytest.raises(StoreBusyError):
        coordinator.destroy_store(path, busy_timeout=0.05)
    assert coordinator.destroy_store(path, busy_timeout=0.05, force=True)
    assert not path.exists()
    assert files(path) == []
    assert other.execute("SELECT count(*) FROM ZPHOTO").fetchone()[0] == 1
    other.close()
    coordinator.add_store(path)


def test_single_file_store_can_be_moved(photos: Model, tmp_path: Path) -> None:
    first, second = tmp_path / "a.binary", tmp_path / "b.binary"
    with Container(photos, first, type="Binary") as container:
        add(container, "a", LARGE)
        coordinator, store = container.coordinator, container.store
        coordinator.set_store_path(store, second)
        assert store.path == str(second)
        assert not second.exists()
        container.context().save()  # nothing has changed
        assert titles(photos, second) == ["a"]
        add(container, "b")
        Container(photos, tmp_path / "c.binary", type="Binary").close()
        with pytest.raises(InvalidArgumentError, match="another store"):
            coordinator.set_store_path(store, tmp_path / "c.binary")
        coordinator.set_store_path(store, first)  # an older state of the store
        add(container, "c")
    assert titles(photos, first) == ["a", "b", "c"]
    assert titles(photos, second) == ["a", "b"]


def test_single_file_store_supports_all_maintenance(photos: Model, tmp_path: Path) -> None:
    path, copy = tmp_path / "a.binary", tmp_path / "b.binary"
    with Container(photos, path, type="Binary") as container:
        add(container, "a")
        coordinator, store = container.coordinator, container.store
        coordinator.set_metadata(store, {"note": "x"})
        container.context().save()
        assert corestone.metadata(path)["note"] == "x"
        coordinator.backup(store, copy)
        coordinator.backup(store, copy)
        with pytest.raises(UnsupportedError):
            coordinator.optimize(store)
    assert titles(photos, copy) == ["a"]
    corestone.set_metadata(copy, {"note": "y"})
    assert corestone.metadata(copy)["note"] == "y"
    coordinator = Coordinator(photos)
    coordinator.replace_store(path, copy)
    assert corestone.metadata(path)["note"] == "y"
    sqlite = tmp_path / "c.sqlite"
    Container(photos, sqlite).close()
    with pytest.raises(InvalidArgumentError, match="a store of type SQLite"):
        coordinator.replace_store(sqlite, copy)
    assert titles(photos, sqlite) == []


@pytest.mark.parametrize("type", ["XML", "Binary"])
def test_save_waits_while_a_single_file_store_is_copied(photos: Model, tmp_path: Path, type: str) -> None:
    looks: list[int] = []
    with Container(photos, tmp_path / "a", type=type) as container:
        background = container.background_context()

        def look(done: int, total: int) -> None:
            # The copying thread blocks all saves, so it must not wait for a context that may be saving.
            with pytest.raises(InvalidArgumentError, match=r"cannot wait for the queue of a context .* during"):
                background.perform_and_wait(background.save)
            looks.append(done)

        container.coordinator.backup(container.store, tmp_path / "b", progress=look)
        background.perform_and_wait(background.save)
    assert looks


@pytest.mark.parametrize("how", ["removed", "replaced", "with its log"])
@pytest.mark.parametrize("journal", ["wal", "rollback"])
def test_save_fails_when_the_file_lost_its_name(photos: Model, tmp_path: Path, how: str, journal: str) -> None:
    """A save would be lost, so it fails; the content of the file can still be copied."""
    path, copy = tmp_path / "a.sqlite", tmp_path / "copy.sqlite"
    with Container(photos, path) as container:
        add(container, "old")
    shutil.copy(path, tmp_path / "before.sqlite")
    with Container(photos, path, journal=journal) as container:
        add(container, "a", LARGE)
        if how == "removed":
            path.unlink()
        else:
            (tmp_path / "before.sqlite").replace(path)
        if how == "with its log":
            for suffix in ("-wal", "-shm", "-journal"):
                Path(f"{path}{suffix}").unlink(missing_ok=True)
        ctx = container.context()
        ctx.insert("Photo", title="b", data=LARGE)
        with pytest.raises(StoreError) as caught:
            ctx.save()
        assert caught.value.file == str(path)
        words = "no longer exists" if how == "removed" else "was replaced by another file"
        assert words in str(caught.value)
        assert "back up the store" in str(caught.value)
        assert len(files(path)) == 1
        with pytest.raises(StoreError):
            ctx.batch_update("Photo", {"title": "c"})
        # All saved values are present, also for new contexts.
        assert sorted(each.title for each in container.context().fetch("Photo")) == ["a", "old"]
        container.coordinator.backup(container.store, copy)
        ctx.rollback()
    assert titles(photos, copy) == ["a", "old"]
    if how == "removed":
        assert not path.exists()
    elif how == "with its log":
        assert titles(photos, path) == ["old"]
