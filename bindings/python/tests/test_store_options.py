"""Options of stores: settings of SQLite, permissions, values in files, options that do nothing."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from corestone import Container, InvalidArgumentError, Model, ModelMismatchError, TypeMismatchError


def setting(path: Path, name: str) -> Any:
    with sqlite3.connect(path) as file:
        return file.execute(f"PRAGMA {name}").fetchone()[0]


def test_pragmas(model: Model, path: Path) -> None:
    with Container(model, path, pragmas={"page_size": 8192, "Journal_Mode": "PERSIST"}, file_mode=0o600) as container:
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        ctx.save()
        assert container.store.warnings == []
    assert setting(path, "page_size") == 8192
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("type", ["SQLite", "XML", "Binary"])
def test_permissions(model: Model, tmp_path: Path, type: str) -> None:
    def mode(path: Path) -> int:
        return path.stat().st_mode & 0o777

    path, copy, asked = tmp_path / "mine", tmp_path / "copy", tmp_path / "asked"
    with Container(model, path, type=type, file_mode=0o600) as container:
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        ctx.save()
        assert mode(path) == 0o600
        path.chmod(0o440)
        container.coordinator.backup(container.store, copy)
        container.coordinator.backup(container.store, asked, file_mode=0o660)
    assert (mode(copy), mode(asked)) == (0o640, 0o660)
    with Container(model, copy) as container:
        assert container.context().count("Employee") == 1


@pytest.mark.parametrize(
    ("pragmas", "key", "words"),
    [
        ({"journal_mode": "memory"}, "journal_mode", "wal, delete, truncate or persist"),
        ({"synchronus": "1"}, "synchronus", "did you mean synchronous"),
        ({"cache_size": "1; DROP TABLE ZEMPLOYEE"}, "cache_size", "a whole number from"),
        ({"page_size": 1000}, "page_size", "a power of two"),
    ],
)
def test_pragmas_that_are_refused(model: Model, path: Path, pragmas: Any, key: str, words: str) -> None:
    with pytest.raises(InvalidArgumentError, match=words) as raised:
        Container(model, path, pragmas=pragmas)
    assert raised.value.key == key
    assert raised.value.file == str(path)
    assert not path.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        {"pragmas": ["fullfsync"]},
        {"pragmas": {"fullfsync": 1.5}},
        {"pragmas": {1: "x"}},
        {"file_mode": "600"},
        {"analyze": "yes"},
        {"external_threshold": 1.5},
        {"foreign_options": "NSPersistentStoreFileProtectionKey"},
        {"foreign_options": 3},
    ],
)
def test_arguments_of_other_types(model: Model, path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeMismatchError):
        Container(model, path, **arguments)
    assert not path.exists()


def test_arguments_of_other_values(model: Model, path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="0400"):
        Container(model, path, file_mode=0o400)
    with pytest.raises(InvalidArgumentError, match="negative"):
        Container(model, path, external_threshold=-1)
    with pytest.raises(InvalidArgumentError, match="read-only"):
        Container(model, path, read_only=True, vacuum=True)
    assert not path.exists()


def test_analyzing_and_vacuuming(model: Model, path: Path) -> None:
    with Container(model, path) as container:
        ctx = container.context()
        for place in range(2000):
            ctx.insert("Employee", name=f"{place}" * 50)
        ctx.save()
        for employee in ctx.fetch("Employee"):
            ctx.delete(employee)
        ctx.insert("Employee", name="Ada")
        ctx.save()
    before = path.stat().st_size
    with Container(model, path, analyze=True, vacuum=True) as container:
        assert container.context().count("Employee") == 1
    assert path.stat().st_size < before
    with sqlite3.connect(path) as file:
        assert file.execute("SELECT count(*) FROM sqlite_stat1").fetchone()[0] > 0


def test_ignoring_versions(path: Path) -> None:
    def other() -> Model:
        return Model({"Note": {"text": "string?"}})

    Container(Model({"Note": {"text": "string"}}), path).close()
    with pytest.raises(ModelMismatchError):
        Container(other(), path)
    Container(other(), path, ignore_versioning=True).close()
    Container(other(), path).close()


def test_values_in_files(path: Path) -> None:
    model = Model({"Photo": {"data": "binary external"}})
    folder = path.parent / f".{path.stem}_SUPPORT" / "_EXTERNAL_DATA"
    for threshold, files in ((100, 1), (None, 1), (2**40, 1), (0, 2)):
        with Container(model, path, external_threshold=threshold) as container:
            ctx = container.context()
            ctx.insert("Photo", data=b"x" * 1000)
            ctx.save()
        assert len(list(folder.iterdir())) == files


def test_foreign_options(model: Model, path: Path) -> None:
    name = "NSPersistentStoreUbiquitousContentNameKey"
    with Container(model, path, foreign_options=[name]) as container:
        (warning,) = container.store.warnings
    assert name in warning
    assert "nothing is synchronised" in warning
    with pytest.raises(InvalidArgumentError, match="read_only"):
        Container(model, path, foreign_options=["NSReadOnlyPersistentStoreOption"])


def test_a_store_in_memory(model: Model) -> None:
    with Container(model, "/dev/null") as container, Container(model, "/dev/null") as other:
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        ctx.save()
        assert container.context().count("Employee") == 1
        assert other.context().count("Employee") == 0
