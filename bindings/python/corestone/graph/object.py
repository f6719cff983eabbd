"""Managed objects: the base class of all entities' classes. _entity_class adds the properties."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from ctypes import byref
from typing import TYPE_CHECKING, Any, ClassVar, Union

from .. import _abi
from .._abi import lib, values
from .._abi.arguments import shown
from .._abi.call import call, held, quick_failure
from .._abi.stamps import Stamp
from .._abi.wrappers import Base, set_functions
from ..codes import AttributeType, SnapshotEvents
from ..errors import CorestoneError, InvalidHandleError, TypeMismatchError
from ..model.composite import compose, decompose, leaves
from ..model.entity_type import EntityType
from ..model.property import PropertyDescription, nearest, no_attribute
from ..model.transformer import from_bytes, to_bytes
from ..predicate.expression import KeyPath, key_path
from .object_changes import ObjectChanges
from .object_id import ObjectID

if TYPE_CHECKING:
    from ..model.entity import Entity
    from .context import Context

_get_many = _abi.raw("cst_object_get_many")
_set_many = _abi.raw("cst_object_set_many")

PLANS = 256  # the maximum number of plans that an entity keeps
REPR_VALUES = 4
REPR_TEXT = 40


class ManagedObject(ObjectChanges, Base, metaclass=EntityType):
    """An instance of an entity, in a context. Properties are attributes: `person.name`, `person.department.name`.

    `person["department.name"]` reads a key path. References to the same object of a context are equal, before and after
    a save. A property hides a method or Python property of this class with the same name, for example "id"; the
    functions of the module `corestone.object` (object_id, context_of, state) remain available.

    On a class, a property's name is a key for queries: `context.fetch(Employee, Employee.age > 40)`.
    """

    __slots__ = ("__weakref__", "_cst_values")

    _cst_entity: ClassVar[Entity]
    _cst_entity_name: ClassVar[str | None] = None
    _cst_properties: ClassVar[dict[str, PropertyDescription]] = {}
    _cst_plans: ClassVar[dict[tuple[str, ...], Plan]] = {}
    _cst_primitives: ClassVar[dict[str, property]] = {}  # properties that custom classes override
    _cst_names: ClassVar[Mapping[str, str]] = {}  # of properties, by the variable of a declared class
    _cst_aliases: ClassVar[Mapping[str, str]] = {}  # the names that differ from the variable

    _cst_context: Context
    _cst_handle: Any
    _cst_token: int
    _cst_values: HeldValues  # the values of transformable attributes; unset before the first read

    def __init_subclass__(cls, entity: str | None = None, **options: Any) -> None:
        """Declares a custom class for the objects of an entity: `class Employee(ManagedObject, entity="Employee")`.

        The class applies to the models to which Model.bind binds it.
        """
        super().__init_subclass__(**options)
        if not cls.__module__.startswith("corestone."):
            _refuse_reserved(cls)
        if entity is not None:
            cls._cst_entity_name = entity

    if TYPE_CHECKING:

        def __init__(self) -> None: ...

    else:

        def __init__(self, *given: Any, **new: Any) -> None:
            name = type(self).__name__
            values = "".join(f", {each}=..." for each in new)
            raise TypeError(
                f"an object of the class {name} cannot be created without a context; call "
                f"context.insert({name}{values}), or context.fetch for stored objects"
            )

    # Without these, __getitem__ would be called with integers.
    __iter__ = None
    __contains__ = None

    # ---- identity

    @property
    def id(self) -> ObjectID:
        """The object's ID, which any thread can use. `id.uri` is the ID as text."""
        return object_id(self)

    @property
    def context(self) -> Context | None:
        """The context of the object; None if the object was detached, for example by a reset."""
        return context_of(self)

    @property
    def entity_name(self) -> str:
        """The name of the object's entity."""
        return self._cst_entity.name

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, ManagedObject):
            return NotImplemented
        return self._cst_token == other._cst_token

    def __hash__(self) -> int:
        return hash(self._cst_token)

    def _cst_value_handle(self) -> tuple[int, int]:
        return _abi.OBJECT, self._cst_token

    # ---- state, without reading the store; a detached object is a fault

    @property
    def is_fault(self) -> bool:
        """Whether the object is a fault: its values are not loaded."""
        return _is(self, _abi.OBJECT_FAULT)

    @property
    def is_inserted(self) -> bool:
        """Whether the next save inserts the object."""
        return _is(self, _abi.OBJECT_INSERTED)

    @property
    def is_updated(self) -> bool:
        """Whether the next save updates the object."""
        return _is(self, _abi.OBJECT_UPDATED)

    @property
    def is_deleted(self) -> bool:
        """Whether the next save deletes the object."""
        return _is(self, _abi.OBJECT_DELETED)

    @property
    def has_changes(self) -> bool:
        """Whether the object has unsaved changes."""
        return _is(self, _abi.OBJECT_HAS_CHANGES)

    def is_changed(self, name: str) -> bool:
        """Whether a property was changed since the last fetch or save."""
        out = ctypes.c_bool()
        call(lib.cst_object_is_changed, self._cst_handle, self._cst_entity._key(name).key, byref(out))
        return out.value

    def is_known(self, name: str) -> bool:
        """Whether a property's value is known.

        False in a context of the past (Context.at) for a value that a later transaction replaced without recording it;
        such a value reads as None. True in every other context.
        """
        out = ctypes.c_bool()
        call(lib.cst_object_is_known, self._cst_handle, self._cst_entity._key(name).key, byref(out))
        return out.value

    def committed_value(self, name: str) -> Any:
        """Returns the value of an attribute or a to-one relationship at the last fetch or save; the target is an ID."""
        description = self._cst_entity._key(name)
        return compose(description, (self._committed(leaf) for leaf in leaves(description)))

    def _committed(self, leaf: PropertyDescription) -> Any:
        cell = values.Cell()
        call(lib.cst_object_get_committed, self._cst_handle, leaf.key, cell.ref)
        found = values.decode_cell(cell, self._cst_context, self._cst_entity.name, leaf.path)
        if not leaf.transforms:
            return found
        return from_bytes(leaf.transformer, found, self._cst_entity.name, leaf.path)

    # ---- validation

    def validate_for_insert(self) -> None:
        """Raises the ValidationError with which a save that inserts the object would fail.

        A class that is bound to the entity may override this method and the next two; a save then calls the override.
        The override must first call super, which performs all other checks.
        """
        _validate(self, _abi.VALIDATE_INSERT, "validate_for_insert")

    def validate_for_update(self) -> None:
        """Raises the ValidationError with which a save that updates the object would fail."""
        _validate(self, _abi.VALIDATE_UPDATE, "validate_for_update")

    def validate_for_delete(self) -> None:
        """Raises the ValidationError with which a save that deletes the object would fail."""
        _validate(self, _abi.VALIDATE_DELETE, "validate_for_delete")

    def validate_value(self, name: str, value: Any) -> Any:
        """Validates a value of a property as a save would, and returns the value as the object would store it.

        The property is an attribute or a to-one relationship. The object does not change. ValidationError for an
        invalid value.
        """
        description, entity = self._cst_entity._key(name), self._cst_entity.name
        if description.is_to_many and value is not None:
            raise TypeMismatchError(
                f"{entity}.{name} is a to-many relationship, which validate_value does not check; set its members and "
                "call validate_for_update",
                entity=entity,
                key=name,
                value=value,
                object_uri=object_id(self).uri,
            )
        parts = decompose(description, value, entity)
        return compose(description, (self._validated(leaf, part) for leaf, part in parts))

    def _validated(self, leaf: PropertyDescription, value: Any) -> Any:
        if leaf.is_undefined:
            return value  # an undefined attribute has values of every type, and no validation rules
        given, held = values.Cell(), values.Cell()
        entity = self._cst_entity.name
        data = value
        if leaf.transforms:
            data = to_bytes(leaf.transformer, value, entity, leaf.path, leaf.value_class)
        values.encode(given.value, values.suited(leaf.attribute_type, data), entity, leaf.path)
        call(lib.cst_object_validate_value, self._cst_handle, leaf.key, given.ref, held.ref)
        return value if leaf.transforms else values.decode_cell(held, self._cst_context)

    def set_primitive(self, name: str, value: Any) -> None:
        """Sets a property without change tracking. For a to-many relationship, `value` is an iterable of its members.

        The object does not count as changed, and the inverse is not updated. A save writes the value if it writes the
        object because of another change; a refresh discards the value. This is suitable for values that are derived
        from other values, and for accessors that announce their changes (see `changing`).
        """
        entity = self._cst_entity.name
        description = self._cst_entity._key(name)
        if description.is_to_many:
            self._set_primitive_members(description, value)
            return
        for leaf, part in decompose(description, value, entity):
            data = part
            self._cst_context._mark.stamp = Stamp()
            if leaf.is_undefined:
                from .any_value import AnyCell

                any_value = AnyCell(part)
                call(lib.cst_object_set_primitive, self._cst_handle, leaf.key, any_value.ref)
                continue
            if leaf.transforms:
                data = to_bytes(leaf.transformer, part, entity, leaf.path, leaf.value_class)
            cell = values.Cell()
            values.encode(cell.value, values.suited(leaf.attribute_type, data), entity, leaf.path)
            call(lib.cst_object_set_primitive, self._cst_handle, leaf.key, cell.ref)

    # ---- hooks, which a class that is bound to the entity may override; docs/reference/lifecycle.md

    def awake_from_insert(self) -> None:
        """Called after a context inserted the object and set its defaults. Undo does not revert attributes set here."""

    def awake_from_fetch(self) -> None:
        """Called after a fault has fired. Attributes set here do not count as changes."""

    def awake_from_snapshot_events(self, events: SnapshotEvents) -> None:
        """Called after undo, redo, rollback, refresh or a merge policy replaced the object's state."""

    def will_save(self) -> None:
        """Called before a save validates and writes or deletes the object; again if hooks change it meanwhile."""

    def did_save(self) -> None:
        """Called after the save; a deleted object is then detached from its context."""

    def prepare_for_deletion(self) -> None:
        """Called before the object is deleted, while its relationships are still unchanged."""

    def will_turn_into_fault(self) -> None:
        """Called before the object's values are released."""

    def did_turn_into_fault(self) -> None:
        """Called after the object's values were released."""

    def set_nil_value_for_key(self, name: str) -> None:
        """Called when an integer, floating-point or Boolean attribute is set to None.

        Sets None; an override can set another value.
        """
        self[name] = None

    # ---- values by name and key path

    def __getitem__(self, path: str) -> Any:
        if path in self._cst_properties:
            return getattr(self, path)
        cell = values.Cell()
        call(lib.cst_object_get_path, self._cst_handle, _abi.text(path, "path"), cell.ref)
        return values.decode_cell(cell, self._cst_context, self._cst_entity.name, path)

    def __setitem__(self, path: str, value: Any) -> None:
        if path in self._cst_properties:
            setattr(self, path, value)
            return
        cell = values.Cell()
        values.encode(cell.value, value, self._cst_entity.name, path)
        self._cst_context._mark.stamp = Stamp()
        call(lib.cst_object_set_path, self._cst_handle, _abi.text(path, "path"), cell.ref)

    def primitive_value(self, name: str) -> Any:
        """Returns the value of a property that a custom class overrides (see Model.bind)."""
        hidden = self._cst_primitives.get(name)
        return getattr(self, name) if hidden is None else hidden.__get__(self)

    def set_primitive_value(self, name: str, value: Any) -> None:
        """Sets a property that a custom class overrides."""
        hidden = self._cst_primitives.get(name)
        if hidden is None:
            setattr(self, name, value)
        else:
            hidden.__set__(self, value)

    def get(self, *names: str) -> tuple[Any, ...]:
        """Returns several attributes or to-one relationships.

        They are read in one library call, unless one is a composite or transformable attribute.
        """
        plan = plan_for(type(self), names)
        if plan.many:
            entity, key = self._cst_entity.name, plan.many[0]
            raise TypeMismatchError(
                f"{entity}.{key} is a to-many relationship, which get does not read; read it as a property of the "
                "object",
                entity=entity,
                key=key,
                object_uri=object_id(self).uri,
            )
        if plan.made:
            return tuple(getattr(self, name) for name in names)
        if not names:
            return ()
        row = plan.take_row()
        status = _get_many(self._cst_handle, plan.count, plan.keys_ref, row.ref, row.error_ref)
        if status < 0:
            raise quick_failure(row, status)
        try:
            found = tuple(values.decode_array(row.array, len(names), self._cst_context))
        except CorestoneError:
            return tuple(getattr(self, name) for name in names)  # raises an error with the entity and the key
        plan.rows.append(row)
        return found

    def set(self, **new: Any) -> None:
        """Sets several properties.

        Attributes and to-one relationships are set in one call. If one of their values is invalid, the object does not
        change. Composite and transformable attributes and to-many relationships are set one by one after that call.
        """
        for name in set_single_values(self, new):
            setattr(self, name, new[name])

    def to_dict(self, *names: KeyPath) -> dict[str, Any]:
        """Returns the values of properties or key paths as a dictionary; without names, those of all attributes.

            episode.to_dict("title", "show.title", "tags.name", Episode.show.episodes.count())

        A to-many relationship is a list of objects; a path through it is a list of the values of its members.
        """
        known = self._cst_properties
        chosen = tuple(map(key_path, names)) or tuple(n for n, p in known.items() if p.is_attribute)
        paths = [n for n in chosen if "." in n and self._cst_entity._element_at(n) is None]
        single = [n for n in chosen if n not in paths and (n not in known or not known[n].is_to_many)]
        found = dict(zip(single, item_values(self, single)))
        if paths:
            from .paths import value_at

            found.update((path, value_at(self, path)) for path in paths)
        return {name: found[name] if name in found else list(getattr(self, name)) for name in chosen}

    # ---- special methods

    def __repr__(self) -> str:
        return describe(self)

    def _repr_html_(self) -> str | None:
        from .html import guarded, of_object

        return guarded(of_object, self)

    def __copy__(self) -> ManagedObject:
        return self

    def __deepcopy__(self, memo: object) -> ManagedObject:
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            f"cannot pickle an object of {self._cst_entity.name}: objects belong to their context; call save and "
            "pickle id.uri, or pickle to_dict()"
        )


