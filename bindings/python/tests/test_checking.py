"""corestone.check: the problems that it reports for deliberately damaged stores."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
import uuid
from pathlib import Path
from typing import Any, Callable

import pytest

import corestone
from corestone import Container, Context, Model, NotAStoreError, ProblemKind, StoreError

Damage = Callable[[str], "list[corestone.Problem]"]


@pytest.fixture
def damaged(staff: Context, path: Path, tmp_path: Path) -> Damage:
    """Runs SQL on a copy of a store with people, departments and projects, then checks it."""
    staff.container.close()

    def damage(sql: str) -> list[corestone.Problem]:
        copy = tmp_path / "damaged.store"
        shutil.copy(path, copy)
        with sqlite3.connect(copy) as connection:
            connection.executescript(sql)
        connection.close()
        return corestone.check(copy)

    return damage


def kinds(problems: list[corestone.Problem]) -> list[str]:
    return [problem.kind.name for problem in problems]


def test_check_of_an_intact_store_finds_no_problem(damaged: Damage, path: Path, model: Model) -> None:
    assert damaged("SELECT 1") == []
    assert corestone.check(path, model) == []


def test_check_of_an_open_store_sees_the_last_save(staff: Context, path: Path) -> None:
    staff.insert("Employee", name="unsaved")
    assert corestone.check(path) == []
    staff.insert("Employee", name="Fay")
    staff.save()
    assert corestone.check(path) == []


@pytest.mark.parametrize(
    ("sql", "kind", "entity", "key", "words"),
    [
        ("UPDATE ZPERSON SET ZDEPARTMENT = 99 WHERE ZNAME = 'Ada'", "REFERENCE", "Employee", "department", "row 99"),
        (
            "UPDATE ZPROJECT SET ZLEAD = 2 WHERE ZTITLE = 'Cobalt'",
            "REFERENCE",
            "Project",
            "lead",
            "not of the entity Manager",
        ),
        (
            "UPDATE ZPERSON SET Z3_MANAGER = 5 WHERE ZNAME = 'Ada'",
            "REFERENCE",
            "Employee",
            "manager",
            "entity number 5",
        ),
        ("UPDATE ZTASK SET Z3_OWNER = NULL WHERE ZTITLE = 'prove'", "REFERENCE", "Task", "owner", "an entity number"),
        ("UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_NAME = 'Person'", "PRIMARY_KEY", "Person", None, "Z_MAX"),
        ("UPDATE ZPERSON SET Z_OPT = NULL WHERE ZNAME = 'Ada'", "ROW", "Person", None, "Z_OPT"),
        ("UPDATE ZPROJECT SET Z_ENT = 77 WHERE ZTITLE = 'Cobalt'", "ROW", "Project", None, "77"),
        ("DELETE FROM ZPROJECT WHERE ZTITLE = 'Apollo'", "PAIR", None, None, "does not exist"),
        ("UPDATE Z_PRIMARYKEY SET Z_SUPER = 0 WHERE Z_NAME = 'Manager'", "PRIMARY_KEY", "Manager", None, "superentity"),
    ],
)
def test_each_integrity_violation_is_reported(
    damaged: Damage, sql: str, kind: str, entity: str | None, key: str | None, words: str
) -> None:
    problems = damaged(sql)
    assert set(kinds(problems)) == {kind}
    first = problems[0]
    assert words in first.message
    assert entity is None or first.entity == entity
    assert key is None or first.key == key


def test_problem_names_its_object_by_uri(damaged: Damage, path: Path) -> None:
    problem = damaged("UPDATE ZPERSON SET ZDEPARTMENT = 99 WHERE ZNAME = 'Ada'")[0]
    assert problem.object_uri is not None
    with corestone.open(path) as container:
        assert container.context().get(problem.object_uri).name == "Ada"


def test_repeated_problems_of_one_kind_are_counted(damaged: Damage) -> None:
    people = ",".join(f"({n}, 3, 1, 'x', 99)" for n in range(1000, 1100))
    problems = damaged(
        f"INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME, ZDEPARTMENT) VALUES {people};"
        "UPDATE Z_PRIMARYKEY SET Z_MAX = 2000"
    )
    assert len(problems) < 60
    assert any("80 more" in problem.message for problem in problems)


def test_metadata_that_contradicts_the_model_is_reported(staff: Context, path: Path, tmp_path: Path) -> None:
    staff.container.close()
    other = tmp_path / "other.store"
    Container(Model({"Department": {"name": "string"}}), other).close()
    with sqlite3.connect(path) as connection:
        connection.execute("ATTACH ? AS other", (str(other),))
        connection.execute("UPDATE Z_METADATA SET Z_PLIST = (SELECT Z_PLIST FROM other.Z_METADATA)")
    connection.close()
    problems = corestone.check(path)
    assert set(kinds(problems)) == {"METADATA"}
    assert {problem.entity for problem in problems} >= {"Employee", "Department"}


def test_history_with_dangling_references_is_reported(model: Model, path: Path) -> None:
    with Container(model, path, history=True) as container:
        ctx = container.context()
        ctx.insert("Department", name="R&D")
        ctx.save()
    assert corestone.check(path) == []
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM ATRANSACTION")
        connection.execute("UPDATE ACHANGE SET ZCHANGETYPE = 7, ZENTITY = 400")
    connection.close()
    assert {problem.kind for problem in corestone.check(path)} == {ProblemKind.HISTORY}


def test_missing_external_data_is_reported(path: Path) -> None:
    with Container(Model({"Photo": {"data": "binary? external"}}), path) as container:
        ctx = container.context()
        ctx.insert("Photo", data=bytes(300_000))
        ctx.save()
    assert corestone.check(path) == []
    shutil.rmtree(path.parent / f".{path.stem}_SUPPORT")
    problems = corestone.check(path)
    assert [(problem.kind, problem.entity, problem.key) for problem in problems] == [
        (ProblemKind.EXTERNAL_DATA, "Photo", "data")
    ]


def test_missing_unique_index_is_reported(path: Path) -> None:
    model = Model({"Badge": {"code": "string indexed", "@unique": [["code"]]}})
    with Container(model, path, unsaved="discard") as container:
        ctx = container.context()
        for code in "ABC":
            ctx.insert("Badge", code=code)
        ctx.save()
    with sqlite3.connect(path) as connection:
        connection.executescript("DROP INDEX Z_Badge_UNIQUE_code; UPDATE ZBADGE SET ZCODE = 'A' WHERE ZCODE = 'B'")
    connection.close()
    problems = corestone.check(path)
    assert [(problem.kind, problem.entity, problem.key) for problem in problems] == [
        (ProblemKind.CONSTRAINT, "Badge", "code")
    ] * 2
    assert "CREATE UNIQUE INDEX Z_Badge_UNIQUE_code" in problems[0].message
    assert problems[1].object_uri is not None
    with corestone.open(path, model, writable=True, unsaved="discard") as container:
        assert "Z_Badge_UNIQUE_code" in (container.read_only_reason or "")
        ctx = container.context()
        ctx.insert("Badge", code="D")
        with pytest.raises(StoreError):
            ctx.save()


def test_missing_fetch_index_is_a_warning(path: Path) -> None:
    with Container(Model({"Badge": {"code": "string indexed"}}), path):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("DROP INDEX Z_Badge_code")
    connection.close()
    problems = corestone.check(path)
    assert [(problem.kind, problem.is_warning) for problem in problems] == [(ProblemKind.SPEED, True)]
    with corestone.open(path, writable=True) as container:
        assert container.read_only_reason is None


def test_foreign_trigger_is_a_warning(path: Path) -> None:
    with Container(Model({"Badge": {"code": "string"}}), path):
        pass
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TRIGGER mine BEFORE INSERT ON ZBADGE BEGIN SELECT RAISE(IGNORE); END")
    connection.close()
    problems = corestone.check(path)
    assert [(each.kind, each.is_warning, each.entity) for each in problems] == [(ProblemKind.TRIGGER, True, "Badge")]
    assert 'DROP TRIGGER "mine"' in problems[0].message
    with corestone.open(path, writable=True) as container:
        assert 'ZBADGE has the trigger "mine"' in (container.read_only_reason or "")


def test_table_without_version_column_is_reported_and_readable(path: Path) -> None:
    model = Model(
        {
            "Note": {"text": "string", "tags": "to-many Tag inverse notes"},
            "Tag": {"name": "string", "notes": "to-many Note inverse tags"},
        }
    )
    with Container(model, path) as container:
        ctx = container.context()
        ctx.insert("Note", text="a", tags=[ctx.insert("Tag", name="b")])
        ctx.save()
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE ZNOTE DROP COLUMN Z_OPT")
    connection.close()
    assert [(each.kind.name, each.entity) for each in corestone.check(path)] == [("ROW", "Note")]
    for given in (None, model):
        for writable in (False, True):
            with corestone.open(path, given, writable=writable) as container:
                assert "ZNOTE does not have the column Z_OPT" in (container.read_only_reason or "")
                (note,) = container.fetch("Note", "text == 'a'")
                assert (note.text, [tag.name for tag in note.tags]) == ("a", ["b"])
                (tag,) = container.fetch("Tag")
                assert [each.text for each in tag.notes] == ["a"]


def test_damaged_database_is_reported_and_a_missing_store_is_an_error(
    staff: Context, path: Path, tmp_path: Path
) -> None:
    staff.container.close()
    whole = path.read_bytes()
    damaged = tmp_path / "cut.store"
    damaged.write_bytes(whole[: len(whole) // 2])
    assert ProblemKind.DATABASE in {problem.kind for problem in corestone.check(damaged)}
    damaged.write_bytes(b"this is text, no store" * 100)
    with pytest.raises(NotAStoreError):
        corestone.check(damaged)
    with pytest.raises(StoreError):
        corestone.check(tmp_path / "missing.store")


#: As many problems of one kind as a report lists one by one.
LISTED = 20


@pytest.mark.parametrize("count", [1, LISTED - 1, LISTED, LISTED + 1, LISTED + 2, 2 * LISTED])
@pytest.mark.parametrize("kind", ["EXTERNAL_DATA", "REFERENCE", "ROW", "PAIR", "TRIGGER", "SPEED"])
def test_problems_of_one_kind_are_listed_up_to_a_limit(path: Path, kind: str, count: int) -> None:
    model = {
        "Photo": {
            "data": "binary? external",
            "album": "to-one Album?",
            "tags": "to-many Tag inverse photos",
            **{f"index{number}": "int32? indexed" for number in range(count)},
        },
        "Album": {"name": "string?"},
        "Tag": {"photos": "to-many Photo inverse tags"},
    }
    whole = 3
    with Container(Model(model), path) as container:
        ctx = container.context()
        for number in range(count + whole):
            ctx.insert("Photo", data=bytes([number]) * 300_000, album=ctx.insert("Album"), tags=[ctx.insert("Tag")])
        ctx.save()
    files = sorted((path.parent / f".{path.stem}_SUPPORT" / "_EXTERNAL_DATA").iterdir())
    with sqlite3.connect(path) as connection:
        (pairs,) = connection.execute("SELECT name FROM sqlite_master WHERE name GLOB 'Z_[0-9]*' AND type = 'table'")
        for number in range(1, count + 1):
            if kind == "EXTERNAL_DATA":
                files[number].unlink()
                continue
            damage = {
                "REFERENCE": f"UPDATE ZPHOTO SET ZALBUM = 999 WHERE Z_PK = {number}",
                "ROW": f"UPDATE ZPHOTO SET Z_OPT = NULL WHERE Z_PK = {number}",
                "PAIR": f"DELETE FROM ZTAG WHERE Z_PK = {number}",
                "TRIGGER": f"CREATE TRIGGER mine{number} AFTER INSERT ON ZTAG BEGIN SELECT 1; END",
                "SPEED": f"DROP INDEX Z_Photo_index{number - 1}",
            }
            connection.execute(damage[kind])
        assert pairs
    connection.close()
    problems = corestone.check(path)
    assert set(kinds(problems)) == {kind}
    assert len(problems) == min(count, LISTED + 1)
    more = [problem.message for problem in problems if f"{count - LISTED} more" in problem.message]
    assert len(more) == (count > LISTED)
    if kind in ("EXTERNAL_DATA", "REFERENCE", "ROW"):
        assert len({problem.object_uri for problem in problems if problem.object_uri}) == min(count, LISTED)


def test_report_contains_all_problems_and_warnings(damaged: Damage) -> None:
    problem = "UPDATE ZPERSON SET ZDEPARTMENT = 99 WHERE ZNAME = 'Ada'"
    another = "UPDATE ZPROJECT SET Z_OPT = NULL WHERE ZTITLE = 'Cobalt'"
    slow = "DROP INDEX Z_Person_name; DROP INDEX Z_Department_name"
    trigger = "CREATE TRIGGER mine AFTER INSERT ON ZTASK BEGIN SELECT 1; END"
    cases = [
        ([problem], {"REFERENCE"}),
        ([slow], {"SPEED"}),
        ([trigger], {"TRIGGER"}),
        ([trigger, slow], {"SPEED", "TRIGGER"}),
        ([problem, slow], {"REFERENCE", "SPEED"}),
        ([problem, trigger], {"REFERENCE", "TRIGGER"}),
        ([problem, another, slow, trigger], {"REFERENCE", "ROW", "SPEED", "TRIGGER"}),
    ]
    for statements, expected in cases:
        found = damaged("; ".join(statements))
        assert set(kinds(found)) == expected
        assert len(found) == len(expected) + ("SPEED" in expected)
        # The warnings are last.
        assert [each.is_warning for each in found] == sorted(each.is_warning for each in found)
        assert {each.kind.name for each in found if each.is_warning} == expected & {"SPEED", "TRIGGER"}


def test_tombstones_have_the_preserved_values_of_the_entity(path: Path) -> None:
    model = {
        "Thing": {"name": "string? preserved", "note": "string?"},
        "Book": {"@parent": "Thing", "isbn": "string? preserved", "pages": "int32?"},
        "Novel": {"@parent": "Book", "genre": "string? preserved"},
        "Pen": {"@parent": "Thing", "colour": "string? preserved"},
        "Cup": {"@parent": "Thing", "size": "int32?"},
        "Lamp": {"watts": "int32? preserved", "maker": "string? preserved"},
        "Wire": {"length": "int32?"},
    }
    objects: dict[str, dict[str, Any]] = {
        "Thing": {"name": "t", "note": "x"},
        "Book": {"name": "b", "note": "x", "isbn": "1", "pages": 2},
        "Novel": {"name": "n", "isbn": "3", "genre": "g", "pages": 4},
        "Pen": {"name": "p", "colour": "red"},
        "Cup": {"name": "c", "note": "x", "size": 5},
        "Lamp": {"watts": 6, "maker": "m"},
        "Wire": {"length": 7},
    }
    order = ["Cup", "Wire", "Pen", "Novel", "Lamp", "Thing", "Book"]
    made = Model(model)
    with Container(made, path, history=True) as container:
        ctx = container.context()
        for name in order + order[::-1]:
            ctx.insert(name, **objects[name])
        ctx.save()
        for take in (0, -1):  # one after another, then all at once
            for name in order:
                ctx.delete(next(each for each in ctx.fetch(name, include_subentities=False)))
                if take == 0:
                    ctx.save()
            ctx.save()
    with sqlite3.connect(path) as connection:
        numbers = dict(connection.execute("SELECT Z_ENT, Z_NAME FROM Z_PRIMARYKEY"))
        rows = connection.execute("SELECT * FROM ACHANGE WHERE ZCHANGETYPE = 2 ORDER BY Z_PK")
        columns = [column[0] for column in rows.description]
        changes = [dict(zip(columns, row)) for row in rows]
    connection.close()
    assert len(changes) == 2 * len(order)
    for change in changes:
        name = numbers[change["ZENTITY"]]
        found = [change[key] for key in sorted(change) if key.startswith("ZTOMBSTONE")]
        # Those of a superentity first, then in the order of their names; the other columns stay empty.
        keeping = ("name", "isbn", "genre", "colour", "maker", "watts")
        kept = [objects[name][key] for key in keeping if key in objects[name]]
        assert found == kept + [None] * (len(found) - len(kept)), name
    assert corestone.check(path) == []


def test_orphaned_files_are_reported_and_removed(path: Path) -> None:
    with Container(Model({"Photo": {"data": "binary? external"}}), path) as container:
        ctx = container.context()
        ctx.insert("Photo", data=bytes(300_000))
        ctx.save()
    files = path.parent / f".{path.stem}_SUPPORT" / "_EXTERNAL_DATA"
    assert corestone.leftovers(path) == corestone.Leftovers(files, [], 0, None)
    left = files / str(uuid.uuid4()).upper()
    left.write_bytes(bytes(100))
    assert corestone.leftovers(path).names == []  # a save may be about to refer to it
    os.utime(left, (time.time() - 3600,) * 2)
    found = corestone.Leftovers(files, [left.name], 100, None)
    assert corestone.leftovers(path) == found
    assert corestone.remove_leftovers(path) == found
    assert corestone.leftovers(path).names == []
    assert len(list(files.iterdir())) == 1
    with pytest.raises(StoreError):
        corestone.remove_leftovers(path.parent / "missing.sqlite")
