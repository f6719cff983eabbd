"""Key-value coding of Python values, with the rules of predicates."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import MutableMapping
from ctypes import byref
from typing import Any, Callable

from .. import _abi
from .._abi import conversion, lib, text
from .._abi.call import call
from ..errors import InvalidArgumentError, PredicateError
from ..model.property import nearest
from .object import ManagedObject, object_id

_SCALARS = (bool, int, float, complex)


def value_for_key_path(item: Any, path: str) -> Any:
    """Returns the value at a key path.

    Dicts are read by key, objects by attribute or by a method without arguments (`getKey`, `key`, `isKey`), and
    collections by element or by an operator such as `@count` or `@sum.age`. The result is None if any value on the path
    is None or any key is missing in a dict. PredicateError, with `key`, for a missing attribute of an object.
    """
    given, out = conversion.encode_one(item, "item"), _abi.Value()
    call(lib.cst_value_copy_at_key_path, given.address, text(path, "path"), byref(out))
    return conversion.take(out)


def set_value_for_key_path(item: Any, path: str, value: Any) -> None:
    """Sets the value at a key path: an entry of a dict or an attribute of an object.

    None removes the entry of a dict. For None and an attribute that is annotated as a number, see `set_nil`.
    PredicateError for a missing attribute, or if a value on the path is None.
    """
    *way, key = path.split(".")
    owner = item
    for step in way:
        before = owner
        owner = owner.get(step) if isinstance(owner, MutableMapping) else _attribute(owner, step)
        if owner is None:
            what = f"{_name(before)}.{step} is None"
            if isinstance(before, MutableMapping):
                what = f'the value of "{step}" is None' if step in before else f'the key "{step}" is missing'
            raise PredicateError(
                f'cannot set "{path}" of {_name(item)}: {what}; set it first',
                entity=_entity(before),
                key=step,
                object_uri=_uri(before),
            )
    if isinstance(owner, MutableMapping):
        if value is None:
            owner.pop(key, None)
        else:
            owner[key] = value
        return
    if conversion.is_own_method(_attribute(owner, key, conversion.plain_attribute), owner):
        raise PredicateError(
            f"{type(owner).__name__}.{key} is a method and cannot be set",
            entity=_entity(owner),
            key=key,
            value=value,
            object_uri=_uri(owner),
        )
    scalar = _scalar(owner, key) if value is None else None
    if scalar is not None:
        own = getattr(owner, "set_nil_value_for_key", None)
        if own is None:
            raise InvalidArgumentError(
                f"{type(owner).__name__}.{key} is of type {scalar} and cannot be None; define "
                "set_nil_value_for_key(key) in the class to set another value",
                entity=_entity(owner),
                key=key,
                object_uri=_uri(owner),
            )
        own(key)
        return
    setattr(owner, key, value)


def set_nil(item: Any, path: str) -> None:
    """Sets the value at a key path to None.

    An attribute that is annotated as a number (int, float, complex or bool, not Optional) cannot be None: the object's
    `set_nil_value_for_key(key)` is called instead. InvalidArgumentError if the object does not have that method.
    """
    set_value_for_key_path(item, path, None)


def _attribute(item: Any, key: str, read: Callable[[Any, str], Any] = conversion.attribute) -> Any:
    try:
        return read(item, key)
    except conversion.NoSuchKey:
        near = nearest(key, item._cst_properties) if isinstance(item, ManagedObject) else ""
        if key.startswith("_"):
            near = "; use a key that does not begin with an underscore"
        raise PredicateError(
            f'{type(item).__name__} is not key value coding-compliant for the key "{key}"'
            f"{near or '; define the attribute, or correct the path'}",
            entity=_entity(item),
            key=key,
            object_uri=_uri(item),
        ) from None


def _entity(item: Any) -> str | None:
    """Returns the name of a managed object's entity; None for another object."""
    return item._cst_entity.name if isinstance(item, ManagedObject) else None


def _uri(item: Any) -> str | None:
    """Returns the URI of a managed object; None for another object."""
    return object_id(item).uri if isinstance(item, ManagedObject) else None


def _name(item: Any) -> str:
    """Returns the name of a managed object's entity, or of another object's class."""
    return _entity(item) or type(item).__name__


def _scalar(item: Any, key: str) -> str | None:
    """Returns the name of an attribute's type if it is annotated as a number."""
    if isinstance(item, ManagedObject):
        return None  # attributes of managed objects may be nil until validation
    try:
        kinds = typing.get_type_hints(type(item))
    except Exception:  # an annotation names a type that does not exist at run time
        kinds = {field.name: field.type for field in dataclasses.fields(item)} if dataclasses.is_dataclass(item) else {}
    kind = kinds.get(key)
    return next((each.__name__ for each in _SCALARS if kind in (each, each.__name__)), None)
