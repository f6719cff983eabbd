"""Expressions: the operands of operators in predicates, parsed from text or built from parts."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterable, Mapping
from ctypes import byref
from enum import IntEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Callable, TypeVar, Union

from .. import _abi
from .._abi import conversion, lib, text
from .._abi.arguments import shown
from .._abi.call import call, owned
from .._abi.callbacks import reported
from .._abi.handles import Handle, retained
from .._abi.interrupt import immortal
from ..errors import PredicateError, TypeMismatchError

if TYPE_CHECKING:
    from ..graph.context import Context
    from ..graph.request import FetchRequest
    from .predicate import Predicate
    from .query import Value

Made = TypeVar("Made", bound="Tree")
KeyPath = Union[str, "Expression", "Value[Any]"]
Recipe = tuple[Callable[..., Any], tuple[Any, ...]]


class ExpressionType(IntEnum):
    """NSExpressionType. Types without a public number in Core Data start at 100."""

    CONSTANT = 0
    SELF = 1
    VARIABLE = 2
    KEY_PATH = 3
    FUNCTION = 4
    UNION = 5
    INTERSECT = 6
    MINUS = 7
    SUBQUERY = 13
    AGGREGATE = 14
    ANY_KEY = 15
    BLOCK = 19
    CONDITIONAL = 20
    FETCH = 50
    CALL = 100
    ASSIGNMENT = 101


class Tree:
    """The common base of predicates and expressions: an immutable handle, text, equality and pickling."""

    __slots__ = ("__weakref__", "_handle", "_recipe")

    _handle: int
    _recipe: Recipe | None  # creates an equal instance, even in another process

    @classmethod
    def _build(cls: type[Made], recipe: Recipe | None, function: Any, *arguments: Any) -> Made:
        self = object.__new__(cls)
        self._recipe = recipe
        self._handle = owned(function, *arguments)
        return self

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Recipe:
        if self._recipe is not None:
            return self._recipe
        again: Tree | None = None
        with contextlib.suppress(PredicateError):
            again = type(self)(str(self))  # type: ignore[call-arg]
        if again != self:
            raise TypeError(
                f"cannot pickle {self!r}: its format does not parse to an equal {type(self).__name__}; pickle a "
                "format and its arguments instead"
            )
        return type(self), (str(self),)


def _handles(items: Iterable[Any]) -> tuple[list[Expression], int, Any]:
    """Returns items as expressions, the number of expressions, and their handles, which the expressions keep alive."""
    expressions = [expression(item) for item in items]
    return expressions, len(expressions), (ctypes.c_void_p * len(expressions))(*[each._handle for each in expressions])


def expression(item: Any) -> Expression:
    """Returns an expression unchanged, the expression of a query's key, or any other item as a constant."""
    if isinstance(item, Expression):
        return item
    found = getattr(item, "_cst_expression", None)
    return found if isinstance(found, Expression) else Expression.constant(item)


def listed(given: Any, *kinds: type) -> list[Any]:
    """Returns the value or values of a parameter as a list. A str or a query's value is a single value."""
    if given is None:
        return []
    is_one = isinstance(given, (str, Tree, *kinds)) or hasattr(given, "_cst_expression")
    return [given] if is_one or not isinstance(given, Iterable) else list(given)


def key_path(item: KeyPath, name: str | None = None) -> str:
    """Returns the text of a key path: the str itself, or the text of a query's key or an expression.

    `name` is the name of the parameter, and becomes the key of errors.
    """
    if isinstance(item, str):
        return item
    found = getattr(item, "_cst_expression", item)
    if not isinstance(found, Expression) or found.type != ExpressionType.KEY_PATH or found.operands:
        given = shown(found.format if isinstance(found, Expression) else item)
        raise TypeMismatchError(
            f'{given} is not a key path; write "department.name", Employee.name or key("name")', key=name, value=item
        )
    return found.name or ""


def check_format(format: Any, kind: str, example: str) -> None:
    """Raises an error that shows the correct form if a format is not a str."""
    if isinstance(format, str):
        return
    if type(format).__name__ == kind:
        raise TypeMismatchError(
            f"{shown(format)} is already of type {kind}; use it directly", key="format", value=format
        )
    raise TypeMismatchError(
        f"{shown(format)} is of type {type(format).__name__}; pass the format of the {kind} as a str, followed by its "
        f'arguments: {kind}("{example}", 40)',
        key="format",
        value=format,
    )


