"""Notifications as async iterators."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, Callable, Generic, NamedTuple, TypeVar

from .._abi.arguments import require_integer
from .._abi.checked import Checked
from ..errors import InvalidArgumentError
from .object_id import ObjectID

if TYPE_CHECKING:
    import asyncio

    from .observation import Observation

T = TypeVar("T")


class ChangedIDs(NamedTuple):
    """The changes that a notification of a context reports, as IDs, which any thread can use."""

    inserted: list[ObjectID]
    updated: list[ObjectID]
    deleted: list[ObjectID]
    refreshed: list[ObjectID]
    invalidated: list[ObjectID]
    invalidated_all: bool  # the context was reset


class Notifications(Checked, AsyncIterator[T], Generic[T]):
    """An iterator over the notifications that a context or a coordinator posts after the iterator's creation.

    The iterator is for one asyncio task: `async for … in ctx.notifications(…)`. It ends when `close()` is called, when
    its context is closed, and when its context or coordinator is released. A cancelled wait, for example after a
    time-out, does not lose notifications: they are queued for the next wait.
    """

    #: The call that creates another iterator, for a message.
    _maker = "notifications()"

    def __init__(
        self,
        subject: Any,
        newest: int | None,
        observe: Callable[[Callable[[Any, Any], None]], Observation],
        news: Callable[[Any], T],
    ) -> None:
        if newest is not None:
            newest = require_integer(newest, "newest", least=1)
        self._lock = threading.Lock()
        self._unread: deque[T] = deque(maxlen=newest)
        self._waiter: asyncio.Future[None] | None = None
        self._has_ended = False
        # The observation and the subject must not keep the iterator alive.
        this = weakref.ref(self)

        def tell(_: Any, changes: Any) -> None:
            found = this()
            if found is not None:
                found._add(news(changes))

        def end(_: Any) -> None:
            found = this()
            if found is not None:
                found._end()

        self._subject = weakref.ref(subject, end)
        self._observation = observe(tell)

    def _add(self, news: T) -> None:
        """Adds a notification, on the subject's queue."""
        with self._lock:
            self._unread.append(news)
            self._wake()

    def _end(self) -> None:
        with self._lock:
            self._has_ended = True
            self._wake()

    def _wake(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            with contextlib.suppress(RuntimeError):  # the event loop of the waiter is closed
                waiter.get_loop().call_soon_threadsafe(_resolve, waiter)

    def close(self) -> None:
        """Ends the iterator, including for a waiting task. Queued notifications are still returned. Idempotent."""
        self._observation.cancel()
        self._end()

    def __aiter__(self) -> Notifications[T]:
        return self

    async def __anext__(self) -> T:
        import asyncio

        while True:
            with self._lock:
                if self._unread:
                    return self._unread.popleft()
                if self._has_ended:
                    raise StopAsyncIteration
                if self._waiter is not None:
                    raise InvalidArgumentError(
                        f"another task already waits for this iterator; call {self._maker} separately in each task"
                    )
                waiter = self._waiter = asyncio.get_running_loop().create_future()
            try:
                await waiter
            finally:
                with self._lock:
                    if self._waiter is waiter:  # cancelled before a notification
                        self._waiter = None


def _resolve(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
