"""The objects in an SQLite store, read with plain `sqlite3` according to the XML of the model. No Corestone code."""

from __future__ import annotations

import plistlib
import re
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from source_models import Attribute, Entity, Relationship, SourceModel

# Groups of columns, in their order in a table.
GROUPS = {
    "Integer 16": 0, "Integer 32": 0, "Integer 64": 0, "Boolean": 0, "Double": 2, "Float": 2, "Date": 2, "Decimal": 3,
    "String": 4, "URI": 5, "UUID": 6, "Transformable": 7, "Binary": 8,
}  # fmt: skip


@dataclass
class Object:
    entity: str
    version: int
    values: dict[str, object] = field(default_factory=dict)
    #: By relationship, the members in their order; of a to-one relationship none or one.
    members: dict[str, list[tuple[str, int]]] = field(default_factory=dict)


#: By the name of the root's entity and the primary key.
Objects = dict[tuple[str, int], Object]


class Layout:
    """Names of tables and columns as a fresh store of the model has them."""

    def __init__(self, model: SourceModel) -> None:
        self.model = model
        self.numbers = model.numbers()
        self.columns: dict[tuple[str, str], str] = {}
        for root in model.roots:
            self._name_columns(root)

    def table(self, entity: Entity) -> str:
        return "Z" + entity.root.name.upper()

    def _name_columns(self, root: Entity) -> None:
        wanted: list[tuple[int, int, int, str, Entity]] = []
        for place, entity in enumerate(root.family()):
            for each in entity.own:
                if each.is_transient:
                    continue
                if isinstance(each, Attribute):
                    wanted.append((GROUPS[each.type], place, 0, each.name, entity))
                elif not each.is_to_many:
                    wanted.append((0, place, 1, each.name, entity))
        taken = {"Z_PK", "Z_ENT", "Z_OPT"}
        for _, _, _, name, entity in sorted(wanted, key=lambda each: each[:4]):
            column, number = "Z" + name.upper(), 0
            while column in taken:
                number += 1
                column = f"Z{name.upper()}{number}"
            taken.add(column)
            self.columns[entity.name, name] = column

    def column(self, each: Attribute | Relationship) -> str:
        return self.columns[each.entity.name, each.name]

    def links(self, relationship: Relationship) -> str:
        """A query of owner, member, sort key."""
        inverse, name = relationship.inverse, relationship.name.upper()
        if not relationship.is_to_many:
            return f"SELECT Z_PK, {self.column(relationship)}, 0 FROM {self.table(relationship.entity)}"
        if inverse is None:
            column = f"{self.numbers[relationship.entity.name]}{name}"
            order = f"Z_FOK_{column}" if relationship.is_ordered else "0"
            return f"SELECT Z{column}, Z_PK, {order} FROM {self.table(relationship.destination)}"
        if not inverse.is_to_many:
            order = f"Z_FOK_{inverse.name.upper()}" if relationship.is_ordered else "0"
            return f"SELECT {self.column(inverse)}, Z_PK, {order} FROM {self.table(inverse.entity)}"
        raise AssertionError("pairs in a table of their own")

    def join(self, relationship: Relationship, inverse: Relationship, tables: dict[str, list[str]]) -> str:
        """As `links`, for a relationship whose pairs are in a table of their own, which either side may name.

        A number distinguishes columns of one name in two such tables.
        """
        own, other = self.numbers[relationship.entity.name], self.numbers[inverse.entity.name]
        name, back = relationship.name.upper(), inverse.name.upper()
        for table in (f"Z_{own}{name}", f"Z_{other}{back}"):
            columns = tables.get(table, [])
            members = [column for column in columns if re.fullmatch(f"Z_{other}{name}\\d*", column)]
            owners = [column for column in columns if re.fullmatch(f"Z_{own}{back}\\d*|REFLEXIVE", column)]
            found = [(one, two) for one in owners for two in members if one != two]
            if found:
                (owner, member), *_ = found
                order = f"Z_FOK_{member[2:]}" if relationship.is_ordered else "0"
                return f'SELECT {owner}, {member}, {order} FROM "{table}"'
        raise AssertionError(f"{relationship.entity.name}.{relationship.name}: no table has its pairs")


def connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.text_factory = lambda data: data.decode("utf-8", "surrogateescape")
    return connection


def hashes(path: Path) -> dict[str, bytes]:
    """The version hashes in the metadata of a store."""
    with closing(connect(path)) as connection:
        (data,) = connection.execute("SELECT Z_PLIST FROM Z_METADATA").fetchone()
    found: dict[str, bytes] = plistlib.loads(data)["NSStoreModelVersionHashes"]
    return found


