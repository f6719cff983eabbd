"""States and locations of documents, and the effects of saving elsewhere, reverting and closing."""

from __future__ import annotations

import gc
import os
import stat
import time
from pathlib import Path
from typing import Any, Callable

import pytest

from corestone import (
    ConflictError,
    Container,
    Document,
    DocumentState,
    InvalidArgumentError,
    MergePolicy,
    Model,
    NotAStoreError,
    ObjectGoneError,
    Status,
    StoreError,
    UnsavedChangesError,
    UnsupportedError,
    ValidationError,
    log,
)

TYPES = ["SQLite", "XML", "Binary"]
CLEAN = DocumentState(0)
EDITED, FAILED, CONFLICT = DocumentState.EDITED, DocumentState.FAILED, DocumentState.CONFLICT
UNTITLED, CLOSED, SAVING = DocumentState.UNTITLED, DocumentState.CLOSED, DocumentState.SAVING
ON_DISK = DocumentState.CHANGED_ON_DISK


@pytest.fixture
def items() -> Model:
    return Model({"Item": {"name": "string", "size": "int?"}, "Mark": {"name": "string?"}})


def add(document: Document, *names: str, entity: str = "Item") -> None:
    for name in names:
        document.context.insert(entity, name=name)
    document.context.process_pending_changes()


def found(document: Document) -> list[str]:
    return [each.name for each in document.context.fetch("Item", sort="name")]


def at(path: Path, model: Model) -> list[str]:
    with Document.open(path, model, queue="caller") as document:
        return found(document)


def made(model: Model, path: Path, *names: str, type: str | None = None) -> None:
    with Document(model, type=type or "SQLite", queue="caller") as document:
        add(document, *names)
        document.save_as(path)


def wait(is_true: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.002)


@pytest.mark.parametrize("type", TYPES)
def test_observers_are_notified_of_each_state_change(items: Model, tmp_path: Path, type: str) -> None:
    told: list[DocumentState] = []
    document = Document(items, type=type, queue="caller")
    with document.observe(told.append):

        def taken() -> list[DocumentState]:
            states = list(told)
            told.clear()
            return states

        add(document, "a")
        assert taken() == [UNTITLED | EDITED]
        document.save_as(tmp_path / "one")
        assert taken() == [UNTITLED | EDITED | SAVING, UNTITLED | EDITED, CLEAN]
        # The watch does not report the document's own work.
        time.sleep(0.05)
        assert taken() == []
        add(document, "b")
        assert taken() == [EDITED]
        add(document, "c")
        assert taken() == []
        document.save()
        assert taken() == [EDITED | SAVING, CLEAN]
        document.context.insert("Item")
        document.context.process_pending_changes()
        assert taken() == [EDITED]
        with pytest.raises(ValidationError):
            document.save()
        assert taken() == [EDITED | SAVING, EDITED | FAILED]
        assert isinstance(document.last_error, ValidationError)
        document.revert()
        assert taken()[-1] == document.state == CLEAN
        assert document.last_error is None
        document.close()
        assert taken() == [CLOSED]
    assert document.state == CLOSED


@pytest.mark.parametrize("type", TYPES)
def test_states_from_all_threads_are_delivered_in_order(items: Model, tmp_path: Path, type: str) -> None:
    told: list[DocumentState] = []
    path = tmp_path / "one"
    made(items, path, "a", type=type)

    def hear(state: DocumentState) -> None:
        if not told and state == EDITED:
            with Container(items, path) as other:
                other.insert("Item", {"name": "other"})
            # Long enough for the watch to report that first.
            time.sleep(0.3)
        told.append(state)

    with Document.open(path, items, queue="caller", unsaved="discard") as document, document.observe(hear):
        add(document, "b")
        wait(lambda: len(told) >= 2)
        assert told == [EDITED, EDITED | ON_DISK]
        assert told[-1] == document.state


@pytest.mark.parametrize("type", TYPES)
def test_observer_may_change_the_state(items: Model, tmp_path: Path, type: str) -> None:
    told: list[DocumentState] = []
    made(items, tmp_path / "one", "a", type=type)
    with Document.open(tmp_path / "one", items, queue="caller") as document:

        def hear(state: DocumentState) -> None:
            told.append(state)
            if state == EDITED:
                document.save()
                assert told[-1] == document.state == CLEAN

        with document.observe(hear):
            add(document, "b")
            assert told == [EDITED, EDITED | SAVING, CLEAN]


