"""What a migration in place keeps and rejects: identity, history, external values, locks, cancellation."""

from __future__ import annotations

import os
import plistlib
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path
from typing import Any

import corestone
import history
import pytest
from corestone import (
    CancelledError,
    Container,
    Context,
    Coordinator,
    CorestoneError,
    Model,
    StoreBusyError,
    metadata,
    set_metadata,
)
from pairs import digest
from stored import connect, highest_keys
from workshop import Workshop, rows, small_model

FIRST = {
    "Note": {"title": "string?", "text": "string?", "folder": "to-one Folder? inverse notes"},
    "Folder": {"name": "string?", "notes": "to-many Note inverse folder"},
}
SECOND = {**FIRST, "Note": {**FIRST["Note"], "done": "bool = false"}}
THIRD = {**SECOND, "Folder": {**FIRST["Folder"], "colour": "int16?"}}


def notes(context: Context) -> None:
    folder = context.insert("Folder", name="f")
    for number in range(10):
        context.insert("Note", title=f"note {number}", text="text", folder=folder)


def plist(path: Path) -> dict[str, Any]:
    with closing(connect(path)) as connection:
        found: dict[str, Any] = plistlib.loads(connection.execute("SELECT Z_PLIST FROM Z_METADATA").fetchone()[0])
    return found


# What stays


def test_migration_keeps_identifier_keys_and_versions(shop: Workshop) -> None:
    """The identifier, keys, versions, the application's metadata and the highest key stay; URIs survive."""
    shop.write(FIRST, notes)
    with Container(small_model(FIRST), shop.path) as container, container.context() as context:
        for item in context.fetch("Note", "title == 'note 9'"):
            context.delete(item)
        (first,) = context.fetch("Note", "title == 'note 0'")
        first["text"] = "changed"
        context.save()
        uri = str(first.id.uri)
    set_metadata(shop.path, {"mine": "yes"})
    before, keys = plist(shop.path), highest_keys(shop.path)
    identifier = metadata(shop.path)["NSStoreUUID"]
    context = shop.migrated(SECOND, compared=False)
    found = context.get(uri)
    assert (found.title, found.text, found.done) == ("note 0", "changed", False)
    after = plist(shop.path)
    assert metadata(shop.path)["NSStoreUUID"] == identifier
    assert highest_keys(shop.path) == keys
    assert after["mine"] == "yes" and before["mine"] == "yes"
    assert after["NSStoreModelVersionHashesDigest"] != before["NSStoreModelVersionHashesDigest"]
    with closing(connect(shop.path)) as connection:
        versions = dict(connection.execute("SELECT Z_PK, Z_OPT FROM ZNOTE"))
    assert sorted(versions.values()) == [1] * 8 + [2]
    assert str(context.insert("Note").id.uri) not in uri


def test_changed_subentity_needs_a_migration(shop: Workshop) -> None:
    """M015: without permission 134100; nothing is changed."""
    shop.write(
        {"Person": {"name": "string?"}, "Manager": {"@parent": "Person", "reports": "int32?"}}, lambda context: None
    )
    content = shop.path.read_bytes()
    model = small_model(
        {"Person": {"name": "string?"}, "Manager": {"@parent": "Person", "reports": "int32?", "budget": "int32?"}}
    )
    with Coordinator(model) as coordinator:
        with pytest.raises(CorestoneError) as caught:
            coordinator.add_store(shop.path)
        assert caught.value.code == 134100
        assert "budget" in str(caught.value)
        with pytest.raises(CorestoneError) as caught:
            coordinator.add_store(shop.path, migrate=False)
        assert caught.value.code == 134100
    assert shop.path.read_bytes() == content


def test_migration_fails_when_inference_is_disabled(shop: Workshop) -> None:
    shop.write(FIRST, notes)
    shop.refused(SECOND, 134140, infer_mapping=False)


def test_equal_version_is_not_migrated(shop: Workshop) -> None:
    """A default, a delete rule, an index: the same version, and no index is made."""
    shop.write(FIRST, notes)
    content = shop.path.read_bytes()
    same = {
        "Note": {"title": "string? indexed = 'x'", "text": "string?", "folder": "to-one Folder? inverse notes"},
        "Folder": {"name": "string?", "notes": "to-many Note inverse folder delete cascade"},
    }
    shop.migrate(small_model(same))
    assert shop.path.read_bytes() == content


