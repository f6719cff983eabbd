"""Documents: created, opened, saved, saved elsewhere, reverted, autosaved, closed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from corestone import (
    ConflictError,
    Container,
    Context,
    Document,
    DocumentState,
    InvalidArgumentError,
    InvalidHandleError,
    Model,
    NotAStoreError,
    StoreError,
    UnsavedChangesError,
    ValidationError,
)

TYPES = ["SQLite", "XML", "Binary"]


@pytest.fixture
def items() -> Model:
    return Model({"Item": {"name": "string", "size": "int?"}})


def add(document: Document, *names: str) -> None:
    with document.context.perform() as ctx:
        for name in names:
            ctx.insert("Item", name=name)


def found(document: Document) -> list[str]:
    with document.context.perform() as ctx:
        return [each.name for each in ctx.fetch("Item", sort="name")]


def at(path: Path, model: Model) -> list[str]:
    with Document.open(path, model, read_only=False) as document:
        return found(document)


def wait(body: Callable[[], bool]) -> None:
    for _ in range(3000):
        if body():
            return
        time.sleep(0.02)
    raise AssertionError("it did not happen")


@pytest.mark.parametrize("type", TYPES)
def test_untitled_document_is_saved_to_a_file(items: Model, tmp_path: Path, type: str) -> None:
    document = Document(items, type=type)
    assert document.path is None
    assert document.state == DocumentState.UNTITLED
    add(document, "a")
    assert document.state == DocumentState.UNTITLED | DocumentState.EDITED
    assert document.has_unsaved_changes
    refuge = Path(document.store.path).parent
    assert refuge.is_dir()
    with pytest.raises(InvalidArgumentError, match="untitled"):
        document.save()
    with pytest.raises(UnsavedChangesError, match="untitled"):
        document.close()
    document.save_as(tmp_path / "one")
    assert not refuge.exists()
    assert document.path == str(tmp_path / "one")
    assert document.state == DocumentState(0)
    add(document, "b")
    document.save_as(tmp_path / "two")
    assert at(tmp_path / "one", items) == ["a"]
    assert at(tmp_path / "two", items) == ["a", "b"]
    with pytest.raises(InvalidArgumentError, match="already"):
        document.save_as(tmp_path / "one")
    document.save_as(tmp_path / "one", replace=True)
    document.close()
    document.close()
    assert document.is_closed
    with pytest.raises(InvalidHandleError):
        document.save()
    with pytest.raises(
        InvalidHandleError,
        match=r"one is closed; open it again with Document\.open\(\.\.\.\), or create another one with Document\(",
    ):
        _ = document.store
    untitled = Document(items)
    untitled.close()
    with pytest.raises(InvalidHandleError, match="the untitled document is closed; create another one"):
        _ = untitled.store
    assert at(tmp_path / "one", items) == ["a", "b"]


def test_document_can_be_saved_with_another_type(items: Model, tmp_path: Path) -> None:
    with Document(items) as document:
        add(document, "a")
        document.save_as(tmp_path / "one")
        add(document, "b")
        document.save_as(tmp_path / "two.xml", type="XML")
        assert document.store.type == "XML"
        assert found(document) == ["a", "b"]
    assert at(tmp_path / "one", items) == ["a"]
    assert (tmp_path / "two.xml").read_text().startswith("<?xml")
    with pytest.raises(InvalidArgumentError, match="an in-memory store"):
        Document(items, type="InMemory")


@pytest.mark.parametrize("type", TYPES)
def test_document_detects_writes_by_another_process(items: Model, tmp_path: Path, type: str) -> None:
    path = tmp_path / "one"
    with Document(items, type=type, unsaved="save") as document:
        add(document, "a")
        document.save_as(path)
        with Document.open(path, items) as other:
            with other.context.perform() as ctx:
                ctx.first("Item").name = "theirs"
            other.save()
            wait(lambda: bool(document.state & DocumentState.CHANGED_ON_DISK))
            with document.context.perform() as ctx:
                ctx.first("Item").name = "mine"
            with pytest.raises(ConflictError):
                document.save()
            assert document.state & (DocumentState.CONFLICT | DocumentState.FAILED)
            assert isinstance(document.last_error, ConflictError)
            with pytest.raises(UnsavedChangesError) as caught:
                document.close("refuse")
            assert len(caught.value.details) == 2
            document.revert()
        assert found(document) == ["theirs"]
        assert document.last_error is None
        assert document.state == DocumentState(0)
        add(document, "z")
    assert at(path, items) == ["theirs", "z"]


def test_undo_updates_the_document_state(items: Model, tmp_path: Path) -> None:
    with Document(items, queue="caller") as document:
        document.save_as(tmp_path / "one")
        ctx = document.context
        ctx.insert("Item", name="a")
        assert document.has_unsaved_changes
        assert document.state == DocumentState.EDITED
        assert document.undo_manager.can_undo
        ctx.undo()
        assert not document.has_unsaved_changes
        assert document.state == DocumentState(0)


def test_due_autosaves_share_a_thread(items: Model, tmp_path: Path) -> None:
    documents = [Document(items) for _ in range(20)]
    for number, document in enumerate(documents):
        document.save_as(tmp_path / str(number), type="Binary")
    before = len(os.listdir("/proc/self/task"))
    for document in documents:
        document.set_autosave(idle=60)
        add(document, "a")
    # One that waits, and one that did the adding.
    assert len(os.listdir("/proc/self/task")) <= before + 4
    for document in documents:
        document.set_autosave(idle=0.05)
    for document in documents:
        wait(lambda document=document: document.state == DocumentState(0))  # type: ignore[misc]
        document.close()
    assert [at(tmp_path / str(number), items) for number in range(20)] == [["a"]] * 20


def test_autosave_saves_after_idle_time_or_changes(items: Model, tmp_path: Path) -> None:
    states: list[DocumentState] = []
    document = Document(items)
    document.save_as(tmp_path / "one")
    observation = document.observe(states.append)
    document.set_autosave(changes=2)
    add(document, "a")
    assert not document.state & DocumentState.SAVING
    add(document, "b")
    wait(lambda: document.state == DocumentState(0))
    assert at(tmp_path / "one", items) == ["a", "b"]
    document.set_autosave(idle=0.05)
    add(document, "c")
    wait(lambda: document.state == DocumentState(0))
    assert DocumentState.EDITED in states
    with document.context.perform() as ctx:
        ctx.insert("Item")
    wait(lambda: bool(document.state & DocumentState.FAILED))
    assert isinstance(document.last_error, ValidationError)
    with pytest.raises(ValidationError):
        document.close("save")
    document.close("discard")
    observation.cancel()
    assert at(tmp_path / "one", items) == ["a", "b", "c"]
    with Document(items, queue="caller") as confined, pytest.raises(InvalidArgumentError, match="confined"):
        confined.set_autosave(changes=1)


def test_save_resets_the_autosave_count(items: Model, tmp_path: Path) -> None:
    with Document(items) as document:
        document.save_as(tmp_path / "one")
        document.set_autosave(changes=2)
        add(document, "a")
        document.save()
        add(document, "b")
        assert found(document) == ["a", "b"]  # an autosave would come before this on the queue
        assert document.state == DocumentState.EDITED
        assert at(tmp_path / "one", items) == ["a"]
        add(document, "c")
        wait(lambda: document.state == DocumentState(0))
    assert at(tmp_path / "one", items) == ["a", "b", "c"]


def test_invalid_document_arguments_are_rejected(items: Model, tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        Document.open(tmp_path / "none", items)
    with pytest.raises(InvalidArgumentError):
        Document(items, queue="none")
    with Document(items, unsaved="discard") as document:
        add(document, "a")
        with pytest.raises(StoreError):
            document.save_as(tmp_path / "none" / "a")
        assert document.has_unsaved_changes
        child = document.context.child("private")
        assert child.parent is document.context


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("wanted", TYPES)
def test_save_as_does_not_replace_a_file_that_is_not_a_store(
    items: Model, tmp_path: Path, type: str, wanted: str
) -> None:
    thesis = tmp_path / "thesis.txt"
    thesis.write_text("my thesis\n" * 10)
    (tmp_path / "link").symlink_to(thesis)
    document = Document(items, type=type)
    add(document, "a")
    for path in (thesis, tmp_path / "link"):
        with pytest.raises(NotAStoreError, match="remove the file first"):
            document.save_as(path, type=wanted, replace=True)
        assert thesis.read_text() == "my thesis\n" * 10
    assert document.state == DocumentState.UNTITLED | DocumentState.EDITED
    document.save_as(tmp_path / "a", type=wanted)
    assert at(tmp_path / "a", items) == ["a"]
    document.close()
    assert sorted(os.listdir(tmp_path)) == ["a", "link", "thesis.txt"]


@pytest.mark.parametrize("type", TYPES)
def test_save_fails_when_the_file_was_replaced_or_removed(items: Model, tmp_path: Path, type: str) -> None:
    own, newer = tmp_path / "own", tmp_path / "newer"
    for path, name in ((own, "a"), (newer, "theirs")):
        with Document(items, type=type) as document:
            add(document, name)
            document.save_as(path)
    document = Document.open(own, items)
    os.replace(newer, own)
    assert DocumentState.CHANGED_ON_DISK in document.state
    add(document, "b")
    with pytest.raises(StoreError, match="revert"):
        document.save()
    assert at(own, items) == ["theirs"]
    document.revert()
    assert found(document) == ["theirs"]
    add(document, "c")
    document.save()
    assert at(own, items) == ["c", "theirs"]
    own.unlink()
    add(document, "d")
    with pytest.raises(StoreError, match=r"no longer exists.*save_as"):
        document.save()
    document.save_as(tmp_path / "other")
    assert at(tmp_path / "other", items) == ["c", "d", "theirs"]
    document.close()


def test_unsaved_changes_of_child_contexts_count(items: Model, tmp_path: Path) -> None:
    with Document(items) as document:
        document.save_as(tmp_path / "a")
        child = document.context.child()
        with child.perform():
            child.insert("Item", name="below")
        assert document.has_unsaved_changes
        with child.perform():
            child.save()
        document.save()
        assert not document.has_unsaved_changes


def queue_work(context: Context, name: str, later: bool, accepted: list[str], refused: list[type]) -> None:
    """Until it is refused."""
    for number in range(100_000):
        item = f"{name} {number}"
        try:
            if later:
                context.perform(context.insert, "Item", name=item).result()
            else:
                with context.perform():
                    context.insert("Item", name=item)
        except Exception as error:
            refused.append(type(error))
            return
        accepted.append(item)


@pytest.mark.parametrize("kind", ["document", "container"])
def test_work_queued_during_close_is_saved_or_rejected(items: Model, tmp_path: Path, kind: str) -> None:
    """Accepted work is in the file; rejected work raised an error."""
    for round in range(4):
        path = tmp_path / f"{round}"
        opened: Document | Container
        if kind == "document":
            opened = Document(items)
            opened.save_as(path)
            context = opened.context
        else:
            opened = Container(items, path)
            context = opened.background_context()
        accepted: list[str] = []
        refused: list[type] = []
        threads = [
            threading.Thread(target=queue_work, args=(context, name, name > "b", accepted, refused)) for name in "abcd"
        ]
        for each in threads:
            each.start()
        time.sleep(0.05)
        opened.close("save")
        for each in threads:
            each.join()
        assert refused == [InvalidHandleError] * 4
        with Container(items, path, read_only=True) as container:
            assert sorted(each["name"] for each in container.read("Item")) == sorted(accepted)


OVERWRITES = """
import sys
from corestone import Document, Model
with Document(Model({"Item": {"name": "string", "size": "int?"}}), type=sys.argv[2]) as document:
    with document.context.perform() as ctx:
        ctx.insert("Item", name="precious")
    document.save_as(sys.argv[1], replace=True)
