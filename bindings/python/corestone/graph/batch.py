"""Batch requests: insertions, updates and deletions of many rows directly in the store, without objects."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any, ClassVar, Union, cast

from .. import _abi
from .._abi import conversion, lib, text, values
from .._abi.arguments import elements, function, handles, plural, quoted, require_instance, shown
from .._abi.borrowed import batches
from .._abi.call import call, owned
from .._abi.callbacks import reported
from .._abi.checked import Checked
from .._abi.handles import Handle, Token, retained_owner
from .._abi.interrupt import immortal
from ..errors import InvalidArgumentError, TypeMismatchError, UnsupportedError
from ..model.composite import decompose, leaves
from ..model.property import PropertyDescription
from ..model.transformer import to_bytes
from ..predicate.expression import Expression
from ..predicate.predicate import Predicate
from .arrow_import import Columns, ImportSettings, Progress, StreamCapsule, import_options, is_one_shot
from .bulk import Block, plain_columns
from .fetching import required_predicate
from .object_id import ObjectID
from .request import FetchRequest, PersistentStoreRequest, store_handles
from .results import Results

if TYPE_CHECKING:
    from ..model.entity import Entity
    from ..stores.store import Store
    from .context import Context, EntityLike

_RESULTS = ("status", "ids", "count", "changes")
_CHANGES = ("inserted", "updated", "deleted", "refreshed")
BatchOutcome = Union[bool, int, "list[ObjectID]", "dict[str, list[ObjectID]]"]
_MISSING: Any = object()
_numbers = itertools.count(1)
_sources: dict[int, Callable[..., None]] = {}


def _name_of(entity: Any) -> str | None:
    """Returns the name of an entity that was passed as a name, a class or an Entity; None for another value."""
    if isinstance(entity, str):
        return entity
    if isinstance(entity, type):
        own = vars(entity).get("_cst_entity")
        return own.name if own is not None else getattr(entity, "_cst_entity_name", None)
    return getattr(entity, "name", None)


class _BatchRequest(Checked, PersistentStoreRequest):
    """The common base of the three batch requests.

    result_type   "status" (True), "ids" (a list), "count" (an int) or "changes": the IDs by kind of change, as
                  `Context.merge_changes` accepts them, with the IDs of indirectly changed rows as "refreshed"
    merge         False: contexts do not merge the changes automatically
    stores        the stores to change; None: all stores for the entity; an empty list: no store
    """

    _cst_attributes: ClassVar[tuple[str, ...]] = ("merge", "result_type", "stores")

    def __init__(self, result_type: str, merge: bool, stores: Sequence[Store] | None) -> None:
        self.result_type = result_type
        self.merge = merge
        self.stores = stores

    def _build(self, context: Context) -> Token:
        """Returns the library's request."""
        raise NotImplementedError

    def _entity_name(self) -> str | None:
        return _name_of(getattr(self, "entity", None))

    def _execute(self, context: Context) -> BatchOutcome:
        if not isinstance(self.result_type, str) or self.result_type not in _RESULTS:
            raise UnsupportedError(
                f"result_type must be {quoted(_RESULTS)}, not {shown(self.result_type)}",
                code=134091,
                entity=self._entity_name(),
                key="result_type",
                value=self.result_type,
            )
        handle = self._build(context)
        outer, batches.context = getattr(batches, "context", None), context
        try:
            if not self.merge:
                call(lib.cst_batch_set_merges, handle, False)
            if self.stores is not None:
                call(lib.cst_batch_set_stores, handle, *store_handles(self.stores))
            count, ids = ctypes.c_uint64(), Handle()
            wanted = byref(ids) if self.result_type in ("ids", "changes") else None
            context._work(lib.cst_context_execute_batch, handle, byref(count), wanted)
            listed = [] if wanted is None else Results(context, ids.token, None).ids()
            if self.result_type == "changes":
                return {change: _changed(context, handle, place) for place, change in enumerate(_CHANGES, 1)}
        finally:
            batches.context = outer
            handle.hold = None
        if self.result_type == "ids":
            return listed
        return count.value if self.result_type == "count" else True


