"""Futures and executors of queues. A separate module, because `concurrent.futures` takes long to import."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Executor, Future, wait
from typing import TYPE_CHECKING, Any, Callable

from ..errors import WrongThreadError
from .queue import EXIT_STEP, FIRST_STEP, _tasks, alone, main_queue

if TYPE_CHECKING:
    from .context import Context


class QueueFuture(Future[Any]):
    """A future of work on a context's queue. On the thread that holds the queue, waiting raises WrongThreadError."""

    def __init__(self, context: Context, is_fetch: bool) -> None:
        super().__init__()
        self._context = context
        self._is_fetch = is_fetch

    def _refuse_own(self) -> None:
        mine = threading.get_ident()
        if not self.done() and getattr(alone, "is_here", False):
            raise WrongThreadError(
                "cannot wait for the future inside a coordinator's perform: the context's queue may wait for that "
                "perform; call future.result after the perform"
            )
        if not self.done() and (self._context._user == mine or (self._context._is_main and main_queue._thread == mine)):
            raise WrongThreadError(
                "cannot wait for the fetch on the queue of its context: it cannot finish during the wait; call "
                "context.execute instead, or pass a function to context.fetch_asynchronously"
                if self._is_fetch
                else "cannot wait for the future on the queue that runs its function: the function cannot finish "
                "during the wait; call context.perform_and_wait instead, or wait for the future on another thread"
            )

    def _drained(self, timeout: float | None) -> float | None:
        """Drains the main queue while the main thread waits, because the function may wait for that queue.

        Returns the remaining time.
        """
        self._refuse_own()
        if main_queue._thread != threading.get_ident():
            return timeout
        deadline = None if timeout is None else time.monotonic() + timeout
        step = FIRST_STEP
        while not self.done():
            left = step if deadline is None else min(deadline - time.monotonic(), step)
            if left <= 0:
                return 0.0
            wait([self], left)
            step = FIRST_STEP if main_queue.drain() else min(step * 2, EXIT_STEP)
        return 0.0

    def result(self, timeout: float | None = None) -> Any:
        timeout = self._drained(timeout)
        return super().result(timeout)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        timeout = self._drained(timeout)
        return super().exception(timeout)


class ContextExecutor(Executor):
    """An executor that runs submitted functions on the queue of a context, one at a time."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._is_shut = False

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Queues a function, like Context.perform."""
        if self._is_shut:
            raise RuntimeError(
                "cannot queue a function: the executor was shut down; call context.perform, or get another executor "
                "from context.executor"
            )
        return self._context.perform(function, *arguments, **named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Makes `submit` raise RuntimeError. The context remains usable."""
        self._is_shut = True
        if cancel_futures:
            for task in list(_tasks.values()):
                if task.context is self._context and task.future is not None:
                    task.future.cancel()
        if wait:
            self._context.perform_and_wait(lambda: None)
