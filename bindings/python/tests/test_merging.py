"""Merge policies and conflicts."""

from __future__ import annotations

import gc
import pickle
import sqlite3
import weakref
from collections.abc import Iterator
from contextlib import closing
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
    ObjectGoneError,
    PropertyDifference,
    Status,
    TypeMismatchError,
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


def test_conflict_error_describes_all_versions(container: Container) -> None:
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


def test_save_accepts_its_own_merge_policy(container: Container) -> None:
    ctx, item = collide(container)
    with pytest.raises(ConflictError):
        ctx.save()
    ctx.save(merge_policy=MergePolicyType.OBJECT_TRUMP)
    assert item.count == 12
    assert ctx.merge_policy is MergePolicy.ERROR
    assert container.context().first("Item").count == 12


def test_function_can_resolve_conflicts(container: Container) -> None:
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


def test_merge_policy_subclass_can_resolve_conflicts(container: Container) -> None:
    class Careful(MergePolicy):
        def resolve(self, conflicts: Any) -> None:
            assert conflicts[0].source_object.name == "a"

    ctx, item = collide(container)
    ctx.merge_policy = Careful(MergePolicyType.STORE_TRUMP)
    ctx.save()
    assert item.count == 15
    assert isinstance(ctx.merge_policy, Careful)


def test_exception_of_a_merge_policy_fails_the_save(container: Container) -> None:
    def refuse(conflicts: Any) -> None:
        raise ZeroDivisionError("not like this")

    ctx, item = collide(container)
    ctx.merge_policy = refuse
    with pytest.raises(CallbackError, match="not like this") as raised:
        ctx.save()
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert item.count == 12
    assert item.has_changes


def test_merge_policy_cannot_save_or_discard_changes(container: Container) -> None:
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


def test_replaced_merge_policy_is_released(container: Container) -> None:
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


def test_merge_policies_resolve_unique_conflicts(container: Container) -> None:
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


def test_last_changed_object_keeps_the_unique_value(container: Container) -> None:
    ctx = container.context()
    first, second = ctx.insert("Tag", name="red"), ctx.insert("Tag", name="green")
    ctx.save()
    first.name = second.name = "blue"
    ctx.save(merge_policy=MergePolicy.OBJECT_TRUMP)
    assert (first.name, second.name) == ("red", "blue")


def test_member_returns_to_its_owner_when_the_new_owner_was_deleted(container: Container) -> None:
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


def test_abandoned_deletion_restores_cleared_references(container: Container) -> None:
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


def test_local_change_overrides_a_one_to_one_pair_saved_elsewhere(tmp_path: Path) -> None:
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


def test_detect_conflicts_checks_unchanged_objects(container: Container) -> None:
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


def test_save_without_changes_checks_locked_objects(container: Container) -> None:
    ctx, item = collide(container)
    ctx.rollback()
    ctx.detect_conflicts(item)
    assert not ctx.has_changes
    with pytest.raises(ConflictError) as raised:
        ctx.save()
    assert raised.value.code == 133020


def test_refresh_resolves_the_conflict_of_a_locked_object(container: Container) -> None:
    """What a conflict advises to do about it ends it."""
    ctx, item = collide(container)
    ctx.rollback()
    ctx.refresh(item)
    ctx.detect_conflicts(item)
    other = container.context()
    other.first("Item").count = 16
    other.save()
    ctx.insert("Box", label="c")
    with pytest.raises(ConflictError, match=r"cst_object_refresh \(refresh\)"):
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


def test_each_store_reports_its_save_result(tmp_path: Path) -> None:
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


# ---- the tables of docs/reference/merging.md


TYPES = ["STORE_TRUMP", "OBJECT_TRUMP", "OVERWRITE", "ROLLBACK"]
ROW: dict[str, dict[str, Any]] = {
    "Row": {
        "both": "string?",
        "theirs": "string?",
        "mine": "string?",
        "none": "string?",
        "group": "to-one Group? inverse rows",
    },
    "Group": {"name": "string?", "rows": "to-many ordered Row inverse group", "tags": "to-many Tag inverse groups"},
    "Tag": {"name": "string?", "groups": "to-many Group inverse tags"},
}


@pytest.fixture(params=["SQLite", "XML"])
def rows(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Container]:
    with Container(Model(ROW), tmp_path / "s.store", type=request.param, unsaved="discard") as container:
        yield container


