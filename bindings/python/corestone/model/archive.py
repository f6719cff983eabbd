"""Keyed archives, such as the values of transformable attributes in Apple's stores, as plain data.

Decoding an archive does not look up classes by the names in the archive. For a name that is registered with
`register_archivable`, the registered function creates the object from plain fields. Every other object becomes an
ArchivedObject.
"""

from __future__ import annotations

import base64
import json
import math
import sys
from collections.abc import Callable, Mapping
from ctypes import byref
from datetime import datetime
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

from .. import _abi
from .._abi import lib
from .._abi.arguments import described, shown
from .._abi.call import call
from .._abi.values import INT_MAX, INT_MIN, date_from_seconds, date_to_seconds
from ..errors import CallbackError, CorestoneError, InvalidArgumentError, TypeMismatchError

MAXIMUM_DEPTH = 128


class URL(str):
    """A string that is archived as a URL."""

    __slots__ = ()


class _Archivable(NamedTuple):
    class_name: str
    to_fields: Callable[[Any], Mapping[str, Any]]
    from_fields: Callable[[dict[str, Any]], Any]
    cls: type


_by_name: dict[str, _Archivable] = {}
_by_class: dict[type, _Archivable] = {}


def register_archivable(
    class_name: str,
    to_fields: Callable[[Any], Mapping[str, Any]],
    from_fields: Callable[[dict[str, Any]], Any],
    cls: type,
) -> None:
    """Registers a class for archives under `class_name`, the name of the corresponding class on Apple's platforms.

    `to_fields` returns the fields of an object: a dictionary of plain data. `from_fields` creates an object from such a
    dictionary, which may come from an untrusted file.
    """
    unregister_archivable(class_name)
    _by_name[class_name] = _by_class[cls] = _Archivable(class_name, to_fields, from_fields, cls)


def unregister_archivable(class_name: str) -> bool:
    """Deregisters a class. Returns False if no class of that name is registered."""
    known = _by_name.pop(class_name, None)
    if known is not None and _by_class.get(known.cls) is known:
        del _by_class[known.cls]
    return known is not None


def archivable(class_name: str) -> tuple[type, ...]:
    """Returns a tuple with the class that is registered under an archived name; an empty tuple without a class."""
    known = _by_name.get(class_name)
    return (known.cls,) if known is not None else ()


def decode_archive(archive: bytes) -> Any:
    """Returns the plain data in an archive of NSKeyedArchiver, such as the value of a transformable attribute.

    Strings become str, and URLs become URL, a subclass of str. Numbers become int, float, bool or Decimal. Dates become
    datetime in UTC, data becomes bytes, and collections become lists, sets and dicts. An ordered set, and a set of
    values that Python cannot hash, becomes a list. Objects of a class registered with register_archivable are created
    by the registered function; any other object becomes an ArchivedObject.

    UnsupportedError for dictionaries whose keys are not strings, and for archives older than keyed archives.
    StoreCorruptError if the bytes are not an archive.
    """
    data = bytes(archive)
    buffer = _abi.Buffer()
    call(lib.cst_archive_copy_json, _abi.InputString(data, len(data)), byref(buffer))
    return read_json(buffer)


def encode_archive(value: Any) -> bytes:
    """Returns the archive of plain data and objects of registered classes, as NSKeyedArchiver writes it.

    Types: None, bool, int, float, str, URL, bytes, datetime (with a time zone), Decimal, UUID, list, tuple, dict (with
    strings as keys), set, frozenset, ArchivedObject. TypeMismatchError names a value of another type.
    """
    try:
        data = json.dumps(tagged(value), ensure_ascii=False, allow_nan=False).encode()
    except CorestoneError as error:
        error.key = error.key or "value"
        raise
    buffer = _abi.Buffer()
    call(lib.cst_archive_from_json, _abi.InputString(data, len(data)), byref(buffer))
    return _abi.take_bytes(buffer)


