"""Entities of a model: their attributes, relationships and fetched properties."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any

from .. import _abi
from .._abi import conversion, lib, text, texts, values
from .._abi.arguments import require_instance
from .._abi.call import call, made
from .._abi.checked import Checked
from ..codes import AttributeType, DeleteRule
from ..errors import InvalidArgumentError, ModelError
from ..predicate.predicate import Predicate
from .definition import attribute_type, delete_rule
from .editing import UNSET, EntityEditing
from .property import PropertyDescription, converted, nearest, read_properties

if TYPE_CHECKING:
    from ..graph.object import ManagedObject
    from .conversions import Conversions
    from .model import Model


class Waiting:
    """A relationship whose destination or inverse is not added yet.

    A relationship from model text already has a handle; until its destination exists, the relationship refers to its
    own entity.
    """

    __slots__ = ("handle", "has_destination", "inverse", "name", "options", "owner", "target")

    def __init__(
        self, owner: Entity, name: str, target: str, inverse: str | None, options: dict[str, Any], handle: int = 0
    ) -> None:
        self.owner, self.name, self.target, self.inverse, self.options = owner, name, target, inverse, options
        self.handle = handle
        self.has_destination = False


class Entity(Checked, EntityEditing):
    """An entity of a model. Methods that add or change something return the entity, so that calls can be chained."""

    _cst_attributes = ("name",)

    def __init_subclass__(cls, **options: Any) -> None:
        raise TypeError(
            f"{cls.__name__} cannot derive from corestone.Entity, which describes an entity of a model; derive it from "
            "corestone.declarative.Entity to declare an entity"
        )

    def __init__(self, model: Model, handle: int, name: str) -> None:
        self._model = model
        self._handle = handle
        self._argument = _abi.argument(handle)
        self.name = name
        self._properties: dict[str, PropertyDescription] | None = None
        self._class: type[ManagedObject] | None = None
        self._bound_class: type[ManagedObject] | None = None
        self._conversions: Conversions | None = None  # of the attributes of a declared class
        self._insertion: Any = None  # the accelerator's function that inserts an object with values

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

        `type` is a name ("string", "int16", "int32", "int64", "decimal", "double", "float", "bool", "date", "binary",
        "uuid", "uri", "transformable", "composite") or an AttributeType. An attribute that is not optional must have a
        value when its object is saved. `default` is the value in new objects. `indexed` adds an index of the attribute.

        A save rejects a number or a date below `minimum` or above `maximum`, and a string whose length is outside these
        bounds. It also rejects a string that does not match the regular expression `pattern` as a whole, and a value
        that does not satisfy a predicate of `validation`. `validation` maps predicates, in which SELF is the value, to
        error messages.

        A change of a `transient` attribute with `ignores_changes` does not mark the object as changed.
        `renaming_identifier` is the original name of the attribute, with which a migration keeps its values.

        `transformer` names the transformer of a transformable attribute, which converts values to and from bytes; see
        corestone.register_transformer. `derived` is an expression from which the store computes the attribute at each
        save: "name", "author.name", "articles.@count", "articles.words.@sum", "canonical:(name)", "uppercase:(name)",
        "lowercase:(name)", "now()". `elements` are the elements of a composite attribute by name, each in the compact
        form of Model or as another dictionary of elements. The value of a composite attribute is a dictionary.
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
            self._model._define({self.name: {name: {"type": attribute_type(type, self.name, name), **given}}})
            self._set_renaming_identifier(name, renaming_identifier)
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
        kind = attribute_type(type, self.name, name)
        handle = made(lib.cst_entity_add_attribute, self._handle, text(name, "name"), int(kind), flags)
        self._fill(
            handle,
            name,
            kind,
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
        """Adds a to-one relationship to `destination`, an entity or the name of an entity that can be added later.

        `inverse` names the inverse relationship, which can be added later too. `delete` is the delete rule: "nullify",
        "cascade", "deny" or "no-action". `validation` maps predicates on the target, which a save checks, to error
        messages.
        """
        flags = (_abi.PROPERTY_OPTIONAL if optional else 0) | (_abi.PROPERTY_TRANSIENT if transient else 0)
        options: dict[str, Any] = {
            "flags": flags,
            "delete": delete_rule(delete, self.name, name),
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
        """Adds a to-many relationship, whose value is a set, or a list if `ordered`. A `maximum` of 0 means no bound.

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
            "delete": delete_rule(delete, self.name, name),
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
            call(
                lib.cst_entity_set_property_renaming_identifier,
                self._handle,
                text(name, "name"),
                text(identifier, "identifier"),
            )

    def unique(self, *attributes: str) -> Entity:
        """Adds a unique constraint: the combined values of these attributes identify one object of the entity."""
        call(lib.cst_entity_add_unique_constraint, self._handle, len(attributes), texts(list(attributes), "attributes"))
        return self

    @property
    def parent(self) -> Entity | None:
        """The superentity; None for a root entity."""
        handle = made(lib.cst_entity_parent, self._handle)
        return self._model._entity_of(handle) if handle else None

    @parent.setter
    def parent(self, parent: Entity | None) -> None:
        call(lib.cst_entity_set_parent, self._handle, parent._handle if parent else None)
        self._model._note_parents()

    @property
    def children(self) -> list[Entity]:
        """The direct subentities."""
        found: list[Entity] = []
        while handle := made(lib.cst_entity_child_at, self._handle, len(found)):
            found.append(self._model._entity_of(handle))
        return found

    def is_kind_of(self, other: Entity) -> bool:
        """Whether the entity is `other` or inherits from it."""
        out = ctypes.c_bool()
        call(lib.cst_entity_is_kind_of, self._handle, other._handle, byref(out))
        return out.value

    def relationships_to(self, destination: Entity) -> list[str]:
        """Returns the names of the relationships, including inherited ones, whose destination is `destination`."""
        known = read_properties(self._handle).values()
        return [each.name for each in known if each.is_relationship and each.destination == destination._handle]

    @property
    def is_abstract(self) -> bool:
        """Whether the entity is abstract: only its subentities have objects."""
        out = ctypes.c_bool()
        call(lib.cst_entity_is_abstract, self._handle, byref(out))
        return out.value

    @is_abstract.setter
    def is_abstract(self, is_abstract: bool) -> None:
        call(lib.cst_entity_set_abstract, self._handle, is_abstract)

    def convert(self, name: str, value: Any) -> Any:
        """Converts a value from a file or a network message to the type of an attribute.

        Text is accepted where the format has no better type: numbers, "true" and "false", ISO 8601 dates (UTC without
        an offset), UUIDs, bytes in base64. None becomes the default. TypeMismatchError for a value that cannot be
        converted. ValidationError for an integer out of range.
        """
        given, out = values.Cell(), _abi.Value()
        values.encode(given.value, value, self.name, name)
        call(lib.cst_attribute_convert, self._attribute(name), given.ref, byref(out))
        return conversion.take(out)

    def user_info(self, key: str) -> str | None:
        """Returns a value of the entity's user info, or None."""
        out = _abi.String()
        call(lib.cst_entity_user_info, self._handle, text(key, "key"), byref(out))
        return _abi.decode(out)

    @property
    def localized_name(self) -> str:
        """The name of the entity in the model's localisation, or `name` if there is no entry."""
        return _abi.decode(lib.cst_entity_localized_name(self._handle)) or self.name

    def localized_property_name(self, name: str) -> str:
        """Returns the most specific entry of the localisation for a property, or its name. Freezes the model."""
        out = _abi.String()
        self._key(name)
        call(lib.cst_entity_localized_property_name, self._handle, text(name, "name"), byref(out))
        return _abi.decode(out) or name

    @property
    def version_hash(self) -> bytes:
        """The 32 bytes that identify the entity's version in stores. Freezes the model."""
        self._model.freeze()
        out = (ctypes.c_uint8 * 32)()
        call(lib.cst_entity_version_hash, self._handle, out)
        return bytes(out)

    def property_version_hash(self, name: str) -> bytes | None:
        """Returns the 32 bytes that a property adds to the entity's hash.

        None if the property is transient or fetched, or does not exist.
        """
        self._model.freeze()
        out = (ctypes.c_uint8 * 32)()
        status = call(lib.cst_entity_property_version_hash, self._handle, text(name, "name"), out)
        return bytes(out) if status == _abi.OK else None

    @property
    def properties(self) -> Mapping[str, PropertyDescription]:
        """The properties by name, inherited ones first. Freezes the model."""
        if self._properties is None:
            self._model.freeze()
            self._properties = read_properties(self._handle)
            conversions = self._conversions_of()
            if conversions:
                self._properties = {
                    name: converted(each, conversions) if each.is_attribute else each
                    for name, each in self._properties.items()
                }
        return self._properties

    @property
    def object_class(self) -> type[ManagedObject]:
        """The Python class of the entity's objects, for isinstance. Freezes the model."""
        if self._class is None:
            from ..graph.entity_class import make_class

            self._class = make_class(self)
        return self._class

    def _conversions_of(self) -> Conversions:
        """Returns the conversions of the class that is bound to the entity or to the nearest superentity."""
        if self._conversions is not None:
            return self._conversions
        parent = self.parent
        return parent._conversions_of() if parent is not None else {}

    def _bind(self, own: type[ManagedObject], conversions: Conversions | None = None) -> None:
        if self._class is not None and self._bound_class is not own:
            raise InvalidArgumentError(
                f"{self.name} already has a class for its objects, so {own.__name__} cannot be bound to it; call bind "
                "before objects are fetched or inserted, and before object_class is read",
                entity=self.name,
                key="classes",
                value=own,
            )
        from ..graph.lifecycle import set_lifecycle

        set_lifecycle(self, own)
        self._bound_class = own
        self._conversions = conversions
        if conversions:
            for each in self._model.values():
                each._properties = None
        own._cst_bound = weakref.ref(self)

    def _element_at(self, path: str) -> PropertyDescription | None:
        """Returns the element at a path in a composite attribute, or None."""
        head, *rest = path.split(".")
        found = self.properties.get(head)
        for name in rest:
            found = next((each for each in found.elements if each.name == name), None) if found is not None else None
        return found

    def _key(self, name: str) -> PropertyDescription:
        """Returns the property of a name. The ModelError for an unknown name suggests a similar name, if any."""
        try:
            found = self.properties.get(name)
        except TypeError:
            found = None
        if found is None and self._class is not None and name in self._class._cst_aliases:
            found = self.properties.get(self._class._cst_aliases[name])
        if found is None and "." in require_instance(str, name, "name"):
            found = self._element_at(name)
        if found is None:
            # Only elements of composite attributes have a dot, so "boss.name" is not a misspelt property.
            elements = [element.path for each in self.properties.values() for element in each.elements]
            known = elements if "." in name else list(self.properties)
            raise ModelError(
                f'{self.name} does not have a property "{name}"{nearest(name, known)}',
                entity=self.name,
                key=name,
            )
        return found

    def _repr_html_(self) -> str | None:
        from ..graph.html import guarded, of_entity

        return guarded(of_entity, self)

    def __repr__(self) -> str:
        return f"<Entity {self.name}>"


def declared_entity(own: type[ManagedObject], key: str) -> str:
    """Returns the name of the entity that a custom class declares. `key` is the name of the parameter."""
    if own._cst_entity_name is None:
        raise InvalidArgumentError(
            f'{own.__name__} does not name its entity; write class {own.__name__}(ManagedObject, entity="...")',
            key=key,
            value=own,
        )
    return own._cst_entity_name
