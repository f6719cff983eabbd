"""The accelerator: what it is for is not to be seen, but for the time that it saves."""

from __future__ import annotations

import contextlib
import copy
import ctypes
import gc
import inspect
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import threading
import weakref
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable
from uuid import UUID

import pytest
from checkout import ROOT

import corestone
from corestone import (
    Context,
    DynamicObject,
    InvalidHandleError,
    Model,
    ObjectGoneError,
    TypeMismatchError,
    WrongThreadError,
    _abi,
)
from corestone._abi import values, wrappers
from corestone._abi.call import call
from corestone.graph import context_fetching

EPOCH = datetime(2020, 1, 1, tzinfo=timezone.utc)
ATTRIBUTES = {
    "name": "Zoë",
    "notes": "x" * 5000,
    "age": 41,
    "number": -(2**62),
    "salary": Decimal("12.50"),
    "rating": 0.1,
    "active": True,
    "hired": EPOCH + timedelta(days=3, microseconds=7),
    "badge": UUID(int=7),
    "site": "https://example.org/%C3%A9",
    "photo": b"\x00\x01",
}
OTHERS = {
    "name": "",
    "notes": None,
    "age": 0,
    "number": 7,
    "salary": None,
    "rating": -2.5,
    "active": False,
    "hired": EPOCH - timedelta(days=365 * 200),
    "badge": UUID(int=8),
    "site": None,
    "photo": None,
}
is_on = wrappers.accelerator is not None


def values_of(item: Any) -> dict[str, Any]:
    return {name: getattr(item, name) for name in ATTRIBUTES}


def check(item: Any, expected: dict[str, Any]) -> None:
    """Compares values and their types, twice: the second time they can come from the cache."""
    for _ in range(2):
        found = values_of(item)
        assert found == expected
        assert [type(value) for value in found.values()] == [type(value) for value in expected.values()]


@pytest.fixture
def one(ctx: Context) -> Any:
    item = ctx.insert("Employee", **ATTRIBUTES)
    ctx.save()
    return item


# ---- selection


def run_with(choice: str | None, program: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != wrappers.VARIABLE} | more
    if choice is not None:
        environment[wrappers.VARIABLE] = choice
    command = [sys.executable, "-c", program]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


SHOW = "import corestone; from corestone._abi import wrappers; print(wrappers.accelerator is not None)"


def test_variable_disables_the_accelerator() -> None:
    assert run_with("0", SHOW).stdout == "False\n"


@pytest.mark.skipif(not is_on, reason="the accelerator is not built, or disabled")
def test_accelerator_is_used_if_it_exists() -> None:
    assert run_with(None, SHOW).stdout == "True\n"
    assert run_with("1", SHOW).stdout == "True\n"


def test_required_accelerator_is_missing() -> None:
    hide = "import sys; sys.modules['corestone._accelerator'] = None; "
    assert run_with(None, hide + SHOW).stdout == "False\n"
    failed = run_with("1", hide + SHOW)
    assert failed.returncode == 1
    assert (
        "ImportError: cannot load the accelerator of Corestone, which CORESTONE_ACCELERATOR=1 requires" in failed.stderr
    )
    assert "make build" in failed.stderr


def test_import_of_the_package_does_not_load_the_accelerator() -> None:
    hide = "import sys; sys.modules['corestone._accelerator'] = None; "
    assert run_with("1", hide + "import corestone").returncode == 0
    for name in ("Container", "Model"):
        failed = run_with("1", hide + f"import corestone; corestone.{name}")
        assert failed.returncode == 1
        assert "ImportError: cannot load the accelerator of Corestone" in failed.stderr


IN_SUBINTERPRETER = """
import os, sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    try:
        import _interpreters as interpreters
    except ImportError:
        print("none"); sys.exit()
try:
    number = interpreters.create(isolated=False)
except TypeError:
    number = interpreters.create("legacy")
run = getattr(interpreters, "run_string", None) or interpreters.exec
run(number, PROGRAM)
import corestone
from corestone._abi import wrappers
print(wrappers.accelerator is not None)
"""


