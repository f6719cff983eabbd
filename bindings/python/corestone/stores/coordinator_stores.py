"""A part of Coordinator: its stores."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

from .. import _abi
from .._abi import lib, optional_text, path_argument, text
from .._abi.arguments import choice, flag, require_instance, shown
from .._abi.call import call, owned
from ..errors import InvalidArgumentError
from ..graph.progress import migrating, progress_callback
from .store_options import StoreOptions, refuse_memory, refuse_unknown, store_options

if TYPE_CHECKING:
    from typing_extensions import Unpack

from .coordinator_core import CoordinatorCore
from .metadata import property_list
from .store import Store

CHECKPOINTS = ("passive", "full", "restart", "truncate")


class Checkpoint(NamedTuple):
    """The number of pages in a write-ahead log, and the number of these that are now in the store's file."""

    pages: int
    checkpointed: int

    @property
    def is_complete(self) -> bool:
        """Whether all pages are in the file."""
        return self.pages == self.checkpointed


class CoordinatorStores(CoordinatorCore):
    """Adding, moving, copying and removing stores, and their metadata."""

    def add_store(
        self,
        path: str | os.PathLike[str],
        *,
        type: str | None = None,
        **options: Unpack[StoreOptions],
    ) -> Store:
        """Opens the store at a path, or creates it.

        type          "SQLite", "XML" or "Binary" (a file that is written as a whole), or "InMemory": an empty store
                      without a file, which is discarded with the coordinator. Its path is only a name, and only the
                      option `configuration` has an effect. None: the type of the existing store, or "SQLite" without
                      one
        sync          "full": a save is on disk when it returns; "normal": a power cut may undo the last saves
        journal       "wal" or "rollback"
        busy_timeout  seconds to wait for another connection's lock
        cache_kb      the size in KB of SQLite's page cache, for each connection; 0: the library's default
        max_connections  the maximum number of threads that read the store, or save, at a time; 0: the library's
                      default, 8
        history       True: each save records its changes. None: the same if the store has a history. False: saves do
                      not record changes, so a store whose history has transactions is opened read-only
        complete_history  True: the history keeps the values that each transaction replaces, so that all past values are
                      known (Coordinator.at); None: if the store already keeps such values; False: deletes them
        history_retention  a HistoryRetention, to which the history is purged when the store is opened, and when a
                      transaction has a number that is a multiple of 1,000; None: only purge_history purges it
        configuration the name of the configuration whose objects the store holds; None for the whole model. New objects
                      are saved in the first writable store for their entity; fetches use all stores for their entity
        posts_own_changes  "remote_change" is also posted for saves by contexts of this coordinator
        watch_interval     the interval, in seconds, at which a store that is watched for remote changes is checked
                           without a notification; 0: 0.5 where the file system does not report writes, 30 where it does
        pragmas       settings of SQLite for every connection, {"cache_size": -65536}; InvalidArgumentError for settings
                      that are not in docs/reference/store.md
        analyze       True: SQLite gathers statistics of the values, by which it chooses indexes
        vacuum        True: the database is rewritten without the space of deleted rows
        ignore_versioning  True: the store may have been written with another model. Properties that the store lacks are
                           null or empty; data that the model lacks is invisible and never lost. Opened for writing, it
                           becomes a store of this model
        file_mode     the permissions of a new store's file, 0o600 to 0o777; other files of a store are created with the
                      permissions of the store's file
        external_threshold  values of more bytes are stored in backing files, if the attribute allows it; None: the
                            library's default, 102400
        foreign_options  the names of options of Apple's framework that this library does not support. They have no
                         effect; Store.warnings reports them
        options       options of a custom store (register_store_type), by name: plain values
        value_limit, memory_limit, step_limit, external_limit
                      limits on the work that a file, possibly untrusted, can cause in this process: bytes of one value
                      or row, bytes and steps of the expressions in an SQLite file's schema, bytes of one backing file;
                      None: the library's default (docs/reference/store.md)
        migrate       True: migrates a store of another version of the model; None: containers and documents migrate,
                      coordinators do not
        infer_mapping infers the mapping from names and renaming identifiers; None: as `migrate`
        allow_removals      also migrates if the model only removes parts of the store's model, as an older version may
        allow_type_changes  migrates attributes whose type changed, if every value can be kept exactly
        source_models, model_paths  models, and files or folders of models, that are searched for the store's own model
                      before the model in the store is used
        migration_progress  a function(done, total) that is called with the numbers of migrated rows and of all rows; an
                      exception cancels the migration
        mapping_models      mapping models that a migration tries first, before those beside `model_paths` and before
                      inference
        stages        a list of MigrationStage, instead of mapping models: a staged migration, which needs `migrate`
        manager_will_start  a function that receives the MigrationManager of each mapping model before execution: to set
                            its user_info, functions and report, or to retain it for a cancellation. An exception makes
                            the migration fail
        backup        True: before a migration changes the store, it copies the store to the same folder, as
                      NAME.backup-20261129T101500Z (see corestone.backups and restore_store); a path: into that folder
        backups_kept  the number of newest copies that are kept after a successful migration; None: 3
        verify_migration  compares the migrated objects with the former ones before the commit; MigrationError for a
                      difference
        defer_cleanup  True: columns and tables that the new model lacks are hidden, and kept in the file until
                       finish_deferred_migration
        """
        refuse_unknown("add_store", options)
        given = store_options(**options)
        refuse_memory(path, type)
        with migrating(given):
            return self._opened(
                lib.cst_coordinator_add_store,
                self._handle,
                optional_text(type, "type"),
                path_argument(path),
                byref(given),
            )

    def remove_store(self, store: Store) -> None:
        """Closes a store, and removes its objects from every context, on the queue of each.

        Using these objects raises ObjectGoneError, and "objects_did_change" reports them as `invalidated`. Their
        unsaved changes are lost, and the log has a warning with counts by entity. New objects that were not assigned to
        the store are kept.
        """
        call(lib.cst_coordinator_remove_store, self._handle, store._handle)

    def migrate_store(
        self,
        store: Store,
        path: str | os.PathLike[str],
        *,
        type: str | None = None,
        progress: Callable[[int, int], Any] | None = None,
        **options: Unpack[StoreOptions],
    ) -> Store:
        """Saves a store at another path, and returns the new store, which replaces the old one.

        The path must be unused, or have a store without objects. All content is copied; then the old store is removed,
        and its file is kept. Every object gets a new ID, which the coordinator reports ("stores_did_change":
        `uuid_changed.migrated_ids`). Objects in contexts become objects of a removed store, so save first. The options
        are those of add_store, for the new store only. The configuration is that of the old store (InvalidArgumentError
        for another). On failure, the old store remains open.

        type          the type of the new store. None: the type of the old store, but "SQLite" for an in-memory store
        progress      progress(done, total) is called on this thread with the numbers of copied objects and of all
                      objects. It may read from the store, but not save. An exception that it raises ends the copying
                      and propagates
        """
        old = require_instance(Store, store, "store")
        given = store_options(**options)
        configuration = options.get("configuration")
        if configuration not in (None, old.configuration):
            raise InvalidArgumentError(
                f"a migration cannot change the configuration of {old.path or 'a store without a path'} from "
                f"{'none' if old.configuration is None else shown(old.configuration)} to {shown(configuration)}; omit "
                "configuration",
                key="configuration",
                value=configuration,
                file=old.path or None,
            )
        # Without a type, the library chooses SQLite.
        wanted = type if type is not None else "SQLite" if old.type == "InMemory" else old.type
        arguments = (self._handle, old._handle, text(wanted, "type"), path_argument(path), byref(given))
        with progress_callback(progress) as callback:
            return self._opened(lib.cst_coordinator_migrate_store, *arguments, callback, None)

    def destroy_store(
        self, path: str | os.PathLike[str], *, type: str | None = None, force: bool = False, busy_timeout: float = 5.0
    ) -> bool:
        """Empties a store: removes its rows, tables, metadata and backing files.

        The file is kept, and a store that is added there is empty. A store that is open is first removed from the
        coordinator. Returns False if the folder does not contain the file. `force` removes the files of a store even
        while other connections lock it; these connections continue with unlinked files.

        StoreError if the folder does not exist.
        InvalidArgumentError for "/dev/null".
        StoreBusyError while another connection writes.
        NotAStoreError for another program's file, which does not change.
        """
        flags = _abi.STORE_FORCE_DESTROY if flag(force, "force") else 0
        options = store_options(flags, busy_timeout=busy_timeout)
        arguments = (self._handle, optional_text(type, "type"), path_argument(path), byref(options))
        return bool(call(lib.cst_coordinator_destroy_store, *arguments) == _abi.OK)

    def replace_store(
        self,
        path: str | os.PathLike[str],
        source: str | os.PathLike[str],
        *,
        type: str | None = None,
        busy_timeout: float = 5.0,
        file_mode: int | None = None,
    ) -> None:
        """Replaces the store at `path` with a copy of the store at `source`. An unused path is allowed.

        The replacement is atomic, includes the backing files and keeps the identifier. A store that is open at `path`
        is first removed from the coordinator.

        StoreBusyError while another connection writes.
        NotAStoreError if the file at either path is not a store.
        In both cases the former store is kept.
        """
        options = store_options(busy_timeout=busy_timeout, file_mode=file_mode)
        paths = path_argument(path), path_argument(source)
        call(lib.cst_coordinator_replace_store, self._handle, optional_text(type, "type"), *paths, byref(options))

    def set_store_path(self, store: Store, path: str | os.PathLike[str]) -> None:
        """Moves an open store to another path; Core Data calls it setURL:forPersistentStore:.

        The next save writes an atomic store there, even the save of a context without changes. The file of an SQLite
        store must already exist there; move or copy it while no save runs (perform_and_wait). InvalidArgumentError for
        the file of another store; the store then keeps its path.
        """
        call(
            lib.cst_coordinator_set_store_path,
            self._handle,
            require_instance(Store, store, "store")._handle,
            path_argument(path),
        )

    @property
    def stores(self) -> list[Store]:
        """The open stores, in order."""
        count = lib.cst_coordinator_store_count(self._handle)
        handles = [owned(lib.cst_coordinator_store, self._handle, index) for index in range(count)]
        return [Store(handle, self._beneath) for handle in handles if handle]

    def store_at(self, path: str | os.PathLike[str]) -> Store | None:
        """Returns the open store whose file is at a path, in any spelling of the path, or None."""
        handle = owned(lib.cst_coordinator_store_at, self._handle, path_argument(path))
        return Store(handle, self._beneath) if handle else None

    def metadata(self, store: Store) -> dict[str, Any]:
        """Returns the metadata of an open store, including entries that were set but not written yet."""
        buffer = _abi.Buffer()
        call(
            lib.cst_coordinator_copy_metadata,
            self._handle,
            require_instance(Store, store, "store")._handle,
            byref(buffer),
        )
        import plistlib

        found: dict[str, Any] = plistlib.loads(_abi.take_bytes(buffer))
        return found

    def set_metadata(self, store: Store, values: Mapping[str, Any]) -> None:
        """Replaces the metadata of an open store. The next save of any context writes it, even without changes.

        `values` contains all entries, which must be property list types. The store's type, UUID and versions are kept
        if they are omitted; InvalidArgumentError if they differ.
        """
        handle = require_instance(Store, store, "store")._handle
        call(lib.cst_coordinator_set_metadata, self._handle, handle, property_list(values, store.path))

    def backup(
        self,
        store: Store,
        path: str | os.PathLike[str],
        *,
        progress: Callable[[int, int], Any] | None = None,
        busy_timeout: float = 5.0,
        file_mode: int | None = None,
    ) -> None:
        """Copies a snapshot of an open store, with its backing files. Other connections can read.

        They can also save if the store has a write-ahead log. The path must be unused, or that of an earlier copy of
        the store, which is replaced atomically.

        progress      progress(done, total) is called on this thread with the numbers of copied bytes and of all bytes.
                      It may read from the store, but not save. An exception that it raises ends the copying and
                      propagates
        file_mode     the permissions of a new file; None: the permissions of the store

        InvalidArgumentError for the path of another store, which does not change.
        """
        options = store_options(busy_timeout=busy_timeout, file_mode=file_mode)
        handle = require_instance(Store, store, "store")._handle
        with progress_callback(progress) as callback:
            call(
                lib.cst_coordinator_backup_store, self._handle, handle, path_argument(path), byref(options), callback,
                None,
            )  # fmt: skip

    def checkpoint(self, store: Store, mode: str = "passive") -> Checkpoint | None:
        """Copies the write-ahead log of an SQLite store into its file. Checkpoints also run automatically.

        The mode "passive" copies as much as possible without waiting; "full" copies everything. "restart" also waits
        until the log has no readers, and "truncate" then empties the log. Returns None for a store without a log.
        StoreBusyError if other connections block the checkpoint for too long.
        """
        pages, done = ctypes.c_uint64(), ctypes.c_uint64()
        number = CHECKPOINTS.index(choice(mode, "mode", CHECKPOINTS))
        handle = require_instance(Store, store, "store")._handle
        status = call(lib.cst_coordinator_checkpoint_store, self._handle, handle, number, byref(pages), byref(done))
        return Checkpoint(pages.value, done.value) if status == _abi.OK else None

    def optimize(self, store: Store) -> int:
        """Refreshes SQLite's statistics of the values, by which it chooses indexes, and removes orphaned backing files.

        Returns the number of removed files. A save of many objects refreshes the statistics automatically.
        """
        removed = ctypes.c_uint64()
        handle = require_instance(Store, store, "store")._handle
        call(lib.cst_coordinator_optimize_store, self._handle, handle, byref(removed))
        return removed.value
