"""Process exit, Ctrl-C and fork."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import pytest
from conftest import ROOT, Run, environment

from corestone import Container, Context, Model

BEGIN = """
import os, sys, threading, time
import corestone
from corestone import Container, Model, main_queue
model = Model({"Item": {"name": "string", "number": "int = 0", "next": "to-one Item? inverse previous",
                        "previous": "to-many Item inverse next"}})
container = Container(model, "items.store", sync="normal")
"""


def check(done: subprocess.CompletedProcess[str], printed: str) -> None:
    assert done.stderr == ""
    assert done.returncode == 0, done.returncode
    assert done.stdout == printed


# -------- the end of the interpreter


def test_exit_with_open_handles_is_clean(run_python: Run) -> None:
    program = """
ctx = container.context()
items = [ctx.insert("Item", name=str(n)) for n in range(100)]
items[0].next = items[1]
ctx.save()
results = ctx.fetch("Item")
kept = list(results), results[0].id, results[0].previous, corestone.Predicate("number == 1")
cycle = {"kept": kept}; cycle["self"] = cycle
items[5].number = 7
print("end")
"""
    done = run_python(BEGIN + program)
    assert (done.returncode, done.stdout) == (0, "end\n")
    warning = "UnsavedChangesWarning: a context lost unsaved changes at interpreter exit: 1 Item updated; "
    assert [warning in line for line in done.stderr.splitlines()] == [True]


def test_queued_work_is_finished_at_exit(run_python: Run) -> None:
    program = """
background = container.background_context()
def slow(number):
    time.sleep(0.02)
    background.insert("Item", name=str(number))
    if number == 9:
        background.save()
        print("saved", background.count("Item"))
for number in range(10):
    background.perform(slow, number)
print("end")
"""
    check(run_python(BEGIN + program), "end\nsaved 10\n")


def test_queued_main_work_is_finished_at_exit(run_python: Run) -> None:
    program = """
main_queue.bind()
main, background = container.main_context(), container.background_context()
background.perform(lambda: main.perform(print, "main, from background"))
main.perform(print, "main")
background.perform(lambda: main.perform_and_wait(print, "waited for"))
print("end")
"""
    done = run_python(BEGIN + program)
    assert done.stderr == ""
    assert done.returncode == 0
    assert sorted(done.stdout.splitlines()) == ["end", "main", "main, from background", "waited for"]


def test_work_queued_during_shutdown_is_rejected(run_python: Run) -> None:
    program = """
import atexit
background = container.background_context()
def late():
    try:
        background.perform(print, "never")
    except RuntimeError as error:
        print("refused:", error)
atexit.register(late)
background.perform(lambda: None)
"""
    done = run_python(BEGIN + program)
    assert done.stderr == ""
    assert done.returncode == 0
    assert "never" in done.stdout or "refused: cannot queue a function" in done.stdout or done.stdout == ""


def test_failing_block_at_exit_is_silent(run_python: Run) -> None:
    program = """
background = container.background_context()
future = background.perform(lambda: 1 / 0)
"""
    check(run_python(BEGIN + program), "")


def test_daemon_thread_does_not_prevent_exit(run_python: Run) -> None:
    program = """
def work():
    ctx = container.context()
    while True:
        ctx.insert("Item", name="x")
        ctx.count("Item")
thread = threading.Thread(target=work, daemon=True); thread.start()
time.sleep(0.3)
print("end")
"""
    done = run_python(BEGIN + program)
    assert (done.returncode, done.stdout) == (0, "end\n")
    warning = "UnsavedChangesWarning: a context may have lost unsaved changes at interpreter exit: an unknown number, "
    assert [warning in line for line in done.stderr.splitlines()] == [True]


def test_daemon_threads_that_queue_endlessly_do_not_prevent_exit(run_python: Run) -> None:
    """The exit waits only for work that was queued before; all accepted work is done."""
    program = """
import atexit
futures, refusals = [], []
def last():
    for _ in range(3000):
        if refusals: break
        time.sleep(0.01)
    print("all done", all(each.done() for each in list(futures)), "refused", len(refusals) > 0)
atexit.register(last)
def work():
    while True:
        try:
            future = container.perform_background_task(lambda ctx: (ctx.insert("Item", name="x"), ctx.save()))
        except RuntimeError as error:
            refusals.append(str(error))
            return
        futures.append(future)
        future.exception()
for _ in range(8):
    threading.Thread(target=work, daemon=True).start()
while len(futures) < 20:
    time.sleep(0.01)
print("end", flush=True)
"""
    check(run_python(BEGIN + program), "end\nall done True refused True\n")


def test_queued_function_may_queue_more_work_at_exit(run_python: Run) -> None:
    program = """
background = container.background_context()
def step(left):
    if left:
        time.sleep(0.01)
        background.perform(step, left - 1)
    else:
        print("last step")
background.perform(step, 20)
print("end")
"""
    check(run_python(BEGIN + program), "end\nlast step\n")


# -------- subinterpreters


def test_subinterpreters_are_rejected(run_python: Run) -> None:
    program = """
import sys
sys.path[:0] = PATHS
try:
    from corestone import Container
except ImportError as error:
    print(error, flush=True)  # before what the main interpreter prints
"""
    outer = """
import sys
try:
    import _xxsubinterpreters as interpreters
except ImportError:
    try:
        import _interpreters as interpreters
    except ImportError:
        print("none"); sys.exit()
try:  # one that shares the lock of the main one, as mod_wsgi makes them: others do not even let ctypes in
    number = interpreters.create(isolated=False)
except TypeError:
    number = interpreters.create("legacy")
