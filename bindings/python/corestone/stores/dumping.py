"""The entities and values of a dump, in the format of the tool's `dump`."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator
from ctypes import byref
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from .. import _abi
from .._abi import lib, text, values
from .._abi.call import call, made, owned
from ..graph.object import ManagedObject, object_id
from ..graph.results import Results
from ..model.composite import leaves
from ..model.property import PropertyDescription
from ..model.transformer import _raw as stored_bytes
from .records import finite

if TYPE_CHECKING:
    from ..model.entity import Entity

_REQUIRED, _OPTIONAL = 10_000, 10  # the weights of to-one relationships in the order of entities
_DIGITS = 17  # the most digits of a fraction of a second


class Part(NamedTuple):
    """An entity of a dump, and the properties that its records contain."""

    entity: Entity
    attributes: list[PropertyDescription]
    to_one: list[PropertyDescription]
    to_many: list[PropertyDescription]


def parts_of(entities: Iterable[Entity], *, is_whole: bool) -> list[Part]:
    """Returns the parts of a dump, destinations of relationships first.

    is_whole  whether all objects are dumped, so that one side of a relationship and its inverse is enough
    """
    found = []
    for entity in _ordered([each for each in entities if not each.is_abstract], is_whole=is_whole):
        known = [each for _, each in sorted(entity.properties.items()) if not each.is_transient]
        relationships = [each for each in known if each.is_relationship]
        attributes = [leaf for each in known if each.is_attribute for leaf in leaves(each)]
        found.append(
            Part(
                entity,
                attributes,
                [each for each in relationships if not each.is_to_many],
                [each for each in relationships if is_dumped(entity, each, is_whole=is_whole)],
            )
        )
    return found


def is_dumped(entity: Entity, relationship: PropertyDescription, *, is_whole: bool) -> bool:
    """Whether a dump contains a to-many relationship; False if the dumped inverse has the same content."""
    if not relationship.is_to_many or relationship.is_transient:
        return False
    model = entity._model
    target = model._entity_of(relationship.destination)
    inverse = target.properties.get(relationship.inverse) if relationship.inverse else None
    if inverse is None or inverse.is_transient or relationship.is_ordered:
        return True
    if not inverse.is_to_many:
        return False
    owner = model._entity_of(relationship.entity).name
    if not is_whole or (target.name, inverse.name) == (owner, relationship.name):
        return True
    if inverse.is_ordered:
        return False
    return (owner, relationship.name) < (model._entity_of(inverse.entity).name, inverse.name)


def _ordered(entities: list[Entity], *, is_whole: bool) -> Iterator[Entity]:
    """Yields entities, each after the destinations of its relationships, unless there are cycles."""
    remaining = {each.name: each for each in sorted(entities, key=lambda each: each.name)}
    kinds = {name: _superentities(each) for name, each in remaining.items()}
    weights = {
        name: [
            (each._model._entity_of(relationship.destination).name, _weight(each, relationship, is_whole))
            for relationship in each.properties.values()
            if relationship.is_relationship
        ]
        for name, each in remaining.items()
    }
    while remaining:

        def weight(name: str) -> int:
            others = {kind for other in remaining if other != name for kind in kinds[other]}
            return sum(each for destination, each in weights[name] if destination in others)

        yield remaining.pop(min(remaining, key=weight))


def _superentities(entity: Entity) -> set[str]:
    found: set[str] = set()
    owner: Entity | None = entity
    while owner is not None:
        found.add(owner.name)
        owner = owner.parent
    return found


def _weight(entity: Entity, relationship: PropertyDescription, is_whole: bool) -> int:
    if not relationship.is_to_many:
        return _OPTIONAL if relationship.is_optional else _REQUIRED
    return 1 if is_dumped(entity, relationship, is_whole=is_whole) else 0


def record_of(item: ManagedObject, part: Part) -> dict[str, Any]:
    """Returns the record of an object, with values that JSON can represent."""
    record: dict[str, Any] = {"@id": name_of(object_id(item).uri), "@entity": part.entity.name}
    for leaf in part.attributes:
        record[leaf.path] = _value(item, part.entity, leaf)
    for relationship in part.to_one:
        cell = values.Cell()
        call(lib.cst_object_get, item._cst_handle, relationship.key, cell.ref)
        target = values.decode_cell(cell, item._cst_context)
        record[relationship.name] = None if target is None else name_of(object_id(target).uri)
    for relationship in part.to_many:
        handle = owned(lib.cst_object_copy_members, item._cst_handle, relationship.key)
        names = [name_of(each.uri) for each in Results(item._cst_context, handle, None).ids()]
        record[relationship.name] = names if relationship.is_ordered else sorted(names, key=_place)
    return record


def name_of(uri: str) -> str:
    """Returns the name of an object in a dump: Note/p12."""
    return "/".join(uri.rsplit("/", 2)[-2:])


def _place(name: str) -> tuple[str, int, str]:
    entity, _, last = name.rpartition("/")
    return (entity, int(last[1:]), "") if last[1:].isdigit() else (entity, 0, last)


def _value(item: ManagedObject, entity: Entity, leaf: PropertyDescription) -> Any:
    if leaf.transforms:
        data = stored_bytes(item, leaf.key)
        return None if data is None else base64.b64encode(data).decode()
    cell = values.Cell()
    call(lib.cst_object_get, item._cst_handle, leaf.key, cell.ref)
    if cell.kind.value == _abi.DATE:
        # A datetime is rounded to microseconds.
        return _date(entity, leaf, cell.real.value)
    return plain(values.decode_cell(cell, item._cst_context, entity.name, leaf.path))


def plain(value: Any) -> Any:
    """Returns a value in its form in a dump."""
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, UUID):
        return str(value).upper()
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(bytes(value)).decode()
    return value


def _date(entity: Entity, leaf: PropertyDescription, seconds: float) -> str | float:
    """Returns a date as ISO 8601 with as many digits as necessary, or the seconds since 2001 if no text is exact."""
    if not math.isfinite(seconds):
        return finite(seconds)  # type: ignore[no-any-return]
    whole = math.floor(seconds)
    try:
        head = (values.EPOCH + timedelta(seconds=whole)).strftime("%Y-%m-%dT%H:%M:%S")
    except OverflowError:
        return seconds
    head = head.rjust(len("2001-01-01T00:00:00"), "0")  # %Y does not pad years below 1000
    if seconds == whole:
        return f"{head}Z"
    fraction = Decimal(seconds) - whole
    for digits in range(1, _DIGITS + 1):
        part = f"{fraction:.{digits}f}"
        if part.startswith("0") and float(whole + Decimal(part)) == seconds:
            found = f"{head}{part[1:]}Z"
            if _seconds(entity, leaf, found) == seconds:
                return found
    return seconds


def _seconds(entity: Entity, leaf: PropertyDescription, date: str) -> float | None:
    """Returns the seconds that the library reads from the text of a date; None for elements of composites."""
    handle = made(lib.cst_entity_attribute, entity._handle, text(leaf.path))
    if not handle:
        return None
    given, out = values.Cell(), _abi.Value()
    values.encode(given.value, date, entity.name, leaf.path)
    call(lib.cst_attribute_convert, handle, given.ref, byref(out))
    return float(out.payload.real)
