"""After a migration: backups of the former store, and deferred tasks."""

from __future__ import annotations

import ctypes
import os
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable

from .. import _abi
from .._abi import lib, null_text, path_argument
from .._abi.arguments import require_instance
from .._abi.call import call
from ..graph.progress import progress_callback
from .store_options import store_options

if TYPE_CHECKING:
    from .store import Store


def optional_path(path: str | os.PathLike[str] | None) -> _abi.InputString:
    """Returns a path as a cst_string, None as a null string."""
    return null_text() if path is None else path_argument(path)


class MigrationUpkeep:
    """The part of Coordinator for backups and deferred migrations."""

    _handle: int

    def _require_open(self) -> None:
        """Raises InvalidHandleError if the coordinator is closed."""
        raise NotImplementedError

    def restore_store(
        self,
        path: str | os.PathLike[str],
        backup: str | os.PathLike[str] | None = None,
        *,
        folder: str | os.PathLike[str] | None = None,
        busy_timeout: float = 5.0,
        file_mode: int | None = None,
    ) -> str:
        """Replaces the store at a path with a backup that a migration made, and returns the path of the backup.

        The replacement is atomic and includes backing files, as in replace_store; the backup is kept. The store may be
        missing. If the store is open, it is first removed from the coordinator.

        backup  the path of the backup; None: the newest one
        folder  the folder of the backups; None: the folder of the store

        StoreError if there is no backup.
        InvalidArgumentError for a backup of another store.
        In both cases the store does not change.
        """
        self._require_open()
        options = store_options(busy_timeout=busy_timeout, file_mode=file_mode)
        restored = _abi.Buffer()
        call(
            lib.cst_coordinator_restore_store, self._handle, path_argument(path), optional_path(backup),
            optional_path(folder), byref(options), byref(restored),
        )  # fmt: skip
        return _abi.take_text(restored)

    def deferred_migration_task_count(self, store: Store) -> int:
        """Returns the number of tasks that a migration with `defer_cleanup` left in a store."""
        count = ctypes.c_size_t()
        call(lib.cst_coordinator_deferred_migration_task_count, self._handle, _handle_of(store), byref(count))
        return count.value

    def finish_deferred_migration_task(self, store: Store) -> bool:
        """Performs the next task that a deferred migration left in a store, and returns whether more are left.

        A task is one transaction: it removes the leftover columns of a table, or a leftover table.

        StoreBusyError while another process writes.
        StoreReadOnlyError for a read-only store.
        """
        more = ctypes.c_bool()
        call(lib.cst_coordinator_finish_deferred_migration_task, self._handle, _handle_of(store), byref(more))
        return more.value

    def finish_deferred_migration(self, store: Store, *, progress: Callable[[int, int], Any] | None = None) -> None:
        """Performs all tasks that a deferred migration left in a store. Other connections may save between two tasks.

        progress  progress(done, total) is called on this thread with the numbers of finished tasks and of all tasks. An
                  exception that it raises cancels the call and propagates; the remaining tasks are kept
        """
        with progress_callback(progress) as callback:
            call(lib.cst_coordinator_finish_deferred_migration, self._handle, _handle_of(store), callback, None)


def _handle_of(store: Store) -> int:
    from .store import Store

    handle: int = require_instance(Store, store, "store")._handle
    return handle
