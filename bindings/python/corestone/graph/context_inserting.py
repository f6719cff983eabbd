"""A part of Context: insertion and deletion of objects."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any, Literal, overload

from .. import _abi
from .._abi import lib
from .._abi.call import call, held
from .._abi.handles import Handle
from .._abi.stamps import Stamp
from .._abi.wrappers import accelerator, make_insertion
from ..errors import InvalidArgumentError
from ..model.property import PropertyDescription
from .bulk import Block, columns_of, plain_columns
from .context_core import ContextCore, EntityLike
from .object import ManagedObject, set_single_values
from .typing import Kind

if TYPE_CHECKING:
    from ..model.entity import Entity
    from .arrow_import import Columns, Progress, UpsertCounts
    from .object import DynamicObject

_POINTER = ctypes.sizeof(ctypes.c_void_p)
_delete = _abi.raw("cst_context_delete")
_insert = _abi.raw("cst_context_insert")


class ContextInserting(ContextCore):
    """Insertion and deletion of objects."""

    @overload
    def insert(self, entity: type[Kind], /, **new: Any) -> Kind: ...
    @overload
    def insert(self, entity: str | Entity, /, **new: Any) -> DynamicObject: ...
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
            self._mark.stamp = Stamp()
            raise
        if accelerator is not None and quick is None:
            description._insertion = make_insertion(description)
        return item

    def insert_many(
        self,
        entity: EntityLike,
        rows: Iterable[Mapping[str, Any] | Sequence[Any]],
        columns: Sequence[str] | None = None,
    ) -> int:
        """Inserts one object for each row, and returns their number. If the call fails, no object is inserted.

        Rows are dictionaries with the same keys, or tuples with the values of the properties that `columns` names. Only
        attributes and to-one relationships can be set. Errors name the row, counted from 1.
        """
        return self._insert_many(entity, rows, columns, False)[0]

    @overload
    def insert_objects(
        self,
        entity: type[Kind],
        rows: Iterable[Mapping[str, Any] | Sequence[Any]],
        columns: Sequence[str] | None = None,
    ) -> list[Kind]: ...
    @overload
    def insert_objects(
        self,
        entity: str | Entity,
        rows: Iterable[Mapping[str, Any] | Sequence[Any]],
        columns: Sequence[str] | None = None,
    ) -> list[DynamicObject]: ...
    def insert_objects(
        self,
        entity: EntityLike,
        rows: Iterable[Mapping[str, Any] | Sequence[Any]],
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
        from .arrow_import import ImportSettings, StreamCapsule, import_options

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
        from .arrow_import import ImportSettings, StreamCapsule, UpsertCounts, import_options

        settings = ImportSettings(columns, match, missing, ignore_unknown, naive_utc, validate, progress)
        handle, stream = self._entity(entity)._handle, StreamCapsule(data)
        inserted, updated = ctypes.c_uint64(), ctypes.c_uint64()
        with import_options(settings) as options:
            address = stream.hand_over()
            self._work(lib.cst_context_upsert_arrow, handle, address, byref(options), byref(inserted), byref(updated))
        return UpsertCounts(inserted.value, updated.value)

    @overload
    def new(self, entity: type[Kind], /, **new: Any) -> Kind: ...
    @overload
    def new(self, entity: str | Entity, /, **new: Any) -> DynamicObject: ...
    def new(self, entity: EntityLike, /, **new: Any) -> Any:
        """Creates an object without inserting it into the context; see insert_object."""
        description = self._entity(entity)
        item = self._adopt(held(lib.cst_object_new, description._handle), description)
        for name in set_single_values(item, new):
            setattr(item, name, new[name])
        return item

    def insert_object(self, item: ManagedObject) -> None:
        """Inserts an object that `new` created."""
        if not isinstance(item, ManagedObject):
            self._refuse(item, "insert_object")
        self._mark.stamp = Stamp()
        call(lib.cst_context_insert_object, self._open, item._cst_handle)
        if item._cst_context is not self:
            object.__setattr__(item, "_cst_context", self)

    def delete(self, item: ManagedObject) -> None:
        """Marks an object for deletion at the next save. Processing of pending changes applies the delete rules."""
        if not isinstance(item, ManagedObject):
            self._refuse(item, "delete")
        self._mark.stamp = Stamp()
        call(lib.cst_context_delete, self._open, item._cst_handle)
