"""Unsaved changes: closing fails by default, and lost changes are reported."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from checkout import COMPANY
from conftest import environment

from corestone import (
    Container,
    Context,
    Coordinator,
    Document,
    FetchRequest,
    InvalidArgumentError,
    InvalidHandleError,
    Model,
    StoreDescription,
    UnsavedChangesError,
    ValidationError,
    log,
    main_queue,
)
from corestone import open as open_store
from corestone._abi import lib
from corestone._abi.call import call


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.store"


def fill(context: Context) -> None:
    """Saved: Ada, Bob. Not saved: two inserted, Ada changed, Bob deleted, a department inserted."""
    ada, bob = context.insert("Employee", name="Ada"), context.insert("Employee", name="Bob")
    context.save()
    context.insert("Employee", name="Eve")
    context.insert("Employee", name="Fay")
    context.insert("Department", name="R&D")
    ada.name = "Ada Lovelace"
    context.delete(bob)


COUNTS = "1 Department inserted, 2 Employee inserted, 1 Employee updated, 1 Employee deleted"
REMEDY = (
    'call cst_context_save (save) or cst_context_rollback (rollback) on the context, or close with unsaved="discard"'
)


def names(path: Path) -> list[str]:
    with open_store(path) as container:
        return [each.name for each in container.fetch("Employee", sort=["name"])]


# ---- errors at the end of a block


def test_container_with_unsaved_changes_cannot_be_closed(model: Model, path: Path) -> None:
    with pytest.raises(UnsavedChangesError) as caught, Container(model, path) as container:  # noqa: PT012
        ctx = container.context()
        ctx.name = "editor"
        fill(ctx)
    assert 'context "editor" (created at ' in caught.value.message
    assert f"has unsaved changes: {COUNTS}; {REMEDY}" in caught.value.message
    assert [each.entity for each in caught.value.details] == [None]
    # Nothing is closed.
    assert not container.is_closed
    assert not ctx.is_closed
    assert ctx.has_changes
    ctx.save()
    container.close()
    assert names(path) == ["Ada Lovelace", "Eve", "Fay"]


def test_document_with_unsaved_changes_cannot_be_closed(model: Model, path: Path) -> None:
    document = Document(model, queue="caller")
    with pytest.raises(UnsavedChangesError) as caught, document:
        document.context.insert("Employee", name="Ada")
    assert caught.value.message.startswith('the untitled document stays open because context "document"')
    assert caught.value.message.endswith(
        "has unsaved changes: 1 Employee inserted; call cst_document_save_as (save_as, saveAs), or close with "
        'unsaved="discard"'
    )
    assert not document.is_closed
    document.save_as(path)
    document.close()
    assert names(path) == ["Ada"]


def test_context_with_unsaved_changes_cannot_be_closed(model: Model, path: Path) -> None:
    with Container(model, path) as container:
        with pytest.raises(UnsavedChangesError) as caught, container.context() as ctx:
            fill(ctx)
        assert caught.value.message.startswith("a context (created at ")
        assert f" stays open because it has unsaved changes: {COUNTS}; {REMEDY}" in caught.value.message
        assert not ctx.is_closed
        assert ctx.has_changes
        ctx.rollback()
        ctx.close()
        assert ctx.is_closed
        ctx.close()
        with pytest.raises(InvalidHandleError):
            ctx.count("Employee")


@pytest.mark.parametrize("queue", ["context", "background_context", "main_context"])
def test_contexts_of_every_queue_type_refuse_to_close(model: Model, path: Path, queue: str) -> None:
    main_queue.bind()
    with Container(model, path) as container:
        ctx = getattr(container, queue)()
        ctx.perform_and_wait(lambda: ctx.insert("Employee", name="Ada"))
        with pytest.raises(UnsavedChangesError, match="1 Employee inserted") as caught:
            ctx.close()
        assert caught.value.entity == "Employee"
        assert ctx.perform_and_wait(lambda: ctx.has_changes)
        ctx.close("save")
        assert container.context().count("Employee") == 1


def test_coordinator_with_unsaved_changes_cannot_be_closed(model: Model, path: Path) -> None:
    coordinator = Coordinator(model)
    coordinator.add_store(path)
    with pytest.raises(UnsavedChangesError, match=r"the coordinator stays open.*1 Employee inserted"), coordinator:  # noqa: PT012
        ctx = coordinator.context()
        ctx.insert("Employee", name="Ada")
    assert not coordinator.is_closed
    coordinator.close("save")
    coordinator.close()
    assert ctx.is_closed
    assert names(path) == ["Ada"]


def test_reopened_store_with_unsaved_changes_cannot_be_closed(model: Model, path: Path) -> None:
    Container(model, path).close()
    with pytest.raises(UnsavedChangesError), open_store(path, writable=True) as container:  # noqa: PT012
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
    container.close("discard")
    with open_store(path, writable=True, unsaved="save") as container:
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
    assert names(path) == ["Ada"]


def test_with_block_closes_after_a_save(model: Model, path: Path) -> None:
    with Container(model, path) as container, container.context() as ctx:
        ctx.insert("Employee", name="Ada")
        ctx.save()
    assert container.is_closed
    assert ctx.is_closed


# ---- other policies


@pytest.mark.parametrize(("policy", "found"), [("save", ["Ada"]), ("discard", [])])
def test_unsaved_policy_of_a_container_applies_at_close(
    model: Model, path: Path, policy: Any, found: list[str]
) -> None:
    with Container(model, path, unsaved=policy) as container:
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
    assert names(path) == found
    with Container("Staff", model, stores=[StoreDescription(path)], unsaved=policy) as container:
        container.view_context.insert("Employee", name="Bob")
    assert len(names(path)) == 2 * len(found)


@pytest.mark.parametrize(("policy", "found"), [("save", ["Ada"]), ("discard", [])])
def test_unsaved_policy_of_a_context_applies_at_close(model: Model, path: Path, policy: Any, found: list[str]) -> None:
    with Container(model, path) as container, container.context(unsaved=policy) as ctx:
        ctx.insert("Employee", name="Ada")
    assert names(path) == found


def test_contexts_inherit_the_unsaved_policy_of_their_creator(model: Model, path: Path) -> None:
    with Container(model, path, unsaved="discard") as container:
        with container.context() as ctx:
            ctx.insert("Employee", name="Ada")
            with ctx.child() as child:
                child.insert("Employee", name="Bob")
        with pytest.raises(UnsavedChangesError), container.context(unsaved="refuse") as other:
            other.insert("Employee", name="Ada")
        with pytest.raises(UnsavedChangesError):
            container.close("refuse")
    assert names(path) == []


def test_child_with_policy_save_saves_into_its_parent(model: Model, path: Path) -> None:
    with Container(model, path) as container, container.context() as ctx:
        with ctx.child(unsaved="save") as child:
            child.insert("Employee", name="Ada")
        assert child.is_closed
        assert [each.name for each in ctx.inserted] == ["Ada"]
        with pytest.raises(UnsavedChangesError, match="1 Employee inserted"):
            ctx.close()
        ctx.save()


def test_context_stays_open_when_its_changes_cannot_be_saved(model: Model, path: Path) -> None:
    with Container(model, path) as container:
        with pytest.raises(ValidationError), container.context(unsaved="save") as ctx:
            ctx.insert("Employee")
        assert not ctx.is_closed
        ctx.close("discard")


def test_unknown_unsaved_policy_is_rejected(model: Model, path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match="refuse"):
        Container(model, path, unsaved="perhaps")  # type: ignore[call-overload]
    with Container(model, path) as container:
        with pytest.raises(InvalidArgumentError, match="refuse"):
            container.context(unsaved="")  # type: ignore[arg-type]
        with pytest.raises(InvalidArgumentError, match="refuse"):
            container.context().close("no")  # type: ignore[arg-type]


# ---- blocks that raise


def test_exception_in_a_with_block_rolls_back_and_propagates(model: Model, path: Path) -> None:
    lost = LookupError("mine")
    with pytest.raises(LookupError) as caught, Container(model, path, unsaved="save") as container:  # noqa: PT012
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        raise lost
    assert caught.value is lost
    assert container.is_closed
    with Container(model, path) as container:
        with pytest.raises(LookupError), container.context(unsaved="save") as ctx:  # noqa: PT012
            ctx.insert("Employee", name="Ada")
            raise lost
        assert ctx.is_closed
        with pytest.raises(SystemExit), container.context() as ctx:  # noqa: PT012
            ctx.insert("Employee", name="Ada")
            sys.exit(3)
        assert ctx.is_closed
    with pytest.raises(LookupError), Document(model, unsaved="save", queue="caller") as document:  # noqa: PT012
        document.context.insert("Employee", name="Ada")
        raise lost
    assert document.is_closed
    with pytest.raises(LookupError), Coordinator(model) as coordinator:  # noqa: PT012
        coordinator.add_store(path)
        ctx = coordinator.context()
        ctx.insert("Employee", name="Ada")
        raise lost
    assert coordinator.is_closed
    assert names(path) == []


def test_exception_is_not_hidden_by_unsaved_changes(model: Model, path: Path) -> None:
    container = Container(model, path)
    with log.recorded(0) as lines:
        with pytest.raises(ZeroDivisionError), container, container.context() as ctx:  # noqa: PT012
            ctx.insert("Employee", name="Ada")
            raise ZeroDivisionError
        del ctx
        gc.collect()
    assert lines == []


# ---- contexts that are shared


def test_with_block_does_not_close_the_view_context(model: Model, path: Path) -> None:
    with Container("Staff", model, stores=[StoreDescription(path)]) as container:
        with container.view_context as view:
            view.insert("Employee", name="Ada")
            view.save()
        assert not view.is_closed
        assert container.view_context is view
        with pytest.raises(UnsavedChangesError, match=r'context "view" .*1 Employee inserted'), container.view_context:
            view.insert("Employee", name="Bob")
        assert view.has_changes
        with pytest.raises(LookupError), container.view_context:
            raise LookupError
        assert not view.has_changes
        assert not view.is_closed
        view.close()
        assert not view.is_closed
        assert view.count("Employee") == 1
    assert view.is_closed


def test_with_block_does_not_close_the_context_of_a_document(model: Model, path: Path) -> None:
    with Document(model) as document:
        document.save_as(path)
        with document.context as ctx, ctx.perform():
            ctx.insert("Employee", name="Ada")
            ctx.save()
        assert not ctx.is_closed
        document.close("save")
        assert ctx.is_closed
    assert names(path) == ["Ada"]


# ---- queries for unsaved changes


def test_unsaved_changes_are_counted_by_entity(model: Model, path: Path) -> None:
    with Container(model, path) as container:
        assert container.unsaved_changes == []
        ctx = container.context(unsaved="discard")
        fill(ctx)
        (held,) = container.coordinator.unsaved_changes
        assert (held.name, held.inserted, held.updated, held.deleted) == (None, 3, 1, 1)
        assert held.entities == {"Department": (1, 0, 0), "Employee": (2, 1, 1)}
        assert held.text == COUNTS
        assert held.file == __file__
        ctx.close()
        assert container.unsaved_changes == []


def test_context_of_another_thread_is_not_counted(model: Model, path: Path) -> None:
    container, made, end = Container(model, path), threading.Event(), threading.Event()
    kept: list[Context] = []

    def work() -> None:
        kept.append(container.context())
        kept[0].insert("Employee", name="Ada")
        made.set()
        end.wait(20)

    thread = threading.Thread(target=work)
    thread.start()
    assert made.wait(20)
    with pytest.raises(UnsavedChangesError, match="the calling thread cannot"):
        kept[0].close()
    assert not kept[0].is_closed
    with log.recorded(0) as lines:
        kept[0].close("discard")
        assert kept[0].is_closed
        end.set()
        thread.join()
        kept.clear()
        gc.collect()
    assert lines == []
    container.close()


# ---- objects released without closing


def test_collected_context_logs_its_lost_changes(model: Model, path: Path) -> None:
    container = Container(model, path)
    with log.recorded(0) as lines:
        ctx = container.context()
        ctx.name = "editor"
        fill(ctx)
        del ctx
        gc.collect()
    assert len(lines) == 1
    assert lines[0].startswith('CoreData: warning: context "editor" (created at ')
    assert f"was released with unsaved changes, which are lost: {COUNTS}; " in lines[0]
    container.close()


def test_objects_retain_their_context(model: Model, path: Path) -> None:
    container = Container(model, path)
    with log.recorded(0) as lines:
        ada = container.context().insert("Employee", name="Ada")
        gc.collect()
        assert lines == []
        assert ada.name == "Ada"
        del ada
        gc.collect()
        assert len(lines) == 1
    container.close()


@pytest.mark.parametrize("end", ["save", "rollback", "reset", "discard", "container"])
def test_saved_or_discarded_changes_are_not_logged(model: Model, path: Path, end: str) -> None:
    container = Container(model, path)
    with log.recorded(0) as lines:
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        if end == "discard":
            ctx.close("discard")
        elif end == "container":
            container.close("discard")
        else:
            getattr(ctx, end)()
        del ctx
        gc.collect()
    assert lines == []
    container.close()


def test_background_task_without_a_save_is_logged(model: Model, path: Path) -> None:
    def work(ctx: Context, fails: bool) -> None:
        ctx.insert("Employee", name="Ada")
        if fails:
            raise LookupError

    container = Container(model, path)
    with log.recorded(0) as lines:
        container.perform_background_task(work, False).result()
        gc.collect()
        container.close()
        # The worker releases the context, which logs the line, after the future has its result.
        deadline = time.monotonic() + 60
        while not any("1 Employee inserted" in line for line in lines):
            assert time.monotonic() < deadline, lines
            time.sleep(0.01)
    container = Container(model, path)
    with log.recorded(0) as lines:
        with pytest.raises(LookupError):
            container.perform_background_task(work, True).result()
        gc.collect()
        container.close()
    assert lines == []


def run(source: str, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(
        f"import atexit, threading\nfrom corestone import *\nmodel = Model({COMPANY!r})\n{source}"
    )
    return subprocess.run(
        [sys.executable, *options, "program.py"], cwd=folder, env=environment(), capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip


INSERTS = """
container = Container(model, "a.store")
ctx = container.context()
ctx.name = "editor"
ctx.insert("Employee", name="Ada")
ctx.insert("Department", name="R&D")
"""


def test_interpreter_exit_warns_of_unsaved_changes(tmp_path: Path) -> None:
    done = run(INSERTS, tmp_path)
    assert done.returncode == 0
    warning, line, *more = done.stderr.splitlines()
    assert warning.endswith(
        'program.py:6: UnsavedChangesWarning: context "editor" lost unsaved changes at interpreter exit: '
        "1 Department inserted, 1 Employee inserted; call save() to keep them, or rollback() to discard them, before "
        "the interpreter exits"
    )
    assert line.strip() == "ctx = container.context()"
    assert more == []  # told once


@pytest.mark.parametrize(
    "end",
    [
        "ctx.save()",
        "ctx.rollback()",
        "container.close('discard')",
        "container.close('save')",
        "atexit.register(container.close, 'save')",
    ],
)
def test_interpreter_exit_is_silent_when_changes_are_handled(tmp_path: Path, end: str) -> None:
    done = run(INSERTS + end, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_interpreter_exit_does_not_wait_for_busy_contexts(tmp_path: Path) -> None:
    source = """
