"""Sort descriptors, for fetches and for values in memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any, Callable, NamedTuple, TypeVar, Union

from .. import _abi
from .._abi import conversion, lib, null_text, optional_text, text
from .._abi.arguments import quoted, shown
from .._abi.call import call
from .._abi.callbacks import reported
from .._abi.interrupt import immortal
from ..errors import TypeMismatchError, UnsupportedError
from .expression import Expression, ExpressionType, KeyPath, key_path, listed

Item = TypeVar("Item")
Comparator = Callable[[Any, Any], int]

_SELECTORS = {
    "compare:": 0,
    "caseInsensitiveCompare:": _abi.SORT_CASE_INSENSITIVE,
    "localizedCompare:": _abi.SORT_LOCALIZED,
    "localizedCaseInsensitiveCompare:": _abi.SORT_LOCALIZED | _abi.SORT_CASE_INSENSITIVE,
    "localizedStandardCompare:": _abi.SORT_LOCALIZED_STANDARD,
}


def selector_of(flags: int) -> str | Comparator:
    """Returns the selector for the flags of a cst_sort."""
    if flags & _abi.SORT_COMPARATOR:
        return _only_the_library
    wanted = flags & ~_abi.SORT_DESCENDING
    return next(name for name, value in _SELECTORS.items() if value == wanted)


def _only_the_library(first: Any, second: Any) -> int:
    raise UnsupportedError("a custom store cannot call the comparator of a sort descriptor; return the rows unsorted")


class SortDescriptor:
    """One criterion of an order: `SortDescriptor("department.name")`, `SortDescriptor("age", ascending=False)`.

    Without a key, the values themselves are compared. `selector` is one of Core Data's selectors for strings, or a
    function that returns a negative number if its first argument comes first. A function sorts in memory only. In
    ascending order, nil comes first.
    """

    __slots__ = ("ascending", "key", "selector")

    def __init__(self, key: KeyPath | None, ascending: bool = True, selector: str | Comparator = "compare:") -> None:
        if isinstance(selector, str) and selector not in _SELECTORS:
            raise UnsupportedError(
                f"selector must be {quoted(_SELECTORS)}, not {shown(selector)}", key="selector", value=selector
            )
        if not isinstance(selector, str) and not callable(selector):
            raise TypeMismatchError(
                f"selector must be a str or a function, not {shown(selector)}", key="selector", value=selector
            )
        self.key = None if key is None else key_path(key, "key")
        self.ascending = ascending
        self.selector = selector

    @property
    def reversed(self) -> SortDescriptor:
        """The same criterion in the other direction."""
        return SortDescriptor(self.key, not self.ascending, self.selector)

    def sorted(self, items: Iterable[Item]) -> list[Item]:
        """Returns the items in this order. Equal items keep their order."""
        return sort(items, [self])

    def _sort(self) -> _abi.Sort:
        flags = 0 if self.ascending else _abi.SORT_DESCENDING
        flags |= _SELECTORS[self.selector] if isinstance(self.selector, str) else _abi.SORT_COMPARATOR
        return _abi.Sort(null_text() if self.key is None else text(self.key), flags, 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SortDescriptor):
            return NotImplemented
        return (self.key, self.ascending, self.selector) == (other.key, other.ascending, other.selector)

    def __hash__(self) -> int:
        return hash((self.key, self.ascending, self.selector))

    def __repr__(self) -> str:
        shown = repr(self.selector) if isinstance(self.selector, str) else "…"
        return f"SortDescriptor({self.key!r}, ascending={self.ascending}, selector={shown})"


class Sort(NamedTuple):
    """A sort key: a key path through attributes and to-one relationships."""

    key_path: KeyPath
    descending: bool = False
    case_insensitive: bool = False


SortKey = Union[KeyPath, Sort, SortDescriptor]


def sort_descriptors(sort: SortKey | Sequence[SortKey]) -> list[SortDescriptor]:
    """Returns sort keys as descriptors. "-name" and `-Employee.name` are descending; the same without "-" ascending."""
    return [_descriptor(key) for key in listed(sort, Sort, SortDescriptor)]


def _descriptor(key: Any) -> SortDescriptor:
    if isinstance(key, SortDescriptor):
        return key
    if isinstance(key, str):
        return SortDescriptor(key.lstrip("+-"), not key.startswith("-"))
    if isinstance(key, Sort):
        selector = "caseInsensitiveCompare:" if key.case_insensitive else "compare:"
        return SortDescriptor(key.key_path, not key.descending, selector)
    ascending, path = True, key
    while (inner := _negated(path)) is not None:
        ascending, path = not ascending, inner
    try:
        return SortDescriptor(key_path(path), ascending)
    except TypeMismatchError:
        raise TypeMismatchError(
            f'{shown(key)} is not a sort key; write "name", "-name", -Employee.name, Employee.name.desc(), '
            'Sort("name", descending=True) or a SortDescriptor',
            key="sort",
            value=key,
        ) from None


def _negated(key: Any) -> Expression | None:
    """Returns the key that `-Employee.name` negates; None for any other key."""
    found = getattr(key, "_cst_expression", key)
    if not isinstance(found, Expression) or found.type != ExpressionType.FUNCTION or found.name != "negate:":
        return None
    return found.operands[0]


def sort(items: Iterable[Item], descriptors: SortDescriptor | Sequence[SortDescriptor]) -> list[Item]:
    """Returns values of any type in the order of the descriptors. Each is a tie-breaker for the previous ones."""
    chosen = list(items)
    given, order = conversion.Encoded(chosen, "items"), (ctypes.c_size_t * len(chosen))()
    array, compare, number = prepared([descriptors] if isinstance(descriptors, SortDescriptor) else descriptors)
    try:
        call(lib.cst_sort_values, given.count, given.address, len(array), array, compare, number, order)
    finally:
        conversion.forget(number)
    return [chosen[place] for place in order]


def set_sort_locale(locale: str | None) -> None:
    """Sets the locale of localized selectors and of the option [l], for the whole process.

    It is an ICU locale name such as "de_DE". "" means language-independent rules. None, the default, means the locale
    of the environment (LC_ALL, LC_COLLATE, LANG).
    """
    call(lib.cst_sort_set_locale, optional_text(locale, "locale"))


def sort_locale() -> str:
    """Returns the current locale of localized selectors."""
    buffer = _abi.Buffer()
    call(lib.cst_sort_copy_locale, ctypes.byref(buffer), None)
    return _abi.take_text(buffer)


def prepared(descriptors: Sequence[SortDescriptor]) -> tuple[Any, Any, int]:
    """Returns an array of cst_sort for descriptors, the callback for comparators, and the number that it receives."""
    array = (_abi.Sort * len(descriptors))(*[each._sort() for each in descriptors])
    return array, _compare_callback, conversion.register([each.selector for each in descriptors])


def _compare(number: int, place: int, a: Any, b: Any, out: Any, error: Any) -> int:
    try:
        order = conversion.registered(number)[place](conversion.decode(a[0]), conversion.decode(b[0]))
        out[0] = (order > 0) - (order < 0)
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


_compare_callback = immortal(_abi.COMPARE_FN(_compare))
