"""Editing of existing entities and properties in a model that is not frozen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ctypes import byref
from typing import TYPE_CHECKING, Any

from .. import _abi
from .._abi import lib, optional_text, text, texts, values
from .._abi.arguments import shown
from .._abi.call import call, made
from ..codes import AttributeType, DeleteRule
from ..errors import ModelError
from ..predicate.predicate import Predicate
from .archive import read_json
from .definition import attribute_type, delete_rule
from .property import PropertyDescription, nearest, read_properties
from .transformer import to_bytes

if TYPE_CHECKING:
    from .entity import Entity
    from .model import Model


class Unset:
    """The default of arguments for which None has a meaning."""

    def __repr__(self) -> str:
        return "<unset>"


UNSET = Unset()


def add_validation(function: Any, handle: int, validation: Mapping[str | Predicate, str] | None) -> None:
    """Adds validation conditions to a property. `function` is the library function for this kind of property."""
    for condition, warning in (validation or {}).items():
        predicate = condition if isinstance(condition, Predicate) else Predicate(condition)
        call(function, handle, predicate._handle, text(warning, f"validation[{shown(condition)}]"))


def user_info_texts(key: str, value: str) -> tuple[_abi.InputString, _abi.InputString]:
    """Returns the key and the value of an entry in the parameter `user_info`."""
    return text(key, "a key of user_info"), text(value, f"user_info[{shown(key)}]")


class EntityEditing:
    """The editing methods of Entity. Those without another result return the entity."""

    _handle: int
    _model: Model
    name: str

    def _itself(self) -> Entity:
        return self._model[self.name]

    # The entity

    def rename(self, name: str) -> Entity:
        """Renames the entity, including in configurations, fetch requests and the localisation."""
        call(lib.cst_entity_rename, self._handle, text(name, "name"))
        self._model._renamed(self.name, name)
        self.name = name
        return self._itself()

    @property
    def class_name(self) -> str:
        """The class name of the entity's objects on Apple's platforms; "NSManagedObject" by default."""
        return str(self.describe().get("className", "NSManagedObject"))

    @class_name.setter
    def class_name(self, name: str | None) -> None:
        call(lib.cst_entity_set_class_name, self._handle, optional_text(name, "name"))

    @property
    def renaming_identifier(self) -> str | None:
        """The name of the entity in models of older versions, if it differs."""
        return self.describe().get("renamingIdentifier")

    @renaming_identifier.setter
    def renaming_identifier(self, identifier: str | None) -> None:
        call(lib.cst_entity_set_renaming_identifier, self._handle, optional_text(identifier, "identifier"))

    @property
    def version_hash_modifier(self) -> str | None:
        """A string that is part of the hashed content, to change the version hash deliberately; None without one."""
        return self.describe().get("versionHashModifier")

    @version_hash_modifier.setter
    def version_hash_modifier(self, modifier: str | None) -> None:
        call(lib.cst_entity_set_version_hash_modifier, self._handle, optional_text(modifier, "modifier"))

    def set_user_info(self, key: str, value: str | None, *, of: str | None = None) -> Entity:
        """Sets a value of the user info of the entity, or of the property `of`. None removes the value.

        The user info of a fetched property can be set while the model is in use. The next read of the property fetches
        its value again.
        """
        if of is None:
            call(lib.cst_entity_set_user_info, self._handle, text(key, "key"), optional_text(value, "value"))
        else:
            call(
                lib.cst_entity_set_property_user_info,
                self._handle,
                text(of, "of"),
                text(key, "key"),
                optional_text(value, "value"),
            )
        return self._itself()

    def all_user_info(self, of: str | None = None) -> dict[str, str]:
        """Returns the whole user info of the entity, or of the property `of`."""
        found: dict[str, str] = self._json(lib.cst_entity_copy_user_info, of)
        return found

    def describe(self, of: str | None = None) -> dict[str, Any]:
        """Returns the whole description of the entity itself, or of its own or inherited property `of`."""
        found: dict[str, Any] = self._json(lib.cst_entity_copy_json, of)
        return found

    def _json(self, function: Any, of: str | None) -> Any:
        buffer = _abi.Buffer()
        if call(function, self._handle, optional_text(of, "of"), byref(buffer)) != _abi.OK:
            known = nearest(of or "", read_properties(self._handle))
            raise ModelError(f'{self.name} does not have a property "{of}"{known}', entity=self.name, key=of)
        return read_json(buffer)

    def index(
        self,
        name: str,
        *elements: str | tuple[str, str | AttributeType],
        where: str | Predicate | None = None,
        kind: str = "binary",
    ) -> Entity:
        """Adds a fetch index.

        An element is the name of an attribute or of a to-one relationship, with "-" before it for descending
        order, or an expression and the type of its values: ("price * count", "decimal"), ("entity", "undefined"). The
        index contains only objects that satisfy `where`. The kind "rtree" is for ranges of numbers.
        """
        if kind not in ("binary", "rtree"):
            raise ModelError(
                f'the index "{name}" of {self.name}: kind must be "binary" or "rtree", not {shown(kind)}',
                entity=self.name,
                key=name,
                value=kind,
            )
        condition = Predicate(where) if isinstance(where, str) else where
        flags = _abi.INDEX_RTREE if kind == "rtree" else 0
        listed = [self._element(name, element, place, flags) for place, element in enumerate(elements)]
        array = (_abi.IndexElement * len(listed))(*listed)
        handle = condition._handle if condition is not None else None
        call(lib.cst_entity_add_fetch_index, self._handle, text(name, "name"), len(listed), array, handle)
        return self._itself()

    def _element(
        self, index: str, element: str | tuple[str, str | AttributeType], place: int, flags: int
    ) -> _abi.IndexElement:
        if isinstance(element, tuple):
            kind = attribute_type(element[1], self.name, index, f'the index "{index}" of {self.name}')
            return _abi.IndexElement(_abi.null_text(), text(element[0], f"elements[{place}][0]"), int(kind), flags)
        if element.startswith("-"):
            flags |= _abi.INDEX_DESCENDING
        return _abi.IndexElement(text(element.lstrip("+-"), f"elements[{place}]"), _abi.null_text(), 0, flags)

    def fetched(
        self, name: str, entity: Entity | str, predicate: str | Predicate | None = None, **options: Any
    ) -> Entity:
        """Adds a fetched property, or replaces the request of a fetched property that the entity declares.

        The value of the property is a tuple of the fetched objects. In the predicate, $FETCH_SOURCE is the object whose
        property is read, and $FETCHED_PROPERTY is this property ($FETCHED_PROPERTY.userInfo.key). `options` are `sort`,
        `limit`, `offset` and `include_subentities`, as in Context.fetch. The fetch runs at the first read of the value,
        and at the first read after the object was refreshed or the user info of the property changed.
        """
        request = self._model._request(entity, predicate, options)
        known = read_properties(self._handle).get(name)
        change = known is not None and known.is_fetched and known.entity == self._handle
        function = lib.cst_entity_set_fetched_request if change else lib.cst_entity_add_fetched_property
        call(function, self._handle, text(name, "name"), request.handle)
        return self._itself()

    def validator(
        self, which: str | Callable[[Any, str], None], function: Callable[[Any, Any], Any] | str | None = None
    ) -> Entity:
        """Adds a function that checks values or objects before each save, and in the `validate` methods.

        `validator("name", function)` checks the values of a property: function(object, value) returns None if the value
        is valid, or another value to be saved instead, or raises an exception. For a to-many relationship or a
        composite attribute the value is None; read the members or elements from the object. If `function` is a str, it
        is the name of a function registered with register_function. That function returns whether a value is valid, or
        a str with the reason why it is invalid. `validator(function)` checks whole objects whose values are valid:
        function(object, purpose) raises an exception for an invalid object; the purpose is "insert", "update" or
        "delete".

        The functions run on the queue of the context and must not save. Their exceptions become ValidationErrors with
        entity, key, value and object. A CorestoneError keeps its code; other exceptions have the code 1550. Subentities
        inherit the validators.
        """
        from .validators import add_validator

        if callable(which):
            add_validator(self._handle, None, which)
        elif isinstance(function, str):
            call(lib.cst_entity_add_validator_function, self._handle, text(which, "which"), text(function, "function"))
        elif function is not None:
            add_validator(self._handle, which, function)
        else:
            key, given = (which, None) if isinstance(which, str) else (None, which)
            place = self.name if key is None else f"{self.name}.{key}"
            choices = "a function" if key is None else "a function or the name of a registered function"
            raise ModelError(
                f"the validator of {place} must be {choices}, not {shown(given)}",
                entity=self.name,
                key=key,
                value=given,
            )
        return self._itself()

    def remove_index(self, name: str) -> bool:
        """Removes a fetch index. Returns False if there is no index of that name."""
        return call(lib.cst_entity_remove_index, self._handle, text(name, "name")) == _abi.OK

    def remove_unique(self, *attributes: str) -> bool:
        """Removes the unique constraint of these attributes. Returns False if there is no such constraint."""
        names = texts(list(attributes), "attributes")
        return call(lib.cst_entity_remove_unique_constraint, self._handle, len(attributes), names) == _abi.OK

    # The properties of the entity

    def remove(self, name: str) -> Entity:
        """Removes a property of any kind, and the indexes and unique constraints that name it."""
        call(lib.cst_entity_remove_property, self._handle, text(name, "name"))
        self._model._forget_waiting(self.name, name)
        return self._itself()

    def rename_property(self, name: str, new_name: str) -> Entity:
        """Renames a property and the references to it.

        The references are in indexes, constraints, validators, the localisation, and key paths of predicates,
        derivations and sort descriptors.
        """
        call(lib.cst_entity_rename_property, self._handle, text(name, "name"), text(new_name, "new_name"))
        self._model._rename_waiting(self.name, name, new_name)
        return self._itself()

    def change(
        self,
        name: str,
        *,
        type: str | AttributeType | None = None,
        optional: bool | None = None,
        transient: bool | None = None,
        indexed: bool | None = None,
        external_storage: bool | None = None,
        preserved: bool | None = None,
        allows_nan: bool | None = None,
        spotlight: bool | None = None,
        external_record: bool | None = None,
        cloud_encryption: bool | None = None,
        ignores_changes: bool | None = None,
        to_many: bool | None = None,
        ordered: bool | None = None,
        default: Any = UNSET,
        validation: Mapping[str | Predicate, str] | None = None,
        minimum: Any = UNSET,
        maximum: Any = UNSET,
        pattern: Any = UNSET,
        transformer: Any = UNSET,
        value_class: Any = UNSET,
        derived: Any = UNSET,
        derived_filter: str | None = None,
        destination: Entity | str | None = None,
        inverse: Any = UNSET,
        delete: str | DeleteRule | None = None,
        renaming_identifier: Any = UNSET,
        version_hash_modifier: Any = UNSET,
        user_info: Mapping[str, str | None] | None = None,
    ) -> Entity:
        """Changes a property that the entity itself declares; omitted arguments change nothing.

        None removes a default, a pattern, a transformer, a value class, a derivation, an inverse, an identifier or a
        modifier. Another type removes settings that it does not support. `validation` replaces all conditions,
        including bounds and pattern. Passing `minimum` or `maximum` replaces both bounds. The bounds of a relationship
        are those of its number of members. `inverse` names a relationship of the destination. In `user_info`, None
        removes a key.
        """
        flags = {
            _abi.PROPERTY_OPTIONAL: optional,
            _abi.PROPERTY_TRANSIENT: transient,
            _abi.PROPERTY_TO_MANY: to_many,
            _abi.PROPERTY_ORDERED: ordered,
            _abi.PROPERTY_INDEXED: indexed,
            _abi.PROPERTY_EXTERNAL_STORAGE: external_storage,
            _abi.PROPERTY_PRESERVED: preserved,
            _abi.PROPERTY_ALLOWS_NAN: allows_nan,
            _abi.PROPERTY_SPOTLIGHT: spotlight,
            _abi.PROPERTY_EXTERNAL_RECORD: external_record,
            _abi.PROPERTY_CLOUD_ENCRYPTION: cloud_encryption,
            _abi.PROPERTY_IGNORES_CHANGES: ignores_changes,
        }
        entity, key = self._handle, text(name, "name")
        if type is not None:
            attribute = self._attribute(name, "type")
            call(lib.cst_attribute_set_type, attribute, int(attribute_type(type, self.name, name)))
        mask = sum(flag for flag, value in flags.items() if value is not None)
        if mask:
            call(lib.cst_entity_set_property_flags, entity, key, mask, sum(flag for flag in flags if flags[flag]))
        if destination is not None:
            target = self._model[destination] if isinstance(destination, str) else destination
            call(lib.cst_relationship_set_destination, self._relation(name, "destination"), target._handle)
        if inverse is not UNSET:
            relation = self._relation(name, "inverse")
            call(lib.cst_relationship_set_inverse, relation, self._inverse(name, inverse))
        if delete is not None:
            relation = self._relation(name, "delete")
            call(lib.cst_relationship_set_delete_rule, relation, int(delete_rule(delete, self.name, name)))
        if validation is not None:
            call(lib.cst_entity_remove_validation, entity, key)
            self._add_validation(name, validation)
        if minimum is not UNSET or maximum is not UNSET:
            self._set_bounds(name, *(None if bound is UNSET else bound for bound in (minimum, maximum)))
        if pattern is not UNSET:
            attribute = self._attribute(name, "pattern")
            call(lib.cst_attribute_set_pattern, attribute, optional_text(pattern, "pattern"))
        if default is not UNSET:
            known = self._property(name)
            named = known.transformer if transformer is UNSET else transformer
            self._set_default(self._attribute(name, "default"), name, known.attribute_type, default, named)
        if transformer is not UNSET:
            attribute = self._attribute(name, "transformer")
            call(lib.cst_attribute_set_transformer_name, attribute, optional_text(transformer, "transformer"))
        if value_class is not UNSET:
            attribute = self._attribute(name, "value_class")
            call(lib.cst_attribute_set_value_class, attribute, optional_text(value_class, "value_class"))
        if derived is not UNSET:
            texts_of = optional_text(derived, "derived"), optional_text(derived_filter, "derived_filter")
            call(lib.cst_attribute_set_derivation, self._attribute(name, "derived"), *texts_of)
        if renaming_identifier is not UNSET:
            call(
                lib.cst_entity_set_property_renaming_identifier,
                entity,
                key,
                optional_text(renaming_identifier, "renaming_identifier"),
            )
        if version_hash_modifier is not UNSET:
            call(
                lib.cst_entity_set_property_version_hash_modifier,
                entity,
                key,
                optional_text(version_hash_modifier, "version_hash_modifier"),
            )
        for word, value in (user_info or {}).items():
            self.set_user_info(word, value, of=name)
        return self._itself()

    def _fill(
        self,
        handle: int,
        path: str,
        kind: AttributeType,
        *,
        default: Any = UNSET,
        minimum: Any = None,
        maximum: Any = None,
        pattern: str | None = None,
        validation: Mapping[str | Predicate, str] | None = None,
        transformer: str | None = None,
        derived: str | None = None,
        derived_filter: str | None = None,
        user_info: Mapping[str, str] | None = None,
    ) -> None:
        """Sets the options of a new attribute, except its flags."""
        if transformer is not None:
            call(lib.cst_attribute_set_transformer_name, handle, text(transformer, "transformer"))
        if derived is not None:
            call(
                lib.cst_attribute_set_derivation,
                handle,
                text(derived, "derived"),
                optional_text(derived_filter, "derived_filter"),
            )
        if default is not UNSET:
            self._set_default(handle, path, kind, default, transformer)
        if minimum is not None or maximum is not None:
            call(lib.cst_attribute_set_bounds, handle, *self._bounds(kind, minimum, maximum, path))
        if pattern is not None:
            call(lib.cst_attribute_set_pattern, handle, text(pattern, "pattern"))
        add_validation(lib.cst_attribute_add_validation, handle, validation)
        for key, value in (user_info or {}).items():
            call(lib.cst_attribute_set_user_info, handle, *user_info_texts(key, value))

    def _add_validation(self, name: str, validation: Mapping[str | Predicate, str]) -> None:
        if self._property(name).is_relationship:
            add_validation(lib.cst_relationship_add_validation, self._relation(name), validation)
        else:
            add_validation(lib.cst_attribute_add_validation, self._attribute(name, "validation"), validation)

    def _set_default(self, handle: int, path: str, kind: AttributeType, default: Any, transformer: str | None) -> None:
        if kind == AttributeType.TRANSFORMABLE:
            default = to_bytes(transformer, default, self.name, path, None, True)
        call(lib.cst_attribute_set_default, handle, self._value(kind, default, path).ref)

    def _property(self, name: str) -> PropertyDescription:
        known = read_properties(self._handle)
        if name not in known:
            raise ModelError(
                f'{self.name} does not have a property "{name}"{nearest(name, known)}', entity=self.name, key=name
            )
        return known[name]

    def _attribute(self, name: str, option: str | None = None) -> int:
        """Returns the handle of an attribute. `option` is the argument of `change` that requires one."""
        return made(lib.cst_entity_attribute, self._handle, text(name, "name")) or self._not_of_kind(
            name, "an attribute", option
        )

    def _relation(self, name: str, option: str | None = None) -> int:
        """Returns the handle of a relationship. `option` is the argument of `change` that requires one."""
        return made(lib.cst_entity_relationship, self._handle, text(name, "name")) or self._not_of_kind(
            name, "a relationship", option
        )

    def _not_of_kind(self, name: str, kind: str, option: str | None) -> int:
        known = self._property(name)
        found = "an attribute" if known.is_attribute else "a fetched property" if known.is_fetched else "a relationship"
        raise ModelError(
            f"{self.name}.{name} is not {kind} but {found}; pass the name of {kind}"
            f"{f', or omit {option}' if option else ''}",
            entity=self.name,
            key=name,
        )

    def _inverse(self, name: str, inverse: str | None) -> int | None:
        if inverse is None:
            return None
        target = self._model._entity_of(self._property(name).destination)
        return target._relation(inverse)

    def _value(self, kind: AttributeType, value: Any, name: str) -> values.Cell:
        cell = values.Cell()
        values.encode(cell.value, values.suited(kind, value), self.name, name)
        return cell

    def _set_bounds(self, name: str, minimum: Any, maximum: Any) -> None:
        description = self._property(name)
        if description.is_relationship:
            call(lib.cst_relationship_set_counts, self._relation(name), minimum or 0, maximum or 0)
            return
        bounds = self._bounds(description.attribute_type, minimum, maximum, name)
        call(lib.cst_attribute_set_bounds, self._attribute(name, "minimum and maximum"), *bounds)

    def _bounds(self, kind: AttributeType, minimum: Any, maximum: Any, name: str) -> list[Any]:
        # The bounds of a string are lengths.
        kind = AttributeType.INTEGER_64 if kind == AttributeType.STRING else kind
        cells = [None if bound is None else self._value(kind, bound, name) for bound in (minimum, maximum)]
        return [cell.ref if cell else None for cell in cells]
