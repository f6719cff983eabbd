"""Requests for Context.execute: fetches with a result type, which can be kept, changed and copied."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any, Generic, Literal, Union, cast, overload

from .. import _abi
from .._abi import lib
from .._abi.arguments import flag, handles, quoted, require_instance, shown
from .._abi.call import call, owned
from .._abi.handles import Handle
from ..errors import InvalidArgumentError, TypeMismatchError, UnsupportedError
from ..model.archive import read_json
from ..model.definition import attribute_type
from ..predicate.expression import Expression, KeyPath
from ..predicate.predicate import Predicate
from ..predicate.sort import SortDescriptor, SortKey
from .fetching import Request, given_predicate, new_request, required_predicate
from .object import ManagedObject
from .object_id import ObjectID
from .results import Results
from .rows import ColumnLike, ExpressionDescription, LazyRows, read_rows
from .typing import Found_co, Item, Kind

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ..model.entity import Entity
    from ..stores.store import Store
    from .context import Context
    from .object import DynamicObject
    from .typing import RequestOptions

_RESULTS = {"objects": 0, "ids": 1, "dictionaries": 2, "count": 4}
FetchResult = Union["Results[Any]", "list[ObjectID]", "list[dict[str, Any]]", LazyRows, int]


def result_type_name(number: int) -> str:
    """Returns the name of a CST_RESULT_… number."""
    return next(name for name, value in _RESULTS.items() if value == number)


class PersistentStoreRequest:
    """A request to a store.

    `request_type` is Core Data's number: 1 for a fetch, 2 for a save, 5, 6 and 7 for a batch insertion, update and
    deletion.
    """

    __slots__: tuple[str, ...] = ()
    request_type = 0


class FetchRequest(PersistentStoreRequest, Generic[Item, Found_co]):
    """A fetch request, with the parameters of Context.fetch.

    None means that `entity`, `predicate`, `sort`, `prefetch`, `columns`, `group_by`, `having` or `stores` is not set.

        request = FetchRequest("Employee", "age > %d", 40, sort="-salary", batch_size=50)
        for person in ctx.execute(request):
            ...

    entity                   an Entity, a class, or a name, which is looked up when the request is used
    result_type              "objects" (Results), "ids" and "dictionaries" (lists) or "count" (an int)
    batch_size               the number of rows that are read at a time, on demand; 0: all rows together. For
                             dictionaries, it requires the column "objectID" (LazyRows); otherwise a warning is logged
    include_property_values  False: objects are faults whose rows are not fetched
    refresh                  True: loaded objects without unsaved changes receive the fetched values
    columns                  the columns of dictionaries; for objects, the properties whose values are loaded
    stores                   the stores to search; None: all
    """

    request_type = 1

    __slots__ = (
        "_entity", "_name", "as_faults", "batch_size", "columns", "distinct", "group_by", "having",
        "include_pending_changes", "include_property_values", "include_subentities", "limit", "nulls", "offset",
        "predicate", "prefetch", "refresh", "result_type", "sort", "split", "stores",
    )  # fmt: skip

    # The overloads follow `result_type`; after a change of `result_type` or `entity`, declare the request as Any.
    @overload
    def __init__(
        self: FetchRequest[Kind, Results[Kind]],
        entity: type[Kind],
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        result_type: Literal["objects"] = "objects",
        **options: Unpack[RequestOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: FetchRequest[DynamicObject, Results[DynamicObject]],
        entity: str | Entity | None = None,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        result_type: Literal["objects"] = "objects",
        **options: Unpack[RequestOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: FetchRequest[DynamicObject, list[ObjectID]],
        entity: str | Entity | type | None = None,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        result_type: Literal["ids"],
        **options: Unpack[RequestOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: FetchRequest[DynamicObject, Sequence[dict[str, Any]]],
        entity: str | Entity | type | None = None,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        result_type: Literal["dictionaries"],
        **options: Unpack[RequestOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: FetchRequest[DynamicObject, int],
        entity: str | Entity | type | None = None,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        result_type: Literal["count"],
        **options: Unpack[RequestOptions],
    ) -> None: ...
    @overload
    def __init__(
        self: FetchRequest[Any, Any],
        entity: str | Entity | type | None = None,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        result_type: str = "objects",
        **options: Unpack[RequestOptions],
    ) -> None: ...

    def __init__(
        self,
        entity: str | Entity | type | None = None,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] | None = None,
        limit: int = 0,
        offset: int = 0,
        batch_size: int = 0,
        result_type: str = "objects",
        prefetch: KeyPath | Sequence[KeyPath] | None = None,
        columns: ColumnLike | Iterable[ColumnLike] | None = None,
        group_by: KeyPath | Sequence[KeyPath] | None = None,
        having: str | Predicate | bool | None = None,
        distinct: bool = False,
        include_subentities: bool = True,
        include_pending_changes: bool = True,
        include_property_values: bool = True,
        as_faults: bool = True,
        refresh: bool = False,
        stores: Sequence[Store] | None = None,
        nulls: str = "memory",
        split: bool = True,
    ) -> None:
        self._entity: Entity | None = None
        self._name: str | None = None
        self.entity = entity
        self.predicate = given_predicate(predicate, arguments, self.entity_name)
        self.sort = sort
        self.limit = limit
        self.offset = offset
        self.batch_size = batch_size
        self.result_type = result_type
        self.prefetch = prefetch
        self.columns = columns
        self.group_by = group_by
        self.having = None if having is None else required_predicate(having, "having")
        self.distinct = distinct
        self.include_subentities = include_subentities
        self.include_pending_changes = include_pending_changes
        self.include_property_values = include_property_values
        self.as_faults = as_faults
        self.refresh = refresh
        self.stores = stores
        self.nulls = nulls
        self.split = split

    @property
    def entity(self) -> Any:
        """The Entity, or None if unset. InvalidArgumentError for a name before a context uses the request."""
        if self._entity is None and self._name is not None:
            raise InvalidArgumentError(
                f'the entity of a request for "{self._name}" is unknown until a context uses the request; read '
                "entity_name, or pass an Entity to FetchRequest",
                entity=self._name,
                key="entity",
            )
        return self._entity

    @entity.setter
    def entity(self, entity: str | Entity | type | None) -> None:
        if isinstance(entity, type):
            if not issubclass(entity, ManagedObject):
                raise TypeMismatchError(
                    f"{shown(entity)} is not a subclass of ManagedObject; pass a generated class or an entity name",
                    key="entity",
                    value=entity,
                )
            entity = entity._cst_entity if "_cst_entity" in vars(entity) else entity._cst_entity_name
        elif entity is not None and not isinstance(entity, str) and not hasattr(entity, "_model"):
            raise TypeMismatchError(
                f"entity must be a name, a class or an Entity, not {shown(entity)}", key="entity", value=entity
            )
        self._entity, self._name = (None, entity) if entity is None or isinstance(entity, str) else (entity, None)

    @property
    def entity_name(self) -> str | None:
        """The name of the fetched entity."""
        return self._entity.name if self._name is None and self._entity is not None else self._name

    @entity_name.setter
    def entity_name(self, name: str | None) -> None:
        self.entity = name

    def _entity_in(self, context: Context) -> Entity:
        """Returns the fetched entity in the model of a context."""
        if self.entity_name is None:
            raise InvalidArgumentError(
                "the fetch request does not have an entity; set its entity or entity_name", key="entity"
            )
        return context.model[self.entity_name]

    def copy(self) -> Self:
        """Returns a copy of the request, with copies of its lists."""
        copy = cast("Self", FetchRequest())
        for field in FetchRequest.__slots__:
            value = getattr(self, field)
            setattr(copy, field, value.copy() if isinstance(value, list) else value)
        return copy

    __copy__ = copy

    def to_archive(self) -> bytes:
        """Returns the request as a keyed archive, for storage. Stores are omitted; the entity is saved by name."""
        request, buffer = self._build(None), _abi.Buffer()
        call(lib.cst_fetch_request_copy_archive, request.handle, byref(buffer))
        return _abi.take_bytes(buffer)

    @classmethod
    def from_archive(cls, archive: bytes) -> FetchRequest[DynamicObject, Any]:
        """Returns the request that a keyed archive contains."""
        archive = require_instance(bytes, archive, "archive")
        return cls._of(owned(lib.cst_fetch_request_new_from_archive, _abi.InputString(archive, len(archive))))

    def __reduce__(self) -> tuple[Any, ...]:
        return FetchRequest.from_archive, (self.to_archive(),)

    def _build(self, context: Context | None) -> Request:
        """Returns the library's request for a call, and looks up the entity in the model of the context."""
        name = self._name
        if name is not None and context is not None:
            self._entity = context.model.get(name)  # the library reports an unknown name
        is_foreign = context is not None and self._entity is not None and self._entity._model is not context.model
        if name is None and self._entity is not None and is_foreign:
            raise InvalidArgumentError(
                f"{self._entity.name} does not belong to the model of the context; pass an entity of context.model, or "
                "its name",
                entity=self._entity.name,
                key="entity",
                value=self._entity.name,
            )
        if not isinstance(self.result_type, str) or self.result_type not in _RESULTS:
            raise UnsupportedError(
                f"result_type must be {quoted(_RESULTS)}, not {shown(self.result_type)}",
                code=134091,
                entity=self.entity_name,
                key="result_type",
                value=self.result_type,
            )
        return new_request(
            self._entity if name is None else name, self.predicate, (), self.sort, self.limit or None, self.offset,
            self.prefetch or (), self.include_subentities, self.include_pending_changes, self.as_faults, self.nulls,
            self.split, columns=() if self.columns is None else self.columns, group_by=self.group_by or (),
            having=self.having, distinct=flag(self.distinct, "distinct"), batch_size=self.batch_size,
            result_type=_RESULTS[self.result_type],
            include_property_values=flag(self.include_property_values, "include_property_values"),
            refresh=flag(self.refresh, "refresh"),
            stores=None if self.stores is None else store_handles(self.stores),
        )  # fmt: skip

    def _execute(self, context: Context) -> FetchResult:
        request = self._build(context)
        out = _abi.RequestResult()
        context._work(lib.cst_context_execute, request.handle, byref(out))
        return self._copy_result(out, context)

    def _copy_result(self, result: _abi.RequestResult, context: Context) -> FetchResult:
        """Returns the result of a call, and takes ownership of the handle of the result."""
        if self._name is not None:
            self._entity = context.model[self._name]
        handle = Handle(result.value).token
        if result.type == _RESULTS["count"]:
            return int(result.count)
        if result.type == _RESULTS["dictionaries"]:
            return LazyRows(handle) if lib.cst_rows_batch_size(handle) else read_rows(handle)
        results = Results(context, handle, self._entity)
        return results.ids() if result.type == _RESULTS["ids"] else results

    @classmethod
    def _of(cls, handle: int) -> FetchRequest[DynamicObject, Any]:
        """Returns a FetchRequest with the contents of a library request."""
        buffer, number, found = _abi.Buffer(), ctypes.c_int64(), Handle()
        call(lib.cst_fetch_request_copy_json, handle, byref(buffer))
        said = read_json(buffer)

        def option(which: int) -> int:
            call(lib.cst_fetch_request_option, handle, which, byref(number))
            return number.value

        request = cls(said["entityName"])
        if call(lib.cst_fetch_request_copy_predicate, handle, byref(found)) == _abi.OK:
            request.predicate = Predicate._owned(found.token)
        request.having = Predicate(said["havingPredicate"]) if said["havingPredicate"] else None
        if said["sortDescriptors"]:
            request.sort = [
                SortDescriptor(each["key"], each["ascending"], each["selector"]) for each in said["sortDescriptors"]
            ]
        request.prefetch = said["relationshipKeyPathsForPrefetching"]
        request.group_by = said["propertiesToGroupBy"]
        if said["propertiesToFetch"]:
            request.columns = [
                ExpressionDescription(each["name"], Expression(each["expression"]), attribute_type(each["type"]))
                if "expression" in each
                else each["name"]
                for each in said["propertiesToFetch"]
            ]
        request.limit = option(_abi.FETCH_LIMIT)
        request.offset = option(_abi.FETCH_OFFSET)
        request.batch_size = option(_abi.FETCH_BATCH_SIZE)
        kind = option(_abi.FETCH_RESULT_TYPE)
        request.result_type = result_type_name(kind)
        request.include_subentities = bool(option(_abi.FETCH_INCLUDES_SUBENTITIES))
        request.include_pending_changes = bool(option(_abi.FETCH_INCLUDES_PENDING_CHANGES))
        request.include_property_values = bool(option(_abi.FETCH_INCLUDES_PROPERTY_VALUES))
        request.as_faults = bool(option(_abi.FETCH_RETURNS_FAULTS))
        request.refresh = bool(option(_abi.FETCH_REFRESHES_REFETCHED))
        request.distinct = bool(option(_abi.FETCH_DISTINCT))
        request.split = bool(option(_abi.FETCH_ALLOWS_SPLIT))
        nulls = option(_abi.FETCH_NULLS)
        request.nulls = next(name for name, value in _abi.NULLS.items() if value == nulls)
        return request

    def __repr__(self) -> str:
        where = f", {self.predicate.format!r}" if self.predicate is not None else ""
        return f"FetchRequest({self.entity_name!r}{where})"


def execute(context: Context, request: Any) -> Any:
    """Executes a fetch request or a batch request."""
    carry_out = getattr(request, "_execute", None)
    if carry_out is None or isinstance(request, type):
        raise UnsupportedError(
            f"execute takes a FetchRequest or a batch request, not {shown(request)}",
            code=134091,
            key="request",
            value=request,
        )
    return carry_out(context)


def store_handles(stores: Sequence[Store]) -> tuple[int, Any]:
    """Returns the number of the stores, and an array of their handles."""
    from ..stores.store import Store  # here, because coordinators use this room

    return handles(stores, Store, "stores")