def test_containers_migrate_by_default(shop: Workshop) -> None:
    shop.write(FIRST, notes)
    with Container(small_model(SECOND), shop.path) as container, container.context() as context:
        assert context.count("Note", "done == NO") == 10


# The source model


def without_cache(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DELETE FROM Z_MODELCACHE")
        connection.commit()


def test_missing_source_model_error_lists_the_searched_places(shop: Workshop) -> None:
    """134130 lists the searched places."""
    shop.write(FIRST, notes)
    without_cache(shop.path)
    folder = shop.folder / "models"
    folder.mkdir()
    small_model(THIRD).write(folder / "Third.xcdatamodel")
    error = shop.refused(SECOND, 134130, model_paths=[folder], source_models=[small_model(THIRD)])
    assert str(folder) in str(error)


@pytest.mark.parametrize("place", ["given", "folder", "bundle"])
def test_source_model_is_found(shop: Workshop, place: str) -> None:
    shop.write(FIRST, notes)
    without_cache(shop.path)
    folder = shop.folder / "models"
    folder.mkdir()
    options: dict[str, Any] = {"source_models": [small_model(THIRD), small_model(FIRST)]}
    if place == "folder":
        small_model(THIRD).write(folder / "A.xcdatamodel")
        small_model(FIRST).write(folder / "B.xcdatamodel")
        options = {"model_paths": [folder]}
    elif place == "bundle":
        for name, definition in [("One", FIRST), ("Two", SECOND)]:
            small_model(definition).write(folder / "Notes.xcdatamodeld", name)
        options = {"model_paths": [folder / "Notes.xcdatamodeld"]}
    context = shop.migrated(SECOND, **options)
    assert context.count("Note") == 10


# Never backwards


def test_former_model_version_is_rejected(shop: Workshop) -> None:
    """134506, with or without permission to remove; the file stays as it is to the byte, and opens by its own model."""
    shop.write(FIRST, notes)
    shop.migrated(SECOND)
    shop.close()
    shop.refused(FIRST, 134506)
    shop.refused(FIRST, 134506, allow_removals=False)
    content = shop.path.read_bytes()
    with pytest.raises(CorestoneError) as caught:
        Container(small_model(FIRST), shop.path)
    assert caught.value.code == 134506
    assert shop.path.read_bytes() == content
    with corestone.open(shop.path) as container, container.context() as context:
        assert context.count("Note", "done == NO") == 10


def test_former_model_versions_are_rejected_after_two_steps(shop: Workshop) -> None:
    shop.write(FIRST, notes)
    shop.migrate(small_model(SECOND))
    shop.migrate(small_model(THIRD))
    shop.refused(FIRST, 134506)
    shop.refused(SECOND, 134506)


def test_model_that_only_removes_needs_permission(shop: Workshop) -> None:
    """A model that only removes content needs permission."""
    shop.write(SECOND, notes)
    error = shop.refused(FIRST, 134506, allow_removals=False)
    assert "Note.done" in str(error)
    assert rows(shop.migrated(FIRST), "Folder", "name") == [("f",)]


def test_model_that_removes_and_adds_is_accepted(shop: Workshop) -> None:
    shop.write(SECOND, notes)
    shop.migrated({**FIRST, "Note": {**FIRST["Note"], "more": "int16?"}}, allow_removals=False)


# Progress


def test_migration_reports_progress(shop: Workshop) -> None:
    shop.write(FIRST, notes)
    seen: list[tuple[int, int]] = []
    shop.migrate(small_model(SECOND), migration_progress=lambda done, total: seen.append((done, total)))
    assert seen[0][0] == 0 and seen[-1][0] == seen[-1][1]
    assert all(one[0] <= other[0] for one, other in zip(seen, seen[1:]))
    assert {total for _, total in seen} == {11}


def steps_of(shop: Workshop) -> int:
    """How often a migration reports."""
    seen: list[int] = []
    shop.migrate(small_model(SECOND), migration_progress=lambda done, total: seen.append(done))
    return len(seen)


def test_migration_can_be_cancelled_at_every_step(shop: Workshop) -> None:
    """134120; the store is unchanged, and a later migration succeeds."""
    shop.write(FIRST, notes)
    content = digest(shop.path)
    for stop in range(40):
        calls = iter(range(stop, -1, -1))

        def report(done: int, total: int, calls: Any = calls) -> None:
            if next(calls, 0) == 0:
                raise KeyError("enough")

        try:
            shop.migrate(small_model(SECOND), migration_progress=report)
        except KeyError:
            assert digest(shop.path) == content
        else:
            break
    assert 3 < stop < 39
    assert digest(shop.path) != content


def test_migration_cancelled_before_it_begins_can_be_repeated(shop: Workshop) -> None:
    """M023: cancelled before it begins, then migrated."""
    shop.write(FIRST, notes)
    content = shop.path.read_bytes()

    def cancel(done: int, total: int) -> None:
        raise CancelledError("not now")

    with pytest.raises(CancelledError):
        shop.migrate(small_model(SECOND), migration_progress=cancel)
    assert shop.path.read_bytes() == content
    assert shop.migrated(SECOND).count("Note") == 10


# Other processes

LIBRARY = f"""
import sys, time
sys.path[:0] = {[str(Path(__file__).resolve().parent)]!r}
from corestone import Container, Coordinator, CorestoneError
from test_in_place import FIRST, SECOND, THIRD
from workshop import small_model
path = sys.argv[1]
"""


def process(code: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", LIBRARY + textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ))


def line(started: subprocess.Popen[str]) -> str:
    assert started.stdout is not None
    return started.stdout.readline().strip()


def finish(started: subprocess.Popen[str]) -> None:
    started.communicate("\n", timeout=60)
    assert started.returncode == 0


def test_migration_waits_for_the_lock_of_another_process(shop: Workshop) -> None:
    """The migration waits for busy_timeout; then the error names the lock. Nothing is changed."""
    shop.write(FIRST, notes)
    holder = process(
        """
        import sqlite3
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        print("locked", flush=True)
        sys.stdin.readline()
        connection.execute("ROLLBACK")
        """,
        shop.path,
    )
    assert line(holder) == "locked"
    with pytest.raises(StoreBusyError) as caught:
        shop.migrate(small_model(SECOND), busy_timeout=0.2)
    assert "lock" in str(caught.value) and shop.path.name in str(caught.value)
    finish(holder)
    assert shop.migrated(SECOND).count("Note") == 10


def test_other_process_fails_after_a_migration_of_its_open_store(shop: Workshop) -> None:
    """A process that has it open with the former model fails at its next request, and keeps its unsaved changes."""
    shop.write(FIRST, notes)
    other = process(
        """
        container = Container(small_model(FIRST), path, unsaved="discard")
        context = container.context()
        context.insert("Note", title="unsaved")
        kept = context.fetch("Note", "title == 'note 1'")[0]
        kept["text"] = "unsaved change"
        print("open", flush=True)
        sys.stdin.readline()
        for request in (lambda: context.save(), lambda: container.context().fetch("Note")):
            try:
                print("done", request(), flush=True)
            except CorestoneError as error:
                print(type(error).__name__, error.code, flush=True)
        print(kept["text"], sorted(item.title for item in context.inserted), flush=True)
        """,
        shop.path,
    )
    assert line(other) == "open"
    assert shop.migrated(SECOND).count("Note") == 10
    assert other.stdin is not None
    other.stdin.write("\n")
    other.stdin.flush()
    assert line(other) == "ModelMismatchError 134100"
    assert line(other) == "ModelMismatchError 134100"
    assert line(other) == "unsaved change ['unsaved']"
    finish(other)
    with closing(connect(shop.path)) as connection:
        assert connection.execute("SELECT count(*) FROM ZNOTE WHERE ZTITLE = 'unsaved'").fetchone() == (0,)


@pytest.mark.parametrize("attempt", range(4))
def test_concurrent_migrations_migrate_the_store_once(shop: Workshop, attempt: int) -> None:
    """One process migrates, the other one opens the result."""
    shop.write(FIRST, notes, history=True)
    code = """
        model = small_model(SECOND)
        print("ready", flush=True)
        sys.stdin.readline()
        with Container(model, path, history=True) as container, container.context() as context:
            print(context.count("Note", "done == NO"), flush=True)
        """
    both = [process(code, shop.path) for _ in range(2)]
    assert [line(each) for each in both] == ["ready", "ready"]
    for each in both:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    assert [line(each) for each in both] == ["10", "10"]
    for each in both:
        finish(each)
    authors = history.authors(shop.path)
    assert sum((author or "").startswith(history.MIGRATOR) for author in authors) == 1


# History

ZOO = {
    "Animal": {
        "name": "string? preserved",
        "weight": "double?",
        "born": "date? preserved",
        "keeper": "to-one Keeper? inverse animals",
        "friends": "to-many Animal inverse friendOf",
        "friendOf": "to-many Animal inverse friends",
    },
    "Bird": {"@parent": "Animal", "wings": "int16? preserved", "cage": "to-one Cage?"},
    "Cage": {"size": "int16?"},
    "Keeper": {"name": "string?", "animals": "to-many ordered Animal inverse keeper", "best": "to-one Animal?"},
}


def zoo(context: Context) -> None:
    """One update of every property, of several at once, and deletions."""
    keeper, cage = context.insert("Keeper", name="k"), context.insert("Cage", size=1)
    birds = [context.insert("Bird", name=f"bird {number}", wings=number) for number in range(8)]
    animals = [context.insert("Animal", name=f"animal {number}") for number in range(4)]
    context.save()

    def change(item: Any, **new: Any) -> None:
        for name, value in new.items():
            item[name] = value
        context.save()

    for item in (birds[0], animals[0]):
        change(item, name="new")
        change(item, weight=1.5)
        change(item, keeper=keeper)
        change(item, friends=[birds[1], animals[1]])
        change(item, weight=2.5, name="newer", keeper=None)
    change(birds[2], wings=5)
    change(birds[2], cage=cage)
    change(birds[2], cage=None, wings=None, weight=1.0)
    change(keeper, best=birds[3])
    change(keeper, animals=[birds[4], animals[2], birds[3]])
    change(cage, size=7)
    for item in (birds[7], animals[3], cage):
        context.delete(item)
        context.save()


def expected(change: history.Change, names: dict[str, dict[str, str | None]], entities: dict[str, str]) -> Any:
    renamed = names.get(change.entity, {})
    kept = frozenset(new for new in (renamed.get(name, name) for name in change.names) if new is not None)
    entity = entities.get(change.entity, change.entity)
    return (change.transaction, change.kind, entity, change.key, kept)


def seen(change: history.Change) -> Any:
    return (change.transaction, change.kind, change.entity, change.key, change.names)


def test_history_follows_a_migration(shop: Workshop) -> None:
    """Entities by their new numbers, changed properties by their new bits, and one transaction of the migrator."""
    shop.write(ZOO, zoo, history=True)
    before = history.changes(shop.copy, shop.former)
    assert sum(each.kind == history.UPDATE for each in before.values()) > 15
    assert {"friends", "friendOf", "animals"} <= {name for each in before.values() for name in each.names}
    wanted = {
        "Aardvark": {"x": "int16?"},
        "Animal": {
            "age": "int16? = 1",
            "title": "string? preserved",
            "weight": "double?",
            "born": "date? preserved",
            "keeper": "to-one Person? inverse animals",
            "friends": "to-many Animal inverse friendOf",
            "friendOf": "to-many Animal inverse friends",
            "zone": "to-one Aardvark?",
        },
        "Bird": {"@parent": "Animal", "wings": "int16? preserved"},
        "Person": {"name": "string?", "animals": "to-many ordered Animal inverse keeper", "liked": "to-one Animal?"},
    }
    shop.migrated(wanted, {"Animal.title": "name", "Person": "Keeper", "Person.liked": "best"})
    shop.close()
    model = shop.source(small_model(wanted), "new")
    after = history.changes(shop.path, model)
    renames: dict[str, dict[str, str | None]] = {
        "Animal": {"name": "title"}, "Bird": {"name": "title", "cage": None}, "Keeper": {"best": "liked"},
    }  # fmt: skip
    kept = {key: each for key, each in before.items() if each.entity != "Cage"}
    assert {key: seen(each) for key, each in after.items()} == {
        key: expected(each, renames, {"Keeper": "Person"}) for key, each in kept.items()
    }
    authors = history.authors(shop.path)
    digest_of_new = plist(shop.path)["NSStoreModelVersionHashesDigest"]
    assert authors[:-1] == history.authors(shop.copy)
    assert authors[-1] == f"{history.MIGRATOR} lightweight migration from model with digest {{ {digest_of_new} }}"


def test_tombstones_follow_a_migration(shop: Workshop) -> None:
    """The tombstones of deleted objects: a superentity's values first, then by name."""
    shop.write(ZOO, zoo, history=True)
    former = {each.key: each.tombstone for each in history.changes(shop.copy, shop.former).values() if each.kind == 2}
    assert (None, "bird 7", 7) in former.values()
    wanted = {
        **ZOO,
        "Animal": {**ZOO["Animal"], "able": "bool? preserved", "name": "string?", "title": "string? preserved"},
        "Bird": {**ZOO["Bird"], "air": "int16? preserved", "zeal": "int16? preserved"},
    }
    wanted["Animal"].pop("name")
    shop.migrated(wanted, {"Animal.title": "name"})
    shop.close()
    model = shop.source(small_model(wanted), "new")
    after = [each.tombstone for each in history.changes(shop.path, model).values() if each.kind == 2]
    # able, born, title; air, wings, zeal
    assert (None, None, "bird 7", None, 7, None) in after
    assert (None, None, "animal 3", None, None, None) in after


def test_chain_records_a_transaction_per_step(shop: Workshop) -> None:
    shop.write(FIRST, notes, history=True)
    digests = []
    for definition in (SECOND, THIRD):
        shop.migrated(definition, compared=False)
        shop.close()
        digests.append(plist(shop.path)["NSStoreModelVersionHashesDigest"])
    added = history.authors(shop.path)[len(history.authors(shop.copy)) :]
    assert [each and each.split("{ ")[1].split(" }")[0] for each in added] == digests


def test_migrated_store_with_history_needs_the_option_to_be_written(shop: Workshop) -> None:
    """M027: the migrated store keeps its history."""
    shop.write(FIRST, notes, history=True)
    shop.migrated(SECOND)
    shop.close()
    with Coordinator(small_model(SECOND)) as coordinator:
        assert not coordinator.add_store(shop.path, history=None).is_read_only
    with Coordinator(small_model(SECOND)) as coordinator:
        assert coordinator.add_store(shop.path, history=False).is_read_only
    assert len(history.changes(shop.path, shop.source(small_model(SECOND), "new"))) == 11


# External values

PHOTO = {"Photo": {"name": "string?", "data": "binary? external", "small": "binary?"}}
BIG = bytes(range(256)) * 1000


def photos(context: Context) -> None:
    for number in range(3):
        context.insert("Photo", name=f"p{number}", data=BIG + bytes([number]), small=b"\x01\x02" * 50)
    context.insert("Photo", name="inline", data=b"\x01short", small=b"")
    context.insert("Photo", name="none")


def files(shop: Workshop) -> list[Path]:
    return sorted((shop.folder / ".store_SUPPORT" / "_EXTERNAL_DATA").glob("*"))


def test_external_files_of_a_removed_attribute_are_deleted(shop: Workshop) -> None:
    """They are deleted once the migration is durable; a rejected migration keeps them."""
    shop.write(PHOTO, photos)
    assert len(files(shop)) == 3
    shop.refused({"Photo": {"name": "string?", "small": "int16?"}}, 134190)
    assert len(files(shop)) == 3
    assert rows(shop.migrated({"Photo": {"name": "string?", "small": "binary?"}}), "Photo", "small")[0] == (
        b"\x01\x02" * 50,
    )
    assert files(shop) == []


def photos_and_other(context: Context) -> None:
    photos(context)
    context.insert("Other", data=BIG)


def test_external_files_of_a_removed_entity_are_deleted(shop: Workshop) -> None:
    shop.write({**PHOTO, "Other": {"data": "binary? external"}}, photos_and_other)
    assert len(files(shop)) == 4
    shop.migrated({"Other": {"data": "binary? external"}})
    assert len(files(shop)) == 1


def test_external_files_of_a_renamed_attribute_are_kept(shop: Workshop) -> None:
    shop.write(PHOTO, photos)
    there = files(shop)
    context = shop.migrated(
        {"Image": {"name": "string?", "bytes": "binary? external"}}, {"Image": "Photo", "Image.bytes": "data"}
    )
    assert files(shop) == there
    assert rows(context, "Image", "bytes")[2] == (BIG + b"\x02",)


def test_external_values_can_become_inline(shop: Workshop) -> None:
    """Values are moved out of their files, which are deleted."""
    shop.write(PHOTO, photos)
    context = shop.migrated({"Photo": {"name": "string?", "data": "binary?", "small": "binary?"}})
    assert [value for (value,) in rows(context, "Photo", "data")] == [
        BIG + b"\x00",
        BIG + b"\x01",
        BIG + b"\x02",
        b"\x01short",
        None,
    ]
    assert files(shop) == []


def test_inline_values_can_become_external(shop: Workshop) -> None:
    """Values get the marker of a value that is not in a file."""
    shop.write(PHOTO, photos)
    context = shop.migrated({"Photo": {"name": "string?", "data": "binary? external", "small": "binary? external"}})
    assert [value for (value,) in rows(context, "Photo", "small")] == [b"\x01\x02" * 50] * 3 + [b"", None]
    (first,) = context.fetch("Photo", "name == 'p0'")
    first["small"] = BIG
    context.save()
    assert len(files(shop)) == 4


def test_missing_external_file_fails_the_migration(shop: Workshop) -> None:
    """134110 names the file; the store and the other files are kept."""
    shop.write(PHOTO, photos)
    gone = files(shop)[0]
    gone.rename(shop.folder / "elsewhere")
    error = shop.refused({"Photo": {"name": "string?", "data": "binary?", "small": "binary?"}}, 134110)
    assert gone.name in str(error)
    assert len(files(shop)) == 2


# Plans


def test_migration_of_a_missing_file_creates_nothing(tmp_path: Path) -> None:
    with Coordinator(Model(FIRST)) as coordinator, pytest.raises(CorestoneError):
        coordinator.add_store(tmp_path / "none.sqlite", migrate=True, must_exist=True)
    assert not (tmp_path / "none.sqlite").exists()


# Unusual stores


@pytest.mark.parametrize("configuration", ["Local", "Cloud"])
def test_store_of_a_configuration_is_migrated(shop: Workshop, configuration: str) -> None:
    """The store has only the entities of its configuration, before and after."""

    def model(extra: dict[str, str]) -> Model:
        made = small_model({"A": {"x": "int16?", **extra}, "B": {"y": "int16?", **extra}, "C": {"z": "int16?"}})
        made.configuration("Local", "A")
        return made.configuration("Cloud", "B", "C")

    entity = "A" if configuration == "Local" else "B"
    with Container(model({}), shop.path, configuration=configuration) as container, container.context() as context:
        context.insert(entity)
        context.save()
    wanted = model({"more": "int16? = 4"})
    with Coordinator(wanted) as coordinator:
        with pytest.raises(CorestoneError) as caught:
            coordinator.add_store(shop.path, configuration=configuration)
        assert caught.value.code == 134100
        coordinator.add_store(shop.path, configuration=configuration, migrate=True)
        with coordinator.context() as context:
            assert rows(context, entity, "more") == [(4,)]
            context.insert(entity, more=5)
            context.save()
    with Container(model({"more": "int16? = 4"}), shop.path, configuration=configuration, migrate=False):
        pass


def test_names_that_differ_only_in_case_can_be_renamed(shop: Workshop) -> None:
    shop.write({"note": {"title": "string?", "x": "int16?"}}, lambda context: context.insert("note", title="t", x=1))
    context = shop.migrated(
        {"Note": {"Title": "string?", "x": "int16?", "y": "int16?"}}, {"Note": "note", "Note.Title": "title"}
    )
    assert rows(context, "Note", "Title", "x") == [("t", 1)]


@pytest.mark.parametrize("removed", [{}, {"text": "string?"}], ids=["in place", "rebuilt"])
def test_objects_added_by_other_programs_are_kept(shop: Workshop, removed: dict[str, str]) -> None:
    """Tables, columns, indexes and views of other programs are kept; views are not checked."""
    shop.write({"Note": {"title": "string?", **removed}}, lambda context: context.insert("Note", title="t"))
    with closing(sqlite3.connect(shop.path)) as connection:
        connection.executescript(
            "CREATE TABLE mine (a); INSERT INTO mine VALUES (7); ALTER TABLE ZNOTE ADD COLUMN mine TEXT;"
            "UPDATE ZNOTE SET mine = 'kept'; CREATE VIEW titles AS SELECT ZTITLE, mine FROM ZNOTE;"
            "CREATE INDEX mine_index ON mine (a)"
        )
    wanted = small_model({"Note": {"label": "string?", "more": "int16?"}}, {"Note.label": "title"})
    shop.migrate(wanted.copy())
    assert rows(shop.open(wanted), "Note", "label") == [("t",)]
    with closing(sqlite3.connect(shop.path)) as connection:
        assert connection.execute("SELECT a FROM mine INDEXED BY mine_index WHERE a = 7").fetchall() == [(7,)]
        assert connection.execute("SELECT ZLABEL, mine FROM ZNOTE").fetchall() == [("t", "kept")]


def test_migration_can_be_cancelled_within_a_statement(shop: Workshop) -> None:
    """A long statement is interrupted."""
    definition = {"Item": {"name": "string?", "number": "int64?", "gone": "string?"}}
    with Container(small_model(definition), shop.path) as container, container.context() as context:
        context.batch_insert("Item", [{"name": f"item {n}", "number": n, "gone": "x" * 50} for n in range(60_000)])
    content = digest(shop.path)
    reported: list[int] = []

    def cancel(done: int, total: int) -> None:
        # The second report of one number comes from within a statement.
        if done in reported:
            raise KeyError(done)
        reported.append(done)

    wanted = {"Item": {"name": "string?", "number": "int64?", "more": "int16 = 3"}}
    with pytest.raises(KeyError):
        shop.migrate(small_model(wanted), migration_progress=cancel)
    assert digest(shop.path) == content
    shop.migrate(small_model(wanted))
    with closing(connect(shop.path)) as connection:
        query = "SELECT count(*), sum(ZNUMBER), sum(ZMORE) FROM ZITEM"
        assert connection.execute(query).fetchone() == (60_000, sum(range(60_000)), 180_000)


def test_open_reader_of_a_rollback_journal_fails_the_migration(shop: Workshop) -> None:
    """The commit waits for readers; then the migration fails and nothing is changed."""
    shop.write(FIRST, notes, journal="rollback")
    content = digest(shop.path)
    with closing(sqlite3.connect(shop.path, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM ZNOTE").fetchall()
        with pytest.raises(StoreBusyError):
            shop.migrate(small_model(SECOND), busy_timeout=0.2)
        reader.execute("COMMIT")
    assert digest(shop.path) == content
    assert shop.migrated(SECOND).count("Note") == 10
    with closing(connect(shop.path)) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)


def test_other_coordinator_fails_after_a_migration_of_its_store(shop: Workshop) -> None:
    """The other coordinator fails like another process, and its objects can still be read."""
    shop.write(FIRST, notes)
    with Container(small_model(FIRST), shop.path, unsaved="discard") as container, container.context() as context:
        (item,) = context.fetch("Note", "title == 'note 3'")
        item["text"] = "unsaved"
        shop.migrate(small_model(SECOND))
        for request in (context.save, lambda: context.fetch("Folder"), lambda: context.count("Note")):
            with pytest.raises(CorestoneError) as caught:
                request()
            assert caught.value.code == 134100
        assert item.text == "unsaved"
    assert shop.open(small_model(SECOND)).count("Note", "text == 'unsaved'") == 0


def test_metadata_changes_do_not_look_like_a_migration(shop: Workshop) -> None:
    """A coordinator continues if another one changed the store's metadata or its rows."""
    shop.write(FIRST, notes)
    with Container(small_model(FIRST), shop.path) as container, container.context() as context:
        assert context.count("Note") == 10
        with Coordinator(small_model(FIRST)) as other:
            store = other.add_store(shop.path)
            other.set_metadata(store, {"mine": 1})
            with other.context() as second:
                second.insert("Note")
                second.save()
        context.insert("Note")
        context.save()
        assert context.count("Note") == 12
