"""Which changes of another coordinator a context merges, by store type, and which values it keeps."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from corestone import ConflictError, Container, Context, Model, StoreFile

MODEL: dict[str, Any] = {
    "Box": {"name": "string?", "items": "to-many Item? inverse box"},
    "Item": {"name": "string?", "number": "int?", "box": "to-one Box? inverse items"},
}
KINDS: dict[str, dict[str, Any]] = {
    "log": {},
    "history": {"history": True},
    "journal": {"journal": "rollback"},
    "XML": {"type": "XML"},
    "Binary": {"type": "Binary"},
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def here(tmp_path: Path, kind: str) -> Iterator[Container]:
    with Container(Model(MODEL), tmp_path / "store", unsaved="discard", **KINDS[kind]) as container:
        container.insert("Item", [{"name": name, "number": 1} for name in "abcde"])
        yield container


@pytest.fixture
def there(here: Container) -> Iterator[Container]:
    """Another coordinator, as another process has one."""
    with Container(Model(MODEL), here.path) as container:
        yield container


def wait(is_true: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.002)


def merged(context: Context, is_true: Callable[[], object]) -> None:
    def processed() -> object:
        context.process_pending_changes()
        return is_true()

    wait(processed)


def items(context: Context) -> list[Any]:
    found = list(context.fetch("Item", sort="name"))
    assert [each.name for each in found] == list("abcde")
    return found


def test_remote_changes_are_merged_beneath_unsaved_changes(here: Container, there: Container) -> None:
    context = here.context()
    a, b, c, d, e = items(context)
    context.automatically_merges_remote_changes = True
    b.number = 7
    c.name = "mine"
    other = there.context()
    theirs = {each.name: each for each in other.fetch("Item")}
    theirs["a"].name = "a2"
    theirs["b"].name = "b2"
    theirs["c"].name = "theirs"
    theirs["c"].number = 3
    other.delete(theirs["d"])
    new = other.insert("Item", name="new", box=other.insert("Box", name="box"))
    other.save()
    merged(context, lambda: a.name == "a2")
    merged(context, lambda: context.registered(new.id) is not None or context.fetch("Item", "name == 'new'"))
    assert (a.name, a.number, a.has_changes) == ("a2", 1, False)
    assert (b.name, b.number, b.has_changes) == ("b2", 7, True)
    assert (c.name, c.number, c.has_changes) == ("mine", 3, True)
    assert d.is_deleted or d.context is None
    assert (e.name, e.number, e.has_changes) == ("e", 1, False)
    assert [each.name for each in context.fetch("Item", sort="name")] == ["a2", "b2", "e", "mine", "new"]
    assert context.existing(new.id).box.name == "box"
    assert list(context.deleted) == []
    # The merged value below the change is overwritten by the next save, without a conflict.
    context.save()
    assert [(each["name"], each["number"]) for each in there.read("Item", sort="name")] == [
        ("a2", 1), ("b2", 7), ("e", 1), ("mine", 3), ("new", None),
    ]  # fmt: skip


def test_save_without_merging_is_a_conflict(here: Container, there: Container) -> None:
    context = here.context()
    first = items(context)[0]
    assert context.automatically_merges_remote_changes is False
    there.update("Item", "name == 'a'", {"name": "theirs"})
    first.name = "mine"
    with pytest.raises(ConflictError):
        context.save()
    assert first.name == "mine"


def test_changes_before_merging_was_enabled_are_not_merged(here: Container, there: Container) -> None:
    context = here.context()
    first, second = items(context)[:2]
    there.update("Item", "name == 'a'", {"number": 5})
    time.sleep(0.03)
    context.automatically_merges_remote_changes = True
    there.update("Item", "name == 'b'", {"number": 6})
    merged(context, lambda: second.number == 6)
    context.refresh_all()
    assert (first.number, second.number) == (5, 6)
    # Nothing comes in any more once it is switched off.
    context.automatically_merges_remote_changes = False
    there.update("Item", "name == 'b'", {"number": 7})
    time.sleep(0.05)
    context.process_pending_changes()
    assert second.number == 6


def test_contexts_without_merging_reread_changed_rows(here: Container, there: Container) -> None:
    merging, other = here.context(), here.context()
    first, theirs = items(merging)[0], items(other)[0]
    merging.automatically_merges_remote_changes = True
    there.update("Item", "name == 'a'", {"number": 5})
    merged(merging, lambda: first.number == 5)
    other.process_pending_changes()
    assert theirs.number == 1
    other.refresh(theirs, merge=False)
    assert theirs.number == 5
    assert here.context().existing(first.id).number == 5


def test_child_merges_remote_changes_of_its_parent(here: Container, there: Container) -> None:
    parent = here.context()
    children = [parent.child(), parent.child()]
    held = [items(context)[0] for context in (parent, *children)]
    children[0].automatically_merges = True
    parent.automatically_merges_remote_changes = True
    there.update("Item", "name == 'a'", {"number": 5})
    merged(parent, lambda: held[0].number == 5)
    for child in children:
        child.process_pending_changes()
    assert [each.number for each in held] == [5, 5, 1]


def test_observer_receives_the_remote_change(here: Container, there: Container, kind: str, tmp_path: Path) -> None:
    told: list[Any] = []
    with here.coordinator.observe("remote_change", lambda _, changes: told.append(changes.remote)):
        here.insert("Item", {"name": "own"})
        there.insert("Item", {"name": "theirs"})
        wait(lambda: told)
        (change,) = told
        assert change.store.identifier == change.store_identifier == here.store.identifier
        assert change.path == here.path
        assert (change.is_own, change.file) == (False, StoreFile.WRITTEN)
        # Those before it: the five, and the own one.
        assert change.transaction == (3 if kind == "history" else None)
        if kind in ("log", "history", "journal"):
            # It changes nothing that a context could see.
            there.context().obtain_permanent_ids([])
            context = there.context()
            context.obtain_permanent_ids([context.insert("Item")])
            wait(lambda: len(told) == 2)
            assert told[1].file == StoreFile.WRITTEN
            context.rollback()
            (tmp_path / "another").write_bytes(Path(here.path).read_bytes())
            os.replace(tmp_path / "another", here.path)
            wait(lambda: told[-1].file == StoreFile.REPLACED)
        else:
            os.unlink(here.path)
            wait(lambda: told[-1].file == StoreFile.REMOVED)
    count = len(told)
    there.coordinator.remove_store(there.store)
    Path(here.path).write_bytes(b"x")
    time.sleep(0.03)
    assert len(told) == count


def test_derived_values_of_other_rows_are_merged(tmp_path: Path) -> None:
    """No version counts them, and no history has them."""
    model = {
        "Box": {"name": "string?", "size": "derived int64? = items.@count", "items": "to-many Item? inverse box"},
        "Item": {"name": "string?", "box": "to-one Box? inverse items"},
    }
    for name, options in KINDS.items():
        if "type" in options:
            continue
        with Container(Model(model), tmp_path / name, **options) as here:
            uri = here.insert("Box", {"name": "box", "items": [{}, {}]})["@id"]
            context = here.context()
            box = context.existing(uri)
            assert box.size == 2
            context.automatically_merges_remote_changes = True
            with Container(Model(model), tmp_path / name) as there:
                there.insert("Item", {"box": uri})
                merged(context, lambda box=box: box.size == 3)  # type: ignore[misc]


def test_remote_change_of_a_read_only_store_is_posted(tmp_path: Path) -> None:
    for name, options in KINDS.items():
        path = tmp_path / name
        with Container(Model(MODEL), path, **options) as writer:
            writer.insert("Item", {"name": "a"})
        told: list[Any] = []
        with (
            Container(Model(MODEL), path, read_only=True) as reader,
            Container(Model(MODEL), path) as writer,
            reader.coordinator.observe("remote_change", lambda _, changes, told=told: told.append(changes.remote)),  # type: ignore[misc]
        ):
            writer.insert("Item", {"name": "b"})
            wait(lambda told=told: told)  # type: ignore[misc]
            assert (told[0].is_own, told[0].file) == (False, StoreFile.WRITTEN)