@pytest.mark.skipif(not is_on, reason="the accelerator is not built, or disabled")
def test_subinterpreters_cannot_load_the_accelerator() -> None:
    program = f"""
import importlib.util, sys
path = {wrappers.accelerator.__file__ if is_on else ""!r}
try:
    spec = importlib.util.spec_from_file_location("corestone._accelerator", path)
    importlib.util.module_from_spec(spec)
except ImportError as error:
    print(error, flush=True)  # before what the main interpreter prints
"""
    done = run_with("1", f"PROGRAM = {program!r}\n{IN_SUBINTERPRETER}")
    if done.stdout == "none\n":
        pytest.skip("this Python does not have subinterpreters")
    assert done.stdout == "corestone._accelerator does not support subinterpreters\nTrue\n", done


@pytest.mark.skipif(not is_on, reason="the accelerator is not built, or disabled")
def test_accelerator_exists_once() -> None:
    program = """
import sys
import corestone
from corestone._abi import wrappers
former = sys.modules.pop("corestone._accelerator")
import corestone._accelerator as again
print(again is former, again.Object is wrappers.Base, again.__doc__)
"""
    assert run_with("1", program).stdout == "True True The accelerator of the package corestone.\n"


def test_unknown_choice_is_refused() -> None:
    failed = run_with("yes", SHOW)
    assert failed.returncode == 1
    assert 'CORESTONE_ACCELERATOR is "yes"; set it to 1' in failed.stderr


# ---- values


def test_values_are_those_that_were_set(ctx: Context, one: Any) -> None:
    check(one, ATTRIBUTES)
    ctx.refresh(one)
    check(one, ATTRIBUTES)
    for name, value in OTHERS.items():
        setattr(one, name, value)
    check(one, OTHERS)
    ctx.save()
    check(one, OTHERS)


@pytest.mark.parametrize(
    "value",
    [
        datetime(1, 1, 1, tzinfo=timezone.utc),
        datetime(9999, 12, 31, 23, 59, 59, tzinfo=timezone.utc),
        datetime(2000, 2, 29, 12, tzinfo=timezone.utc),
        datetime(1900, 3, 1, tzinfo=timezone.utc),
        datetime(2024, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc),
        datetime(2024, 3, 31, 2, 30, tzinfo=timezone(timedelta(hours=5, minutes=45))),
    ],
)
def test_dates_are_utc(ctx: Context, one: Any, value: datetime) -> None:
    one.hired = value
    for _ in range(2):
        assert one.hired == value
        assert one.hired.tzinfo is timezone.utc
    ctx.save()
    ctx.refresh(one)
    assert abs(one.hired - value) < timedelta(microseconds=50)


def test_dates_are_rounded_like_those_of_timedelta(one: Any) -> None:
    key = one._cst_entity.properties["hired"].key
    cell = values.Cell()
    cell.value.type = _abi.DATE
    numbers = [place * 0.37 * 10.0**power for place in range(-40, 40) for power in range(-8, 9)]
    numbers += [0.5e-6, 1.5e-6, -0.5e-6, -1.5e-6, 2.5e-6, 0.1234565, 1e9 + 0.0000005, -1e10 - 0.25e-6, 0.9999999]
    for seconds in numbers:
        cell.real.value = seconds
        call(_abi.lib.cst_object_set, one._cst_handle, key, cell.ref)
        assert one.hired == values.EPOCH + timedelta(0, seconds), seconds


# ---- what makes cached values invalid


def changed_by_set_through_c(ctx: Context, one: Any) -> None:
    cell = values.Cell()
    values.encode(cell.value, 42)
    call(_abi.lib.cst_object_set, one._cst_handle, one._cst_entity.properties["age"].key, cell.ref)


def changed_elsewhere(ctx: Context) -> None:
    other = ctx.container.context()
    other.fetch("Employee")[0].age = 42
    other.save()
    other.close()


def changed_by_merge(ctx: Context, one: Any) -> None:
    other = ctx.container.context()
    other.fetch("Employee")[0].age = 42
    other.save()
    ctx.merge_changes({"updated": [one.id]})
    other.close()


def changed_by_refresh(ctx: Context, one: Any) -> None:
    changed_elsewhere(ctx)
    assert one.age == 41
    ctx.refresh(one)


def changed_by_refresh_all(ctx: Context, one: Any) -> None:
    changed_elsewhere(ctx)
    ctx.refresh_all()


