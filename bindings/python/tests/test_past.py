"""The past of stores: as they were at a place of their history, the changes of one object, and differences."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    UNKNOWN,
    BatchDeleteRequest,
    BatchUpdateRequest,
    ConflictError,
    Container,
    Context,
    FetchRequest,
    HistoryChangeKind,
    HistoryToken,
    HistoryTokenExpiredError,
    HistoryTokenStoreError,
    InvalidArgumentError,
    Model,
    ModelError,
    ObjectID,
    StoreReadOnlyError,
    TypeMismatchError,
    check,
)

MODEL: dict[str, dict[str, Any]] = {
    "Person": {
        "name": "string? preserved",
        "age": "int32 = 0",
        "photo": {"type": "binary", "optional": True, "external_storage": True},
        "born": "date?",
        "home": {"type": "composite", "optional": True, "elements": {"street": "string?", "number": "int32?"}},
        "upper": {"type": "string", "optional": True, "derived": "uppercase:(name)"},
        "team": "to-one Team? inverse members",
        "friends": "to-many Person inverse friends",
    },
    "Team": {
        "title": "string?",
        "size": {"type": "int64", "optional": True, "derived": "members.@count"},
        "members": "to-many ordered Person inverse team",
    },
}
INSERT, UPDATE, DELETE = HistoryChangeKind.INSERT, HistoryChangeKind.UPDATE, HistoryChangeKind.DELETE
TABLES = ("CST_HISTORYCOLUMN", "CST_HISTORYLINK", "CST_HISTORYSPAN", "CST_HISTORYVALUE")


def opened(path: Path, complete: bool | None = True, **options: Any) -> Container:
    return Container(
        Model(MODEL), path, sync="normal", unsaved="discard", external_threshold=100,
        **{"history": True, "complete_history": complete, **options},
    )  # fmt: skip


@pytest.fixture(params=[True, None], ids=["complete", "plain"])
def container(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Container]:
    with opened(tmp_path / "people.sqlite", request.param) as found:
        yield found


@pytest.fixture
def complete(tmp_path: Path) -> Iterator[Container]:
    with opened(tmp_path / "people.sqlite") as found:
        yield found


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Container]:
    with opened(tmp_path / "people.sqlite", None) as found:
        yield found


def place(container: Container) -> HistoryToken:
    found = container.coordinator.history_token()
    assert found is not None
    return found


def saved(container: Container, author: str | None = None, **values: Any) -> tuple[Context, Any]:
    ctx = container.context()
    ctx.transaction_author = author
    person = ctx.insert("Person", **values)
    ctx.save()
    return ctx, person


def tables(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as file:
        return {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE name LIKE 'CST%'")}


# ---- at


def test_context_at_a_token_reads_the_former_state(complete: Container) -> None:
    ctx, ada = saved(complete, name="Ada", age=36, photo=b"x" * 500, home={"street": "Long Road", "number": 7})
    team = ctx.insert("Team", title="Engine")
    team.members = [ada, ctx.insert("Person", name="Bob")]
    ctx.save()
    token = place(complete)
    ada.name, ada.age, ada.photo, ada.home = "Ada King", 37, None, {"street": None, "number": 8}
    team.members = [ctx.insert("Person", name="Eve"), ada]
    ctx.save()
    identity = team.id.uri
    ctx.delete(team)
    ctx.save()
    with ctx.at(token) as past:
        then = past.get(ada.id.uri)
        assert (then.name, then.age, then.photo, then.upper) == ("Ada", 36, b"x" * 500, "ADA")
        assert then.home == {"street": "Long Road", "number": 7}
        (group,) = past.fetch("Team")
        assert group.id.uri == identity
        assert group.size == 2
        assert [each.name for each in group.members] == ["Ada", "Bob"]
        assert sorted(each.name for each in past.fetch("Person")) == ["Ada", "Bob"]
        assert past.count("Person", "name == 'Ada' AND team.title == 'Engine'") == 1
        assert past.coordinator.past_token == token
        assert past.coordinator.is_past_complete
        assert then.is_known("photo")
        assert group.is_known("members")
    # The present is as before.
    assert ada.name == "Ada King"
    assert ctx.count("Person") == 3


def test_past_context_is_read_only(container: Container) -> None:
    ctx, person = saved(container, name="Ada")
    past = ctx.at(place(container))
    past.get(person.id.uri).name = "Bob"
    with pytest.raises(StoreReadOnlyError):
        past.save()


def test_later_saves_do_not_change_a_past_context(container: Container) -> None:
    ctx, person = saved(container, name="Ada", photo=b"y" * 300)
    past = ctx.at(place(container))
    person.name, person.photo = "Bob", None
    ctx.save()
    then = past.get(person.id.uri)
    assert (then.name, then.photo) == ("Ada", b"y" * 300)


def test_overwritten_values_are_unknown_without_complete_history(plain: Container) -> None:
    ctx, ada = saved(plain, name="Ada", age=36)
    bob = ctx.insert("Person", name="Bob", age=20)
    ctx.save()
    token, identity = place(plain), bob.id.uri
    ada.name = "Ada King"
    ctx.delete(bob)
    ctx.save()
    past = ctx.at(token)
    assert not past.coordinator.is_past_complete
    then = past.get(ada.id.uri)
    assert (then.age, then.is_known("age")) == (36, True)
    assert (then.name, then.is_known("name"), then.is_known("upper")) == (None, False, False)
    gone = past.get(identity)
    # The name is preserved, so the history has it.
    assert (gone.name, gone.is_known("name"), gone.age, gone.is_known("age")) == ("Bob", True, None, False)
    assert ada.is_known("name")
    with pytest.raises(ModelError, match='did you mean "name"'):
        then.is_known("nmae")


def test_past_can_be_addressed_by_date_or_transaction(container: Container) -> None:
    ctx, person = saved(container, name="Ada")
    (first,) = ctx.history()
    after = datetime.now(timezone.utc)
    other = ctx.insert("Person", name="Bob")
    ctx.save()
    assert [each.name for each in ctx.at(first).fetch("Person")] == ["Ada"]
    assert [each.name for each in ctx.at(after).fetch("Person")] == ["Ada"]
    assert ctx.at(datetime.now(timezone.utc)).count("Person") == 2
    assert ctx.at(first.timestamp).count("Person") == 1
    beginning = HistoryToken.at(container.coordinator.stores[0], 0)
    assert ctx.at(beginning).count("Person") == 0
    with pytest.raises(HistoryTokenExpiredError, match="begins with transaction 1, after the date"):
        ctx.at(after - timedelta(days=1))
    with pytest.raises(TypeMismatchError, match="place must be a HistoryToken"):
        ctx.at("yesterday")  # type: ignore[arg-type]
    assert person.name == "Ada"
    assert other.name == "Bob"


def test_invalid_positions_in_the_history_are_rejected(container: Container) -> None:
    ctx, person = saved(container, name="Ada")
    store = container.coordinator.stores[0]
    first = place(container)
    for name in ("Bob", "Eve"):
        person.name = name
        ctx.save()
    with pytest.raises(HistoryTokenExpiredError, match="the last transaction is 3"):
        ctx.at(HistoryToken.at(store, 9))
    with pytest.raises(HistoryTokenStoreError):
        ctx.at(HistoryToken.at("0F1A5A1C-0000-4000-8000-000000000001", 1))
    container.coordinator.delete_history(place(container))
    with pytest.raises(HistoryTokenExpiredError, match="the transactions before 3 were deleted"):
        ctx.at(first)
    assert ctx.at(HistoryToken.at(store, 2)).count("Person") == 1


def test_store_without_history_has_no_past(tmp_path: Path) -> None:
    for kind in ("SQLite", "XML", "InMemory"):
        model = Model({"Person": {"name": "string?"}})
        with Container(model, tmp_path / f"a.{kind}", type=kind) as container:
            token = HistoryToken.at(container.coordinator.stores[0], 0)
            with pytest.raises(InvalidArgumentError, match="does not have a history"):
                container.coordinator.at(token)
            with container.context() as ctx:
                person = ctx.insert("Person")
                ctx.save()
                with pytest.raises(InvalidArgumentError, match="does not have a history"):
                    container.coordinator.history_of(person)


def test_batch_requests_record_old_values(complete: Container) -> None:
    ctx, ada = saved(complete, name="Ada", age=36)
    bob = ctx.insert("Person", name="Bob", age=20, friends={ada})
    ctx.save()
    token, identity = place(complete), bob.id.uri
    ctx.execute(BatchUpdateRequest("Person", {"age": 1}, "age > 30"))
    ctx.execute(BatchDeleteRequest(FetchRequest("Person", "name == 'Bob'")))
    past = ctx.at(token)
    then = past.get(ada.id.uri)
    assert then.age == 36
    assert [each.id.uri for each in then.friends] == [identity]


def test_complete_history_can_be_enabled_later(tmp_path: Path) -> None:
    path = tmp_path / "people.sqlite"
    with opened(path, None) as container:
        ctx, person = saved(container, name="a")
        first = place(container)
        person.name = "b"
        ctx.save()
        assert tables(path) == set()
    with opened(path) as container, container.context() as ctx:
        (person,) = ctx.fetch("Person")
        second = place(container)
        person.name = "c"
        ctx.save()
        assert tables(path) == set(TABLES)
    # It goes on without the option.
    with opened(path, None, history=None) as container, container.context() as ctx:
        (person,) = ctx.fetch("Person")
        third = place(container)
        person.name = "d"
        ctx.save()
        for token, name, complete in ((first, None, False), (second, "b", True), (third, "c", True)):
            past = ctx.at(token)
            assert (past.fetch("Person")[0].name, past.coordinator.is_past_complete) == (name, complete)
    assert check(path) == []
    # And ends with the option's end.
    with opened(path, False) as container, container.context() as ctx:
        assert tables(path) == set()
        assert ctx.at(third).fetch("Person")[0].is_known("name") is False
        assert ctx.at(place(container)).fetch("Person")[0].name == "d"


def test_purging_transactions_deletes_their_old_values(complete: Container, tmp_path: Path) -> None:
    ctx, person = saved(complete, name="a")
    for name in "bcdef":
        person.name = name
        ctx.save()
    complete.coordinator.purge_history(complete.coordinator.stores[0], keep=2)
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as file:
        assert file.execute("SELECT min(ZTRANSACTION) FROM CST_HISTORYVALUE").fetchone() == (5,)
        assert file.execute("SELECT ZFIRST, ZLAST FROM CST_HISTORYSPAN").fetchall() == [(5, 6)]
    store = complete.coordinator.stores[0]
    assert ctx.at(HistoryToken.at(store, 4)).fetch("Person")[0].name == "d"


def test_migration_ends_the_past(tmp_path: Path) -> None:
    path = tmp_path / "people.sqlite"
    with opened(path) as container:
        ctx, person = saved(container, name="a")
        before = place(container)
        person.name = "b"
        ctx.save()
    newer = {**MODEL, "Person": {**MODEL["Person"], "nick": "string?"}}
    with Container(Model(newer), path, complete_history=True) as container, container.context() as ctx:
        with pytest.raises(HistoryTokenExpiredError, match="migrated the store to its present model"):
            ctx.at(before)
        (person,) = ctx.fetch("Person")
        after = place(container)
        person.nick = "c"
        ctx.save()
        assert ctx.at(after).fetch("Person")[0].nick is None


def test_failed_save_records_no_old_values(complete: Container, tmp_path: Path) -> None:
    ctx, person = saved(complete, name="a")
    other = complete.context()
    (twin,) = other.fetch("Person")
    person.name = "b"
    ctx.save()
    twin.name = "c"
    with pytest.raises(ConflictError):
        other.save()
    other.rollback()
    person.name = "d"
    ctx.save()
    with closing(sqlite3.connect(tmp_path / "people.sqlite")) as file:
        columns = "(SELECT Z_PK FROM CST_HISTORYCOLUMN WHERE ZCOLUMN = 'ZNAME')"
        found = file.execute(
            f"SELECT ZTRANSACTION, ZVALUE FROM CST_HISTORYVALUE WHERE ZCOLUMN IN {columns} ORDER BY 1"
        ).fetchall()
    assert found == [(2, "a"), (3, "b")]


def gaps(path: Path) -> int:
    """The number of transactions without old values."""
    with closing(sqlite3.connect(path)) as file:
        query = "SELECT (SELECT count(*) FROM ATRANSACTION), (SELECT total(ZLAST - ZFIRST + 1) FROM CST_HISTORYSPAN)"
        count, kept = file.execute(query).fetchone()
    return int(count - kept)


def test_old_values_are_recorded_during_concurrent_reads(complete: Container, tmp_path: Path) -> None:
    ctx, person = saved(complete, name="a")
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            list(complete.coordinator.history())

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for number in range(100):
        person.name = f"name {number}"
        ctx.save()
    stop.set()
    for reader in readers:
        reader.join()
    assert gaps(tmp_path / "people.sqlite") == 0


def test_connections_agree_on_complete_history(tmp_path: Path) -> None:
    path = tmp_path / "people.sqlite"
    with opened(path, None) as first:
        ctx, person = saved(first, name="a")
        with opened(path) as second, second.context() as other:
            # The other one began to keep old values.
            person.name = "b"
            ctx.save()
            assert gaps(path) == 1
            (twin,) = other.fetch("Person")
            with opened(path, False):
                pass
            # A third one ended that.
            assert tables(path) == set()
            twin.name = "c"
            other.save()
            ctx.refresh_all()
            person.name = "d"
            ctx.save()
            with opened(path):
                pass
            person.name = "e"
            ctx.save()
            assert gaps(path) == 4


def test_past_context_has_its_own_history(plain: Container) -> None:
    ctx, person = saved(plain, name="a")
    first = place(plain)
    person.age = 1
    ctx.save()
    second = place(plain)
    person.name = "b"
    ctx.save()
    past = ctx.at(second)
    then = past.at(first).get(person.id.uri)
    assert (then.name, then.is_known("name"), then.is_known("born")) == (None, False, True)
    assert [each.values.get("name") for each in past.coordinator.history_of(person)] == [None, None]
    (change,) = past.coordinator.history_diff(first)
    assert change.values["name"] == (UNKNOWN, UNKNOWN)
    assert change.values["age"] == (UNKNOWN, 1)


def test_lost_backing_file_makes_the_value_unknown(complete: Container, tmp_path: Path) -> None:
    ctx, person = saved(complete, name="a", photo=b"x" * 300)
    token = place(complete)
    for file in (tmp_path / ".people_SUPPORT" / "_EXTERNAL_DATA").iterdir():
        file.unlink()
    person.photo = b"y"
    ctx.save()
    then = ctx.at(token).get(person.id.uri)
    assert (then.photo, then.is_known("photo"), then.name) == (None, False, "a")
    revision = complete.coordinator.history_of(person)[-1]
    assert revision.values["photo"] == (UNKNOWN, b"y")
    complete.coordinator.backup(complete.coordinator.stores[0], tmp_path / "copy.sqlite")


def test_opening_the_past_survives_a_concurrent_purge(tmp_path: Path) -> None:
    # The copy is checked: transactions that the token needs may have gone since the token was.
    path = tmp_path / "people.sqlite"
    with opened(path) as container, opened(path) as other:
        ctx, person = saved(container, name="a")
        for number in range(50):
            person.name = f"{number}"
            ctx.save()
        store = container.coordinator.stores[0]
        ended = threading.Event()

        def purge() -> None:
            for keep in range(45, 0, -1):
                other.coordinator.purge_history(other.coordinator.stores[0], keep=keep)
            ended.set()

        purger = threading.Thread(target=purge)
        purger.start()
        while not ended.is_set():
            try:
                past = ctx.at(HistoryToken.at(store, 20))
            except HistoryTokenExpiredError:
                continue
            assert past.fetch("Person")[0].name == "18"
        purger.join()


def test_date_in_an_empty_history_is_expired(complete: Container) -> None:
    with pytest.raises(HistoryTokenExpiredError, match="does not contain transactions"):
        complete.coordinator.at(datetime.now(timezone.utc))
    assert complete.coordinator.at(place(complete)).context().count("Person") == 0


def test_past_can_be_limited_to_stores(tmp_path: Path) -> None:
    with opened(tmp_path / "people.sqlite") as container:
        ctx, person = saved(container, name="a")
        token = place(container)
        container.coordinator.add_store(tmp_path / "more.sqlite")
        with pytest.raises(InvalidArgumentError, match="does not have a history"):
            ctx.at(token)
        chosen = ctx.at(token, [container.coordinator.stores[0]])
        assert chosen.get(person.id.uri).name == "a"
        assert container.coordinator.history_diff(token, stores=[container.coordinator.stores[0]]) == []


# ---- the history of an object


def test_history_of_an_object_omits_values_before_a_migration(tmp_path: Path) -> None:
    path = tmp_path / "people.sqlite"
    with opened(path, None) as container:
        ctx, person = saved(container, name="a", age=3)
        uri = person.id.uri
    newer = {**MODEL, "Person": {**MODEL["Person"], "rank": "int32 = 7"}}
    with Container(Model(newer), path) as container, container.context() as ctx:
        (inserted,) = container.coordinator.history_of(ctx.get(uri))
        assert (inserted.kind, inserted.values) == (INSERT, {})


def test_nullified_references_are_unknown_without_old_values(plain: Container) -> None:
    ctx, person = saved(plain, name="a")
    (inserted,) = plain.coordinator.history_of(person)
    assert inserted.values["team"] == (UNKNOWN, None)
    person.name = "b"
    ctx.save()
    # A transaction without old values may have ended a reference.
    inserted, _ = plain.coordinator.history_of(person)
    assert "team" not in inserted.values
    assert inserted.values["age"] == (UNKNOWN, 0)


def test_history_of_an_object_has_authors_and_values(complete: Container) -> None:
    ctx, person = saved(complete, "ada", name="Ada", age=1)
    team = ctx.insert("Team", title="Engine")
    ctx.transaction_author, ctx.name = "bob", "editor"
    person.name, person.team = "Ada King", team
    ctx.save()
    identity = person.id
    ctx.delete(person)
    ctx.save()
    inserted, updated, deleted = complete.coordinator.history_of(identity)
    assert (inserted.kind, inserted.author, inserted.transaction) == (INSERT, "ada", 1)
    assert inserted.values["name"] == (UNKNOWN, "Ada")
    assert inserted.values["age"] == (UNKNOWN, 1)
    assert (updated.kind, updated.author, updated.context_name, updated.transaction) == (UPDATE, "bob", "editor", 2)
    assert updated.timestamp is not None
    assert updated.timestamp.tzinfo is not None
    assert updated.values["name"] == ("Ada", "Ada King")
    old, new = updated.values["team"]
    assert old is None
    assert isinstance(new, ObjectID)
    assert new.uri == team.id.uri
    assert "age" not in updated.values
    assert deleted.kind is DELETE
    assert deleted.values["name"] == ("Ada King", UNKNOWN)
    assert deleted.values["team"].old == team.id
    assert deleted.object_id == identity
    assert deleted.entity_name == "Person"


def test_history_of_an_object_has_unknown_values_without_old_values(plain: Container) -> None:
    ctx, person = saved(plain, "ada", name="a", age=1)
    for author, name in (("bob", "b"), ("eve", "c")):
        ctx.transaction_author = author
        person.name = name
        ctx.save()
    revisions = plain.coordinator.history_of(person)
    assert [(each.author, each.values.get("name")) for each in revisions] == [
        ("ada", None), ("bob", (UNKNOWN, UNKNOWN)), ("eve", (UNKNOWN, "c")),
    ]  # fmt: skip
    assert revisions[0].values["age"] == (UNKNOWN, 1)
    assert not UNKNOWN
    assert repr(UNKNOWN) == "UNKNOWN"


def test_history_of_an_unsaved_object_is_an_error(container: Container) -> None:
    ctx = container.context()
    person = ctx.insert("Person")
    with pytest.raises(InvalidArgumentError, match="is a temporary ID, which does not have a history"):
        container.coordinator.history_of(person)
    with pytest.raises(TypeMismatchError, match="a managed object or an ObjectID"):
        container.coordinator.history_of("x")  # type: ignore[arg-type]


# ---- differences


def test_history_diff_compares_two_positions(complete: Container) -> None:
    ctx, ada = saved(complete, name="Ada")
    bob = ctx.insert("Person", name="Bob")
    team = ctx.insert("Team", title="Engine")
    team.members = [ada, bob]
    ctx.save()
    gone = bob.id
    start = place(complete)
    team.members = [bob, ada]
    ada.name = "x"
    passing = ctx.insert("Person", name="passing")
    ctx.save()
    ada.name = "Ada"
    ctx.delete(passing)
    eve = ctx.insert("Person", name="Eve", friends={ada})
    ctx.save()
    ctx.delete(bob)
    ctx.save()
    found = {each.object_id.uri: each for each in complete.coordinator.history_diff(start)}
    assert found.keys() == {ada.id.uri, gone.uri, eve.id.uri, team.id.uri}
    assert found[ada.id.uri].kind is UPDATE
    assert set(found[ada.id.uri].values) == {"friends"}
    assert found[ada.id.uri].values["friends"] == ([], [eve.id])
    assert found[gone.uri].kind is DELETE
    assert found[gone.uri].values["name"] == ("Bob", UNKNOWN)
    assert found[eve.id.uri].kind is INSERT
    assert found[eve.id.uri].values["name"] == (UNKNOWN, "Eve")
    assert found[team.id.uri].values["members"] == ([ada.id, gone], [ada.id])
    assert found[team.id.uri].values["size"] == (2, 1)
    assert found[ada.id.uri].transaction is None
    assert found[ada.id.uri].timestamp is None
    assert complete.coordinator.history_diff(start, start) == []
    with pytest.raises(InvalidArgumentError, match="is before its start"):
        complete.coordinator.history_diff(place(complete), start)
    with pytest.raises(TypeMismatchError, match="start must be a HistoryToken"):
        complete.coordinator.history_diff(1)  # type: ignore[arg-type]


def test_history_diff_includes_inverse_relationships(complete: Container) -> None:
    ctx, ada = saved(complete, name="Ada")
    one, other = ctx.insert("Team", title="one"), ctx.insert("Team", title="other")
    one.members = [ada]
    ctx.save()
    start = place(complete)
    other.members = [ada]
    ctx.save()
    found = {each.object_id.uri: each.values for each in complete.coordinator.history_diff(start)}
    assert found[one.id.uri]["size"] == (1, 0)
    assert found[other.id.uri]["size"] == (0, 1)
    assert found[one.id.uri]["members"] == ([ada.id], [])


def test_history_diff_reports_an_object_once(tmp_path: Path) -> None:
    # The box has no change of its own, but two derived values and a member that changed.
    derived = {"type": "int64", "optional": True}
    model: dict[str, dict[str, Any]] = {
        "Item": {"value": "int64 = 0", "box": "to-one Box? inverse items"},
        "Box": {
            "total": {**derived, "derived": "items.value.@sum"},
            "count": {**derived, "derived": "items.@count"},
            "items": "to-many Item inverse box",
        },
    }
    container = Container(Model(model), tmp_path / "boxes.sqlite", complete_history=True)
    with container, container.context() as ctx:
        item = ctx.insert("Item", value=1, box=ctx.insert("Box"))
        ctx.save()
        start = place(container)
        uris = [item.id.uri, item.box.id.uri]
        ctx.execute(BatchDeleteRequest(FetchRequest("Item")))
        revisions = container.coordinator.history_diff(start)
        assert [each.object_id.uri for each in revisions] == uris
        assert revisions[1].values["total"] == (1, 0)
        assert revisions[1].values["count"] == (1, 0)


def test_history_diff_has_unknown_values_without_old_values(plain: Container) -> None:
    ctx, ada = saved(plain, name="Ada", age=3)
    start = place(plain)
    ada.name = "x"
    ctx.save()
    (found,) = plain.coordinator.history_diff(start)
    assert found.values == {"name": (UNKNOWN, "x"), "upper": (UNKNOWN, "X")}


# ---- options


def test_mutually_exclusive_history_options_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"CST_STORE_COMPLETE_HISTORY \(complete_history\) and "):
        opened(tmp_path / "a.sqlite", True, history=False)
    # Alone it begins a history too.
    with opened(tmp_path / "b.sqlite", True, history=None) as container:
        saved(container, name="a")
        assert len(list(container.coordinator.history())) == 1
