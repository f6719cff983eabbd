"""Persistent history: tokens, transactions and changes, merging, expiry and deletion.

Numbers such as H003 are scenarios of ../shared/scenarios-history.jsonl.
"""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import date, datetime, timedelta, timezone
from itertools import islice
from pathlib import Path
from typing import Any, Callable
from uuid import UUID

import pytest
from conftest import Run, environment

import corestone
from corestone import (
    Container,
    Context,
    Coordinator,
    CoreDataCode,
    Expression,
    HistoryChange,
    HistoryChangeKind,
    HistoryCursor,
    HistoryToken,
    HistoryTokenExpiredError,
    HistoryTokenStoreError,
    HistoryTransaction,
    InvalidArgumentError,
    InvalidHandleError,
    Model,
    NumberRangeError,
    ObjectGoneError,
    ObjectID,
    Predicate,
    PredicateError,
    PredicateSyntaxError,
    RemoteChange,
    Sort,
    SortDescriptor,
    Status,
    Store,
    StoreReadOnlyError,
    TypeMismatchError,
    WrongThreadError,
    handle_count,
)
from corestone.object import object_id

MODEL: dict[str, dict[str, Any]] = {
    "Car": {"maker": "string?", "model": "string?", "numberPlate": "string? preserved"},
    "SportCar": {"@parent": "Car", "power": "int32? preserved"},
    "Person": {
        "name": "string? preserved",
        "age": "int32 = 0",
        "id": "uuid? preserved",
        "scratch": "string? transient",
        "team": "to-one Team? inverse members",
        "friends": "to-many Person inverse friends",
    },
    "Team": {"title": "string?", "members": "to-many ordered Person inverse team delete cascade"},
}
INSERT, UPDATE, DELETE = HistoryChangeKind.INSERT, HistoryChangeKind.UPDATE, HistoryChangeKind.DELETE
LONG_AGO = datetime(1, 1, 2, tzinfo=timezone.utc)
FAR_AWAY = datetime(9999, 12, 30, tzinfo=timezone.utc)


def opened(path: Path, **options: Any) -> Container:
    return Container(Model(MODEL), path, sync="normal", history=True, unsaved="discard", **options)


@pytest.fixture
def store_path(tmp_path: Path) -> Path:
    return tmp_path / "people.sqlite"


@pytest.fixture
def container(store_path: Path) -> Iterator[Container]:
    with opened(store_path) as found:
        yield found


@pytest.fixture
def coordinator(container: Container) -> Coordinator:
    return container.coordinator


@pytest.fixture
def other(container: Container, store_path: Path) -> Iterator[Container]:
    """Another container on the same file, which stands for another process."""
    with opened(store_path) as found:
        yield found


def context(container: Container, author: str | None = None, name: str | None = None) -> Context:
    made = container.context()
    made.transaction_author, made.name = author, name
    return made


def save_people(ctx: Context, *names: str) -> None:
    """Saves each person in a transaction of its own."""
    for name in names:
        ctx.insert("Person", name=name)
        ctx.save()


def token_of(coordinator: Coordinator, *stores: Store) -> HistoryToken:
    found = coordinator.history_token(*stores)
    assert found is not None
    return found


def numbers(history: HistoryCursor) -> list[int]:
    return [each.number for each in history]


def names_in(history: HistoryCursor, ctx: Context) -> list[str]:
    return [ctx.existing(change.object_id).name for each in history for change in each.changes]


def described(history: HistoryCursor) -> list[list[tuple[HistoryChangeKind, str, list[str]]]]:
    return [[(each.kind, each.entity_name, each.updated_properties) for each in one.changes] for one in history]


class Cars:
    """The story of H013 to H017: two containers on one file, three transactions and the tokens around them."""

    def __init__(self, first: Container, second: Container) -> None:
        self.first, self.second = first.coordinator, second.coordinator
        self.one = context(first, "author1", "viewContext1")
        self.two = context(second, "author2", "viewContext2")
        self.tokens: list[HistoryToken] = []
        self._keep_token()
        cars = [self.one.insert("Car", maker=maker) for maker in ("A", "B")]
        self.one.insert("SportCar", maker="C")
        self.one.save()
        self._keep_token()
        self.person: Any = self.two.insert("Person", name="Ada")
        self.two.save()
        self._keep_token()
        person = self.one.fetch("Person")[0]
        person.name = "Ann"
        self.one.delete(cars[1])
        self.one.save()
        self._keep_token()

    def _keep_token(self) -> None:
        mine, theirs = token_of(self.first), token_of(self.second)
        assert mine == theirs
        assert mine.to_json() == theirs.to_json()
        self.tokens.append(mine)


@pytest.fixture
def cars(container: Container, other: Container) -> Cars:
    return Cars(container, other)


# -------- tokens -------------------------------------------------------------------------------------------


def test_H003_new_store_has_a_token_and_no_transactions(container: Container, coordinator: Coordinator) -> None:
    assert list(coordinator.history(since=None)) == []
    token = token_of(coordinator)
    assert token.transaction(container.store) == 0
    cursor = coordinator.history(since=token)
    assert list(cursor) == []
    ctx = container.context()
    told: list[Any] = []
    with ctx.observe("did_merge_object_ids", lambda _, changes: told.append(changes)):
        ctx.merge_history(coordinator.history(since=token))
    assert told == []
    assert ctx.history_token is None
    assert cursor.token == token


def test_token_moves_with_each_save(container: Container, coordinator: Coordinator) -> None:
    ctx = container.context()
    tokens = [token_of(coordinator)]
    for name in "abc":
        save_people(ctx, name)
        tokens.append(token_of(coordinator))
        assert ctx.history_token == tokens[-1]
    assert [each.transaction(container.store) for each in tokens] == [0, 1, 2, 3]
    assert [each.transaction(container.store.identifier) for each in tokens] == [0, 1, 2, 3]
    assert tokens[0].transaction(str(UUID(int=1)).upper()) is None
    ctx.save()  # without changes
    assert token_of(coordinator) == tokens[-1]
    assert sorted([tokens[2], tokens[0], tokens[3], tokens[1]]) == tokens
    for place, one in enumerate(tokens):
        for also, two in enumerate(tokens):
            assert (one < two, one <= two, one > two, one >= two, one == two, one != two) == (
                place < also, place <= also, place > also, place >= also, place == also, place != also,
            )  # fmt: skip


def test_tokens_of_different_stores_have_no_order() -> None:
    a, b = (str(UUID(int=number)).upper() for number in (10, 11))
    one, two = HistoryToken.at(a, 3), HistoryToken.at(b, 3)
    both = HistoryToken.from_json(f'{{"{a}": 3, "{b}": 3}}')
    crossed = HistoryToken.from_json(f'{{"{a}": 2, "{b}": 4}}')
    assert not any((one < two, one <= two, one > two, one >= two, one == two))
    assert not any((both < crossed, both <= crossed, both > crossed, both >= crossed, both == crossed))
    # A store that one of them does not know is at its beginning there.
    assert one < both
    assert both > two
    assert HistoryToken.at(a, 0) == HistoryToken.from_json("{}")
    assert len({HistoryToken.at(a, 0), HistoryToken.from_json("{}")}) == 1
    assert len({one, two, both, crossed, HistoryToken.at(a, 3)}) == 4
    assert one != 3
    with pytest.raises(TypeError):
        one < 3  # noqa: B015


def test_token_survives_text_bytes_pickle_and_copy(container: Container, coordinator: Coordinator) -> None:
    save_people(container.context(), "a", "b")
    token = token_of(coordinator)
    assert token.to_json() == f'{{"{container.store.identifier}": 2}}'
    copies = [
        HistoryToken.from_json(token.to_json()),
        HistoryToken.from_bytes(bytes(token)),
        HistoryToken.from_bytes(bytearray(bytes(token))),
        *(pickle.loads(pickle.dumps(token, protocol)) for protocol in range(pickle.HIGHEST_PROTOCOL + 1)),
        copy.copy(token),
        copy.deepcopy(token),
        HistoryToken.at(container.store, 2),
        HistoryToken.at(container.store.identifier, 2),
        eval(repr(token)),
    ]
    for each in copies:
        assert each == token
        assert hash(each) == hash(token)
        assert each.to_json() == token.to_json()
        assert list(coordinator.history(since=each)) == []


