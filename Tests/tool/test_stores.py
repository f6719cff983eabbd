"""Commands for stores as a whole: metadata, copy, backup, convert, destroy, views."""

from __future__ import annotations

import base64
import ctypes
import json
import os
import pty
import shutil
import sqlite3
import subprocess
import threading
import time
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

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


def test_metadata_of_every_store_type_is_printed(store: Path, tmp_path: Path) -> None:
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


def test_metadata_can_be_set_and_removed(store: Path) -> None:
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
        (["--set", "NSStoreType=XML"], 3, "identifies the type of the store"),
        (["--remove", "NSStoreModelVersionHashes"], 2, "maintained by the store"),
        (["--remove", "ownr"], 2, 'does not have an entry "ownr"'),
        (["--set", "owner"], 2, "KEY=VALUE"),
        (["--set", "owner:text=x"], 2, '"text" is not a type'),
        (["--set", "dc:title=x"], 2, 'or add :string if the key is "dc:title"'),
        (["--set", "n:int=x"], 2, "is not a value of type int"),
        (["--set", "n:json={"], 2, "JSON"),
    ],
)
def test_invalid_metadata_is_rejected(store: Path, words: list[str], code: int, message: str) -> None:
    before = store.read_bytes()
    found = run("metadata", store, *words)
    assert (found.returncode, found.stdout) == (code, "")
    assert message in found.stderr
    assert store.read_bytes() == before


def test_metadata_of_a_file_that_is_not_a_store_fails(tmp_path: Path) -> None:
    assert run("metadata", tmp_path / "none.sqlite").returncode == 3
    (tmp_path / "text").write_text("hello")
    assert "text" in run("metadata", tmp_path / "text").stderr


# Copies


def test_copy_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "live.sqlite"
    model = Model({"Note": {"title": "string", "data": "binary? external"}})
    with Container(model, path) as container:
        context = container.context()
        context.insert("Note", title="a", data=b"x" * 300_000)
        context.save()
        # The saved row is in the write-ahead log, and its value in a backing file.
        assert path.with_name("live.sqlite-wal").stat().st_size > 0
        found = run("copy", path, tmp_path / "copy.sqlite")
        assert (found.returncode, found.stderr) == (0, "")
        assert corestone.metadata(path)["NSStoreUUID"] in found.stdout
    with corestone.open(tmp_path / "copy.sqlite") as copy:
        assert [len(note.data) for note in copy.fetch("Note")] == [300_000]
        assert copy.store.identifier == corestone.metadata(path)["NSStoreUUID"]


def test_copy_overwrites_only_a_store_on_request(store: Path, tmp_path: Path) -> None:
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


def test_backup_of_an_open_store_succeeds(tmp_path: Path) -> None:
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
    before = other.read_bytes()
    refused = run("backup", path, other)
    assert (refused.returncode, refused.stdout, other.read_bytes()) == (3, "", before)
    assert "is not a copy of" in refused.stderr


def drop_root_privileges() -> None:
    """Drops root's right to write read-only files, in a program that is started from here."""
    drop_from_bounding_set, dac_override = 24, 1
    ctypes.CDLL(None).prctl(drop_from_bounding_set, dac_override, 0, 0, 0)


def test_backup_of_a_read_only_store_succeeds(store: Path, tmp_path: Path) -> None:
    store.chmod(0o440)
    before, copy = store.read_bytes(), tmp_path / "backup.sqlite"
    found = run("backup", store, copy, preexec_fn=drop_root_privileges)
    assert (found.returncode, found.stderr) == (0, "")
    identifier = corestone.metadata(store)["NSStoreUUID"]
    assert found.stdout == f"{copy} is a backup of {store}, {identifier}, {copy.stat().st_size} bytes\n"
    with corestone.open(copy) as backup:
        assert sorted(animal.name for animal in backup.fetch("Animal")) == ["", "carp", "eagle", "emu"]
    assert store.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["backup.sqlite", "zoo.sqlite"]


# Converting


def test_convert_to_every_type_and_back_keeps_all_values(store: Path, tmp_path: Path) -> None:
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