if TYPE_CHECKING:
    from ..model.entity_type import DynamicType

    class DynamicObject(ManagedObject, metaclass=DynamicType):
        """An object whose properties type checkers do not know, of an entity that was passed by name.

        At run time, this is ManagedObject.
        """

        # Properties of these names are frequent.
        id: Any
        context: Any

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

else:
    DynamicObject = ManagedObject


def _validate(item: ManagedObject, purpose: int, name: str) -> None:
    # The library would call the override as a hook, which calls super and thus this function again, endlessly.
    is_overridden = getattr(type(item), name) is not getattr(ManagedObject, name)
    call(lib.cst_object_validate, item._cst_handle, purpose | (_abi.VALIDATE_WITHOUT_HOOK if is_overridden else 0))


# By key: the bytes of a transformable attribute, and the Python value for them.
HeldValues = dict[int, tuple[Union[bytes, None], Any]]


def held_values(item: ManagedObject) -> HeldValues:
    """Returns the transformed values that an object caches."""
    try:
        held: HeldValues = _held_values(item)
    except AttributeError:
        held = {}
        _set_held_values(item, held)
    return held


def drop_held_values(item: ManagedObject) -> None:
    """Discards an object's cached transformed values, for a refresh; they are transformed again when they are read."""
    held_values(item).clear()


