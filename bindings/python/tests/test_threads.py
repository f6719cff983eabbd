"""Threads: contexts of their own, one private context for many, and use on the wrong thread."""

from __future__ import annotations

import asyncio
import os
import random
import threading
import time
from typing import Any, Callable

import pytest

from corestone import ConflictError, Container, Context, WrongThreadError, main_queue

THREADS, ROUNDS = 8, 20


def run_all(functions: list[Callable[[], None]]) -> None:
    """Runs functions on threads of their own, and raises what they raised."""
    failures: list[BaseException] = []

    def guarded(function: Callable[[], None]) -> None:
        try:
            function()
        except BaseException as raised:
            failures.append(raised)

    threads = [threading.Thread(target=guarded, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_objects_cannot_be_used_on_another_thread(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    task = ada.tasks[0]
    uses: list[Callable[[], Any]] = [
        lambda: ada.name,
        lambda: setattr(ada, "name", "x"),
        lambda: ada.department,
        lambda: len(ada.tasks),
        lambda: ada.tasks.append(task),
        lambda: staff.fetch("Employee"),
        lambda: staff.insert("Employee"),
        lambda: staff.insert_many("Project", [{"title": "x"}]),
        staff.save,
        staff.rollback,
        staff.reset,
        lambda: staff.has_changes,
        lambda: staff.delete(ada),
    ]
    seen = []

    def misuse() -> None:
        for use in uses:
            with pytest.raises(WrongThreadError) as caught:
                use()
            seen.append(caught.value.message)
        assert repr(ada).startswith("<Employee")

    run_all([misuse])
    assert len(seen) == len(uses)
    assert ada.name == "Ada"
    assert not staff.has_changes


def test_main_thread_cannot_use_a_context_of_another_thread(container: Container) -> None:
    main_queue.bind()
    made: list[Any] = []

    def make() -> None:
        ctx = container.context()
        made.extend((ctx, ctx.insert("Employee", name="Ada")))

    run_all([make])
    ctx, ada = made
    for use in (lambda: ada.name, lambda: ctx.fetch("Employee"), ctx.save):
        with pytest.raises(WrongThreadError, match="which is confined to thread "):
            use()


def test_private_context_cannot_be_used_off_its_queue(container: Container) -> None:
    background = container.background_context()
    with pytest.raises(WrongThreadError):
        background.fetch("Employee")
    person = background.perform_and_wait(background.insert, "Employee", name="Ada")
    with pytest.raises(WrongThreadError):
        _ = person.name
    assert background.perform_and_wait(lambda: person.name) == "Ada"


def test_object_ids_can_be_passed_between_threads(staff: Context) -> None:
    identity = staff.first("Employee", "name == 'Ada'").id
    found = []

    def other() -> None:
        with staff.container.context() as ctx:
            found.append(ctx.get(identity).name)

    run_all([other])
    assert found == ["Ada"]


def test_threads_with_separate_contexts_save_concurrently(container: Container) -> None:
    def work(number: int) -> None:
        with container.context() as ctx:
            team = ctx.insert("Department", name=f"T{number}")
            for at in range(ROUNDS):
                ctx.insert_many(
                    "Employee", [{"name": f"{number}-{at}-{n}", "age": n, "department": team} for n in range(20)]
                )
                ctx.save()
                assert ctx.count("Employee", "department == %@", team) == 20 * (at + 1)
                assert sum(ctx.fetch("Employee", "department == %@", team).column("age")) == 190 * (at + 1)
                for person in ctx.fetch("Employee", "name BEGINSWITH %@", f"{number}-{at}-", limit=5):
                    person.notes = person.department.name
            ctx.save()

    run_all([lambda number=number: work(number) for number in range(THREADS)])  # type: ignore[misc]
    ctx = container.context()
    assert ctx.count("Employee") == THREADS * ROUNDS * 20
    assert ctx.count("Employee", "notes != nil") == THREADS * ROUNDS * 5


def test_threads_that_change_the_same_object_resolve_conflicts(container: Container) -> None:
    ctx = container.context()
    counter = ctx.insert("Employee", name="counter", number=0)
    ctx.save()
    identity = counter.id

    def work() -> None:
        with container.context() as mine:
            theirs = mine.get(identity)
            for _ in range(ROUNDS):
                while True:
                    theirs.number += 1
                    try:
                        mine.save()
                        break
                    except ConflictError:
                        mine.refresh(theirs, merge=False)

    run_all([work] * 4)
    ctx.refresh(counter, merge=False)
    assert counter.number == 4 * ROUNDS


def test_stress_of_one_private_context_loses_no_change(container: Container) -> None:
    background = container.background_context()
    counter = background.perform_and_wait(background.insert, "Employee", name="counter", number=0)

    def step(number: int) -> int:
        counter.number += 1
        if number % 5 == 0:
            background.insert("Project", title=str(number))
        if number % 17 == 0:
            background.save()
        return int(counter.number)

    def work() -> None:
        futures = []
        for number in range(100):
            if number % 2:
                futures.append(background.perform(step, number))
            else:
                assert background.perform_and_wait(step, number) > 0
        assert all(future.result(timeout=60) > 0 for future in futures)

    run_all([work] * 6)
    assert background.perform_and_wait(lambda: counter.number) == 600
    assert background.perform_and_wait(lambda: background.count("Project")) == 6 * 20
    background.perform_and_wait(background.save)
    assert container.context().count("Project") == 6 * 20


def test_contexts_can_be_released_while_they_merge(container: Container) -> None:
    """Their queues merge the changes of batch requests while the last handle is released."""
    end = time.monotonic() + 2
    with container.context() as ctx:
        ctx.insert_many("Project", [{"title": f"{number}"} for number in range(300)])
        ctx.save()

    def change() -> None:
        ctx = container.context()
        while time.monotonic() < end:
            ctx.batch_update("Project", {"title": "changed"})

    def use() -> None:
        while time.monotonic() < end:
            ctx = container.background_context()
            rows = ctx.perform_and_wait(lambda ctx=ctx: [row for row in ctx.fetch("Project") if row.title])
            time.sleep(random.random() / 250)
            assert len(rows) >= 300
            del rows, ctx

    run_all([change, use, use])


def test_background_tasks_share_few_threads(container: Container) -> None:
    seen: list[int] = []

    def task(_: Context) -> None:
        seen.append(len(os.listdir("/proc/self/task")))

    before = len(os.listdir("/proc/self/task"))

    def one_after_the_other() -> None:
        for _ in range(60):
            container.perform_background_task(task).result()

    run_all([one_after_the_other] * THREADS)
    assert len(seen) == 60 * THREADS
    assert max(seen) <= before + THREADS + 16


def test_contexts_that_wait_for_each_other_make_progress(container: Container) -> None:
    """Each waits for the next one, in calls of the library and for futures that it cannot see."""
    count = 64
    contexts = [container.background_context() for _ in range(count)]

    def perform_next(at: int) -> int:
        return contexts[at + 1].perform_and_wait(lambda: at) if at + 1 < count else at

    assert [each.result() for each in [ctx.perform(perform_next, at) for at, ctx in enumerate(contexts)]] == [
        min(at, count - 2) if at + 1 < count else at for at in range(count)
    ]

    def await_next(at: int) -> int:
        return 1 + contexts[at + 1].perform(await_next, at + 1).result() if at + 1 < count else 1

    assert contexts[0].perform(await_next, 0).result() == count
    for ctx in contexts:
        ctx.close()


async def wait_in_line(contexts: list[Context]) -> list[int]:
    return await asyncio.gather(*(ctx.aperform(lambda: threading.get_native_id()) for ctx in contexts))


def test_many_contexts_of_one_event_loop_share_threads(container: Container) -> None:
    contexts = [container.background_context() for _ in range(64)]
    assert len(set(asyncio.run(wait_in_line(contexts)))) <= 32  # of 64
    for ctx in contexts:
        ctx.close()
