"""Operations that advance a pinned context, and the reads that use its pinned state."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

import corestone
from corestone import (
    Container,
    Context,
    Coordinator,
    CorestoneError,
    InvalidArgumentError,
    ManagedObject,
    Model,
    ObjectGoneError,
    QueryGeneration,
    Status,
    UnsupportedError,
    ValidationError,
)

PEOPLE: dict[str, Any] = {
    "Person": {"name": "string", "age": "int32?", "team": "to-one Team? inverse members"},
    "Team": {"name": "string?", "members": "to-many Person inverse team"},
}


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    with Container(Model(PEOPLE), tmp_path / "store.sqlite", sync="normal", unsaved="discard") as opened:
        team = opened.insert("Team", {"name": "A"})
        opened.insert("Person", [{"name": name, "age": 1, "team": team["@id"]} for name in ("Ada", "Bob", "Eve")])
        yield opened


def names(context: Context) -> list[str]:
    return [each.name for each in context.fetch("Person", sort="name")]


def rename(container: Container, old: str, new: str) -> None:
    assert len(container.update("Person", "name == %@", {"name": new}, old)) == 1


def refused(reader: Context) -> None:
    reader.insert("Person")
    with pytest.raises(ValidationError):
        reader.save()
    reader.rollback()


def conflicting(reader: Context) -> None:
    reader.fetch("Person", "name == 'Ada'")[0].age = 9
    with pytest.raises(corestone.ConflictError):
        reader.save()
    reader.rollback()


def edited(reader: Context) -> None:
    reader.fetch("Person", "name == 'Bob'")[0].age = 9
    reader.rollback()


def saved(reader: Context) -> None:
    reader.fetch("Person", "name == 'Bob'")[0].age = 9
    reader.save()


STAYS: list[Callable[[Context], Any]] = [
    lambda reader: reader.refresh_all(),
    lambda reader: reader.refresh(reader.fetch("Person")[0]),
    lambda reader: reader.rollback(),
    lambda reader: reader.save(),
    lambda reader: reader.process_pending_changes(),
    lambda reader: reader.count("Team"),
    edited,
    refused,
    conflicting,
]


@pytest.mark.parametrize("act", STAYS)
def test_listed_operations_keep_the_generation(container: Container, act: Callable[[Context], Any]) -> None:
    reader = container.context()
    reader.pin()
    assert names(reader) == ["Ada", "Bob", "Eve"]
    generation = reader.query_generation
    rename(container, "Ada", "Ann")
    act(reader)
    assert reader.query_generation == generation
    reader.refresh_all()
    assert names(reader) == ["Ada", "Bob", "Eve"]
    assert names(container.context()) == ["Ann", "Bob", "Eve"]


MOVES: list[tuple[Callable[[Context], Any], bool]] = [
    (saved, False),
    (lambda reader: reader.merge_remote_changes({"updated": [reader.fetch("Team")[0].id.uri]}), False),
    (lambda reader: reader.reset(), True),
    (lambda reader: reader.pin(), True),
]


@pytest.mark.parametrize(("act", "is_current"), MOVES)
def test_listed_operations_advance_the_generation(
    container: Container, act: Callable[[Context], Any], is_current: bool
) -> None:
    reader = container.context()
    reader.pin()
    assert names(reader) == ["Ada", "Bob", "Eve"]
    generation = reader.query_generation
    rename(container, "Ada", "Ann")
    act(reader)
    moved = reader.query_generation
    assert moved is not None
    assert moved != generation
    assert moved.is_current == is_current
    if is_current:  # the next read pins it
        rename(container, "Ann", "Amy")
    reader.refresh_all()
    assert names(reader) == ["Amy" if is_current else "Ann", "Bob", "Eve"]
    rename(container, "Eve", "Zoe")
    reader.refresh_all()
    assert names(reader)[2] == "Eve"


READS: dict[str, Callable[[Context, Any], Any]] = {
    "fetch": lambda reader, ada: [each.name for each in reader.fetch("Person", sort="name")],
    "count": lambda reader, ada: reader.count("Person", "name == 'Ada'"),
    "ids": lambda reader, ada: len(reader.fetch_ids("Person")),
    "rows": lambda reader, ada: sorted(row["name"] for row in reader.fetch_rows("Person", columns=["name"])),
    "sum": lambda reader, ada: reader.sum("Person", "age"),
    "predicate": lambda reader, ada: len(reader.fetch("Person", "team.name == 'A'")),
    "fault": lambda reader, ada: reader.existing(ada).name,
    "to-many": lambda reader, ada: sorted(each.name for each in reader.fetch("Team")[0].members),
    "child": lambda reader, ada: [each.name for each in reader.child().fetch("Person", sort="name")],
}


def read_all(reader: Context, ada: Any) -> dict[str, Any]:
    return {name: read(reader, ada) for name, read in READS.items()}


def test_every_read_uses_the_pinned_generation(container: Container) -> None:
    pinned, again, newest = (container.context() for _ in range(3))
    ada = pinned.fetch("Person", "name == 'Ada'")[0].id
    token = container.coordinator.query_generation()
    before = read_all(container.context(), ada)
    rename(container, "Ada", "Ann")
    container.update("Team", None, {"name": "B"})
    container.insert("Person", {"name": "New", "team": container.read("Team")[0]["@id"]})
    container.delete("Person", "name == 'Bob'")
    pinned.reset()
    for reader in (pinned, again):
        reader.pin(token)
    assert read_all(pinned, ada) == read_all(again, ada) == before
    assert read_all(newest, ada) == {
        "fetch": ["Ann", "Eve", "New"], "count": 0, "ids": 3, "rows": ["Ann", "Eve", "New"], "sum": 2, "predicate": 0,
        "fault": "Ann", "to-many": ["Ann", "Eve", "New"], "child": ["Ann", "Eve", "New"],
    }  # fmt: skip
    # The token holds the state, whatever the contexts do.
    for reader in (pinned, again):
        reader.unpin()
        reader.refresh_all()
    third = container.context()
    third.pin(token)
    assert names(third) == ["Ada", "Bob", "Eve"]


@pytest.mark.parametrize("read", ["fetch", "count", "fault"])
def test_first_read_sets_the_generation(container: Container, read: str) -> None:
    reader = container.context()
    ada = reader.fetch("Person", "name == 'Ada'")[0]
    reader.refresh_all()
    reader.pin()
    assert reader.query_generation == QueryGeneration.current()
    rename(container, "Ada", "Ann")
    if read == "fault":
        assert ada.name == "Ann"
    elif read == "count":
        assert reader.count("Person", "name == 'Ann'") == 1
    else:
        assert names(reader) == ["Ann", "Bob", "Eve"]
    generation = reader.query_generation
    assert generation is not None
    assert not generation.is_current
    rename(container, "Ann", "Amy")
    reader.refresh_all()
    assert names(reader) == ["Ann", "Bob", "Eve"]


def test_context_pinned_to_a_token_catches_up_at_refresh(container: Container) -> None:
    reader = container.context()
    reader.automatically_merges = True
    reader.pin(container.coordinator.query_generation())
    people = reader.fetch("Person", sort="name")
    rename(container, "Ada", "Ann")
    reader.process_pending_changes()
    assert [each.name for each in people] == ["Ada", "Bob", "Eve"]
    people[1].age = 5
    reader.save()  # moves it on, and what was passed over is not merged
    assert people[0].name == "Ada"
    reader.refresh_all()
    assert people[0].name == "Ann"


def test_cursor_keeps_its_generation(container: Container) -> None:
    reader = container.context()
    reader.pin()
    found = iter(reader.stream("Person", sort="name", batch=1))
    names_found = [next(found).name]
    rename(container, "Bob", "Ben")
    container.delete("Person", "name == 'Eve'")
    reader.unpin()
    assert reader.query_generation is None
    names_found += [each.name for each in found]
    assert names_found == ["Ada", "Bob", "Eve"]
    assert sorted(each.name for each in container.context().fetch("Person")) == ["Ada", "Ben"]


@pytest.mark.parametrize("type", ["XML", "Binary", "InMemory"])
def test_pin_has_no_effect_on_stores_without_generations(tmp_path: Path, type: str) -> None:
    with Container(Model(PEOPLE), tmp_path / "store", type=type) as container:
        container.insert("Person", {"name": "Ada"})
        assert container.coordinator.query_generation() is None
        reader = container.context()
        reader.pin()
        assert names(reader) == ["Ada"]
        assert reader.query_generation is None
        rename(container, "Ada", "Ann")
        reader.refresh_all()
        assert names(reader) == ["Ann"]


def test_pin_affects_only_stores_with_generations(tmp_path: Path) -> None:
    model = Model(PEOPLE)
    model.configuration("People", "Person", "Team")
    with Coordinator(model) as coordinator:
        stores = [coordinator.add_store(tmp_path / type, type=type) for type in ("SQLite", "XML")]
        writer = coordinator.context()
        people = [writer.insert("Person", name=name) for name in ("a", "b")]
        for person, store in zip(people, stores):
            writer.assign(person, store)
        writer.save()
        reader = coordinator.context()
        reader.pin()
        assert names(reader) == ["a", "b"]
        for person in people:
            person.name += "2"
        writer.save()
        reader.refresh_all()
        assert names(reader) == ["a", "b2"]


def test_removing_a_store_keeps_the_pin_of_the_others(tmp_path: Path) -> None:
    with Coordinator(Model(PEOPLE)) as coordinator:
        stores = [coordinator.add_store(tmp_path / name) for name in ("one", "two", "three")]
        writer = coordinator.context()
        people = [writer.insert("Person", name=name) for name in ("1", "2", "3")]
        for person, store in zip(people, stores):
            writer.assign(person, store)
        writer.save()
        token = coordinator.query_generation()
        assert token is not None
        for person in people:
            person.name += "!"
        writer.save()
        coordinator.remove_store(stores[1])
        reader = coordinator.context()
        with pytest.raises(ObjectGoneError) as caught:
            reader.pin(token)
        assert str(tmp_path / "two") in caught.value.message
        assert str(tmp_path / "one") not in caught.value.message
        assert reader.query_generation == token
        assert names(reader) == ["1", "3"]
        # One that comes later is in no state.
        late = coordinator.add_store(tmp_path / "late")
        person = writer.insert("Person", name="late")
        writer.assign(person, late)
        writer.save()
        assert names(reader) == ["1", "3"]
        with pytest.raises(ObjectGoneError) as gone:
            reader.existing(person.id)
        assert gone.value.code == 133000
        reader.pin()
        assert names(reader) == ["1!", "3!", "late"]


def test_failed_pin_leaves_the_context_unpinned(container: Container, tmp_path: Path) -> None:
    child = container.context().child()
    with pytest.raises(InvalidArgumentError) as caught:
        child.pin()
    assert caught.value.status == Status.INVALID_ARGUMENT
    with Container(Model(PEOPLE), tmp_path / "r.sqlite", journal="rollback") as rollback:
        for token in (None, container.coordinator.query_generation()):
            reader = rollback.context()
            with pytest.raises((UnsupportedError, InvalidArgumentError)):
                reader.pin(token)
            assert reader.query_generation is None
            assert names(reader) == []
    reader = container.context()
    reader.pin()
    assert names(reader) == ["Ada", "Bob", "Eve"]
    generation = reader.query_generation
    with Container(Model(PEOPLE), tmp_path / "other.sqlite") as other:
        with pytest.raises(InvalidArgumentError, match="another coordinator"):
            reader.pin(other.coordinator.query_generation())
        assert reader.query_generation == generation


def test_pin_fails_within_a_hook(tmp_path: Path) -> None:
    errors: list[CorestoneError] = []

    class Person(ManagedObject, entity="Person"):
        name: Any

        def awake_from_fetch(self) -> None:
            try:
                assert self.context is not None
                self.context.pin()
            except CorestoneError as error:
                errors.append(error)

    with Container(Model(PEOPLE).bind(Person), tmp_path / "store.sqlite") as container:
        container.insert("Person", {"name": "Ada"})
        errors.clear()
        reader = container.context()
        assert names(reader) == ["Ada"]
        assert [each.status for each in errors] == [Status.INVALID_ARGUMENT]
        assert reader.query_generation is None