container = Container(model, "a.store")
made = threading.Event()
private = container.background_context()
private.perform_and_wait(lambda: private.count("Employee"))  # the main thread watches for Ctrl-C from now on

own = []
def hold():
    own.append(container.context())
    own[0].name = "confined"
    own[0].insert("Employee", name="Ada")
    with private.perform():
        private.name = "private"
        private.insert("Employee", name="Ada")
        made.set()
        threading.Event().wait()
threading.Thread(target=hold, daemon=True).start()
made.wait()
"""
    done = run(source, tmp_path)
    assert done.returncode == 0
    for name in ("confined", "private"):
        assert (
            f'context "{name}" may have lost unsaved changes at interpreter exit: an unknown number, because another '
            "thread uses" in done.stderr
        )


def test_queued_work_runs_before_the_exit_warning(tmp_path: Path) -> None:
    source = """
container = Container(model, "a.store")
ctx = container.background_context()
ctx.perform_and_wait(lambda: ctx.insert("Employee", name="Ada"))
def save():
    threading.Event().wait(0.2)
    ctx.save()
ctx.perform(save)
"""
    assert run(source, tmp_path).stderr == ""


def test_untitled_document_is_reported_at_exit(tmp_path: Path) -> None:
    source = """
document = Document(model, queue="caller")
document.context.insert("Employee", name="Ada")
document.context.save()
"""
    for more in ("", 'document.context.insert("Employee", name="Eve")\n'):
        done = run(source + more, tmp_path)
        assert done.stderr.count("UnsavedChangesWarning: an untitled document was lost at interpreter exit") == 1
        assert done.stderr.count("UnsavedChangesWarning") == 1
        assert "CoreData: warning" not in done.stderr


@pytest.mark.parametrize("arguments", ["del sys.argv", "sys.argv.clear()", "sys.argv[:] = ['']"])
def test_exit_warning_works_without_program_arguments(tmp_path: Path, arguments: str) -> None:
    source = f"""
