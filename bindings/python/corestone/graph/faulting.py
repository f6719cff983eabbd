"""Faulting in contexts: policies, counts of single faults, missing rows."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import sys
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable

from .. import _abi
from .._abi import lib
from .._abi.arguments import choice
from .._abi.borrowed import wrapper
from .._abi.call import call
from .._abi.callbacks import reported
from .._abi.handles import retained_owner
from .._abi.interrupt import immortal
from ..errors import InvalidUTF8Error
from .object_id import ObjectID

if TYPE_CHECKING:
    from .single_faults import SingleFaults

_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep  # the folder of the package

#: A function(object, id, property) that returns whether an object whose row is missing counts as deleted.
InaccessibleFaultHandler = Callable[[Any, ObjectID, "str | None"], bool]


def option(handle: int, which: int) -> int:
    """Returns an option of a context. `which` is an OPTION_ constant."""
    out = ctypes.c_int64()
    call(lib.cst_context_option, handle, which, byref(out))
    return out.value


def set_option(handle: int, which: int, value: int) -> None:
    """Sets an option of a context. `which` is an OPTION_ constant."""
    call(lib.cst_context_set_option, handle, which, value)


def policy_number(policy: str) -> int:
    """Returns the number of a fault policy by its name."""
    return _abi.FAULT_POLICIES.index(choice(policy, "fault_policy", _abi.FAULT_POLICIES))


# ---- call sites


def _place() -> tuple[_abi.InputString, int]:
    """Returns the file and line of the innermost caller outside this package."""
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
    """Records the call site that creates a context."""
    with contextlib.suppress(InvalidUTF8Error):  # a file name that is not UTF-8
        call(lib.cst_context_set_origin, handle, *_place())


_find_callback = immortal(_abi.CALL_SITE_FN(_find))


def follow(handle: int) -> None:
    """Sets the call site finder, which the library calls once for each single fault that fires.

    The finder is set only while the context counts single faults or has a fault policy other than "batch".
    """
    wanted = option(handle, _abi.OPTION_COUNTS_SINGLE_FAULTS) or option(handle, _abi.OPTION_FAULT_POLICY)
    find = _find_callback if wanted else _abi.CALL_SITE_FN()
    call(lib.cst_context_set_call_site_finder, handle, find, None, _abi.DESTROY_FN())


def report(handle: int) -> list[SingleFaults]:
    """Returns the counts of single faults, most frequent first."""
    import json

    from .single_faults import SingleFaults

    buffer = _abi.Buffer()
    call(lib.cst_context_copy_fault_report, handle, _abi.REPORT_JSON, byref(buffer))
    return [SingleFaults(**each) for each in json.loads(_abi.take_text(buffer))]


def report_text(handle: int) -> str:
    """Returns the counts of single faults as lines of text."""
    buffer = _abi.Buffer()
    call(lib.cst_context_copy_fault_report, handle, _abi.REPORT_TEXT, byref(buffer))
    return _abi.take_text(buffer)


# ---- missing rows

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
        out[0] = bool(handlers[number](item, ObjectID._owned(retained_owner(identity)), _abi.decode(name)))
        return _abi.OK
    except BaseException as raised:  # the exception makes the getter fail
        return reported(raised, error)


def _forget(number: int, handlers: dict[int, InaccessibleFaultHandler] = _handlers) -> None:
    handlers.pop(number, None)


_decide_callback = immortal(_abi.INACCESSIBLE_FAULT_FN(_decide))
_forget_callback = immortal(_abi.DESTROY_FN(_forget))


def set_handler(handle: int, handler: InaccessibleFaultHandler | None) -> None:
    """Sets the handler for objects whose rows are missing; None removes it."""
    function = lib.cst_context_set_inaccessible_fault_handler
    if handler is None:
        call(function, handle, _abi.INACCESSIBLE_FAULT_FN(), None, _abi.DESTROY_FN())
        return
    number = next(_numbers)
    _handlers[number] = handler
    call(function, handle, _decide_callback, number, _forget_callback)
