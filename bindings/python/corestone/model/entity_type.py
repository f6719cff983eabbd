"""The metaclass of object classes: on a class, a property's name is a key for queries.

Each access to a property through a class creates a key. Access through an object does not use the metaclass.
"""

from __future__ import annotations

import weakref
from abc import ABCMeta
from typing import TYPE_CHECKING, Any

from .._abi.wrappers import accelerator, with_attributes
from .property import nearest, no_attribute

if TYPE_CHECKING:
    from .entity import Entity
    from .property import PropertyDescription


_PROPERTIES = frozenset((property,) if accelerator is None else (property, accelerator.Property))


class EntityType(ABCMeta):
    """`Employee.age` is a `Key` if the entity has that property. Because of ABCMeta, bases can be abstract classes."""

    # ABCMeta's methods are slower, and only needed for classes with registered subclasses.
    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__

    # A weak reference to the entity to which the class was bound last; see Model.bind.
    _cst_bound: weakref.ref[Entity] | None = None

    def __new__(mcls, name: str, bases: tuple[type, ...], body: dict[str, Any], **options: Any) -> EntityType:
        return super().__new__(mcls, name, with_attributes(bases, body), body, **options)

    if not TYPE_CHECKING:  # type checkers report unknown names; see DynamicType

        def __getattribute__(cls, name: str) -> Any:
            found = super().__getattribute__(name)
            if type(found) in _PROPERTIES:
                entity = _entity(cls)
                if entity is not None:
                    known = entity.properties
                    # Generated classes add an underscore to a name that is reserved in Python, as in `class_`.
                    own = name if name in known else name.removesuffix("_")
                    if own in known:
                        return _key(entity, own)
            return found

        def __getattr__(cls, name: str) -> Any:
            """Returns a key for a property that a custom class does not define itself, because the model defines it."""
            entity = _entity(cls)
            if name.startswith("_") or (entity is None and cls._cst_entity_name is None):
                # Python itself looks up names that begin with an underscore.
                near = "" if name.startswith("_") else nearest(name, [each for each in dir(cls) if each[0] != "_"])
                raise no_attribute(f'the class {cls.__name__} does not have an attribute "{name}"{near}', name)
            return _key(entity, name)


if TYPE_CHECKING:

    class DynamicType(EntityType):
        """The metaclass of DynamicObject: every name is a key for queries."""

        def __getattr__(cls, name: str) -> Any: ...


def _entity(cls: EntityType) -> Entity | None:
    """Returns the entity of the objects of a class, or None if it is unknown."""
    for kind in cls.__mro__:
        own = kind.__dict__.get("_cst_entity")
        if own is not None:
            return own  # type: ignore[no-any-return]
        bound = kind.__dict__.get("_cst_bound")
        if bound is not None:
            return bound()  # type: ignore[no-any-return]
    return None


def _key(entity: Entity | None, name: str) -> Any:
    from ..predicate.query import Key

    property, target = described(entity, name)
    return Key(name, target, owner=entity, property=property)


def described(entity: Entity | None, name: str) -> tuple[PropertyDescription | None, Entity | None]:
    """Returns a property of an entity, and the destination of a relationship. None: unknown, or not a relationship.

    AttributeError for a property that no object of the entity can have.
    """
    if entity is None or name.startswith("@") or name == "self":
        return None, None
    description = next((each.properties[name] for each in _family(entity) if name in each.properties), None)
    if description is None:
        near = nearest(name, entity.properties)
        raise no_attribute(f'{entity.name} does not have a property "{name}"{near}', name)
    return description, entity._model._entity_of(description.destination) if description.is_relationship else None


def _family(entity: Entity) -> list[Entity]:
    """Returns the entity and all of its subentities."""
    return [entity, *(each for child in entity.children for each in _family(child))]
