"""Rows: values of columns, sums and groups, instead of objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Union

from . import _abi, _host
from ._abi import lib, text
from ._call import call
from ._definition import attribute_type
from .codes import AttributeType
from .errors import TypeMismatchError
from .expression import Expression


class ExpressionDescription(NamedTuple):
    """A column that is computed: its name, an expression or its text, and the type of its values.

    Without a type they are left as they come. It belongs to one fetch; an entity has no place for it.
    """

    name: str
    expression: Expression | str
    type: AttributeType | str = AttributeType.UNDEFINED


ColumnLike = Union[str, ExpressionDescription, Mapping[str, Union[Expression, str]]]


def _described(columns: ColumnLike | Iterable[ColumnLike]) -> list[str | ExpressionDescription]:
    if isinstance(columns, (str, ExpressionDescription, Mapping)):
        columns = [columns]
    found: list[str | ExpressionDescription] = []
    for column in columns:
        if isinstance(column, (str, ExpressionDescription)):
            found.append(column)
        elif isinstance(column, Mapping):
            found += [ExpressionDescription(name, expression) for name, expression in column.items()]
        else:
            raise TypeMismatchError(
                f'{column!r:.60} is no column. Write "name", {{"total": "sum:(age)"}} or '
                'ExpressionDescription("total", "sum:(age)", "int64").'
            )
    return found


def set_columns(request: int, columns: ColumnLike | Iterable[ColumnLike]) -> None:
    """Gives a fetch request its columns."""
    cells = []
    kept = []
    for column in _described(columns):
        if isinstance(column, str):
            cells.append(_abi.Column(text(column), None, 0, 0))
            continue
        given = column.expression
        expression = given if isinstance(given, Expression) else Expression(given)
        kept.append(expression)
        cells.append(_abi.Column(text(column.name), expression._handle, attribute_type(column.type), 0))
    call(lib.cst_fetch_request_set_columns, request, len(cells), (_abi.Column * len(cells))(*cells))


_BATCH = 1000


def read_rows(handle: int) -> list[dict[str, Any]]:
    """The rows of a handle, which is released."""
    try:
        names = [
            _abi.decode(lib.cst_rows_column_name(handle, index)) or ""
            for index in range(lib.cst_rows_column_count(handle))
        ]
        found: list[dict[str, Any]] = []
        count = lib.cst_rows_count(handle)
        for first in range(0, count, _BATCH):
            rows = min(_BATCH, count - first)
            cells = (_abi.Value * (rows * len(names)))()
            call(lib.cst_rows_copy_values, handle, first, rows, cells)
            values = [_host.take(cell) for cell in cells]
            found += [dict(zip(names, values[at : at + len(names)])) for at in range(0, len(values), len(names))]
        return found
    finally:
        lib.cst_release(handle)
