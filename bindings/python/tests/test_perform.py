"""Blocks on a queue, awaiting, executors, notifications as async iterators, and wrong-thread errors."""

from __future__ import annotations

import asyncio
import gc
import inspect
import subprocess
import threading
from concurrent.futures import CancelledError as FutureCancelledError
from typing import Any

import pytest
from conftest import Run

from corestone import Container, Context, InvalidArgumentError, InvalidHandleError, ObjectID, WrongThreadError
from corestone.codes import CoreDataCode


def on_thread(function: Any, *arguments: Any) -> Any:
    """Runs a function on a new thread; returns its result or raises its exception."""
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function(*arguments))
        except BaseException as raised:
            found.append(raised)

    thread = threading.Thread(target=run, name="stray")
    thread.start()
    thread.join(20)
    assert not thread.is_alive(), "hangs"
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


# ---- the wrong thread


def test_wrong_thread_error_names_both_threads_and_the_line(container: Container) -> None:
    frame = inspect.currentframe()
    assert frame is not None
    line = frame.f_lineno + 1
    ctx = container.context()
    ctx.name = "editor"
    with pytest.raises(WrongThreadError) as caught:
        on_thread(ctx.count, "Employee")
    message = caught.value.message
    assert f' (stray) used context "editor" (created at {__file__}:{line})' in message
    assert f"confined to thread {threading.get_native_id()} ({threading.current_thread().name})" in message
    background = container.background_context()
    with pytest.raises(WrongThreadError, match="which is not in use; use the context inside cst_context_perform"):
        background.save()
    with background.perform(), pytest.raises(WrongThreadError, match=r"which thread \d+ \(.*\) is using"):
        on_thread(background.save)


# ---- blocks


def test_perform_block_holds_the_queue(container: Container) -> None:
    background = container.background_context()
    with background.perform() as ctx:
        assert ctx is background
        person = ctx.insert("Employee", name="Ada")
        with ctx.perform():
            ctx.save()
        later = background.perform(ctx.count, "Employee")
        with pytest.raises(WrongThreadError, match="the function cannot finish during the wait"):
            later.result(timeout=1)
        assert not later.done()
        assert ctx.perform_and_wait(lambda: person.name) == "Ada"
    assert later.result(timeout=60) == 1
    with pytest.raises(WrongThreadError):
        _ = person.name


def test_perform_block_releases_the_queue_after_an_exception(container: Container) -> None:
    background = container.background_context()

    def fail() -> None:
        with background.perform():
            background.insert("Employee", name="Ada")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert on_thread(background.perform_and_wait, lambda: background.count("Employee")) == 1


def test_threads_enter_perform_blocks_serially(container: Container) -> None:
    background = container.background_context()
    total = [0]

    def count() -> None:
        for _ in range(200):
            with background.perform():
                seen = total[0]
                total[0] = seen + 1

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert total == [800]


def test_perform_block_may_close_its_context(container: Container) -> None:
    background = container.background_context()
    with background.perform():
        background.insert("Employee", name="Ada")
        background.close()
    with pytest.raises(InvalidHandleError):
        background.perform()


def test_confined_context_supports_perform_blocks(container: Container) -> None:
    ctx = container.context()
    with ctx.perform(), ctx.perform():
        ctx.insert("Employee", name="Ada")

    def enter() -> None:
        with ctx.perform():
            pass

    with pytest.raises(WrongThreadError):
        on_thread(enter)


def test_deadlock_between_perform_blocks_is_detected(container: Container) -> None:
    one, other = container.background_context(), container.background_context()
    both = threading.Barrier(2)
    raised: list[WrongThreadError] = []

    def take(first: Context, second: Context) -> None:
        try:
            with first.perform():
                both.wait(10)
                with second.perform():
                    pass
        except WrongThreadError as error:
            raised.append(error)

    thread = threading.Thread(target=take, args=(one, other))
    thread.start()
    take(other, one)
    thread.join(20)
    assert not thread.is_alive()
    assert [error.code for error in raised] == [CoreDataCode.MANAGED_OBJECT_CONTEXT_LOCKING]
    assert "deadlock" in raised[0].message


def test_another_task_cannot_enter_a_perform_block(container: Container) -> None:
    background = container.background_context()

    async def first(inside: asyncio.Event, refused: asyncio.Event) -> int:
        with background.perform(), background.perform():
            background.insert("Employee", name="Ada")
            inside.set()
            await refused.wait()
            with background.perform():
                return len(background.inserted)

    async def main() -> None:
        inside, refused = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(first(inside, refused))
        await inside.wait()
        with pytest.raises(WrongThreadError, match="and the block is still open"), background.perform():
            background.rollback()
        with pytest.raises(WrongThreadError, match="and the block is still open"):
            background.perform_and_wait(background.rollback)
        with pytest.raises(WrongThreadError, match="and the block is still open"):
            await background.aperform(background.rollback)
        refused.set()
        assert await task == 1
        with background.perform():
            background.rollback()

    asyncio.run(main())
    with background.perform():
        asyncio.run(main())


def test_another_task_cannot_enter_after_a_nested_block(container: Container) -> None:
    background = container.background_context()

    async def enter() -> None:
        with background.perform():
            pass

    async def main() -> None:
        with background.perform():
            with background.perform():
                pass
            with pytest.raises(WrongThreadError, match="and the block is still open"):
                await asyncio.create_task(enter())

    asyncio.run(main())


# ---- awaiting