def values(row: Any) -> tuple[Any, ...]:
    return row.both, row.theirs, row.mine, row.none


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("ERROR", None),
        ("STORE_TRUMP", ("T", "T", "M", "0")),
        ("OBJECT_TRUMP", ("M", "T", "M", "0")),
        ("OVERWRITE", ("M", "0", "M", "0")),
        ("ROLLBACK", ("T", "T", "0", "0")),
    ],
)
def test_each_merge_policy_resolves_every_kind_of_property(
    rows: Container, policy: str, expected: tuple[str, ...] | None
) -> None:
    ctx, other = rows.context(), rows.context()
    row = ctx.insert("Row", both="0", theirs="0", mine="0", none="0")
    ctx.save()
    same = other.get(row.id)
    same.both = same.theirs = "T"
    other.save()
    row.both = row.mine = "M"
    ctx.merge_policy = MergePolicyType[policy]
    if expected is None:
        with pytest.raises(ConflictError) as raised:
            ctx.save()
        assert raised.value.code == 133020
        assert values(row) == ("M", "0", "M", "0")
        assert row.has_changes
        expected = ("T", "T", "0", "0")
    else:
        ctx.save()
        assert values(row) == expected
        assert not ctx.has_changes
    assert values(rows.context().get(row.id)) == expected


@pytest.mark.parametrize("policy", TYPES)
def test_to_many_members_merge_by_additions_and_removals(rows: Container, policy: str) -> None:
    ctx, other = rows.context(), rows.context()
    tags = {name: ctx.insert("Tag", name=name) for name in ("kept", "mine-", "theirs-", "mine+", "theirs+")}
    group = ctx.insert("Group", name="0", tags=[tags["kept"], tags["mine-"], tags["theirs-"]])
    ctx.save()
    same = other.get(group.id)
    same.name = "T"
    same.tags = [other.get(tags[name].id) for name in ("kept", "mine-", "theirs+")]
    other.save()
    group.name = "M"
    group.tags = [tags[name] for name in ("kept", "theirs-", "mine+")]
    ctx.save(merge_policy=MergePolicyType[policy])
    expected = {"kept", "mine-", "theirs+"} if policy == "ROLLBACK" else {"kept", "mine+", "theirs+"}
    assert {tag.name for tag in group.tags} == expected
    assert {tag.name for tag in rows.context().get(group.id).tags} == expected


@pytest.mark.parametrize(("policy", "wins"), list(zip(TYPES, ["theirs", "mine", "mine", "theirs"])))
def test_local_order_is_kept_when_the_object_wins(rows: Container, policy: str, wins: str) -> None:
    ctx, other = rows.context(), rows.context()
    members = {name: ctx.insert("Row", both=name) for name in "abc"}
    group = ctx.insert("Group", name="0", rows=list(members.values()))
    ctx.save()
    same = other.get(group.id)
    same.name, same.rows = "T", [other.get(members[name].id) for name in "cab"]
    other.save()
    group.name, group.rows = "M", [members[name] for name in "bca"]
    ctx.save(merge_policy=MergePolicyType[policy])
    expected = "cab" if wins == "theirs" else "bca"
    assert "".join(row.both for row in group.rows) == expected
    assert "".join(row.both for row in rows.context().get(group.id).rows) == expected


@pytest.mark.parametrize("here", ["changed", "deleted"])
@pytest.mark.parametrize("there", ["changed", "deleted"])
@pytest.mark.parametrize("policy", ["ERROR", *TYPES])
def test_each_merge_policy_resolves_deletions(rows: Container, policy: str, there: str, here: str) -> None:
    ctx, other = rows.context(), rows.context()
    row = ctx.insert("Row", both="0", theirs="0")
    ctx.save()
    identity = row.id

    def make(context: Context, item: Any, what: str, name: str) -> None:
        if what == "deleted":
            context.delete(item)
        else:
            item.both = name

    make(other, other.get(identity), there, "T")
    other.save()
    make(ctx, row, here, "M")
    ctx.merge_policy = MergePolicyType[policy]
    expected: str | None = {
        ("deleted", "changed"): {"OBJECT_TRUMP": "M", "OVERWRITE": "M"}.get(policy),
        ("deleted", "deleted"): None,
        ("changed", "deleted"): "T" if policy == "ROLLBACK" else None,
        ("changed", "changed"): "T" if policy in ("STORE_TRUMP", "ROLLBACK") else "M",
    }[there, here]
    if policy == "ERROR" and (there, here) != ("deleted", "deleted"):
        with pytest.raises(ConflictError) as raised:
            ctx.save()
        (conflict,) = raised.value.conflicts
        assert isinstance(conflict, MergeConflict)
        assert (conflict.object_id, conflict.old_version > 0) == (identity, True)
        assert (conflict.new_version == 0) is (there == "deleted")
        assert ctx.has_changes
        return
    ctx.save()
    assert not ctx.has_changes
    fresh = rows.context()
    if expected is None:
        assert fresh.count("Row") == 0
        with pytest.raises(ObjectGoneError):
            _ = row.both
    else:
        assert row.id == identity
        assert (row.both, row.theirs, row.is_deleted) == (expected, "0", False)
        assert (fresh.existing(identity).both, fresh.count("Row")) == (expected, 1)


