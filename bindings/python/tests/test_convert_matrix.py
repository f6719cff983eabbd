"""Every store that Apple's framework wrote, converted to every type of store and back.

Each is converted as it is, and once more filled with generated rows (test_apple_stores.py): to XML, to a binary store,
to one in memory, and from there to SQLite. After each step all objects are read through the library and compared with
what the store had before; the SQLite store at the end is compared with what an independent reader finds in its file,
too. Prints a table of fixtures and types, with the number of values that were compared.
"""

from __future__ import annotations

import random
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from apple_reader import AppleStore, decoder
from checkout import FIXTURES
from test_apple_stores import STORES, compare, fill, fill_tables
from xml_reader import graph

import corestone
from corestone import ConflictError, Container, UnsupportedError

TYPES = ["XML", "Binary", "InMemory", "SQLite"]

pytestmark = pytest.mark.skipif(not STORES, reason=f"no fixtures at {FIXTURES}; set CORESTONE_FIXTURES")

#: By store: what stands in each column.
table: dict[str, list[str]] = {}
totals: Counter[str] = Counter()


@pytest.fixture(scope="module", autouse=True)
def print_table(pytestconfig: pytest.Config) -> Iterator[None]:
    yield
    capture = pytestconfig.pluginmanager.get_plugin("capturemanager")
    assert capture is not None
    with capture.global_and_fixture_disabled():
        width = max(len(name) for name in table) if table else 0
        print(f"\n{'fixture':{width}}" + "".join(f"{kind:>10}" for kind in TYPES) + "  values")
        for name, cells in table.items():
            print(f"{name:{width}}" + "".join(f"{cell:>10}" for cell in cells[:-1]) + f"  {cells[-1]}")
        print(f"objects: {totals['objects']}, values compared: {totals['compared']}, equal: {totals['equal']}")


def values(found: dict[str, list[Any]]) -> int:
    return sum(len(each) for items in found.values() for _, each in items)


def name_of(path: Path) -> str:
    return str(path.relative_to(FIXTURES / "stores"))


def equal_values(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> int:
    """How many values are the same in both, object by object."""
    count = 0
    for root, items in before.items():
        for (entity, wanted), (other, found) in zip(items, after.get(root, [])):
            if entity == other:
                count += sum(1 for key, value in wanted.items() if key in found and found[key] == value)
    return count


def stored(container: Container, is_generated: bool) -> dict[str, list[Any]]:
    """The content of a store; without the derived values of generated rows, which were never computed."""
    found = graph(container)
    if not is_generated:
        return found
    derived = {
        (entity, name)
        for entity in container.model
        for name, described in container.model[entity].properties.items()
        if not described.is_relationship and not described.is_fetched and described.is_derived
    }
    return {
        root: [
            (entity, {key: value for key, value in each.items() if (entity, key) not in derived})
            for entity, each in items
        ]
        for root, items in found.items()
    }


def make_unique(path: Path, apple: AppleStore) -> None:
    """Generated values know nothing of unique constraints, and nothing in the file kept them."""
    for _ in range(20):
        with corestone.open(path) as container:
            try:
                container.coordinator.migrate_store(container.store, path.with_suffix(".try"), type="SQLite")
            except ConflictError as error:
                entity, key = str(error.entity), str(error.key)
            else:
                break
        attributes = [apple.model.attributes[each].get(key) for each in apple.model.lineage(entity)]
        column = next(each.column for each in attributes if each is not None)
        with sqlite3.connect(path) as database:
            database.execute(f"UPDATE {apple.table(entity)} SET {column} = 'unique ' || Z_PK")
        database.close()
    path.with_suffix(".try").unlink(missing_ok=True)


def convert(path: Path, folder: Path, name: str, is_generated: bool = False) -> None:
    """One row of the table."""
    with corestone.open(path) as container:
        before = stored(container, is_generated)
        count = values(before)
        totals["objects"] += sum(len(items) for items in before.values())
        row: list[str] = []
        table[name] = row
        for kind in TYPES:
            place = folder / f"converted.{kind.lower()}"
            try:
                new = container.coordinator.migrate_store(container.store, place, type=kind)
            except UnsupportedError as error:
                # By nature: only SQLite computes derived attributes.
                if "derived" not in str(error):
                    raise
                row.append("derived")
                continue
            container.store = new
            after = stored(container, is_generated)
            totals["compared"] += count
            equal = equal_values(before, after)
            totals["equal"] += equal
            row.append("equal" if after == before else f"{equal} of {count}")
            assert after == before, f"{name} as {kind}"
        row.append(str(count))
        source = container.model_source
    # The same rows for an independent reader.
    if source != "inferred":
        compare(folder / "converted.sqlite")


@pytest.mark.parametrize("path", STORES, ids=name_of)
def test_apple_store_converts_to_every_type_and_back(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    convert(copy, tmp_path, name_of(path))


@pytest.mark.parametrize("path", STORES, ids=name_of)
def test_apple_store_filled_with_rows_converts_to_every_type_and_back(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / path.name
    shutil.copy(path, copy)
    copy.chmod(0o644)
    chance = random.Random(name_of(path))
    decode = decoder(FIXTURES)
    if decode.model_from_store(str(copy)) is None:
        fill_tables(copy, chance)
    else:
        apple = AppleStore(copy, decode)
        if not all(entity in apple.numbers for entity in apple.model.parents):
            pytest.skip("its model does not fit its tables, so nothing says what may be filled in")
        fill(copy, apple, chance)
        make_unique(copy, apple)
    convert(copy, tmp_path, name_of(path) + ", filled", is_generated=True)