def test_token_is_valid_in_another_process(
    container: Container, coordinator: Coordinator, store_path: Path, run_python: Run
) -> None:
    save_people(container.context(), "a")
    token = token_of(coordinator)
    save_people(container.context(), "b", "c")
    program = """
import pickle, sys
from corestone import Container, HistoryToken, open
token = pickle.loads(bytes.fromhex(sys.argv[2]))
with open(sys.argv[1]) as container:
    cursor = container.coordinator.history(since=token)
    print([each.number for each in cursor], cursor.token.to_json(), token == HistoryToken.from_json(sys.argv[3]))
"""
    done = run_python(program, str(store_path), pickle.dumps(token).hex(), token.to_json())
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"[2, 3] {token_of(coordinator).to_json()} True"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "JSON"),
        ("{", "JSON"),
        ("[]", "is not a JSON object"),
        ("7", "is not a JSON object"),
        ('{"x": 1}', '"x" is not a UUID'),
        ('{"5B64AD3D-98E1-4E7E-AF4D-B2A1A1C7B6E2": -1}', "must be an integer from 0 to 9223372036854775807"),
        ('{"5B64AD3D-98E1-4E7E-AF4D-B2A1A1C7B6E2": 1.5}', "must be an integer from 0 to 9223372036854775807"),
        ('{"5B64AD3D-98E1-4E7E-AF4D-B2A1A1C7B6E2": null}', "must be an integer from 0 to 9223372036854775807"),
        ('{"5B64AD3D-98E1-4E7E-AF4D-B2A1A1C7B6E2": 1e400}', ""),
    ],
)
def test_text_that_is_not_a_token_is_rejected(text: str, complaint: str) -> None:
    with pytest.raises(InvalidArgumentError) as raised:
        HistoryToken.from_json(text)
    assert complaint in raised.value.message
    with pytest.raises(InvalidArgumentError):
        HistoryToken.from_bytes(text.encode())


def test_misuse_of_tokens_is_rejected(container: Container) -> None:
    with pytest.raises(TypeError, match="history_token"):
        HistoryToken()
    wrong: list[tuple[type[Exception], Callable[[], Any], str]] = [
        (InvalidArgumentError, lambda: HistoryToken.at("nonsense", 1), "nonsense"),
        (InvalidArgumentError, lambda: HistoryToken.at(container.store, -1), "number must be at least 0"),
        (NumberRangeError, lambda: HistoryToken.at(container.store, 2**63), "number must be 0 to"),
        (TypeMismatchError, lambda: HistoryToken.at(5, 1), "store must be a Store or its identifier"),  # type: ignore[arg-type]
        (TypeMismatchError, lambda: HistoryToken.at(container.store, "1"), "number"),  # type: ignore[arg-type]
        (TypeMismatchError, lambda: HistoryToken.from_json(b"{}"), "str"),  # type: ignore[arg-type]
        (TypeMismatchError, lambda: HistoryToken.from_bytes("{}"), "data must be bytes"),  # type: ignore[arg-type]
        (InvalidArgumentError, lambda: HistoryToken.from_bytes(b"\xff"), "not UTF-8"),
    ]
    for kind, call, complaint in wrong:
        with pytest.raises(kind, match=complaint):
            call()
    ctx = container.context()
    with pytest.raises(TypeMismatchError, match=r"Person\.name takes String"):
        ctx.insert("Person", name=HistoryToken.from_json("{}"))


def test_store_without_history_has_no_token(tmp_path: Path) -> None:
    with Container(Model(MODEL), tmp_path / "plain.sqlite", sync="normal") as container:
        ctx = container.context()
        save_people(ctx, "a")
        coordinator = container.coordinator
        assert coordinator.history_token() is None
        assert coordinator.history_token(container.store) is None
        assert ctx.history_token is None
        assert list(coordinator.history()) == []
        assert coordinator.history_count() == 0
        assert coordinator.history_ids() == []
        assert coordinator.delete_history(FAR_AWAY) == (0, 0)


@pytest.mark.parametrize("type", ["XML", "Binary", "InMemory"])
def test_stores_of_other_types_have_no_history(tmp_path: Path, type: str) -> None:
    with Container(Model(MODEL), tmp_path / "people", type=type, history=type != "InMemory") as container:
        save_people(container.context(), "a")
        assert container.coordinator.history_token() is None
        assert list(container.coordinator.history()) == []


def test_H009_tokens_can_be_compared_in_predicates(container: Container, coordinator: Coordinator) -> None:
    ctx = container.context()
    first = token_of(coordinator)
    save_people(ctx, "a")
    second = token_of(coordinator)
    save_people(ctx, "b")
    third = token_of(coordinator)
    assert numbers(coordinator.history("token == %@", second)) == [1]
    assert numbers(coordinator.history("token >= %@", second)) == [1, 2]
    assert numbers(coordinator.history("token <= %@", third)) == [1, 2]
    assert numbers(coordinator.history("token > %@", second)) == [2]
    assert numbers(coordinator.history("token != %@", second)) == [2]
    assert numbers(coordinator.history("token IN %@", [second, third])) == [1, 2]
    assert numbers(coordinator.history(since=first)) == [1, 2]
    with pytest.raises(PredicateError, match="before the first transaction") as raised:
        coordinator.history("token >= %@", first)
    assert raised.value.code == CoreDataCode.PERSISTENT_HISTORY_TOKEN_EXPIRED
    assert not isinstance(raised.value, HistoryTokenExpiredError)
    predicate = Predicate("token == %@", second)
    assert pickle.loads(pickle.dumps(predicate)) == predicate
    assert Predicate.comparison(Expression.key_path("token"), corestone.Operator.EQUAL, second) == predicate


def test_context_token_is_that_of_its_last_save(container: Container, coordinator: Coordinator) -> None:
    ctx = container.context()
    told: list[HistoryToken | None] = []
    with ctx.observe("did_save", lambda saving, _: told.append(saving.history_token)):
        save_people(ctx, "a")
        save_people(container.context(), "b")
        save_people(ctx, "c")
    assert [each.transaction(container.store) if each is not None else None for each in told] == [1, 3]
    assert ctx.history_token == token_of(coordinator)
    assert ctx.batch_insert("Person", [{"name": "d"}, {"name": "e"}]) == 2
    assert ctx.history_token == HistoryToken.at(container.store, 4)
    child = ctx.child()
    child.insert("Person", name="f")
    child.save()
    assert child.history_token is None


def test_remote_change_has_a_token(container: Container, other: Container) -> None:
    told: list[RemoteChange | None] = []
    save_people(container.context(), "a")
    options: dict[str, Any] = {"posts_own_changes": True, "watch_interval": 0.1}
    with opened(Path(container.path), **options) as watching:
        with watching.coordinator.observe("remote_change", lambda _, changes: told.append(changes.remote)):
            save_people(other.context(), "b")
            deadline = time.monotonic() + 60
            while not told and time.monotonic() < deadline:
                time.sleep(0.01)
        change = told[-1]
        assert change is not None
        assert change.history_token == HistoryToken.at(container.store, 2)


# -------- transactions and changes -------------------------------------------------------------------------


def test_transaction_has_author_context_name_and_time(container: Container, coordinator: Coordinator) -> None:
    before = datetime.now(timezone.utc)
    save_people(context(container, "Zoë", "import"), "a")
    save_people(container.context(), "b")
    after = datetime.now(timezone.utc)
    named, plain = coordinator.history()
    program = Path(os.readlink("/proc/self/exe")).name
    for number, each in enumerate((named, plain), 1):
        assert isinstance(each, HistoryTransaction)
        assert each.number == number
        assert each.store_identifier == container.store.identifier
        assert each.bundle_identifier == each.process_identifier == program
        assert each.token == HistoryToken.at(container.store, number)
        assert each.timestamp.tzinfo is timezone.utc
        # The library reads the clock with less precision than Python, and Python rounds.
        assert before - timedelta(milliseconds=20) <= each.timestamp <= after + timedelta(milliseconds=20)
    assert (named.author, named.context_name) == ("Zoë", "import")
    assert (plain.author, plain.context_name) == (None, None)
    assert repr(named) == '<HistoryTransaction 1 by "Zoë": 1 change>'
    assert repr(plain) == "<HistoryTransaction 2: 1 change>"


