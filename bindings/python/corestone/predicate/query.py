"""Predicates written in Python: `Employee.age > 40`, `(Employee.department.name == "R&D") & Employee.projects.any(…)`.

On a managed object class, a property's name is a `Key`, which represents the property's value in a query.
`key("department.name")` returns a `Key` without a class. Comparisons return a `Predicate`; arithmetic and functions
return another `Value`. All of them build expressions, not text. Printing a predicate shows its format.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar, overload

from .._abi.arguments import shown
from ..errors import InvalidArgumentError, TypeMismatchError, UnsupportedError
from .expression import Expression, ExpressionType, expression
from .predicate import CompareOptions, CompoundType, Modifier, Operator, Predicate, PredicateKind
from .sort import Comparator, SortDescriptor
from .text_conditions import TextConditions

if TYPE_CHECKING:
    from typing_extensions import TypeVar as DefaultTypeVar

    from ..graph.collections import ToManySet
    from ..graph.object import ManagedObject
    from ..model.entity import Entity
    from ..model.property import PropertyDescription

    Member = DefaultTypeVar("Member", default="Single")
else:
    Member = TypeVar("Member")

T = TypeVar("T")
Members = TypeVar("Members")


class Value(TextConditions, Generic[T]):
    """A value that a query computes: the value of a key, or an expression of such values."""

    __slots__ = ("_cst_expression",)
    __hash__ = None  # type: ignore[assignment]
    __iter__ = None

    def __init__(self, expression: Expression) -> None:
        self._cst_expression = expression

    # ---- comparisons

    def _compare(self, operator: Operator, other: Any, options: CompareOptions = CompareOptions.NONE) -> Predicate:
        return Predicate.comparison(self._cst_expression, operator, expression(other), options=options)

    def __eq__(self, other: T | Value[Any] | None) -> Predicate:  # type: ignore[override]
        return self._compare(Operator.EQUAL, other)

    def __ne__(self, other: T | Value[Any] | None) -> Predicate:  # type: ignore[override]
        return self._compare(Operator.NOT_EQUAL, other)

    def __lt__(self, other: T | Value[Any]) -> Predicate:
        return self._compare(Operator.LESS_THAN, other)

    def __le__(self, other: T | Value[Any]) -> Predicate:
        return self._compare(Operator.LESS_THAN_OR_EQUAL, other)

    def __gt__(self, other: T | Value[Any]) -> Predicate:
        return self._compare(Operator.GREATER_THAN, other)

    def __ge__(self, other: T | Value[Any]) -> Predicate:
        return self._compare(Operator.GREATER_THAN_OR_EQUAL, other)

    def in_(self, values: Iterable[T] | Value[Any] | Expression) -> Predicate:
        """Returns the condition that the value is one of `values`, which can include None."""
        if isinstance(values, (str, bytes)):
            raise TypeMismatchError(
                f"in_ of {shown(self._cst_expression.format)} takes a collection, not {shown(values)}; write "
                "in_([value]) for one value, or contains(text) for a substring",
                key="values",
                value=values,
            )
        if isinstance(values, (Value, Expression)):
            return self._compare(Operator.IN, values)
        listed = list(values)
        present = [each for each in listed if each is not None]
        if len(present) == len(listed):
            return self._compare(Operator.IN, listed)
        return self._compare(Operator.IN, present) | self.is_null()  # IN does not find null

    def between(self, low: T | Value[Any], high: T | Value[Any]) -> Predicate:
        """Returns the condition that the value is between two bounds, inclusive."""
        return self._compare(Operator.BETWEEN, Expression.aggregate([low, high]))

    def is_null(self) -> Predicate:
        """Returns the condition that the value is null."""
        return self._compare(Operator.EQUAL, None)

    def is_not_null(self) -> Predicate:
        """Returns the condition that the value is not null."""
        return self._compare(Operator.NOT_EQUAL, None)

    def equals(self, other: Any, *, case_insensitive: bool = False, diacritic_insensitive: bool = False) -> Predicate:
        """Returns the condition that the value equals another, optionally insensitive to case or diacritics."""
        return self._compare(Operator.EQUAL, other, _options(case_insensitive, diacritic_insensitive))

    def contains(self, part: Any, *, case_insensitive: bool = False, diacritic_insensitive: bool = False) -> Predicate:
        """Returns the condition that a string contains the part, or a collection the element."""
        return self._compare(Operator.CONTAINS, part, _options(case_insensitive, diacritic_insensitive))

    def begins_with(
        self, part: Any, *, case_insensitive: bool = False, diacritic_insensitive: bool = False
    ) -> Predicate:
        """Returns the condition that a string begins with the part."""
        return self._compare(Operator.BEGINS_WITH, part, _options(case_insensitive, diacritic_insensitive))

    def ends_with(self, part: Any, *, case_insensitive: bool = False, diacritic_insensitive: bool = False) -> Predicate:
        """Returns the condition that a string ends with the part."""
        return self._compare(Operator.ENDS_WITH, part, _options(case_insensitive, diacritic_insensitive))

    def like(self, pattern: Any, *, case_insensitive: bool = False, diacritic_insensitive: bool = False) -> Predicate:
        """Returns the condition that a string matches a pattern: * matches any characters, ? a single character."""
        return self._compare(Operator.LIKE, pattern, _options(case_insensitive, diacritic_insensitive))

    def matches(
        self, pattern: Any, *, case_insensitive: bool = False, diacritic_insensitive: bool = False
    ) -> Predicate:
        """Returns the condition that a whole string matches a regular expression."""
        return self._compare(Operator.MATCHES, pattern, _options(case_insensitive, diacritic_insensitive))

    # ---- computed values

    def _call(self, function: str, *others: Any) -> Value[Any]:
        return self._function(function, self, *others)

    @staticmethod
    def _function(function: str, *operands: Any) -> Value[Any]:
        for operand in operands:
            if isinstance(operand, Predicate):
                values = [each._cst_expression.format for each in operands if isinstance(each, Value)]
                raise TypeMismatchError(
                    f"cannot combine the value {shown(values[0])} with the predicate {shown(operand.format)}; put "
                    f"the comparison of the value in parentheses, for example ({values[0]} == True)",
                    value=operand,
                )
        return Value(Expression.function(function, *operands))

    def __add__(self, other: Any) -> Value[Any]:
        return self._call("add:to:", other)

    def __radd__(self, other: Any) -> Value[Any]:
        return self._function("add:to:", other, self)

    def __sub__(self, other: Any) -> Value[Any]:
        return self._call("from:subtract:", other)

    def __rsub__(self, other: Any) -> Value[Any]:
        return self._function("from:subtract:", other, self)

    def __mul__(self, other: Any) -> Value[Any]:
        return self._call("multiply:by:", other)

    def __rmul__(self, other: Any) -> Value[Any]:
        return self._function("multiply:by:", other, self)

    def __truediv__(self, other: Any) -> Value[Any]:
        """Divides as in a predicate: the quotient of two integers is an integer."""
        return self._call("divide:by:", other)

    def __rtruediv__(self, other: Any) -> Value[Any]:
        return self._function("divide:by:", other, self)

    def __floordiv__(self, other: Any) -> NoReturn:
        raise UnsupportedError(
            "// is not supported in a query. Write a / b for integers (rounded towards zero), or "
            'Expression("floor:(%@ / %@)", a, b) for other numbers'
        )

    __rfloordiv__ = __floordiv__

    def __mod__(self, other: Any) -> Value[Any]:
        """Returns the remainder of a division that rounds towards zero. It has the sign of the dividend."""
        return self._call("modulus:by:", other)

    def __rmod__(self, other: Any) -> Value[Any]:
        return self._function("modulus:by:", other, self)

    def __pow__(self, other: Any) -> Value[Any]:
        return self._call("raise:toPower:", other)

    def __rpow__(self, other: Any) -> Value[Any]:
        return self._function("raise:toPower:", other, self)

    # ---- bitwise operators; the same operators combine conditions, including the keys of Boolean attributes

    def _connected(self, type: CompoundType, function: str, left: Any, right: Any) -> Any:
        from .truth import combined

        found = combined(type, left, right)
        return self._function(function, left, right) if found is None else found

    def __and__(self, other: Any) -> Any:
        """Returns the bits that are set in both values, or the condition that both conditions are true."""
        return self._connected(CompoundType.AND, "bitwiseAnd:with:", self, other)

    def __rand__(self, other: Any) -> Any:
        return self._connected(CompoundType.AND, "bitwiseAnd:with:", other, self)

    def __or__(self, other: Any) -> Any:
        """Returns the bits that are set in a value, or the condition that at least one condition is true."""
        return self._connected(CompoundType.OR, "bitwiseOr:with:", self, other)

    def __ror__(self, other: Any) -> Any:
        return self._connected(CompoundType.OR, "bitwiseOr:with:", other, self)

    def __xor__(self, other: Any) -> Value[Any]:
        return self._call("bitwiseXor:with:", other)

    def __rxor__(self, other: Any) -> Value[Any]:
        return self._function("bitwiseXor:with:", other, self)

    def __lshift__(self, other: Any) -> Value[Any]:
        return self._call("leftshift:by:", other)

    def __rlshift__(self, other: Any) -> Value[Any]:
        return self._function("leftshift:by:", other, self)

    def __rshift__(self, other: Any) -> Value[Any]:
        return self._call("rightshift:by:", other)

    def __rrshift__(self, other: Any) -> Value[Any]:
        return self._function("rightshift:by:", other, self)

    def __invert__(self) -> Any:
        """Returns the inverted bits; for the key of a Boolean attribute, the condition that it is not true."""
        from .truth import negated

        found = negated(self)
        return self._call("onesComplement:") if found is None else found

    def __neg__(self) -> Value[Any]:
        """Returns the negative number. As a sort key, `-Employee.name` is the descending order of any key."""
        return self._call("negate:")

    def __pos__(self) -> Value[T]:
        return self

    def __abs__(self) -> Value[Any]:
        return self._call("abs:")

    def lower(self) -> Value[Any]:
        """Returns the string in lower case."""
        return self._call("lowercase:")

    def upper(self) -> Value[Any]:
        """Returns the string in upper case."""
        return self._call("uppercase:")

    def length(self) -> Value[Any]:
        """Returns the length of the string."""
        return self._call("length:")

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{shown(self._cst_expression.format)} is a value of a query, not a truth value. Compare it with a value. "
            'Write (a) & (b), (a) | (b) or ~(a) instead of "a and b", "a or b" or "not a"; test an optional key with '
            '"is not None"'
        )

    def __str__(self) -> str:
        return self._cst_expression.format

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._cst_expression.format!r})"


class Key(Value[T]):
    """The value at a key path. Further properties are attributes: `Employee.department.name`.

    If a property has the name of a method of this class, such as count, write `key["count"]`.
    """

    __slots__ = ("_cst_entity", "_cst_is_many", "_cst_owner", "_cst_path", "_cst_property")

    def __init__(
        self,
        path: str,
        entity: Entity | None = None,
        *,
        owner: Entity | None = None,
        property: PropertyDescription | None = None,
        is_many: bool = False,
    ) -> None:
        super().__init__(Expression.key_path(path))
        self._cst_path = path
        self._cst_entity = entity  # the entity that further keys belong to; None: further keys are not checked
        self._cst_owner = owner  # the entity of the last property of the path, and that property, if they are known
        self._cst_property = property
        self._cst_is_many = is_many  # whether a relationship before the last property is to-many

    if not TYPE_CHECKING:

        def __call__(self, *given: Any, **options: Any) -> NoReturn:
            """Raises the error for a method that values of queries do not have."""
            from ..model.property import nearest

            path, _, name = self._cst_path.rpartition(".")
            near = _METHODS.get(name) or nearest(name, [each for each in dir(Key) if not each.startswith("_")])
            raise TypeError(
                f'"{self._cst_path}" is a key path, and cannot be called{near}'
                if path
                else f'"{name}" is a key, and cannot be called; compare it with a value'
            )

    def __getattr__(self, name: str) -> Key[Any]:
        if name.startswith("__") or name == "_as_parameter_":  # ctypes would read it from each key in turn, endlessly
            raise AttributeError(name)
        return self[name]

    @overload
    def __getitem__(self, name: str) -> Key[Any]: ...
    @overload
    def __getitem__(self, name: int | Value[Any]) -> Value[Any]: ...
    def __getitem__(self, name: str | int | Value[Any]) -> Value[Any]:
        """Returns a further key, or the element of a list at an index, from 0."""
        if isinstance(name, (Value, int)):
            if isinstance(name, int) and name < 0:
                raise InvalidArgumentError(
                    f'an index of "{self._cst_path}" in a query must be at least 0, not {shown(name)}; write '
                    'Expression("%@[LAST]", key) for the last element',
                    key=self._cst_path,
                    value=name,
                )
            return self._call("objectFrom:withIndex:", name)
        if not isinstance(name, str):
            raise TypeMismatchError(
                f'{shown(name)} is not a key or an index of "{self._cst_path}"; write key["name"] or key[0]',
                entity=None if self._cst_entity is None else self._cst_entity.name,
                key="name",
                value=name,
            )
        from ..model.entity_type import described  # here, because models contain predicates

        own = self._cst_property
        is_many = self._cst_is_many or (own is not None and own.is_to_many)
        property, target = described(self._cst_entity, name)
        return Key(f"{self._cst_path}.{name}", target, owner=self._cst_entity, property=property, is_many=is_many)

    # ---- order

    def asc(self, selector: str | Comparator = "compare:") -> SortDescriptor:
        """Returns an ascending sort descriptor for this key."""
        return SortDescriptor(self._cst_path, True, selector)

    def desc(self, selector: str | Comparator = "compare:") -> SortDescriptor:
        """Returns a descending sort descriptor for this key."""
        return SortDescriptor(self._cst_path, False, selector)

    # ---- members of a to-many relationship

    def any(self, predicate: Predicate | bool) -> Predicate:
        """Returns the condition that a predicate, whose keys start at a member, is true for at least one member."""
        predicate = _condition(predicate)
        found = self._quantified(predicate)
        return self._members(predicate) > 0 if found is None else found

    def none(self, predicate: Predicate | bool) -> Predicate:
        """Returns the condition that a predicate is not true for any member."""
        predicate = _condition(predicate)
        found = self._quantified(predicate)
        return self._members(predicate) == 0 if found is None else ~found

    def all(self, predicate: Predicate | bool) -> Predicate:
        """Returns the condition that a predicate is true for every member. Without members, the condition is true."""
        return self._members(~_condition(predicate)) == 0

    def matching(self, predicate: Predicate | bool) -> ChosenMembers:
        """Returns the members that satisfy a predicate, whose keys start at a member, to count or add them up.

        Show.episodes.matching(Episode.played).sum(Episode.minutes) > 600
        """
        predicate = _condition(predicate)
        variable = _free_variable(predicate)
        return ChosenMembers(Expression.subquery(self._cst_expression, variable, rebased(predicate, variable)))

    def _members(self, predicate: Predicate) -> Value[Any]:
        """Returns the number of members that satisfy a predicate."""
        return self.matching(predicate).count()

    def _quantified(self, predicate: Predicate) -> Predicate | None:
        """Returns ANY of a plain comparison, which can use an index; None if ANY could have another result."""
        left, right, operator = predicate.left, predicate.right, predicate.operator
        if left is None or right is None or operator is None:
            return None
        if operator in (Operator.NOT_EQUAL, Operator.CUSTOM_SELECTOR):
            return None
        if left.type != ExpressionType.KEY_PATH or left.operands or predicate.modifier != Modifier.DIRECT:
            return None
        if right.type != ExpressionType.CONSTANT or right.constant_value is None:
            return None
        path = Expression.key_path(f"{self._cst_path}.{left.name}")
        return Predicate.comparison(path, operator, right, Modifier.ANY, predicate.options)

    def count(self) -> Value[int]:
        """Returns the number of members."""
        return Key(f"{self._cst_path}.@count")

    def _of(self, operator: str, key: Key[Any] | str | None) -> Value[Any]:
        return Key(f"{self._cst_path}.{operator}.{_tail(key)}")

    def sum(self, key: Key[Any] | str | None = None) -> Value[Any]:
        """Returns the sum of a key over the members, or of the members if `key` is None."""
        return self._of("@sum", key)

    def avg(self, key: Key[Any] | str | None = None) -> Value[Any]:
        """Returns the average of a key over the members."""
        return self._of("@avg", key)

    def min(self, key: Key[Any] | str | None = None) -> Value[Any]:
        """Returns the minimum of a key over the members."""
        return self._of("@min", key)

    def max(self, key: Key[Any] | str | None = None) -> Value[Any]:
        """Returns the maximum of a key over the members."""
        return self._of("@max", key)


def _tail(key: Key[Any] | str | None) -> str:
    return "self" if key is None else key._cst_path if isinstance(key, Key) else key


def _condition(predicate: Any) -> Predicate:
    if isinstance(predicate, Predicate):
        return predicate
    from .truth import condition

    return condition(predicate)


class ChosenMembers(Value[Any]):
    """The members of a to-many relationship that satisfy a condition; see Key.matching."""

    __slots__ = ()

    def _of(self, operator: str, key: Key[Any] | str | None) -> Value[Any]:
        return Value(Expression.key_path(f"{operator}.{_tail(key)}", self._cst_expression))

    def count(self) -> Value[int]:
        """Returns the number of these members."""
        return Value(Expression.key_path("@count", self._cst_expression))

    def sum(self, key: Key[Any] | str) -> Value[Any]:
        """Returns the sum of a key over these members; 0 without members."""
        return self._of("@sum", key)

    def avg(self, key: Key[Any] | str) -> Value[Any]:
        """Returns the average of a key over these members."""
        return self._of("@avg", key)

    def min(self, key: Key[Any] | str) -> Value[Any]:
        """Returns the minimum of a key over these members."""
        return self._of("@min", key)

    def max(self, key: Key[Any] | str) -> Value[Any]:
        """Returns the maximum of a key over these members."""
        return self._of("@max", key)


# Methods of str and of other libraries, and those of values in queries.
_METHODS = {
    "startswith": '; did you mean "begins_with"?',
    "endswith": '; did you mean "ends_with"?',
    "exists": '; did you mean "is_not_null"?',
    "isnull": '; did you mean "is_null"?',
    "is_": '; did you mean "equals"?',
    "isin": '; did you mean "in_"?',
}


def key(path: str) -> Key[Any]:
    """Returns a key path as a value of a query, without a class: `key("department.name") == "R&D"`."""
    return Key(path)


def _options(case_insensitive: bool, diacritic_insensitive: bool) -> CompareOptions:
    options = CompareOptions.CASE_INSENSITIVE if case_insensitive else CompareOptions.NONE
    return options | CompareOptions.DIACRITIC_INSENSITIVE if diacritic_insensitive else options


# -------- conditions on members ----------------------------------------------------------------------------


def _free_variable(predicate: Predicate) -> str:
    """Returns a variable name that no subquery of the predicate uses."""
    text, number = predicate.format, 0
    while f"$each{number or ''}" in text:
        number += 1
    return f"each{number or ''}"


@overload
def rebased(part: Predicate, variable: str) -> Predicate: ...
@overload
def rebased(part: Expression, variable: str) -> Expression: ...
def rebased(part: Predicate | Expression, variable: str) -> Predicate | Expression:
    """Returns a copy of a part in which key paths start at a variable instead of SELF."""
    if isinstance(part, Expression):
        return _rebased_expression(part, variable)
    connective = part.compound_type
    if connective is not None:
        return Predicate.compound(connective, [rebased(each, variable) for each in part.parts])
    left, right, operator = part.left, part.right, part.operator
    if left is None or right is None or operator is None:
        if part.kind == PredicateKind.BLOCK:
            raise UnsupportedError(
                "a block predicate cannot be applied to members of a collection; filter the members in memory",
                key="predicate",
                value=part,
            )
        return part
    return Predicate.comparison(
        rebased(left, variable), operator, rebased(right, variable), part.modifier, part.options
    )


def _rebased_expression(part: Expression, variable: str) -> Expression:
    kind, name = part.type, part.name or ""
    if kind in (ExpressionType.CONSTANT, ExpressionType.VARIABLE):
        return part
    if kind == ExpressionType.SELF:
        return Expression.variable(variable)
    operands = [rebased(each, variable) for each in part.operands]
    if kind == ExpressionType.KEY_PATH:
        return Expression.key_path(name, operands[0] if operands else Expression.variable(variable))
    if kind == ExpressionType.FUNCTION:
        is_place = name in ("FIRST", "LAST", "SIZE")
        return Expression(f"%@[{name}]", *operands) if is_place else Expression.function(name, *operands)
    if kind == ExpressionType.AGGREGATE:
        return Expression.aggregate(operands)
    if kind == ExpressionType.CALL:
        return Expression.call(operands[0], name, *operands[1:])
    condition = part.predicate
    if kind == ExpressionType.SUBQUERY and condition is not None:
        return Expression.subquery(operands[0], name, rebased(condition, variable))
    if kind == ExpressionType.CONDITIONAL and condition is not None:
        return Expression.conditional(rebased(condition, variable), *operands)
    sets = {ExpressionType.UNION: Expression.union, ExpressionType.INTERSECT: Expression.intersect}
    if kind in (*sets, ExpressionType.MINUS):
        return sets.get(kind, Expression.minus)(*operands)
    if kind == ExpressionType.BLOCK:
        raise InvalidArgumentError(
            "a block expression cannot be applied to members of a collection; filter the members in memory",
            key="predicate",
            value=part,
        )
    remedy = "use @allValues" if kind == ExpressionType.ANY_KEY else "write a format string with a SUBQUERY"
    raise InvalidArgumentError(
        f"any, none and all cannot apply {shown(part.format)} to members of a collection; {remedy} instead",
        key="predicate",
        value=part,
    )


# -------- types of generated classes -----------------------------------------------------------------------


if TYPE_CHECKING:

    class BooleanKey(Key[bool], Predicate):  # type: ignore[misc]
        """The key of a Boolean attribute, which is also a condition. Type checkers only; at run time it is a Key."""

        def __and__(self, other: Any) -> Predicate: ...

        def __or__(self, other: Any) -> Predicate: ...

        def __invert__(self) -> Predicate: ...


class Attribute(Generic[T]):
    """An attribute of a generated class: a key on the class, a value on an object."""

    @overload
    def __get__(self: Attribute[bool], item: None, owner: type[Any]) -> BooleanKey: ...
    @overload
    def __get__(self: Attribute[bool | None], item: None, owner: type[Any]) -> BooleanKey: ...
    # Numbers can be compared with numbers of other types.
    @overload
    def __get__(self: Attribute[Decimal], item: None, owner: type[Any]) -> Key[Decimal | int]: ...
    @overload
    def __get__(self: Attribute[Decimal | None], item: None, owner: type[Any]) -> Key[Decimal | int | None]: ...
    @overload
    def __get__(self: Attribute[int], item: None, owner: type[Any]) -> Key[float]: ...
    @overload
    def __get__(self: Attribute[int | None], item: None, owner: type[Any]) -> Key[float | None]: ...
    @overload
    def __get__(self, item: None, owner: type[Any]) -> Key[T]: ...
    @overload
    def __get__(self, item: ManagedObject, owner: type[Any]) -> T: ...
    def __get__(self, item: Any, owner: type[Any]) -> Any:
        raise NotImplementedError  # only used in stubs

    def __set__(self, item: ManagedObject, value: T) -> None:
        raise NotImplementedError


class Single:
    """The second argument of ToMany in `ToMany[Tag]`, where the members are a ToManySet."""


class ToMany(Generic[Members, Member]):
    """A to-many relationship of a class: a key on the class, a collection on an object.

    `ToMany[Tag]` is unordered (see corestone.declarative). Generated classes name the collection too:
    `ToMany[ToManyList[Tag], Tag]`.
    """

    if not TYPE_CHECKING:

        def __class_getitem__(cls, arguments: Any) -> Any:
            return super().__class_getitem__(arguments if isinstance(arguments, tuple) else (arguments, Single))

    @overload
    def __get__(self, item: None, owner: type[Any]) -> Key[Any]: ...
    @overload
    def __get__(self: ToMany[T, Single], item: ManagedObject, owner: type[Any]) -> ToManySet[T]: ...
    @overload
    def __get__(self, item: ManagedObject, owner: type[Any]) -> Members: ...
    def __get__(self, item: Any, owner: type[Any]) -> Any:
        raise NotImplementedError

    @overload
    def __set__(self: ToMany[T, Single], item: ManagedObject, members: Iterable[T]) -> None: ...
    @overload
    def __set__(self, item: ManagedObject, members: Iterable[Member]) -> None: ...
    def __set__(self, item: ManagedObject, members: Any) -> None:
        raise NotImplementedError
