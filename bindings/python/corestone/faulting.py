"""How contexts read what was not read yet: policies, numbers of single faults, rows that are not there."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import json
import os
import sys
from ctypes import byref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from . import _abi
from ._abi import lib
from ._arguments import shown
from ._call import call
from ._callbacks import reported
from ._handles import hold_on
from ._interrupt import immortal
from ._validators import wrapper
from .errors import InvalidArgumentError, InvalidUTF8Error
from .object_id import ObjectID

if TYPE_CHECKING:
    from .object import ManagedObject

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep

#: Decides about an object whose row is not there, by the object, its ID and the property that was asked for.
InaccessibleFaultHandler = Callable[["ManagedObject", ObjectID, "str | None"], bool]


@dataclass(frozen=True)
class SingleFaults:
    """How many single faults one line of a program has caused along one relationship."""

    #: The entity that has the relationship; without one, that of the objects.
    entity: str
    #: None for objects that were asked for by ID.
    relationship: str | None
    count: int
    #: Where the program is; None when it cannot be told.
    file: str | None
    line: int | None


def option(handle: int, which: int) -> int:
    """An option of a context."""
    out = ctypes.c_int64()
    call(lib.cst_context_option, handle, which, byref(out))
    return out.value


def set_option(handle: int, which: int, value: int) -> None:
    """Sets one."""
    call(lib.cst_context_set_option, handle, which, value)


def policy_number(policy: str) -> int:
    """The number of a policy by its name."""
    if policy not in _abi.FAULT_POLICIES:
        raise InvalidArgumentError(f'fault_policy must be "batch", "warn" or "error", not {shown(policy)}')
    return _abi.FAULT_POLICIES.index(policy)


# ---- where the program is


def _place() -> tuple[_abi.InputString, int]:
    """The innermost line that is not of this package."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_HERE):
        frame = frame.f_back  # type: ignore[assignment]
    if frame is None:
        return _abi.InputString(None, 0), 0
    name = os.fsencode(frame.f_code.co_filename)
    return _abi.InputString(name, len(name)), frame.f_lineno


def _find(_: int, out: Any) -> int:
    name, line = _place()
    if line:
        lib.cst_buffer_fill(out, name, None)
    return line


def tell_origin(handle: int) -> None:
    """Tells the library where the program makes a context."""
    with contextlib.suppress(InvalidUTF8Error):  # a name of a file that is no text
        call(lib.cst_context_set_origin, handle, *_place())


_find_callback = immortal(_abi.CALL_SITE_FN(_find))


def follow(handle: int) -> None:
    """Has the library ask for the line of the program when a single fault fires: once for each, and only while somebody
    wants to know."""
    wanted = option(handle, _abi.OPTION_COUNTS_SINGLE_FAULTS) or option(handle, _abi.OPTION_FAULT_POLICY)
    find = _find_callback if wanted else _abi.CALL_SITE_FN()
    call(lib.cst_context_set_call_site_finder, handle, find, None, _abi.DESTROY_FN())


def report(handle: int) -> list[SingleFaults]:
    """What was counted, most first."""
    buffer = _abi.Buffer()
    call(lib.cst_context_copy_fault_report, handle, _abi.REPORT_JSON, byref(buffer))
    return [SingleFaults(**each) for each in json.loads(_abi.take_text(buffer))]


def report_text(handle: int) -> str:
    """The same as lines."""
    buffer = _abi.Buffer()
    call(lib.cst_context_copy_fault_report, handle, _abi.REPORT_TEXT, byref(buffer))
    return _abi.take_text(buffer)


# ---- rows that are not there

_handlers: dict[int, InaccessibleFaultHandler] = {}
_numbers = itertools.count(1)


def _decide(
    number: int,
    fault: int,
    identity: int,
    name: _abi.String,
    out: Any,
    error: Any,
    handlers: dict[int, InaccessibleFaultHandler] = _handlers,
) -> int:
    try:
        item = wrapper(fault)
        out[0] = bool(handlers[number](item, ObjectID._owned(hold_on(identity)), _abi.decode(name)))
        return _abi.OK
    except BaseException as raised:  # the getter fails with it
        return reported(raised, error)


def _forget(number: int, handlers: dict[int, InaccessibleFaultHandler] = _handlers) -> None:
    handlers.pop(number, None)


_decide_callback = immortal(_abi.INACCESSIBLE_FAULT_FN(_decide))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))


def set_handler(handle: int, handler: InaccessibleFaultHandler | None) -> None:
    """Has a context ask a function about objects whose rows are not there."""
    function = lib.cst_context_set_inaccessible_fault_handler
    if handler is None:
        call(function, handle, _abi.INACCESSIBLE_FAULT_FN(), None, _abi.DESTROY_FN())
        return
    number = next(_numbers)
    _handlers[number] = handler
    call(function, handle, _decide_callback, number, _forget_callback)