def changed_by_undo(ctx: Context, one: Any) -> None:
    ctx.undo_manager = corestone.UndoManager()
    one.age = 42
    ctx.process_pending_changes()
    assert one.age == 42
    one.age = 43
    ctx.process_pending_changes()
    assert one.age == 43
    ctx.undo()


def changed_by_redo(ctx: Context, one: Any) -> None:
    changed_by_undo(ctx, one)
    ctx.undo()
    assert one.age == 41
    ctx.redo()


def changed_by_save_with_hook(ctx: Context, one: Any) -> None:
    one.name = "Other"
    one.age = 42
    ctx.save()


def changed_by_set_many(ctx: Context, one: Any) -> None:
    one.set(age=42, active=True)


def changed_by_path(ctx: Context, one: Any) -> None:
    one["age"] = 42


def changed_by_primitive(ctx: Context, one: Any) -> None:
    one.set_primitive("age", 42)


def changed_by_child(ctx: Context, one: Any) -> None:
    child = ctx.child()
    child.get(one.id).age = 42
    child.save()
    child.close()


@pytest.mark.parametrize(
    "change",
    [
        changed_by_set_through_c, changed_by_merge, changed_by_refresh, changed_by_refresh_all, changed_by_undo,
        changed_by_redo, changed_by_save_with_hook, changed_by_set_many, changed_by_path, changed_by_primitive,
        changed_by_child,
    ],
)  # fmt: skip
def test_change_replaces_the_cached_value(ctx: Context, one: Any, change: Callable[[Context, Any], None]) -> None:
    assert one.age == one.age == 41
    change(ctx, one)
    assert one.age == one.age == 42
    assert one.rating == ATTRIBUTES["rating"]


def test_rollback_restores_the_cached_value(ctx: Context, one: Any) -> None:
    assert one.age == 41
    one.age = 42
    assert one.age == 42
    ctx.rollback()
    assert one.age == 41


def test_deleted_objects_keep_their_values_until_the_save(ctx: Context, one: Any) -> None:
    assert one.age == 41
    ctx.delete(one)
    assert one.age == 41
    ctx.save()
    for _ in range(2):
        with pytest.raises(ObjectGoneError):
            _ = one.age
        with pytest.raises(ObjectGoneError):
            one.age = 1


@pytest.mark.parametrize("end", ["reset", "close"])
def test_detached_objects_do_not_have_values(ctx: Context, one: Any, end: str) -> None:
    department = ctx.insert("Department", name="D")
    one.department = department
    ctx.save()
    assert (one.age, one.department) == (41, department)
    getattr(ctx, end)()
    for name in ("age", "department", "name"):
        for _ in range(2):
            with pytest.raises((ObjectGoneError, InvalidHandleError, WrongThreadError)):
                getattr(one, name)


def test_set_keeps_other_cached_values(one: Any) -> None:
    check(one, ATTRIBUTES)
    one.age = 50
    one.age = 51
    check(one, {**ATTRIBUTES, "age": 51})
    one.hired = datetime(2024, 1, 1, 5, tzinfo=timezone(timedelta(hours=5)))
    assert one.hired.tzinfo is timezone.utc


# ---- threads and processes


def on_a_thread(function: Callable[[], Any]) -> Any:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(function())
        except BaseException as raised:
            found.append(raised)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


def test_cached_values_cannot_be_read_on_another_thread(one: Any) -> None:
    check(one, ATTRIBUTES)
    for _ in range(2):
        for name in ("age", "name", "department"):
            assert isinstance(on_a_thread(lambda: getattr(one, name)), WrongThreadError)  # noqa: B023
        assert isinstance(on_a_thread(lambda: setattr(one, "age", 1)), WrongThreadError)
    check(one, ATTRIBUTES)


def test_private_queue_owns_its_objects(ctx: Context, one: Any) -> None:
    background = ctx.container.background_context()
    item = background.perform_and_wait(lambda: background.fetch("Employee")[0])
    assert background.perform_and_wait(lambda: (item.age, item.age)) == (41, 41)
    for _ in range(2):
        with pytest.raises(WrongThreadError):
            _ = item.age
    assert on_a_thread(lambda: background.perform_and_wait(lambda: item.age)) == 41
    with pytest.raises(WrongThreadError):
        _ = item.age
    background.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_cached_values_cannot_be_read_after_a_fork(one: Any) -> None:
    check(one, ATTRIBUTES)
    child = os.fork()
    if child == 0:
        wrong = 0
        for name in ("age", "name", "department"):
            try:
                getattr(one, name)
                wrong += 1
            except corestone.ForkedError:
                pass
        try:
            one.age = 3
            wrong += 1
        except corestone.ForkedError:
            pass
        os._exit(wrong)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    check(one, ATTRIBUTES)


