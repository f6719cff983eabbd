"""Histories that are purged automatically."""

from __future__ import annotations

import contextlib
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable

import pytest

from corestone import (
    Container,
    HistoryRetention,
    HistoryToken,
    HistoryTokenExpiredError,
    InvalidArgumentError,
    Model,
    TypeMismatchError,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people.sqlite"


def opened(path: Path, **options: Any) -> Container:
    model = Model({"Person": {"name": "string?", "age": "int32 = 0"}})
    return Container(model, path, sync="normal", history=True, unsaved="discard", **options)


def save_people(container: Container, *names: str) -> None:
    """Saves each person in a transaction of its own."""
    with container.context() as ctx:
        for name in names:
            ctx.insert("Person", name=name)
            ctx.save()


def numbers(container: Container) -> list[int]:
    return [transaction.number for transaction in container.coordinator.history()]


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        # A purge may delete transactions while they are read.
        with contextlib.suppress(HistoryTokenExpiredError):
            if condition():
                return
        time.sleep(0.01)
    raise AssertionError("the history was not purged")


def test_store_is_purged_when_it_is_opened(path: Path) -> None:
    with opened(path) as container:
        save_people(container, *"abcde")
        store = container.coordinator.stores[0]
        container.coordinator.register_history_consumer("reader", store, at=HistoryToken.at(store, 2))
    with opened(path, history_retention=HistoryRetention(keep=1)) as container:
        # The consumer has yet to read the third transaction.
        wait_for(lambda: numbers(container) == [3, 4, 5])
        container.coordinator.unregister_history_consumer("reader", container.coordinator.stores[0])
    with opened(path, history_retention=HistoryRetention(keep=1)) as container:
        wait_for(lambda: numbers(container) == [5])


def test_store_is_purged_after_1000_transactions(path: Path) -> None:
    with opened(path, history_retention=HistoryRetention(keep=10)) as container:
        ctx = container.context()
        person = ctx.insert("Person")
        for age in range(1000):
            person.age = age
            ctx.save()
        wait_for(lambda: container.coordinator.history_count() <= 10)


def test_invalid_retention_is_rejected(path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="age") as caught:
        opened(path, history_retention=HistoryRetention(older_than=timedelta(days=-1)))
    assert (caught.value.key, caught.value.file) == ("age", str(path))
    with pytest.raises(TypeMismatchError, match="history_retention must be of type HistoryRetention, not 5"):
        opened(path, history_retention=5)
    assert not path.exists()
    with opened(path, history_retention=HistoryRetention(keep=1)) as container:
        save_people(container, "a")
    # One that is open for reading stays as it is.
    with opened(path, history_retention=HistoryRetention(keep=0), read_only=True) as container:
        assert container.coordinator.history_count() == 1
