"""Decoding blocks of cst_value column by column, which is much faster than value by value.

The values of a column usually have one type. Then its words are copied into a list at once.
"""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from .. import _abi
from ..errors import CorestoneError
from . import conversion
from .values import EPOCH, located

_WORDS = 3  # of 64 bits in a cst_value: type and aux, then two of payload
_SIZE = 8 * _WORDS
_KIND = 0xFFFFFFFF
_FEW = 12  # the number of values up to which decoding by columns does not pay
_TEXTS = (_abi.STRING, _abi.URI)
# Values of these types do not own memory.
_PLAIN = frozenset((_abi.NULL, _abi.BOOL, _abi.INT, _abi.DOUBLE, _abi.DECIMAL, _abi.DATE, _abi.UUID))

_dispose = _abi.raw("cst_value_dispose", None)
_dispose.argtypes = (ctypes.c_void_p,)
# Freeing text or bytes calls nothing else, so the interpreter lock need not be released, which takes longer.
_dispose_bytes = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(ctypes.cast(_dispose, ctypes.c_void_p).value or 0)
_BYTES = frozenset((*_TEXTS, _abi.BYTES)) | _PLAIN


def take_rows(cells: Any, count: int, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """Returns the values of `count` rows with these columns, and disposes of the cells, an array from the library."""
    width = len(names)
    if count * width <= _FEW:
        try:
            return _row_by_row(cells, count, names)
        finally:
            for cell in cells:
                _dispose(ctypes.addressof(cell))
    view = memoryview(cells).cast("B").cast("q")
    heads = [view[_WORDS * column :: _WORDS * width].tolist() for column in range(width)]
    kinds = [{head & _KIND for head in set(column)} for column in heads]
    try:
        try:
            columns = [_column(cells, view, heads[place], kinds[place], place, width) for place in range(width)]
            return list(zip(*columns))
        except (CorestoneError, OverflowError, TypeError, ValueError):
            return _row_by_row(cells, count, names)  # raises the error of the first value in the order of the rows
    finally:
        base = ctypes.addressof(cells)
        for place in range(width):
            if not kinds[place] <= _PLAIN:
                addresses = range(base + _SIZE * place, base + _SIZE * width * count, _SIZE * width)
                deque(map(_dispose_bytes if kinds[place] <= _BYTES else _dispose, addresses), maxlen=0)


def _row_by_row(cells: Any, count: int, names: Sequence[str]) -> list[tuple[Any, ...]]:
    rows = []
    width = len(names)
    for row in range(count):
        values: list[Any] = []
        try:
            for place in range(width):
                values.append(conversion.decode(cells[row * width + place]))
        except CorestoneError as error:
            raise located(error, None, names[len(values)], None) from None
        rows.append(tuple(values))
    return rows


def _column(cells: Any, view: Any, heads: list[int], kinds: set[int], place: int, width: int) -> list[Any]:
    has_null = _abi.NULL in kinds
    rest = kinds - {_abi.NULL}
    if not rest:
        return [None] * len(heads)
    if len(rest) == 1:
        (kind,) = rest
        at, step = _WORDS * place + 1, _WORDS * width
        if kind == _abi.INT:
            return _with_nulls(heads, view[at::step].tolist(), has_null)
        if kind == _abi.DOUBLE:
            return _with_nulls(heads, view.cast("B").cast("d")[at::step].tolist(), has_null)
        if kind == _abi.BOOL:
            return _with_nulls(heads, [bool(word & 0xFF) for word in view[at::step].tolist()], has_null)
        if kind == _abi.DATE:
            seconds = _with_nulls(heads, view.cast("B").cast("d")[at::step].tolist(), has_null)
            if has_null:
                return [None if each is None else EPOCH + timedelta(0, each) for each in seconds]
            return [EPOCH + timedelta(0, each) for each in seconds]
        if kind in _TEXTS:
            found = _texts(cells, view, heads if has_null else None, at, step)
            if found is not None:
                return found
    return [conversion.decode(cells[index]) for index in range(place, len(heads) * width, width)]


def _with_nulls(heads: list[int], column: list[Any], has_null: bool) -> list[Any]:
    if not has_null:
        return column
    return [value if head & _KIND else None for head, value in zip(heads, column)]


def _texts(cells: Any, view: Any, heads: list[int] | None, at: int, step: int) -> list[Any] | None:
    """Returns the strings of a column; None if one of them contains a zero character.

    `heads` are the first words of the cells if some values are null.
    """
    if heads and any(address and not head & _KIND for head, address in zip(heads, view[at::step].tolist())):
        return None  # an address in a null value, which must not be read
    found: list[Any] = (ctypes.c_char_p * len(view)).from_buffer(cells)[at::step]
    sizes = view[at + 1 :: step].tolist()
    if heads:
        if [len(data) if data else 0 for data in found] != sizes:
            return None
        return [data if data is None else data.decode() for data in found]
    if list(map(len, found)) != sizes:
        return None
    return list(map(bytes.decode, found))
