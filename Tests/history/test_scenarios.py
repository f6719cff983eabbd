"""The sample scenarios of persistent history, each by its number; the last line counts those that hold.

Where this library deviates on purpose (docs/DEVIATIONS.md), the test shows its own behaviour, with a comment.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest
from checkout import FIXTURES
from corestone import (
    BatchInsertRequest,
    Container,
    Context,
    Coordinator,
    HistoryChangeKind,
    HistoryToken,
    HistoryTransaction,
    Model,
    StoreReadOnlyError,
    check,
    open,
)
from corestone.object import object_id

PEOPLE = {"Person": {"firstName": "string?", "lastName": "string?"}}
CARS = {
    "Car": {"maker": "string?", "model": "string?", "numberPlate": "string?"},
    "SportCar": {"@parent": "Car"},
    **PEOPLE,
}
TRACKED = {
    "Person": {
        "name": "string? preserved",
        "age": {"type": "int32", "default": 0, "preserved": True},
        "id": "uuid? preserved",
    }
}
INSERT, UPDATE = HistoryChangeKind.INSERT, HistoryChangeKind.UPDATE


@pytest.fixture(scope="module", autouse=True)
def print_count(request: pytest.FixtureRequest) -> Iterator[None]:
    before = request.session.testsfailed
    yield
    count = sum(1 for each in request.session.items if each.path == Path(__file__))
    failed = request.session.testsfailed - before
    with request.config.pluginmanager.get_plugin("capturemanager").global_and_fixture_disabled():  # type: ignore[union-attr]
        print(f"\nscenarios of history: {count - failed} of {count} hold")


def opened(path: Path, model: dict[str, Any], author: str | None = None, name: str | None = None) -> Context:
    container = Container(Model(model), path, history=True, sync="normal", unsaved="discard")
    ctx = container.context()
    ctx.transaction_author, ctx.name = author, name
    return ctx


def place(ctx: Context) -> HistoryToken:
    found = ctx.coordinator.history_token()
    assert found is not None
    return found


def numbers(ctx: Context, *arguments: Any, **options: Any) -> list[int]:
    return [each.number for each in ctx.history(*arguments, **options)]


def add(ctx: Context, entity: str, **values: Any) -> Any:
    made = ctx.insert(entity, **values)
    ctx.save()
    return made


class Pair(NamedTuple):
    """Two containers on one file, with the transactions T1 to T3; the tokens before and after each."""

    first: Context
    second: Context
    person: Any
    tokens: list[tuple[HistoryToken, HistoryToken]]


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    first = opened(tmp_path / "a.sqlite", CARS, "author1", "viewContext1")
    second = opened(tmp_path / "a.sqlite", CARS, "author2", "viewContext2")
    tokens = [(place(first), place(second))]
    cars = [first.insert("Car", maker="FIAT", numberPlate=plate) for plate in ("1", "2")]
    first.insert("SportCar", maker="Lamborghini")
    first.save()
    tokens.append((place(first), place(second)))
    person = add(second, "Person", firstName="Ada")
    tokens.append((place(first), place(second)))
    found = first.get(person.id.uri)
    found.firstName = "Eve"
    first.delete(cars[1])
    first.save()
    tokens.append((place(first), place(second)))
    return Pair(first, second, person, tokens)


def test_h003_new_store_has_a_token(tmp_path: Path) -> None:
    ctx = opened(tmp_path / "a.sqlite", PEOPLE)
    assert numbers(ctx) == []
    assert numbers(ctx, since=place(ctx)) == []
    history = ctx.history()
    ctx.merge_history(history)
    assert ctx.history_token is None


def test_h006_deletion_keeps_the_given_transaction(tmp_path: Path) -> None:
    ctx = opened(tmp_path / "a.sqlite", CARS)
    for maker in ("a", "b"):
        add(ctx, "Car", maker=maker)
    first, last = ctx.history()
    ctx.coordinator.delete_history(first)
    assert numbers(ctx) == [1, 2]
    ctx.coordinator.delete_history(last)
    assert numbers(ctx) == [2]


def test_h009_tokens_can_be_compared_in_predicates(tmp_path: Path) -> None:
    ctx = opened(tmp_path / "a.sqlite", PEOPLE)
    tokens = [place(ctx)]
    for name in ("a", "b"):
        add(ctx, "Person", firstName=name)
        tokens.append(place(ctx))
    assert numbers(ctx, "token == %@", tokens[1]) == [1]
    assert numbers(ctx, "token >= %@", tokens[1]) == [1, 2]
    assert numbers(ctx, "token <= %@", tokens[2]) == [1, 2]
    assert numbers(ctx, since=tokens[0]) == [1, 2]


def test_h011_transaction_keys_can_be_combined(tmp_path: Path) -> None:
    first = opened(tmp_path / "a.sqlite", PEOPLE, "author1", "viewContext1")
    second = opened(tmp_path / "a.sqlite", PEOPLE, "author2", "viewContext2")
    add(first, "Person", firstName="a")
    add(second, "Person", firstName="b")
    assert numbers(first, "author == 'author1'") == [1]
    assert numbers(first, "author == 'author1' AND contextName == 'viewContext1'") == [1]
    assert numbers(first, "author == 'author2' AND contextName == 'viewContext1'") == []
    history = first.history()
    first.merge_history(history)
    assert history.token == place(first) == place(second)


def test_h013_tokens_are_equal_across_coordinators(pair: Pair) -> None:
    assert all(one == other for one, other in pair.tokens)
    assert len({one.to_json() for one, _ in pair.tokens}) == 4


def test_h014_transactions_can_be_read_without_changes(pair: Pair) -> None:
    (found,) = pair.first.history("token > %@", pair.tokens[2][0], changes=False)
    assert found.token == pair.tokens[3][0]
    with pytest.raises(Exception, match="changes"):
        _ = found.changes


def test_h016_subentities_are_not_included(pair: Pair) -> None:
    predicate = "changeType == %d AND (changedEntity == 'Car' OR changedEntity == 'Person')"
    assert pair.first.coordinator.history_count(predicate, int(INSERT), subject="changes") == 3


def test_h017_token_and_predicate_are_combined(pair: Pair) -> None:
    history = pair.first.history("changedObjectID == %@", pair.person.id, subject="changes", since=pair.tokens[2][0])
    (change,) = [change for transaction in history for change in transaction.changes]
    assert change.kind is UPDATE


def test_h021_predicates_do_not_need_an_application_entity(tmp_path: Path) -> None:
    # Apple's class property may be nil in tests; here a text names the keys, and a wrong one lists them.
    ctx = opened(tmp_path / "a.sqlite", PEOPLE)
    assert numbers(ctx, "author == nil AND transactionNumber > 0") == []
    with pytest.raises(Exception, match="transactionNumber"):
        numbers(ctx, "transactionNumbers > 0")


def test_h022_migrated_store_is_writable(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    shutil.copyfile(FIXTURES / "history" / "SampleModel2_V1.sqlite", path)
    with open(path) as container:
        model = container.coordinator.model.copy()
    model["Author"].attribute("note", "string", optional=True)
    with Container(model, path, history=True) as container, container.context() as ctx:
        store = container.coordinator.stores[0]
        assert not store.is_read_only
        counts = [ctx.count(entity) for entity in ("Author", "Book", "Feedback")]
        assert counts == [2, 52, 444]
        first, migration = container.coordinator.history()
        assert len(first.changes) == 5468
        assert migration.author is not None
        assert migration.author.startswith("com.apple.coredata.schemamigrator")
        add(ctx, "Author", alias="x", age=5)
        assert len(list(container.coordinator.history())) == 3


def test_h023_tombstone_has_preserved_values(tmp_path: Path) -> None:
    ctx = opened(tmp_path / "a.sqlite", TRACKED, "App1")
    person = add(ctx, "Person", name="TombstoneTest", age=99, id=uuid4())
    ctx.delete(person)
    ctx.save()
    other = opened(tmp_path / "a.sqlite", TRACKED, "App2")
    *_, last = other.history(excluding_author="App2")
    (change,) = last.changes
    assert change.tombstone is not None
    assert change.tombstone["name"] == "TombstoneTest"


def test_h026_batch_insertions_are_merged(tmp_path: Path) -> None:
    ctx = opened(tmp_path / "a.sqlite", TRACKED, "batch")
    other = opened(tmp_path / "a.sqlite", TRACKED, "App2")
    token = place(other)
    ctx.execute(BatchInsertRequest("Person", [{"name": f"{each}", "age": each} for each in range(10)]))
    (transaction,) = other.history(since=token, excluding_author="App2")
    assert transaction.author == "batch"
    assert len(transaction.changes) == 10
    other.merge_history(transaction)
    assert other.count("Person") == 10


def test_h027_context_is_unchanged_before_the_merge(tmp_path: Path) -> None:
    first = opened(tmp_path / "a.sqlite", TRACKED, "App1")
    alice = add(first, "Person", name="Alice", age=30)
    second = opened(tmp_path / "a.sqlite", TRACKED, "App2")
    (held,) = second.fetch("Person")
    assert held.age == 30
    token = place(second)
    alice.age = 31
    first.save()
    history = second.history(since=token, excluding_author="App2")
    assert held.age == 30
    second.merge_history(history)
    assert (held.age, held.name) == (31, "Alice")


def test_h030_reading_does_not_delete_history(tmp_path: Path) -> None:
    first = opened(tmp_path / "a.sqlite", TRACKED, "App1")
    for name in ("a", "b"):
        add(first, "Person", name=name)
    second = opened(tmp_path / "a.sqlite", TRACKED, "App2")
    second.merge_history(second.history(excluding_author="App2"))
    assert numbers(second) == [1, 2]


def test_h032_history_can_be_purged_every_second_time(tmp_path: Path) -> None:
    first = opened(tmp_path / "a.sqlite", TRACKED, "App1")
    second = opened(tmp_path / "a.sqlite", TRACKED, "App2")
    store = second.coordinator.stores[0]
    second.coordinator.register_history_consumer("App2", store, at=HistoryToken.at(store, 0))
    token, processed = HistoryToken.at(store, 0), 0

    def process() -> list[int]:
        nonlocal token, processed
        history = second.history(since=token, excluding_author="App2")
        second.merge_history(history)
        token = history.token
        processed += 1
        if processed % 2 == 0:
            # It keeps the last transaction that was read, as the kit does.
            second.coordinator.move_history_consumer("App2", store, token)
            second.coordinator.purge_history(store, keep=1)
        return numbers(second)

    for name in ("a", "b"):
        add(first, "Person", name=name)
    assert process() == [1, 2]
    add(first, "Person", name="c")
    assert process() == [3]


def test_h033_slowest_consumer_delays_purges(tmp_path: Path) -> None:
    ctx = opened(tmp_path / "a.sqlite", TRACKED, "App1")
    coordinator: Coordinator = ctx.coordinator
    store = coordinator.stores[0]
    for name in ("App1", "App2", "App3"):
        coordinator.register_history_consumer(name, store, at=HistoryToken.at(store, 0))
    for name in ("a", "b"):
        add(ctx, "Person", name=name)
    for name in ("App1", "App2"):
        coordinator.move_history_consumer(name, store, place(ctx))
    purge = coordinator.purge_history(store, keep=0)
    assert (purge.transactions, purge.held_by) == (0, "App3")
    assert numbers(ctx) == [1, 2]


def test_h037_transactions_without_author_are_local(tmp_path: Path) -> None:
    model = {"Task": {"id": "string?", "title": "string?"}}
    inbound = opened(tmp_path / "a.sqlite", model, "inbound")
    local = opened(tmp_path / "a.sqlite", model)
    add(inbound, "Task", id="remote-1")
    add(local, "Task", id="local-1")
    changes = [each for transaction in local.history(excluding_author="inbound") for each in transaction.changes]
    (wanted,) = local.fetch("Task", "id == 'local-1'")
    assert [(each.kind, each.object_uri) for each in changes] == [(INSERT, object_id(wanted).uri)]


def test_h038_store_opened_without_the_history_option_is_read_only(tmp_path: Path) -> None:
    # A deviation: the store opens writable and goes on recording. Read-only, with the reason, is on request.
    path = tmp_path / "a.sqlite"
    add(opened(path, TRACKED), "Person", name="a")
    with Container(Model(TRACKED), path) as container, container.context() as ctx:
        add(ctx, "Person", name="b")
        assert len(list(container.coordinator.history())) == 2
    with Container(Model(TRACKED), path, history=False, unsaved="discard") as container, container.context() as ctx:
        store = container.coordinator.stores[0]
        assert store.is_read_only
        assert "history" in (store.read_only_reason or "")
        ctx.insert("Person", name="c")
        with pytest.raises(StoreReadOnlyError, match="history"):
            ctx.save()


def test_h040_mirrored_history_is_not_purged(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    ctx = opened(path, TRACKED)
    add(ctx, "Person", name="a")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE ANSCKMETADATAENTRY (Z_PK INTEGER PRIMARY KEY, ZKEY VARCHAR)")
    purge = ctx.coordinator.purge_history(ctx.coordinator.stores[0], keep=0)
    assert purge.transactions == 0
    assert "CloudKit" in (purge.reason or "")
    assert numbers(ctx) == [1]


def test_h041_rows_are_small_and_history_can_be_limited(tmp_path: Path) -> None:
    ctx = opened(tmp_path / "a.sqlite", {"Person": {"name": "string?"}})
    people = [ctx.insert("Person") for _ in range(20)]
    for number in range(500):
        for person in people:
            person.name = f"{number}"
        ctx.save()
    size = ctx.coordinator.history_size(ctx.coordinator.stores[0])
    assert (size.transactions, size.changes) == (500, 10_000)
    assert size.bytes < 500 * 160 + 10_000 * 40
    ctx.coordinator.purge_history(ctx.coordinator.stores[0], keep=10)
    assert ctx.coordinator.history_size(ctx.coordinator.stores[0]).changes == 200


def test_h042_history_of_an_apple_store_is_read() -> None:
    path = FIXTURES / "history" / "SampleModel2_V1.sqlite"
    with open(path) as container:
        (transaction,) = container.coordinator.history()
        counts = Counter(change.entity_name for change in transaction.changes)
        assert all(change.kind is INSERT for change in transaction.changes)
    assert counts == {"Book": 51, "GraphicNovel": 1, "Feedback": 444, "Page": 4970, "Author": 2}
    assert (transaction.author, transaction.context_name) == (None, None)
    assert (transaction.bundle_identifier, transaction.process_identifier) == ("com.apple.dt.xctest.tool", "xctest")


def test_h045_tombstone_of_a_subentity_has_inherited_values(tmp_path: Path) -> None:
    model = {
        "Object": {"uuid": "string? preserved"},
        "Event": {"@parent": "Object", "shouldSync": "bool? preserved", "value": "double?"},
    }
    path = tmp_path / "a.sqlite"
    ctx = opened(path, model)
    event = add(ctx, "Event", uuid="u-1", shouldSync=True, value=1.5)
    ctx.delete(event)
    ctx.save()
    with closing(sqlite3.connect(path)) as file:
        query = "SELECT ZTOMBSTONE0, ZTOMBSTONE1 FROM ACHANGE WHERE ZCHANGETYPE = 2"
        assert file.execute(query).fetchall() == [("u-1", 1)]
    *_, last = ctx.history()
    assert last.changes[0].tombstone == {"uuid": "u-1", "shouldSync": True}


def test_h048_rows_are_written_in_order(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    ctx = opened(path, TRACKED)
    people = [ctx.insert("Person", name=f"{each}") for each in range(6)]
    ctx.save()
    ctx.delete(people[0])
    people[1].name = "x"
    made = ctx.insert("Person", name="made")
    made.age = 3
    people[2].name = "y"
    people[2].age = 4
    ctx.delete(people[5])
    ctx.save()
    transactions: list[HistoryTransaction] = list(ctx.history())
    for transaction in transactions:
        objects = [change.object_uri for change in transaction.changes]
        assert len(set(objects)) == len(objects)
        kinds = [change.kind for change in transaction.changes]
        assert kinds == sorted(kinds)
    stamps = [transaction.timestamp for transaction in transactions]
    assert stamps == sorted(stamps)
    assert all(stamp <= datetime.now(timezone.utc) for stamp in stamps)
    assert check(path) == []


def test_h049_old_values_of_updates_need_complete_history(tmp_path: Path) -> None:
    # A history as Apple's keeps no values; a complete one does.
    for complete, wanted in ((None, "unknown"), (True, "a")):
        path = tmp_path / f"{complete}.sqlite"
        container = Container(Model(TRACKED), path, history=True, complete_history=complete)
        with container, container.context() as ctx:
            person = add(ctx, "Person", name="a")
            person.name = "b"
            ctx.save()
            _, update = container.coordinator.history()
            assert update.changes[0].updated_properties == ["name"]
            old = container.coordinator.history_of(person)[-1].values["name"].old
            assert (old or "unknown") == wanted
