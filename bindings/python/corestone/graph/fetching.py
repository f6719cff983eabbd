"""Creation of the library's fetch requests."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any

from .. import _abi
from .._abi import lib, optional_text, texts
from .._abi.arguments import choice, require_instance, require_integer, shown
from .._abi.call import owned
from .._abi.handles import Token
from ..errors import InvalidArgumentError, TypeMismatchError
from ..model.entity import Entity
from ..predicate.expression import KeyPath, key_path, listed
from ..predicate.predicate import Predicate
from ..predicate.sort import SortKey, sort_descriptors
from .rows import ColumnLike, column_array


class Request:
    """The owner of a fetch request."""

    __slots__ = ("entity", "handle")

    def __init__(self, entity: Entity | str | None, handle: Token) -> None:
        self.entity: Any = entity
        self.handle = handle


def _is_empty(given: object) -> bool:
    """Whether an argument is the empty tuple or list. Keys of queries cannot be tested for their truth."""
    return type(given) in (tuple, list) and not given


def sort_array(sort: SortKey | Sequence[SortKey]) -> Any:
    """Returns sort keys as an array of cst_sort."""
    found = [each._sort() for each in sort_descriptors(sort)]
    return (_abi.Sort * len(found))(*found)


def given_predicate(
    predicate: str | Predicate | bool | None, arguments: Sequence[Any], entity: str | None = None
) -> Predicate | None:
    """Returns the predicate, parsed with `arguments` if it is a format. `entity` is the entity of errors."""
    if isinstance(predicate, str):
        return Predicate(predicate, *arguments)
    subject = "the predicate" if entity is None else f"the predicate for {entity}"
    if arguments:
        raise InvalidArgumentError(
            f"arguments need a predicate format, but {subject} is {shown(predicate)}; omit the arguments, or pass the "
            "predicate as a str with a conversion such as %@ for each",
            entity=entity,
            key="predicate",
            value=predicate,
        )
    if predicate is None or isinstance(predicate, Predicate):
        return predicate
    if hasattr(predicate, "_cst_expression"):
        from ..predicate.truth import condition

        return condition(predicate)
    raise TypeMismatchError(
        f"{subject} must be a str, a Predicate or a comparison such as Employee.active == True, not {shown(predicate)}",
        entity=entity,
        key="predicate",
        value=predicate,
    )


def required_predicate(given: Any, name: str) -> Predicate:
    """Returns the predicate of a parameter: a format without arguments, a Predicate or a Boolean key."""
    if isinstance(given, str):
        return Predicate(given)
    if hasattr(given, "_cst_expression"):
        from ..predicate.truth import condition

        return condition(given)
    found: Predicate = require_instance(Predicate, given, name, "a str or a Predicate")
    return found


def new_request(
    entity: Entity | str | None,
    predicate: str | Predicate | bool | None,
    arguments: Sequence[Any] = (),
    sort: SortKey | Sequence[SortKey] | None = None,
    limit: int | None = None,
    offset: int = 0,
    prefetch: KeyPath | Sequence[KeyPath] = (),
    include_subentities: bool = True,
    include_pending_changes: bool = True,
    as_faults: bool = True,
    nulls: str = "memory",
    split: bool = True,
    *,
    columns: ColumnLike | Iterable[ColumnLike] = (),
    group_by: KeyPath | Sequence[KeyPath] = (),
    having: str | Predicate | bool | None = None,
    distinct: bool = False,
    in_memory: bool = False,
    batch_size: int = 0,
    result_type: int = 0,
    include_property_values: bool = True,
    refresh: bool = False,
    stores: tuple[int, Any] | None = None,
    freeze: bool = False,
) -> Request:
    """Returns a request with these values, created in one call of the library.

    `result_type` is a CST_RESULT_ constant, and `stores` the count and array of handles. With `freeze`, the model of
    `entity` is frozen first. The other parameters are those of Context.fetch and Context.fetch_rows.
    """
    if freeze and isinstance(entity, Entity):
        entity._model.freeze()
    name = entity.name if isinstance(entity, Entity) else entity
    given = _abi.FetchOptions(ctypes.sizeof(_abi.FetchOptions))
    if isinstance(entity, Entity):
        given.entity = entity._handle
    else:
        given.entity_name = optional_text(entity, "entity")
    given.flags = (
        (0 if include_subentities else _abi.FETCH_WITHOUT_SUBENTITIES)
        | (0 if include_pending_changes else _abi.FETCH_WITHOUT_PENDING_CHANGES)
        | (0 if include_property_values else _abi.FETCH_WITHOUT_PROPERTY_VALUES)
        | (0 if as_faults else _abi.FETCH_WITHOUT_FAULTS)
        | (0 if split else _abi.FETCH_WITHOUT_SPLIT)
        | (_abi.FETCH_WITH_REFRESH if refresh else 0)
        | (_abi.FETCH_WITH_DISTINCT_ROWS if distinct else 0)
        | (_abi.FETCH_WITH_ROWS_IN_MEMORY if in_memory else 0)
    )
    condition = given_predicate(predicate, arguments, name)
    if condition is not None:
        given.predicate = condition._handle
    if sort is not None:  # an empty sequence differs from None
        order = sort_array(sort)
        given.sort_count, given.sort = len(order), order
    if limit is not None:
        given.limit = require_integer(limit, "limit")
    given.offset = require_integer(offset, "offset")
    given.batch_size = require_integer(batch_size, "batch_size")
    given.result_type = result_type
    if not _is_empty(prefetch):
        paths = [key_path(each, "prefetch") for each in listed(prefetch)]
        if paths:
            given.prefetch_count, given.prefetch = len(paths), texts(paths)
    if nulls != "memory":
        given.nulls = _abi.NULLS[choice(nulls, "nulls", _abi.NULLS)]
    expressions: list[Any] = []  # the columns refer to their handles
    if not _is_empty(columns):
        cells, expressions = column_array(columns)
        if cells:
            given.column_count, given.columns = len(cells), cells
    if not _is_empty(group_by):
        groups = [key_path(each, "group_by") for each in listed(group_by)]
        if groups:
            given.group_by_count, given.group_by = len(groups), texts(groups)
    if having is not None:
        condition_of_groups = required_predicate(having, "having")
        given.having = condition_of_groups._handle
    if stores is not None:
        given.store_count, given.stores = stores
    request = Request(entity, owned(lib.cst_fetch_request_new_with_options, ctypes.byref(given)))
    del expressions  # keeps the expressions alive until here
    return request
