"""A part of Context: fetches of objects, and objects of IDs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .. import _abi
from .._abi import lib
from .._abi.arguments import require_integer
from .._abi.call import held, owned
from .._abi.conversion import Encoded
from .._abi.handles import Handle
from .._abi.wrappers import accelerator, registered, remember
from ..errors import InvalidArgumentError, ObjectGoneError
from ..predicate.expression import KeyPath, listed
from ..predicate.predicate import Predicate
from ..predicate.sort import SortKey
from .context_core import ContextCore, EntityLike
from .cursor import Cursor
from .explanation import FetchExplanation, explanation
from .fetching import new_request
from .object import object_id
from .object_id import ObjectID
from .request import FetchRequest, execute
from .results import BLOCK, Results
from .rows import ColumnLike
from .typing import Item, Kind

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..model.entity import Entity
    from .object import DynamicObject
    from .typing import CursorOptions, FetchOptions

Found = TypeVar("Found")

_with_id = _abi.raw("cst_context_object_with_id")


class ContextFetching(ContextCore):
    """Fetches of objects, and objects of IDs."""

    @overload
    def fetch(
        self,
        entity: type[Kind],
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        **options: Unpack[FetchOptions],
    ) -> Results[Kind]: ...
    @overload
    def fetch(
        self,
        entity: str | Entity,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        **options: Unpack[FetchOptions],
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
        include_subentities: bool = True,
        include_pending_changes: bool = True,
        as_faults: bool = True,
        nulls: str = "memory",
        split: bool = True,
    ) -> Results[Any]:
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
        return Results(self._context, out.token, request.entity, BLOCK)  # the request does not have a batch size

    @overload
    def execute(self, request: FetchRequest[Item, Found]) -> Found: ...
    @overload
    def execute(self, request: Any) -> Any: ...
    def execute(self, request: Any) -> Any:
        """Executes a fetch request or a batch request, and returns the result that its `result_type` selects.

        ctx.execute(FetchRequest("Employee", "age > 40", sort="name", batch_size=50))
        """
        return execute(self._context, request)

    def fetch_template(self, name: str, /, **variables: Any) -> Results[DynamicObject]:
        """Executes a fetch request template of the model, with values for its variables; None means nil.

        InvalidArgumentError if there is no template of that name.
        PredicateError for a variable without a value.
        """
        names, given = _abi.texts(list(variables)), Encoded(list(variables.values()), "variables")
        model, count = self.model._handle, len(variables)
        request = owned(lib.cst_model_copy_bound_template, model, _abi.text(name, "name"), count, names, given.address)
        out = Handle()
        self._work(lib.cst_context_fetch, request, byref(out))
        return Results(self._context, out.token, self.model._template_entity(name))

    @overload
    def stream(
        self,
        entity: type[Kind],
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        **options: Unpack[CursorOptions],
    ) -> Cursor[Kind]: ...
    @overload
    def stream(
        self,
        entity: str | Entity,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        **options: Unpack[CursorOptions],
    ) -> Cursor[DynamicObject]: ...
    def stream(
        self,
        entity: EntityLike,
        predicate: str | Predicate | bool | None = None,
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
    ) -> Cursor[Any]:
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
        return Cursor(self._context, cursor.token, request.entity)

    @overload
    def first(
        self,
        entity: type[Kind],
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
    ) -> Kind | None: ...
    @overload
    def first(
        self,
        entity: str | Entity,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
    ) -> Any: ...
    def first(
        self,
        entity: EntityLike,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
    ) -> Any:
        """Returns the first object of a fetch, or None if there are no results."""
        return self.fetch(entity, predicate, *arguments, sort=sort, limit=1).first

    def explain(
        self,
        entity: EntityLike,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        offset: int = 0,
        columns: ColumnLike | Iterable[ColumnLike] = (),
        group_by: KeyPath | Sequence[KeyPath] = (),
        having: str | Predicate | bool | None = None,
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
        predicate: str | Predicate | bool | None = None,
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
        return Results(self._context, out.token, request.entity).ids()

    def _id(self, which: ObjectID | str) -> ObjectID | None:
        if isinstance(which, str):
            return self.coordinator.object_id(which)
        if isinstance(which, ObjectID):
            return which
        from .mistakes import wrong_id

        return wrong_id(which)

    @overload
    def get(self, which: ObjectID | str) -> DynamicObject: ...
    @overload
    def get(self, entity: type[Kind], which: ObjectID | str, /) -> Kind: ...
    @overload
    def get(self, entity: str | Entity, which: ObjectID | str, /) -> DynamicObject: ...
    def get(self, which: Any, of: Any = ...) -> Any:
        """Returns the object of an ID or URI, as a fault unless it is registered. Does not read the store.

            ctx.get(uri)
            ctx.get(Employee, uri)  # an Employee, also for type checkers

        InvalidArgumentError for a URI of another store, and for an object of another entity.
        """
        if of is not ...:
            return self._of_entity(which, self.get(of))
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

    def _of_entity(self, entity: EntityLike, item: Any) -> Any:
        """Returns an object, whose entity must be the given one or one of its subentities."""
        expected = self._entity(entity)
        if item is None or type(item)._cst_entity.is_kind_of(expected):
            return item
        uri = object_id(item).uri
        raise InvalidArgumentError(
            f'"{uri}" is the ID of an object of {type(item)._cst_entity.name}, not of {expected.name}; pass the entity '
            "of the object, or only the ID",
            entity=expected.name,
            key="which",
            value=uri,
            object_uri=uri,
        )

    @overload
    def existing(self, which: ObjectID | str) -> DynamicObject: ...
    @overload
    def existing(self, entity: type[Kind], which: ObjectID | str, /) -> Kind: ...
    @overload
    def existing(self, entity: str | Entity, which: ObjectID | str, /) -> DynamicObject: ...
    def existing(self, which: Any, of: Any = ...) -> Any:
        """Returns the object of an ID or URI with its values; ObjectGoneError (133000) if no store has the object.

        An entity before the ID is checked, as for `get`.
        """
        if of is not ...:
            return self._of_entity(which, self.existing(of))
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

    @overload
    def registered(self, which: ObjectID | str) -> Any: ...
    @overload
    def registered(self, entity: type[Kind], which: ObjectID | str, /) -> Kind | None: ...
    @overload
    def registered(self, entity: str | Entity, which: ObjectID | str, /) -> Any: ...
    def registered(self, which: Any, of: Any = ...) -> Any:
        """Returns the object of an ID or URI if it is registered with the context, else None.

        An entity before the ID is checked, as for `get`.
        """
        if of is not ...:
            return self._of_entity(which, self.registered(of))
        if which is None:
            return None
        found = self._id(which)
        hold = held(lib.cst_context_registered_object, self._open, found._handle) if found is not None else None
        return self._adopt(hold, None) if hold else None
