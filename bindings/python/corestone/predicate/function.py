"""Functions for `FUNCTION(receiver, "name", …)` in predicates and expressions."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, TypeVar, overload

from .. import _abi
from .._abi import conversion, lib, text
from .._abi.call import call
from .._abi.callbacks import reported
from .._abi.interrupt import immortal

Function = TypeVar("Function", bound=Callable[..., Any])
_typed: dict[str, Any] = {}  # registered C functions by name; this keeps them alive


@overload
def register_function(name: str, function: Function, signature: None = None) -> Function: ...
@overload
def register_function(name: str, function: Any, signature: str) -> Any: ...
@overload
def register_function(name: str) -> Callable[[Function], Function]: ...
def register_function(name: str, function: Any = None, signature: str | None = None) -> Any:
    """Registers a function as `FUNCTION(receiver, "name", a, b)` for the whole process. A registered one is replaced.

    A Python function is called with the receiver and the arguments, on the evaluating thread. With a signature such as
    "double(double, double)" or "d(dd)", `function` is a C function (a ctypes function or an address). Its parameters
    have the C types that the header lists at cst_function_register_typed. If the receiver is None, the function is not
    called, and the result is None. The call can also be a decorator: `@register_function("name")`.
    """
    if function is None:
        return lambda decorated: register_function(name, decorated)
    if signature is None:
        number = conversion.register(function)
        call(lib.cst_function_register, text(name, "name"), _call_callback, number, conversion.forget)
        _typed.pop(name, None)
        return function
    address = function if isinstance(function, int) else ctypes.cast(function, ctypes.c_void_p).value
    call(lib.cst_function_register_typed, text(name, "name"), text(signature, "signature"), address)
    _typed[name] = function
    return function


def unregister_function(name: str) -> bool:
    """Deregisters a function; returns False if the name was not registered."""
    known = call(lib.cst_function_unregister, text(name, "name")) == _abi.OK
    _typed.pop(name, None)
    return known


def _call(number: int, receiver: Any, count: int, arguments: Any, out: Any, error: Any) -> int:
    try:
        given = [conversion.decode(arguments[place]) for place in range(count)]
        conversion.return_value(conversion.registered(number)(conversion.decode(receiver[0]), *given), out)
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


_call_callback = immortal(_abi.FUNCTION_FN(_call))
