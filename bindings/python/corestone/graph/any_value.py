"""Properties for undefined attributes, which are transient and have values of every type.

Plain values are stored as such. Any other object is stored by reference, so that reading the attribute returns the same
object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._abi import conversion, lib, values
from .._abi.call import call
from .._abi.stamps import Stamp
from ..errors import CorestoneError
from ..model.property import PropertyDescription

if TYPE_CHECKING:
    from .object import ManagedObject


class AnyCell:
    """A cst_value of any Python object, which is valid as long as this cell."""

    __slots__ = ("_retained", "cell", "ref")

    def __init__(self, value: Any) -> None:
        self.cell = values.Cell()
        self.ref = self.cell.ref
        self._retained: int | None = None
        try:
            values.encode(self.cell.value, value)
        except CorestoneError:  # not a plain value, or one that only Python can represent, such as 10**30
            self._retained = conversion.retain_object(self.cell.value, value)

    def __del__(self, release: Any = conversion.release_object) -> None:
        if self._retained is not None:
            release(self._retained)


def any_property(description: PropertyDescription, entity: str, documentation: str) -> property:
    """Returns the property of an undefined attribute."""
    name, key = description.name, description.key

    def get(self: ManagedObject) -> Any:
        cell = values.Cell()
        call(lib.cst_object_get, self._cst_handle, key, cell.ref)
        return values.decode_cell(cell, self._cst_context, entity, name)

    def set_value(self: ManagedObject, value: Any) -> None:
        cell = AnyCell(value)
        self._cst_context._mark.stamp = Stamp()
        call(lib.cst_object_set, self._cst_handle, key, cell.ref)

    return property(get, set_value, doc=documentation)
