"""Contexts: sets of changes, parents and children, merging."""

from __future__ import annotations

from typing import Any

from corestone import Model

CARS = {
    "Car": {
        "maker": "string?",
        "model": "string?",
        "numberPlate": "string",
        "currentDrivingSpeed": "int64 transient = 0",
        "owner": "to-one Person? inverse cars",
    },
    "SportCar": {"@parent": "Car"},
    "Person": {"firstName": "string", "lastName": "string", "cars": "to-many Car inverse owner"},
}
STAFF = {"Person": {"name": "string?", "salary": "int32?"}}


def test_s106_a_child_merges_what_its_parent_saves(opened: Any) -> None:
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


def test_s117_a_child_save_moves_the_dirtiness_one_level_down(opened: Any) -> None:
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
