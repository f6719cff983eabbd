"""Hooks as methods of the classes that are bound to entities."""

from __future__ import annotations

import types
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable
from uuid import UUID

import pytest

from corestone import (
    URL,
    CallbackError,
    Container,
    Context,
    CorestoneError,
    InvalidArgumentError,
    ManagedObject,
    MergePolicy,
    Model,
    ModelError,
    ObjectGoneError,
    SnapshotEvents,
    UndoManager,
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


def test_lifecycle_hooks_are_called(ctx: Context) -> None:
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


def test_did_save_is_called_for_unreferenced_deleted_objects(ctx: Context) -> None:
    ctx.insert(Person)
    ctx.save()
    ctx.delete(ctx.fetch(Person)[0])
    calls.clear()
    ctx.save()
    assert ("did", False, False) in taken()
    person = ctx.insert(Person)
    ctx.save()
    calls.clear()
    ctx.reset()
    assert taken() == [("turn", "nobody"), "turned"]
    assert not person.has_changes


def test_reset_does_not_call_hooks_of_faults(ctx: Context) -> None:
    ctx.insert(Person)
    ctx.save()
    ctx.reset()
    (person,) = ctx.fetch(Person)
    assert person.is_fault
    calls.clear()
    ctx.reset()
    assert taken() == []


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


def test_subclasses_inherit_hooks(ctx: Context) -> None:
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


def test_exceptions_of_hooks_reach_the_caller(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_hooks_cannot_save_reset_or_roll_back(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_endless_will_save_hook_is_reported(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def loop(self: Any) -> None:
        self.age = 5

    monkeypatch.setattr(Person, "will_save", loop)
    ada = ctx.insert(Person)
    with pytest.raises(ValidationError, match="1000 attempts") as failure:
        ctx.save()
    assert (failure.value.entity, failure.value.key, failure.value.object_uri) == ("Person", "age", ada.id.uri)


def test_without_tracking_hides_changes(ctx: Context) -> None:
    ada = ctx.insert(Person)
    ctx.save()
    with ctx.without_tracking():
        ada.age = 40
    assert ada.age == 40
    assert not ctx.has_changes
    ada.age = 41
    assert ctx.has_changes


def test_nested_hooks_and_blocks_keep_outer_tracking_disabled(ctx: Context) -> None:
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


def test_nested_hooks_run_without_tracking_to_their_end(ctx: Context, monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_bound_class_with_an_unknown_validation_key_is_rejected(tmp_path: Path) -> None:
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


def bound(definition: dict[str, Any], **hooks: Callable[..., Any]) -> Model:
    """A model whose first entity has these hooks."""
    entity = next(iter(definition))
    made = types.new_class(entity, (ManagedObject,), {"entity": entity}, lambda names: names.update(hooks))
    return Model(definition).bind(made)


@contextmanager
def opened(path: Path, definition: dict[str, Any], **hooks: Callable[..., Any]) -> Iterator[Context]:
    with Container(bound(definition, **hooks), path / "a.sqlite", sync="normal", unsaved="discard") as container:
        yield container.context()


SCALARS: dict[str, tuple[Any, bool]] = {
    "int16": (1, True),
    "int32": (1, True),
    "int64": (1, True),
    "float": (0.5, True),
    "double": (0.5, True),
    "bool": (True, True),
    "decimal": (Decimal(1), False),
    "date": (datetime(2026, 1, 1, tzinfo=timezone.utc), False),
    "string": ("x", False),
    "binary": (b"x", False),
    "uuid": (UUID(int=1), False),
    "uri": (URL("a:b"), False),
}


def test_set_nil_hook_is_called_only_for_scalar_attributes(tmp_path: Path) -> None:
    definition: dict[str, Any] = {"Thing": {f"a_{kind}": f"{kind}?" for kind in SCALARS}}
    definition["Thing"] |= {"next": "to-one Thing? inverse previous", "previous": "to-many Thing inverse next"}
    asked: list[str] = []

    def set_nil(self: Any, name: str) -> None:
        asked.append(name)
        self[name] = SCALARS[name[2:]][0]

    with opened(tmp_path, definition, set_nil_value_for_key=set_nil) as ctx:
        thing = ctx.insert("Thing")
        for kind, (value, is_scalar) in SCALARS.items():
            setattr(thing, f"a_{kind}", value)
            assert asked == []
            setattr(thing, f"a_{kind}", None)
            assert asked == ([f"a_{kind}"] if is_scalar else [])
            assert getattr(thing, f"a_{kind}") == (value if is_scalar else None)
            asked.clear()
        thing.next = thing
        thing.next = None
        assert (asked, thing.next) == ([], None)


def test_set_changes_no_property_when_a_set_nil_hook_fails(tmp_path: Path) -> None:
    def set_nil(self: Any, name: str) -> None:
        if name == "second":
            raise KeyError(name)
        self[name] = 0
        self.name = "hook"

    definition: dict[str, Any] = {"Thing": {"name": "string?", "first": "int64?", "second": "int64?", "size": "int64?"}}
    with opened(tmp_path, definition, set_nil_value_for_key=set_nil) as ctx:
        thing = ctx.insert("Thing", name="a", first=1, second=2, size=3)
        ctx.save()
        with pytest.raises(CallbackError):
            thing.set(name="b", size=4, second=None)
        assert thing.get("name", "first", "second", "size") == ("a", 1, 2, 3)
        assert not thing.has_changes
        with pytest.raises(CallbackError):
            thing.set(size=None, first=None, second=None)
        assert thing.get("name", "first", "second", "size") == ("a", 1, 2, 3)
        assert not thing.has_changes
        thing.set(name="b", first=None, size=5)
        assert thing.get("name", "first", "second", "size") == ("b", 0, 2, 5)


def test_assignment_of_none_restores_the_object_when_the_set_nil_hook_fails(tmp_path: Path) -> None:
    def set_nil(self: Any, name: str) -> None:
        self.name = "hook"
        self.next = self.next.next
        raise KeyError(name)

    definition: dict[str, Any] = {
        "Thing": {
            "name": "string?",
            "size": "int64?",
            "next": "to-one Thing? inverse previous",
            "previous": "to-many Thing inverse next",
        }
    }
    with opened(tmp_path, definition, set_nil_value_for_key=set_nil) as ctx:
        last = ctx.insert("Thing", name="c")
        middle = ctx.insert("Thing", name="b", next=last)
        thing = ctx.insert("Thing", name="a", size=3, next=middle)
        ctx.save()
        changes: list[Any] = [lambda: setattr(thing, "size", None), lambda: thing.set(name="d", size=None)]
        for change in changes:
            with pytest.raises(CallbackError):
                change()
            assert thing.get("name", "size", "next") == ("a", 3, middle)
            assert not ctx.has_changes


def test_values_set_in_awake_hooks_are_not_changes(tmp_path: Path) -> None:
    def awake(self: Any) -> None:
        self.note = "awake"

    with opened(tmp_path, {"Thing": {"name": "string?", "note": "string?"}}, awake_from_fetch=awake) as ctx:
        ctx.insert("Thing", name="a")
        ctx.save()
        ctx.reset()
        ctx.undo_manager = UndoManager()
        (thing,) = ctx.fetch("Thing")
        assert thing.name == "a"
        assert not thing.has_changes
        assert not ctx.undo_manager.can_undo
        with ctx.without_tracking():
            thing.note = "quiet"
        ctx.process_pending_changes()
        assert not ctx.undo_manager.can_undo
        thing.note = "loud"
        ctx.process_pending_changes()
        assert ctx.undo_manager.can_undo


def test_nested_without_tracking_blocks_are_counted(tmp_path: Path) -> None:
    with opened(tmp_path, {"Thing": {"name": "string?"}}) as ctx:
        thing = ctx.insert("Thing")
        ctx.save()
        with ctx.without_tracking():
            with ctx.without_tracking():
                thing.name = "a"
            thing.name = "b"
            assert not ctx.has_changes
        thing.name = "c"
        assert ctx.has_changes


def test_undo_and_redo_send_snapshot_events(tmp_path: Path) -> None:
    told: list[SnapshotEvents] = []

    def awake(self: Any, events: SnapshotEvents) -> None:
        told.append(events)
        self.note = "awake"

    with opened(tmp_path, {"Thing": {"name": "string?", "note": "string?"}}, awake_from_snapshot_events=awake) as ctx:
        ctx.undo_manager = UndoManager()
        thing = ctx.insert("Thing", name="a")
        ctx.process_pending_changes()
        for step, events in [(ctx.undo, SnapshotEvents.UNDO_INSERTION), (ctx.redo, SnapshotEvents.UNDO_DELETION)]:
            step()
            assert told == [events]
            told.clear()
        ctx.save()
        for name, events in [("b", SnapshotEvents.UNDO_UPDATE), (None, SnapshotEvents.UNDO_DELETION)]:
            if name is None:
                ctx.delete(thing)
            else:
                thing.name = name
            ctx.process_pending_changes()
            told.clear()
            ctx.undo()
            assert told == [events]
            assert thing.note == "awake"


def test_merge_policy_sends_a_snapshot_event(tmp_path: Path) -> None:
    told: list[SnapshotEvents] = []
    with opened(
        tmp_path,
        {"Thing": {"name": "string?", "note": "string?"}},
        awake_from_snapshot_events=lambda self, events: told.append(events),
    ) as ctx:
        thing = ctx.insert("Thing", name="a")
        ctx.save()
        other = ctx.container.context()
        other.fetch("Thing")[0].set(name="b")
        other.save()
        told.clear()
        ctx.merge_policy = MergePolicy.STORE_TRUMP
        thing.set(name="c")
        ctx.save()
        assert thing.name == "b"
        assert told == [SnapshotEvents.MERGE_POLICY]


def test_faults_fire_within_hooks_100_levels_deep(tmp_path: Path) -> None:
    fired: list[int] = []

    def awake(self: Any) -> None:
        following = self.next
        if following is not None:
            assert following.number == self.number + 1
        fired.append(self.number)

    definition: dict[str, Any] = {"Thing": {"number": "int32", "next": "to-one Thing?"}}
    with opened(tmp_path, definition, awake_from_fetch=awake) as ctx:
        following = None
        for number in reversed(range(100)):
            following = ctx.insert("Thing", number=number, next=following)
        following = None
        ctx.save()
        ctx.reset()
        assert ctx.fetch("Thing", "number == 0")[0].number == 0
        assert fired == list(reversed(range(100)))


@pytest.mark.parametrize(("rounds", "fits"), [(999, True), (1000, False)])
def test_will_save_hook_may_change_objects_in_1000_rounds(tmp_path: Path, rounds: int, fits: bool) -> None:
    def will_save(self: Any) -> None:
        if self.number < rounds:
            self.number += 1

    with opened(tmp_path, {"Thing": {"number": "int32 = 0", "name": "string?"}}, will_save=will_save) as ctx:
        thing = ctx.insert("Thing")
        if fits:
            ctx.save()
            assert thing.committed_value("number") == rounds
            return
        with pytest.raises(ValidationError) as caught:
            ctx.save()
        error = caught.value
        assert (error.code, error.entity, error.key, error.object_uri) == (1550, "Thing", "number", thing.id.uri)
        assert ctx.has_changes
        assert ctx.container.context().count("Thing") == 0


def test_deletion_remains_when_its_repeated_hook_raises(tmp_path: Path) -> None:
    calls: list[bool] = []

    def prepare(self: Any) -> None:
        calls.append(self.is_deleted)
        if self.is_deleted:
            raise ValueError("not again")

    with opened(tmp_path, {"Thing": {"name": "string?"}}, prepare_for_deletion=prepare) as ctx:
        thing = ctx.insert("Thing")
        ctx.save()
        ctx.delete(thing)
        with pytest.raises(CallbackError, match="not again"):
            ctx.delete(thing)
        assert calls == [False, True]
        assert thing.is_deleted
        ctx.save()
        assert ctx.count("Thing") == 0


@pytest.mark.parametrize("hook", ["will_turn_into_fault", "did_turn_into_fault"])
def test_object_becomes_a_fault_even_if_its_hook_raises(tmp_path: Path, hook: str) -> None:
    def fail(self: Any) -> None:
        raise ValueError("no fault")

    with opened(tmp_path, {"Thing": {"name": "string?"}}, **{hook: fail}) as ctx:
        things = [ctx.insert("Thing", name=name) for name in "abc"]
        ctx.save()
        with pytest.raises(CallbackError, match="no fault") as caught:
            ctx.refresh(things[0], merge=False)
        assert (caught.value.entity, caught.value.object_uri) == ("Thing", things[0].id.uri)
        assert things[0].is_fault
        assert things[0].name == "a"
        with pytest.raises(CallbackError, match="no fault"):
            ctx.reset()
        for thing in things:
            with pytest.raises(ObjectGoneError):
                _ = thing.name


def test_save_calls_hooks_and_validators_in_a_fixed_order(tmp_path: Path) -> None:
    order: list[str] = []

    def note(word: str) -> Callable[..., None]:
        return lambda self, *arguments: order.append(word)

    model = bound(
        {"Thing": {"name": "string? max 3", "rank": "int32?"}},
        will_save=note("will"),
        validate_name=note("method of the name"),
        validate_for_insert=note("method of the object"),
        did_save=note("did"),
    )
    model["Thing"].validator("name", note("validator of the name")).validator(note("validator of the object"))
    with Container(model, tmp_path / "a.sqlite", sync="normal", unsaved="discard") as container:
        ctx = container.context()
        ctx.insert("Thing", name="a")
        ctx.save()
        checks = [
            "validator of the name",
            "method of the name",
            "validator of the object",
            "method of the object",
        ]
        assert order == ["will", *checks, "did"]
        # An invalid value is found before the object's hook is called, and nothing is saved.
        order.clear()
        ctx.insert("Thing", name="long")
        with pytest.raises(ValidationError, match="too long"):
            ctx.save()
        assert order == ["will", "validator of the name", "method of the name"]


def test_hooks_cannot_undo_redo_or_refresh(tmp_path: Path) -> None:
    refused: list[str] = []

    def harm(self: Any) -> None:
        context = self.context
        for body in (context.undo, context.redo, lambda: context.refresh(self, merge=True)):
            with pytest.raises(InvalidArgumentError, match="a hook or validator must not ") as caught:
                body()
            refused.append(caught.value.message)

    with opened(tmp_path, {"Thing": {"name": "string?"}}, will_save=harm) as ctx:
        ctx.undo_manager = UndoManager()
        ctx.insert("Thing")
        ctx.save()
        assert len(refused) == 3
