"""The type of classes of objects: on a class, a property's name is a key for queries.

Objects do not come here. A key is made for each access of a class, so it costs a getter of an object nothing.
"""

from __future__ import annotations

import weakref
from abc import ABCMeta
from typing import TYPE_CHECKING, Any

from .property import nearest

if TYPE_CHECKING:
    from .entity import Entity


class EntityType(ABCMeta):
    """`Employee.age` on a class is a `Key`, where the entity has that property. Classes may have abstract bases too."""

    # Those of ABCMeta are slower, and serve classes that others register at.
    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__

    # The class was bound to that entity last; see Model.bind.
    _cst_bound: weakref.ref[Entity] | None = None

    def __getattribute__(cls, name: str) -> Any:
        found = super().__getattribute__(name)
        if type(found) is property:
            entity = _entity(cls)
            if entity is not None:
                known = entity.properties
                # Generated classes write class_ for a property whose name Python needs itself.
                own = name if name in known else name.removesuffix("_")
                if own in known:
                    return _key(entity, own)
        return found

    def __getattr__(cls, name: str) -> Any:
        """For a class of one's own, whose properties are the model's business."""
        entity = _entity(cls)
        if name.startswith("_") or (entity is None and cls._cst_entity_name is None):
            raise AttributeError(f'the class {cls.__name__} does not have an attribute "{name}"')
        return _key(entity, name)


def _entity(cls: EntityType) -> Entity | None:
    """The entity whose objects the class is for, as far as it is known."""
    for kind in cls.__mro__:
        own = kind.__dict__.get("_cst_entity")
        if own is not None:
            return own  # type: ignore[no-any-return]
        bound = kind.__dict__.get("_cst_bound")
        if bound is not None:
            return bound()  # type: ignore[no-any-return]
    return None


def _key(entity: Entity | None, name: str) -> Any:
    from .query import Key

    return Key(name, destination(entity, name))


def destination(entity: Entity | None, name: str) -> Entity | None:
    """Where the keys behind a property begin; None where nothing is known. Raises AttributeError for what no object of
    the entity can have."""
    if entity is None or name.startswith("@") or name == "self":
        return None
    description = next((each.properties[name] for each in _family(entity) if name in each.properties), None)
    if description is None:
        raise AttributeError(f'{entity.name} does not have a property "{name}"{nearest(name, entity.properties)}')
    return entity._model._entity_of(description.destination) if description.is_relationship else None


def _family(entity: Entity) -> list[Entity]:
    """The entity and those that inherit from it."""
    return [entity, *(each for child in entity.children for each in _family(child))]
