"""Imports of Arrow data: the stream of another library and the options of an import."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from .. import _abi
from .._abi.arguments import choice, elements, flag, require_instance, shown
from ..errors import InvalidArgumentError, TypeMismatchError
from .capsules import STREAM, array_stream
from .progress import progress_callback

Columns = Mapping[str, "str | None"]
Progress = Callable[[int, int], Any]


class UpsertCounts(NamedTuple):
    """The numbers of rows of an upsert."""

    #: The rows that inserted an object.
    inserted: int
    #: The rows of existing objects, also those whose values did not change.
    updated: int


class ImportSettings(NamedTuple):
    """The options of an import, as the functions of the package have them."""

    columns: Columns | None = None
    match: str | Sequence[str] | None = None
    missing: str = "error"
    ignore_unknown: bool = False
    naive_utc: bool = False
    validate: bool = False
    progress: Progress | None = None


@contextmanager
def import_options(settings: ImportSettings, update: bool = False) -> Iterator[_abi.ArrowImportOptions]:
    """Yields the library's options. An exception of the progress function is raised at the end of the block."""
    options = _abi.ArrowImportOptions()
    options.struct_size = ctypes.sizeof(options)
    if choice(settings.missing, "missing", ("error", "null")) == "null":
        options.flags |= _abi.ARROW_IMPORT_NULL_IF_MISSING
    for value, name, bit in (
        (settings.ignore_unknown, "ignore_unknown", _abi.ARROW_IMPORT_IGNORE_UNKNOWN),
        (settings.naive_utc, "naive_utc", _abi.ARROW_IMPORT_NAIVE_UTC),
        (settings.validate, "validate", _abi.ARROW_IMPORT_VALIDATE),
        (update, "update", _abi.ARROW_IMPORT_UPDATE),
    ):
        options.flags |= bit if flag(value, name) else 0
    columns = {} if settings.columns is None else require_instance(Mapping, settings.columns, "columns", "a dictionary")
    mapping = (_abi.ArrowColumn * max(len(columns), 1))()
    for place, (column, path) in enumerate(columns.items()):
        mapping[place].column = _abi.text(column, "the name of a column in columns")
        mapping[place].property = _abi.optional_text(path, f"columns[{shown(column)}]")
    options.column_count, options.columns = len(columns), mapping
    match = [settings.match] if isinstance(settings.match, str) else settings.match
    keys = [] if match is None else list(elements(match, "match", "a name or a list of names"))
    options.key_count, options.keys = len(keys), _abi.texts(keys or [""], "match")
    if settings.progress is None:
        yield options
        return
    with progress_callback(settings.progress) as callback:
        options.progress = callback
        yield options


_python = ctypes.pythonapi
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", _python))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", _python))


# The methods of readers: each call returns the next rows.
_READING = ("__next__", "read_next_batch", "read_next", "get_next")
#: The readers that an import has read, by `id`. Another stream of such a reader would have no rows, or only the rest of
#: them, and the producer does not report that as an error.
_read_once: dict[int, weakref.ref[Any]] = {}


def is_one_shot(data: Any) -> bool:
    """Whether Arrow data can be read only once, such as a reader of pyarrow or a capsule."""
    if isinstance(data, type) or not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        return True
    # The columns of pandas and DuckDB are attributes of the object, but not of its type.
    return any(hasattr(type(data), name) for name in _READING)


def _was_read(data: Any) -> bool:
    known = _read_once.get(id(data))
    return known is not None and known() is data


def _remember(data: Any) -> None:
    """Remembers a reader until it is released. One that cannot be referenced weakly is not remembered."""
    number = id(data)

    def forget(reference: weakref.ref[Any], readers: Any = _read_once) -> None:
        if readers.get(number) is reference:
            del readers[number]

    try:
        _read_once[number] = weakref.ref(data, forget)
    except TypeError:
        return


class StreamCapsule:
    """A stream of another library. Its capsule is kept until the library has moved the stream out of it.

    InvalidArgumentError if the data is a reader that an import has already read.
    """

    __slots__ = ("_address", "_capsule", "_data")

    def __init__(self, data: Any, name: str = "data") -> None:
        if _was_read(data):
            raise InvalidArgumentError(
                f"an import has already read this Arrow reader, {shown(data)}; pass a new reader, or a table",
                key=name,
                value=data,
            )
        self._data = data
        self._capsule = _exported(data)
        if not _is_valid(self._capsule, STREAM.name):
            raise TypeMismatchError(
                f"{name} must be Arrow data with the method __arrow_c_stream__ or __arrow_c_array__, such as a "
                f"pyarrow.Table or a polars.DataFrame, not {shown(data)}",
                key=name,
                value=data,
            )
        self._address: int = _pointer(self._capsule, STREAM.name)

    def hand_over(self) -> int:
        """Returns the address of the stream for a call that moves it, even if it fails. Remembers a reader as read."""
        if is_one_shot(self._data):
            _remember(self._data)
        return self._address


def _exported(data: Any) -> Any:
    """Returns the capsule of a stream, or other data unchanged. An array becomes the only batch of a stream."""
    if isinstance(data, type):
        return data
    if hasattr(data, "__arrow_c_stream__"):
        return data.__arrow_c_stream__()
    if hasattr(data, "__arrow_c_array__"):
        return array_stream(*data.__arrow_c_array__())
    return data