import sys
{arguments}
document = Document(model, queue="caller")
document.context.insert("Employee", name="Ada")
document.context.save()
"""
    assert "python:1: UnsavedChangesWarning: an untitled document was lost" in run(source, tmp_path).stderr


def test_earlier_atexit_functions_run_before_the_exit_warning(tmp_path: Path) -> None:
    source = """
container = Container(model, "a.store")
atexit.register(container.close, "save")
ctx = container.background_context()
ctx.perform_and_wait(lambda: ctx.insert("Employee", name="Ada"))
"""
    assert run(source, tmp_path).stderr == ""


def test_exit_warning_can_be_an_error_or_ignored(tmp_path: Path) -> None:
    done = run(INSERTS, tmp_path, "-W", "error")
    assert 'UnsavedChangesWarning: context "editor" lost' in done.stderr
    assert run(INSERTS, tmp_path, "-W", "ignore").stderr == ""


def test_uncaught_unsaved_changes_error_is_reported_once(tmp_path: Path) -> None:
    source = """
with Container(model, "a.store") as container:
    ctx = container.context()
    ctx.insert("Employee", name="Ada")
"""
    done = run(source, tmp_path)
    assert done.returncode == 1
    # The traceback, and the warning of what is lost by the end.
    assert done.stderr.count('UnsavedChangesError: the container "a.store" stays open') == 1
    assert done.stderr.count("on the context, or close with unsaved") == 1
    assert done.stderr.count("lost unsaved changes at interpreter exit") == 1
    assert "CoreData: warning" not in done.stderr


def test_uncaught_error_of_a_nested_block_is_reported_once(tmp_path: Path) -> None:
    source = """