def test_kept_deletion_applies_delete_rules_again(tmp_path: Path) -> None:
    model = Model(
        {
            "List": {"name": "string?", "items": "to-many Item inverse list delete cascade"},
            "Item": {"name": "string?", "list": "to-one List? inverse items"},
        }
    )
    with Container(model, tmp_path / "s.sqlite", unsaved="discard") as container:
        ctx, other = container.context(), container.context()
        mine = ctx.insert("List", name="0", items=[ctx.insert("Item", name="old")])
        ctx.save()
        same = other.get(mine.id)
        same.name = "T"
        other.insert("Item", name="new", list=same)
        other.save()
        ctx.delete(mine)
        ctx.process_pending_changes()
        assert len(ctx.deleted) == 2
        ctx.save(merge_policy=MergePolicyType.OBJECT_TRUMP)
        assert (container.context().count("List"), container.context().count("Item")) == (0, 0)


# ---- unique values


UNIQUE = {"Tag": {"@unique": ["name"], "name": "string?", "colour": "string? = white", "note": "string?"}}


@pytest.fixture
def tags(tmp_path: Path) -> Iterator[Container]:
    with Container(Model(UNIQUE), tmp_path / "s.sqlite", unsaved="discard") as container:
        context = container.context()
        context.insert("Tag", name="red", colour="#f00", note="stored")
        context.save()
        yield container


def stored_tags(container: Container) -> list[tuple[Any, ...]]:
    return [(tag.name, tag.colour, tag.note) for tag in container.context().fetch("Tag", sort="name")]


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("STORE_TRUMP", ("red", "#f00", "stored")),
        ("OBJECT_TRUMP", ("red", "white", "stored")),
        ("OVERWRITE", ("red", "white", None)),
        ("ROLLBACK", None),
    ],
)
def test_inserted_object_with_taken_unique_values_is_resolved(
    tags: Container, policy: str, expected: tuple[Any, ...] | None, is_known: bool
) -> None:
    ctx = tags.context()
    known = ctx.first("Tag") if is_known else None
    stored = tags.context().first("Tag").id
    new = ctx.insert("Tag", name="red")
    temporary = new.id
    ctx.save(merge_policy=MergePolicyType[policy])
    assert not ctx.has_changes
    assert stored_tags(tags) == [expected or ("red", "#f00", "stored")]
    if expected is None:
        with pytest.raises(ObjectGoneError):
            _ = new.name
        return
    kept = known if known is not None else new
    assert kept.id == stored
    assert (kept.name, kept.colour, kept.note) == expected
    assert ctx.get(temporary) is kept
    if known is not None:
        with pytest.raises(ObjectGoneError):
            _ = new.name


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("STORE_TRUMP", [("blue", "changed", None), ("red", "#f00", "stored")]),
        ("OBJECT_TRUMP", [("red", "changed", None)]),
        ("OVERWRITE", [("red", "changed", None)]),
        ("ROLLBACK", [("blue", "#00f", None), ("red", "#f00", "stored")]),
    ],
)
def test_updated_object_with_taken_unique_values_is_resolved(
    tags: Container, policy: str, expected: list[tuple[Any, ...]]
) -> None:
    ctx = tags.context()
    blue = ctx.insert("Tag", name="blue", colour="#00f")
    ctx.save()
    identity = blue.id
    blue.name, blue.colour = "red", "changed"
    ctx.save(merge_policy=MergePolicyType[policy])
    assert stored_tags(tags) == expected
    assert blue.id == identity
    assert (blue.name, blue.colour, blue.note) in expected
    assert not ctx.has_changes


