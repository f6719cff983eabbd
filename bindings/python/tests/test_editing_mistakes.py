"""Rejected edits, and names with a meaning outside Core Data."""

from __future__ import annotations

import ctypes
import sqlite3
from pathlib import Path

import pytest

from corestone import Container, InvalidArgumentError, Model, ModelError

NASTY = [
    "i ON ZBOOK (ZPAGES); CREATE TABLE evil(a); --",
    'a"b;--',
    "by date",
    "é",
    "select",
    "x'y",
]


def book(index: str) -> bytes:
    escaped = index.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return (
        f'<model><entity name="Book"><attribute name="pages" optional="YES" attributeType="Integer 32"/>'
        f'<fetchIndex name="{escaped}"><fetchIndexElement property="pages" type="Binary" order="ascending"/>'
        f"</fetchIndex></entity></model>"
    ).encode()


@pytest.mark.parametrize("name", NASTY)
def test_index_name_is_quoted_in_sql(tmp_path: Path, name: str) -> None:
    path = tmp_path / "books.sqlite"
    with Container(Model.load(book(name)), path) as container:
        context = container.context()
        context.insert("Book", pages=3)
        context.save()
    with Container(Model.load(book(name)), path) as container:
        assert container.context().count("Book", "pages == 3") == 1
    with sqlite3.connect(path) as database:
        names = {row[0] for row in database.execute("SELECT name FROM sqlite_master")}
    assert f"Z_Book_{name}" in names
    assert "evil" not in names


def test_duplicate_index_name_is_rejected(tmp_path: Path) -> None:
    model = Model({"Book": {"pages": "int32?", "title": "string?"}})
    model["Book"].index("i", "pages")
    with pytest.raises(ModelError, match='already has an index "i"'):
        model["Book"].index("i", "title")
    # A file may have them, where the case of a name makes no difference to SQLite either.
    twice = book("i").replace(
        b"</entity>",
        b'<fetchIndex name="I"><fetchIndexElement property="pages" type="Binary" order="descending"/></fetchIndex>'
        b"</entity>",
    )
    Container(Model.load(twice), tmp_path / "twice.sqlite").close()


@pytest.mark.parametrize("name", ["", "a\x01b", "n" * 1001])
def test_invalid_index_name_is_rejected(name: str) -> None:
    with pytest.raises(ModelError, match=r"(is not a valid name for|the name of) an index of Book"):
        Model({"Book": {"pages": "int32?"}})["Book"].index(name, "pages")


def test_rejected_edit_leaves_the_model_unchanged() -> None:
    model = Model({"P": {"x": "string"}, "C": {"y": "string", "@unique": [["y"]]}})
    with pytest.raises(ModelError, match='already has an entity "C"'):
        model["P"].rename("C")
    with pytest.raises(ModelError):
        model["C"].rename_property("y", "not a name")
    model["P"].rename("Q")
    assert sorted(model) == ["C", "Q"]
    assert 'name="Q"' in model.source()


def test_rejected_model_can_be_corrected() -> None:
    model = Model({"P": {"x": "string"}, "C": {"y": "string"}})
    model["C"].unique("z")
    with pytest.raises(ModelError, match='unknown property "z"'):
        model.freeze()
    model["C"].remove_unique("z")
    model.freeze()


def test_removing_a_parent_removes_references_to_its_properties() -> None:
    model = Model(
        {"P": {"x": "string"}, "C": {"@parent": "P", "y": "string", "@unique": [["x"]], "@indexes": {"i": ["x", "y"]}}}
    )
    model.remove("P")
    assert (model["C"].describe()["uniqueConstraints"], model["C"].describe()["indexes"]) == ([], [])
    model.freeze()


def test_request_for_a_removed_entity_fails(tmp_path: Path) -> None:
    from corestone._abi import lib, text
    from corestone._abi.call import call, made

    model = Model({"Task": {"title": "string"}, "Person": {"name": "string"}})
    request = made(lib.cst_fetch_request_new, model["Task"]._handle)
    model.remove("Task")
    with pytest.raises(InvalidArgumentError, match="Task does not belong to the model"):
        call(lib.cst_model_set_template, model._handle, text("t"), request)
    model = Model({"Task": {"title": "string"}, "Person": {"name": "string"}})
    other = made(lib.cst_fetch_request_new, model["Task"]._handle)
    model.remove("Task")
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container:
        context = container.context()
        context.insert("Person", name="Ada")
        count = ctypes.c_uint64()
        with pytest.raises(InvalidArgumentError, match="Task does not belong to the model"):
            call(lib.cst_context_count, context._handle, other, ctypes.byref(count))
    lib.cst_release(request)
    lib.cst_release(other)


def test_unresolved_relationship_fails_the_export(tmp_path: Path) -> None:
    model = Model({"A": {"x": "string"}})
    model["A"].to_one("owner", "Persn", inverse="things")
    for use in (model.source, model.compiled, lambda: model.write(tmp_path / "a.xcdatamodel"), lambda: model.checksum):
        with pytest.raises(ModelError, match='has the destination "Persn"'):
            use()


def test_unresolved_relationship_follows_a_rename() -> None:
    model = Model({"A": {"x": "string"}, "B": {"y": "string"}})
    model["A"].to_one("b", "B", inverse="all")
    model["A"].rename_property("b", "bee")
    model["B"].to_many("all", "A", inverse="bee")
    model.freeze()
    assert model["A"].properties["bee"].inverse == "all"
    gone = Model({"A": {"x": "string"}, "B": {"y": "string"}})
    gone["A"].to_one("b", "B", inverse="all")
    gone["A"].remove("b")
    gone.freeze()
