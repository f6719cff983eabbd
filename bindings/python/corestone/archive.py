"""Keyed archives: what transformable attributes of Apple's stores hold, as plain data."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from ctypes import byref
from decimal import Decimal
from typing import Any
from uuid import UUID

from . import _abi
from ._abi import lib
from ._call import call
from .values import date_from_seconds


def decode_archive(archive: bytes) -> Any:
    """The plain data in an archive of NSKeyedArchiver, such as the value of a transformable attribute.

    Strings and URLs come as str, numbers as int, float, bool or Decimal, dates as datetime in UTC, data as bytes, UUIDs
    as UUID, in lists, sets and dicts; an ordered set, and a set of what Python cannot hash, comes as a list. No class
    that the archive names is ever made: UnsupportedError names it. StoreCorruptError: the bytes are no archive.
    """
    data = bytes(archive)
    buffer = _abi.Buffer()
    call(lib.cst_archive_copy_json, _abi.InputString(data, len(data)), byref(buffer))
    return read_json(buffer)


def read_json(buffer: _abi.Buffer) -> Any:
    """The data in a buffer of JSON as the library writes it. The buffer is disposed."""
    return json.loads(_abi.take_text(buffer), object_pairs_hook=_plain)


def _set(members: list[Any]) -> Any:
    try:
        return set(members)
    except TypeError:
        return members


# What the value of a JSON object with that one key stands for.
_KINDS: dict[str, Callable[[Any], Any]] = {
    "$date": date_from_seconds,
    "$bytes": base64.b64decode,
    "$uuid": UUID,
    "$uri": str,
    "$decimal": Decimal,
    "$real": float,
    "$set": _set,
    "$dictionary": lambda entries: entries,
}


def _plain(pairs: list[tuple[str, Any]]) -> Any:
    if len(pairs) == 1 and pairs[0][0] in _KINDS:
        return _KINDS[pairs[0][0]](pairs[0][1])
    return dict(pairs)
