"""What the library says about a property."""

from __future__ import annotations

import ctypes
import difflib
from collections.abc import Iterable
from ctypes import byref
from typing import NamedTuple

from . import _abi
from ._abi import lib
from ._call import call
from .codes import AttributeType, DeleteRule


class PropertyDescription(NamedTuple):
    """A property of an entity, inherited or its own."""

    name: str
    key: int
    is_relationship: bool
    is_fetched: bool
    flags: int
    attribute_type: AttributeType
    destination: int  # the handle of the entity to which it leads, or that is fetched; 0 for attributes
    inverse: str | None
    delete_rule: DeleteRule
    minimum: int
    maximum: int
    entity: int  # the handle of the one that declares it

    @property
    def is_attribute(self) -> bool:
        return not self.is_relationship and not self.is_fetched

    @property
    def is_optional(self) -> bool:
        return bool(self.flags & _abi.OPTIONAL)

    @property
    def is_transient(self) -> bool:
        return bool(self.flags & _abi.TRANSIENT)

    @property
    def is_external(self) -> bool:
        return bool(self.flags & _abi.EXTERNAL_STORAGE)

    @property
    def is_indexed(self) -> bool:
        return bool(self.flags & _abi.INDEXED)

    @property
    def is_derived(self) -> bool:
        return bool(self.flags & _abi.DERIVED)

    @property
    def is_to_many(self) -> bool:
        return bool(self.flags & _abi.TO_MANY)

    @property
    def is_ordered(self) -> bool:
        return bool(self.flags & _abi.ORDERED)


def read_properties(entity: int) -> dict[str, PropertyDescription]:
    """The properties of an entity of a frozen model, by name, inherited ones first."""
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
        )
    return found


def nearest(name: str, known: Iterable[str]) -> str:
    """ " Did you mean 'x'?", or nothing when no name is near."""
    folded = {candidate.lower(): candidate for candidate in known}
    match = difflib.get_close_matches(name.lower(), folded, n=1, cutoff=0.6)
    return f" Did you mean '{folded[match[0]]}'?" if match else ""
