"""Work on queues: blocks that run on the queue of a context, and the main queue."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import itertools
import os
import sys
import threading
import time
import weakref
from ctypes import byref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable

from .. import _abi
from .._abi import lib
from .._abi.call import call, failure, raisable
from .._abi.checked import Checked
from .._abi.handles import Handle, Token, retained
from .._abi.interrupt import immortal
from .._abi.stamps import Stamp
from ..errors import CorestoneError, ForkedError, InvalidHandleError, WrongThreadError

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

    from .context import Context
    from .futures import ContextExecutor as ContextExecutor

STEP = 0.1  # seconds between checks for signals while waiting
EXIT_STEP = 0.01
EXIT_PATIENCE = 1.0  # seconds for which the interpreter exit waits for queues that other threads hold
FIRST_STEP = 0.0002  # seconds until the main thread, while it waits for a future, first drains the main queue


class Task:
    """A function to run on a queue, and its result or exception."""

    __slots__ = ("context", "exception", "function", "future", "has_ended", "result")

    def __init__(self, context: Context | None, function: Callable[[], Any], future: Future[Any] | None) -> None:
        self.context = context  # None for a task of a coordinator
        self.function = function
        self.future = future
        self.has_ended = False
        self.result: Any = None
        self.exception: BaseException | None = None

    def call(self) -> Any:
        if self.context is None:
            former_alone = getattr(alone, "is_here", False)
            alone.is_here = True
            try:
                return self.function()
            finally:
                alone.is_here = former_alone
        former = _enter(self.context)
        try:
            return self.function()
        finally:
            _leave(self.context, former)

    def call_queued(self) -> Any:
        former = getattr(_queued, "is_here", False)
        _queued.is_here = True
        try:
            return self.call()
        finally:
            _queued.is_here = former

    def run(self) -> int:
        future = self.future
        if future is not None and not future.set_running_or_notify_cancel():
            self.has_ended = True
            return _abi.OK
        try:
            self.result = self.call() if future is None else self.call_queued()
        except BaseException as raised:  # including KeyboardInterrupt: the caller or the future receives the exception
            self.exception = raised
            self.has_ended = True
            if future is not None:
                future.set_exception(raised)
            return _abi.E_CALLBACK
        self.has_ended = True
        if future is not None:
            future.set_result(self.result)
        return _abi.OK


alone = threading.local()  # whether a coordinator's perform runs on the thread
_queued = threading.local()  # whether a queued function runs on the thread
_tasks: dict[int, Task] = {}
_numbers = itertools.count(1)


def _run(number: int, context: int, error: Any, tasks: dict[int, Task] = _tasks) -> int:
    task = tasks.get(number)
    return task.run() if task is not None else 0


def _run_alone(number: int, error: Any, tasks: dict[int, Task] = _tasks) -> int:
    task = tasks.get(number)
    return task.run() if task is not None else 0


def _forget(number: int, tasks: dict[int, Task] = _tasks) -> None:
    task = tasks.pop(number, None)
    if task is None or task.future is None or task.has_ended:
        return
    if task.future.set_running_or_notify_cancel():
        owner, awaited = ("coordinator", "") if task.context is None else ("context", ", or await context.aperform,")
        task.future.set_exception(
            InvalidHandleError(
                f"the {owner} was closed before the queued function ran; call future.result{awaited} before "
                f"closing the {owner}"
            )
        )


_run_callback = immortal(_abi.CONTEXT_PERFORM_FN(_run))
_run_alone_callback = immortal(_abi.COORDINATOR_PERFORM_FN(_run_alone))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))


def _enter(context: Context) -> int:
    """Records that the calling thread holds the queue of a context. Returns the argument for `_leave`."""
    former, context._user = context._user, threading.get_ident()
    context._watch()
    return former


def _leave(context: Context, former: int) -> None:
    context._user = former
    context._mark.stamp = Stamp()  # values that this thread read ahead must not be used on another thread


def task_here() -> object:
    """Returns the asyncio task that runs on this thread, or None."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.current_task()
    except RuntimeError:  # no loop runs here
        return None