def _changed(context: Context, request: int, change: int) -> list[ObjectID]:
    out = Handle()
    context._work(lib.cst_context_copy_batch_ids, request, change, byref(out))
    return Results(context, out.token, None).ids()


class BatchInsertRequest(_BatchRequest):
    """A request that inserts an object for each row.

        ctx.execute(BatchInsertRequest("Reading", read_file(path), columns=("time", "value")))

    rows      an iterable of dictionaries by attribute name, or of tuples with the values of the attributes that
              `columns` names. A few hundred rows of an iterator are in memory at a time. Attributes that a row omits
              get their defaults.
    handler   instead of `rows`: called for each row with an empty dictionary, which it fills, until it returns True
    objects   instead of `rows`: called for each row with the same object, whose values it sets, until it returns True
    arrow     instead of `rows`: Arrow data, such as a pyarrow.Table or a polars.DataFrame. `columns` is a dictionary of
              the attributes of columns with other names. `ignore_unknown`, `naive_utc` and `progress` are those of
              Context.insert_arrow
    match     for Arrow data: the attributes of a unique constraint; a row with the values of a stored row updates it,
              regardless of the merge policy. An empty list selects the first constraint whose attributes are columns

    If `rows` is an iterator, or `arrow` can be read only once, such as a reader of pyarrow, the request can be executed
    only once. A reader that another import has read raises InvalidArgumentError. One that another library has
    exhausted, or that has only a `__arrow_c_stream__` method and was imported before, cannot be distinguished from an
    empty one: no row is written.
    """

    request_type = 5
    _cst_attributes = (
        *_BatchRequest._cst_attributes, "arrow", "columns", "entity", "handler", "ignore_unknown", "match", "naive_utc",
        "objects", "progress", "rows",
    )  # fmt: skip

    def __init__(
        self,
        entity: EntityLike,
        rows: Iterable[Mapping[str, Any]] | Iterable[Sequence[Any]] | None = None,
        columns: Sequence[str] | Columns | None = None,
        *,
        handler: Callable[[dict[str, Any]], Any] | None = None,
        objects: Callable[[Any], Any] | None = None,
        arrow: Any = None,
        match: str | Sequence[str] | None = None,
        ignore_unknown: bool = False,
        naive_utc: bool = False,
        progress: Progress | None = None,
        result_type: str = "status",
        merge: bool = True,
        stores: Sequence[Store] | None = None,
    ) -> None:
        super().__init__(result_type, merge, stores)
        sources = sum(each is not None for each in (rows, handler, objects, arrow))
        if sources != 1:
            name = _name_of(entity)
            raise InvalidArgumentError(
                f"the BatchInsertRequest for {name or shown(entity)} has {sources} sources, but takes exactly one; "
                "pass rows, handler, objects or arrow",
                entity=name,
                key="rows",
                value=sources,
            )
        if arrow is None:
            _refuse_options(entity, match, ignore_unknown, naive_utc, progress)
        for given, parameter in ((handler, "handler"), (objects, "objects")):
            if given is not None:
                function(given, parameter)
        self.entity, self.rows, self.columns, self.handler, self.objects = entity, rows, columns, handler, objects
        self.arrow, self.match = arrow, match
        self.ignore_unknown, self.naive_utc, self.progress = ignore_unknown, naive_utc, progress
        self._options: _abi.ArrowImportOptions | None = None
        self._is_read = False

    def _execute(self, context: Context) -> BatchOutcome:
        if self.arrow is None:
            return super()._execute(context)
        settings = ImportSettings(
            cast("Columns | None", self.columns),
            self.match,
            ignore_unknown=self.ignore_unknown,
            naive_utc=self.naive_utc,
            progress=self.progress,
        )
        with import_options(settings, self.match is not None) as self._options:
            return super()._execute(context)

    def _build(self, context: Context) -> Token:
        entity = context._entity(self.entity)
        handle = owned(lib.cst_batch_insert_new, entity._handle)
        try:
            self._fill(handle, context, entity)
        except BaseException:
            handle.hold = None
            raise
        return handle

    def _fill(self, handle: int, context: Context, entity: Entity) -> None:
        if self.arrow is not None:
            if self._is_read:
                raise InvalidArgumentError(
                    f"the Arrow data of the BatchInsertRequest for {entity.name} was already read; create a "
                    "BatchInsertRequest with other data, or pass a table",
                    entity=entity.name,
                    key="arrow",
                )
            stream = StreamCapsule(self.arrow, "arrow")
            self._is_read = is_one_shot(self.arrow)
            call(lib.cst_batch_insert_set_arrow, handle, stream.hand_over(), self._options)
            return
        if self.objects is not None:
            source: Callable[..., None] = _ObjectSource(self.objects, context, entity)
            number = next(_numbers)
            _sources[number] = source
            call(lib.cst_batch_insert_set_object_handler, handle, _object_callback, number, _forget_callback)
            return
        rows = self.rows if self.rows is not None else _handled(self.handler or bool)
        source_rows = elements(rows, "rows", "an iterable of dictionaries or tuples")
        filler = _RowSource(entity, source_rows, cast("Sequence[str] | None", self.columns))
        number = next(_numbers)
        _sources[number] = filler
        keys = (ctypes.c_uint32 * max(len(filler.places), 1))(*[leaf.key for leaf in filler.places.values()])
        call(
            lib.cst_batch_insert_set_handler, handle, len(filler.places), keys, _rows_callback, number, _forget_callback
        )


