"""The persistent history of an SQLite store, read with plain `sqlite3`. No Corestone code.

The rules are those of the format's description: names in the rows of transactions or in a table of their own, a mask
with a bit for each changed column, preserved values of deleted objects. They need the model, as the JSON that
`corestone model show --json` prints.

Usage: reader.py STORE MODEL.json
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

REFERENCE = datetime(2001, 1, 1, tzinfo=timezone.utc)
INSERT, UPDATE, DELETE = 0, 1, 2
NAMES = ("ZAUTHOR", "ZCONTEXTNAME", "ZBUNDLEID", "ZPROCESSID")


@dataclass(frozen=True)
class Change:
    number: int
    kind: int
    entity: str
    key: int
    #: The names of the properties that an update changed, in the order of their bits.
    properties: tuple[str, ...] = ()
    #: Of a deletion, the preserved values that are not null.
    tombstone: dict[str, Any] | None = None


@dataclass
class Transaction:
    number: int
    seconds: float
    author: str | None
    context_name: str | None
    bundle: str | None
    process: str | None
    changes: list[Change] = field(default_factory=list)


@dataclass
class History:
    identifier: str
    transactions: list[Transaction]
    #: Changes of entities that the model does not have.
    foreign: int = 0
    #: Masks whose length is not that of the entity's slots, and bits beyond the last slot.
    odd_masks: int = 0


class Entity:
    """An entity of the model, with the properties that it declares itself."""

    def __init__(self, described: Mapping[str, Any], entities: dict[str, Entity]) -> None:
        self.name: str = described["name"]
        self.parent: str | None = described["parent"]
        self._entities = entities
        self.attributes = [each for each in described["attributes"] if not each.get("transient")]
        self.relationships = {each["name"]: each for each in described["relationships"] if not each.get("transient")}
        self._slots: list[str] | None = None

    @property
    def lineage(self) -> list[Entity]:
        """From the root to this one."""
        above = self._entities[self.parent].lineage if self.parent is not None else []
        return [*above, self]

    @property
    def has_children(self) -> bool:
        return any(each.parent == self.name for each in self._entities.values())

    def _declared(self) -> list[Mapping[str, Any]]:
        """Relationships: the superentity's first, then by name."""
        return [
            each
            for one in self.lineage
            for each in sorted(one.relationships.values(), key=lambda each: each["name"].encode())
        ]

    def _is_sorted(self, relationship: Mapping[str, Any]) -> bool:
        """Whether a to-one relationship has a column with the place among the members of its inverse."""
        inverse = relationship.get("inverse")
        if inverse is None:
            return False
        for one in self._entities[relationship["destination"]].lineage:
            if inverse in one.relationships:
                other = one.relationships[inverse]
                return bool(other["toMany"] and other["ordered"])
        return False

    @property
    def slots(self) -> list[str]:
        """The property for which each bit of a mask stands, from the most significant bit of the first byte on."""
        if self._slots is None:
            to_ones = [each for each in self._declared() if not each["toMany"]]
            found: list[str] = []
            for each in to_ones:
                found += [each["name"]] * (2 if self._entities[each["destination"]].has_children else 1)
            found += [each["name"] for each in to_ones if self._is_sorted(each)]
            for one in self.lineage:
                found += sorted((path for path, _ in _leaves(one.attributes)), key=str.encode)
            found += [each["name"] for each in self._declared() if each["toMany"]]
            self._slots = found
        return self._slots

    @property
    def preserved(self) -> list[tuple[str, str]]:
        """Path and type of the attributes whose values stay in the history, in the order of the columns."""
        found = []
        for one in self.lineage:
            kept = [each for each in one.attributes if each.get("preservedInHistory")]
            kept = [each for each in kept if not each.get("externalStorage")]
            found += sorted(((path, leaf["type"]) for path, leaf in _leaves(kept)), key=lambda each: each[0].encode())
        return found


def _leaves(attributes: list[Mapping[str, Any]], prefix: str = "") -> list[tuple[str, Mapping[str, Any]]]:
    """Attributes by path: the elements of a composite attribute instead of the attribute itself."""
    found: list[tuple[str, Mapping[str, Any]]] = []
    for each in attributes:
        path = prefix + each["name"]
        found += _leaves(each["elements"], path + ".") if "elements" in each else [(path, each)]
    return found


def entities_of(model: Mapping[str, Any]) -> dict[str, Entity]:
    entities: dict[str, Entity] = {}
    for each in model["entities"]:
        entities[each["name"]] = Entity(each, entities)
    return entities