_set_held_values = ManagedObject.__dict__["_cst_values"].__set__
_held_values = ManagedObject.__dict__["_cst_values"].__get__


def _has_member(item: ManagedObject, name: str) -> bool:
    """Whether the class of an object, or one of its superclasses, defines a member of that name."""
    return any(name in vars(kind) for kind in type(item).__mro__)


# The members that the metaclass of declared classes adds.
_ADDED = frozenset(["_cst_aliases", "_cst_calls", "_cst_declaration", "_cst_names"])


def _refuse_reserved(kind: type) -> None:
    """Raises the error for a class with a member whose name the package reserves."""
    for name in vars(kind):
        if name.startswith("_cst_") and name not in _ADDED:
            raise TypeError(
                f'{kind.__name__}.{name}: names that begin with "_cst_" are reserved for corestone; rename it'
            )


# Names of other libraries' methods, and the calls that replace them.
_ELSEWHERE = {
    "save": "call save of its context",
    "delete": "call delete of its context",
    "refresh": "call refresh of its context",
    "objects": "call fetch of a context",
    "query": "call fetch of a context",
}


def _no_property(item: ManagedObject, name: str) -> str:
    entity = type(item)._cst_entity.name
    if name.startswith(("__", "_cst_")):  # a probe for a protocol, such as hasattr(item, "__array__")
        return f'{entity} does not have a property "{name}"'
    if name in _ELSEWHERE:
        return f'{entity} does not have a property "{name}"; {_ELSEWHERE[name]}'
    known = [known for known in dir(type(item)) if not known.startswith("_")]
    return f'{entity} does not have a property "{name}"{nearest(name, known)}'


