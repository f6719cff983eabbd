"""Asynchronous fetches, which run in parallel with their contexts."""

from __future__ import annotations

import ctypes
from collections.abc import Generator
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, Generic, NamedTuple, cast

from .. import _abi
from .._abi import lib
from .._abi.arguments import function as function_given
from .._abi.arguments import require_instance, require_integer
from .._abi.call import call, owned
from .._abi.interrupt import immortal
from . import queue
from .request import FetchRequest
from .typing import Found_co

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .context import Context


class FetchProgress(NamedTuple):
    """The progress of a fetch: the number of rows read so far, and the number of all rows.

    Before the end of the fetch, `total` is the estimate, or 0 without an estimate.
    """

    completed: int
    total: int
    is_finished: bool


class AsynchronousFetch(Generic[Found_co]):
    """An asynchronous fetch, which Context.fetch_asynchronously returns. Any thread can use it.

    `result` blocks until the fetch has finished; `await` waits without blocking the event loop. Both return the fetched
    result, or the return value of the function that received it. Objects in the result belong to the queue of the
    context.
    """

    __slots__ = ("__weakref__", "_context", "_function", "_future", "_handle", "_request")

    def __init__(
        self,
        context: Context,
        request: FetchRequest[Any, Any],
        function: Callable[[Any], Any] | None,
        estimated_count: int,
    ) -> None:
        self._handle = 0
        self._context = context
        self._request = require_instance(FetchRequest, request, "request").copy()
        self._function = function
        if function is not None:
            function_given(function, "function")
        require_integer(estimated_count, "estimated_count")
        given = self._request._build(context)
        request._entity = self._request._entity  # looked up for the copy
        # The library calls back on the queue of the context, on which this code runs, so not before `_handle` is set.
        number, self._future = queue.prepared(context, self._copy_result, is_fetch=True)
        self._handle = owned(
            lib.cst_context_fetch_asynchronously, context._open, given.handle, estimated_count, _ended_callback, number,
            queue._forget_callback,
        )  # fmt: skip

    def _copy_result(self) -> Any:
        """Returns the result; runs on the queue of the context when the fetch has finished."""
        out = _abi.RequestResult()
        call(lib.cst_asynchronous_fetch_copy_result, self._handle, byref(out))
        found = self._request._copy_result(out, self._context)
        return found if self._function is None else self._function(found)

    @property
    def progress(self) -> FetchProgress:
        """The progress of the fetch."""
        completed, total = ctypes.c_uint64(), ctypes.c_uint64()
        status = call(lib.cst_asynchronous_fetch_progress, self._handle, byref(completed), byref(total))
        return FetchProgress(completed.value, total.value, status == _abi.END)

    def cancel(self) -> bool:
        """Cancels the fetch, which then fails with CancelledError. Returns False if it has already finished."""
        return call(lib.cst_asynchronous_fetch_cancel, self._handle) == _abi.OK

    @property
    def future(self) -> Future[Found_co]:
        """The future that is done when the fetch has finished, like the future of Context.perform."""
        return self._future

    def result(self, timeout: float | None = None) -> Found_co:
        """Waits for the fetch to finish, and returns its result.

        WrongThreadError on the queue of the context while the fetch has not finished, because the wait would deadlock.
        """
        return cast("Found_co", self._future.result(timeout))

    def __await__(self) -> Generator[Any, None, Found_co]:
        return self._wait().__await__()

    async def _wait(self) -> Found_co:
        import asyncio

        try:
            return cast("Found_co", await asyncio.wrap_future(self._future))
        except asyncio.CancelledError:
            self.cancel()
            raise

    def __repr__(self) -> str:
        completed, total, is_finished = self.progress
        state = "finished" if is_finished else f"{completed} of {total or '?'} rows"
        return f"<AsynchronousFetch of {self._request.entity_name}: {state}>"


def _ended(number: int, fetch: int, tasks: dict[int, queue.Task] = queue._tasks) -> None:
    task = tasks.get(number)
    if task is not None:
        task.run()


_ended_callback = immortal(_abi.FETCH_DONE_FN(_ended))