def refuse_other_task(context: Context, task: object) -> None:
    """Raises WrongThreadError if another asyncio task of this thread holds the queue.

    The queue belongs to the thread; the library does not distinguish its tasks.
    """
    if context._task is not None and context._task is not task and context._user == threading.get_ident():
        raise WrongThreadError(
            "another task of this thread opened `with context.perform():`, and the block is still open; end the block "
            "first, or replace it with `await context.aperform(...)`"
        )


def schedule(context: Context, handle: int, how: int, function: Callable[[], Any]) -> Future[Any]:
    """Queues a function and returns its future."""
    number, future = prepared(context, function)
    call(lib.cst_context_schedule, handle, how, _run_callback, _abi.CONTEXT_DONE_FN(), number, _forget_callback)
    return future


def prepared(context: Context, function: Callable[[], Any], is_fetch: bool = False) -> tuple[int, Future[Any]]:
    """Registers a function for a callback. Returns its number, which `_forget` removes, and its future.

    `is_fetch` is whether the function receives the result of an asynchronous fetch.
    """
    from .futures import QueueFuture

    _exit.admit("begin an asynchronous fetch" if is_fetch else "queue a function")
    future = QueueFuture(context, is_fetch)
    number = next(_numbers)
    _tasks[number] = Task(context, function, future)
    return number, future


class Performing:
    """`with ctx.perform():`, a block in which the calling thread holds the context's queue."""

    def __init__(self, context: Context, handle: int) -> None:
        self._context = context
        self._handle = handle
        self._former: list[tuple[int, object]] = []
        self._kept: list[Token] = []

    def __enter__(self) -> Context:
        task = task_here()
        refuse_other_task(self._context, task)
        kept = retained(self._handle)  # the end of the block unlocks the context, even if the block closes it
        call(lib.cst_context_lock, self._handle)
        self._kept.append(kept)
        self._former.append((_enter(self._context), self._context._task))
        self._context._task = task
        return self._context

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        former, self._context._task = self._former.pop()
        _leave(self._context, former)
        try:
            call(lib.cst_context_unlock, self._handle)
        except CorestoneError:
            if raised is None:  # otherwise the caller needs the exception of the block
                raise
        finally:
            self._kept.pop()


def perform_and_wait(context: Context, handle: int, function: Callable[[], Any]) -> Any:
    """Runs a function on the queue and returns its result; exceptions of the function propagate."""
    return _now(lib.cst_context_perform_and_wait, handle, _run_callback, Task(context, function, None))


def perform_alone(handle: int, function: Callable[[], Any]) -> Future[Any]:
    """Queues a function and returns its future. While it runs, no other thread can save through the coordinator."""
    from concurrent.futures import Future

    _exit.admit("queue a function")
    future: Future[Any] = Future()
    number = next(_numbers)
    _tasks[number] = Task(None, function, future)
    call(lib.cst_coordinator_perform, handle, _run_alone_callback, number, _forget_callback)
    return future


def perform_alone_and_wait(handle: int, function: Callable[[], Any]) -> Any:
    """Runs a function and returns its result. While it runs, no other thread can save through the coordinator."""
    return _now(lib.cst_coordinator_perform_and_wait, handle, _run_alone_callback, Task(None, function, None))


def _now(ask: Callable[..., int], handle: int, run: Any, task: Task) -> Any:
    number = next(_numbers)
    _tasks[number] = task
    error = Handle()
    try:
        status = ask(handle, run, number, byref(error))
        if task.exception is not None:
            raise task.exception
        if status < 0:
            failed = raisable(failure(status, error))
            del error  # the traceback keeps local variables alive
            raise failed
        if not task.has_ended:
            # A signal handler raised an exception at the entry of the callback, before its `try`, so ctypes printed it.
            raise KeyboardInterrupt
        return task.result
    finally:
        _tasks.pop(number, None)
        task.exception = None