"""


@pytest.mark.parametrize("type", TYPES)
def test_store_overwritten_by_another_process_is_not_touched(type: str, items: Model, tmp_path: Path) -> None:
    path = tmp_path / "victim"
    with Document(items, type=type) as document:
        add(document, "old")
        document.save_as(path)
    document = Document.open(path, items)
    with document.context.perform() as ctx:
        item = ctx.fetch("Item")[0]
        item.name = "edited"
    subprocess.run([sys.executable, "-c", OVERWRITES, str(path), type], check=True)
    with pytest.raises(StoreError, match=r"was replaced by another (store|file)"):
        document.save()
    assert at(path, items) == ["precious"]
    document.revert()
    assert found(document) == ["precious"]
    add(document, "mine")
    document.save()
    document.close()
    assert at(path, items) == ["mine", "precious"]


@pytest.mark.parametrize("type", TYPES)
def test_save_waits_for_a_concurrent_save_as(type: str, items: Model, tmp_path: Path) -> None:
    with Document(items, type=type) as document:
        document.save_as(tmp_path / "0")
        errors: list[Exception] = []
        done = threading.Event()

        def save() -> None:
            while not done.is_set():
                try:
                    document.save()
                except Exception as error:
                    errors.append(error)

        thread = threading.Thread(target=save)
        thread.start()
        for number in range(1, 20):
            document.save_as(tmp_path / str(number % 2), replace=True)
        done.set()
        thread.join()
        assert errors == []
