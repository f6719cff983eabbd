"""A container: a model, a store file, and the contexts on top of it."""

from __future__ import annotations

import contextlib
import os
import weakref
from collections.abc import Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

from . import _abi
from .context import Context, EntityLike
from .coordinator import Coordinator, Store, open_store, store_options
from .errors import CorestoneError, ForkedError, InvalidArgumentError, InvalidHandleError
from .expression import KeyPath
from .model import Model, ModelLike
from .object_id import ObjectID
from .predicate import Predicate
from .results import Results
from .sort import SortKey

_QUEUES = {"caller": _abi.QUEUE_CALLER, "private": _abi.QUEUE_PRIVATE, "main": _abi.QUEUE_MAIN}


class Container:
    """Opens the store at `path`, or makes it, and gives contexts.

        with Container(model, "company.store") as container:
            ctx = container.context()

    The options are those of Coordinator.add_store; further stores are added to its `coordinator`. Closing it closes its
    contexts, then the store.
    """

    def __init__(
        self,
        model: Model,
        path: str | os.PathLike[str],
        *,
        type: str | None = None,
        read_only: bool = False,
        must_exist: bool = False,
        sync: str = "full",
        journal: str = "wal",
        busy_timeout: float = 5.0,
        cache_kb: int = 0,
        max_connections: int = 0,
        history: bool = False,
        configuration: str | None = None,
        posts_own_changes: bool = False,
        watch_interval: float = 0.0,
        pragmas: Mapping[str, str | int] | None = None,
        analyze: bool = False,
        vacuum: bool = False,
        ignore_versioning: bool = False,
        file_mode: int | None = None,
        external_threshold: int | None = None,
        foreign_options: Iterable[str] = (),
    ) -> None:
        coordinator = Coordinator(model)
        store = coordinator.add_store(
            path,
            type=type,
            read_only=read_only,
            must_exist=must_exist,
            sync=sync,
            journal=journal,
            busy_timeout=busy_timeout,
            cache_kb=cache_kb,
            max_connections=max_connections,
            history=history,
            configuration=configuration,
            posts_own_changes=posts_own_changes,
            watch_interval=watch_interval,
            pragmas=pragmas,
            analyze=analyze,
            vacuum=vacuum,
            ignore_versioning=ignore_versioning,
            file_mode=file_mode,
            external_threshold=external_threshold,
            foreign_options=foreign_options,
        )
        self._keep(coordinator, store)

    def _keep(self, coordinator: Coordinator, store: Store) -> None:
        self.model = coordinator.model
        self.coordinator = coordinator
        self.store = store
        self._contexts: weakref.WeakSet[Context] = weakref.WeakSet()
        self._own: Context | None = None
        self._is_closed = False

    def _context(self, queue: int, parent: Context | None = None) -> Context:
        if self._is_closed:
            raise InvalidHandleError("The container is closed. Open another one.")
        context = Context(self, queue, parent)
        self._contexts.add(context)
        return context

    def _child(self, parent: Context, queue: str) -> Context:
        if queue not in _QUEUES:
            raise InvalidArgumentError(f"{queue!r} is no kind of queue. Use 'caller', 'private' or 'main'.")
        return self._context(_QUEUES[queue], parent)

    def context(self) -> Context:
        """A context for the calling thread, which alone may use it."""
        return self._context(_abi.QUEUE_CALLER)

    def background_context(self) -> Context:
        """A context with a queue of its own; any thread gives it work by perform and perform_and_wait."""
        return self._context(_abi.QUEUE_PRIVATE)

    def main_context(self) -> Context:
        """A context of the main queue: see corestone.main_queue."""
        return self._context(_abi.QUEUE_MAIN)

    def fetch(
        self,
        entity: EntityLike,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        offset: int = 0,
        prefetch: KeyPath | Sequence[KeyPath] = (),
    ) -> Results:
        """Context.fetch in a context that the container keeps for it, of the thread that fetches first."""
        if self._own is None:
            self._own = self.context()
        return self._own.fetch(entity, predicate, *arguments, sort=sort, limit=limit, offset=offset, prefetch=prefetch)

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

    @property
    def read_only_reason(self) -> str | None:
        """Why saving fails and what to do about it, as the end of a sentence; None when it does not."""
        return self.store.read_only_reason

    @property
    def model_source(self) -> str:
        """Where the model comes from: "given", "cached" (the store carries it) or "inferred" (from its tables)."""
        return self.store.model_source

    def migrate(self, path: str | os.PathLike[str]) -> Store:
        """Saves the store at another path and goes on with that one, as Coordinator.migrate_store does."""
        self.store = self.coordinator.migrate_store(self.store, path)
        return self.store

    def close(self) -> None:
        """Closes the contexts and the store. Changes that were not saved are lost. Closing twice is fine."""
        if self._is_closed:
            return
        self._is_closed = True
        self._own = None
        for context in list(self._contexts):
            context.close()
        # It may have been removed, or destroyed, by hand; and a forked child has no part in it.
        with contextlib.suppress(InvalidArgumentError, ForkedError):
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


def open_container(
    path: str | os.PathLike[str],
    model: ModelLike | None = None,
    *,
    writable: bool = False,
    sync: str = "full",
    journal: str = "wal",
    busy_timeout: float = 5.0,
    cache_kb: int = 0,
    max_connections: int = 0,
) -> Container:
    """Opens a store that is there already, Apple's or ours, without its model if need be.

        with corestone.open("Photos.sqlite") as photos:
            for asset in photos.fetch("Asset", "favorite == YES", limit=10):
                print(asset.filename)

    The model is the given one (or the one at the given path, of a bundle the version that the store was written with:
    container.model.version_name), or else the one that the store carries, or else one inferred from its tables; the
    container's model_source tells. Unless `writable`, neither the
    file nor its folder changes, and nothing in it is locked. A store whose promises cannot be kept is read-only all the
    same; read_only_reason says why.
    """
    options = store_options(
        _abi.STORE_WRITABLE if writable else 0, sync, journal, busy_timeout, cache_kb, max_connections
    )
    container = Container.__new__(Container)
    container._keep(*open_store(path, model, options))
    return container
