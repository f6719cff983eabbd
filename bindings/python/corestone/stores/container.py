"""Containers: a model, the stores of its objects, and contexts."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import threading
import weakref
from collections.abc import Iterable, Sequence
from ctypes import byref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, TypeVar, overload

from .. import _abi
from .._abi import lib, optional_text, path_argument, text
from .._abi.arguments import elements, require_instance, shown
from .._abi.call import call, made, owned, read_error
from .._abi.checked import Checked
from .._abi.handles import retained
from .._abi.interrupt import immortal
from ..errors import (
    CorestoneError,
    ForkedError,
    InvalidArgumentError,
    InvalidHandleError,
    TypeMismatchError,
    WrongThreadError,
)
from ..graph.context import Context, EntityLike
from ..graph.migration_contexts import closing_migration_contexts
from ..graph.object_id import ObjectID
from ..graph.owners import Contexts, Policy, leave_block, policy_of
from ..graph.queue import main_queue
from ..graph.results import Results
from ..graph.typing import Kind
from ..model.model import Classes, Model, ModelLike, declared_model, given_model
from ..predicate.expression import KeyPath
from ..predicate.predicate import Predicate
from ..predicate.sort import SortKey
from .container_lookups import ContainerLookups
from .coordinator import Coordinator
from .open_hosts import host_stores_opened
from .store import Store
from .store_options import StoreOptions, refuse_memory, refuse_unknown, store_options

if TYPE_CHECKING:
    from concurrent.futures import Future

    from typing_extensions import Unpack

    from ..graph.object import DynamicObject
    from ..graph.typing import CommonOptions
    from ..model.entity import Entity

T = TypeVar("T")


class StoreDescription(Checked):
    """A store for a container to open: its path, its type and its options.

        StoreDescription("log.xml", type="XML", configuration="Log")

    path          None: a file in the program's data folder, with the container's name
    asynchronous  True: Container.load opens the store on another thread, and calls the handler there
    makes_folder  True: missing folders of the path are created, with access only for the user
    options       the options of Coordinator.add_store
    """

    _cst_attributes = ("asynchronous", "makes_folder", "options", "path", "type")

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        type: str | None = None,
        asynchronous: bool = False,
        makes_folder: bool = True,
        **options: Unpack[StoreOptions],
    ) -> None:
        refuse_unknown("StoreDescription", options)
        if path is not None and not isinstance(path, (str, bytes, os.PathLike)):
            raise TypeMismatchError(f"path must be a str or an os.PathLike, not {shown(path)}", key="path", value=path)
        refuse_memory(path, type)
        self.path = None if path is None else os.fspath(path)
        self.type = type
        self.asynchronous = asynchronous
        self.makes_folder = makes_folder
        self.options = options
        self._options = store_options(**options)

    def __repr__(self) -> str:
        return f"<StoreDescription {self.path or 'in the data folder'}>"


def _application() -> str:
    """Returns the name of the program: the name of its script or package, otherwise "python"."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    if not file:
        return "python"
    from pathlib import Path

    script = Path(file)
    return (script.resolve().parent.name if script.stem == "__main__" else script.stem) or "python"


def _file_name(path: str | bytes | None) -> str:
    """Returns the name of a container for the store at a path, for messages."""
    name = os.path.basename(os.fsdecode(path or ""))
    return name if name.isprintable() and name else "container"


def data_folder(application: str | None = None) -> str:
    """Returns the default folder of a program's stores. Opening the first store creates it.

    It is $XDG_DATA_HOME/<application>, or else ~/.local/share/<application>. InvalidArgumentError if neither
    XDG_DATA_HOME nor HOME is set to an absolute path.

    application  None: the name of the program's script, or package
    """
    buffer = _abi.Buffer()
    call(lib.cst_container_copy_data_folder, text(application or _application(), "application"), byref(buffer))
    return _abi.take_text(buffer)


Handler = Callable[[StoreDescription, "Store | None", "CorestoneError | None"], Any]


