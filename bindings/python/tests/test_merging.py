"""Merge policies and conflicts."""

from __future__ import annotations

import gc
import pickle
import weakref
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    CallbackError,
    ConflictError,
    ConflictKind,
    ConstraintConflict,
    Container,
    Context,
    InvalidArgumentError,
    MergeConflict,
    MergePolicy,
    MergePolicyType,
    Model,
    PropertyDifference,
)

ITEMS: dict[str, dict[str, Any]] = {
    "Item": {"name": "string?", "count": "int32 = 0", "box": "to-one Box? inverse items"},
    "Box": {"label": "string?", "items": "to-many Item inverse box"},
    "Tag": {"name": "string?", "colour": "string?"},
}


@pytest.fixture
def container(tmp_path: Path) -> Any:
    model = Model(ITEMS)
    model["Tag"].unique("name")
    with Container(model, tmp_path / "s.sqlite", unsaved="discard") as container:
        yield container


def collide(container: Container) -> tuple[Context, Any]:
    """An item that both sides counted up: 10, 15 in the store, 12 in the context."""
    ctx, other = container.context(), container.context()
    item = ctx.insert("Item", name="a", count=10, box=ctx.insert("Box", label="b"))
    ctx.save()
    same = other.get(item.id)
    same.count = 15
    other.save()
    item.count = 12
    return ctx, item


def test_conflicts_are_data(container: Container) -> None:
    ctx, item = collide(container)
    with pytest.raises(ConflictError, match="count was 10, is 12 here, 15 in the store") as raised:
        ctx.save()
    (conflict,) = raised.value.conflicts
    assert isinstance(conflict, MergeConflict)
    assert conflict.kind == ConflictKind.CONTEXT
    assert conflict.source_object is item
    assert conflict.object_id == item.id
    assert (conflict.old_version, conflict.new_version) == (1, 2)
    assert conflict.differences == {"count": PropertyDifference(10, 12, 15)}
    assert dict(conflict.current_snapshot) == {"name": "a", "count": 12, "box": item.box.id}
    assert dict(conflict.object_snapshot)["count"] == 10
    assert conflict.cached_snapshot is not None
    assert conflict.cached_snapshot["count"] == 15
    assert conflict.persisted_snapshot is None
    with pytest.raises(KeyError):
        conflict.object_snapshot["items"]
    with pytest.raises(InvalidArgumentError):
        conflict.resolve(MergePolicyType.ROLLBACK)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert copy.code == 133020
    assert copy.conflicts == ()
    assert item.count == 12


def test_a_save_may_have_a_policy_of_its_own(container: Container) -> None:
    ctx, item = collide(container)
    with pytest.raises(ConflictError):
        ctx.save()
    ctx.save(merge_policy=MergePolicyType.OBJECT_TRUMP)
    assert item.count == 12
    assert ctx.merge_policy is MergePolicy.ERROR
    assert container.context().first("Item").count == 12


def test_functions_settle_conflicts(container: Container) -> None:
    ctx, item = collide(container)
    asked: list[Any] = []

    def add_up(conflicts: Any) -> None:
        asked.append([type(each) for each in conflicts])
        for conflict in conflicts:
            base, mine, theirs = conflict.differences["count"]
            conflict.resolve(MergePolicy.OBJECT_TRUMP)
            assert conflict.source_object.count == mine
            conflict.source_object.count = mine + theirs - base

    ctx.save(merge_policy=add_up)
    assert asked == [[MergeConflict]]
    assert item.count == 17
    assert container.context().first("Item").count == 17


def test_subclasses_settle_conflicts(container: Container) -> None:
    class Careful(MergePolicy):
        def resolve(self, conflicts: Any) -> None:
            assert conflicts[0].source_object.name == "a"

    ctx, item = collide(container)
    ctx.merge_policy = Careful(MergePolicyType.STORE_TRUMP)
    ctx.save()
    assert item.count == 15
    assert isinstance(ctx.merge_policy, Careful)


