"""Commands for stores as a whole: metadata, copy, backup, convert, destroy, views."""

from __future__ import annotations

import json
import os
import pty
import shutil
import sqlite3
import subprocess
import threading
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import corestone
import pytest
from conftest import TOOL, ZOO, run
from corestone import Container, Model


@pytest.fixture
def store(zoo: Path, tmp_path: Path) -> Path:
    path = tmp_path / "zoo.sqlite"
    shutil.copyfile(zoo, path)
    return path


def answered(answer: str, *arguments: str | Path) -> tuple[int, str]:
    """What the tool does on a terminal where a person types the answer."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [str(TOOL), *map(str, arguments)], stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "TERM": "xterm"}
    )
    os.close(slave)
    os.write(master, answer.encode())
    printed = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        printed += piece
    os.close(master)
    return process.wait(timeout=60), printed.decode()


# Metadata


def test_metadata_of_every_type(store: Path, tmp_path: Path) -> None:
    for name in ("zoo.xml", "zoo.binary"):
        assert run("convert", store, tmp_path / name).returncode == 0
    for name, kind in (("zoo.sqlite", "SQLite"), ("zoo.xml", "XML"), ("zoo.binary", "Binary")):
        path = tmp_path / name
        found = run("metadata", path, "--format", "json")
        assert (found.returncode, found.stderr) == (0, "")
        told = json.loads(found.stdout)
        assert told["NSStoreType"] == kind
        assert told["NSStoreUUID"] == corestone.metadata(path)["NSStoreUUID"]
        assert set(told["NSStoreModelVersionHashes"]) == set(ZOO)
        table = run("metadata", path).stdout.splitlines()
        assert table[0].split() == ["NSStoreType", kind]
        assert any(line.startswith("  Keeper: ") for line in table)


def test_metadata_is_set_and_removed(store: Path) -> None:
    settings = [
        "owner=Ada=Eve",
        "seen:int=-3",
        "share:real=0.5",
        "open:bool=yes",
        "day:date=2024-02-29",
        "raw:data=AAEC",
    ]
    words = [word for each in [*settings, 'tags:json=["a", {"b": 1}]', "a:b:string=c"] for word in ("--set", each)]
    assert run("metadata", store, *words).returncode == 0
    found = corestone.metadata(store)
    assert found["owner"] == "Ada=Eve"
    assert (found["seen"], found["share"], found["open"], found["raw"]) == (-3, 0.5, True, b"\0\1\2")
    assert (found["tags"], found["a:b"]) == (["a", {"b": 1}], "c")
    assert "day" in found
    gone = run("metadata", store, "--remove", "owner", "--remove", "seen", "--format", "json")
    assert gone.returncode == 0
    assert "owner" not in json.loads(gone.stdout)
    assert json.loads(gone.stdout)["raw"] == "AAEC"


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--set", "NSStoreUUID=x"], 3, "NSStoreUUID"),
        (["--set", "NSStoreType=XML"], 3, "tells what the store is"),
        (["--remove", "NSStoreModelVersionHashes"], 2, "tells what the store is"),
        (["--remove", "ownr"], 2, 'no entry "ownr"'),
        (["--set", "owner"], 2, "KEY=VALUE"),
        (["--set", "owner:text=x"], 2, 'no type "text"'),
        (["--set", "n:int=x"], 2, "no value of the type int"),
        (["--set", "n:json={"], 2, "JSON"),
    ],
)
def test_metadata_that_is_refused(store: Path, words: list[str], code: int, message: str) -> None:
    before = store.read_bytes()
    found = run("metadata", store, *words)
    assert (found.returncode, found.stdout) == (code, "")
    assert message in found.stderr
    assert store.read_bytes() == before


def test_metadata_of_what_is_no_store(tmp_path: Path) -> None:
    assert run("metadata", tmp_path / "none.sqlite").returncode == 3
    (tmp_path / "text").write_text("hello")
    assert "text" in run("metadata", tmp_path / "text").stderr


# Copies


def test_a_copy_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "live.sqlite"
    model = Model({"Note": {"title": "string", "data": "binary? external"}})
    with Container(model, path) as container:
        context = container.context()
        context.insert("Note", title="a", data=b"x" * 300_000)
        context.save()
        # What is saved lies in the log, and the value in a file.
        assert path.with_name("live.sqlite-wal").stat().st_size > 0
        found = run("copy", path, tmp_path / "copy.sqlite")
        assert (found.returncode, found.stderr) == (0, "")
        assert corestone.metadata(path)["NSStoreUUID"] in found.stdout
    with corestone.open(tmp_path / "copy.sqlite") as copy:
        assert [len(note.data) for note in copy.fetch("Note")] == [300_000]
        assert copy.store.identifier == corestone.metadata(path)["NSStoreUUID"]


def test_a_copy_overwrites_nothing_but_a_store_when_asked(store: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.sqlite"
    Container(Model({"A": {"name": "string"}}), other).close()
    before = other.read_bytes()
    found = run("copy", store, other)
    assert (found.returncode, other.read_bytes()) == (2, before)
    assert "--replace" in found.stderr
    assert run("copy", store, other, "--replace").returncode == 0
    with corestone.open(other) as copy:
        assert len(copy.fetch("Keeper")) == 2
    (tmp_path / "text").write_text("hello")
    assert run("copy", store, tmp_path / "text", "--replace").returncode == 3
    assert (tmp_path / "text").read_text() == "hello"
    assert run("copy", tmp_path / "none.sqlite", tmp_path / "new.sqlite").returncode == 3
    assert not (tmp_path / "new.sqlite").exists()
    assert run("copy", store, store, "--replace").returncode in (2, 3)


def test_a_backup_of_a_store_in_use(tmp_path: Path) -> None:
    path, copy = tmp_path / "live.sqlite", tmp_path / "backup.sqlite"
    with Container(Model({"Note": {"number": "int64"}}), path) as container:
        stop = threading.Event()

        def write() -> None:
            with container.context() as context:
                number = 0
                while not stop.is_set():
                    context.insert("Note", number=number)
                    context.insert("Note", number=number)
                    context.save()
                    number += 1

        writer = threading.Thread(target=write)
        writer.start()
        try:
            for _ in range(3):
                found = run("backup", path, copy)
                assert (found.returncode, found.stderr) == (0, "")
                with corestone.open(copy) as backup:
                    numbers = sorted(note.number for note in backup.fetch("Note"))
                assert numbers == sorted(list(range(len(numbers) // 2)) * 2)
        finally:
            stop.set()
            writer.join()
    other = tmp_path / "other.sqlite"
    Container(Model({"A": {"name": "string"}}), other).close()
    refused = run("backup", path, other)
    assert refused.returncode == 3
    assert "another store" in refused.stderr


# Converting


def test_convert_and_back(store: Path, tmp_path: Path) -> None:
    found = run("convert", store, tmp_path / "zoo.xml", "--check")
    assert (found.returncode, found.stderr) == (0, "")
    assert "all equal" in found.stdout
    back = run(
        "convert", tmp_path / "zoo.xml", tmp_path / "back.sqlite", "--model", store, "--through", "memory",
        "--through", "binary", "--check",
    )  # fmt: skip
    assert (back.returncode, back.stderr) == (0, "")
    assert "all equal" in back.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["back.sqlite", "zoo.sqlite", "zoo.xml"]
    assert "all equal" in run("convert", store, "nowhere", "--type", "memory", "--check").stdout


def test_convert_says_how_much_was_made_and_not_that_it_is_the_same(tmp_path: Path) -> None:
    model = Model({"Item": {"price": "decimal?"}})
    path = tmp_path / "a.xml"
    Container(model, tmp_path / "model.sqlite").close()
    with Container(model, path, type="XML") as container:
        context = container.context()
        for price in ("12345678901234567890123456789.25", "0.1", "7", "12345678901234567.5"):
            context.insert("Item", price=Decimal(price))
        context.save()
    words = ["--model", str(tmp_path / "model.sqlite")]
    plain = run("convert", path, tmp_path / "b.sqlite", *words)
    made = f"{tmp_path / 'b.sqlite'} was made of {path} as a store of type SQLite: 4 objects\n"
    assert (plain.returncode, plain.stdout) == (0, made)
    assert plain.stderr.count("CoreData: warning:") == 1 and "Item.price" in plain.stderr and ": 2\n" in plain.stderr
    checked = run("convert", path, tmp_path / "c.sqlite", "--check", *words)
    assert checked.returncode == 1 and "2 differences" in checked.stdout and "has what" not in checked.stdout
    exact = run("convert", tmp_path / "c.sqlite", tmp_path / "d.binary", "--check")
    assert (exact.returncode, exact.stderr) == (0, "") and "all equal" in exact.stdout


def test_convert_that_is_refused(store: Path, tmp_path: Path) -> None:
    assert "--type" in run("convert", store, tmp_path / "zoo").stderr
    assert "no store type" in run("convert", store, tmp_path / "zoo", "--type", "Parquet").stderr
    (tmp_path / "there.xml").write_text("x")
    assert run("convert", store, tmp_path / "there.xml").returncode == 2
    assert (tmp_path / "there.xml").read_text() == "x"


def test_large_values_go_along(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with Container(Model({"Note": {"data": "binary? external"}}), path) as container:
        context = container.context()
        context.insert("Note", data=bytes(300_000))
        context.save()
    found = run("convert", path, tmp_path / "b.sqlite", "--through", "sqlite", "--check")
    assert found.returncode == 0 and "all equal" in found.stdout
    left = [each.name for each in tmp_path.iterdir()]
    assert not [name for name in left if "SUPPORT" in name and name not in (".a_SUPPORT", ".b_SUPPORT")], left


# Destroying


def test_destroy_asks(store: Path) -> None:
    before = store.read_bytes()
    found = run("destroy", store)
    assert (found.returncode, store.read_bytes()) == (2, before)
    assert "--yes" in found.stderr
    code, text = answered("n\n", "destroy", store)
    assert (code, store.read_bytes()) == (1, before)
    assert "4 entities" in text and "[y/N]" in text
    code, text = answered("y\n", "destroy", store)
    assert code == 0 and "is empty now" in text
    assert sqlite3.connect(store).execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,)


def test_destroy_honours_locks(store: Path) -> None:
    other = sqlite3.connect(store)
    other.execute("BEGIN IMMEDIATE")
    found = run("destroy", store, "--yes", "--timeout", "0.2")
    assert found.returncode == 3
    assert "--force" in found.stderr
    found = run("destroy", store, "--yes", "--timeout", "0.2", "--force")
    assert found.returncode == 0 and not store.exists()
    other.close()


def test_destroy_of_what_is_no_store(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    sqlite3.connect(path).execute("CREATE TABLE a (b)").connection.close()
    before = path.read_bytes()
    assert run("destroy", path, "--yes", "--force").returncode == 3
    assert path.read_bytes() == before


# Views


def rows(path: Path, script: str, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    try:
        connection.executescript(script)
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def test_views_have_the_names_of_the_model(store: Path) -> None:
    before = store.read_bytes()
    script = run("views", store).stdout
    assert store.read_bytes() == before
    assert rows(store, script, "SELECT entity, name, born, keeper_name FROM Animal ORDER BY name") == [
        ("Fish", "", None, "Bøb\nΩ 漢字"),
        ("Fish", "carp", "1969-03-29T23:59:59.750Z", None),
        ("Bird", "eagle", "2024-01-01T00:00:00.000Z", 'Ada "the eagle" Lovelace, head keeper'),
        ("Bird", "emu", None, 'Ada "the eagle" Lovelace, head keeper'),
    ]
    assert rows(store, script, "SELECT name, canFly FROM Bird ORDER BY name") == [("eagle", 1), ("emu", 0)]
    assert rows(store, script, "SELECT badge, page FROM Keeper WHERE name LIKE 'Ada%'") == [
        ("12345678-1234-5678-1234-567812345678", "https://zoo.example/ada")
    ]
    friends = (
        "SELECT a.name, b.name FROM Animal_friends f JOIN Animal a ON a.id = f.animal_id "
        "JOIN Animal b ON b.id = f.friends_id ORDER BY 1, 2"
    )
    assert rows(store, script, friends) == [
        ("", "carp"), ("carp", ""), ("carp", "eagle"), ("eagle", "carp"), ("eagle", "emu"), ("emu", "eagle"),
    ]  # fmt: skip
    ordered = (
        "SELECT a.name FROM Animal a JOIN Keeper k ON a.keeper_id = k.id WHERE k.years = 12 ORDER BY a.keeper_order"
    )
    assert rows(store, script, ordered) == [("eagle",), ("emu",)]
    unix = run("views", store, "--dates", "unix").stdout
    assert rows(store, unix, "SELECT born FROM Animal WHERE name = 'eagle'") == [(1704067200.0,)]


def test_views_into_a_copy(store: Path, tmp_path: Path) -> None:
    before = store.read_bytes()
    found = run("views", store, "--into", tmp_path / "readable.sqlite")
    assert (found.returncode, found.stderr) == (0, "")
    connection = sqlite3.connect(tmp_path / "readable.sqlite")
    assert connection.execute("SELECT count(*) FROM Keeper").fetchone() == (2,)
    connection.close()
    assert store.read_bytes() == before
    assert run("views", store, "--into", tmp_path / "readable.sqlite").returncode == 2
    assert run("views", store, "--into", tmp_path / "readable.sqlite", "--replace").returncode == 0
    assert run("views", store, "--into", store, "--replace").returncode != 0
    assert run("check", tmp_path / "readable.sqlite").returncode == 0


def test_views_of_every_fixture(fixtures: Path, tmp_path: Path) -> None:
    views = 0
    for file in sorted(path for path in fixtures.glob("stores/*/*") if path.is_file()):
        copy = tmp_path / "copy.sqlite"
        shutil.copyfile(file, copy)
        found = run("views", copy)
        assert found.returncode == 0, found.stderr
        names = run("views", copy, "--list").stdout.splitlines()
        connection = sqlite3.connect(copy)
        tables = {name.lower() for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        connection.executescript(found.stdout)
        with corestone.open(copy) as container:
            entities = set(container.model)
            for name in names:
                columns = connection.execute(f'SELECT * FROM "{name}"')
                count = len(columns.fetchall())
                assert name.lower() not in tables
                if name in entities:
                    assert count == len(container.fetch(name)), f"{file.name} {name}"
                views += 1
        connection.close()
    print(f"{views} views of fixtures are right")
    assert views > 300


@pytest.mark.parametrize("kind", ["xml", "binary", "sqlite"])
def test_converting_pairs_of_rows_that_are_gone(tmp_path: Path, kind: str) -> None:
    model = Model(
        {
            "A": {"name": "string", "to": "to-many ordered B inverse from"},
            "B": {"name": "string", "from": "to-many ordered A inverse to"},
        }
    )
    old = tmp_path / "old.sqlite"
    with Container(model, old) as container:
        context = container.context()
        both = [context.insert("B", name=name) for name in ("x", "y")]
        for name in ("a", "b"):
            context.insert("A", name=name, to=both)
        context.save()
    with closing(sqlite3.connect(old)) as database:
        database.execute("DELETE FROM ZB WHERE ZNAME = 'x'")
        database.execute("DELETE FROM ZA WHERE ZNAME = 'b'")
        database.commit()
    new = tmp_path / f"new.{kind}"
    done = run("convert", old, new)
    assert done.returncode == 0
    for relationship in ("A.to", "B.from"):
        assert f"the members of {relationship} whose rows are gone: 1\n" in done.stderr
    with Container(model, new) as container:
        found = {each.name: [to.name for to in each.to] for each in container.fetch("A")}
        assert found == {"a": ["y"]}
        assert [each.name for each in container.fetch("B")[0]["from"]] == ["a"]