def test_changes_of_every_kind_are_recorded(container: Container, coordinator: Coordinator) -> None:
    ctx = container.context()
    key = UUID(int=77)
    ada = ctx.insert("Person", name="Ada", id=key)
    team = ctx.insert("Team", title="A")
    ctx.save()
    ada_id = object_id(ada)
    ada.age, ada.team, ada.scratch = 36, team, "not stored"
    ctx.save()
    sport = ctx.insert("SportCar", power=300, numberPlate="X 1")
    ctx.save()
    ctx.delete(sport)
    ctx.delete(ada)
    ctx.save()
    history = list(coordinator.history())
    ascending = [change.number for each in history for change in each.changes]
    assert ascending == sorted(set(ascending))
    assert [len(each.changes) for each in history] == [2, 2, 1, 3]
    inserted, updated, _, deleted = ({(each.kind, each.entity_name): each for each in one.changes} for one in history)
    assert set(inserted) == {(INSERT, "Person"), (INSERT, "Team")}
    change = inserted[INSERT, "Person"]
    assert isinstance(change, HistoryChange)
    assert isinstance(change.object_id, ObjectID)
    assert change.object_id is change.object_id
    assert change.object_id == ada_id
    assert change.object_uri == change.object_id.uri == ada_id.uri
    assert (change.updated_properties, change.tombstone) == ([], None)
    assert set(updated) == {(UPDATE, "Person"), (UPDATE, "Team")}
    assert sorted(updated[UPDATE, "Person"].updated_properties) == ["age", "team"]
    assert updated[UPDATE, "Person"].tombstone is None
    # The preserved attribute of the superentity comes with those of the subentity.
    assert deleted[DELETE, "SportCar"].tombstone == {"numberPlate": "X 1", "power": 300}
    assert deleted[DELETE, "Person"].tombstone == {"name": "Ada", "id": key}
    assert deleted[DELETE, "Person"].updated_properties == []
    assert repr(deleted[DELETE, "Person"]) == f"<HistoryChange {deleted[DELETE, 'Person'].number}: delete Person/p1>"


def test_tombstone_values_have_the_types_of_their_attributes(tmp_path: Path) -> None:
    from decimal import Decimal

    forms = {
        "flag": ("bool", True),
        "small": ("int16", -7),
        "large": ("int64", 2**53 + 1),
        "real": ("double", 0.1),
        "single": ("float", 0.5),
        "price": ("decimal", Decimal("12.5")),
        "text": ("string", "naïve\x00"),
        "made": ("date", datetime(2024, 2, 29, 12, 30, tzinfo=timezone.utc)),
        "data": ("binary", b"\x00\xff"),
        "key": ("uuid", UUID(int=9)),
        "home": ("uri", "https://example.org/"),
        "gone": ("string", None),
    }
    model = Model({"Thing": {name: f"{form}? preserved" for name, (form, _) in forms.items()}})
    with Container(model, tmp_path / "things.sqlite", history=True) as container:
        ctx = container.context()
        thing = ctx.insert("Thing", **{name: value for name, (_, value) in forms.items()})
        ctx.save()
        ctx.delete(thing)
        ctx.save()
        (change,) = list(container.coordinator.history())[-1].changes
        expected = {name: value for name, (_, value) in forms.items() if value is not None}
        assert change.tombstone == expected
        assert {name: type(value) for name, value in change.tombstone.items()} == {
            name: type(value) for name, value in expected.items()
        }


def test_H023_tombstone_has_the_values_of_the_deleted_row(container: Container, other: Container) -> None:
    ctx = context(container, "App1")
    person = ctx.insert("Person", name="TombstoneTest", age=99)
    ctx.save()
    ctx.delete(person)
    ctx.save()
    deleted = [
        change
        for each in context(other, "App2").history(excluding_author="App2")
        for change in each.changes
        if change.kind == DELETE
    ]
    assert [each.tombstone for each in deleted] == [{"name": "TombstoneTest"}]


def test_effects_of_delete_rules_are_recorded(container: Container, coordinator: Coordinator) -> None:
    ctx = container.context()
    people = [ctx.insert("Person", name=name) for name in "abc"]
    people[2].friends = {people[0]}
    team = ctx.insert("Team", title="A", members=people[:2])
    ctx.save()
    token = token_of(coordinator)
    ctx.delete(team)
    ctx.save()
    (changes,) = described(coordinator.history(since=token))
    assert sorted(changes) == [
        (UPDATE, "Person", ["friends"]), (DELETE, "Person", []), (DELETE, "Person", []), (DELETE, "Team", []),
    ]  # fmt: skip


def test_objects_inserted_and_deleted_between_saves_are_not_recorded(
    container: Container, coordinator: Coordinator
) -> None:
    ctx = container.context()
    ada = ctx.insert("Person", name="Ada")
    ctx.delete(ctx.insert("Person", name="gone"))
    ctx.save()
    assert described(coordinator.history()) == [[(INSERT, "Person", [])]]
    ada.scratch = "transient"
    ctx.save()
    ctx.insert("Person", name="rolled back")
    ctx.rollback()
    ctx.save()
    assert coordinator.history_count() == coordinator.history_count(subject="changes") == 1


def test_object_ids_of_changes_identify_objects(
    container: Container, coordinator: Coordinator, other: Container
) -> None:
    ctx = context(other)
    people = [ctx.insert("Person", name=name) for name in "ab"]
    ctx.save()
    ctx.delete(people[1])
    ctx.save()
    inserted, deleted = coordinator.history()
    reader = container.context()
    found = {change.object_id: reader.get(change.object_id) for change in inserted.changes}
    assert {each.name for each in found.values()} == {"a", None}
    with pytest.raises(ObjectGoneError):
        reader.existing(deleted.changes[0].object_id)
    assert deleted.changes[0].object_id in {change.object_id for change in inserted.changes}
    assert set(coordinator.history_ids()) == set(found)
    assert [each.object_id.entity_name for each in inserted.changes] == ["Person", "Person"]


def test_H026_batches_are_recorded_row_by_row(container: Container, other: Container) -> None:
    writer, reader = context(container, "Batch"), context(other, "App2")
    assert writer.batch_insert("Person", [{"name": str(number), "age": number} for number in range(10)]) == 10
    history = reader.history(excluding_author="App2")
    reader.merge_history(history)
    assert reader.count("Person") == 10
    (transaction,) = other.coordinator.history()
    assert (transaction.author, len(transaction.changes)) == ("Batch", 10)
    assert {each.kind for each in transaction.changes} == {INSERT}
    writer.batch_update("Person", {"age": 50}, "age < 5")
    writer.batch_delete("Person", "age == 50")
    updated, deleted = other.coordinator.history(since=history.token)
    assert [(each.kind, each.updated_properties) for each in updated.changes] == [(UPDATE, ["age"])] * 5
    assert [each.kind for each in deleted.changes] == [DELETE] * 5
    assert sorted(each.tombstone["name"] for each in deleted.changes if each.tombstone) == list("01234")


# -------- parts of a history -------------------------------------------------------------------------------


def test_H011_transaction_keys_can_be_combined(container: Container, coordinator: Coordinator) -> None:
    start = token_of(coordinator)
    save_people(context(container, "author1", "viewContext1"), "a")
    save_people(context(container, "author2", "viewContext2"), "b")
    assert numbers(coordinator.history("author = 'author1'")) == [1]
    assert numbers(coordinator.history("author = %@ AND contextName = %@", "author1", "viewContext1")) == [1]
    assert numbers(coordinator.history("author = 'author2' AND contextName = 'viewContext1'")) == []
    reader = container.context()
    history = reader.history(since=start)
    reader.merge_history(history)
    assert history.token == token_of(coordinator)


def test_H013_tokens_are_equal_across_coordinators(cars: Cars) -> None:
    assert len(set(cars.tokens)) == 4
    assert sorted(cars.tokens) == cars.tokens


def test_H014_transactions_can_be_read_without_changes(cars: Cars) -> None:
    for coordinator in (cars.first, cars.second):
        (transaction,) = coordinator.history("token > %@", cars.tokens[2], changes=False)
        assert transaction.token == cars.tokens[3]
        # Core Data returns nil.
        with pytest.raises(InvalidArgumentError, match="changes=True"):
            _ = transaction.changes
        assert repr(transaction) == '<HistoryTransaction 3 by "author1">'
        with pytest.raises(InvalidArgumentError, match="changes=True"):
            cars.one.merge_history(transaction)
        with pytest.raises(InvalidArgumentError, match="changes=True"):
            cars.one.merge_history(coordinator.history(changes=False))


