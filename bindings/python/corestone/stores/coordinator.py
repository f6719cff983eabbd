"""Coordinators and stores, the layer between contexts and files. Most programs use a Container."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import weakref
from collections.abc import Mapping, Sequence
from ctypes import byref
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar

from .. import _abi
from .._abi import conversion, lib, optional_text, path_argument, text
from .._abi.arguments import choice, flag, handles, require_instance, shown
from .._abi.call import call, held, made, owned
from .._abi.handles import retained
from ..codes import CoordinatorNotification
from ..errors import ForkedError, InvalidArgumentError, InvalidHandleError, TypeMismatchError
from ..graph import queue
from ..graph.generation import QueryGeneration, optional_generation
from ..graph.history import (
    DeletedHistory,
    HistoryConsumer,
    HistoryCursor,
    HistoryPurge,
    HistorySize,
    HistoryToken,
    HistoryTransaction,
)
from ..graph.migration_contexts import note_model
from ..graph.notifications import Notifications
from ..graph.object_id import ObjectID
from ..graph.owners import Contexts, Policy, leave_block, policy_of
from ..graph.progress import migrating, progress_callback
from ..model.model import Classes, Model, ModelLike, declared_model
from ..predicate.predicate import Predicate
from ..predicate.sort import SortKey
from . import past
from .history_functions import (
    HistoryPart,
    Since,
    delete_transactions,
    history_options,
    purge,
    read_consumers,
    read_ids,
    read_size,
    register_consumer,
)
from .migration_upkeep import MigrationUpkeep
from .open_hosts import host_store, host_stores_opened
from .store_options import StoreOptions, store_options

if TYPE_CHECKING:
    from concurrent.futures import Future

    from typing_extensions import Unpack

    from ..graph.context import Context
    from ..graph.object import ManagedObject
    from ..graph.observation import Observation, StoreChanges
    from ..model.entity import Entity
    from .host_store import HostStore

T = TypeVar("T")


class Statistics(NamedTuple):
    """Counters of the requests of contexts to the stores of a coordinator."""

    #: Fetches that stores executed, including counts and fetches of IDs.
    fetches: int
    #: Rows and IDs that these fetches returned.
    fetched_rows: int
    #: Objects whose fault fired individually. Many such faults for one fetch indicate the N+1 problem: prefetch.
    faults: int
    #: Rows that stores returned for faults, their siblings and prefetching.
    faulted_rows: int
    #: Queries for the members of to-many relationships.
    relationship_faults: int
    #: Rows that were in the row cache when an object needed them, and rows that were not.
    cache_hits: int
    cache_misses: int
    #: Saves, counted once for each store that a save writes, and the objects that they wrote.
    saves: int
    inserted: int
    updated: int
    deleted: int
    #: The time spent in stores.
    fetch_nanoseconds: int
    save_nanoseconds: int
    #: The current memory of the rows in objects and row caches of the whole process, in bytes; not a counter.
    row_bytes: int


class Store:
    """An open store of a coordinator."""

    def __init__(self, handle: int, coordinator: Coordinator | None = None) -> None:
        self._handle = handle
        self._coordinator = None if coordinator is None else weakref.ref(coordinator)

    @property
    def host(self) -> HostStore | None:
        """The instance of the class that is registered for the store's type.

        None for a closed store, and for stores that are not written in Python.
        """
        coordinator = self._coordinator() if self._coordinator is not None else None
        return host_store(coordinator, self.identifier, self.path)

    def new_object_id(self, entity: Entity, reference: int | str | bytes) -> ObjectID:
        """Returns the ID of the row that an entity and a reference identify, whether or not the row exists."""
        cell = conversion.Encoded([reference], "reference")
        return ObjectID._owned(held(lib.cst_store_new_object_id, self._handle, entity._handle, cell.address))

    @property
    def identifier(self) -> str:
        """The store's UUID, the host of its objects' URIs."""
        return _abi.decode(lib.cst_store_identifier(self._handle)) or ""

    @property
    def type(self) -> str:
        """The type: "SQLite", "XML", "Binary", "InMemory", or one that the application registered."""
        return _abi.decode(lib.cst_store_type(self._handle)) or ""

    @property
    def path(self) -> str:
        """The path with which the store was added."""
        return _abi.decode(lib.cst_store_path(self._handle)) or ""

    @property
    def configuration(self) -> str | None:
        """The configuration for which the store was added; None for the whole model."""
        return _abi.decode(lib.cst_store_configuration(self._handle))

    @property
    def is_read_only(self) -> bool:
        """Whether saving to the store fails."""
        out = ctypes.c_bool()
        call(lib.cst_store_is_read_only, self._handle, byref(out))
        return out.value

    @property
    def read_only_reason(self) -> str | None:
        """The reason why saving fails and the remedy, as the end of a sentence; None for a writable store."""
        return _abi.decode(lib.cst_store_read_only_reason(self._handle))

    @property
    def options(self) -> dict[str, Any]:
        """The options with which the store was opened, by the names of Coordinator.add_store.

        Only options whose value is not the default are included, and none of those of a migration.
        """
        buffer = _abi.Buffer()
        call(lib.cst_store_copy_options, self._handle, byref(buffer))
        import json

        found: dict[str, Any] = json.loads(_abi.take_text(buffer))
        return found

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata, including entries that were set but not written yet; see Coordinator.set_metadata.

        InvalidHandleError if the coordinator of the store no longer exists, or did not return this Store.
        """
        coordinator = self._coordinator() if self._coordinator is not None else None
        if coordinator is None:
            raise InvalidHandleError(
                f"the metadata of {self.path} cannot be read without its coordinator; use a Store in stores of the "
                "coordinator",
                file=self.path or None,
            )
        return coordinator.metadata(self)

    @property
    def warnings(self) -> list[str]:
        """The options passed to add_store that have no effect, each with the reason."""
        count = lib.cst_store_warning_count(self._handle)
        return [_abi.decode(lib.cst_store_warning(self._handle, each)) or "" for each in range(count)]

    @property
    def model_source(self) -> str:
        """The source of the store's model: "given", "cached" (in the store) or "inferred" (from the tables)."""
        out = ctypes.c_uint32()
        call(lib.cst_store_model_source, self._handle, byref(out))
        return {_abi.MODEL_GIVEN: "given", _abi.MODEL_CACHED: "cached", _abi.MODEL_INFERRED: "inferred"}[out.value]

    def __repr__(self) -> str:
        return f"<Store {self.path}>"


