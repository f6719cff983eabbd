"""Every store that Apple's framework wrote, read through the library and through an independent reader.

Stores whose rows were removed for publication, and all others too, are compared once more in a copy that is filled with
generated rows: every entity, every attribute, every relationship.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from apple_reader import REFERENCE, AppleStore, Relationship, decoder
from checkout import FIXTURES
from conftest import stored

import corestone
from corestone import Container, Model, ModelMismatchError
from corestone.object import object_id

STORES = sorted(path for path in (FIXTURES / "stores").glob("*/*") if path.is_file())

if not STORES and os.environ.get("CORESTONE_REQUIRE_FIXTURES") == "1":
    raise RuntimeError(f"no fixtures at {FIXTURES}; set CORESTONE_FIXTURES")
pytestmark = pytest.mark.skipif(not STORES, reason=f"no fixtures at {FIXTURES}; set CORESTONE_FIXTURES")

sources: Counter[str] = Counter()
totals: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def print_totals(pytestconfig: pytest.Config) -> Iterator[None]:
    yield
    capture = pytestconfig.pluginmanager.get_plugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        print("\nmodels: " + ", ".join(f"{count} {source}" for source, count in sorted(sources.items())))
        for kind in ("values", "to-one", "to-many"):
            print(f"{kind}: {totals[kind + ' equal']} of {totals[kind]} equal")


def state(folder: Path) -> dict[str, Any]:
    """Names, sizes, times and bytes of a folder's files."""
    found: dict[str, Any] = {".": folder.stat().st_mtime_ns}
    for file in sorted(folder.iterdir()):
        facts = file.stat()
        digest = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else ""
        found[file.name] = (facts.st_size, facts.st_mtime_ns, facts.st_ino, digest)
    return found


class Comparison:
    """What differs between the library and the independent reader, over a whole store."""

    def __init__(self, path: Path, container: Container, apple: AppleStore) -> None:
        self.container, self.apple = container, apple
        self.folder = path.parent / f".{path.stem}_SUPPORT" / "_EXTERNAL_DATA"
        self.differences: list[str] = []

    def check(self, kind: str, where: str, ours: Any, theirs: Any) -> None:
        totals[kind] += 1
        if ours == theirs and type(ours) is type(theirs):
            totals[kind + " equal"] += 1
        else:
            self.differences.append(f"{where}: {ours!r} instead of {theirs!r}")

    def run(self) -> None:
        context = self.container.context()
        model = self.apple.model
        for entity in model.parents:
            found = context.fetch(entity, include_subentities=False)
            objects = {key(item): item for item in found}
            rows = self.apple.rows(entity)
            assert set(objects) == set(rows), entity
            for number, row in rows.items():
                for each in model.lineage(entity):
                    self.compare_row(f"{entity} {number}", each, objects[number], row)
        for root in {model.root(entity) for entity in model.parents}:
            # All of a tree, by the entity that they are.
            ours = Counter((object_id(item).entity_name, key(item)) for item in context.fetch(root))
            theirs = Counter((each, number) for each in model.family(root) for number in self.apple.rows(each))
            assert ours == theirs, root

    def compare_row(self, where: str, entity: str, item: Any, row: dict[str, Any]) -> None:
        for attribute in self.apple.model.attributes[entity].values():
            theirs = self.apple.value(attribute, row[attribute.column], self.folder)
            self.check("values", f"{where}.{attribute.name}", stored(item, attribute.name), theirs)
        for relationship in self.apple.model.relationships[entity].values():
            ours = item[relationship.name]
            if relationship.is_to_many:
                keys = [key(member) for member in ours]
                theirs = self.apple.members(relationship, row["Z_PK"])
                self.check(
                    "to-many",
                    f"{where}.{relationship.name}",
                    keys if relationship.is_ordered else sorted(keys),
                    theirs,
                )
            else:
                target = row[relationship.column]
                concrete = self.apple.entity_of(relationship.destination, target) if target else None
                theirs_one = (concrete, target) if target else None
                ours_one = (object_id(ours).entity_name, key(ours)) if ours is not None else None
                self.check("to-one", f"{where}.{relationship.name}", ours_one, theirs_one)