def _refuse_options(entity: EntityLike, match: Any, ignore_unknown: Any, naive_utc: Any, progress: Any) -> None:
    """Raises an error for options of Arrow data."""
    given = {
        "match": match is not None,
        "ignore_unknown": ignore_unknown is not False,
        "naive_utc": naive_utc is not False,
        "progress": progress is not None,
    }
    for parameter in (name for name, is_given in given.items() if is_given):
        name = _name_of(entity)
        raise InvalidArgumentError(
            f"{parameter} of the BatchInsertRequest for {name or shown(entity)} applies only to Arrow data; omit it, "
            "or pass arrow",
            entity=name,
            key=parameter,
        )


def _handled(handler: Callable[[dict[str, Any]], Any]) -> Iterator[dict[str, Any]]:
    while True:
        row: dict[str, Any] = {}
        if handler(row):
            return
        yield row


class _RowSource:
    """A function that copies the next rows of an iterator into the library's buffer, up to the buffer's capacity."""

    def __init__(self, entity: Entity, rows: Iterator[Any], columns: Sequence[str] | None) -> None:
        self._entity = entity
        self._rows = rows
        self._columns = None if columns is None else tuple(elements(columns, "columns", "a list of names"))
        names = self._columns
        if names is None:
            settable = entity.properties.values()
            names = tuple(
                each.name for each in settable if each.is_attribute and not each.is_transient and not each.is_derived
            )
        found = [leaf for name in names for leaf in leaves(self._attribute(name))]
        self.places = {leaf.path: leaf for leaf in found}
        self._index = {path: index for index, path in enumerate(self.places)}
        self._alive: Any = None
        self._done = 0

    def _attribute(self, name: str) -> PropertyDescription:
        found = self._entity._key(name)
        why = (
            "is a relationship, but a batch request only sets attributes; set it on objects, and save them"
            if found.is_relationship
            else "is a fetched property and is not stored; omit it"
            if found.is_fetched
            else "is a derived attribute, which the store computes; omit it"
            if found.is_derived
            else "is transient and is not stored; omit it"
            if found.is_transient
            else None
        )
        if why:
            raise InvalidArgumentError(f"{self._entity.name}.{name} {why}", entity=self._entity.name, key=name)
        return found

    def __call__(self, capacity: int, target: int, out_rows: Any) -> None:
        rows = list(itertools.islice(self._rows, capacity))
        if not rows:
            return
        block = Block(len(rows), len(self.places), default=_abi.DEFAULT, first=self._done + 1)
        for name, column in self._named(rows):
            has_gaps = self._columns is None and any(value is _MISSING for value in column)
            plain = [None if value is _MISSING else value for value in column] if has_gaps else column
            for leaf, cells in plain_columns(self._attribute(name), plain, self._entity.name, self._done + 1):
                index = self._index[leaf.path]
                block.fill(index, cells, leaf, self._entity.name)
                if has_gaps:
                    block.leave(index, [row for row, value in enumerate(column) if value is _MISSING])
        ctypes.memmove(target, block.address, 24 * len(rows) * len(self.places))
        # The strings of the block must remain valid until the next call.
        self._alive = block
        self._done += len(rows)
        out_rows[0] = len(rows)

    def _named(self, rows: list[Any]) -> Iterator[tuple[str, Sequence[Any]]]:
        if self._columns is not None:
            for place, row in enumerate(rows):
                size: int | None
                try:
                    size = len(row)
                except TypeError:
                    size = None
                if size != len(self._columns):
                    if size is None or isinstance(row, (str, bytes, Mapping)):
                        remedy = "omit columns, or pass tuples" if isinstance(row, Mapping) else "pass tuples"
                        raise TypeMismatchError(
                            f"row {self._done + place + 1} must be a tuple or a list, not {shown(row)}; {remedy} in "
                            "the order of columns",
                            entity=self._entity.name,
                            key="rows",
                            value=row,
                        )
                    raise InvalidArgumentError(
                        f"row {self._done + place + 1} has {plural(size, 'value')} for "
                        f"{plural(len(self._columns), 'column')}; pass one value for each column",
                        entity=self._entity.name,
                        key="rows",
                        value=row,
                    )
            yield from zip(self._columns, zip(*rows))
            return
        names: dict[str, None] = {}
        for place, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise InvalidArgumentError(
                    f"row {self._done + place + 1} must be a dictionary, not {shown(row)}; pass dictionaries, or pass "
                    "tuples and columns=[...]",
                    entity=self._entity.name,
                    key="rows",
                    value=row,
                )
            if row.keys() != names.keys():
                names.update(dict.fromkeys(row))
        for name in names:
            yield name, [row.get(name, _MISSING) for row in rows]


