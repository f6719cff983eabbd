"""Values at key paths of objects, including paths through to-many relationships."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..model.entity import Entity
    from .object import ManagedObject

# The operators that reduce the members of a collection to one value; others return a collection.
_SINGLE = frozenset(("@count", "@sum", "@avg", "@min", "@max"))


def has_list(entity: Entity | None, path: str) -> bool:
    """Whether the value at a key path is a list: the values of the members of a to-many relationship."""
    steps = path.split(".")
    for place, name in enumerate(steps):
        description = entity.properties.get(name) if entity is not None else None
        if description is None or entity is None:
            return False
        if description.is_to_many:
            return not any(each in _SINGLE for each in steps[place + 1 :])
        entity = entity._model._entity_of(description.destination) if description.is_relationship else None
    return False


def value_at(item: ManagedObject, path: str) -> Any:
    """Returns the value at a key path of an object; a list for the values of several members."""
    entity = item._cst_entity
    if not has_list(entity, path):
        return type(item).__getitem__(item, path)
    from .key_value import value_for_key_path

    found = value_for_key_path(item, path)
    return list(found) if isinstance(found, (list, tuple, set, frozenset)) else found
