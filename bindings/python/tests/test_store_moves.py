"""Content and metadata that are kept when stores are migrated, replaced, copied and destroyed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Callable

import pytest

import corestone
from corestone import (
    Container,
    Coordinator,
    CorestoneError,
    InvalidArgumentError,
    Model,
    ModelMismatchError,
    NotAStoreError,
    ObjectGoneError,
    Status,
    StoreBusyError,
    StoreError,
    UnsupportedError,
    log,
)

TYPES = ["SQLite", "XML", "Binary"]
NOTES: dict[str, Any] = {"Note": {"text": "string?", "data": "binary? external"}}


@pytest.fixture
def notes() -> Model:
    model = Model(NOTES)
    model.configuration("Paper", "Note")
    return model


def filled(model: Model, path: Path, *texts: str, type: str | None = None, **options: Any) -> None:
    with Container(model, path, type=type, **options) as container:
        container.insert("Note", [{"text": text} for text in texts])


def texts(coordinator: Coordinator) -> list[str]:
    with coordinator.context() as context:
        return [each.text for each in context.fetch("Note", sort="text")]


def ask(path: Path, statement: str) -> Any:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


# --- Metadata


@pytest.mark.parametrize("is_open", [True, False], ids=["open", "closed"])
@pytest.mark.parametrize("type", TYPES)
def test_store_identifier_is_kept(notes: Model, tmp_path: Path, type: str, is_open: bool) -> None:
    path = tmp_path / "store"
    coordinator = Coordinator(notes)
    store = coordinator.add_store(path, type=type)
    own = corestone.metadata(path)
    assert {
        "NSStoreUUID", "NSStoreType", "NSPersistenceFrameworkVersion", "NSStoreModelVersionHashes",
        "NSStoreModelVersionHashesVersion", "NSStoreModelVersionIdentifiers", "NSStoreModelVersionHashesDigest",
        "NSStoreModelVersionChecksumKey",
    } <= set(own)  # fmt: skip
    if not is_open:
        coordinator.close()

    def give(values: dict[str, Any]) -> dict[str, Any]:
        if not is_open:
            corestone.set_metadata(path, values)
            return corestone.metadata(path)
        coordinator.set_metadata(store, values)
        found = coordinator.metadata(store)
        coordinator.context().save()
        assert corestone.metadata(path) == found
        return found

    assert give({"a": 1, "b": [True, {"c": b"d"}]}) == {**own, "a": 1, "b": [True, {"c": b"d"}]}
    assert give({**own, "b": "x"}) == {**own, "b": "x"}
    for key, value in own.items():
        wrong = "x" if isinstance(value, (dict, list, int)) else [value]
        with pytest.raises(InvalidArgumentError) as caught:
            give({"a": 2, key: wrong})
        assert (caught.value.key, caught.value.file) == (key, str(path))
        assert caught.value.message.startswith(f"{key} of {path} must not change: it ")
        assert (coordinator.metadata(store) if is_open else corestone.metadata(path)) == {**own, "b": "x"}
    assert give({}) == own
    coordinator.close()
    with pytest.raises(ModelMismatchError):
        Container(Model({"Note": {"text": "string?", "more": "string?"}}), path, migrate=False)


def test_in_memory_store_has_the_metadata_of_its_model(notes: Model) -> None:
    coordinator = Coordinator(notes)
    store = coordinator.add_store("m", type="InMemory")
    own = coordinator.metadata(store)
    assert list(own["NSStoreModelVersionHashes"]) == ["Note"]
    coordinator.set_metadata(store, {"a": 1})
    coordinator.context().save()
    assert coordinator.metadata(store) == {**own, "a": 1}
    with pytest.raises(InvalidArgumentError) as caught:
        coordinator.set_metadata(store, {"NSStoreModelVersionHashes": "x"})
    assert caught.value.key == "NSStoreModelVersionHashes"


@pytest.mark.parametrize("type", TYPES)
def test_metadata_is_read_from_the_current_file(notes: Model, tmp_path: Path, type: str) -> None:
    one, other = Coordinator(notes), Coordinator(notes)
    mine, theirs = (each.add_store(tmp_path / "store", type=type) for each in (one, other))
    one.set_metadata(mine, {"a": 1})
    one.context().save()
    assert other.metadata(theirs)["a"] == 1
    other.set_metadata(theirs, {**other.metadata(theirs), "b": 2})
    other.context().save()
    assert {key: one.metadata(mine)[key] for key in "ab"} == {"a": 1, "b": 2}


@pytest.mark.parametrize("type", [*TYPES, "InMemory"])
@pytest.mark.parametrize("to", TYPES)
def test_application_metadata_is_migrated(notes: Model, tmp_path: Path, type: str, to: str) -> None:
    said = {"author": "Ada", "when": [1, 2.5, {"x": b"y"}], "_own": True}
    with Container(notes, tmp_path / "from", type=type) as container:
        container.insert("Note", {"text": "x"})
        former = container.store.identifier
        container.coordinator.set_metadata(container.store, said)
        container.context().save()
        container.migrate(tmp_path / "to", type=to)
        found = corestone.metadata(tmp_path / "to")
        assert {key: found[key] for key in said} == said
        assert found["NSStoreType"] == to
        assert found["NSStoreUUID"] == container.store.identifier != former
        assert list(found["NSStoreModelVersionHashes"]) == ["Note"]
        assert texts(container.coordinator) == ["x"]


@pytest.mark.parametrize("type", [*TYPES, "InMemory"])
@pytest.mark.parametrize("to", TYPES)
def test_migration_copies_unsaved_metadata(notes: Model, tmp_path: Path, type: str, to: str) -> None:
    def end(done: int, total: int) -> None:
        raise KeyError

    with Container(notes, tmp_path / "from", type=type) as container:
        coordinator, former = container.coordinator, container.store
        coordinator.set_metadata(former, {"author": "Ada", "old": 1})
        container.context().save()
        coordinator.set_metadata(former, {"author": "Grace"})
        with pytest.raises(KeyError):
            container.migrate(tmp_path / "to", type=to, progress=end)
        assert coordinator.metadata(former)["author"] == "Grace"
        container.migrate(tmp_path / "to", type=to)
        found = corestone.metadata(tmp_path / "to")
        assert (found["author"], found["NSStoreType"], "old" in found) == ("Grace", to, False)
        assert coordinator.metadata(container.store) == found
    if type != "InMemory":
        assert corestone.metadata(tmp_path / "from")["author"] == "Ada"


# --- Migrating


def test_migrated_store_has_history_when_the_source_had_one(notes: Model, tmp_path: Path) -> None:
    count = "SELECT count(*) FROM sqlite_master WHERE name = 'ATRANSACTION'"
    for name, before, after in [("kept", True, None), ("asked", None, True), ("none", None, None)]:
        path, to = tmp_path / name, tmp_path / f"{name}.new"
        with Container(notes, path, history=before) as container:
            for text in "abc":
                container.insert("Note", {"text": text})
            container.migrate(to, history=after)
        assert ask(to, count) == [(int(bool(before or after)),)]
        if before:
            assert ask(path, "SELECT count(*) FROM ATRANSACTION") == [(3,)]
            # Not those of the former store: one of the copying.
            assert ask(to, "SELECT count(*) FROM ATRANSACTION") == [(1,)]
            assert ask(to, "SELECT ZCHANGETYPE FROM ACHANGE") == [(0,)] * 3


@pytest.mark.parametrize("to", [*TYPES, "InMemory"])
def test_migration_keeps_primary_keys(notes: Model, tmp_path: Path, to: str) -> None:
    with Container(notes, tmp_path / "from.sqlite") as container:
        coordinator = container.coordinator
        context = container.context()
        items = [context.insert("Note", text=text) for text in "abcde"]
        context.save()
        for item in (items[0], items[3]):
            context.delete(item)
        context.save()
        heard: list[Any] = []
        progress: list[tuple[int, int]] = []
        former = container.store
        with coordinator.observe("stores_did_change", lambda _, changes: heard.append(changes)):
            container.migrate(tmp_path / "to", type=to, progress=lambda done, total: progress.append((done, total)))
        (change,) = [each.uuid_changed for each in heard if each.uuid_changed]
        assert (change.old.identifier, change.new.identifier) == (
            former.identifier, container.store.identifier,
        )  # fmt: skip
        uris = [each.uri for each in change.migrated_ids]
        first = 100 if to == "XML" else 0  # whose numbers begin there
        assert uris == [
            f"x-coredata://{store.identifier}/Note/p{number}"
            for each in (2, 3, 5)
            for store, number in ((former, each), (container.store, each + first))
        ]
        fresh = container.context()
        assert [fresh.existing(uri).text for uri in uris[1::2]] == ["b", "c", "e"]
        assert progress == sorted(progress)
        assert {total for _, total in progress} == {3}
        assert progress[-1] == (3, 3)
        new = fresh.insert("Note", text="f")
        fresh.save()
        assert new.id.uri.endswith(f"/Note/p{6 + first}")


@pytest.mark.parametrize("to", [*TYPES, "InMemory"])
@pytest.mark.parametrize(("key", "stays"), [(2**58, True), (2**58 + 1, False), (-5, False), (0, False)])
def test_invalid_primary_keys_are_replaced_by_a_migration(
    notes: Model, tmp_path: Path, to: str, key: int, stays: bool
) -> None:
    path = tmp_path / "from"
    filled(notes, path, "a", "b", journal="rollback")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"UPDATE ZNOTE SET Z_PK = {key} WHERE ZTEXT = 'b'")
        connection.execute(f"UPDATE Z_PRIMARYKEY SET Z_MAX = max({key}, Z_MAX)")
    with Container(notes, path) as container:
        numbers: list[int] = []

        def hear(_: Coordinator, changes: Any) -> None:
            if changes.uuid_changed:
                numbers.extend(int(each.uri.rpartition("/p")[2]) for each in changes.uuid_changed.migrated_ids)

        with container.coordinator.observe("stores_did_change", hear):
            container.migrate(tmp_path / "to", type=to)
        first = 101 if to == "XML" else 0
        if key < 1:  # not an object
            assert numbers == [1, 1 + first]
            assert texts(container.coordinator) == ["a"]
            return
        assert numbers == [1, 1 + first, key, key + first if stays else 2 + first]
        assert texts(container.coordinator) == ["a", "b"]
        new = container.insert("Note", {})["@id"]
        assert int(new.rpartition("/p")[2]) == numbers[-1] + 1


@pytest.mark.parametrize("to", ["XML", "Binary", "InMemory"])
def test_log_counts_dangling_references_of_a_migration(tmp_path: Path, to: str) -> None:
    model = Model({"Box": {"items": "to-many Item? inverse box"}, "Item": {"box": "to-one Box? inverse items"}})
    with Container(model, tmp_path / "from", journal="rollback") as container:
        container.insert("Box", [{"items": [{}, {}]}, {"items": [{}, {}, {}]}])
    with closing(sqlite3.connect(tmp_path / "from", isolation_level=None)) as connection:
        connection.execute("UPDATE ZITEM SET ZBOX = 99 WHERE ZBOX = 2")
    with Container(model, tmp_path / "from") as container, log.recorded() as lines:
        container.migrate(tmp_path / "to", type=to)
        assert [line for line in lines if str(tmp_path) in line] == [
            f"CoreData: warning: the copy of {tmp_path / 'from'} omits 3 values of Item.box, whose "
            "target rows do not exist"
        ]
        assert sorted(len(each["items"]) for each in container.read("Box")) == [0, 2]
        assert sum(each["box"] is None for each in container.read("Item")) == 3


@pytest.mark.parametrize("type", TYPES)
def test_migration_replaces_only_an_empty_store(notes: Model, tmp_path: Path, type: str) -> None:
    """The target may be a store without objects; any other file is kept."""
    filled(notes, tmp_path / "empty", type=type)
    filled(notes, tmp_path / "full", "mine", type=type)
    filled(notes, tmp_path / "other type", type="XML" if type == "SQLite" else "SQLite")
    Container(Model({"Other": {"x": "string?"}}), tmp_path / "other model", type=type).close()
    (tmp_path / "text").write_text("no store")
    was_empty = corestone.metadata(tmp_path / "empty")["NSStoreUUID"]
    with Container(notes, tmp_path / "from.sqlite") as container:
        container.insert("Note", {"text": "x"})
        store = container.store
        for name, kind in [
            ("full", InvalidArgumentError), ("other type", UnsupportedError), ("other model", CorestoneError),
            ("text", NotAStoreError), ("none/new", StoreError),
        ]:  # fmt: skip
            place = tmp_path / name
            before = place.read_bytes() if place.exists() else None
            with pytest.raises(kind) as caught:
                container.migrate(place, type=type)
            assert caught.value.file == str(place)
            assert (place.read_bytes() if place.exists() else None) == before
            assert container.store is store
            assert [each.path for each in container.coordinator.stores] == [store.path]
            assert not store.is_read_only
            container.insert("Note", {"text": name})
        assert len(container.migrate(tmp_path / "empty", type=type).identifier) == 36
        assert container.store.identifier != store.identifier
        assert texts(container.coordinator) == sorted(["x", "full", "other type", "other model", "text", "none/new"])
        assert len(was_empty) == 36


@pytest.mark.parametrize("to", [*TYPES, "InMemory"])
def test_cancelled_migration_leaves_the_store_unchanged(notes: Model, tmp_path: Path, to: str) -> None:
    class EndedError(Exception):
        pass

    def end(done: int, total: int) -> None:
        raise EndedError

    with Container(notes, tmp_path / "from") as container:
        container.insert("Note", [{"text": text} for text in "abc"])
        heard: list[Any] = []
        observe = container.coordinator.observe("stores_did_change", lambda _, changes: heard.append(changes))
        with observe, pytest.raises(EndedError):
            container.migrate(tmp_path / "to", type=to, progress=end)
        assert heard == []
        assert sorted(each.name for each in tmp_path.iterdir() if each.name.startswith("to")) == []
        container.insert("Note", {"text": "d"})
        assert texts(container.coordinator) == list("abcd")


@pytest.mark.parametrize("to", [*TYPES, "InMemory"])
def test_migrated_store_keeps_its_position_among_stores(notes: Model, tmp_path: Path, to: str) -> None:
    with Coordinator(notes) as coordinator:
        stores = [coordinator.add_store(tmp_path / name, configuration="Paper") for name in "abc"]
        new = coordinator.migrate_store(stores[1], tmp_path / "d", type=to)
        assert new.configuration == "Paper"
        assert [each.identifier for each in coordinator.stores] == [
            stores[0].identifier, new.identifier, stores[2].identifier,
        ]  # fmt: skip
        assert (tmp_path / "b").exists()
        with pytest.raises(InvalidArgumentError):
            coordinator.migrate_store(stores[1], tmp_path / "e", type=to)
        assert not (tmp_path / "e").exists()


# --- Replacing and copying


@pytest.mark.parametrize("to", TYPES)
def test_migration_into_an_open_store_fails_without_copying(notes: Model, tmp_path: Path, to: str) -> None:
    with Coordinator(notes) as coordinator:
        old = coordinator.add_store(tmp_path / "a")
        empty = coordinator.add_store(tmp_path / "b", type=to)
        with coordinator.context() as context:
            context.assign(context.insert("Note", text="x"), old)
            context.save()
        with pytest.raises(InvalidArgumentError, match="is already open in the coordinator") as caught:
            coordinator.migrate_store(old, tmp_path / "b", type=to)
        assert caught.value.file == str(tmp_path / "b")
        assert [each.identifier for each in coordinator.stores] == [old.identifier, empty.identifier]
        assert texts(coordinator) == ["x"]
    with Container(notes, tmp_path / "b", type=to) as there:
        assert texts(there.coordinator) == []


@pytest.mark.parametrize("type", TYPES)
def test_open_stores_detect_that_they_were_replaced(notes: Model, tmp_path: Path, type: str) -> None:
    source, path = tmp_path / "source", tmp_path / "store"
    filled(notes, source, "new", type=type)
    filled(notes, path, "old", type=type)
    with Container(notes, path, unsaved="discard") as other, Coordinator(notes) as coordinator:
        context = other.context()
        assert [each.text for each in context.fetch("Note")] == ["old"]
        heard: list[Any] = []
        opened = coordinator.add_store(path)
        with coordinator.observe("stores_did_change", lambda _, changes: heard.append(changes)):
            coordinator.replace_store(path, source)
        (change,) = heard
        assert ([each.identifier for each in change.removed], change.added, change.uuid_changed) == (
            [opened.identifier], [], None,
        )  # fmt: skip
        with pytest.raises(StoreError) as caught:
            other.context().fetch("Note")
        assert caught.value.status == Status.STORE_IO
        context.insert("Note", text="late")
        with pytest.raises(StoreError) as caught:
            context.save()
        assert (caught.value.status, caught.value.file) == (Status.STORE_IO, str(path))
        added = coordinator.add_store(path)
        assert added.identifier == corestone.metadata(source)["NSStoreUUID"] != opened.identifier
        assert texts(coordinator) == ["new"]


@pytest.mark.parametrize("type", TYPES)
def test_copy_replaces_an_empty_file(notes: Model, tmp_path: Path, type: str) -> None:
    path = tmp_path / "store"
    filled(notes, path, "x", type=type)
    for name in ("backup", "replaced"):
        (tmp_path / name).touch()
    with Coordinator(notes) as coordinator:
        store = coordinator.add_store(path)
        coordinator.backup(store, tmp_path / "backup")
        coordinator.replace_store(tmp_path / "replaced", path)
    for name in ("backup", "replaced"):
        with Container(notes, tmp_path / name, must_exist=True) as container:
            assert (container.store.type, container.store.identifier) == (type, store.identifier)
            assert texts(container.coordinator) == ["x"]
    # An empty file cannot be a source.
    (tmp_path / "empty").touch()
    with Coordinator(notes) as coordinator, pytest.raises(NotAStoreError):
        coordinator.replace_store(path, tmp_path / "empty", type=type)
    with Container(notes, path) as container:
        assert texts(container.coordinator) == ["x"]


def test_replaced_store_includes_log_and_external_files(notes: Model, tmp_path: Path) -> None:
    source, path = tmp_path / "source.sqlite", tmp_path / "store.sqlite"
    filled(notes, path, "old", history=True)
    with Container(notes, path) as container:
        container.insert("Note", {"data": bytes(200_000)})
    with Container(notes, source) as container:
        for size in (150_000, 160_000):
            container.insert("Note", {"text": str(size), "data": bytes(size)})
        assert Path(f"{source}-wal").stat().st_size > 0
        with Coordinator(notes) as coordinator:
            coordinator.replace_store(path, source)
        with Container(notes, path) as copy:
            found = copy.context().fetch("Note", sort="text")
            assert [(each.text, len(each.data)) for each in found] == [("150000", 150_000), ("160000", 160_000)]
        assert len(list((tmp_path / ".store_SUPPORT/_EXTERNAL_DATA").iterdir())) == 2
        assert corestone.check(path) == []
        assert ask(path, "SELECT count(*) FROM sqlite_master WHERE name = 'ATRANSACTION'") == [(0,)]
        # The source is in use as before.
        container.insert("Note", {"text": "later"})
        assert texts(container.coordinator) == ["150000", "160000", "later"]


@pytest.mark.parametrize("type", TYPES)
def test_backup_reports_progress(notes: Model, tmp_path: Path, type: str) -> None:
    with Container(notes, tmp_path / "store", type=type) as container:
        container.insert("Note", [{"data": bytes(150_000)} for _ in range(3)])
        told: list[tuple[int, int]] = []
        container.coordinator.backup(
            container.store, tmp_path / "copy", progress=lambda done, total: told.append((done, total))
        )
        assert told == sorted(told)
        assert len({total for _, total in told}) == 1
        assert told[0][0] == 0
        assert told[-1][0] == told[-1][1] >= 450_000
        before = (tmp_path / "copy").read_bytes()
        container.insert("Note", {"text": "more"})
        names = {each.name for each in tmp_path.iterdir()}

        class EndedError(Exception):
            pass

        def end(done: int, total: int) -> None:
            raise EndedError

        with pytest.raises(EndedError):
            container.coordinator.backup(container.store, tmp_path / "copy", progress=end)
        assert (tmp_path / "copy").read_bytes() == before
        with pytest.raises(EndedError):
            container.coordinator.backup(container.store, tmp_path / "none", progress=end)
        assert {each.name for each in tmp_path.iterdir()} == names


@pytest.mark.parametrize("type", ["XML", "Binary"])
def test_backup_of_a_single_file_store_can_be_cancelled_until_the_end(notes: Model, tmp_path: Path, type: str) -> None:
    class EndedError(Exception):
        pass

    told: list[int] = []

    def end(done: int, total: int) -> None:
        told.append(done)
        if done == total:
            raise EndedError

    with Container(notes, tmp_path / "store", type=type) as container:
        container.insert("Note", {"data": bytes(3 << 20)})
        with pytest.raises(EndedError):
            container.coordinator.backup(container.store, tmp_path / "copy", progress=end)
        assert [each.name for each in tmp_path.iterdir()] == ["store"]
    size = (tmp_path / "store").stat().st_size
    # In pieces, so that there is time to end it.
    assert told == [*range(0, size, 1 << 20), size]


# --- Destroying


@pytest.mark.parametrize("type", TYPES)
def test_destroying_an_open_store_removes_it_first(notes: Model, tmp_path: Path, type: str) -> None:
    path = tmp_path / "store"
    with Coordinator(notes) as coordinator:
        coordinator.add_store(tmp_path / "other", type=type)
        store = coordinator.add_store(path, type=type)
        context = coordinator.context()
        note = context.insert("Note", text="x")
        context.assign(note, store)
        context.save()
        heard: list[str] = []

        def listen(name: str) -> Any:
            return coordinator.observe(
                name, lambda _, changes: heard.extend([name, *(s.path for s in changes.removed)])
            )

        tokens = [listen(name) for name in ("will_remove_store", "stores_did_change")]
        assert coordinator.destroy_store(path) is True
        for token in tokens:
            token.cancel()
        assert heard == ["will_remove_store", str(path), "stores_did_change", str(path)]
        assert [each.path for each in coordinator.stores] == [str(tmp_path / "other")]
        with pytest.raises(ObjectGoneError):
            _ = note.text
        assert path.exists() == (type == "SQLite")
        assert coordinator.destroy_store(path, type=type) == (type == "SQLite")
        again = coordinator.add_store(path, type=type)
        assert again.identifier != store.identifier
        assert texts(coordinator) == []


@pytest.mark.parametrize("type", TYPES)
def test_destroy_rejects_files_that_are_not_stores(notes: Model, tmp_path: Path, type: str) -> None:
    (tmp_path / "text").write_text("mine")
    ask(tmp_path / "database", "CREATE TABLE mine (x)")
    with Coordinator(notes) as coordinator:
        assert coordinator.destroy_store(tmp_path / "none", type=type) is False
        for path, kind, status in [
            ("text", NotAStoreError, Status.NOT_A_STORE),
            ("none/store", StoreError, Status.STORE_IO),
            ("database", CorestoneError, None),
        ]:
            place = tmp_path / path
            before = place.read_bytes() if place.exists() else None
            for force in (False, True):
                with pytest.raises(kind) as caught:
                    coordinator.destroy_store(place, type=type, force=force)
                assert caught.value.file == str(place)
                assert status in (None, caught.value.status)
                assert (place.read_bytes() if place.exists() else None) == before
        assert sorted(each.name for each in tmp_path.iterdir()) == ["database", "text"]


def test_forced_destruction_removes_files_of_a_locked_store(notes: Model, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    filled(notes, path, "x")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        other.execute("UPDATE ZNOTE SET ZTEXT = 'y'")
        with Coordinator(notes) as coordinator:
            before = sorted(each.name for each in tmp_path.iterdir())
            assert {"store.sqlite", "store.sqlite-wal", "store.sqlite-shm"} <= set(before)
            with pytest.raises(StoreBusyError) as caught:
                coordinator.destroy_store(path, busy_timeout=0.01)
            assert caught.value.file == str(path)
            assert sorted(each.name for each in tmp_path.iterdir()) == before
            assert coordinator.destroy_store(path, busy_timeout=0.01, force=True) is True
            assert [each for each in tmp_path.iterdir() if not each.is_dir()] == []
            other.execute("COMMIT")
            assert other.execute("SELECT ZTEXT FROM ZNOTE").fetchall() == [("y",)]
            # Without other connections the file is kept.
            filled(notes, path, "z")
            assert coordinator.destroy_store(path, force=True) is True
            assert path.exists()


def test_destroyed_store_leaves_no_content(notes: Model, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Container(notes, path, history=True) as container:
        container.insert("Note", {"text": "secret text", "data": bytes(200_000)})
        container.coordinator.set_metadata(container.store, {"note": "secret note"})
        container.save()
        container.context().save()
    with Coordinator(notes) as coordinator:
        assert coordinator.destroy_store(path) is True
        assert ask(path, "SELECT count(*) FROM sqlite_master") == [(0,)]
        assert list((tmp_path / ".store_SUPPORT/_EXTERNAL_DATA").iterdir()) == []
        for each in tmp_path.iterdir():
            assert each.is_dir() or b"secret" not in each.read_bytes()
        with pytest.raises(NotAStoreError):
            corestone.open(path)


# --- Checkpoints


def test_checkpoint_is_busy_while_a_pinned_context_reads(notes: Model, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Container(notes, path, busy_timeout=0.02) as container:
        coordinator, store = container.coordinator, container.store
        container.insert("Note", {"text": "a"})
        pinned = container.context()
        pinned.pin()
        assert pinned.count("Note") == 1
        container.insert("Note", {"text": "b"})
        for mode in ("full", "restart", "truncate"):
            with pytest.raises(StoreBusyError) as caught:
                coordinator.checkpoint(store, mode)
            assert caught.value.file == str(path)
        found = coordinator.checkpoint(store)
        assert found is not None
        assert found.checkpointed < found.pages
        assert not found.is_complete
        assert pinned.count("Note") == 1
        pinned.unpin()
        for mode in ("full", "restart", "truncate"):
            found = coordinator.checkpoint(store, mode)
            assert found is not None
            assert found.is_complete
            assert (found.pages == 0) == (mode == "truncate")


# --- Other paths


@pytest.mark.parametrize("type", TYPES)
def test_file_can_be_added_to_a_coordinator_once(
    notes: Model, tmp_path: Path, type: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store"
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "folder" / "link").symlink_to("../link")
    monkeypatch.chdir(tmp_path)
    with Coordinator(notes) as coordinator:
        store = coordinator.add_store(path, type=type)
        assert store.path == str(path)
        ways: list[str | Path] = [path, "store", "./folder/../store", tmp_path / "link", "folder/link"]
        for way in ways:
            for options in ({}, {"type": type, "read_only": True}, {"configuration": "Paper"}):
                with pytest.raises(InvalidArgumentError) as caught:
                    coordinator.add_store(way, **options)
                assert str(path) in caught.value.message
            found = coordinator.store_at(way)
            assert found is not None
            assert found.identifier == store.identifier
        assert coordinator.store_at(tmp_path / "none") is None
        assert len(coordinator.stores) == 1
        # A copy is the same store, too.
        coordinator.backup(store, tmp_path / "copy")
        with pytest.raises(InvalidArgumentError):
            coordinator.add_store(tmp_path / "copy")
        coordinator.remove_store(store)
        assert coordinator.store_at(path) is None
        assert coordinator.add_store("folder/link").identifier == store.identifier
        assert (tmp_path / "folder" / "link").is_symlink()


@pytest.mark.parametrize("type", TYPES)
def test_symbolic_link_refers_to_its_target(notes: Model, tmp_path: Path, type: str) -> None:
    path, link = tmp_path / "store", tmp_path / "link"
    filled(notes, path, "a", type=type)
    link.symlink_to(path)
    filled(notes, link, "b", type=type)
    assert link.is_symlink()
    with Coordinator(notes) as coordinator:
        store = coordinator.add_store(path)
        acts: list[tuple[Callable[[], Any], str]] = [
            (lambda: coordinator.backup(store, link), "choose another path"),
            (lambda: coordinator.replace_store(link, path), "choose another path"),
            (lambda: coordinator.replace_store(path, link), "choose another path"),
            (lambda: coordinator.migrate_store(store, link, type=type), "to itself; choose another path"),
        ]
        for act, words in acts:
            with pytest.raises(InvalidArgumentError, match=words) as caught:
                act()
            assert caught.value.code == 134070
        assert texts(coordinator) == ["a", "b"]
        # What a link leads to is destroyed, and was open by another path.
        assert coordinator.destroy_store(link) is True
        assert coordinator.stores == []
        assert link.is_symlink()
        assert path.exists() == (type == "SQLite")


@pytest.mark.parametrize("type", TYPES)
def test_dangling_symbolic_link_creates_its_target(notes: Model, tmp_path: Path, type: str) -> None:
    (tmp_path / "folder").mkdir()
    for name, goal in [("inner", "folder/second"), ("link", "inner"), ("whole", str(tmp_path / "folder" / "third"))]:
        (tmp_path / name).symlink_to(goal)
    (tmp_path / "folder" / "second").symlink_to("first")
    filled(notes, tmp_path / "link", "a", type=type)
    with Coordinator(notes) as coordinator:
        store = coordinator.add_store(tmp_path / "folder" / "first", type=type)
        assert texts(coordinator) == ["a"]
        coordinator.backup(store, tmp_path / "whole")
        found = coordinator.store_at(tmp_path / "link")
        assert found is not None
        assert found.identifier == store.identifier
    with Container(notes, tmp_path / "folder" / "third", type=type) as copy:
        assert texts(copy.coordinator) == ["a"]
    for link in ("inner", "link", "whole", "folder/second"):
        assert (tmp_path / link).is_symlink()
    lost, circle = tmp_path / "lost", tmp_path / "circle"
    lost.symlink_to("none/store")
    circle.symlink_to("circle")
    for path, words in [(lost, "the folder .*none of the store .* does not exist"), (circle, "cannot access")]:
        with pytest.raises(StoreError, match=words) as caught:
            Coordinator(notes).add_store(path, type=type)
        assert caught.value.status == Status.STORE_IO
        assert path.is_symlink()


@pytest.mark.parametrize("type", TYPES)
def test_folder_is_rejected_as_a_store_path(notes: Model, tmp_path: Path, type: str) -> None:
    filled(notes, tmp_path / "store", "a", type=type)
    with Coordinator(notes) as coordinator:
        store = coordinator.add_store(tmp_path / "store")
        acts: list[Callable[[], Any]] = [
            lambda: coordinator.add_store(tmp_path, type=type),
            lambda: coordinator.add_store(tmp_path),
            lambda: coordinator.backup(store, tmp_path),
            lambda: coordinator.replace_store(tmp_path, tmp_path / "store"),
            lambda: coordinator.migrate_store(store, tmp_path, type=type),
            lambda: coordinator.destroy_store(tmp_path, type=type),
            lambda: corestone.metadata(tmp_path),
            lambda: corestone.set_metadata(tmp_path, {}),
        ]
        for act in acts:
            with pytest.raises(NotAStoreError, match="is a folder") as caught:
                act()
            assert (caught.value.code, caught.value.file) == (134080, str(tmp_path))
        with pytest.raises(InvalidArgumentError):
            coordinator.add_store("", type=type)
        assert [each.path for each in coordinator.stores] == [store.path]
        assert texts(coordinator) == ["a"]


@pytest.mark.parametrize("type", ["XML", "Binary"])
def test_sqlite_functions_are_unsupported_by_other_types(notes: Model, tmp_path: Path, type: str) -> None:
    path = tmp_path / "store"
    filled(notes, path, "a", type=type)
    looks: list[Callable[[Path], Any]] = [
        corestone.views, corestone.leftovers, corestone.remove_leftovers, corestone.check, corestone.check_apple,
    ]  # fmt: skip
    for look in looks:
        with pytest.raises(UnsupportedError, match="not a store of type SQLite") as caught:
            look(path)
        assert (caught.value.code, caught.value.file) == (134000, str(path))
    with Container(notes, path) as container:
        for act in (container.coordinator.checkpoint, container.coordinator.optimize):
            with pytest.raises(UnsupportedError, match=f'has the type "{type}"'):
                act(container.store)


@pytest.mark.parametrize("type", ["XML", "Binary"])
def test_atomic_store_can_be_moved(notes: Model, tmp_path: Path, type: str) -> None:
    path, to = tmp_path / "store", tmp_path / "moved"
    with Container(notes, path, type=type, unsaved="discard") as container:
        container.insert("Note", {"text": "a"})
        coordinator, store = container.coordinator, container.store
        context = container.context()
        (note,) = context.fetch("Note")
        coordinator.set_store_path(store, to)
        assert store.path == str(to)
        assert not to.exists()
        assert note.text == "a"
        found = coordinator.store_at(to)
        assert found is not None
        assert coordinator.store_at(path) is None
        context.save()  # without changes
        assert to.read_bytes() == path.read_bytes()
        note.text = "b"
        context.save()
        assert (note.id.uri.split("/")[2], coordinator.metadata(store)["NSStoreUUID"]) == (store.identifier,) * 2
        # Where it cannot go it stays as it is.
        filled(notes, tmp_path / "other", "other", type=type)
        filled(notes, tmp_path / "sqlite", "other")
        (tmp_path / "text").write_text("mine")
        for name, kind in [
            ("other", InvalidArgumentError), ("sqlite", CorestoneError), ("text", StoreError), ("none/new", StoreError),
        ]:  # fmt: skip
            place = tmp_path / name
            before = place.read_bytes() if place.exists() else None
            with pytest.raises(kind) as caught:
                coordinator.set_store_path(store, place)
            assert caught.value.file == str(place)
            assert (place.read_bytes() if place.exists() else None) == before
            assert store.path == str(to)
            note.text = name
            context.save()
    with Container(notes, to) as container:
        assert texts(container.coordinator) == ["none/new"]
    with Container(notes, path) as container:
        assert texts(container.coordinator) == ["a"]


def test_sqlite_store_can_be_moved_to_a_copy(notes: Model, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with Container(notes, path) as container:
        container.insert("Note", {"text": "a", "data": bytes(200_000)})
        coordinator, store = container.coordinator, container.store
        context = container.context()
        (note,) = context.fetch("Note")
        coordinator.backup(store, tmp_path / "moved.sqlite")
        filled(notes, tmp_path / "other.sqlite", "other")
        (tmp_path / "text").write_text("mine")
        cases: list[tuple[str, Any, Status]] = [
            ("none.sqlite", StoreError, Status.STORE_IO), ("none/new", StoreError, Status.STORE_IO),
            ("other.sqlite", InvalidArgumentError, Status.INVALID_ARGUMENT), ("text", StoreError, Status.NOT_A_STORE),
        ]  # fmt: skip
        for name, kind, status in cases:
            with pytest.raises(kind) as caught:
                coordinator.set_store_path(store, tmp_path / name)
            assert (caught.value.status, caught.value.file) == (status, str(tmp_path / name))
            assert store.path == str(path)
        assert not (tmp_path / "none.sqlite").exists()
        coordinator.set_store_path(store, tmp_path / "moved.sqlite")
        assert store.path == str(tmp_path / "moved.sqlite")
        assert len(note.data) == 200_000
        note.text = "b"
        context.save()
        path.unlink()
        assert texts(coordinator) == ["b"]
    with Container(notes, tmp_path / "moved.sqlite") as container:
        assert texts(container.coordinator) == ["b"]


def test_page_pragmas_apply_only_to_a_new_store(notes: Model, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    filled(notes, path, "a", pragmas={"page_size": 8192, "auto_vacuum": "full"})
    pages = "SELECT * FROM pragma_page_size, pragma_auto_vacuum"
    assert ask(path, pages) == [(8192, 1)]
    filled(notes, path, "b", pragmas={"page_size": 512, "auto_vacuum": "none"})
    assert ask(path, pages) == [(8192, 1)]
    assert corestone.check(path) == []
    with Container(notes, path) as container:
        assert texts(container.coordinator) == ["a", "b"]


def test_contradictory_pragmas_and_options_are_rejected(notes: Model, tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    good: list[dict[str, Any]] = [
        {"pragmas": {"journal_mode": "truncate"}, "journal": "rollback"},
        {"pragmas": {"synchronous": 1}, "sync": "normal"},
    ]
    bad: list[tuple[str, str, dict[str, Any]]] = [
        ("journal_mode", "WAL", {"journal": "rollback"}), ("Journal_Mode", "wal", {"journal": "rollback"}),
        ("synchronous", "full", {"sync": "normal"}), ("synchronous", "OFF", {"sync": "normal"}),
        ("synchronous", "3", {"sync": "normal"}),
    ]  # fmt: skip
    for key, value, options in bad:
        with pytest.raises(InvalidArgumentError, match=f'{key} is "{value}"; leave out the pragma or') as caught:
            Container(notes, path, pragmas={key: value}, **options)
        assert (caught.value.key, caught.value.value, caught.value.file) == (key, value, str(path))
        assert not path.exists()
    for options in good:
        filled(notes, path, "x", **options)
