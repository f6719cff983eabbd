"""The open stores that are written in Python, and their coordinators."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .coordinator import Coordinator
    from .host_store import HostStore

opened: dict[int, HostStore] = {}  # by the number that the library passes to callbacks
_here = threading.local()


def note(store: HostStore) -> None:
    """Records that a store was opened on this thread."""
    getattr(_here, "stores", []).append(store)


@contextlib.contextmanager
def host_stores_opened(coordinator: Coordinator) -> Iterator[None]:
    """Assigns the stores that this thread opens within the block to a coordinator."""
    former, _here.stores = getattr(_here, "stores", []), []
    try:
        yield
    finally:
        for store in _here.stores:
            store._cst_owner = weakref.ref(coordinator)
        _here.stores = former


def host_store(coordinator: Coordinator | None, identifier: str, path: str) -> HostStore | None:
    """Returns the Python instance for an open store; None if the store is not open or not written in Python.

    A store that was opened on a thread of the library is assigned to the first coordinator that requests it.
    """
    wanted = path, identifier.upper()
    found = [store for store in list(opened.values()) if (store.path, store.identifier.upper()) == wanted]
    for store in found:
        owner = store._cst_owner() if store._cst_owner is not None else None
        if coordinator is None or owner is coordinator:
            return store
    for store in found:
        if store._cst_owner is None and coordinator is not None:
            store._cst_owner = weakref.ref(coordinator)
            return store
    return None
