"""Reading records as columns, which takes a small part of the time of reading them as JSON.

The result is the same. `read_records` returns None if the columns cannot represent the records exactly, or if a call
fails; the caller then reads JSON, which raises the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from math import floor
from typing import TYPE_CHECKING, Any

from .. import _abi
from .._abi import lib
from .._abi.dictionaries import dictionaries
from .._abi.values import EPOCH
from .._abi.wrappers import accelerator
from ..codes import AttributeType
from ..errors import CorestoneError
from ..graph.arrow import DECIMAL_TEXT
from ..graph.arrow_reader import ArrowStreamError, read_stream
from ..graph.fetching import Request, new_request
from ..graph.rows import ExpressionDescription
from ..model.composite import compose, leaves
from ..model.property import PropertyDescription
from ..predicate.sort import SortDescriptor

if TYPE_CHECKING:
    from ..graph.context import Context
    from ..model.entity import Entity
    from ..predicate.predicate import Predicate

_ID = "objectID"
# Arrow columns of these types are less exact than the stored numbers, which are read as computed columns.
_NUMBERS = (AttributeType.DATE, AttributeType.FLOAT)
# Values that records do not contain.
_OMITTED = (AttributeType.TRANSFORMABLE, AttributeType.UNDEFINED)
# The number of rows that are read first, to find out whether the numbers are exact.
_SAMPLE = 500
# From this distance of a date from 2001 on, a double is less exact than a microsecond.
_EXACT_SECONDS = float(1 << 32)


class _Unsuitable(Exception):
    """The records cannot be read as columns."""


def read_records(
    new_context: Callable[[], Context],
    entity: Entity,
    predicate: Predicate | None,
    sort: Sequence[SortDescriptor],
    limit: int,
    offset: int,
    exact_date: Callable[[float], Any],
) -> list[dict[str, Any]] | None:
    """Returns the records of a fetch; None if they must be read in another way.

    `exact_date` returns the value of a date that a datetime cannot represent exactly.
    """
    if not entity._model._reads_ahead:
        return None  # reading an object calls its hook for fired faults
    try:
        reader = _Reader(entity, exact_date)
        with new_context() as context:
            reader.read(context, predicate, sort, limit, offset)
        return reader.records()
    except (_Unsuitable, ArrowStreamError, CorestoneError, UnicodeDecodeError):
        return None


def _parts(description: PropertyDescription) -> list[PropertyDescription]:
    """Returns the properties that make a value: the leaves of a composite attribute, otherwise the property itself."""
    return list(leaves(description)) if description.is_attribute else [description]


def _suitable(entity: Entity) -> Iterator[PropertyDescription]:
    """Yields the properties that the records of an entity contain."""
    for each in entity.properties.values():
        if each.is_fetched or (each.is_attribute and each.attribute_type in _OMITTED):
            continue
        kinds = {leaf.attribute_type for leaf in _parts(each)} if each.is_attribute else set()
        if each.is_transient or each.name == _ID or kinds & {*_OMITTED, AttributeType.OBJECT_ID}:
            raise _Unsuitable
        yield each


def _family(entity: Entity) -> Iterator[Entity]:
    yield entity
    for child in entity.children:
        yield from _family(child)


def _stream(
    context: Context, request: Request, paths: Sequence[str] = (), joins_first: bool = False
) -> list[list[Any]]:
    """Returns the columns of a request: key paths, or those of the request."""
    names = _abi.texts(list(paths)) if paths else None

    def export(address: int) -> None:
        context._work(lib.cst_context_fetch_arrow, request.handle, 0, DECIMAL_TEXT, len(paths), names, address)

    return read_stream(export, joins_first)


def _casts(numbers: Sequence[PropertyDescription]) -> list[Any]:
    """Returns the columns of a request for IDs and exact numbers."""
    return [_ID, *(ExpressionDescription(each.path, f"CAST({each.path}, 'NSNumber')") for each in numbers)]


class _Reader:
    """The columns of the records of an entity and its subentities."""

    def __init__(self, entity: Entity, exact_date: Callable[[float], Any]) -> None:
        self._entity = entity
        self._exact_date = exact_date
        family = _family(entity) if entity.name in entity._model._parents else [entity]
        self._properties = {each.name: list(_suitable(each)) for each in family}
        self._parts: dict[str, PropertyDescription] = {}
        for properties in self._properties.values():
            for part in (part for each in properties for part in _parts(each)):
                known = self._parts.setdefault(part.path, part)
                if known.attribute_type != part.attribute_type:
                    raise _Unsuitable
        self._uris: list[str] = []
        self._columns: dict[str, list[Any]] = {}
        # The paths of dates that are numbers of microseconds since 1970.
        self._rounded: set[str] = set()

    def read(
        self,
        context: Context,
        predicate: Predicate | None,
        sort: Sequence[SortDescriptor],
        limit: int,
        offset: int,
    ) -> None:
        request = new_request(self._entity, predicate, (), sort, limit or None, offset, freeze=True)
        numbers = [part for part in self._parts.values() if part.is_attribute and part.attribute_type in _NUMBERS]
        if numbers:
            # All streams must read the same state.
            context.pin()
            if context.query_generation is None:
                raise _Unsuitable
        # The numbers are in this request too, so that both requests use the same indexes and have the same order.
        self._uris, *found = _stream(context, request, [_ID, *self._parts])
        self._columns = dict(zip(self._parts, found))
        known = {leaf.path for each in self._properties[self._entity.name] for leaf in _parts(each)}
        own = [part for part in numbers if part.path in known]
        if own and not self._are_exact(context, predicate, own, limit or offset):
            request = new_request(self._entity, predicate, (), sort, limit or None, offset, columns=_casts(own))
            joined, *exact = _stream(context, request, joins_first=True)
            if "".join(self._uris).encode() != b"".join(joined):
                raise _Unsuitable
            self._columns.update({part.path: column for part, column in zip(own, exact)})
        else:
            self._rounded = {part.path for part in own}
        if len(own) < len(numbers):
            if limit or offset:
                raise _Unsuitable  # the requests for the subentities would read the rows that these leave out
            self._read_numbers_of_subentities(context, predicate, known)

    def _are_exact(
        self,
        context: Context,
        predicate: Predicate | None,
        numbers: Sequence[PropertyDescription],
        is_part: int,
    ) -> bool:
        """Whether the columns that were read have exactly the stored numbers.

        This is the case if all stored numbers are such numbers, in any order. A request for the numbers alone takes a
        third of the time of one with IDs. A part of the rows may be another part in this request, so it is not used.
        """
        if accelerator is None or is_part:
            return False
        for limit in (_SAMPLE, None):
            request = new_request(self._entity, predicate, (), (), limit, 0, columns=_casts(numbers)[1:])
            for part, column in zip(numbers, _stream(context, request)):
                if limit is None and len(column) != len(self._uris):
                    return False
                if not accelerator.are_exact(column, part.attribute_type == AttributeType.DATE):
                    return False
        return True

    def _read_numbers_of_subentities(self, context: Context, predicate: Predicate | None, known: set[str]) -> None:
        """Reads the numbers that the fetched entity does not have, from the entities that declare them."""
        found: dict[str, dict[str, float | None]] = {}
        for name, properties in self._properties.items():
            entity = self._entity._model[name]
            parts = [part for each in properties if each.entity == entity._handle for part in _parts(each)]
            numbers = [each for each in parts if each.attribute_type in _NUMBERS and each.path not in known]
            if numbers:
                uris, *columns = _stream(context, new_request(entity, predicate, columns=_casts(numbers)))
                for part, column in zip(numbers, columns):
                    found.setdefault(part.path, {}).update(zip(uris, column))
        for path, by_uri in found.items():
            self._columns[path] = list(map(by_uri.get, self._uris))

    def records(self) -> list[dict[str, Any]]:
        """Returns the records that were read."""
        for part in self._parts.values():
            if part.is_attribute and part.attribute_type in (AttributeType.DECIMAL, AttributeType.DATE):
                convert = self._dates if part.attribute_type == AttributeType.DATE else _decimals
                if part.path in self._rounded and convert == self._dates:
                    convert = accelerator.datetimes
                self._columns[part.path] = convert(self._columns[part.path])
        if len(self._properties) == 1:
            return self._records_of(self._entity.name, None)
        found: list[Any] = [None] * len(self._uris)
        places: dict[str, list[int]] = {}
        for place, uri in enumerate(self._uris):
            places.setdefault(uri.split("/")[3], []).append(place)
        for name, rows in places.items():
            for place, record in zip(rows, self._records_of(name, rows)):
                found[place] = record
        return found

    def _records_of(self, name: str, rows: list[int] | None) -> list[dict[str, Any]]:
        """Returns the records of all rows, which are of one entity, or of the given rows."""

        def chosen(column: list[Any]) -> list[Any]:
            return column if rows is None else [column[row] for row in rows]

        columns = {"@id": chosen(self._uris)}
        for each in self._properties[name]:
            parts = [chosen(self._columns[part.path]) for part in _parts(each)]
            columns[each.name] = (
                [compose(each, iter(row)) for row in zip(*parts)]
                if each.elements or each.conversion is not None
                else parts[0]
            )
        if name != self._entity.name:
            columns["@entity"] = [name] * len(columns["@id"])
        names = sorted(columns)
        return dictionaries(names, [columns[each] for each in names])

    def _dates(self, column: list[float | None]) -> list[Any]:
        if None in column:
            return [None if seconds is None else self._date(seconds) for seconds in column]
        whole: Any = column
        if all(map(float.is_integer, whole)):
            with suppress(OverflowError, ValueError):
                return [EPOCH + timedelta(0, seconds) for seconds in whole]
        return list(map(self._date, whole))

    def _date(self, seconds: float) -> Any:
        try:
            date = EPOCH + timedelta(0, seconds)
        except (OverflowError, ValueError):
            return self._exact_date(seconds)
        if seconds.is_integer() or floor(seconds) + date.microsecond / 1e6 == seconds:
            return date
        if abs(seconds) >= _EXACT_SECONDS:
            raise _Unsuitable  # several numbers of microseconds have the same double
        return self._exact_date(seconds)


def _decimals(column: list[str | None]) -> list[Decimal | None]:
    return [None if digits is None else Decimal(digits) for digits in column]
