"""Stores that Apple's framework wrote: what a save changes in them, row by row, as Python's own sqlite3 sees it.

In a copy of each store of the fixtures: one attribute and one relationship of an object of every entity are changed, an
object is inserted, then deleted. Exactly the rows that had to change may differ, in exactly the columns that had to.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import re
import shutil
import sqlite3
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from checkout import FIXTURES
from conftest import keep, stored

import corestone
from corestone import AttributeType, Container, Context, ManagedObject, Model, ValidationError
from corestone.model.property import PropertyDescription
from corestone.object import object_id

MANIFEST = FIXTURES / "manifest.json"
STORES = [store["file"] for store in json.loads(MANIFEST.read_text())["stores"]] if MANIFEST.exists() else []
HISTORY = {"ACHANGE", "ATRANSACTION", "ATRANSACTIONSTRING"}

# Integers that no object has twice, since some must be unique; they fit into 16 bits.
NUMBERS = itertools.count(2000)

Dump = dict[tuple[str, Any], dict[str, Any]]


def test_fixtures_exist() -> None:
    if not STORES:
        if os.environ.get("CORESTONE_REQUIRE_FIXTURES") == "1":
            pytest.fail(f"no fixtures at {FIXTURES}")
        pytest.skip(f"no fixtures at {FIXTURES}; set CORESTONE_FIXTURES")


def dump(path: Path) -> Dump:
    """Every row of every table, by table and key."""
    database = sqlite3.connect(path)
    rows: Dump = {}
    for (table,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        # R-trees and what SQLite keeps for itself.
        if table.startswith(("Z_RT_", "sqlite_")):
            continue
        cursor = database.execute(f'SELECT rowid AS "rowid_", * FROM "{table}"')
        names = [column[0] for column in cursor.description]
        for row in cursor:
            entry = dict(zip(names, row))
            # Rows of join tables are identified by their content.
            key = entry.get("Z_PK", entry.get("Z_ENT") if table == "Z_PRIMARYKEY" else tuple(row[1:]))
            entry.pop("rowid_")
            rows[table, key] = entry
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    return rows


class Change(NamedTuple):
    """A row that differs: None for the columns of an inserted or deleted row."""

    table: str
    key: Any
    columns: set[str] | None
    kind: str


def differences(before: Dump, after: Dump) -> list[Change]:
    changes = []
    for place in before.keys() | after.keys():
        old, new = before.get(place), after.get(place)
        if old is None or new is None:
            changes.append(Change(*place, None, "gone" if new is None else "new"))
        elif old != new:
            changes.append(Change(*place, {name for name in old if old[name] != new[name]}, "changed"))
    return changes


@functools.cache
def models() -> dict[tuple[tuple[str, bytes], ...], Path]:
    """Every model of the fixtures by the version hashes of its entities."""
    found = {}
    for file in (*FIXTURES.glob("compiled-models/**/*.mom"), *FIXTURES.glob("source-models/**/contents")):
        model = Model.load(file)
        try:
            found[tuple(sorted((name, model[name].version_hash) for name in model))] = file
        except corestone.ModelError:
            continue
    return found


def own_model(path: Path) -> Model | None:
    """For a store that carries no model: one of the fixtures with the store's hashes, if there is one."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'Z_MODELCACHE'").fetchone():
            return None
    hashes = corestone.metadata(path).get("NSStoreModelVersionHashes", {})
    file = models().get(tuple(sorted(hashes.items())))
    return Model.load(file) if file else None


