"""Annotations of declared classes that type checkers understand, and that determine the kind of a property."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, overload

from ..codes import AttributeType
from ..predicate.query import Key

if TYPE_CHECKING:
    from ..graph.collections import ToManyList
    from ..graph.object import ManagedObject

T = TypeVar("T")

int16 = Annotated[int, AttributeType.INTEGER_16]
"""An integer of 16 bits: `season: int16 = 1`."""

int32 = Annotated[int, AttributeType.INTEGER_32]
"""An integer of 32 bits."""

int64 = Annotated[int, AttributeType.INTEGER_64]
"""An integer of 64 bits, as int."""

float32 = Annotated[float, AttributeType.FLOAT]
"""A floating-point number of 32 bits."""

URI = Annotated[str, AttributeType.URI]
"""A URI, as a str."""


class OrderedToMany(Generic[T]):
    """An ordered to-many relationship of a declared class: a key on the class, a list of members on an object."""

    @overload
    def __get__(self, item: None, owner: type[Any]) -> Key[Any]: ...
    @overload
    def __get__(self, item: ManagedObject, owner: type[Any]) -> ToManyList[T]: ...
    def __get__(self, item: Any, owner: type[Any]) -> Any:
        raise NotImplementedError  # only used by type checkers

    def __set__(self, item: ManagedObject, members: Iterable[T]) -> None:
        raise NotImplementedError