def test_H016_changed_entity_does_not_include_subentities(cars: Cars) -> None:
    found = list(
        cars.first.history(
            "changeType == %d AND (changedEntity == 'Car' OR changedEntity == 'Person')", INSERT, subject="changes"
        )
    )
    assert [(each.number, change.entity_name) for each in found for change in each.changes] == [
        (1, "Car"), (1, "Car"), (2, "Person"),
    ]  # fmt: skip
    assert cars.first.history_count("changeType == 0 AND changedEntity == 'SportCar'", subject="changes") == 1


def test_H017_token_and_predicate_are_combined(cars: Cars) -> None:
    person = cars.one.fetch("Person")[0]
    mine, theirs = object_id(person), object_id(cars.person)  # of two coordinators
    for coordinator, which in ((cars.first, mine), (cars.second, mine), (cars.first, theirs)):
        (transaction,) = coordinator.history("changedObjectID == %@", which, subject="changes", since=cars.tokens[2])
        assert [(each.kind, each.updated_properties) for each in transaction.changes] == [(UPDATE, ["name"])]
        assert coordinator.history_count("changedObjectID == %@", which, subject="changes") == 2


def test_change_keys_can_be_used_in_predicates(cars: Cars) -> None:
    def count(predicate: str, *arguments: Any) -> int:
        return cars.first.history_count(predicate, *arguments, subject="changes")

    assert cars.first.history_count(subject="changes") == 6
    assert count("author == 'author1'") == 5
    assert count("transaction.author == 'author2'") == 1
    assert count("transaction.token >= %@", cars.tokens[3]) == 2
    assert count("changeID > 4") == 2
    assert count("changeType IN %@", [UPDATE, DELETE]) == 2
    assert count("'name' IN updatedProperties") == 1
    assert count("updatedProperties CONTAINS 'age'") == 0
    assert count("transactionNumber BETWEEN {2, 3}") == 3
    assert count("storeID == %@", cars.first.stores[0].identifier) == 6
    assert count("timestamp > %@", LONG_AGO) == 6
    assert count("processID == bundleID") == 6
    # Names of Core Data's own, where they differ.
    assert count("changedID == 1") == 1


def test_H037_excluding_an_author_keeps_transactions_without_author(
    container: Container, coordinator: Coordinator
) -> None:
    save_people(context(container, "inbound"), "inbound-1")
    save_people(container.context(), "local-1")
    ctx = container.context()
    assert names_in(ctx.history(excluding_author="inbound"), ctx) == ["local-1"]
    assert coordinator.history_count(excluding_author="inbound") == 1
    assert [ctx.get(each).name for each in coordinator.history_ids(excluding_author="inbound")] == ["local-1"]
    assert coordinator.history_count(excluding_author="") == 2
    # A missing author differs from every author, as in memory and unlike in SQL.
    assert coordinator.history_count("author != 'inbound'") == 1
    assert coordinator.history_count("author == nil OR author != 'inbound'") == 1


def test_history_can_begin_at_a_date(container: Container, coordinator: Coordinator) -> None:
    ctx = container.context()
    save_people(ctx, "a", "b")
    with sqlite3.connect(container.path) as database:
        database.execute("UPDATE ATRANSACTION SET ZTIMESTAMP = 1000 * Z_PK")
    moment = datetime(2001, 1, 1, tzinfo=timezone.utc)
    assert numbers(coordinator.history(since=LONG_AGO)) == [1, 2]
    assert numbers(coordinator.history(since=moment + timedelta(seconds=999.5))) == [1, 2]
    assert numbers(coordinator.history(since=moment + timedelta(seconds=1000))) == [2]
    assert numbers(coordinator.history(since=moment + timedelta(seconds=2000))) == []
    assert numbers(coordinator.history(since=FAR_AWAY)) == []
    assert coordinator.history_count(since=moment + timedelta(seconds=1000)) == 1
    zone = timezone(timedelta(hours=-5))
    assert numbers(coordinator.history(since=(moment + timedelta(seconds=1000)).astimezone(zone))) == [2]


def test_history_honours_sort_and_limit(cars: Cars) -> None:
    history = cars.first.history
    assert numbers(history(limit=2)) == [1, 2]
    assert numbers(history(limit=0)) == numbers(history(limit=None)) == [1, 2, 3]
    assert numbers(history(sort="-transactionNumber")) == [3, 2, 1]
    assert numbers(history(sort=["author", Sort("transactionNumber", descending=True)])) == [3, 1, 2]
    assert numbers(history(sort=SortDescriptor("token", ascending=False), limit=2)) == [3, 2]
    assert numbers(history("author == 'author1'", sort="-timestamp", limit=1)) == [3]
    limited = list(history(subject="changes", limit=4))
    assert [len(each.changes) for each in limited] == [3, 1]
    by_kind = list(history(subject="changes", sort=["-changeType", "changeID"]))
    assert [(each.number, each.changes[0].kind) for each in by_kind] == [
        (3, DELETE), (3, UPDATE), (1, INSERT), (1, INSERT), (1, INSERT), (2, INSERT),
    ]  # fmt: skip
    assert all(len(each.changes) == 1 for each in by_kind)
    by_kind = list(history(subject="changes", sort="-changeType", limit=2))
    assert [each.changes[0].kind for each in by_kind] == [DELETE, UPDATE]
    with pytest.raises(InvalidArgumentError, match="sort"):
        _ = history(sort="-transactionNumber").token
    assert cars.first.history_count(limit=2) == 2
    assert cars.first.history_count(limit=4, subject="changes") == 4
    assert len(cars.first.history_ids(limit=1)) == 3


def test_history_sorts_by_every_key(cars: Cars) -> None:
    def order(*sort: Any, **options: Any) -> list[int]:
        return numbers(cars.first.history(sort=list(sort), **options))

    assert order("author", "-transactionNumber") == [3, 1, 2]
    assert order(Sort("contextName", case_insensitive=True), "timestamp") == [1, 3, 2]
    assert order("token") == order("storeID") == [1, 2, 3]
    assert order("-transaction.timestamp", "-changeID", subject="changes") == [3, 3, 2, 1, 1, 1]
    assert order("changedEntity", "changeID", subject="changes") == [1, 1, 3, 2, 3, 1]
    with pytest.raises(corestone.UnsupportedError, match="comparator"):
        order(SortDescriptor("token", selector=lambda one, other: 0))


def test_history_ids_name_each_object_once(cars: Cars) -> None:
    ids = cars.first.history_ids()
    assert len(ids) == len(set(ids)) == 4
    assert cars.first.history_ids("changeType == %d", DELETE, subject="changes") == [
        change.object_id for each in cars.first.history() for change in each.changes if change.kind == DELETE
    ]


@pytest.mark.parametrize("batch_size", [0, 1, 2, 3, 1000])
def test_batch_size_does_not_change_the_result(container: Container, coordinator: Coordinator, batch_size: int) -> None:
    save_people(container.context(), *map(str, range(7)))
    assert numbers(coordinator.history(batch_size=batch_size)) == [1, 2, 3, 4, 5, 6, 7]
    assert numbers(coordinator.history("transactionNumber IN {2, 5}", batch_size=batch_size)) == [2, 5]


@pytest.mark.parametrize(
    ("subject", "predicate", "key", "remedy"),
    [
        ("transactions", "authr == 'x'", "authr", 'did you mean "author"?'),
        ("transactions", "nonsense == 0", "nonsense", "use one of author, bundleID"),
        ("transactions", "changeType == 0", "changeType", "set the subject to changes"),
        ("transactions", "token.number == 0", "number", "compare the token itself"),
        ("changes", "nonsense == 0", "nonsense", "updatedProperties, or a key of the transaction"),
        ("changes", "transaction.nonsense == 0", "nonsense", "use one of author"),
        ("changes", "self.transaction.changeID == 0", "changeID", "use one of author"),
    ],
)
def test_predicate_with_an_unknown_key_is_rejected(
    container: Container, coordinator: Coordinator, subject: str, predicate: str, key: str, remedy: str
) -> None:
    save_people(container.context(), "a")
    for read in (lambda: list(coordinator.history(predicate, subject=subject)),
                 lambda: coordinator.history_count(predicate, subject=subject),
                 lambda: coordinator.history_ids(predicate, subject=subject)):  # fmt: skip
        with pytest.raises(PredicateError) as raised:
            read()
        assert raised.value.key == key
        assert remedy in raised.value.message


def test_sort_key_that_is_unknown_is_rejected(container: Container, coordinator: Coordinator) -> None:
    save_people(container.context(), "a")
    with pytest.raises(PredicateError, match='no key "size"'):
        coordinator.history(sort="size")


