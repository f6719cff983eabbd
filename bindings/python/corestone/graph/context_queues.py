"""A part of Context: work on the queue of a context, observation, and notifications."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable, TypeVar, overload

from .. import _abi
from .._abi.arguments import shown
from ..errors import InvalidArgumentError
from . import queue
from .asynchronous import AsynchronousFetch
from .notifications import ChangedIDs, Notifications
from .request import FetchRequest
from .typing import Item

if TYPE_CHECKING:
    from concurrent.futures import Future

    from ..codes import ContextNotification
    from .context import Context
    from .live import Difference, LiveQuery
    from .observation import ContextChanges, Observation
from .context_core import ContextCore

T = TypeVar("T")
Found = TypeVar("Found")


class ContextQueues(ContextCore):
    """Work on the queue of a context, observation, and notifications."""

    @overload
    def fetch_asynchronously(
        self, request: FetchRequest[Item, Found], function: None = None, *, estimated_count: int = 0
    ) -> AsynchronousFetch[Found]: ...
    @overload
    def fetch_asynchronously(
        self, request: FetchRequest[Item, Found], function: Callable[[Found], T], *, estimated_count: int = 0
    ) -> AsynchronousFetch[T]: ...
    def fetch_asynchronously(
        self, request: FetchRequest[Any, Any], function: Callable[[Any], Any] | None = None, *, estimated_count: int = 0
    ) -> AsynchronousFetch[Any]:
        """Begins an asynchronous fetch, whose rows another thread reads, and returns it.

            with ctx.perform():
                fetch = ctx.fetch_asynchronously(request, lambda people: [each.name for each in people])
            names = fetch.result()  # or: await fetch

        The context must have a private queue or the main queue. `function` is called with the result, on that queue.
        Fetches of dictionaries, from several stores, and in pinned or nested contexts run on the queue.
        """
        return AsynchronousFetch(self._context, request, function, estimated_count)

    async def afetch(self, request: FetchRequest[Item, Found], function: Callable[[Found], T]) -> T:
        """Fetches asynchronously, without blocking the event loop, and returns the result of `function`.

            names = await ctx.afetch(request, lambda people: [each.name for each in people])

        `function` is called with the fetched result, on the queue. When the task is cancelled, the fetch stops.
        """
        found: T = await (await self.aperform(lambda: self.fetch_asynchronously(request, function)))
        return found

    @overload
    def observe(
        self, notification: ContextNotification | str, function: Callable[[Context, ContextChanges], Any]
    ) -> Observation: ...

    @overload
    def observe(
        self,
        notification: FetchRequest[Item, Any],
        function: Callable[[Context, Difference[Item]], Any],
        *,
        sections: str | None = None,
        dependencies: Sequence[str] = (),
    ) -> Observation: ...

    @overload
    def observe(
        self,
        notification: FetchRequest[Item, Any],
        function: None = None,
        *,
        sections: str | None = None,
        dependencies: Sequence[str] = (),
        timeout: float | None = None,
    ) -> LiveQuery[Item]: ...

    def observe(
        self,
        notification: ContextNotification | str | FetchRequest[Any, Any],
        function: Callable[[Context, Any], Any] | None = None,
        *,
        sections: str | None = None,
        dependencies: Sequence[str] = (),
        timeout: float | None = None,
    ) -> Any:
        """Calls function(context, changes) on the context's queue for each notification of a kind, such as "did_save".

        The observation lasts as long as the returned token is referenced. Any thread may call this method.

        With a FetchRequest, function(context, difference) first receives all results as insertions, and then a
        Difference for each event that changes them. Without a function, returns a LiveQuery for `for` or `async for`.
        `sections` is a key path whose values name sections. `dependencies` are key paths to objects; a change of such
        an object is an update of the results that refer to it. With a FetchRequest, call this on the context's queue.
        """
        from .live import LiveQuery, observe_fetch
        from .observation import observe_context

        if not isinstance(notification, FetchRequest):
            if function is None:
                raise InvalidArgumentError(
                    f"cannot observe {shown(notification)}: function is None; pass a function, or call "
                    "context.notifications(notification) for an async iterator",
                    key="function",
                )
            return observe_context(self._context, self._open, notification, function)
        if function is not None:
            return observe_fetch(self._context, notification, function, sections, dependencies)
        query = LiveQuery(self._context, notification, sections, dependencies, timeout)
        self._sequences.add(query)
        return query

    @overload
    def perform(self) -> queue.Performing: ...

    @overload
    def perform(self, function: Callable[..., T], /, *arguments: Any, **named: Any) -> Future[T]: ...

    def perform(self, *arguments: Any, **named: Any) -> Any:
        """Runs work on the context's queue. Without a function, begins a block in which the thread holds the queue:

            with ctx.perform():
                ctx.insert("Employee", name="Ada")
                ctx.save()

        Blocks nest. Each waits until the queue is free, even within another context's block. A block of a parent must
        not wait for the queue of its child: a deadlock raises WrongThreadError with code 132000.

        With a function, queues the function and immediately returns a future, which receives the result or exception.
        asyncio.wrap_future makes the future awaitable. Cancelling it before the function begins prevents the call.
        Objects must not be used outside the queue; any thread can use IDs.
        """
        if not arguments:
            return queue.Performing(self._context, self._open)
        function, *arguments = arguments  # type: ignore[assignment]
        return queue.schedule(self._context, self._open, _abi.SCHEDULE_ENQUEUED, lambda: function(*arguments, **named))

    async def aperform(self, function: Callable[..., T], /, *arguments: Any, **named: Any) -> T:
        """Runs a function on the context's queue and awaits it; returns its result or raises its exception.

            names = await ctx.aperform(lambda: [each.name for each in ctx.fetch("Employee")])

        The event loop is not blocked. The function runs immediately on this thread if the thread already holds the
        queue, as for a context that is confined to it. If the task is cancelled before the function begins, it does not
        run.
        """
        if self._task is not None:
            queue.refuse_other_task(self._context, queue.task_here())
        work: Future[T] = queue.schedule(
            self._context, self._open, _abi.SCHEDULE_IMMEDIATE, lambda: function(*arguments, **named)
        )
        if work.done():
            return work.result()
        import asyncio

        return await asyncio.wrap_future(work)

    @property
    def executor(self) -> queue.ContextExecutor:
        """The executor for the context's queue: `await loop.run_in_executor(ctx.executor, function)`."""
        return queue.ContextExecutor(self._context)

    def notifications(
        self, notification: ContextNotification | str, *, newest: int | None = None
    ) -> Notifications[ChangedIDs]:
        """Returns an async iterator over the later notifications of one kind, as IDs.

            async for changes in ctx.notifications("did_save_object_ids"):
                print(changes.updated)

        The kinds are those of `observe`. The iterator ends when the context is closed or released. Saves do not wait
        for the task: unread notifications are queued, all of them or the last `newest`.
        """
        self._require_open()
        sequence = Notifications(
            self, newest, lambda tell: self.observe(notification, tell), lambda changes: changes.ids
        )
        self._sequences.add(sequence)
        return sequence

    def perform_and_wait(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Runs a function on the context's queue and waits for it; returns its result or raises its exception."""
        if self._task is not None:
            queue.refuse_other_task(self._context, queue.task_here())
        found: T = queue.perform_and_wait(self._context, self._open, lambda: function(*arguments, **named))
        return found
