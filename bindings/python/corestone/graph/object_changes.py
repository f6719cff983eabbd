"""A part of ManagedObject: primitive values, changed values, observers and clones."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterable, Iterator
from ctypes import byref
from typing import TYPE_CHECKING, Any, Callable, ClassVar

from .. import _abi
from .._abi import lib, values
from .._abi.call import call, held, owned
from .._abi.handles import Handle
from .._abi.stamps import Stamp
from ..model.composite import compose, leaves, loaded
from ..model.transformer import from_bytes
from ..predicate.expression import key_path
from .object_id import ObjectID
from .rows import read_rows

if TYPE_CHECKING:
    from ..model.entity import Entity
    from ..model.property import PropertyDescription
    from .context import Context
    from .observation import Observation, ValueChange

_MUTATIONS = {
    "union": _abi.MUTATION_UNION,
    "minus": _abi.MUTATION_MINUS,
    "intersect": _abi.MUTATION_INTERSECT,
    "set": _abi.MUTATION_SET,
}


class ObjectChanges:
    """The methods of ManagedObject for its values and their changes."""

    __slots__ = ()

    if TYPE_CHECKING:
        _cst_entity: ClassVar[Entity]
        _cst_properties: ClassVar[dict[str, PropertyDescription]]
        _cst_context: Context
        _cst_handle: Any

    # ---- changed values; reading them does not fire faults of relationships

    @property
    def has_persistent_changed_values(self) -> bool:
        """Whether the value of a persistent property differs from that at the last fetch or save."""
        out = ctypes.c_bool()
        call(lib.cst_object_has_persistent_changes, self._cst_handle, byref(out))
        return out.value

    def changed_values(self) -> dict[str, Any]:
        """Returns the new values of properties that differ from the last fetch or save; None for members not loaded."""
        return {name: self._found(value) for name, value in self._cst_values_of(_abi.VALUES_CHANGED).items()}

    def changed_values_for_current_event(self) -> dict[str, Any]:
        """Returns the former values of properties that changed since pending changes were last processed."""
        return {name: self._found(value) for name, value in self._cst_values_of(_abi.VALUES_BEFORE_EVENT).items()}

    def committed_values(self, *names: str) -> dict[str, Any]:
        """Returns the values of the last fetch or save, of the named properties or of all persistent ones.

        Without names, to-many relationships that are not loaded are left out. Targets and members are IDs.
        """
        return self._cst_values_of(_abi.VALUES_COMMITTED, names)

    def _cst_values_of(self, which: int, names: tuple[str, ...] = ()) -> dict[str, Any]:
        keys = (ctypes.c_uint32 * len(names))(*[self._cst_entity._key(name).key for name in names]) if names else None
        rows = read_rows(owned(lib.cst_object_copy_values, self._cst_handle, which, len(names), keys))
        found = rows[0] if rows else {}
        for name, value in found.items():
            description = self._cst_properties.get(name)
            if description is not None and description.transforms:
                is_former = which != _abi.VALUES_CHANGED
                found[name] = from_bytes(description.transformer, value, self._cst_entity.name, name, is_former)
            elif description is not None and description.conversion is not None:
                found[name] = loaded(description, value)
        return found

    def _found(self, value: Any) -> Any:
        """Returns the object of an ID, or the objects of a list of IDs; another value is returned unchanged."""
        if isinstance(value, ObjectID):
            return self._cst_context.get(value)
        return [self._found(each) for each in value] if isinstance(value, list) else value

    # ---- faults

    @property
    def faulting_state(self) -> int:
        """The state as a number: 0 for an object with its values, 1 for a fault."""
        out = ctypes.c_uint32()
        call(lib.cst_object_state, self._cst_handle, byref(out))
        return 1 if out.value & _abi.OBJECT_FAULT else 0

    def has_fault(self, name: str) -> bool:
        """Whether a relationship's members are not loaded or its target is a fault; does not read the store."""
        out = ctypes.c_bool()
        key = self._cst_entity._key(name).key
        call(lib.cst_object_has_relationship_fault, self._cst_handle, key, byref(out))
        return out.value

    def object_ids(self, name: str) -> list[ObjectID]:
        """Returns the IDs of a relationship's target or members, including unsaved changes.

        A to-one relationship has at most one ID. The IDs of an ordered relationship are in order. Reads the store if
        necessary, but does not create an object or fire a fault.
        """
        handle = owned(lib.cst_object_copy_related_ids, self._cst_handle, self._cst_entity._key(name).key)
        return [
            ObjectID._owned(held(lib.cst_results_copy_id, handle, index))
            for index in range(lib.cst_results_count(handle))
        ]

    # ---- primitive values and change notifications

    def get_primitive(self, name: str) -> Any:
        """Returns a property's value in memory. Does not fire a fault: None for a fault and for members not loaded."""
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
        found = values.decode_cell(cell, self._cst_context, self._cst_entity.name, leaf.path)
        return from_bytes(leaf.transformer, found, self._cst_entity.name, leaf.path) if leaf.transforms else found

    def _set_primitive_members(self, description: PropertyDescription, members: Iterable[Any] | None) -> None:
        array = self._member_handles(description, members or ())
        self._cst_context._mark.stamp = Stamp()
        call(lib.cst_object_set_primitive_members, self._cst_handle, description.key, len(array), array)

    def _member_handles(self, description: PropertyDescription, members: Iterable[Any]) -> Any:
        from .object import handles

        return handles(list(members), self, description.name)

    def will_access(self, name: str | None = None) -> None:
        """Announces that a primitive value is about to be read.

        Fires the fault of the object and, if `name` is a to-many relationship, the fault of the relationship.
        """
        key = _abi.NO_KEY if name is None else self._cst_entity._key(name).key
        call(lib.cst_object_will_access, self._cst_handle, key)

    def did_access(self, name: str | None = None) -> None:
        """Announces that a primitive value was read."""
        key = _abi.NO_KEY if name is None else self._cst_entity._key(name).key
        call(lib.cst_object_did_access, self._cst_handle, key)

    def will_change(self, name: str, mutation: str | None = None, members: Iterable[Any] = ()) -> None:
        """Announces that a primitive value is about to be set.

        Marks the object as changed, records the former value for undo, and notifies observers. For a to-many
        relationship, `mutation` may be the kind of change: "union", "minus", "intersect" or "set", with `members`.
        """
        self._report_change(lib.cst_object_will_change, lib.cst_object_will_change_members, name, mutation, members)

    def did_change(self, name: str, mutation: str | None = None, members: Iterable[Any] = ()) -> None:
        """Announces that a primitive value was set: updates inverses and notifies observers."""
        self._report_change(lib.cst_object_did_change, lib.cst_object_did_change_members, name, mutation, members)

    def _report_change(
        self, plain: Any, of_members: Any, name: str, mutation: str | None, members: Iterable[Any]
    ) -> None:
        description = self._cst_entity._key(name)
        self._cst_context._mark.stamp = Stamp()
        if mutation is None:
            call(plain, self._cst_handle, description.key)
            return
        array = self._member_handles(description, members)
        call(of_members, self._cst_handle, description.key, _MUTATIONS.get(mutation, 0), len(array), array)

    @contextlib.contextmanager
    def changing(self, name: str) -> Iterator[None]:
        """Announces a change within a `with` block: `with line.changing("price"): line.set_primitive("price", 3)`.

        Calls will_change before the block and did_change after it.
        """
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
        """Calls function(object, change) for each change of the last property of a key path, or of objects on the path.

        The path is a property, or to-one relationships and a property. The observation lasts as long as the returned
        token is referenced.

        initial  also calls the function with the current value, before `observe` returns
        prior    also calls the function before each change
        """
        from .observation import observe_object

        options = (_abi.OBSERVE_INITIAL if initial else 0) | (_abi.OBSERVE_PRIOR if prior else 0)
        return observe_object(self, key_path(path, "path"), options, function)

    def clone(self, depth: int = 0, including: Iterable[Any] | None = None, *, keeps_unique: bool = False) -> Any:
        """Returns a new object in the same context with the values of this one.

        depth         objects up to this many relationships away are cloned too, each once. The clones refer to each
                      other like the originals, in the same order
        including     the relationships along which objects are cloned, as key paths from the object; None for all
        keeps_unique  True: values under a unique constraint are cloned too

        Other relationships refer to the same objects as those of the original, or are empty if the original would lose
        these objects.
        """
        paths = None if including is None else [key_path(path, "including") for path in including]
        texts = None if paths is None else _abi.texts(paths)
        out = Handle()
        self._cst_context._mark.stamp = Stamp()
        count = len(paths or ())
        call(lib.cst_object_clone, self._cst_handle, depth, count, texts, keeps_unique, byref(out))
        return self._cst_context._adopt(out, None)
