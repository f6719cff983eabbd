"""Coordinators and stores: what stands between contexts and files. Most programs use a Container."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import plistlib
import weakref
from collections.abc import Mapping
from concurrent.futures import Future
from ctypes import byref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, TypeVar

from . import _abi, _host, queue
from ._abi import lib, optional_text, path_argument, text
from ._arguments import choice, flag, one_of, shown
from ._call import call, held, made, owned
from ._contexts import Contexts, Policy, leave_block, policy_of
from ._handles import retained
from ._notifications import Notifications
from ._open_hosts import host_store, host_stores_opened
from ._progress import migrating, told
from ._store_options import StoreOptions, store_options
from .codes import CoordinatorNotification
from .errors import ForkedError, InvalidArgumentError, InvalidHandleError, TypeMismatchError
from .generation import QueryGeneration, optional_generation
from .model import Model, ModelLike
from .object_id import ObjectID

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .context import Context
    from .entity import Entity
    from .host_store import HostStore
    from .observation import Observation, StoreChanges

T = TypeVar("T")


class Statistics(NamedTuple):
    """What contexts have asked of the stores of a coordinator."""

    #: Requests that stores answered, counts and fetches of IDs among them.
    fetches: int
    #: Rows and IDs that they gave.
    fetched_rows: int
    #: Objects whose row was needed one by one. Many of them for one fetch are the N+1 problem: prefetch.
    faults: int
    #: Rows that stores gave to faults, their siblings and prefetching.
    faulted_rows: int
    #: Queries for the members of to-many relationships.
    relationship_faults: int
    #: Rows that the row cache had when an object needed them, and those that it had not.
    cache_hits: int
    cache_misses: int
    #: Saves, once for each store that a save writes, and the objects that they wrote.
    saves: int
    inserted: int
    updated: int
    deleted: int
    #: Time in stores.
    fetch_nanoseconds: int
    save_nanoseconds: int
    #: Memory of the rows that objects and row caches of the whole process hold now, in bytes; no count.
    row_bytes: int


class Store:
    """An open store of a coordinator."""

    def __init__(self, handle: int, coordinator: Coordinator | None = None) -> None:
        self._handle = handle
        self._coordinator = None if coordinator is None else weakref.ref(coordinator)

    @property
    def host(self) -> HostStore | None:
        """What the class that was registered for its type made for it; None for stores that are not written in Python,
        and for one that is closed."""
        coordinator = self._coordinator() if self._coordinator is not None else None
        return host_store(coordinator, self.identifier, self.path)

    def new_object_id(self, entity: Entity, reference: int | str | bytes) -> ObjectID:
        """The ID of an entity's row of that reference, whether there is such a row or not."""
        cell = _host.Encoded([reference])
        return ObjectID._owned(held(lib.cst_store_new_object_id, self._handle, entity._handle, cell.address))

    @property
    def identifier(self) -> str:
        """The store's UUID, the host of its objects' URIs."""
        return _abi.decode(lib.cst_store_identifier(self._handle)) or ""

    @property
    def type(self) -> str:
        """ "SQLite", "XML", "Binary", "InMemory", or what the host registered."""
        return _abi.decode(lib.cst_store_type(self._handle)) or ""

    @property
    def path(self) -> str:
        """The store's file."""
        return _abi.decode(lib.cst_store_path(self._handle)) or ""

    @property
    def configuration(self) -> str | None:
        """The configuration that the store was added for; None for one of the whole model."""
        return _abi.decode(lib.cst_store_configuration(self._handle))

    @property
    def is_read_only(self) -> bool:
        """Whether saving into it fails."""
        out = ctypes.c_bool()
        call(lib.cst_store_is_read_only, self._handle, byref(out))
        return out.value

    @property
    def read_only_reason(self) -> str | None:
        """Why it is read-only and what to do about it, as the end of a sentence; None when it can be written."""
        return _abi.decode(lib.cst_store_read_only_reason(self._handle))

    @property
    def warnings(self) -> list[str]:
        """What was asked for when the store was added and is not done, each with its reason."""
        count = lib.cst_store_warning_count(self._handle)
        return [_abi.decode(lib.cst_store_warning(self._handle, each)) or "" for each in range(count)]

    @property
    def model_source(self) -> str:
        """Where its model comes from: "given", "cached" (the store carries it) or "inferred" (from its tables)."""
        out = ctypes.c_uint32()
        call(lib.cst_store_model_source, self._handle, byref(out))
        return {_abi.MODEL_GIVEN: "given", _abi.MODEL_CACHED: "cached", _abi.MODEL_INFERRED: "inferred"}[out.value]

    def __repr__(self) -> str:
        return f"<Store {self.path}>"


