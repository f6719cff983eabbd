"""Property descriptions, read from the library."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterable
from ctypes import byref
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _abi
from .._abi import lib, text
from .._abi.call import call
from ..codes import AttributeType, DeleteRule
from .definition import attribute_type

if TYPE_CHECKING:
    from .conversions import Conversion, Conversions


class PropertyDescription(NamedTuple):
    """A property that an entity declares or inherits."""

    name: str
    key: int
    is_relationship: bool
    is_fetched: bool
    flags: int
    attribute_type: AttributeType
    destination: int  # the handle of the destination or of the fetched entity; 0 for attributes
    inverse: str | None
    delete_rule: DeleteRule
    minimum: int
    maximum: int
    entity: int  # the handle of the entity that declares the property
    path: str = ""  # the name, or "location.latitude" for an element of a composite attribute
    elements: tuple[PropertyDescription, ...] = ()  # the elements of a composite attribute
    transformer: str | None = None  # the name of a transformable attribute's transformer
    value_class: str | None = None  # the class of a transformable attribute's values on Apple's platforms
    conversion: Conversion | None = None  # between stored values and those of a declared class

    @property
    def transforms(self) -> bool:
        """Whether the attribute is transformable: a transformer converts between bytes and values."""
        return not self.is_relationship and self.attribute_type == AttributeType.TRANSFORMABLE

    @property
    def is_made(self) -> bool:
        """Whether Python assembles the values: from bytes, from elements, from any object, or by a conversion."""
        return self.transforms or bool(self.elements) or self.is_undefined or self.conversion is not None

    @property
    def is_undefined(self) -> bool:
        """Whether the attribute, which is transient, has values of every type."""
        return self.is_attribute and self.attribute_type == AttributeType.UNDEFINED

    @property
    def is_attribute(self) -> bool:
        """Whether the property is an attribute."""
        return not self.is_relationship and not self.is_fetched

    @property
    def is_optional(self) -> bool:
        """Whether a save accepts null, or a relationship without members."""
        return bool(self.flags & _abi.PROPERTY_OPTIONAL)

    @property
    def is_transient(self) -> bool:
        """Whether the property is transient: not stored."""
        return bool(self.flags & _abi.PROPERTY_TRANSIENT)

    @property
    def is_external(self) -> bool:
        """Whether large values are stored in backing files."""
        return bool(self.flags & _abi.PROPERTY_EXTERNAL_STORAGE)

    @property
    def is_indexed(self) -> bool:
        """Whether the attribute is indexed."""
        return bool(self.flags & _abi.PROPERTY_INDEXED)

    @property
    def is_derived(self) -> bool:
        """Whether the store computes the attribute at each save."""
        return bool(self.flags & _abi.PROPERTY_DERIVED)

    @property
    def is_to_many(self) -> bool:
        """Whether the property is a to-many relationship."""
        return bool(self.flags & _abi.PROPERTY_TO_MANY)

    @property
    def is_ordered(self) -> bool:
        """Whether the property is an ordered to-many relationship."""
        return bool(self.flags & _abi.PROPERTY_ORDERED)


def read_properties(entity: int) -> dict[str, PropertyDescription]:
    """Returns the properties of an entity by name, inherited ones first."""
    found = {}
    info = _abi.PropertyInfo()
    for index in range(lib.cst_entity_property_count(entity)):
        info.struct_size = ctypes.sizeof(_abi.PropertyInfo)
        if call(lib.cst_entity_property_at, entity, index, byref(info)) != _abi.OK:
            break
        name = _abi.decode(info.name) or ""
        relationship = info.kind == _abi.PROPERTY_RELATIONSHIP
        found[name] = PropertyDescription(
            name,
            info.key,
            relationship,
            info.kind == _abi.PROPERTY_FETCHED,
            info.flags,
            AttributeType(info.attribute_type),
            info.destination or 0,
            _abi.decode(info.inverse),
            DeleteRule(info.delete_rule),
            info.minimum_count,
            info.maximum_count,
            info.entity or 0,
            name,
        )
        if found[name].attribute_type in (AttributeType.COMPOSITE, AttributeType.TRANSFORMABLE):
            found[name] = _described(entity, found[name], _json(entity, name))
    return found


def converted(description: PropertyDescription, conversions: Conversions) -> PropertyDescription:
    """Returns the description of an attribute with the conversions of its values and those of its elements."""
    elements = tuple(converted(each, conversions) for each in description.elements)
    return description._replace(conversion=conversions.get(description.path), elements=elements)


def _json(entity: int, name: str) -> Any:
    buffer = _abi.Buffer()
    call(lib.cst_entity_copy_json, entity, text(name, "name"), byref(buffer))
    return json.loads(_abi.take_text(buffer))


def _described(entity: int, description: PropertyDescription, said: Any) -> PropertyDescription:
    """Returns the description with the transformer, value class and elements of an attribute."""
    return description._replace(
        transformer=said.get("transformer"),
        value_class=said.get("valueClass"),
        elements=tuple(_element(entity, description, each) for each in said.get("elements", ())),
    )


def _element(entity: int, composite: PropertyDescription, said: Any) -> PropertyDescription:
    path, key = f"{composite.path}.{said['name']}", ctypes.c_uint32(_abi.NO_KEY)
    if composite.key != _abi.NO_KEY:
        call(lib.cst_entity_key, entity, text(path), byref(key))
    flags = composite.flags & _abi.PROPERTY_TRANSIENT
    flags |= (_abi.PROPERTY_OPTIONAL if said.get("optional") else 0) | (
        _abi.PROPERTY_EXTERNAL_STORAGE if said.get("externalStorage") else 0
    )
    element = composite._replace(
        name=said["name"],
        path=path,
        key=key.value,
        flags=flags,
        attribute_type=attribute_type(said["type"]),
        elements=(),
    )
    return _described(entity, element, said)


def nearest(name: str, known: Iterable[str]) -> str:
    """Returns `; did you mean "x"?`, or an empty string if no name is similar."""
    import difflib

    folded = {candidate.lower(): candidate for candidate in known}
    match = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return f'; did you mean "{folded[match[0]]}"?' if match else ""


def no_attribute(message: str, name: str) -> AttributeError:
    """Returns the error for an unknown attribute, to whose message a traceback does not add a suggestion of Python."""
    error = AttributeError(message)
    for field, value in (("name", name), ("obj", None)):  # attributes since Python 3.10
        setattr(error, field, value)
    return error