def test_convert_reports_counts_and_lost_decimal_digits(tmp_path: Path) -> None:
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
    made = f"converted {path} to {tmp_path / 'b.sqlite'} (SQLite): 4 objects\n"
    assert (plain.returncode, plain.stdout) == (0, made)
    assert plain.stderr.count("CoreData: warning:") == 1 and "2 values of Item.price" in plain.stderr
    checked = run("convert", path, tmp_path / "c.sqlite", "--check", *words)
    assert checked.returncode == 1 and "2 differences" in checked.stdout and "has what" not in checked.stdout
    exact = run("convert", tmp_path / "c.sqlite", tmp_path / "d.binary", "--check")
    assert (exact.returncode, exact.stderr) == (0, "") and "all equal" in exact.stdout


def test_invalid_conversions_are_rejected(store: Path, tmp_path: Path) -> None:
    assert "--type" in run("convert", store, tmp_path / "zoo").stderr
    assert "is not a store type" in run("convert", store, tmp_path / "zoo", "--type", "Parquet").stderr
    (tmp_path / "there.xml").write_text("x")
    assert run("convert", store, tmp_path / "there.xml").returncode == 2
    assert (tmp_path / "there.xml").read_text() == "x"


def test_convert_includes_external_values(tmp_path: Path) -> None:
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


def test_destroy_asks_for_confirmation(store: Path) -> None:
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


def test_destroy_rejects_a_file_that_is_not_a_store(tmp_path: Path) -> None:
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


def test_views_can_be_created_in_a_copy(store: Path, tmp_path: Path) -> None:
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


def test_views_of_every_fixture_are_valid(fixtures: Path, tmp_path: Path) -> None:
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
def test_convert_skips_join_rows_of_deleted_objects(tmp_path: Path, kind: str) -> None:
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
        assert f"omits 1 member of {relationship}, whose row does not exist\n" in done.stderr
    with Container(model, new) as container:
        found = {each.name: [to.name for to in each.to] for each in container.fetch("A")}
        assert found == {"a": ["y"]}
        assert [each.name for each in container.fetch("B")[0]["from"]] == ["a"]


# Every option of every command


def told(*words: str | Path) -> str:
    done = run(*words)
    assert (done.returncode, done.stderr) == (0, ""), words
    return done.stdout


def test_metadata_values_of_every_type_are_parsed(store: Path) -> None:
    settings = {
        "n:int=9223372036854775807": 2**63 - 1, "r:real=1e3": 1000.0, "t:bool=true": True, "y:bool=yes": True,
        "one:bool=1": True, "f:bool=false": False, "no:bool=no": False, "zero:bool=0": False,
        "day:date=2024-02-29": "2024-02-29T00:00:00Z", "time:date=2024-02-29T12:00:00+01:00": "2024-02-29T11:00:00Z",
        "raw:data=AAEC": "AAEC", "s:string=x:int": "x:int", "empty=": "",
        'j:json=[1, 2.5, true, "x", {"a": []}]': [1, 2.5, True, "x", {"a": []}],
    }  # fmt: skip
    words = [word for each in settings for word in ("--set", each)]
    found = json.loads(told("metadata", store, *words, "--format", "json"))
    assert {each.partition("=")[0].rpartition(":")[0] or "empty": value for each, value in settings.items()} == {
        key: value for key, value in found.items() if not key.startswith(("NS", "_NS", "CST_"))
    }
    assert type(found["r"]) is float and found["t"] is True and found["zero"] is False
    # The last of one name counts.
    assert json.loads(told("metadata", store, "--set", "s=1", "--set", "s=2", "--format", "json"))["s"] == "2"


