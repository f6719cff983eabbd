"""Objects and rows as Apache Arrow columns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Callable

from .. import _abi
from .._abi.arguments import require_integer
from .._abi.call import call
from ..errors import WrongThreadError
from .capsules import ARRAY, SCHEMA, STREAM, Stream, capsules

if TYPE_CHECKING:
    from .context import Context
    from .fetching import Request

KEYS, DECIMAL_TEXT = 1, 2


class ArrowData:
    """Record batches for libraries that accept Arrow data, such as pyarrow, polars and DuckDB.

        polars.DataFrame(ctx.arrow("Employee", "age > 40", columns=["name", "department.name"]))

    A request on the context's queue receives the current state. A request on another thread, such as DuckDB's, receives
    the state whose schema was last requested on the queue. Without such a state, the request fails with
    WrongThreadError. Saves do not change the state while it is read.
    """

    __slots__ = ("_described", "_export", "_title")

    def __init__(self, export: Callable[[int], object], title: str) -> None:
        self._export = export
        self._title = title
        self._described: Stream | None = None

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Returns a stream in a capsule, with the types in docs/reference/arrow.md; ignores the requested schema."""
        try:
            return capsules((STREAM,), self._export)[0]
        except WrongThreadError:
            described = self._described
            if described is None:
                raise
            return capsules((STREAM,), lambda stream: call(_abi.lib.cst_arrow_stream_copy, described.address, stream))[
                0
            ]

    def __arrow_c_schema__(self) -> Any:
        """Returns the schema alone, in a capsule."""
        self._described = Stream(self._export)
        return self._described.schema()

    def to_arrow(self) -> Any:
        """Returns a pyarrow.Table. It needs pyarrow."""
        return import_module("pyarrow").table(self)

    def to_pandas(self, **options: Any) -> Any:
        """Returns a pandas.DataFrame, which pyarrow creates with the options of Table.to_pandas."""
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> Any:
        """Returns a polars.DataFrame. It needs polars."""
        return import_module("polars").DataFrame(self)

    def __repr__(self) -> str:
        return f"<ArrowData of {self._title}>"


def flags(keys: bool, decimal_text: bool) -> int:
    """Returns the library's flags for the options of an export."""
    return (KEYS if keys else 0) | (DECIMAL_TEXT if decimal_text else 0)


def paths(names: list[str]) -> tuple[int, Any]:
    """Returns the number of key paths, and an array of them."""
    return len(names), _abi.texts(names) if names else None


def array_of(handle: int) -> tuple[Any, Any]:
    """Returns all results as one array: the schema and the array, in capsules."""
    schema, array = capsules(
        (SCHEMA, ARRAY),
        lambda schema, array: call(_abi.lib.cst_results_export_arrow, handle, 0, 0, None, schema, array),
    )
    return schema, array


def list_data(handle: int, columns: list[str], kinds: int, batch_size: int, keep: object, title: str) -> ArrowData:
    """Returns results as ArrowData, which retains `keep`, the owner of the handle."""
    (count, names), size = paths(columns), require_integer(batch_size, "batch_size")

    def export(stream: int, _keep: object = keep) -> None:
        call(_abi.lib.cst_results_export_arrow_stream, handle, size, kinds, count, names, stream)

    return ArrowData(export, title)


def fetch_data(context: Context, request: Request, columns: list[str], kinds: int, batch_size: int) -> ArrowData:
    """Returns the results of a request as ArrowData."""
    (count, names), size = paths(columns), require_integer(batch_size, "batch_size")

    def export(stream: int) -> None:
        context._work(_abi.lib.cst_context_fetch_arrow, request.handle, size, kinds, count, names, stream)

    return ArrowData(export, request.entity.name)
