"""Reading Arrow streams of this library into lists, for callers that need plain Python values of whole columns."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, c_void_p
from itertools import chain
from typing import Any, Callable
from uuid import UUID

from .._abi.wrappers import accelerator
from .capsules import ARRAY, SCHEMA, STREAM, Kind

_NEXT = CFUNCTYPE(ctypes.c_int, c_void_p, c_void_p)
# The types of fixed size by their formats, for memoryview.cast.
_FIXED: dict[str, tuple[Any, int]] = {
    "s": ("h", 2),
    "i": ("i", 4),
    "l": ("q", 8),
    "f": ("f", 4),
    "g": ("d", 8),
    "tsu:UTC": ("q", 8),
}
_BITS = tuple(tuple(bool(byte >> bit & 1) for bit in range(8)) for byte in range(256))


class ArrowStreamError(Exception):
    """The stream failed, or has a column that cannot be read into a list. The caller reads in another way."""


class _Struct:
    """A struct of the interface, which is released when this object is closed."""

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self.address = kind.make()

    def __enter__(self) -> int:
        return self.address

    def __exit__(self, *_: object) -> None:
        self._kind.drop(self.address)


def _words(address: int, count: int) -> Any:
    return (ctypes.c_int64 * count).from_address(address)


def _view(address: int, size: int) -> memoryview:
    return memoryview((ctypes.c_char * size).from_address(address)).cast("B") if size else memoryview(b"")


def _flags(address: int, count: int) -> list[bool]:
    """Returns the bits of a bitmap."""
    bits = _view(address, (count + 7) // 8)
    return list(chain.from_iterable(map(_BITS.__getitem__, bits)))[:count]


def _schema(address: int) -> tuple[str, Any]:
    """Returns the format of a schema, and its children in the same form."""
    words = _words(address, 9)
    count = words[4]
    children = [_schema(child) for child in _words(words[5], count)] if count else []
    return ctypes.string_at(words[0]).decode(), children


def _texts(whole: bytes, offsets: list[int]) -> list[Any]:
    pairs = zip(offsets, offsets[1:])
    if whole.isascii():
        text = whole.decode()
        return [text[first:last] for first, last in pairs]
    return [whole[first:last].decode() for first, last in pairs]


def _column(form: str, children: Any, address: int) -> list[Any]:
    """Returns the values of an array of this library, whose offset is always 0."""
    if accelerator is not None:
        found: list[Any] | None = accelerator.arrow_column(form, address)
        if found is not None:
            return found
    words = _words(address, 10)
    rows, nulls, buffers = words[0], words[1], words[5]
    places: Any = _words(buffers, words[3]) if words[3] else ()
    column: list[Any]
    if form == "n":
        return [None] * rows
    if form in _FIXED:
        code, size = _FIXED[form]
        column = _view(places[1], size * rows).cast(code).tolist() if rows else []
    elif form == "b":
        column = _flags(places[1], rows)
    elif form in ("u", "U", "z", "Z"):
        wide = form in ("U", "Z")
        offsets = _view(places[1], (rows + 1) * (8 if wide else 4)).cast("q" if wide else "i").tolist()
        whole = ctypes.string_at(places[2], offsets[-1]) if offsets[-1] else b""
        if form in ("u", "U"):
            column = _texts(whole, offsets)
        else:
            column = [whole[first:last] for first, last in zip(offsets, offsets[1:])]
    elif form == "w:16":
        whole = ctypes.string_at(places[1], 16 * rows) if rows else b""
        column = [UUID(bytes=whole[at : at + 16]) for at in range(0, 16 * rows, 16)]
    elif form == "+l":
        offsets = _view(places[1], (rows + 1) * 4).cast("i").tolist()
        ((item, below),) = children
        members = _column(item, below, _words(words[6], 1)[0])
        column = [members[first:last] for first, last in zip(offsets, offsets[1:])]
    else:
        raise ArrowStreamError
    if nulls:
        return [value if is_valid else None for value, is_valid in zip(column, _flags(places[0], rows))]
    return column


def _joined(address: int) -> bytes:
    """Returns the concatenated values of a column of text."""
    words = _words(address, 10)
    places = _words(words[5], 3)
    return ctypes.string_at(places[2], _view(places[1], (words[0] + 1) * 4).cast("i")[words[0]]) if words[0] else b""


def read_stream(export: Callable[[int], object], joins_first: bool = False) -> list[list[Any]]:
    """Returns the columns of a stream. `export` fills the struct at an address. ArrowStreamError if the stream fails.

    With `joins_first`, the first column, of text, has one element for each batch: the concatenated values.
    """
    with _Struct(STREAM) as stream:
        export(stream)
        functions = _words(stream, 5)
        with _Struct(SCHEMA) as schema:
            if _NEXT(functions[0])(stream, schema):
                raise ArrowStreamError
            _, kinds = _schema(schema)
        columns: list[list[Any]] = [[] for _ in kinds]
        while True:
            with _Struct(ARRAY) as batch:
                if _NEXT(functions[1])(stream, batch):
                    raise ArrowStreamError
                words = _words(batch, 10)
                if not words[8]:  # a released array marks the end
                    return columns
                for place, child in enumerate(_words(words[6], len(kinds)) if kinds else ()):
                    if joins_first and place == 0:
                        if kinds[0][0] != "u":
                            raise ArrowStreamError
                        columns[0].append(_joined(child))
                    else:
                        form, children = kinds[place]
                        columns[place] += _column(form, children, child)
