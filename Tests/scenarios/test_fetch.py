"""Fetch requests: result types, defaults, names, faults, windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from corestone import FetchRequest, InvalidArgumentError, Model, ObjectGoneError
from scenario_models import CARS
from test_pending_changes_fetch import STAFF


@pytest.mark.needs_file("it reads the store again from its file")
def test_s038_every_way_to_count_agrees(opened: Any) -> None:
    with opened(Model(STAFF)) as container:
        context = container.context()
        for name, salary in (("Alice", 9), ("Bob", 5), ("Carol", 12)):
            context.insert("Employee", name=name, salary=salary)
        context.save()
    with opened(Model(STAFF)) as container:
        context = container.context()
        assert context.execute(FetchRequest("Employee", result_type="count")) == 3
        assert context.execute(FetchRequest("Employee", "salary > 8", result_type="count")) == 2
        assert context.count("Employee") == 3


def test_s041_new_request_has_default_settings() -> None:
    request = FetchRequest()
    for name in ("entity", "entity_name", "predicate", "sort", "stores", "columns", "group_by", "having", "prefetch"):
        assert getattr(request, name) is None, name
    assert (request.limit, request.offset, request.batch_size, request.result_type) == (0, 0, 0, "objects")
    assert request.include_subentities and request.include_pending_changes
    assert request.include_property_values and request.as_faults
    assert not request.distinct and not request.refresh


def test_s042_request_by_name_has_no_entity_before_its_use(opened: Any) -> None:
    request = FetchRequest("Employee")
    assert request.entity_name == "Employee"
    with pytest.raises(InvalidArgumentError, match="is unknown until a context uses the request"):
        _ = request.entity
    copied = request.copy()
    assert copied.entity_name == "Employee"
    opened(Model(STAFF)).context().execute(copied)
    assert copied.entity.name == "Employee"


def test_s048_missing_object_is_an_error(opened: Any) -> None:
    context = opened(Model(STAFF)).context()
    alice = context.insert("Employee", name="Alice")
    context.save()
    uri = alice.id.uri
    context.delete(alice)
    context.save()
    assert context.coordinator.object_id(uri) is not None
    with pytest.raises(ObjectGoneError) as raised:
        context.existing(uri)
    assert raised.value.code == 133000


def test_s044_entity_name_is_resolved_at_execution(opened: Any) -> None:
    context = opened(Model(STAFF)).context()
    context.insert("Employee", name="Alice")
    context.save()
    request = FetchRequest("Employee")
    assert [each.name for each in context.execute(request)] == ["Alice"]
    assert request.entity.name == "Employee"
    with pytest.raises(InvalidArgumentError, match="NoSuchEntity"):
        context.execute(FetchRequest("NoSuchEntity"))


@pytest.mark.needs_file("it reads the store again from its file")
def test_s047_existing_object_is_not_a_fault(opened: Any) -> None:
    with opened(Model(STAFF)) as container:
        context = container.context()
        alice = context.insert("Employee", name="Alice")
        context.save()
        uri = alice.id.uri
    with opened(Model(STAFF)) as container:
        found = container.context().existing(uri)
        assert not found.is_fault
        assert found.name == "Alice"


def test_s050_objects_are_faults_by_default(opened: Any) -> None:
    container = opened(Model(STAFF))
    first = container.context()
    first.insert("Employee", name="alpha")
    first.insert("Employee", name="bravo")
    first.save()
    assert all(each.is_fault for each in container.context().execute(FetchRequest("Employee")))
    eager = FetchRequest("Employee", as_faults=False)
    assert not any(each.is_fault for each in container.context().execute(eager))
    fourth = container.context()
    fourth.insert("Employee", name="charlie")
    found = fourth.execute(eager)
    assert len(found) == 3
    assert not any(each.is_fault for each in found)


@pytest.mark.parametrize("batch_size", [0, 10])
def test_s053_offset_past_the_end_returns_no_object(opened: Any, batch_size: int) -> None:
    context = opened(Model({"PEntity": {"name": "string?", "counter": "int32 = 7", "score": "double?"}})).context()
    context.insert("PEntity")
    assert len(context.execute(FetchRequest("PEntity", offset=1000, batch_size=batch_size))) == 0
    context.save()
    assert len(context.execute(FetchRequest("PEntity", offset=1000, batch_size=batch_size))) == 0


def test_s059_result_membership_follows_saved_values(opened: Any, tmp_path: Path) -> None:
    container = opened(Model(STAFF))
    container.coordinator.add_store(tmp_path / "second.sqlite")
    context = container.context()
    alice = context.insert("Employee", name="Alice", salary=9)
    context.save()
    alice.name = "Zoe"
    saved = FetchRequest("Employee", "name BEGINSWITH 'A'", include_pending_changes=False)
    assert list(context.execute(saved)) == [alice]
    assert len(context.execute(FetchRequest("Employee", "name BEGINSWITH 'A'"))) == 0


def test_s051_repeated_fetch_refreshes_on_request(opened: Any) -> None:
    """Apple's leaves loaded objects as they are, which an application's tests call broken.

    See DEVIATIONS, "Refreshes and repeated fetches".
    """
    container = opened(Model(CARS))
    writer, reader = container.context(), container.context()
    writer.insert("Car", maker="FIAT", numberPlate="1")
    writer.save()
    car = reader.first("Car")
    assert car.maker == "FIAT"
    writer.first("Car").maker = "FCA"
    writer.save()
    assert reader.execute(FetchRequest("Car", refresh=False))[0].maker == "FIAT"
    assert reader.execute(FetchRequest("Car", refresh=True))[0] is car
    assert car.maker == "FCA"
