"""Contexts: saving nothing, sets of changes, objects that were never saved, parents and children, merging."""

from __future__ import annotations

from typing import Any

from corestone import BatchUpdateRequest, Model
from host_places import HOST_TYPES
from scenario_models import CARS

STAFF = {"Person": {"name": "string?", "salary": "int32?"}}


def test_s106_child_merges_saves_of_its_parent(opened: Any) -> None:
    parent = opened(Model(CARS)).context()
    car = parent.insert("Car", maker="FIAT", numberPlate="1")
    parent.save()
    child = parent.child()
    child.automatically_merges = True
    theirs = child.fetch("Car")[0]
    assert theirs.maker == "FIAT"
    car.maker = "Alfa Romeo"
    parent.save()
    assert theirs.maker == "Alfa Romeo"


def test_s109_merged_updates_reach_realised_objects(opened: Any) -> None:
    container = opened(Model(STAFF))
    first, second = container.context(), container.context()
    alice = first.insert("Person", name="Alice", salary=10)
    first.save()
    theirs = second.fetch("Person")[0]
    assert theirs.name == "Alice"
    alice.name = "Alicia"
    first.save()
    second.merge_changes({"updated": [alice.id]})
    assert theirs.name == "Alicia"


def test_s111_merged_inserts_are_registered(opened: Any) -> None:
    container = opened(Model(STAFF))
    first, second = container.context(), container.context()
    alice = first.insert("Person", name="Alice", salary=10)
    first.save()
    assert second.registered(alice.id) is None
    second.merge_changes({"inserted": [alice.id]})
    assert second.registered(alice.id).name == "Alice"


def test_s403_unreferenced_merged_inserts_are_released(opened: Any) -> None:
    container = opened(Model(STAFF))
    first, second = container.context(), container.context()
    for name in ("Alice", "Bob"):
        first.insert("Person", name=name)
    first.save()
    told: list[int] = []
    ids = [each.id for each in first.fetch("Person")]
    with second.observe("objects_did_change", lambda _, changes: told.append(len(changes.inserted))):
        second.perform_and_wait(second.merge_changes, {"inserted": ids})
    assert told == [2]
    assert list(second.known) == []


def test_s117_child_save_makes_the_parent_dirty(opened: Any) -> None:
    parent = opened(Model(CARS)).context()
    child = parent.child()
    car = child.insert("Car", numberPlate="1")
    child.save()
    assert parent.has_changes
    assert len(parent.inserted) == 1
    assert not child.has_changes
    parent.save()
    car.currentDrivingSpeed = 30
    child.save()
    assert not child.has_changes
    assert parent.has_changes
    own = parent.updated[0]
    assert [name for name in CARS["Car"] if own.is_changed(name)] == ["currentDrivingSpeed"]
    assert own.currentDrivingSpeed == 30


def test_s100_save_without_changes_does_nothing(opened: Any, store_type: str) -> None:
    container = opened(Model({}))
    context = container.context()
    container.coordinator.reset_statistics()
    context.save()
    # Custom stores still receive the empty save, as in Apple's framework (S209).
    assert container.coordinator.statistics.saves == (store_type in HOST_TYPES)
    assert not context.has_changes


def test_s103_transient_change_is_not_persistent(opened: Any) -> None:
    model = Model(CARS)
    container = opened(model)
    context = container.context()
    car = context.insert("Car", maker="FIAT", model="Panda", numberPlate="1")
    context.save()
    car.currentDrivingSpeed = 10
    assert car.has_changes
    assert context.has_changes
    assert len(context.updated) == 1
    assert not context.has_persistent_changes
    container.coordinator.reset_statistics()
    context.save()
    assert car.currentDrivingSpeed == 10
    car.maker = "Alfa"
    assert context.has_persistent_changes


def annihilation() -> Model:
    """Parents with children, and with targets with and without an inverse."""
    return Model(
        {
            "Parent": {
                "name": "string?",
                "children": "to-many Child inverse parent delete cascade",
                "target": "to-one Target? inverse holders",
                "freeTarget": "to-one Target?",
            },
            "Child": {"parent": "to-one Parent? inverse children"},
            "Target": {"holders": "to-many Parent inverse target"},
        }
    )


def test_s114_deleting_a_sibling_does_not_restore_unsaved_objects(opened: Any) -> None:
    context = opened(annihilation()).context()
    for property_name in ("target", "freeTarget"):
        for apart in (False, True):
            parent, target = context.insert("Parent"), context.insert("Target")
            setattr(parent, property_name, target)
            context.insert("Child", parent=parent)
            context.delete(parent)
            if apart:
                context.process_pending_changes()
            context.delete(target)
            context.process_pending_changes()
            assert len(context.updated) == 0
            assert len(context.inserted) == 0
            assert len(context.deleted) == 0
            assert len(context.known) == 0
            assert not context.has_changes
            # The other way round.
            parent, target = context.insert("Parent"), context.insert("Target")
            setattr(parent, property_name, target)
            context.delete(target)
            if apart:
                context.process_pending_changes()
            context.delete(parent)
            context.process_pending_changes()
            assert len(context.known) == 0
            assert not context.has_changes
    context.save()


def test_s110_referenced_object_deleted_elsewhere_stays_registered(opened: Any) -> None:
    container = opened(Model(STAFF))
    first, second = container.context(), container.context()
    alice = first.insert("Person", name="Alice", salary=10)
    first.save()
    theirs = second.first("Person")
    assert theirs.name == "Alice"
    alice_id = alice.id
    first.delete(alice)
    first.save()
    second.merge_changes({"deleted": [alice_id]})
    assert second.registered(alice_id) is theirs
    assert (theirs.is_fault, theirs.is_deleted, theirs.name) == (False, True, "Alice")
    assert not second.fetch("Person")
    # Its row is gone, so there is nothing to register from the next save on.
    second.save()
    assert second.registered(alice_id) is None
    assert not second.known


def test_s116_unsaved_target_without_inverse_reads_as_none(opened: Any) -> None:
    model = {"Parent": {"name": "string?", "freeTarget": "to-one Target?"}, "Target": {"name": "string?"}}
    context = opened(Model(model)).context()
    parent, target = context.insert("Parent", name="p"), context.insert("Target")
    parent.freeTarget = target
    context.delete(target)
    context.process_pending_changes()
    assert parent.is_inserted
    assert parent.freeTarget is None
    # The null marker that the port gives here is one of the values that a new object has anyway.
    assert parent.changed_values() == {"name": "p"}
    assert list(context.fetch("Parent", "freeTarget == nil")) == [parent]
    context.save()
    assert parent.freeTarget is None


def test_s105_refresh_reads_the_store(opened: Any) -> None:
    """Apple's reads its row cache unless the staleness interval is 0 (DEVIATIONS, "Refreshes and repeated fetches")."""
    context = opened(Model(CARS)).context()
    car = context.insert("Car", maker="FIAT", numberPlate="1")
    context.save()
    context.execute(BatchUpdateRequest("Car", {"maker": "FCA"}, merge=False))
    assert car.maker == "FIAT"
    context.refresh(car)
    assert car.maker == "FCA"
