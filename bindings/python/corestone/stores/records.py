"""Rows as plain dictionaries, for programs that need neither contexts nor objects."""

from __future__ import annotations

import base64
import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Union, overload
from uuid import UUID

from .. import _abi
from .._abi import lib, optional_text, text
from .._abi.arguments import function as function_given
from .._abi.arguments import plural, require_integer, shown
from .._abi.call import call
from .._abi.interrupt import immortal
from .._abi.values import date_from_seconds, date_to_seconds, located, refuse_day
from ..codes import AttributeType
from ..errors import ConflictError, CorestoneError, InvalidArgumentError, TypeMismatchError
from ..graph.fetching import given_predicate
from ..graph.object import ManagedObject
from ..graph.object_id import ObjectID
from ..model.entity import Entity, declared_entity
from ..model.model import Model
from ..model.property import PropertyDescription
from ..predicate.predicate import Predicate
from .coordinator import Coordinator

if TYPE_CHECKING:
    from ..graph.context import Context
    from ..graph.context_core import EntityLike
    from ..graph.owners import Policy

Record = dict[str, Any]
# The number of records from which a call that reads all of them reads columns.
PROBE = 32
#: A predicate, its format, or the ID or URI of one object. None selects all objects. For bool, see graph.typing.
Filter = Union[str, Predicate, bool, ObjectID, None]
T = TypeVar("T")

_completions: dict[int, tuple[str | None, int]] = {}
_numbers = itertools.count(1)


def _complete(number: int, records: Any, count: int) -> None:
    _completions[number] = (_abi.decode(records), count)


_complete_callback = immortal(_abi.RECORDS_FN(_complete))
_no_callback = _abi.FAILURE_FN()
_insert = lib.cst_container_insert


class ExactDate(datetime):
    """A date that is rounded to microseconds, with the exact value, which is stored when a record is written back."""

    #: The stored value: seconds since 2001-01-01 UTC.
    seconds: float


def entity_name(entity: EntityLike) -> str:
    """Returns the name of an entity or of the entity of a class. A call of the library rejects other values."""
    if isinstance(entity, Entity):
        return entity.name
    if isinstance(entity, type) and issubclass(entity, ManagedObject):
        return entity._cst_entity.name if "_cst_entity" in vars(entity) else declared_entity(entity, "entity")
    return entity  # type: ignore[return-value]


def _date(value: str | float) -> datetime | float:
    """Returns the date of a record, or a number if no datetime can represent it."""
    if isinstance(value, str):
        if value in ("Infinity", "-Infinity", "NaN"):
            return float(value)
        whole, _, fraction = value.rstrip("Z").partition(".")
        return datetime.fromisoformat(f"{whole}.{fraction:0<6}+00:00")
    try:
        near = date_from_seconds(value)
    except InvalidArgumentError:
        return value
    found = ExactDate.fromisoformat(near.isoformat())
    found.seconds = value
    return found


def finite(value: Any) -> Any:
    """Returns a value with text instead of NaN and infinities, which JSON does not have."""
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    return value


def _plain(value: Any) -> Any:
    """Returns the JSON form of a value without a JSON type, as the library accepts it."""
    if isinstance(value, ExactDate) and hasattr(value, "seconds"):
        return finite(value.seconds)
    if isinstance(value, datetime):
        date_to_seconds(value)  # rejects a datetime without a time zone, or out of range
        return value.isoformat()
    refuse_day(value)
    if isinstance(value, (Decimal, UUID)):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        # Without a tag, a string attribute would store the base64 text.
        return {"$bytes": base64.b64encode(bytes(value)).decode()}
    if isinstance(value, ObjectID):
        return value.uri
    if isinstance(value, ManagedObject):
        return value.id.uri
    if isinstance(value, Mapping):
        return finite(dict(value))
    if isinstance(value, Iterable):
        return finite(list(value))
    raise TypeMismatchError(
        f"a record cannot have a value of type {type(value).__name__}: {shown(value)}. Use None, bool, int, float, "
        "Decimal, str, bytes, datetime, UUID, an object or its ID, or dictionaries and lists of these",
        value=value,
    )


def _name_of(values: Any, wrong: Any) -> str | None:
    """Returns the key path to a value within a record or a list of records; None if it does not contain the value."""
    members = values.items() if isinstance(values, Mapping) else ()
    for name, member in members:
        if member is wrong:
            return str(name)
        within = _name_of(member, wrong)
        if within is not None:
            return f"{name}.{within}" if within else str(name)
    if isinstance(values, (list, tuple, set, frozenset)):
        for member in values:
            if member is wrong:
                return ""
            within = _name_of(member, wrong)
            if within is not None:
                return within
    return None