def key(item: Any) -> int:
    return int(object_id(item).uri.rpartition("/p")[2])


def compare(path: Path, model: Model | None = None) -> str:
    """Compares one store; returns where its model came from."""
    with corestone.open(path, model) as container:
        source = container.model_source
        if source != "inferred":
            comparison = Comparison(path, container, AppleStore(path, decoder(FIXTURES)))
            comparison.run()
            assert comparison.differences == []
        else:
            compare_raw(path, container)
        return source


def compare_raw(path: Path, container: Container) -> None:
    """A store without a model that fits: each property is the column, or the table, of its name."""
    decode = decoder(FIXTURES)
    connection: sqlite3.Connection = decode.open_store(str(path))
    numbers = {number: name for name, number in connection.execute("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY")}
    tables = [row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    context = container.context()
    for entity in container.model:
        if container.model[entity].parent is not None:
            continue
        cursor = connection.execute(f"SELECT * FROM Z{entity.upper()}")
        names = [column[0] for column in cursor.description]
        rows = {row[0]: dict(zip(names, row)) for row in cursor}
        objects = {key(item): item for item in context.fetch(entity)}
        assert set(objects) == set(rows)
        properties = container.model[entity].properties
        for number, row in rows.items():
            item = objects[number]
            assert object_id(item).entity_name == numbers[row["Z_ENT"]]
            for name, found in properties.items():
                compare_raw_property(name, found, item, row, connection, tables)


def compare_raw_property(
    name: str, found: Any, item: Any, row: dict[str, Any], connection: sqlite3.Connection, tables: list[str]
) -> None:
    ours = stored(item, name)
    column = "Z" + name.upper()
    if not found.is_relationship:
        theirs = row[column]
        if isinstance(ours, datetime):
            theirs = REFERENCE + timedelta(seconds=theirs)
        elif ours is not None and not isinstance(ours, (str, bytes)):
            ours, theirs = float(ours), float(theirs)
        kind = "values"
    elif found.is_to_many:
        # Z_3TAGS (Z_3NOTES, Z_5TAGS): the column of the members has the relationship's name.
        kind, theirs = "to-many", []
        for table in tables:
            columns = [each[1] for each in connection.execute(f'PRAGMA table_info("{table}")')]
            keys = [each for each in columns if each.startswith("Z_") and not each.startswith("Z_FOK")]
            if not table.startswith("Z_") or len(keys) != 2:
                continue
            for member, owner in (keys, keys[::-1]):
                if member.lstrip("Z_0123456789") == name.upper() and "Z_PK" not in columns:
                    text = f"SELECT {member} FROM {table} WHERE {owner} = ?"
                    theirs += [each[0] for each in connection.execute(text, (row["Z_PK"],))]
        ours, theirs = sorted(key(member) for member in ours), sorted(theirs)
    else:
        kind, theirs = "to-one", row[column] or None
        ours = key(ours) if ours is not None else None
    totals[kind] += 1
    totals[kind + " equal"] += ours == theirs
    assert ours == theirs, f"{object_id(item).uri} {name}"


@pytest.mark.parametrize("path", STORES, ids=lambda path: str(path.relative_to(FIXTURES / "stores")))
def test_apple_store_reads_like_the_independent_reader(path: Path) -> None:
    before = state(path.parent)
    sources[compare(path)] += 1
    assert state(path.parent) == before


@pytest.mark.parametrize("path", STORES, ids=lambda path: str(path.relative_to(FIXTURES / "stores")))
def test_apple_store_filled_with_rows_reads_like_the_independent_reader(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    copy.chmod(0o644)
    chance = random.Random(str(path.relative_to(FIXTURES)))
    decode = decoder(FIXTURES)
    if decode.model_from_store(str(copy)) is None:
        fill_tables(copy, chance)
    else:
        apple = AppleStore(copy, decode)
        if not all(entity in apple.numbers for entity in apple.model.parents):
            pytest.skip("its model does not fit its tables, so nothing says what may be filled in")
        fill(copy, apple, chance)
    before = state(tmp_path)
    compare(copy)
    assert state(tmp_path) == before


def pairs() -> list[tuple[str, str]]:
    """Stores of the manifest with the source of the model that they may have been written with."""
    if not STORES:
        return []
    manifest = json.loads((FIXTURES / "manifest.json").read_text())
    return [(pair["compiled"], pair["source"]) for pair in manifest["pairs"] if pair["compiled"].startswith("stores/")]


@pytest.mark.parametrize(("store", "source"), pairs(), ids=lambda text: text.split("/", 2)[2])
def test_apple_store_opens_only_with_its_paired_source_model(store: str, source: str) -> None:
    """By the source of its model, when version hashes and tables say that it is the store's, and only then."""
    path = FIXTURES / store
    model = Model.load(FIXTURES / source)
    hashes = corestone.metadata(path)["NSStoreModelVersionHashes"]
    connection: sqlite3.Connection = decoder(FIXTURES).open_store(str(path))
    known = {name for (name,) in connection.execute("SELECT Z_NAME FROM Z_PRIMARYKEY")}
    before = state(path.parent)
    if hashes == {name: model[name].version_hash for name in model} and set(model) <= known:
        assert compare(path, model) == "given"
        sources["paired"] += 1
    else:
        with pytest.raises(ModelMismatchError) as raised:
            corestone.open(path, model)
        assert raised.value.entity in {*model, *hashes}
        sources["paired with another model, refused"] += 1
    assert state(path.parent) == before


# -------- filling -------------------------------------------------------------------------------------------------

ROWS = 3


def fill(path: Path, apple: AppleStore, chance: random.Random) -> None:
    """Rows of every entity, with values of every attribute and targets of every relationship."""
    apple.connection.close()
    database = sqlite3.connect(path)
    for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        database.execute(f'DROP TRIGGER "{name}"')
    for (name,) in database.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE UNIQUE%'").fetchall():
        database.execute(f'DROP INDEX "{name}"')
    model = apple.model
    keys: dict[str, list[int]] = {}
    for entity in model.parents:
        table = apple.table(entity)
        first = database.execute(f'SELECT coalesce(max(Z_PK), 0) FROM "{table}"').fetchone()[0] + 1
        keys[entity] = list(range(first, first + ROWS))
        for number in keys[entity]:
            text = f'INSERT INTO "{table}" (Z_PK, Z_ENT, Z_OPT) VALUES (?, ?, 1)'
            database.execute(text, (number, apple.numbers[entity]))
    for entity in model.parents:
        for number in keys[entity]:
            fill_row(database, apple, chance, entity, number, keys)
    fill_joins(database, apple, chance, keys)
    database.commit()
    database.execute("PRAGMA journal_mode = DELETE")
    database.close()
    apple.connection.close()


def fill_tables(path: Path, chance: random.Random) -> None:
    """The same without a model: columns indexed like a relationship refer to one of the new rows."""
    database = sqlite3.connect(path)
    numbers = {name.upper(): number for name, number in database.execute("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY")}
    indexes = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'index'")}
    codes = {"INTEGER": 200, "TIMESTAMP": 900, "FLOAT": 500, "DECIMAL": 400, "VARCHAR": 700}
    tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'Z%'").fetchall()
    for (table,) in tables:
        columns = [(row[1], row[2]) for row in database.execute(f"PRAGMA table_info({table})")]
        if table[1:] in numbers:
            database.execute(f"DELETE FROM {table}")
        elif not table.startswith("Z_") or columns[0][0] in ("Z_ENT", "Z_VERSION"):
            continue
        for number in range(1, ROWS + 1):
            row: dict[str, Any] = {}
            for name, kind in columns:
                if name == "Z_PK" or (table[1:] not in numbers and name == columns[0][0]):
                    row[name] = number
                elif name == "Z_ENT":
                    row[name] = numbers[table[1:]]
                elif table[1:] not in numbers or (f"{table}_{name}_INDEX" in indexes and kind == "INTEGER"):
                    row[name] = chance.randrange(1, ROWS + 1)
                else:
                    row[name] = value(codes.get(kind, 1000), False, chance)
            database.execute(
                f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", [*row.values()]
            )
    database.commit()
    database.close()


def fill_row(
    database: sqlite3.Connection,
    apple: AppleStore,
    chance: random.Random,
    entity: str,
    number: int,
    keys: dict[str, list[int]],
) -> None:
    values: dict[str, Any] = {}
    table = apple.table(entity)

    def target(destination: str) -> tuple[int, str]:
        concrete = chance.choice(apple.model.family(destination))
        return chance.choice(keys[concrete]), concrete

    for each in apple.model.lineage(entity):
        for attribute in apple.model.attributes[each].values():
            if attribute.column and chance.random() < 0.8:
                values[attribute.column] = value(attribute.code, attribute.is_external, chance)
        for relationship in apple.model.relationships[each].values():
            if relationship.is_to_many:
                continue
            if chance.random() < 0.8:
                values[relationship.column], concrete = target(relationship.destination)
                if relationship.target_column:
                    values[relationship.target_column] = apple.numbers[concrete]
            order = f"Z_FOK_{relationship.name.upper()}"
            if order in apple.columns[table]:
                values[order] = chance.randrange(1, 9) * 1024
    for owner in apple.model.parents:
        for relationship in apple.model.relationships[owner].values():
            leads_here = relationship.destination in apple.model.lineage(entity)
            if relationship.is_to_many and apple.model.inverse(relationship) is None and leads_here:
                name = apple._present(table, f"Z{apple.numbers[owner]}{relationship.name.upper()}")
                values[name] = target(owner)[0]
    if values:
        names = ", ".join(f'"{name}" = ?' for name in values)
        database.execute(f'UPDATE "{table}" SET {names} WHERE Z_PK = ?', (*values.values(), number))


def fill_joins(
    database: sqlite3.Connection, apple: AppleStore, chance: random.Random, keys: dict[str, list[int]]
) -> None:
    done: set[str] = set()
    for owner in apple.model.parents:
        for relationship in apple.model.relationships[owner].values():
            inverse = apple.model.inverse(relationship)
            if not relationship.is_to_many or inverse is None or not inverse.is_to_many:
                continue
            table, own, member = apple.join(relationship, inverse)
            if table in done:
                continue
            done.add(table)
            orders = [column for column in apple.columns[table] if column.startswith("Z_FOK_")]
            for _ in range(6):
                pair = [some_key(apple, chance, side, keys) for side in (inverse, relationship)]
                names = ", ".join([own, member, *orders])
                marks = ", ".join("?" * (2 + len(orders)))
                places = [chance.randrange(1, 9) * 1024 for _ in orders]
                database.execute(f'INSERT OR IGNORE INTO "{table}" ({names}) VALUES ({marks})', (*pair, *places))


def some_key(apple: AppleStore, chance: random.Random, side: Relationship, keys: dict[str, list[int]]) -> int:
    return chance.choice(keys[chance.choice(apple.model.family(side.destination))])


def value(code: int, is_external: bool, chance: random.Random) -> Any:
    bits = {100: 15, 200: 31, 300: 63}
    if code in bits:
        return chance.randrange(-(2 ** bits[code]), 2 ** bits[code])
    if code == 800:
        return chance.randrange(2)
    if code in (500, 600):
        return chance.uniform(-1e6, 1e6)
    if code == 400:
        return chance.choice([chance.randrange(10**6), chance.randrange(10**6) / 4])
    if code == 900:
        return float(chance.randrange(-(10**9), 10**9))
    if code in (700, 1200):
        return "".join(chance.choice("abc ÄéΩ漢🙂") for _ in range(chance.randrange(30)))
    data = bytes(chance.randrange(256) for _ in range(16 if code == 1100 else chance.randrange(60)))
    return b"\1" + data if is_external else data
