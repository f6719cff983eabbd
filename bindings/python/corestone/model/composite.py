"""Composite attributes: a dictionary in Python, separate attributes in the library."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .._abi import lib, values
from .._abi.arguments import shown
from .._abi.call import call
from .._abi.stamps import Stamp
from ..codes import AttributeType
from ..errors import InvalidArgumentError, TypeMismatchError
from .property import PropertyDescription, nearest
from .transformer import from_bytes, to_bytes


def leaves(description: PropertyDescription) -> Iterator[PropertyDescription]:
    """Yields the elements that are not composite, in order; the attribute itself if it is not composite."""
    if description.attribute_type != AttributeType.COMPOSITE:
        yield description
        return
    for element in description.elements:
        yield from leaves(element)


def compose(description: PropertyDescription, given: Iterator[Any]) -> Any:
    """Returns the value of an attribute from the values of its leaves in order.

    The value of a composite attribute is a dictionary of the elements that have a value, or None if every element is
    nil.
    """
    found: Any
    if description.attribute_type != AttributeType.COMPOSITE:
        found = next(given)
    else:
        parts = {element.name: compose(element, given) for element in description.elements}
        found = {name: part for name, part in parts.items() if part is not None} or None
    if description.conversion is None or found is None:
        return found
    return description.conversion.load(found)


def decompose(description: PropertyDescription, value: Any, entity: str) -> Iterator[tuple[PropertyDescription, Any]]:
    """Yields each leaf of an attribute with its value, which is None if the dictionary does not contain the leaf."""
    if description.conversion is not None and value is not None:
        value = description.conversion.store(value, entity, description.path)
    if description.attribute_type != AttributeType.COMPOSITE:
        yield description, value
        return
    if value is not None and not isinstance(value, Mapping):
        raise TypeMismatchError(
            f"{entity}.{description.path} is composite and takes a dictionary of its elements, not {shown(value)}",
            entity=entity,
            key=description.path,
            value=value,
        )
    known = {element.name: element for element in description.elements}
    for name in value or ():
        if name not in known:
            raise InvalidArgumentError(
                f"{entity}.{description.path} does not have an element {shown(name)}{nearest(str(name), known)}",
                entity=entity,
                key=f"{description.path}.{name}",
                value=(value or {})[name],
            )
    for name, element in known.items():
        yield from decompose(element, (value or {}).get(name), entity)


def loaded(description: PropertyDescription, value: Any) -> Any:
    """Returns the value of an attribute from its stored value, a dictionary for a composite attribute."""
    if value is None or description.conversion is None:
        return value
    if description.elements and isinstance(value, Mapping):
        value = {each.name: loaded(each, value.get(each.name)) for each in description.elements}
    return description.conversion.load(value)


def composite_property(description: PropertyDescription, entity: str, documentation: str) -> property:
    """Returns a Python property for a composite attribute, or for an attribute whose values are converted.

    Reading composes a value; setting replaces every element.
    """
    kinds = list(leaves(description))
    paths = [each.path for each in kinds]
    keys = (ctypes.c_uint32 * len(kinds))(*[each.key for each in kinds])

    def getter(self: Any) -> Any:
        row = values.Row(len(kinds))
        call(lib.cst_object_get_many, self._cst_handle, len(kinds), keys, row.ref)
        found = values.decode_named(row.array, paths, self._cst_context, entity)
        return compose(
            description,
            (
                from_bytes(leaf.transformer, value, entity, leaf.path) if leaf.transforms else value
                for leaf, value in zip(kinds, found)
            ),
        )

    def setter(self: Any, value: Any) -> None:
        parts = [
            to_bytes(leaf.transformer, part, entity, leaf.path, leaf.value_class)
            if leaf.transforms
            else values.suited(leaf.attribute_type, part)
            for leaf, part in decompose(description, value, entity)
        ]
        row = values.encode_all(parts, entity, paths)
        self._cst_context._mark.stamp = Stamp()
        call(lib.cst_object_set_many, self._cst_handle, len(kinds), keys, row.ref)

    return property(getter, setter, doc=documentation)


def committed(description: PropertyDescription, read: Callable[[PropertyDescription], Any]) -> Any:
    """Returns the value that `compose` builds from the result of `read` for each leaf."""
    return compose(description, (read(leaf) for leaf in leaves(description)))
