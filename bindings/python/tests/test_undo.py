"""UndoManager, UndoNotification, and undo and redo of contexts."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    InvalidArgumentError,
    Model,
    ObjectGoneError,
    UndoManager,
    UndoNotification,
)

SHELVES = {
    "Shelf": {"name": "string", "books": "to-many ordered Book inverse shelf delete cascade"},
    "Book": {"title": "string", "pages": "int?", "shelf": "to-one Shelf? inverse books"},
}


@pytest.fixture
def ctx(tmp_path: Path) -> Any:
    with Container(Model(SHELVES), tmp_path / "a.sqlite", unsaved="discard") as container:
        context = container.context()
        context.undo_manager = UndoManager()
        yield context


def test_changes_deletions_and_moves(ctx: Any) -> None:
    shelf = ctx.insert("Shelf", name="A")
    books = [ctx.insert("Book", title=title, shelf=shelf) for title in "abc"]
    ctx.save()
    with ctx.undo_manager.group("Sort"):
        shelf.books = [books[1], books[2], books[0]]
        books[0].pages = 3
    assert ctx.undo_manager.undo_menu_item_title == "Undo Sort"
    ctx.delete(shelf)
    assert ctx.undo()
    assert [book.title for book in shelf.books] == ["b", "c", "a"]
    assert ctx.undo()
    assert [book.title for book in shelf.books] == ["a", "b", "c"]
    assert books[0].pages is None
    assert not ctx.has_changes
    assert ctx.undo_manager.redo_menu_item_title == "Redo Sort"
    assert ctx.redo()
    assert books[0].pages == 3
    assert ctx.redo()
    ctx.save()
    with pytest.raises(ObjectGoneError):
        _ = shelf.name
    assert ctx.undo()
    assert shelf.name == "A"
    assert list(shelf.books) == [books[1], books[2], books[0]]
    ctx.save()
    assert len(ctx.fetch("Book")) == 3


def test_steps_of_the_host(ctx: Any) -> None:
    manager = ctx.undo_manager
    numbers = [0]

    def change(new: int) -> None:
        manager.register_undo(change, numbers[-1], target=numbers)
        numbers.append(new)

    book = ctx.insert("Book", title="a")
    change(1)
    assert manager.can_undo
    manager.undo()
    assert numbers[-1] == 0
    with pytest.raises(ObjectGoneError):
        _ = book.title
    assert manager.can_redo
    manager.redo()
    assert numbers[-1] == 1
    assert book.title == "a"
    manager.remove_all_actions(target=numbers)
    manager.undo()
    assert numbers[-1] == 1
    manager.remove_all_actions()
    assert not manager.can_undo
    assert not manager.can_redo


def test_what_an_action_raises(ctx: Any) -> None:
    def refuse() -> None:
        raise KeyError("never")

    ctx.undo_manager.register_undo(refuse)
    with pytest.raises(Exception, match="never") as caught:
        ctx.undo_manager.undo()
    assert isinstance(caught.value.__cause__, KeyError)
    assert not ctx.undo_manager.is_undoing


def test_registration_levels_and_groups(ctx: Any) -> None:
    manager = ctx.undo_manager
    book = ctx.insert("Book", title="a")
    with manager.without_registration():
        book.title = "b"
        assert not manager.is_undo_registration_enabled
    assert manager.is_undo_registration_enabled
    with pytest.raises(InvalidArgumentError):
        manager.enable_undo_registration()
    manager.levels_of_undo = 1
    assert manager.levels_of_undo == 1
    for title in "cd":
        book.title = title
        ctx.process_pending_changes()
    assert manager.undo()
    assert book.title == "c"
    assert not manager.undo()
    assert manager.groups_by_event
    manager.groups_by_event = False
    with pytest.raises(InvalidArgumentError):
        manager.register_undo(print)
    with manager.group(), manager.group():
        assert manager.grouping_level == 2
        book.title = "e"
    manager.undo_nested_group()
    assert book.title == "c"
    with pytest.raises(InvalidArgumentError):
        manager.end_undo_grouping()


def test_a_name_within_nested_groups_is_that_of_the_step(ctx: Any) -> None:
    manager = ctx.undo_manager
    with manager.group(), manager.group("Add"):
        ctx.insert("Book", title="a")
    assert manager.undo_action_name == "Add"
    ctx.undo()
    assert manager.redo_action_name == "Add"


def test_changes_since_a_named_step_have_no_name(ctx: Any) -> None:
    manager = ctx.undo_manager
    with manager.group("Add"):
        book = ctx.insert("Book", title="a")
    assert manager.undo_action_name == "Add"
    book.title = "b"
    assert (manager.undo_action_name, manager.undo_menu_item_title) == ("", "Undo")
    assert ctx.undo()
    assert book.title == "a"
    assert (manager.undo_action_name, manager.undo_menu_item_title) == ("Add", "Undo Add")


def test_a_group_ends_also_when_its_block_raises(ctx: Any) -> None:
    def half() -> None:
        with ctx.undo_manager.group("Half"):
            ctx.insert("Book", title="a")
            raise KeyError

    with pytest.raises(KeyError):
        half()
    assert ctx.undo_manager.undo_action_name == "Half"
    ctx.undo()
    assert not ctx.has_changes


def test_notifications(ctx: Any) -> None:
    heard: list[UndoManager] = []
    with ctx.undo_manager.observe("did_undo", heard.append):
        ctx.insert("Book", title="a")
        ctx.undo()
    ctx.redo()
    ctx.undo()
    assert heard == [ctx.undo_manager]
    observation = ctx.undo_manager.observe(UndoNotification.WILL_REDO, heard.append)
    ctx.redo()
    assert len(heard) == 2
    observation.cancel()


def test_actions_end_with_the_manager() -> None:
    class Payload:
        pass

    payload = Payload()
    known = weakref.ref(payload)
    manager = UndoManager()
    manager.register_undo(lambda kept: None, payload)
    del payload, manager
    gc.collect()
    assert known() is None


def test_levels_that_keep_all_or_some(ctx: Any) -> None:
    manager = ctx.undo_manager
    assert manager.levels_of_undo == 0
    book = ctx.insert("Book", title="0")
    ctx.process_pending_changes()
    manager.remove_all_actions()
    for levels, steps in ((0, 5), (3, 3), (-2, 5)):
        manager.levels_of_undo = levels
        assert manager.levels_of_undo == max(levels, 0)
        for title in "12345":
            book.title = title
            ctx.process_pending_changes()
        count = 0
        while manager.undo():
            count += 1
        assert (count, book.title) == (steps, str(5 - steps) if steps < 5 else book.title)
        manager.remove_all_actions()


def test_titles_and_names_of_steps(ctx: Any) -> None:
    manager = ctx.undo_manager

    def titles() -> tuple[str, str, str, str]:
        return (
            manager.undo_action_name, manager.redo_action_name, manager.undo_menu_item_title,
            manager.redo_menu_item_title,
        )  # fmt: skip

    assert titles() == ("", "", "Undo", "Redo")
    assert (manager.can_undo, manager.can_redo, manager.is_undoing, manager.is_redoing) == (False,) * 4
    seen: list[tuple[bool, bool]] = []

    def note() -> None:
        seen.append((manager.is_undoing, manager.is_redoing))
        manager.register_undo(note)

    with manager.group("Paste") as same:
        assert same is manager
        manager.register_undo(note)
    assert titles() == ("Paste", "", "Undo Paste", "Redo")
    assert (manager.can_undo, manager.can_redo) == (True, False)
    assert manager.undo()
    assert titles() == ("", "Paste", "Undo", "Redo Paste")
    assert (manager.can_undo, manager.can_redo) == (False, True)
    assert manager.redo()
    assert titles() == ("Paste", "", "Undo Paste", "Redo")
    assert seen == [(True, False), (False, True)]
    assert not manager.redo()


def test_what_was_read_before_a_step_is_not_shown_after_it(ctx: Any) -> None:
    for title in "abc":
        ctx.insert("Book", title=title, pages=1)
    ctx.save()
    books = ctx.fetch("Book", sort="title")
    for step in (ctx.undo, ctx.undo_manager.undo):
        assert [book.pages for book in books] == [book.pages for book in books] == [1, 1, 1]
        for number, book in enumerate(books):
            book.pages = number
        assert [book.pages for book in books] == [0, 1, 2]
        assert step()
        assert [book.pages for book in books] == [1, 1, 1]
        assert ctx.redo()
        assert [book.pages for book in books] == [0, 1, 2]
        assert ctx.undo()