def test_threads_read_and_release_at_the_same_time(ctx: Context, path: Path) -> None:
    """Reads with and without faults, hooks that call Python, and releases on other threads, without a deadlock."""
    ctx.insert_many("Employee", [{"name": f"N{at}", "age": at % 90} for at in range(2000)])
    ctx.save()
    seen = []

    def work() -> None:
        own = ctx.container.context()
        for _ in range(3):
            people = list(own.fetch("Employee", include_subentities=False, as_faults=True))
            for person in people:
                own.refresh(person)  # the next read fires a fault
            seen.append(sum(person.age for person in people if person.age == person.age))
            for person in people[::50]:
                person.age = person.age
            own.rollback()
            thread = threading.Thread(target=people.clear)
            thread.start()
            thread.join()
        own.close()

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert set(seen) == {sum(at % 90 for at in range(2000))}


def test_contexts_end_while_other_threads_read(ctx: Context, one: Any) -> None:
    """A thread that does not own the objects gets an error, also while their owner closes the context."""
    which, items, wrong, values = one.id, [], [], []  # type: ignore[var-annotated]
    ended = threading.Event()

    def use() -> None:
        nonlocal items
        try:
            for _ in range(200):
                with ctx.container.context() as own:
                    items = [own.get(which)]
                    values.extend(item.age for item in items * 2)
        finally:
            ended.set()

    def spy() -> None:
        while not ended.is_set():
            for item in items:
                with contextlib.suppress(WrongThreadError, ObjectGoneError, InvalidHandleError):
                    wrong.append(item.age)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=act) for act in (use, spy, spy)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    finally:
        sys.setswitchinterval(interval)
    assert values == [41] * 400
    assert not wrong


# ---- building


def test_accelerator_is_built_again_after_a_change(tmp_path: Path) -> None:
    library = Path(os.environ.get("CORESTONE_LIBRARY", ROOT / "build" / "lib" / "libcorestone.so"))
    include, script = library.parent.parent / "include", ROOT / "scripts" / "accelerator.sh"
    headers = Path(sysconfig.get_path("include"))
    if not (script.exists() and include.exists() and (headers / "Python.h").exists()):
        pytest.skip("there are no headers")
    output = tmp_path / "module.so"
    copied = tmp_path / "include"
    shutil.copytree(include, copied)

    def build(**more: str) -> bool:
        """Builds the module; False if it was up to date."""
        before = output.stat().st_mtime_ns if output.exists() else 0
        command = [str(script), sys.executable, str(copied), str(output)]
        subprocess.run(command, env={**os.environ, **more}, check=True, timeout=120)
        return output.stat().st_mtime_ns != before

    assert build(CFLAGS="-O0")
    assert not build(CFLAGS="-O0")
    assert build(CFLAGS="-O0 -DCHANGED")
    (copied / "corestone" / "queue.h").touch()
    assert build(CFLAGS="-O0 -DCHANGED")
    assert not build(CFLAGS="-O0 -DCHANGED")


# ---- objects and classes


def test_objects_are_not_created_directly(ctx: Context) -> None:
    kind = ctx.model["Employee"].object_class
    with pytest.raises(TypeError, match="without a context"):
        kind()
    empty: Any = object.__new__(kind)
    for name in ("_cst_handle", "_cst_token", "_cst_context"):
        with pytest.raises(AttributeError):
            getattr(empty, name)
    with pytest.raises(AttributeError):
        _ = empty.age
    del empty


def test_unknown_names_are_errors(one: Any) -> None:
    with pytest.raises(AttributeError, match='Employee does not have a property "agee"; did you mean "age"'):
        _ = one.agee
    with pytest.raises(AttributeError, match='Employee does not have a property "agee"; did you mean "age"') as raised:
        one.agee = 1
    assert raised.value.__suppress_context__
    with pytest.raises(AttributeError):
        del one.age
    with pytest.raises(AttributeError):
        one.id = 3
    object.__setattr__(one, "age", 3)
    assert one.age == 3
    with pytest.raises(TypeMismatchError):
        one.age = "three"
    assert one.age == 3