def _refusal(item: ManagedObject, name: str) -> AttributeError | None:
    """Returns the error for an attribute that cannot be set; None if Python's own error is right."""
    if _has_member(item, name):
        return None
    error = AttributeError(_no_property(item, name))
    error.__suppress_context__ = True
    return error


def missing(item: Any, name: str) -> Any:
    """Raises the error for an attribute that was not found."""
    # Python has discarded the error of a getter that raised AttributeError, so the getter runs again to raise it.
    if _has_member(item, name):
        return object.__getattribute__(item, name)
    raise no_attribute(_no_property(item, name), name)


set_functions(_refusal, missing)


def object_id(item: ManagedObject) -> ObjectID:
    """Returns the object's ID."""
    return ObjectID._owned(held(lib.cst_object_copy_id, item._cst_handle))


def context_of(item: ManagedObject) -> Context | None:
    """Returns the object's context; None if the object was detached."""
    borrowed = ctypes.c_void_p()
    status = call(lib.cst_object_context, item._cst_handle, byref(borrowed))
    return item._cst_context if status == _abi.OK else None


def state(item: ManagedObject) -> int:
    """Returns the flags of the object's state. Never reads the store."""
    out = ctypes.c_uint32()
    call(lib.cst_object_state, item._cst_handle, byref(out))
    return out.value


