"""Backups that migrations make, their verification, and migrations that leave tasks for later."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    Coordinator,
    InvalidArgumentError,
    Model,
    StoreError,
    TypeMismatchError,
    _abi,
    backups,
)
from corestone.stores.store_options import store_options

FIRST = {"Note": {"title": "string?", "text": "string?"}}
SECOND = {"Note": {"title": "string?"}}
THIRD = {"Note": {"title": "string?", "rank": "int16 = 0"}}
REMOVAL: dict[str, Any] = {"migrate": True, "allow_removals": True}


def create(path: Path) -> Path:
    with Container(Model(FIRST), path) as container, container.context() as context:
        context.insert("Note", title="Milk", text="2 litres")
        context.save()
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return create(tmp_path / "notes.sqlite")


def titles(path: Path, model: dict[str, Any], **options: Any) -> list[str | None]:
    """Opens a store, which may migrate it."""
    with Container(Model(model), path, **options) as container, container.context() as context:
        return [each.title for each in context.fetch("Note")]


@pytest.mark.parametrize("type", ["SQLite", "XML"])
def test_backup_is_listed_and_restored(tmp_path: Path, type: str) -> None:
    path = tmp_path / "notes.store"
    with Container(Model(FIRST), path, type=type) as container, container.context() as context:
        context.insert("Note", title="Milk", text="2 litres")
        context.save()
    assert backups(path) == []
    assert titles(path, THIRD, backup=True, verify_migration=True, **REMOVAL) == ["Milk"]
    (copy,) = backups(path)
    assert Path(copy).parent == tmp_path
    assert "notes.store.backup-" in copy
    assert titles(path, THIRD, backup=True) == ["Milk"]
    assert backups(path) == [copy], "nothing to migrate"
    with Coordinator(Model(FIRST)) as coordinator:
        assert coordinator.restore_store(path) == copy
        coordinator.add_store(path)
        assert [each.text for each in coordinator.context().fetch("Note")] == ["2 litres"]
        assert coordinator.restore_store(path, copy) == copy
        assert coordinator.stores == []
    assert backups(path) == [copy]


def test_backups_are_kept_in_a_folder_up_to_a_limit(path: Path) -> None:
    folder = path.parent / "copies"
    with pytest.raises(StoreError, match="because the backup failed"):
        titles(path, SECOND, backup=folder, **REMOVAL)
    assert titles(path, FIRST) == ["Milk"]
    folder.mkdir()
    titles(path, SECOND, backup=folder, backups_kept=1, **REMOVAL)
    titles(path, THIRD, backup=str(folder), backups_kept=1, **REMOVAL)
    (copy,) = backups(path, folder)
    assert backups(path) == []
    with Coordinator(Model(SECOND)) as coordinator:
        assert coordinator.restore_store(path, folder=folder) == copy
    assert titles(path, SECOND, migrate=False) == ["Milk"]


def test_backup_mistakes_are_reported(path: Path) -> None:
    with Coordinator(Model(FIRST)) as coordinator:
        with pytest.raises(StoreError, match="does not have a backup in its folder") as caught:
            coordinator.restore_store(path)
        assert caught.value.file == str(path)
        with pytest.raises(InvalidArgumentError, match="is not a copy of"):
            coordinator.restore_store(path, create(path.parent / "other.sqlite"))
        with pytest.raises(StoreError):
            coordinator.restore_store(path, path.parent / "missing")
    with pytest.raises(StoreError, match="cannot list"):
        backups(path, path.parent / "missing")
    with pytest.raises(InvalidArgumentError, match="is empty"):
        backups(path, "")
    assert titles(path, FIRST) == ["Milk"]


def test_migration_options_set_their_flags() -> None:
    given = store_options(verify_migration=True, defer_cleanup=True)
    assert given.flags == _abi.STORE_VERIFY_MIGRATION | _abi.STORE_DEFER_MIGRATION_CLEANUP
    assert not given.backup
    given = store_options(backup=True)
    assert (given.backup.contents.keep, _abi.decode(given.backup.contents.folder)) == (0, None)
    given = store_options(backup="copies", backups_kept=2)
    assert (given.backup.contents.keep, _abi.decode(given.backup.contents.folder)) == (2, "copies")
    refused: list[tuple[dict[str, Any], type[Exception]]] = [
        ({"backup": 3}, TypeMismatchError),
        ({"backup": None}, TypeMismatchError),
        ({"backups_kept": 2}, InvalidArgumentError),
        ({"backup": True, "backups_kept": 0}, InvalidArgumentError),
        ({"backup": True, "backups_kept": "two"}, TypeMismatchError),
        ({"verify_migration": "yes"}, TypeMismatchError),
        ({"defer_cleanup": "yes"}, TypeMismatchError),
    ]
    for options, kind in refused:
        with pytest.raises(kind):
            store_options(**options)


def test_deferred_migration_leaves_tasks(path: Path) -> None:
    with Coordinator(Model(SECOND)) as coordinator:
        store = coordinator.add_store(path, defer_cleanup=True, **REMOVAL)
        assert coordinator.deferred_migration_task_count(store) == 1
        assert [each.title for each in coordinator.context().fetch("Note")] == ["Milk"]

        def stop(done: int, total: int) -> None:
            raise ZeroDivisionError(f"{done} of {total}")

        with pytest.raises(ZeroDivisionError, match="0 of 1"):
            coordinator.finish_deferred_migration(store, progress=stop)
        assert coordinator.deferred_migration_task_count(store) == 1
        told: list[tuple[int, int]] = []
        coordinator.finish_deferred_migration(store, progress=lambda done, total: told.append((done, total)))
        assert told == [(0, 1), (1, 1)]
        assert coordinator.deferred_migration_task_count(store) == 0
        assert coordinator.finish_deferred_migration_task(store) is False
        coordinator.finish_deferred_migration(store)


def test_deferred_tasks_can_be_finished_one_by_one(path: Path) -> None:
    model = Model({"Other": {"name": "string?"}, "Note": {"title": "string?"}})
    with Coordinator(model) as coordinator:
        store = coordinator.add_store(path, defer_cleanup=True, **REMOVAL)
        assert coordinator.deferred_migration_task_count(store) == 1
        assert coordinator.finish_deferred_migration_task(store) is False
    with Coordinator(Model(FIRST)) as coordinator, Coordinator(model) as other:
        store = other.add_store(path)
        for call in (
            coordinator.deferred_migration_task_count,
            coordinator.finish_deferred_migration_task,
            coordinator.finish_deferred_migration,
        ):
            with pytest.raises(InvalidArgumentError):
                call(store)
            with pytest.raises(TypeMismatchError, match="store must be of type Store"):
                call(path)  # type: ignore[arg-type]
        with pytest.raises(TypeMismatchError, match="progress"):
            other.finish_deferred_migration(store, progress=3)  # type: ignore[arg-type]
