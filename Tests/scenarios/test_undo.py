"""Undo, redo and rollback."""

from __future__ import annotations

from typing import Any

import pytest
from corestone import Model, UndoManager

CARS = {
    "Car": {
        "maker": "string?",
        "model": "string?",
        "numberPlate": "string",
        "currentDrivingSpeed": "int transient = 0",
        "owner": "to-one Person? inverse cars",
    },
    "SportCar": {"@parent": "Car"},
    "Person": {"firstName": "string", "lastName": "string", "cars": "to-many Car inverse owner"},
}


@pytest.fixture
def garage(opened: Any) -> Any:
    return opened(Model(CARS)).context()


def fill(ctx: Any) -> list[Any]:
    ada = ctx.insert("Person", firstName="Ada", lastName="Lovelace")
    return [ada] + [ctx.insert("Car", maker="FIAT", numberPlate=str(n), owner=ada) for n in range(5)]


def test_s199_redo_restores_inserted_objects(garage: Any) -> None:
    garage.undo_manager = UndoManager()
    objects = fill(garage)
    assert garage.undo()
    assert not garage.inserted
    assert garage.redo()
    assert len(garage.inserted) == len(objects)
    assert [car.owner for car in objects[1:]] == [objects[0]] * 5
    garage.rollback()
    assert not garage.inserted
    assert not garage.redo()
    assert not garage.inserted


def test_s203_context_has_no_undo_manager_by_default(garage: Any) -> None:
    assert garage.undo_manager is None
    garage.undo_manager = None
    assert garage.undo_manager is None
    fill(garage)
    assert not garage.undo()
    assert garage.inserted


def test_s206_rollback_restores_a_deleted_object(opened: Any) -> None:
    model = Model({"PEntity": {"name": "string?", "counter": "int32 = 7", "score": "double?"}})
    ctx = opened(model).context()
    restored = ctx.insert("PEntity", name="restored")
    ctx.save()
    ctx.delete(restored)
    assert restored.is_deleted
    ctx.rollback()
    assert not restored.is_deleted
    assert list(ctx.fetch("PEntity")) == [restored]
