"""What containers, documents and coordinators have in common: the contexts that they make and close."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

from . import _abi
from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .context import Context
    from .coordinator import Coordinator
    from .model import Model

QUEUES = {"caller": _abi.QUEUE_CALLER, "private": _abi.QUEUE_PRIVATE, "main": _abi.QUEUE_MAIN}


class ContextOwner:
    """Makes contexts, which keep it, and closes them when it is closed; it does not keep them."""

    model: Model
    _contexts: weakref.WeakSet[Context]

    @property
    def _beneath(self) -> Coordinator:
        """The coordinator on which the contexts stand."""
        raise NotImplementedError

    @property
    def _title(self) -> str:
        """What its contexts are shown as contexts of."""
        return ", ".join(store.path for store in self._beneath.stores) or "no open store"

    def _require_open(self) -> None:
        """Raises InvalidHandleError when it is closed."""
        raise NotImplementedError

    def _context(self, queue: int, parent: Context | None = None) -> Context:
        from .context import Context

        self._require_open()
        context = Context(self, queue, parent)
        self._contexts.add(context)
        return context

    def _child(self, parent: Context, queue: str) -> Context:
        """What contexts ask of the one who made them."""
        if queue not in QUEUES:
            raise InvalidArgumentError(f"{queue!r} is no kind of queue. Use 'caller', 'private' or 'main'.")
        return self._context(QUEUES[queue], parent)

    def _close_contexts(self) -> None:
        for context in list(self._contexts):
            context.close()


class Contexts(ContextOwner):
    """The calls for contexts of containers and coordinators."""

    def context(self) -> Context:
        """A context for the calling thread, which alone may use it."""
        return self._context(_abi.QUEUE_CALLER)

    def background_context(self) -> Context:
        """A context with a queue of its own; any thread gives it work by perform and perform_and_wait."""
        return self._context(_abi.QUEUE_PRIVATE)

    def main_context(self) -> Context:
        """A context of the main queue: see corestone.main_queue."""
        return self._context(_abi.QUEUE_MAIN)