# -------- cursors ------------------------------------------------------------------------------------------


def test_cursor_continues_after_its_end(container: Container, coordinator: Coordinator, other: Container) -> None:
    ctx = container.context()
    cursor = coordinator.history()
    assert list(cursor) == []
    save_people(ctx, "a")
    assert numbers(cursor) == [1]
    assert numbers(cursor) == []
    save_people(other.context(), "b", "c")
    assert next(cursor).number == 2
    save_people(ctx, "d")
    assert numbers(cursor) == [3, 4]
    assert cursor.token == token_of(coordinator)


def test_cursor_token_follows_the_last_transaction(container: Container, coordinator: Coordinator) -> None:
    start = token_of(coordinator)
    for author in ("a", "b", "a", "b", "c"):
        save_people(context(container, author), author)
    cursor = coordinator.history("author == 'a'")
    assert cursor.token == start
    assert next(cursor).number == 1
    assert cursor.token == HistoryToken.at(container.store, 1)
    assert next(cursor).number == 3
    assert cursor.token == HistoryToken.at(container.store, 3)
    assert list(cursor) == []
    # What the predicate left out was read too.
    assert cursor.token == token_of(coordinator)
    excluding = coordinator.history(excluding_author="c", since=HistoryToken.at(container.store, 3))
    assert numbers(excluding) == [4]
    assert excluding.token == token_of(coordinator)


def test_cursor_of_a_closed_coordinator_raises(store_path: Path) -> None:
    container = opened(store_path)
    save_people(container.context(), "a", "b")
    cursor = container.coordinator.history(batch_size=1)
    change = next(cursor).changes[0]
    coordinator, ctx = container.coordinator, container.context()
    container.close()
    for use in (
        lambda: next(cursor),
        lambda: coordinator.history(),
        lambda: coordinator.history_token(),
        lambda: coordinator.history_count(),
        lambda: coordinator.history_ids(),
        lambda: coordinator.delete_history(FAR_AWAY),
        lambda: ctx.history(),
        lambda: ctx.history_token,
        lambda: ctx.merge_history(cursor),
        lambda: change.object_id,
    ):
        with pytest.raises(InvalidHandleError):
            use()
    assert change.object_uri.endswith("/Person/p1")


def test_cursor_keeps_its_coordinator_alive(store_path: Path) -> None:
    with opened(store_path) as container:
        save_people(container.context(), "a", "b")
    model = Model(MODEL)
    coordinator = Coordinator(model)
    coordinator.add_store(store_path, history=True)
    cursor = coordinator.history()
    del coordinator
    changes = [change for each in cursor for change in each.changes]
    del cursor
    assert [each.object_id.uri for each in changes] == [each.object_uri for each in changes]


def test_cursor_of_a_removed_store_raises(container: Container, coordinator: Coordinator) -> None:
    save_people(container.context(), "a", "b")
    cursor = coordinator.history(batch_size=1)
    transaction = next(cursor)
    coordinator.remove_store(container.store)
    with pytest.raises(corestone.CorestoneError):
        list(cursor)
    with pytest.raises(InvalidHandleError, match="is not open"):
        _ = transaction.changes[0].object_id
    assert coordinator.history_token() is None


def test_history_does_not_leak_handles(container: Container, coordinator: Coordinator) -> None:
    import gc

    save_people(container.context(), "a", "b")

    def work() -> None:
        cursor = coordinator.history("author == nil", since=HistoryToken.at(container.store, 0))
        ids = [change.object_id for each in cursor for change in each.changes]
        assert len(ids) == 2
        assert cursor.token >= token_of(coordinator)
        assert len(coordinator.history_ids()) == 2
        container.context().merge_history(coordinator.history())

    work()
    gc.collect()
    before = handle_count()
    for _ in range(3):
        work()
    gc.collect()
    assert handle_count() == before


def test_misuse_of_history_is_rejected(container: Container, coordinator: Coordinator, tmp_path: Path) -> None:
    ctx = container.context()
    other = Coordinator(Model(MODEL))
    foreign = other.add_store(tmp_path / "other.sqlite", history=True)
    anything: Any = coordinator
    wrong: list[tuple[type[Exception], Callable[[], Any], str]] = [
        (TypeMismatchError, lambda: anything.history(since="yesterday"), "since must be a HistoryToken or a datetime"),
        (TypeMismatchError, lambda: anything.history(since=date(2024, 1, 1)), "date without a time"),
        (InvalidArgumentError, lambda: anything.history(since=datetime(2024, 1, 1)), "time zone"),
        (
            InvalidArgumentError,
            lambda: anything.history(subject="objects"),
            'subject must be "transactions" or "changes"',
        ),
        (TypeMismatchError, lambda: anything.history(5), "the predicate must be a str, a Predicate or .*, not 5"),
        (InvalidArgumentError, lambda: anything.history(None, 5), "arguments need a predicate format"),
        (PredicateSyntaxError, lambda: anything.history("author == %@"), "needs argument 1"),
        (TypeMismatchError, lambda: anything.history(excluding_author=5), "excluding_author must be a str, not 5"),
        (TypeMismatchError, lambda: anything.history(stores=container.store), "stores must be a list of Store"),
        (TypeMismatchError, lambda: anything.history(stores=["x"]), r"stores\[0\] must be of type Store"),
        (InvalidArgumentError, lambda: anything.history(stores=[foreign]), "store"),
        (InvalidArgumentError, lambda: anything.history(limit=-1), "limit must be at least 0"),
        (TypeMismatchError, lambda: anything.history(limit="x"), "limit must be an integer"),
        (InvalidArgumentError, lambda: anything.history(batch_size=-1), "batch_size must be at least 0"),
        (TypeMismatchError, lambda: anything.history(changes="no"), "changes must be True or False"),
        (TypeMismatchError, lambda: anything.history(sort=5), "is not a sort key"),
        (TypeError, lambda: anything.history(order="x"), "order"),
        (
            TypeError,
            lambda: anything.history_count(changes=True),
            '"changes" is not a keyword argument of history_count; use',
        ),
        (
            TypeError,
            lambda: anything.history_ids(batch_size=1),
            '"batch_size" is not a keyword argument of history_ids',
        ),
        (TypeMismatchError, lambda: anything.history_token("x"), r"stores\[0\]"),
        (InvalidArgumentError, lambda: anything.history_token(foreign), "store"),
        (TypeMismatchError, lambda: anything.delete_history(None), "before must be a HistoryToken"),
        (TypeMismatchError, lambda: anything.delete_history("now"), "before must be a HistoryToken"),
        (InvalidArgumentError, lambda: anything.delete_history(datetime(2024, 1, 1)), "time zone"),
        (InvalidArgumentError, lambda: anything.delete_history(FAR_AWAY, [foreign]), "store"),
        (
            InvalidArgumentError,
            lambda: anything.delete_history(token_of(coordinator), [container.store]),
            "omit stores",
        ),
        (TypeMismatchError, lambda: anything.delete_history(FAR_AWAY, progress=5), "progress must be a function"),
        (TypeMismatchError, lambda: ctx.merge_history([1]), "history must be a HistoryTransaction"),  # type: ignore[arg-type]
    ]
    for kind, call, complaint in wrong:
        with pytest.raises(kind, match=complaint):
            call()
    with pytest.raises(TypeError):
        HistoryCursor()  # type: ignore[call-arg]
    other.close()


# -------- merging ------------------------------------------------------------------------------------------


def test_H027_context_is_unchanged_before_the_merge(container: Container, other: Container) -> None:
    first = context(container, "App1")
    alice = first.insert("Person", name="Alice", age=30)
    first.save()
    second = context(other, "App2")
    held = second.fetch("Person")[0]
    assert (held.name, held.age) == ("Alice", 30)
    start = token_of(other.coordinator)
    alice.age = 31
    first.save()
    assert held.age == 30
    history = second.history(since=start, excluding_author="App2")
    second.merge_history(history)
    assert (held.name, held.age) == ("Alice", 31)
    assert history.token == token_of(container.coordinator)


