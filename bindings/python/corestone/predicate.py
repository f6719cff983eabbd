"""Predicates, in the language of NSPredicate."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from ctypes import byref
from typing import Any

from . import _abi, values
from ._abi import lib, text
from ._call import call, made
from .errors import InvalidArgumentError, TypeMismatchError
from .object import ManagedObject


def _is_collection(argument: Any) -> bool:
    if isinstance(argument, (str, bytes, bytearray, memoryview, Mapping, ManagedObject)):
        return False
    return isinstance(argument, Iterable)


def conversions(format_: str) -> list[tuple[int, int]]:
    """Where the conversions (%@, %K, %d, …) of a format are: begin and end of each. Quoted text has none."""
    found = []
    at, quote = 0, ""
    while at < len(format_):
        letter = format_[at]
        if quote:
            if letter == "\\":
                at += 1
            elif letter == quote:
                quote = ""
        elif letter in "\"'":
            quote = letter
        elif letter == "%" and at + 1 < len(format_):
            end = at + 1
            if format_[end] != "%":
                while end < len(format_) - 1 and format_[end] in "hlqzjt0123456789.+- #":
                    end += 1
                found.append((at, end + 1))
            at = end
        at += 1
    return found


def spread(format_: str, arguments: Iterable[Any]) -> tuple[str, list[Any]]:
    """Writes "{%@, %@}" for a list, tuple, set or collection given to %@, and takes its members as arguments."""
    given = list(arguments)
    places = conversions(format_)
    if len(places) != len(given):
        raise InvalidArgumentError(
            f'The predicate "{format_}" has {len(places)} conversions (%@, %K, %d …), but {len(given)} arguments '
            "were given."
        )
    parts, flat, last = [], [], 0
    for (begin, end), argument in zip(places, given):
        if not _is_collection(argument):
            flat.append(argument)
            continue
        if format_[begin:end] != "%@":
            raise TypeMismatchError(
                f'The predicate "{format_}" takes one value for {format_[begin:end]}, not {argument!r:.60}. '
                "Only %@ takes a collection."
            )
        members = list(argument)
        flat += members
        parts.append(format_[last:begin] + "{" + ", ".join(["%@"] * len(members)) + "}")
        last = end
    return "".join([*parts, format_[last:]]), flat


class Predicate:
    """A condition on objects: `Predicate("age > %d AND department.name == %@", 40, "R&D")`.

    %@ takes any value, or a list for IN and BETWEEN; %K takes a key path; %d and the like take numbers. Predicates
    never change, may be used on any thread, and combine: `a & b`, `a | b`, `~a`.
    """

    __slots__ = ("__weakref__", "_handle")

    def __init__(self, format: str, *arguments: Any) -> None:
        written, given = spread(format, arguments)
        row = values.encode_all(given)
        self._handle = made(lib.cst_predicate_parse, text(written), len(given), row.address)

    @classmethod
    def _compound(cls, kind: int, parts: list[Predicate]) -> Predicate:
        self = object.__new__(cls)
        array = (ctypes.c_void_p * len(parts))(*[part._handle for part in parts])
        self._handle = made(lib.cst_predicate_new_compound, kind, len(parts), array)
        return self

    @classmethod
    def all(cls, *predicates: Predicate) -> Predicate:
        """Holds where all of them do."""
        return cls._compound(_abi.PREDICATE_AND, list(predicates))

    @classmethod
    def any(cls, *predicates: Predicate) -> Predicate:
        """Holds where one of them does."""
        return cls._compound(_abi.PREDICATE_OR, list(predicates))

    def __and__(self, other: Predicate) -> Predicate:
        return self._compound(_abi.PREDICATE_AND, [self, other])

    def __or__(self, other: Predicate) -> Predicate:
        return self._compound(_abi.PREDICATE_OR, [self, other])

    def __invert__(self) -> Predicate:
        return self._compound(_abi.PREDICATE_NOT, [self])

    def evaluate(self, item: ManagedObject) -> bool:
        """Whether it holds for an object, decided in memory."""
        out = ctypes.c_bool()
        call(lib.cst_predicate_evaluate, self._handle, item._cst_handle, byref(out))
        return out.value

    @property
    def format(self) -> str:
        """The predicate as text, in Core Data's spelling."""
        buffer = _abi.Buffer()
        call(lib.cst_predicate_copy_format, self._handle, byref(buffer))
        return _abi.take_text(buffer)

    def __str__(self) -> str:
        return self.format

    def __repr__(self) -> str:
        return f"Predicate({self.format!r})"

    def __del__(self, release: Any = lib.cst_release) -> None:
        handle = getattr(self, "_handle", None)
        if handle:
            release(handle)
