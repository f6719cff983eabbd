"""A part of Context: parents and children, merging of saves, query generations and history."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import byref
from typing import TYPE_CHECKING, Any, Literal

from .._abi import lib
from .._abi.arguments import require_instance
from .._abi.call import call, owned
from ..predicate.predicate import Predicate
from . import nesting, queue
from .generation import QueryGeneration, optional_generation
from .history import HistoryCursor, HistoryToken, HistoryTransaction
from .owners import Policy

if TYPE_CHECKING:
    from datetime import datetime

    from typing_extensions import Unpack

    from ..stores.history_functions import HistoryOptions
    from ..stores.store import Store
    from .context import Context
from .context_core import ContextCore


class ContextMerging(ContextCore):
    """Parents and children, merging of saves, query generations and history."""

    @property
    def query_generation(self) -> QueryGeneration | None:
        """The generation to which the context is pinned, `QueryGeneration.current()` before its first read.

        None for a context that always reads the newest state, for a child, and if no store supports generations.
        """
        return optional_generation(owned(lib.cst_context_query_generation, self._open))

    def pin(self, generation: QueryGeneration | None = None) -> None:
        """Pins the context to a generation, for example that of another context.

        The default is the newest state at the context's first read. From then on the context reads that state,
        regardless of later saves; objects keep their values until they are refreshed.

        A save, a merge of changes and a reset move the context to the newest state; a refresh does not.
        InvalidArgumentError for a child and for a generation of another coordinator. UnsupportedError for a store with
        a rollback journal. ObjectGoneError if a store of the generation was removed; the other stores are then pinned.
        """
        chosen = QueryGeneration.current() if generation is None else generation
        require_instance(QueryGeneration, chosen, "generation", "a QueryGeneration or None")
        call(lib.cst_context_set_query_generation, self._open, chosen._handle)

    def unpin(self) -> None:
        """Unpins the context, so that it always reads the newest state."""
        call(lib.cst_context_set_query_generation, self._open, None)

    @contextmanager
    def pinned(self, generation: QueryGeneration | None = None) -> Iterator[Context]:
        """Pins the context for a `with` block, and then pins it to its former generation or unpins it."""
        former = self.query_generation
        self.pin(generation)
        try:
            yield self._context
        finally:
            if former is None:
                self.unpin()
            else:
                self.pin(former)

    @property
    def parent(self) -> Context | None:
        """The parent, from which this context reads and into which it saves; None if it reads and saves the stores."""
        return self._parent

    def child(
        self, queue: Literal["caller", "private", "main"] = "caller", *, unsaved: Policy | None = None
    ) -> Context:
        """Creates a nested context, which fetches the objects of this one, saved or not.

        A save of the child passes its changes to this context, where they are pending. Any thread may call this method.
        The child's requests to its parent run on the parent's queue, so work on the parent's queue must not wait for
        the child's queue. WrongThreadError if the parent is confined to another thread.
        """
        return self._owner._child(self._context, queue, unsaved)

    @property
    def automatically_merges(self) -> bool:
        """Whether the context automatically merges saves of its parent or coordinator; initially False.

        A child merges the saves of its parent. Any other context merges the saves of contexts of the same coordinator.
        A context merges on its own queue. A context that is confined to a thread other than the saving one merges when
        it next fetches or processes pending changes.
        """
        out = ctypes.c_bool()
        call(lib.cst_context_automatically_merges, self._open, byref(out))
        return out.value

    @automatically_merges.setter
    def automatically_merges(self, merges: bool) -> None:
        call(lib.cst_context_set_automatically_merges, self._open, merges)
        nesting.follow(self._context, merges)

    @property
    def automatically_merges_remote_changes(self) -> bool:
        """Whether the context automatically merges remote changes; initially False.

        Remote changes are saves of other processes, and of other coordinators of this process. Objects receive the new
        values and keep their unsaved changes; inserted objects are registered, deleted ones are removed. The context
        merges on its own queue; a context that is confined to a thread merges when it next fetches or processes pending
        changes. A child merges the remote changes of its parent if it merges the parent's saves (automatically_merges).
        """
        out = ctypes.c_bool()
        call(lib.cst_context_merges_remote_changes, self._open, byref(out))
        return out.value

    @automatically_merges_remote_changes.setter
    def automatically_merges_remote_changes(self, merges: bool) -> None:
        call(lib.cst_context_set_merges_remote_changes, self._open, merges)
        self._remote = nesting.follow_remote(self._context) if merges else None
        if merges:
            queue._exit.watchers.add(self)
            queue._exit.arm()

    def _end_watch(self) -> None:
        if self._handle is not None:
            self.automatically_merges_remote_changes = False

    def merge_changes(self, changes: nesting.Changes) -> None:
        """Merges the save of another context: objects, or their IDs, by `inserted`, `updated` and `deleted`.

        Objects with loaded values are read again, and keep their unsaved changes. Inserted objects are registered, and
        retained until the `perform` ends, or outside a `perform` until the next merge. Deleted objects are deleted in
        this context; they can be read until the next save, and are not an unsaved change of this context.
        """
        nesting.merge(self._context, changes)

    def merge_remote_changes(self, changes: nesting.Changes) -> None:
        """Merges changes that bypassed the coordinator, for example of another process, like merge_changes.

        URIs are accepted too; URIs of other stores are ignored. The rows are first removed from the row cache.
        """
        nesting.merge_remote(self._context, changes)

    def history(
        self, predicate: str | Predicate | None = None, *arguments: Any, **options: Unpack[HistoryOptions]
    ) -> HistoryCursor:
        """Returns a cursor over the transactions of the coordinator's stores, like Coordinator.history.

        history = ctx.history(since=token, excluding_author=ctx.transaction_author)
        ctx.merge_history(history)
        token = history.token
        """
        self._require_open()
        return self.coordinator.history(predicate, *arguments, **options)

    def at(self, place: HistoryToken | HistoryTransaction | datetime, stores: Sequence[Store] = ()) -> Context:
        """Returns a context that reads a past state of the stores: at a token, after a transaction, or at a date.

            past = ctx.at(datetime.now(timezone.utc) - timedelta(days=7))
            was = past.get(note.id.uri)
            if was is not None and was.is_known("title"):
                print(was.title)

        The context belongs to a separate coordinator; see Coordinator.at.
        """
        self._require_open()
        return self.coordinator.at(place, stores).context()

    def merge_history(self, history: HistoryCursor | HistoryTransaction) -> None:
        """Merges a transaction, or the remaining transactions of a cursor in order, like merge_changes.

        They may come from another process. InvalidArgumentError for transactions that were read without changes.
        """
        nesting.merge_history(self._context, history)

    @property
    def history_token(self) -> HistoryToken | None:
        """The token of the last transaction that a save or a batch request of the context wrote, or None.

        In an observer of "did_save", it is the token of that save.
        """
        handle = owned(lib.cst_context_copy_history_token, self._open)
        return HistoryToken._owned(handle) if handle else None
