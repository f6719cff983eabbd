"""An independent reader of stores in Apple's layout.

It uses the sqlite3 module, the decoder beside the fixtures, and the rules of the format's description. It shares
nothing with the library but the file.
"""

from __future__ import annotations

import importlib.util
import re
import sqlite3
import sys
import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Optional

REFERENCE = datetime(2001, 1, 1, tzinfo=timezone.utc)
GROUPS = {100: 0, 200: 0, 300: 0, 800: 0, 500: 2, 600: 2, 900: 2, 400: 3, 700: 4, 1200: 5, 1100: 6, 1800: 7, 1000: 8}
EXTERNAL = 4


def decoder(fixtures: Path) -> Any:
    """tools/decode_model.py beside the fixtures."""
    path = fixtures.parent / "tools" / "decode_model.py"
    spec = importlib.util.spec_from_file_location("decode_model", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules.get("decode_model") or importlib.util.module_from_spec(spec)
    if "decode_model" not in sys.modules:
        sys.modules["decode_model"] = module
        spec.loader.exec_module(module)
    return module


@dataclass
class Attribute:
    name: str
    entity: str
    code: int
    is_external: bool
    column: str = ""


@dataclass
class Relationship:
    name: str
    entity: str
    destination: str
    inverse: Optional[str]
    is_to_many: bool
    is_ordered: bool
    column: str = ""  # of a to-one
    target_column: Optional[str] = None


class AppleModel:
    """The entities of the model that a store carries: parents, and own properties that are stored."""

    def __init__(self, root: Any, decode: Any) -> None:
        self.parents: dict[str, Optional[str]] = {}
        self.attributes: dict[str, dict[str, Attribute]] = {}
        self.relationships: dict[str, dict[str, Relationship]] = {}
        entities = decode.entities(root)
        for name, entity in entities.items():
            parent = entity.get("NSSuperentity")
            self.parents[name] = parent["NSEntityName"] if parent else None
            self.attributes[name], self.relationships[name] = {}, {}
            inherited = set(decode.kk(parent["NSProperties"])) if parent else set()
            for key, found in decode.kk(entity["NSProperties"]).items():
                if key in inherited or found.get("NSIsTransient") or "FetchedProperty" in found.cls:
                    continue
                if "Relationship" in found.cls:
                    self._add(name, key, found)
                elif "Attribute" in found.cls:
                    external = bool((found.get("NSFlagsKey") or 0) & EXTERNAL)
                    self.attributes[name][key] = Attribute(key, name, found.get("NSAttributeType") or 0, external)

    def _add(self, entity: str, name: str, found: Any) -> None:
        destination = found.get("_NSDestinationEntityName") or found["NSDestinationEntity"]["NSEntityName"]
        other = found.get("NSInverseRelationship")
        inverse = found.get("_NSInverseRelationshipName") or (other and other["NSPropertyName"])
        to_many = (found.get("NSMaxCount") or 0) != 1
        self.relationships[entity][name] = Relationship(
            name, entity, destination, inverse or None, to_many, bool(found.get("NSIsOrdered"))
        )

    def root(self, entity: str) -> str:
        parent = self.parents[entity]
        return entity if parent is None else self.root(parent)

    def lineage(self, entity: str) -> list[str]:
        parent = self.parents[entity]
        return [*([] if parent is None else self.lineage(parent)), entity]

    def family(self, entity: str) -> list[str]:
        return [name for name in self.parents if entity in self.lineage(name)]

    def relationship(self, entity: str, name: Optional[str]) -> Optional[Relationship]:
        found = [self.relationships[each][name] for each in self.lineage(entity) if name in self.relationships[each]]
        return found[-1] if found and name is not None else None

    def inverse(self, relationship: Relationship) -> Optional[Relationship]:
        return self.relationship(relationship.destination, relationship.inverse)


class AppleStore:
    """A store with the columns of its model's properties: of the given model, else of its cached model."""

    # Behind the name of a table that is read.
    hint = ""

    def __init__(self, path: Path, decode: Any, model: Optional[AppleModel] = None) -> None:
        self.connection: sqlite3.Connection = decode.open_store(str(path))
        self.model = model or AppleModel(decode.unarchive(decode.model_from_store(str(path)))[0], decode)
        self.numbers: dict[str, int] = dict(self.connection.execute("SELECT Z_NAME, Z_ENT FROM Z_PRIMARYKEY"))
        self.names = {number: name for name, number in self.numbers.items()}
        # By the names in their own SQL, which those beside it may contradict in a damaged file.
        tables = self.connection.execute("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'")
        self.columns: dict[str, list[str]] = {
            name: [row[1] for row in self.connection.execute(f'PRAGMA table_info("{name}")')]
            for (name,) in tables.fetchall()
        }
        for root in {self.model.root(name) for name in self.model.parents}:
            self._name_columns(root)

    def table(self, entity: str) -> str:
        return "Z" + self.model.root(entity).upper()

    def _name_columns(self, root: str) -> None:
        """Names in the order of emission: of equal ones the first stays plain, the next get 1, 2, 3 …"""
        seen: dict[str, int] = {}

        def take(name: str) -> str:
            seen[name] = seen.get(name, -1) + 1
            return name + (str(seen[name]) if seen[name] else "")

        family = sorted(self.model.family(root), key=lambda name: self.numbers.get(name, 0))
        for group in range(9):
            for entity in family:
                for _, attribute in sorted(self.model.attributes[entity].items()):
                    if GROUPS.get(attribute.code) == group:
                        attribute.column = take("Z" + attribute.name.upper())
                if group:
                    continue
                for _, relationship in sorted(self.model.relationships[entity].items()):
                    if relationship.is_to_many:
                        continue
                    relationship.column = take("Z" + relationship.name.upper())
                    if len(self.model.family(relationship.destination)) > 1:
                        number = self.numbers[relationship.destination]
                        relationship.target_column = self._present(
                            f"Z{self.model.root(entity).upper()}", f"Z{number}_{relationship.name.upper()}"
                        )

    def _present(self, table: str, name: str) -> str:
        """The column of that name, or of the same with another number."""
        if name in self.columns[table]:
            return name
        pattern = re.sub(r"^(Z_FOK_|Z_|Z)\d+", lambda match: match[1] + r"\d+", re.escape(name)) + r"\d*"
        found = [column for column in self.columns[table] if re.fullmatch(pattern, column)]
        assert len(found) == 1, f"{table} has no column {name}"
        return found[0]

    def rows(self, entity: str) -> dict[int, dict[str, Any]]:
        """The rows of exactly this entity, by primary key."""
        names = ["Z_PK"]
        for name in self.model.lineage(entity):
            names += [each.column for each in self.model.attributes[name].values()]
            names += [each.column for each in self.model.relationships[name].values()]
        names = [column for column in dict.fromkeys(names) if column]
        chosen = ", ".join(f'"{column}"' for column in names)
        cursor = self.connection.execute(
            f'SELECT {chosen} FROM "{self.table(entity)}"{self.hint} WHERE Z_ENT = ?', (self.numbers[entity],)
        )
        return {row[0]: dict(zip(names, row)) for row in cursor}

    def entity_of(self, entity: str, key: int) -> Optional[str]:
        """The concrete entity of a row; None if the row does not exist."""
        row = self.connection.execute(f'SELECT Z_ENT FROM "{self.table(entity)}" WHERE Z_PK = ?', (key,)).fetchone()
        return self.names.get(row[0]) if row else None

    def value(self, attribute: Attribute, raw: Any, folder: Path) -> Any:
        """What a host should see."""
        if raw is None:
            return None
        code = attribute.code
        if code == 800:
            return raw != 0
        if code == 900:
            return REFERENCE + timedelta(seconds=raw)
        if code == 400:
            return Decimal(repr(raw))
        if code in (500, 600):
            return float(raw)
        if code == 1100:
            return uuid.UUID(bytes=raw)
        if attribute.is_external and raw[:1] == b"\1":
            return raw[1:]
        if attribute.is_external and raw[:1] == b"\2":
            return (folder / raw[1:].rstrip(b"\0").decode()).read_bytes()
        return raw

    # -- to-many -------------------------------------------------------------------------------------------------

    def members(self, relationship: Relationship, key: int) -> list[int]:
        """Primary keys, in order when the relationship is ordered, else by key."""
        inverse = self.model.inverse(relationship)
        table = self.table(relationship.destination)
        if inverse is None:
            number = self.numbers[relationship.entity]
            column = self._present(table, f"Z{number}{relationship.name.upper()}")
            order = f"Z_FOK_{number}{relationship.name.upper()}"
        elif not inverse.is_to_many:
            column, order = inverse.column, f"Z_FOK_{inverse.name.upper()}"
        else:
            return self._joined(relationship, inverse, key)
        sort = f"{order}, Z_PK" if relationship.is_ordered else "Z_PK"
        rows = self.connection.execute(
            f'SELECT Z_PK FROM "{table}"{self.hint} WHERE {column} = ? ORDER BY {sort}', (key,)
        )
        return [row[0] for row in rows]

    def join(self, relationship: Relationship, inverse: Relationship) -> tuple[str, str, str]:
        """The table of a many-to-many relationship, its column of owners and its column of members."""
        sides = [relationship, inverse]
        names = [f"Z_{self.numbers[side.entity]}{side.name.upper()}" for side in sides]
        tables = [name for name in names if name in self.columns]
        assert tables, f"no table {' or '.join(names)}"
        table = tables[0]
        if inverse is relationship:
            member = next(
                column for column in self.columns[table] if re.fullmatch(r"Z_\d+" + inverse.name.upper(), column)
            )
            return table, "REFLEXIVE", member
        owner = self._present(table, f"Z_{self.numbers[relationship.entity]}{inverse.name.upper()}")
        member = self._present(table, f"Z_{self.numbers[inverse.entity]}{relationship.name.upper()}")
        return table, owner, member

    def _joined(self, relationship: Relationship, inverse: Relationship, key: int) -> list[int]:
        table, owner, member = self.join(relationship, inverse)
        if relationship.is_ordered:
            order = self._present(table, "Z_FOK_" + member[2:])
            text = f'SELECT {member} FROM "{table}"{self.hint} WHERE {owner} = ? ORDER BY {order}, {member}'
            return [row[0] for row in self.connection.execute(text, (key,))]
        found = {
            row[0]
            for row in self.connection.execute(f'SELECT {member} FROM "{table}"{self.hint} WHERE {owner} = ?', (key,))
        }
        if inverse is relationship:
            others = self.connection.execute(f'SELECT {owner} FROM "{table}"{self.hint} WHERE {member} = ?', (key,))
            found |= {row[0] for row in others}
        return sorted(found)
