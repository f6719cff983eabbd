"""Mistakes in the bodies of classes that declare entities."""

# ruff: noqa: E501, F821
# mypy: disable-error-code="assignment,misc,name-defined,valid-type,no-redef"

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Callable

import pytest

import corestone
from corestone import ManagedObject, Model, ModelError, TypeMismatchError
from corestone.declarative import Entity, ToMany, attribute, derived, fetched, index, to_many, to_one, unique


def refused(message: str, key: str | None, make: Callable[[], Any]) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        make()
    assert caught.value.entity == "A"
    assert caught.value.key == key


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


@dataclass
class Empty:
    pass


class Plain(ManagedObject):
    __slots__ = ()


class B(Entity):
    a: A | None
    more: ToMany[A]


def body(annotation: Any, *value: Any) -> Callable[[], Any]:
    """Returns a function that makes a model of a class with one variable `x`."""

    def make() -> Any:
        names = {"__annotations__": {"x": annotation}, "__module__": __name__, **({"x": value[0]} if value else {})}
        return Model(type(Entity)("A", (Entity,), names))

    return make


@pytest.mark.parametrize(
    ("annotation", "value", "message"),
    [
        (complex, (), r"A\.x: complex is not the type of an attribute; use str, int, .* or write attribute"),
        (dict[str, int], (), r"A\.x: dict\[str, int\] is not the type of an attribute"),
        ("Missing", (), r'A\.x: the annotation "Missing" is not defined; import it'),
        ("Missing.Inner", (), r'A\.x: the annotation "Missing.Inner" cannot be evaluated'),
        ("int |", (), r'A\.x: the annotation "int \|" cannot be evaluated'),
        ("int | str", (), r"A\.x: the annotation .* has several types; use one type"),
        (int, ("a",), r'A\.x: the default must be an int, not "a"'),
        (int, (True,), r"A\.x: the default must be an int, not True"),
        (str, (3,), r"A\.x: the default must be a str, not 3"),
        (str, (None,), r"A\.x: the default is None, but the annotation does not allow None"),
        (datetime, (datetime(2024, 1, 1),), r"A\.x: the default .* does not have a time zone"),
        (Any, ([],), r"A\.x: the default \[\] is mutable and all objects would share it; write attribute\(default=list\)"),
        (int, (attribute("string"),), r"A\.x: the annotation int does not match the attribute type STRING"),
        (int, (attribute("itn32"),), r'A\.x: "itn32" is not an attribute type'),
        (Any, (), r"A\.x: an attribute of the type undefined is never stored"),
        (Mixed, (), r"A\.x: the values of the enumeration Mixed must be all of type str, or all of type int"),
        (Empty, (), r"A\.x: the dataclass Empty does not have fields"),
        (Plain, (), r"A\.x: the class Plain does not declare an entity"),
        (ToMany, (), r"A\.x: ToMany needs the class of its members; write ToMany\[Tag\]"),
        ("ToMany[int]", (), r"A\.x: a relationship refers to classes that derive from Entity, not to int"),
        ("ToMany[Missing]", (), r'A\.x: the annotation "Missing" is not defined'),
        (int, (to_one(),), r"A\.x: to_one\(\.\.\.\) needs the class of the destination in the annotation"),
        ("ToMany[B]", (to_one(),), r"A\.x: the annotation is that of a to-many relationship; write to_many"),
        ("B | None", (to_many(),), r"A\.x: the annotation is that of a to-one relationship; write to_one"),
        ("B | None", (3,), r"A\.x: a to-one relationship cannot have the default 3"),
        ("tuple[B, ...]", (), r"A\.x: a tuple of objects is the value of a fetched property; write fetched"),
        (int, (fetched("a == 1"),), r"A\.x: a fetched property needs the annotation tuple"),
        (int, (index("x"),), r"A\.x: an index or a constraint does not have a type"),
        ("B | None", (to_one(inverse="mor"),), r'A\.x: the inverse "mor" is not a relationship of B; did you mean "more"'),
        ("B | None", (), r"A\.x: the inverse is ambiguous, because B\.a and B\.more refer to A; write to_one\(inverse="),
    ],
)  # fmt: skip
def test_an_annotation_or_a_default(annotation: Any, value: tuple[Any, ...], message: str) -> None:
    refused(message, "x", body(annotation, *value))


def test_a_missing_inverse() -> None:
    class C(Entity):
        name: str

    refused(
        r"A\.x: C does not have a relationship to A that can be the inverse. Declare one in the class C, or write "
        r"to_one\(inverse=None\)",
        "x",
        body(C),
    )
    refused("that can be the inverse", "x", body(ToMany[C]))
    Model(type(Entity)("A", (Entity,), {"__annotations__": {"x": C}, "x": to_one(inverse=None)}))