@pytest.mark.parametrize("way", ["context", "cursor", "transactions", "kept"])
def test_merge_applies_inserts_updates_and_deletions(container: Container, other: Container, way: str) -> None:
    writer, reader = context(container, "App1"), context(other, "App2")
    changed, gone, edited = (writer.insert("Person", name=name, age=1) for name in ("changed", "gone", "edited"))
    writer.save()
    mine = {each.name: each for each in reader.fetch("Person")}
    assert {each.age for each in mine.values()} == {1}
    mine["edited"].name = "edited here"
    start = token_of(other.coordinator)
    changed.age = edited.age = 2
    writer.save()
    writer.delete(gone)
    writer.insert("Person", name="new")
    writer.save()
    told: list[tuple[int, int, int]] = []
    with reader.observe(
        "did_merge_object_ids",
        lambda _, found: told.append(tuple(map(len, found.ids[:3]))),  # type: ignore[arg-type]
    ):
        history = reader.history(since=start)
        if way == "context":
            reader.merge_history(history)
        elif way == "cursor":
            history.merge(reader)
        else:
            transactions: Any = history if way == "transactions" else list(history)
            for each in transactions:
                reader.merge_history(each)
    assert told == [(0, 2, 0), (1, 0, 1)]
    assert mine["changed"].age == 2
    assert mine["gone"].is_deleted
    assert (mine["edited"].name, mine["edited"].age) == ("edited here", 2)
    assert reader.count("Person", "name == 'new'") == 1
    assert not reader.deleted
    reader.save()
    assert history.token == HistoryToken.at(other.store, 3)
    assert [each.author for each in container.coordinator.history(since=history.token)] == ["App2"]


def test_merge_on_the_wrong_queue_fails_without_reading(container: Container, coordinator: Coordinator) -> None:
    import threading

    save_people(container.context(), "a")
    cursor, start = coordinator.history(), HistoryToken.from_json("{}")
    raised: list[BaseException] = []
    ctx = container.context()

    def merge() -> None:
        try:
            ctx.merge_history(cursor)
        except BaseException as exception:
            raised.append(exception)

    thread = threading.Thread(target=merge)
    thread.start()
    thread.join()
    assert [type(each) for each in raised] == [WrongThreadError]
    assert cursor.token == start
    assert numbers(cursor) == [1]
    background = container.background_context()
    background.perform_and_wait(background.merge_history, coordinator.history())


def test_H030_reading_does_not_delete_history(container: Container, other: Container) -> None:
    save_people(context(container, "App1"), "a", "b")
    reader = context(other, "App2")
    reader.merge_history(reader.history(excluding_author="App2"))
    assert other.coordinator.history_count() == container.coordinator.history_count() == 2


# -------- deletion and expiry ------------------------------------------------------------------------------


def test_H006_deletion_keeps_the_named_transaction(container: Container, coordinator: Coordinator) -> None:
    ctx = container.context()
    for plate in "ab":
        ctx.insert("Car", numberPlate=plate)
        ctx.save()
    first, last = coordinator.history()
    assert coordinator.delete_history(first) == (0, 0)
    assert numbers(coordinator.history()) == [1, 2]
    deleted = coordinator.delete_history(last)
    assert (deleted.transactions, deleted.changes) == (1, 1)
    assert numbers(coordinator.history()) == [2]
    assert coordinator.delete_history(last.token) == (0, 0)
    assert ctx.count("Car") == 2


def test_history_before_a_date_can_be_deleted(container: Container, coordinator: Coordinator) -> None:
    save_people(container.context(), *"abcd")
    with sqlite3.connect(container.path) as database:
        database.execute("UPDATE ATRANSACTION SET ZTIMESTAMP = 1000 * Z_PK")
    moment = datetime(2001, 1, 1, tzinfo=timezone.utc)
    assert coordinator.delete_history(LONG_AGO) == (0, 0)
    assert coordinator.delete_history(moment + timedelta(seconds=2000)) == (1, 1)
    assert coordinator.delete_history(moment + timedelta(seconds=2000.5), [container.store]) == (1, 1)
    assert numbers(coordinator.history()) == [3, 4]
    assert coordinator.delete_history(FAR_AWAY) == (2, 2)
    assert numbers(coordinator.history()) == []
    # Numbers go on.
    save_people(container.context(), "e")
    assert numbers(coordinator.history()) == [5]


def test_deletion_fails_when_the_token_is_after_the_last_transaction(container: Container) -> None:
    save_people(container.context(), "a")
    with pytest.raises(HistoryTokenExpiredError) as raised:
        container.coordinator.delete_history(HistoryToken.at(container.store, 9))
    assert raised.value.value == 9
    assert raised.value.message.endswith("is not from this file; pass a token of the present file")


def test_token_of_deleted_transactions_is_expired(
    container: Container, coordinator: Coordinator, other: Container
) -> None:
    ctx = container.context()
    tokens = [token_of(coordinator)]
    for name in "abcd":
        save_people(ctx, name)
        tokens.append(token_of(coordinator))
    assert other.coordinator.delete_history(tokens[3]) == (2, 2)
    assert numbers(coordinator.history()) == [3, 4]
    assert numbers(coordinator.history(since=tokens[2])) == [3, 4]
    assert numbers(coordinator.history(since=tokens[3])) == [4]
    for expired in tokens[:2]:
        for read in (coordinator.history, coordinator.history_count, coordinator.history_ids):
            with pytest.raises(HistoryTokenExpiredError, match="has expired: the transactions before 3 were") as raised:
                read(since=expired)
            assert raised.value.code == CoreDataCode.PERSISTENT_HISTORY_TOKEN_EXPIRED
            assert raised.value.status == Status.INVALID_ARGUMENT
            assert raised.value.file == container.path
            assert isinstance(raised.value, InvalidArgumentError)
            again = pickle.loads(pickle.dumps(raised.value))
            assert (type(again), again.code, str(again)) == (HistoryTokenExpiredError, 134301, str(raised.value))
    # Deletion up to exactly the token.
    assert coordinator.delete_history(FAR_AWAY) == (2, 2)
    assert numbers(coordinator.history(since=tokens[4])) == []
    assert token_of(coordinator) == tokens[4]
    with pytest.raises(HistoryTokenExpiredError):
        coordinator.history(since=tokens[3])


def test_cursor_whose_next_transactions_are_deleted_expires(container: Container, coordinator: Coordinator) -> None:
    save_people(container.context(), *"abcde")
    cursor = coordinator.history(batch_size=1)
    assert next(cursor).number == 1
    coordinator.delete_history(HistoryToken.at(container.store, 2))
    assert next(cursor).number == 2
    coordinator.delete_history(HistoryToken.at(container.store, 4))
    with pytest.raises(HistoryTokenExpiredError):
        next(cursor)
    assert cursor.token == HistoryToken.at(container.store, 2)


def test_token_of_a_replaced_file_expires(store_path: Path, tmp_path: Path) -> None:
    early = tmp_path / "early.sqlite"
    with opened(store_path, journal="rollback") as container:
        save_people(container.context(), "a")
        container.coordinator.backup(container.store, early)
        save_people(container.context(), "b", "c")
        token = token_of(container.coordinator)
    shutil.copyfile(early, store_path)
    with opened(store_path) as container:
        with pytest.raises(HistoryTokenExpiredError, match="the token is not from this file") as raised:
            container.coordinator.history(since=token)
        assert raised.value.value == 3
        assert "current token" in raised.value.message
        assert numbers(container.coordinator.history(since=token_of(container.coordinator))) == []


def test_token_of_other_stores_is_rejected(container: Container, coordinator: Coordinator, tmp_path: Path) -> None:
    save_people(container.context(), "a")
    with opened(tmp_path / "other.sqlite") as elsewhere:
        save_people(elsewhere.context(), "b")
        token = token_of(elsewhere.coordinator)
    for use in (
        lambda: coordinator.history(since=token),
        lambda: coordinator.history_count(since=token),
        lambda: coordinator.history_ids(since=token),
        lambda: coordinator.delete_history(token),
    ):
        with pytest.raises(HistoryTokenStoreError, match="does not contain the store") as raised:
            use()
        assert raised.value.code == CoreDataCode.PERSISTENT_HISTORY_TOKEN_STORE
        assert isinstance(raised.value, InvalidArgumentError)
    assert numbers(coordinator.history(since=HistoryToken.from_json("{}"))) == [1]
    known = {**eval(token.to_json()), container.store.identifier: 0}
    both = HistoryToken.from_json(repr(known).replace("'", '"'))
    assert numbers(coordinator.history(since=both)) == [1]


