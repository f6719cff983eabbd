"""Transformable attributes: conversion between their bytes and Python values.

An attribute names a transformer, which converts values to bytes and back. Without a name, and with the names of Apple's
transformers (NSSecureUnarchiveFromData and similar), the bytes are a keyed archive: plain data, and objects of
registered classes. With the name "JSON", the bytes are JSON.

The value of an attribute is the same Python object until the attribute is set, its bytes change, or the object is
refreshed. A change inside this Python object is not detected, so set the attribute to a new value instead.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from ctypes import byref
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Callable, NamedTuple
from uuid import UUID

from .. import _abi
from .._abi import lib, values
from .._abi.arguments import described, shown
from .._abi.call import call
from .._abi.stamps import Stamp
from ..errors import CallbackError, CorestoneError, TypeMismatchError, UnsupportedError
from .archive import archivable, decode_archive, encode_archive
from .property import PropertyDescription

if TYPE_CHECKING:
    from ..graph.object import ManagedObject


class Transformer(NamedTuple):
    """The functions that convert values to bytes and bytes to values. Both may run on any thread that uses objects."""

    transform: Callable[[Any], bytes]
    reverse: Callable[[bytes], Any]


def _to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


_ARCHIVE = Transformer(encode_archive, decode_archive)
_BUILT_IN = {
    None: _ARCHIVE,
    "NSSecureUnarchiveFromData": _ARCHIVE,
    "NSSecureUnarchiveFromDataTransformer": _ARCHIVE,
    "NSKeyedUnarchiveFromData": _ARCHIVE,
    "NSKeyedUnarchiveFromDataTransformer": _ARCHIVE,
    "JSON": Transformer(_to_json, json.loads),
}
_registered: dict[str | None, Transformer] = {}


def _as_function(function: Callable[[Any], Any] | str) -> Callable[[Any], Any]:
    """Returns the function, or for a name a function that calls the function registered at the time of the call."""
    if not isinstance(function, str):
        return function
    from ..predicate.expression import Expression  # here, because of a circular import

    made = Expression.call(Expression.evaluated_object(), function)
    return made.value


def register_transformer(
    name: str, transform: Callable[[Any], bytes] | str, reverse: Callable[[bytes], Any] | str
) -> None:
    """Registers a transformer for the whole process, or replaces the one with that name.

    `transform` returns the bytes for a value, `reverse` the value for bytes; neither is called for None. A str is the
    name of a function registered with register_function, which may be a C function. A registered transformer takes
    precedence over a built-in one with the same name.
    """
    _registered[name] = Transformer(_as_function(transform), _as_function(reverse))


def unregister_transformer(name: str) -> bool:
    """Deregisters a transformer. Returns False if there is no transformer of that name."""
    return _registered.pop(name, None) is not None


def _transformer(name: str | None, entity: str, key: str, has_no_object: bool = False) -> Transformer:
    found = _registered.get(name) or _BUILT_IN.get(name)
    if found is None:
        state = "is not registered"
        if name is not None and _is_registered_elsewhere(name):
            state = "was registered in another language, and its values are not Python objects"
        # Only the bytes of an attribute of an object can be read and set, not a default in a model or a row of a batch.
        other = "" if has_no_object else ", or use the bytes with corestone.raw_value and set_raw_value"
        raise UnsupportedError(
            f'{entity}.{key}: the transformer "{name}" {state}; register it with corestone.register_transformer{other}',
            entity=entity,
            key=key,
        )
    return found


def _is_registered_elsewhere(name: str) -> bool:
    found = ctypes.c_bool()
    call(lib.cst_transformer_is_registered, _abi.text(name, "name"), byref(found))
    return found.value


def to_bytes(
    name: str | None, value: Any, entity: str, key: str, value_class: str | None, has_no_object: bool = False
) -> bytes | None:
    """Returns the bytes for a value. `has_no_object`: the value is the default of a model, or belongs to a batch.

    An exception of a transformer becomes a CallbackError with entity and key. TypeMismatchError for a value that is not
    of `value_class`, the class that the model names; for an unknown class, values are not checked.
    """
    if value is None:
        return None
    if value_class is not None:
        _check_class(value_class, value, entity, key)
    transformer = _transformer(name, entity, key, has_no_object)
    try:
        data = transformer.transform(value)
    except CorestoneError as error:
        if transformer is _ARCHIVE and error.key == "value":  # the parameter of encode_archive
            error.key = None
        raise values.located(error, entity, key, value) from error
    except Exception as error:
        remedy = "" if has_no_object else ". Call corestone.set_raw_value to set bytes"
        raise _failed(name, "transform", error, entity, key, value, remedy) from error
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeMismatchError(
            f'{entity}.{key}: transform of the transformer "{name}" must return bytes, not {shown(data)}',
            entity=entity,
            key=key,
            value=data,
        )
    return bytes(data)


def from_bytes(name: str | None, data: bytes | None, entity: str, key: str, is_former: bool = False) -> Any:
    """Returns the value for bytes. `is_former`: the bytes may differ from those that `raw_value` returns.

    An exception of a transformer becomes a CallbackError with entity and key.
    """
    if data is None:
        return None
    transformer = _transformer(name, entity, key)
    try:
        return transformer.reverse(data)
    except CorestoneError as error:
        raise values.located(error, entity, key, data) from error
    except Exception as error:
        remedy = "" if is_former else ". Call corestone.raw_value to read the stored bytes"
        raise _failed(name, "reverse", error, entity, key, data, remedy) from error


def _failed(
    name: str | None, step: str, error: Exception, entity: str, key: str, value: Any, remedy: str
) -> CallbackError:
    which = "default transformer (keyed archive)" if name is None else f'transformer "{name}"'
    return CallbackError(
        f"{entity}.{key}: {step} of the {which} failed: {described(error).removesuffix('.')}{remedy}",
        entity=entity,
        key=key,
        value=value,
    )


# -------- the class of the values --------------------------------------------------------------------------

# The Python types for the library's names of value types.
_KINDS: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "double": (float,),
    "decimal": (Decimal,),
    "string": (str,),
    "uri": (str,),
    "bytes": (bytes, bytearray, memoryview),
    "date": (datetime,),
    "uuid": (UUID,),
    "array": (list, tuple),
    "set": (set, frozenset),
    "dictionary": (Mapping,),
}


@lru_cache(maxsize=256)
def _types(class_name: str) -> tuple[type, ...]:
    """Returns the Python types for a class that the model names; empty for an unsupported class."""
    buffer = _abi.Buffer()
    status = call(lib.cst_archive_copy_class_kinds, _abi.text(class_name, "class_name"), byref(buffer))
    words = "" if status == _abi.NOT_FOUND else _abi.take_text(buffer)
    return tuple(kind for word in words.split() for kind in _KINDS[word])


def _check_class(class_name: str, value: Any, entity: str, key: str) -> None:
    kinds = archivable(class_name) or _types(class_name)
    if kinds and not isinstance(value, kinds):
        raise TypeMismatchError(
            f'{entity}.{key} takes a value of the class "{class_name}" '
            f"({' or '.join(kind.__name__ for kind in kinds)}), not {shown(value)}",
            entity=entity,
            key=key,
            value=value,
        )


# -------- values of objects --------------------------------------------------------------------------------


def _raw(item: ManagedObject, key: int) -> bytes | None:
    buffer = _abi.Buffer()
    status = call(lib.cst_object_copy_bytes, item._cst_handle, key, byref(buffer))
    data = _abi.take_bytes(buffer)
    return None if status == _abi.NOT_FOUND else data


def _description(item: ManagedObject, name: str) -> PropertyDescription:
    description = item._cst_entity._key(name)
    if description.transforms:
        return description
    from ..graph.object import object_id  # here, because it imports this module

    is_computed = description.is_fetched or (description.is_derived and not description.is_transient)
    raise TypeMismatchError(
        f"{item._cst_entity.name}.{name} is not a transformable attribute; "
        f"{'read' if is_computed else 'read or set'} it as a property of the object",
        entity=item._cst_entity.name,
        key=name,
        object_uri=object_id(item).uri,
    )


def raw_value(item: ManagedObject, name: str) -> bytes | None:
    """Returns the stored bytes of a transformable attribute, without calling its transformer."""
    return _raw(item, _description(item, name).key)


def set_raw_value(item: ManagedObject, name: str, data: bytes | None) -> None:
    """Sets the bytes of a transformable attribute, bypassing its transformer."""
    _set(item, _description(item, name), data)


def _set(item: ManagedObject, description: PropertyDescription, data: bytes | None) -> None:
    cell = values.Cell()
    values.encode(cell.value, data, item._cst_entity.name, description.name)
    item._cst_context._mark.stamp = Stamp()
    call(lib.cst_object_set, item._cst_handle, description.key, cell.ref)


def transformed_property(description: PropertyDescription, entity: str, documentation: str) -> property:
    """Returns the Python property for a transformable attribute."""
    key, name, transformer = description.key, description.name, description.transformer
    from ..graph.object import held_values  # here, because it imports this module

    def getter(self: Any) -> Any:
        data = _raw(self, key)
        if data is None:
            return None
        held = held_values(self)
        known = held.get(key)
        if known is not None and known[0] == data:
            return known[1]
        value = from_bytes(transformer, data, entity, name)
        held[key] = data, value
        return value

    def setter(self: Any, value: Any) -> None:
        data = to_bytes(transformer, value, entity, name, description.value_class)
        _set(self, description, data)
        held_values(self)[key] = data, value

    return property(getter, setter, doc=documentation)