def test_aperform_awaits_the_result(container: Container) -> None:
    background = container.background_context()
    own = OSError("mine")

    def fail() -> None:
        raise own

    async def main() -> None:
        assert await background.aperform(lambda a, b: a + b, 1, b=2) == 3
        with pytest.raises(OSError, match="mine") as caught:
            await background.aperform(fail)
        assert caught.value is own
        assert caught.traceback[-1].name == "fail"
        many = await asyncio.gather(*(background.aperform(lambda n=n: n) for n in range(100)))
        assert list(many) == list(range(100))
        ctx = container.context()
        here = threading.get_ident()
        assert await ctx.aperform(threading.get_ident) == here, "immediately, on the thread of the context"

    asyncio.run(main())


def test_task_cancelled_before_its_turn_does_not_run(container: Container) -> None:
    background = container.background_context()
    gate = threading.Event()
    ran: list[int] = []

    async def main() -> None:
        background.perform(gate.wait, 10)
        task = asyncio.create_task(background.aperform(ran.append, 1))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        await background.aperform(ran.append, 2)

    asyncio.run(main())
    assert ran == [2]


def test_executor_runs_functions_on_the_queue(container: Container) -> None:
    background = container.background_context()

    async def main() -> int:
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(background.executor, lambda: background.insert("Project", title="x"))
        return await loop.run_in_executor(background.executor, background.count, "Project")

    assert asyncio.run(main()) == 1
    with background.executor as executor:
        assert list(executor.map(lambda n: n * 2, range(5))) == [0, 2, 4, 6, 8]
    with pytest.raises(RuntimeError):
        executor.submit(print)
    gate = threading.Event()
    background.perform(gate.wait, 10)
    executor = background.executor
    waiting = executor.submit(print, "never")
    executor.shutdown(wait=False, cancel_futures=True)
    gate.set()
    with pytest.raises(FutureCancelledError):
        waiting.result(timeout=60)


def test_executor_shutdown_keeps_work_of_other_contexts(container: Container) -> None:
    first, second = container.background_context(), container.background_context()
    gate = threading.Event()
    second.perform(gate.wait, 10)
    waiting = second.executor.submit(lambda: 1)
    first.executor.shutdown(cancel_futures=True)
    gate.set()
    assert waiting.result(timeout=60) == 1


# ---- notifications


def save_one(ctx: Context, name: str) -> ObjectID:
    person = ctx.insert("Employee", name=name)
    ctx.save()
    return person.id  # type: ignore[no-any-return]


def test_notifications_are_an_async_iterator(container: Container) -> None:
    background = container.background_context()

    async def main() -> None:
        told = background.notifications("did_save_object_ids")
        ada = await background.aperform(save_one, background, "Ada")
        bob = await background.aperform(save_one, background, "Bob")
        seen = []
        async for changes in told:
            seen += changes.inserted
            if len(seen) == 2:
                break
        assert seen == [ada, bob]
        newest = background.notifications("did_save_object_ids", newest=1)
        for name in "abc":
            last = await background.aperform(save_one, background, name)
        assert (await newest.__anext__()).inserted == [last]
        waiting = asyncio.create_task(newest.__anext__())
        await asyncio.sleep(0.01)
        eve = await background.aperform(save_one, background, "Eve")
        assert (await waiting).inserted == [eve]
        with pytest.raises(InvalidArgumentError):
            background.notifications("did_save", newest=0)

    asyncio.run(main())


def test_closed_notification_iterator_ends(container: Container) -> None:
    background = container.background_context()

    async def main() -> None:
        told = background.notifications("did_save")
        await background.aperform(save_one, background, "Ada")
        background.close()
        assert [len(changes.inserted) for changes in [each async for each in told]] == [1]
        with pytest.raises(InvalidHandleError):
            background.notifications("did_save")
        other = container.background_context()
        waiting = asyncio.create_task(other.notifications("did_save").__anext__())
        await asyncio.sleep(0.01)
        del other
        gc.collect()
        with pytest.raises(StopAsyncIteration):
            await asyncio.wait_for(waiting, 10)
        third = container.background_context()
        cancelled = third.notifications("did_save")
        task = asyncio.create_task(cancelled.__anext__())
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled.close()
        with pytest.raises(StopAsyncIteration):
            await cancelled.__anext__()

    asyncio.run(main())


def test_cancelled_wait_keeps_the_iterator_usable(container: Container) -> None:
    background = container.background_context()

    async def main() -> None:
        told = background.notifications("did_save_object_ids")
        for name in "ab":
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(told.__anext__(), 0.05)
            saved = await background.aperform(save_one, background, name)
            assert (await asyncio.wait_for(told.__anext__(), 10)).inserted == [saved]

    asyncio.run(main())


def test_released_iterator_stops_observing(container: Container) -> None:
    from corestone.graph import observation

    ctx = container.context()
    gc.collect()
    before = len(observation._observers)
    told = ctx.notifications("did_save")
    assert len(observation._observers) == before + 1
    del told
    gc.collect()
    save_one(ctx, "Ada")
    assert len(observation._observers) == before


def test_coordinator_notifications_are_an_async_iterator(container: Container) -> None:
    async def main() -> None:
        told = container.coordinator.notifications("stores_did_change")
        container.coordinator.remove_store(container.store)
        async for changes in told:
            assert len(changes.removed) == 1
            break

    asyncio.run(main())


# ---- the end of the interpreter


def test_queued_work_runs_before_the_interpreter_ends(run_python: Run) -> None:
    program = r"""
import time
from corestone import Container, Model
container = Container(Model({"Item": {"name": "string"}}), "items.store")
workers = [container.background_context() for _ in range(4)]
def work(ctx, n):
    time.sleep(0.01)
    ctx.insert("Item", name=str(n)); ctx.save()
    if n == 4: print(f"{ctx.count('Item') >= 5}\n", end="")
for n in range(5):
    for ctx in workers: ctx.perform(work, ctx, n)
"""
    done: subprocess.CompletedProcess[str] = run_python(program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n" * 4, "")
