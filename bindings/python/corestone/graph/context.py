"""Contexts: units of work with the objects of stores."""

from __future__ import annotations

import contextlib
import ctypes
import time
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from ctypes import byref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Literal, TypeVar, Union, cast, overload

from .. import _abi
from .._abi import interrupt, lib
from .._abi.arguments import require_instance, require_integer, shown
from .._abi.call import call, failure, held, made_quickly, owned, raisable
from .._abi.conversion import Encoded
from .._abi.handles import Handle, retained_owner
from .._abi.stamps import Stamp, contexts
from .._abi.wrappers import (
    ContextBase,
    accelerator,
    find,
    make_insertion,
    objects,
    place,
    registered,
    remember,
    wrap,
    wrap_all,
)
from ..codes import Aggregate
from ..errors import (
    CorestoneError,
    ForkedError,
    InvalidArgumentError,
    InvalidHandleError,
    ObjectGoneError,
    UnsavedChangesError,
)
from ..model.entity import Entity, declared_entity
from ..model.property import PropertyDescription
from ..predicate.expression import Expression, KeyPath, listed
from ..predicate.predicate import Predicate
from ..predicate.sort import SortKey
from . import faulting, nesting, queue
from .aggregates import aggregate, aggregate_of_computed_groups, groups_are_computed
from .ahead import Ahead
from .arrow import ArrowData, fetch_data, flags
from .arrow_import import Columns, ImportSettings, Progress, StreamCapsule, UpsertCounts, import_options
from .asynchronous import AsynchronousFetch
from .batch import BatchDeleteRequest, BatchInsertRequest, BatchUpdateRequest
from .bulk import Block, columns_of, plain_columns
from .context_locks import ContextLocks
from .context_owners import Policy, leave_block, policy_of
from .cursor import Cursor
from .editors import ContextEditors, end_all
from .explanation import FetchExplanation, explanation
from .fetching import new_request
from .generation import QueryGeneration, optional_generation
from .history import HistoryCursor, HistoryToken, HistoryTransaction
from .lookups import ContextLookups
from .merging import MergePolicy, PolicyLike, policy
from .notifications import ChangedIDs, Notifications
from .object import ManagedObject, drop_held_values, set_single_values
from .object_id import ObjectID
from .request import FetchRequest, execute
from .results import BLOCK, Results
from .rows import ColumnLike, key_paths, read_rows
from .undo import UndoManager, forget_what_was_read

if TYPE_CHECKING:
    from concurrent.futures import Future
    from datetime import datetime

    from typing_extensions import Unpack

    from ..codes import ContextNotification
    from ..predicate.query import Value
    from ..stores.container import Container
    from ..stores.coordinator import Store
    from ..stores.history_functions import HistoryOptions
    from .context_owners import ContextOwner
    from .live import Difference, LiveQuery
    from .observation import ContextChanges, Observation
    from .single_faults import SingleFaults

EntityLike = Union[str, Entity, type]
T = TypeVar("T")
_POINTER = ctypes.sizeof(ctypes.c_void_p)

_entity = _abi.raw("cst_object_entity")
_delete = _abi.raw("cst_context_delete")
_insert = _abi.raw("cst_context_insert")
_with_id = _abi.raw("cst_context_object_with_id")

_QUEUES = {_abi.QUEUE_CALLER: "caller-confined", _abi.QUEUE_PRIVATE: "private queue", _abi.QUEUE_MAIN: "main queue"}
_MAKERS = {_abi.QUEUE_CALLER: "context", _abi.QUEUE_PRIVATE: "background_context", _abi.QUEUE_MAIN: "main_context"}