def many_transactions(container: Container, count: int, changes: int = 1) -> None:
    """Writes transactions into the tables of the history, which is faster than as many saves."""
    save_people(container.context(), "a")
    with sqlite3.connect(container.path) as database:
        database.execute(
            "WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < ?) INSERT INTO ATRANSACTION "
            "(Z_PK, Z_ENT, ZTIMESTAMP) SELECT n, 16002, n FROM n", (count,),
        )  # fmt: skip
        database.execute(
            "WITH RECURSIVE n(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n < ?) INSERT INTO ACHANGE (Z_PK, "
            "Z_ENT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID) SELECT 2 + n, 16001, 0, (SELECT ZENTITY FROM "
            "ACHANGE WHERE Z_PK = 1), 2 + n, 2 + n / ? FROM n", ((count - 1) * changes - 1, changes),
        )  # fmt: skip
        database.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = 16002", (count,))
        database.execute("UPDATE Z_PRIMARYKEY SET Z_MAX = ? WHERE Z_ENT = 16001", (1 + (count - 1) * changes,))


def test_deletion_in_steps_reports_progress(container: Container, coordinator: Coordinator) -> None:
    many_transactions(container, 9000, 3)
    assert coordinator.history_count() == 9000
    told: list[tuple[int, int]] = []

    def progress(transactions: int, changes: int) -> None:
        told.append((transactions, changes))
        # Other contexts can save between two steps.
        save_people(container.context(), f"during {len(told)}")

    deleted = coordinator.delete_history(HistoryToken.at(container.store, 9000), progress=progress)
    assert deleted == (8999, 1 + 8998 * 3)
    assert told[-1] == deleted
    assert len(told) > 3
    assert told == sorted(told)
    assert coordinator.history_count() == 1 + len(told)


def test_exception_from_progress_cancels_a_deletion(container: Container, coordinator: Coordinator) -> None:
    many_transactions(container, 9000)
    told: list[tuple[int, int]] = []

    def progress(transactions: int, changes: int) -> None:
        told.append((transactions, changes))
        if len(told) == 2:
            raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        coordinator.delete_history(FAR_AWAY, progress=progress)
    assert len(told) == 2
    # Deleted transactions stay deleted.
    assert coordinator.history_count() == 9000 - told[-1][0]
    assert coordinator.delete_history(FAR_AWAY) == (9000 - told[-1][0], 9000 - told[-1][1])


def test_deletion_in_a_read_only_store_is_rejected(store_path: Path) -> None:
    with opened(store_path) as container:
        save_people(container.context(), "a")
    with corestone.open(store_path) as container:
        assert numbers(container.coordinator.history()) == [1]
        with pytest.raises(StoreReadOnlyError):
            container.coordinator.delete_history(FAR_AWAY)
        assert numbers(container.coordinator.history()) == [1]


HOSTILE = f"""
import sqlite3, sys
from datetime import datetime, timezone
from corestone import Container, CorestoneError, HistoryToken, Model
path, statement = sys.argv[1:]
with sqlite3.connect(path) as database:
    for each in statement.split(";"):
        database.execute(each)
database.close()
far = datetime(9999, 12, 30, tzinfo=timezone.utc)
with Container(Model({MODEL!r}), path, history=True) as container:
    coordinator = container.coordinator
    for use in (
        coordinator.history_token,
        lambda: [[change.object_id for change in each.changes] for each in coordinator.history()],
        lambda: list(coordinator.history(subject="changes", sort="-changeID")),
        lambda: [each.timestamp for each in coordinator.history()],
        lambda: list(coordinator.history(since=HistoryToken.at(container.store, 0))),
        lambda: list(coordinator.history(since=HistoryToken.at(container.store, 2**63 - 1))),
        lambda: list(coordinator.history(since=datetime(2001, 1, 1, tzinfo=timezone.utc))),
        coordinator.history_ids,
        lambda: container.context().merge_history(coordinator.history()),
        lambda: coordinator.delete_history(HistoryToken.at(container.store, 5)),
        lambda: coordinator.delete_history(far),
    ):
        try:
            use()
        except CorestoneError as error:
            print(type(error).__name__, error)
print("survived")
"""


@pytest.mark.parametrize(
    "statement",
    {
        "highest number": "UPDATE Z_PRIMARYKEY SET Z_MAX = 9223372036854775807 WHERE Z_ENT = 16002",
        "lowest maximum": "UPDATE Z_PRIMARYKEY SET Z_MAX = -9223372036854775808 WHERE Z_ENT = 16002",
        "lowest transaction": "UPDATE ATRANSACTION SET Z_PK = -9223372036854775808; "
        "UPDATE ACHANGE SET ZTRANSACTIONID = -9223372036854775808",
        "highest transaction": "UPDATE ATRANSACTION SET Z_PK = 9223372036854775807; "
        "UPDATE ACHANGE SET ZTRANSACTIONID = 9223372036854775807",
        "negative key": "UPDATE ACHANGE SET ZENTITYPK = -5",
        "key zero": "UPDATE ACHANGE SET ZENTITYPK = 0",
        "wrong types": "UPDATE ACHANGE SET ZENTITYPK = 'x', ZENTITY = 1.5, ZCHANGETYPE = 'y'",
        "unknown kind": "UPDATE ACHANGE SET ZCHANGETYPE = 99",
        "long mask": "UPDATE ACHANGE SET ZCHANGETYPE = 1, ZCOLUMNS = zeroblob(1000000)",
        "full mask": "UPDATE ACHANGE SET ZCHANGETYPE = 1, ZCOLUMNS = x'ffffffffffffffffff'",
        "wrong tombstone": "UPDATE ACHANGE SET ZCHANGETYPE = 2, ZTOMBSTONE0 = 5, ZTOMBSTONE1 = 'x'",
        "late time": "UPDATE ATRANSACTION SET ZTIMESTAMP = 1e300",
        "textual time": "UPDATE ATRANSACTION SET ZTIMESTAMP = 'noon'",
        "wrong names": "UPDATE ATRANSACTION SET ZAUTHOR = x'ff00fe', ZBUNDLEIDTS = 999",
        "no transactions": "DELETE FROM ATRANSACTION",
        "no changes": "DELETE FROM ACHANGE",
    }.items(),
    ids=lambda case: case[0],
)
def test_invalid_history_rows_do_not_crash_the_process(
    store_path: Path, run_python: Run, statement: tuple[str, str]
) -> None:
    with opened(store_path, journal="rollback") as container:
        save_people(container.context(), "a")
    done = run_python(HOSTILE, str(store_path), statement[1])
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr[-2000:])
    assert done.stdout.endswith("survived\n")


def test_store_that_is_opened_without_its_history_is_read_only(store_path: Path) -> None:
    """H038, with a reason instead of a line in the log."""
    with opened(store_path) as container:
        save_people(container.context(), "a")
    with Container(Model(MODEL), store_path) as container:
        save_people(container.context(), "b")
        assert numbers(container.coordinator.history()) == [1, 2]
    with Container(Model(MODEL), store_path, history=False, unsaved="discard") as container:
        assert container.is_read_only
        assert "history" in (container.read_only_reason or "")
        with pytest.raises(StoreReadOnlyError):
            save_people(container.context(), "c")
    with opened(store_path) as container:
        assert container.coordinator.delete_history(FAR_AWAY) == (2, 2)
    with Container(Model(MODEL), store_path, history=False) as container:
        assert not container.is_read_only
        save_people(container.context(), "c")
        assert container.coordinator.history_count() == 0
    with opened(store_path) as container:
        save_people(container.context(), "d")
        assert numbers(container.coordinator.history()) == [3]


# -------- several stores -----------------------------------------------------------------------------------


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Coordinator]:
    """A coordinator with two stores that have a history, and one without."""
    with Coordinator(Model(MODEL), unsaved="discard") as coordinator:
        coordinator.add_store(tmp_path / "a.sqlite", history=True, sync="normal")
        coordinator.add_store(tmp_path / "b.sqlite", history=True, sync="normal")
        coordinator.add_store(tmp_path / "c.sqlite", sync="normal")
        yield coordinator