def test_unique_conflict_error_has_the_values_of_both_objects(tags: Container) -> None:
    ctx = tags.context()
    new = ctx.insert("Tag", name="red", note="new")
    with pytest.raises(ConflictError) as raised:
        ctx.save()
    error = raised.value
    assert (error.code, error.entity, error.object_uri) == (133021, "Tag", new.id.uri)
    (conflict,) = error.conflicts
    assert isinstance(conflict, ConstraintConflict)
    assert conflict.kind == ConflictKind.CONSTRAINT
    assert conflict.message in error.message
    assert dict(conflict.database_snapshot or {}) == {"name": "red", "colour": "#f00", "note": "stored"}
    assert [dict(each) for each in conflict.conflicting_snapshots] == [
        {"name": "red", "colour": "white", "note": "new"}
    ]
    assert new.is_inserted
    # Values that are exchanged within one save do not conflict.
    stored = ctx.first("Tag", "note == 'stored'")
    new.name, stored.name = "red", "green"
    ctx.save()
    new.name, stored.name = "green", "red"
    ctx.save()
    assert stored_tags(tags) == [("green", "white", "new"), ("red", "#f00", "stored")]


def test_inherited_unique_values_can_be_swapped_in_one_save(tmp_path: Path) -> None:
    model = Model({**UNIQUE, "Label": {"@parent": "Tag"}})
    with Container(model, tmp_path / "s.sqlite") as container:
        ctx = container.context()
        first, second = ctx.insert("Label", name="red", note="1"), ctx.insert("Label", name="green", note="2")
        ctx.save()
        first.name, second.name = "green", "red"
        ctx.save()
        assert stored_tags(container) == [("green", "white", "1"), ("red", "white", "2")]


# ---- conflicts


def test_write_by_another_program_is_a_store_conflict(rows: Container) -> None:
    ctx = rows.context()
    row = ctx.insert("Row", both="0", mine="0")
    ctx.save()
    with Container(Model(ROW), rows.path) as foreign:
        other = foreign.context()
        other.first("Row").both = "T"
        other.save()
    row.both = "M"
    with pytest.raises(ConflictError) as raised:
        ctx.save()
    (conflict,) = raised.value.conflicts
    assert isinstance(conflict, MergeConflict)
    assert conflict.kind == ConflictKind.STORE
    snapshots = (
        conflict.object_snapshot, conflict.current_snapshot, conflict.cached_snapshot, conflict.persisted_snapshot
    )  # fmt: skip
    assert [each and each["both"] for each in snapshots] == ["0", "M", "0", "T"]
    assert conflict.differences == {"both": PropertyDifference("0", "M", "T")}
    assert 'both was "0", is "M" here, "T" in the store' in conflict.message


def test_merge_policy_receives_version_and_unique_conflicts_separately(tags: Container) -> None:
    ctx, other = tags.context(), tags.context()
    red = ctx.first("Tag")
    assert red.note == "stored"
    other.get(red.id).note = "theirs"
    other.insert("Tag", name="blue", note="stored blue")
    other.save()
    red.note = "mine"
    ctx.insert("Tag", name="blue", note="new blue")
    asked: list[list[str]] = []
    ctx.save(
        merge_policy=MergePolicy(MergePolicyType.OBJECT_TRUMP, lambda found: asked.append([c.kind.name for c in found]))
    )
    assert asked == [["CONTEXT"], ["CONSTRAINT"]]
    assert stored_tags(tags) == [("blue", "white", "new blue"), ("red", "#f00", "mine")]


@pytest.mark.parametrize("end", ["save", "rollback", "reset"])
def test_conflict_detection_ends_with_save_rollback_or_reset(rows: Container, end: str) -> None:
    ctx, other = rows.context(), rows.context()
    row = ctx.insert("Row", both="0")
    ctx.detect_conflicts(row)  # which was never saved, and has nothing to check
    ctx.save()
    identity = row.id
    ctx.detect_conflicts(row)
    getattr(ctx, end)()
    other.get(identity).both = "T"
    other.save()
    ctx.insert("Row", both="new")
    ctx.save()
    # With a lock that is still there it is a conflict.
    row = ctx.get(identity)
    ctx.refresh(row)
    assert row.both == "T"
    ctx.detect_conflicts(row)
    other.get(identity).both = "T2"
    other.save()
    ctx.insert("Row", both="newer")
    with pytest.raises(ConflictError) as raised:
        ctx.save()
    assert [conflict.object_id for conflict in raised.value.conflicts] == [identity]
    assert rows.context().count("Row") == 2