def metadata(path: str | os.PathLike[str], type: str | None = None) -> dict[str, Any]:
    """Returns the metadata of the store at a path. Does not need a model or change the store.

    The metadata consists of the version of the framework that wrote the store, the version hashes of its entities, the
    application's entries, and NSStoreUUID. `type` is required for a custom store, whose type cannot be recognised by
    its path.
    """
    buffer = _abi.Buffer()
    if type is None:
        call(lib.cst_store_copy_metadata, path_argument(path), byref(buffer))
    elif (
        call(lib.cst_store_type_copy_metadata, text(type, "type"), path_argument(path), byref(buffer)) == _abi.NOT_FOUND
    ):
        raise InvalidArgumentError(
            f'the store {os.fsdecode(path)} of type "{type}" does not exist; check the path',
            key="path",
            value=os.fsdecode(path),
            file=os.fsdecode(path),
        )
    import plistlib

    found: dict[str, Any] = plistlib.loads(_abi.take_bytes(buffer))
    return found


class AppleFinding(NamedTuple):
    """A finding of an AppleCheck: the entity and the property concerned, if any, and a description."""

    entity: str | None
    property: str | None
    text: str


class AppleCheck(NamedTuple):
    """The result of checking whether Apple's framework would accept a store.

    Problems make Apple's framework reject the store, or fail later. Extrapolations are features that no known file from
    Apple's framework confirms.
    """

    accepted: bool
    problems: list[AppleFinding]
    extrapolations: list[AppleFinding]


def given_model(model: ModelLike | None, for_store: str | os.PathLike[str] | None = None) -> Model | None:
    """Freezes and returns a model, or the model at a path; from a bundle, the version of the store at `for_store`."""
    if model is None:
        return None
    if isinstance(model, (type, tuple, list)):
        given = declared_model(model)
    elif isinstance(model, Model):
        given = model
    else:
        given = Model.load(os.fsdecode(model), for_store=for_store)  # type: ignore[arg-type]
    given.freeze()
    return given


