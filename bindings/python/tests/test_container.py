"""Containers: opening, options, and files that are not stores."""

from __future__ import annotations

import os
import plistlib
import sqlite3
import stat
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from corestone import (
    Container,
    CorestoneError,
    InvalidArgumentError,
    InvalidHandleError,
    Model,
    ModelMismatchError,
    NotAStoreError,
    ObjectGoneError,
    StoreBusyError,
    StoreCorruptError,
    StoreError,
    StoreReadOnlyError,
    TypeMismatchError,
    metadata,
)


def make(model: Model, path: Path) -> None:
    with Container(model, path) as container:
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        ctx.save()


def test_reopened_container_has_the_saved_store(model: Model, path: Path) -> None:
    with Container(model, path) as container:
        identifier = container.store.identifier
        assert len(identifier) == 36
        assert Path(container.path) == path
        assert not container.is_read_only
        assert str(path) in repr(container)
    with Container(model, str(path)) as container:
        assert container.store.identifier == identifier
    container.close()
    with pytest.raises(InvalidHandleError, match="container is closed"):
        container.context()


def test_closing_a_container_closes_its_contexts(model: Model, path: Path) -> None:
    container = Container(model, path)
    ctx, background = container.context(), container.background_context()
    container.close()
    assert ctx.is_closed
    assert background.is_closed


def test_read_only_container_rejects_saves(model: Model, path: Path) -> None:
    make(model, path)
    before = path.read_bytes()
    with Container(model, path, read_only=True, unsaved="discard") as container:
        assert container.is_read_only
        ctx = container.context()
        ctx.first("Employee").age = 7
        with pytest.raises(StoreReadOnlyError):
            ctx.save()
    assert path.read_bytes() == before


