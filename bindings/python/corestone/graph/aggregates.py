"""Aggregates of rows, such as sums and averages."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any

from .. import _abi
from .._abi import lib
from .._abi.handles import Handle
from ..codes import Aggregate
from ..predicate.expression import Expression, KeyPath, expression, key_path, listed
from .rows import ExpressionDescription, has_operator, read_rows

if TYPE_CHECKING:
    from ..predicate.predicate import Predicate
    from .context import Context, EntityLike

_FUNCTIONS = {
    Aggregate.COUNT: "count:",
    Aggregate.SUM: "sum:",
    Aggregate.AVERAGE: "average:",
    Aggregate.MINIMUM: "min:",
    Aggregate.MAXIMUM: "max:",
    Aggregate.MEDIAN: "median:",
    Aggregate.DEVIATION: "stddev:",
}
_VALUE = "the value of a group"  # the name of a column, which is not a key path


def aggregate(
    context: Context, which: Aggregate, request: int, key: Any, by: KeyPath | Sequence[KeyPath] | None
) -> Any:
    """Returns an aggregate of a key over the results of a request.

    `by` is the key path, or a sequence of key paths, by which the request groups its results. With it, the result is a
    dictionary of the aggregates by group.
    """
    if key is not None and not isinstance(key, str):
        key = key.format if isinstance(key, Expression) else expression(key).format
    is_one = by is None or isinstance(by, str) or not isinstance(by, Sequence)
    out = Handle()
    context._work(lib.cst_context_aggregate, request, which, _abi.optional_text(key, "key"), byref(out))
    rows = [tuple(row.values()) for row in read_rows(out.token)]
    if by is None:
        return rows[0][0]
    return {row[0] if is_one else row[:-1]: row[-1] for row in rows}


def groups_are_computed(by: KeyPath | Sequence[KeyPath] | None) -> bool:
    """Whether a group is a computed value of the members of a relationship, such as `episodes.@count`."""
    return by is not None and any(has_operator(key_path(each, "by")) for each in listed(by))


def aggregate_of_computed_groups(
    context: Context,
    which: Aggregate,
    entity: EntityLike,
    key: Any,
    predicate: str | Predicate | bool | None,
    arguments: tuple[Any, ...],
    by: KeyPath | Sequence[KeyPath] | None,
    **options: Any,
) -> dict[Any, Any]:
    """Returns an aggregate by groups, some of which are computed. The library only computes columns of rows."""
    names = [key_path(each, "by") for each in listed(by)]
    if key is None:
        key = Expression.evaluated_object()
    operand = Expression(key) if isinstance(key, str) else expression(key)
    value = ExpressionDescription(_VALUE, Expression.function(_FUNCTIONS[Aggregate(which)], operand))
    rows = context.fetch_rows(entity, predicate, *arguments, columns=[*names, value], group_by=names, **options)
    is_one = isinstance(by, str) or not isinstance(by, Sequence)
    return {row[names[0]] if is_one else tuple(row[name] for name in names): row[_VALUE] for row in rows}
