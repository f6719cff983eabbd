"""The library's fetch requests, each created for one fetch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _abi
from ._abi import lib, optional_text, texts
from ._arguments import choice, shown, whole
from ._call import call, owned
from .entity import Entity
from .errors import InvalidArgumentError, TypeMismatchError
from .expression import KeyPath, key_path, listed
from .predicate import Predicate
from .sort import SortKey, sort_descriptors


class Request:
    """The owner of a fetch request."""

    __slots__ = ("entity", "handle")

    def __init__(self, entity: Entity | str | None) -> None:
        self.entity: Any = entity
        if isinstance(entity, Entity):
            self.handle = owned(lib.cst_fetch_request_new, entity._handle)
        else:
            self.handle = owned(lib.cst_fetch_request_new_named, optional_text(entity, "entity"))


def sort_array(sort: SortKey | Sequence[SortKey]) -> Any:
    """Returns sort keys as an array of cst_sort."""
    found = [each._sort() for each in sort_descriptors(sort)]
    return (_abi.Sort * len(found))(*found)


def given_predicate(
    predicate: str | Predicate | None, arguments: Sequence[Any], entity: str | None = None
) -> Predicate | None:
    """Returns a predicate, or parses one from its format and arguments. Errors name the entity."""
    if isinstance(predicate, str):
        return Predicate(predicate, *arguments)
    if arguments:
        subject = "the predicate" if entity is None else f"the predicate for {entity}"
        raise InvalidArgumentError(
            f"arguments were passed without a predicate format: {subject} is {shown(predicate)}; pass it as a str with "
            "a conversion such as %@ for each argument",
            entity=entity,
            key="predicate",
            value=predicate,
        )
    if predicate is None or isinstance(predicate, Predicate):
        return predicate
    raise TypeMismatchError(
        f"{shown(predicate)} is not a predicate; pass a str, a Predicate or a comparison such as "
        "Employee.active == True",
        entity=entity,
        key="predicate",
        value=predicate,
    )


def make_request(
    entity: Entity,
    predicate: str | Predicate | None,
    arguments: Sequence[Any],
    sort: SortKey | Sequence[SortKey],
    limit: int | None,
    offset: int,
    prefetch: KeyPath | Sequence[KeyPath],
    include_subentities: bool,
    include_pending_changes: bool,
    as_faults: bool,
    nulls: str = "memory",
    split: bool = True,
) -> Request:
    """Returns a request with these values, and freezes the model."""
    entity._model.freeze()
    request = Request(entity)
    fill_request(
        request, predicate, arguments, sort, limit, offset, prefetch,
        include_subentities, include_pending_changes, as_faults, nulls, split,
    )  # fmt: skip
    return request


def fill_request(
    request: Request,
    predicate: str | Predicate | None,
    arguments: Sequence[Any],
    sort: SortKey | Sequence[SortKey] = (),
    limit: int | None = None,
    offset: int = 0,
    prefetch: KeyPath | Sequence[KeyPath] = (),
    include_subentities: bool = True,
    include_pending_changes: bool = True,
    as_faults: bool = True,
    nulls: str = "memory",
    split: bool = True,
) -> None:
    """Sets the values of a request that differ from their defaults."""
    handle = request.handle
    predicate = given_predicate(predicate, arguments, getattr(request.entity, "name", request.entity))
    if predicate is not None:
        call(lib.cst_fetch_request_set_predicate, handle, predicate._handle)
    array = sort_array(sort)
    if len(array):
        call(lib.cst_fetch_request_set_sort, handle, len(array), array)
    if limit is not None:
        call(lib.cst_fetch_request_set_limit, handle, whole(limit, "limit"))
    if offset != 0:
        call(lib.cst_fetch_request_set_offset, handle, whole(offset, "offset"))
    paths = [key_path(each, "prefetch") for each in listed(prefetch)]
    if paths:
        call(lib.cst_fetch_request_set_prefetch, handle, len(paths), texts(paths))
    if not include_subentities:
        call(lib.cst_fetch_request_set_includes_subentities, handle, False)
    if not include_pending_changes:
        call(lib.cst_fetch_request_set_includes_pending_changes, handle, False)
    if not as_faults:
        call(lib.cst_fetch_request_set_returns_faults, handle, False)
    if nulls != "memory":
        call(lib.cst_fetch_request_set_nulls, handle, _abi.NULLS[choice(nulls, "nulls", _abi.NULLS)])
    if not split:
        call(lib.cst_fetch_request_set_allows_split, handle, False)