def test_must_exist_fails_when_the_file_is_missing(model: Model, path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Container(model, path, must_exist=True)
    assert str(path) in str(caught.value)
    assert not path.exists()


def test_opening_fails_when_the_folder_is_missing(model: Model, path: Path) -> None:
    with pytest.raises(StoreError):
        Container(model, path.parent / "nowhere" / "x.store")


@pytest.mark.parametrize("content", [b"hello, I am no database at all" * 100, b"SQLite format 3\0" + bytes(2000)])
def test_opening_fails_when_the_file_is_not_a_store(model: Model, path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises((NotAStoreError, StoreCorruptError)) as caught:
        Container(model, path)
    assert caught.value.file == str(path)
    assert path.read_bytes() == content


def test_opening_fails_when_the_database_is_not_a_store(model: Model, path: Path) -> None:
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE t (x)")
    database.commit()
    database.close()
    with pytest.raises(NotAStoreError):
        Container(model, path)


def test_opening_fails_when_the_model_differs(model: Model, path: Path) -> None:
    make(model, path)
    other = Model({"Employee": {"name": "string", "extra": "string?"}})
    with pytest.raises(ModelMismatchError) as caught:
        Container(other, path, migrate=False)
    assert "Employee" in str(caught.value)


def test_save_fails_when_another_connection_holds_the_lock(model: Model, path: Path) -> None:
    make(model, path)
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    try:
        with Container(model, path, busy_timeout=0.05) as container:
            ctx = container.context()
            ctx.first("Employee").age = 7
            with pytest.raises(StoreBusyError) as caught:
                ctx.save()
            assert caught.value.sqlite_code != 0
            assert ctx.has_changes
            blocker.execute("ROLLBACK")
            ctx.save()
    finally:
        blocker.close()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everything")
def test_save_fails_when_the_file_is_read_only(model: Model, path: Path) -> None:
    make(model, path)
    path.chmod(stat.S_IREAD)

    def change() -> None:
        with Container(model, path) as container:
            ctx = container.context()
            ctx.insert("Employee", name="x")
            ctx.save()

    with pytest.raises(StoreReadOnlyError):
        change()


@pytest.mark.parametrize(
    "options", [{"sync": "maybe"}, {"journal": "none"}, {"busy_timeout": -1}, {"cache_kb": -1}, {"max_connections": -1}]
)
def test_invalid_options_are_rejected(model: Model, path: Path, options: dict[str, object]) -> None:
    with pytest.raises(InvalidArgumentError):
        Container(model, path, **options)  # type: ignore[call-overload]
    assert not path.exists()


@pytest.mark.parametrize(
    "options",
    [
        {"sync": "full"},
        {"sync": "normal"},
        {"journal": "rollback"},
        {"busy_timeout": 0.1, "cache_kb": 512},
        {"max_connections": 1},
    ],
)
def test_valid_options_are_accepted(model: Model, path: Path, options: dict[str, object]) -> None:
    with Container(model, path, **options) as container:  # type: ignore[call-overload]
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        ctx.save()
    with Container(model, path) as container:
        assert container.context().count("Employee") == 1


@pytest.mark.parametrize("most", [1, 3, 0])
def test_threads_read_and_save(model: Model, path: Path, most: int) -> None:
    with Container(model, path, sync="normal", max_connections=most) as container:

        def work(number: int) -> int:
            with container.context() as ctx:
                for round in range(10):
                    ctx.insert("Employee", name=f"{number}.{round}")
                    ctx.save()
                    assert ctx.count("Employee") > round
                return len([employee.name for employee in ctx.fetch("Employee")])

        with ThreadPoolExecutor(6) as threads:
            found = list(threads.map(work, range(6)))
        assert min(found) >= 10
        assert max(found) == 60


def test_coordinator_performs_blocks_serially(model: Model, path: Path) -> None:
    with Container(model, path) as container:
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        started, seen = threading.Event(), []

        def copy() -> str:
            started.set()
            time.sleep(0.1)
            seen.append(container.coordinator.statistics.saves)
            return "copied"

        future = container.coordinator.perform(copy)
        assert started.wait(20)
        ctx.save()  # waits for the copy
        assert future.result(20) == "copied"
        assert seen == [0]
        assert container.coordinator.perform_and_wait(lambda count: ctx.count("Employee") + count, 1) == 2
        with pytest.raises(ZeroDivisionError):
            container.coordinator.perform_and_wait(lambda: 1 // 0)
        queued = container.background_context()
        with pytest.raises(InvalidArgumentError, match="wait for the queue of a context"):
            container.coordinator.perform_and_wait(lambda: queued.perform_and_wait(lambda: None))


def test_history_records_author_and_context_name(model: Model, path: Path) -> None:
    with Container(model, path, history=True) as container:
        ctx = container.context()
        ada = ctx.insert("Employee", name="Ada")
        ctx.save()
        ctx.name, ctx.transaction_author = "import", "Zoë"
        assert (ctx.name, ctx.transaction_author) == ("import", "Zoë")
        ada.age = 36
        ctx.save()
        ctx.transaction_author = None
        ctx.delete(ada)
        ctx.save()
    database = sqlite3.connect(path)
    changes = database.execute(
        "SELECT ZCHANGETYPE, ZTRANSACTIONID, ZCOLUMNS IS NOT NULL FROM ACHANGE ORDER BY Z_PK"
    ).fetchall()
    assert changes == [(0, 1, 0), (1, 2, 1), (2, 3, 0)]
    labels = database.execute(
        "SELECT a.ZNAME, c.ZNAME FROM ATRANSACTION t LEFT JOIN ATRANSACTIONSTRING a ON a.Z_PK = t.ZAUTHORTS "
        "LEFT JOIN ATRANSACTIONSTRING c ON c.Z_PK = t.ZCONTEXTNAMETS ORDER BY t.Z_PK"
    ).fetchall()
    assert labels == [(None, None), ("Zoë", "import"), (None, "import")]
    database.close()


def test_sqlite3_can_read_the_store(model: Model, path: Path) -> None:
    make(model, path)
    database = sqlite3.connect(path)
    assert database.execute("SELECT ZNAME FROM ZPERSON").fetchall() == [("Ada",)]
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()


def test_container_migrates_to_another_file(tmp_path: Path) -> None:
    model = Model(
        {"Note": {"text": "string?", "tags": "to-many Tag? inverse notes"}, "Tag": {"notes": "to-many Note?"}}
    )
    with Container(model, tmp_path / "draft.sqlite") as container:
        context = container.context()
        note = context.insert("Note", text="x")
        note.tags.add(context.insert("Tag"))
        context.save()
        former = container.store
        new = container.migrate(tmp_path / "letter.sqlite")
        assert container.store is new
        assert container.path == str(tmp_path / "letter.sqlite")
        assert new.identifier != former.identifier
        fresh = container.context()
        assert [(each.text, len(each.tags)) for each in fresh.fetch("Note")] == [("x", 1)]
        context.refresh_all()
        with pytest.raises(ObjectGoneError):
            _ = note.text
    with pytest.raises(InvalidArgumentError), Container(model, tmp_path / "draft.sqlite") as container:
        container.migrate(tmp_path / "letter.sqlite")


@pytest.mark.parametrize("kind", ["XML", "Binary"])
def test_empty_file_becomes_a_new_atomic_store(model: Model, path: Path, kind: str) -> None:
    for options in ({"must_exist": True}, {"read_only": True}):
        path.touch()
        with pytest.raises(NotAStoreError, match="empty file"):
            Container(model, path, type=kind, **options)  # type: ignore[call-overload]
    with Container(model, path, type=kind) as container:
        container.insert("Employee", {"name": "Ada"})
    assert metadata(path)["NSStoreType"] == kind


def test_empty_file_is_not_an_sqlite_store(model: Model, path: Path, tmp_path: Path) -> None:
    path.touch()
    for type in ("SQLite", None):
        with pytest.raises(NotAStoreError, match=r"an empty file.*restore the store"):
            Container(model, path, type=type)
    assert path.stat().st_size == 0
    with Container(model, tmp_path / "full.sqlite") as container:
        with pytest.raises(NotAStoreError, match="empty file"):
            container.migrate(path)
        container.coordinator.backup(container.store, path)
    assert metadata(path)["NSStoreType"] == "SQLite"


@pytest.mark.parametrize("kind", ["SQLite", "XML", "Binary"])
def test_migration_keeps_the_store_type(model: Model, tmp_path: Path, kind: str) -> None:
    """Unless another type is passed."""
    with Container(model, tmp_path / "draft", type=kind) as container:
        container.insert("Employee", {"name": "Ada"})
        new = container.migrate(tmp_path / "letter")
        assert new.type == kind == metadata(tmp_path / "letter")["NSStoreType"]
        assert new is container.store
        assert container.coordinator.migrate_store(new, tmp_path / "copy").type == kind
    with Container(model, tmp_path / "letter") as container:
        assert [each["name"] for each in container.read("Employee")] == ["Ada"]


def test_migration_applies_type_and_options(tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    with Container(Model({"Note": {"text": "string?"}}), tmp_path / "draft.sqlite") as container:
        container.insert("Note", {"text": "x"})
        new = container.migrate(
            tmp_path / "a.xml", type="XML", progress=lambda done, total: heard.append((done, total))
        )
        assert (new.type, heard[-1]) == ("XML", (1, 1))
        new = container.migrate(
            tmp_path / "b.sqlite", type="SQLite", journal="rollback", pragmas={"page_size": 8192}, history=True,
            file_mode=0o600, foreign_options=["NSPersistentStoreFileProtectionKey"],
        )  # fmt: skip
        assert (new.type, len(new.warnings)) == ("SQLite", 1)
        assert (tmp_path / "b.sqlite").stat().st_mode & 0o777 == 0o600
        with sqlite3.connect(tmp_path / "b.sqlite") as file:
            assert file.execute("PRAGMA page_size").fetchone() == (8192,)
            assert file.execute("PRAGMA journal_mode").fetchone() == ("delete",)
            assert file.execute("SELECT COUNT(*) FROM ATRANSACTION").fetchone() is not None
        with pytest.raises(InvalidArgumentError, match="configuration"):
            container.migrate(tmp_path / "c.sqlite", configuration="Other")
        with pytest.raises(TypeMismatchError):
            container.coordinator.migrate_store("b.sqlite", tmp_path / "c.sqlite")  # type: ignore[arg-type]
        with pytest.raises(InvalidArgumentError, match="Oracle"):
            container.migrate(tmp_path / "c.sqlite", type="Oracle")
        assert container.store is new
        assert [each["text"] for each in container.read("Note")] == ["x"]
        assert not (tmp_path / "c.sqlite").exists()


def test_container_may_be_in_memory(model: Model, path: Path) -> None:
    with Container(model, path, type="InMemory") as container:
        ctx = container.context()
        ada = ctx.insert("Employee", name="Ada")
        ada.manager = ctx.insert("Manager", name="Bob")
        ctx.save()
        assert [found.manager.name for found in container.context().fetch("Employee", "manager != nil")] == ["Bob"]
        assert not path.exists()
        container.migrate(path)
        assert path.exists()
    with Container(model, path) as reopened:
        assert reopened.context().count("Employee") == 2
    with pytest.raises(InvalidArgumentError, match="InMemory"):
        Container(model, path, type="Oracle")


def test_container_may_use_a_binary_store(model: Model, path: Path) -> None:
    with Container(model, path, type="Binary") as container:
        assert container.store.type == "Binary"
        ctx = container.context()
        ada = ctx.insert("Employee", name="Ada", manager=ctx.insert("Manager", name="Bob"))
        ctx.save()
        uri = ada.id.uri
    # The type of an existing store is detected, and its metadata can be read without a model.
    assert metadata(path)["NSStoreType"] == "Binary"
    with path.open("rb") as file:
        content = plistlib.loads(plistlib.load(file)["content"])
    assert {table["name"]: len(table["keys"]) // 8 for table in content["entities"]}["Employee"] == 1
    with Container(model, path) as container:
        (found,) = container.context().fetch("Employee", "manager.name == 'Bob'")
        assert found.id.uri == uri
    with pytest.raises(CorestoneError, match='use the type "Binary"'):
        Container(model, path, type="SQLite")
    damaged = bytearray(path.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(CorestoneError, match="checksum"):
        Container(model, path)