@pytest.mark.parametrize("type", TYPES)
def test_conflict_state_lasts_until_a_save_succeeds(items: Model, tmp_path: Path, type: str) -> None:
    path = tmp_path / "one"
    made(items, path, "a", "b", type=type)
    with Document.open(path, items, queue="caller") as document:
        mine = document.context.fetch("Item", sort="name")
        assert [each.name for each in mine] == ["a", "b"]
        with Document.open(path, items, queue="caller") as other:
            other.context.fetch("Item", "name == 'a'")[0].name = "theirs"
            other.save()
        wait(lambda: document.state & ON_DISK)
        # Other objects of the file do not matter.
        mine[1].name = "mine"
        document.save()
        assert document.state & (FAILED | CONFLICT) == CLEAN
        mine[0].size = 5
        with pytest.raises(ConflictError) as caught:
            document.save()
        assert len(caught.value.conflicts) == 1
        assert document.state & (EDITED | FAILED | CONFLICT) == EDITED | FAILED | CONFLICT
        assert document.last_error is not None
        assert document.last_error.status == Status.CONFLICT
        with pytest.raises(UnsavedChangesError) as refused:
            document.close()
        assert [each.status for each in refused.value.details] == [Status.UNSAVED_CHANGES, Status.CONFLICT]
        assert "1 Item updated" in refused.value.details[0].message
        # A failure of another kind replaces the conflict.
        mine[1].name = None
        with pytest.raises(ValidationError):
            document.save()
        assert document.state & (FAILED | CONFLICT) == FAILED
        mine[1].name = "mine"
        document.context.merge_policy = MergePolicy.OBJECT_TRUMP
        document.save()
        assert document.state & (EDITED | FAILED | CONFLICT) == CLEAN
        assert document.last_error is None
    assert at(path, items) == ["mine", "theirs"]


def test_folder_of_an_untitled_document_is_removed_at_its_end(
    items: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path / "t"))
    (tmp_path / "t").mkdir()
    for type in TYPES:
        for end in ("place", "close", "release"):
            document = Document(items, type=type, queue="caller", unsaved="discard")
            folder = Path(document.store.path).parent
            assert folder.parent == tmp_path / "t"
            assert folder.name.startswith("corestone-document-")
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
            assert document.store.type == type
            add(document, "a")
            if end == "place":
                document.save_as(tmp_path / f"{type}")
                assert list((tmp_path / "t").iterdir()) == []
            document.close("discard")
            assert list((tmp_path / "t").iterdir()) == []
    for wrong in ("InMemory", "Oracle"):
        with pytest.raises(InvalidArgumentError):
            Document(items, type=wrong)
    assert list((tmp_path / "t").iterdir()) == []


@pytest.mark.parametrize("type", TYPES)
def test_save_as_with_the_same_type_keeps_the_objects(items: Model, tmp_path: Path, type: str) -> None:
    with Document(items, type=type, queue="caller") as document:
        add(document, "a")
        item = document.context.fetch("Item")[0]
        document.save_as(tmp_path / "one")
        identifier, uri = document.store.identifier, item.id.uri
        item.name = "b"
        document.save_as(tmp_path / "two")
        assert (document.store.identifier, item.id.uri, item.name) == (identifier, uri, "b")
        assert document.path == str(tmp_path / "two")
        item.name = "c"
        document.save()
    assert [at(tmp_path / name, items) for name in ("one", "two")] == [["a"], ["c"]]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("to", TYPES)
def test_save_as_with_another_type_invalidates_the_objects(items: Model, tmp_path: Path, type: str, to: str) -> None:
    if type == to:
        return
    with Document(items, type=type, queue="caller", unsaved="discard") as document:
        add(document, "a")
        document.save_as(tmp_path / "one")
        item = document.context.fetch("Item")[0]
        identifier = document.store.identifier
        item.name = "b"
        child = document.context.child()
        child.insert("Item", name="below")
        with pytest.raises(UnsavedChangesError):
            document.save_as(tmp_path / "two", type=to)
        assert not (tmp_path / "two").exists()
        assert (document.path, document.store.type, item.name) == (str(tmp_path / "one"), type, "b")
        child.rollback()
        document.save_as(tmp_path / "two", type=to)
        assert document.store.type == to
        assert document.store.identifier != identifier
        with pytest.raises(ObjectGoneError):
            _ = item.name
        assert found(document) == ["b"]
        assert document.state == CLEAN
    assert [at(tmp_path / name, items) for name in ("one", "two")] == [["a"], ["b"]]


