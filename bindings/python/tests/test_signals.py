"""Signal handlers that raise, at any moment: nothing is left behind, and no object without its values."""

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
    """What the handler raises. No Exception, as KeyboardInterrupt is none."""


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
    """What nobody could catch. A handler of ours that raised is told apart from others by its class."""
    found: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda told: found.append((told.exc_value, told.object)))
    return found


def storm(work: Callable[[int], None]) -> int:
    """Runs `work` again and again, and has a signal strike each time. How often one did so within the work."""
    strikes = 0
    chance = random.Random(STRIKES)
    is_on = False

    def strike(signum: int, frame: Any) -> None:
        if is_on:
            raise Struck

    former = signal.signal(signal.SIGALRM, strike)
    start = time.monotonic()
    longest = 0.0
    try:
        number = 0
        while strikes < STRIKES and time.monotonic() - start < LONGEST:
            number += 1
            begin = time.monotonic()
            try:
                is_on = True
                # Within the time that one takes, or in a rush.
                if number % 3:
                    signal.setitimer(signal.ITIMER_REAL, 1e-6 + chance.random() * longest)
                else:
                    signal.setitimer(signal.ITIMER_REAL, 1e-6 + chance.random() * longest, 2e-5)
                work(number)
                is_on = False
                longest = max(longest, time.monotonic() - begin) if longest < 0.01 else longest
            except Struck:
                is_on = False
                strikes += 1
            finally:
                is_on = False
                signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.signal(signal.SIGALRM, former)
    assert strikes > 0
    return strikes


def handles() -> int:
    gc.collect()
    count: int = lib.cst_handle_count()
    return count


def check(work: Callable[[int], None], unraisable: list[Any]) -> None:
    with_cleanup = 3
    for _ in range(with_cleanup):
        work(0)
    before = handles()
    storm(work)
    for _ in range(with_cleanup):
        work(0)
    # First, since the traceback of one would keep what its frames hold.
    assert [each for each in unraisable if isinstance(each[0], Struck)] == []
    assert handles() == before


def test_inserting(container: Container, unraisable: list[Any]) -> None:
    ctx = container.context()

    def work(number: int) -> None:
        ctx.insert("Person", name="Ada", number=number)
        ctx.insert_objects("Person", [{"name": "Bob", "number": number}, {"name": "Eve", "number": number}])

    def whole(number: int) -> None:
        ctx.rollback()
        work(number)

    check(whole, unraisable)
    assert sorted(item.name for item in ctx.inserted) == ["Ada", "Bob", "Eve"]


def test_no_object_is_half_made(container: Container, unraisable: list[Any]) -> None:
    ctx = container.context()
    torn: list[Any] = []

    def work(number: int) -> None:
        torn.extend(item for item in ctx.inserted if item.name is None or item.friends == set())
        ctx.rollback()
        friend = ctx.insert("Person", name="Ada", number=number, friends=set(known))
        del friend

    known = [ctx.insert("Person", name="Bob")]
    ctx.save()
    check(work, unraisable)
    work(0)
    assert [repr(item) for item in torn] == []


def test_fetching_and_reading(container: Container, unraisable: list[Any]) -> None:
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

    check(work, unraisable)


def test_saving(container: Container, unraisable: list[Any]) -> None:
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

    check(work, unraisable)
    ctx.save()
    for pet in ctx.fetch("Pet"):
        assert pet.name == "Rex"
    assert counted() == len(ctx.fetch("Pet"))


def test_contexts_and_blocks(container: Container, unraisable: list[Any]) -> None:
    def made() -> Context:
        return container.context()

    def work(number: int) -> None:
        context = made()
        with context:
            context.insert("Person", name="Ada")
            assert context.count("Person") == 1

    check(work, unraisable)


def test_a_signal_in_a_finalizer(container: Container, unraisable: list[Any]) -> None:
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
    check(work, unraisable)
    assert handles() == before
    assert threading.current_thread() is threading.main_thread()
