"""Untrusted files: numbers at 64-bit limits, dangling references, unbounded expressions, pipes, sparse files."""

from __future__ import annotations

import os
import plistlib
import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import binary_reader
import pytest

import corestone
from corestone import Container, Coordinator, CorestoneError, InvalidArgumentError, Model, Status, StoreCorruptError

MOST = 2**63 - 1
OFFICE: dict[str, Any] = {
    "Department": {"name": "string?", "staff": "to-many Employee inverse department"},
    "Employee": {
        "name": "string?",
        "photo": "binary? external",
        "department": "to-one Department? inverse staff",
    },
}


def fill(path: Path, type: str | None = None, **options: Any) -> None:
    with Container(Model(OFFICE), path, type=type, **options) as container:
        context = container.context()
        for number in range(1, 4):
            department = context.insert("Department", name=f"D{number}")
            context.insert("Employee", name=f"E{number}", department=department, photo=bytes(200_000))
        context.save()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    fill(tmp_path / "company.sqlite", journal="rollback")
    return tmp_path / "company.sqlite"


def run(path: Path, *statements: str, values: Iterable[Any] = ()) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement, tuple(values))


def add_to_table(path: Path, table: str, text: str) -> None:
    """Adds text to the CREATE TABLE statement of a table."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.execute(
            "UPDATE sqlite_master SET sql = rtrim(sql, ' )') || ? WHERE name = ? AND type = 'table'",
            (f", {text})", table),
        )


def external_file(path: Path) -> Path:
    return sorted((path.parent / f".{path.stem}_SUPPORT" / "_EXTERNAL_DATA").iterdir())[0]


def photos(container: Container) -> list[int]:
    """How large they are."""
    return [len(each.photo) for each in container.context().fetch("Employee")]


def converted(path: Path, to: Path, type: str, from_type: str | None = None) -> list[tuple[str, str | None]]:
    """Names of employees and of their departments in a copy of another type."""
    with Container(Model(OFFICE), path, type=from_type) as container:
        container.coordinator.migrate_store(container.store, to, type=type)
    with Container(Model(OFFICE), to, type=type) as container:
        found = container.context().fetch("Employee", sort="name")
        return [(each.name, each.department.name if each.department else None) for each in found]


# --- Keys and references


@pytest.mark.parametrize("type", ["XML", "Binary", "SQLite", "InMemory"])
@pytest.mark.parametrize("value", [MOST, MOST - 1, -(2**63), 999, 1e300, "text", -1])
def test_dangling_reference_is_read_as_null(store: Path, tmp_path: Path, type: str, value: Any) -> None:
    run(store, "UPDATE ZEMPLOYEE SET ZDEPARTMENT = ? WHERE ZNAME = 'E2'", values=[value])
    if type == "InMemory":
        with Container(Model(OFFICE), store) as container:
            container.coordinator.migrate_store(container.store, tmp_path / "copy", type=type)
        return
    assert converted(store, tmp_path / "copy", type) == [("E1", "D1"), ("E2", None), ("E3", "D3")]


@pytest.mark.parametrize("type", ["XML", "Binary", "SQLite"])
@pytest.mark.parametrize("key", [MOST, MOST - 1, 1 << 62, (1 << 62) + 1])
def test_rows_with_the_highest_primary_keys_are_read(store: Path, tmp_path: Path, type: str, key: int) -> None:
    run(store, f"UPDATE ZDEPARTMENT SET Z_PK = {key} WHERE ZNAME = 'D2'")
    run(store, f"UPDATE ZEMPLOYEE SET ZDEPARTMENT = {key} WHERE ZNAME = 'E2'")
    run(store, f"UPDATE ZEMPLOYEE SET Z_PK = {key} WHERE ZNAME = 'E3'")
    to = tmp_path / "copy"
    assert converted(store, to, type) == [("E1", "D1"), ("E2", "D2"), ("E3", "D3")]
    with Container(Model(OFFICE), to, type=type) as container:
        context = container.context()
        context.insert("Employee", name="new")
        context.save()


@pytest.mark.parametrize("to", ["XML", "SQLite"])
def test_binary_store_with_a_dangling_reference_is_read(tmp_path: Path, to: str) -> None:
    path = tmp_path / "company.binary"
    fill(path, "Binary")
    content = binary_reader.content(path.read_bytes())
    column = next(each for each in content["entities"] if each["name"] == "Employee")["columns"]["department"]
    column["values"] = MOST.to_bytes(8, "little") + column["values"][8:]
    path.write_bytes(binary_reader.file(plistlib.dumps(content, fmt=plistlib.FMT_BINARY)))
    found = converted(path, tmp_path / "copy", to, "Binary")
    assert sorted(department or "" for _, department in found) == ["", "D2", "D3"]


def test_insert_fails_when_primary_keys_are_exhausted(store: Path) -> None:
    run(store, f"UPDATE Z_PRIMARYKEY SET Z_MAX = {MOST}")
    with Container(Model(OFFICE), store, unsaved="discard") as container:
        context = container.context()
        context.insert("Employee", name="new")
        with pytest.raises(StoreCorruptError, match="too few unused primary keys"):
            context.save()
        with pytest.raises(StoreCorruptError, match="too few unused primary keys"):
            context.batch_insert("Employee", [{"name": "new"}])


def test_save_fails_when_history_keys_are_exhausted(tmp_path: Path) -> None:
    path = tmp_path / "company.sqlite"
    fill(path, journal="rollback", history=True)
    run(path, f"UPDATE Z_PRIMARYKEY SET Z_MAX = {MOST} WHERE Z_NAME LIKE 'TRANSACTION' OR Z_ENT > 16000")
    with Container(Model(OFFICE), path, unsaved="discard") as container:
        context = container.context()
        context.insert("Employee", name="new")
        with pytest.raises(StoreCorruptError, match="history"):
            context.save()


# --- Limits


GROWING = "max(" + ", ".join(["hex(zeroblob(200000000))"] * 5) + ")"


def test_value_limit_rejects_larger_values(store: Path) -> None:
    run(store, "UPDATE ZEMPLOYEE SET ZNAME = zeroblob(70000000) WHERE ZNAME = 'E2'")
    with Container(Model(OFFICE), store) as container, pytest.raises(InvalidArgumentError) as raised:
        container.context().fetch("Employee", sort="photo")
    assert (raised.value.key, raised.value.value) == ("value_limit", 67108864)
    assert "value_limit (67108864 bytes)" in str(raised.value)
    with Container(Model(OFFICE), store, value_limit=80_000_000) as container:
        assert len(container.context().fetch("Employee")) == 3


def test_save_beyond_the_value_limit_fails(store: Path) -> None:
    with Container(Model(OFFICE), store, value_limit=100_000, external_threshold=2**62, unsaved="discard") as container:
        context = container.context()
        context.insert("Employee", name="large", photo=bytes(100_001))
        with pytest.raises(InvalidArgumentError, match="value_limit"):
            context.save()


@pytest.mark.parametrize("store_type", ["XML", "Binary"])
def test_single_file_store_larger_than_the_value_limit_is_read(tmp_path: Path, store_type: str) -> None:
    store = tmp_path / "large"
    with Container(Model(OFFICE), store, type=store_type) as container:
        container.view_context.insert("Employee", name="x" * 200_000)
        container.view_context.save()
    with Container(Model(OFFICE), store, type=store_type, value_limit=100_000) as container:
        assert len(container.view_context.first("Employee").name) == 200_000


def test_external_values_larger_than_the_value_limit_are_read(tmp_path: Path) -> None:
    model = {"Photo": {"data": "binary external"}}
    with Container(Model(model), tmp_path / "store", external_threshold=1000) as container:
        container.view_context.insert("Photo", data=bytes(200_000))
        container.view_context.save()
    with Container(Model(model), tmp_path / "store", value_limit=100_000) as container:
        assert container.view_context.first("Photo").data == bytes(200_000)


@pytest.mark.parametrize("limit", ["value_limit", "memory_limit", "step_limit"])
@pytest.mark.parametrize("type", ["SQLite", "XML", "Binary", "InMemory"])
def test_limits_out_of_range_are_rejected(tmp_path: Path, type: str, limit: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        Container(Model(OFFICE), tmp_path / "new", type=type, **{limit: 7})  # type: ignore[call-overload]
    assert (raised.value.key, raised.value.value) == (limit, 7)


@pytest.mark.parametrize(
    "text",
    [
        f"ZMORE VARCHAR AS ({GROWING}) VIRTUAL CHECK (length(ZMORE) > 1)",
        f"ZMORE INTEGER, CHECK (length({GROWING}) > 1)",
        f"ZMORE VARCHAR DEFAULT ({GROWING})",
        "ZMORE INTEGER, CHECK (length(printf('%.*c', 2000000000, 'x')) > 1)",
        "ZMORE INTEGER, CHECK (length(format('%-2000000000d', 1) || '') > 1)",
        "ZMORE INTEGER, CHECK (length(replace(hex(zeroblob(900000)), '0', hex(zeroblob(900000)))) > 1)",
    ],
)
def test_expressions_are_limited_to_a_share_of_memory(store: Path, text: str) -> None:
    add_to_table(store, "ZDEPARTMENT", text)
    with Container(Model(OFFICE), store, unsaved="discard") as container:
        assert container.read_only_reason is None
        context = container.context()
        assert len(context.fetch("Department")) == 3
        context.insert("Department", name="new")
        with pytest.raises(InvalidArgumentError) as raised:
            context.save()
        assert (raised.value.key, raised.value.value) == ("memory_limit", 134217728)
        assert ("searches text" if "replace(" in text else "the share of memory_limit") in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TRIGGER own AFTER INSERT ON ZDEPARTMENT BEGIN "
        "INSERT OR REPLACE INTO audit VALUES (NEW.Z_PK, 'note ' || NEW.ZNAME); END",
        "CREATE INDEX own ON ZDEPARTMENT (trim(ZNAME), ZNAME || '!')",
        "CREATE VIEW own AS SELECT ZNAME || '!' AS replace FROM ZDEPARTMENT",
    ],
)
def test_non_searching_expressions_impose_no_limit(store: Path, text: str) -> None:
    with Container(Model(OFFICE), store, external_threshold=2**62) as container:
        context = container.context()
        context.insert("Employee", name="large", photo=bytes(1_000_000))
        context.save()
    run(store, "CREATE TABLE audit (id INTEGER PRIMARY KEY, note TEXT)")
    run(store, text)
    with Container(Model(OFFICE), store) as container:
        (large,) = container.context().fetch("Employee", "name = 'large'")
        assert len(large.photo) == 1_000_000


def test_searching_expressions_are_limited_by_an_option(store: Path) -> None:
    add_to_table(store, "ZDEPARTMENT", "ZMORE INTEGER, CHECK (instr(ZNAME || '!', '!') > 0)")
    with Container(Model(OFFICE), store, unsaved="discard") as container:
        context = container.context()
        context.insert("Department", name="n" * 300_000)
        with pytest.raises(InvalidArgumentError, match="1/512 of memory_limit") as raised:
            context.save()
        assert raised.value.key == "memory_limit"
    with Container(Model(OFFICE), store, memory_limit=1 << 30, unsaved="discard") as container:
        context = container.context()
        context.insert("Department", name="n" * 300_000)
        context.save()


@pytest.mark.parametrize(
    "text",
    [
        "ZMORE VARCHAR AS (upper(ZNAME)) VIRTUAL",
        "ZMORE VARCHAR AS (ZNAME || '!') STORED",
        "ZMORE INTEGER, CHECK (ZMORE IS NULL OR length(ZNAME) > 1)",
        "ZMORE VARCHAR DEFAULT (printf('%d', 7))",
        "ZMORE INTEGER, CHECK (printf('%s', '') IS NULL OR format(NULL) IS NULL)",
        "ZMORE INTEGER, CHECK (printf('%*d|%-5s|%%|%.2f', 4, 7, 'x', 1.5) = '   7|x    |%|1.50')",
    ],
)
def test_store_with_built_in_sqlite_expressions_is_writable(store: Path, text: str) -> None:
    add_to_table(store, "ZDEPARTMENT", text)
    run(store, "CREATE INDEX own ON ZDEPARTMENT (lower(ZNAME)) WHERE length(ZNAME) > 1")
    with Container(Model(OFFICE), store) as container:
        assert container.read_only_reason is None
        context = container.context()
        context.insert("Department", name="new")
        context.save()
        assert context.count("Department") == 4


@pytest.mark.parametrize(
    "text",
    [
        "ZMORE INTEGER, CHECK (no_such(1) IS NULL)",
        "ZMORE VARCHAR AS (no_such(ZNAME)) STORED",
        "ZMORE VARCHAR DEFAULT (no_such(1))",
    ],
)
def test_store_with_an_unknown_sql_function_is_read_only(store: Path, text: str) -> None:
    add_to_table(store, "ZDEPARTMENT", text)
    with Container(Model(OFFICE), store) as container:
        assert "no_such" in (container.read_only_reason or "")
        assert len(container.context().fetch("Department")) == 3


REPORT = "NSCoreDataTriggerUpdateAffectedObjectValue('ZDEPARTMENT', 1, 1, 'name', 1)"


def test_endless_trigger_is_interrupted(store: Path) -> None:
    many = ", ".join(f"big b{n}" for n in range(6))
    run(store, "CREATE TABLE big (x)")
    run(
        store,
        "INSERT INTO big WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 50) SELECT x FROM c",
    )
    run(
        store,
        f"CREATE TRIGGER ZT_own AFTER INSERT ON ZDEPARTMENT BEGIN SELECT count(*), {REPORT} FROM {many} "
        "WHERE b0.x + b1.x + b2.x + b3.x + b4.x + b5.x = -1; END",
    )
    with Container(Model(OFFICE), store, step_limit=1_000_000) as container:
        assert container.read_only_reason is None
        context = container.context()
        context.insert("Department", name="new")
        with pytest.raises(CorestoneError, match=r"step_limit \(1000000") as raised:
            context.save()
        assert (raised.value.status, raised.value.key) == (Status.STORE_IO, "step_limit")
        context.rollback()
        assert context.count("Department") == 3


def test_long_chain_of_triggers_is_interrupted(store: Path) -> None:
    """Each trigger fires the next one: a single step is cheap, the whole chain is not."""
    run(
        store,
        "CREATE TABLE big (x)",
        "INSERT INTO big WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 400) SELECT x FROM c",
        "CREATE TABLE link (x)",
        "CREATE TABLE mark (x)",
        "INSERT INTO mark VALUES (0)",
        f"CREATE TRIGGER ZT_own AFTER INSERT ON ZDEPARTMENT BEGIN SELECT {REPORT}; "
        "INSERT INTO link SELECT x FROM big; END",
        "CREATE TRIGGER ZT_link AFTER INSERT ON link BEGIN UPDATE mark SET x = x + (SELECT count(*) FROM big a, big b "
        "WHERE a.x + b.x = -1 AND a.x < 60); END",
    )
    with Container(Model(OFFICE), store, step_limit=1_000_000) as container:
        context = container.context()
        context.insert("Department", name="new")
        with pytest.raises(CorestoneError, match=r"step_limit \(1000000"):
            context.save()
        context.rollback()
        assert context.count("Department") == 3
    with Container(Model(OFFICE), store) as container:
        context = container.context()
        context.insert("Department", name="new")
        context.save()


def test_trigger_beyond_the_memory_limit_fails(store: Path) -> None:
    run(store, "CREATE TABLE big (x)")
    run(
        store,
        "INSERT INTO big WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 999) SELECT x FROM c",
    )
    run(
        store,
        "CREATE TRIGGER ZT_own AFTER INSERT ON ZDEPARTMENT BEGIN SELECT count(*), "
        f"{REPORT} FROM (SELECT DISTINCT a.x, b.x, c.x FROM big a, big b, big c); END",
    )
    with Container(Model(OFFICE), store, memory_limit=16 << 20, unsaved="discard") as container:
        context = container.context()
        context.insert("Department", name="new")
        with pytest.raises(CorestoneError, match="exceed memory_limit") as raised:
            context.save()
        assert raised.value.key == "memory_limit"


def test_recursive_trigger_is_not_fired(store: Path) -> None:
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    run(store, f"CREATE TRIGGER ZT_own AFTER INSERT ON ZDEPARTMENT BEGIN SELECT ({endless}), {REPORT}; END")
    with Container(Model(OFFICE), store) as container:
        assert "a recursive query" in (container.read_only_reason or "")


# --- Files beside a store


def put(kind: str, place: Path) -> None:
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to(place.name if kind == "loop" else "/dev/zero")


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "device"])
@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
def test_companion_that_is_not_a_regular_file_is_rejected(store: Path, tmp_path: Path, suffix: str, kind: str) -> None:
    put(kind, Path(f"{store}{suffix}"))
    for work in (
        lambda: Container(Model(OFFICE), store),
        lambda: corestone.open(store),
        lambda: corestone.metadata(store),
        lambda: Coordinator(Model(OFFICE)).destroy_store(store),
        lambda: Coordinator(Model(OFFICE)).replace_store(tmp_path / "copy", store),
    ):
        with pytest.raises(CorestoneError, match=f"company.sqlite{suffix} is a ") as raised:
            work()
        assert raised.value.status == Status.STORE_IO


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "device"])
@pytest.mark.parametrize("type", ["SQLite", "XML", "Binary", None])
def test_store_that_is_not_a_regular_file_is_rejected(tmp_path: Path, type: str | None, kind: str) -> None:
    put(kind, tmp_path / "store")
    with pytest.raises(CorestoneError) as raised:
        Container(Model(OFFICE), tmp_path / "store", type=type)
    assert raised.value.status in (Status.NOT_A_STORE, Status.STORE_IO)


# --- Files with large values


@pytest.mark.parametrize("kind", ["pipe", "folder", "loop", "device"])
def test_external_value_in_a_non_regular_file_is_rejected(store: Path, tmp_path: Path, kind: str) -> None:
    file = external_file(store)
    file.unlink()
    put(kind, file)
    with Container(Model(OFFICE), store) as container:
        with pytest.raises(CorestoneError):
            photos(container)
        with pytest.raises(CorestoneError):
            container.coordinator.backup(container.store, tmp_path / "backup")
        with pytest.raises(CorestoneError):
            container.coordinator.migrate_store(container.store, tmp_path / "copy", type="XML")
    assert not (tmp_path / "backup").exists()


def test_sparse_external_file_is_rejected(store: Path, tmp_path: Path) -> None:
    file = external_file(store)
    file.chmod(0o600)
    os.truncate(file, 1 << 30)
    with Container(Model(OFFICE), store) as container:
        with pytest.raises(CorestoneError, match=r"sparse.*value_limit of 67108864 bytes"):
            photos(container)
        # A copy takes no more room than the store.
        container.coordinator.backup(container.store, tmp_path / "backup.sqlite")
        with pytest.raises(CorestoneError, match="value_limit"):
            container.coordinator.migrate_store(container.store, tmp_path / "copy", type="XML")
    copy = external_file(tmp_path / "backup.sqlite").parent / file.name
    assert copy.stat().st_size == 1 << 30
    assert copy.stat().st_blocks * 512 < 10_000_000
    with copy.open("rb") as whole:
        assert whole.read(200_001) == bytes(200_001)


def test_external_limit_rejects_larger_files(store: Path, tmp_path: Path) -> None:
    os.truncate(external_file(store), 300_000)
    with (
        Container(Model(OFFICE), store, external_limit=250_000) as container,
        pytest.raises(CorestoneError, match=r"external_limit \(250000\)"),
    ):
        photos(container)
    with Container(Model(OFFICE), store) as container:
        assert sorted(photos(container)) == [200_000, 200_000, 300_000]
    os.truncate(external_file(store), 1 << 40)
    with Container(Model(OFFICE), store) as container:
        with pytest.raises(CorestoneError, match=r"external_limit \(2147483647\)") as raised:
            container.coordinator.backup(container.store, tmp_path / "backup.sqlite")
        assert (raised.value.key, raised.value.value) == ("external_limit", 2147483647)


@pytest.mark.parametrize("type", ["XML", "Binary"])
def test_sparse_store_file_is_rejected(tmp_path: Path, type: str) -> None:
    path = tmp_path / "company"
    fill(path, type)
    os.truncate(path, 1 << 31)
    for limit, work in (
        (67108864, lambda: Container(Model(OFFICE), path, type=type)),
        (65536, lambda: Container(Model(OFFICE), path, type=type, value_limit=65536)),
        (67108864, lambda: corestone.metadata(path)),
    ):
        with pytest.raises(CorestoneError, match=rf"sparse.*value_limit of {limit} bytes") as raised:
            work()
        assert (raised.value.key, raised.value.value) == ("value_limit", limit)


def test_backup_uses_the_raised_external_limit(store: Path, tmp_path: Path) -> None:
    os.truncate(external_file(store), 1 << 32)
    with Container(Model(OFFICE), store, external_limit=1 << 33) as container:
        container.coordinator.backup(container.store, tmp_path / "backup.sqlite")
    assert external_file(tmp_path / "backup.sqlite").parent.is_dir()
    sizes = {file.stat().st_size for file in external_file(tmp_path / "backup.sqlite").parent.iterdir()}
    assert 1 << 32 in sizes


# --- Metadata of a store


def test_identifier_of_megabytes_is_rejected(store: Path) -> None:
    run(store, "UPDATE Z_METADATA SET Z_UUID = ?", values=["x" * 5_000_000])
    for work in (lambda: corestone.open(store), lambda: corestone.metadata(store)):
        with pytest.raises(StoreCorruptError, match="identifier") as raised:
            work()
        assert len(str(raised.value)) < 1000


def test_entity_name_of_megabytes_is_rejected(store: Path) -> None:
    run(store, "UPDATE Z_PRIMARYKEY SET Z_NAME = ? WHERE Z_NAME = 'Employee'", values=["x" * 5_000_000])
    with pytest.raises(StoreCorruptError, match="name of entity") as raised:
        corestone.open(store)
    assert len(str(raised.value)) < 1000


def test_log_with_an_invalid_page_size_is_rejected(store: Path) -> None:
    """The checksums are correct, but the frames are shorter than the fields that are read."""
    content = bytearray(store.read_bytes())
    content[16:18] = (8).to_bytes(2, "big")
    store.write_bytes(content)

    def sums(data: bytes, state: tuple[int, int]) -> tuple[int, int]:
        first, second = state
        for place in range(0, len(data) - 7, 8):
            first = (first + int.from_bytes(data[place : place + 4], "big") + second) & 0xFFFFFFFF
            second = (second + int.from_bytes(data[place + 4 : place + 8], "big") + first) & 0xFFFFFFFF
        return first, second

    def words(*numbers: int) -> bytes:
        return b"".join(number.to_bytes(4, "big") for number in numbers)

    header = words(0x377F0683, 3007000, 8, 1, 7, 9)
    state = sums(header, (0, 0))
    log = header + words(*state)
    state = sums(bytes(8), sums(words(1, 1), state))
    log += words(1, 1) + header[16:24] + words(*state) + bytes(8)
    Path(f"{store}-wal").write_bytes(log)
    with pytest.raises(CorestoneError):
        corestone.open(store)


def test_cached_model_that_decompresses_to_gigabytes_is_not_read(store: Path) -> None:
    run(store, "UPDATE Z_MODELCACHE SET Z_CONTENT = ?", values=[zlib.compress(bytes(300_000_000), 1)])
    with corestone.open(store) as container:
        assert "cannot read the model" in (container.read_only_reason or "")
