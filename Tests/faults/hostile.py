"""Makes malicious store files and runs every command of the tool on each: a result or an error, within limits.

The files are made from stores that this program writes, each with one or several traits. In SQLite: keys and numbers
at the limits of 64 bits, references to missing rows, schema expressions that need gigabytes, pipes and folders in the
place of companion files, backing files that are sparse, pipes or links, names and identifiers of megabytes, and false
pages and sizes. XML and binary stores get similar traits. A seed makes the same files again.

A command must not end by a signal, use more than 256 MB of memory or 10 s, or fail without an error message.

Usage: hostile.py [--seed N] [--number 100] [--only N…] [--processes 2] [--keep FOLDER] [--list]
"""

from __future__ import annotations

import argparse
import os
import plistlib
import random
import resource
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "bindings/python/tests"), str(ROOT / "Tests/support")]

import binary_reader  # noqa: E402
from checkout import TOOL  # noqa: E402
from corestone import Container, Model  # noqa: E402

MEGABYTES, SECONDS = 256, 10
# More address space than any command needs, and less than a machine has.
SPACE = 8 << 30
# A machine under load is not taken for a slow command: what counts is the processor's time, and this ends a hang.
HANG = 60
MOST, LEAST = 2**63 - 1, -(2**63)

OFFICE: dict[str, dict[str, Any]] = {
    "Department": {
        "name": "string indexed",
        "budget": "decimal?",
        "staff": "to-many Employee inverse department",
        "tags": "to-many ordered Tag inverse departments",
    },
    "Employee": {
        "@unique": [["name"]],
        "name": "string",
        "age": "int16?",
        "level": "int32?",
        "steps": "int64?",
        "ok": "bool?",
        "hired": "date?",
        "score": "double?",
        "single": "float?",
        "site": "uri?",
        "uid": "uuid?",
        "photo": "binary? external",
        "boss": "to-one Employee? inverse reports",
        "reports": "to-many Employee inverse boss",
        "department": "to-one Department? inverse staff",
    },
    "Manager": {"@parent": "Employee", "title": "string?"},
    "Tag": {"label": "string?", "departments": "to-many Department inverse tags"},
}


NEWER: dict[str, dict[str, Any]] = {
    **OFFICE,
    "Department": {**OFFICE["Department"], "place": "string = here", "tags": "to-many Tag inverse departments"},
    "Employee": {
        **{key: text for key, text in OFFICE["Employee"].items() if key not in ("level", "score")},
        "steps": "double?",
        "rank": "int32? renaming_identifier level",
    },
}


def fill(path: Path, type: str | None = None, **options: Any) -> None:
    """A store with a few rows of everything."""
    with Container(Model(OFFICE), path, type=type, sync="normal", **options) as container:
        context = container.context()
        departments = [context.insert("Department", name=f"D{n}", budget=n) for n in range(3)]
        tags = [context.insert("Tag", label=f"T{n}") for n in range(3)]
        boss = context.insert("Manager", name="E0", title="boss", department=departments[0])
        for number in range(1, 12):
            context.insert(
                "Employee", name=f"E{number}", age=number, level=number, steps=number, ok=True, score=number / 2,
                department=departments[number % 3], boss=boss, photo=bytes([number]) * (200_000 if number < 3 else 50),
            )  # fmt: skip
        for department in departments:
            department.tags = tags
        context.save()


@dataclass
class Stores:
    """The model of the hostile files."""

    folder: Path

    def __post_init__(self) -> None:
        fill(self.folder / "base.sqlite", journal="rollback")
        fill(self.folder / "base.xml", "XML")
        fill(self.folder / "base.binary", "Binary")
        Model(NEWER).write(self.folder / "newer.mom")

    @property
    def model(self) -> Path:
        return self.folder / "base.sqlite"


Trait = Callable[[random.Random, Path], None]
SQLITE: dict[str, Trait] = {}
XML: dict[str, Trait] = {}
BINARY: dict[str, Trait] = {}
# Of these a file has no other: nothing is left to change.
ALONE: set[str] = set()


def trait(table: dict[str, Trait], alone: bool = False) -> Callable[[Trait], Trait]:
    def add(function: Trait) -> Trait:
        table[function.__name__] = function
        if alone:
            ALONE.add(function.__name__)
        return function

    return add


# --- SQLite


def change(path: Path, *statements: str | tuple[str, tuple[Any, ...]]) -> None:
    """Runs statements as another program would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        # Without the library: the schema of the file may name functions that this connection does not have.
        for each in statements:
            text, values = (each, ()) if isinstance(each, str) else each
            connection.execute(text, values)


def redefine(path: Path, table: str, change_text: Callable[[str], str], type: str = "table") -> None:
    """Changes the SQL of a table in the schema, which SQLite does not read before the file is opened again."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        (text,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
        connection.execute(
            "UPDATE sqlite_master SET sql = ? WHERE name = ? AND type = ?", (change_text(text), table, type)
        )


