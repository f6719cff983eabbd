"""Predicates in the language of NSPredicate: parsed from text or built from parts, evaluated on any value."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping
from ctypes import byref
from enum import IntEnum, IntFlag
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, Callable, NoReturn, TypeVar

from .. import _abi
from .._abi import conversion, lib, text
from .._abi.arguments import plural
from .._abi.call import call, owned
from .._abi.callbacks import reported
from .._abi.interrupt import immortal
from ..errors import InvalidArgumentError
from .expression import Expression, ExpressionType, Tree, check_format, expression

Item = TypeVar("Item")


class PredicateKind(IntEnum):
    """The kind of a predicate."""

    FALSE = 0
    TRUE = 1
    COMPARISON = 2
    COMPOUND = 3
    BLOCK = 4


class CompoundType(IntEnum):
    """The operators of a compound predicate: NSCompoundPredicateType."""

    NOT = 0
    AND = 1
    OR = 2


class Operator(IntEnum):
    """The operators of a comparison: NSComparisonPredicateOperatorType."""

    LESS_THAN = 0
    LESS_THAN_OR_EQUAL = 1
    GREATER_THAN = 2
    GREATER_THAN_OR_EQUAL = 3
    EQUAL = 4
    NOT_EQUAL = 5
    MATCHES = 6
    LIKE = 7
    BEGINS_WITH = 8
    ENDS_WITH = 9
    IN = 10
    CUSTOM_SELECTOR = 11  # only a format can create it: "%@ selector: %@"
    CONTAINS = 99
    BETWEEN = 100


class Modifier(IntEnum):
    """The members to which a comparison applies: NSComparisonPredicateModifier."""

    DIRECT = 0
    ALL = 1
    ANY = 2


class CompareOptions(IntFlag):
    """The options of a comparison of text: NSComparisonPredicateOptions."""

    NONE = 0
    CASE_INSENSITIVE = 1
    DIACRITIC_INSENSITIVE = 2
    NORMALIZED = 4
    LOCALE_SENSITIVE = 8


def _conversion_count(format: str) -> int:
    """Returns the maximum number of arguments of a format. Also counts conversions in quotes, which are plain text."""
    return format.replace("%%", "").count("%")


class Predicate(Tree):
    """A condition for objects: `Predicate("age > %d AND department.name == %@", 40, "R&D")`.

    %@ accepts any value, a list for IN and BETWEEN, or an expression, which replaces the %@. %K accepts a key path, and
    %d and similar conversions accept numbers. Predicates are immutable, can be used on any thread, and can be combined:
    `a & b`, `a | b`, `~a`.
    """

    __slots__ = ("_keys",)

    _cst_is_condition = True
    _keys: tuple[str, ...] | None  # the keys that the predicate reads; unset until they are needed

    def __init__(self, format: str, *arguments: Any) -> None:
        check_format(format, "Predicate", "age > %d")
        most = _conversion_count(format)
        if len(arguments) > most:
            about = "at most " if most and ("'" in format or '"' in format) else ""
            raise InvalidArgumentError(
                f'the predicate "{format}" has {about}{plural(most, "conversion")} such as %@, but '
                f"{plural(len(arguments), 'argument')} {'was' if len(arguments) == 1 else 'were'} passed; write one "
                "conversion for each argument",
                key="format",
                value=format,
            )
        given = conversion.Encoded(arguments, "arguments")
        self._recipe = (Predicate, (format, *arguments))
        self._handle = owned(lib.cst_predicate_parse, text(format, "format"), given.count, given.address)

    @classmethod
    def _owned(cls, handle: int | None) -> Predicate:
        self: Predicate = object.__new__(cls)
        self._recipe = None
        self._handle = handle or 0
        return self

    # ---- constructors from parts

    @classmethod
    def comparison(
        cls,
        left: Any,
        operator: Operator,
        right: Any,
        modifier: Modifier = Modifier.DIRECT,
        options: CompareOptions = CompareOptions.NONE,
    ) -> Predicate:
        """Returns a comparison of two expressions or values by an operator."""
        a, b = expression(left), expression(right)
        return cls._build(
            (Predicate.comparison, (a, operator, b, modifier, options)), lib.cst_predicate_new_comparison, a._handle,
            int(operator), b._handle, int(modifier), int(options),
        )  # fmt: skip

    @classmethod
    def block(cls, function: Callable[[Any, dict[str, Any]], object]) -> Predicate:
        """Returns a predicate that calls function(object, variables), and is evaluated in memory only."""
        return cls._build(
            (Predicate.block, (function,)), lib.cst_predicate_new_block, _run_callback, conversion.register(function),
            conversion.forget,
        )  # fmt: skip

    @classmethod
    def compound(cls, type: CompoundType, predicates: Iterable[Predicate | bool]) -> Predicate:
        """Returns predicates combined by AND or OR, or one predicate negated by NOT."""
        parts = [part if isinstance(part, Predicate) else _condition(part) for part in predicates]
        array = (ctypes.c_void_p * len(parts))(*[part._handle for part in parts])
        recipe = (Predicate.compound, (type, parts))
        return cls._build(recipe, lib.cst_predicate_new_compound, int(type), len(parts), array)

    @classmethod
    def all(cls, *predicates: Predicate | bool) -> Predicate:
        """Returns a predicate that is true if all predicates are true."""
        return cls.compound(CompoundType.AND, predicates)

    @classmethod
    def any(cls, *predicates: Predicate | bool) -> Predicate:
        """Returns a predicate that is true if at least one predicate is true."""
        return cls.compound(CompoundType.OR, predicates)

    def __and__(self, other: Predicate | bool) -> Predicate:
        found: Predicate = self._combined(CompoundType.AND, other)
        return found

    def __or__(self, other: Predicate | bool) -> Predicate:
        found: Predicate = self._combined(CompoundType.OR, other)
        return found

    if TYPE_CHECKING:  # the left operand is a comparison that they see as bool; see _typing

        def __rand__(self, other: bool) -> Predicate: ...

        def __ror__(self, other: bool) -> Predicate: ...

    def __invert__(self) -> Predicate:
        return self.compound(CompoundType.NOT, [self])

    def _combined(self, type: CompoundType, other: Any) -> Any:
        if not isinstance(other, Predicate):
            return NotImplemented
        recipe = self._recipe
        # A chain of the same operator becomes one compound, as in a format.
        chain = recipe[1][1] if recipe is not None and recipe[0] is _joined and recipe[1][0] == type else [self]
        return _joined(type, [*chain, other])

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"{self!r} is a predicate, not a truth value. Write (a) & (b), (a) | (b), ~(a) or key.in_(values) instead "
            'of "a and b", "a or b", "not a" or "key in values", and split "1 < key < 3". Call evaluate for its '
            'result; test an optional predicate with "is not None"'
        )

    def substituting(self, /, **variables: Any) -> Predicate:
        """Returns a copy in which values or expressions replace $variables."""
        bound = conversion.encode_one(variables, "variables")
        return self._build(
            (_substituted, (self, variables)), lib.cst_predicate_new_substituted, self._handle, bound.address
        )

    # ---- parts

    def _info(self) -> _abi.PredicateInfo:
        info = _abi.PredicateInfo(ctypes.sizeof(_abi.PredicateInfo))
        call(lib.cst_predicate_get_info, self._handle, byref(info))
        return info

    @property
    def kind(self) -> PredicateKind:
        """The kind: constant, comparison, compound or block."""
        return PredicateKind(self._info().kind)

    @property
    def compound_type(self) -> CompoundType | None:
        """NOT, AND or OR; None for other kinds."""
        info = self._info()
        return CompoundType(info.compound) if info.kind == PredicateKind.COMPOUND else None

    @property
    def parts(self) -> tuple[Predicate, ...]:
        """The predicates of a compound; empty for other kinds."""
        return tuple(
            Predicate._owned(owned(lib.cst_predicate_copy_part, self._handle, index))
            for index in range(self._info().part_count)
        )

    def _side(self, side: int) -> Expression | None:
        handle = owned(lib.cst_predicate_copy_side, self._handle, side)
        if not handle:
            return None
        found: Expression = object.__new__(Expression)
        found._recipe, found._handle = None, handle
        return found

    @property
    def left(self) -> Expression | None:
        """The left side of a comparison; None for other kinds."""
        return self._side(0)

    @property
    def right(self) -> Expression | None:
        """The right side of a comparison; None for other kinds."""
        return self._side(1)

    @property
    def operator(self) -> Operator | None:
        """The operator of a comparison; None for other kinds."""
        info = self._info()
        return Operator(info.operator_type) if info.kind == PredicateKind.COMPARISON else None

    @property
    def modifier(self) -> Modifier:
        """The modifier of a comparison. SOME in a format is parsed as ANY, and NONE as the negation of ANY."""
        return Modifier(self._info().modifier)

    @property
    def options(self) -> CompareOptions:
        """The options of a comparison, which a format contains in brackets after the operator."""
        return CompareOptions(self._info().options)

    @property
    def format(self) -> str:
        """The predicate as text, in Core Data's spelling."""
        buffer = _abi.Buffer()
        call(lib.cst_predicate_copy_format, self._handle, byref(buffer))
        return _abi.take_text(buffer)

    # ---- use

    def evaluate(self, item: Any, variables: Mapping[str, Any] | None = None) -> bool:
        """Evaluates the predicate in memory for a dict, an object, a managed object or any other value.

        `variables` are the values of $names. `$name := …` sets a variable for the rest of this evaluation, but does not
        change the dictionary. PredicateError for unknown keys and for operations that the values do not support.
        """
        given, bound = conversion.encode_one(item, "item"), conversion.encode_variables(variables)
        out = ctypes.c_bool()
        call(lib.cst_predicate_evaluate_value, self._handle, given.address, bound.address, byref(out))
        return out.value

    def filter(self, items: Iterable[Item], variables: Mapping[str, Any] | None = None) -> list[Item]:
        """Returns the items that satisfy the predicate, in their order, with one call of the library."""
        chosen = list(items)
        if not chosen:
            return []
        given, bound = conversion.Encoded(self._narrowed(chosen), "items"), conversion.encode_variables(variables)
        out = (ctypes.c_bool * len(chosen))()
        call(lib.cst_predicate_filter, self._handle, given.count, given.address, bound.address, out)
        return list(compress(chosen, bytes(out)))

    def _narrowed(self, items: list[Item]) -> list[Any]:
        """Returns the items; dicts may be reduced to the keys that the predicate reads. Missing keys become nil."""
        if len(items) < 16:
            return items
        try:
            keys = self._keys
        except AttributeError:
            asked: set[str] = set()
            keys = self._keys = tuple(sorted(asked)) if _asks_by_keys(self, asked) else None
        if keys is None:
            return items
        most, given = len(keys), list[Any](items)
        return [
            conversion.Entries(chain.from_iterable(zip(keys, map(item.get, keys))))
            if type(item) is dict and len(item) > most
            else item
            for item in given
        ]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Predicate):
            return NotImplemented
        return bool(lib.cst_predicate_equal(self._handle, other._handle))

    def __hash__(self) -> int:
        return int(lib.cst_predicate_hash(self._handle))

    def __str__(self) -> str:
        return self.format

    def __repr__(self) -> str:
        return f"Predicate({self.format!r})"


