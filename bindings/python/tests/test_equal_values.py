"""Updates that set the values that a row has: the row is not written, and an older row is still a conflict."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from corestone import ConflictError, Container, Context, MergePolicy, Model

MODEL: dict[str, dict[str, Any]] = {
    "Item": {
        "name": "string?",
        "count": "int32 = 0",
        "ratio": "double = 0",
        "price": "decimal?",
        "day": "date?",
        "tag": "uuid?",
        "data": "binary?",
        "modified": {"type": "date", "optional": True, "derived": "now()"},
        "box": "to-one Box? inverse items",
    },
    "Box": {"label": "string?", "items": "to-many Item inverse box", "marks": "to-many Mark inverse boxes"},
    "Mark": {"boxes": "to-many Box inverse marks"},
}

VALUES: dict[str, Any] = {
    "name": "Käse",
    "count": 7,
    "ratio": 0.1,
    "price": Decimal("1.50"),
    "day": datetime(2026, 1, 2, 3, 4, 5, 600000, tzinfo=timezone.utc),
    "tag": UUID("00112233-4455-6677-8899-aabbccddeeff"),
    "data": b"\x00\x01",
}


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    with Container(Model(MODEL), tmp_path / "a.sqlite", history=True) as container:
        yield container


def rows(container: Container, sql: str) -> list[Any]:
    with closing(sqlite3.connect(container.path)) as connection:
        return connection.execute(sql).fetchall()


def changes(container: Container, ctx: Context) -> list[tuple[str, list[str]]]:
    """The kind and the updated properties of each change but those of the first transaction."""
    found = list(container.coordinator.history())[1:]
    return [(change.kind.name, sorted(change.updated_properties)) for each in found for change in each.changes]


def test_setting_equal_values_does_not_write_a_row(container: Container) -> None:
    with container.context() as ctx:
        item = ctx.insert("Item", **VALUES)
        item.box = ctx.insert("Box")
        ctx.save()
        before = rows(container, "SELECT * FROM ZITEM")
        for key, value in [*VALUES.items(), ("box", item.box)]:
            item[key] = value
        item.price = Decimal("1.5")
        assert item.has_changes
        assert not item.has_persistent_changed_values
        ctx.save()
        assert not ctx.has_changes
        assert rows(container, "SELECT * FROM ZITEM") == before
        assert changes(container, ctx) == []
        assert len(list(container.coordinator.history())) == 1


@pytest.mark.parametrize("key", list(VALUES))
def test_values_that_differ_are_written(container: Container, key: str) -> None:
    others = {
        "name": "Ka\u0308se",  # the same letters in another normalization form
        "count": 8,
        "ratio": -0.1,
        "price": Decimal("1.51"),
        "day": VALUES["day"].replace(microsecond=600001),
        "tag": UUID("00112233-4455-6677-8899-aabbccddeefe"),
        "data": b"\x00\x01\x00",
    }
    with container.context() as ctx:
        item = ctx.insert("Item", **VALUES)
        ctx.save()
        for name, value in VALUES.items():
            item[name] = value
        item[key] = others[key]
        ctx.save()
        assert changes(container, ctx) == [("UPDATE", [key])]
        assert rows(container, "SELECT Z_OPT FROM ZITEM") == [(2,)]
        with container.context() as reader:
            assert reader.fetch("Item")[0][key] == others[key]


def test_null_differs_from_zero(container: Container) -> None:
    with container.context() as ctx:
        item = ctx.insert("Item", name="", data=b"")
        ctx.save()
        item.name = ""
        ctx.save()
        assert changes(container, ctx) == []
        item.name = None
        item.data = None
        ctx.save()
        assert changes(container, ctx) == [("UPDATE", ["data", "name"])]


def test_value_set_and_restored_is_not_a_change(container: Container) -> None:
    with container.context() as ctx:
        item = ctx.insert("Item", count=1)
        ctx.save()
        stamp = rows(container, "SELECT ZMODIFIED FROM ZITEM")
        item.count = 2
        item.count = 1
        ctx.save()
        assert changes(container, ctx) == []
        # A derived date is the time of the last write of the row.
        assert rows(container, "SELECT ZMODIFIED FROM ZITEM") == stamp


def test_members_added_and_removed_again_raise_the_version(container: Container) -> None:
    # A program that follows the history learns that the row was written, though its properties do not differ.
    with container.context() as ctx:
        box, mark = ctx.insert("Box"), ctx.insert("Mark")
        item = ctx.insert("Item")
        ctx.save()
        box.items.add(item)
        box.marks.add(mark)
        box.items.remove(item)
        box.marks.remove(mark)
        ctx.save()
        assert ("UPDATE", []) in changes(container, ctx)
        assert all(properties == [] for _, properties in changes(container, ctx))
        assert rows(container, "SELECT Z_OPT FROM ZBOX") == [(2,)]


@pytest.mark.parametrize("key", ["name", "photo"])
def test_batch_update_writes_equal_values(tmp_path: Path, key: str) -> None:
    # One statement for the name; in memory for an attribute whose values may be in files.
    photo = {"type": "binary", "optional": True, "external_storage": True}
    model = Model({"Item": {"name": "string?", "photo": photo}})
    values = {"name": "a", "photo": b"x"}
    with Container(model, tmp_path / "a.sqlite", history=True) as container, container.context() as ctx:
        ctx.insert("Item", **values)
        ctx.save()
        assert ctx.batch_update("Item", {key: values[key]}) == 1
        assert changes(container, ctx) == [("UPDATE", [key])]
        assert rows(container, "SELECT Z_OPT FROM ZITEM") == [(2,)]


def test_other_objects_of_the_save_are_written(container: Container) -> None:
    with container.context() as ctx:
        items = [ctx.insert("Item", count=number) for number in range(600)]
        ctx.save()
        for number, item in enumerate(items):
            item.count = number if number % 3 else number + 1
        ctx.save()
        assert changes(container, ctx) == [("UPDATE", ["count"])] * 200
        versions = rows(container, "SELECT Z_OPT, count(*) FROM ZITEM GROUP BY 1 ORDER BY 1")
        assert versions == [(1, 400), (2, 200)]
        assert [item.count for item in items] == [n if n % 3 else n + 1 for n in range(600)]


@pytest.mark.parametrize("kind", ["SQLite", "XML", "Binary", "InMemory"])
def test_setting_an_equal_value_on_a_stale_row_is_a_conflict(tmp_path: Path, kind: str) -> None:
    # The value was set on purpose: it must not be lost because it equals a former row.
    model = Model({"Item": {"count": "int32 = 0"}})
    with Container(model, tmp_path / "store", type=kind) as c, c.context() as ctx, c.context() as other:
        item = ctx.insert("Item", count=1)
        ctx.save()
        same = other.fetch("Item")[0]
        assert same.count == 1
        same.count = 2
        other.save()
        item.count = 1
        with pytest.raises(ConflictError):
            ctx.save()
        ctx.merge_policy = MergePolicy.OVERWRITE
        ctx.save()
        other.refresh_all()
        assert same.count == 1


def test_unique_values_pass_between_objects(tmp_path: Path) -> None:
    # Both rows are cleared before either is written; a value that was set to itself must be written again.
    model = Model({"Person": {"name": "string", "mail": "string", "@unique": [["name"], ["mail"]]}})
    with Container(model, tmp_path / "a.sqlite") as container, container.context() as ctx:
        ada, eve = ctx.insert("Person", name="a", mail="m"), ctx.insert("Person", name="e", mail="n")
        ctx.save()
        ada.name, ada.mail = "e", "m"
        eve.name, eve.mail = "a", "n"
        ctx.save()
        assert rows(container, "SELECT ZNAME, ZMAIL FROM ZPERSON ORDER BY Z_PK") == [("e", "m"), ("a", "n")]
