"""Contexts: units of work with the objects of stores.

The modules context_*.py have the parts of the class, by concern, on top of ContextCore. This one has the closing.
"""

from __future__ import annotations

import contextlib
from types import TracebackType
from typing import cast

from .. import _abi
from .._abi import lib
from .._abi.call import call
from .._abi.stamps import Stamp
from ..errors import CorestoneError, ForkedError, UnsavedChangesError
from . import nesting, queue
from .context_batches import ContextBatches
from .context_core import EntityLike as EntityLike
from .context_editors import ContextEditors, end_all
from .context_faulting import ContextFaulting
from .context_inserting import ContextInserting
from .context_locks import ContextLocks
from .context_lookups import ContextLookups
from .context_merging import ContextMerging
from .context_queues import ContextQueues
from .context_saving import ContextSaving
from .object import ManagedObject
from .owners import Policy, leave_block, policy_of

_QUEUES = {_abi.QUEUE_CALLER: "caller-confined", _abi.QUEUE_PRIVATE: "private queue", _abi.QUEUE_MAIN: "main queue"}


class Context(
    ContextInserting,
    ContextLookups,
    ContextBatches,
    ContextSaving,
    ContextMerging,
    ContextFaulting,
    ContextQueues,
    ContextLocks,
    ContextEditors,
):
    """A unit of work: objects that were fetched or inserted, and their changes until a save or a rollback.

    Containers and coordinators create contexts with `context`, `background_context` and `main_context`. A context
    retains its creator. Use a context and its objects on the context's queue; use elsewhere raises WrongThreadError.

        with container.context() as ctx:
            ctx.insert("Employee", name="Ada")
            ctx.save()

    The end of the block closes the context, see `close`. By default, unsaved changes raise UnsavedChangesError, and the
    context stays open. If the block raised another exception, unsaved changes are rolled back. The view context of a
    container and the context of a document stay open.
    """

    def close(self, unsaved: Policy | None = None) -> None:
        """Closes the context and its children. Their objects then raise ObjectGoneError.

        A second call has no effect. A context with a private queue first finishes its queued work.

        The view context of a container and the context of a document are closed with their owner. This call applies
        `unsaved` to their changes, but leaves them open.

        unsaved  the policy for unsaved changes: "refuse" (UnsavedChangesError counts them by entity, and nothing is
                 closed), "save" (a child saves into its parent; if the save fails, the context stays open) or
                 "discard". None: the policy with which the context or its creator was created.
        """
        handle = self._handle
        if handle is None:
            return
        policy = policy_of(unsaved, self._unsaved)
        closing = [] if self._is_shared else [*self._descendants(), self]
        hooked = [each._held_for_hooks(each._handle) for each in closing if each._handle is not None]
        for each in closing:
            each._is_closing = True  # controllers and live queries are not notified of the closing
        try:
            with contextlib.suppress(ForkedError):  # in a forked child, every call fails
                self._work_on(handle, lib.cst_context_close, _abi.UNSAVED.index(policy))
        except BaseException:
            for each in closing:
                each._is_closing = False
            raise
        hooked.clear()
        if policy == "save":
            nesting.saved(self)
        if not self._is_shared:
            self._forget_handle()
            for each in closing:
                each._close_for_owner(policy)

    def _descendants(self) -> list[Context]:
        """Returns the descendants of this context, each after its own descendants."""
        found: list[tuple[int, Context]] = []
        for each in list(self._owner._contexts):
            depth, beneath = 1, each._parent
            while beneath is not None and beneath is not self:
                depth, beneath = depth + 1, beneath._parent
            if beneath is self:
                found.append((depth, each))
        return [each for _, each in sorted(found, key=lambda entry: -entry[0])]

    def _close_for_owner(self, policy: Policy = "discard") -> None:
        """Closes the context for its owner, which handles unsaved changes.

        If the context is confined to another thread, its objects are freed when the last of them is released.
        """
        handle = self._handle
        if handle is None:
            return
        self._is_closing = True
        try:
            self._unwatch()
            if self._is_shared:
                if self._queue_type == _abi.QUEUE_PRIVATE:
                    queue.perform_and_wait(self, handle, self.reset)
                else:
                    self.reset()
            else:
                hooked = self._held_for_hooks(handle)
                call(lib.cst_context_close, handle, _abi.UNSAVED.index(policy))
                hooked.clear()
        except CorestoneError:
            pass
        self._forget_handle()

    def _refusals(self) -> list[str]:
        """Returns messages about the unsaved changes that keep the context open; without changes, closes it."""
        try:
            self.close("refuse")
        except UnsavedChangesError as refusal:
            return [each.message for each in refusal.details]
        return []

    def _held_for_hooks(self, handle: int) -> list[ManagedObject]:
        """Returns all objects, to keep them alive for the hooks of the closing; they may have no other reference."""
        if not self.model._is_hooked:
            return []
        try:
            if self._queue_type == _abi.QUEUE_PRIVATE:
                return cast("list[ManagedObject]", queue.perform_and_wait(self, handle, lambda: list(self.known)))
            return list(self.known)
        except CorestoneError:
            return []  # the context is confined to another thread

    def _forget_handle(self) -> None:
        end_all(self)
        self._mark.stamp = Stamp()
        self._watcher = None
        self._cst_is_held = False
        self._handle = self._argument = self._remote = None
        for sequence in list(self._sequences):
            sequence.close()

    def __enter__(self) -> Context:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the context, like the `with` block of a container."""
        leave_block(self, raised)

    def __repr__(self) -> str:
        return f"<Context of {self._owner._title}, {_QUEUES[self._queue_type]}{', closed' * self.is_closed}>"