def _condition(item: Any) -> Predicate:
    from .truth import condition

    return condition(item)


def _joined(type: CompoundType, parts: list[Predicate]) -> Predicate:
    made = Predicate.compound(type, parts)
    made._recipe = (_joined, (type, parts))
    return made


def _substituted(predicate: Predicate, variables: dict[str, Any]) -> Predicate:
    return predicate.substituting(**variables)


def _asks_by_keys(part: Predicate | Expression | None, keys: set[str]) -> bool:
    """Whether a part reads the evaluated object only by keys. Adds the first key of each path to `keys`."""
    if isinstance(part, Predicate):
        if part.kind == PredicateKind.BLOCK:
            return False
        if part.kind == PredicateKind.COMPARISON:
            return _asks_by_keys(part.left, keys) and _asks_by_keys(part.right, keys)
        return all(_asks_by_keys(each, keys) for each in part.parts)
    if part is None:
        return True
    operands = part.operands
    if part.type in (ExpressionType.SELF, ExpressionType.ANY_KEY, ExpressionType.BLOCK):
        return False
    if part.type == ExpressionType.KEY_PATH and not operands:
        key = (part.name or "").partition(".")[0]
        keys.add(key)
        return key != "self" and not key.startswith("@")
    return all(_asks_by_keys(each, keys) for each in operands) and _asks_by_keys(part.predicate, keys)


def _run(number: int, value: Any, variables: Any, out: Any, error: Any) -> int:
    try:
        out[0] = bool(conversion.registered(number)(conversion.decode(value[0]), conversion.decode(variables[0])))
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


_run_callback = immortal(_abi.PREDICATE_BLOCK_FN(_run))