class _ObjectSource:
    def __init__(self, handler: Callable[[Any], Any], context: Context, entity: Entity) -> None:
        self._handler, self._context, self._entity = handler, context, entity

    def __call__(self, token: int, out_stop: Any) -> None:
        out_stop[0] = bool(self._handler(self._context._adopt(retained_owner(token), self._entity)))


def _fill_rows(number: int, capacity: int, target: Any, out_rows: Any, error: Any) -> int:
    try:
        _sources[number](capacity, ctypes.addressof(target.contents), out_rows)
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


def _fill_object(number: int, token: int, out_stop: Any, error: Any) -> int:
    try:
        _sources[number](token, out_stop)
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


def _forget(number: int, sources: dict[int, Any] = _sources) -> None:
    sources.pop(number, None)


_rows_callback = immortal(_abi.BATCH_ROWS_FN(_fill_rows))
_object_callback = immortal(_abi.BATCH_OBJECT_FN(_fill_object))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))


class BatchUpdateRequest(_BatchRequest):
    """A request that sets attributes of all objects that satisfy a predicate.

        ctx.execute(BatchUpdateRequest("Employee", {"salary": Expression("salary * 1.1")}, "age > %d", 40))

    values   a dictionary. A key is the name of an attribute, or the path of an element of a composite attribute. A
             value is the new value, or an Expression that is computed from the row before the update
    """

    request_type = 6
    _cst_attributes = (*_BatchRequest._cst_attributes, "entity", "include_subentities", "predicate", "values")

    def __init__(
        self,
        entity: EntityLike,
        values: Mapping[str, Any],
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        include_subentities: bool = True,
        result_type: str = "status",
        merge: bool = True,
        stores: Sequence[Store] | None = None,
    ) -> None:
        super().__init__(result_type, merge, stores)
        if arguments and not isinstance(predicate, str):
            name = _name_of(entity)
            raise InvalidArgumentError(
                "arguments need a predicate format, but the predicate of the batch update of "
                f"{name or shown(entity)} is {shown(predicate)}; omit the arguments, or pass the predicate as a str "
                "with a conversion such as %@ for each",
                entity=name,
                key="predicate",
                value=predicate,
            )
        self.entity, self.values, self.include_subentities = entity, values, include_subentities
        require_instance(Mapping, values, "values", "a dictionary")
        self.predicate: Any = Predicate(predicate, *arguments) if isinstance(predicate, str) else predicate
        if self.predicate is not None:
            self.predicate = required_predicate(self.predicate, "predicate")

    def _build(self, context: Context) -> Token:
        entity = context._entity(self.entity)
        handle = owned(lib.cst_batch_update_new, entity._handle)
        try:
            if self.predicate is not None:
                call(lib.cst_batch_update_set_predicate, handle, self.predicate._handle)
            if not self.include_subentities:
                call(lib.cst_batch_update_set_includes_subentities, handle, False)
            for name, value in self.values.items():
                self._set(handle, entity, name, value)
        except BaseException:
            handle.hold = None
            raise
        return handle

    def _set(self, handle: int, entity: Entity, name: str, value: Any) -> None:
        if isinstance(value, Expression):
            encoded = conversion.encode_one(value)
            call(lib.cst_batch_update_set, handle, text(name, "name"), encoded.address)
            return
        description = entity._key(name)
        if not description.is_attribute:
            # The library reports the error.
            call(lib.cst_batch_update_set, handle, text(name, "name"), byref(_abi.Value()))
            return
        for leaf, part in decompose(description, value, entity.name):
            if leaf.transforms:
                part = to_bytes(leaf.transformer, part, entity.name, leaf.path, leaf.value_class, True)
            cell = _abi.Value()
            values.encode(cell, values.suited(leaf.attribute_type, part), entity.name, leaf.path)
            call(lib.cst_batch_update_set, handle, text(leaf.path), byref(cell))


