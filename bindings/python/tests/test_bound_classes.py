"""Custom classes for the objects of entities."""

from __future__ import annotations

import abc
from pathlib import Path
from typing import Any

import pytest

from corestone import Attribute, Container, InvalidArgumentError, ManagedObject, Model

DEFINITION: dict[str, dict[str, Any]] = {
    "Animal": {"@abstract": True, "name": "string"},
    "Bird": {"@parent": "Animal", "wingspan": "double?", "flock": "to-one Flock? inverse birds"},
    "Fish": {"@parent": "Animal"},
    "Flock": {"birds": "to-many Bird inverse flock"},
}


class Animal(ManagedObject, entity="Animal"):
    __slots__ = ()

    name: Attribute[str]

    def shout(self) -> str:
        return f"{self.name}!"


class Bird(Animal, entity="Bird"):
    __slots__ = ()

    @property
    def wingspan(self) -> float:
        """Never null."""
        return float(self.primitive_value("wingspan") or 0)

    @wingspan.setter
    def wingspan(self, value: float) -> None:
        self.set_primitive_value("wingspan", value)


def test_objects_have_their_bound_classes(tmp_path: Path) -> None:
    for number in range(2):  # any number of models
        model = Model(DEFINITION).bind(Animal, Bird)
        with Container(model, tmp_path / f"{number}.sqlite", sync="normal") as container:
            context = container.context()
            bird = context.insert(Bird, name="emu")
            fish = context.insert("Fish", name="carp")
            assert isinstance(bird, Bird)
            assert bird.shout() == "emu!"
            assert isinstance(fish, Animal)
            assert not isinstance(fish, Bird)
            assert isinstance(bird, model["Animal"].object_class)
            assert bird.wingspan == 0.0
            bird.wingspan = 2
            assert bird["wingspan"] == bird.primitive_value("wingspan") == 2.0
            assert bird.primitive_value("name") == "emu"
            flock = context.insert("Flock", birds=[bird])
            context.save()
            assert [type(each).__mro__[1] for each in flock.birds] == [Bird]
            assert {each.name for each in context.fetch(Animal)} == {"emu", "carp"}
            assert context.first(Bird) is bird


def test_attribute_error_of_a_getter_or_setter_reaches_the_caller(tmp_path: Path) -> None:
    class Fish(ManagedObject, entity="Fish"):
        @property
        def label(self) -> str:
            return str(None.upper())  # type: ignore[attr-defined]

        @label.setter
        def label(self, value: str) -> None:
            value.no_such_method()  # type: ignore[attr-defined]

        @property
        def shout(self) -> str:
            return str(self.nmae.upper())  # type: ignore[attr-defined]

    with Container(Model(DEFINITION).bind(Fish), tmp_path / "a.sqlite", unsaved="discard") as container:
        fish: Any = container.context().insert("Fish", name="carp")
        with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'upper'"):
            _ = fish.label
        with pytest.raises(AttributeError, match="no_such_method"):
            fish.label = "pike"
        with pytest.raises(AttributeError, match='Fish does not have a property "nmae"; did you mean "name"'):
            _ = fish.shout
        with pytest.raises(AttributeError, match='Fish does not have a property "lable"; did you mean "label"'):
            _ = fish.lable
        assert not hasattr(fish, "label")


def test_subclass_can_be_bound_without_its_superclass(tmp_path: Path) -> None:
    model = Model(DEFINITION).bind(Bird)
    with Container(model, tmp_path / "a.sqlite", sync="normal", unsaved="discard") as container:
        bird = container.context().insert(Bird, name="emu")
        assert bird.shout() == "emu!"
        assert isinstance(bird, model["Animal"].object_class)


def test_invalid_classes_cannot_be_bound() -> None:
    class Unnamed(ManagedObject):
        __slots__ = ()

    class Cat(ManagedObject, entity="Cat"):
        __slots__ = ()

    model = Model(DEFINITION)
    with pytest.raises(InvalidArgumentError, match="does not name its entity"):
        model.bind(Unnamed)
    with pytest.raises(KeyError, match='does not have an entity "Cat"'):
        model.bind(Cat)
    _ = model["Bird"].object_class
    with pytest.raises(InvalidArgumentError, match="already has a class for its objects"):
        model.bind(Bird)


class Loud(abc.ABC):
    __slots__ = ()

    @abc.abstractmethod
    def volume(self) -> int: ...


class Goose(ManagedObject, Loud, entity="Bird"):
    __slots__ = ()

    name: Attribute[str]

    def volume(self) -> int:
        return 11


def test_bound_class_may_inherit_abstract_bases(tmp_path: Path) -> None:
    """A bound class may implement an abstract base class, and isinstance treats it as a plain class."""
    with Container(Model(DEFINITION).bind(Goose), tmp_path / "a.sqlite") as container:
        context = container.context()
        goose = context.insert(Goose, name="Akka")
        context.save()
        assert isinstance(goose, Loud)
        assert isinstance(goose, ManagedObject)
        assert issubclass(Goose, Loud)
        assert goose.volume() == 11
        assert not isinstance("goose", ManagedObject)
        assert [each.name for each in context.fetch(Goose, Goose.name == "Akka")] == ["Akka"]
