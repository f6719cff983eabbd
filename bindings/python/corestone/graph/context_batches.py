"""A part of Context: batch requests, which change rows directly in the store."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..predicate.predicate import Predicate
from .context_core import EntityLike
from .context_fetching import ContextFetching
from .request import FetchRequest

if TYPE_CHECKING:
    from .arrow_import import Columns, Progress


class ContextBatches(ContextFetching):
    """Batch requests, which change rows directly in the store."""

    def batch_insert(
        self,
        entity: EntityLike,
        rows: Iterable[Mapping[str, Any]] | Iterable[Sequence[Any]],
        columns: Sequence[str] | None = None,
    ) -> int:
        """Writes one object for each row directly into the store, and returns their number; see BatchInsertRequest."""
        from .batch import BatchInsertRequest

        return int(self.execute(BatchInsertRequest(entity, rows, columns, result_type="count")))

    def batch_insert_arrow(
        self,
        entity: EntityLike,
        data: Any,
        *,
        columns: Columns | None = None,
        ignore_unknown: bool = False,
        naive_utc: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Writes one object for each row of Arrow data directly into the store, and returns their number.

            ctx.batch_insert_arrow("Reading", pyarrow.parquet.read_table(path))

        Columns can only be attributes. The parameters are those of insert_arrow; see BatchInsertRequest.
        """
        from .batch import BatchInsertRequest

        request = BatchInsertRequest(
            entity,
            arrow=data,
            columns=columns,
            ignore_unknown=ignore_unknown,
            naive_utc=naive_utc,
            progress=progress,
            result_type="count",
        )
        return int(self.execute(request))

    def batch_upsert_arrow(
        self,
        entity: EntityLike,
        data: Any,
        match: str | Sequence[str] = (),
        *,
        columns: Columns | None = None,
        ignore_unknown: bool = False,
        naive_utc: bool = False,
        progress: Progress | None = None,
    ) -> int:
        """Updates or inserts one object for each row of Arrow data directly in the store, and returns their number.

        The attributes of `match` must have a unique constraint; by default, the first one whose attributes are columns.
        Only attributes with a column are updated. The other parameters are those of batch_insert_arrow.
        """
        from .batch import BatchInsertRequest

        request = BatchInsertRequest(
            entity,
            arrow=data,
            columns=columns,
            match=match,
            ignore_unknown=ignore_unknown,
            naive_utc=naive_utc,
            progress=progress,
            result_type="count",
        )
        return int(self.execute(request))

    def batch_update(
        self,
        entity: EntityLike,
        values: Mapping[str, Any],
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
    ) -> int:
        """Sets attributes of all objects that satisfy a predicate, in the store, and returns their number.

        ctx.batch_update("Employee", {"salary": Expression("salary * 1.1")}, "age > %d", 40)
        """
        from .batch import BatchUpdateRequest

        return int(self.execute(BatchUpdateRequest(entity, values, predicate, *arguments, result_type="count")))

    def batch_delete(self, entity: EntityLike, predicate: str | Predicate | bool | None = None, *arguments: Any) -> int:
        """Deletes all objects that satisfy a predicate, in the store, with delete rules, and returns their number."""
        from .batch import BatchDeleteRequest

        request = FetchRequest(self._entity(entity), predicate, *arguments)
        return int(self.execute(BatchDeleteRequest(request, result_type="count")))
