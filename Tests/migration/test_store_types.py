"""Migrations of stores of every type: values that stay, options, and folders that are searched."""

from __future__ import annotations

import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from corestone import Container, Coordinator, Model
from corestone.errors import MigrationError

TYPES = ["SQLite", "XML", "Binary"]


def write(path: Path, definition: dict[str, Any], store_type: str, *rows: dict[str, Any]) -> None:
    with Container(Model(definition), path, type=store_type) as container:
        for row in rows:
            row = dict(row)
            container.view_context.insert(row.pop("entity"), **row)
        container.view_context.save()


@pytest.mark.parametrize("store_type", ["XML", "Binary"])
@pytest.mark.parametrize("value", [Decimal("0.1234567890123456789012345"), math.nan])
def test_values_that_cannot_be_kept_fail_the_migration(tmp_path: Path, store_type: str, value: Any) -> None:
    path = tmp_path / "amounts"
    kind = "decimal?" if isinstance(value, Decimal) else "double? nan"
    write(path, {"Amount": {"value": kind}}, store_type, {"entity": "Amount", "value": value})
    before = path.read_bytes()
    with pytest.raises(MigrationError, match=r"Amount\.value has the value") as raised:
        Container(Model({"Amount": {"value": kind, "note": "string?"}}), path)
    assert (raised.value.code, raised.value.entity, raised.value.key) == (134110, "Amount", "value")
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["amounts"]


@pytest.mark.parametrize("store_type", TYPES)
def test_decimals_and_numbers_are_kept(tmp_path: Path, store_type: str) -> None:
    path = tmp_path / "amounts"
    write(path, {"Amount": {"value": "decimal?"}}, store_type, {"entity": "Amount", "value": Decimal("12.25")})
    with Container(Model({"Amount": {"value": "decimal?", "note": "string = x"}}), path) as container:
        amount = container.view_context.first("Amount")
        assert (amount.value, amount.note) == (Decimal("12.25"), "x")


@pytest.mark.parametrize("store_type", TYPES)
def test_property_moved_up_with_another_type_is_rejected(tmp_path: Path, store_type: str) -> None:
    path = tmp_path / "store"
    former = {"Top": {}, "Sub": {"@parent": "Top", "x": "int64?"}}
    write(path, former, store_type, {"entity": "Sub", "x": 70000})
    wanted = Model({"Top": {"x": "int16?"}, "Sub": {"@parent": "Top"}})
    with pytest.raises(MigrationError) as raised:
        Container(wanted, path)
    assert (raised.value.code, raised.value.entity, raised.value.key) == (134190, "Sub", "x")
    with pytest.raises(MigrationError, match="70000") as raised:
        Container(wanted, path, allow_type_changes=True)
    assert raised.value.code == 134110


@pytest.mark.parametrize("store_type", TYPES)
def test_relationship_can_move_down_to_two_subentities(tmp_path: Path, store_type: str) -> None:
    path = tmp_path / "store"
    former = {
        "Base": {"name": "string?", "tags": "to-many Tag inverse bases"},
        "A": {"@parent": "Base"},
        "B": {"@parent": "Base"},
        "Tag": {"name": "string?", "bases": "to-many Base inverse tags"},
    }
    with Container(Model(former), path, type=store_type) as container:
        context = container.view_context
        tags = [context.insert("Tag", name=name) for name in "xyz"]
        context.insert("A", name="a", tags=tags[:2])
        context.insert("B", name="b", tags=tags[1:])
        context.save()
    wanted = {
        "Base": {"name": "string?"},
        "A": {"@parent": "Base", "tags": "to-many Tag inverse as_"},
        "B": {"@parent": "Base", "tags": "to-many Tag inverse bs"},
        "Tag": {"name": "string?", "as_": "to-many A inverse tags", "bs": "to-many B inverse tags"},
    }
    with Container(Model(wanted), path) as container:
        for entity, names in (("A", "xy"), ("B", "yz")):
            found = container.view_context.first(entity)
            assert sorted(tag.name for tag in found.tags) == list(names)


def test_derived_sums_include_new_defaults(tmp_path: Path) -> None:
    path = tmp_path / "shop"
    former = {
        "Order": {"total": "derived int64? = items.@count", "items": "to-many Item inverse order"},
        "Item": {"order": "to-one Order? inverse items"},
        "Special": {"@parent": "Item"},
    }
    with Container(Model(former), path) as container:
        order = container.view_context.insert("Order")
        container.view_context.insert("Item", order=order)
        container.view_context.insert("Special", order=order)
        container.view_context.save()
    wanted = {name: body for name, body in former.items() if name != "Special"}
    with Container(Model(wanted), path, allow_removals=True) as container:
        assert container.view_context.first("Order").total == 1


def test_source_model_is_found_in_a_bundle_of_a_folder(tmp_path: Path) -> None:
    path = tmp_path / "notes.xml"
    first = Model({"Note": {"title": "string"}})
    write(path, {"Note": {"title": "string"}}, "XML", {"entity": "Note", "title": "a"})
    text = path.read_text(encoding="utf-8")
    head, _, rest = text.partition("<key>CST_Model</key>")
    path.write_text(head + rest.partition("</data>")[2], encoding="utf-8")
    wanted = Model({"Note": {"title": "string", "done": "bool = true"}})
    with pytest.raises(MigrationError) as raised:
        Container(wanted, path)
    assert raised.value.code == 134130
    folder = tmp_path / "models"
    (folder / "Notes.xcdatamodeld").mkdir(parents=True)
    place = folder / "Notes.xcdatamodeld" / "Notes.xcdatamodel"
    place.mkdir()
    (place / "contents").write_text(first.source(lossy=True), encoding="utf-8")
    with Container(wanted, path, model_paths=[tmp_path / "missing", folder]) as container:
        assert container.view_context.first("Note").done is True


def test_infer_mapping_alone_keeps_the_migration_default(tmp_path: Path) -> None:
    path = tmp_path / "notes"
    write(path, {"Note": {"title": "string?"}}, "SQLite")
    wanted = Model({"Note": {"title": "string?", "more": "string?"}})
    with pytest.raises(Exception, match="does not match"):
        Coordinator(wanted).add_store(path, infer_mapping=True)
    Container(wanted, path, infer_mapping=True).close()
