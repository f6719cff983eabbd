"""A reader of binary stores made after docs/BINARY-STORE.md. It shares nothing with the library but that page."""

from __future__ import annotations

import plistlib
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

from corestone import URL

EPOCH = datetime(2001, 1, 1, tzinfo=timezone.utc)
Rows = dict[tuple[str, int], dict[str, Any]]


def content(file: bytes) -> dict[str, Any]:
    """The content that the checksum covers."""
    top = plistlib.loads(file)
    if top["CorestoneBinaryStore"] != 1:
        raise ValueError("not version 1")
    if top["checksum"] != zlib.crc32(top["content"]):
        raise ValueError("wrong checksum")
    found = plistlib.loads(top["content"])
    assert isinstance(found, dict)
    return found


def file(content: bytes) -> bytes:
    """A complete file around any property list."""
    top = {"CorestoneBinaryStore": 1, "checksum": zlib.crc32(content), "content": content}
    return plistlib.dumps(top, fmt=plistlib.FMT_BINARY)


def numbers(data: bytes) -> list[int]:
    return list(struct.unpack(f"<{len(data) // 8}q", data))


def packed(values: list[int]) -> bytes:
    return struct.pack(f"<{len(values)}q", *values)


def decimal(data: bytes) -> Decimal:
    mantissa, exponent, is_negative = int.from_bytes(data[:16], "little"), data[16], data[17]
    digits = tuple(int(digit) for digit in str(mantissa))
    return Decimal((1 if is_negative else 0, digits, exponent - 256 if exponent > 127 else exponent))


WIDTHS: dict[str, tuple[int, Callable[[bytes], Any]]] = {
    "bool": (1, lambda data: data[0] != 0),
    "int16": (2, lambda data: struct.unpack("<h", data)[0]),
    "int32": (4, lambda data: struct.unpack("<i", data)[0]),
    "int64": (8, lambda data: struct.unpack("<q", data)[0]),
    "double": (8, lambda data: struct.unpack("<d", data)[0]),
    "date": (8, lambda data: EPOCH + timedelta(seconds=struct.unpack("<d", data)[0])),
    "uuid": (16, lambda data: UUID(bytes=data)),
    "decimal": (18, decimal),
    "object": (12, lambda data: struct.unpack("<qI", data)),
}
LENGTHS: dict[str, Callable[[bytes], Any]] = {
    "text": lambda data: data.decode(),
    "uri": lambda data: URL(data.decode()),
    "bytes": bytes,
}


def column(described: dict[str, Any], count: int) -> list[Any]:
    """A value for each row, None where there is none."""
    values, present, kind = described["values"], described["present"], described["type"]
    if kind in WIDTHS:
        width, read = WIDTHS[kind]
        pieces = [values[width * row : width * (row + 1)] for row in range(count)]
    else:
        read, ends = LENGTHS[kind], numbers(described["ends"])
        pieces = [values[start:end] for start, end in zip([0, *ends], ends)]
    return [read(pieces[row]) if present[row // 8] >> row % 8 & 1 else None for row in range(count)]


@dataclass
class ToMany:
    """A to-many relationship as the model has it: the entities that have it, and the to-one one that points back."""

    owners: set[str]
    sources: set[str] = field(default_factory=set)
    inverse: str | None = None


def read(file: bytes, relationships: dict[str, ToMany]) -> Rows:
    """The objects of a file by entity and key: values by the paths of properties, and the keys of other objects."""
    found = content(file)
    tables = found["entities"]
    rows: Rows = {}
    for table in tables:
        keys = numbers(table["keys"])
        columns = {name: column(described, len(keys)) for name, described in table["columns"].items()}
        for place, key in enumerate(keys):
            rows[table["name"], key] = {
                name: values[place] for name, values in columns.items() if values[place] is not None
            }
    listed: dict[str, dict[int, list[int]]] = {}
    for relationship in found["relationships"]:
        members = iter(numbers(relationship["members"]))
        listed[relationship["name"]] = {
            owner: [next(members) for _ in range(count)]
            for owner, count in zip(numbers(relationship["owners"]), numbers(relationship["counts"]))
        }
    for path, described in relationships.items():
        lists, name = listed.get(path, {}), path.partition(".")[2]
        pointing: dict[int, list[int]] = {}
        for (entity, key), row in rows.items():
            if entity in described.sources and described.inverse in row:
                target, place = row[described.inverse]
                assert tables[place]["name"] in described.owners
                pointing.setdefault(target, []).append(key)
        for (entity, key), row in rows.items():
            if entity not in described.owners:
                continue
            order = lists.get(key, [])
            if described.inverse is None:
                members_of_row = order
            else:
                own = pointing.get(key, [])
                members_of_row = [each for each in order if each in own] + sorted(set(own) - set(order))
            if members_of_row:
                row[name] = members_of_row
    for row in rows.values():
        for name, value in row.items():
            if isinstance(value, tuple):
                row[name] = value[0]
    return rows
