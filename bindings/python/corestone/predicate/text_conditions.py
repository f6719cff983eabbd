"""Conditions on text without regard to case, as methods of the values of queries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .predicate import CompareOptions, Operator, Predicate

if TYPE_CHECKING:
    from .expression import Expression
    from .query import Value


class TextConditions:
    """The conditions of a value that ignore case: `Show.title.icontains("news")` is `title CONTAINS[c] "news"`."""

    __slots__ = ()

    if TYPE_CHECKING:

        def _compare(
            self, operator: Operator, other: Any, options: CompareOptions = CompareOptions.NONE
        ) -> Predicate: ...

        def in_(self, values: Iterable[Any] | Value[Any] | Expression) -> Predicate: ...

    def icontains(self, part: Any, *, diacritic_insensitive: bool = False) -> Predicate:
        """Returns the condition that a string contains the part, without regard to case.

        With `diacritic_insensitive`, "e" also matches "é".
        """
        return self._compare(Operator.CONTAINS, part, _without_case(diacritic_insensitive))

    def istartswith(self, part: Any, *, diacritic_insensitive: bool = False) -> Predicate:
        """Returns the condition that a string begins with the part, without regard to case."""
        return self._compare(Operator.BEGINS_WITH, part, _without_case(diacritic_insensitive))

    def iendswith(self, part: Any, *, diacritic_insensitive: bool = False) -> Predicate:
        """Returns the condition that a string ends with the part, without regard to case."""
        return self._compare(Operator.ENDS_WITH, part, _without_case(diacritic_insensitive))

    def ilike(self, pattern: Any, *, diacritic_insensitive: bool = False) -> Predicate:
        """Returns the condition that a string matches a pattern of `*` and `?`, without regard to case.

        The wildcards are those of `like`, not those of SQL: `*` matches any characters, `?` a single character.
        """
        return self._compare(Operator.LIKE, pattern, _without_case(diacritic_insensitive))

    def imatches(self, pattern: Any, *, diacritic_insensitive: bool = False) -> Predicate:
        """Returns the condition that a whole string matches a regular expression, without regard to case."""
        return self._compare(Operator.MATCHES, pattern, _without_case(diacritic_insensitive))

    def iequals(self, other: Any, *, diacritic_insensitive: bool = False) -> Predicate:
        """Returns the condition that a string equals another, without regard to case."""
        return self._compare(Operator.EQUAL, other, _without_case(diacritic_insensitive))

    def not_in(self, values: Iterable[Any] | Value[Any] | Expression) -> Predicate:
        """Returns the condition that the value is not one of `values`. It is true for null, unless null is listed."""
        return ~self.in_(values)


def _without_case(diacritic_insensitive: bool) -> CompareOptions:
    if diacritic_insensitive:
        return CompareOptions.CASE_INSENSITIVE | CompareOptions.DIACRITIC_INSENSITIVE
    return CompareOptions.CASE_INSENSITIVE
