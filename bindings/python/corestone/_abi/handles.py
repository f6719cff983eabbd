"""Handles that Python owns, from the call that returns one to its release.

Python runs signal handlers between any two steps of a function, and an exception in a handler ends the function there.
So the call that returns a handle must store it in its owner, and the owner must release it without Python code.
"""

from __future__ import annotations

import ctypes
from ctypes import c_void_p, py_object
from typing import Any

from .. import _abi

# `lib.cst_release`, looked up in advance, so that releasing a handle does not require looking up a function.
_release = _abi.raw("cst_release", None)
_release.argtypes = (c_void_p,)
# Makes a method from a callable that is not a Python function.
_method = ctypes.pythonapi["PyInstanceMethod_New"]
_method.restype = py_object
_method.argtypes = (py_object,)


class Handle(c_void_p):
    """The owner of a handle. It is passed by `byref` as output, and directly as argument; it is false if empty."""

    __slots__ = ()

    # The interpreter calls the library directly, without Python code.
    __del__ = _method(_release)

    @property
    def token(self) -> Token:
        """The handle as a number that keeps this owner alive; 0 if it is empty."""
        token = Token(self.value or 0)
        token.hold = self
        return token


class Token(int):
    """A handle that is owned as long as the number exists, or until `hold` is set to None.

    Setting `hold` to None releases it immediately, even if the traceback of an exception keeps the number.
    """

    hold: Handle | None


_retain = _abi.raw("cst_retain", Handle)
_retain.argtypes = (c_void_p,)


# For loops: retains a borrowed handle, which must be an int, and returns its owner.
retain_directly: Any = _retain


def retained(handle: Any) -> Token:
    """Retains a borrowed handle, and returns it."""
    hold: Handle = _retain(handle)
    return hold.token


def retained_owner(handle: Any) -> Handle:
    """Retains a borrowed handle, and returns its owner."""
    hold: Handle = _retain(handle)
    return hold


# A reserve of empty owners for errors. A signal handler cannot interrupt `pop` or `append`.
_error_owners: list[Handle] = []
return_error_owner = _error_owners.append
take_error_owner = _error_owners.pop  # IndexError if the reserve is empty; the caller then creates a Handle