class StoreReader:
    """Reads all objects of a store whose model is known."""

    def __init__(self, path: Path, model: SourceModel) -> None:
        self.path, self.model, self.layout = path, model, Layout(model)
        self.external = path.parent / f".{path.stem}_SUPPORT" / "_EXTERNAL_DATA"

    def read(self) -> Objects:
        with closing(connect(self.path)) as connection:
            self.connection = connection
            self._check_numbers()
            objects: Objects = {}
            for root in self.model.roots:
                self._read_tree(root, objects)
            for entity in self.model.entities.values():
                for each in entity.own:
                    if isinstance(each, Relationship) and not each.is_transient:
                        self._read_links(each, objects)
        return objects

    def _check_numbers(self) -> None:
        found = self.connection.execute("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY WHERE Z_ENT < 16000")
        assert dict(found) == self.layout.numbers, "numbers of entities"

    def _read_tree(self, root: Entity, objects: Objects) -> None:
        names = {number: name for name, number in self.layout.numbers.items()}
        self.connection.row_factory = sqlite3.Row
        for row in self.connection.execute(f'SELECT * FROM "{self.layout.table(root)}"'):
            entity = self.model.entities[names[row["Z_ENT"]]]
            found = objects[root.name, row["Z_PK"]] = Object(entity.name, row["Z_OPT"])
            for each in entity.properties().values():
                if isinstance(each, Attribute):
                    found.values[each.name] = self._value(row[self.layout.column(each)], each)
                else:
                    found.members[each.name] = []
            columns = {self.layout.column(each) for each in entity.properties().values() if _has_column(each)}
            for other in root.family():
                for each in other.own:
                    if _has_column(each) and self.layout.column(each) not in columns:
                        assert row[self.layout.column(each)] is None, (
                            f"{other.name}.{each.name} in a row of {entity.name}"
                        )
        self.connection.row_factory = None

    def _value(self, value: object, attribute: Attribute) -> object:
        """The value; of an external value, the content of its file."""
        if not attribute.is_external or not isinstance(value, bytes) or not value:
            return value
        if value[0] == 1:
            return value[1:]
        assert value[0] == 2 and len(value) == 38, f"{attribute.name}: {value[:40]!r}"
        return (self.external / value[1:37].decode()).read_bytes()

    def _read_links(self, relationship: Relationship, objects: Objects) -> None:
        inverse = relationship.inverse
        is_joined = relationship.is_to_many and inverse is not None and inverse.is_to_many
        if is_joined and inverse is not None:
            query = self.layout.join(relationship, inverse, self._tables())
        else:
            query = self.layout.links(relationship)
        own, other = relationship.entity.root.name, relationship.destination.root.name
        found: dict[int, list[tuple[object, int]]] = {}
        for owner, member, order in self.connection.execute(query):
            if owner is not None and member is not None:
                found.setdefault(owner, []).append((order if order is not None else -1, member))
        for owner, members in found.items():
            holder = objects[own, owner]
            assert relationship.name in holder.members, f"{relationship.name} of {holder.entity}"
            for _, member in sorted(members, key=lambda each: (float(str(each[0])), each[1])):
                assert (other, member) in objects, (
                    f"{relationship.name} of {own} {owner} leads to {other} {member}: no row"
                )
                holder.members[relationship.name].append((other, member))

    def _tables(self) -> dict[str, list[str]]:
        """The columns of each table."""
        names = [name for (name,) in self.connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: [row[1] for row in self.connection.execute(f'PRAGMA table_info("{name}")')] for name in names}


def _has_column(each: Attribute | Relationship) -> bool:
    return not each.is_transient and (isinstance(each, Attribute) or not each.is_to_many)


def schema(path: Path) -> dict[str, object]:
    """Tables with their columns, indexes, triggers and entities: equal for two stores of one model."""
    with closing(connect(path)) as connection:
        rows = connection.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL"
        ).fetchall()
        found: dict[str, object] = {}
        for kind, name, table, text in rows:
            if kind == "table":
                columns = connection.execute(f'PRAGMA table_info("{name}")').fetchall()
                is_joined = re.match(r"Z_\d", name) is not None
                found[f"table {name}"] = sorted((row[1], row[2], is_joined or row[5]) for row in columns)
                if is_joined:
                    found[f"first columns of {name}"] = first_columns(connection, name)
            elif not re.match(r"Z_\d", table):
                found[f"{kind} {name}"] = (table, text.replace('"', ""))
        found["entities"] = sorted(connection.execute("SELECT Z_ENT, Z_NAME, Z_SUPER FROM Z_PRIMARYKEY"))
        return found


def first_columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """By which columns a table of pairs can be searched; its key and its indexes are in any order."""
    found = {row[1] for row in connection.execute(f'PRAGMA table_info("{table}")') if row[5] == 1}
    for index in connection.execute(f'PRAGMA index_list("{table}")').fetchall():
        found |= {row[2] for row in connection.execute(f'PRAGMA index_info("{index[1]}")') if row[0] == 0}
    return found


def highest_keys(path: Path) -> dict[str, int]:
    with closing(connect(path)) as connection:
        return dict(connection.execute("SELECT Z_NAME, Z_MAX FROM Z_PRIMARYKEY WHERE Z_SUPER = 0"))