def metadata(path: str | os.PathLike[str], type: str | None = None) -> dict[str, Any]:
    """What the store at a path says about itself: the version of the framework that wrote it, the version hashes of its
    entities, what the application added, and NSStoreUUID. Needs no model and changes nothing. `type` is that of a store
    of a program's own kind, which nothing at the path tells."""
    buffer = _abi.Buffer()
    if type is None:
        call(lib.cst_store_copy_metadata, path_argument(path), byref(buffer))
    elif call(lib.cst_store_type_copy_metadata, text(type), path_argument(path), byref(buffer)) == _abi.NOT_FOUND:
        raise InvalidArgumentError(f"the {type} store {os.fspath(path)} does not exist; check the path", file=str(path))
    found: dict[str, Any] = plistlib.loads(_abi.take_bytes(buffer))
    return found


class AppleFinding(NamedTuple):
    """One thing that AppleCheck found: the entity and the property concerned, if any, and what it is."""

    entity: str | None
    property: str | None
    text: str


class AppleCheck(NamedTuple):
    """Whether Apple's framework would accept a store: problems are what it would refuse or trip over later,
    extrapolations what no file of Apple's that is known confirms."""

    accepted: bool
    problems: list[AppleFinding]
    extrapolations: list[AppleFinding]


def given_model(model: ModelLike | None, for_store: str | os.PathLike[str] | None = None) -> Model | None:
    """The frozen model that a caller gave, or gave the path of; of a bundle the version that wrote a store."""
    if model is None:
        return None
    given = model if isinstance(model, Model) else Model.load(os.fsdecode(model), for_store=for_store)
    given.freeze()
    return given


def check_apple(path: str | os.PathLike[str], model: ModelLike | None = None) -> AppleCheck:
    """Whether Apple's framework would accept the store at a path with a model (by default the one that it carries), as
    far as the file tells. The model may be the path of one; of a bundle it is the current version, as an application
    would have it. Changes nothing."""
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


def _property_list(values: Mapping[str, Any]) -> _abi.InputString:
    if not isinstance(values, Mapping):
        raise TypeMismatchError(f"values must be a dictionary, not {shown(values)}", key="values")
    try:
        encoded = plistlib.dumps(dict(values), fmt=plistlib.FMT_BINARY)
    except (TypeError, OverflowError, ValueError) as failure:
        raise TypeMismatchError(f"cannot write the metadata as a property list: {failure}", key="values") from failure
    return _abi.InputString(encoded, len(encoded))


def set_metadata(path: str | os.PathLike[str], values: Mapping[str, Any], type: str | None = None) -> None:
    """Has the store at a path say something else about itself, at once, as Coordinator.set_metadata does for an open
    store. Needs no model. `type` is that of a store of a program's own kind."""
    if type is None:
        call(lib.cst_store_set_metadata, path_argument(path), _property_list(values))
    else:
        call(lib.cst_store_type_set_metadata, text(type), path_argument(path), _property_list(values))


CHECKPOINTS = ("passive", "full", "restart", "truncate")


class Checkpoint(NamedTuple):
    """What a checkpoint found in a write-ahead log, in pages, and how many of them are in the store's file."""

    pages: int
    checkpointed: int

    @property
    def is_complete(self) -> bool:
        """Whether all are."""
        return self.pages == self.checkpointed