with Container(model, "a.store") as container, container.context() as ctx:
    ctx.insert("Employee", name="Ada")
"""
    done = run(source, tmp_path)
    assert done.returncode == 1
    assert done.stderr.count("UnsavedChangesError: a context (created at ") == 1
    assert done.stderr.count("lost unsaved changes at interpreter exit") == 1
    assert "CoreData: warning" not in done.stderr


# ---- stores that go


def test_changes_lost_with_a_removed_store_are_logged(model: Model, path: Path, tmp_path: Path) -> None:
    with Coordinator(model) as coordinator:
        coordinator.add_store(path)
        ctx = coordinator.context()
        ctx.name = "editor"
        fill(ctx)
        child = ctx.child()
        child.insert("Employee", name="Zoe")
        with log.recorded(0) as lines:
            coordinator.remove_store(coordinator.stores[0])
        # What was inserted is in no store yet.
        assert len(lines) == 1
        assert 'a.store was removed from its coordinator while context "editor" (created at ' in lines[0]
        assert "which are lost: 1 Employee updated, 1 Employee deleted; call save()" in lines[0]
        coordinator.add_store(tmp_path / "b.store")
        child.save()
        ctx.save()
    assert names(tmp_path / "b.store") == ["Eve", "Fay", "Zoe"]
    assert names(path) == ["Ada", "Bob"]


def test_changes_lost_with_a_destroyed_store_are_logged(model: Model, path: Path) -> None:
    with Coordinator(model) as coordinator:
        coordinator.add_store(path)
        ctx = coordinator.context()
        ada = ctx.insert("Employee", name="Ada")
        ctx.save()
        ada.name = "Eve"
        with log.recorded(0) as lines:
            assert coordinator.destroy_store(path)
        assert "which are lost: 1 Employee updated" in "".join(lines)
        assert not ctx.has_changes


def test_changes_lost_with_a_migrated_store_are_logged(model: Model, path: Path, tmp_path: Path) -> None:
    with Coordinator(model) as coordinator:
        store = coordinator.add_store(path)
        ctx = coordinator.context()
        ada = ctx.insert("Employee", name="Ada")
        ctx.save()
        ada.name = "Eve"
        with log.recorded(0) as lines:
            coordinator.migrate_store(store, tmp_path / "b.store")
        assert "which are lost: 1 Employee updated" in "".join(lines)
        assert ctx.first("Employee").name == "Ada"


def test_closed_container_logs_nothing(model: Model, path: Path) -> None:
    with log.recorded(0) as lines:
        container = Container(model, path)
        ctx = container.context()
        fill(ctx)
        container.close(unsaved="discard")
        del ctx
        gc.collect()
    assert lines == []


# ---- blocks within blocks


def test_refused_close_of_a_nested_block_keeps_outer_blocks_open(model: Model, path: Path) -> None:
    refused = pytest.raises(UnsavedChangesError, match=r"a context .* stays open")
    with log.recorded(0) as lines, refused, Container(model, path) as container, container.context() as ctx:
        ctx.insert("Employee", name="Ada")
    assert lines == []
    assert (container.is_closed, ctx.is_closed) == (False, False)
    ctx.save()
    ctx.close()
    container.close()
    assert names(path) == ["Ada"]


def test_refused_close_of_a_context_keeps_its_coordinator_open(model: Model, path: Path) -> None:
    with pytest.raises(UnsavedChangesError, match=r"a context .* stays open"), Coordinator(model) as coordinator:  # noqa: PT012
        coordinator.add_store(path)
        with coordinator.context() as ctx:
            ctx.insert("Employee", name="Ada")
    assert (coordinator.is_closed, ctx.is_closed) == (False, False)
    ctx.save()
    coordinator.close()
    assert names(path) == ["Ada"]


def test_refused_close_of_a_child_keeps_its_parent_open(model: Model, path: Path) -> None:
    with Container(model, path) as container:
        with pytest.raises(UnsavedChangesError), container.context() as ctx, ctx.child() as child:
            child.insert("Employee", name="Ada")
        assert (ctx.is_closed, child.is_closed) == (False, False)
        child.save()
        child.close()
        ctx.save()
    assert names(path) == ["Ada"]


def test_containers_without_changes_close_when_another_refuses(model: Model, path: Path) -> None:
    other = path.with_name("b.store")
    with pytest.raises(UnsavedChangesError), Container(model, path) as container, Container(model, other) as second:
        second.view_context.insert("Employee", name="Ada")
    assert container.is_closed
    assert not second.is_closed
    second.close("save")


def test_refused_close_of_a_document_context_keeps_it_open(model: Model, path: Path) -> None:
    with pytest.raises(UnsavedChangesError), Document(model, queue="caller") as document, document.context as ctx:
        ctx.insert("Employee", name="Ada")
    assert not document.is_closed
    document.save_as(path)
    document.close()
    assert names(path) == ["Ada"]


# ---- exceptions that the interpreter prints nothing of


def rolled_back(lines: list[str], kind: str) -> None:
    (line,) = lines
    assert line.startswith(f"CoreData: warning: a `with` block was rolled back because {kind} ended it: ")
    assert "1 Employee inserted" in line


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError])
def test_exit_exception_in_a_with_block_logs_rolled_back_changes(
    model: Model, path: Path, kind: type[BaseException]
) -> None:
    with log.recorded(0) as lines, pytest.raises(kind), Container(model, path) as container:  # noqa: PT012
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        raise kind
    rolled_back(lines, kind.__name__)
    assert container.is_closed
    with Container(model, path) as container:
        with log.recorded(0) as lines, pytest.raises(kind), container.context() as ctx, ctx.child() as child:  # noqa: PT012
            child.insert("Employee", name="Ada")
            raise kind
        rolled_back(lines, kind.__name__)
        assert (ctx.is_closed, child.is_closed) == (True, True)
        with log.recorded(0) as lines, pytest.raises(kind), container.context() as ctx:  # noqa: PT012
            ctx.insert("Employee", name="Ada")
            ctx.save()
            raise kind
        assert lines == []
    assert names(path) == ["Ada"]


def test_generator_closed_in_a_with_block_logs_rolled_back_changes(model: Model, path: Path) -> None:
    def rows(container: Container) -> Iterator[int]:
        with container.context() as ctx:
            ctx.insert("Employee", name="Ada")
            yield 1
            ctx.save()

    with Container(model, path) as container:
        with log.recorded(0) as lines:
            generator = rows(container)
            next(generator)
            del generator
            gc.collect()
        rolled_back(lines, "GeneratorExit")


def test_sys_exit_in_a_with_block_logs_rolled_back_changes(tmp_path: Path) -> None:
    source = """