def test_what_a_policy_raises_ends_the_save(container: Container) -> None:
    def refuse(conflicts: Any) -> None:
        raise ZeroDivisionError("not like this")

    ctx, item = collide(container)
    ctx.merge_policy = refuse
    with pytest.raises(CallbackError, match="not like this") as raised:
        ctx.save()
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert item.count == 12
    assert item.has_changes


def test_a_policy_may_neither_save_nor_drop_changes(container: Container) -> None:
    ctx, item = collide(container)
    refused = []

    def meddle(conflicts: Any) -> None:
        for call in (ctx.save, ctx.reset, ctx.rollback, ctx.refresh_all):
            with pytest.raises(InvalidArgumentError, match="merge policy"):
                call()
            refused.append(call)

    with pytest.raises(ConflictError):
        ctx.save(merge_policy=meddle)
    assert len(refused) == 4
    assert ctx.has_changes
    assert item.has_changes
    assert container.context().first("Item").count == 15


def test_policies_are_let_go(container: Container) -> None:
    ctx = container.context()
    policy = MergePolicy(resolve=lambda conflicts: None)
    ctx.merge_policy = policy
    seen = weakref.ref(policy)
    del policy
    gc.collect()
    assert seen() is not None
    ctx.merge_policy = MergePolicy.ROLLBACK
    gc.collect()
    assert seen() is None


def test_unique_values(container: Container) -> None:
    first, ctx = container.context(), container.context()
    stored = first.insert("Tag", name="red", colour="#f00")
    first.save()
    tag = ctx.insert("Tag", name="red", colour="#e00")
    with pytest.raises(ConflictError, match="must be unique") as raised:
        ctx.save()
    (conflict,) = raised.value.conflicts
    assert isinstance(conflict, ConstraintConflict)
    assert conflict.constraint == ["name"]
    assert conflict.constraint_values == {"name": "red"}
    assert conflict.database_id == stored.id
    assert conflict.database_object.colour == "#f00"
    assert conflict.database_snapshot is not None
    assert conflict.database_snapshot["colour"] == "#f00"
    assert conflict.conflicting_objects == [tag]
    assert conflict.conflicting_snapshots[0]["colour"] == "#e00"
    ctx.reset()
    tag = ctx.insert("Tag", name="red", colour="#e00")
    ctx.save(merge_policy=MergePolicy.OBJECT_TRUMP)
    assert tag.id == stored.id
    first.refresh(stored)
    assert stored.colour == "#e00"


def test_the_last_of_several_changed_objects_keeps_unique_values(container: Container) -> None:
    ctx = container.context()
    first, second = ctx.insert("Tag", name="red"), ctx.insert("Tag", name="green")
    ctx.save()
    first.name = second.name = "blue"
    ctx.save(merge_policy=MergePolicy.OBJECT_TRUMP)
    assert (first.name, second.name) == ("red", "blue")


def test_members_of_an_object_that_others_deleted_go_back(container: Container) -> None:
    ctx, other = container.context(), container.context()
    old, new = ctx.insert("Box", label="old"), ctx.insert("Box", label="new")
    item = ctx.insert("Item", name="a", box=old)
    ctx.save()
    new.items.add(item)
    other.delete(other.get(new.id))
    other.save()
    ctx.merge_changes({"deleted": [new.id]})
    assert item.box is old
    assert list(old.items) == [item]
    assert not ctx.has_persistent_changes


def test_references_that_a_deletion_cleared_come_back_when_it_is_given_up(container: Container) -> None:
    ctx, other = container.context(), container.context()
    box = ctx.insert("Box", label="mine")
    item = ctx.insert("Item", name="a", box=box)
    ctx.save()
    other.get(box.id).label = "theirs"
    other.save()
    ctx.delete(box)
    ctx.process_pending_changes()
    cleared = item.box
    assert cleared is None
    ctx.save(merge_policy=MergePolicy.ROLLBACK)
    assert not box.is_deleted
    assert box.label == "theirs"
    assert item.box is box
    assert list(box.items) == [item]
    assert not ctx.has_changes
    assert container.context().first("Item").box.id == box.id