@pytest.mark.parametrize("type", TYPES)
def test_save_as_replaces_only_a_store_of_its_type_or_an_empty_file(items: Model, tmp_path: Path, type: str) -> None:
    """Only a store of the type, or an empty file, and only where it is to be replaced."""
    made(items, tmp_path / "same", "old", type=type)
    made(items, tmp_path / "other", "old", type="XML" if type != "XML" else "Binary")
    (tmp_path / "text").write_text("mine")
    (tmp_path / "empty").touch()
    (tmp_path / "folder").mkdir()
    with Document(items, type=type, queue="caller", unsaved="discard") as document:
        add(document, "new")
        cases: list[tuple[str, bool, Any]] = [
            ("same", False, InvalidArgumentError), ("other", False, InvalidArgumentError),
            ("text", False, InvalidArgumentError), ("other", True, UnsupportedError), ("text", True, NotAStoreError),
            ("folder", True, NotAStoreError), ("none/new", True, StoreError),
        ]  # fmt: skip
        for name, replaces, kind in cases:
            place = tmp_path / name
            before = place.read_bytes() if place.is_file() else None
            with pytest.raises(kind) as caught:
                document.save_as(place, replace=replaces)
            assert caught.value.file == str(place), name
            assert (place.read_bytes() if place.is_file() else None) == before
            assert document.state & ~FAILED == UNTITLED | EDITED, name
            assert found(document) == ["new"]
        for name in ("same", "empty"):
            document.save_as(tmp_path / name, replace=True)
            assert at(tmp_path / name, items) == ["new"]
            assert document.state == CLEAN
        assert sorted(each.name for each in tmp_path.iterdir() if not each.name.endswith(("-wal", "-shm"))) == [
            "empty", "folder", "other", "same", "text",
        ]  # fmt: skip


def test_read_only_document_can_be_saved_elsewhere(items: Model, tmp_path: Path) -> None:
    made(items, tmp_path / "one", "a")
    with Document.open(tmp_path / "one", items, queue="caller", read_only=True) as document:
        add(document, "b")
        with pytest.raises(StoreError) as caught:
            document.save()
        assert caught.value.status == Status.STORE_READ_ONLY
        document.save_as(tmp_path / "two")
        assert document.state == CLEAN
        add(document, "c")
        document.save()
    assert [at(tmp_path / name, items) for name in ("one", "two")] == [["a"], ["a", "b", "c"]]


def test_undo_past_a_save_makes_the_document_edited(items: Model, tmp_path: Path) -> None:
    with Document(items, queue="caller", unsaved="discard") as document:
        document.save_as(tmp_path / "one")
        item = document.context.insert("Item", name="a")
        document.context.process_pending_changes()
        document.save()
        item.name = "b"
        document.context.process_pending_changes()
        assert document.state == EDITED
        document.context.undo()
        assert document.state == CLEAN
        assert not document.has_unsaved_changes
        document.context.undo()
        assert document.state == EDITED
        assert document.has_unsaved_changes
        document.context.redo()
        assert document.state == CLEAN
        # Ends the event first.
        item.name = "c"
        assert document.has_unsaved_changes


@pytest.mark.parametrize("type", TYPES)
def test_revert_discards_changes_and_undo_steps(items: Model, tmp_path: Path, type: str) -> None:
    path = tmp_path / "one"
    made(items, path, "a", "b", type=type)
    with Document.open(path, items, queue="caller") as document:
        kept = document.context.fetch("Item", sort="name")
        with Document.open(path, items, queue="caller") as other:
            other.context.fetch("Item", "name == 'b'")[0].name = "theirs"
            add(other, "more")
            other.save()
        kept[0].name = "mine"
        add(document, "new")
        child = document.context.child()
        child.insert("Item", name="below")
        manager = document.undo_manager
        assert manager.can_undo
        document.revert()
        assert not document.undo_manager.can_undo
        assert not document.undo_manager.can_redo
        assert not child.has_changes
        assert [each.name for each in kept] == ["a", "theirs"]
        assert found(document) == ["a", "more", "theirs"]
        assert document.state == CLEAN
        assert not document.has_unsaved_changes


