"""Decoding the packed columns of cst_results_copy_columns (corestone/results.h describes the layout)."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref
from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Callable, Literal
from uuid import UUID

from .. import _abi
from .._abi import lib
from .._abi.call import call
from .._abi.values import EPOCH, date_from_seconds, located
from .._abi.wrappers import accelerator
from ..codes import AttributeType
from ..errors import CorestoneError, InternalError, ObjectGoneError
from ..model.property import PropertyDescription

if TYPE_CHECKING:
    from .results import Results

INTEGERS, DOUBLES, TEXT, BYTES, UUIDS, KEYS = 1, 2, 3, 4, 5, 6
_DELETED = 2  # the null flag of a row whose object was deleted
CHUNK = 8192  # the maximum number of rows that one call packs

_CONVERT: dict[AttributeType, Callable[[Any], Any]] = {
    AttributeType.BOOLEAN: bool,
    AttributeType.DATE: date_from_seconds,
    AttributeType.DECIMAL: Decimal,
}


def _padded(size: int) -> int:
    return (size + 7) & ~7


def _words(view: memoryview, at: int, count: int, form: Literal["Q", "q", "d"] = "Q") -> list[Any]:
    return list(view[at : at + 8 * count].cast(form))


def unpack(
    data: memoryview, is_strict: bool = False, first: int = 0, entity: str | None = None
) -> list[tuple[int, list[bool] | None, list[Any]]]:
    """Returns the columns of a packed buffer: form, null flags (None if no row is null) and values.

    If the object of a row was deleted after the fetch, ObjectGoneError is raised if `is_strict`; otherwise the row is
    null.
    """
    rows, columns = _words(data, 0, 2)
    at = 16
    found = []
    for _ in range(columns):
        form = _words(data, at, 1)[0]
        at += 8
        nulls = data[at : at + rows].tobytes()
        if is_strict and _DELETED in nulls:
            place = first + nulls.index(_DELETED)
            raise ObjectGoneError(
                f"the {f'{entity} ' if entity else ''}object at index {place} was deleted after the fetch; call "
                "context.fetch again",
                entity=entity,
                value=place,
            )
        at += _padded(rows)
        column: list[Any]
        if form in (INTEGERS, DOUBLES, KEYS):
            column = _words(data, at, rows, "d" if form == DOUBLES else "q")
            at += 8 * rows
        elif form in (TEXT, BYTES):
            size = _words(data, at, 1)[0]
            offsets = _words(data, at + 8, rows + 1)
            at += 8 * (rows + 2)
            whole: Any = data[at : at + size].tobytes()
            if form == TEXT:
                whole = whole.decode()
            column = [whole[first:last] for first, last in zip(offsets, offsets[1:])]
            at += _padded(size)
        elif form == UUIDS:
            raw = data[at : at + 16 * rows].tobytes()
            column = [raw[first : first + 16] for first in range(0, 16 * rows, 16)]
            at += 16 * rows
        else:
            raise InternalError(
                f"the library packed a column in the unknown format {form}; "
                "install the same version of the package and the library",
                value=form,
            )
        found.append((form, [bool(flag) for flag in nulls] if any(nulls) else None, column))
    return found


def _finish(description: PropertyDescription, form: int, nulls: list[bool] | None, column: list[Any]) -> list[Any]:
    """Returns the column as Python values of the attribute's type."""
    convert: Callable[[Any], Any] | None
    convert = _uuid if form == UUIDS else None if form == KEYS else _CONVERT.get(description.attribute_type)
    if convert is date_from_seconds:
        try:
            if nulls is None:
                return [EPOCH + timedelta(0, seconds) for seconds in column]
            return [None if null else EPOCH + timedelta(0, seconds) for null, seconds in zip(nulls, column)]
        except (OverflowError, ValueError):
            pass  # date_from_seconds below raises an error with the reason
    if nulls is None:
        return column if convert is None else [convert(value) for value in column]
    if convert is None:
        return [None if null else value for null, value in zip(nulls, column)]
    return [None if null else convert(value) for null, value in zip(nulls, column)]


def _uuid(value: bytes) -> UUID:
    return UUID(bytes=value)


def read_columns(
    results: Results, descriptions: Sequence[PropertyDescription], first: int, count: int, is_strict: bool = False
) -> list[list[Any]]:
    """Returns the values of several attributes of `count` rows from `first`, a list for each attribute."""
    whole: list[list[Any]] = [[] for _ in descriptions]
    keys = (ctypes.c_uint32 * len(descriptions))(*[description.key for description in descriptions])
    types = [int(description.attribute_type) for description in descriptions]
    entity = results._entity.name if results._entity is not None else None
    buffer = _abi.Buffer()
    try:
        for start in range(first, first + count, CHUNK):
            size = min(CHUNK, first + count - start)
            call(lib.cst_results_copy_columns, results._handle, start, size, len(keys), keys, byref(buffer))
            quick: list[Any] = [None] * len(types)
            if accelerator is not None and not is_strict:
                quick = accelerator.unpack(buffer.data, buffer.size, types)
            if None not in quick:
                for into, column in zip(whole, quick):
                    into.extend(column)
                continue
            data = memoryview((ctypes.c_char * buffer.size).from_address(buffer.data)).cast("B")
            packed_columns = unpack(data, is_strict, start, entity)
            for into, description, packed, column in zip(whole, descriptions, packed_columns, quick):
                try:
                    into.extend(_finish(description, *packed) if column is None else column)
                except CorestoneError as error:
                    raise located(error, entity, description.path, None) from None
            data.release()
    finally:
        lib.cst_buffer_dispose(byref(buffer))
    return whole
