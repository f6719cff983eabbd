"""Imports of Arrow data: the stream of another library and the options of an import."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from . import _abi
from ._arguments import choice, elements, flag, require_instance, shown
from ._capsules import STREAM, array_stream
from ._progress import progress_callback
from .errors import TypeMismatchError

Columns = Mapping[str, "str | None"]
Progress = Callable[[int, int], Any]


class UpsertCounts(NamedTuple):
    """The numbers of rows of an upsert."""

    #: The rows that inserted an object.
    inserted: int
    #: The rows that set values of an existing object.
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


def is_one_shot(data: Any) -> bool:
    """Whether Arrow data can be read only once, such as a reader of pyarrow or a capsule."""
    if isinstance(data, type) or not (hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")):
        return True
    return any(hasattr(data, name) for name in ("__next__", "read_next_batch", "get_next"))


class StreamCapsule:
    """A stream of another library. Its capsule is kept until the library has moved the stream out of it."""

    __slots__ = ("_capsule", "address")

    def __init__(self, data: Any, name: str = "data") -> None:
        self._capsule = _exported(data)
        if not _is_valid(self._capsule, STREAM.name):
            raise TypeMismatchError(
                f"{name} must be Arrow data with the method __arrow_c_stream__ or __arrow_c_array__, such as a "
                f"pyarrow.Table or a polars.DataFrame, not {shown(data)}",
                key=name,
                value=data,
            )
        self.address: int = _pointer(self._capsule, STREAM.name)


def _exported(data: Any) -> Any:
    """Returns the capsule of a stream, or other data unchanged. An array becomes the only batch of a stream."""
    if isinstance(data, type):
        return data
    if hasattr(data, "__arrow_c_stream__"):
        return data.__arrow_c_stream__()
    if hasattr(data, "__arrow_c_array__"):
        return array_stream(*data.__arrow_c_array__())
    return data