def test_metadata_lines_have_the_documented_form(store: Path) -> None:
    blob = {64: "AAAA" * 21 + "AA==", 65: "65 bytes"}
    words = ["--set", "b=x", "--set", "a:int=1", "--set", "tags:json=[1]"]
    for size in blob:
        words += ["--set", f"blob{size}:data={base64.b64encode(bytes(size)).decode()}"]
    lines = told("metadata", store, *words).splitlines()
    names = [line.split(" ")[0] for line in lines if not line.startswith("  ")]
    own = ["a", "b", "blob64", "blob65", "tags"]
    assert names[:8] == ["NSStoreType", "NSStoreUUID", "NSPersistenceFrameworkVersion", *own]
    assert names[8:] == sorted(names[8:]) and all(name.startswith(("NS", "_NS", "CST_")) for name in names[8:])
    # What stands behind the names begins in one column.
    width = max(map(len, names)) + 2
    assert {line[width - 1] for line in lines if not line.startswith("  ")} == {" "}
    values = {line.split(" ")[0]: line[width:] for line in lines}
    assert (values["a"], values["b"], values["tags"], values["NSStoreType"]) == ("1", "x", "[1]", "SQLite")
    assert (values["blob64"], values["blob65"]) == (blob[64], blob[65])
    place = names.index("NSStoreModelVersionHashes")
    assert lines[place].endswith("  4 entities")
    hashes = {name: Model(ZOO)[name].version_hash.hex() for name in sorted(ZOO)}
    assert lines[place + 1 : place + 5] == [f"  {name}: {digits}" for name, digits in hashes.items()]
    long = told("metadata", store, "--set", "n" * 60 + "=1").splitlines()
    assert "n" * 60 + "  1" in long and long[0] == "NSStoreType" + " " * 37 + "  SQLite"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["metadata", "{}", "--set", "n:json=null"], "is not a value of type json"),
        (
            ["metadata", "{}", "--set", ":int=1"],
            "--set takes KEY=VALUE or KEY:TYPE=VALUE",
        ),
        (["metadata", "{}", "--set", "=1"], "--set takes KEY=VALUE or KEY:TYPE=VALUE"),
        (["metadata", "{}", "--set", "x:data=A?"], '"A?" is not a value of type data'),
        (["metadata", "{}", "--set", "x:date=2024-13-01"], "expected a month from 01 to 12"),
        (["metadata", "{}", "--set", "x:real=y"], "is not a value of type real"),
        (["metadata", "{}", "--set", "x:bool=YES"], "is not a value of type bool"),
        (["metadata", "{}", "--set", "x:int=1.5"], "is not a value of type int"),
        (["metadata", "{}", "--remove", "NSStoreUUD"], 'did you mean "NSStoreUUID"?'),
        (["metadata", "{}", "--remove", "x", "--set", "x=1"], 'does not have an entry "x"'),
        (["metadata", "{}", "--format", "csv"], '--format must be table or json, not "csv"'),
        (["copy", "{}", "{}.copy", "--timeout", "x"], 'of seconds, at least 0 and less than 1000000, not "x"'),
        (["copy", "{}", "{}.copy", "--timeout", "-1"], 'of seconds, at least 0 and less than 1000000, not "-1"'),
        (["copy", "{}", "{}.copy", "--timeout", "1e6"], 'of seconds, at least 0 and less than 1000000, not "1e6"'),
        (["backup", "{}", "{}.copy", "--timeout", "nan"], 'of seconds, at least 0 and less than 1000000, not "nan"'),
        (["destroy", "{}", "--yes", "--timeout", "soon"], 'of seconds, at least 0 and less than 1000000, not "soon"'),
        (["views", "{}", "--replace"], "add --into FILE"),
        (["views", "{}", "--dates", "iso"], '--dates must be text, unix or reference, not "iso"'),
        (["convert", "{}", "new.txt"], "new.txt does not have the extension of a store"),
        (["convert", "{}", ".xml"], ".xml does not have the extension of a store"),
        (["convert", "{}", ""], "TO is an empty string; pass a path"),
        (["convert", "{}", "new.xml", "--through", "Parquet"], "Parquet"),
    ],
)
def test_rejected_arguments_leave_the_store_unchanged(store: Path, words: list[str], message: str) -> None:
    before = store.read_bytes()
    done = run(*[word.replace("{}", str(store)) for word in words], cwd=store.parent)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert store.read_bytes() == before
    assert [path.name for path in store.parent.iterdir()] == ["zoo.sqlite"]


