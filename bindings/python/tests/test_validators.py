"""Validators that are Python functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corestone import Container, Context, Model, ModelError, ValidationError


def people() -> Model:
    model = Model(
        {
            "Person": {"name": "string min 2", "age": "int32?", "friends": "to-many Person inverse friends"},
            "Child": {"@parent": "Person"},
        }
    )

    def name(person: Any, value: str | None) -> str | None:
        if value == "Voldemort":
            raise ValueError("We do not say that name.")
        return value.strip() if value else None

    def whole(person: Any, purpose: str) -> None:
        if purpose == "delete" and person.age:
            raise ValidationError("Only the ageless go.", code=99)
        if purpose == "insert" and person.age == 13:
            person.name = "Unlucky"

    model["Person"].validator("name", name).validator(whole)
    return model


@pytest.fixture
def context(tmp_path: Path) -> Any:
    with Container(people(), tmp_path / "s.sqlite", unsaved="discard") as container:
        yield container.context()


def test_composite_validator_reads_elements_from_the_object(tmp_path: Path) -> None:
    model = Model({"Pin": {"place": {"x": "double?"}}})
    given: list[Any] = []

    def place(pin: Any, value: Any) -> None:
        given.append(value)
        if pin.place["x"] < 0:
            raise ValueError("x is negative")

    model["Pin"].validator("place", place)
    with Container(model, tmp_path / "s.sqlite", unsaved="discard") as container:
        context = container.context()
        pin = context.insert("Pin", place={"x": 1.0})
        context.save()
        pin.place = {"x": -1.0}
        with pytest.raises(ValidationError, match="x is negative") as raised:
            context.save()
    assert (given, raised.value.key) == ([None, None], "place")


def test_value_validator_can_replace_or_reject_values(context: Context) -> None:
    person = context.insert("Child", name="  Ada ")
    context.save()
    assert person.name == "Ada"
    person.name = "Voldemort"
    with pytest.raises(ValidationError, match="We do not say") as raised:
        context.save()
    failure = raised.value
    assert type(failure.__cause__) is ValueError
    assert failure.__cause__.__traceback__ is not None
    assert (failure.code, failure.entity, failure.key, failure.value) == (1550, "Child", "name", "Voldemort")
    person.name = " x "
    with pytest.raises(ValidationError, match="too short"):
        context.save()  # by the model's own condition, after the replacement
    assert person.name == "x"


def test_object_validator_can_change_or_reject_objects(context: Context) -> None:
    person = context.insert("Person", name="Bo", age=13)
    context.save()
    assert person.name == "Unlucky"
    context.delete(person)
    with pytest.raises(ValidationError, match="ageless") as raised:
        context.save()
    assert raised.value.code == 99
    context.rollback()
    assert context.insert("Person", name="Cy") is not None
    context.save()
    assert context.count("Person") == 2


def test_several_validator_failures_are_combined(context: Context) -> None:
    for _ in range(3):
        context.insert("Person", name="Voldemort")
    with pytest.raises(ValidationError) as raised:
        context.validate()
    assert (raised.value.code, len(raised.value.details)) == (1560, 3)


def test_validator_may_insert_objects(tmp_path: Path) -> None:
    model = Model({"Node": {"depth": "int32"}})

    def grow(node: Any, purpose: str) -> None:
        if purpose == "insert" and node.depth < 5:
            node._cst_context.insert("Node", depth=node.depth + 1)

    model["Node"].validator(grow)
    with Container(model, tmp_path / "s.sqlite") as container:
        context = container.context()
        context.insert("Node", depth=0)
        context.save()
        assert context.count("Node") == 6


def test_validator_cannot_save(tmp_path: Path) -> None:
    model = Model({"Node": {"depth": "int32"}})
    model["Node"].validator(lambda node, purpose: node._cst_context.save())
    with Container(model, tmp_path / "s.sqlite", unsaved="discard") as container:
        context = container.context()
        context.insert("Node", depth=0)
        with pytest.raises(ValidationError, match="must not save"):
            context.save()


def test_invalid_validators_are_rejected() -> None:
    model = people()
    with pytest.raises(ModelError, match="must be a function or the name of a registered function"):
        model["Person"].validator("name")
    model["Person"].validator("nmae", lambda person, value: None)
    with pytest.raises(ModelError, match='did you mean "name"'):
        model.freeze()


# Each round validates one object.
@pytest.mark.parametrize(("depth", "fits"), [(99, True), (100, False)])
def test_validators_may_insert_in_100_rounds(tmp_path: Path, depth: int, fits: bool) -> None:
    model = Model({"Node": {"depth": "int32"}})

    def grow(node: Any, purpose: str) -> None:
        if purpose == "insert" and node.depth < depth:
            node.context.insert("Node", depth=node.depth + 1)

    model["Node"].validator(grow)
    with Container(model, tmp_path / "s.sqlite", unsaved="discard") as container:
        context = container.context()
        context.insert("Node", depth=0)
        if fits:
            context.save()
            assert context.count("Node") == depth + 1
            return
        with pytest.raises(ValidationError, match="validators still change other objects after 100 rounds") as caught:
            context.save()
        assert caught.value.code == 1550
        assert container.context().count("Node") == 0


def test_validators_are_called_per_value_with_their_purpose(tmp_path: Path) -> None:
    asked: list[Any] = []
    model = Model({"Thing": {"a": "string?", "b": "int32?", "many": "to-many Thing"}, "Kind": {"@parent": "Thing"}})

    def about(name: str) -> Any:
        return lambda thing, value: asked.append((name, value))

    for name in ("a", "b"):
        model["Thing"].validator(name, about(name))
    model["Thing"].validator(lambda thing, purpose: asked.append(purpose))
    with Container(model, tmp_path / "s.sqlite", unsaved="discard") as container:
        context = container.context()
        kind = context.insert("Kind", a="x")
        others = [context.insert("Thing") for _ in range(2)]
        asked.clear()
        kind.validate_for_insert()
        # No value is asked about like any other.
        assert sorted(asked, key=str) == [("a", "x"), ("b", None), "insert"]
        context.save()
        kind.b = 3
        asked.clear()
        context.save()
        assert sorted(asked, key=str) == [("a", "x"), ("b", 3), "update"]
        asked.clear()
        assert kind.validate_value("a", "y") == "y"
        assert (asked, kind.a) == ([("a", "y")], "x")
        context.delete(others[0])
        asked.clear()
        context.save()
        assert asked == ["delete"]


def test_objects_changed_by_a_validator_are_validated(tmp_path: Path) -> None:
    model = Model({"Thing": {"name": "string? max 3", "next": "to-one Thing?"}})

    def spread(thing: Any, purpose: str) -> None:
        if thing.next is not None and thing.next.name != thing.name:
            thing.next.name = thing.name * 2

    model["Thing"].validator(spread)
    with Container(model, tmp_path / "s.sqlite", unsaved="discard") as container:
        context = container.context()
        second = context.insert("Thing", name="x")
        first = context.insert("Thing", name="x", next=second)
        context.save()
        first.name = "y"
        context.save()
        assert container.context().fetch("Thing", "name == 'yy'").column("name") == ["yy"]
        first.name = "zz"
        with pytest.raises(ValidationError) as caught:
            context.save()
        assert (caught.value.code, caught.value.key, caught.value.value) == (1660, "name", "zzzz")
        assert caught.value.object_uri == second.id.uri


def test_frozen_model_rejects_validators() -> None:
    model = people()
    model.freeze()
    with pytest.raises(ModelError):
        model["Person"].validator("age", lambda person, value: None)