class Coordinator(Contexts):
    """Keeps the stores of a model, and makes contexts on top of them. Any thread may use it.

        with Coordinator(model) as coordinator:
            coordinator.add_store("notes.sqlite", configuration="Notes")
            coordinator.add_store("log.xml", type="XML", configuration="Log")
            ctx = coordinator.context()

    Contexts keep it, and it ends with the last one who does; `close`, or the end of a `with` block, ends it at once.

    unsaved  what these do about changes that were not saved, and those of the contexts that it makes: "refuse", with an
             UnsavedChangesError that counts them by entity, "save" or "discard"
    """

    def __init__(self, model: Model, *, unsaved: Policy = "refuse") -> None:
        policy = policy_of(unsaved)
        model.freeze()
        self._adopt(owned(lib.cst_coordinator_new, model._handle), model)
        self._unsaved = policy

    def _adopt(self, handle: int, model: Model | None) -> None:
        self._handle = handle
        self._is_closed = False
        self._unsaved = "refuse"
        self._contexts: weakref.WeakSet[Context] = weakref.WeakSet()
        if model is None:
            model = Model._of(retained(made(lib.cst_coordinator_model, handle)))
        self.model = model

    @classmethod
    def _owned(cls, handle: int, model: Model | None) -> Coordinator:
        """The coordinator of an owned handle; without a model it is of its own."""
        coordinator = cls.__new__(cls)
        coordinator._adopt(handle, model)
        return coordinator

    @property
    def _beneath(self) -> Coordinator:
        return self

    def _require_open(self) -> None:
        if self._is_closed:
            raise InvalidHandleError("the coordinator is closed; create another one")

    def add_store(
        self,
        path: str | os.PathLike[str],
        *,
        type: str | None = None,
        **options: Unpack[StoreOptions],
    ) -> Store:
        """Opens the store at a path, or makes it.

        type          "SQLite", "XML" or "Binary" (a file that is written as a whole), or "InMemory": an empty store
                      without a file, which ends with the coordinator; the path is what it is called, and of the options
                      only `configuration` means something for it. None: that of the store which is there, and "SQLite"
                      where none is
        sync          "full": a save is on disk when it returns; "normal": a power cut may undo the last saves
        journal       "wal" or "rollback"
        busy_timeout  seconds to wait for another process's lock
        cache_kb      SQLite's page cache, of each connection; 0 is the library's default
        max_connections  how many threads may read the store at a time, or save; 0 is the library's default, 8
        history       each save writes down what it changed; a store that has a history keeps it in any case
        configuration the configuration of the model whose objects the store is for; None for those of the whole model.
                      New objects go to the first store that is for them and can be written, fetches ask those that can
                      have them
        posts_own_changes  "remote_change" is posted for what contexts of this coordinator save, too
        watch_interval     how often, in seconds, a store that is watched for what others write is looked at without
                           being told to; 0: every 0.5 where the file system does not tell of writes, 30 where it does
        pragmas       settings of SQLite for every connection, {"cache_size": -65536}; InvalidArgumentError, with a
                      list, for others than docs/reference/store.md has
        analyze       SQLite looks how values are spread, to choose its indexes by that
        vacuum        the database is written anew, without the room that deleted rows have left
        ignore_versioning  the store need not have been written with this model: what it lacks is null or empty, what
                           the model lacks is not seen, and never lost. Opened for writing, it becomes one of this model
        file_mode     the permissions of a new store's file, 0o600 to 0o777; what lies beside a store has those of its
                      file
        external_threshold  values of more bytes lie in files of their own, where the attribute allows it; None is the
                            library's default, 102400
        foreign_options  the names of options of Apple's framework for what does not exist here, which do nothing;
                         Store.warnings says so
        options       what a store of a program's own kind (register_store_type) is to know, by name: plain values
        value_limit, memory_limit, step_limit, external_limit
                      how much a file may have this process do, whoever wrote it: bytes of one value or row, bytes and
                      steps of the expressions in an SQLite file's schema, bytes of one file with a large value; None is
                      the library's default (docs/reference/store.md)
        migrate       migrates a store of another version of the model; None: containers and documents do, coordinators
                      do not
        infer_mapping infers the mapping from names and renaming identifiers; None: as `migrate`
        allow_removals      migrates also if the model only lacks what the store has, so that it may be an older version
        allow_type_changes  migrates attributes whose type changed, if every value can be kept exactly
        source_models, model_paths  models, and files or folders of models, in which the store's own model is searched
                      before the one that it carries
        migration_progress  a function that is called with the rows that are done and of all; an exception cancels
        """
        given = store_options(**options)
        with migrating(given):
            return self._opened(
                lib.cst_coordinator_add_store, self._handle, optional_text(type), path_argument(path), byref(given)
            )

    def _opened(self, function: Any, *arguments: Any) -> Store:
        """The store that a call opens."""
        self._require_open()
        with host_stores_opened(self):
            return Store(owned(function, *arguments), self)

    def remove_store(self, store: Store) -> None:
        """Closes a store. Its objects leave every context, each on its own queue: using them is an ObjectGoneError, and
        they are `invalidated` in "objects_did_change".

        What was not saved of them is lost, and the log has a warning with counts by entity; new objects that are in no
        store yet stay.
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
        """Saves a store at another path, where nothing is or a store without objects, and goes on with that one: all
        that it holds is copied, then it is removed; its file stays. Returns the new store.

        Every object has a new ID, of which the coordinator tells ("stores_did_change": `uuid_changed.migrated_ids`).
        Objects of contexts are those of a removed store; save before. The options are those of add_store, for the new
        store alone; the configuration stays that of the old one (InvalidArgumentError for another). When it fails, the
        old store is open as before.

        type          of the new store. None: that of the old one; "SQLite" for one in memory, which has no file
        progress      progress(done, total) is told the objects, on this thread. It may read from the store, and not
                      save; what it raises ends the copying, and is raised by the call
        """
        old = one_of(Store, store, "store")
        given = store_options(**options)
        configuration = options.get("configuration")
        if configuration not in (None, old.configuration):
            raise InvalidArgumentError(
                f'a migration cannot change the configuration of {old.path} to "{configuration}"; omit configuration',
                key="configuration", value=configuration,
            )  # fmt: skip
        # The library has SQLite for no type.
        wanted = type if type is not None else "SQLite" if old.type == "InMemory" else old.type
        arguments = (self._handle, old._handle, text(wanted), path_argument(path), byref(given))
        with told(progress) as callback:
            return self._opened(lib.cst_coordinator_migrate_store, *arguments, callback, None)

    def perform(self, function: Callable[..., T], *arguments: Any, **named: Any) -> Future[T]:
        """Runs a function while nothing is saved to the coordinator's stores but by the function itself, later and on
        a thread of the coordinator's, in order of the calls. Others go on reading."""
        return queue.perform_alone(self._handle, lambda: function(*arguments, **named))

    def perform_and_wait(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """The same on the calling thread, at once; returns what the function returns.

            coordinator.perform_and_wait(shutil.copytree, folder, copy)

        The function may not wait for the queue of a context (InvalidArgumentError): who has it may wait for this.
        """
        found: T = queue.perform_alone_and_wait(self._handle, lambda: function(*arguments, **named))
        return found

    def destroy_store(
        self, path: str | os.PathLike[str], *, type: str | None = None, force: bool = False, busy_timeout: float = 5.0
    ) -> bool:
        """Empties a store: rows, tables, metadata and files of external data go; the file stays, and a store added
        there starts empty. A store that the coordinator has open is removed first. Returns False when the folder has no
        such file; a missing folder is a StoreIOError, "/dev/null" an InvalidArgumentError.

        StoreBusyError while somebody writes; NotAStoreError for another program's file, which stays as it is. With
        `force` the files of a store that others keep locked are removed; they go on with files that have no names.
        """
        flags = _abi.STORE_FORCE_DESTROY if flag(force, "force") else 0
        options = store_options(flags, busy_timeout=busy_timeout)
        arguments = (self._handle, optional_text(type), path_argument(path), byref(options))
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
        """Puts the store at `source` in the place of the one at `path`, or where nothing is: a copy with the files of
        external data, in one step, that keeps the identifier. A store that the coordinator has open at `path` is
        removed first.

        StoreBusyError while somebody else writes, NotAStoreError for what is no store, there or at `path`; what was
        there stays then.
        """
        options = store_options(busy_timeout=busy_timeout, file_mode=file_mode)
        paths = path_argument(path), path_argument(source)
        call(lib.cst_coordinator_replace_store, self._handle, optional_text(type), *paths, byref(options))

    def set_store_path(self, store: Store, path: str | os.PathLike[str]) -> None:
        """Has an open store lie at another path from now on; Core Data calls it setURL:forPersistentStore:.

        A store that is written as a whole goes there with the next save, also of a context without changes. Of an
        SQLite store the file has to be there, moved or copied while nothing was saved (perform_and_wait);
        InvalidArgumentError for another store's. The store is where it was then.
        """
        call(
            lib.cst_coordinator_set_store_path, self._handle, one_of(Store, store, "store")._handle, path_argument(path)
        )

    @property
    def stores(self) -> list[Store]:
        """The open stores, in order."""
        count = lib.cst_coordinator_store_count(self._handle)
        handles = [owned(lib.cst_coordinator_store, self._handle, index) for index in range(count)]
        return [Store(handle, self) for handle in handles if handle]

    def store_at(self, path: str | os.PathLike[str]) -> Store | None:
        """The open store whose file is at a path, however that is written; None when there is none."""
        handle = owned(lib.cst_coordinator_store_at, self._handle, path_argument(path))
        return Store(handle, self) if handle else None

    def metadata(self, store: Store) -> dict[str, Any]:
        """What an open store says about itself, with what was set and is not written yet."""
        buffer = _abi.Buffer()
        call(lib.cst_coordinator_copy_metadata, self._handle, one_of(Store, store, "store")._handle, byref(buffer))
        found: dict[str, Any] = plistlib.loads(_abi.take_bytes(buffer))
        return found

    def set_metadata(self, store: Store, values: Mapping[str, Any]) -> None:
        """Has a store say something else about itself: with the next save of any context, also of one without changes.

        `values` has all entries, as a property list may hold them. The store's type, UUID and versions stay when they
        are not given; InvalidArgumentError when they differ.
        """
        handle = one_of(Store, store, "store")._handle
        call(lib.cst_coordinator_set_metadata, self._handle, handle, _property_list(values))

    def backup(
        self,
        store: Store,
        path: str | os.PathLike[str],
        *,
        progress: Callable[[int, int], Any] | None = None,
        busy_timeout: float = 5.0,
        file_mode: int | None = None,
    ) -> None:
        """Copies an open store, in the state of now and with its files of external data, while others go on reading and
        saving. At the path is nothing, or a former copy of the store, which is overwritten in one step.

        progress      progress(done, total) is told the bytes, on this thread. It may read from the store, and not save;
                      what it raises ends the copying, and is raised by the call
        file_mode     the permissions of a new file; None: those of the store

        InvalidArgumentError for a path where another store is; what was there stays then.
        """
        options = store_options(busy_timeout=busy_timeout, file_mode=file_mode)
        handle = one_of(Store, store, "store")._handle
        with told(progress) as callback:
            call(
                lib.cst_coordinator_backup_store, self._handle, handle, path_argument(path), byref(options), callback,
                None,
            )  # fmt: skip

    def checkpoint(self, store: Store, mode: str = "passive") -> Checkpoint | None:
        """Brings the write-ahead log of an SQLite store into its file, as is done now and then anyway: "passive" as far
        as nobody is in the way, "full" all of it, "restart" until nobody reads the log, "truncate" to cut it to
        nothing. None for a store without a log; StoreBusyError where others are in the way too long."""
        pages, done = ctypes.c_uint64(), ctypes.c_uint64()
        number = CHECKPOINTS.index(choice(mode, "mode", CHECKPOINTS))
        handle = one_of(Store, store, "store")._handle
        status = call(lib.cst_coordinator_checkpoint_store, self._handle, handle, number, byref(pages), byref(done))
        return Checkpoint(pages.value, done.value) if status == _abi.OK else None

    def optimize(self, store: Store) -> int:
        """Renews what SQLite knows of how values are spread, by which it chooses indexes, and removes files of external
        data that no row refers to; returns how many. A save of many objects does the first by itself."""
        removed = ctypes.c_uint64()
        handle = one_of(Store, store, "store")._handle
        call(lib.cst_coordinator_optimize_store, self._handle, handle, byref(removed))
        return removed.value

    def observe(
        self, notification: CoordinatorNotification | str, function: Callable[[Coordinator, StoreChanges], Any]
    ) -> Observation:
        """Calls function(coordinator, changes) whenever the coordinator posts the notification ("stores_did_change",
        "will_remove_store", "remote_change"), on the thread that causes it, as long as somebody holds the token. It may
        use the coordinator at will."""
        from .observation import observe_coordinator

        return observe_coordinator(self, notification, function)

    def query_generation(self) -> QueryGeneration | None:
        """The state that the stores have now, held from now on; None when no store has generations.

        UnsupportedError for a store with a rollback journal."""
        return optional_generation(owned(lib.cst_coordinator_query_generation, self._handle))

    def notifications(
        self, notification: CoordinatorNotification | str, *, newest: int | None = None
    ) -> Notifications[StoreChanges]:
        """What the coordinator tells from now on, for an asyncio task, as Context.notifications.

        async for changes in coordinator.notifications("stores_did_change"):
            ...
        """
        return Notifications(self, newest, lambda tell: self.observe(notification, tell), lambda changes: changes)

    @property
    def statistics(self) -> Statistics:
        """What was asked of the stores since the coordinator was made, or since reset_statistics."""
        counted = _abi.Statistics(ctypes.sizeof(_abi.Statistics))
        call(lib.cst_coordinator_statistics, self._handle, byref(counted))
        return Statistics(*(getattr(counted, name) for name in _abi.STATISTICS))

    def reset_statistics(self) -> None:
        """Begins to count anew."""
        call(lib.cst_coordinator_reset_statistics, self._handle)

    def object_id(self, uri: str) -> ObjectID | None:
        """The ID for a URI; None when no store of the coordinator knows it."""
        hold = held(lib.cst_coordinator_object_id, self._handle, text(uri))
        return ObjectID._owned(hold) if hold else None

    @property
    def is_closed(self) -> bool:
        """Whether it was closed."""
        return self._is_closed

    def _end(self) -> None:
        """Closes the contexts that it made, and makes no more."""
        self._is_closed = True
        self._close_contexts()

    def close(self, unsaved: Policy | None = None) -> None:
        """Closes the contexts that it made, and removes its stores. Closing twice is fine. A container's or document's
        coordinator is closed with that one: close that.

        unsaved  what becomes of changes that were not saved: "refuse" (UnsavedChangesError counts them by context and
                 entity, and nothing is closed), "save" or "discard". None: what the coordinator was made with.
        """
        if self._is_closed:
            return
        policy = policy_of(unsaved, self._unsaved)
        if policy != "discard":
            with contextlib.suppress(ForkedError):  # a forked child has no part in it
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
        """Closes it. UnsavedChangesError, and it stays open, for changes that were not saved, unless it was made with
        another policy; when the block raised, they are rolled back, unless it raised UnsavedChangesError."""
        leave_block(self, raised)

    def __repr__(self) -> str:
        return f"<Coordinator of {self._title}{' (closed)' * self._is_closed}>"
