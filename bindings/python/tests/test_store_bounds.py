"""Bounds and defaults that docs/reference/store.md gives: what holds at them, and one beyond."""

from __future__ import annotations

import os
import sqlite3
import time
import uuid
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import corestone
from corestone import (
    Container,
    CorestoneError,
    InvalidArgumentError,
    Model,
    ProblemKind,
    StoreBusyError,
    StoreCorruptError,
)

PHOTOS: dict[str, Any] = {"Photo": {"title": "string?", "data": "binary? external"}}


def run(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def files(path: Path) -> list[Path]:
    return sorted((path.parent / f".{path.stem}_SUPPORT" / "_EXTERNAL_DATA").glob("*"))


def add(path: Path, data: bytes | None = None, title: str | None = None, **options: Any) -> None:
    with Container(Model(PHOTOS), path, unsaved="discard", **options) as container:
        context = container.context()
        context.insert("Photo", title=title, data=data)
        context.save()


@pytest.mark.parametrize("type", ["SQLite", "XML", "Binary"])
@pytest.mark.parametrize(
    ("name", "good", "bad", "range"),
    [
        ("value_limit", [65_536, 1_000_000_000], [65_535, 1_000_000_001], "must be 65536 to 1000000000"),
        ("memory_limit", [1 << 20, 2**63 - 1], [(1 << 20) - 1], "must be 1048576 or more"),
        ("step_limit", [10_000, 2**63 - 1], [9_999], "must be 10000 or more"),
        ("external_limit", [1, 2**63 - 1], [], ""),
    ],
)
def test_limit_options_accept_their_bounds_only(
    tmp_path: Path, type: str, name: str, good: list[int], bad: list[int], range: str
) -> None:
    for number, limit in enumerate(good):
        Container(Model(PHOTOS), tmp_path / f"{number}", type=type, **{name: limit}).close()  # type: ignore[call-overload]
    path = tmp_path / "new"
    for limit in bad:
        with pytest.raises(InvalidArgumentError) as caught:
            Container(Model(PHOTOS), path, type=type, **{name: limit})  # type: ignore[call-overload]
        error = caught.value
        assert (error.key, error.value, error.file, error.code) == (name, limit, str(path), 134080)
        assert error.message == f"the {name} for {path} is {limit}, but {range}"
        assert not path.exists()


def test_row_larger_than_value_limit_fails_the_save(tmp_path: Path) -> None:
    """A row has a few bytes besides its values."""
    path = tmp_path / "a.sqlite"
    options: dict[str, Any] = {"value_limit": 100_000, "external_threshold": 2**62}
    add(path, bytes(99_900), **options)
    for data, title in [(bytes(100_001), None), (bytes(50_000), "x" * 50_001)]:
        with pytest.raises(InvalidArgumentError) as caught:
            add(path, data, title, **options)
        assert (caught.value.key, caught.value.value, caught.value.file) == ("value_limit", 100_000, str(path))
        assert "exceeds value_limit (100000 bytes); raise value_limit, at most to" in caught.value.message
    add(path, bytes(100_001))
    with Container(Model(PHOTOS), path) as container:
        assert [len(each.data) for each in container.context().fetch("Photo")] == [99_900, 100_001]


def test_external_file_is_limited_by_external_limit(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    add(path, bytes(200_000))
    (size,) = [each.stat().st_size for each in files(path)]
    assert size - 200_000 in (0, 1)
    with Container(Model(PHOTOS), path, external_limit=size) as container:
        assert len(container.context().fetch("Photo")[0].data) == 200_000
        container.coordinator.backup(container.store, tmp_path / "copy.sqlite")
    with Container(Model(PHOTOS), path, external_limit=size - 1) as container:
        photo = container.context().fetch("Photo")[0]
        with pytest.raises(CorestoneError, match=rf"has {size} bytes, more than external_limit \({size - 1}\); raise"):
            _ = photo.data
    # Copying asks the options of the copy, which has the default here.
    for excess in (0, 1):
        os.truncate(files(path)[0], 2**31 - 1 + excess)
        with Container(Model(PHOTOS), path) as container:
            if excess == 0:
                container.coordinator.backup(container.store, tmp_path / "copy.sqlite")
                continue
            with pytest.raises(CorestoneError, match="external_limit") as caught:
                container.coordinator.backup(container.store, tmp_path / "b.sqlite")
            assert (caught.value.key, caught.value.value) == ("external_limit", 2**31 - 1)
            assert caught.value.file == str(files(path)[0])
    assert files(tmp_path / "copy.sqlite")[0].stat().st_size == 2**31 - 1
    assert not (tmp_path / "b.sqlite").exists()


def test_searched_texts_are_limited_to_a_512th_of_memory_limit(tmp_path: Path) -> None:
    cases: list[tuple[str, dict[str, Any], int]] = [("a", {}, 262_144), ("b", {"memory_limit": 1 << 26}, 131_072)]
    for name, options, most in cases:
        path = tmp_path / f"{name}.sqlite"
        add(path, title="x", **options)
        run(path, "CREATE INDEX own ON ZPHOTO (replace(ZTITLE, 'y', 'z')) WHERE 0")
        add(path, title="x" * (most - 100), **options)
        with pytest.raises(InvalidArgumentError) as caught:
            add(path, title="x" * (most + 1), **options)
        limit = options.get("memory_limit", 134_217_728)
        assert (caught.value.key, caught.value.value) == ("memory_limit", limit)
        assert f"exceeds {most} bytes, the limit for a schema that searches text" in caught.value.message
        assert f"The limit is 1/512 of memory_limit ({limit} bytes), but at least 4096;" in caught.value.message


@pytest.mark.parametrize(
    ("threshold", "inline", "beside"), [(None, 102_400, 102_401), (1000, 1000, 1001), (0, 1, 2), (2**62, 300_000, None)]
)
def test_values_above_external_threshold_are_stored_in_files(
    tmp_path: Path, threshold: int | None, inline: int, beside: int | None
) -> None:
    path = tmp_path / "a.sqlite"
    add(path, bytes(inline), external_threshold=threshold)
    assert files(path) == []
    if beside is not None:
        add(path, bytes(beside), external_threshold=threshold)
        assert len(files(path)) == 1
    with Container(Model(PHOTOS), path) as container:
        assert [len(each.data) for each in container.context().fetch("Photo")] == [
            inline,
            *([beside] if beside else []),
        ]


@pytest.mark.parametrize("type", ["SQLite", "XML", "Binary"])
def test_file_mode_accepts_0600_to_0777(tmp_path: Path, type: str) -> None:
    for mode in (0o600, 0o620, 0o755, 0o777):
        path = tmp_path / f"{mode:o}"
        with Container(Model(PHOTOS), path, type=type, file_mode=mode) as container:
            container.insert("Photo", {"title": "x"})
        assert path.stat().st_mode & 0o7777 == mode
    for mode in (0o577, 0o400, 0o1000, 0o1600, 0o4777):
        with pytest.raises(InvalidArgumentError) as caught:
            Container(Model(PHOTOS), tmp_path / "new", type=type, file_mode=mode)
        assert (caught.value.key, caught.value.value) == ("file_mode", mode)
        assert not (tmp_path / "new").exists()


def test_store_identifier_and_entity_names_have_length_limits(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    add(path)
    for length, is_read in [(255, True), (256, False)]:
        run(path, f"UPDATE Z_METADATA SET Z_UUID = '{'u' * length}'")
        if is_read:
            assert corestone.metadata(path)["NSStoreType"] == "SQLite"
            continue
        for look in (corestone.metadata, corestone.open):
            with pytest.raises(StoreCorruptError, match="more than 255 bytes") as caught:
                look(path)
            assert (caught.value.file, caught.value.code) == (str(path), 134080)
        assert [each.kind for each in corestone.check(path)] == [ProblemKind.DATABASE]
    run(path, "UPDATE Z_METADATA SET Z_UUID = '00000000-0000-0000-0000-000000000001'")
    for length, is_read in [(4096, True), (4097, False)]:
        run(path, f"INSERT OR REPLACE INTO Z_PRIMARYKEY VALUES (99, '{'n' * length}', 0, 0)")
        if is_read:
            assert corestone.metadata(path)["NSStoreType"] == "SQLite"
            continue
        with pytest.raises(StoreCorruptError, match=r"name of entity 99 .* more than 4096 bytes"):
            corestone.metadata(path)


def test_create_table_statement_is_limited_to_2_million_characters(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    add(path, title="x", journal="rollback")
    with closing(sqlite3.connect(path)) as connection:
        (made,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'ZPHOTO'").fetchone()
    for length, is_read in [(2_000_000, True), (2_000_001, False)]:
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema=ON")
            text = made + "/*" + "c" * (length - len(made) - 4) + "*/"
            assert len(text) == length
            connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = 'ZPHOTO'", (text,))
        for is_given in (True, False):
            if is_read:
                (Container(Model(PHOTOS), path) if is_given else corestone.open(path)).close()
                continue
            with pytest.raises(StoreCorruptError) as caught:
                corestone.open(path, Model(PHOTOS) if is_given else None)
            assert (caught.value.file, caught.value.code) == (str(path), 134080)


def test_check_lists_20_problems_per_kind_and_property(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    model = Model({"Box": {"owner": "to-one Owner?", "friend": "to-one Owner?"}, "Owner": {}})
    with Container(model, path) as container:
        container.insert("Box", [{} for _ in range(21)])
    run(path, "UPDATE ZBOX SET ZOWNER = 99, ZFRIEND = iif(Z_PK < 21, 98, NULL)")
    problems = corestone.check(path)
    assert {each.kind for each in problems} == {ProblemKind.REFERENCE}
    of = {key: [each.message for each in problems if each.key == key] for key in ("owner", "friend")}
    assert [len(of["owner"]), len(of["friend"])] == [21, 20]
    assert of["owner"][-1] == "1 more of this kind in Box.owner"
    assert not any("more of this kind" in message for message in of["friend"])


def test_orphaned_files_are_leftovers_after_10_minutes(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    add(path, bytes(200_000))
    folder = files(path)[0].parent
    ages = {str(uuid.uuid4()).upper(): age for age in (0, 570, 630, 86_400)}
    for name, age in ages.items():
        (folder / name).write_bytes(b"12345")
        os.utime(folder / name, (time.time() - age,) * 2)
    old = sorted(name for name, age in ages.items() if age > 600)
    found = corestone.leftovers(path)
    assert (found.names, found.bytes, found.sharer) == (old, 10, None)
    assert corestone.remove_leftovers(path).names == old
    assert len(files(path)) == 3


def test_save_waits_for_the_busy_timeout(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    add(path)
    cases: list[tuple[dict[str, Any], float]] = [
        ({"busy_timeout": 0.03}, 0.03),
        ({"pragmas": {"busy_timeout": 30}}, 0.03),
        ({"pragmas": {"busy_timeout": 20}, "busy_timeout": 60}, 0.02),  # the pragma goes before
    ]
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        for options, least in cases:
            with Container(Model(PHOTOS), path, unsaved="discard", **options) as container:
                container.view_context.insert("Photo")
                start = time.monotonic()
                with pytest.raises(StoreBusyError) as caught:
                    container.view_context.save()
                assert caught.value.file == str(path)
                assert least <= time.monotonic() - start < 5
