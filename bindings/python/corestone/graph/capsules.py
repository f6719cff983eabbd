"""Structs of the Arrow C data interface in PyCapsules, for the Arrow PyCapsule protocol.

A capsule owns its struct, and the contents of the struct until a consumer moves them out. The last reference to a
capsule may be released on any thread that holds the interpreter lock. The struct's own `release` runs without the lock.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
from ctypes import CFUNCTYPE, PYFUNCTYPE, c_char_p, c_size_t, c_void_p, py_object
from typing import Any, Callable

_python = ctypes.pythonapi
_capsule = PYFUNCTYPE(py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", _python))
# The first parameter is the address of the capsule, because a capsule that is being destroyed must not be referenced.
_pointer = PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _python))
_calloc = PYFUNCTYPE(c_void_p, c_size_t, c_size_t)(("PyMem_RawCalloc", _python))
_free = PYFUNCTYPE(None, c_void_p)(("PyMem_RawFree", _python))
_DESTRUCTOR = PYFUNCTYPE(None, c_void_p)
_RELEASE = CFUNCTYPE(None, c_void_p)


class Kind:
    """A struct type of the interface: the name of its capsules, its size, and the offset of its release callback."""

    __slots__ = ("_destructor", "name", "release_offset", "size")

    def __init__(self, name: bytes, size: int, release_offset: int) -> None:
        self.name = name
        self.size = size
        self.release_offset = release_offset
        self._destructor = _DESTRUCTOR(self._end)
        # A capsule may outlive this module when the interpreter ends.
        _python.Py_IncRef(py_object(self._destructor))

    def make(self) -> int:
        """Allocates an empty struct, and returns its address."""
        address: int | None = _calloc(1, self.size)
        if address is None:
            raise MemoryError
        return address

    def wrap(self, address: int) -> Any:
        """Returns a capsule that owns the struct and its memory."""
        return _capsule(address, self.name, ctypes.cast(self._destructor, c_void_p))

    def drop(self, address: int, load: Any = c_void_p.from_address, release: Any = _RELEASE, free: Any = _free) -> None:
        """Releases the contents of the struct, unless a consumer has moved them out, and frees its memory."""
        callback = load(address + self.release_offset).value
        if callback:
            release(callback)(address)
        free(address)

    def _end(self, capsule: int, pointer: Any = _pointer) -> None:
        self.drop(pointer(capsule, self.name))


SCHEMA = Kind(b"arrow_schema", 72, 56)
ARRAY = Kind(b"arrow_array", 80, 64)
STREAM = Kind(b"arrow_array_stream", 40, 24)


def capsules(kinds: tuple[Kind, ...], export: Callable[..., object]) -> tuple[Any, ...]:
    """Returns a capsule for each kind. `export` receives the addresses of the structs and fills the structs."""
    places = [kind.make() for kind in kinds]
    try:
        export(*places)
    except BaseException:
        for kind, place in zip(kinds, places):
            kind.drop(place)
        raise
    return tuple(kind.wrap(place) for kind, place in zip(kinds, places))


_GET_SCHEMA = CFUNCTYPE(ctypes.c_int, c_void_p, c_void_p)
_GET_LAST_ERROR = CFUNCTYPE(c_char_p, c_void_p)


class Stream:
    """A stream without a capsule. Its schema can be read, and the library copies the stream for consumers."""

    __slots__ = ("address",)

    def __init__(self, export: Callable[[int], object]) -> None:
        self.address = STREAM.make()
        try:
            export(self.address)
        except BaseException:
            STREAM.drop(self.address)
            self.address = 0
            raise

    def schema(self) -> Any:
        """Returns the schema, in a capsule."""

        def ask(schema: int) -> None:
            if _GET_SCHEMA(c_void_p.from_address(self.address).value or 0)(self.address, schema):
                message = _GET_LAST_ERROR(c_void_p.from_address(self.address + 16).value or 0)(self.address)
                raise RuntimeError((message or b"the Arrow stream does not have a schema").decode())

        return capsules((SCHEMA,), ask)[0]

    def __del__(self, drop: Any = STREAM.drop) -> None:
        if getattr(self, "address", 0):
            drop(self.address)


#: The capsules of streams with one batch, by number. A stream has its number as its private data.
_streams: dict[int, list[Any]] = {}
_numbers = itertools.count(1)


def _capsules_of(stream: int) -> list[Any]:
    return _streams[c_void_p.from_address(stream + 32).value or 0]


def _get_schema(stream: int, target: int) -> int:
    return _move(_capsules_of(stream)[0], SCHEMA, target)


def _get_next(stream: int, target: int) -> int:
    found = _capsules_of(stream)
    if len(found) == 1:
        ctypes.memset(target, 0, ARRAY.size)
        return 0
    return _move(found.pop(), ARRAY, target)


def _get_last_error(_: int) -> bytes:
    return b"the array was released or moved"


def _release(stream: int) -> None:
    c_void_p.from_address(stream + STREAM.release_offset).value = None
    _streams.pop(c_void_p.from_address(stream + 32).value or 0, None)


_CALLBACKS = (_GET_SCHEMA(_get_schema), _GET_SCHEMA(_get_next), _GET_LAST_ERROR(_get_last_error), _RELEASE(_release))
# A stream may outlive this module when the interpreter ends.
_python.Py_IncRef(py_object(_CALLBACKS))


def _move(capsule: Any, kind: Kind, target: int) -> int:
    """Moves the struct of a capsule. Returns EINVAL if it was moved before."""
    source: int = _pointer(id(capsule), kind.name)
    release = c_void_p.from_address(source + kind.release_offset)
    if not release.value:
        return errno.EINVAL
    ctypes.memmove(target, source, kind.size)
    release.value = None
    return 0


def array_stream(schema: Any, array: Any) -> Any:
    """Returns a stream, in a capsule, with one array as its only batch. The array is moved out of its capsule."""

    def fill(stream: int) -> None:
        number = next(_numbers)
        _streams[number] = [schema, array]
        for place, callback in enumerate(_CALLBACKS):
            c_void_p.from_address(stream + 8 * place).value = ctypes.cast(callback, c_void_p).value
        c_void_p.from_address(stream + 32).value = number

    return capsules((STREAM,), fill)[0]