def _is(item: ManagedObject, flag: int) -> bool:
    return bool(state(item) & flag)


def handles(items: Sequence[Any], owner: ObjectChanges, key: str) -> Any:
    """Returns members as an array of handles, which are valid while the caller references the objects."""
    tokens = []
    for item in items:
        if not isinstance(item, ManagedObject):
            entity = owner._cst_entity.name
            raise TypeMismatchError(
                f"the members of {entity}.{key} must be managed objects, not {shown(item)}",
                entity=entity,
                key=key,
                value=item,
                object_uri=ObjectID._owned(held(lib.cst_object_copy_id, owner._cst_handle)).uri,
            )
        tokens.append(item._cst_token)
    return (ctypes.c_void_p * len(tokens))(*tokens)


class Plan:
    """The properties of several names: single values with their keys, assembled values, and to-many relationships."""

    __slots__ = ("count", "decimals", "keys", "keys_ref", "made", "many", "rows", "single")

    def __init__(self, entity: Entity, names: Iterable[str]) -> None:
        found = [(name, entity._key(name)) for name in names]  # a class variable can have another name
        self.many = [name for name, each in found if each.is_to_many]
        # Values that Python assembles, from bytes or from several values, or converts.
        self.made = [name for name, each in found if each.is_made]
        single = [(name, each) for name, each in found if not each.is_to_many and not each.is_made]
        self.single = tuple(name for name, _ in single)
        self.decimals = [name for name, each in single if each.attribute_type == AttributeType.DECIMAL]
        self.keys = (ctypes.c_uint32 * len(single))(*[each.key for _, each in single])
        self.keys_ref = byref(self.keys)
        self.count: Any = ctypes.c_size_t(len(single))
        # A pool of rows, like the pool of cells in values.py. A row keeps its last values alive, so rows with large
        # values are not put back.
        self.rows: list[values.Row] = []

    def take_row(self) -> values.Row:
        """Returns a row from the pool; append it to `rows` after use."""
        try:
            return self.rows.pop()
        except IndexError:
            return values.Row(len(self.single))


