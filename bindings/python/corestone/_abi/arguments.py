"""Checks of arguments before they reach the library.

ctypes truncates numbers silently, and its errors name only the position of an argument of the C function.
"""

from __future__ import annotations

import ctypes
import math
import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..errors import InvalidArgumentError, NumberRangeError, TypeMismatchError
from .interface import InputString, path_argument

MOST = 2**63 - 1
MOST_SMALL = 2**31 - 1


def shown(value: Any) -> str:
    """Returns a value for a message: a string in double quotes, another value as its repr, both truncated."""
    try:
        text = value if type(value) is str else repr(value)
    except ValueError:  # Python does not print integers of more than 4300 digits
        return f"a very long {type(value).__name__}"
    text = text if len(text) <= 60 else f"{text[:59]}…"
    return f'"{text}"' if type(value) is str else text


def described(error: Exception) -> str:
    """Returns an exception for a message: its type, and its text if it has one."""
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def plural(count: int, noun: str) -> str:
    """Returns a count with its noun: 1 row, 2 rows."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def require_integer(value: Any, name: str, least: int = 0, most: int = MOST) -> int:
    """Returns an integer as an int. Rejects other types, and numbers outside `least` to `most`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeMismatchError(f"{name} must be an integer, not {shown(value)}", key=name, value=value) from None
    if number > most or number < -MOST - 1:
        raise NumberRangeError(f"{name} must be {least} to {most}, not {shown(number)}", key=name, value=number)
    if number < least:
        raise InvalidArgumentError(f"{name} must be at least {least}, not {number}", key=name, value=number)
    return number


def milliseconds(seconds: Any, name: str) -> int:
    """Returns a duration in seconds as milliseconds, rounded up. Rejects negative durations and those over 31 bits."""
    if not isinstance(seconds, (int, float)):
        raise TypeMismatchError(
            f"{name} must be a number of seconds (int or float), not {shown(seconds)}", key=name, value=seconds
        )
    if not seconds >= 0:  # also rejects NaN
        raise InvalidArgumentError(f"{name} must be at least 0 seconds, not {shown(seconds)}", key=name, value=seconds)
    if seconds * 1000 > MOST_SMALL:
        most = MOST_SMALL / 1000
        raise NumberRangeError(f"{name} must be at most {most} seconds, not {shown(seconds)}", key=name, value=seconds)
    return math.ceil(seconds * 1000)


def flag(value: Any, name: str) -> bool:
    """Returns a bool, or an int as a bool. Rejects other types."""
    if isinstance(value, int):
        return bool(value)
    raise TypeMismatchError(f"{name} must be True or False, not {shown(value)}", key=name, value=value)


def require_instance(kind: Any, value: Any, name: str, what: str | None = None) -> Any:
    """Returns the value if it is an instance of `kind`; otherwise raises TypeMismatchError.

    `what` describes the expected value in the error, if the caller also accepts values of other types.
    """
    if isinstance(value, kind):
        return value
    raise TypeMismatchError(
        f"{name} must be {what or f'of type {kind.__name__}'}, not {shown(value)}", key=name, value=value
    )


def choice(
    value: Any, name: str, choices: Iterable[str], kind: type[InvalidArgumentError] = InvalidArgumentError
) -> str:
    """Returns the value if it is one of the choices; otherwise raises an error of the class `kind`."""
    words = tuple(choices)
    if isinstance(value, str) and value in words:
        return value
    raise kind(f"{name} must be {quoted(words)}, not {shown(value)}", key=name, value=value)


def quoted(words: Iterable[str]) -> str:
    """Returns the words in double quotes as alternatives: "a", "b" or "c"."""
    *former, last = (f'"{each}"' for each in words)
    return f"{', '.join(former)} or {last}" if former else last


def abridged(names: Sequence[str]) -> str:
    """Returns the first ten names and the number of the others, for a message."""
    others = len(names) - 10
    return ", ".join(names[:10]) + (f" and {others} more" if others > 0 else "")


def elements(value: Any, name: str, what: str) -> Iterator[Any]:
    """Returns an iterator over an iterable. `what` describes the expected type in the error for another value."""
    try:
        return iter(value)
    except TypeError:
        raise TypeMismatchError(f"{name} must be {what}, not {shown(value)}", key=name, value=value) from None


def function(value: Any, name: str, what: str = "a function") -> Callable[..., Any]:
    """Returns the value if it is callable; otherwise raises TypeMismatchError. `what` describes the expected value."""
    if callable(value):
        return value  # type: ignore[no-any-return]
    raise TypeMismatchError(f"{name} must be {what}, not {shown(value)}", key=name, value=value)


def handles(values: Sequence[Any], kind: type[Any], name: str) -> tuple[int, Any]:
    """Returns the number of the values, which must be instances of `kind`, and an array of their handles."""
    found = list(elements(values, name, f"a list of {kind.__name__}"))
    array = [require_instance(kind, each, f"{name}[{place}]")._handle for place, each in enumerate(found)]
    return len(array), (ctypes.c_void_p * max(len(array), 1))(*array)


def path_list(paths: Any, name: str) -> tuple[int, Any]:
    """Returns the number of paths, and an array of them; a single path counts as a list of one."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    what = "a path or a list of paths"
    if isinstance(paths, bytes):
        raise TypeMismatchError(f"{name} must be {what}, not {shown(paths)}", key=name, value=paths)
    found = []
    for place, each in enumerate(elements(paths, name, what)):
        if not isinstance(each, (str, os.PathLike)):
            raise TypeMismatchError(
                f"{name}[{place}] must be a str or an os.PathLike, not {shown(each)}", key=name, value=each
            )
        found.append(path_argument(each))
    return len(found), (InputString * max(len(found), 1))(*found)
