"""Hooks as methods of the classes that are bound to entities."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from corestone import (
    CallbackError,
    Container,
    Context,
    CorestoneError,
    InvalidArgumentError,
    ManagedObject,
    Model,
    ModelError,
    ObjectGoneError,
    ValidationError,
)

DEFINITION: dict[str, dict[str, Any]] = {
    "Person": {
        "name": "string? = nobody",
        "age": "int32?",
        "speed": "double? transient",
        "pets": "to-many Pet inverse owner",
    },
    "Clerk": {"@parent": "Person", "desk": "string?"},
    "Pet": {"name": "string?", "owner": "to-one Person? inverse pets"},
}

calls: list[Any] = []


class Person(ManagedObject, entity="Person"):
    name: Any
    age: Any
    speed: Any
    pets: Any

    def awake_from_insert(self) -> None:
        calls.append(("insert", self.name))
        self.age = 18

    def awake_from_fetch(self) -> None:
        calls.append(("fetch", self.name))
        self.speed = 7.0

    def will_save(self) -> None:
        calls.append(("will", self.is_deleted))

    def did_save(self) -> None:
        calls.append(("did", self.is_deleted, self.has_changes))

    def prepare_for_deletion(self) -> None:
        calls.append(("prepare", self.is_deleted, len(self.pets)))

    def will_turn_into_fault(self) -> None:
        calls.append(("turn", self.name))

    def did_turn_into_fault(self) -> None:
        calls.append("turned")

    def set_nil_value_for_key(self, name: str) -> None:
        if name == "age":
            self.age = -1
        else:
            super().set_nil_value_for_key(name)

    def validate_name(self, name: Any) -> Any:
        if name == "bad":
            raise ValueError("a bad name")
        return name and name.strip()


class Clerk(Person, entity="Clerk"):
    desk: Any

    def awake_from_insert(self) -> None:
        super().awake_from_insert()
        self.desk = "D1"

    def validate_for_insert(self) -> None:
        super().validate_for_insert()
        calls.append("validate")
        if self.desk is None:
            raise CorestoneError("no desk", domain="Office", code=4242)


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[Context]:
    calls.clear()
    with Container(
        Model(DEFINITION).bind(Person, Clerk), tmp_path / "a.sqlite", sync="normal", unsaved="discard"
    ) as container:
        yield container.context()


def taken() -> list[Any]:
    found = list(calls)
    calls.clear()
    return found


def test_methods_are_called(ctx: Context) -> None:
    ada = ctx.insert(Person)
    assert taken() == [("insert", "nobody")]
    assert ada.age == 18
    ada.name = " Ada "
    ctx.save()
    # The check of the name changed the object, so it was asked twice.
    assert taken() == [("will", False), ("will", False), ("did", False, False)]
    assert ada.name == "Ada"
    ctx.refresh(ada, merge=False)
    assert (ada.name, ada.speed) == ("Ada", 7.0)
    assert not ada.has_changes
    assert taken() == [("turn", "Ada"), "turned", ("fetch", "Ada")]
    ada.age = None
    assert ada.age == -1
    ada.speed = None
    assert ada.speed is None
    ctx.insert("Pet", owner=ada)
    ctx.delete(ada)
    ctx.save()
    assert taken() == [("prepare", False, 1), ("will", True), ("did", False, False)]


def test_a_deleted_object_that_nobody_holds_is_told_too(ctx: Context) -> None:
    ctx.insert(Person)
    ctx.save()
    ctx.delete(ctx.first(Person))
    calls.clear()
    ctx.save()
    assert ("did", False, False) in taken()
    person = ctx.insert(Person)
    ctx.save()
    calls.clear()
    ctx.reset()
    assert taken() == [("turn", "nobody"), "turned"]
    assert not person.has_changes


def test_faults_of_a_result_fire_one_by_one(ctx: Context) -> None:
    for number in range(5):
        ctx.insert(Person, name=f"P{number}")
    ctx.save()
    ctx.reset()
    calls.clear()
    found = ctx.fetch(Person, sort=["name"])
    assert taken() == []
    assert [each.name for each in found] == [f"P{number}" for number in range(5)]
    assert [each.age for each in found] == [18] * 5
    assert taken() == [("fetch", f"P{number}") for number in range(5)]


def test_inheritance(ctx: Context) -> None:
    clerk = ctx.insert(Clerk)
    assert (clerk.age, clerk.desk) == (18, "D1")
    clerk.desk = None
    calls.clear()
    for check in (ctx.save, clerk.validate_for_insert):
        with pytest.raises(CorestoneError) as failure:
            check()
        assert (failure.value.domain, failure.value.code) == ("Office", 4242)
    assert calls.count("validate") == 2
    clerk.desk = "D2"
    ctx.save()


def test_what_hooks_raise(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = ctx.insert(Person)
    ada.name = "bad"
    with pytest.raises(ValidationError, match="a bad name") as failure:
        ctx.save()
    assert isinstance(failure.value.__cause__, ValueError)
    assert (failure.value.entity, failure.value.key, failure.value.value) == ("Person", "name", "bad")
    ada.name = "Ada"
    ctx.save()

    def fail(self: Any) -> None:
        raise KeyError("hook")

    steps: dict[str, Callable[[], Any]] = {
        "awake_from_insert": lambda: ctx.insert(Person),
        "will_turn_into_fault": lambda: ctx.refresh(ada, merge=False),
        "awake_from_fetch": lambda: ada.name,
        "prepare_for_deletion": lambda: ctx.delete(ada),
        "will_save": ctx.save,
        "did_save": ctx.save,
    }
    for name, body in steps.items():
        if name.endswith("save"):
            ada.age = len(name)
        with monkeypatch.context() as patch:
            patch.setattr(Person, name, fail)
            with pytest.raises(CallbackError) as told:
                body()
            assert isinstance(told.value.__cause__, KeyError), name
    assert ada.name == "Ada"
    assert not ctx.has_changes


def test_what_hooks_may_not_do(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []

    def harm(self: Any) -> None:
        for body in (self.context.save, self.context.reset, self.context.rollback, self.context.refresh_all):
            with pytest.raises(InvalidArgumentError):
                body()
            refused.append(body)

    monkeypatch.setattr(Person, "will_save", harm)
    monkeypatch.setattr(Person, "awake_from_fetch", harm)
    ada = ctx.insert(Person)
    ctx.save()
    ctx.refresh(ada, merge=False)
    assert ada.name == "nobody"
    assert len(refused) == 8


def test_a_hook_without_an_end_is_named(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def loop(self: Any) -> None:
        self.age = 5

    monkeypatch.setattr(Person, "will_save", loop)
    ada = ctx.insert(Person)
    with pytest.raises(ValidationError, match="1000 attempts") as failure:
        ctx.save()
    assert (failure.value.entity, failure.value.key, failure.value.object_uri) == ("Person", "age", ada.id.uri)


def test_without_tracking(ctx: Context) -> None:
    ada = ctx.insert(Person)
    ctx.save()
    with ctx.without_tracking():
        ada.age = 40
    assert ada.age == 40
    assert not ctx.has_changes
    ada.age = 41
    assert ctx.has_changes


def test_hooks_and_inner_blocks_leave_outer_ones_without_tracking(ctx: Context) -> None:
    ada, bob = ctx.insert(Person), ctx.insert(Person)
    ctx.save()
    pet = ctx.insert("Pet")

    def still_untracked() -> None:
        ada.age = (ada.age or 0) + 1
        assert not ada.has_changes

    with ctx.without_tracking():
        still_untracked()
        with ctx.without_tracking():
            with ctx.without_tracking():
                still_untracked()
            still_untracked()
        still_untracked()
        # Without tracking, too, run the hooks of inserted and of fetched objects.
        for _ in range(2):
            ctx.insert(Person)
            still_untracked()
        calls.clear()
        ctx.refresh(bob)
        assert bob.speed == 7.0
        assert calls[-1][0] == "fetch"
        still_untracked()
        with pytest.raises(ValueError, match="raised within"), ctx.without_tracking():
            raise ValueError("raised within")
        still_untracked()
        ctx.delete(pet)
        still_untracked()
    ada.age = 41
    assert ada.has_changes


def test_hooks_within_hooks_run_without_tracking_to_their_end(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = ctx.insert(Person)
    ctx.save()
    depth = 3

    def awake(self: Any) -> None:
        nonlocal depth
        depth -= 1
        with ctx.without_tracking():
            if depth > 0:
                ctx.insert(Person)
        ada.age = depth
        assert not ada.has_changes

    monkeypatch.setattr(Person, "awake_from_insert", awake)
    ctx.insert(Person)
    assert not ada.has_changes
    ada.age = 9
    assert ada.has_changes


def test_binding(tmp_path: Path) -> None:
    class Other(ManagedObject, entity="Pet"):
        def validate_nmae(self, name: Any) -> None: ...

    model = Model(DEFINITION).bind(Other)
    with pytest.raises(ModelError, match='did you mean "name"'):
        model.freeze()
    frozen = Model(DEFINITION)
    frozen.freeze()
    with pytest.raises(ModelError):
        frozen.bind(Person)
    calls.clear()
    copy = Model(DEFINITION).bind(Person).copy()
    with Container(copy, tmp_path / "b.sqlite", sync="normal") as container:
        ctx = container.context()
        person = ctx.insert("Person", name=" x ")
        ctx.save()
        ctx.delete(person)
        ctx.save()
        with pytest.raises(ObjectGoneError):
            _ = person.name
    assert calls == []
