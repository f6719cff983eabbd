"""The results of a fetch: an immutable sequence of objects."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from ctypes import byref
from itertools import chain
from typing import TYPE_CHECKING, Any, overload

from .. import _abi
from .._abi import lib, values
from .._abi.arguments import MOST, plural, require_instance, require_integer
from .._abi.call import call, held, made, owned
from .._abi.conversion import encode_variables, forget
from .._abi.dictionaries import dictionaries_of_rows
from .._abi.wrappers import accelerator
from ..errors import CorestoneError
from ..model.composite import compose, leaves
from ..model.property import PropertyDescription
from ..model.transformer import from_bytes
from ..predicate.expression import KeyPath, key_path
from ..predicate.predicate import Predicate
from ..predicate.sort import SortKey, prepared, sort_descriptors
from .ahead import Ahead
from .arrow import ArrowData, array_of, flags, list_data
from .columns import read_columns
from .lookups import ResultsLookups
from .object import ManagedObject
from .object_id import ObjectID
from .paths import has_list, value_at
from .typing import Item_co

if TYPE_CHECKING:
    from ..model.entity import Entity
    from .context import Context

BLOCK = 256  # the number of handles that are requested at a time
REPR_ROWS = 5


class Results(ResultsLookups[Item_co], Sequence[Item_co]):
    """An ordered sequence of objects. Use it on the queue of its context.

    Results of a request with a `batch_size` read that number of rows at a time, when an object is requested, and
    release objects that have no other reference.

    `column`, `columns` and `rows` read attributes and to-one relationships of all objects in a few calls of the
    library, which is much faster than reading them object by object.
    """

    __slots__ = ("__weakref__", "_arrow", "_block_size", "_context", "_count", "_entity", "_handle", "_large")

    def __init__(self, context: Context, handle: int, entity: Entity | None, block_size: int = 0) -> None:
        self._handle = handle
        self._arrow: ArrowData | None = None
        self._context = context
        self._entity = entity
        self._large: set[int] = set()  # keys of attributes that are not read ahead
        self._count: int = lib.cst_results_count(handle)
        self._block_size: int = block_size or lib.cst_results_batch_size(handle) or BLOCK

    @property
    def entity(self) -> Entity | None:
        """The fetched entity; None if the objects may be of any entity, like the changed objects of a context."""
        return self._entity

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item_co]:
        size, count = self._block_size, self._count
        return chain.from_iterable(self._block(first, min(size, count - first)) for first in range(0, count, size))

    def _block(self, first: int, count: int) -> list[Any]:
        """Returns `count` objects from the index `first`."""
        if count <= 0:
            return []
        array: Any = (ctypes.c_void_p * count)()
        found = ctypes.c_size_t()
        call(lib.cst_results_get_objects, self._handle, first, count, array, byref(found))
        # Reading ahead does not fire the faults of the objects, so it is disabled if a hook for fired faults is set.
        reads_ahead = accelerator is None and found.value > 1 and self._context.model._reads_ahead
        ahead = Ahead(self, first, found.value) if reads_ahead else None
        return self._context._objects(array, found.value, self._entity, ahead)

    @overload
    def __getitem__(self, index: int) -> Item_co: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item_co]: ...
    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._count)
            if step == 1:
                return self._block(start, stop - start)
            return [self[at] for at in range(start, stop, step)]
        place = require_integer(index, "index", -MOST)
        if place < 0:
            place += self._count
        if not 0 <= place < self._count:
            raise IndexError(f"index {index} is out of range: the results have {plural(self._count, 'object')}")
        return self._context._object(made(lib.cst_results_get_object, self._handle, place), self._entity)

    def __copy__(self) -> Results[Item_co]:
        return self

    @property
    def batch_size(self) -> int:
        """The number of rows that are read at a time; 0 if the fetch read all rows."""
        return int(lib.cst_results_batch_size(self._handle))

    def __contains__(self, item: object) -> bool:
        return isinstance(item, ManagedObject) and any(item == mine for mine in self)

    @property
    def first(self) -> Item_co | None:
        """The first object, or None if the results are empty."""
        return self[0] if self._count else None

    def ids(self) -> list[ObjectID]:
        """Returns the IDs of all objects."""
        return [ObjectID._owned(held(lib.cst_results_copy_id, self._handle, at)) for at in range(self._count)]

    def filtered(self, predicate: str | Predicate | bool, /, *arguments: Any, **variables: Any) -> Results[Item_co]:
        """Returns the objects that satisfy a predicate, evaluated in memory; keywords set its $variables."""
        condition = self._condition(predicate, arguments)
        bound = encode_variables(variables)
        handle = owned(lib.cst_results_copy_filtered, self._handle, condition._handle, bound.address)
        return Results(self._context, handle, self._entity)

    def _condition(self, predicate: Any, arguments: tuple[Any, ...]) -> Predicate:
        from .fetching import given_predicate, required_predicate

        if arguments:
            found = given_predicate(predicate, arguments, None if self._entity is None else self._entity.name)
            return found if found is not None else Predicate("TRUEPREDICATE")
        return required_predicate(predicate, "predicate")

    def ordered(self, *keys: SortKey) -> Results[Item_co]:
        """Returns the objects in another order. Accepts the keys of Context.fetch, and comparators."""
        array, compare, number = prepared(sort_descriptors(keys))
        try:
            handle = owned(lib.cst_results_copy_sorted, self._handle, len(array), array, compare, number)
        finally:
            forget(number)
        return Results(self._context, handle, self._entity)

    # ---- many values at once

    def _description(self, name: str) -> PropertyDescription | None:
        """Returns the property with a name; None for a key path."""
        if self._entity is None or "." in require_instance(str, name, "name"):
            return None
        return self._entity._key(name)

    def column(self, name: KeyPath) -> list[Any]:
        """Returns the values of one property or key path, for every object."""
        return self.columns(name)[0]

    def columns(self, *names: KeyPath) -> list[list[Any]]:
        """Returns the values of several properties or key paths, for every object: a list for each name."""
        return self._columns([_name(name) for name in names], 0, self._count)

    def _columns(self, names: Sequence[str], first: int, count: int) -> list[list[Any]]:
        packed: dict[str, PropertyDescription] = {}
        found: dict[str, list[Any]] = {}
        for name in dict.fromkeys([require_instance(str, name, "name") for name in names]):
            description = self._description(name)
            if description is None and "." in name and has_list(self._entity, name):
                found[name] = [value_at(item, name) for item in self._block(first, count)]
                continue
            if description is not None and description.is_attribute:
                if description.is_transient:  # the rows of the store do not contain its values
                    found[name] = [item[name] for item in self._block(first, count)]
                else:
                    packed[name] = description
            elif description is not None and description.is_to_many:
                found[name] = [list(getattr(item, name)) for item in self._block(first, count)]
            else:
                found[name] = self._values(name, description, first, count)
        if packed and count > 0:
            found.update(zip(packed, self._packed(list(packed.values()), first, count)))
        return [list(found.get(name, ())) if names.count(name) > 1 else found.get(name, []) for name in names]

    def _packed(self, wanted: Sequence[PropertyDescription], first: int, count: int) -> list[list[Any]]:
        """Returns columns of attributes. Values of composite attributes are assembled from their elements."""
        kinds = [leaf for each in wanted for leaf in leaves(each)]
        columns = read_columns(self, kinds, first, count)
        entity = self._entity.name if self._entity is not None else ""
        for place, leaf in enumerate(kinds):
            if leaf.transforms:
                columns[place] = [from_bytes(leaf.transformer, data, entity, leaf.path) for data in columns[place]]
        rest = iter(columns)
        return [
            [compose(each, iter(row)) for row in zip(*[next(rest) for _ in leaves(each)])]
            if each.elements or each.conversion is not None
            else next(rest)
            for each in wanted
        ]

    def _values(self, name: str, description: PropertyDescription | None, first: int, count: int) -> list[Any]:
        """Returns to-one targets, or the values at a key path."""
        column: list[Any] = []
        array = (_abi.Value * BLOCK)()
        found = ctypes.c_size_t()
        path = _abi.text(name, "name")
        target = self._context.model._entity_of(description.destination) if description is not None else None
        while count > 0:
            rest = (first, min(BLOCK, count), ctypes.addressof(array), byref(found))
            if description is not None:
                call(lib.cst_results_get_column, self._handle, description.key, *rest)
            else:
                call(lib.cst_results_get_column_path, self._handle, path, *rest)
            if not found.value:
                break
            try:
                column += values.decode_array(array, found.value, self._context, target)
            except CorestoneError as error:
                entity = self._entity.name if self._entity is not None else None
                raise values.located(error, entity, name, None) from None
            first += found.value
            count -= found.value
        return column

    def rows(self, *names: KeyPath) -> list[tuple[Any, ...]]:
        """Returns the values of several properties: a tuple for each object. Without names, all attributes."""
        chosen = names or self._attribute_names()
        return list(zip(*self.columns(*chosen))) if chosen else [()] * self._count

    def to_dicts(self, *names: KeyPath) -> list[dict[str, Any]]:
        """Returns the values of properties or key paths: a dictionary for each object. Without names, all attributes.

            episodes.to_dicts("title", "show.title", "tags.name", Episode.show.episodes.count())

        A to-many relationship is a list of objects; a path through it is a list of the values of its members.
        """
        chosen = tuple(map(_name, names)) or self._attribute_names()
        if accelerator is not None and chosen:
            return accelerator.dicts(tuple(chosen), self.columns(*chosen))  # type: ignore[no-any-return]
        return dictionaries_of_rows(chosen, self.rows(*chosen), self._count)

    # ---- for Arrow

    def arrow(
        self, *columns: KeyPath, keys: bool = False, decimal_text: bool = False, batch_size: int = 0
    ) -> ArrowData:
        """Returns the objects as data for pyarrow, polars, pandas or DuckDB. Each request reads the current values.

        columns   key paths: attributes, relationships, elements of composite attributes, including through to-one
                  relationships ("department.name"), and "objectID"; by default every stored attribute

        The other parameters are those of `Context.arrow`.
        """
        title = self._entity.name if self._entity is not None else "objects"
        return list_data(
            self._handle,
            [key_path(each, "columns") for each in columns],
            flags(keys, decimal_text),
            batch_size,
            self,
            title,
        )

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Returns every stored attribute, as a stream of the Arrow PyCapsule protocol; `arrow` has options."""
        return self._all().__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self) -> Any:
        """Returns the schema of every stored attribute."""
        return self._all().__arrow_c_schema__()

    def _all(self) -> ArrowData:
        """Returns the same ArrowData each time, so that its schema matches a later stream."""
        if self._arrow is None:
            self._arrow = list_data(self._handle, [], 0, 0, None, "objects")
        return self._arrow

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[Any, Any]:
        """Returns every stored attribute as one array of structs, with its schema."""
        return array_of(self._handle)

    def _attribute_names(self) -> tuple[str, ...]:
        if self._entity is None:
            return ()
        return tuple(name for name, each in self._entity.properties.items() if each.is_attribute)

    # ---- display

    def _title(self) -> str:
        entity = self._entity.name if self._entity is not None else "managed"
        return f"{self._count} {entity} objects"

    def __repr__(self) -> str:
        if not self._count:
            return f"<Results: {self._title()}>"
        shown = ", ".join(repr(item) for item in self[:REPR_ROWS])
        more = ", …" if self._count > REPR_ROWS else ""
        return f"<Results: {self._title()}: {shown}{more}>"

    def _repr_html_(self) -> str | None:
        from .html import guarded, of_results

        return guarded(of_results, self)


def _name(name: Any) -> str:
    """Returns the text of a key path. Errors name the parameter."""
    return name if isinstance(name, str) or not hasattr(name, "_cst_expression") else key_path(name)
