"""Following a history, values of changes, consumers and purges."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from corestone import (
    CancelledError,
    Container,
    Context,
    Coordinator,
    Expression,
    HistoryChangeKind,
    HistoryToken,
    InvalidArgumentError,
    Model,
    ObjectID,
    Predicate,
    PredicateError,
    Store,
    TypeMismatchError,
)

MODEL = {
    "Show": {"title": "string", "episodes": "to-many Episode inverse show"},
    "Episode": {"title": "string", "plays": "int64 = 0", "show": "to-one Show? inverse episodes"},
}


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[tuple[Context, Context]]:
    """Contexts of two containers on one file."""
    path = tmp_path / "shows.sqlite"
    with Container(Model(MODEL), path, history=True) as one, Container(Model(MODEL), path, history=True) as other:
        yield one.context(), other.context()


def save(ctx: Context, count: int = 1) -> None:
    for number in range(count):
        ctx.insert("Episode", title=f"episode {number}")
        ctx.save()


def places(ctx: Context) -> tuple[Coordinator, Store]:
    return ctx.coordinator, ctx.coordinator.stores[0]


def test_follow_waits_for_saves_of_another_container(pair: tuple[Context, Context]) -> None:
    here, there = pair
    save(here, 2)
    history = there.history()
    found = history.follow(timeout=10)
    assert [next(found).number for _ in range(2)] == [1, 2]
    save(here)
    assert next(found).number == 3
    save(there)
    assert next(found).number == 4
    assert [each.number for each in history.follow(timeout=0.01)] == []


def test_follow_timeout_applies_when_all_transactions_are_excluded(pair: tuple[Context, Context]) -> None:
    here, there = pair
    here.transaction_author = "me"
    done = threading.Event()

    def keep_saving() -> None:
        with Container(Model(MODEL), path, history=True) as container:
            ctx = container.context()
            ctx.transaction_author = "me"
            while not done.is_set():
                save(ctx)
                done.wait(0.02)

    path = here.coordinator.stores[0].path
    thread = threading.Thread(target=keep_saving)
    thread.start()
    try:
        assert list(there.history(excluding_author="me").follow(timeout=0.3)) == []
    finally:
        done.set()
        thread.join()


def test_threads_can_share_a_cursor(pair: tuple[Context, Context]) -> None:
    here, there = pair
    save(here, 200)
    history = there.history(batch_size=3)
    found: list[int] = []

    def read() -> None:
        found.extend(transaction.number for transaction in history)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == list(range(1, 201))


def test_cancelled_iteration_ends(pair: tuple[Context, Context]) -> None:
    history = pair[1].history()

    async def read() -> None:
        asyncio.get_running_loop().call_later(0.05, history.cancel)
        async for _ in history:
            pass

    with pytest.raises(CancelledError):
        asyncio.run(asyncio.wait_for(read(), 20))


def test_limited_history_cannot_be_followed(pair: tuple[Context, Context]) -> None:
    save(pair[0], 3)
    limited = pair[1].history(limit=2)
    assert [each.number for each in limited] == [1, 2]
    with pytest.raises(InvalidArgumentError, match="limit"):
        limited.wait(0)


def test_wait_ends_at_timeout_and_when_cancelled(pair: tuple[Context, Context]) -> None:
    history = pair[0].history()
    assert list(history) == []
    assert history.wait(0)  # the stores are watched from now on
    assert list(history) == []
    assert not history.wait(0.01)
    threading.Timer(0.05, history.cancel).start()
    with pytest.raises(CancelledError):
        history.wait(10)
    with pytest.raises(CancelledError):
        history.wait(0)


def test_descriptor_is_readable_when_transactions_arrive(pair: tuple[Context, Context]) -> None:
    import select

    here, there = pair
    history = there.history()
    list(history)
    descriptor = history.fileno()
    assert descriptor >= 0
    assert history.fileno() == descriptor
    list(history)
    assert select.select([descriptor], [], [], 0)[0] == []
    save(here)
    assert select.select([descriptor], [], [], 10)[0] == [descriptor]
    assert [each.number for each in history] == [1]


def test_history_is_an_asynchronous_iterator(pair: tuple[Context, Context]) -> None:
    here, there = pair

    async def read() -> list[int]:
        found: list[int] = []
        async for transaction in there.history():
            found.append(transaction.number)
            if len(found) == 4:
                return found
            if transaction.number == 2:
                asyncio.get_running_loop().call_later(0.02, save, here, 2)
        return found

    save(here, 2)
    assert asyncio.run(asyncio.wait_for(read(), 20)) == [1, 2, 3, 4]


def test_history_returns_old_and_new_values(pair: tuple[Context, Context]) -> None:
    here, there = pair
    show = here.insert("Show", title="Show")
    first, second = (here.insert("Episode", title=title, show=show) for title in ("one", "two"))
    here.save()
    first.plays = 7
    here.delete(second)
    here.save()
    history = there.history()
    transaction = next(history)
    values = {change.object_uri.split("/", 3)[3]: history.values(change) for change in transaction.changes}
    assert values["Episode/p2"] is None  # it was deleted since
    episode, of_show = values["Episode/p1"], values["Show/p1"]
    assert episode is not None
    assert of_show is not None
    assert (episode["title"], episode["plays"]) == ("one", 7)
    assert isinstance(episode["show"], ObjectID)
    assert there.get(episode["show"]).title == "Show"
    assert [each.uri.rpartition("/")[2] for each in of_show["episodes"]] == ["p1"]
    earlier = transaction.changes[0]
    transaction = next(history)
    found = {change.kind: history.values(change) for change in transaction.changes if change.entity_name == "Episode"}
    assert found == {HistoryChangeKind.UPDATE: {"plays": 7}, HistoryChangeKind.DELETE: None}
    with pytest.raises(InvalidArgumentError, match="last transaction"):
        history.values(earlier)


def test_registered_consumers_delay_purges(pair: tuple[Context, Context]) -> None:
    here, there = pair
    coordinator, store = places(here)
    save(here, 2)
    coordinator.register_history_consumer("sync", store, lease=timedelta(days=1))
    save(here, 3)
    consumer = there.coordinator.history_consumers(places(there)[1])[0]
    assert (consumer.name, consumer.transaction, consumer.lease) == ("sync", 2, timedelta(days=1))
    assert consumer.is_living
    steps: list[tuple[int, int]] = []
    purge = coordinator.purge_history(store, keep=0, progress=lambda *done: steps.append(done))
    assert (purge.transactions, purge.held_by, purge.reason) == (2, "sync", None)
    assert steps == [(2, 2)]
    size = coordinator.history_size(store)
    assert (size.transactions, size.changes) == (3, 3)
    assert size.oldest is not None
    assert size.newest is not None
    assert size.oldest <= size.newest
    token = coordinator.history_token()
    assert token is not None
    coordinator.move_history_consumer("sync", store, token)
    assert coordinator.purge_history(store).transactions == 3
    assert coordinator.unregister_history_consumer("sync", store)
    assert not coordinator.unregister_history_consumer("sync", store)


def test_purge_honours_its_limits(pair: tuple[Context, Context]) -> None:
    coordinator, store = places(pair[0])
    save(pair[0], 5)
    assert coordinator.purge_history(store).transactions == 0  # without limits and consumers all stays
    assert coordinator.purge_history(store, older_than=timedelta(days=1)).transactions == 0
    assert coordinator.purge_history(store, keep=3).transactions == 2
    assert coordinator.purge_history(store, max_bytes=0).transactions == 3
    with pytest.raises(InvalidArgumentError):
        coordinator.purge_history(store, keep=-1)
    with pytest.raises(InvalidArgumentError, match="age"):
        coordinator.purge_history(store, older_than=timedelta(days=-1))
    with pytest.raises(TypeMismatchError, match="older_than"):
        coordinator.purge_history(store, older_than=3)  # type: ignore[arg-type]


def test_invalid_consumer_calls_are_rejected(pair: tuple[Context, Context], tmp_path: Path) -> None:
    coordinator, store = places(pair[0])
    token = HistoryToken.at(store, 0)
    with pytest.raises(InvalidArgumentError, match="call cst_coordinator_register_history_consumer"):
        coordinator.move_history_consumer("nobody", store, token)
    with pytest.raises(InvalidArgumentError, match="empty"):
        coordinator.register_history_consumer("", store)
    with pytest.raises(InvalidArgumentError, match="lease"):
        coordinator.register_history_consumer("a", store, lease=timedelta(0))
    with pytest.raises(TypeMismatchError, match="at must be"):
        coordinator.register_history_consumer("a", store, at=5)  # type: ignore[arg-type]
    with Container(Model(MODEL), tmp_path / "plain.sqlite") as plain:
        with pytest.raises(InvalidArgumentError, match="does not have a history"):
            plain.coordinator.register_history_consumer("a", plain.coordinator.stores[0])
        assert plain.coordinator.history_size(plain.coordinator.stores[0]).transactions == 0


def test_history_false_opens_read_only(tmp_path: Path) -> None:
    path = tmp_path / "shows.sqlite"
    with Container(Model(MODEL), path, history=True) as container:
        save(container.context())
    with Container(Model(MODEL), path, history=False) as container:
        store = container.coordinator.stores[0]
        assert store.is_read_only
        assert "history=False" in (store.read_only_reason or "")
    with Container(Model(MODEL), path) as container:
        save(container.context())  # goes on recording
        assert [each.number for each in container.coordinator.history()] == [1, 2]
        container.coordinator.delete_history(HistoryToken.at(container.coordinator.stores[0], 2))


def test_token_is_a_predicate_argument(pair: tuple[Context, Context]) -> None:
    save(pair[0])
    token = pair[0].history_token
    assert token is not None
    predicate = Predicate("token == %@", token)
    assert [each.number for each in pair[1].history(predicate)] == [1]
    assert Expression.constant(token).constant_value == token
    with pytest.raises(InvalidArgumentError, match="history token"):
        HistoryToken.from_json("{")
    with pytest.raises(PredicateError, match="nonsense"):
        pair[0].history(sort="nonsense")