class Context(ContextLookups, ContextLocks, ContextEditors, ContextBase):
    """A unit of work: objects that were fetched or inserted, and their changes until a save or a rollback.

    Containers and coordinators create contexts with `context`, `background_context` and `main_context`. A context
    retains its creator. Use a context and its objects on the context's queue; use elsewhere raises WrongThreadError.

        with container.context() as ctx:
            ctx.insert("Employee", name="Ada")
            ctx.save()

    The end of the block closes the context, see `close`. By default, unsaved changes raise UnsavedChangesError, and the
    context stays open. If the block raised another exception, unsaved changes are rolled back. The view context of a
    container and the context of a document stay open.
    """

    def __init__(
        self,
        owner: ContextOwner,
        queue_type: int,
        parent: Context | None = None,
        handle: int | None = None,
        *,
        unsaved: Policy | None = None,
        is_shared: bool = False,
    ) -> None:
        usual = owner._unsaved if parent is None else parent._unsaved
        self._unsaved: Policy = policy_of(unsaved, usual)
        self._is_shared = is_shared  # every caller uses this context, so only its owner closes it
        self._owner = owner
        #: The coordinator of the context's stores.
        self.coordinator = owner._beneath
        self._parent = parent
        self.model = owner.model
        self._stamp = Stamp()  # values that were read ahead are valid while this is unchanged
        self._watcher: interrupt.Watch | None = None
        self._is_main = queue_type == _abi.QUEUE_MAIN
        self._task: object = None  # the asyncio task whose block is open
        self._user = 0  # the thread whose Python block or function holds the queue
        self._sequences: weakref.WeakSet[Notifications[Any]] = weakref.WeakSet()
        self._is_closing = False
        self._locks: list[int] = []  # what `unlock` restores, for each lock
        self._editings: dict[int, Observation] = {}  # by the id of the editor
        self._queue_type = queue_type
        self._name: str | None = None
        self._author: str | None = None
        self._undo_manager: UndoManager | None = None
        self._merge_policy = MergePolicy.ERROR
        self._inaccessible: faulting.InaccessibleFaultHandler | None = None
        self._remote: Observation | None = None
        #: Data of the application.
        self.user_info: Any = None
        self._cst_is_held = handle is None
        if handle is None:
            handle = (
                owned(lib.cst_context_new, self.coordinator._handle, queue_type)
                if parent is None
                else owned(lib.cst_context_new_child, parent._open, queue_type)
            )
        self._handle: int | None = handle
        self._argument = _abi.argument(self._handle)
        faulting.tell_origin(self._handle)
        contexts.add(self)
        if queue_type == _abi.QUEUE_CALLER:
            self._watch()

    @property
    def container(self) -> Container:
        """The container or the document that created the context.

        InvalidArgumentError if a coordinator created it. `coordinator` is set for every context.
        """
        if self._owner is self.coordinator:
            raise InvalidArgumentError(
                "the context was created by a coordinator, not by a container; use context.coordinator"
            )
        return cast("Container", self._owner)

    @property
    def _open(self) -> int:
        if self._handle is None:
            if self._owner._is_closed:
                raise InvalidHandleError(f"the context is closed, like its {self._owner._another_owner}")
            remedy = (
                "create another one with child() of its parent"
                if self._parent is not None
                else "use it only during the migration"
                if self._is_shared  # with an open owner, only a context of a migration
                else f"create another one with {_MAKERS[self._queue_type]}() of its container or coordinator"
            )
            raise InvalidHandleError(f"the context is closed; {remedy}")
        return self._handle

    def _require_open(self) -> None:
        """Raises InvalidHandleError if the context is closed. Cursors, which have their own handles, call this."""
        _ = self._open

    # ---- wrappers

    def _entity(self, entity: EntityLike) -> Entity:
        if type(entity) is str:
            found = self.model._entities.get(entity)
            if found is not None:
                return found
        if isinstance(entity, Entity):
            return entity
        if isinstance(entity, type) and issubclass(entity, ManagedObject):
            is_generated = "_cst_entity" in vars(entity)
            return entity._cst_entity if is_generated else self.model[declared_entity(entity, "entity")]
        return self.model[require_instance(str, entity, "entity", "a name, a subclass of ManagedObject or an Entity")]

    def _class(self, token: int, entity: Entity | None) -> type[ManagedObject]:
        """Returns the class of an object, whose entity may be a subentity of `entity`."""
        if entity is not None and entity.name not in self.model._parents:
            return entity.object_class
        handle = made_quickly(_entity, _abi.argument(token))
        return self.model._entity_of(handle).object_class

    def _object(self, token: int, entity: Entity | None) -> ManagedObject:
        """Returns the wrapper of a borrowed handle."""
        found: ManagedObject | None = find(token)
        if found is not None:
            return found
        kind = self._class(token, entity)
        return wrap(kind, self, retained_owner(_abi.argument(token)))

    def _adopt(self, hold: Handle, entity: Entity | None) -> ManagedObject:
        """Returns the wrapper of an owned handle."""
        token = hold.value or 0
        found: ManagedObject | None = find(token)
        return wrap(self._class(token, entity), self, hold) if found is None else found

    def _objects(self, array: Any, count: int, entity: Entity | None, ahead: Ahead | None) -> list[ManagedObject]:
        """Returns the wrappers of an array of borrowed handles."""
        if entity is None or entity.name in self.model._parents:
            if accelerator is not None:
                model = self.model
                quick = accelerator.wrap_mixed(model._classes, model._class_of, self, ctypes.addressof(array), count)
                if quick is not None:
                    return cast("list[ManagedObject]", quick)
            found = [self._object(token, entity) for token in array[:count]]
            for row, item in enumerate(found if entity is not None else ()):
                place(item, ahead, row)
            return found
        return wrap_all(entity.object_class, self, array, count, ahead)

    # ---- Ctrl-C

    def _watch(self) -> None:
        """Makes Ctrl-C stop fetches and saves, if signal handlers run on this thread."""
        if self._watcher is not None or self._handle is None or not interrupt.is_main_thread():
            return
        number, watch = interrupt.new_watch()
        call(lib.cst_context_set_interrupt, self._handle, watch.callback, number, interrupt.forget)
        self._watcher = watch
        queue._exit.contexts.add(self)
        queue._exit.arm()

    def _unwatch(self, deadline: float | None = None) -> None:
        """Reverses `_watch`. May be called on any queue.

        With a deadline, the watch remains if another thread still holds the private queue at the deadline.
        """
        watcher, handle = self._watcher, self._handle
        if watcher is None or handle is None:
            return
        arguments = (handle, _abi.CONTEXT_INTERRUPT_FN(), None, _abi.DESTROY_FN())

        def unset() -> None:
            self._watcher = None
            call(lib.cst_context_set_interrupt, *arguments)

        if self._queue_type != _abi.QUEUE_PRIVATE:
            unset()
        elif deadline is None:
            queue.perform_and_wait(self, handle, unset)
        else:
            while call(lib.cst_context_try_lock, handle) != _abi.OK:
                if time.monotonic() >= deadline:
                    interrupt.immortal(watcher.callback)
                    return
                time.sleep(queue.EXIT_STEP)
            try:
                unset()
            finally:
                call(lib.cst_context_unlock, handle)

    def _work(self, function: Any, *arguments: Any) -> int:
        """Calls a long-running function of the context, and raises the exception of a signal handler that ran in it."""
        return self._work_on(self._open, function, *arguments)

    def _work_on(self, handle: int, function: Any, *arguments: Any) -> int:
        """Does the same as `_work`, with a handle that belongs to the context."""
        if self._is_main:
            self._watch()
        self._stamp = Stamp()
        error = Handle()
        status: int = function(handle, *arguments, byref(error))
        raised = self._watcher.take() if self._watcher is not None else None
        problem = failure(status, error) if status < 0 else None
        del error  # a traceback would keep it alive
        if raised is not None:
            raise raised
        if problem is not None:
            raise raisable(problem)
        return status

    # ---- inserting and deleting

    def insert(self, entity: EntityLike, /, **new: Any) -> Any:
        """Inserts an object and returns it: ctx.insert("Employee", name="Ada", department=research).

        If the call fails, no object is inserted.
        """
        description = self._entity(entity)
        quick = description._insertion
        if quick is not None and self._handle is not None:
            made: list[Any] = []
            try:
                item = quick(self, self._handle, new, made)
                if item is not None:
                    return item
            except BaseException:
                # A signal handler may have raised this exception after the object was inserted.
                for item in made:
                    _delete(self._argument, item._cst_handle, None)
                raise
        context = self._argument or self._open
        hold = Handle()
        try:
            call(_insert, context, description._argument, byref(hold))
            item = self._adopt(hold, description)
            if new:
                for name in set_single_values(item, new):
                    setattr(item, name, new[name])
        except BaseException:
            # A signal handler may have raised this exception. Before this single C call, no other handler can run.
            _delete(context, hold, None)
            self._stamp = Stamp()
            raise
        if accelerator is not None and quick is None:
            description._insertion = make_insertion(description)
        return item

    def insert_many(
        self,
        entity: EntityLike,
        rows: Iterable[Mapping[str, Any]] | Iterable[Sequence[Any]],
        columns: Sequence[str] | None = None,
    ) -> int:
        """Inserts one object for each row, and returns their number. If the call fails, no object is inserted.

        Rows are dictionaries with the same keys, or tuples with the values of the properties that `columns` names. Only
        attributes and to-one relationships can be set. Errors name the row, counted from 1.
        """
        return self._insert_many(entity, rows, columns, False)[0]

    def insert_objects(
        self,
        entity: EntityLike,
        rows: Iterable[Mapping[str, Any]] | Iterable[Sequence[Any]],
        columns: Sequence[str] | None = None,
    ) -> list[Any]:
        """Inserts objects like insert_many, and returns them."""
        return self._insert_many(entity, rows, columns, True)[1]

    def _insert_many(
        self, entity: EntityLike, rows: Iterable[Any], columns: Sequence[str] | None, wanted: bool
    ) -> tuple[int, list[Any]]:
        description = self._entity(entity)
        names, values, count = columns_of(rows, columns, description.name)
        if not count:
            return 0, []
        given: list[tuple[PropertyDescription, Sequence[Any]]] = []
        for name, values_of in zip(names, values):
            each = description._key(name)
            if each.is_to_many:
                call_name = "insert_objects" if wanted else "insert_many"
                raise InvalidArgumentError(
                    f"{description.name}.{name} is a to-many relationship, which {call_name} cannot set; set it on the "
                    "objects, or set its inverse",
                    entity=description.name,
                    key=name,
                )
            given += plain_columns(each, values_of, description.name)
        names = [leaf.path for leaf, _ in given]
        block = Block(count, len(names))
        keys = (ctypes.c_uint32 * len(names))()
        for index, (leaf, column) in enumerate(given):
            keys[index] = leaf.key
            block.fill(index, column, leaf, description.name)
        out: Any = (ctypes.c_void_p * count)() if wanted else None
        # The owners of the handles that the call stores in `out`.
        holds = [Handle.from_buffer(out, place * _POINTER) for place in range(count)] if wanted else []
        call(lib.cst_context_insert_many, self._open, description._handle, count, len(names), keys, block.address, out)
        return count, [self._adopt(hold, description) for hold in holds]

    def insert_arrow(
        self,
        entity: EntityLike,
        data: Any,
        *,
        columns: Columns | None = None,
        missing: Literal["error", "null"] = "error",
        ignore_unknown: bool = False,
        naive_utc: bool = False,
        validate: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Inserts an object for each row of Arrow data, and returns their number.

            ctx.insert_arrow("Employee", polars.read_csv("staff.csv"), columns={"Team": "department.name"})

        data            a pyarrow.Table, polars.DataFrame, pandas.DataFrame, DuckDB relation, or other data with a
                        `__arrow_c_stream__` or `__arrow_c_array__` method. A reader can be imported only once
        columns         the properties of columns with other names: attributes, elements of composite attributes
                        ("address.city"), relationships, which take URIs, or keys of relationships ("department.name");
                        None ignores a column
        missing         "null": a key without an object is None; otherwise it is an error
        ignore_unknown  ignores columns that are not properties
        naive_utc       timestamps without a time zone are in UTC
        validate        validates the objects, so that an error names the row; a save validates them regardless
        progress        called with the number of rows and the total, which is 0 until the end; may raise an exception

        If the call fails, no object is inserted, and all objects have their former values and relationships. Hooks of
        deletion do not run for the removed objects. The error names row, column and property.

        A reader that another library has exhausted, or that has only a `__arrow_c_stream__` method and was imported
        before, cannot be distinguished from an empty one: the result is then 0.

        TypeMismatchError if a property does not take the type of its column.
        InvalidArgumentError for an unknown column, for a key without an object, and for a reader, such as a
        pyarrow.RecordBatchReader, that an import has already read, even if that import failed.
        """
        settings = ImportSettings(columns, None, missing, ignore_unknown, naive_utc, validate, progress)
        handle, stream = self._entity(entity)._handle, StreamCapsule(data)
        inserted = ctypes.c_uint64()
        with import_options(settings) as options:
            self._work(lib.cst_context_insert_arrow, handle, stream.hand_over(), byref(options), byref(inserted))
        return inserted.value

    def upsert_arrow(
        self,
        entity: EntityLike,
        data: Any,
        match: str | Sequence[str] | None = None,
        *,
        columns: Columns | None = None,
        missing: Literal["error", "null"] = "error",
        ignore_unknown: bool = False,
        naive_utc: bool = False,
        validate: bool = False,
        progress: Progress | None = None,
    ) -> UpsertCounts:
        """Updates the objects that have the keys of a row of Arrow data, and inserts objects for the other rows.

            ctx.upsert_arrow("Employee", frame, match="email")

        match   the attributes by which objects are found, or "objectID"; None: the first unique constraint whose
                attributes are columns

        Only properties with a column are set, and objects with equal values remain unchanged. A key with None does not
        match. The other parameters are those of insert_arrow. If the call fails, nothing is changed.

        InvalidArgumentError if several objects have the keys of a row.
        """
        settings = ImportSettings(columns, match, missing, ignore_unknown, naive_utc, validate, progress)
        handle, stream = self._entity(entity)._handle, StreamCapsule(data)
        inserted, updated = ctypes.c_uint64(), ctypes.c_uint64()
        with import_options(settings) as options:
            address = stream.hand_over()
            self._work(lib.cst_context_upsert_arrow, handle, address, byref(options), byref(inserted), byref(updated))
        return UpsertCounts(inserted.value, updated.value)

    def new(self, entity: EntityLike, /, **new: Any) -> Any:
        """Creates an object without inserting it into the context; see insert_object."""
        description = self._entity(entity)
        item = self._adopt(held(lib.cst_object_new, description._handle), description)
        for name in set_single_values(item, new):
            setattr(item, name, new[name])
        return item

    def insert_object(self, item: ManagedObject) -> None:
        """Inserts an object that `new` created."""
        self._stamp = Stamp()
        call(lib.cst_context_insert_object, self._open, item._cst_handle)
        if item._cst_context is not self:
            object.__setattr__(item, "_cst_context", self)

    def delete(self, item: ManagedObject) -> None:
        """Marks an object for deletion at the next save. Processing of pending changes applies the delete rules."""
        self._stamp = Stamp()
        call(lib.cst_context_delete, self._open, item._cst_handle)

    # ---- fetching

    def fetch(
        self,
        entity: EntityLike,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        offset: int = 0,
        prefetch: KeyPath | Sequence[KeyPath] = (),
        include_subentities: bool = True,
        include_pending_changes: bool = True,
        as_faults: bool = True,
        nulls: str = "memory",
        split: bool = True,
    ) -> Results:
        """Returns the objects that satisfy a predicate, in order.

            ctx.fetch("Employee", "age > %d AND department.name == %@", 40, "R&D", sort=["-salary"], limit=50)

        predicate   a Predicate, or a predicate format, followed by its arguments
        sort        key paths, with a leading "-" for descending order; Sort(...) for other options
        limit       the maximum number of objects (None and 0: all), after skipping `offset`
        prefetch    relationships to prefetch
        as_faults   False: no object is returned as a fault
        nulls       "database": comparisons with nil are neither true nor false, as in SQL
        split       False: UnsupportedError if a part of the predicate or order must be evaluated in memory
        """
        request = new_request(
            self._entity(entity), predicate, arguments, sort, limit, offset, prefetch,
            include_subentities, include_pending_changes, as_faults, nulls, split, freeze=True,
        )  # fmt: skip
        out = Handle()
        self._work(lib.cst_context_fetch, request.handle, byref(out))
        return Results(self, out.token, request.entity, BLOCK)  # the request does not have a batch size

    def execute(self, request: Any) -> Any:
        """Executes a fetch request or a batch request, and returns the result that its `result_type` selects.

        ctx.execute(FetchRequest("Employee", "age > 40", sort="name", batch_size=50))
        """
        return execute(self, request)

    def fetch_asynchronously(
        self, request: FetchRequest, function: Callable[[Any], Any] | None = None, *, estimated_count: int = 0
    ) -> AsynchronousFetch:
        """Begins an asynchronous fetch, whose rows another thread reads, and returns it.

            with ctx.perform():
                fetch = ctx.fetch_asynchronously(request, lambda people: [each.name for each in people])
            names = fetch.result()  # or: await fetch

        The context must have a private queue or the main queue. `function` is called with the result, on that queue.
        Fetches of dictionaries, from several stores, and in pinned or nested contexts run on the queue.
        """
        return AsynchronousFetch(self, request, function, estimated_count)

    async def afetch(self, request: FetchRequest, function: Callable[[Any], T]) -> T:
        """Fetches asynchronously, without blocking the event loop, and returns the result of `function`.

            names = await ctx.afetch(request, lambda people: [each.name for each in people])

        `function` is called with the fetched result, on the queue. When the task is cancelled, the fetch stops.
        """
        found: T = await (await self.aperform(self.fetch_asynchronously, request, function))
        return found

    def batch_insert(
        self,
        entity: EntityLike,
        rows: Iterable[Mapping[str, Any]] | Iterable[Sequence[Any]],
        columns: Sequence[str] | None = None,
    ) -> int:
        """Writes one object for each row directly into the store, and returns their number; see BatchInsertRequest."""
        return int(self.execute(BatchInsertRequest(entity, rows, columns, result_type="count")))

    def batch_insert_arrow(
        self,
        entity: EntityLike,
        data: Any,
        *,
        columns: Columns | None = None,
        ignore_unknown: bool = False,
        naive_utc: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Writes one object for each row of Arrow data directly into the store, and returns their number.

            ctx.batch_insert_arrow("Reading", pyarrow.parquet.read_table(path))

        Columns can only be attributes. The parameters are those of insert_arrow; see BatchInsertRequest.
        """
        request = BatchInsertRequest(
            entity,
            arrow=data,
            columns=columns,
            ignore_unknown=ignore_unknown,
            naive_utc=naive_utc,
            progress=progress,
            result_type="count",
        )
        return int(self.execute(request))

    def batch_upsert_arrow(
        self,
        entity: EntityLike,
        data: Any,
        match: str | Sequence[str] = (),
        *,
        columns: Columns | None = None,
        ignore_unknown: bool = False,
        naive_utc: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Updates or inserts one object for each row of Arrow data directly in the store, and returns their number.

        The attributes of `match` must have a unique constraint; by default, the first one whose attributes are columns.
        Only attributes with a column are updated. The other parameters are those of batch_insert_arrow.
        """
        request = BatchInsertRequest(
            entity,
            arrow=data,
            columns=columns,
            match=match,
            ignore_unknown=ignore_unknown,
            naive_utc=naive_utc,
            progress=progress,
            result_type="count",
        )
        return int(self.execute(request))

    def batch_update(
        self, entity: EntityLike, values: Mapping[str, Any], predicate: str | Predicate | None = None, *arguments: Any
    ) -> int:
        """Sets attributes of all objects that satisfy a predicate, in the store, and returns their number.

        ctx.batch_update("Employee", {"salary": Expression("salary * 1.1")}, "age > %d", 40)
        """
        return int(self.execute(BatchUpdateRequest(entity, values, predicate, *arguments, result_type="count")))

    def batch_delete(self, entity: EntityLike, predicate: str | Predicate | None = None, *arguments: Any) -> int:
        """Deletes all objects that satisfy a predicate, in the store, with delete rules, and returns their number."""
        request = FetchRequest(self._entity(entity), predicate, *arguments)
        return int(self.execute(BatchDeleteRequest(request, result_type="count")))

    def fetch_template(self, name: str, /, **variables: Any) -> Results:
        """Executes a fetch request template of the model, with values for its variables; None means nil.

        InvalidArgumentError if there is no template of that name.
        PredicateError for a variable without a value.
        """
        names, given = _abi.texts(list(variables)), Encoded(list(variables.values()), "variables")
        model, count = self.model._handle, len(variables)
        request = owned(lib.cst_model_copy_bound_template, model, _abi.text(name, "name"), count, names, given.address)
        out = Handle()
        self._work(lib.cst_context_fetch, request, byref(out))
        return Results(self, out.token, self.model._template_entity(name))

    def stream(
        self,
        entity: EntityLike,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        offset: int = 0,
        prefetch: KeyPath | Sequence[KeyPath] = (),
        batch: int = 1000,
        include_subentities: bool = True,
        include_pending_changes: bool = True,
        nulls: str = "memory",
        split: bool = True,
    ) -> Cursor:
        """Returns a cursor over the results of a fetch. The cursor keeps only a window of the results in memory.

            for item in ctx.stream("Reading", "value > 100", sort="time"):
                ...

        The cursor reads `batch` objects at a time. A batch is freed when its objects have no other references. Saves
        during the iteration are allowed: deleted rows are left out, and changed rows have their new values. Memory
        grows as for `fetch` if objects of the entity have unsaved changes, or the store cannot evaluate a sort key.
        """
        request = new_request(
            self._entity(entity), predicate, arguments, sort, limit, offset, prefetch,
            include_subentities, include_pending_changes, True, nulls, split, freeze=True,
        )  # fmt: skip
        cursor = Handle()
        self._work(
            lib.cst_context_fetch_cursor, request.handle, require_integer(batch, "batch", least=1), byref(cursor)
        )
        return Cursor(self, cursor.token, request.entity)

    def first(
        self,
        entity: EntityLike,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
    ) -> Any:
        """Returns the first object of a fetch, or None if there are no results."""
        return self.fetch(entity, predicate, *arguments, sort=sort, limit=1).first

    @overload
    def count(
        self,
        entity: EntityLike,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        limit: int | None = None,
        offset: int = 0,
        include_subentities: bool = True,
        include_pending_changes: bool = True,
        nulls: str = "memory",
        split: bool = True,
        key: KeyPath | Value[Any] | Expression | None = None,
    ) -> int: ...

    @overload
    def count(
        self,
        entity: EntityLike,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        include_subentities: bool = True,
        nulls: str = "memory",
        split: bool = True,
        key: KeyPath | Value[Any] | Expression | None = None,
        by: KeyPath | Sequence[KeyPath],
    ) -> dict[Any, int]: ...

    def count(
        self,
        entity: EntityLike,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        limit: int | None = None,
        offset: int = 0,
        include_subentities: bool = True,
        include_pending_changes: bool = True,
        nulls: str = "memory",
        split: bool = True,
        key: KeyPath | Value[Any] | Expression | None = None,
        by: KeyPath | Sequence[KeyPath] | None = None,
    ) -> Any:
        """Returns the number of objects that a fetch would return.

            ctx.count("Employee", "age > 40", by="department.name")     # {None: 1, "R&D": 12}

        With `key`, counts the values of the key that are not None. With `by`, returns a dictionary of counts by group.
        Both ignore unsaved changes.
        """
        if groups_are_computed(by):
            options = {"include_subentities": include_subentities, "nulls": nulls, "split": split}
            return aggregate_of_computed_groups(self, Aggregate.COUNT, entity, key, predicate, arguments, by, **options)
        request = new_request(
            self._entity(entity), predicate, arguments, (), limit, offset, (),
            include_subentities, include_pending_changes, True, nulls, split, group_by=() if by is None else by,
            freeze=True,
        )  # fmt: skip
        if key is not None or by is not None:
            return aggregate(self, Aggregate.COUNT, request.handle, key, by)
        out = ctypes.c_uint64()
        self._work(lib.cst_context_count, request.handle, byref(out))
        return out.value

    def aggregate(
        self,
        which: Aggregate,
        entity: EntityLike,
        key: KeyPath | Value[Any] | Expression | None,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        by: KeyPath | Sequence[KeyPath] | None = None,
        include_subentities: bool = True,
        nulls: str = "memory",
    ) -> Any:
        """Returns an aggregate of saved values, for example their sum, mean or minimum. None values are ignored.

            ctx.aggregate(Aggregate.MEDIAN, "Employee", "salary", "active == YES")

        key   a key path, possibly with a collection operator ("projects.@count"), or an expression ("salary * 12")
        by    a key path: the result is a dictionary of aggregates by group, sorted by group; with several key paths,
              the groups are tuples

        InvalidArgumentError names a key for which the aggregate is not defined.
        """
        if groups_are_computed(by):
            options = {"include_subentities": include_subentities, "nulls": nulls}
            return aggregate_of_computed_groups(self, which, entity, key, predicate, arguments, by, **options)
        request = new_request(
            self._entity(entity), predicate, arguments, (), None, 0, (), include_subentities, True, True, nulls,
            group_by=() if by is None else by, freeze=True,
        )  # fmt: skip
        return aggregate(self, which, request.handle, key, by)

    def sum(
        self,
        entity: EntityLike,
        key: KeyPath | Value[Any] | Expression,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        by: KeyPath | Sequence[KeyPath] | None = None,
    ) -> Any:
        """Returns the sum of a key; see `aggregate`.

        The sum is an int for integers and Booleans (a float if it exceeds 64 bits), a Decimal for decimals, otherwise a
        float; 0 without values.

        ctx.sum("Employee", "salary", "age > %d", 40)
        ctx.sum("Employee", "salary", by="department.name")  # {"R&D": 120000.0, "Sales": 95000.0}
        """
        return self.aggregate(Aggregate.SUM, entity, key, predicate, *arguments, by=by)

    def avg(
        self,
        entity: EntityLike,
        key: KeyPath | Value[Any] | Expression,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        by: KeyPath | Sequence[KeyPath] | None = None,
    ) -> Any:
        """Returns the mean of a key: a Decimal for decimals, otherwise a float; None without values."""
        return self.aggregate(Aggregate.AVERAGE, entity, key, predicate, *arguments, by=by)

    def min(
        self,
        entity: EntityLike,
        key: KeyPath | Value[Any] | Expression,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        by: KeyPath | Sequence[KeyPath] | None = None,
    ) -> Any:
        """Returns the minimum of a key; None without values. Strings are compared by code points."""
        return self.aggregate(Aggregate.MINIMUM, entity, key, predicate, *arguments, by=by)

    def max(
        self,
        entity: EntityLike,
        key: KeyPath | Value[Any] | Expression,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        by: KeyPath | Sequence[KeyPath] | None = None,
    ) -> Any:
        """Returns the maximum of a key; see `min`."""
        return self.aggregate(Aggregate.MAXIMUM, entity, key, predicate, *arguments, by=by)

    def fetch_rows(
        self,
        entity: EntityLike,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        columns: ColumnLike | Iterable[ColumnLike] = (),
        group_by: KeyPath | Sequence[KeyPath] = (),
        having: str | Predicate | None = None,
        distinct: bool = False,
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        offset: int = 0,
        include_subentities: bool = True,
        nulls: str = "memory",
        split: bool = True,
        in_memory: bool = False,
    ) -> list[dict[str, Any]]:
        """Returns saved values of columns instead of objects; each row is a dictionary.

            ctx.fetch_rows("Employee", columns=["department.name", {"pay": "sum:(salary)"}], group_by="department.name")

        columns    key paths ("name", Employee.name), {name: expression}, or ExpressionDescription; by default every
                   stored attribute
        group_by   key paths or names of columns; rows with equal values form one group and one row
        having     a predicate for groups; may name columns and call aggregate functions
        distinct   returns only the first of equal rows
        in_memory  computes columns from objects even if SQL could: slower, with the same result; for comparison

        The grouping columns are the tie-breaker of `sort`. The other parameters are those of `fetch`. `objectID` at the
        end of a key path is the ID of the object.

        InvalidArgumentError names an invalid column.
        """
        request = new_request(
            self._entity(entity), predicate, arguments, sort, limit, offset, (),
            include_subentities, True, True, nulls, split,
            columns=columns, group_by=group_by, having=having, distinct=distinct, in_memory=in_memory, freeze=True,
        )  # fmt: skip
        out = Handle()
        self._work(lib.cst_context_fetch_rows, request.handle, byref(out))
        return read_rows(out.token)

    def arrow(
        self,
        entity: EntityLike,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        columns: ColumnLike | Iterable[ColumnLike] = (),
        group_by: KeyPath | Sequence[KeyPath] = (),
        having: str | Predicate | None = None,
        distinct: bool = False,
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        offset: int = 0,
        keys: bool = False,
        decimal_text: bool = False,
        batch_size: int = 0,
        include_subentities: bool = True,
        include_pending_changes: bool = True,
        nulls: str = "memory",
        split: bool = True,
    ) -> ArrowData:
        """Returns the results of a fetch as columns for pyarrow, polars, pandas or DuckDB, without creating objects.

            polars.DataFrame(ctx.arrow("Employee", "age > 40", columns=["name", "department.name", "hired"]))

        columns        key paths as for `Results.arrow`, read when their batch is requested. With computed columns,
                       groups or distinct rows, the call fetches rows, and ignores unsaved changes
        keys           exports objects as primary keys (int64) instead of URIs
        decimal_text   exports decimals as text, regardless of their number of digits
        batch_size     the maximum number of rows in a record batch; 0: 65,536

        The other parameters are those of `fetch` and `fetch_rows`. Each request for the data runs the fetch again.

        InvalidArgumentError names an invalid column.
        """
        names = key_paths(columns)
        if distinct or having is not None or listed(group_by):
            names = None
        request = new_request(
            self._entity(entity), predicate, arguments, sort, limit, offset, (),
            include_subentities, include_pending_changes, True, nulls, split,
            columns=columns if names is None else (), group_by=group_by, having=having, distinct=distinct, freeze=True,
        )  # fmt: skip
        return fetch_data(self, request, names or [], flags(keys, decimal_text), batch_size)

    def explain(
        self,
        entity: EntityLike,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        offset: int = 0,
        columns: ColumnLike | Iterable[ColumnLike] = (),
        group_by: KeyPath | Sequence[KeyPath] = (),
        having: str | Predicate | None = None,
        distinct: bool = False,
        include_subentities: bool = True,
        include_pending_changes: bool = True,
        nulls: str = "memory",
        split: bool = True,
    ) -> FetchExplanation:
        """Explains a fetch without running it: the SQL, its values, the query plan, the indexes and the work in memory.

            print(ctx.explain("Employee", "age > 40", sort="name"))

        With `columns` or `group_by`, explains `fetch_rows`.

        Raises the errors that the fetch would raise before it reads a row.
        """
        request = new_request(
            self._entity(entity), predicate, arguments, sort, limit, offset, (),
            include_subentities, include_pending_changes, True, nulls, split,
            columns=columns, group_by=group_by, having=having, distinct=distinct, freeze=True,
        )  # fmt: skip
        rows = _abi.EXPLAIN_ROWS if listed(columns) or listed(group_by) else 0
        text, report = _abi.Buffer(), _abi.Buffer()
        self._work(lib.cst_context_explain, request.handle, _abi.EXPLAIN_TEXT | rows, byref(text))
        words = _abi.take_text(text)
        self._work(lib.cst_context_explain, request.handle, _abi.EXPLAIN_JSON | rows, byref(report))
        return explanation(report, words)

    def fetch_ids(
        self,
        entity: EntityLike,
        predicate: str | Predicate | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        offset: int = 0,
        include_subentities: bool = True,
        nulls: str = "memory",
        split: bool = True,
    ) -> list[ObjectID]:
        """Returns the IDs of the objects of a fetch, without creating objects."""
        request = new_request(
            self._entity(entity), predicate, arguments, sort, limit, offset, (),
            include_subentities, True, True, nulls, split, freeze=True,
        )  # fmt: skip
        out = Handle()
        self._work(lib.cst_context_fetch_ids, request.handle, byref(out))
        return Results(self, out.token, request.entity).ids()

    def _id(self, which: ObjectID | str) -> ObjectID | None:
        return self.coordinator.object_id(which) if isinstance(which, str) else which

    def get(self, which: ObjectID | str) -> Any:
        """Returns the object of an ID or URI, as a fault unless it is registered. Does not read the store."""
        if accelerator is not None:
            item = registered(self, which)
            if item is not None:
                return item
        if which is None:
            raise InvalidArgumentError("which is None; pass the ID or the URI of an object", key="which")
        found = self._id(which)
        if found is None:
            raise InvalidArgumentError(
                f'"{which}" is not the URI of an object in a store of the coordinator; check the URI, or open the '
                "object's store with add_store or with the container's load method",
                key="which",
                value=str(which),
                object_uri=str(which),
            )
        context = self._argument or self._open
        item = self._adopt(held(_with_id, context, found._argument), None)
        if accelerator is not None:
            remember(found, item, found._handle, self._handle or 0)
        return item

    def existing(self, which: ObjectID | str) -> Any:
        """Returns the object of an ID or URI with its values; ObjectGoneError (133000) if no store has the object."""
        if which is None:
            raise ObjectGoneError("which is None; pass the ID or the URI of an object", code=133000, key="which")
        found = self._id(which)
        if found is None:
            raise ObjectGoneError(
                f'"{which}" is not the URI of an object in a store of the coordinator; check the URI, or open the '
                "object's store with add_store or with the container's load method",
                code=133000,
                key="which",
                value=str(which),
                object_uri=str(which),
            )
        return self._adopt(held(lib.cst_context_existing_object, self._open, found._handle), None)

    def registered(self, which: ObjectID | str) -> Any:
        """Returns the object of an ID or URI if it is registered with the context, else None."""
        found = self._id(which)
        hold = held(lib.cst_context_registered_object, self._open, found._handle) if found is not None else None
        return self._adopt(hold, None) if hold else None

    # ---- changes

    def save(self, *, merge_policy: PolicyLike | None = None) -> None:
        """Validates and writes all changes, in one transaction for each store. A failed transaction writes nothing.

        A child saves into its parent.

            try:
                ctx.save()
            except ConflictError as error:
                show(error.conflicts)
                ctx.save(merge_policy=MergePolicy.OBJECT_TRUMP)

        merge_policy   for this save only: a MergePolicy, a MergePolicyType, or a function that resolves conflicts;
                       None: the policy of the context

        ConflictError if there are conflicts that the policy does not resolve.
        """
        if merge_policy is None:
            return self._save()
        usual, self.merge_policy = self.merge_policy, policy(merge_policy)
        try:
            self._save()
        finally:
            self.merge_policy = usual

    def _save(self) -> None:
        deleted: list[ManagedObject] = []
        if self.model._is_hooked:
            # Hooks also run for deleted objects, which may have no other reference.
            self.process_pending_changes()
            deleted = list(self.deleted)
        try:
            self._work(lib.cst_context_save)
        except CorestoneError as error:
            for each in error.conflicts:
                each._context = self
            raise
        deleted.clear()
        nesting.saved(self)

    @property
    def merge_policy(self) -> MergePolicy:
        """The policy that resolves conflicts of a save; initially MergePolicy.ERROR. Can be set to a PolicyLike."""
        return self._merge_policy

    @merge_policy.setter
    def merge_policy(self, new: PolicyLike) -> None:
        self._merge_policy = policy(new)
        handle = self._merge_policy._make()
        call(lib.cst_context_set_merge_policy, self._open, handle)

    def detect_conflicts(self, item: ManagedObject) -> None:
        """Makes the next save check that an unchanged object still has the same version in the store.

        Another version is a conflict. A rollback or a reset cancels the check.
        """
        call(lib.cst_context_detect_conflicts, self._open, item._cst_handle)

    def validate(self) -> None:
        """Validates all changes that a save would write, without writing: raises the ValidationError of `save`.

        New and changed objects with equal values of a unique constraint are reported too (code 1551). Only a save
        compares them with other rows of the store.
        """
        self._work(lib.cst_context_validate)

    def rollback(self) -> None:
        """Discards all unsaved changes and all undo steps."""
        self._stamp = Stamp()
        call(lib.cst_context_rollback, self._open)

    def reset(self) -> None:
        """Deregisters every object and discards unsaved changes; existing objects then raise ObjectGoneError."""
        self._stamp = Stamp()
        known = list(self.known) if self.model._is_hooked else []
        call(lib.cst_context_reset, self._open)
        known.clear()

    @contextmanager
    def without_tracking(self) -> Iterator[None]:
        """Disables change tracking of attributes in a block: objects do not count as changed, undo records nothing.

        A save writes the values if it writes the object because of another change; a refresh discards them. Changes of
        relationships are still tracked, because both sides must agree.
        """
        call(lib.cst_context_disable_tracking, self._open)
        try:
            yield
        finally:
            call(lib.cst_context_enable_tracking, self._open)

    def refresh(self, item: ManagedObject, merge: bool = True) -> None:
        """Refreshes an object to its newest state. `merge` keeps its unsaved changes; otherwise they are discarded."""
        self._stamp = Stamp()
        drop_held_values(item)
        call(lib.cst_object_refresh, item._cst_handle, merge)

    def refresh_all(self) -> None:
        """Refreshes every object to the store's newest state, and keeps its unsaved changes."""
        self._stamp = Stamp()
        for item in objects():
            if item._cst_context is self:
                drop_held_values(item)
        call(lib.cst_context_refresh_all, self._open)

    def process_pending_changes(self) -> None:
        """Applies delete rules, and records the changes as an undo step.

        Saves, counts, fetches, undo and the end of a `perform` do this automatically.
        """
        self._work(lib.cst_context_process_pending_changes)

    @property
    def undo_manager(self) -> UndoManager | None:
        """The manager that records the context's changes, one undo step for each event; initially None.

        Setting None makes the former manager discard this context's changes.
        """
        return self._undo_manager

    @undo_manager.setter
    def undo_manager(self, manager: UndoManager | None) -> None:
        call(lib.cst_context_set_undo_manager, self._open, manager._handle if manager is not None else None)
        self._undo_manager = manager

    def undo(self) -> bool:
        """Undoes the newest step of the undo manager, including pending changes.

        Returns False if there is nothing to undo, or no manager.
        """
        return self._step(lib.cst_context_undo)

    def redo(self) -> bool:
        """Redoes the step that was undone last. Returns False if there is nothing to redo."""
        return self._step(lib.cst_context_redo)

    def _step(self, function: Any) -> bool:
        try:
            return self._work(function) == _abi.OK
        finally:
            forget_what_was_read()

    def assign(self, item: ManagedObject, store: Store) -> None:
        """Selects the store into which an inserted object is saved, instead of the first suitable one.

        InvalidArgumentError for an object that was saved or has a permanent ID, for a store of another coordinator, and
        for a store whose configuration lacks the object's entity.
        """
        call(lib.cst_context_assign, self._open, item._cst_token, store._handle)

    def obtain_permanent_ids(self, items: Iterable[ManagedObject]) -> None:
        """Assigns permanent IDs to inserted objects before they are saved."""
        kept = list(items)
        array = (ctypes.c_void_p * len(kept))(*[item._cst_token for item in kept])
        call(lib.cst_context_obtain_permanent_ids, self._open, len(kept), array)

    @overload
    def observe(
        self, notification: ContextNotification | str, function: Callable[[Context, ContextChanges], Any]
    ) -> Observation: ...

    @overload
    def observe(
        self,
        notification: FetchRequest,
        function: Callable[[Context, Difference], Any],
        *,
        sections: str | None = None,
        dependencies: Sequence[str] = (),
    ) -> Observation: ...

    @overload
    def observe(
        self,
        notification: FetchRequest,
        function: None = None,
        *,
        sections: str | None = None,
        dependencies: Sequence[str] = (),
        timeout: float | None = None,
    ) -> LiveQuery: ...

    def observe(
        self,
        notification: ContextNotification | str | FetchRequest,
        function: Callable[[Context, Any], Any] | None = None,
        *,
        sections: str | None = None,
        dependencies: Sequence[str] = (),
        timeout: float | None = None,
    ) -> Any:
        """Calls function(context, changes) on the context's queue for each notification of a kind, such as "did_save".

        The observation lasts as long as the returned token is referenced. Any thread may call this method.

        With a FetchRequest, function(context, difference) first receives all results as insertions, and then a
        Difference for each event that changes them. Without a function, returns a LiveQuery for `for` or `async for`.
        `sections` is a key path whose values name sections. `dependencies` are key paths to objects; a change of such
        an object is an update of the results that refer to it. With a FetchRequest, call this on the context's queue.
        """
        from .live import LiveQuery, observe_fetch
        from .observation import observe_context

        if not isinstance(notification, FetchRequest):
            if function is None:
                raise InvalidArgumentError(
                    f"cannot observe {shown(notification)}: function is None; pass a function, or call "
                    "context.notifications(notification) for an async iterator",
                    key="function",
                )
            return observe_context(self, self._open, notification, function)
        if function is not None:
            return observe_fetch(self, notification, function, sections, dependencies)
        query = LiveQuery(self, notification, sections, dependencies, timeout)
        self._sequences.add(query)
        return query

    @property
    def name(self) -> str | None:
        """The name of the context, used in messages and recorded in the history of the stores to which it saves."""
        return self._name

    @name.setter
    def name(self, name: str | None) -> None:
        call(lib.cst_context_set_name, self._open, _abi.null_text() if name is None else _abi.text(name, "name"))
        self._name = name

    @property
    def transaction_author(self) -> str | None:
        """The author of the changes that the context saves, recorded in the history of the stores."""
        return self._author

    @transaction_author.setter
    def transaction_author(self, author: str | None) -> None:
        call(
            lib.cst_context_set_transaction_author,
            self._open,
            _abi.null_text() if author is None else _abi.text(author, "author"),
        )
        self._author = author

    @property
    def has_changes(self) -> bool:
        """Whether the context has unsaved changes."""
        out = ctypes.c_bool()
        call(lib.cst_context_has_changes, self._open, byref(out))
        return out.value

    @property
    def has_persistent_changes(self) -> bool:
        """Whether a save would write anything; changes of transient properties alone are not written."""
        out = ctypes.c_bool()
        call(lib.cst_context_has_persistent_changes, self._open, byref(out))
        return out.value

    def _changed(self, which: int) -> Results:
        return Results(self, owned(lib.cst_context_copy_changed, self._open, which), None)

    @property
    def inserted(self) -> Results:
        """The objects that the next save inserts."""
        return self._changed(_abi.CHANGED_INSERTED)

    @property
    def updated(self) -> Results:
        """The objects that the next save updates."""
        return self._changed(_abi.CHANGED_UPDATED)

    @property
    def deleted(self) -> Results:
        """The objects that the next save deletes."""
        return self._changed(_abi.CHANGED_DELETED)

    @property
    def known(self) -> Results:
        """All objects that are registered with the context."""
        return self._changed(_abi.CHANGED_REGISTERED)

    # ---- generations

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
            yield self
        finally:
            if former is None:
                self.unpin()
            else:
                self.pin(former)

    # ---- parents, children and merging

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
        return self._owner._child(self, queue, unsaved)

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
        nesting.follow(self, merges)

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
        self._remote = nesting.follow_remote(self) if merges else None
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
        nesting.merge(self, changes)

    def merge_remote_changes(self, changes: nesting.Changes) -> None:
        """Merges changes that bypassed the coordinator, for example of another process, like merge_changes.

        URIs are accepted too; URIs of other stores are ignored. The rows are first removed from the row cache.
        """
        nesting.merge_remote(self, changes)

    # ---- history

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
        nesting.merge_history(self, history)

    @property
    def history_token(self) -> HistoryToken | None:
        """The token of the last transaction that a save or a batch request of the context wrote, or None.

        In an observer of "did_save", it is the token of that save.
        """
        handle = owned(lib.cst_context_copy_history_token, self._open)
        return HistoryToken._owned(handle) if handle else None

    # ---- faulting

    def _option(self, which: int) -> int:
        return faulting.option(self._open, which)

    def _set_option(self, which: int, value: int) -> None:
        faulting.set_option(self._open, which, value)

    @property
    def fault_policy(self) -> str:
        """The policy for single faults, which a prefetch would have avoided.

        "batch" (initially; no effect), "warn" (logs once for each line of the program) or "error" (UnsupportedError).
        """
        return _abi.FAULT_POLICIES[self._option(_abi.OPTION_FAULT_POLICY)]

    @fault_policy.setter
    def fault_policy(self, policy: str) -> None:
        self._set_option(_abi.OPTION_FAULT_POLICY, faulting.policy_number(policy))
        faulting.follow(self._open)

    @property
    def fault_batch_size(self) -> int:
        """The maximum number of objects that one fault loads: the object and its siblings; 256 by default."""
        return self._option(_abi.OPTION_FAULT_BATCH_SIZE)

    @fault_batch_size.setter
    def fault_batch_size(self, size: int) -> None:
        self._set_option(_abi.OPTION_FAULT_BATCH_SIZE, require_integer(size, "fault_batch_size"))

    @property
    def counts_single_faults(self) -> bool:
        """Whether single faults are counted. Setting True restarts the count."""
        return bool(self._option(_abi.OPTION_COUNTS_SINGLE_FAULTS))

    @counts_single_faults.setter
    def counts_single_faults(self, counts: bool) -> None:
        self._set_option(_abi.OPTION_COUNTS_SINGLE_FAULTS, counts)
        faulting.follow(self._open)

    @property
    def single_faults(self) -> list[SingleFaults]:
        """The counted single faults, by relationship and line of the program, most frequent first."""
        return faulting.report(self._open)

    @property
    def single_fault_report(self) -> str:
        """The counted single faults as human-readable lines."""
        return faulting.report_text(self._open)

    @property
    def staleness_interval(self) -> float | None:
        """The maximum age, in seconds, of a cached row that may fill a fault; None, the initial value: any age."""
        value = self._option(_abi.OPTION_STALENESS_MS)
        return None if value < 0 else value / 1000

    @staleness_interval.setter
    def staleness_interval(self, seconds: float | None) -> None:
        self._set_option(_abi.OPTION_STALENESS_MS, -1 if seconds is None or seconds < 0 else round(seconds * 1000))

    @property
    def retains_registered_objects(self) -> bool:
        """Whether the context retains every registered object, not only those with changes."""
        return bool(self._option(_abi.OPTION_RETAINS_REGISTERED_OBJECTS))

    @retains_registered_objects.setter
    def retains_registered_objects(self, retains: bool) -> None:
        self._set_option(_abi.OPTION_RETAINS_REGISTERED_OBJECTS, retains)

    @property
    def should_delete_inaccessible_faults(self) -> bool:
        """Whether an object whose row is missing counts as deleted, with None for its values; initially True.

        If False, reading it raises ObjectGoneError.
        """
        return bool(self._option(_abi.OPTION_DELETES_INACCESSIBLE_FAULTS))

    @should_delete_inaccessible_faults.setter
    def should_delete_inaccessible_faults(self, deletes: bool) -> None:
        self._set_option(_abi.OPTION_DELETES_INACCESSIBLE_FAULTS, deletes)

    @property
    def inaccessible_fault_handler(self) -> faulting.InaccessibleFaultHandler | None:
        """The callback (fault, id, property) -> bool that replaces should_delete_inaccessible_faults.

        The getter of the property raises the exceptions of the callback. Calls that look up the row, such as
        `existing`, do not call the callback.
        """
        return self._inaccessible

    @inaccessible_fault_handler.setter
    def inaccessible_fault_handler(self, handler: faulting.InaccessibleFaultHandler | None) -> None:
        faulting.set_handler(self._open, handler)
        self._inaccessible = handler

    @property
    def propagates_deletes_at_end_of_event(self) -> bool:
        """Whether processing pending changes applies delete rules; initially True. If False, a save applies them."""
        return bool(self._option(_abi.OPTION_DELETES_AT_END_OF_EVENT))

    @propagates_deletes_at_end_of_event.setter
    def propagates_deletes_at_end_of_event(self, propagates: bool) -> None:
        self._set_option(_abi.OPTION_DELETES_AT_END_OF_EVENT, propagates)

    @property
    def merges_batches(self) -> bool:
        """Whether changes by batch requests are merged automatically; initially True."""
        return bool(self._option(_abi.OPTION_MERGES_BATCHES))

    @merges_batches.setter
    def merges_batches(self, merges: bool) -> None:
        self._set_option(_abi.OPTION_MERGES_BATCHES, merges)

    # ---- queues

    @overload
    def perform(self) -> queue.Performing: ...
    @overload
    def perform(self, function: Callable[..., T], /, *arguments: Any, **named: Any) -> Future[T]: ...

    def perform(self, *arguments: Any, **named: Any) -> Any:
        """Runs work on the context's queue. Without a function, begins a block in which the thread holds the queue:

            with ctx.perform():
                ctx.insert("Employee", name="Ada")
                ctx.save()

        Blocks nest. Each waits until the queue is free, even within another context's block. A block of a parent must
        not wait for the queue of its child: a deadlock raises WrongThreadError with code 132000.

        With a function, queues the function and immediately returns a future, which receives the result or exception.
        asyncio.wrap_future makes the future awaitable. Cancelling it before the function begins prevents the call.
        Objects must not be used outside the queue; any thread can use IDs.
        """
        if not arguments:
            return queue.Performing(self, self._open)
        function, *arguments = arguments  # type: ignore[assignment]
        return queue.schedule(self, self._open, _abi.SCHEDULE_ENQUEUED, lambda: function(*arguments, **named))

    async def aperform(self, function: Callable[..., T], /, *arguments: Any, **named: Any) -> T:
        """Runs a function on the context's queue and awaits it; returns its result or raises its exception.

            names = await ctx.aperform(lambda: [each.name for each in ctx.fetch("Employee")])

        The event loop is not blocked. The function runs immediately on this thread if the thread already holds the
        queue, as for a context that is confined to it. If the task is cancelled before the function begins, it does not
        run.
        """
        if self._task is not None:
            queue.refuse_other_task(self, queue.task_here())
        work: Future[T] = queue.schedule(
            self, self._open, _abi.SCHEDULE_IMMEDIATE, lambda: function(*arguments, **named)
        )
        if work.done():
            return work.result()
        import asyncio

        return await asyncio.wrap_future(work)

    @property
    def executor(self) -> queue.ContextExecutor:
        """The executor for the context's queue: `await loop.run_in_executor(ctx.executor, function)`."""
        return queue.ContextExecutor(self)

    def notifications(
        self, notification: ContextNotification | str, *, newest: int | None = None
    ) -> Notifications[ChangedIDs]:
        """Returns an async iterator over the later notifications of one kind, as IDs.

            async for changes in ctx.notifications("did_save_object_ids"):
                print(changes.updated)

        The kinds are those of `observe`. The iterator ends when the context is closed or released. Saves do not wait
        for the task: unread notifications are queued, all of them or the last `newest`.
        """
        self._require_open()
        sequence = Notifications(
            self, newest, lambda tell: self.observe(notification, tell), lambda changes: changes.ids
        )
        self._sequences.add(sequence)
        return sequence

    def perform_and_wait(self, function: Callable[..., T], *arguments: Any, **named: Any) -> T:
        """Runs a function on the context's queue and waits for it; returns its result or raises its exception."""
        if self._task is not None:
            queue.refuse_other_task(self, queue.task_here())
        found: T = queue.perform_and_wait(self, self._open, lambda: function(*arguments, **named))
        return found

    # ---- closing

    @property
    def is_closed(self) -> bool:
        """Whether the context was closed."""
        return self._handle is None

    def close(self, unsaved: Policy | None = None) -> None:
        """Closes the context and its children. Their objects then raise ObjectGoneError.

        A second call has no effect. A context with a private queue first finishes its queued work.

        The view context of a container and the context of a document are closed with their owner. This call applies
        `unsaved` to their changes, but leaves them open.

        unsaved  the policy for unsaved changes: "refuse" (UnsavedChangesError counts them by entity, and nothing is
                 closed), "save" (a child saves into its parent; if the save fails, the context stays open) or
                 "discard". None: the policy with which the context or its creator was created.
        """
        handle = self._handle
        if handle is None:
            return
        policy = policy_of(unsaved, self._unsaved)
        closing = [] if self._is_shared else [*self._descendants(), self]
        hooked = [each._held_for_hooks(each._handle) for each in closing if each._handle is not None]
        for each in closing:
            each._is_closing = True  # controllers and live queries are not notified of the closing
        try:
            with contextlib.suppress(ForkedError):  # in a forked child, every call fails
                self._work_on(handle, lib.cst_context_close, _abi.UNSAVED.index(policy))
        except BaseException:
            for each in closing:
                each._is_closing = False
            raise
        hooked.clear()
        if policy == "save":
            nesting.saved(self)
        if not self._is_shared:
            self._forget_handle()
            for each in closing:
                each._close_for_owner(policy)

    def _descendants(self) -> list[Context]:
        """Returns the descendants of this context, each after its own descendants."""
        found: list[tuple[int, Context]] = []
        for each in list(self._owner._contexts):
            depth, beneath = 1, each._parent
            while beneath is not None and beneath is not self:
                depth, beneath = depth + 1, beneath._parent
            if beneath is self:
                found.append((depth, each))
        return [each for _, each in sorted(found, key=lambda entry: -entry[0])]

    def _close_for_owner(self, policy: Policy = "discard") -> None:
        """Closes the context for its owner, which handles unsaved changes.

        If the context is confined to another thread, its objects are freed when the last of them is released.
        """
        handle = self._handle
        if handle is None:
            return
        self._is_closing = True
        try:
            self._unwatch()
            if self._is_shared:
                if self._queue_type == _abi.QUEUE_PRIVATE:
                    queue.perform_and_wait(self, handle, self.reset)
                else:
                    self.reset()
            else:
                hooked = self._held_for_hooks(handle)
                call(lib.cst_context_close, handle, _abi.UNSAVED.index(policy))
                hooked.clear()
        except CorestoneError:
            pass
        self._forget_handle()

    def _refusals(self) -> list[str]:
        """Returns messages about the unsaved changes that keep the context open; without changes, closes it."""
        try:
            self.close("refuse")
        except UnsavedChangesError as refusal:
            return [each.message for each in refusal.details]
        return []

    def _held_for_hooks(self, handle: int) -> list[ManagedObject]:
        """Returns all objects, to keep them alive for the hooks of the closing; they may have no other reference."""
        if not self.model._is_hooked:
            return []
        try:
            if self._queue_type == _abi.QUEUE_PRIVATE:
                return cast("list[ManagedObject]", queue.perform_and_wait(self, handle, lambda: list(self.known)))
            return list(self.known)
        except CorestoneError:
            return []  # the context is confined to another thread

    def _forget_handle(self) -> None:
        end_all(self)
        self._stamp = Stamp()
        self._watcher = None
        self._cst_is_held = False
        self._handle = self._argument = self._remote = None
        for sequence in list(self._sequences):
            sequence.close()

    def __enter__(self) -> Context:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the context, like the `with` block of a container."""
        leave_block(self, raised)

    def __repr__(self) -> str:
        return f"<Context of {self._owner._title}, {_QUEUES[self._queue_type]}{', closed' * self.is_closed}>"