def with_column(path: Path, table: str, column: str) -> None:
    """Adds a column of any kind to a table."""
    redefine(path, table, lambda text: text[: text.rindex(")")] + f", {column})")


def external(path: Path) -> Path:
    return path.parent / f".{path.stem}_SUPPORT" / "_EXTERNAL_DATA"


def external_file(path: Path) -> Path:
    return sorted(external(path).iterdir())[0]


EXTREMES = [
    MOST,
    LEAST,
    MOST - 1,
    LEAST + 1,
    -1,
    0,
    1 << 62,
    1e300,
    -1e300,
    float("inf"),
    "text",
    b"\x00\xff",
    "9" * 400,
]


@trait(SQLITE)
def references(chance: random.Random, path: Path) -> None:
    column = chance.choice(["ZDEPARTMENT", "ZBOSS"])
    change(
        path, (f"UPDATE ZEMPLOYEE SET {column} = ? WHERE Z_PK % 3 = ?", (chance.choice(EXTREMES), chance.randrange(3)))
    )


@trait(SQLITE)
def missing_rows(chance: random.Random, path: Path) -> None:
    change(path, f"DELETE FROM {chance.choice(['ZDEPARTMENT', 'ZTAG'])} WHERE Z_PK > 1")


@trait(SQLITE)
def row_keys(chance: random.Random, path: Path) -> None:
    table = chance.choice(["ZEMPLOYEE", "ZDEPARTMENT", "ZTAG"])
    numbers = chance.sample([MOST, LEAST, MOST - 1, 0, -5, 1 << 62], 2)
    for place, number in enumerate(numbers):
        change(path, (f"UPDATE {table} SET Z_PK = ? WHERE Z_PK = ?", (number, place + 1)))


@trait(SQLITE)
def keys_given_out(chance: random.Random, path: Path) -> None:
    change(path, ("UPDATE Z_PRIMARYKEY SET Z_MAX = ?", (chance.choice([MOST, LEAST, MOST - 1, "text", 1e300]),)))


@trait(SQLITE)
def entity_numbers(chance: random.Random, path: Path) -> None:
    number = chance.choice([MOST, MOST - 1, 1 << 40, 0, -1, LEAST])
    if chance.random() < 0.5:
        change(path, ("UPDATE Z_PRIMARYKEY SET Z_ENT = ? WHERE Z_NAME = 'Tag'", (number,)))
    change(path, ("UPDATE ZEMPLOYEE SET Z_ENT = ? WHERE Z_PK % 2 = 0", (number,)))


@trait(SQLITE)
def versions(chance: random.Random, path: Path) -> None:
    change(path, ("UPDATE ZEMPLOYEE SET Z_OPT = ?", (chance.choice([MOST, 2**31 - 1, -1, LEAST, "x"]),)))


@trait(SQLITE)
def values(chance: random.Random, path: Path) -> None:
    for column in ["ZAGE", "ZLEVEL", "ZSTEPS", "ZOK", "ZHIRED", "ZSCORE", "ZSINGLE", "ZSITE", "ZUID", "ZPHOTO"]:
        change(
            path,
            (f"UPDATE ZEMPLOYEE SET {column} = ? WHERE Z_PK % 4 = ?", (chance.choice(EXTREMES), chance.randrange(4))),
        )
    change(path, ("UPDATE ZDEPARTMENT SET ZBUDGET = ?", (chance.choice([*EXTREMES, 1e308, "1e999999999", "-"]),)))