def tagged(value: Any, depth: int = 0) -> Any:
    """Returns a value in the JSON form that the library reads, for json.dumps."""
    if depth > MAXIMUM_DEPTH:
        raise InvalidArgumentError(
            f"cannot archive a value that is nested more than {MAXIMUM_DEPTH} levels deep or contains itself; flatten "
            "it, or remove the reference to itself",
            value=value,
        )
    if value is None or isinstance(value, bool):
        return value
    known = _by_class.get(type(value))
    if known is not None:
        return _object(known.class_name, known.to_fields(value), (), depth)
    if isinstance(value, int):
        return value if INT_MIN <= value <= INT_MAX else {"$decimal": str(value)}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$real": str(value)}
    if isinstance(value, str):
        return {"$uri": str(value)} if isinstance(value, URL) else str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": base64.b64encode(value).decode()}
    if isinstance(value, datetime):
        return {"$date": date_to_seconds(value)}
    if isinstance(value, Decimal):
        return {"$decimal": str(value)}
    if isinstance(value, UUID):
        return {"$uuid": str(value).upper()}
    if isinstance(value, (list, tuple)):
        return [tagged(member, depth + 1) for member in value]
    if isinstance(value, (set, frozenset)):
        return {"$set": [tagged(member, depth + 1) for member in value]}
    archived = sys.modules.get("corestone.model.archived_object")
    if archived is not None and isinstance(value, archived.ArchivedObject):
        return _object(value.class_name, value.fields, value.classes, depth)
    if isinstance(value, Mapping):
        return {"$dictionary": _entries(value, depth)}
    raise TypeMismatchError(
        f"cannot archive a value of type {type(value).__name__}: {shown(value)}; use None, bool, int, float, "
        "Decimal, str, bytes, datetime, UUID, or lists, sets and dictionaries of these. Otherwise register the "
        "class of the value with corestone.register_archivable or, for an attribute, a transformer with "
        "corestone.register_transformer",
        value=value,
    )


def _entries(value: Mapping[Any, Any], depth: int) -> dict[str, Any]:
    for key in value:
        if not isinstance(key, str):
            raise TypeMismatchError(f"the keys of a dictionary must be strings, not {shown(key)}", value=key)
    return {key: tagged(member, depth + 1) for key, member in value.items()}


def _object(class_name: str, fields: Mapping[str, Any], classes: tuple[str, ...], depth: int) -> Any:
    found: dict[str, Any] = {"class": class_name, "fields": {"$dictionary": _entries(fields, depth)}}
    if classes:
        found["classes"] = list(classes)
    return {"$object": found}


def read_json(buffer: _abi.Buffer) -> Any:
    """Returns the data in a buffer of JSON from the library, and disposes of the buffer."""
    return _plain(json.loads(_abi.take_text(buffer)))


def _set(members: list[Any]) -> Any:
    plain = [_plain(member) for member in members]
    try:
        return set(plain)
    except TypeError:
        return plain


def _date(seconds: Any) -> datetime:
    """Returns the date for a number of seconds. NaN and infinities, which are not JSON numbers, are tagged."""
    return date_from_seconds(_plain(seconds), False)


def _entries_of(entries: dict[str, Any]) -> dict[str, Any]:
    return {name: _plain(value) for name, value in entries.items()}


def _restored(description: dict[str, Any]) -> Any:
    name, fields = description["class"], _plain(description["fields"])
    known = _by_name.get(name)
    if known is None:
        from .archived_object import ArchivedObject

        return ArchivedObject(name, fields, tuple(description.get("classes", ())))
    try:
        return known.from_fields(fields)
    except CorestoneError:
        raise
    except Exception as error:
        raise CallbackError(
            f'from_fields of the archivable class "{name}" failed: {described(error)}. Call '
            f'corestone.unregister_archivable("{name}") to read an ArchivedObject instead',
            value=fields,
        ) from error


# By key: the function that reads the value of a JSON object that has only this key.
_KINDS: dict[str, Callable[[Any], Any]] = {
    "$date": _date,
    "$bytes": base64.b64decode,
    "$uuid": UUID,
    "$uri": URL,
    "$decimal": Decimal,
    "$real": float,
    "$set": _set,
    "$dictionary": _entries_of,
    "$object": _restored,
}


def _plain(value: Any) -> Any:
    """Converts a result of json.loads to plain data and objects. The library limits the nesting to 128 levels."""
    if isinstance(value, list):
        return [_plain(member) for member in value]
    if isinstance(value, dict):
        if len(value) == 1:
            [(tag, content)] = value.items()
            if tag in _KINDS:
                return _KINDS[tag](content)
        return _entries_of(value)
    return value