def test_a_pair_that_others_made_yields_to_a_change(tmp_path: Path) -> None:
    model = Model(
        {
            "Key": {"label": "string?", "lock": "to-one Lock? inverse key"},
            "Lock": {"key": "to-one Key? inverse lock"},
        }
    )
    with Container(model, tmp_path / "pairs.sqlite", unsaved="discard") as container:
        ctx, other = container.context(), container.context()
        mine, theirs, lock = ctx.insert("Key"), ctx.insert("Key"), ctx.insert("Lock")
        ctx.save()
        lock.key = mine
        theirs.label = "spare"
        other.get(theirs.id).lock = other.get(lock.id)
        other.save()
        ctx.refresh(theirs)
        assert theirs.lock is None
        assert lock.key is mine
        assert mine.lock is lock


def test_locked_objects(container: Container) -> None:
    ctx, item = collide(container)
    ctx.rollback()
    ctx.refresh(item)
    assert item.count == 15
    ctx.detect_conflicts(item)
    other = container.context()
    other.first("Item").count = 16
    other.save()
    ctx.insert("Box", label="c")
    with pytest.raises(ConflictError):
        ctx.save()
    ctx.save(merge_policy=MergePolicyType.STORE_TRUMP)
    assert item.count == 16


def test_a_save_without_changes_checks_locked_objects(container: Container) -> None:
    ctx, item = collide(container)
    ctx.rollback()
    ctx.detect_conflicts(item)
    assert not ctx.has_changes
    with pytest.raises(ConflictError) as raised:
        ctx.save()
    assert raised.value.code == 133020


def test_a_locked_object_that_was_refreshed_is_as_the_store_has_it(container: Container) -> None:
    """What a conflict advises to do about it ends it."""
    ctx, item = collide(container)
    ctx.rollback()
    ctx.refresh(item)
    ctx.detect_conflicts(item)
    other = container.context()
    other.first("Item").count = 16
    other.save()
    ctx.insert("Box", label="c")
    with pytest.raises(ConflictError, match="refresh it"):
        ctx.save()
    ctx.refresh_all()
    ctx.save()
    ctx.detect_conflicts(item)
    ctx.refresh(item)
    other.first("Item").count = 17
    ctx.insert("Box", label="d")
    ctx.save()
    ctx.insert("Box", label="e")
    ctx.detect_conflicts(item)
    assert item.count == 16
    other.save()
    with pytest.raises(ConflictError):
        ctx.save()


def test_each_store_tells_its_outcome(tmp_path: Path) -> None:
    model = Model({"Note": {"name": "string?"}, "Draft": {"name": "string?"}})
    model["Draft"].unique("name")
    model.configuration("Cloud", "Note")
    model.configuration("Local", "Draft")
    with Container(model, tmp_path / "cloud.sqlite", configuration="Cloud") as container:
        container.coordinator.add_store(tmp_path / "local.sqlite", configuration="Local")
        other, ctx = container.context(), container.context()
        other.insert("Draft", name="d")
        other.save()
        note, draft = ctx.insert("Note", name="n"), ctx.insert("Draft", name="d")
        with pytest.raises(ConflictError, match="incomplete") as raised:
            ctx.save()
        assert raised.value.code == 134040
        assert len(raised.value.conflicts) == 1
        cloud, local = raised.value.details
        assert (cloud.status, local.status, local.code) == (0, -101, 133021)
        assert [detail.object_uri for detail in cloud.details] == [note.id.uri]
        assert not note.has_changes
        assert draft.has_changes
        ctx.save(merge_policy=MergePolicy.ROLLBACK)
        assert not ctx.has_changes
        assert container.context().count("Note") == 1