class AppleStore:
    """A copy of a store of the fixtures, open for writing."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.container: Container = corestone.open(path, own_model(path), writable=True)
        self.context: Context = self.container.context()
        database = sqlite3.connect(path)
        self.numbers = dict(database.execute("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY"))
        triggers = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")]
        self.derived = {found[1] for name in triggers if (found := re.search(r"_([^_]+)_SOURCE_INSERT$", name))}
        self.has_history = database.execute("SELECT 1 FROM sqlite_master WHERE name = 'ACHANGE'").fetchone() is not None
        database.close()

    def table(self, entity: str) -> str:
        current = self.container.model[entity]
        while current.parent is not None:
            current = current.parent
        return "Z" + current.name.upper()

    def row(self, item: ManagedObject) -> tuple[str, int]:
        # Not item.id: an entity of the store may have a property of that name.
        found = object_id(item)
        return self.table(found.entity_name), int(found.uri.rsplit("/p", 1)[1])

    def entities(self) -> list[str]:
        return [name for name in self.container.model if not self.container.model[name].is_abstract]

    def first(self, entity: str) -> ManagedObject | None:
        return next((item for item in self.context.fetch(entity) if object_id(item).entity_name == entity), None)

    def destination(self, property: PropertyDescription) -> str:
        return self.container.model._entity_of(property.destination).name


def fresh_value(property: PropertyDescription, old: Any) -> Any:
    """A valid value other than the old one."""
    kind = property.attribute_type
    if kind in (AttributeType.INTEGER_16, AttributeType.INTEGER_32, AttributeType.INTEGER_64):
        return next(NUMBERS)
    if kind is AttributeType.BOOLEAN:
        return not old
    if kind in (AttributeType.DOUBLE, AttributeType.FLOAT):
        return 0.5 if old != 0.5 else 1.5
    if kind is AttributeType.DECIMAL:
        return Decimal("1.5") if old != Decimal("1.5") else Decimal("2.5")
    if kind is AttributeType.DATE:
        return (old or datetime(2026, 1, 1, tzinfo=timezone.utc)) + timedelta(days=1)
    if kind is AttributeType.UUID:
        return uuid4()
    if kind in (AttributeType.BINARY, AttributeType.TRANSFORMABLE):
        return b"\x01\x02" if old != b"\x01\x02" else b"\x03"
    return f"https://example.org/{uuid4()}"


def column_of(name: str) -> re.Pattern[str]:
    """The columns that may hold a property: several of one name in a table are numbered."""
    return re.compile(rf"Z(\d+_)?{name.upper()}\d*$")


def check_history(store: AppleStore, before: Dump, after: Dump, expected: dict[int, set[tuple[str, int]]]) -> None:
    """The history has one transaction, one change for each row, a mask on updates only, strings kept once."""
    new = [after[place] | {"table": place[0]} for place in after.keys() - before.keys() if place[0] in HISTORY]
    changes = [row for row in new if row["table"] == "ACHANGE"]
    transactions = [row for row in new if row["table"] == "ATRANSACTION"]
    if not store.has_history:
        assert not new
        return
    assert len(transactions) == 1
    (transaction,) = transactions
    assert transaction["Z_ENT"] == 16002
    assert abs(transaction["ZTIMESTAMP"] - (datetime.now(timezone.utc).timestamp() - 978_307_200)) < 600
    strings = {key: row["ZNAME"] for (table, key), row in after.items() if table == "ATRANSACTIONSTRING"}
    assert len(set(strings.values())) == len(strings)
    assert strings[transaction["ZPROCESSIDTS"]]
    names = {number: name for name, number in store.numbers.items()}
    for kind, rows in expected.items():
        found = [
            (store.table(names[row["ZENTITY"]]), row["ZENTITYPK"]) for row in changes if row["ZCHANGETYPE"] == kind
        ]
        assert sorted(found) == sorted(rows)
    for row in changes:
        assert row["Z_ENT"] == 16001
        assert row["ZTRANSACTIONID"] == transaction["Z_PK"]
        assert (row["ZCOLUMNS"] is not None) == (row["ZCHANGETYPE"] == 1)
    assert after["Z_PRIMARYKEY", 16001]["Z_MAX"] == max(row["Z_PK"] for row in changes)
    assert after["Z_PRIMARYKEY", 16002]["Z_MAX"] == transaction["Z_PK"]


def data_changes(before: Dump, after: Dump) -> list[Change]:
    """Without the history and the highest keys, which are checked apart."""
    found = differences(before, after)
    return [change for change in found if change.table not in HISTORY and change.table != "Z_PRIMARYKEY"]


def change_attributes(store: AppleStore) -> int:
    """One attribute of one object of each entity."""
    expected: dict[tuple[str, int], re.Pattern[str]] = {}
    for entity in store.entities():
        item = store.first(entity)
        if item is None:
            continue
        for property in store.container.model[entity].properties.values():
            if property.is_relationship or property.is_transient or property.name in store.derived:
                continue
            if property.attribute_type in (AttributeType.UNDEFINED, AttributeType.TRANSFORMABLE):
                continue
            keep(item, property.name, fresh_value(property, stored(item, property.name)))
            expected[store.row(item)] = column_of(property.name)
            break
    before = dump(store.path)
    store.context.save()
    after = dump(store.path)
    changes = data_changes(before, after)
    assert {(change.table, change.key) for change in changes} == set(expected)
    for change in changes:
        assert change.kind == "changed"
        assert change.columns is not None
        assert len(change.columns) == 2
        assert "Z_OPT" in change.columns
        assert all(name == "Z_OPT" or expected[change.table, change.key].match(name) for name in change.columns)
        place = (change.table, change.key)
        assert after[place]["Z_OPT"] == (before[place]["Z_OPT"] or 0) + 1
    if expected:
        check_history(store, before, after, {0: set(), 1: set(expected), 2: set()})
    return len(expected)


def partners(item: ManagedObject, name: str) -> list[ManagedObject]:
    value = item[name]
    return [] if value is None else [value] if isinstance(value, ManagedObject) else list(value)


def change_one_relationship(
    store: AppleStore, item: ManagedObject, property: PropertyDescription
) -> set[tuple[str, int]] | None:
    """Changes a relationship; the rows that may differ, None when nothing could be changed."""
    candidates = store.context.fetch(store.destination(property), limit=3)
    old = partners(item, property.name)
    new = next((candidate for candidate in candidates if candidate not in old and candidate != item), None)
    touched = [item, *old, *([new] if new is not None else [])]
    # Whom the newcomer leaves.
    if new is not None and property.inverse:
        touched += partners(new, property.inverse)
    if property.is_to_many:
        if new is not None:
            item[property.name].append(new) if property.is_ordered else item[property.name].add(new)
        elif old:
            item[property.name].remove(old[0])
        else:
            return None
    elif new is not None or (property.is_optional and old):
        item[property.name] = new
    else:
        return None
    return {store.row(each) for each in touched}


def change_relationships(store: AppleStore) -> int:
    """One relationship of one object of each entity, each in a separate save."""
    count = 0
    for entity in store.entities():
        item = store.first(entity)
        relationships = [each for each in store.container.model[entity].properties.values() if each.is_relationship]
        for property in relationships:
            if item is None or property.is_transient:
                continue
            before = dump(store.path)
            rows = change_one_relationship(store, item, property)
            if rows is None:
                continue
            try:
                store.context.save()
            except ValidationError:
                # A partner of the old value needed it.
                store.context.rollback()
                continue
            after = dump(store.path)
            check_relationship(store, property, before, after, rows, store.row(item))
            count += 1
            break
    return count


def check_relationship(
    store: AppleStore,
    property: PropertyDescription,
    before: Dump,
    after: Dump,
    rows: set[tuple[str, int]],
    own: tuple[str, int],
) -> None:
    changes = data_changes(before, after)
    assert changes
    names = [column_of(property.name)] + ([column_of(property.inverse)] if property.inverse else [])
    updated = set()
    for change in changes:
        if change.columns is None or "Z_PK" not in after[change.table, change.key]:
            # A pair of a many-to-many relationship.
            assert re.match(r"Z_\d+", change.table), change
            continue
        assert (change.table, change.key) in rows, change
        assert change.kind == "changed"
        updated.add((change.table, change.key))
        for column in change.columns - {"Z_OPT"}:
            derived = any(column_of(name).match(column) for name in store.derived)
            assert derived or column.startswith("Z_FOK_") or any(name.match(column) for name in names), (change, column)
    bumped = {row for row in updated if before[row]["Z_OPT"] != after[row]["Z_OPT"]}
    assert own in bumped
    assert all(after[row]["Z_OPT"] == (before[row]["Z_OPT"] or 0) + 1 for row in bumped)
    check_history(store, before, after, {0: set(), 1: bumped, 2: set()})


def fill(store: AppleStore, item: ManagedObject) -> None:
    """A value for every attribute, a target for every required relationship that has one to lead to."""
    for property in store.container.model[object_id(item).entity_name].properties.values():
        if property.is_transient or property.name in store.derived:
            continue
        if not property.is_relationship:
            if property.attribute_type is not AttributeType.UNDEFINED:
                keep(item, property.name, fresh_value(property, stored(item, property.name)))
        elif not property.is_optional and not property.is_to_many:
            targets = store.context.fetch(store.destination(property), limit=2)
            item[property.name] = next((target for target in targets if target != item), None)


def populate(store: AppleStore) -> int:
    """Two objects of each entity without objects, as far as they can be inserted one by one."""
    before = dump(store.path)
    rows = set()
    for entity in store.entities():
        if store.first(entity) is not None:
            continue
        for _ in range(2):
            item = store.context.insert(entity)
            fill(store, item)
            try:
                store.context.save()
            except ValidationError:
                store.context.rollback()
                break
            rows.add(store.row(item))
    changes = data_changes(before, dump(store.path))
    assert {(change.table, change.key) for change in changes if change.kind == "new"} >= rows
    for change in changes:
        # Targets of required relationships have a new member.
        assert change.kind == "new" or "Z_OPT" in (change.columns or ())
    return len(rows)


def insert_and_delete(store: AppleStore) -> int:
    """One object of the first entity that can be inserted alone; it is deleted afterwards."""
    for entity in store.entities():
        properties = store.container.model[entity].properties.values()
        if any(each.is_relationship and not each.is_optional for each in properties):
            continue
        before = dump(store.path)
        item = store.context.insert(entity)
        fill(store, item)
        store.context.save()
        row = store.row(item)
        middle = dump(store.path)
        assert [(change.table, change.key, change.kind) for change in data_changes(before, middle)] == [(*row, "new")]
        assert middle[row]["Z_OPT"] == 1
        assert middle[row]["Z_ENT"] == store.numbers[entity]
        key = next(number for name, number in store.numbers.items() if "Z" + name.upper() == row[0])
        assert row[1] > (before["Z_PRIMARYKEY", key]["Z_MAX"] or 0)
        assert middle["Z_PRIMARYKEY", key]["Z_MAX"] == row[1]
        check_history(store, before, middle, {0: {row}, 1: set(), 2: set()})
        store.context.delete(item)
        store.context.save()
        after = dump(store.path)
        assert data_changes(before, after) == []
        assert after["Z_PRIMARYKEY", key]["Z_MAX"] == row[1]
        check_history(store, middle, after, {0: set(), 1: set(), 2: {row}})
        return 1
    return 0


def dangling(store: AppleStore, rows: Dump) -> set[tuple[str, Any, str]]:
    """Rows of to-one and join columns that lead to no row."""
    keys: dict[str, set[int]] = {}
    for table, key in rows:
        keys.setdefault(table, set()).add(key)
    found = set()
    tables = {number: store.table(name) for name, number in store.numbers.items() if number < 16000}
    for entity in store.container.model:
        table = store.table(entity)
        for property in store.container.model[entity].properties.values():
            if not property.is_relationship or property.is_to_many or property.is_transient:
                continue
            targets = keys.get(store.table(store.destination(property)), set())
            for (place, key), row in rows.items():
                if place == table and row["Z_ENT"] == store.numbers[entity]:
                    for column, value in row.items():
                        if column == "Z" + property.name.upper() and value is not None and value not in targets:
                            found.add((table, key, column))
    for (table, key), row in rows.items():
        if re.match(r"Z_\d+[A-Z]", table):
            for column, value in row.items():
                number = re.match(r"Z_(\d+)", column)
                if number and value not in keys.get(tables[int(number[1])], set()):
                    found.add((table, key, column))
    return found


@pytest.mark.parametrize("file", STORES, ids=[Path(file).stem for file in STORES])
def test_save_changes_only_the_required_rows_of_an_apple_store(file: str, tmp_path: Path) -> None:
    path = tmp_path / Path(file).name
    shutil.copyfile(FIXTURES / file, path)
    path.chmod(0o644)
    store = AppleStore(path)
    reason = store.container.read_only_reason
    if reason:
        store.container.close()
        pytest.skip(f"may not be written: {reason}")
    start = dump(path)
    loose = dangling(store, start)
    inserted = populate(store)
    counts = (change_attributes(store), change_relationships(store), insert_and_delete(store))
    assert dangling(store, dump(path)) <= loose
    values = {
        store.row(item): {
            name: stored(item, name)
            for name, each in store.container.model[entity].properties.items()
            if each.is_attribute and not each.is_transient
        }
        for entity in store.entities()
        for item in store.context.fetch(entity, limit=5)
    }
    store.container.close()
    again = AppleStore(path)
    for entity in again.entities():
        for item in again.context.fetch(entity, limit=5):
            for name, value in values.get(again.row(item), {}).items():
                assert stored(item, name) == value
    again.container.close()
    print(
        f"{file}: {inserted} objects inserted, {counts[0]} attributes and {counts[1]} relationships changed, "
        f"{counts[2]} object inserted and deleted"
    )
