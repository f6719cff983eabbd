"""The life of objects: hooks as methods of the classes of entities, saves, deletions, rollback and refresh."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any, Callable

import pytest
from corestone import Container, ManagedObject, Model
from scenario_models import CARS

Opened = Callable[..., Container]

counts: Counter[str] = Counter()


@pytest.fixture(autouse=True)
def fresh_counts() -> None:
    counts.clear()


class Person(ManagedObject, entity="Person"):
    name: Any
    nickname: Any
    pets: Any

    @property
    def displayName(self) -> str:
        return f'{self.name} "{self.nickname}"'

    def awake_from_insert(self) -> None:
        counts["awake_from_insert"] += 1
        counts[f"nickname {self.nickname}"] += 1

    def awake_from_fetch(self) -> None:
        counts["awake_from_fetch"] += 1

    def prepare_for_deletion(self) -> None:
        counts["prepare_for_deletion"] += 1


class Hooked(ManagedObject, entity="PHooked"):
    name: Any
    note: Any

    def will_save(self) -> None:
        if self.note is None:
            self.note = "stamped"

    def did_save(self) -> None:
        counts["did_save"] += 1


def people() -> Model:
    model = Model(
        {
            "Person": {
                "name": "string?",
                "nickname": "string? = buddy",
                "displayName": "string? transient",
                "pets": "to-many Pet inverse owner delete cascade",
            },
            "Pet": {"name": "string?", "owner": "to-one Person? inverse pets"},
        }
    )
    return model.bind(Person)


def plain() -> Model:
    return Model({"PEntity": {"name": "string?", "counter": "int32 = 7", "score": "double?"}})


def test_s061_defaults_are_set_before_awake_from_insert(opened: Opened) -> None:
    ctx = opened(people()).context()
    alice = ctx.insert("Person", name="Alice")
    assert alice.nickname == "buddy"
    assert alice.displayName == 'Alice "buddy"'
    assert counts == {"awake_from_insert": 1, "nickname buddy": 1}


def test_s064_changes_in_will_save_are_saved(opened: Opened) -> None:
    model = Model({"PHooked": {"name": "string?", "note": "string?"}}).bind(Hooked)
    container = opened(model)
    ctx = container.context()
    item = ctx.insert("PHooked", name="hooked")
    ctx.save()
    assert item.committed_value("note") == "stamped"
    assert counts["did_save"] == 1
    assert [each.note for each in container.context().fetch("PHooked")] == ["stamped"]


def test_s067_awake_from_fetch_is_called_when_the_fault_fires(opened: Opened) -> None:
    container = opened(people())
    ctx = container.context()
    ctx.insert("Person", name="Alice")
    ctx.save()
    (alice,) = container.context().fetch("Person")
    assert alice.name == "Alice"
    assert not alice.is_fault
    assert counts["awake_from_fetch"] == 1


def test_s070_is_deleted_is_false_after_the_save(opened: Opened) -> None:
    ctx = opened(people()).context()
    alice = ctx.insert("Person", name="Alice")
    ctx.save()
    ctx.delete(alice)
    assert alice.is_deleted
    ctx.save()
    assert not alice.is_deleted
    assert list(ctx.fetch("Person")) == []


def test_s072_rollback_discards_pending_changes(opened: Opened) -> None:
    ctx = opened(people()).context()
    alice = ctx.insert("Person", name="Alice")
    ctx.save()
    alice.name = "Alicia"
    temporary = ctx.insert("Person", name="Bob").id
    ctx.delete(alice)
    ctx.rollback()
    assert [list(ctx.inserted), list(ctx.updated), list(ctx.deleted)] == [[], [], []]
    assert alice.name == "Alice"
    assert ctx.registered(temporary) is None


def test_s075_refresh_keeps_an_unsaved_object_unchanged(opened: Opened) -> None:
    # What a port does; Apple's framework drops the values.
    model = Model({"Def": {"name": "string?", "counter": "int32 = 7", "flag": "bool? = true"}})
    ctx = opened(model).context()
    item = ctx.insert("Def")
    ctx.refresh(item, merge=False)
    assert (item.counter, item.flag, item.is_inserted) == (7, True, True)


def test_s078_objects_with_changes_outlive_their_references(opened: Opened) -> None:
    ctx = opened(plain()).context()
    ctx.insert("PEntity")
    gc.collect()
    assert len(list(ctx.known)) == 1
    assert ctx.count("PEntity") == 1


def test_s081_transient_values_survive_a_save_but_not_a_refresh(opened: Opened) -> None:
    model = Model(
        {
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
    )
    ctx = opened(model).context()
    car = ctx.insert("Car", numberPlate="1", currentDrivingSpeed=50)
    ctx.save()
    assert car.currentDrivingSpeed == 50
    ctx.refresh_all()
    assert car.currentDrivingSpeed == 0
    car.currentDrivingSpeed = 100
    assert car.currentDrivingSpeed == 100
    ctx.reset()
    assert ctx.first("Car").currentDrivingSpeed == 0


def test_s082_child_save_passes_transient_values_to_the_parent_only(opened: Opened) -> None:
    main = opened(Model(CARS)).context()
    child = main.child()
    car = child.insert("Car", numberPlate="1", currentDrivingSpeed=50)
    child.save()
    car.currentDrivingSpeed = 20
    theirs = main.existing(car.id)
    assert theirs.currentDrivingSpeed == 50
    child.save()
    assert theirs.currentDrivingSpeed == 20
    del car
    gc.collect()
    assert not child.known
    assert child.perform_and_wait(lambda: child.first("Car").currentDrivingSpeed) == 0
    assert theirs.currentDrivingSpeed == 20


def test_s069_second_deletion_calls_the_hook_again(opened: Opened) -> None:
    context = opened(people()).context()
    alice = context.insert(Person, name="Alice")
    context.save()
    context.delete(alice)
    assert (counts["prepare_for_deletion"], alice.is_deleted) == (1, True)
    context.delete(alice)
    assert counts["prepare_for_deletion"] == 2