class Expression(Tree):
    """A value to be computed: `Expression("salary * 12").value(person)`.

    The arguments are those of `Predicate`; an expression among them replaces its %@. Expressions are immutable, and any
    thread can use them.
    """

    __slots__ = ()

    def __init__(self, format: str, *arguments: Any) -> None:
        check_format(format, "Expression", "age + %d")
        given = conversion.Encoded(arguments, "arguments")
        self._recipe = (Expression, (format, *arguments))
        self._handle = owned(lib.cst_expression_parse, text(format, "format"), given.count, given.address)

    @classmethod
    def _borrowed(cls, handle: int) -> Expression:
        """Returns an expression that retains a borrowed handle."""
        self: Expression = object.__new__(cls)
        self._recipe = None
        self._handle = retained(handle)
        return self

    # ---- constructors from parts

    @classmethod
    def constant(cls, value: Any) -> Expression:
        """Returns a constant: any value that `%@` accepts."""
        given = conversion.encode_one(value, "value")
        return cls._build((Expression.constant, (value,)), lib.cst_expression_new_constant, given.address)

    @classmethod
    def evaluated_object(cls) -> Expression:
        """Returns SELF, the evaluated object."""
        return cls._build((Expression.evaluated_object, ()), lib.cst_expression_new_self)

    @classmethod
    def variable(cls, name: str) -> Expression:
        """Returns the variable $name."""
        return cls._build((Expression.variable, (name,)), lib.cst_expression_new_variable, text(name, "name"))

    @classmethod
    def key_path(cls, path: str, base: Expression | None = None) -> Expression:
        """Returns a key path, which starts at the value of `base`, or at SELF if `base` is None."""
        return cls._build(
            (Expression.key_path, (path, base)), lib.cst_expression_new_key_path,
            base._handle if base is not None else None, text(path, "path"),
        )  # fmt: skip

    @classmethod
    def function(cls, name: str, *arguments: Any) -> Expression:
        """Returns a call of a built-in function, which has the name of predicate formats: "add:to:", "uppercase:"."""
        keep, count, array = _handles(arguments)
        return cls._build(
            (Expression.function, (name, *keep)), lib.cst_expression_new_function, text(name, "name"), count, array
        )

    @classmethod
    def call(cls, receiver: Any, name: str, *arguments: Any) -> Expression:
        """Returns FUNCTION(receiver, "name", …): a call of a method of a value, or of a registered function."""
        target = expression(receiver)
        keep, count, array = _handles(arguments)
        return cls._build(
            (Expression.call, (target, name, *keep)), lib.cst_expression_new_call, target._handle,
            text(name, "name"), count, array,
        )  # fmt: skip

    @classmethod
    def aggregate(cls, elements: Iterable[Any]) -> Expression:
        """Returns the list {a, b, …} of expressions."""
        keep, count, array = _handles(elements)
        return cls._build((Expression.aggregate, (keep,)), lib.cst_expression_new_aggregate, count, array)

    @classmethod
    def subquery(cls, collection: Any, variable: str, predicate: Predicate) -> Expression:
        """Returns SUBQUERY(collection, $variable, predicate): the elements that satisfy the predicate."""
        from ..graph.fetching import required_predicate

        elements, predicate = expression(collection), required_predicate(predicate, "predicate")
        return cls._build(
            (Expression.subquery, (elements, variable, predicate)), lib.cst_expression_new_subquery, elements._handle,
            text(variable, "variable"), predicate._handle,
        )  # fmt: skip

    @classmethod
    def fetch(cls, request: FetchRequest, context: Context | None = None, *, count_only: bool = False) -> Expression:
        """Returns FETCH(request, context, countOnly), the results of a request: `Key.in_(Expression.fetch(request))`.

        Without a context, the request runs in the context of the fetch whose predicate contains the expression.
        """
        given = request._build(context)
        handle = None if context is None else context._open
        recipe = (partial(Expression.fetch, count_only=count_only), (request, context))
        return cls._build(recipe, lib.cst_expression_new_fetch, given.handle, handle, count_only)

    @classmethod
    def conditional(cls, predicate: Predicate, yes: Any, no: Any) -> Expression:
        """Returns TERNARY(predicate, yes, no)."""
        from ..graph.fetching import required_predicate

        predicate = required_predicate(predicate, "predicate")
        first, second = expression(yes), expression(no)
        return cls._build(
            (Expression.conditional, (predicate, first, second)), lib.cst_expression_new_conditional,
            predicate._handle, first._handle, second._handle,
        )  # fmt: skip

    @classmethod
    def union(cls, left: Any, right: Any) -> Expression:
        """Returns left UNION right: the elements of both collections."""
        return _set_operation(ExpressionType.UNION, left, right)

    @classmethod
    def intersect(cls, left: Any, right: Any) -> Expression:
        """Returns left INTERSECT right: the elements that both collections contain."""
        return _set_operation(ExpressionType.INTERSECT, left, right)

    @classmethod
    def minus(cls, left: Any, right: Any) -> Expression:
        """Returns left MINUS right: the elements of the left collection that the right one does not contain."""
        return _set_operation(ExpressionType.MINUS, left, right)

    @classmethod
    def block(cls, function: Callable[[Any, list[Any], dict[str, Any]], Any], *arguments: Any) -> Expression:
        """Returns a call of function(object, arguments, variables), which is evaluated in memory only."""
        keep, count, array = _handles(arguments)
        return cls._build(
            (Expression.block, (function, *keep)), lib.cst_expression_new_block, _run_callback,
            conversion.register(function), conversion.forget, count, array,
        )  # fmt: skip

    # ---- parts

    @property
    def type(self) -> ExpressionType:
        """The type of the expression."""
        out = ctypes.c_uint32()
        call(lib.cst_expression_type, self._handle, byref(out))
        return ExpressionType(out.value)

    @property
    def constant_value(self) -> Any:
        """The value of a constant; None for other types."""
        out = _abi.Value()
        call(lib.cst_expression_copy_constant, self._handle, byref(out))
        return conversion.take(out)

    @property
    def name(self) -> str | None:
        """The key path, or the name of the function or variable; None for an expression without a name."""
        buffer = _abi.Buffer()
        status = call(lib.cst_expression_copy_name, self._handle, byref(buffer))
        found = _abi.take_text(buffer)
        return found if status == _abi.OK else None

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The operands, in the order in which they are written."""
        found: list[Expression] = []
        while True:
            out = Handle()
            if call(lib.cst_expression_copy_operand, self._handle, len(found), byref(out)) == _abi.END:
                return tuple(found)
            operand: Expression = object.__new__(Expression)
            operand._recipe, operand._handle = None, out.token
            found.append(operand)

    @property
    def predicate(self) -> Predicate | None:
        """The predicate of a subquery or a conditional; None for other types."""
        from .predicate import Predicate

        out = Handle()
        call(lib.cst_expression_copy_predicate, self._handle, byref(out))
        return Predicate._owned(out.token) if out else None

    @property
    def format(self) -> str:
        """The expression as text, in Core Data's spelling."""
        buffer = _abi.Buffer()
        call(lib.cst_expression_copy_format, self._handle, byref(buffer))
        return _abi.take_text(buffer)

    # ---- use

    def value(self, item: Any, variables: Mapping[str, Any] | None = None) -> Any:
        """Evaluates the expression in memory for a dict, an object, a managed object or any other value.

        `variables` are the values of $names. `$name := …` sets a variable for the rest of this evaluation, but does not
        change the dictionary.
        """
        given, bound = conversion.encode_one(item, "item"), conversion.encode_variables(variables)
        out = _abi.Value()
        call(lib.cst_expression_value, self._handle, given.address, bound.address, byref(out))
        return conversion.take(out)

    def _cst_value_handle(self) -> tuple[int, int]:
        return _abi.EXPRESSION, self._handle

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expression):
            return NotImplemented
        return bool(lib.cst_expression_equal(self._handle, other._handle))

    def __hash__(self) -> int:
        return int(lib.cst_expression_hash(self._handle))

    def __str__(self) -> str:
        return self.format

    def __repr__(self) -> str:
        return f"Expression({self.format!r})"


def _set_operation(kind: ExpressionType, left: Any, right: Any) -> Expression:
    a, b = expression(left), expression(right)
    return Expression._build(
        (_set_operation, (kind, a, b)), lib.cst_expression_new_set_operation, int(kind), a._handle, b._handle
    )


def _run(number: int, value: Any, count: int, arguments: Any, variables: Any, out: Any, error: Any) -> int:
    try:
        given = [conversion.decode(arguments[place]) for place in range(count)]
        conversion.return_value(
            conversion.registered(number)(conversion.decode(value[0]), given, conversion.decode(variables[0])), out
        )
        return _abi.OK
    except BaseException as raised:
        return reported(raised, error)


_run_callback = immortal(_abi.EXPRESSION_BLOCK_FN(_run))