def test_file_extension_selects_the_store_type(store: Path) -> None:
    for name, kind in (
        ("a.xml", "XML"), ("a.binary", "Binary"), ("a.bin", "Binary"), ("a.sqlite", "SQLite"), ("a.SQLITE3", "SQLite"),
        ("a.db", "SQLite"),
    ):  # fmt: skip
        path = store.parent / name
        assert told("convert", store, path) == f"converted {store} to {path} ({kind}): 6 objects\n"
        assert json.loads(told("metadata", path, "--format", "json"))["NSStoreType"] == kind
    # --type takes precedence.
    told("convert", store, store.parent / "b.xml", "--type", "sqlite")
    assert json.loads(told("metadata", store.parent / "b.xml", "--format", "json"))["NSStoreType"] == "SQLite"
    line = f"converted {store} to a store in memory (InMemory): 6 objects\n"
    assert told("convert", store, store.parent / "c", "--type", "Memory") == line
    assert not (store.parent / "c").exists()


def test_commands_report_their_results(store: Path) -> None:
    uuid = corestone.metadata(store)["NSStoreUUID"]
    copy, backup = store.parent / "copy.sqlite", store.parent / "backup.sqlite"
    assert told("copy", store, copy) == f"{copy} is a copy of {store}, {uuid}\n"
    assert told("backup", store, backup) == (
        f"{backup} is a backup of {store}, {uuid}, {backup.stat().st_size} bytes\n"
    )
    readable = store.parent / "readable.sqlite"
    names = ["Animal", "Bird", "Fish", "Keeper", "Animal_friends"]
    assert told("views", store, "--list").splitlines() == names
    assert told("views", store, "--into", readable) == f"{readable} is a copy of {store} with 5 views\n"
    assert told("views", store, "--into", readable, "--replace", "--list").splitlines() == names
    told("convert", store, store.parent / "zoo.xml")
    xml_backup = store.parent / "backup.xml"
    line = told("backup", store.parent / "zoo.xml", xml_backup, "--model", store)
    assert line == (
        f"{xml_backup} is a backup of {store.parent / 'zoo.xml'}, {corestone.metadata(xml_backup)['NSStoreUUID']}\n"
    )
    assert told("destroy", copy, "--yes") == f"{copy} is empty now; its file stays, without tables\n"
    assert told("destroy", xml_backup, "--yes") == f"{xml_backup} is removed\n"
    assert copy.exists() and not xml_backup.exists()
    refused = run("views", store.parent / "zoo.xml")
    assert refused.returncode == 2 and "views require an SQLite store" in refused.stderr


def test_views_print_dates_in_the_requested_form(store: Path) -> None:
    query = "SELECT born FROM Animal WHERE name = 'carp'"
    for form, value in (
        ("text", "1969-03-29T23:59:59.750Z"),
        ("unix", -23932800.25),
        ("reference", -23932800.25 - 978307200),
    ):
        script = told("views", store, "--dates", form)
        assert rows(store, script, query) == [(value,)], form
    assert told("views", store, "--dates", "text") == told("views", store)


def test_empty_file_is_replaced_but_a_dangling_link_is_not(store: Path) -> None:
    for command in ("copy", "views"):
        target = store.parent / f"{command}.sqlite"
        target.touch()
        words = ["--into", target] if command == "views" else [target]
        told(command, store, *words)
        assert target.stat().st_size > 0
    (store.parent / "link.sqlite").symlink_to("nowhere")
    refused = run("copy", store, store.parent / "link.sqlite")
    assert refused.returncode == 2 and "already exists; choose another path" in refused.stderr


def test_copy_of_a_read_only_store_is_writable(store: Path) -> None:
    store.chmod(0o440)
    told("views", store, "--into", store.parent / "readable.sqlite")
    assert (store.parent / "readable.sqlite").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(("answer", "code"), [("yes\n", 0), ("Y\n", 0), ("\n", 1), ("no\n", 1), ("yess\n", 1)])
def test_destroy_accepts_documented_answers(store: Path, answer: str, code: int) -> None:
    found, text = answered(answer, "destroy", store)
    assert found == code
    assert f"{store} is a store of type SQLite with 4 entities. Remove its contents?" in text
    assert (f"{store} was not changed" in text) == (code == 1)