def plan_for(kind: type[ManagedObject], names: tuple[str, ...]) -> Plan:
    """Returns the cached plan for the names, or creates it."""
    plans = kind._cst_plans
    plan = plans.get(names)
    if plan is None:
        if len(plans) >= PLANS:
            plans.clear()
        plan = plans[names] = Plan(kind._cst_entity, names)
    return plan


def set_single_values(item: ManagedObject, new: dict[str, Any]) -> list[str]:
    """Sets the plain attributes and to-one relationships in `new` in one call; returns the names of the others."""
    plan = plan_for(type(item), tuple(new))
    single = plan.single
    if single:
        for name in plan.decimals:
            new = {**new, name: values.suited(AttributeType.DECIMAL, new[name])}
        row = plan.take_row()
        several = plan.many or plan.made
        row.fill([new[name] for name in single] if several else new.values(), item._cst_entity.name, single)
        item._cst_context._mark.stamp = Stamp()
        status = _set_many(item._cst_handle, plan.count, plan.keys_ref, row.ref, row.error_ref)
        if status < 0:
            raise quick_failure(row, status)
        if not any(type(value) in values.BULKY for value in new.values()):
            plan.rows.append(row)
    return plan.made + plan.many


def short_id(uri: str) -> str:
    """Returns the last part of a URI: "p12", or "new" for a temporary ID."""
    last = uri.rsplit("/", 1)[-1]
    return last if last.startswith("p") else "new"


def short_value(value: Any) -> str:
    """Returns a short repr of a value."""
    if isinstance(value, ManagedObject):
        return f"<{value._cst_entity.name}>"
    shown = repr(value)
    return shown if len(shown) <= REPR_TEXT else shown[: REPR_TEXT - 1] + "…"


def describe(item: ManagedObject) -> str:
    """Returns the repr of an object: entity, ID and a few values. Does not fire a fault."""
    entity = item._cst_entity.name
    try:
        flags = state(item)
        head = f"{entity} {short_id(object_id(item).uri)}"
        notes = " deleted" if flags & _abi.OBJECT_DELETED else ""
        if flags & _abi.OBJECT_FAULT:
            return f"<{head}{notes} (fault)>"
        known = item._cst_properties.items()
        names = [n for n, p in known if p.is_attribute and not p.transforms][:REPR_VALUES]
        shown = " ".join(f"{name}={short_value(value)}" for name, value in zip(names, item_values(item, names)))
        return f"<{head}{notes} {shown}>" if shown else f"<{head}{notes}>"
    except InvalidHandleError:
        return f"<{entity} (closed)>"
    except CorestoneError as error:
        return f"<{entity} ({type(error).__name__})>"


def item_values(item: ManagedObject, names: list[str]) -> tuple[Any, ...]:
    """Calls ManagedObject.get, even if a property named `get` hides that method."""
    return ManagedObject.get(item, *names)
