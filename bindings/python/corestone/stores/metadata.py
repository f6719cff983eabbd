"""The metadata of stores, which can be read and replaced without a model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any

from .. import _abi
from .._abi import lib, path_argument, text
from .._abi.arguments import shown
from .._abi.call import call
from ..errors import InvalidArgumentError, TypeMismatchError

if TYPE_CHECKING:
    pass


def metadata(path: str | os.PathLike[str], type: str | None = None) -> dict[str, Any]:
    """Returns the metadata of the store at a path. Does not need a model or change the store.

    The metadata consists of the version of the framework that wrote the store, the version hashes of its entities, the
    application's entries, and NSStoreUUID. `type` is required for a custom store, whose type cannot be recognised by
    its path.
    """
    buffer = _abi.Buffer()
    if type is None:
        call(lib.cst_store_copy_metadata, path_argument(path), byref(buffer))
    elif (
        call(lib.cst_store_type_copy_metadata, text(type, "type"), path_argument(path), byref(buffer)) == _abi.NOT_FOUND
    ):
        raise InvalidArgumentError(
            f'the store {os.fsdecode(path)} of type "{type}" does not exist; check the path',
            key="path",
            value=os.fsdecode(path),
            file=os.fsdecode(path),
        )
    import plistlib

    found: dict[str, Any] = plistlib.loads(_abi.take_bytes(buffer))
    return found


def property_list(values: Mapping[str, Any], file: str) -> _abi.InputString:
    """Returns the metadata of the store at a path as a property list."""
    owner = file or "a store without a path"
    if not isinstance(values, Mapping):
        raise TypeMismatchError(
            f"the metadata of {owner} must be a dictionary, not {shown(values)}",
            key="values",
            value=values,
            file=file or None,
        )
    import plistlib

    try:
        encoded = plistlib.dumps(dict(values), fmt=plistlib.FMT_BINARY)
    except (TypeError, OverflowError, ValueError) as failure:
        # For a value of another type or a large integer, the exception has only the value.
        wrong = failure.args[0] if failure.args else None
        reason = str(failure) if isinstance(wrong, str) else f"{shown(wrong)} is not supported"
        raise TypeMismatchError(
            f"cannot write the metadata of {owner} as a property list: {reason}. Use bool, int (64 bits), float, str, "
            "bytes, datetime (without a time zone), or lists and dictionaries (with strings as keys) of these",
            key="values",
            value=values,
            file=file or None,
        ) from failure
    return _abi.InputString(encoded, len(encoded))


def set_metadata(path: str | os.PathLike[str], values: Mapping[str, Any], type: str | None = None) -> None:
    """Replaces the metadata of the store at a path immediately, without a model.

    `values` are as for Coordinator.set_metadata. `type` is required for a custom store.
    """
    if type is None:
        call(lib.cst_store_set_metadata, path_argument(path), property_list(values, os.fsdecode(path)))
    else:
        call(
            lib.cst_store_type_set_metadata,
            text(type, "type"),
            path_argument(path),
            property_list(values, os.fsdecode(path)),
        )
