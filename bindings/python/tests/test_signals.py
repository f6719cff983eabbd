"""Signal handlers that raise, at any moment: no leaks, and no object without its values."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from corestone import Container, Context, CorestoneError, Model, Predicate
from corestone._abi import lib

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")

STRIKES = int(os.environ.get("CORESTONE_STRIKES", "150"))
LONGEST = 60.0  # seconds: in these, each test makes what progress it can


class Struck(BaseException):
    """The exception of the handler. Not a subclass of Exception, like KeyboardInterrupt."""


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    people = Model(
        {
            "Person": {"name": "string", "number": "int = 0", "friends": "to-many Person inverse friends"},
            "Pet": {"name": "string"},
        }
    )
    with Container(people, tmp_path / "people.sqlite", unsaved="discard") as opened:
        yield opened


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The class of each exception that could not be raised, and where. The exceptions themselves would keep frames,
    and with them the handles that are counted here."""
    found: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: found.append((told.exc_type, repr(told.object))))
    return found


class Alarm:
    """Raises Struck when a signal arrives while it is on."""

    is_on = False

    def strike(self, signum: int, frame: Any) -> None:
        if self.is_on:
            raise Struck


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    """An alarm that has the signal until the end of the test: one that another thread received may arrive late."""
    own = Alarm()
    former = signal.signal(signal.SIGALRM, own.strike)
    yield own
    signal.signal(signal.SIGALRM, former)


def storm(work: Callable[[int], None], alarm: Alarm) -> int:
    """Runs `work` again and again with a signal in each run. Returns how many arrived within the work."""
    strikes = 0
    chance = random.Random(STRIKES)
    start = time.monotonic()
    longest = 0.0
    number = 0
    while strikes < STRIKES and time.monotonic() - start < LONGEST:
        number += 1
        begin = time.monotonic()
        try:
            alarm.is_on = True
            # Within the time that one takes, or in a rush.
            if number % 3:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 + chance.random() * longest)
            else:
                signal.setitimer(signal.ITIMER_REAL, 1e-6 + chance.random() * longest, 2e-5)
            work(number)
            alarm.is_on = False
            longest = max(longest, time.monotonic() - begin) if longest < 0.01 else longest
        except Struck:
            alarm.is_on = False
            strikes += 1
        finally:
            alarm.is_on = False
            signal.setitimer(signal.ITIMER_REAL, 0)
    assert strikes > 0
    return strikes


def handles() -> int:
    gc.collect()
    count: int = lib.cst_handle_count()
    return count


def check(work: Callable[[int], None], alarm: Alarm, unraisable: list[Any]) -> None:
    with_cleanup = 3
    for _ in range(with_cleanup):
        work(0)
    before = handles()
    storm(work, alarm)
    for _ in range(with_cleanup):
        work(0)
    assert [each for each in unraisable if issubclass(each[0], Struck)] == []
    assert handles() == before


def test_signal_during_insert_leaves_consistent_objects(
    container: Container, alarm: Alarm, unraisable: list[Any]
) -> None:
    ctx = container.context()

    def work(number: int) -> None:
        ctx.insert("Person", name="Ada", number=number)
        ctx.insert_objects("Person", [{"name": "Bob", "number": number}, {"name": "Eve", "number": number}])

    def whole(number: int) -> None:
        ctx.rollback()
        work(number)

    check(whole, alarm, unraisable)
    assert sorted(item.name for item in ctx.inserted) == ["Ada", "Bob", "Eve"]


def test_signal_never_exposes_a_partly_initialised_object(
    container: Container, alarm: Alarm, unraisable: list[Any]
) -> None:
    ctx = container.context()
    torn: list[Any] = []

    def work(number: int) -> None:
        torn.extend(item for item in ctx.inserted if item.name is None or item.friends == set())
        ctx.rollback()
        friend = ctx.insert("Person", name="Ada", number=number, friends=set(known))
        del friend

    known = [ctx.insert("Person", name="Bob")]
    ctx.save()
    check(work, alarm, unraisable)
    work(0)
    assert [repr(item) for item in torn] == []


def test_signal_during_a_fetch_leaves_consistent_objects(
    container: Container, alarm: Alarm, unraisable: list[Any]
) -> None:
    ctx = container.context()
    ctx.insert_many("Person", [{"name": f"{place}", "number": place} for place in range(60)])
    ctx.save()
    everybody = [item.id for item in ctx.fetch("Person", sort="number")]

    def work(number: int) -> None:
        found = ctx.fetch("Person", "number < %d", 30, sort="number")
        assert [item.number for item in found][:2] == [0, 1]
        for identity in everybody[:20]:
            assert ctx.get(identity).name is not None
        assert ctx.existing(everybody[0]).number == 0
        assert len(found.ids()) == 30
        assert Predicate("number > %d", number).format
        with pytest.raises(CorestoneError):
            ctx.fetch("Person", "nobody == 1")

    check(work, alarm, unraisable)


def test_signal_during_a_save_leaves_a_consistent_context(
    container: Container, alarm: Alarm, unraisable: list[Any]
) -> None:
    def counted() -> int:
        context = container.context()
        try:
            return int(context.count("Pet"))
        finally:
            context.close()

    ctx = container.context()

    def work(number: int) -> None:
        ctx.insert("Pet", name="Rex")
        ctx.save()

    check(work, alarm, unraisable)
    ctx.save()
    for pet in ctx.fetch("Pet"):
        assert pet.name == "Rex"
    assert counted() == len(ctx.fetch("Pet"))


def test_signal_in_a_with_block_closes_the_context(container: Container, alarm: Alarm, unraisable: list[Any]) -> None:
    def made() -> Context:
        return container.context()

    def work(number: int) -> None:
        context = made()
        with context:
            context.insert("Person", name="Ada")
            assert context.count("Person") == 1

    check(work, alarm, unraisable)


def test_signal_in_a_finalizer_is_handled(container: Container, alarm: Alarm, unraisable: list[Any]) -> None:
    """Each wrapper and each ID ends while a signal waits to be handled."""
    ctx = container.context()
    ctx.insert_many("Person", [{"name": f"{place}"} for place in range(200)])
    ctx.save()

    def work(number: int) -> None:
        items = list(ctx.fetch("Person"))
        ids = [item.id for item in items]
        del items
        del ids

    before = handles()
    check(work, alarm, unraisable)
    assert handles() == before
    assert threading.current_thread() is threading.main_thread()
