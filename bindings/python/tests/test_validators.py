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


def test_values(context: Context) -> None:
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


def test_objects(context: Context) -> None:
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


def test_several(context: Context) -> None:
    for _ in range(3):
        context.insert("Person", name="Voldemort")
    with pytest.raises(ValidationError) as raised:
        context.validate()
    assert (raised.value.code, len(raised.value.details)) == (1560, 3)


def test_a_validator_inserts_others(tmp_path: Path) -> None:
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


def test_a_validator_must_not_save(tmp_path: Path) -> None:
    model = Model({"Node": {"depth": "int32"}})
    model["Node"].validator(lambda node, purpose: node._cst_context.save())
    with Container(model, tmp_path / "s.sqlite", unsaved="discard") as container:
        context = container.context()
        context.insert("Node", depth=0)
        with pytest.raises(ValidationError, match="asks its context to save"):
            context.save()


def test_mistakes() -> None:
    model = people()
    with pytest.raises(ModelError, match="no function"):
        model["Person"].validator("name")
    model["Person"].validator("nmae", lambda person, value: None)
    with pytest.raises(ModelError, match='did you mean "name"'):
        model.freeze()
