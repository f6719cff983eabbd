"""Types of generic parameters, and the options of fetches. Only type checkers read most of this module.

A bare `Results` or `FetchRequest` in an annotation has objects of any type.

The types of predicates include bool, because that is the type of `Episode.plays > 3` for type checkers if a declared
class has the annotation `plays: int`. At run time the comparison is a Predicate, and a bool is refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import TypedDict

    from typing_extensions import TypeVar

    from ..predicate.expression import KeyPath
    from ..predicate.predicate import Predicate
    from ..predicate.sort import SortKey
    from ..stores.store import Store
    from .object import ManagedObject
    from .rows import ColumnLike

    #: The class of the objects in results, cursors, requests, live queries and controllers.
    Item = TypeVar("Item", default=Any)
    Item_co = TypeVar("Item_co", covariant=True, default=Any)
    #: The result of a fetch request, which its `result_type` selects.
    Found_co = TypeVar("Found_co", covariant=True, default=Any)
    #: The class that a caller passes as an entity.
    Kind = TypeVar("Kind", bound=ManagedObject)
else:
    from typing import TypeVar

    Item = TypeVar("Item")
    Item_co = TypeVar("Item_co", covariant=True)
    Found_co = TypeVar("Found_co", covariant=True)
    Kind = TypeVar("Kind")


if TYPE_CHECKING:

    class CommonOptions(TypedDict, total=False):
        """The options that all fetches have."""

        sort: SortKey | Sequence[SortKey]
        limit: int | None
        offset: int
        prefetch: KeyPath | Sequence[KeyPath]

    class StreamOptions(CommonOptions, total=False):
        """The options of Context.fetch and Context.stream."""

        include_subentities: bool
        include_pending_changes: bool
        nulls: str
        split: bool

    class FetchOptions(StreamOptions, total=False):
        """The options of Context.fetch."""

        as_faults: bool

    class CursorOptions(StreamOptions, total=False):
        """The options of Context.stream."""

        batch: int

    class RequestOptions(TypedDict, total=False):
        """The options of FetchRequest, except for its result type."""

        sort: SortKey | Sequence[SortKey] | None
        limit: int
        offset: int
        batch_size: int
        prefetch: KeyPath | Sequence[KeyPath] | None
        columns: ColumnLike | Iterable[ColumnLike] | None
        group_by: KeyPath | Sequence[KeyPath] | None
        having: str | Predicate | bool | None
        distinct: bool
        include_subentities: bool
        include_pending_changes: bool
        include_property_values: bool
        as_faults: bool
        refresh: bool
        stores: Sequence[Store] | None
        nulls: str
        split: bool