with Container(model, "a.store") as container:
    ctx = container.context()
    ctx.insert("Employee", name="Ada")
    raise SystemExit(0)
"""
    done = run(source, tmp_path)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    rolled_back([line], "SystemExit")


# ---- nested contexts


def test_close_closes_all_descendant_contexts(model: Model, path: Path) -> None:
    with Container(model, path) as container:
        ctx = container.context()
        ctx.insert("Employee", name="Ada")
        ctx.save()
        child = ctx.child()
        grandchild = child.child()
        told: list[Any] = []
        observations = []
        for each in (child, grandchild):
            observations.append(
                each.observe(FetchRequest("Employee", sort="name"), lambda _, difference: told.append(difference))
            )
        assert len(told) == 2
        held = grandchild.fetch("Employee")[0]
        with pytest.raises(UnsavedChangesError):  # noqa: PT012
            held.name = "Eve"
            ctx.close()
        assert not any(each.is_closed or each._is_closing for each in (ctx, child, grandchild))
        grandchild.rollback()
        told.clear()
        ctx.close()
        assert [each.is_closed for each in (ctx, child, grandchild)] == [True] * 3
        assert told == []  # nothing was deleted
        with pytest.raises(InvalidHandleError):
            grandchild.count("Employee")


# ---- work behind a close


def test_work_queued_after_a_close_fails(model: Model, path: Path) -> None:
    with Container(model, path) as container:
        ctx = container.background_context()
        with ctx.perform():
            waiting = ctx.perform(ctx.count, "Employee")
            with pytest.raises(InvalidArgumentError, match="other work waits"):
                ctx.close()
        assert waiting.result(20) == 0
        handle = ctx._open
        with ctx.perform():
            call(lib.cst_context_close, handle, 0)
            late = ctx.perform(ctx.count, "Employee")
        with pytest.raises(InvalidHandleError, match="before the queued function ran"):
            late.result(20)
