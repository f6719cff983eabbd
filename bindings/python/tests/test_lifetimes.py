"""Handles do not leak, in any order of release and on any thread."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import pytest

import corestone
from corestone import Container, Context, CorestoneError, Model, Predicate
from corestone._abi.wrappers import find, objects


def settle() -> int:
    for _ in range(3):
        gc.collect()
    return corestone.handle_count()


def use(model: Model, path: Path) -> None:
    """A bit of everything."""
    with Container(model, path, sync="normal") as container:
        ctx = container.context()
        team = ctx.insert("Department", name="Team")
        people = [ctx.insert("Employee", name=f"N{at}", age=0, department=team) for at in range(50)]
        people[0].projects.add(ctx.insert("Project", title="P"))
        ctx.save()
        for wrong in ("nmae == 1", "age >"):
            with pytest.raises(CorestoneError):
                ctx.fetch("Employee", wrong)
        other = container.background_context()
        other.perform_and_wait(lambda: [each.department.name for each in other.fetch("Employee")])
        other.perform(lambda: other.count("Employee")).result()
        found = ctx.fetch("Employee", Predicate("age == 0") & Predicate("name BEGINSWITH 'N'"), prefetch=["department"])
        found.column("name")
        assert len(found.ids()) == 50
        list(ctx.known)
        ctx.delete(people[1])
        people[2].department = None
        ctx.rollback()
        repr(found)


def test_all_handles_are_released(tmp_path: Path) -> None:
    from checkout import COMPANY

    def once(number: int) -> None:
        use(Model(COMPANY), tmp_path / f"{number}.store")

    once(0)
    before = settle()
    for number in range(1, 4):
        once(number)
    assert settle() == before


def test_objects_retain_their_context(model: Model, path: Path) -> None:
    before = settle()
    person = Container(model, path, sync="normal").context().insert("Employee", name="Ada")
    settle()
    assert person.name == "Ada"
    person.context.save()
    department = person.context.insert("Department", name="X")
    person.department = department
    del person
    settle()
    assert [each.name for each in department.employees] == ["Ada"]
    del department
    assert settle() <= before + 20  # the model's own


def test_context_is_released_while_its_container_is_open(staff: Context) -> None:
    """Its objects, its undo steps and its queue end with it."""
    container = staff.container

    def work(context: Context) -> None:
        context.undo_manager = corestone.UndoManager()
        for item in context.fetch("Employee"):
            item.name = f"{item.name} X"
        context.process_pending_changes()
        context.rollback()

    def once() -> None:
        work(container.context())
        background = container.background_context()
        background.perform_and_wait(lambda: work(background))

    once()
    before = settle()
    for _ in range(5):
        once()
    assert settle() == before
    assert staff.count("Employee") > 0


def test_borrowed_targets_are_retained(staff: Context) -> None:
    ada = staff.first("Employee", "name == 'Ada'")
    department = ada.department
    ada.department = None
    del ada
    gc.collect()
    staff.save()
    assert department.name == "R&D"


def test_objects_outlive_their_results(staff: Context) -> None:
    people = list(staff.fetch("Employee", sort="name"))
    gc.collect()
    assert [person.name for person in people][:2] == ["Ada", "Boris"]


def test_object_identity_is_stable_while_referenced(staff: Context) -> None:
    first = staff.fetch("Employee", sort="name")[0]
    assert staff.fetch("Employee", sort="name")[0] is first
    assert first.department.employees.snapshot()[0].department is first.department
    token = first._cst_token
    assert find(token) is first
    del first
    gc.collect()
    assert find(token) is None


def test_released_wrappers_leave_the_identity_map(ctx: Context) -> None:
    ctx.insert_many("Project", [{"title": str(at)} for at in range(500)])
    ctx.save()
    for project in ctx.fetch("Project"):
        assert project.title
    del project
    gc.collect()
    assert not any(wrapper.context is ctx for wrapper in objects())


def test_objects_can_be_released_on_other_threads(ctx: Context) -> None:
    ctx.insert_many("Project", [{"title": str(at)} for at in range(2000)])
    ctx.save()
    before = settle()
    for _ in range(5):
        boxes: list[list[Any]] = [[], [], [], []]
        for at, project in enumerate(ctx.fetch("Project")):
            boxes[at % 4].append(project)
        del project
        threads = [threading.Thread(target=box.clear) for box in boxes]
        for thread in threads:
            thread.start()
        # Meanwhile the owner goes on, and meets objects that are being released.
        assert sum(1 for each in ctx.fetch("Project") if each.title) == 2000
        for thread in threads:
            thread.join()
    ctx.count("Project")
    assert settle() <= before + 5


def test_reference_cycles_through_objects_are_collected(staff: Context) -> None:
    before = settle()
    for _ in range(20):
        holder: dict[str, Any] = {"people": list(staff.fetch("Employee"))}
        holder["self"] = holder
    del holder
    assert settle() <= before + 1


def test_callbacks_are_released_once(model: Model, path: Path) -> None:
    from corestone._abi import interrupt
    from corestone.graph import queue

    with Container(model, path, sync="normal") as container:
        ctx, background = container.context(), container.background_context()
        background.perform(lambda: None).result()
        background.perform_and_wait(lambda: None)
        assert ctx._watcher is not None
        watches = len(interrupt._live)
    del ctx, background
    gc.collect()
    assert not queue._tasks
    assert len(interrupt._live) < watches


def test_containers_and_contexts_can_be_closed_twice(model: Model, path: Path) -> None:
    container = Container(model, path)
    ctx = container.context()
    ctx.close()
    container.close()
    container.close()
    del ctx, container
    gc.collect()