def test_store_in_use_is_read_without_changing_files(store: Path, tmp_path: Path) -> None:
    """With any locks of the program; uncommitted changes are not seen."""
    commands: list[list[str | Path]] = [
        ["metadata", store],
        ["show", store],
        ["fetch", store, "Bird", "--columns", "name"],
        ["check", store],
        ["dump", store, "Bird"],
        ["views", store],
        ["model", "show", store],
        ["model", "diff", store, store],
        ["convert", store, "nowhere", "--type", "memory"],
    ]

    def contents() -> tuple[str, dict[str, int]]:
        # By another process: closing a file would give up this one's locks on it.
        files = sorted(tmp_path.iterdir())
        digests = subprocess.run(["sha256sum", *files], capture_output=True, text=True, check=True).stdout
        return digests, {path.name: path.stat().st_mtime_ns for path in files}

    with closing(sqlite3.connect(store, isolation_level=None)) as writer:
        for mode in ("DELETE", "WAL"):
            writer.execute(f"PRAGMA journal_mode = {mode}")
            expected = {str(words[:2]): run(*words).stdout for words in commands}
            writer.execute("BEGIN EXCLUSIVE")
            if mode == "WAL":
                writer.execute("UPDATE ZANIMAL SET ZNAME = 'gone'")
            before = contents()
            for words in commands:
                found = run(*words)
                assert (found.returncode, found.stderr) == (0, ""), (mode, words)
                assert found.stdout == expected[str(words[:2])], (mode, words)
            assert contents() == before, mode
            writer.execute("ROLLBACK")


def test_application_metadata_is_converted(store: Path, tmp_path: Path) -> None:
    own = {"owner": "Ada", "tags": [1, "a"], "day": "2024-02-29T00:00:00Z", "raw": "AAEC"}
    settings = ["owner=Ada", 'tags:json=[1, "a"]', "day:date=2024-02-29", "raw:data=AAEC"]
    told("metadata", store, *(word for each in settings for word in ("--set", each)))
    identifiers = {corestone.metadata(store)["NSStoreUUID"]}
    for source, name in ((store, "a.xml"), (tmp_path / "a.xml", "b.binary"), (tmp_path / "b.binary", "c.sqlite")):
        told("convert", source, tmp_path / name, "--through", "memory", "--model", store)
        found = json.loads(told("metadata", tmp_path / name, "--format", "json"))
        others = {key: value for key, value in found.items() if not key.startswith(("NS", "_NS", "CST_"))}
        assert others == own, name
        identifiers.add(found["NSStoreUUID"])
    # A store that is copied keeps its identifier, one that is converted has its own.
    assert len(identifiers) == 4


def test_convert_rejects_derived_attributes_for_other_types(tmp_path: Path) -> None:
    model = Model()
    model.entity("Note").attribute("name", "string").attribute(
        "upper", "string", optional=True, derived="uppercase:(name)"
    )
    model.entity("Tag").attribute("name", "string").attribute(
        "lower", "string", optional=True, derived="lowercase:(name)"
    )
    with Container(model, tmp_path / "notes.sqlite") as container:
        container.insert("Note", {"name": "a"})
    for words in (["new.xml"], ["new.binary"], ["new", "--type", "memory"], ["new.sqlite", "--through", "xml"]):
        refused = run("convert", "notes.sqlite", *words, cwd=tmp_path)
        assert (refused.returncode, refused.stdout) == (3, ""), words
        assert "Note.upper and Tag.lower are derived" in refused.stderr, words
    assert [path.name for path in tmp_path.iterdir()] == ["notes.sqlite"]
    assert "1 object, 2 values: all equal" in told(
        "convert", tmp_path / "notes.sqlite", tmp_path / "b.sqlite", "--check"
    )


def test_copy_does_not_replace_a_store_of_another_type(store: Path, tmp_path: Path) -> None:
    told("convert", store, tmp_path / "zoo.xml")
    for source, target in ((store, tmp_path / "zoo.xml"), (tmp_path / "zoo.xml", store)):
        before = target.read_bytes()
        refused = run("copy", source, target, "--replace")
        assert (refused.returncode, refused.stdout) == (3, "")
        assert f"{target} is a store of type" in refused.stderr
        assert f"destroy {target} first" in refused.stderr
        assert target.read_bytes() == before
    told("copy", tmp_path / "zoo.xml", tmp_path / "copy.xml")
    assert (tmp_path / "copy.xml").read_bytes() == (tmp_path / "zoo.xml").read_bytes()


