"""To-many relationships as live collections of the current members. Changing a collection changes the object."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, MutableSequence, MutableSet, Sequence
from collections.abc import Set as AbstractSet
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar, overload

from .. import _abi
from .._abi import lib
from .._abi.arguments import elements
from .._abi.call import call, owned
from ..model.property import PropertyDescription
from .object import ManagedObject, handles
from .results import Results

if TYPE_CHECKING:
    from ..model.entity import Entity

REPR_MEMBERS = 6

T = TypeVar("T")


class _ToMany(Generic[T]):
    """The common part of unordered and ordered to-many relationships."""

    __slots__ = ("_description", "_owner", "_target")

    def __init__(self, owner: ManagedObject, description: PropertyDescription, target: Entity) -> None:
        self._owner = owner
        self._description = description
        self._target = target

    def __len__(self) -> int:
        out = ctypes.c_size_t()
        call(lib.cst_object_member_count, self._owner._cst_handle, self._description.key, byref(out))
        return out.value

    def __contains__(self, member: object) -> bool:
        if not isinstance(member, ManagedObject):
            return False
        out = ctypes.c_bool()
        owner, key = self._owner._cst_handle, self._description.key
        call(lib.cst_object_has_member, owner, key, member._cst_handle, byref(out))
        return out.value

    def __iter__(self) -> Iterator[T]:
        return iter(self.snapshot())

    def snapshot(self) -> Results[T]:
        """Returns the current members as results, which later changes do not affect."""
        handle = owned(lib.cst_object_copy_members, self._owner._cst_handle, self._description.key)
        return Results(self._owner._cst_context, handle, self._target)

    def _handles(self, members: Sequence[Any]) -> Any:
        return handles(members, self._owner, self._description.name)

    def _add(self, member: Any) -> bool:
        one = self._handles((member,))
        owner, key = self._owner._cst_handle, self._description.key
        return call(lib.cst_object_add_member, owner, key, one[0]) == _abi.OK

    def _add_all(self, members: Iterable[Any]) -> None:
        kept = list(elements(members, self._path, "a list or set of managed objects"))
        array = self._handles(kept)
        call(lib.cst_object_add_members, self._owner._cst_handle, self._description.key, len(array), array)

    def _remove(self, member: Any) -> bool:
        if not isinstance(member, ManagedObject):
            return False
        owner, key = self._owner._cst_handle, self._description.key
        return call(lib.cst_object_remove_member, owner, key, member._cst_handle) == _abi.OK

    def _replace(self, members: Iterable[Any] | None) -> None:
        if isinstance(members, _ToMany) and members._is_same(self):
            return  # person.friends |= {x} changes the set, and then assigns the same set
        kept = [] if members is None else list(elements(members, self._path, "a list or set of managed objects"))
        array = self._handles(kept)
        call(lib.cst_object_set_members, self._owner._cst_handle, self._description.key, len(array), array)

    @property
    def _path(self) -> str:
        return f"{self._owner._cst_entity.name}.{self._description.name}"

    def _is_same(self, other: _ToMany[Any]) -> bool:
        return self._owner == other._owner and self._description.key == other._description.key

    def _missing(self, member: object) -> str:
        return f"{member!r} is not a member of {self._owner._cst_entity.name}.{self._description.name}"

    def _shown(self) -> str:
        members = self.snapshot()
        shown = ", ".join(repr(member) for member in members[:REPR_MEMBERS])
        return shown + (f", … {len(members)} in all" if len(members) > REPR_MEMBERS else "")


class ToManySet(_ToMany[T], MutableSet[T]):
    """An unordered to-many relationship, as a set. Each change updates the inverse."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    def add(self, member: T) -> None:
        """Adds an object; has no effect if it is already a member."""
        self._add(member)

    def discard(self, member: T) -> None:
        """Removes an object, if it is a member."""
        self._remove(member)

    def remove(self, member: T) -> None:
        """Removes an object; KeyError if it is not a member."""
        if not self._remove(member):
            raise KeyError(self._missing(member))

    def update(self, *others: Iterable[T]) -> None:
        """Adds all objects of other collections."""
        for other in others:
            self._add_all(other)

    def clear(self) -> None:
        """Removes all members."""
        self._replace(())

    @classmethod
    def _from_iterable(cls, it: Iterable[Any]) -> Any:
        return set(it)  # & | - ^ return a plain set

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ToManySet) and self._is_same(other):
            return True
        if not isinstance(other, AbstractSet):
            return NotImplemented
        return set(self) == set(other)

    def __repr__(self) -> str:
        return "{" + self._shown() + "}"


class ToManyList(_ToMany[T], MutableSequence[T]):
    """An ordered to-many relationship, as a list without duplicates."""

    __slots__ = ()
    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> Any:
        return self.snapshot()[index]

    def __setitem__(self, index: int | slice, value: Any) -> None:
        members = list(self)
        if isinstance(index, slice):
            members[index] = value
            self._replace(dict.fromkeys(members))
            return
        before = members[index]
        if value in members:
            # If the object is a member at another index, swap the two members, so that shuffling does not lose one.
            members[members.index(value)] = before
        members[index] = value
        self._replace(members)

    def __delitem__(self, index: int | slice) -> None:
        members = list(self)
        del members[index]
        self._replace(members)

    def insert(self, index: int, value: T) -> None:
        """Inserts an object before an index; an object that is already a member is first removed from its old index."""
        count = len(self) - (value in self)  # of the other members
        place = max(index + count, 0) if index < 0 else min(index, count)
        one = self._handles((value,))
        call(lib.cst_object_insert_member, self._owner._cst_handle, self._description.key, place, one[0])

    def append(self, value: T) -> None:
        """Adds an object at the end; has no effect if it is already a member."""
        self._add(value)

    def extend(self, values: Iterable[T]) -> None:
        """Adds objects at the end, without those that are already members."""
        self._add_all(values)

    def remove(self, value: T) -> None:
        """Removes an object; ValueError if it is not a member."""
        if not self._remove(value):
            raise ValueError(self._missing(value))

    def clear(self) -> None:
        """Removes all members."""
        self._replace(())

    def reverse(self) -> None:
        """Reverses the order of the members."""
        self._replace(list(self)[::-1])

    def sort(self, *, key: Callable[[T], Any] | None = None, reverse: bool = False) -> None:
        """Sorts the members."""
        self._replace(sorted(self, key=key, reverse=reverse))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ToManyList) and self._is_same(other):
            return True
        if not isinstance(other, (list, tuple, ToManyList, Results)):
            return NotImplemented
        return list(self) == list(other)

    def __repr__(self) -> str:
        return "[" + self._shown() + "]"