def check_apple(path: str | os.PathLike[str], model: ModelLike | None = None) -> AppleCheck:
    """Returns a report on whether Apple's framework would accept a store with a model, as far as the file shows.

    `model` is a model or its path; of a bundle, the current version is read, as in an application. None: the model in
    the store. The check does not change the store.
    """
    model = given_model(model)
    accepted, buffer = ctypes.c_bool(), _abi.Buffer()
    handle = model._handle if model is not None else None
    call(lib.cst_store_check_apple, path_argument(path), handle, byref(accepted), byref(buffer))
    report = json.loads(_abi.take_text(buffer))
    return AppleCheck(
        accepted.value,
        [AppleFinding(**finding) for finding in report["problems"]],
        [AppleFinding(**finding) for finding in report["extrapolations"]],
    )


def _property_list(values: Mapping[str, Any], file: str) -> _abi.InputString:
    owner = file or "a store without a path"
    if not isinstance(values, Mapping):
        raise TypeMismatchError(
            f"the metadata of {owner} must be a dictionary, not {shown(values)}",
            key="values",
            value=values,
            file=file or None,
        )
    import plistlib

    try:
        encoded = plistlib.dumps(dict(values), fmt=plistlib.FMT_BINARY)
    except (TypeError, OverflowError, ValueError) as failure:
        # For a value of another type or a large integer, the exception has only the value.
        wrong = failure.args[0] if failure.args else None
        reason = str(failure) if isinstance(wrong, str) else f"{shown(wrong)} is not supported"
        raise TypeMismatchError(
            f"cannot write the metadata of {owner} as a property list: {reason}. Use bool, int (64 bits), float, str, "
            "bytes, datetime (without a time zone), or lists and dictionaries (with strings as keys) of these",
            key="values",
            value=values,
            file=file or None,
        ) from failure
    return _abi.InputString(encoded, len(encoded))


def set_metadata(path: str | os.PathLike[str], values: Mapping[str, Any], type: str | None = None) -> None:
    """Replaces the metadata of the store at a path immediately, without a model.

    `values` are as for Coordinator.set_metadata. `type` is required for a custom store.
    """
    if type is None:
        call(lib.cst_store_set_metadata, path_argument(path), _property_list(values, os.fsdecode(path)))
    else:
        call(
            lib.cst_store_type_set_metadata,
            text(type, "type"),
            path_argument(path),
            _property_list(values, os.fsdecode(path)),
        )


CHECKPOINTS = ("passive", "full", "restart", "truncate")


class Checkpoint(NamedTuple):
    """The number of pages in a write-ahead log, and the number of these that are now in the store's file."""

    pages: int
    checkpointed: int

    @property
    def is_complete(self) -> bool:
        """Whether all pages are in the file."""
        return self.pages == self.checkpointed