class MainQueue(Checked):
    """The main queue. The queue does not have a run loop: the thread that binds it must drain it.

    For example:

        corestone.main_queue.bind()
        corestone.main_queue.drain(timeout=1.0)
    """

    def __init__(self) -> None:
        self._thread = 0  # the thread that bound the queue, the main thread

    def bind(self) -> None:
        """Makes the calling thread the main thread. WrongThreadError if another thread already is."""
        call(lib.cst_main_queue_bind)
        self._thread = threading.get_ident()
        _exit.arm()

    def drain(self, timeout: float | None = 0.0) -> int:
        """Runs the queued blocks, and returns their number.

        Waits up to `timeout` seconds for the first block: 0 does not wait, None waits forever. Ctrl-C cancels the wait.
        """
        count = ctypes.c_size_t()
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = STEP if deadline is None else min(max(deadline - time.monotonic(), 0.0), STEP)
            call(lib.cst_main_queue_drain, int(left * 1000), byref(count))
            if count.value or (deadline is not None and time.monotonic() >= deadline):
                return count.value

    def fileno(self) -> int:
        """Returns a descriptor that is readable while a block is queued, for select, poll and asyncio.

        The library owns the descriptor; do not close it.
        """
        out = ctypes.c_int()
        call(lib.cst_main_queue_descriptor, byref(out))
        return out.value

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Binds the queue to this thread, and makes an asyncio event loop of this thread drain it."""
        self.bind()
        loop.add_reader(self.fileno(), self.drain)

    def detach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Stops the event loop from draining the queue."""
        loop.remove_reader(self.fileno())

    def __repr__(self) -> str:
        return "<MainQueue>"


main_queue = MainQueue()


class _Exit:
    """The work at interpreter exit: queued blocks run, and then the library no longer calls into the interpreter."""

    def __init__(self) -> None:
        self.has_run = False
        self._is_under_way = False
        self._armed = False
        self._process = 0
        self.contexts: weakref.WeakSet[Context] = weakref.WeakSet()
        #: Observations and contexts that watcher threads notify of remote changes.
        self.watchers: weakref.WeakSet[Any] = weakref.WeakSet()

    def arm(self) -> None:
        """Registers the exit function when it is first needed. It runs before exit functions registered earlier."""
        if not self._armed:
            self._armed = True
            self._process = os.getpid()
            atexit.register(self.run)

    def admit(self, purpose: str) -> None:
        """Raises RuntimeError for a new block after the exit has begun.

        A queued block can still queue further blocks. Other threads cannot, because they might never stop.
        """
        if self.has_run or (self._is_under_way and not getattr(_queued, "is_here", False)):
            raise RuntimeError(f"cannot {purpose}: the interpreter is shutting down")
        self.arm()

    def run(self) -> None:
        if os.getpid() != self._process:
            return  # a forked child does not have the queues' threads
        self._is_under_way = True
        self._end_watchers()
        try:
            self._finish_queued()
            self.has_run = True
            self._finish_queued()
        except (CorestoneError, KeyboardInterrupt):
            self.has_run = True

    def end_watches(self) -> None:
        """Makes the library stop calling interrupt checks: the last step, after the application's exit functions."""
        if os.getpid() != self._process:
            return
        deadline = time.monotonic() + EXIT_PATIENCE
        for context in list(self.contexts):
            with contextlib.suppress(CorestoneError, KeyboardInterrupt):
                context._unwatch(deadline)

    def _end_watchers(self) -> None:
        for watcher in list(self.watchers):
            with contextlib.suppress(CorestoneError):
                watcher._end_watch()
        if self.watchers:
            time.sleep(EXIT_STEP)  # for calls in progress

    def _finish_queued(self) -> None:
        """Waits until no block is queued, and drains the main queue.

        Blocks on the main queue stay queued if another thread has bound it.
        """
        while True:
            queued = [task for task in list(_tasks.values()) if task.future is not None]
            if not queued:
                return
            if not self._drain_main(EXIT_STEP):
                if all(task.context is not None and task.context._is_main for task in queued):
                    return  # another thread has bound the main queue
                time.sleep(EXIT_STEP)

    def _drain_main(self, timeout: float) -> bool:
        """Drains the main queue. Returns False if it belongs to another thread."""
        try:
            call(lib.cst_main_queue_bind)
            main_queue.drain(timeout)
        except (WrongThreadError, ForkedError):
            return False
        return True


_exit = _Exit()

if not TYPE_CHECKING:

    def __getattr__(name):
        """Imports ContextExecutor when it is first used, because `concurrent.futures` takes long to import."""
        if name != "ContextExecutor":
            raise AttributeError(f'the module corestone.queue does not have an attribute "{name}"')
        from .futures import ContextExecutor

        return ContextExecutor