class BatchDeleteRequest(_BatchRequest):
    """A request that deletes the results of a FetchRequest, with its order, limit and offset; or objects by ID.

        ctx.execute(BatchDeleteRequest(FetchRequest("Event", "time < %@", last_year)))

    Delete rules apply: cascade deletes further objects, nullify clears references to deleted objects, and deny makes
    the request fail.
    """

    request_type = 7
    _cst_attributes = (*_BatchRequest._cst_attributes, "objects")

    def __init__(
        self,
        objects: FetchRequest | Iterable[ObjectID],
        *,
        result_type: str = "status",
        merge: bool = True,
        stores: Sequence[Store] | None = None,
    ) -> None:
        super().__init__(result_type, merge, stores)
        what = "a FetchRequest or a list of ObjectID"
        self.objects = objects if isinstance(objects, FetchRequest) else list(elements(objects, "objects", what))

    def _entity_name(self) -> str | None:
        return self.objects.entity_name if isinstance(self.objects, FetchRequest) else None

    def _build(self, context: Context) -> Token:
        if isinstance(self.objects, FetchRequest):
            request = self.objects._build(context)
            return owned(lib.cst_batch_delete_new, request.handle)
        out = Handle()
        call(lib.cst_batch_delete_new_with_ids, *handles(self.objects, ObjectID, "objects"), byref(out))
        return out.token
