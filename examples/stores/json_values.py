"""Conversion of rows to JSON and back, for the files and the requests of the two stores in this folder.

    {"version": 3, "values": {"name": "Ada", …}, "links": {"manager": "Person/3f2a", "tags": ["Tag/1", "Tag/2"]}}

    text and URIs  unchanged              dates        "2026-11-22T21:00:00.250000Z"
    numbers, bool  unchanged              decimals     "12.50"
    NaN, infinity  "nan", "inf", "-inf"   UUIDs        "6f9619ff-8b86-d011-b42d-00c04fc964ff"
    binary data    base64                 composites   an object of their elements
    transformable attributes: the bytes from the transformer, by default an archive, as base64

Missing values are left out, and a missing target is null. Decimals are strings, so they stay exact even if a double
cannot represent them.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

from corestone import AttributeType, Entity, HostStore, PropertyDescription, RowID

DATE = "%Y-%m-%dT%H:%M:%S.%fZ"
PLAIN = (AttributeType.STRING, AttributeType.URI, AttributeType.BOOLEAN)
WHOLE = (AttributeType.INTEGER_16, AttributeType.INTEGER_32, AttributeType.INTEGER_64)
REAL = (AttributeType.DOUBLE, AttributeType.FLOAT)
BYTES = (AttributeType.BINARY, AttributeType.TRANSFORMABLE)


def to_json(value: Any, kind: AttributeType) -> Any:
    """Returns the JSON for a value of an attribute type."""
    if value is None or kind in PLAIN or kind in WHOLE:
        return value
    if kind in REAL:
        return value if math.isfinite(value) else str(value)
    if kind == AttributeType.DATE:
        return to_json_date(value)
    if kind in BYTES:
        return base64.b64encode(value).decode("ascii")
    return str(value)  # a decimal, a UUID


def from_json(value: Any, kind: AttributeType) -> Any:
    """Returns the value for a result of to_json.

    ValueError, TypeError or ArithmeticError if another program wrote an invalid value.
    """
    if value is None:
        return None
    if kind in PLAIN:
        return one_of(bool if kind == AttributeType.BOOLEAN else str, value)
    if kind in WHOLE:
        return one_of(int, value)
    if kind in REAL:
        return float(value)
    text = one_of(str, value)
    if kind == AttributeType.DATE:
        return from_json_date(text)
    if kind in BYTES:
        return base64.b64decode(text, validate=True)
    if kind == AttributeType.UUID:
        return UUID(text)
    return Decimal(text)


def to_json_date(value: datetime) -> str:
    utc = value if value.tzinfo is None else value.astimezone(timezone.utc)
    # The year is formatted separately, because strftime writes the year 33 with two digits.
    return f"{utc.year:04}-{utc:%m-%dT%H:%M:%S.%f}Z"


def from_json_date(text: str) -> datetime:
    return datetime.strptime(text, DATE).replace(tzinfo=timezone.utc)


def one_of(kind: type, value: Any) -> Any:
    """Returns a value of a required type. A bool is not accepted as an int."""
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise TypeError(f"{value!r:.60} is of type {type(value).__name__}, but must be of type {kind.__name__}")
    return value


# -------- rows -----------------------------------------------------------------------------------------------


def values_to_json(properties: Iterable[PropertyDescription], values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the attributes of a row that have a value."""
    found = {}
    for each in properties:
        value = values.get(each.name)
        if each.is_attribute and value is not None:
            kind = each.attribute_type
            found[each.name] = values_to_json(each.elements, value) if each.elements else to_json(value, kind)
    return found


def values_from_json(properties: Iterable[PropertyDescription], said: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Returns the attributes of a row. `where` is the beginning of error messages. Unknown keys are left out."""
    found: dict[str, Any] = {}
    for each in properties:
        value = said.get(each.name)
        if not each.is_attribute or value is None:
            continue
        if each.elements and isinstance(value, dict):
            found[each.name] = values_from_json(each.elements, value, where)
            continue
        try:
            found[each.name] = from_json(value, each.attribute_type)
        except (TypeError, ValueError, ArithmeticError) as failure:
            raise ValueError(
                f"{where}: {each.path} is {value!r:.80}, which is not a valid {each.attribute_type.name} value"
            ) from failure
    return found


def link(target: RowID) -> str:
    """Returns the link to a row, for the rows that refer to it."""
    return f"{target.entity.name}/{target.reference!s}"


def linked(store: HostStore, said: Any, where: str) -> RowID:
    """Returns the row ID for a link."""
    entity, slash, name = said.partition("/") if isinstance(said, str) else ("", "", "")
    if not slash or not name or entity not in store.model:
        raise ValueError(f"{where}: {said!r:.80} is not a link such as Person/3f2a")
    return store.row_id(entity, name)


def links_to_json(entity: Entity, values: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the to-one relationships of a row, including null ones."""
    found: dict[str, Any] = {}
    for each in entity.properties.values():
        if each.is_relationship and not each.is_to_many:
            target = values.get(each.name)
            found[each.name] = None if target is None else link(target)
    return found


def links_from_json(store: HostStore, entity: Entity, said: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Returns the to-one relationships of a row. A missing one is left out, and the library requests it when needed."""
    found: dict[str, Any] = {}
    for each in entity.properties.values():
        if each.is_relationship and not each.is_to_many and each.name in said:
            target = said[each.name]
            found[each.name] = None if target is None else linked(store, target, where)
    return found


def with_subentities(entity: Entity) -> list[Entity]:
    """Returns an entity and all of its subentities."""
    return [entity, *(each for child in entity.children for each in with_subentities(child))]


def root(entity: Entity) -> Entity:
    """Returns the root of an entity tree."""
    return entity if entity.parent is None else root(entity.parent)


def keeps_members(relationship: PropertyDescription, inverse: PropertyDescription | None) -> bool:
    """Whether the row of the owner contains the members of a to-many relationship.

    Otherwise, the row of each member contains its single owner."""
    return relationship.is_ordered or inverse is None or inverse.is_to_many
