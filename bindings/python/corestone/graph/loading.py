"""Objects from records: nested dictionaries, names of objects, and updates of objects with the same unique values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .._abi.arguments import abridged, shown
from ..errors import CorestoneError, InvalidArgumentError, TypeMismatchError
from ..model.property import PropertyDescription
from ..predicate.expression import KeyPath, key_path, listed
from .object import ManagedObject, object_id
from .object_id import ObjectID
from .record_values import get_value, is_plain, set_value, setting, sorted_values
from .unique import UniqueIndex, UniqueKey, constraints_of

if TYPE_CHECKING:
    from ..model.entity import Entity
    from .context import Context


class _Pending(NamedTuple):
    """A relationship to an object that a later record may name."""

    item: ManagedObject
    relationship: PropertyDescription
    names: list[Any]
    place: str


class _Owner(NamedTuple):
    """The object whose relationship contains a nested record."""

    item: ManagedObject
    relationship: PropertyDescription


class Loader:
    """Inserts or updates an object of a context for each record.

    A record is a dictionary. The value of a relationship is the name of an object ("@id" of a record, or a URI), an
    object, an ID, a record, or a list of these. If a record is rejected, `undo` restores the context.
    """

    def __init__(
        self,
        context: Context,
        *,
        upserts: bool,
        skips_unknown: bool = False,
        is_own: bool = False,
    ) -> None:
        self.inserted: list[ManagedObject] = []
        self.updated: dict[ManagedObject, None] = {}
        #: The place of the record of each object, for messages.
        self.places: dict[ManagedObject, str] = {}
        self._context = context
        self._upserts = upserts
        self._skips_unknown = skips_unknown
        self._is_own = is_own  # the caller discards the context if a record is rejected
        self._index = UniqueIndex(context, is_own=is_own)
        self._named: dict[str, ManagedObject] = {}
        self._pending: list[_Pending] = []
        self._undo: list[Callable[[], Any]] = []

    def add(
        self,
        entity: Entity | None,
        record: Any,
        place: str = "",
        match: tuple[str, ...] = (),
        *,
        nested: bool = False,
        owner: _Owner | None = None,
    ) -> ManagedObject:
        """Inserts or updates the object of a record, and the objects of the records in its relationships.

        entity   the entity of a record without "@entity"
        match    the properties that identify the object, instead of a unique constraint
        owner    the relationship of a nested record, whose inverse can be part of a unique constraint
        """
        if not isinstance(record, Mapping):
            raise TypeMismatchError(f"a record must be a dictionary, not {shown(record)}", key="record", value=record)
        entity = self._entity(entity, record, is_nested=nested)
        name = record.get("@id")
        former = self._named_object(name, entity, is_nested=nested) if name is not None else None
        attributes, relationships = sorted_values(entity, record, skips_unknown=self._skips_unknown)
        values: dict[str, Any] = {leaf.path: value for leaf, value in attributes}
        keys: list[UniqueKey] = []
        if self._upserts:
            relationships = self._resolve(entity, relationships, values, match, owner, place)
            keys = self._keys(entity, values, match)
        if former is None and keys:
            former = self._index.find(entity, keys)
        item = self._insert(entity, attributes) if former is None else self._update(former, attributes)
        if isinstance(name, (str, int)):
            self._named[str(name)] = item
        if place:
            self.places[item] = place
        self._index.note(item, keys)
        for relationship, given in relationships:
            self._relate(item, relationship, given, place)
        return item

    def finish(self) -> None:
        """Sets the relationships to objects of later records."""
        pending, self._pending = self._pending, []
        for each in pending:
            members = [self._member(each.item._cst_entity, each.relationship, name) for name in each.names]
            wrong = [name for name, member in zip(each.names, members) if member is None]
            if wrong:
                entity, key = each.item._cst_entity.name, each.relationship.name
                kind = "the URI of an object in the store" if str(wrong[0]).startswith("x-coredata:") else (
                    'the "@id" of a record'
                )  # fmt: skip
                raise InvalidArgumentError(
                    f"{at(each.place)}{entity}.{key} refers to {shown(wrong[0])}, which is not {kind}; add that "
                    "object, or correct the reference",
                    entity=entity,
                    key=key,
                    value=wrong[0],
                )
            self._set_members(each.item, each.relationship, [member for member in members if member is not None])

    def undo(self) -> None:
        """Restores the context after a record was rejected."""
        while self._undo:
            self._undo.pop()()
        self._context.process_pending_changes()

    # ---- entities and names

    def _entity(self, entity: Entity | None, record: Mapping[str, Any], *, is_nested: bool) -> Entity:
        name = record.get("@entity")
        if name is None:
            if entity is None:
                raise InvalidArgumentError(
                    'the record does not have an entity; pass entity, or add the key "@entity"', key="@entity"
                )
            found = entity
        else:
            found = self._context.model[name]
            if is_nested and entity is not None and not found.is_kind_of(entity):
                raise TypeMismatchError(
                    f"a record of {found.name} cannot be the value of a relationship to {entity.name}; name an entity "
                    f"that inherits from {entity.name}",
                    entity=entity.name,
                    key="@entity",
                    value=name,
                )
        if found.is_abstract:
            raise InvalidArgumentError(
                f'{found.name} is abstract and cannot have objects; name one of its subentities as "@entity"',
                entity=found.name,
                key="@entity",
                value=found.name,
            )
        return found

    def _named_object(self, name: Any, entity: Entity, *, is_nested: bool) -> ManagedObject | None:
        """Returns the existing object of an "@id", or None for a name that is not in use yet."""
        found = self._named.get(str(name))
        if found is None:
            found = self._by_uri(name)
            if found is not None and not is_nested and not self._upserts:
                raise InvalidArgumentError(
                    f"the object {shown(name)} already exists; pass upsert=True to update it, or leave out its "
                    '"@id" to insert another one',
                    entity=entity.name,
                    key="@id",
                    value=name,
                    object_uri=str(name),
                )
        elif not is_nested:
            raise InvalidArgumentError(
                f'the "@id" {shown(name)} belongs to an earlier record; use each "@id" once',
                entity=entity.name,
                key="@id",
                value=name,
            )
        if found is not None and not found._cst_entity.is_kind_of(entity):
            raise TypeMismatchError(
                f'the "@id" {shown(name)} belongs to an object of {found._cst_entity.name}, not of {entity.name}',
                entity=entity.name,
                key="@id",
                value=name,
            )
        return found

    def _by_uri(self, name: Any) -> ManagedObject | None:
        if isinstance(name, ObjectID) or (isinstance(name, str) and name.startswith("x-coredata:")):
            which = self._context._id(name)
            return None if which is None else self._context.existing(which)
        return None

    # ---- keys

    def _resolve(
        self,
        entity: Entity,
        relationships: list[tuple[PropertyDescription, Any]],
        values: dict[str, Any],
        match: tuple[str, ...],
        owner: _Owner | None,
        place: str,
    ) -> list[tuple[PropertyDescription, Any]]:
        """Adds the targets of to-one relationships that identify the object to its values.

        Returns the relationships with these targets. A name that a later record may have is not resolved.
        """
        names = set(match or (name for _, each in constraints_of(entity) for name in each))
        resolved = []
        for relationship, given in relationships:
            target = given
            if given is not None and relationship.name in names and not relationship.is_to_many:
                found = self._member(entity, relationship, given, place)
                if found is not None:
                    target = values[relationship.name] = found
            resolved.append((relationship, target))
        inverse = owner.relationship.inverse if owner is not None else None
        if owner is not None and inverse in names and inverse not in values and not entity._key(inverse).is_to_many:
            values[inverse] = owner.item
        return resolved

    def _keys(self, entity: Entity, values: Mapping[str, Any], match: tuple[str, ...]) -> list[UniqueKey]:
        for name in match:
            description = entity._key(name)
            is_single = description.is_attribute or (description.is_relationship and not description.is_to_many)
            if not is_single or values.get(name) is None:
                what = "a value" if is_single else "an attribute or a to-one relationship"
                raise InvalidArgumentError(
                    f"{entity.name}.{name} is part of match, but the record does not have {what} for it; add the "
                    "value, or match other properties",
                    entity=entity.name,
                    key=name,
                )
        return self._index.keys(entity, values, match)

    # ---- attributes

    def _insert(self, entity: Entity, attributes: list[tuple[PropertyDescription, Any]]) -> ManagedObject:
        plain = {leaf.name: value for leaf, value in attributes if is_plain(leaf)}
        item: ManagedObject = self._context.insert(entity, **plain)
        self.inserted.append(item)
        if not self._is_own:
            self._undo.append(lambda: self._context.delete(item))
        for leaf, value in attributes:
            if not is_plain(leaf):
                set_value(item, leaf, value)
        return item

    def _update(self, item: ManagedObject, attributes: list[tuple[PropertyDescription, Any]]) -> ManagedObject:
        if item not in self.places or self._is_own:
            self.updated[item] = None
        for leaf, value in attributes:
            former = get_value(item, leaf)
            if former == value and type(former) is type(value):
                continue  # an equal value would mark the object as changed
            if not self._is_own:
                self._undo.append(setting(item, leaf, former))
            set_value(item, leaf, value)
        return item

    # ---- relationships

    def _relate(self, item: ManagedObject, relationship: PropertyDescription, given: Any, place: str) -> None:
        entity = item._cst_entity.name
        if relationship.is_to_many:
            if given is None:
                return
            if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
                raise TypeMismatchError(
                    f'{entity}.{relationship.name} takes a list of records or names of objects ("@id"), not '
                    f"{shown(given)}",
                    entity=entity,
                    key=relationship.name,
                    value=given,
                )
            names = list(given)
        else:
            names = [] if given is None else [given]
        owner = _Owner(item, relationship)
        members = [self._member(item._cst_entity, relationship, name, place, owner) for name in names]
        if any(member is None for member in members):
            resolved = [name if member is None else member for name, member in zip(names, members)]
            self._pending.append(_Pending(item, relationship, resolved, place))
            return
        self._set_members(item, relationship, [member for member in members if member is not None])

    def _member(
        self,
        source: Entity,
        relationship: PropertyDescription,
        given: Any,
        place: str = "",
        owner: _Owner | None = None,
    ) -> ManagedObject | None:
        """Returns the object to which a value of a relationship refers; None for a name that is not known yet."""
        target = self._context.model._entity_of(relationship.destination)
        entity = source.name
        found: ManagedObject | None
        if isinstance(given, Mapping):
            return self.add(target, given, place, nested=True, owner=owner)
        if isinstance(given, ManagedObject):
            found = given if given._cst_context is self._context else self._context.get(object_id(given))
        elif isinstance(given, (str, ObjectID)) or (isinstance(given, int) and not isinstance(given, bool)):
            found = self._named.get(str(given)) or self._by_uri(given)
        else:
            raise TypeMismatchError(
                f'{entity}.{relationship.name} takes a record or the name of an object ("@id"), not {shown(given)}',
                entity=entity,
                key=relationship.name,
                value=given,
            )
        if found is not None and not found._cst_entity.is_kind_of(target):
            raise TypeMismatchError(
                f"{entity}.{relationship.name} takes objects of {target.name}, not of {found._cst_entity.name}",
                entity=entity,
                key=relationship.name,
                value=given if isinstance(given, (str, int)) else None,
                object_uri=object_id(found).uri,
            )
        return found

    def _set_members(
        self, item: ManagedObject, relationship: PropertyDescription, members: list[ManagedObject]
    ) -> None:
        name = relationship.name
        former = getattr(item, name)
        if not relationship.is_to_many:
            target = members[0] if members else None
            if former is not target and former != target:
                self._revert(item, name, former)
                setattr(item, name, target)
        elif relationship.is_ordered:
            if list(former) != members:
                self._revert(item, name, list(former))
                setattr(item, name, list(dict.fromkeys(members)))
        else:  # members that were added through the inverse are kept
            added = [member for member in members if member not in former]
            if added:
                self._revert(item, name, set(former))
                former.update(added)

    def _revert(self, item: ManagedObject, name: str, former: Any) -> None:
        if not self._is_own:
            self._undo.append(lambda: setattr(item, name, former))


def at(place: str) -> str:
    """Returns the beginning of a message about a record at a place."""
    return f"{place}: " if place else ""


def placed(error: CorestoneError, place: str) -> CorestoneError:
    """Returns the error with the place of the record in its message."""
    if place and not error.message.startswith(f"{place}: "):
        error.message = f"{place}: {error.message}"
        error.args = (error.message,)
    return error


def names_of(match: KeyPath | Iterable[KeyPath] | None) -> tuple[str, ...]:
    """Returns the properties of `match`: a name or a key, several of them, or no names for None."""
    return tuple(key_path(each, "match") for each in listed(match))


def require_key(entity: Entity, record: Mapping[str, Any], match: tuple[str, ...]) -> None:
    """Raises an error if a record does not have the values of any unique constraint."""
    if match or record.get("@id") is not None:
        return
    constraints = [names for _, names in constraints_of(entity)]
    if any(all(record.get(name) is not None for name in names) for names in constraints):
        return
    known = abridged([" and ".join(names) for names in constraints])
    found = f"does not have a value for the unique constraint ({known})" if constraints else (
        f"cannot be compared with existing objects, because {entity.name} does not have a unique constraint"
    )  # fmt: skip
    raise InvalidArgumentError(
        f"a record of {entity.name} {found}; pass match, the properties that identify an object",
        entity=entity.name,
        key="match",
    )
