"""The C interface for ctypes: the library with the types of its functions, and helpers for strings and buffers.

Constants, structures and callback types come from _abi_generated.py.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

from ..errors import InvalidUTF8Error, TypeMismatchError
from .generated import *  # noqa: F403
from .generated import (
    FUNCTIONS,
    TYPES,
    VERSION_MAJOR,
    VERSION_MINOR,
    Buffer,
    Changes,
    InputString,
    Statistics,
    String,
    Value,
)
from .library import VARIABLE, LibraryNotFoundError, find_library, load_library

VERSION = (VERSION_MAJOR, VERSION_MINOR)

# The names that the Python package has for constants. In a tuple, the index of a name is the constant's value.
UNSAVED = ("refuse", "save", "discard")
FAULT_POLICIES = ("batch", "warn", "error")
NULLS = {"memory": 0, "database": 1}

# The names of the counters in cst_statistics, and of the lists in cst_changes.
STATISTICS = [name for name, _ in Statistics._fields_[1:]]
CHANGES = [name for name, _ in Changes._fields_[:5]]

PAYLOAD_OFFSET = Value.payload.offset
SIZE_OFFSET = PAYLOAD_OFFSET + String.size.offset


def signatures() -> dict[str, tuple[Any, list[Any]]]:
    """Returns the result type and the argument types of each function, by name."""
    table = {}
    for line in FUNCTIONS.split("\n"):
        if line:
            name, result, *parameters = line.split()
            table[name] = (TYPES[result], [TYPES[parameter] for parameter in parameters])
    return table


class _Library:
    """The functions of the library. The types of a function are set when it is first used."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        self._lines = {line.partition(" ")[0]: line for line in FUNCTIONS.split("\n") if line}

    def __getitem__(self, name: str) -> Any:
        """Returns a new function without types."""
        try:
            return self._library[name]
        except AttributeError:
            raise LibraryNotFoundError(
                f"the library {find_library()} does not have the function {name}, so it is not a Corestone library for "
                f"this package. Build or install Corestone {VERSION[0]}.{VERSION[1]}, or set {VARIABLE} to the path of "
                "its library file",
                name="corestone",
                path=find_library(),
            ) from None

    def __getattr__(self, name: str) -> Any:
        line = self._lines.get(name)
        if line is None:
            return getattr(self._library, name)  # a function of another library, such as SQLite
        _, result, *parameters = line.split(" ")
        function = self[name]
        function.restype = TYPES[result]
        function.argtypes = [TYPES[parameter] for parameter in parameters]
        setattr(self, name, function)
        return function


def _checked_version(library: _Library) -> _Library:
    major, minor, patch = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    library.cst_version(ctypes.byref(major), ctypes.byref(minor), ctypes.byref(patch))
    if major.value != VERSION[0] or minor.value < VERSION[1]:
        raise LibraryNotFoundError(
            f"the library {find_library()} has version {major.value}.{minor.value}.{patch.value}, but this package "
            f"requires {VERSION[0]}.{VERSION[1]} or a later {VERSION[0]}.x; install such a version, or set {VARIABLE} "
            "to the path of its library file",
            name="corestone",
            path=find_library(),
        )
    return library


lib = _checked_version(_Library(load_library()))


# Converts a handle or an address in advance, so that ctypes does not convert it at each call.
argument: Any = ctypes.c_void_p.from_param


def raw(name: str, result: Any = ctypes.c_int32) -> Any:
    """Returns a function without argument types, for the few calls that must be as fast as possible.

    Its pointer arguments must be ctypes objects or None: a plain int is passed as 32 bits, which suffices for a key.
    """
    function = lib[name]
    function.restype = result
    return function


def utf8(value: str, name: str | None = None) -> bytes:
    """Returns the UTF-8 bytes of a string. Errors name the parameter if `name` is passed."""
    try:
        return value.encode()
    except UnicodeEncodeError as failure:
        start = value[:40].encode(errors="backslashreplace").decode() + ("…" if len(value) > 40 else "")
        raise InvalidUTF8Error(
            f'{f"{name}: " if name else ""}the string "{start}" cannot be encoded in UTF-8, because it has an unpaired '
            f"surrogate at index {failure.start}",
            key=name,
            value=value,
        ) from None
    except (AttributeError, TypeError):
        from .arguments import shown  # here, because it imports this module

        raise TypeMismatchError(
            f"{name or 'the text'} must be a str, not {shown(value)}", key=name, value=value
        ) from None


def text(value: str, name: str | None = None) -> InputString:
    """Returns a str as a cst_string that keeps the bytes alive. Errors name the parameter if `name` is passed."""
    data = utf8(value, name)
    return InputString(data, len(data))


def path_argument(path: str | os.PathLike[str]) -> InputString:
    """Returns a path as a cst_string. The library rejects a path that is not UTF-8."""
    try:
        data = os.fsencode(path)
    except TypeError:
        from ..errors import TypeMismatchError
        from .arguments import shown

        raise TypeMismatchError(
            f"path must be a str or an os.PathLike, not {shown(path)}", key="path", value=path
        ) from None
    return InputString(data, len(data))


def null_text() -> InputString:
    return InputString(None, 0)


def optional_text(value: str | None, name: str | None = None) -> InputString:
    """Returns a str as a cst_string, None as a null string. Errors name the parameter if `name` is passed."""
    return null_text() if value is None else text(value, name)


def texts(values: list[str], name: str | None = None) -> Any:
    """Returns strings as an array of cst_string. Errors name the parameter and the index if `name` is passed."""
    names = [name and f"{name}[{place}]" for place in range(len(values))]
    return (InputString * len(values))(*map(text, values, names))


def decode(value: Any) -> str | None:
    """Returns a copy of a cst_string view as a str; None for a null string."""
    if value.data is None:
        return None
    return ctypes.string_at(value.data, value.size).decode()


def take_text(buffer: Buffer) -> str:
    """Returns the text of a buffer, and disposes of the buffer."""
    return take_bytes(buffer).decode()


def take_bytes(buffer: Buffer) -> bytes:
    """Returns the bytes of a buffer, and disposes of the buffer."""
    try:
        return ctypes.string_at(buffer.data, buffer.size) if buffer.data else b""
    finally:
        lib.cst_buffer_dispose(ctypes.byref(buffer))
