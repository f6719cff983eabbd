"""Columns and indexes that another program added to the tables of a store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from corestone import Container, Model, migration_plan
from corestone.errors import MigrationError

FIRST = {"Note": {"title": "string?", "rank": "int32?"}}
REMOVED = Model({"Note": {"title": "string?"}})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "notes.sqlite"
    with Container(Model(FIRST), path) as container:
        container.view_context.insert("Note", title="a", rank=1)
        container.view_context.save()
    return path


def execute(path: Path, *statements: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(path) as file:
        found = [row for statement in statements for row in file.execute(statement)]
    file.close()
    return found


def test_foreign_columns_are_kept(path: Path) -> None:
    execute(path, "ALTER TABLE ZNOTE ADD COLUMN color TEXT", "UPDATE ZNOTE SET color = 'red'")
    with Container(REMOVED, path, allow_removals=True) as container:
        assert [note.title for note in container.view_context.fetch("Note")] == ["a"]
    assert execute(path, "SELECT ZTITLE, color FROM ZNOTE") == [("a", "red")]


def indexes(path: Path) -> list[object]:
    words = "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'by%' ORDER BY name"
    return [name for (name,) in execute(path, words)]


def test_foreign_indexes_are_kept_when_the_table_is_rebuilt(path: Path) -> None:
    """The table is rebuilt because an attribute is removed."""
    execute(
        path,
        "ALTER TABLE ZNOTE ADD COLUMN color TEXT",
        'CREATE INDEX "by color" ON "ZNOTE" (color, ZTITLE)',
        "CREATE UNIQUE INDEX byTitle ON ZNOTE (lower(ZTITLE)) WHERE Z_PK > 0",
        "CREATE INDEX byRank ON ZNOTE (ZRANK)",
    )
    with Container(REMOVED, path, allow_removals=True) as container:
        container.view_context.insert("Note", title="b")
        container.view_context.save()
    assert indexes(path) == ["by color", "byTitle"]
    assert execute(path, "PRAGMA integrity_check") == [("ok",)]


def test_foreign_indexes_are_kept_when_a_type_changes(path: Path) -> None:
    execute(path, "CREATE UNIQUE INDEX byRank ON ZNOTE (ifnull(ZRANK, 0))", "CREATE INDEX byTitle ON ZNOTE (ZTITLE)")
    execute(path, "INSERT INTO ZNOTE (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZRANK) VALUES (7, 1, 1, 'b', 7)")
    wanted = Model({"Note": {"title": "string?", "rank": "string?"}})
    with Container(wanted, path, allow_type_changes=True) as container:
        assert [note.rank for note in container.view_context.fetch("Note", sort=["title"])] == ["1", "7"]
    assert indexes(path) == ["byRank", "byTitle"]


@pytest.mark.parametrize(
    "definition", [{**FIRST["Note"], "color": "string?"}, {"title": "string?", "color": "string?"}]
)
def test_foreign_column_with_the_name_of_a_new_attribute_is_an_error(path: Path, definition: dict[str, str]) -> None:
    execute(path, "ALTER TABLE ZNOTE ADD COLUMN ZCOLOR TEXT")
    wanted = Model({"Note": definition})
    words = (
        "Note.color needs the column ZCOLOR, but ZNOTE has a column of that name from another program; rename or drop "
        "that column"
    )
    (problem,) = migration_plan(path, wanted, allow_removals=True).problems
    assert (problem.message, problem.entity, problem.key) == (words, "Note", "color")
    with pytest.raises(MigrationError, match="needs the column ZCOLOR") as raised:
        Container(wanted, path, allow_removals=True)
    assert (raised.value.code, raised.value.key) == (134110, "color")
    execute(path, "ALTER TABLE ZNOTE RENAME COLUMN ZCOLOR TO other")
    with Container(wanted, path, allow_removals=True) as container:
        assert container.view_context.first("Note").color is None
