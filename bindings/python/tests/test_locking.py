"""lock, try_lock and unlock of a context's queue."""

from __future__ import annotations

import threading

import pytest

from corestone import Container, Context, WrongThreadError

NOT_LOCKED = 132000


def in_thread(work: object) -> list[object]:
    """Runs a function on another thread. Returns its result, or its exception."""
    found: list[object] = []

    def run() -> None:
        try:
            found.append(work())  # type: ignore[operator]
        except Exception as raised:
            found.append(raised)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    return found


def lock_and_unlock(context: Context) -> bool:
    is_taken = context.try_lock()
    if is_taken:
        context.unlock()
    return is_taken


def test_lock_reserves_the_queue_for_its_thread(container: Container) -> None:
    background = container.background_context()
    background.lock()
    background.insert("Department", name="Lab")
    assert background.try_lock()
    assert in_thread(background.try_lock) == [False]
    background.unlock()
    assert in_thread(background.try_lock) == [False]
    background.rollback()
    background.unlock()
    assert in_thread(lambda: lock_and_unlock(background)) == [True]


def test_unlock_without_a_lock_raises_core_datas_code(container: Container, ctx: Context) -> None:
    background = container.background_context()
    for context in (background, ctx):
        with pytest.raises(
            WrongThreadError, match=r"without locking it; call cst_context_lock \(lock\) first"
        ) as caught:
            context.unlock()
        assert caught.value.code == NOT_LOCKED
    background.lock()
    (raised,) = in_thread(background.unlock)
    assert isinstance(raised, WrongThreadError)
    assert raised.code == NOT_LOCKED
    background.unlock()
    with pytest.raises(WrongThreadError):
        background.unlock()


def test_lock_of_another_threads_context_is_refused(ctx: Context) -> None:
    (raised,) = in_thread(ctx.lock)
    assert isinstance(raised, WrongThreadError)
    assert "confined" in str(raised)
    ctx.lock()
    assert ctx.try_lock()
    ctx.unlock()
    ctx.unlock()


def test_lock_ends_with_the_perform_that_acquired_it(container: Container) -> None:
    background = container.background_context()
    background.perform_and_wait(background.lock)
    assert in_thread(lambda: lock_and_unlock(background)) == [True]