def _refuse_path(name: Any, model: Any) -> None:
    """Raises the error for Container(path, model), whose arguments are in the wrong order."""
    if isinstance(model, Model) and str(name).lower().endswith((".sqlite", ".sqlite3", ".db", ".store")):
        raise InvalidArgumentError(
            f'the container name "{name}" looks like the path of a store; write Container(model, path), or choose a '
            "name without an extension",
            key="name",
            value=name,
        )


class _Load:
    """A call of `load`: its descriptions and handler, and the exception that the handler raised."""

    def __init__(self, descriptions: list[StoreDescription], handler: Handler) -> None:
        self.descriptions = descriptions
        self.handler = handler
        self.thread = threading.get_ident()
        self.raised: BaseException | None = None


_loads: dict[int, _Load] = {}


def _report_load(number: int, index: int, path: Any, store: int | None, error: int | None) -> None:
    load = _loads[number]
    opened = Store(retained(store)) if store else None
    problem = read_error(error) if error else None
    try:
        load.handler(load.descriptions[index], opened, problem)
    except BaseException as raised:
        if threading.get_ident() != load.thread:
            raise  # ctypes prints it, because no caller waits for it
        load.raised = load.raised or raised


_report_load_callback = immortal(_abi.CONTAINER_LOAD_FN(_report_load))
_end_callback = immortal(_abi.DESTROY_FN(lambda number, loads=_loads: loads.pop(number, None) and None))


