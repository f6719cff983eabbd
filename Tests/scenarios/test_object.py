"""Objects: primitive and committed values, defaults, objects outside every context."""

from __future__ import annotations

from typing import Any

from corestone import Model

PERSON = {
    "Person": {
        "name": "string?",
        "nickname": "string?",
        "displayName": "string? transient",
        "pets": "to-many Pet? inverse owner delete cascade",
    },
    "Pet": {"name": "string?", "owner": "to-one Person? inverse pets"},
}


def with_defaults(*, flags: bool = False) -> Model:
    model = Model()
    entity = model.entity("Def" if flags else "PEntity").attribute("name", "string", optional=True)
    entity.attribute("counter", "int32", default=7)
    if flags:
        entity.attribute("flag", "bool", optional=True, default=True)
        entity.attribute("score", "double", optional=True, default=1.5)
    else:
        entity.attribute("score", "double", optional=True)
    return model


def test_s084_committed_values_are_the_last_saved_values(opened: Any) -> None:
    ctx = opened(Model(PERSON)).context()
    alice = ctx.insert("Person", name="Alice")
    ctx.save()
    alice.name = "Alicia"
    assert alice.committed_values("name") == {"name": "Alice"}
    ctx.save()
    assert alice.committed_values("name") == {"name": "Alicia"}


def test_s087_primitive_value_is_not_tracked(opened: Any) -> None:
    ctx = opened(with_defaults()).context()
    item = ctx.insert("PEntity", name="primitive")
    ctx.save()
    item.set_primitive("name", "sneaky")
    assert item.changed_values() == {}
    assert item.name == "sneaky"


def test_s090_defaults_are_set_at_insert(opened: Any) -> None:
    ctx = opened(with_defaults()).context()
    item = ctx.insert("PEntity")
    assert item.counter == 7 and type(item.counter) is int


def test_s093_insert_keeps_values_set_before(opened: Any) -> None:
    ctx = opened(with_defaults()).context()
    item = ctx.new("PEntity", counter=99)
    ctx.insert_object(item)
    assert item.counter == 99


def test_s096_objects_work_without_a_context(opened: Any) -> None:
    ctx = opened(Model({"Person": {"name": "string", "age": "int32"}})).context()
    bea = ctx.new("Person", name="Bea", age=25)
    assert (bea.name, bea.age, bea.entity_name, bea.is_deleted) == ("Bea", 25, "Person", False)


def test_s404_changed_values_of_a_new_object_are_its_defaults(opened: Any) -> None:
    ctx = opened(with_defaults(flags=True)).context()
    item = ctx.insert("Def")
    assert (item.counter, item.flag, item.score) == (7, True, 1.5)
    assert item.changed_values() == {"counter": 7, "flag": True, "score": 1.5}


def test_s097_object_is_a_fault_without_context_after_a_reset(opened: Any) -> None:
    context = opened(Model(PERSON)).context()
    alice = context.insert("Person", name="Alice")
    context.save()
    assert (alice.is_fault, alice.context) == (False, context)
    context.reset()
    assert (alice.is_fault, alice.context) == (True, None)
