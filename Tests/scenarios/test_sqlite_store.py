"""Scenarios of SQLite stores: values after reopening, the file format, and destruction."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from corestone import Model
from host_places import HOST_TYPES

REFERENCE = datetime(2001, 1, 1, tzinfo=timezone.utc)


def staff() -> Model:
    return Model(
        {
            "Employee": {
                "name": "string?",
                "salary": "int32?",
                "hireDate": "date?",
                "department": "to-one Department? inverse employees",
            },
            "Department": {"name": "string?", "employees": "to-many Employee inverse department"},
        }
    )


def save_staff(opened: Any) -> Any:
    container = opened(staff())
    context = container.context()
    engineering = context.insert("Department", name="Engineering")
    hired = REFERENCE + timedelta(seconds=1000)
    context.insert("Employee", name="Alice", salary=9, hireDate=hired, department=engineering)
    context.insert("Employee", name="Bob", salary=5)
    context.save()
    return container


def column(store: Path, sql: str) -> list[Any]:
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True) as database:
        return [row[0] for row in database.execute(sql)]


@pytest.mark.needs_file("it reads the store again from its file")
def test_s266_values_and_nils_round_trip(opened: Any) -> None:
    save_staff(opened).close()
    alice, bob = opened(staff()).context().fetch("Employee", sort="name")
    assert (alice.name, alice.salary, alice.department.name) == ("Alice", 9, "Engineering")
    assert abs(alice.hireDate - REFERENCE - timedelta(seconds=1000)) < timedelta(milliseconds=1)
    assert (bob.name, bob.salary, bob.hireDate, bob.department) == ("Bob", 5, None, None)


def test_s269_object_uri_has_the_store_uuid_and_the_primary_key(opened: Any, store_type: str) -> None:
    save_staff(opened).close()
    container = opened(staff())
    context = container.context()
    for item in context.fetch("Employee"):
        scheme, _, rest = item.id.uri.partition("://")
        host, entity, key = rest.split("/")
        assert (scheme, host, entity) == ("x-coredata", container.store.identifier, "Employee")
        assert key[0] == "p"
        assert str(item.id.reference) == key[1:]
        # The keys of a host's own store are what it makes them.
        assert store_type in HOST_TYPES or int(key[1:]) > 0
        assert container.object_id(item.id.uri) == item.id
        assert context.get(item.id.uri) == item


@pytest.mark.needs_sqlite("it looks at SQLite's tables")
def test_s272_entity_tree_shares_one_table(opened: Any, store: Path) -> None:
    model = Model({"Person": {"name": "string?"}, "Manager": {"@parent": "Person", "reports": "int32?"}})
    container = opened(model)
    context = container.context()
    context.insert("Person", name="Ada")
    context.insert("Manager", name="Grace", reports=3)
    context.save()
    container.close()
    tables = column(store, "SELECT name FROM sqlite_master WHERE type = 'table'")
    assert "ZPERSON" in tables
    assert "ZMANAGER" not in tables
    columns = column(store, "SELECT name FROM pragma_table_info('ZPERSON')")
    assert {"Z_PK", "Z_ENT", "Z_OPT", "ZNAME", "ZREPORTS"} <= set(columns)
    assert "Z_PK INTEGER PRIMARY KEY" in column(store, "SELECT sql FROM sqlite_master WHERE name = 'ZPERSON'")[0]
    for table, expected in {
        "Z_PRIMARYKEY": ["Z_ENT", "Z_NAME", "Z_SUPER", "Z_MAX"],
        "Z_METADATA": ["Z_VERSION", "Z_UUID", "Z_PLIST"],
    }.items():
        assert column(store, f"SELECT name FROM pragma_table_info('{table}')") == expected
    assert len(column(store, "SELECT DISTINCT Z_ENT FROM ZPERSON")) == 2


@pytest.mark.needs_sqlite("it looks at SQLite's tables")
def test_s274_each_update_increments_the_version(opened: Any, store: Path) -> None:
    context = save_staff(opened).context()
    alice = context.first("Employee", "name == 'Alice'")
    versions = []
    for salary in (10, 11, 12):
        versions += column(store, "SELECT Z_OPT FROM ZEMPLOYEE WHERE ZNAME = 'Alice'")
        alice.salary = salary
        context.save()
    versions += column(store, "SELECT Z_OPT FROM ZEMPLOYEE WHERE ZNAME = 'Alice'")
    assert versions == [versions[0] + count for count in range(4)]


@pytest.mark.needs_sqlite("it looks at SQLite's tables")
def test_s277_destroying_empties_the_store_and_keeps_its_file(opened: Any, store: Path) -> None:
    container = save_staff(opened)
    assert store.with_name(store.name + "-shm").exists()
    assert container.coordinator.destroy_store(store)
    assert store.exists()
    assert column(store, "SELECT count(*) FROM sqlite_master") == [0]
    container.close()
    again = opened(staff())
    assert again.context().count("Employee") == 0
    again.close()
    assert again.coordinator.destroy_store(store)
    for suffix in ("", "-wal", "-shm"):
        store.with_name(store.name + suffix).unlink(missing_ok=True)
    assert list(store.parent.iterdir()) == []
    assert not again.coordinator.destroy_store(store)


@pytest.mark.needs_file("it reads the store again from its file")
def test_s280_relationships_to_an_abstract_entity_load_concrete_objects(opened: Any) -> None:
    def model() -> Model:
        return Model(
            {
                "Parent": {
                    "@abstract": True,
                    "root": "to-one Root? inverse oneToMany",
                    "rootOfOne": "to-one Root? inverse oneToOne",
                    "roots": "to-many Root inverse manyToMany",
                },
                "ChildA": {
                    "@parent": "Parent",
                    "attributeA": "string",
                    "several": "to-one Root? inverse multipleOneToManyChildA",
                },
                "ChildB": {
                    "@parent": "Parent",
                    "attributeB": "string",
                    "several": "to-one Root? inverse multipleOneToManyChildB",
                },
                "Root": {
                    "name": "string",
                    "oneToMany": "to-many Parent inverse root",
                    "oneToOne": "to-one Parent? inverse rootOfOne",
                    "manyToMany": "to-many Parent inverse roots",
                    "multipleOneToManyChildA": "to-many ChildA inverse several",
                    "multipleOneToManyChildB": "to-many ChildB inverse several",
                },
            }
        )

    container = opened(model())
    context = container.context()

    def a(count: int) -> list[Any]:
        return [context.insert("ChildA", attributeA=str(number)) for number in range(count)]

    def b(count: int) -> list[Any]:
        return [context.insert("ChildB", attributeB=str(number)) for number in range(count)]

    roots = [context.insert("Root", name=name) for name in ("one", "two")]
    shared = a(2) + b(3)
    for root in roots:
        root.manyToMany = shared
    roots[0].oneToMany = a(2) + b(1)
    roots[0].oneToOne = a(1)[0]
    roots[0].multipleOneToManyChildA = a(1)
    roots[0].multipleOneToManyChildB = b(2)
    context.save()
    container.close()

    def kinds(members: Any) -> tuple[int, int]:
        names = [member.entity_name for member in members]
        return names.count("ChildA"), names.count("ChildB")

    container = opened(model())
    context = container.context()
    one, two = context.fetch("Root", sort="name")
    assert kinds(one.oneToMany) == (2, 1)
    assert one.oneToOne.entity_name == "ChildA"
    assert one.oneToOne.attributeA == "0"
    assert kinds(one.manyToMany) == kinds(two.manyToMany) == (2, 3)
    assert kinds(one.multipleOneToManyChildA) == (1, 0)
    assert kinds(one.multipleOneToManyChildB) == (0, 2)
    for root in (one, two):
        root.manyToMany = []
    context.save()
    context.reset()
    assert [len(root.manyToMany) for root in context.fetch("Root", sort="name")] == [0, 0]


@pytest.mark.needs_sqlite("it looks at SQLite's tables")
def test_s273_entities_are_numbered_before_their_subentities(opened: Any, store: Path) -> None:
    """A port numbers entities by name alone; 24 of 25 files of Apple's framework with inheritance have this order."""
    container = opened(Model({"Person": {"name": "string?"}, "Manager": {"@parent": "Person", "reports": "int32?"}}))
    context = container.context()
    person = context.insert("Person", name="Ada")
    context.save()
    manager = context.insert("Manager", name="Grace")
    context.save()
    # Both keys come from the root entity.
    assert [person.id.reference, manager.id.reference] == [1, 2]
    container.close()
    with closing(sqlite3.connect(store)) as connection:
        rows = connection.execute("SELECT Z_NAME, Z_ENT, Z_SUPER, Z_MAX FROM Z_PRIMARYKEY ORDER BY Z_ENT").fetchall()
    assert rows == [("Person", 1, 0, 2), ("Manager", 2, 1, 0)]