def test_history_spans_several_stores(pair: Coordinator) -> None:
    a, b, c = pair.stores
    ctx = pair.context()
    start = token_of(pair)
    assert start.transaction(a) == start.transaction(b) == 0
    assert start.transaction(c) is None
    for number, store in enumerate((a, b, b, a, c)):
        ctx.assign(ctx.insert("Person", name=str(number)), store)
        ctx.save()
    for store in (a, b):
        ctx.assign(ctx.insert("Person", name="both"), store)
    ctx.save()
    token = token_of(pair)
    assert (token.transaction(a), token.transaction(b)) == (3, 3)
    assert ctx.history_token == token
    assert token_of(pair, a) == HistoryToken.at(a, 3)
    assert pair.history_token(c) is None
    found = list(pair.history(since=start))
    # By time, each store in its own order.
    by_store = [(each.store_identifier == a.identifier, each.number) for each in found]
    assert by_store[:4] == [(True, 1), (False, 1), (False, 2), (True, 2)]
    assert sorted(by_store[4:]) == [(False, 3), (True, 3)]
    assert [each.timestamp for each in found] == sorted(each.timestamp for each in found)
    assert numbers(pair.history(stores=[a])) == [1, 2, 3]
    assert pair.history_count(stores=[b]) == 3
    assert numbers(pair.history(stores=[c])) == []
    assert len(pair.history_ids()) == 6
    assert {each.object_id for one in found for each in one.changes} == set(pair.history_ids())
    # A token of one store begins the other one at its first transaction.
    assert pair.history_count(since=HistoryToken.at(a, 3)) == 3
    assert pair.history_count(since=HistoryToken.at(a, 3), stores=[a]) == 0
    with pytest.raises(HistoryTokenStoreError):
        pair.history(since=HistoryToken.at(a, 3), stores=[b])
    cursor = pair.history(since=HistoryToken.at(a, 2), stores=[a])
    list(cursor)
    assert cursor.token == HistoryToken.at(a, 3)
    assert pair.history_count("storeID == %@", b.identifier) == 3
    assert HistoryToken.at(a, 1) <= found[-1].token or found[-1].store_identifier == b.identifier


def test_cursor_over_several_stores_can_resume_anywhere(pair: Coordinator) -> None:
    a, b, _ = pair.stores
    ctx = pair.context()
    for number in range(40):
        ctx.assign(ctx.insert("Person", name=str(number)), a if number % 3 else b)
        ctx.save()
    token: HistoryToken | None = None
    seen: list[tuple[str, int]] = []
    while True:
        cursor = pair.history(since=token, batch_size=2)
        found = [(each.store_identifier, each.number) for each in islice(cursor, 7)]
        token = cursor.token
        if not found:
            break
        seen += found
    assert len(seen) == len(set(seen)) == 40
    assert seen == [(each.store_identifier, each.number) for each in pair.history()]


def test_store_that_is_passed_twice_is_read_once(pair: Coordinator) -> None:
    a = pair.stores[0]
    ctx = pair.context()
    ctx.assign(ctx.insert("Person"), a)
    ctx.save()
    assert numbers(pair.history(stores=[a, a])) == [1]
    assert pair.history_count(stores=[a, a]) == 1


def test_history_can_be_deleted_in_several_stores(pair: Coordinator) -> None:
    a, b, _ = pair.stores
    ctx = pair.context()
    for store in (a, b, a, b):
        ctx.assign(ctx.insert("Person"), store)
        ctx.save()
    assert pair.delete_history(HistoryToken.at(a, 2)) == (1, 1)
    assert pair.history_count(stores=[a]) == 1
    assert pair.history_count(stores=[b]) == 2
    assert pair.delete_history(FAR_AWAY, [b]) == (2, 2)
    assert pair.history_count(stores=[a]) == 1
    assert pair.delete_history(FAR_AWAY) == (1, 1)
    assert pair.history_count() == 0


# -------- files of Apple's framework -----------------------------------------------------------------------


def test_H042_history_of_an_apple_store_is_read(fixtures: Path) -> None:
    from collections import Counter

    with corestone.open(fixtures / "history" / "SampleModel2_V1.sqlite") as container:
        (transaction,) = container.coordinator.history()
        assert (transaction.author, transaction.context_name) == (None, None)
        assert (transaction.bundle_identifier, transaction.process_identifier) == (
            "com.apple.dt.xctest.tool", "xctest",
        )  # fmt: skip
        assert {each.kind for each in transaction.changes} == {INSERT}
        assert Counter(each.entity_name for each in transaction.changes) == {
            "Book": 51, "GraphicNovel": 1, "Feedback": 444, "Page": 4970, "Author": 2,
        }  # fmt: skip
        ctx = container.context()
        for change in transaction.changes[::97]:
            assert type(ctx.existing(change.object_id)).__name__ == change.entity_name


@pytest.mark.parametrize("name", ["SampleModel2_V1.sqlite", "RMAdminStore-Local.sqlite"])
def test_H048_object_occurs_once_in_a_transaction(fixtures: Path, name: str) -> None:
    """The file of the second name has entries of the oldest framework, too."""
    mixed = transactions = 0
    with corestone.open(fixtures / "history" / name) as container:
        last_number, last_time = 0, LONG_AGO
        for each in container.coordinator.history():
            ids = [change.object_uri for change in each.changes]
            assert len(set(ids)) == len(ids)
            kinds = [change.kind for change in each.changes]
            mixed += kinds != sorted(kinds)
            transactions += 1
            assert each.number > last_number
            assert each.timestamp >= last_time
            last_number, last_time = each.number, each.timestamp
    assert mixed <= transactions // 20


def test_H045_attributes_of_the_superentity_come_first(tmp_path: Path) -> None:
    """The file itself is not among the fixtures; this is its model, written here."""
    model = Model()
    root = model.entity("Object", abstract=True)
    root.attribute("uuid", "string", optional=True, preserved=True)
    model.entity("Event", parent=root).attribute("shouldSync", "bool", optional=True, preserved=True)
    wider = model.entity("Wide", parent=root)
    for name in ("a", "b"):
        wider.attribute(name, "string", optional=True, preserved=True)
    path = tmp_path / "events.sqlite"
    with Container(model, path, history=True) as container:
        ctx = container.context()
        event = ctx.insert("Event", uuid="some text", shouldSync=True)
        ctx.save()
        ctx.delete(event)
        ctx.save()
        (change,) = list(container.coordinator.history())[-1].changes
        assert change.tombstone == {"uuid": "some text", "shouldSync": True}
    with sqlite3.connect(path) as database:
        columns = "ZTOMBSTONE0, ZTOMBSTONE1, ZTOMBSTONE2"
        assert database.execute(f"SELECT {columns} FROM ACHANGE WHERE ZCHANGETYPE = 2").fetchall() == [
            ("some text", 1, None)
        ]
    database.close()


# -------- two processes ------------------------------------------------------------------------------------

WRITER = f"""
import sys
from corestone import Container, Model
with Container(Model({MODEL!r}), sys.argv[1], sync="normal", history=True) as container:
    ctx = container.context()
    ctx.transaction_author = sys.argv[2]
    for number in range(int(sys.argv[3])):
        for place in range(1 + number % 3):
            ctx.insert("Person", name=sys.argv[2], age=number)
        if number % 5 == 4:
            ctx.first("Person", "name == %@ AND age < %d", sys.argv[2], number).name += "!"
        ctx.save()
        if number % 20 == 0:
            ctx.reset()
"""


def test_no_change_is_lost_between_processes(container: Container, coordinator: Coordinator, store_path: Path) -> None:
    """Two processes save; this one continues from its token, with new cursors, and deletes the history it has read."""
    count = 150
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(store_path), author, str(count)], env=environment())
        for author in ("one", "two")
    ]
    own = context(container, "me")
    token = HistoryToken.from_json("{}")
    inserted: set[str] = set()
    seen: list[int] = []
    updates = rounds = 0
    cursor = coordinator.history(since=token, excluding_author="me", batch_size=5)
    while True:
        is_over = all(each.poll() is not None for each in writers)
        found = 0
        for transaction in cursor:
            found += 1
            seen.append(transaction.number)
            for change in transaction.changes:
                if change.kind == INSERT:
                    assert change.object_uri not in inserted
                    inserted.add(change.object_uri)
                else:
                    assert change.updated_properties == ["name"]
                    updates += 1
        assert cursor.token >= token
        token = cursor.token
        rounds += 1
        if rounds % 7 == 0:
            save_people(own, "mine")
            coordinator.delete_history(token)
        if rounds % 2:
            cursor = coordinator.history(since=token, excluding_author="me", batch_size=5)
        if is_over and not found:
            break
    assert [each.wait() for each in writers] == [0, 0]
    assert len(seen) == len(set(seen)) == 2 * count
    assert seen == sorted(seen)
    assert len(inserted) == 2 * sum(1 + number % 3 for number in range(count))
    assert updates == 2 * len(range(4, count, 5))
    reader = container.context()
    assert reader.count("Person", "name != 'mine'") == len(inserted)
    assert {each.uri for each in reader.fetch_ids("Person", "name != 'mine'")} == inserted