_READERS: dict[int, Callable[[Any], Any]] = {
    AttributeType.DECIMAL: Decimal,
    AttributeType.DATE: _date,
    AttributeType.DOUBLE: float,
    AttributeType.FLOAT: float,
    AttributeType.UUID: UUID,
    AttributeType.BINARY: base64.b64decode,
}


def _readers(properties: Iterable[PropertyDescription]) -> dict[str, Callable[[Any], Any]]:
    """Returns the readers of attributes whose types JSON does not have, by name, including composite attributes."""
    readers: dict[str, Callable[[Any], Any]] = {}
    for each in properties:
        if not each.is_attribute:
            continue
        if each.attribute_type == AttributeType.COMPOSITE:
            readers[each.name] = partial(_read, readers=_readers(each.elements))
        elif each.attribute_type in _READERS:
            readers[each.name] = _READERS[each.attribute_type]
    return readers


def _read(record: Record, readers: Mapping[str, Callable[[Any], Any]]) -> Record:
    for name, reader in readers.items():
        if record.get(name) is not None:
            record[name] = reader(record[name])
    return record


class _Filter:
    """The predicate of a call, kept alive for the call. Rejects arguments that no predicate format uses."""

    def __init__(self, entity: str, predicate: Predicate | None, arguments: tuple[Any, ...]) -> None:
        if arguments:
            was, them = ("was", "it") if len(arguments) == 1 else ("were", "them")
            raise InvalidArgumentError(
                f"{plural(len(arguments), 'argument')} {was} passed without a predicate format for {entity}; omit "
                f"{them}, or pass the predicate as a str with conversions such as %@",
                entity=entity,
                key="arguments",
                value=list(arguments),
            )
        self.predicate = predicate
        self.handle = predicate._handle if predicate is not None else None


def _with_existing(error: ConflictError, ask: Any) -> ConflictError:
    """Returns the error of an insertion with a remedy that names the existing object."""
    if ask is _insert and error.existing:
        problem = next(str(each.message) for each in error.conflicts if getattr(each, "database_id", None))
        error.message = (
            f'{problem}; pass {{"@id": "{error.existing[0].uri}"}} to refer to the existing object, or call upsert to '
            "update it"
        )
        error.args = (error.message,)
    return error


