"""Rows: values of columns, aggregates and groups, instead of objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from ctypes import addressof
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Union, overload

from .. import _abi
from .._abi import conversion, lib, text
from .._abi.arguments import MOST, plural, require_integer, shown
from .._abi.call import call
from .._abi.cells import take_rows
from .._abi.dictionaries import dictionaries_of_rows
from .._abi.values import located
from .._abi.wrappers import accelerator
from ..codes import AttributeType
from ..errors import CorestoneError, TypeMismatchError
from ..model.definition import attribute_type
from ..predicate.expression import Expression, ExpressionType, KeyPath, expression, key_path, listed

if TYPE_CHECKING:
    from ..predicate.query import Value


class ExpressionDescription(NamedTuple):
    """A computed column: the name of the column, an expression or a format string, and the type of the values.

    Without a type, values are not converted. The column exists only in the fetch, not in an entity.
    """

    name: str
    expression: Expression | Value[Any] | str
    type: AttributeType | str = AttributeType.UNDEFINED


_ID = "objectID"
ColumnLike = Union[KeyPath, ExpressionDescription, Mapping[str, Any]]


def _described(columns: ColumnLike | Iterable[ColumnLike]) -> list[str | ExpressionDescription]:
    found: list[str | ExpressionDescription] = []
    for column in listed(columns, ExpressionDescription, Mapping):
        if isinstance(column, ExpressionDescription):
            found.append(column)
        elif isinstance(column, Mapping):
            found += [ExpressionDescription(name, expression) for name, expression in column.items()]
        else:
            found.append(_key_path_column(column))
    return found


def _key_path_column(column: Any) -> str | ExpressionDescription:
    try:
        path = key_path(column)
    except TypeMismatchError:
        raise TypeMismatchError(
            f'{shown(column)} is not a column with a name; write "name", {{"total": "sum:(age)"}}, '
            '{"double": Employee.age * 2} or ExpressionDescription("total", "sum:(age)", "int64")',
            key="columns",
            value=column,
        ) from None
    is_id = path.rpartition(".")[2] == _ID
    return ExpressionDescription(path, Expression.key_path(path)) if is_id or has_operator(path) else path


def has_operator(path: str) -> bool:
    """Whether a key path contains a collection operator, such as `episodes.@sum.plays`."""
    return path.startswith("@") or ".@" in path


def _computed(given: Any) -> Expression:
    """Returns the expression of a column. A store returns an object as its ID, so `boss.objectID` is `boss`."""
    found = Expression(given) if isinstance(given, str) else expression(given)
    if found.type != ExpressionType.KEY_PATH or found.operands:
        return found
    owner, _, last = (found.name or "").rpartition(".")
    if last != _ID:
        return found
    return Expression.key_path(owner) if owner else Expression.evaluated_object()


def column_array(columns: ColumnLike | Iterable[ColumnLike]) -> tuple[Any, list[Expression]]:
    """Returns columns as an array of cst_column, and the expressions to which it refers."""
    cells = []
    expressions = []
    for column in _described(columns):
        if isinstance(column, str):
            cells.append(_abi.Column(text(column), None, 0, 0))
            continue
        computed = _computed(column.expression)
        expressions.append(computed)
        kind = attribute_type(column.type, key=column.name, place=f'the column "{column.name}"')
        cells.append(_abi.Column(text(column.name, "name"), computed._handle, kind, 0))
    return (_abi.Column * len(cells))(*cells), expressions


def key_paths(columns: ColumnLike | Iterable[ColumnLike]) -> list[str] | None:
    """Returns the columns if all of them are key paths; None if one of them is computed."""
    if isinstance(columns, (Mapping, ExpressionDescription)):
        return None
    given: list[Any] = listed(columns)
    try:
        return [key_path(each) for each in given]
    except TypeMismatchError:
        return None


_BATCH = 8192  # the maximum number of rows that one call copies


def _names(handle: int) -> list[str]:
    columns = range(lib.cst_rows_column_count(handle))
    return [_abi.decode(lib.cst_rows_column_name(handle, index)) or "" for index in columns]


def _read(handle: int, names: list[str], first: int, count: int) -> Rows:
    found = Rows()
    width = len(names)
    for start in range(first, first + count, _BATCH):
        rows = min(_BATCH, first + count - start)
        cells = (_abi.Value * (rows * width))()
        call(lib.cst_rows_copy_values, handle, start, rows, cells)
        if accelerator is not None:
            found += accelerator.rows(tuple(names), addressof(cells), rows, partial(_take, cells, names))
            continue
        found += dictionaries_of_rows(names, take_rows(cells, rows, names), rows)
    return found


def _take(cells: Any, names: list[str], index: int) -> Any:
    """Returns the value of a cell, and disposes of it."""
    try:
        return conversion.take(cells[index])
    except CorestoneError as error:
        raise located(error, None, names[index % len(names)], None) from None


def read_rows(handle: int) -> Rows:
    """Returns all rows of a handle as dictionaries."""
    return _read(handle, _names(handle), 0, lib.cst_rows_count(handle))


class Rows(list[dict[str, Any]]):
    """The rows of a fetch: a list of dictionaries, which a notebook shows as a table."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        from .html import guarded, of_rows

        return guarded(of_rows, self)


class LazyRows(Sequence[dict[str, Any]]):
    """The rows of a request with a batch size. The fetch determines the rows; their values are read in batches.

    Use the rows on the queue of their context. A row has the values at the time of reading; a row that was deleted
    meanwhile has only its ID. LazyRows equal a list of the same rows; the comparison may read all of them. Pass
    `list(rows)` to functions that accept only lists, such as json.dumps.
    """

    __slots__ = ("_count", "_handle", "_names", "batch_size")

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._names = _names(handle)
        self._count: int = lib.cst_rows_count(handle)
        #: The number of rows that are read at a time.
        self.batch_size: int = lib.cst_rows_batch_size(handle)

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (list, LazyRows)):
            return NotImplemented
        return len(self) == len(other) and all(own == row for own, row in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for first in range(0, self._count, self.batch_size):
            yield from _read(self._handle, self._names, first, min(self.batch_size, self._count - first))

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            start, stop, step = index.indices(self._count)
            if step == 1:
                return _read(self._handle, self._names, start, max(stop - start, 0))
            return [self[at] for at in range(start, stop, step)]
        place = require_integer(index, "index", -MOST)
        if place < 0:
            place += self._count
        if not 0 <= place < self._count:
            raise IndexError(f"index {index} is out of range: the results have {plural(self._count, 'row')}")
        return _read(self._handle, self._names, place, 1)[0]

    def _repr_html_(self) -> str | None:
        from .html import guarded, of_rows

        return guarded(of_rows, self)

    def __repr__(self) -> str:
        return f"<{self._count} rows of {', '.join(self._names)}, {self.batch_size} at a time>"
