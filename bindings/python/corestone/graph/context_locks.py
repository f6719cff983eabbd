"""A part of Context: Core Data's lock, try_lock and unlock; `with ctx.perform():` has the same effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import _abi
from .._abi import lib
from .._abi.call import call
from ..errors import CorestoneError, InvalidArgumentError
from . import queue
from .context_core import ContextCore

if TYPE_CHECKING:
    from .context import Context

_NOT_LOCKED = 132000


class ContextLocks(ContextCore):
    """Locks of the queue."""

    def lock(self) -> None:
        """Waits for the queue, and reserves it for this thread until `unlock` was called as often as `lock`.

        Prefer `with ctx.perform():`, which cannot forget the unlock. A lock that is acquired in a performed function is
        released at its end, at the latest, and every lock when its thread exits. WrongThreadError with code 132000 if
        the wait would be a deadlock, without a code if the context is confined to another thread. InvalidHandleError if
        the context is closed.

            ctx.lock()
            try:
                ctx.insert("Employee", name="Ada")
            finally:
                ctx.unlock()
        """
        queue.refuse_other_task(self._context, queue.task_here())
        call(lib.cst_context_lock, self._open)
        _begin(self._context)

    def try_lock(self) -> bool:
        """Reserves the queue like `lock`, without waiting.

        Returns False if another thread holds the queue, if functions are queued there, or if the queue rejects work.
        """
        queue.refuse_other_task(self._context, queue.task_here())
        if call(lib.cst_context_try_lock, self._open) == _abi.UNCHANGED:
            return False
        _begin(self._context)
        return True

    def unlock(self) -> None:
        """Releases one lock. Releasing the last one processes pending changes.

        WrongThreadError with code 132000 if this thread does not hold a lock.
        InvalidArgumentError in a lifecycle hook or an observer.
        If processing the pending changes fails, the lock is released nevertheless.
        """
        try:
            call(lib.cst_context_unlock, self._open)
        except CorestoneError as error:
            if error.code != _NOT_LOCKED and not isinstance(error, InvalidArgumentError):
                _end(self._context)
            raise
        _end(self._context)


def _begin(context: Context) -> None:
    context._locks.append(queue._enter(context))


def _end(context: Context) -> None:
    if context._locks:  # a lock in a performed function may have ended with the function
        queue._leave(context, context._locks.pop())
