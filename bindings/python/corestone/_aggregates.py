"""Aggregates of rows, such as sums and averages."""

from __future__ import annotations

from collections.abc import Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any

from . import _abi
from ._abi import lib
from ._handles import Handle
from .codes import Aggregate
from .expression import Expression, KeyPath, expression
from .rows import read_rows

if TYPE_CHECKING:
    from .context import Context


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
