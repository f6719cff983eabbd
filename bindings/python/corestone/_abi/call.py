"""Calling the library: statuses and error handles become exceptions."""

from __future__ import annotations

import ctypes
import threading
from ctypes import byref
from typing import Any

from .. import _abi
from ..codes import Status
from ..errors import BY_STATUS, CorestoneError, error_class
from . import values
from .callbacks import cause, kept
from .handles import Handle, Token, return_error_owner, take_error_owner
from .interface import lib


def _shown_value(cell: values.Cell) -> Any:
    """Returns the value of an error.

    A date that no datetime can represent is returned as a number of seconds, and a collection that cannot be decoded as
    None.
    """
    is_collection = cell.value.type in (_abi.ARRAY, _abi.SET, _abi.DICTIONARY)
    try:
        if is_collection:
            from .conversion import decode

            return decode(cell.value)
        return values.decode_cell(cell, None)
    except CorestoneError:
        return None if is_collection else cell.value.payload.real


# The remedy that discards unsaved changes, as the library and this package name it.
_POLICY = ("close with CST_UNSAVED_DISCARD (.discard)", 'close with unsaved="discard"')


def _with_names(message: str) -> str:
    """Returns a message about threads with their names in Python, which may differ from the names in the system."""
    import re

    names = {thread.native_id: thread.name for thread in threading.enumerate()}

    def named(found: re.Match[str]) -> str:
        name = names.get(int(found[1]))
        return f"thread {found[1]} ({name})" if name else found[0]

    return re.sub(r"\bthread (\d+) \([^)]*\)", named, message)


def read_error(handle: int, status: int | None = None) -> CorestoneError:
    """Returns the exception for an error handle, which the caller still owns."""
    if status is None:
        status = int(lib.cst_error_status(handle))
    value = None
    cell = values.Cell()
    if lib.cst_error_value(handle, cell.ref) == _abi.OK:
        value = _shown_value(cell)
    details = []
    for index in range(lib.cst_error_detail_count(handle)):
        detail = lib.cst_error_detail_at(handle, index)
        if detail:
            details.append(read_error(detail))
    offset = lib.cst_error_offset(handle)
    message = _abi.decode(lib.cst_error_message(handle)) or f"the library returned status {status} without a message"
    code = lib.cst_error_code(handle)
    found = error_class(status, code)(
        _with_names(message) if status == Status.WRONG_THREAD else message.replace(*_POLICY),
        status=status,
        code=code,
        domain=_abi.decode(lib.cst_error_domain(handle)),
        entity=_abi.decode(lib.cst_error_entity(handle)),
        key=_abi.decode(lib.cst_error_key(handle)),
        value=value,
        predicate=_abi.decode(lib.cst_error_predicate(handle)),
        object_uri=_abi.decode(lib.cst_error_object_uri(handle)),
        file=_abi.decode(lib.cst_error_file(handle)),
        sqlite_code=lib.cst_error_sqlite_code(handle),
        offset=offset if offset >= 0 else None,
        details=details,
        conflicts=_conflicts(handle),
    )
    raised = kept(handle)
    if isinstance(raised, CorestoneError) and found.key is None:
        # A callback raised this exception: the library received only its domain, code and message.
        found.entity, found.key, found.value = found.entity or raised.entity, raised.key, raised.value
        found.object_uri, found.file = found.object_uri or raised.object_uri, found.file or raised.file
    found.__cause__ = raised or next((each.__cause__ for each in details if each.__cause__), None)
    return found


def _conflicts(handle: int) -> list[Any]:
    count = lib.cst_error_conflict_count(handle)
    if not count:
        return []
    from ..graph.merging import Conflict

    return [Conflict._borrowed(lib.cst_error_conflict_at(handle, index), None) for index in range(count)]


def failure(status: int, error: Handle) -> CorestoneError:
    """Returns the exception for a failed call."""
    if not error:
        kind = BY_STATUS.get(status, CorestoneError)
        return kind(f"the library returned status {status} ({kind.__name__}) without a message", status=status)
    return read_error(error.value or 0, status)


def raisable(failed: CorestoneError) -> BaseException:
    """Returns the exception to raise for a failed call, with the exception of a callback as its cause.

    A cause that is not an Exception, such as KeyboardInterrupt, is returned instead.
    """
    reason = cause(failed) if failed.status == _abi.E_CALLBACK else failed.__cause__
    if reason is not None:
        if not isinstance(reason, Exception):
            return reason
        failed.__cause__ = reason
    return failed


def call(function: Any, *arguments: Any) -> int:
    """Calls a function whose last parameter is the error; returns the status, or raises the error."""
    try:
        error = take_error_owner()
    except IndexError:
        error = Handle()
    status: int = function(*arguments, byref(error))
    if status < 0:
        failed = raisable(failure(status, error))
        del error  # the traceback would keep it alive
        raise failed
    return_error_owner(error)
    return status


def quick_failure(place: values.Cell | values.Row, status: int) -> BaseException:
    """Returns the exception for a failed call with the error in `place`, which the exception's creation removes there.

    The caller must not reuse the cell or row.
    """
    error, place.error = place.error, None
    return raisable(failure(status, error or Handle()))


def made_quickly(raw: Any, *arguments: Any) -> int:
    """Does the same as `made`, faster; arguments are results of _abi.argument."""
    try:
        cell = values.take_cell()
    except IndexError:
        cell = values.Cell()
    status = raw(*arguments, cell.ref, cell.error_ref)
    if status < 0:
        raise quick_failure(cell, status)
    token = cell.handle.value if status == _abi.OK else 0
    values.put_cell(cell)
    return token or 0


def held(function: Any, *arguments: Any) -> Handle:
    """Calls a function whose last parameters are an output handle that the caller owns, and the error."""
    hold = Handle()
    call(function, *arguments, byref(hold))
    return hold


def owned(function: Any, *arguments: Any) -> Token:
    """Does the same as `held`, but returns a number that owns the handle; 0 if there is no handle."""
    hold = Handle()
    call(function, *arguments, byref(hold))
    return hold.token


def made(function: Any, *arguments: Any) -> int:
    """Calls a function whose last parameters are a borrowed output handle and the error; 0 means no handle."""
    out = ctypes.c_void_p()
    call(function, *arguments, byref(out))
    return out.value or 0