class Container(Checked, ContainerLookups, Contexts):
    """A model, the stores of its objects, and contexts. Most programs start with a container.

        with Container(model, "company.store") as container:  # opens the store, or creates it
            ctx = container.context()
            ctx.insert("Employee", name="Ada")
            ctx.save()

        with Container("Company", model) as container:  # ~/.local/share/<program>/Company.sqlite
            ctx = container.view_context

    Container(model, path) opens one store immediately, with the options of Coordinator.add_store. Container(name,
    model) opens its stores in `load`, or when the `with` block begins. Without `model`, it loads the model of that name
    (see docs/reference/container.md). Without `stores`, it has one store in the program's data folder.

    Instead of a model, it accepts a class, or a list of classes, that derive from corestone.declarative.Entity.

    unsaved  the policy of `close` and the `with` block for unsaved changes, also of the contexts that the container
             creates: "refuse", with an UnsavedChangesError that counts them by entity, "save" or "discard"
    """

    _cst_attributes = ("coordinator", "model")

    _another_owner = "container; create another container with Container(...)"

    @overload
    def __init__(
        self,
        model: Model | Classes,
        path: str | os.PathLike[str],
        *,
        type: str | None = None,
        unsaved: Policy = "refuse",
        **options: Unpack[StoreOptions],
    ) -> None: ...
    @overload
    def __init__(
        self,
        name: str,
        model: ModelLike | None = None,
        *,
        stores: Iterable[StoreDescription] = (),
        application: str | None = None,
        model_folders: Iterable[str | os.PathLike[str]] = (),
        unsaved: Policy = "refuse",
    ) -> None: ...

    def __init__(self, *given: Any, **options: Any) -> None:
        self._begin()
        self._unsaved = policy_of(options.pop("unsaved", None))
        names = ("name", "model") if "name" in options or (given and isinstance(given[0], str)) else ("model", "path")
        for name, value in zip(names, given):
            if name in options:
                if name == "name" and not isinstance(value, str):
                    raise TypeError("Container takes name before the model; write Container(name, model)")
                raise TypeError(f"Container got {name} as a positional argument and by keyword; pass it once")
            if len(given) > 2:
                raise TypeError(
                    f"Container takes only {names[0]} and {names[1]} as positional arguments, but got {len(given)}; "
                    "pass the others by keyword"
                )
            options[name] = value
        if names[0] == "name":
            refuse_unknown("Container", options, ("name", "model", "stores", "application", "model_folders"))
            _refuse_path(options["name"], options.get("model"))
            self._make(options.pop("name"), given_model(options.pop("model", None)), **options)
            return
        model = options.pop("model", None)
        if isinstance(model, (type, tuple, list)):
            model = declared_model(model)
        model = require_instance(Model, model, "model", "a Model, such as Model({...}) or Model.load(path)")
        path = options.pop("path", None)
        refuse_unknown("Container", options, also=("type", "unsaved"))
        if path is None:
            raise InvalidArgumentError(
                "path is None; pass the path of the store, or pass a container name before the model", key="path"
            )
        store = StoreDescription(path, type=options.pop("type", None), makes_folder=False, **options)
        self._make(_file_name(store.path), model, stores=[store], application="corestone")
        self.load()
        _ = self.store

    def _begin(self) -> None:
        self._handle = 0
        self._unsaved = "refuse"
        self._descriptions: list[StoreDescription] = []
        self._store: Store | None = None
        self._contexts: weakref.WeakSet[Context] = weakref.WeakSet()
        self._own: Context | None = None
        self._view: Context | None = None
        self._is_closed = False

    def _make(
        self,
        name: str,
        model: Model | None,
        stores: Iterable[StoreDescription] = (),
        application: str | None = None,
        model_folders: Iterable[str | os.PathLike[str]] = (),
    ) -> None:
        folders = [os.fspath(each) for each in elements(model_folders, "model_folders", "a list of folders")]
        script = getattr(sys.modules.get("__main__"), "__file__", None)
        if script:
            folders.append(os.path.dirname(os.path.abspath(script)))
        options = _abi.ContainerOptions()
        options.struct_size = ctypes.sizeof(options)
        options.application = text(application or _application(), "application")
        options.model_folder_count = len(folders)
        options.model_folders = (_abi.InputString * max(len(folders), 1))(*(path_argument(each) for each in folders))
        self._adopt(
            owned(
                lib.cst_container_new, text(name, "name"), model._handle if model is not None else None, byref(options)
            ),
            model,
        )
        for each in elements(stores, "stores", "a list of StoreDescription"):
            self.add_store_description(each)

    def _adopt(self, handle: int, model: Model | None) -> None:
        self._handle = handle
        self.coordinator = Coordinator._owned(retained(made(lib.cst_container_coordinator, handle)), model)
        self.model = self.coordinator.model

    def add_store_description(self, description: StoreDescription) -> None:
        """Adds a store that `load` opens. The first added store replaces the default store in the data folder."""
        given = require_instance(StoreDescription, description, "description")
        struct = _abi.StoreDescription()
        struct.struct_size = ctypes.sizeof(struct)
        struct.type = optional_text(given.type, "type")
        struct.path = optional_text(None) if given.path is None else path_argument(given.path)
        struct.options = ctypes.pointer(given._options)
        struct.flags = (_abi.DESCRIPTION_ASYNCHRONOUS if given.asynchronous else 0) | (
            0 if given.makes_folder else _abi.DESCRIPTION_NO_FOLDER
        )
        call(lib.cst_container_add_description, self._handle, byref(struct))
        self._descriptions.append(given)

    def load(self, handler: Handler | None = None) -> None:
        """Opens the stores that are not open.

        handler  called once for each store as handler(description, store, error), where either store or error is None.
                 It is called on this thread, and for asynchronous stores on another thread. Without a handler, all
                 stores are opened before the call returns. If one cannot be opened, the call raises the error; if
                 several cannot, it raises an error whose `details` are their errors. The other stores are then open.
        """
        self._require_open()
        if handler is None:
            with host_stores_opened(self.coordinator), closing_migration_contexts():
                call(lib.cst_container_load, self._handle, _abi.CONTAINER_LOAD_FN(), None, _abi.DESTROY_FN())
            return
        load = _Load(self._descriptions or [StoreDescription()], handler)
        number = id(load)
        _loads[number] = load
        with host_stores_opened(self.coordinator), closing_migration_contexts():
            call(lib.cst_container_load, self._handle, _report_load_callback, number, _end_callback)
        if load.raised is not None:
            raise load.raised

    async def aload(self, handler: Handler | None = None) -> None:
        """Runs `load` on a separate thread, without blocking the event loop."""
        import asyncio

        await asyncio.get_running_loop().run_in_executor(None, self.load, handler)

    @property
    def store(self) -> Store:
        """The first store of the container, or the store that replaced it in `migrate`."""
        if self._store is None:
            found = self.coordinator.stores
            if not found:
                self._require_open()
                raise InvalidHandleError(
                    "the container does not have an open store; call load, and wait for its handler if the store is "
                    "asynchronous"
                )
            self._store = found[0]
        return self._store

    @store.setter
    def store(self, store: Store) -> None:
        self._store = store

    @property
    def view_context(self) -> Context:
        """The container's context for the main queue; closed together with the container.

        The first use on the program's initial thread makes that thread the main one, unless another thread already is:
        see corestone.main_queue.
        """
        self._require_open()
        if self._view is None:
            if not main_queue._thread and threading.get_native_id() == os.getpid():
                with contextlib.suppress(WrongThreadError):  # another binding made another thread the main one
                    main_queue.bind()
            handle = retained(made(lib.cst_container_view_context, self._handle))
            self._view = Context(self, _abi.QUEUE_MAIN, handle=handle, is_shared=True)
            self._view._name = "view"
            self._contexts.add(self._view)
        return self._view

    def perform_background_task(self, function: Callable[..., T], /, *arguments: Any, **named: Any) -> Future[T]:
        """Calls function(context, …) later, on the queue of a new context that is closed after the call.

        The future receives the result or the exception. Unsaved changes are lost: rolled back if the function raises,
        otherwise counted in the log. InvalidHandleError if the container is closed or being closed.

            count = container.perform_background_task(import_all, path).result()
        """
        context = self.background_context()

        def work(*arguments: Any, **named: Any) -> T:
            try:
                return function(context, *arguments, **named)
            except BaseException:
                with contextlib.suppress(CorestoneError):  # for example, the container was closed meanwhile
                    context.rollback()
                raise

        return context.perform(work, *arguments, **named)

    def save(self) -> None:
        """Saves the unsaved changes of all contexts, children first."""
        self._require_open()
        call(lib.cst_container_save, self._handle)

    def _require_open(self) -> None:
        if self._is_closed:
            raise InvalidHandleError("the container is closed; create another one with Container(...)")

    @property
    def _beneath(self) -> Coordinator:
        return self.coordinator

    @property
    def _title(self) -> str:
        found = self._store or next(iter(self.coordinator.stores), None)
        return found.path if found else "a container without an open store"

    @overload
    def fetch(
        self,
        entity: type[Kind],
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        **options: Unpack[CommonOptions],
    ) -> Results[Kind]: ...
    @overload
    def fetch(
        self,
        entity: str | Entity,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        **options: Unpack[CommonOptions],
    ) -> Results[DynamicObject]: ...
    def fetch(
        self,
        entity: EntityLike,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        offset: int = 0,
        prefetch: KeyPath | Sequence[KeyPath] = (),
    ) -> Results[Any]:
        """Calls Context.fetch in a context of the container that is confined to the first thread that calls `fetch`."""
        return self._own_context().fetch(
            entity, predicate, *arguments, sort=sort, limit=limit, offset=offset, prefetch=prefetch
        )

    def object_id(self, uri: str) -> ObjectID | None:
        """Returns the object ID for a URI, or None if it is not the URI of an object in an open store."""
        return self.coordinator.object_id(uri)

    @property
    def path(self) -> str:
        """The path of the first store."""
        return self.store.path

    @property
    def is_read_only(self) -> bool:
        """Whether the first store is read-only, so that saving to it fails."""
        return self.store.is_read_only

    @property
    def read_only_reason(self) -> str | None:
        """The reason why saving fails and the remedy, as a clause for a message; None for a writable store."""
        return self.store.read_only_reason

    @property
    def model_source(self) -> str:
        """The source of the model: "given", "cached" (the store carries it) or "inferred" (from its tables)."""
        return self.store.model_source

    def migrate(
        self,
        path: str | os.PathLike[str],
        *,
        type: str | None = None,
        progress: Callable[[int, int], Any] | None = None,
        **options: Unpack[StoreOptions],
    ) -> Store:
        """Saves the first store at another path, or as another type, and returns the new store, which replaces it.

        The arguments, the effects and the errors are those of Coordinator.migrate_store: each object has a new ID.
        """
        self._store = self.coordinator.migrate_store(self.store, path, type=type, progress=progress, **options)
        return self._store

    @property
    def is_closed(self) -> bool:
        """Whether the container was closed."""
        return self._is_closed

    def close(self, unsaved: Policy | None = None) -> None:
        """Closes the contexts and the stores. A second call has no effect.

        unsaved  the policy for unsaved changes: "refuse" (UnsavedChangesError counts them by context and entity, and
                 nothing is closed), "save" (if that fails, the container stays open) or "discard". None: the policy of
                 the container. A context that another thread uses is listed without counts.
        """
        if self._is_closed:
            return
        policy = policy_of(unsaved, self._unsaved)
        if policy != "discard":
            with contextlib.suppress(ForkedError):  # in a forked child, every call fails
                call(lib.cst_container_close, self._handle, _abi.UNSAVED.index(policy))
        self._is_closed = True
        self._own = self._view = None
        self._close_contexts()
        self.coordinator._end()
        with contextlib.suppress(ForkedError):
            call(lib.cst_container_close, self._handle, _abi.UNSAVED.index("discard"))

    def __enter__(self) -> Container:
        if not self._is_closed:
            self.load()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the container.

        With unsaved changes, the container stays open and raises UnsavedChangesError, unless its policy is another one.
        If the block raised an exception other than UnsavedChangesError, unsaved changes are rolled back.
        """
        leave_block(self, raised)

    def _repr_html_(self) -> str | None:
        from ..graph.html import guarded, of_container

        return guarded(of_container, self)

    def __repr__(self) -> str:
        found = self._store or next(iter(self.coordinator.stores), None)
        return f"<Container {found.path if found else 'without an open store'}{' (closed)' * self._is_closed}>"


def open_container(
    path: str | os.PathLike[str],
    model: ModelLike | None = None,
    *,
    writable: bool = False,
    unsaved: Policy = "refuse",
    sync: str = "full",
    journal: str = "wal",
    busy_timeout: float = 5.0,
    cache_kb: int = 0,
    max_connections: int = 0,
) -> Container:
    """Opens an existing store, written by Apple's framework or this library. A model is not required.

        with corestone.open("Photos.sqlite") as photos:
            for asset in photos.fetch("Asset", "favorite == YES", limit=10):
                print(asset.filename)

    `model` is a model or its path; of a bundle, the version with which the store was written is read
    (container.model.version_name). None: the model that the store carries, or else a model that is inferred from the
    tables of the store, see the container's model_source. Unless `writable`, neither the file nor its folder changes,
    and the file is not locked. A store whose invariants cannot be kept is always read-only; read_only_reason returns
    the reason. `unsaved` is the policy of the container.
    """
    policy = policy_of(unsaved)
    refuse_memory(path, None)
    options = store_options(
        _abi.STORE_WRITABLE if writable else 0, sync=sync, journal=journal, busy_timeout=busy_timeout,
        cache_kb=cache_kb, max_connections=max_connections,
    )  # fmt: skip
    model = given_model(model, for_store=path)
    handle = model._handle if model is not None else None
    container = Container.__new__(Container)
    container._begin()
    container._unsaved = policy
    container._adopt(owned(lib.cst_container_open, path_argument(path), handle, byref(options)), model)
    _ = container.store
    return container