def test_copy_includes_the_log_and_leaves_the_folder_unchanged(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir()
    path = folder / "live.sqlite"
    with Container(Model({"Note": {"title": "string", "data": "binary? external"}}), path) as container:
        container.insert("Note", [{"title": "a", "data": b"x" * 200_000}, {"title": "b"}])
        before = {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()}
        told("copy", path, tmp_path / "copy.sqlite")
        assert {each: each.read_bytes() for each in folder.rglob("*") if each.is_file()} == before
    assert sorted(each.name for each in tmp_path.iterdir()) == [".copy_SUPPORT", "copy.sqlite", "theirs"]
    dumped = [json.loads(line) for line in told("dump", tmp_path / "copy.sqlite").splitlines()]
    assert [(each["title"], len(each["data"] or "")) for each in dumped] == [("a", 266_668), ("b", 0)]


def test_views_script_begins_with_comments(store: Path) -> None:
    script = told("views", store)
    assert script.startswith("-- SQL views of a Core Data store")
    made = [line for line in script.splitlines() if line.startswith("CREATE")]
    assert len(made) == 5 and all(line.startswith("CREATE TEMP VIEW ") for line in made)
    with closing(sqlite3.connect(store)) as connection:
        connection.executescript(script)
        assert connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'view'").fetchone() == (0,)


def test_views_include_external_values_composites_and_subentities(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    spec: dict[str, dict[str, Any]] = {
        "Base": {"@abstract": True, "title": "string?", "notes": "to-many Note inverse owner"},
        "Person": {"@parent": "Base"},
        "Team": {"@parent": "Base"},
        "Note": {
            "price": "decimal?", "name": "string?", "Name": "string?", "photo": "binary? external",
            "place": {"latitude": "double?", "town": "string?"}, "owner": "to-one Base? inverse notes",
        },
    }  # fmt: skip
    with Container(Model(spec), path) as container:
        context = container.context()
        team, person = context.insert("Team", title="t"), context.insert("Person", title="p")
        context.insert(
            "Note", price=Decimal("1.5"), name="a", Name="A", photo=b"x", place={"latitude": 1.5}, owner=team
        )
        context.insert("Note", name="b", photo=b"y" * 200_000, owner=person)
        context.save()
    columns = "name_, Name, price, photo, photo_file, place_latitude, place_town, owner_id, owner_entity, owner_title"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(told("views", path))
        names = [each[1] for each in connection.execute("PRAGMA table_info(Note)")]
        small, large = connection.execute(f"SELECT {columns} FROM Note ORDER BY name_").fetchall()
        entities = connection.execute("SELECT entity, title FROM Base ORDER BY 2").fetchall()
    assert "entity" not in names and names[0] == "id"
    assert small[:4] == ("a", "A", 1.5, b"x") and small[4] is None and small[5:7] == (1.5, None)
    assert small[8:] == ("Team", "t") and large[8:] == ("Person", "p")
    assert large[3] is None and (tmp_path / ".notes_SUPPORT" / "_EXTERNAL_DATA" / large[4]).stat().st_size == 200_000
    assert entities == [("Person", "p"), ("Team", "t")]


@pytest.mark.parametrize("name", ["zoo.sqlite", "zoo.xml", "zoo.binary"])
def test_stores_of_every_type_are_described_copied_and_destroyed(store: Path, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if path != store:
        told("convert", store, path)
    model = tmp_path / "model.sqlite"
    shutil.copyfile(store, model)

    def own() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(told("metadata", path, "--format", "json"))
        return {key: value for key, value in found.items() if not key.startswith(("NS", "_NS", "CST_"))}

    objects = told("dump", path, "--model", model)
    words = [
        "--set",
        "a=1",
        "--set",
        "d:date=2024-02-29T00:00:00.5Z",
        "--set",
        "j:json=[1.5, true]",
        "--set",
        "b:data=AAEC",
    ]
    told("metadata", path, *words)
    # Property lists in XML have whole seconds.
    day = "2024-02-29T00:00:00Z" if name == "zoo.xml" else "2024-02-29T00:00:00.5Z"
    assert own() == {"a": "1", "d": day, "j": [1.5, True], "b": "AAEC"}
    told("metadata", path, "--remove", "a", "--remove", "j", "--set", "d=x")
    assert own() == {"d": "x", "b": "AAEC"}
    for key in ("NSStoreUUID", "NSStoreType", "NSStoreModelVersionHashes"):
        for change in (["--set", f"{key}=x"], ["--remove", key]):
            before = path.read_bytes()
            refused = run("metadata", path, *change)
            assert refused.returncode in (2, 3) and key in refused.stderr
            assert path.read_bytes() == before
    identifier = corestone.metadata(path)["NSStoreUUID"]
    for command in ("copy", "backup"):
        target = tmp_path / f"{command}{path.suffix}"
        more = ["--model", str(model)] if command == "backup" else []
        assert identifier in told(command, path, target, *more)
        assert corestone.metadata(target)["NSStoreUUID"] == identifier
        assert told("dump", target, "--model", model) == objects == told("dump", path, "--model", model)
    told("destroy", path, "--yes")
    assert path.exists() == (name == "zoo.sqlite")
    assert run("show", path, "--model", model).returncode == 3


def test_sqlite_commands_are_rejected_for_other_types(store: Path, tmp_path: Path) -> None:
    for name, kind in (("zoo.xml", "XML"), ("zoo.binary", "Binary")):
        path = tmp_path / name
        told("convert", store, path)
        before = path.read_bytes()
        for words, code in (
            (["check"], 3), (["check", "--remove-leftovers"], 3), (["views"], 2), (["views", "--list"], 2),
        ):  # fmt: skip
            refused = run(words[0], path, *words[1:])
            assert (refused.returncode, refused.stdout) == (code, ""), words
            assert str(path) in refused.stderr and kind in refused.stderr
        explained = told("fetch", path, "Animal", "name == 'emu'", "--explain", "--model", store).splitlines()
        assert explained == [
            'fetch Animal where name == "emu"', "plan:", "  SCAN Animal", "indexes: none", "in memory: nothing",
        ]  # fmt: skip
        assert path.read_bytes() == before


def test_backup_can_be_updated(tmp_path: Path) -> None:
    path, copy = tmp_path / "notes.sqlite", tmp_path / "copy.sqlite"
    with Container(Model({"Note": {"text": "string", "data": "binary? external"}}), path) as container:
        for number in range(3):
            container.insert("Note", {"text": str(number), "data": bytes([number]) * 200_000})
            container.delete("Note", "text == %@", str(number - 1))
            told("backup", path, copy)
            (found,) = map(json.loads, told("dump", copy).splitlines())
            assert (found["text"], base64.b64decode(found["data"])) == (str(number), bytes([number]) * 200_000)
            files = list((tmp_path / ".copy_SUPPORT" / "_EXTERNAL_DATA").iterdir())
            assert len(files) == 1


def test_timeout_option_limits_the_wait_for_locks(store: Path, tmp_path: Path) -> None:
    target = tmp_path / "copy.sqlite"
    told("copy", store, target)
    before = told("dump", target)
    with closing(sqlite3.connect(target, isolation_level=None)) as other:
        cases: list[tuple[str, list[str | Path]]] = [
            ("0", ["copy", store, target, "--replace"]),
            ("0.2", ["backup", store, target]),
            ("0.1", ["destroy", target, "--yes"]),
        ]
        for seconds, words in cases:
            other.execute("BEGIN IMMEDIATE")
            start = time.monotonic()
            refused = run(*words, "--timeout", seconds)
            # Well below the default of 5 seconds.
            assert float(seconds) <= time.monotonic() - start < 4.5, words
            assert (refused.returncode, refused.stdout) == (3, "")
            assert "another process or connection holds the lock" in refused.stderr
            assert ("--force to remove the files despite the lock" in refused.stderr) == (words[0] == "destroy")
            other.execute("ROLLBACK")
            # Not read here: closing a file of this process would give its locks up.
            assert told("dump", target) == before
        # A long enough time-out succeeds.
        other.execute("BEGIN IMMEDIATE")
        command = [str(TOOL), "copy", str(store), str(target), "--replace", "--timeout", "60"]
        waiting = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        time.sleep(0.05)
        assert waiting.poll() is None
        other.execute("ROLLBACK")
        assert waiting.communicate(timeout=60)[0].startswith(f"{target} is a copy of {store}, ")
    assert waiting.returncode == 0
