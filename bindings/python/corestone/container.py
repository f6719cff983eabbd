"""A container: a model, a store file, and the contexts on top of it."""

from __future__ import annotations

import os
import weakref
from types import TracebackType

from . import _abi
from .context import Context
from .coordinator import Coordinator
from .errors import CorestoneError, InvalidHandleError
from .model import Model
from .object_id import ObjectID


class Container:
    """Opens the store at `path`, or makes it, and gives contexts.

        with Container(model, "company.store") as container:
            ctx = container.context()

    The options are those of Coordinator.add_store. Closing it closes its contexts, then the store.
    """

    def __init__(
        self,
        model: Model,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        must_exist: bool = False,
        sync: str = "full",
        journal: str = "wal",
        busy_timeout: float = 5.0,
        cache_kb: int = 0,
        history: bool = False,
    ) -> None:
        self.model = model
        self.coordinator = Coordinator(model)
        self.store = self.coordinator.add_store(
            path,
            read_only=read_only,
            must_exist=must_exist,
            sync=sync,
            journal=journal,
            busy_timeout=busy_timeout,
            cache_kb=cache_kb,
            history=history,
        )
        self._contexts: weakref.WeakSet[Context] = weakref.WeakSet()
        self._is_closed = False

    def _context(self, queue: int) -> Context:
        if self._is_closed:
            raise InvalidHandleError("The container is closed. Open another one.")
        context = Context(self, queue)
        self._contexts.add(context)
        return context

    def context(self) -> Context:
        """A context for the calling thread, which alone may use it."""
        return self._context(_abi.QUEUE_CALLER)

    def background_context(self) -> Context:
        """A context with a queue of its own; any thread gives it work by perform and perform_and_wait."""
        return self._context(_abi.QUEUE_PRIVATE)

    def main_context(self) -> Context:
        """A context of the main queue: see corestone.main_queue."""
        return self._context(_abi.QUEUE_MAIN)

    def object_id(self, uri: str) -> ObjectID | None:
        """The ID for a URI; None when the store does not know it."""
        return self.coordinator.object_id(uri)

    @property
    def path(self) -> str:
        """The store's file."""
        return self.store.path

    @property
    def is_read_only(self) -> bool:
        """Whether saving fails."""
        return self.store.is_read_only

    def close(self) -> None:
        """Closes the contexts and the store. Changes that were not saved are lost. Closing twice is fine."""
        if self._is_closed:
            return
        self._is_closed = True
        for context in list(self._contexts):
            context.close()
        self.coordinator.remove_store(self.store)

    def __enter__(self) -> Container:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except CorestoneError:
            if raised is None:
                raise

    def __repr__(self) -> str:
        return f"<Container {self.store.path}{' (closed)' if self._is_closed else ''}>"