class Coordinator(MigrationUpkeep, Contexts):
    """The stores of a model, and contexts for their objects. Any thread may use a coordinator.

        with Coordinator(model) as coordinator:
            coordinator.add_store("notes.sqlite", configuration="Notes")
            coordinator.add_store("log.xml", type="XML", configuration="Log")
            ctx = coordinator.context()

    Contexts retain their coordinator. A coordinator is closed by `close`, at the end of a `with` block, and when the
    last reference to it is released.

    unsaved  the policy of `close` and the `with` block for unsaved changes, also of the contexts that the coordinator
             creates: "refuse", with an UnsavedChangesError that counts them by entity, "save" or "discard"
    """

    _another_owner = "coordinator; create another coordinator or container, or open the document again"

    def __init__(self, model: Model | Classes, *, unsaved: Policy = "refuse") -> None:
        policy = policy_of(unsaved)
        given: Any = declared_model(model) if isinstance(model, (type, tuple, list)) else model
        given.freeze()
        self._adopt(owned(lib.cst_coordinator_new, given._handle), given)
        self._unsaved = policy

    def _adopt(self, handle: int, model: Model | None) -> None:
        self._handle = handle
        self._is_closed = False
        self._unsaved = "refuse"
        self._contexts: weakref.WeakSet[Context] = weakref.WeakSet()
        if model is None:
            model = Model._of(retained(made(lib.cst_coordinator_model, handle)))
        note_model(model)
        self.model = model

    @classmethod
    def _owned(cls, handle: int, model: Model | None) -> Coordinator:
        """Returns the coordinator of an owned handle. If `model` is None, the model is that of the handle."""
        coordinator = cls.__new__(cls)
        coordinator._adopt(handle, model)
        return coordinator

    @property
    def _beneath(self) -> Coordinator:
        return self

    def _require_open(self) -> None:
        if self._is_closed:
            raise InvalidHandleError(
                "the coordinator is closed; create another one with Coordinator(...) or Container(...), or call "
                "Document.open(...) again"
            )

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
        given = store_options(**options)
        with migrating(given):
            return self._opened(
                lib.cst_coordinator_add_store,
                self._handle,
                optional_text(type, "type"),
                path_argument(path),
                byref(given),
            )

    def _opened(self, function: Any, *arguments: Any) -> Store:
        """Returns the store that a call opens."""
        self._require_open()
        with host_stores_opened(self):
            return Store(owned(function, *arguments), self)

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

    def perform(self, function: Callable[..., T], *arguments: Any, **named: Any) -> Future[T]:
        """Runs a function later, on the serial queue of the coordinator, and returns a future.

        While the function runs, no other code can save to the coordinator's stores, but reads continue.
        """
        return queue.perform_alone(self._handle, lambda: function(*arguments, **named))

    def perform_and_wait(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Runs a function on the calling thread, after running saves, and returns its result; otherwise like `perform`.

            coordinator.perform_and_wait(shutil.copytree, folder, copy)

        The function must not wait for a context's queue (InvalidArgumentError), whose holder may wait for this call.
        """
        found: T = queue.perform_alone_and_wait(self._handle, lambda: function(*arguments, **named))
        return found

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
    def name(self) -> str | None:
        """The name of the coordinator, for the application; the threads of `perform` have this name too. Or None."""
        buffer = _abi.Buffer()
        status = call(lib.cst_coordinator_copy_name, self._handle, byref(buffer))
        name = _abi.take_text(buffer)
        return None if status == _abi.NOT_FOUND else name

    @name.setter
    def name(self, name: str | None) -> None:
        call(lib.cst_coordinator_set_name, self._handle, _abi.optional_text(name, "name"))

    @property
    def stores(self) -> list[Store]:
        """The open stores, in order."""
        count = lib.cst_coordinator_store_count(self._handle)
        handles = [owned(lib.cst_coordinator_store, self._handle, index) for index in range(count)]
        return [Store(handle, self) for handle in handles if handle]

    def store_at(self, path: str | os.PathLike[str]) -> Store | None:
        """Returns the open store whose file is at a path, in any spelling of the path, or None."""
        handle = owned(lib.cst_coordinator_store_at, self._handle, path_argument(path))
        return Store(handle, self) if handle else None

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
        call(lib.cst_coordinator_set_metadata, self._handle, handle, _property_list(values, store.path))

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

    def observe(
        self, notification: CoordinatorNotification | str, function: Callable[[Coordinator, StoreChanges], Any]
    ) -> Observation:
        """Calls function(coordinator, changes) whenever the coordinator posts the notification.

        The notification is "stores_did_change", "will_remove_store" or "remote_change". The function is called on the
        thread that causes the notification, as long as the returned token is referenced. It may use the coordinator
        without restriction.
        """
        from ..graph.observation import observe_coordinator

        return observe_coordinator(self, notification, function)

    def query_generation(self) -> QueryGeneration | None:
        """Returns a generation of the current state of the stores; None if no store supports generations.

        UnsupportedError for a store with a rollback journal.
        """
        return optional_generation(owned(lib.cst_coordinator_query_generation, self._handle))

    def notifications(
        self, notification: CoordinatorNotification | str, *, newest: int | None = None
    ) -> Notifications[StoreChanges]:
        """Returns an async iterator over the later notifications of one kind, like Context.notifications.

        async for changes in coordinator.notifications("stores_did_change"):
            ...
        """
        return Notifications(self, newest, lambda tell: self.observe(notification, tell), lambda changes: changes)

    # ---- history

    def history(
        self,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        subject: str = "transactions",
        since: Since = None,
        excluding_author: str | None = None,
        stores: Sequence[Store] = (),
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        batch_size: int = 0,
        changes: bool = True,
    ) -> HistoryCursor:
        """Returns a cursor over the transactions of the stores that have a history (`history` of add_store).

            for transaction in coordinator.history("author == %@", "import", since=token):
                for change in transaction.changes:
                    ...

        predicate   a Predicate, or a predicate format, followed by its arguments; an argument can be a HistoryToken:
                    "token >= %@"
        subject     "transactions" or "changes": the subject of the predicate, the sort keys and the limit. Transactions
                    have the keys author, bundleID, contextName, processID, storeID, timestamp, token and
                    transactionNumber; changes have these, and changeID, changeType (HistoryChangeKind), changedEntity
                    (the name; without subentities), changedObjectID, updatedProperties and transaction. With "changes",
                    a transaction has only the changes that satisfy the predicate; without such changes it is left out
        since       the position after which to begin: a HistoryToken or a datetime; None: the first transaction. Of a
                    store that the token does not contain, all transactions are returned
        excluding_author  excludes the transactions of this author, but not those without an author
        stores      the stores to read; empty: all
        sort        key paths as for Context.fetch. Without them, transactions are in commit order, those of several
                    stores by time. With them, all transactions are read before the first is returned, and each sorted
                    change has its own transaction
        limit       the maximum number of transactions or changes (None and 0: all)
        batch_size  the number of transactions that are read at a time (0: the library's default)
        changes     False: transactions without changes, which are faster to read

        HistoryTokenExpiredError if transactions after the token were deleted, or the file was replaced by an older one.
        HistoryTokenStoreError if the token does not contain any of the stores.
        PredicateError for a key that the subject does not have.
        """
        self._require_open()
        options = history_options(
            predicate, arguments, handles(stores, Store, "stores"), subject, since, excluding_author, sort, limit,
            batch_size, changes,
        )  # fmt: skip
        return HistoryCursor(
            self, owned(lib.cst_coordinator_fetch_history, self._handle, byref(options)), not options.omits_changes
        )

    def history_count(
        self, predicate: str | Predicate | None = None, *arguments: Any, **part: Unpack[HistoryPart]
    ) -> int:
        """Returns the number of transactions in a part of the history, or of changes if they are the subject.

        coordinator.history_count("changeType == %d", HistoryChangeKind.DELETE, subject="changes", since=token)
        """
        out = ctypes.c_uint64()
        options = self._history_part("history_count", predicate, arguments, part)
        call(lib.cst_coordinator_count_history, self._handle, byref(options), byref(out))
        return out.value

    def history_ids(
        self, predicate: str | Predicate | None = None, *arguments: Any, **part: Unpack[HistoryPart]
    ) -> list[ObjectID]:
        """Returns the IDs of all objects that a part of the history changed, each once. They may no longer exist."""
        return read_ids(self, self._history_part("history_ids", predicate, arguments, part))

    def _history_part(
        self, method: str, predicate: str | Predicate | None, arguments: tuple[Any, ...], part: HistoryPart
    ) -> _abi.HistoryOptions:
        self._require_open()
        unknown = set(part) - HistoryPart.__annotations__.keys()
        if unknown:
            *former, last = HistoryPart.__annotations__
            known = f"{', '.join(former)} or {last}"
            raise TypeError(f'"{min(unknown)}" is not a keyword argument of {method}; use {known}')
        given: dict[str, Any] = {**part}
        return history_options(predicate, arguments, handles(given.pop("stores", ()), Store, "stores"), **given)

    def history_token(self, *stores: Store) -> HistoryToken | None:
        """Returns the token of the current position, after the last transaction of each store.

        Without arguments, the token contains all stores that have a history. None if no store has a history.
        """
        self._require_open()
        handle = owned(lib.cst_coordinator_copy_history_token, self._handle, *handles(stores, Store, "stores"))
        return HistoryToken._owned(handle) if handle else None

    def at(self, place: HistoryToken | HistoryTransaction | datetime, stores: Sequence[Store] = ()) -> Coordinator:
        """Opens a past state of stores (empty: all), read-only: at a token, after a transaction, or at a date.

            with coordinator.at(token) as past:
                names = [note.title for note in past.context().fetch("Note")]

        The returned coordinator has the same model, and its objects have the same URIs. Each store is copied into
        TMPDIR, where the later changes are undone. The time this takes grows with the size of the stores and the number
        of later changes. Later saves do not change the past. With a complete history (`complete_history` of add_store)
        every value is known. Without it, a value that a later transaction replaced is unknown: it reads as None,
        including in predicates, and ManagedObject.is_known returns False.

        InvalidArgumentError for a store without history.
        HistoryTokenStoreError for a store that the token does not contain.
        HistoryTokenExpiredError if later transactions were deleted, for a date before the first remaining transaction,
        and if the store was migrated since.
        """
        self._require_open()
        return Coordinator._owned(past.open_past(self, place, handles(stores, Store, "stores")), self.model)

    @property
    def past_token(self) -> HistoryToken | None:
        """The position at which a coordinator of the past was opened (`at`); None for other coordinators."""
        handle = owned(lib.cst_coordinator_copy_past_token, self._handle)
        return HistoryToken._owned(handle) if handle else None

    @property
    def is_past_complete(self) -> bool:
        """Whether all values of a coordinator of the past are known; True for other coordinators."""
        out = ctypes.c_bool()
        call(lib.cst_coordinator_is_past_complete, self._handle, byref(out))
        return out.value

    def history_of(self, subject: ManagedObject | ObjectID) -> list[past.Revision]:
        """Returns the revisions of an object, oldest first: time, author and changed properties of each change.

            for revision in coordinator.history_of(note):
                print(revision.timestamp, revision.author, revision.values)

        The object may have been deleted. A complete history has the values of attributes and to-one relationships
        before and after each change. Otherwise only values that no later change replaced are known. To-many
        relationships and derived attributes are listed without values.

        InvalidArgumentError for a store without history.
        """
        return past.object_revisions(self, subject)

    def history_diff(
        self, start: HistoryToken, end: HistoryToken | None = None, stores: Sequence[Store] = ()
    ) -> list[past.Revision]:
        """Returns the differences between two positions, by object. If `end` is None, it is the current position.

        To-many relationships are included; objects that were inserted and deleted in between are not. Objects that
        differ only in derived values or members are listed last, as far as old values were recorded. Both states are
        opened as by `at`, with its errors. InvalidArgumentError if `end` is before `start`.
        """
        return past.differences(self, start, end, handles(stores, Store, "stores"))

    def delete_history(
        self,
        before: HistoryToken | HistoryTransaction | datetime,
        stores: Sequence[Store] = (),
        *,
        progress: Callable[[int, int], Any] | None = None,
    ) -> DeletedHistory:
        """Deletes the transactions before a position and their changes, and returns the numbers of both.

            coordinator.delete_history(datetime.now(timezone.utc) - timedelta(days=30))

        Objects do not change. Reading with an older token then raises HistoryTokenExpiredError, and the reader must
        fetch its objects again. So keep the transactions that the slowest reader has not read.

        before    a token or a transaction, whose own transaction is kept; or a datetime: the transactions before the
                  first one of that time or later
        stores    with a datetime, the stores; empty: all. A token names its stores
        progress  progress(transactions, changes) is called with the numbers deleted so far, after each step; other
                  contexts can save between two steps. An exception that it raises cancels the deletion and propagates;
                  deleted transactions are not restored

        StoreReadOnlyError for a read-only store.
        HistoryTokenStoreError for a token of other stores.
        """
        self._require_open()
        return delete_transactions(self, before, handles(stores, Store, "stores"), progress)

    def register_history_consumer(
        self, name: str, store: Store, *, at: HistoryToken | None = None, lease: timedelta | None = None
    ) -> None:
        """Registers a consumer of a store's history by name: purges keep the transactions that it has not read.

        A new consumer begins at `at` (None: after the last transaction); a registered one keeps its position. A
        consumer limits purges until its lease (None: 30 days) expires, counted from its last registration or move.
        InvalidArgumentError for a store without history. HistoryTokenStoreError for a token of another store.
        StoreReadOnlyError for a read-only store.
        """
        self._require_open()
        register_consumer(self, require_instance(Store, store, "store"), name, at, lease)

    def move_history_consumer(self, name: str, store: Store, to: HistoryToken) -> None:
        """Moves a consumer to the position up to which it has read, and renews its lease.

        An earlier position does not move the consumer. InvalidArgumentError for a consumer that is not registered.
        """
        self._require_open()
        if not isinstance(to, HistoryToken):
            raise TypeMismatchError(f"to must be a HistoryToken, not {shown(to)}", key="to", value=to)
        store = require_instance(Store, store, "store")
        call(lib.cst_coordinator_move_history_consumer, self._handle, store._handle, text(name, "name"), to._handle)

    def unregister_history_consumer(self, name: str, store: Store) -> bool:
        """Deregisters a consumer. Returns False if it was not registered."""
        self._require_open()
        store = require_instance(Store, store, "store")
        found = call(lib.cst_coordinator_unregister_history_consumer, self._handle, store._handle, text(name, "name"))
        return bool(found == _abi.OK)

    def history_consumers(self, store: Store) -> list[HistoryConsumer]:
        """Returns the consumers of a store's history, by name, including those whose lease has expired."""
        self._require_open()
        return read_consumers(self, require_instance(Store, store, "store"))

    def purge_history(
        self,
        store: Store,
        *,
        older_than: timedelta | None = None,
        keep: int | None = None,
        max_bytes: int | None = None,
        progress: Callable[[int, int], Any] | None = None,
    ) -> HistoryPurge:
        """Deletes the transactions that exceed a limit and that every active consumer has read.

            coordinator.purge_history(store, older_than=timedelta(days=30), keep=10_000)

        Without limits, deletes the transactions that every active consumer has read, and nothing if there is no
        consumer. A store that CloudKit mirrors keeps the transactions of at least seven days, and those that were not
        exported.

        older_than  delete transactions older than this
        keep        the number of newest transactions to keep
        max_bytes   the size of the newest transactions to keep, in bytes, estimated by the average size of a change
        progress    progress(transactions, changes) is called with the numbers deleted so far, after each step; other
                    contexts can save between two steps. An exception that it raises cancels the purge and propagates
        """
        self._require_open()
        return purge(self, require_instance(Store, store, "store"), older_than, keep, max_bytes, progress)

    def history_size(self, store: Store) -> HistorySize:
        """Returns the size of a store's history. Reads all pages of the history tables."""
        self._require_open()
        return read_size(self, require_instance(Store, store, "store"))

    # ---- statistics

    @property
    def statistics(self) -> Statistics:
        """The counters of requests to the stores since the coordinator was created, or since reset_statistics."""
        counted = _abi.Statistics(ctypes.sizeof(_abi.Statistics))
        call(lib.cst_coordinator_statistics, self._handle, byref(counted))
        return Statistics(*(getattr(counted, name) for name in _abi.STATISTICS))

    def reset_statistics(self) -> None:
        """Sets the counters to 0."""
        call(lib.cst_coordinator_reset_statistics, self._handle)

    def object_id(self, uri: str) -> ObjectID | None:
        """Returns the object ID for a URI, or None if it is not the URI of an object in an open store."""
        hold = held(lib.cst_coordinator_object_id, self._handle, text(uri, "uri"))
        return ObjectID._owned(hold) if hold else None

    @property
    def is_closed(self) -> bool:
        """Whether the coordinator was closed."""
        return self._is_closed

    def _end(self) -> None:
        """Closes the contexts that the coordinator created, and makes the coordinator reject new ones."""
        self._is_closed = True
        self._close_contexts()

    def close(self, unsaved: Policy | None = None) -> None:
        """Closes the contexts that the coordinator created, and removes its stores. A second call has no effect.

        The coordinator of a container or document is closed with its owner: close the owner instead.

        unsaved  the policy for unsaved changes: "refuse" (UnsavedChangesError counts them by context and entity, and
                 nothing is closed), "save" or "discard". None: the policy of the coordinator.
        """
        if self._is_closed:
            return
        policy = policy_of(unsaved, self._unsaved)
        if policy != "discard":
            with contextlib.suppress(ForkedError):  # in a forked child, every call fails
                call(lib.cst_coordinator_close, self._handle, _abi.UNSAVED.index(policy))
        self._end()
        with contextlib.suppress(ForkedError):
            call(lib.cst_coordinator_close, self._handle, _abi.UNSAVED.index("discard"))

    def __enter__(self) -> Coordinator:
        self._require_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the coordinator.

        With unsaved changes, the coordinator stays open and raises UnsavedChangesError, unless its policy is another
        one. If the block raised an exception other than UnsavedChangesError, unsaved changes are rolled back.
        """
        leave_block(self, raised)

    def __repr__(self) -> str:
        return f"<Coordinator of {self._title}{' (closed)' * self._is_closed}>"
