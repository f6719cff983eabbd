"""A part of Context: counts, aggregates, rows of values, and Arrow data."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any, overload

from .._abi import lib
from .._abi.handles import Handle
from ..codes import Aggregate
from ..predicate.expression import Expression, KeyPath, listed
from ..predicate.predicate import Predicate
from ..predicate.sort import SortKey
from .aggregates import aggregate, aggregate_of_computed_groups, groups_are_computed
from .arrow import ArrowData, fetch_data, flags
from .fetching import new_request
from .rows import ColumnLike, key_paths, read_rows

if TYPE_CHECKING:
    from ..predicate.query import Value
from .context_core import ContextCore, EntityLike


class ContextRows(ContextCore):
    """Counts, aggregates, rows of values, and Arrow data."""

    @overload
    def count(
        self,
        entity: EntityLike,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        limit: int | None = None,
        offset: int = 0,
        include_subentities: bool = True,
        include_pending_changes: bool = True,
        nulls: str = "memory",
        split: bool = True,
        key: KeyPath | Value[Any] | Expression | None = None,
    ) -> int: ...

    @overload
    def count(
        self,
        entity: EntityLike,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        include_subentities: bool = True,
        nulls: str = "memory",
        split: bool = True,
        key: KeyPath | Value[Any] | Expression | None = None,
        by: KeyPath | Sequence[KeyPath],
    ) -> dict[Any, int]: ...

    def count(
        self,
        entity: EntityLike,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        limit: int | None = None,
        offset: int = 0,
        include_subentities: bool = True,
        include_pending_changes: bool = True,
        nulls: str = "memory",
        split: bool = True,
        key: KeyPath | Value[Any] | Expression | None = None,
        by: KeyPath | Sequence[KeyPath] | None = None,
    ) -> Any:
        """Returns the number of objects that a fetch would return.

            ctx.count("Employee", "age > 40", by="department.name")     # {None: 1, "R&D": 12}

        With `key`, counts the values of the key that are not None. With `by`, returns a dictionary of counts by group.
        Both ignore unsaved changes.
        """
        if groups_are_computed(by):
            options = {"include_subentities": include_subentities, "nulls": nulls, "split": split}
            return aggregate_of_computed_groups(
                self._context, Aggregate.COUNT, entity, key, predicate, arguments, by, **options
            )
        request = new_request(
            self._entity(entity), predicate, arguments, (), limit, offset, (),
            include_subentities, include_pending_changes, True, nulls, split, group_by=() if by is None else by,
            freeze=True,
        )  # fmt: skip
        if key is not None or by is not None:
            return aggregate(self._context, Aggregate.COUNT, request.handle, key, by)
        out = ctypes.c_uint64()
        self._work(lib.cst_context_count, request.handle, byref(out))
        return out.value

    def aggregate(
        self,
        which: Aggregate,
        entity: EntityLike,
        key: KeyPath | Value[Any] | Expression | None,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        by: KeyPath | Sequence[KeyPath] | None = None,
        include_subentities: bool = True,
        nulls: str = "memory",
    ) -> Any:
        """Returns an aggregate of saved values, for example their sum, mean or minimum. None values are ignored.

            ctx.aggregate(Aggregate.MEDIAN, "Employee", "salary", "active == YES")

        key   a key path, possibly with a collection operator ("projects.@count"), or an expression ("salary * 12")
        by    a key path: the result is a dictionary of aggregates by group, sorted by group; with several key paths,
              the groups are tuples

        InvalidArgumentError names a key for which the aggregate is not defined.
        """
        if groups_are_computed(by):
            options = {"include_subentities": include_subentities, "nulls": nulls}
            return aggregate_of_computed_groups(self._context, which, entity, key, predicate, arguments, by, **options)
        request = new_request(
            self._entity(entity), predicate, arguments, (), None, 0, (), include_subentities, True, True, nulls,
            group_by=() if by is None else by, freeze=True,
        )  # fmt: skip
        return aggregate(self._context, which, request.handle, key, by)

    def sum(
        self,
        entity: EntityLike,
        key: KeyPath | Value[Any] | Expression,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        by: KeyPath | Sequence[KeyPath] | None = None,
    ) -> Any:
        """Returns the sum of a key; see `aggregate`.

        The sum is an int for integers and Booleans (a float if it exceeds 64 bits), a Decimal for decimals, otherwise a
        float; 0 without values.

        ctx.sum("Employee", "salary", "age > %d", 40)
        ctx.sum("Employee", "salary", by="department.name")  # {"R&D": 120000.0, "Sales": 95000.0}
        """
        return self.aggregate(Aggregate.SUM, entity, key, predicate, *arguments, by=by)

    def avg(
        self,
        entity: EntityLike,
        key: KeyPath | Value[Any] | Expression,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        by: KeyPath | Sequence[KeyPath] | None = None,
    ) -> Any:
        """Returns the mean of a key: a Decimal for decimals, otherwise a float; None without values."""
        return self.aggregate(Aggregate.AVERAGE, entity, key, predicate, *arguments, by=by)

    def min(
        self,
        entity: EntityLike,
        key: KeyPath | Value[Any] | Expression,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        by: KeyPath | Sequence[KeyPath] | None = None,
    ) -> Any:
        """Returns the minimum of a key; None without values. Strings are compared by code points."""
        return self.aggregate(Aggregate.MINIMUM, entity, key, predicate, *arguments, by=by)

    def max(
        self,
        entity: EntityLike,
        key: KeyPath | Value[Any] | Expression,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        by: KeyPath | Sequence[KeyPath] | None = None,
    ) -> Any:
        """Returns the maximum of a key; see `min`."""
        return self.aggregate(Aggregate.MAXIMUM, entity, key, predicate, *arguments, by=by)

    def fetch_rows(
        self,
        entity: EntityLike,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        columns: ColumnLike | Iterable[ColumnLike] = (),
        group_by: KeyPath | Sequence[KeyPath] = (),
        having: str | Predicate | bool | None = None,
        distinct: bool = False,
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        offset: int = 0,
        include_subentities: bool = True,
        nulls: str = "memory",
        split: bool = True,
        in_memory: bool = False,
    ) -> list[dict[str, Any]]:
        """Returns saved values of columns instead of objects; each row is a dictionary.

            ctx.fetch_rows("Employee", columns=["department.name", {"pay": "sum:(salary)"}], group_by="department.name")

        columns    key paths ("name", Employee.name), {name: expression}, or ExpressionDescription; by default every
                   stored attribute
        group_by   key paths or names of columns; rows with equal values form one group and one row
        having     a predicate for groups; may name columns and call aggregate functions
        distinct   returns only the first of equal rows
        in_memory  computes columns from objects even if SQL could: slower, with the same result; for comparison

        The grouping columns are the tie-breaker of `sort`. The other parameters are those of `fetch`. `objectID` at the
        end of a key path is the ID of the object.

        InvalidArgumentError names an invalid column.
        """
        request = new_request(
            self._entity(entity), predicate, arguments, sort, limit, offset, (),
            include_subentities, True, True, nulls, split,
            columns=columns, group_by=group_by, having=having, distinct=distinct, in_memory=in_memory, freeze=True,
        )  # fmt: skip
        out = Handle()
        self._work(lib.cst_context_fetch_rows, request.handle, byref(out))
        return read_rows(out.token)

    def arrow(
        self,
        entity: EntityLike,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        columns: ColumnLike | Iterable[ColumnLike] = (),
        group_by: KeyPath | Sequence[KeyPath] = (),
        having: str | Predicate | bool | None = None,
        distinct: bool = False,
        sort: SortKey | Sequence[SortKey] = (),
        limit: int | None = None,
        offset: int = 0,
        keys: bool = False,
        decimal_text: bool = False,
        batch_size: int = 0,
        include_subentities: bool = True,
        include_pending_changes: bool = True,
        nulls: str = "memory",
        split: bool = True,
    ) -> ArrowData:
        """Returns the results of a fetch as columns for pyarrow, polars, pandas or DuckDB, without creating objects.

            polars.DataFrame(ctx.arrow("Employee", "age > 40", columns=["name", "department.name", "hired"]))

        columns        key paths as for `Results.arrow`, read when their batch is requested. With computed columns,
                       groups or distinct rows, the call fetches rows, and ignores unsaved changes
        keys           exports objects as primary keys (int64) instead of URIs
        decimal_text   exports decimals as text, regardless of their number of digits
        batch_size     the maximum number of rows in a record batch; 0: 65,536

        The other parameters are those of `fetch` and `fetch_rows`. Each request for the data runs the fetch again.

        InvalidArgumentError names an invalid column.
        """
        names = key_paths(columns)
        if distinct or having is not None or listed(group_by):
            names = None
        request = new_request(
            self._entity(entity), predicate, arguments, sort, limit, offset, (),
            include_subentities, include_pending_changes, True, nulls, split,
            columns=columns if names is None else (), group_by=group_by, having=having, distinct=distinct, freeze=True,
        )  # fmt: skip
        return fetch_data(self._context, request, names or [], flags(keys, decimal_text), batch_size)
