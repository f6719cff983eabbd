"""Objects of a removed store in contexts, and the store to which new objects are assigned."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Coordinator,
    CorestoneError,
    InvalidArgumentError,
    Model,
    ObjectGoneError,
    Status,
    StoreReadOnlyError,
    UndoManager,
    log,
)

SHELF: dict[str, Any] = {
    "Box": {"name": "string?", "items": "to-many Item? inverse box"},
    "Item": {"name": "string?", "box": "to-one Box? inverse items"},
    "Tool": {"@parent": "Item", "size": "int?"},
    "Note": {"name": "string?"},
}


@pytest.fixture
def model() -> Model:
    model = Model(SHELF)
    model.configuration("Boxes", "Box")
    model.configuration("Items", "Item")
    model.configuration("Notes", "Note")
    return model


@pytest.fixture
def coordinator(model: Model, tmp_path: Path) -> Coordinator:
    coordinator = Coordinator(model, unsaved="discard")
    for name in ("stays", "goes"):
        coordinator.add_store(tmp_path / name)
    return coordinator


def losses(lines: list[str]) -> list[str]:
    """The logged losses of a store; contexts of other tests may end at the same time."""
    return [line for line in lines if "unsaved changes" in line and "/goes" in line]


def test_log_counts_the_lost_changes_of_each_context(coordinator: Coordinator) -> None:
    stays, goes = coordinator.stores
    contexts = [coordinator.context() for _ in range(4)]
    for context, name in zip(contexts, ["first", "second", "third", "untouched"]):
        context.name = name
    keep = contexts[0].insert("Item", name="keep")
    saved = [contexts[0].insert("Item", name=name) for name in "abc"]
    note = contexts[0].insert("Note", name="n")
    for each in (*saved, note):
        contexts[0].assign(each, goes)
    contexts[0].save()
    saved[0].name = "changed"
    contexts[0].delete(saved[1])
    contexts[0].delete(saved[2])
    note.name = "changed"
    keep.name = "kept"
    for number in range(3):
        contexts[0].assign(contexts[0].insert("Box", name=str(number)), goes)
    contexts[1].existing(note.id).name = "other"
    assert len(contexts[2].fetch("Item")) == 4
    contexts[2].insert("Item", name="in no store yet")
    with log.recorded() as lines:
        coordinator.remove_store(goes)
    told = losses(lines)
    assert len(told) == 2
    first, second = (next(line for line in told if f'"{name}"' in line) for name in ("first", "second"))
    counts = ["3 Box inserted", "1 Item updated", "2 Item deleted", "1 Note updated"]
    assert all(count in first for count in counts), first
    assert "1 Note updated" in second
    assert not any(count in second for count in counts[:3])
    assert goes.path in first
    assert goes.path in second
    with log.recorded() as lines:
        contexts[0].save()
        contexts[2].save()
    assert losses(lines) == []
    assert sorted(each.name for each in coordinator.context().fetch("Item")) == ["in no store yet", "kept"]
    assert [each.path for each in coordinator.stores] == [stays.path]


def test_removing_a_store_clears_the_undo_stack_of_affected_contexts(coordinator: Coordinator) -> None:
    goes = coordinator.stores[1]
    writer = coordinator.context()
    items = [writer.insert("Item", name=name) for name in ("stays", "goes")]
    writer.assign(items[1], goes)
    writer.save()
    has, has_not = coordinator.context(), coordinator.context()
    managers = [UndoManager(), UndoManager()]
    for context, manager in zip((has, has_not), managers):
        context.undo_manager = manager
        context.existing(items[0].id).name = "changed"
        context.process_pending_changes()
        assert manager.can_undo
    held = has.existing(items[1].id)
    assert held.name == "goes"
    coordinator.remove_store(goes)
    assert [manager.can_undo for manager in managers] == [False, True]
    assert not managers[0].can_redo
    assert has.existing(items[0].id).name == "changed"
    has_not.undo()
    assert has_not.existing(items[0].id).name == "stays"
    with pytest.raises(ObjectGoneError):
        _ = held.name


def test_observer_can_save_before_a_store_is_removed(coordinator: Coordinator, tmp_path: Path) -> None:
    goes = coordinator.stores[1]
    context = coordinator.context()
    item = context.insert("Item", name="a")
    context.assign(item, goes)
    context.save()
    item.name = "b"
    heard: list[Any] = []

    def save(_: Coordinator, changes: Any) -> None:
        (store,) = changes.removed
        heard.append((store.path, item.name, [each.path for each in coordinator.stores]))
        context.save()

    with log.recorded() as lines, coordinator.observe("will_remove_store", save):
        coordinator.remove_store(goes)
    assert heard == [(goes.path, "b", [str(tmp_path / "stays"), goes.path])]
    assert losses(lines) == []
    coordinator.add_store(tmp_path / "goes")
    assert [each.name for each in coordinator.context().fetch("Item")] == ["b"]


def test_removing_a_store_invalidates_objects_of_child_contexts(coordinator: Coordinator) -> None:
    goes = coordinator.stores[1]
    parent = coordinator.context()
    box = parent.insert("Box", name="box")
    item = parent.insert("Item", name="i", box=box)
    for each in (box, item):
        parent.assign(each, goes)
    parent.save()
    child = parent.child()
    grandchild = child.child()
    held = [context.existing(box.id) for context in (child, grandchild)]
    new = grandchild.insert("Item", name="new", box=held[1])
    told: list[int] = []
    tokens = [
        context.observe("objects_did_change", lambda _, changes: told.append(len(changes.invalidated)))
        for context in (parent, child, grandchild)
    ]
    grandchild.process_pending_changes()
    told.clear()
    coordinator.remove_store(goes)
    assert sorted(told) == [1, 1, 2]
    for token in tokens:
        token.cancel()
    assert new.box is None
    for each in (box, item, *held):
        with pytest.raises(ObjectGoneError, match="was removed from the coordinator"):
            _ = each.name
    for context in (grandchild, child, parent):
        context.save()
    assert [each.name for each in coordinator.context().fetch("Item")] == ["new"]


# --- Several stores


def test_new_object_is_assigned_to_the_first_suitable_store(model: Model, tmp_path: Path) -> None:
    with Coordinator(model) as first:
        first.add_store(tmp_path / "read-only")
    with Coordinator(model, unsaved="discard") as coordinator:
        read_only = coordinator.add_store(tmp_path / "read-only", read_only=True)
        boxes = coordinator.add_store(tmp_path / "boxes", configuration="Boxes")
        items = coordinator.add_store(tmp_path / "items", configuration="Items", type="XML")
        later = coordinator.add_store(tmp_path / "later", configuration="Items")
        assert [each.configuration for each in coordinator.stores] == [None, "Boxes", "Items", "Items"]
        context = coordinator.context()
        new = {entity: context.insert(entity, name="x") for entity in ("Box", "Item", "Tool")}
        context.save()
        hosts = {entity: each.id.uri.split("/")[2] for entity, each in new.items()}
        assert hosts == {"Box": boxes.identifier, "Item": items.identifier, "Tool": items.identifier}
        assert later.identifier not in hosts.values()
        # One that no store of its configuration may take.
        note = context.insert("Note")
        with pytest.raises(CorestoneError) as caught:
            context.save()
        assert (caught.value.status, caught.value.file) == (Status.STORE_READ_ONLY, read_only.path), caught.value
        context.delete(note)
        context.assign(context.insert("Note"), read_only)
        with pytest.raises(StoreReadOnlyError) as refused:
            context.save()
        assert refused.value.file == read_only.path
        context.rollback()


def test_missing_store_error_names_the_entity(model: Model, tmp_path: Path) -> None:
    model = Model(SHELF)
    for name in ("One", "Two"):
        model.configuration(name, "Note")
    model.configuration("Boxes", "Box")
    with Coordinator(model, unsaved="discard") as coordinator:
        store = coordinator.add_store(tmp_path / "boxes", configuration="Boxes")
        context = coordinator.context()
        context.insert("Note")
        for act in (lambda: context.fetch("Note"), lambda: context.count("Note"), context.save):
            with pytest.raises(InvalidArgumentError) as caught:
                act()
            assert caught.value.entity == "Note"
            assert caught.value.code == 134070
            for words in (
                f'{store.path} has the configuration "Boxes"',
                "One",
                "Two",
                "cst_coordinator_add_store (add_store, addStore) with",
            ):
                assert words in caught.value.message


def test_setting_a_relationship_across_stores_fails(coordinator: Coordinator) -> None:
    stays, goes = coordinator.stores
    context = coordinator.context()
    box, item = context.insert("Box", name="b"), context.insert("Item", name="i")
    context.assign(item, goes)
    context.save()
    for act in (lambda: setattr(item, "box", box), lambda: box.items.add(item)):
        with pytest.raises(CorestoneError) as caught:
            act()
        assert caught.value.code == 133010
        assert caught.value.status == Status.INVALID_ARGUMENT
        for words in (box.id.uri, item.id.uri, stays.path, goes.path, "fetched property"):
            assert words in caught.value.message
        assert not context.has_changes
        assert item.box is None


def test_coordinator_performs_in_call_order(coordinator: Coordinator) -> None:
    ran: list[int] = []
    threads: set[int] = set()
    context = coordinator.context()

    def work(number: int) -> int:
        ran.append(number)
        threads.add(threading.get_ident())
        with coordinator.context() as own:
            own.insert("Note", name=str(number))
            own.save()
        if number == 3:
            raise ZeroDivisionError
        return number

    futures = [coordinator.perform(work, number) for number in range(20)]
    assert [each.result(60) for number, each in enumerate(futures) if number != 3] == [
        number for number in range(20) if number != 3
    ]
    with pytest.raises(ZeroDivisionError):
        futures[3].result(60)
    assert ran == list(range(20))
    assert threading.get_ident() not in threads
    assert context.count("Note") == 20
    assert coordinator.perform_and_wait(work, 20) == 20
    assert threading.get_ident() in threads
    other = coordinator.background_context()
    with pytest.raises(InvalidArgumentError, match="queue"):
        coordinator.perform_and_wait(lambda: other.perform_and_wait(lambda: None))
