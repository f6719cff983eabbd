"""Requests for rows, and aggregates of them, such as sums and averages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any

from . import _abi
from ._abi import lib
from ._call import call
from ._handles import Handle
from .codes import Aggregate
from .expression import Expression, KeyPath, expression
from .predicate import Predicate
from .rows import ColumnLike, read_rows, set_columns, set_groups

if TYPE_CHECKING:
    from .context import Context


def set_rows(
    request: int,
    columns: ColumnLike | Iterable[ColumnLike] = (),
    group_by: KeyPath | Sequence[KeyPath] = (),
    having: str | Predicate | None = None,
    distinct: bool = False,
    in_memory: bool = False,
) -> None:
    """Sets the row options of a fetch request."""
    set_columns(request, columns)
    set_groups(request, group_by, Predicate(having) if isinstance(having, str) else having, distinct)
    if in_memory:
        call(lib.cst_fetch_request_set_option, request, _abi.FETCH_ROWS_IN_MEMORY, 1)


def aggregate(
    context: Context, which: Aggregate, request: int, key: Any, by: KeyPath | Sequence[KeyPath] | None
) -> Any:
    """Returns the aggregate of a key over the results of a request; with `by`, a dictionary of aggregates by group."""
    if key is not None and not isinstance(key, str):
        key = key.format if isinstance(key, Expression) else expression(key).format
    is_one = by is None or isinstance(by, str) or not isinstance(by, Sequence)
    set_rows(request, group_by=() if by is None else by)
    out = Handle()
    context._work(lib.cst_context_aggregate, request, which, _abi.optional_text(key, "key"), byref(out))
    rows = [tuple(row.values()) for row in read_rows(out.token)]
    if by is None:
        return rows[0][0]
    return {row[0] if is_one else row[:-1]: row[-1] for row in rows}
