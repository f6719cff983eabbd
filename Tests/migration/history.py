"""The persistent history of an SQLite store, read with plain `sqlite3`. No Corestone code.

Changed properties are decoded from their bits by the XML of the model.
"""

from __future__ import annotations

import random
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from source_models import Attribute, Entity, Relationship, SourceModel
from stored import connect

# What a change is.
INSERT, UPDATE, DELETE = 0, 1, 2
MIGRATOR = "com.apple.coredata.schemamigrator:"


@dataclass
class Change:
    transaction: int
    kind: int
    entity: str
    key: int
    #: The properties that an update changed.
    names: frozenset[str]
    #: The preserved values of a deleted object.
    tombstone: tuple[object, ...]


def slots(entity: Entity) -> list[str]:
    """The property for which each bit of a mask stands, from the most significant bit of the first byte on."""
    lineage = list(reversed(entity.lineage))

    def own(one: Entity) -> list[Attribute | Relationship]:
        return sorted((each for each in one.own if not each.is_transient), key=lambda each: each.name.encode())

    to_ones = [each for one in lineage for each in own(one) if isinstance(each, Relationship) and not each.is_to_many]
    found = []
    for each in to_ones:
        found += [each.name] * (2 if each.destination.children else 1)
    for each in to_ones:
        inverse = each.inverse
        if inverse is not None and inverse.is_to_many and inverse.is_ordered:
            found.append(each.name)
    found += [each.name for one in lineage for each in own(one) if isinstance(each, Attribute)]
    found += [each.name for one in lineage for each in own(one) if isinstance(each, Relationship) and each.is_to_many]
    return found


def decoded(mask: bytes, entity: Entity) -> frozenset[str]:
    names = slots(entity)
    assert len(mask) == max((len(names) + 7) // 8, 1), f"{len(mask)} bytes for {len(names)} slots of {entity.name}"
    bits = [place for place in range(len(mask) * 8) if mask[place // 8] & 0x80 >> place % 8]
    assert all(place < len(names) for place in bits), f"a bit of {entity.name} stands for nothing"
    return frozenset(names[place] for place in bits)


def changes(path: Path, model: SourceModel) -> dict[int, Change]:
    """By change ID."""
    names = {number: name for name, number in model.numbers().items()}
    with closing(connect(path)) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(ACHANGE)")]
        tombstones = "".join(f", {name}" for name in columns if name.startswith("ZTOMBSTONE"))
        rows = connection.execute(
            f"SELECT Z_PK, ZTRANSACTIONID, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZCOLUMNS{tombstones} FROM ACHANGE"
        )
        found = {}
        for key, transaction, kind, number, object_key, mask, *values in rows:
            entity = model.entities[names[number]]
            assert (mask is None) == (kind != UPDATE), f"change {key}"
            changed = frozenset[str]() if mask is None else decoded(mask, entity)
            found[key] = Change(transaction, kind, entity.name, object_key, changed, tuple(values))
        return found


def authors(path: Path) -> list[str | None]:
    """Of all transactions, the oldest first."""
    with closing(connect(path)) as connection:
        query = (
            "SELECT coalesce(t.ZAUTHOR, s.ZNAME) FROM ATRANSACTION t "
            "LEFT JOIN ATRANSACTIONSTRING s ON s.Z_PK = t.ZAUTHORTS ORDER BY t.Z_PK"
        )
        return [author for (author,) in connection.execute(query)]


def scramble(path: Path, model: SourceModel, seed: str) -> None:
    """Changes the bits of a store's updates, so that each property occurs.

    Among them are to-many relationships, whose changes Apple's framework notes with the owner.
    """
    chance = random.Random(seed)
    names = {number: name for name, number in model.numbers().items()}
    with closing(connect(path)) as connection:
        rows = connection.execute(
            f"SELECT Z_PK, ZENTITY, ZCOLUMNS FROM ACHANGE WHERE ZCHANGETYPE = {UPDATE}"
        ).fetchall()
        for key, number, mask in rows:
            bits = bytearray(mask)
            for place in range(len(slots(model.entities[names[number]]))):
                if chance.random() < 0.5:
                    bits[place // 8] ^= 0x80 >> place % 8
            connection.execute("UPDATE ACHANGE SET ZCOLUMNS = ? WHERE Z_PK = ?", (bytes(bits), key))
        connection.commit()