@trait(SQLITE)
def pairs(chance: random.Random, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        (table,) = connection.execute(
            "SELECT name FROM sqlite_master WHERE name LIKE 'Z\\__%TAGS' ESCAPE '\\' AND type = 'table'"
        ).fetchone()
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        for _ in range(4):
            connection.execute(
                f"INSERT OR IGNORE INTO {table} VALUES (?, ?, ?)", tuple(chance.choice(EXTREMES[:8]) for _ in columns)
            )


GROWING = [
    "printf('%.*c', 450000000, 'x')",
    "zeroblob(900000000)",
    "hex(zeroblob(400000000))",
    "replace(printf('%.*c', 30000, 'x'), 'x', printf('%.*c', 30000, 'y'))",
    "printf('%.*c', 99000000, 'x') || printf('%.*c', 99000000, 'y')",
    "quote(randomblob(200000000))",
    "json_array(printf('%.*c', 60000000, 'x'), printf('%.*c', 60000000, 'x'))",
]


def growing(chance: random.Random) -> str:
    """An expression that wants gigabytes."""
    many = chance.choice([1, 5, 60])
    parts = [chance.choice(GROWING) for _ in range(many)]
    return parts[0] if many == 1 else f"max({', '.join(parts)})"


@trait(SQLITE)
def generated(chance: random.Random, path: Path) -> None:
    with_column(path, "ZTAG", f"ZEXTRA VARCHAR AS ({growing(chance)}) VIRTUAL")


@trait(SQLITE)
def generated_attribute(chance: random.Random, path: Path) -> None:
    text = growing(chance)
    redefine(path, "ZTAG", lambda sql: sql.replace("ZLABEL VARCHAR", f"ZLABEL VARCHAR AS ({text}) VIRTUAL"))


@trait(SQLITE)
def generated_metadata(chance: random.Random, path: Path) -> None:
    column = chance.choice(["Z_UUID VARCHAR(255)", "Z_PLIST BLOB"])
    text = growing(chance)
    redefine(path, "Z_METADATA", lambda sql: sql.replace(column, f"{column} AS ({text}) VIRTUAL"))


@trait(SQLITE)
def generated_names(chance: random.Random, path: Path) -> None:
    text = growing(chance)
    redefine(path, "Z_PRIMARYKEY", lambda sql: sql.replace("Z_NAME VARCHAR", f"Z_NAME VARCHAR AS ({text}) VIRTUAL"))


@trait(SQLITE)
def constraint(chance: random.Random, path: Path) -> None:
    with_column(path, chance.choice(["ZTAG", "ZEMPLOYEE"]), f"ZSUM INTEGER, CHECK (length({growing(chance)}) > 3)")


@trait(SQLITE)
def unknown_function(chance: random.Random, path: Path) -> None:
    name = chance.choice(["readfile('/etc/passwd')", "load_extension('x')", "no_such()", "fts3_tokenizer('x')"])
    with_column(path, "ZTAG", f"ZSUM INTEGER, CHECK ({name} IS NULL)")


@trait(SQLITE)
def defaults(chance: random.Random, path: Path) -> None:
    with_column(path, "ZTAG", f"ZSUM VARCHAR DEFAULT ({growing(chance)})")


@trait(SQLITE)
def partial_index(chance: random.Random, path: Path) -> None:
    change(path, "CREATE INDEX hostile ON ZTAG (ZLABEL) WHERE ZLABEL > 'a'")
    text = growing(chance)
    redefine(path, "hostile", lambda sql: sql.replace("ZLABEL > 'a'", f"length({text}) > 1"), "index")


@trait(SQLITE)
def expression_index(chance: random.Random, path: Path) -> None:
    change(path, "CREATE INDEX hostile_too ON ZEMPLOYEE (lower(ZNAME))")
    text = growing(chance)
    redefine(path, "hostile_too", lambda sql: sql.replace("lower(ZNAME)", f"({text})"), "index")


@trait(SQLITE)
def trigger(chance: random.Random, path: Path) -> None:
    report = "NSCoreDataTriggerUpdateAffectedObjectValue('ZTAG', 1, 1, 'x', 1)"
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    crossed = "SELECT count(*) FROM " + ", ".join(f"ZEMPLOYEE e{n}" for n in range(9))
    body = chance.choice([endless, crossed, f"SELECT length({growing(chance)})"])
    name = chance.choice(["ZT_hostile", "hostile_trigger"])
    table, event = chance.choice([("ZTAG", "INSERT"), ("Z_METADATA", "UPDATE"), ("Z_PRIMARYKEY", "UPDATE")])
    change(path, f"CREATE TRIGGER {name} AFTER {event} ON {table} BEGIN SELECT ({body}); SELECT {report}; END")


@trait(SQLITE)
def view(chance: random.Random, path: Path) -> None:
    table = chance.choice(["ZTAG", "Z_MODELCACHE", "Z_METADATA", "Z_PRIMARYKEY"])
    text = growing(chance)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        connection.execute(f"DROP TABLE {table}")
        connection.execute(f"CREATE VIEW {table} AS SELECT " + ", ".join(f"{text} AS {name}" for name in columns))


@trait(SQLITE)
def virtual_table(chance: random.Random, path: Path) -> None:
    module = chance.choice(["fts5(ZLABEL)", "rtree(a, b, c)", "dbstat", "no_such_module(x)", "fts3(ZLABEL)"])
    redefine(path, "ZTAG", lambda _: f"create /* x */ virtual table ZTAG using {module}")


@trait(SQLITE)
def deep_expression(chance: random.Random, path: Path) -> None:
    depth = chance.choice([900, 100_000])
    with_column(path, "ZTAG", f"ZSUM INTEGER, CHECK ({'(' * depth}1{')' * depth})")


@trait(SQLITE)
def long_condition(chance: random.Random, path: Path) -> None:
    with_column(path, "ZTAG", f"ZSUM INTEGER, CHECK (1 IN ({'1,' * chance.choice([100_000, 5_000_000])}1))")


@trait(SQLITE)
def many_columns(chance: random.Random, path: Path) -> None:
    columns = ", ".join(f"ZC{n} INTEGER" for n in range(chance.choice([1500, 40_000])))
    with_column(path, "ZTAG", columns)


@trait(SQLITE)
def identifier(chance: random.Random, path: Path) -> None:
    text = chance.choice(["x" * 5_000_000, "\x1b[2J" * 50, "", "a/../b", "\u202e" * 1000])
    change(path, ("UPDATE Z_METADATA SET Z_UUID = ?", (text,)))


@trait(SQLITE)
def names(chance: random.Random, path: Path) -> None:
    text = chance.choice(["n" * 5_000_000, "\x1b[2J", "", "x'; DROP TABLE ZTAG; --", "\x00"])
    change(path, ("UPDATE Z_PRIMARYKEY SET Z_NAME = ? WHERE Z_NAME = 'Tag'", (text,)))


def nested(depth: int) -> bytes:
    return b"<plist version='1.0'>" + b"<array>" * depth + b"</array>" * depth + b"</plist>"


@trait(SQLITE)
def metadata(chance: random.Random, path: Path) -> None:
    bomb = (
        b"<!DOCTYPE plist ["
        + b"".join(b'<!ENTITY e%d "%s">' % (n + 1, b"&e%d;" % n * 10) for n in range(1, 12))
        + b"]><plist><string>&e12;</string></plist>"
    )
    content = chance.choice([b"x" * 5_000_000, nested(100_000), bomb, b"bplist00" + b"\xff" * 64, b""])
    change(path, ("UPDATE Z_METADATA SET Z_PLIST = ?", (content,)))


@trait(SQLITE)
def cached_model(chance: random.Random, path: Path) -> None:
    content = chance.choice(
        [zlib.compress(bytes(400_000_000), 1), zlib.compress(nested(200_000)), b"\x78\x9c" + bytes(900)]
    )
    change(path, ("UPDATE Z_MODELCACHE SET Z_CONTENT = ?", (content,)))


@trait(SQLITE)
def large_value(chance: random.Random, path: Path) -> None:
    column = chance.choice(["ZNAME", "ZPHOTO", "ZSITE"])
    change(path, f"UPDATE ZEMPLOYEE SET {column} = zeroblob(80000000) WHERE Z_PK = 3")


@trait(SQLITE)
def external_sparse(chance: random.Random, path: Path) -> None:
    file = external_file(path)
    file.chmod(0o600)
    os.truncate(file, chance.choice([1 << 30, 1 << 31, 1 << 40]))


@trait(SQLITE)
def external_strange(chance: random.Random, path: Path) -> None:
    file = external_file(path)
    file.unlink()
    kind = chance.choice(["pipe", "folder", "link", "loop", "device", "socket"])
    if kind == "pipe":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    elif kind == "socket":
        bind(file)
    else:
        file.symlink_to({"link": "/etc/passwd", "loop": file.name, "device": "/dev/zero"}[kind])


@trait(SQLITE)
def external_name(chance: random.Random, path: Path) -> None:
    name = chance.choice([b"\x02../../../../etc/passwd\x00", b"\x02", b"\x02" + b"A" * 5000, b"\x02\x1b[2J\x00"])
    change(path, ("UPDATE ZEMPLOYEE SET ZPHOTO = ?", (name,)))


@trait(SQLITE, alone=True)
def companion(chance: random.Random, path: Path) -> None:
    place = path.with_name(path.name + chance.choice(["-journal", "-wal", "-shm"]))
    kind = chance.choice(["pipe", "folder", "loop", "device", "socket", "bytes"])
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "socket":
        bind(place)
    elif kind == "bytes":
        place.write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + bytes(chance.randrange(256) for _ in range(5000)))
    else:
        place.symlink_to({"loop": place.name, "device": "/dev/zero"}[kind])