@pytest.mark.parametrize("type", TYPES)
def test_save_fails_when_the_file_was_removed(items: Model, tmp_path: Path, type: str) -> None:
    path = tmp_path / "one"
    made(items, path, "a", type=type)
    with Document.open(path, items, queue="caller", unsaved="discard") as document:
        assert found(document) == ["a"]
        path.unlink()
        assert document.state == ON_DISK
        add(document, "b")
        with pytest.raises(StoreError) as caught:
            document.save()
        assert (caught.value.status, caught.value.file) == (Status.STORE_IO, str(path))
        assert not path.exists()
        assert document.state == EDITED | FAILED | ON_DISK
        with pytest.raises(StoreError) as lost:
            document.revert()
        assert lost.value.status == Status.STORE_IO
        assert document.has_unsaved_changes
        document.save_as(tmp_path / "two")
        assert document.state == CLEAN
    assert at(tmp_path / "two", items) == ["a", "b"]


def test_close_error_counts_unsaved_changes_by_entity(items: Model, tmp_path: Path) -> None:
    document = Document(items, queue="caller")
    add(document, "a", "b", "c")
    add(document, "x", entity="Mark")
    with pytest.raises(UnsavedChangesError) as caught:
        document.close()
    (detail,) = caught.value.details
    assert "3 Item inserted, 1 Mark inserted" in detail.message
    with pytest.raises(InvalidArgumentError, match="untitled"):
        document.close("save")
    assert document.state == UNTITLED | EDITED
    document.save_as(tmp_path / "one")
    first = document.context.fetch("Item", sort="name")
    first[0].name = "changed"
    document.context.delete(first[1])
    with pytest.raises(UnsavedChangesError) as caught:
        document.close()
    assert str(tmp_path / "one") in caught.value.message
    assert "1 Item updated, 1 Item deleted" in caught.value.details[0].message
    document.close("save")
    assert document.state == CLOSED
    assert at(tmp_path / "one", items) == ["c", "changed"]


def test_release_of_an_unsaved_document_is_logged(items: Model, tmp_path: Path) -> None:
    with log.recorded() as lines:
        document = Document(items, queue="caller")
        add(document, "a", "b")
        document.context.save()  # into its own folder
        place = Path(document.store.path).parent
        del document
        gc.collect()
    # Contexts of other tests may end meanwhile.
    told = [line for line in lines if "an untitled document" in line]
    assert told == [
        "CoreData: warning: an untitled document was released, and its content is lost; call cst_document_save_as "
        "(save_as, saveAs), or close it with CST_UNSAVED_DISCARD (.discard), before releasing it"
    ]
    assert not place.exists()


@pytest.mark.parametrize("before", [True, False])
def test_autosave_counts_events_not_changes(items: Model, tmp_path: Path, before: bool) -> None:
    with Document(items, unsaved="discard") as document:
        document.save_as(tmp_path / "one")

        def event(*names: str) -> None:
            with document.context.perform() as ctx:
                for name in names:
                    ctx.insert("Item", name=name)

        if before:
            event("a", "b", "c")
        document.set_autosave(changes=3 if before else 2)
        if not before:
            event("a", "b", "c")
        with document.context.perform():
            pass  # nothing is left to save by it
        assert EDITED in document.state
        event("d")
        if before:
            assert EDITED in document.state
            event("e")
        wait(lambda: document.state == CLEAN)
    with Document.open(tmp_path / "one", items, queue="caller") as again:
        assert found(again) == list("abcde" if before else "abcd")


def test_autosave_of_an_untitled_document_saves_into_its_folder(items: Model, tmp_path: Path) -> None:
    with Document(items, unsaved="discard") as document:
        document.set_autosave(idle=0.01)
        with document.context.perform() as ctx:
            ctx.insert("Item", name="a")
        wait(lambda: not document.context.perform_and_wait(lambda: document.context.has_changes))
        assert document.state & (EDITED | UNTITLED) == EDITED | UNTITLED
        assert document.path is None
        with pytest.raises(UnsavedChangesError):
            document.close("refuse")
        document.save_as(tmp_path / "one")
    assert at(tmp_path / "one", items) == ["a"]
    assert os.listdir(tmp_path)
