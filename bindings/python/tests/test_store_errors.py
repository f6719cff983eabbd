"""Errors of stores that cannot be opened, saved or examined, and that the disk is unchanged."""

from __future__ import annotations

import os
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any, Callable

import pytest

import corestone
from corestone import (
    Container,
    CorestoneError,
    InvalidArgumentError,
    Model,
    ModelMismatchError,
    ProblemKind,
    Status,
    StoreError,
)

TYPES = ["SQLite", "XML", "Binary"]
NOTES: dict[str, Any] = {
    "Note": {"text": "string? indexed", "number": "int?", "tag": "to-one Tag? inverse notes"},
    "Tag": {"name": "string?", "notes": "to-many Note? inverse tag"},
}


def made(path: Path, type: str, **options: Any) -> None:
    with Container(Model(NOTES), path, type=type, **options) as container:
        container.insert("Note", [{"text": "x" * 100, "number": number} for number in range(50)])


def state(folder: Path) -> dict[str, bytes]:
    return {str(each.relative_to(folder)): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def text(path: Path, type: str) -> None:
    path.write_text("this is no store at all\n" * 100)


def archive(path: Path, type: str) -> None:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a", "b" * 1000)


def compiled(path: Path, type: str) -> None:
    Model(NOTES).write(path.with_suffix(".mom"))
    path.with_suffix(".mom").rename(path)


def noise(path: Path, type: str) -> None:
    path.write_bytes(bytes((number * number * 7919 + number // 3) % 251 for number in range(8192)))


def database(path: Path, type: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE mine (x)")


def half(path: Path, type: str) -> None:
    made(path, type)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def nothing(path: Path, type: str) -> None:
    pass


NOT_A_STORE, IO, CORRUPT = Status.NOT_A_STORE, Status.STORE_IO, Status.STORE_CORRUPT


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize(
    ("make", "options", "status"),
    [
        (text, {}, NOT_A_STORE), (archive, {}, NOT_A_STORE), (noise, {}, NOT_A_STORE), (half, {}, CORRUPT),
        (nothing, {"must_exist": True}, IO), (nothing, {"read_only": True}, IO),
    ],
)  # fmt: skip
def test_unreadable_store_fails_in_every_function(
    tmp_path: Path, type: str, make: Callable[[Path, str], None], options: dict[str, Any], status: Status
) -> None:
    path = tmp_path / "store"
    make(path, type)
    before = state(tmp_path)
    for given in ({}, {"read_only": True}, {"ignore_versioning": True}):
        with pytest.raises(CorestoneError) as caught:
            Container(Model(NOTES), path, type=type, **{**options, **given})
        error = caught.value
        assert (error.status, error.code, error.file) == (status, 134080, str(path)), error
        assert str(path) in error.message
        assert state(tmp_path) == before
    if make is half and type == "XML":
        return  # what a file says of itself stands at its beginning
    with pytest.raises(StoreError) as asked:
        corestone.metadata(path)
    assert asked.value.file == str(path)
    assert state(tmp_path) == before


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize(("make", "words"), [(text, "text"), (archive, "archive"), (compiled, "model")])
def test_file_of_another_kind_is_named(
    tmp_path: Path, type: str, make: Callable[[Path, str], None], words: str
) -> None:
    path = tmp_path / "store"
    make(path, type)
    for given in (type, None):
        with pytest.raises(StoreError) as caught:
            Container(Model(NOTES), path, type=given)
        assert caught.value.status == NOT_A_STORE
        assert words in caught.value.message


@pytest.mark.parametrize("type", TYPES)
def test_missing_folder_error_names_the_folder(tmp_path: Path, type: str) -> None:
    path = tmp_path / "none" / "store"
    for options in ({}, {"must_exist": True}, {"read_only": True}):
        with pytest.raises(StoreError) as caught:
            Container(Model(NOTES), path, type=type, **options)  # type: ignore[call-overload]
        assert (caught.value.status, caught.value.code, caught.value.file) == (IO, 134080, str(path))
        assert "folder" in caught.value.message
    assert not path.parent.exists()


@pytest.mark.parametrize("type", TYPES)
def test_store_of_another_type_is_named(tmp_path: Path, type: str) -> None:
    path = tmp_path / "store"
    made(path, type)
    before = state(tmp_path)
    for other in TYPES:
        if other == type:
            continue
        with pytest.raises(CorestoneError) as caught:
            Container(Model(NOTES), path, type=other)
        assert (caught.value.status, caught.value.code, caught.value.file) == (Status.UNSUPPORTED, 134000, str(path))
        assert f"{type} store" in caught.value.message
        assert f"not a store of type {other}" in caught.value.message
    assert state(tmp_path) == before
    with Container(Model(NOTES), path) as container:
        assert container.store.type == type
    with Container(Model(NOTES), path, type=type.swapcase()) as container:
        assert container.store.type == type
    with Container(Model(NOTES), tmp_path / "new") as container:
        assert container.store.type == "SQLite"


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize(
    ("change", "entity", "key"),
    [
        ({"Note": {**NOTES["Note"], "number": "string?"}}, "Note", "number"),
        ({"Note": {**NOTES["Note"], "more": "string?"}}, "Note", "more"),
        ({"More": {"x": "int?"}}, "More", None),
    ],
)
def test_model_mismatch_error_names_entity_and_property(
    tmp_path: Path, type: str, change: dict[str, Any], entity: str, key: str | None
) -> None:
    path = tmp_path / "store"
    made(path, type)
    before = state(tmp_path)
    other = Model({**NOTES, **change})
    attempts: list[Callable[[], Any]] = [
        lambda: Container(other, path, migrate=False),
        lambda: Container(other, path, type=type, read_only=True),
        lambda: corestone.open(path, other),
        lambda: corestone.open(path, other, writable=True),
    ]
    for attempt in attempts:
        with pytest.raises(ModelMismatchError) as caught:
            attempt()
        error = caught.value
        assert (error.code, error.file, error.entity) == (134100, str(path), entity)
        if type == "SQLite" or key == "number":  # other files have no properties without values
            assert error.key == key
    assert state(tmp_path) == before


@pytest.mark.parametrize("type", TYPES)
def test_missing_entity_is_named_as_in_the_cached_model(tmp_path: Path, type: str) -> None:
    path = tmp_path / "store"
    entities = {"FieldNote": {"text": "string?"}, "Tag": {"name": "string?"}}
    with Container(Model(entities), path, type=type) as container:
        container.insert("FieldNote", {"text": "x"})
    with pytest.raises(ModelMismatchError, match="FieldNote") as caught:
        Container(Model({"Tag": entities["Tag"]}), path, migrate=False)
    assert (caught.value.code, caught.value.entity, caught.value.key) == (134100, "FieldNote", None)
    with Container(Model({"Tag": entities["Tag"]}), path, ignore_versioning=True) as container:
        assert type == "SQLite" or "FieldNote" in (container.store.read_only_reason or "")


@pytest.mark.parametrize("type", TYPES)
def test_read_only_store_rejects_every_write(tmp_path: Path, type: str) -> None:
    path = tmp_path / "store"
    made(path, type)
    before = state(tmp_path)
    with Container(Model(NOTES), path, read_only=True, unsaved="discard") as container:
        assert container.store.is_read_only
        assert container.store.read_only_reason
        context = container.context()
        context.insert("Note")
        attempts: list[Callable[[], Any]] = [
            context.save,
            lambda: container.insert("Note", {}),
            lambda: container.delete_all("Note"),
            lambda: context.batch_update("Note", {"number": 1}),
            lambda: context.batch_delete("Note"),
            lambda: container.coordinator.set_metadata(container.store, {"a": 1}),
        ]
        for attempt in attempts:
            with pytest.raises(StoreError) as caught:
                attempt()
            assert (caught.value.status, caught.value.file) == (Status.STORE_READ_ONLY, str(path))
        assert context.has_changes
        context.rollback()
        assert len(context.fetch("Note")) == 50
    assert state(tmp_path) == before


def test_error_has_the_sqlite_code(tmp_path: Path) -> None:
    path = tmp_path / "store"
    made(path, "SQLite")
    with Container(Model(NOTES), path, unsaved="discard", busy_timeout=0.01) as container:
        context = container.context()
        context.insert("Note")
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError) as busy:
                context.save()
            assert (busy.value.status, busy.value.sqlite_code & 0xFF) == (Status.STORE_BUSY, 5)
            other.execute("ROLLBACK")
            other.execute("CREATE TRIGGER own BEFORE INSERT ON ZNOTE BEGIN SELECT RAISE(ABORT, 'no, not this'); END")
            with pytest.raises(CorestoneError, match="no, not this") as caught:
                context.save()
            assert caught.value.sqlite_code & 0xFF == 19
            assert caught.value.file == str(path)
            other.execute("DROP TRIGGER own")
        context.save()


def test_read_only_store_is_busy_after_a_write_until_reopened(tmp_path: Path) -> None:
    path = tmp_path / "store"
    made(path, "SQLite", journal="rollback")
    with Container(Model(NOTES), path, read_only=True) as reader:
        context = reader.context()
        assert context.count("Note") == 50
        with closing(sqlite3.connect(path)) as other:
            other.execute("UPDATE ZNOTE SET ZNUMBER = 7")
            other.commit()
        with pytest.raises(StoreError) as caught:
            reader.context().fetch("Note", "number == 3")
        assert (caught.value.status, caught.value.file) == (Status.STORE_BUSY, str(path))
        assert "again" in caught.value.message
    with Container(Model(NOTES), path, read_only=True) as reader:
        assert reader.context().count("Note", "number == 7") == 50


# --- Checks


def damage(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_warnings_follow_problems(tmp_path: Path) -> None:
    path = tmp_path / "store"
    made(path, "SQLite")
    damage(
        path,
        "DROP INDEX Z_Note_text",
        "CREATE TRIGGER mine AFTER INSERT ON ZTAG BEGIN SELECT 1; END",
        "UPDATE ZNOTE SET ZTAG = 99 WHERE Z_PK = 7",
        "UPDATE ZNOTE SET Z_OPT = NULL WHERE Z_PK = 8",
        "UPDATE Z_PRIMARYKEY SET Z_MAX = 3 WHERE Z_NAME = 'Note'",
    )
    problems = corestone.check(path)
    kinds = [each.kind for each in problems]
    warnings = {ProblemKind.SPEED, ProblemKind.TRIGGER}
    assert set(kinds) == {*warnings, ProblemKind.REFERENCE, ProblemKind.ROW, ProblemKind.PRIMARY_KEY}
    assert set(kinds[-2:]) == warnings
    assert [each.is_warning for each in problems] == [False] * (len(kinds) - 2) + [True, True]
    found = {each.kind: each for each in problems}
    assert (found[ProblemKind.REFERENCE].entity, found[ProblemKind.REFERENCE].key) == ("Note", "tag")
    assert (found[ProblemKind.REFERENCE].object_uri or "").endswith("/Note/p7")
    assert (found[ProblemKind.ROW].object_uri or "").endswith("/Note/p8")
    assert found[ProblemKind.TRIGGER].entity == "Tag"
    assert (found[ProblemKind.SPEED].entity, found[ProblemKind.SPEED].key) == ("Note", "text")


def test_store_with_warnings_only_can_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "store"
    made(path, "SQLite")
    damage(path, "DROP INDEX Z_Note_text")
    assert [(each.kind, each.is_warning) for each in corestone.check(path)] == [(ProblemKind.SPEED, True)]
    with corestone.open(path, writable=True) as container:
        assert container.read_only_reason is None
        container.insert("Note", {"text": "more"})
    damage(path, "CREATE TRIGGER mine AFTER INSERT ON ZTAG BEGIN SELECT 1; END")
    assert all(each.is_warning for each in corestone.check(path))
    with corestone.open(path, writable=True) as container:
        for words in ("mine", "ZTAG"):
            assert words in (container.read_only_reason or "")
        assert len(container.read("Note")) == 51


def test_check_of_an_unreadable_store_raises_the_open_error(tmp_path: Path) -> None:
    for make in (text, archive, database, nothing):
        path = tmp_path / make.__name__
        make(path, "SQLite")
        before = state(tmp_path)
        with pytest.raises(CorestoneError) as opening:
            corestone.open(path)
        with pytest.raises(CorestoneError) as checking:
            corestone.check(path)
        assert (checking.value.status, checking.value.code, checking.value.message, checking.value.file) == (
            opening.value.status, opening.value.code, opening.value.message, opening.value.file,
        )  # fmt: skip
        assert state(tmp_path) == before
    path = tmp_path / "store"
    made(path, "SQLite")
    other = Model({**NOTES, "More": {"x": "int?"}})
    with pytest.raises(ModelMismatchError) as mismatch:
        corestone.check(path, other)
    assert (mismatch.value.entity, mismatch.value.file) == ("More", str(path))
    for type in ("XML", "Binary"):
        made(tmp_path / type, type)
        with pytest.raises(CorestoneError) as caught:
            corestone.check(tmp_path / type)
        assert caught.value.file == str(tmp_path / type)


def test_check_does_not_change_the_store(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with Container(Model(NOTES), path) as container:
        container.insert("Note", {"text": "in the log"})
        shutil.copytree(tmp_path, tmp_path / "copy", ignore=lambda *_: ["copy"])
        container.insert("Note", {"text": "later"})
    copy = tmp_path / "copy" / "store"
    assert os.path.getsize(f"{copy}-wal") > 0
    before = state(copy.parent)
    looks: list[Callable[[Path], Any]] = [
        corestone.check, corestone.check_apple, corestone.metadata, corestone.leftovers, corestone.views,
    ]  # fmt: skip
    for look in looks:
        look(copy)
        assert state(copy.parent) == before
    assert corestone.check(copy) == []
    with corestone.open(copy) as container:
        assert [each["text"] for each in container.read("Note")] == ["in the log"]
        with pytest.raises(InvalidArgumentError):
            container.coordinator.migrate_store(container.store, copy)
    assert state(copy.parent) == before