class Records:
    """The record calls of a container. Each uses a separate context on the calling thread, and saves at most once."""

    _handle: int
    coordinator: Coordinator
    model: Model

    if TYPE_CHECKING:

        def context(self, *, unsaved: Policy | None = None) -> Context: ...
        def _require_open(self) -> None: ...

    @overload
    def insert(
        self, entity: EntityLike, values: Mapping[str, Any], *, success: Callable[[Record], Any] | None = None
    ) -> Record: ...
    @overload
    def insert(
        self,
        entity: EntityLike,
        values: Iterable[Mapping[str, Any]],
        *,
        success: Callable[[list[Record]], Any] | None = None,
    ) -> list[Record]: ...
    @overload
    def insert(
        self,
        entity: EntityLike,
        values: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        success: Callable[[Any], Any] | None = None,
        failure: Callable[[CorestoneError], Any] | None = None,
    ) -> Any: ...
    def insert(
        self,
        entity: EntityLike,
        values: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        success: Callable[[Any], Any] | None = None,
        failure: Callable[[CorestoneError], Any] | None = None,
    ) -> Any:
        """Inserts an object from a dictionary, or several objects from a list of dictionaries.

        Returns the record of the object, or a list of records. A record is a dictionary with an entry for each
        attribute and relationship. The value of a composite attribute is a dictionary. The value of a relationship is
        the URI of its target, or a list of URIs. "@id" is the URI of the object. "@entity" is the name of the object's
        entity if that is a subentity of the requested one.

            container.insert("Shop", {"name": "Toys", "items": [{"name": "kite", "price": "12.50"}]})

        Values are converted to the type of the attribute: text to numbers, dates (ISO 8601), UUIDs and bytes (base64),
        numbers (seconds since 2001) to dates. Only binary attributes accept bytes. A date that is more exact than a
        datetime is returned as an ExactDate; a date that no datetime can represent is returned as its number. A
        relationship takes a URI, an ID, an object or a dictionary; a to-many relationship takes a list of these. In a
        relationship, a dictionary with "@id" changes the object of that URI. Any other dictionary inserts an object of
        the relationship's entity, or of the entity that "@entity" names. A dictionary in `values` can also have
        "@entity"; "@id" in it is an error, because the object already exists. None stores null; omitted keys get their
        defaults. Errors have entity, key and value.

        ConflictError if an object has the unique values of another one. Its `existing` are the IDs of saved objects, to
        which a dictionary can refer instead; `upsert` updates them.

        success, failure  called with the result or the error. With `failure`, the call does not raise the error, but
                          returns None
        """
        name = entity_name(entity)
        is_one = isinstance(values, Mapping)
        arguments = (text(name, "entity"), self._json(name, values))
        return self._run_request(
            _insert, lambda: arguments, success, failure,
            lambda json_text, count: self._one(name, json_text) if is_one else self._many(name, json_text),
        )  # fmt: skip

    def read(
        self,
        entity: EntityLike,
        where: Filter = None,
        *arguments: Any,
        sort: str | Iterable[str] = (),
        ascending: bool = True,
        limit: int = 0,
        offset: int = 0,
        success: Callable[[list[Record]], Any] | None = None,
        failure: Callable[[CorestoneError], Any] | None = None,
    ) -> list[Record]:
        """Returns the records of the objects that match a predicate, ordered by key paths; "-" reverses the direction.

            container.read("Item", "price < %@ AND shop.name == %@", Decimal(10), name, sort="-price", limit=50)

        where, arguments  a predicate, or its format and arguments (pass all user input as arguments), or the ID or URI
                          of one object (the "@id" of a record). None: all
        limit             the maximum number of records (0: all), after skipping `offset`
        """
        name = entity_name(entity)
        keys = sort if isinstance(sort, str) else ",".join(sort)
        limit, offset = require_integer(limit, "limit"), require_integer(offset, "offset")
        probe = min(limit or PROBE, PROBE)
        condition: _Filter | None = None

        def arguments_for(most: int) -> tuple[Any, ...]:
            order = optional_text(keys or None), bool(ascending)
            return (text(name, "entity"), condition, *order, most, offset)

        def given() -> tuple[Any, ...]:
            nonlocal condition
            condition = self._filter(name, where, arguments)
            return arguments_for(probe)

        def records(json_text: str, count: int) -> list[Record]:
            if count < probe or probe == limit:
                return self._many(name, json_text)
            # There may be many, for which columns are faster than JSON.
            found = self._columns(name, condition, keys, ascending, limit, offset)
            if found is not None:
                return found
            return self._many(name, self._ask(lib.cst_container_read, arguments_for(limit))[0])

        found: list[Record] = self._run_request(lib.cst_container_read, given, success, failure, records)
        return found

    def _columns(
        self, entity: str, condition: _Filter | None, keys: str, ascending: bool, limit: int, offset: int
    ) -> list[Record] | None:
        """Returns the records of a fetch, read as columns; None if they must be read as JSON."""
        from ..predicate.sort import SortDescriptor
        from .record_columns import read_records

        order = []
        for key in keys.split(",") if keys else ():
            name = key.strip(" ")
            order.append(SortDescriptor(name[1:] if name[:1] in "+-" else name, ascending != name.startswith("-")))
        predicate = condition.predicate if condition is not None else None

        def new_context() -> Context:
            return self.context(unsaved="discard")

        return read_records(new_context, self.model[entity], predicate, order, limit, offset, _date)

    def update(
        self,
        entity: EntityLike,
        where: Filter,
        values: Mapping[str, Any],
        *arguments: Any,
        success: Callable[[list[Record]], Any] | None = None,
        failure: Callable[[CorestoneError], Any] | None = None,
    ) -> list[Record]:
        """Sets values of the objects that `where` selects, as for `read`, and returns their records.

            container.update("Item", "name == %@", {"price": "12.50"}, name)

        A record that was read can be written again: "@id" and "@entity" are ignored.

        arguments  the arguments of a predicate format
        """
        name = entity_name(entity)
        json_text = self._json(name, values)
        found: list[Record] = self._run_request(
            lib.cst_container_update,
            lambda: (text(name, "entity"), self._filter(name, where, arguments), json_text),
            success, failure, lambda json_text, count: self._many(name, json_text),
        )  # fmt: skip
        return found

    def delete(
        self,
        entity: EntityLike,
        where: Filter,
        *arguments: Any,
        success: Callable[[int], Any] | None = None,
        failure: Callable[[CorestoneError], Any] | None = None,
    ) -> int:
        """Deletes the objects that `where` selects, as for `read`, and returns their number. Delete rules are applied.

        `where` must not be None: see `delete_all`.
        """
        name = entity_name(entity)
        if where is None:
            raise InvalidArgumentError(
                f"delete of {name} takes a predicate or an ID, not None; call delete_all to delete all objects",
                entity=name,
                key="where",
            )
        found: int = self._run_request(
            lib.cst_container_delete, lambda: (text(name, "entity"), self._filter(name, where, arguments)),
            success, failure, lambda json_text, count: count,
        )  # fmt: skip
        return found

    def delete_all(
        self,
        entity: EntityLike,
        *,
        success: Callable[[int], Any] | None = None,
        failure: Callable[[CorestoneError], Any] | None = None,
    ) -> int:
        """Deletes all objects of an entity and its subentities, and returns their number."""
        name = entity_name(entity)
        found: int = self._run_request(
            lib.cst_container_delete_all,
            lambda: (text(name, "entity"),),
            success,
            failure,
            lambda json_text, count: count,
        )
        return found

    def _filter(self, entity: str, where: Filter, arguments: tuple[Any, ...]) -> _Filter | None:
        self._require_open()
        if isinstance(where, str) and where.startswith("x-coredata:"):
            found = self.coordinator.object_id(where)
            if found is None:
                raise InvalidArgumentError(
                    f'"{where}" is not the URI of an object in an open store; pass the "@id" of a record, or open '
                    "the object's store with load",
                    entity=entity,
                    key="where",
                    value=where,
                    object_uri=where,
                )
            where = found
        if isinstance(where, ObjectID):
            return _Filter(entity, Predicate("SELF == %@", where), arguments)
        if where is None or isinstance(where, Predicate):
            return _Filter(entity, where, arguments) if where is not None or arguments else None
        return _Filter(entity, given_predicate(where, arguments, entity), ())

    def _json(self, entity: str, values: Any) -> _abi.InputString:
        last: Any = None

        def plain(value: Any) -> Any:
            nonlocal last
            last = value
            return _plain(value)

        try:
            if not isinstance(values, (Mapping, list, tuple)):
                values = plain(values)
            return text(json.dumps(finite(values), default=plain, allow_nan=False))
        except CorestoneError as raised:
            name = None if last is values else _name_of(values, last)
            if isinstance(raised, TypeMismatchError) and (last is values or name == ""):
                # The record itself, not a value in it.
                raise TypeMismatchError(
                    f"a record of {entity} must be a dictionary, not a value of type {type(last).__name__}: "
                    f"{shown(last)}",
                    entity=entity,
                    key="values",
                    value=last,
                ) from None
            raised.entity = raised.entity or entity
            raise located(raised, entity, name or None, last) from None
        except (ValueError, TypeError, RecursionError) as raised:
            remedy = ""
            if str(raised).startswith(("keys must be", "Out of range")):
                remedy = ". Use strings as keys"
            elif isinstance(raised, RecursionError) or "Circular" in str(raised):
                remedy = '. Flatten the values, or write inner records first with insert and refer to their "@id"'
            # The advice in Python's text concerns the conversion to JSON, which is not the limit of attributes.
            cause = "an integer has more than 38 digits" if "set_int_max_str_digits" in str(raised) else str(raised)
            raise TypeMismatchError(
                f"cannot write a record of {entity} as JSON: {cause}{remedy}",
                entity=entity,
                key="values",
                value=values,
            ) from raised

    def _run_request(
        self,
        ask: Any,
        given: Callable[[], tuple[Any, ...]],
        success: Callable[[Any], Any] | None,
        failure: Callable[[CorestoneError], Any] | None,
        read: Callable[[str, int], Any],
    ) -> Any:
        for name, each in (("success", success), ("failure", failure)):
            if each is not None:
                function_given(each, name)
        try:
            found = read(*self._ask(ask, given()))
        except CorestoneError as raised:
            if failure is None:
                raise
            failure(raised)
            return None
        if success is not None:
            success(found)
        return found

    def _ask(self, ask: Any, arguments: tuple[Any, ...]) -> tuple[str, int]:
        """Returns the records as JSON, and their number."""
        number = next(_numbers)
        handles = [each.handle if isinstance(each, _Filter) else each for each in arguments]
        try:
            call(ask, self._handle, *handles, _complete_callback, _no_callback, number)
        except ConflictError as error:
            raise _with_existing(error, ask) from None
        json_text, count = _completions.pop(number)
        return json_text or "[]", count

    def _one(self, entity: str, json_text: str) -> Record:
        return self._many(entity, json_text)[0]

    def _many(self, entity: str, json_text: str) -> list[Record]:
        found: list[Record] = json.loads(json_text)
        readers: dict[str, dict[str, Callable[[Any], Any]]] = {}
        for record in found:
            name = record.get("@entity", entity)
            if name not in readers:
                readers[name] = _readers(self.model[name].properties.values())
            _read(record, readers[name])
        return found