@trait(SQLITE, alone=True)
def log_of_small_pages(chance: random.Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    size = chance.choice([4, 8, 16, 24, 511])
    content[16:18] = size.to_bytes(2, "big")
    path.write_bytes(content)

    def sums(data: bytes, before: tuple[int, int]) -> tuple[int, int]:
        first, second = before
        for place in range(0, len(data) - 7, 8):
            first = (first + int.from_bytes(data[place : place + 4], "big") + second) & 0xFFFFFFFF
            second = (second + int.from_bytes(data[place + 4 : place + 8], "big") + first) & 0xFFFFFFFF
        return first, second

    header = b"".join(n.to_bytes(4, "big") for n in (0x377F0683, 3007000, size, 1, 7, 9))
    state = sums(header, (0, 0))
    log = header + b"".join(n.to_bytes(4, "big") for n in state)
    head, page = (1).to_bytes(4, "big") + (1).to_bytes(4, "big"), bytes(size)
    state = sums(page, sums(head, state))
    log += head + header[16:24] + b"".join(n.to_bytes(4, "big") for n in state) + page
    path.with_name(path.name + "-wal").write_bytes(log)


@trait(SQLITE, alone=True)
def sparse_database(chance: random.Random, path: Path) -> None:
    os.truncate(path, chance.choice([1 << 30, 1 << 36, 1 << 42]))


@trait(SQLITE, alone=True)
def header(chance: random.Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(chance.randrange(1, 8)):
        content[chance.randrange(16, 140)] = chance.choice([0, 1, 127, 128, 255])
    path.write_bytes(content)


@trait(SQLITE, alone=True)
def pages(chance: random.Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(chance.randrange(1, 12)):
        place = chance.randrange(1, len(content) // 4096) * 4096 + chance.randrange(64)
        content[place] = chance.randrange(256)
    path.write_bytes(content)


@trait(SQLITE, alone=True)
def no_file(chance: random.Random, path: Path) -> None:
    path.unlink()
    no_regular_file(chance, path)


def bind(path: Path) -> None:
    """Paths of sockets are short."""
    server = socket.socket(socket.AF_UNIX)
    here = os.open(path.parent, os.O_RDONLY)
    server.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)
    server.close()


def no_regular_file(chance: random.Random, path: Path) -> None:
    kind = chance.choice(["pipe", "folder", "loop", "device", "socket"])
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        bind(path)
    else:
        path.symlink_to({"loop": path.name, "device": "/dev/zero"}[kind])


# --- XML


def edit(path: Path, former: str, new: str, count: int = 1) -> None:
    text = path.read_text(encoding="utf-8")
    if former not in text:
        raise ValueError(f"{path.name} has no {former!r}")
    path.write_text(text.replace(former, new, count), encoding="utf-8")


@trait(XML)
def xml_ids(chance: random.Random, path: Path) -> None:
    number = chance.choice([MOST, MOST + 1, 1 << 60, 10**40, 0, -1, "x\u001f"[:1]])
    edit(path, 'id="z102"', f'id="z{number}"', chance.choice([1, 9]))


@trait(XML)
def xml_references(chance: random.Random, path: Path) -> None:
    number = chance.choice([MOST, 1 << 60, 10**40, 999_999, 0, -7])
    edit(path, 'idrefs="z10', f'idrefs="z{number} z10', chance.choice([1, 9]))


@trait(XML)
def xml_next_key(chance: random.Random, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    start = text.index("<nextObjectID>") + len("<nextObjectID>")
    end = text.index("<", start)
    number = chance.choice([MOST, 1 << 60, 10**40, -5, "x"])
    path.write_text(f"{text[:start]}{number}{text[end:]}", encoding="utf-8")


@trait(XML)
def xml_identifier(chance: random.Random, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    start = text.index("<UUID>") + len("<UUID>")
    end = text.index("<", start)
    path.write_text(text[:start] + chance.choice(["x" * 5_000_000, "", "&#27;[2J"]) + text[end:], encoding="utf-8")


@trait(XML)
def xml_values(chance: random.Random, path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for kind in ("int16", "int32", "int64", "float", "decimal", "bool", "binary"):
        mark = f'type="{kind}">'
        if mark in text and chance.random() < 0.5:
            start = text.index(mark) + len(mark)
            value = chance.choice(
                [str(MOST), "1e300", "9" * 5000, "-", "nan", "inf", "1e-999999999", "&#0;", "====", " "]
            )
            text = text[:start] + value + text[text.index("<", start) :]
    path.write_text(text, encoding="utf-8")


@trait(XML)
def xml_name(chance: random.Random, path: Path) -> None:
    edit(path, 'name="label"', f'name="{chance.choice(["n" * 3_000_000, "&#27;[2J", "", "departments"])}"')


@trait(XML, alone=True)
def xml_bomb(chance: random.Random, path: Path) -> None:
    entities = "".join(f'<!ENTITY e{n + 1} "{f"&e{n};" * 10}">' for n in range(1, 12))
    text = path.read_text(encoding="utf-8")
    start = text.index("<!DOCTYPE")
    text = text[:start] + f"<!DOCTYPE database [{entities}]>" + text[text.index(">", start) + 1 :]
    path.write_text(text.replace("E1<", "&e12;<", 1), encoding="utf-8")


@trait(XML, alone=True)
def xml_deep(chance: random.Random, path: Path) -> None:
    depth = chance.choice([1000, 500_000])
    edit(path, "</object>", "<attribute>" * depth + "</attribute>" * depth + "</object>")


@trait(XML, alone=True)
def xml_sparse(chance: random.Random, path: Path) -> None:
    os.truncate(path, chance.choice([1 << 28, 1 << 31, 1 << 40]))


@trait(XML, alone=True)
def xml_cut(chance: random.Random, path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(
        content[: chance.randrange(len(content))] + chance.choice([b"", b"\x00" * 5000, b"\xff\xfe" * 900])
    )


@trait(XML, alone=True)
def xml_no_file(chance: random.Random, path: Path) -> None:
    path.unlink()
    no_regular_file(chance, path)


# --- Binary


def binary(path: Path, body: Callable[[dict[str, Any]], None]) -> None:
    """Changes the content below a checksum that is right."""
    content = binary_reader.content(path.read_bytes())
    body(content)
    path.write_bytes(binary_reader.file(plistlib.dumps(content, fmt=plistlib.FMT_BINARY)))


def table(content: dict[str, Any], name: str) -> dict[str, Any]:
    found = next(each for each in content["entities"] if each["name"] == name)
    assert isinstance(found, dict)
    return found


@trait(BINARY)
def binary_keys(chance: random.Random, path: Path) -> None:
    def body(content: dict[str, Any]) -> None:
        employees = table(content, "Employee")
        keys = binary_reader.numbers(employees["keys"])
        keys[-1] = chance.choice([MOST, MOST - 1, LEAST, 0, -1, 1 << 62])
        employees["keys"] = binary_reader.packed(keys)
        if chance.random() < 0.7:
            for name in ("Employee", "Manager"):
                table(content, name)["lastKey"] = MOST

    binary(path, body)


@trait(BINARY)
def binary_last_key(chance: random.Random, path: Path) -> None:
    def body(content: dict[str, Any]) -> None:
        for each in content["entities"]:
            each["lastKey"] = chance.choice([MOST, MOST - 1, LEAST, 0])

    binary(path, body)


@trait(BINARY)
def binary_references(chance: random.Random, path: Path) -> None:
    def body(content: dict[str, Any]) -> None:
        column = table(content, "Employee")["columns"]["department"]
        data = bytearray(column["values"])
        data[0:8] = chance.choice([MOST, MOST - 1, 777, LEAST, 0]).to_bytes(8, "little", signed=True)
        if chance.random() < 0.3:
            data[8:12] = b"\xff\xff\xff\xff"
        column["values"] = bytes(data)

    binary(path, body)


@trait(BINARY)
def binary_versions(chance: random.Random, path: Path) -> None:
    def body(content: dict[str, Any]) -> None:
        tags = table(content, "Tag")
        count = len(tags["keys"]) // 8
        tags["versions"] = binary_reader.packed(
            [chance.choice([MOST, 2**31 - 1, -(2**31), LEAST]) for _ in range(count)]
        )

    binary(path, body)


@trait(BINARY)
def binary_columns(chance: random.Random, path: Path) -> None:
    def body(content: dict[str, Any]) -> None:
        columns = table(content, "Employee")["columns"]
        column = columns[chance.choice(sorted(columns))]
        part = chance.choice(sorted(column))
        if isinstance(column[part], bytes):
            column[part] = chance.choice([b"", column[part][:-1], column[part] * 2, b"\xff" * len(column[part])])
        else:
            column[part] = chance.choice(["int64", "text", "object", "x" * 1_000_000, MOST])

    binary(path, body)


@trait(BINARY)
def binary_lists(chance: random.Random, path: Path) -> None:
    def body(content: dict[str, Any]) -> None:
        for each in content["relationships"]:
            part = chance.choice(["owners", "counts", "members"])
            numbers = binary_reader.numbers(each[part])
            if numbers:
                numbers[chance.randrange(len(numbers))] = chance.choice([MOST, LEAST, -1, 0, 999])
            each[part] = binary_reader.packed(numbers)

    binary(path, body)


@trait(BINARY)
def binary_many(chance: random.Random, path: Path) -> None:
    def body(content: dict[str, Any]) -> None:
        tags = table(content, "Tag")
        count = chance.choice([10_000, 400_000])
        tags["keys"] = binary_reader.packed(list(range(1, count + 1)))
        tags["versions"] = binary_reader.packed([1] * count)
        tags["columns"], tags["lastKey"] = {}, count

    binary(path, body)


@trait(BINARY)
def binary_metadata(chance: random.Random, path: Path) -> None:
    def body(content: dict[str, Any]) -> None:
        content["uuid"] = chance.choice(["x" * 5_000_000, "", "\x1b[2J"])
        content["metadata"]["x" * 100_000] = ["y" * 100_000] * 20

    binary(path, body)


@trait(BINARY, alone=True)
def binary_bytes(chance: random.Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(chance.randrange(1, 20)):
        content[-chance.randrange(1, 400)] = chance.randrange(256)
    path.write_bytes(content)


@trait(BINARY, alone=True)
def binary_sparse(chance: random.Random, path: Path) -> None:
    os.truncate(path, chance.choice([1 << 28, 1 << 31, 1 << 40]))


@trait(BINARY, alone=True)
def binary_no_file(chance: random.Random, path: Path) -> None:
    path.unlink()
    no_regular_file(chance, path)


# --- Files and commands


@dataclass(frozen=True)
class Case:
    """One hostile file."""

    number: int
    seed: int
    kind: str
    traits: tuple[str, ...]

    def make(self, stores: Stores, folder: Path) -> Path:
        """The file in a separate folder, which must not exist."""
        folder.mkdir()
        path = folder / f"hostile.{self.kind}"
        shutil.copy(stores.folder / f"base.{self.kind}", path)
        if self.kind == "sqlite":
            shutil.copytree(external(stores.model), external(path))
        chance = random.Random(f"{self.seed} {self.number}")
        # What the schema wants comes last, so that no statement of this program has to compute it.
        for name in sorted(self.traits, key=SCHEMA.index if self.kind == "sqlite" else None):
            try:
                KINDS[self.kind][name](chance, path)
            except (sqlite3.Error, ValueError, StopIteration, KeyError, IndexError):
                # Another trait has left nothing that this one could change.
                if len(self.traits) == 1:
                    raise
        return path


INDEXES = ["partial_index", "expression_index"]
LAST = ["trigger", "generated", "generated_attribute", "generated_metadata", "generated_names", "constraint"]
LAST += ["unknown_function", "defaults", "deep_expression", "long_condition", "many_columns", "view", "virtual_table"]
SCHEMA = [name for name in SQLITE if name not in INDEXES + LAST] + INDEXES + LAST
KINDS = {"sqlite": SQLITE, "xml": XML, "binary": BINARY}


def cases(seed: int, number: int) -> list[Case]:
    """Each trait alone first, as far as the number goes, then several at a time."""
    every: list[tuple[str, tuple[str, ...]]] = [(kind, (name,)) for kind, traits in KINDS.items() for name in traits]
    chance = random.Random(seed)
    chance.shuffle(every)
    while len(every) < number:
        kind = chance.choice(["sqlite", "sqlite", "xml", "binary"])
        several = [name for name in KINDS[kind] if name not in ALONE]
        every.append((kind, tuple(chance.sample(several, chance.randrange(2, 4)))))
    return [Case(place, seed, kind, traits) for place, (kind, traits) in enumerate(every[:number])]


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    # Whether the file is another one afterwards.
    changes: bool = False


def commands(path: Path, out: Path, model: Path, kind: str) -> list[Command]:
    """Every command with a store as its argument."""
    file = str(path)
    by_model = () if kind == "sqlite" else ("--model", str(model))
    line = out.parent / "line.jsonl"
    line.write_text('{"@entity": "Tag", "label": "new"}\n{"@entity": "Employee", "name": "new"}\n', encoding="utf-8")

    # A table is altered, another one made again, and pairs are kept in another way.
    source = () if kind == "sqlite" else ("--source", str(model))
    migrate = ("migrate", file, "--to", str(model.with_name("newer.mom")), *source, "--allow-removal", "--allow-casts")

    def read(*words: str) -> Command:
        return Command((words[0], file, *words[1:], *by_model))

    return [
        read("show"),
        read("show", "--format", "json"),
        read("fetch", "Employee"),
        read("fetch", "Employee", "department.name == 'D1' AND steps > 2", "--sort", "-name", "--format", "csv"),
        read("fetch", "Tag", "label CONTAINS[cd] 't' OR departments.@count > 1", "--format", "json"),
        read("fetch", "Department", "staff.@sum.steps > 1", "--explain"),
        read("check"),
        read("check", "--apple"),
        read("check", "--format", "json"),
        Command(("metadata", file)),
        Command(("copy", file, str(out / "copy"))),
        read("backup", str(out / "backup")),
        *(read("convert", str(out / f"to.{type}"), "--type", type) for type in ("XML", "Binary", "SQLite")),
        read("convert", str(out / "checked"), "--check"),
        read("views", "--into", str(out / "views")),
        read("views", "--list"),
        read("dump"),
        read("dump", "Employee", "--format", "csv"),
        read("dump", "--format", "json", "-o", str(out / "dump.json")),
        Command(("load", str(out / "loaded"), str(line), "--model", file)),
        Command(("model", "show", file)),
        Command(("model", "lint", file)),
        Command(("model", "diff", str(model), file)),
        Command(("model", "compile", file, "-o", str(out / "compiled.mom"))),
        Command(("model", "diagram", file, "-o", str(out / "diagram.dot"))),
        Command(("model", "codegen", file, "--language", "python", "-o", str(out / "code"))),
        Command((*migrate, "--plan", "--sql")),
        Command((*migrate, "--dry-run")),
        Command(migrate, changes=True),
        Command(("load", file, str(line), *by_model), changes=True),
        Command(("load", file, str(line), "--upsert", *by_model), changes=True),
        Command(("metadata", file, "--set", "Hello=World"), changes=True),
        read("check", "--remove-leftovers"),
        Command(("views", file, *by_model), changes=True),
        Command(("destroy", file, "--yes"), changes=True),
    ]


@dataclass
class Outcome:
    code: int
    megabytes: int
    seconds: float
    text: str

    def fault(self) -> str:
        """A description of the problem; empty without one."""
        if self.code < 0:
            return f"ended by signal {-self.code}"
        if self.megabytes > MEGABYTES:
            return f"took {self.megabytes} MB"
        if self.seconds > SECONDS:
            return f"took {self.seconds:.1f} s"
        if self.code not in (0, 1, 2, 3):
            return f"ended with {self.code}"
        if self.code >= 2 and not self.text.strip():
            return f"ended with {self.code} without a word"
        return "" if len(self.text) < 100_000 else f"complained with {len(self.text)} characters"


def run(words: tuple[str, ...], folder: Path) -> Outcome:
    """Runs the tool and returns its processor time, or the elapsed time if it hung."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (SPACE, SPACE))
        resource.setrlimit(resource.RLIMIT_CPU, (4 * SECONDS, 4 * SECONDS))
        # A copy of a file without end would fill the disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (4 << 30, 4 << 30))

    errors = folder / "errors"
    with errors.open("wb") as text:
        process = subprocess.Popen(
            [str(TOOL), *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=text, preexec_fn=limit
        )
        begin = time.monotonic()
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            if time.monotonic() - begin > HANG:
                process.kill()
                _, status, usage = os.wait4(process.pid, 0)
                return Outcome(-9, usage.ru_maxrss // 1024, HANG, "it hung")
            time.sleep(0.003)
    process.returncode = os.waitstatus_to_exitcode(status)
    text_of_errors = errors.read_text(encoding="utf-8", errors="replace")
    return Outcome(process.returncode, usage.ru_maxrss // 1024, usage.ru_utime + usage.ru_stime, text_of_errors)


def try_case(case: Case, stores: Stores, folder: Path, keep: Path | None) -> tuple[int, list[str], int, float, int]:
    """The number of commands, their problems, the maximum of memory and time, and the number of results."""
    place = folder / f"case{case.number}"
    place.mkdir()
    faults: list[str] = []
    most, longest, results, count = 0, 0.0, 0, 0
    path = case.make(stores, place / "file")
    if keep:
        case.make(stores, keep / f"{case.number}-{'-'.join(case.traits)}")
    (place / "out").mkdir()
    for command in commands(path, place / "out", stores.model, case.kind):
        outcome = run(command.words, place)
        count += 1
        most, longest = max(most, outcome.megabytes), max(longest, outcome.seconds)
        results += outcome.code in (0, 1)
        fault = outcome.fault()
        if fault:
            words = " ".join(each.replace(str(place), "…") for each in command.words)
            faults.append(f"{case.number} {'+'.join(case.traits)}: {words}: {fault}\n    {outcome.text.strip()[:300]}")
        if command.changes:
            shutil.rmtree(place / "file")
            case.make(stores, place / "file")
    shutil.rmtree(place)
    return count, faults, most, longest, results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other files")
    parser.add_argument("--number", type=int, default=100, help="how many files")
    parser.add_argument("--only", type=int, nargs="+", help="the numbers of the files to try")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--keep", type=Path, help="a folder for the files")
    parser.add_argument("--list", action="store_true", help="tell the files' traits, and try nothing")
    arguments = parser.parse_args()
    chosen = [
        case for case in cases(arguments.seed, arguments.number) if not arguments.only or case.number in arguments.only
    ]
    if arguments.list:
        for case in chosen:
            print(case.number, case.kind, *case.traits)
        return 0
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="corestone-hostile-") as name:
        folder = Path(name)
        (folder / "base").mkdir()
        stores = Stores(folder / "base")
        with ThreadPoolExecutor(arguments.processes) as pool:
            all_outcomes = list(pool.map(lambda case: try_case(case, stores, folder, arguments.keep), chosen))
    faults = [fault for each in all_outcomes for fault in each[1]]
    for fault in faults:
        print(fault)
    count = sum(each[0] for each in all_outcomes)
    results = sum(each[4] for each in all_outcomes)
    print(
        f"{len(chosen)} hostile files (seed {arguments.seed}), {count} commands: {results} "
        f"with a result, the others refused; at most {max(each[2] for each in all_outcomes)} MB and "
        f"{max(each[3] for each in all_outcomes):.1f} s"
    )
    print(f"{count - len(faults)} passed, {len(faults)} failed")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
