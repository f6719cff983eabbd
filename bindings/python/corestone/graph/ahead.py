"""Read-ahead: a program that reads an attribute of two objects in a block of results is likely to read it of all.

A library call is much slower than reading a value from a list. The second time an attribute is read in a block, the
attributes read so far are fetched for the whole block in one call. Later reads take the values from lists. After an
event that may have changed a value in the context, the context gets a new stamp, which makes the lists invalid. The
lists are valid only on the thread that fetched them, so use on a wrong thread is still an error.
"""

from __future__ import annotations

import weakref
from threading import get_ident
from typing import TYPE_CHECKING, Any

from .._abi.stamps import Stamp
from ..codes import AttributeType
from ..errors import CorestoneError
from ..model.property import PropertyDescription
from .columns import read_columns

if TYPE_CHECKING:
    from .context import Context
    from .results import Results

# The types of attributes that are not read ahead: the values may be large, or packed columns cannot contain them.
ONE_BY_ONE = frozenset(
    (
        AttributeType.BINARY,
        AttributeType.TRANSFORMABLE,
        AttributeType.UNDEFINED,
        AttributeType.OBJECT_ID,
        AttributeType.COMPOSITE,
    )
)
LIMIT = 1 << 20  # the maximum number of characters of an attribute in a block; beyond it, values are read one by one


class Ahead:
    """The values that were read ahead for a block of results."""

    __slots__ = ("_count", "_first", "_results", "_seen", "columns", "stamp", "thread")

    def __init__(self, results: Results, first: int, count: int) -> None:
        # Weak: one retained object must not retain all results of the fetch.
        self._results = weakref.ref(results)
        self._first = first
        self._count = count
        self._seen: dict[int, PropertyDescription] = {}
        self.columns: dict[int, list[Any]] = {}
        self.stamp: Stamp | None = None
        self.thread = 0

    def note(self, context: Context, description: PropertyDescription) -> None:
        """Records a separate read of an attribute; its second read in the block reads the recorded attributes ahead."""
        if self.stamp is not context._mark.stamp or self.thread != get_ident():
            self.stamp, self.thread = context._mark.stamp, get_ident()
            self.columns = {}
            self._seen = {description.key: description}
        elif description.key not in self._seen:
            self._seen[description.key] = description
        else:
            self._read()

    def _read(self) -> None:
        results = self._results()
        if results is None:
            return
        wanted = [each for key, each in self._seen.items() if key not in self.columns and key not in results._large]
        if not wanted:
            return
        known = results._entity.properties if results._entity is not None else {}
        if any(each.name not in known for each in wanted):  # only a subentity of the fetched entity has the property
            results._large.update(each.key for each in wanted if each.name not in known)
            return
        try:
            columns = read_columns(results, wanted, self._first, self._count, is_strict=True)
        except CorestoneError:
            # For example, an object was deleted. With separate reads, only a read of that object raises an error.
            results._large.update(each.key for each in wanted)
            return
        for description, column in zip(wanted, columns):
            if description.attribute_type == AttributeType.STRING and sum(map(len, filter(None, column))) > LIMIT:
                results._large.add(description.key)
            else:
                self.columns[description.key] = column
