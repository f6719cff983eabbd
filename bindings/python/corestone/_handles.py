"""Handles of which the library owes us a reference, from the call that gives it to its release.

Python runs signal handlers between any two steps of a function, and what these raise ends the function there: so no
step may lie between a handle that was made and who releases it, and no function of Python's may be what releases it.
"""

from __future__ import annotations

import ctypes
from ctypes import c_void_p, py_object
from typing import Any

from . import _abi

# `lib.cst_release`, so that a handle's end never waits for another of its functions to be asked for first.
_release = _abi.raw("cst_release", None)
_release.argtypes = (c_void_p,)
# Makes a method of what is no function of Python's.
_method = ctypes.pythonapi["PyInstanceMethod_New"]
_method.restype = py_object
_method.argtypes = (py_object,)


class Handle(c_void_p):
    """A place for a handle to own: an output parameter by `byref`, an argument as it is, false while it is empty."""

    __slots__ = ()

    # No step of Python's is in it: the interpreter calls the library.
    __del__ = _method(_release)

    @property
    def token(self) -> Token:
        """The handle as a number that keeps the place alive; 0 when it is empty."""
        token = Token(self.value or 0)
        token.hold = self
        return token


class Token(int):
    """A handle that is owned as long as the number is there, or until `hold` is set to None: that releases it at once,
    though the traceback of an exception may keep the number."""

    hold: Handle | None


_retain = _abi.raw("cst_retain", Handle)
_retain.argtypes = (c_void_p,)


def retained(handle: Any) -> Token:
    """A borrowed handle, owned from now on."""
    hold: Handle = _retain(handle)
    return hold.token


def hold_on(handle: Any) -> Handle:
    """The same as the place that owns it."""
    hold: Handle = _retain(handle)
    return hold


# Places for errors in reserve, all empty. Taking one out and putting it back are single steps.
_errors: list[Handle] = []
put_error = _errors.append
take_error = _errors.pop  # IndexError: the reserve is empty, make a Handle
