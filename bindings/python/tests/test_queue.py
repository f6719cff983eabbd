"""Private queues and the main queue: results, exceptions, waiting."""

from __future__ import annotations

import asyncio
import subprocess
import threading
from concurrent.futures import CancelledError as FutureCancelledError
from pathlib import Path

import pytest
from conftest import Run

from corestone import Container, InvalidArgumentError, PredicateError, WrongThreadError


class OwnError(Exception):
    pass


def test_perform_returns_results(container: Container) -> None:
    background = container.background_context()
    assert background.perform_and_wait(lambda: [1, 2]) == [1, 2]
    assert background.perform_and_wait(lambda a, b: a + b, 1, b=2) == 3
    assert background.perform(lambda a, b: a + b, 1, b=2).result(timeout=60) == 3


def test_perform_raises_the_original_exception(container: Container) -> None:
    background = container.background_context()
    mine = OwnError("mine")

    def fail() -> None:
        raise mine

    with pytest.raises(OwnError) as caught:
        background.perform_and_wait(fail)
    assert caught.value is mine
    assert background.perform(fail).exception(timeout=60) is mine
    with pytest.raises(SystemExit):
        background.perform_and_wait(lambda: exit(3))
    with pytest.raises(PredicateError):
        background.perform_and_wait(lambda: background.fetch("Employee", "nmae == 1"))
    assert background.perform_and_wait(lambda: 7) == 7


def test_perform_and_wait_runs_on_a_confined_context(container: Container) -> None:
    ctx = container.context()
    assert ctx.perform_and_wait(lambda: ctx.count("Employee")) == 0


def test_perform_and_wait_is_reentrant(container: Container) -> None:
    background = container.background_context()

    def outer() -> int:
        return background.perform_and_wait(lambda: background.perform_and_wait(lambda: 5) + 1) + 1

    assert background.perform_and_wait(outer) == 7


def test_queued_blocks_run_in_order(container: Container) -> None:
    background = container.background_context()
    seen: list[int] = []
    futures = [background.perform(seen.append, number) for number in range(100)]
    for future in futures:
        future.result(timeout=60)
    assert seen == list(range(100))


def test_waiting_block_can_be_cancelled(container: Container) -> None:
    background = container.background_context()
    gate = threading.Event()
    background.perform(gate.wait, 10)
    waiting = background.perform(lambda: 1)
    assert waiting.cancel()
    gate.set()
    with pytest.raises(FutureCancelledError):
        waiting.result(timeout=60)
    assert background.perform(lambda: 2).result(timeout=60) == 2


def test_pending_changes_are_processed_after_a_block(container: Container) -> None:
    background = container.background_context()

    def delete_one() -> None:
        person = background.insert("Employee", name="x")
        background.save()
        background.delete(person)

    background.perform_and_wait(delete_one)
    assert background.perform_and_wait(lambda: background.count("Employee")) == 0


def test_futures_can_be_awaited_with_asyncio(container: Container) -> None:
    background = container.background_context()

    async def main() -> int:
        await asyncio.wrap_future(background.perform(background.insert, "Project", title="x"))
        return await asyncio.wrap_future(background.perform(background.count, "Project"))

    assert asyncio.run(main()) == 1


MAIN = """
import asyncio, select, threading, time
from corestone import Container, Model, WrongThreadError, main_queue
model = Model({"Item": {"name": "string"}})
container = Container(model, "items.store")
"""


def check(done: subprocess.CompletedProcess[str], printed: str) -> None:
    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout == printed


def test_main_queue_runs_blocks_when_drained(run_python: Run) -> None:
    program = """
main_queue.bind()
ctx = container.main_context()
ctx.insert("Item", name="direct")
assert main_queue.drain() == 0
begin = time.monotonic(); assert main_queue.drain(0.2) == 0; assert time.monotonic() - begin >= 0.15

seen = []
def worker():
    future = ctx.perform(lambda: seen.append(threading.current_thread() is threading.main_thread()) or "ran")
    print(future.result(timeout=30))
    print(ctx.perform_and_wait(lambda: ctx.count("Item")))
thread = threading.Thread(target=worker); thread.start()
assert select.select([main_queue.fileno()], [], [], 10)[0]
while thread.is_alive():
    main_queue.drain(0.05)
thread.join()
print(seen)
def wrong():
    try:
        ctx.insert("Item")
    except WrongThreadError:
        print("refused")
    try:
        main_queue.bind()
    except WrongThreadError:
        print("bound elsewhere")
thread = threading.Thread(target=wrong); thread.start(); thread.join()
ctx.rollback()
"""
    check(run_python(MAIN + program), "ran\n1\n[True]\nrefused\nbound elsewhere\n")


def test_main_queue_runs_in_an_event_loop(run_python: Run) -> None:
    program = """
ctx = container.main_context()
async def main():
    loop = asyncio.get_running_loop()
    main_queue.attach(loop)
    ctx.insert("Item", name="x")
    def worker():
        return ctx.perform(ctx.count, "Item").result(timeout=30)
    print(await loop.run_in_executor(None, worker))
    main_queue.detach(loop)
    ctx.rollback()
asyncio.run(main())
"""
    check(run_python(MAIN + program), "1\n")