def test_failed_save_has_a_detail_per_store(tmp_path: Path) -> None:
    names = ["First", "Second", "Third"]
    model = Model({name: {"@unique": ["name"], "name": "string?"} for name in names})
    for name in names:
        model.configuration(name, name)
    paths = [str(tmp_path / f"{name}.sqlite") for name in names]
    with Container(model, paths[0], configuration="First", unsaved="discard") as container:
        for name, path in zip(names[1:], paths[1:]):
            container.coordinator.add_store(path, configuration=name)
        other, ctx = container.context(), container.context()
        other.insert("Second", name="taken")
        other.save()
        first = [ctx.insert("First", name=str(number)) for number in range(101)]
        second, third = ctx.insert("Second", name="taken"), ctx.insert("Third", name="t")
        with pytest.raises(ConflictError) as raised:
            ctx.save()
        error = raised.value
        assert (error.code, error.status) == (134040, Status.CONFLICT)
        assert [(each.status, each.code) for each in error.details] == [(0, 0), (Status.CONFLICT, 133021), (3, 0)]
        assert [each.file for each in error.details] == paths
        assert len(error.details[0].details) == 100
        assert {each.object_uri for each in error.details[0].details} < {item.id.uri for item in first}
        assert [each.object_uri for each in error.details[2].details] == [third.id.uri]
        assert not any(item.has_changes for item in first)
        assert (second.has_changes, third.has_changes) == (True, True)
        fresh = container.context()
        assert [fresh.count(name) for name in names] == [101, 1, 0]
        second.name = "free"
        ctx.save()
        assert [fresh.count(name) for name in names] == [101, 2, 1]
        # Where the first store fails, nothing is written, and the error is that of the store.
        ctx.insert("First", name="0")
        ctx.insert("Third", name="t2")
        with pytest.raises(ConflictError) as refused:
            ctx.save()
        assert (refused.value.status, refused.value.code) == (Status.CONFLICT, 133021)
        assert {each.entity for each in (refused.value, *refused.value.details)} == {"First"}
        assert fresh.count("Third") == 1


def test_save_fails_after_16_retries(rows: Container) -> None:
    ctx = rows.context()
    row = ctx.insert("Row", both="0")
    ctx.save()
    other = rows.context()
    same = other.get(row.id)
    asked: list[Any] = []

    def settle(conflicts: Any) -> None:
        asked.append([conflict.object_id for conflict in conflicts])
        # Another context is faster once more.
        change()

    def change() -> None:
        same.both = f"T{len(asked)}"
        other.save()

    change()
    row.both = "M"
    with pytest.raises(ConflictError) as raised:
        ctx.save(merge_policy=MergePolicy(MergePolicyType.OBJECT_TRUMP, settle))
    assert asked == [[row.id]] * 16
    assert raised.value.code == 133020
    # What was merged stays, and is still to be saved.
    assert (row.both, row.has_changes) == ("M", True)
    assert rows.context().get(row.id).both == "T16"
    ctx.save(merge_policy=MergePolicyType.OBJECT_TRUMP)
    assert rows.context().get(row.id).both == "M"


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as database:
        return int(database.execute("SELECT Z_OPT FROM ZTAG").fetchone()[0])


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2147483646, 2147483647), (2147483647, 1), (-5, 1)])
def test_row_version_wraps_to_1_after_the_maximum(tmp_path: Path, before: int, after: int) -> None:
    path = tmp_path / "s.sqlite"
    with Container(Model(UNIQUE), path) as container:
        context = container.context()
        context.insert("Tag", name="red")
        context.save()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE ZTAG SET Z_OPT = ?", [before])
    with Container(Model(UNIQUE), path, unsaved="discard") as container:
        ctx, other = container.context(), container.context()
        mine, theirs = ctx.first("Tag"), other.first("Tag")
        assert (mine.name, theirs.name) == ("red", "red")
        mine.note = "mine"
        ctx.save()
        theirs.note = "theirs"
        with pytest.raises(ConflictError) as raised:
            other.save()
        (conflict,) = raised.value.conflicts
        assert isinstance(conflict, MergeConflict)
        assert (conflict.old_version, conflict.new_version) == (before, after)
    assert version(path) == after


def test_reinserted_row_gets_a_much_higher_version(tmp_path: Path) -> None:
    path = tmp_path / "s.sqlite"
    with Container(Model(UNIQUE), path) as container:
        ctx, other = container.context(), container.context()
        tag = ctx.insert("Tag", name="red")
        ctx.save()
        assert version(path) == 1
        other.delete(other.get(tag.id))
        other.save()
        tag.note = "again"
        ctx.save(merge_policy=MergePolicyType.OVERWRITE)
        assert 1 << 16 < version(path) <= 1 << 24