def test_descriptors_are_properties(ctx: Context, one: Any) -> None:
    kind = type(one)
    declared = inspect.getattr_static(kind, "age")
    assert isinstance(declared, property)
    assert "integer" in (declared.__doc__ or "")
    assert declared.__get__(None, kind) is declared
    assert declared.__get__(one, kind) == declared.fget(one) == 41
    declared.__set__(one, 5)
    assert one.age == 5
    assert declared.fdel is None
    department = ctx.insert("Department", name="D")
    assert department.name == "D"
    for item in (department, 5):
        with pytest.raises((corestone.CorestoneError, AttributeError)):
            declared.__get__(item, type(item))
        with pytest.raises((corestone.CorestoneError, AttributeError)):
            declared.__set__(item, 3)
    assert str(kind.age > 3) == "age > 3"


def saved(ctx: Context) -> Any:
    """An object that no fixture keeps alive."""
    item = ctx.insert("Employee", **ATTRIBUTES)
    ctx.save()
    return item


def test_weak_references_and_identity(ctx: Context) -> None:
    one = saved(ctx)
    which, ended = one.id, []
    reference = weakref.ref(one, lambda _: ended.append(ctx.get(which)))
    token = one._cst_token
    assert ctx.get(which) is one
    assert ctx.fetch("Employee")[0] is one
    assert list(ctx.fetch("Employee")) == [one]
    del one
    gc.collect()
    assert reference() is None
    # While the callback ran, the object was being freed, so another one was made.
    assert ended[0].age == 41
    assert ctx.get(which) is ended[0]
    assert token


def test_get_returns_the_registered_object(ctx: Context, one: Any) -> None:
    which = one.id
    for _ in range(3):
        assert ctx.get(which) is one
        one.age = 4
        assert ctx.get(which) is one
        ctx.refresh(one)
        assert ctx.get(which) is one
    assert isinstance(on_a_thread(lambda: ctx.get(which)), WrongThreadError)
    other = ctx.container.context()
    there = other.get(which)
    assert there is not one
    assert (ctx.get(which), other.get(which)) == (one, there)
    ctx.delete(one)
    assert ctx.get(which) is one
    ctx.rollback()
    ctx.reset()
    again = ctx.get(which)
    assert again is not one
    assert (again.age, ctx.get(which)) == (41, again)
    ctx.delete(again)
    ctx.save()
    assert ctx.get(which) is not again
    ctx.close()
    with pytest.raises(InvalidHandleError):
        ctx.get(which)


def gone_by_batch_delete(ctx: Context, one: Any) -> None:
    assert ctx.batch_delete("Employee") == 1


def gone_by_automatic_merge(ctx: Context, one: Any) -> None:
    ctx.automatically_merges = True
    delete_elsewhere(ctx)


def gone_by_merge(ctx: Context, one: Any) -> None:
    delete_elsewhere(ctx)
    ctx.merge_changes({"deleted": [one.id]})


def delete_elsewhere(ctx: Context) -> None:
    with ctx.container.context() as other:
        other.delete(other.fetch("Employee")[0])
        other.save()


def write_is_refused(item: Any) -> None:
    """The row of a new fault does not exist, so a write to it fails."""
    with pytest.raises(ObjectGoneError):
        item.name = "lost"


@pytest.mark.parametrize(
    ("end", "has_changes"),
    [
        (gone_by_batch_delete, False),  # an object with changes stays registered
        (gone_by_automatic_merge, False),
        (gone_by_automatic_merge, True),
        (gone_by_merge, False),
        (gone_by_merge, True),
    ],
)
def test_get_does_not_return_an_object_that_was_deleted_elsewhere(
    ctx: Context, one: Any, end: Callable[[Context, Any], None], has_changes: bool
) -> None:
    which = one.id
    assert ctx.get(which) is ctx.get(which) is one
    assert one.name == "Zoë"
    if has_changes:
        one.age = 1
        assert ctx.get(which) is ctx.get(which) is one
    end(ctx, one)
    for _ in range(3):
        again = ctx.get(which)
        assert again is not one
        assert ctx.get(which) is again
        write_is_refused(again)
        ctx.process_pending_changes()
        ctx.fetch("Employee")
    del again
    gc.collect()
    assert ctx.get(which) is not one
    ctx.save()
    assert ctx.get(which) is not one
    write_is_refused(ctx.get(which))


