"""Validators of values and objects in Python."""

from __future__ import annotations

import ctypes
import itertools
import threading
from typing import Any, Callable

from .. import _abi
from .._abi import lib, optional_text, values
from .._abi.borrowed import wrapper
from .._abi.call import call
from .._abi.callbacks import reported
from .._abi.interrupt import immortal

_PURPOSES = {_abi.VALIDATE_INSERT: "insert", _abi.VALIDATE_UPDATE: "update", _abi.VALIDATE_DELETE: "delete"}


class Validator:
    """A function that checks a property's values, or whole objects."""

    __slots__ = ("function", "key")

    def __init__(self, key: str | None, function: Callable[[Any, Any], Any]) -> None:
        self.key = key
        self.function = function

    def check(self, token: int, purpose: int, value: Any) -> None:
        item = wrapper(token)
        if self.key is None:
            self.function(item, _PURPOSES[purpose])
            return
        context = item._cst_context
        asked = values.decode_array((_abi.Value * 1)(value[0]), 1, context)[0] if value else None
        other = self.function(item, asked)
        if value:
            given(item, self.key, other, value)


# By thread: the last value that a check returned. The library reads its bytes after the callback returns.
_given: dict[int, values.Cell] = {}


def given(item: Any, key: str, other: Any, value: Any) -> None:
    """Replaces the value with the result of a check. None means that the value is valid and stays the same."""
    if other is None:
        return
    cell = values.Cell()
    values.encode(cell.value, other, item._cst_entity.name, key)
    _given[threading.get_ident()] = cell
    ctypes.memmove(value, cell.ref, ctypes.sizeof(_abi.Value))


_validators: dict[int, Validator] = {}
_numbers = itertools.count(1)


def _run(
    number: int, token: int, purpose: int, value: Any, error: Any, validators: dict[int, Validator] = _validators
) -> int:
    try:
        validators[number].check(token, purpose, value)
        return _abi.OK
    except BaseException as raised:  # any exception means that the value or the object is invalid
        return reported(raised, error)


def _forget(number: int, validators: dict[int, Validator] = _validators) -> None:
    validators.pop(number, None)


_run_callback = immortal(_abi.VALIDATE_FN(_run))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))


def add_validator(entity: int, key: str | None, function: Callable[[Any, Any], Any]) -> None:
    """Adds a validator to an entity, for one property, or for whole objects if `key` is None."""
    number = next(_numbers)
    _validators[number] = Validator(key, function)
    call(lib.cst_entity_add_validator, entity, optional_text(key, "key"), _run_callback, number, _forget_callback)