def test_an_inverse_that_names_another_relationship() -> None:
    class A(Entity):
        one: ToMany[D] = to_many(inverse="a")
        two: ToMany[D] = to_many(inverse="a")

    class D(Entity):
        a: A | None

    refused(r'A\.two: the inverse is D\.a, but the inverse of D\.a is "one"', "two", lambda: Model(A, D))


def test_names() -> None:
    def reserved() -> None:
        class A(Entity):
            id: int

    def hidden() -> None:
        class A(Entity):
            _x: int

    def twice() -> None:
        class Parent(Entity):
            x: int

        class A(Parent):
            x: int

    def same() -> None:
        class A(Entity):
            x: int
            y: int = attribute(name="x")

    def method() -> None:
        class A(Entity):
            x: int

            def x(self) -> int:
                return 3

    refused(r"A\.x: the class also has a method of this name", "x", method)
    refused(r'A\.id: every managed object has a member "id"; write id_ for a property of that name', "id", reserved)
    refused(r"A\._x: names that begin with an underscore do not declare properties", "_x", hidden)
    refused(r'A\.x: the superentity already has a property "x"', "x", twice)
    refused(r"A\.x: two class variables declare this property", "x", same)


def test_values_without_an_annotation() -> None:
    def plain() -> None:
        class A(Entity):
            x = attribute(default=3)

    def computed() -> None:
        class A(Entity):
            x: int = derived("y", name="z")
            y = to_one()

    refused(r"A\.x: attribute\(\.\.\.\) needs an annotation with the type; write x: int = attribute", "x", plain)
    refused(r"A\.y: to_one\(\.\.\.\) needs an annotation with the type; write y: Show = to_one", "y", computed)


def test_methods_and_constraints_of_unknown_properties() -> None:
    class A(Entity):
        title: str

        def validate_titel(self, value: str) -> None: ...

    refused(
        r'A\.titel: the method validate_titel validates a property "titel".*did you mean "title"',
        "titel",
        lambda: Model(A),
    )

    class Other(Entity, entity="A", unique=["titel"]):
        title: str

    refused(r'A\.titel: the unique constraint titel names "titel"', "titel", lambda: Model(Other))
    with pytest.raises(ModelError, match="unique needs at least one property"):
        unique()


def test_classes() -> None:
    class A(Entity):
        x: int

    class Second(Entity, entity="A"):
        x: int

    refused("A: two classes declare this entity, .*A and .*Second", None, lambda: Model(A, Second))

    def two_parents() -> None:
        class Third(Second, B, entity="A"):
            pass

    refused("A: the class Third inherits from the entities Second and B", None, two_parents)
    with pytest.raises(TypeMismatchError, match="does not declare an entity; derive it from"):
        Model(Plain)
    with pytest.raises(TypeMismatchError, match="does not declare an entity"):
        Model(Entity)
    with pytest.raises(TypeMismatchError, match="does not declare an entity"):
        Model(A, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"derive it from corestone\.declarative\.Entity"):

        class Wrong(corestone.Entity):
            pass

    with pytest.raises(TypeError):

        class Unknown(Entity, abstrakt=True):
            pass


def test_differences_from_a_model_name_entity_and_key() -> None:
    class A(Entity):
        x: int
        y: str
        z: bool = False
        owner: Owner | None

    class Owner(Entity):
        all: ToMany[A]

    class Alone(Entity, entity="Aa"):
        x: int

    model = Model(
        {
            "A": {"x": "int32", "y": "string?", "w": "bool", "owner": "to-one Owner? inverse all delete cascade"},
            "Owner": {"all": "to-many ordered A inverse owner"},
            "Other": {"name": "string"},
        }
    )
    with pytest.raises(ModelError, match="the classes differ from the model in 6 places") as caught:
        model.copy().bind(A, Owner)
    assert {each.message for each in caught.value.details} == {
        'A.x: type is "Integer 64" in the class, but "Integer 32" in the model',
        "A.y: optional is False in the class, but True in the model",
        "A.z: the class declares this attribute, but the model does not have it",
        "A.w: the model has this attribute, but the class does not declare it",
        'A.owner: deleteRule is "Nullify" in the class, but "Cascade" in the model',
        "Owner.all: ordered is False in the class, but True in the model",
    }
    assert {(each.entity, each.key) for each in caught.value.details} >= {("A", "x"), ("Owner", "all")}
    with pytest.raises(ModelError, match="the class Alone declares the entity Aa, which the model does not have"):
        model.bind(Alone)