@pytest.mark.parametrize("merges", [False, True])
def test_get_in_a_child_does_not_return_an_object_that_its_parent_deleted(ctx: Context, one: Any, merges: bool) -> None:
    with ctx.child() as child:
        child.automatically_merges = merges
        own = child.get(one.id)
        which = own.id
        assert child.get(which) is child.get(which) is own
        assert own.name == "Zoë"
        ctx.delete(one)
        ctx.save()
        child.process_pending_changes()
        if not merges:
            assert child.get(which) is own
            child.merge_changes({"deleted": [which]})
        for _ in range(2):
            assert child.get(which) is not own
            write_is_refused(child.get(which))
            child.fetch("Employee")


def test_get_returns_the_object_of_a_row_that_was_inserted_again(ctx: Context, one: Any) -> None:
    which = one.id
    assert ctx.get(which) is ctx.get(which) is one
    ctx.undo_manager = corestone.UndoManager()
    ctx.delete(one)
    ctx.process_pending_changes()
    ctx.undo()
    for _ in range(2):
        assert ctx.get(which) is one
    ctx.delete(one)
    ctx.save()
    assert ctx.get(which) is not one
    ctx.undo()
    assert ctx.get(which) is ctx.get(which)


@pytest.mark.skipif(not is_on, reason="the accelerator is not built, or disabled")
def test_get_of_an_unchanged_object_does_not_call_the_library(
    ctx: Context, one: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    which, calls, real = one.id, [], context_fetching._with_id

    def count(*arguments: Any) -> Any:
        calls.append(arguments)
        return real(*arguments)

    monkeypatch.setattr(context_fetching, "_with_id", count)
    for _ in range(5):
        assert ctx.get(which) is one
        assert one.age == 41
    assert len(calls) == 1
    one.age = 5  # the accelerator looks the ID up once more, without the package
    for _ in range(5):
        assert ctx.get(which) is one
    assert len(calls) == 1
    ctx.delete(one)  # an object that is deleted is not cached again
    for _ in range(2):
        assert ctx.get(which) is one
        assert one.is_deleted
    assert len(calls) == 1
    ctx.save()
    assert ctx.get(which) is not one
    assert len(calls) == 2


class Name(str):
    """A keyword that calls a function when a dictionary compares it."""

    __slots__ = ("act",)
    act: Callable[[], Any]

    def __eq__(self, other: object) -> bool:
        self.act()
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_names_of_an_insertion_can_run_code(ctx: Context) -> None:
    for _ in range(3):  # the first insertion of an entity prepares those that follow
        name = Name("name")
        name.act = gc.collect
        made = ctx.insert("Employee", **{name: "".join(["a ", "name"]), "age": 3})
        assert (made.name, made.age) == ("a name", 3)


def test_insertion_sets_all_values_or_inserts_nothing(ctx: Context) -> None:
    team = ctx.insert("Department", name="D")
    tasks = [ctx.insert("Task", title=f"T{at}") for at in range(3)]
    for _ in range(2):  # the first insertion of an entity prepares those that follow
        one = ctx.insert("Employee", **ATTRIBUTES, department=team, tasks=tasks, projects=())
        check(one, ATTRIBUTES)
        assert one.department is team
        assert list(one.tasks) == tasks
        before = ctx.count("Employee")
        wrong: list[dict[str, Any]] = [
            {"age": "three"},
            {"agee": 3},
            {"tasks": [team]},
            {"department": tasks[0]},
            {"name": "\ud800"},
            {"number": 2**70},
            {"projects": [5]},
        ]
        for given in wrong:
            with pytest.raises(corestone.CorestoneError):
                ctx.insert("Employee", **{"name": "N", **given})
        assert ctx.count("Employee") == before
    with pytest.raises(corestone.ModelError):
        ctx.insert("Nothing")


def test_objects_in_cycles_are_freed(ctx: Context) -> None:
    one = saved(ctx)
    which = one.id
    ctx.user_info = [one, ctx]
    reference = weakref.ref(one)
    del one
    gc.collect()
    assert reference() is not None
    ctx.user_info = None
    gc.collect()
    assert reference() is None
    assert ctx.get(which).age == 41


def test_objects_are_copied_and_pickled_as_before(one: Any) -> None:
    assert copy.copy(one) is one
    assert copy.deepcopy([one])[0] is one
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(one)
    with pytest.raises(TypeError):
        vars(one)
    assert hash(one) == hash(one._cst_token)


class Person(DynamicObject, entity="Employee"):
    def __init__(self) -> None:
        super().__init__()

    @property
    def age(self) -> int:
        return 2 * (self.primitive_value("age") or 0)

    @age.setter
    def age(self, value: int) -> None:
        self.set_primitive_value("age", value // 2)

    def __getattr__(self, name: str) -> Any:
        if name == "made_up":
            return "made up"
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "shadow":
            self.__dict__["shadow"] = value
            return
        super().__setattr__(name, value)


def test_custom_classes_override_properties(path: Path, model: Model) -> None:
    model.bind(Person)
    with corestone.Container(model, path, sync="normal", unsaved="discard") as container:
        ctx = container.context()
        one = ctx.insert("Employee", name="P", age=40)
        assert isinstance(one, Person)
        assert one.age == one.age == 80  # an insertion sets the values of the library
        assert one.primitive_value("age") == 40
        one.age = 60
        assert (one.age, one.primitive_value("age")) == (60, 30)
        one.shadow = 4
        assert (one.shadow, one.made_up, dict(vars(one))) == (4, "made up", {"shadow": 4})
        with pytest.raises(AttributeError, match="does not have a property"):
            _ = one.nothing
        ctx.save()
        assert ctx.fetch("Employee")[0] is one


def test_values_are_released(ctx: Context, one: Any) -> None:
    """A loop of reads, sets and invalidations neither leaks nor frees a value too early."""
    text = "".join(["a text of ", "its own"])
    before = sys.getrefcount(text)
    for at in range(300):
        one.name = text
        assert one.name == text
        one.age = at
        if at % 3 == 0:
            ctx.rollback()
        if at % 7 == 0:
            ctx.refresh(one)
    ctx.rollback()
    ctx.refresh(one)
    assert one.name == "Zoë"
    assert sys.getrefcount(text) == before


def resident() -> int:
    """The memory of the process in bytes."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("there is no /proc")
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_rows_that_cannot_be_decoded_do_not_leak(ctx: Context, path: Path) -> None:
    ctx.insert_many("Employee", [{"name": "n" * 2000, "hired": EPOCH, "notes": "n" * 2000}] * 500)
    ctx.save()
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        (table,) = database.execute("SELECT name FROM sqlite_master WHERE sql LIKE '%ZHIRED%'").fetchone()
        database.execute(f"UPDATE {table} SET ZHIRED = 1e17 WHERE Z_PK = 3")

    def read(times: int) -> None:
        for _ in range(times):
            with pytest.raises(corestone.CorestoneError):
                ctx.fetch_rows("Employee", columns=["name", "hired", "notes"], sort="objectID")

    read(5)
    gc.collect()
    before = resident()
    read(20)  # 20 times 2 MB
    gc.collect()
    assert resident() - before < 12 << 20


def test_memory_does_not_grow(ctx: Context) -> None:
    ctx.insert_many("Employee", [{"name": f"N{at}", "age": at % 90} for at in range(500)])
    ctx.save()

    def use() -> None:
        for _ in range(20):
            for person in ctx.fetch("Employee"):
                _ = person.name, person.age, person.hired
                person.age = 5
            ctx.rollback()

    for _ in range(4):
        use()
    gc.collect()
    handles, before = corestone.handle_count(), resident()
    for _ in range(4):
        use()
    gc.collect()
    assert corestone.handle_count() == handles
    assert resident() - before < 6 << 20


def test_handles_are_those_of_the_library(one: Any) -> None:
    out = ctypes.c_uint32()
    call(_abi.lib.cst_object_state, one._cst_handle, ctypes.byref(out))
    call(_abi.lib.cst_object_state, one._cst_token, ctypes.byref(out))
    assert wrappers.find(one._cst_token) is one
    assert one in wrappers.objects()
