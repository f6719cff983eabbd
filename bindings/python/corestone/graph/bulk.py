"""Converts rows of Python values to one block of cst_value, column by column, for insert_many.

Each cst_value is three 64-bit words: type and aux, then two of payload. A column whose values have one frequent type,
apart from None, is written to the block as a whole; other columns are written value by value, which is slower.
"""

from __future__ import annotations

import ctypes
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any

from .. import _abi
from .._abi import values
from .._abi.arguments import abridged, plural, shown
from .._abi.wrappers import accelerator
from ..codes import AttributeType
from ..errors import CorestoneError, InvalidArgumentError, TypeMismatchError
from ..model.composite import decompose, leaves
from ..model.property import PropertyDescription
from ..model.transformer import to_bytes
from .object import ManagedObject

_NONE = type(None)


def kind_word(kind: int) -> int:
    return kind if sys.byteorder == "little" else kind << 32


def _as_words(column: array[Any]) -> array[int]:
    words = array("Q")
    words.frombytes(column.tobytes())
    return words


class Block:
    """An array of cst_value in row order, at `address`. `first` is the number of the block's first row in errors."""

    def __init__(self, rows: int, columns: int, default: int = _abi.NULL, first: int = 1) -> None:
        cells = max(rows * columns, 1)
        self.words = array("Q", [kind_word(default), 0, 0]) * cells if default else array("Q", bytes(24 * cells))
        self._default = default
        self._rows = rows
        self._first = first
        self._stride = 3 * columns
        self._alive: list[Any] = []

    @property
    def address(self) -> int:
        return self.words.buffer_info()[0]

    def fill(self, index: int, column: Sequence[Any], description: PropertyDescription, entity: str) -> None:
        """Writes a column of Python values to the block."""
        wants_decimal = description.attribute_type == AttributeType.DECIMAL
        is_quick = accelerator is not None and not wants_decimal
        if is_quick and accelerator.fill(self.address, self._stride // 3, index, column):
            self._alive.append(column)
            return
        kinds = set(map(type, column))
        has_none = _NONE in kinds
        kinds.discard(_NONE)
        kind = next(iter(kinds)) if len(kinds) == 1 else None
        try:
            if kind is str:
                word, low, high = self._text(column)
            elif kind is int and not wants_decimal:
                word, low, high = _abi.INT, _as_words(array("q", [value or 0 for value in column])), None
            elif kind is bool:
                word, low, high = _abi.BOOL, array("Q", [1 if value else 0 for value in column]), None
            elif kind is float:
                numbers = array("d", [0.0 if value is None else value for value in column])
                word, low, high = _abi.DOUBLE, _as_words(numbers), None
            elif kind is datetime:
                seconds = [0.0 if value is None else values.date_to_seconds(value) for value in column]
                word, low, high = _abi.DATE, _as_words(array("d", seconds)), None
            elif kind is not None and issubclass(kind, ManagedObject):
                tokens = array("Q", [0 if value is None else value._cst_token for value in column])
                word, low, high = _abi.OBJECT, tokens, None
            elif kind is None and has_none and not kinds:
                # Each value is None.
                self.words[3 * index :: self._stride] = array("Q", bytes(8 * self._rows))
                return
            else:
                self._one_by_one(index, column, description, entity)
                return
        except (CorestoneError, OverflowError, UnicodeEncodeError):
            # At least one value is invalid. Encoding the values one by one raises an error that names the row.
            self._one_by_one(index, column, description, entity)
            return
        at, stride = 3 * index, self._stride
        full = kind_word(word)
        if has_none:
            self.words[at::stride] = array("Q", [0 if value is None else full for value in column])
        else:
            self.words[at::stride] = array("Q", [full]) * self._rows
        self.words[at + 1 :: stride] = low
        if high is not None:
            self.words[at + 2 :: stride] = high

    def leave(self, index: int, rows: Iterable[int]) -> None:
        """Resets the cells of a column in some rows to the default of the block."""
        for row in rows:
            self.words[row * self._stride + 3 * index] = kind_word(self._default)

    def _text(self, column: Sequence[Any]) -> tuple[int, array[int], array[int]]:
        parts = [b"" if value is None else value.encode() for value in column]
        sizes = list(map(len, parts))
        joined = b"".join(parts)
        self._alive.append(joined)
        base = ctypes.cast(ctypes.c_char_p(joined), ctypes.c_void_p).value or 0
        starts = list(accumulate(sizes, initial=base))
        starts.pop()
        return _abi.STRING, array("Q", starts), array("Q", sizes)

    def _one_by_one(self, index: int, column: Sequence[Any], description: PropertyDescription, entity: str) -> None:
        for row, value in enumerate(column):
            slot = _abi.Value()
            try:
                values.encode(slot, values.suited(description.attribute_type, value), entity, description.name)
            except CorestoneError as error:
                raise _in_row(error, self._first + row, entity, description.name, value) from None
            self._alive.append(slot)
            at = row * self._stride + 3 * index
            self.words[at : at + 3] = _as_words(array("B", bytes(slot)))


def _in_row(error: CorestoneError, row: int, entity: str, key: str | None, value: Any) -> CorestoneError:
    """Returns the error of a value with the number of its row."""
    return type(error)(
        f"row {row}: {error.message}",
        status=error.status,
        code=error.code,
        entity=entity,
        key=key,
        value=value,
        object_uri=error.object_uri,
        file=error.file,
        details=error.details,
    )


def _elements(
    description: PropertyDescription, value: Any, entity: str, row: int
) -> list[tuple[PropertyDescription, Any]]:
    """Returns the leaves of a composite attribute with their values. Errors name the row."""
    try:
        return list(decompose(description, value, entity))
    except CorestoneError as error:
        raise _in_row(error, row, entity, error.key, error.value) from None


def plain_columns(
    description: PropertyDescription, column: Sequence[Any], entity: str, first: int = 1
) -> list[tuple[PropertyDescription, Sequence[Any]]]:
    """Returns a column as the columns that the library accepts. `first` is the number of the first row in errors.

    A column of dictionaries becomes one column for each element of the composite attribute. The values of a
    transformable attribute become bytes. Other columns are returned unchanged.
    """
    if description.elements:
        rows = [_elements(description, value, entity, row) for row, value in enumerate(column, first)]
        return [
            each
            for place, leaf in enumerate(leaves(description))
            for each in plain_columns(leaf, [row[place][1] for row in rows], entity)
        ]
    if description.conversion is not None:
        return [
            (description, [_elements(description, each, entity, row)[0][1] for row, each in enumerate(column, first)])
        ]
    if description.transforms:
        name, path, kind = description.transformer, description.path, description.value_class
        return [(description, [to_bytes(name, value, entity, path, kind, True) for value in column])]
    return [(description, column)]


def columns_of(
    rows: Iterable[Any], names: Sequence[str] | None, entity: str
) -> tuple[list[str], list[tuple[Any, ...]], int]:
    """Returns rows (mappings, or sequences in the order of `names`) as names, columns and the number of rows.

    Errors name the row, counted from 1, as those of batch requests and Arrow imports do.
    """
    given = list(rows)
    if not given:
        return list(names or ()), [], 0
    if names is None:
        if not isinstance(given[0], Mapping):
            raise InvalidArgumentError(
                f"cannot insert {entity}: row 1 is {shown(given[0])}, not a dictionary; pass dictionaries, or pass "
                "tuples and columns=[...]",
                entity=entity,
                key="rows",
                value=given[0],
            )
        names = list(given[0])
        for place, row in enumerate(given, 1):
            if not isinstance(row, Mapping):
                raise InvalidArgumentError(
                    f"cannot insert {entity}: row {place} is {shown(row)}, not a dictionary like row 1; pass a "
                    "dictionary for every row",
                    entity=entity,
                    key="rows",
                    value=row,
                )
            if len(row) != len(names) or any(name not in row for name in names):
                missing = [shown(name) for name in names if name not in row]
                added = [shown(key) for key in row if key not in given[0]]
                keys = ", and ".join(
                    f"{what} {abridged(each)}" for what, each in (("without", missing), ("with", added)) if each
                )
                raise InvalidArgumentError(
                    f"cannot insert {entity}: row {place} has other keys than row 1 ({keys}). Pass the same keys in "
                    "every row, with None for a missing value",
                    entity=entity,
                    key="rows",
                    value=row,
                )
        return list(names), [tuple(row[name] for row in given) for name in names], len(given)
    for place, row in enumerate(given, 1):
        try:
            size = len(row)
        except TypeError:
            raise TypeMismatchError(
                f"cannot insert {entity}: row {place} is {shown(row)}, not a sequence; pass tuples in the order of "
                "columns",
                entity=entity,
                key="rows",
                value=row,
            ) from None
        if size != len(names):
            raise InvalidArgumentError(
                f"cannot insert {entity}: row {place} has {plural(size, 'value')} for "
                f"{plural(len(names), 'column')}; pass one value for each column",
                entity=entity,
                key="rows",
                value=row,
            )
    return list(names), list(zip(*given)), len(given)
