"""A part of ManagedObject: primitive values, what differs from what was saved, observers, clones."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterable, Iterator
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, ClassVar

from . import _abi, values
from ._abi import lib
from ._ahead import Stamp
from ._call import call, held, owned
from ._composite import compose, leaves
from ._handles import Handle
from .expression import key_path
from .object_id import ObjectID
from .rows import read_rows
from .transformer import from_bytes

if TYPE_CHECKING:
    from .context import Context
    from .entity import Entity
    from .observation import Observation, ValueChange
    from .property import PropertyDescription

_MUTATIONS = {
    "union": _abi.MUTATION_UNION,
    "minus": _abi.MUTATION_MINUS,
    "intersect": _abi.MUTATION_INTERSECT,
    "set": _abi.MUTATION_SET,
}


class ObjectChanges:
    """What an object says of its values and their changes."""

    __slots__ = ()

    if TYPE_CHECKING:
        _cst_entity: ClassVar[Entity]
        _cst_properties: ClassVar[dict[str, PropertyDescription]]
        _cst_context: Context
        _cst_handle: Any

    # ---- what differs; no fault of a relationship fires

    @property
    def has_persistent_changed_values(self) -> bool:
        """Whether properties that are saved differ by value from what was last fetched or saved."""
        out = ctypes.c_bool()
        call(lib.cst_object_has_persistent_changes, self._cst_handle, byref(out))
        return out.value

    def changed_values(self) -> dict[str, Any]:
        """The new values of what differs from what was last fetched or saved. None for members that nobody loaded."""
        return {name: self._found(value) for name, value in self._cst_values_of(_abi.VALUES_CHANGED).items()}

    def changed_values_for_current_event(self) -> dict[str, Any]:
        """What the properties were that changed since pending changes were last processed."""
        return {name: self._found(value) for name, value in self._cst_values_of(_abi.VALUES_BEFORE_EVENT).items()}

    def committed_values(self, *names: str) -> dict[str, Any]:
        """What was last fetched or saved of the named properties, or of all that are saved, but for to-many
        relationships that nobody loaded. Targets and members are IDs."""
        return self._cst_values_of(_abi.VALUES_COMMITTED, names)

    def _cst_values_of(self, which: int, names: tuple[str, ...] = ()) -> dict[str, Any]:
        keys = (ctypes.c_uint32 * len(names))(*[self._cst_entity._key(name).key for name in names]) if names else None
        rows = read_rows(owned(lib.cst_object_copy_values, self._cst_handle, which, len(names), keys))
        found = rows[0] if rows else {}
        for name, value in found.items():
            description = self._cst_properties.get(name)
            if description is not None and description.transforms:
                found[name] = from_bytes(description.transformer, value, self._cst_entity.name, name)
        return found

    def _found(self, value: Any) -> Any:
        """Objects for IDs."""
        if isinstance(value, ObjectID):
            return self._cst_context.get(value)
        return [self._found(each) for each in value] if isinstance(value, list) else value

    # ---- faults

    @property
    def faulting_state(self) -> int:
        """0 for an object with its values, 1 for a fault."""
        out = ctypes.c_uint32()
        call(lib.cst_object_state, self._cst_handle, byref(out))
        return 1 if out.value & _abi.OBJECT_FAULT else 0

    def has_fault(self, name: str) -> bool:
        """Whether the members of a relationship were not asked for yet, or its target is a fault. Reads nothing."""
        out = ctypes.c_bool()
        key = self._cst_entity._key(name).key
        call(lib.cst_object_has_relationship_fault, self._cst_handle, key, byref(out))
        return out.value

    def object_ids(self, name: str) -> list[ObjectID]:
        """The IDs that a relationship leads to, unsaved changes included: none or one where it is to-one, in order
        where it is ordered. Reads the store where it must, but makes no object and fires no fault."""
        handle = owned(lib.cst_object_copy_related_ids, self._cst_handle, self._cst_entity._key(name).key)
        return [
            ObjectID._owned(held(lib.cst_results_copy_id, handle, index))
            for index in range(lib.cst_results_count(handle))
        ]

    # ---- primitive values, and what accessors say around them

    def get_primitive(self, name: str) -> Any:
        """What the object keeps for a property. Fires no fault: None of a fault, and of members that nobody loaded."""
        description = self._cst_entity._key(name)
        if not description.is_to_many:
            return compose(description, (self._primitive(leaf) for leaf in leaves(description)))
        out = Handle()
        status = call(lib.cst_object_copy_primitive_members, self._cst_handle, description.key, byref(out))
        if status == _abi.NOT_FOUND:
            return None
        from .results import Results

        return list(Results(self._cst_context, out.token, None))

    def _primitive(self, leaf: PropertyDescription) -> Any:
        cell = values.Cell()
        call(lib.cst_object_get_primitive, self._cst_handle, leaf.key, cell.ref)
        found = values.decode_cell(cell, self._cst_context)
        return from_bytes(leaf.transformer, found, self._cst_entity.name, leaf.path) if leaf.transforms else found

    def _set_primitive_members(self, description: PropertyDescription, members: Iterable[Any] | None) -> None:
        array = self._member_handles(description, members or ())
        self._cst_context._stamp = Stamp()
        call(lib.cst_object_set_primitive_members, self._cst_handle, description.key, len(array), array)

    def _member_handles(self, description: PropertyDescription, members: Iterable[Any]) -> Any:
        from .object import handles

        return handles(list(members), self._cst_entity.name, description.name)

    def will_access(self, name: str | None = None) -> None:
        """Before a primitive value is read: fires the fault, of a to-many relationship too; of the whole object when no
        name is given."""
        key = _abi.NO_KEY if name is None else self._cst_entity._key(name).key
        call(lib.cst_object_will_access, self._cst_handle, key)

    def did_access(self, name: str | None = None) -> None:
        """After it."""
        key = _abi.NO_KEY if name is None else self._cst_entity._key(name).key
        call(lib.cst_object_did_access, self._cst_handle, key)

    def will_change(self, name: str, mutation: str | None = None, members: Iterable[Any] = ()) -> None:
        """Before a primitive value is set: the object has changes from now on, undo notes what there was, observers are
        told. For members, `mutation` may say what comes: "union", "minus", "intersect" or "set", with `members`."""
        self._say(lib.cst_object_will_change, lib.cst_object_will_change_members, name, mutation, members)

    def did_change(self, name: str, mutation: str | None = None, members: Iterable[Any] = ()) -> None:
        """After it: inverses follow, observers are told."""
        self._say(lib.cst_object_did_change, lib.cst_object_did_change_members, name, mutation, members)

    def _say(self, plain: Any, of_members: Any, name: str, mutation: str | None, members: Iterable[Any]) -> None:
        description = self._cst_entity._key(name)
        self._cst_context._stamp = Stamp()
        if mutation is None:
            call(plain, self._cst_handle, description.key)
            return
        array = self._member_handles(description, members)
        call(of_members, self._cst_handle, description.key, _MUTATIONS.get(mutation, 0), len(array), array)

    @contextlib.contextmanager
    def changing(self, name: str) -> Iterator[None]:
        """`with line.changing("price"): line.set_primitive("price", 3)`: will_change before, did_change after."""
        self.will_change(name)
        try:
            yield
        finally:
            self.did_change(name)

    # ---- observers and clones

    def observe(
        self,
        path: Any,
        function: Callable[[Any, ValueChange], Any],
        *,
        initial: bool = False,
        prior: bool = False,
    ) -> Observation:
        """Calls function(object, change) whenever the property at the end of a path changes, or an object on it does.

        The path is a property, or to-one relationships that lead to one. It lasts as long as the token is held.

        initial  also at once, with the value as it is
        prior    also before each change
        """
        from .observation import observe_object

        options = (_abi.OBSERVE_INITIAL if initial else 0) | (_abi.OBSERVE_PRIOR if prior else 0)
        return observe_object(self, key_path(path), options, function)

    def clone(self, depth: int = 0, including: Iterable[Any] | None = None, *, keeps_unique: bool = False) -> Any:
        """A new object in the same context with the values of this one.

        depth         objects up to so many relationships away are cloned too, each once, in the same order
        including     the relationships along which that is done, as key paths from the object; None for all
        keeps_unique  True: also the values that a unique constraint allows once

        Other relationships lead to the same objects as before, unless these would be taken away from the original.
        """
        paths = None if including is None else [key_path(path) for path in including]
        texts = None if paths is None else _abi.texts(paths)
        out = Handle()
        self._cst_context._stamp = Stamp()
        count = len(paths or ())
        call(lib.cst_object_clone, self._cst_handle, depth, count, texts, keeps_unique, byref(out))
        return self._cst_context._adopt(out, None)