LISTS: dict[str, dict[str, Any]] = {
    "Box": {"label": "string?", "items": "to-many ordered Item inverse box"},
    "Item": {"name": "string?", "box": "to-one Box? inverse items"},
}


@pytest.fixture
def listed(tmp_path: Path) -> Any:
    """A box of the items a, b and c, an empty one, and a context that had another one rename a since."""
    with Container(Model(LISTS), tmp_path / "l.sqlite", unsaved="discard") as container:
        ctx, other = container.context(), container.context()
        items = [ctx.insert("Item", name=name) for name in "abc"]
        box, empty = ctx.insert("Box", label="1", items=items), ctx.insert("Box", label="2")
        ctx.save()
        other.get(items[0].id).name = "A"
        other.save()
        yield container, ctx, box, empty, items


def in_box(container: Container, box: Any) -> list[str]:
    """The names in a box, which are the same here and in the store."""
    here = [item.name for item in box.items]
    assert [item.name for item in container.context().get(box.id).items] == here
    return here


@pytest.mark.parametrize(
    "how", ["delete", "process", "move", "move and delete", "insert and delete", "observe and delete"]
)
def test_rollback_policy_restores_the_index_of_a_member(listed: Any, how: str) -> None:
    container, ctx, box, empty, items = listed
    token = box.observe("items", lambda _, change: None) if how.startswith("observe") else None
    if how.startswith("move"):
        items[0].box = empty
    if how.startswith("insert"):
        ctx.insert("Item", name="new", box=box)
    if how != "move":
        ctx.delete(items[0])
    if how == "process":
        ctx.process_pending_changes()
    ctx.save(merge_policy=MergePolicy.ROLLBACK)
    assert in_box(container, box) == (["A", "b", "c", "new"] if how.startswith("insert") else ["A", "b", "c"])
    assert in_box(container, empty) == []
    del token


def test_undeleted_member_follows_a_locally_reordered_list(listed: Any) -> None:
    container, ctx, box, _, items = listed
    ctx.delete(items[0])
    ctx.process_pending_changes()
    box.items = [items[2], items[1]]
    ctx.save(merge_policy=MergePolicy.ROLLBACK)
    assert in_box(container, box) == ["c", "b", "A"]


def test_rollback_policy_discards_changes_made_before_a_deletion(listed: Any) -> None:
    container, ctx, box, _, items = listed
    items[0].name = "mine"
    ctx.delete(items[0])
    told: list[Any] = []
    with items[0].observe("name", lambda _, change: told.append((change.old, change.new))):
        ctx.save(merge_policy=MergePolicy.ROLLBACK)
    assert told == [("mine", "A")]
    assert not ctx.has_changes
    assert in_box(container, box) == ["A", "b", "c"]


def test_merge_policy_that_is_not_callable_is_an_error(listed: Any) -> None:
    _, ctx, *_ = listed
    policy = ctx.merge_policy
    with pytest.raises(TypeMismatchError, match=r'merge_policy must be a MergePolicy, .* not "error"'):
        ctx.merge_policy = "error"
    assert ctx.merge_policy is policy
    with pytest.raises(TypeMismatchError, match='resolve must be a function, not "error"'):
        MergePolicy(MergePolicyType.ERROR, "error")  # type: ignore[arg-type]


@pytest.mark.parametrize(("type", "text"), [("x", '"x"'), (5, "5"), (None, "None")])
def test_merge_policy_rejects_unknown_types(type: Any, text: str) -> None:
    with pytest.raises(TypeMismatchError) as caught:
        MergePolicy(type)
    names = "ERROR, STORE_TRUMP, OBJECT_TRUMP, OVERWRITE or ROLLBACK"
    assert caught.value.message == f"type must be a MergePolicyType ({names}), not {text}"
    assert (caught.value.key, caught.value.value) == ("type", type)


def test_refresh_without_merge_restores_the_index_in_a_list(listed: Any) -> None:
    container, ctx, box, _, items = listed
    items[1].box = None
    items[0].box = None
    for item in items[:2]:
        ctx.refresh(item, merge=False)
    assert not ctx.has_persistent_changes
    ctx.save()
    assert in_box(container, box) == ["A", "b", "c"]
