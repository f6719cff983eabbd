"""Entities of a model: their attributes, relationships and fetched properties."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any

from . import _abi, _host, values
from ._abi import lib, text, texts
from ._arguments import one_of
from ._call import call, made
from ._definition import attribute_type, delete_rule
from ._editing import UNSET, EntityEditing
from .codes import AttributeType, DeleteRule
from .errors import InvalidArgumentError, ModelError
from .predicate import Predicate
from .property import PropertyDescription, nearest, read_properties

if TYPE_CHECKING:
    from .model import Model
    from .object import ManagedObject


class Waiting:
    """A relationship that waits for its destination or its inverse to be added.

    One of a text has its handle already, and leads to its own entity meanwhile.
    """

    __slots__ = ("handle", "has_destination", "inverse", "name", "options", "owner", "target")

    def __init__(
        self, owner: Entity, name: str, target: str, inverse: str | None, options: dict[str, Any], handle: int = 0
    ) -> None:
        self.owner, self.name, self.target, self.inverse, self.options = owner, name, target, inverse, options
        self.handle = handle
        self.has_destination = False


class Entity(EntityEditing):
    """An entity of a model. Its methods return it, so that calls can be chained."""

    def __init__(self, model: Model, handle: int, name: str) -> None:
        self._model = model
        self._handle = handle
        self._argument = _abi.argument(handle)
        self.name = name
        self._properties: dict[str, PropertyDescription] | None = None
        self._class: type[ManagedObject] | None = None
        self._bound_class: type[ManagedObject] | None = None

    def attribute(
        self,
        name: str,
        type: str | AttributeType,
        *,
        optional: bool = False,
        default: Any = UNSET,
        indexed: bool = False,
        transient: bool = False,
        external_storage: bool = False,
        preserved: bool = False,
        allows_nan: bool = False,
        ignores_changes: bool = False,
        minimum: Any = None,
        maximum: Any = None,
        pattern: str | None = None,
        validation: Mapping[str | Predicate, str] | None = None,
        transformer: str | None = None,
        derived: str | None = None,
        derived_filter: str | None = None,
        elements: Mapping[str, Any] | None = None,
        user_info: Mapping[str, str] | None = None,
        renaming_identifier: str | None = None,
    ) -> Entity:
        """Adds an attribute.

        type is a name ("string", "int16", "int32", "int64", "decimal", "double", "float", "bool", "date", "binary",
        "uuid", "uri", "transformable", "composite") or an AttributeType. An attribute that is not optional must have a
        value when its object is saved; `default` is the value of a fresh object. `indexed` adds an index of its own.

        A save refuses a number or a date below `minimum` or above `maximum`, a string whose length is, a string that
        does not match the regular expression `pattern` as a whole, and a value that does not meet a condition of
        `validation`, which maps predicates (SELF is the value) to what the error says.

        A change of a `transient` attribute with `ignores_changes` makes no object one that has changes.
        `renaming_identifier` is the attribute's first name, by which a migration keeps its values.

        `transformer` names what stands between the values of a transformable attribute and their bytes; see
        corestone.register_transformer. `derived` is an expression by which the store computes the attribute at each
        save: "name", "author.name", "articles.@count", "articles.words.@sum", "canonical:(name)", "uppercase:(name)",
        "lowercase:(name)", "now()". `elements` are those of a composite attribute, whose value is a dictionary: by
        name, in the compact form of Model, or a dictionary of elements again.
        """
        if elements is not None:
            given = {
                "optional": optional,
                "indexed": indexed,
                "transient": transient,
                "external_storage": external_storage,
                "preserved": preserved,
                "allows_nan": allows_nan,
                "ignores_changes": ignores_changes,
                "minimum": minimum,
                "maximum": maximum,
                "pattern": pattern,
                "validation": validation,
                "transformer": transformer,
                "derived": derived,
                "derived_filter": derived_filter,
                "elements": elements,
                "user_info": user_info,
            }
            if default is not UNSET:
                given["default"] = default
            self._model._define({self.name: {name: {"type": attribute_type(type), **given}}})
            return self
        flags = (
            (_abi.PROPERTY_OPTIONAL if optional else 0)
            | (_abi.PROPERTY_INDEXED if indexed else 0)
            | (_abi.PROPERTY_TRANSIENT if transient else 0)
            | (_abi.PROPERTY_EXTERNAL_STORAGE if external_storage else 0)
            | (_abi.PROPERTY_PRESERVED if preserved else 0)
            | (_abi.PROPERTY_ALLOWS_NAN if allows_nan else 0)
            | (_abi.PROPERTY_IGNORES_CHANGES if ignores_changes else 0)
        )
        handle = made(lib.cst_entity_add_attribute, self._handle, text(name), int(attribute_type(type)), flags)
        self._fill(
            handle,
            name,
            attribute_type(type),
            default=default,
            minimum=minimum,
            maximum=maximum,
            pattern=pattern,
            validation=validation,
            transformer=transformer,
            derived=derived,
            derived_filter=derived_filter,
            user_info=user_info,
        )
        self._set_renaming_identifier(name, renaming_identifier)
        return self

    def to_one(
        self,
        name: str,
        destination: Entity | str,
        *,
        inverse: str | None = None,
        delete: str | DeleteRule = "nullify",
        optional: bool = True,
        transient: bool = False,
        validation: Mapping[str | Predicate, str] | None = None,
        user_info: Mapping[str, str] | None = None,
        renaming_identifier: str | None = None,
    ) -> Entity:
        """Adds a relationship to at most one object of `destination`, an entity or the name of one added later.

        `inverse` names the relationship that leads back, which may be added later too; `delete` says what deleting an
        object does to its target: "nullify", "cascade", "deny" or "no-action". `validation` maps predicates on the
        target to what the error says when a save finds that they do not hold.
        """
        flags = (_abi.PROPERTY_OPTIONAL if optional else 0) | (_abi.PROPERTY_TRANSIENT if transient else 0)
        options: dict[str, Any] = {
            "flags": flags,
            "delete": delete_rule(delete),
            "user_info": user_info,
            "counts": None,
        }
        options["validation"] = validation
        options["renaming_identifier"] = renaming_identifier
        return self._relationship(name, destination, inverse, options)

    def to_many(
        self,
        name: str,
        destination: Entity | str,
        *,
        inverse: str | None = None,
        delete: str | DeleteRule = "nullify",
        ordered: bool = False,
        optional: bool = True,
        minimum: int = 0,
        maximum: int = 0,
        transient: bool = False,
        validation: Mapping[str | Predicate, str] | None = None,
        user_info: Mapping[str, str] | None = None,
        renaming_identifier: str | None = None,
    ) -> Entity:
        """Adds a relationship to any number of objects, a set unless `ordered`. Maximum 0 is no bound.

        In the predicates of `validation`, SELF is the collection of the members.
        """
        flags = (
            _abi.PROPERTY_TO_MANY
            | (_abi.PROPERTY_OPTIONAL if optional else 0)
            | (_abi.PROPERTY_ORDERED if ordered else 0)
        )
        flags |= _abi.PROPERTY_TRANSIENT if transient else 0
        counts = (minimum, maximum) if minimum or maximum else None
        options: dict[str, Any] = {
            "flags": flags,
            "delete": delete_rule(delete),
            "user_info": user_info,
            "counts": counts,
        }
        options["validation"] = validation
        options["renaming_identifier"] = renaming_identifier
        return self._relationship(name, destination, inverse, options)

    def _relationship(
        self, name: str, destination: Entity | str, inverse: str | None, options: dict[str, Any]
    ) -> Entity:
        target = destination.name if isinstance(destination, Entity) else destination
        self._model._add_relationship(Waiting(self, name, target, inverse, options))
        return self

    def _set_renaming_identifier(self, name: str, identifier: str | None) -> None:
        if identifier is not None:
            call(lib.cst_entity_set_property_renaming_identifier, self._handle, text(name), text(identifier))

    def unique(self, *attributes: str) -> Entity:
        """Requires the combination of these attributes to be unique among the entity's objects."""
        call(lib.cst_entity_add_unique_constraint, self._handle, len(attributes), texts(list(attributes)))
        return self

    @property
    def parent(self) -> Entity | None:
        """The entity from which this one inherits."""
        handle = made(lib.cst_entity_parent, self._handle)
        return self._model._entity_of(handle) if handle else None

    @parent.setter
    def parent(self, parent: Entity | None) -> None:
        call(lib.cst_entity_set_parent, self._handle, parent._handle if parent else None)
        self._model._note_parents()

    @property
    def children(self) -> list[Entity]:
        """The entities that inherit from this one directly."""
        found: list[Entity] = []
        while handle := made(lib.cst_entity_child_at, self._handle, len(found)):
            found.append(self._model._entity_of(handle))
        return found

    def is_kind_of(self, other: Entity) -> bool:
        """Whether it is the other entity or inherits from it."""
        out = ctypes.c_bool()
        call(lib.cst_entity_is_kind_of, self._handle, other._handle, byref(out))
        return out.value

    def relationships_to(self, destination: Entity) -> list[str]:
        """The names of the relationships, inherited ones included, that lead to an entity itself."""
        known = read_properties(self._handle).values()
        return [each.name for each in known if each.is_relationship and each.destination == destination._handle]

    @property
    def is_abstract(self) -> bool:
        """Whether only entities that inherit from it have objects."""
        out = ctypes.c_bool()
        call(lib.cst_entity_is_abstract, self._handle, byref(out))
        return out.value

    @is_abstract.setter
    def is_abstract(self, is_abstract: bool) -> None:
        call(lib.cst_entity_set_abstract, self._handle, is_abstract)

    def convert(self, name: str, value: Any) -> Any:
        """A value as an attribute holds it, from what came over a wire or out of a file, as text where the sender had
        no better type: numbers, "true" and "false", ISO 8601 dates (UTC where they have no offset), UUIDs, bytes in
        base64. None is the default.

        TypeMismatchError names entity and attribute.
        """
        given, out = values.Cell(), _abi.Value()
        values.encode(given.value, value, self.name, name)
        call(lib.cst_attribute_convert, self._attribute(name), given.ref, byref(out))
        return _host.take(out)

    def user_info(self, key: str) -> str | None:
        """A value of the entity's user info, or None."""
        out = _abi.String()
        call(lib.cst_entity_user_info, self._handle, text(key), byref(out))
        return _abi.decode(out)

    @property
    def localized_name(self) -> str:
        """What the model's localisation calls the entity; its name when there is no entry."""
        return _abi.decode(lib.cst_entity_localized_name(self._handle)) or self.name

    def localized_property_name(self, name: str) -> str:
        """What the localisation calls a property: the most specific of its entries, or the name. Freezes the model."""
        out = _abi.String()
        self._key(name)
        call(lib.cst_entity_localized_property_name, self._handle, text(name), byref(out))
        return _abi.decode(out) or name

    @property
    def version_hash(self) -> bytes:
        """The 32 bytes by which Core Data recognises the entity in a store. Freezes the model."""
        self._model.freeze()
        out = (ctypes.c_uint8 * 32)()
        call(lib.cst_entity_version_hash, self._handle, out)
        return bytes(out)

    def property_version_hash(self, name: str) -> bytes | None:
        """The 32 bytes that a property adds to the entity's hash; None when it is transient, fetched, or not there."""
        self._model.freeze()
        out = (ctypes.c_uint8 * 32)()
        status = call(lib.cst_entity_property_version_hash, self._handle, text(name), out)
        return bytes(out) if status == _abi.OK else None

    @property
    def properties(self) -> Mapping[str, PropertyDescription]:
        """The properties by name, inherited ones first. Freezes the model."""
        if self._properties is None:
            self._model.freeze()
            self._properties = read_properties(self._handle)
        return self._properties

    @property
    def object_class(self) -> type[ManagedObject]:
        """The Python class of the entity's objects, for isinstance. Freezes the model."""
        if self._class is None:
            from ._entity_class import make_class

            self._class = make_class(self)
        return self._class

    def _bind(self, own: type[ManagedObject]) -> None:
        if self._class is not None and self._bound_class is not own:
            raise InvalidArgumentError(
                f"{self.name} already has a class for its objects; bind classes before objects are fetched or inserted"
            )
        from ._lifecycle import set_lifecycle

        set_lifecycle(self, own)
        self._bound_class = own
        own._cst_bound = weakref.ref(self)

    def _element_at(self, path: str) -> PropertyDescription | None:
        """An element of a composite attribute."""
        head, *rest = path.split(".")
        found = self.properties.get(head)
        for name in rest:
            found = next((each for each in found.elements if each.name == name), None) if found is not None else None
        return found

    def _key(self, name: str) -> PropertyDescription:
        """The property of a name, else a ModelError with the nearest one."""
        try:
            found = self.properties.get(name)
        except TypeError:
            found = None
        if found is None and "." in one_of(str, name, "name"):
            found = self._element_at(name)
        if found is None:
            raise ModelError(
                f'{self.name} does not have a property "{name}"{nearest(name, self.properties)}',
                entity=self.name,
                key=name,
            )
        return found

    def __repr__(self) -> str:
        return f"<Entity {self.name}>"