def test_drain_without_timeout_returns_after_work(run_python: Run) -> None:
    program = """
main_queue.bind()
ctx = container.main_context()
threading.Timer(0.3, lambda: ctx.perform(print, "late")).start()
print(main_queue.drain(None))
"""
    check(run_python(MAIN + program), "late\n1\n")


def test_private_child_of_a_main_context_runs_on_another_thread(run_python: Run) -> None:
    program = """
main_queue.bind()
main = container.main_context()
main.insert("Item", name="unsaved")
child = main.child("private")
future = child.perform(lambda: [item.name for item in child.fetch("Item")])
while not future.done():
    main_queue.drain(0.05)
print(future.result())
async def both():
    main_queue.attach(asyncio.get_running_loop())
    print(await child.aperform(child.count, "Item"), await main.aperform(main.count, "Item"))
asyncio.run(both())
main.rollback()
"""
    check(run_python(MAIN + program), "['unsaved']\n1 1\n")


def test_main_thread_drains_its_queue_while_waiting_for_a_future(run_python: Run) -> None:
    program = """
from concurrent.futures import TimeoutError
main_queue.bind()
main = container.main_context()
main.insert("Item", name="unsaved")
child = main.child("private")
print(child.perform(child.count, "Item").result(timeout=30))
print(child.perform(lambda: child.fetch("Nothing")).exception(timeout=30))
begin = time.monotonic()
gate = threading.Event()
late = child.perform(gate.wait)
try:
    late.result(timeout=0.1)
except TimeoutError:
    print(0.1 <= time.monotonic() - begin)
gate.set()
print(late.result())
main.rollback()
"""
    done = run_python(MAIN + program)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert [lines[0], *lines[2:]] == ["1", "True", "True"]
    assert "Nothing" in lines[1]


def test_waiting_for_a_future_inside_a_coordinator_perform_fails(container: Container) -> None:
    background = container.background_context()
    futures = []

    def hire() -> None:
        background.insert("Employee", name="x")
        background.save()

    def wait() -> None:
        futures.append(background.perform(hire))
        futures[-1].result(timeout=60)

    with pytest.raises(WrongThreadError, match="coordinator's perform"):
        container.coordinator.perform_and_wait(wait)
    with pytest.raises(WrongThreadError, match="coordinator's perform"):
        container.coordinator.perform(wait).result(timeout=60)
    for future in futures:
        future.result(timeout=60)
    assert background.perform(background.count, "Employee").result(timeout=60) == 2


def test_private_queue_may_wait_for_the_main_queue(run_python: Run) -> None:
    program = """
main_queue.bind()
main, background = container.main_context(), container.background_context()
future = background.perform(lambda: main.perform_and_wait(lambda: "from main"))
while not future.done():
    main_queue.drain(0.05)
print(future.result())
"""
    check(run_python(MAIN + program), "from main\n")


def test_waiting_for_a_future_of_the_own_queue_fails(container: Container) -> None:
    background = container.background_context()
    later = []

    def wait() -> None:
        later.append(background.perform(lambda: "later"))
        later[-1].result(timeout=20)

    for run in (background.perform_and_wait, lambda body: background.perform(body).result(timeout=20)):
        with pytest.raises(WrongThreadError, match="queue"):
            run(wait)
        assert later[-1].result(timeout=20) == "later", "the block runs after the function returns"


def test_confined_context_rejects_asynchronous_perform(container: Container) -> None:
    ctx = container.context()
    with pytest.raises(InvalidArgumentError, match="confined"):
        ctx.perform(lambda: 1)
    assert ctx.perform_and_wait(lambda: 2) == 2


def thread_name() -> str:
    return Path(f"/proc/self/task/{threading.get_native_id()}/comm").read_text().strip()


def test_perform_uses_a_thread_with_the_name_of_the_context(
    container: Container,
) -> None:
    background = container.background_context()
    with background.perform():
        background.name = "importer"
    own = thread_name()

    def where() -> tuple[int, str]:
        return threading.get_native_id(), thread_name()

    assert background.perform_and_wait(where) == (threading.get_native_id(), own)
    thread, name = background.perform(where).result(timeout=20)
    assert thread != threading.get_native_id()
    assert name == "importer"
    nameless = container.background_context()
    assert nameless.perform(where).result(timeout=20)[1] != "importer"


def test_pending_changes_are_processed_after_the_outermost_block(container: Container) -> None:
    background = container.background_context()
    with background.perform():
        owner = background.insert("Employee", name="Ada")
        task = background.insert("Task", title="t", owner=owner)
        background.save()
        with background.perform():
            background.delete(owner)
        background.perform_and_wait(lambda: None)
        assert (owner.is_deleted, task.is_deleted) == (True, False)
    with background.perform():
        assert (task.is_deleted, background.has_changes) == (True, True)
        assert container.context().count("Task") == 1
        background.rollback()
