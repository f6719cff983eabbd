"""Scenarios of faulting: what a refresh keeps and drops, how many objects one request realises.

Those with an incremental store of their own (S185, S188, S191) are Swift tests, in Tests/swift/graph/scenarios.
"""

from __future__ import annotations

from typing import Any

from corestone import Model
from scenario_models import CARS


def test_s193_refresh_without_merge_discards_changes(opened: Any) -> None:
    model = Model({"PEntity": {"name": "string?", "counter": "int32 = 7", "score": "double?"}})
    context = opened(model).context()
    item = context.insert("PEntity", name="committed")
    context.save()
    item.name = "pending"
    context.refresh(item, merge=False)
    assert not any(item.is_changed(name) for name in ("name", "counter", "score"))
    assert item.name == "committed"
    assert not item.has_changes
    assert not context.has_changes


def test_s196_fetch_by_identity_realises_objects_in_one_request(opened: Any) -> None:
    model = Model(CARS)
    container = opened(model)
    context = container.context()
    for number in range(100):
        context.insert("SportCar" if number % 3 == 0 else "Car", maker="FIAT", numberPlate=str(number))
    context.save()
    context.refresh_all()
    cars = list(context.fetch("Car"))
    context.refresh_all()
    assert all(car.is_fault for car in cars)
    container.coordinator.reset_statistics()
    found = context.fetch("Car", "SELF IN %@", cars, as_faults=False)
    assert len(found) == 100
    assert not any(car.is_fault for car in cars)
    assert container.coordinator.statistics.fetches == 1
    assert container.coordinator.statistics.faults == 0