interpreters.run_string(number, PROGRAM)
import corestone
print(corestone.library_version() != "")
"""
    paths = [path for path in sys.path if path]
    done = run_python(f"PROGRAM = {('PATHS = ' + repr(paths) + program)!r}\n" + outer)
    if done.stdout == "none\n":
        pytest.skip("this Python has no subinterpreters")
    assert done.stdout.startswith("Corestone cannot be used in a subinterpreter, because ctypes runs"), done
    assert done.stdout.endswith("True\n")


# -------- Ctrl-C


@pytest.fixture
def slow_store(path: Path, model: Model) -> Container:
    """A store with a slow fetch."""
    container = Container(model, path, sync="normal")
    ctx = container.context()
    words = "the quick brown fox jumps over the lazy dog"
    ctx.insert_many("Employee", [{"name": f"{words} {at:06}", "age": at % 100} for at in range(60_000)])
    ctx.save()
    ctx.close()
    return container


SLOW = "name MATCHES '.*q.*r.*w.*f.*j.*o.*l.*z.*d.*9999.*x.*' OR name LIKE '*q*b*f*o*t*l*y*d*g*8*x*'"


class StopError(Exception):
    pass


def repeat(function: Callable[[], object]) -> None:
    for _ in range(10):
        function()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs setitimer")
@pytest.mark.parametrize("call", ["fetch", "count"])
def test_signal_handler_interrupts_a_fetch(slow_store: Container, call: str) -> None:
    begin = time.monotonic()
    getattr(slow_store.context(), call)("Employee", SLOW)
    whole = time.monotonic() - begin

    def stop(number: int, frame: object) -> None:
        raise StopError

    before = signal.signal(signal.SIGALRM, stop)
    try:
        ctx = slow_store.context()
        signal.setitimer(signal.ITIMER_REAL, whole / 4)
        with pytest.raises(StopError) as caught:
            repeat(lambda: getattr(ctx, call)("Employee", SLOW))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert any(entry.name == "_steps" for entry in caught.traceback), "raised after the fetch, not within it"
    assert caught.value.__context__ is None or isinstance(caught.value.__context__, StopError)
    assert ctx.count("Employee") == 60_000
    slow_store.close()


@pytest.mark.skipif(os.name != "posix", reason="needs SIGINT")
def test_ctrl_c_interrupts_a_fetch(slow_store: Container, path: Path) -> None:
    slow_store.close()
    program = f"""
import signal, sys; sys.path.insert(0, {str(ROOT / "Tests" / "support")!r})
from checkout import COMPANY
from corestone import Container, Model
# A shell starts what runs in its background with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
ctx = Container(Model(COMPANY), {str(path)!r}).context()
print("ready", flush=True)
try:
    while True:
        ctx.fetch("Employee", {SLOW!r})
except KeyboardInterrupt:
    print("stopped", ctx.count("Employee"), flush=True)
    raise
"""
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert time.monotonic() - begin < 20
    assert out == "stopped 60000\n"
    assert "KeyboardInterrupt" in err
    assert "Exception ignored" not in err
    assert child.returncode in (130, -signal.SIGINT, 1)


def test_ctrl_c_interrupts_a_block(run_python: Run) -> None:
    program = """
import signal
background = container.background_context()
main = threading.get_ident()
def body():
    if threading.get_ident() == main:
        signal.raise_signal(signal.SIGINT)
        for _ in range(1000): pass
    raise KeyboardInterrupt
try:
    background.perform_and_wait(body)
except KeyboardInterrupt:
    print("stopped")
print(background.perform_and_wait(lambda: "goes on"))
"""
    check(run_python(BEGIN + program), "stopped\ngoes on\n")


# -------- fork


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_child_cannot_use_the_container(run_python: Run) -> None:
    # Python 3.12 and newer warn of a fork with several threads, which is what this test does.
    program = """
import warnings
warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
ctx = container.context()
item = ctx.insert("Item", name="x")
ctx.insert("Item", name="y")
ctx.save()
background = container.background_context()
background.perform_and_wait(lambda: None)
known = list(ctx.fetch("Item", sort="name"))
for _ in range(3):
    assert [each.name for each in known] == ["x", "y"]
uses = [lambda: known[0].name, lambda: known[1].name,
        lambda: item.name, lambda: setattr(item, "name", "y"), ctx.save, lambda: ctx.fetch("Item"),
        lambda: ctx.insert("Item"), container.context, lambda: background.perform(print),
        lambda: background.perform_and_wait(print), lambda: Model({"A": {}})]
sys.stdout.flush()
child = os.fork()
if child == 0:
    refused = 0
    for use in uses:
        try:
            use()
        except corestone.ForkedError:
            refused += 1
    del item, known
    print("child", refused == len(uses), flush=True)
    sys.exit(0)
print("parent", os.waitpid(child, 0)[1], item.name, ctx.count("Item"))
"""
    check(run_python(BEGIN + program), "child True\nparent 0 x 2\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forked_child_exits_silently(run_python: Run) -> None:
    program = """
with container:
    ctx = container.background_context()
    told = ctx.notifications("did_save")
    with ctx.observe("did_save", print):
        child = os.fork()
    if child == 0:
        ctx.close()
if child == 0:
    os._exit(7)
print(os.waitpid(child, 0)[1] >> 8)
"""
    check(run_python(BEGIN + program), "7\n")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_spawned_process_can_open_the_store(staff: Context, run_python: Run) -> None:
    program = f"""
import sys; sys.path.insert(0, {str(ROOT / "Tests" / "support")!r})
from checkout import COMPANY
from corestone import Container, Model
print(Container(Model(COMPANY), {staff.container.path!r}, read_only=True).context().count("Employee"))
"""
    check(run_python(program), "6\n")
