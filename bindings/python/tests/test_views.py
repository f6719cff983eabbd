"""SQL views with the names of a model, comparing stores, and the progress of a migration."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import corestone
from corestone import Container, InvalidArgumentError, Model

MODEL: dict[str, dict[str, Any]] = {
    "Order": {
        "id": "string?",
        "Entity": "string?",
        "made": "date?",
        "code": "uuid?",
        "paid": "bool = false",
        "file": "binary? external",
        "place": {"town": "string?"},
        "owner": "to-one Owner? inverse orders",
        "notes": "to-many Note",
        "next": "to-many Order inverse next",
    },
    "Special": {"@parent": "Order", "reason": "string?"},
    "Owner": {"name": "string", "orders": "to-many ordered Order inverse owner", "tags": "to-many Tag inverse owners"},
    "Tag": {"title": "string", "owners": "to-many ordered Owner inverse tags"},
    "Note": {"text": "string"},
}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "orders.sqlite"
    with Container(Model(MODEL), path) as container:
        context = container.context()
        first = context.insert(
            "Order", id="a", made=datetime(2024, 2, 29, 12, 30, tzinfo=timezone.utc), code=UUID(int=1)
        )
        second = context.insert("Special", id="b", reason="why", place={"town": "Bern"}, file=b"small")
        third = context.insert("Order", id="c", file=bytes(200_000), made=datetime.max.replace(tzinfo=timezone.utc))
        first.notes = {context.insert("Note", text="n")}
        first.next = {second, first}
        owner = context.insert("Owner", name="Ada", orders=[third, first])
        tag = context.insert("Tag", title="t")
        tag.owners = [owner]
        context.save()
    return path


def query(path: Path, sql: str, **options: Any) -> list[tuple[Any, ...]]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        connection.executescript(corestone.views(path, **options))
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def test_views_have_the_names_of_entities(store: Path) -> None:
    # SQL does not tell names by the case of letters, and attributes have the first choice.
    rows = query(store, 'SELECT id_, id, entity_, made, code, paid, place_town FROM "Order" ORDER BY id')
    assert [row[2] for row in rows] == ["Order", "Special", "Order"]
    assert rows[0][1:] == (
        "a",
        "Order",
        "2024-02-29T12:30:00.000Z",
        "00000000-0000-0000-0000-000000000001",
        0,
        None,
    )
    assert query(store, "SELECT id, reason, place_town, file FROM Special") == [("b", "why", "Bern", b"small")]
    (name,) = query(store, "SELECT file_file FROM \"Order\" WHERE id = 'c'")[0]
    assert (store.parent / f".{store.stem}_SUPPORT" / "_EXTERNAL_DATA" / name).stat().st_size == 200_000
    assert query(store, "SELECT made FROM \"Order\" WHERE id = 'a'", dates="unix") == [(1709209800.0,)]
    assert query(store, "SELECT made FROM \"Order\" WHERE id = 'a'", dates="reference") == [(730902600.0,)]


def test_views_have_the_names_of_relationships(store: Path) -> None:
    joined = (
        "SELECT o.id FROM \"Order\" o JOIN Owner w ON o.owner_id = w.id WHERE w.name = 'Ada' ORDER BY o.owner_order"
    )
    assert query(store, joined) == [("c",), ("a",)]
    assert query(store, 'SELECT DISTINCT owner_name FROM "Order" WHERE owner_id IS NOT NULL') == [("Ada",)]
    assert query(store, "SELECT t.title FROM Owner_tags p JOIN Tag t ON t.id = p.tags_id") == [("t",)]
    assert len(query(store, 'SELECT tag_id, owners_id, "order" FROM Tag_owners')) == 1
    notes = (
        'SELECT o.id, n.text FROM Order_notes p JOIN "Order" o ON o.id_ = p.order_id JOIN Note n ON n.id = p.notes_id'
    )
    assert query(store, notes) == [("a", "n")]
    pairs = (
        'SELECT a.id, b.id FROM Order_next p JOIN "Order" a ON a.id_ = p.order_id JOIN "Order" b ON b.id_ = p.next_id '
        "ORDER BY 1, 2"
    )
    assert query(store, pairs) == [("a", "a"), ("a", "b"), ("b", "a")]


def test_permanent_views_can_be_created_in_copies(store: Path, tmp_path: Path) -> None:
    assert "TEMP" not in corestone.views(store, temporary=False)
    with Container(Model(MODEL), store) as container:
        container.coordinator.backup(container.store, tmp_path / "copy.sqlite")
    connection = sqlite3.connect(tmp_path / "copy.sqlite")
    connection.executescript(corestone.views(store, temporary=False))
    connection.close()
    with Container(Model(MODEL), tmp_path / "copy.sqlite") as copy:
        context = copy.context()
        context.insert("Note", text="more")
        context.save()
    connection = sqlite3.connect(tmp_path / "copy.sqlite")
    assert connection.execute("SELECT count(*) FROM Note").fetchone() == (2,)
    connection.close()
    assert corestone.check(tmp_path / "copy.sqlite") == []


def test_invalid_view_arguments_are_rejected(store: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="dates"):
        corestone.views(store, dates="iso")
    with pytest.raises(corestone.CorestoneError):
        corestone.views(tmp_path / "none.sqlite")


def test_compare_reports_progress_and_differences(store: Path, tmp_path: Path) -> None:
    heard: list[tuple[int, int]] = []
    with corestone.open(store) as old, corestone.open(store) as container:
        container.store = container.coordinator.migrate_store(
            container.store, tmp_path / "new.xml", type="XML", progress=lambda done, total: heard.append((done, total))
        )
        assert heard[0] == (0, 6)
        assert heard[-1] == (6, 6)
        found = corestone.compare(old.coordinator, container.coordinator)
        assert (found.objects, found.differences, found.values == found.equal) == (6, 0, True)
        context = container.context()
        (order,) = context.fetch("Order", "id == 'b'")
        order.reason = "other"
        (owner,) = context.fetch("Owner")
        owner.orders = list(reversed(owner.orders))
        context.save()
        found = corestone.compare(old.coordinator, container.coordinator)
        assert found.differences == 2 == found.values - found.equal
        assert any("Special" in each and "reason" in each for each in found.details), found.details
        assert any("Owner" in each and "orders" in each and "order" in each for each in found.details), found.details
        context.insert("Note", text="m")
        context.save()
        found = corestone.compare(old.coordinator, container.coordinator)
        assert any("Note: 1 object in" in each for each in found.details)


def test_cancelled_migration_leaves_no_file(store: Path, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyError("enough")

    with corestone.open(store) as container:
        with pytest.raises(KeyError, match="enough"):
            container.coordinator.migrate_store(container.store, tmp_path / "new.sqlite", progress=stop)
        assert not (tmp_path / "new.sqlite").exists()
        assert len(container.fetch("Order")) == 3
