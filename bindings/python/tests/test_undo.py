"""UndoManager, UndoNotification, and undo and redo of contexts."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    CallbackError,
    Container,
    Coordinator,
    InvalidArgumentError,
    ManagedObject,
    Model,
    ObjectGoneError,
    TypeMismatchError,
    UndoManager,
    UndoNotification,
    WrongThreadError,
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


def test_undo_restores_changes_deletions_and_moves(ctx: Any) -> None:
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


def test_registered_actions_can_be_undone_and_redone(ctx: Any) -> None:
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


def test_exception_of_an_undo_action_reaches_the_caller(ctx: Any) -> None:
    def refuse() -> None:
        raise KeyError("never")

    ctx.undo_manager.register_undo(refuse)
    with pytest.raises(Exception, match="never") as caught:
        ctx.undo_manager.undo()
    assert isinstance(caught.value.__cause__, KeyError)
    assert not ctx.undo_manager.is_undoing


def test_registration_levels_and_groups_can_be_controlled(ctx: Any) -> None:
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


def test_name_of_a_nested_group_names_the_undo_step(ctx: Any) -> None:
    manager = ctx.undo_manager
    with manager.group(), manager.group("Add"):
        ctx.insert("Book", title="a")
    assert manager.undo_action_name == "Add"
    ctx.undo()
    assert manager.redo_action_name == "Add"


def test_changes_after_a_named_step_are_unnamed(ctx: Any) -> None:
    manager = ctx.undo_manager
    with manager.group("Add"):
        book = ctx.insert("Book", title="a")
    assert manager.undo_action_name == "Add"
    book.title = "b"
    assert (manager.undo_action_name, manager.undo_menu_item_title) == ("", "Undo")
    assert ctx.undo()
    assert book.title == "a"
    assert (manager.undo_action_name, manager.undo_menu_item_title) == ("Add", "Undo Add")


def test_undo_group_ends_when_its_block_raises(ctx: Any) -> None:
    def half() -> None:
        with ctx.undo_manager.group("Half"):
            ctx.insert("Book", title="a")
            raise KeyError

    with pytest.raises(KeyError):
        half()
    assert ctx.undo_manager.undo_action_name == "Half"
    ctx.undo()
    assert not ctx.has_changes


def test_observer_is_notified_of_undo(ctx: Any) -> None:
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


def test_observer_that_is_not_callable_is_an_error(ctx: Any) -> None:
    with pytest.raises(TypeMismatchError, match="function must be a function, not 5"):
        ctx.undo_manager.observe("did_undo", 5)


def test_actions_are_released_with_the_manager() -> None:
    class Payload:
        pass

    payload = Payload()
    known = weakref.ref(payload)
    manager = UndoManager()
    manager.register_undo(lambda kept: None, payload)
    del payload, manager
    gc.collect()
    assert known() is None


def test_levels_of_undo_limit_the_stack(ctx: Any) -> None:
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


def test_menu_titles_and_action_names_follow_the_stack(ctx: Any) -> None:
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


def test_undo_replaces_prefetched_values(ctx: Any) -> None:
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


# ---- ends of events, and undone changes


@pytest.mark.parametrize("is_step", [True, False])
def test_end_of_an_event_closes_an_undo_step(ctx: Any, is_step: bool) -> None:
    book = ctx.insert("Book", title="a", pages=0)
    other = ctx.insert("Book", title="other")
    ctx.save()
    ctx.undo_manager.remove_all_actions()

    def performed() -> None:
        with ctx.perform():
            book.pages += 10

    ends = {
        True: [
            ctx.process_pending_changes, ctx.save, performed, lambda: ctx.count("Book"), lambda: list(ctx.fetch("Book"))
        ],
        False: [
            lambda: list(ctx.fetch("Book", include_pending_changes=False)), lambda: ctx.has_changes,
            lambda: ctx.existing(other.id), lambda: list(ctx.updated), lambda: ctx.undo_manager.can_undo,
        ],
    }  # fmt: skip
    for number, end in enumerate(ends[is_step]):
        ctx.undo_manager.remove_all_actions()
        book.pages = before = number * 100
        ctx.process_pending_changes()
        book.pages += 1
        end()
        after = book.pages
        book.pages += 1
        assert ctx.undo()
        assert book.pages == (after if is_step else before), number
        assert ctx.redo()
        assert book.pages == after + 1


EVERYTHING: dict[str, dict[str, Any]] = {
    "Item": {
        "name": "string?",
        "mood": "string? transient",
        "where": {"latitude": "double?", "town": "string?"},
        "payload": {"type": "transformable", "optional": True},
        "box": "to-one Box? inverse items",
        "friends": "to-many Item inverse friends",
    },
    "Box": {"name": "string?", "items": "to-many ordered Item inverse box delete deny"},
}


@pytest.fixture
def every(tmp_path: Path) -> Any:
    with Container(Model(EVERYTHING), tmp_path / "a.sqlite", unsaved="discard") as container:
        context = container.context()
        context.undo_manager = UndoManager()
        yield context


def image(item: Any) -> tuple[Any, ...]:
    town = item.where["town"] if item.where else None
    return item.name, item.mood, town, item.payload, item.box, set(item.friends)


def test_undo_restores_values_of_every_type(every: Any) -> None:
    boxes = [every.insert("Box", name=name) for name in "xyz"]
    items = [every.insert("Item", name=name, box=boxes[0]) for name in "abc"]
    first = items[0]
    first.where, first.payload, first.friends = {"latitude": 1.0, "town": "Bern"}, ["old"], {items[1]}
    every.save()
    first.mood = "calm"
    every.process_pending_changes()
    before, order = image(first), list(boxes[0].items)
    first.name, first.mood, first.payload, first.box = "A", "wild", ["new"], boxes[1]
    first.where = {"latitude": 2.0, "town": "Basel"}
    first.friends = {items[2]}
    boxes[0].items = [items[2], items[1]]
    every.process_pending_changes()
    after = image(first)
    assert after == ("A", "wild", "Basel", ["new"], boxes[1], {items[2]})
    for expected, members, second, friends in [
        (before, order, [], [set(), {first}]), (after, [items[2], items[1]], [first], [{first}, set()])
    ]:  # fmt: skip
        assert (every.undo if expected is before else every.redo)()
        assert image(first) == expected
        assert (list(boxes[0].items), list(boxes[1].items)) == (members, second)
        assert [set(items[2].friends), set(items[1].friends)] == friends
    assert every.undo()
    assert not every.has_persistent_changes


def test_undone_insertion_bypasses_delete_rules_and_can_be_redone(every: Any) -> None:
    item = every.insert("Item", name="a")
    every.save()
    every.undo_manager.remove_all_actions()
    box = every.insert("Box", name="x", items=[item])
    identity = box.id
    # Deleting the box is denied while it has items.
    assert every.undo()
    assert item.box is None
    assert every.registered(identity) is None
    with pytest.raises(ObjectGoneError):
        _ = box.name
    every.save()
    assert every.redo()
    assert every.registered(identity) is box
    assert (box.id, box.name, list(box.items), item.box) == (identity, "x", [item], box)
    assert (box.is_inserted, item.is_updated) == (True, True)


def test_undo_after_a_save_makes_inverse_changes(ctx: Any) -> None:
    shelf = ctx.insert("Shelf", name="A")
    ctx.save()
    shelf.name = "B"
    ctx.save()
    ctx.delete(shelf)
    former = shelf.id
    ctx.save()
    assert ctx.undo()
    assert (shelf.is_inserted, shelf.is_deleted, shelf.name) == (True, False, "B")
    assert shelf.id != former
    assert shelf.id.is_temporary
    assert ctx.undo()
    assert (shelf.name, shelf.is_inserted) == ("A", True)
    ctx.save()
    assert [each.name for each in ctx.container.context().fetch("Shelf")] == ["A"]
    assert shelf.id != former
    assert ctx.undo()
    assert shelf.is_deleted
    ctx.save()
    assert ctx.container.context().count("Shelf") == 0
    assert not ctx.undo()
    assert ctx.redo()
    assert shelf.is_inserted
    assert shelf.name == "A"


@pytest.mark.parametrize("end", ["rollback", "reset"])
def test_rollback_clears_the_steps_of_its_context_only(ctx: Any, end: str) -> None:
    other = ctx.container.context()
    other.undo_manager = manager = ctx.undo_manager
    mine, theirs = ctx.insert("Shelf", name="mine"), other.insert("Shelf", name="theirs")
    ctx.save()
    other.save()
    manager.remove_all_actions()
    mine.name = "1"
    ctx.process_pending_changes()
    theirs.name = "2"
    other.process_pending_changes()
    assert ctx.undo()
    getattr(ctx, end)()
    assert manager.can_redo == (theirs.name == "theirs")
    while manager.undo():
        pass
    assert theirs.name == "theirs"
    manager.redo()
    assert theirs.name == "2"
    assert not manager.can_redo
    ctx.undo_manager = None
    other.rollback()
    assert (manager.can_undo, manager.can_redo) == (False, False)


def test_refresh_without_merge_clears_the_steps_of_its_object(ctx: Any) -> None:
    shelf, book = ctx.insert("Shelf", name="A"), ctx.insert("Book", title="a", pages=1)
    ctx.save()
    ctx.undo_manager.remove_all_actions()
    for merges in (True, False):
        shelf.name, book.pages = "B", 2
        ctx.process_pending_changes()
        ctx.refresh(shelf, merge=merges)
        assert shelf.name == ("B" if merges else "A")
        assert ctx.undo()
        assert (shelf.name, book.pages) == ("A", 1)
        assert ctx.redo()
        assert (shelf.name, book.pages) == ("B" if merges else "A", 2)
        ctx.rollback()


def test_primitive_values_and_merges_are_not_undo_steps(ctx: Any) -> None:
    shelf = ctx.insert("Shelf", name="A")
    ctx.save()
    ctx.undo_manager.remove_all_actions()
    shelf.set_primitive("name", "P")
    ctx.process_pending_changes()
    assert not ctx.undo_manager.can_undo
    ctx.refresh(shelf, merge=False)
    other = ctx.container.context()
    other.get(shelf.id).name = "theirs"
    other.save()
    ctx.merge_changes({"updated": [shelf.id]})
    assert shelf.name == "theirs"
    ctx.refresh_all()
    assert not ctx.undo_manager.can_undo
    assert not ctx.undo()


def test_undo_restores_merged_values_of_unchanged_properties(ctx: Any) -> None:
    book = ctx.insert("Book", title="a", pages=1)
    ctx.save()
    ctx.undo_manager.remove_all_actions()
    book.title, book.pages = "mine", 2
    ctx.process_pending_changes()
    other = ctx.container.context()
    other.get(book.id).pages = 50
    other.save()
    ctx.merge_changes({"updated": [book.id]})
    assert (book.title, book.pages) == ("mine", 2)
    assert ctx.undo()
    assert (book.title, book.pages) == ("a", 50)
    assert not ctx.has_changes
    assert ctx.redo()
    assert (book.title, book.pages) == ("mine", 2)


# ---- rejected calls


def test_rejected_calls_leave_the_undo_stack_unchanged(ctx: Any) -> None:
    manager = ctx.undo_manager
    book = ctx.insert("Book", title="a")
    ctx.save()
    manager.remove_all_actions()
    book.title = "b"
    manager.begin_undo_grouping()
    book.pages = 1
    manager.begin_undo_grouping()
    book.pages = 2
    for call, message in [
        (manager.undo, "groups"), (ctx.undo, "groups"), (manager.redo, "group"), (ctx.redo, "group")
    ]:  # fmt: skip
        with pytest.raises(InvalidArgumentError, match=message):
            call()
        assert (manager.grouping_level, book.title, book.pages) == (2, "b", 2)
    manager.end_undo_grouping()
    manager.end_undo_grouping()
    with pytest.raises(InvalidArgumentError, match="the undo manager does not have an open group"):
        manager.end_undo_grouping()
    assert manager.undo()
    assert (book.title, book.pages) == ("b", None)
    assert manager.undo()
    assert book.title == "a"
    assert not manager.undo()


def test_empty_group_is_not_an_undo_step(ctx: Any) -> None:
    manager = ctx.undo_manager
    with manager.group("Outer"), manager.group("Inner"):
        pass
    assert not manager.can_undo
    assert manager.undo_menu_item_title == "Undo"
    book = ctx.insert("Book", title="a")
    ctx.process_pending_changes()
    assert manager.undo()
    with manager.group("Nothing"):
        pass
    assert manager.can_redo, "an empty group keeps the redo stack"
    assert manager.redo()
    assert manager.undo()
    with manager.group("Something"):
        ctx.insert("Book", title="b")
    assert not manager.can_redo
    with pytest.raises(ObjectGoneError):
        _ = book.title


def test_changes_can_be_undone_on_their_queue_only(ctx: Any) -> None:
    manager = ctx.undo_manager
    book = ctx.insert("Book", title="a")
    ran: list[str] = []
    with manager.group():
        book.title = "b"
        manager.register_undo(ran.append, "host's")
    refused: list[type] = []

    def elsewhere() -> None:
        for call in (manager.undo, manager.undo_nested_group, ctx.undo):
            try:
                call()
            except WrongThreadError as error:
                refused.append(type(error))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert (refused, ran, book.title) == ([WrongThreadError] * 3, [], "b")
    assert manager.can_undo
    assert manager.undo()
    assert (ran, book.title) == (["host's"], "a")


def test_actions_undone_before_a_failure_can_be_redone(ctx: Any) -> None:
    manager = ctx.undo_manager
    done = ["a", "b", "c"]

    def pop(what: str) -> None:
        done.remove(what)
        manager.register_undo(done.append, what)

    def refuse() -> None:
        raise KeyError("never")

    with manager.group("Three"):
        manager.register_undo(pop, "a")
        manager.register_undo(refuse)
        manager.register_undo(pop, "c")
    with pytest.raises(CallbackError, match="never"):
        manager.undo()
    assert done == ["a", "b"], "the newest first, up to the failure"
    assert (manager.can_undo, manager.can_redo, manager.is_undoing) == (True, True, False)
    assert manager.undo()
    assert done == ["b"]
    assert manager.redo()
    assert manager.redo()
    assert done == ["b", "a", "c"]


def test_notifications_are_posted_in_order() -> None:
    manager = UndoManager()
    heard: list[str] = []

    def note(kind: UndoNotification) -> Any:
        return manager.observe(kind, lambda _: heard.append(kind.name.lower()))

    tokens = [note(kind) for kind in UndoNotification]
    closed = ["will_close_group", "did_close_group"]

    def taken() -> list[str]:
        found = list(heard)
        heard.clear()
        return found

    def again() -> None:
        manager.register_undo(again)

    with manager.group():
        again()
        assert taken() == ["checkpoint", "did_open_group"]
    assert taken() == ["checkpoint", *closed]
    manager.undo()
    assert taken() == ["checkpoint", "will_undo", "did_open_group", *closed, "did_undo"]
    manager.redo()
    assert taken() == ["checkpoint", "will_redo", "did_open_group", *closed, "did_redo"]
    again()
    assert taken() == ["did_open_group"]
    manager.undo()
    assert taken() == ["checkpoint", *closed, "will_undo", "did_open_group", *closed, "did_undo"]
    manager.redo()
    manager.remove_all_actions()
    taken()
    assert not manager.undo()
    assert taken() == ["checkpoint"]
    for token in tokens:
        token.cancel()
    again()
    assert taken() == []


def test_removing_a_store_clears_the_steps_of_affected_contexts(tmp_path: Path) -> None:
    coordinator = Coordinator(Model(SHELVES))
    first, second = (coordinator.add_store(tmp_path / name) for name in ("a.sqlite", "b.sqlite"))
    manager = UndoManager()
    ctx, other = coordinator.context(), coordinator.context()
    ctx.undo_manager = other.undo_manager = manager
    stays, goes, apart = ctx.insert("Shelf", name="a"), ctx.insert("Shelf", name="b"), other.insert("Shelf", name="c")
    ctx.assign(goes, second)
    ctx.save()
    other.save()
    manager.remove_all_actions()
    with manager.group("Other"):
        apart.name = "C"
    with manager.group("Both"):
        stays.name = "A"
        goes.name = "B"
    assert manager.undo_action_name == "Both"
    coordinator.remove_store(second)
    assert manager.undo_action_name == "Other"
    assert manager.undo()
    assert (stays.name, apart.name) == ("A", "c")
    assert not manager.undo()
    ctx.rollback()
    assert [store.identifier for store in coordinator.stores] == [first.identifier]
    coordinator.close(unsaved="discard")


@pytest.fixture
def shelf(ctx: Any) -> Any:
    """A shelf with the books a and b, and a book c on none; the list was read, and nothing is to undo."""
    shelf = ctx.insert("Shelf", name="A", books=[ctx.insert("Book", title=title) for title in "ab"])
    ctx.insert("Book", title="c")
    ctx.save()
    ctx.undo_manager = UndoManager()
    assert titles(shelf) == ["a", "b"]
    return shelf


def titles(shelf: Any) -> list[str]:
    return [book.title for book in shelf.books]


def book(ctx: Any, title: str) -> Any:
    return ctx.fetch("Book", "title == %@", title)[0]


def put(ctx: Any, shelf: Any, order: str) -> None:
    """Another context puts books on the shelf, which this one merges."""
    with ctx.coordinator.context() as other:
        changes: list[Any] = []
        with other.observe("did_save", lambda _, saved: changes.append(saved)):
            other.get(shelf.id).books = [book(other, title) for title in order]
            other.save()
        for saved in changes:
            ctx.merge_changes(saved)


@pytest.mark.parametrize("looks", [False, True])
def test_undo_after_a_merge_uses_the_order_of_the_store(ctx: Any, shelf: Any, looks: bool) -> None:
    put(ctx, shelf, "")
    assert titles(shelf) == []
    ctx.delete(book(ctx, "c"))
    ctx.insert("Book", title="n", shelf=shelf)
    ctx.process_pending_changes()
    put(ctx, shelf, "ca")
    if looks:
        assert titles(shelf) == ["n", "a"]
    ctx.undo()
    assert titles(shelf) == ["c", "a"]
    assert not ctx.has_persistent_changes


@pytest.mark.parametrize("looks", [False, True])
def test_order_can_be_undone_and_redone_after_a_merge(ctx: Any, shelf: Any, looks: bool) -> None:
    shelf.books = [book(ctx, "b"), book(ctx, "a")]
    ctx.process_pending_changes()
    put(ctx, shelf, "cab")
    if looks:
        assert titles(shelf) == ["b", "a", "c"]
    ctx.undo()
    assert titles(shelf) == ["c", "a", "b"]
    assert not ctx.has_persistent_changes
    ctx.redo()
    assert titles(shelf) == ["b", "a", "c"]


@pytest.mark.parametrize("looks", [False, True])
def test_undo_restores_the_merged_index_of_a_member(ctx: Any, shelf: Any, looks: bool) -> None:
    a = book(ctx, "a")
    a.shelf = None
    ctx.process_pending_changes()
    put(ctx, shelf, "cab")
    if looks:
        assert titles(shelf) == ["c", "b"]
    ctx.undo()
    assert titles(shelf) == ["c", "a", "b"]
    assert not ctx.has_persistent_changes


@pytest.mark.parametrize("how", ["untracked", "primitive", "hook"])
@pytest.mark.parametrize("ends", [True, False])
def test_undo_keeps_values_set_earlier_without_tracking(tmp_path: Path, how: str, ends: bool) -> None:
    model = Model({"Thing": {"name": "string", "note": "string?"}})
    if how == "hook":

        class Thing(ManagedObject, entity="Thing"):
            note: Any

            def awake_from_fetch(self) -> None:
                self.note = "quiet"

        model.bind(Thing)
    with Container(model, tmp_path / "a.sqlite", unsaved="discard") as container:
        ctx = container.context()
        thing = ctx.insert("Thing", name="a", note="n")
        ctx.save()
        ctx.undo_manager = UndoManager()
        if how == "untracked":
            with ctx.without_tracking():
                thing.note = "quiet"
        elif how == "primitive":
            thing.set_primitive("note", "quiet")
        else:
            ctx.refresh(thing, merge=False)
            assert thing.note == "quiet"
        if ends:
            ctx.process_pending_changes()
            assert not ctx.undo_manager.can_undo
        thing.name = "b"
        ctx.process_pending_changes()
        ctx.undo()
        assert (thing.name, thing.note, thing.has_changes) == ("a", "quiet", False)
        ctx.redo()
        assert (thing.name, thing.note) == ("b", "quiet")


def test_undo_reverts_untracked_values_set_in_the_same_event(ctx: Any) -> None:
    made = ctx.insert("Book", title="a", pages=1)
    ctx.save()
    ctx.undo_manager = UndoManager()
    for ends, pages in ((False, 1), (True, 2)):
        made.title = "b"
        if ends:
            ctx.process_pending_changes()
        with ctx.without_tracking():
            made.pages = 2
        ctx.undo()
        assert (made.title, made.pages) == ("a", pages)


def test_value_set_to_its_former_value_adopts_merged_values(ctx: Any) -> None:
    made = ctx.insert("Book", title="a", pages=1)
    ctx.save()
    ctx.undo_manager = UndoManager()
    made.title, made.pages = "b", 1
    ctx.process_pending_changes()
    with ctx.coordinator.context() as other:
        other.get(made.id).pages = 5
        other.save()
    ctx.merge_changes({"updated": [made.id]})
    assert made.pages == 1
    ctx.undo()
    assert (made.title, made.pages, ctx.has_persistent_changes) == ("a", 5, False)
    made.title = "a"
    ctx.process_pending_changes()
    assert not ctx.undo_manager.can_undo
