"""Values of records: their conversion to the types of attributes, and reading and setting them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from .._abi.arguments import shown
from ..codes import AttributeType
from ..errors import CorestoneError, InvalidArgumentError, TypeMismatchError
from ..model.composite import leaves
from ..model.property import PropertyDescription, nearest
from ..model.transformer import _raw as stored_bytes
from ..model.transformer import _set as set_bytes
from ..model.transformer import to_bytes
from .object import ManagedObject

if TYPE_CHECKING:
    from ..model.entity import Entity

# The Python types that an attribute of this type takes without a conversion.
_PLAIN: dict[AttributeType, type] = {
    AttributeType.STRING: str,
    AttributeType.BOOLEAN: bool,
    AttributeType.DOUBLE: float,
}
_REAL = (AttributeType.DOUBLE, AttributeType.FLOAT, AttributeType.DATE)
_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def sorted_values(
    entity: Entity, record: Mapping[str, Any], *, skips_unknown: bool
) -> tuple[list[tuple[PropertyDescription, Any]], list[tuple[PropertyDescription, Any]]]:
    """Returns the converted attribute values of a record, and its relationships with their values."""
    attributes: list[tuple[PropertyDescription, Any]] = []
    relationships: list[tuple[PropertyDescription, Any]] = []
    known = entity.properties
    for key, value in record.items():
        if key in ("@id", "@entity"):
            continue
        found = known.get(key)
        if found is None and isinstance(key, str) and "." in key:
            found = entity._element_at(key)
        if found is None or found.is_fetched:
            if skips_unknown:
                continue
            raise InvalidArgumentError(
                f"{entity.name} does not have a property {shown(key)}{nearest(str(key), known)}",
                entity=entity.name,
                key=str(key),
                value=value,
            )
        if found.is_relationship:
            if not found.is_transient:
                relationships.append((found, value))
        elif not found.is_derived and not found.is_transient:
            attributes += _converted(entity, found, value)
    return attributes, relationships


def _converted(
    entity: Entity, description: PropertyDescription, value: Any
) -> Iterable[tuple[PropertyDescription, Any]]:
    if not description.elements:
        return [(description, _convert(entity, description, value))]
    if value is None:
        return [(leaf, None) for leaf in leaves(description)]
    if not isinstance(value, Mapping):
        raise TypeMismatchError(
            f"{entity.name}.{description.path} is composite and takes a dictionary of its elements, not {shown(value)}",
            entity=entity.name,
            key=description.path,
            value=value,
        )
    elements = {each.name: each for each in description.elements}
    found: list[tuple[PropertyDescription, Any]] = []
    for name, part in value.items():
        if name not in elements:
            raise InvalidArgumentError(
                f"{entity.name}.{description.path} does not have an element {shown(name)}{nearest(name, elements)}",
                entity=entity.name,
                key=f"{description.path}.{name}",
                value=part,
            )
        found += _converted(entity, elements[name], part)
    return found


def is_plain(leaf: PropertyDescription) -> bool:
    return leaf.path == leaf.name and not leaf.transforms


def get_value(item: ManagedObject, leaf: PropertyDescription) -> Any:
    if leaf.transforms:
        return stored_bytes(item, leaf.key)
    return getattr(item, leaf.name) if leaf.path == leaf.name else ManagedObject.__getitem__(item, leaf.path)


def set_value(item: ManagedObject, leaf: PropertyDescription, value: Any) -> None:
    if leaf.transforms:
        set_bytes(item, leaf, value)
    elif leaf.path == leaf.name:
        setattr(item, leaf.name, value)
    else:
        ManagedObject.__setitem__(item, leaf.path, value)


def setting(item: ManagedObject, leaf: PropertyDescription, value: Any) -> Callable[[], None]:
    return lambda: set_value(item, leaf, value)


def _convert(entity: Entity, leaf: PropertyDescription, value: Any) -> Any:
    if value is None or type(value) is _PLAIN.get(leaf.attribute_type):
        return value
    if isinstance(value, Decimal) and leaf.attribute_type in _REAL:
        value = float(value)
    elif isinstance(value, str):
        if leaf.attribute_type == AttributeType.BOOLEAN and value.lower() in _FLAGS:
            return _FLAGS[value.lower()]
        if leaf.attribute_type in _REAL and value in ("NaN", "Infinity", "-Infinity"):
            return float(value)
    if leaf.transforms and not isinstance(value, (str, bytes)):
        return to_bytes(leaf.transformer, value, entity.name, leaf.path, leaf.value_class)
    return entity.convert(leaf.path, value) if leaf.path == leaf.name else _converted_element(entity, leaf, value)


_converters: dict[AttributeType, Entity] = {}


def _converted_element(entity: Entity, leaf: PropertyDescription, value: Any) -> Any:
    """Returns the converted value of an element of a composite attribute, for which the library has no function."""
    converter = _converters.get(leaf.attribute_type)
    if converter is None:
        from ..model.model import Model

        converter = Model().entity("Element").attribute("value", leaf.attribute_type, optional=True)
        _converters[leaf.attribute_type] = converter
    try:
        return converter.convert("value", value)
    except CorestoneError as error:
        error.message = error.message.replace("Element.value", f"{entity.name}.{leaf.path}")
        error.args, error.entity, error.key = (error.message,), entity.name, leaf.path
        raise