def value(stored: Any, kind: str) -> Any:
    """The decoded value; None if the stored value does not fit the type."""
    number = stored if isinstance(stored, (int, float)) else None
    if kind.startswith("Integer"):
        return None if number is None else int(number)
    if kind == "Boolean":
        return None if number is None else bool(number)
    if kind in ("Double", "Float"):
        return None if number is None else float(number)
    if kind == "Date":
        return None if number is None else REFERENCE + timedelta(0, float(number))
    if kind == "Decimal":
        return Decimal(repr(stored) if isinstance(stored, float) else stored) if not isinstance(stored, bytes) else None
    if kind in ("String", "URI"):
        return stored if isinstance(stored, str) else None
    if kind == "UUID":
        return UUID(bytes=stored) if isinstance(stored, bytes) and len(stored) == 16 else None
    return stored if isinstance(stored, bytes) else None


def columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in database.execute(f'PRAGMA table_info("{table}")')}


def connect(path: Path, immutable: bool = False) -> sqlite3.Connection:
    """Opens a store for reading; `immutable` for one that must not get a -shm file beside it."""
    return sqlite3.connect(f"file:{path}?mode=ro{'&immutable=1' if immutable else ''}", uri=True)


def read(path: Path, model: Mapping[str, Any], immutable: bool = False) -> History:
    """Reads the whole history of a store; no transactions for a store without one."""
    with closing(connect(path, immutable)) as database:
        database.execute("BEGIN")
        return _read(database, entities_of(model))


def _read(database: sqlite3.Connection, entities: dict[str, Entity]) -> History:
    (identifier,) = database.execute("SELECT Z_UUID FROM Z_METADATA").fetchone()
    history = History(identifier, [])
    here, there = columns(database, "ATRANSACTION"), columns(database, "ACHANGE")
    if not here or not there:
        return history
    strings = {}
    if columns(database, "ATRANSACTIONSTRING"):
        strings = dict(database.execute("SELECT Z_PK, ZNAME FROM ATRANSACTIONSTRING"))

    def name(row: sqlite3.Row, column: str) -> str | None:
        inline = row[column] if column in here else None
        reference = row[column + "TS"] if column + "TS" in here else None
        found: str | None = inline if inline is not None else strings.get(reference)
        return found

    database.row_factory = sqlite3.Row
    by_number: dict[int, Transaction] = {}
    for row in database.execute("SELECT * FROM ATRANSACTION ORDER BY Z_PK"):
        author, context_name, bundle, process = (name(row, column) for column in NAMES)
        found = Transaction(row["Z_PK"], row["ZTIMESTAMP"], author, context_name, bundle, process)
        by_number[found.number] = found
        history.transactions.append(found)
    numbers = {row["Z_ENT"]: row["Z_NAME"] for row in database.execute("SELECT Z_ENT, Z_NAME FROM Z_PRIMARYKEY")}
    for row in database.execute("SELECT * FROM ACHANGE ORDER BY Z_PK"):
        entity = entities.get(numbers.get(row["ZENTITY"], ""))
        if entity is None:
            history.foreign += 1
            continue
        kind: int = row["ZCHANGETYPE"]
        properties: tuple[str, ...] = ()
        tombstone: dict[str, Any] | None = None
        if kind == UPDATE and "ZCOLUMNS" in there and row["ZCOLUMNS"] is not None:
            properties = _properties(row["ZCOLUMNS"], entity, history)
        if kind == DELETE:
            tombstone = {}
            for place, (path, form) in enumerate(entity.preserved):
                column = f"ZTOMBSTONE{place}"
                kept = row[column] if column in there else None
                plain = None if kept is None else value(kept, form)
                if plain is not None:
                    tombstone[path] = plain
        change = Change(row["Z_PK"], kind, entity.name, row["ZENTITYPK"], properties, tombstone)
        by_number[row["ZTRANSACTIONID"]].changes.append(change)
    return history


def _properties(mask: bytes, entity: Entity, history: History) -> tuple[str, ...]:
    slots = entity.slots
    places = [place for place in range(len(mask) * 8) if mask[place // 8] & 0x80 >> place % 8]
    if len(mask) != (len(slots) + 7) // 8 or any(place >= len(slots) for place in places):
        history.odd_masks += 1
    # Slots for an entity's number and for a sort key fold into their relationship.
    return tuple(dict.fromkeys(slots[place] for place in places if place < len(slots)))


def main() -> None:
    store, model = map(Path, sys.argv[1:])
    history = read(store, json.loads(model.read_text(encoding="utf-8")))
    print(json.dumps(asdict(history), indent=1, default=str))


if __name__ == "__main__":
    main()
