"""Look-up of objects by the values of unique constraints."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import _abi
from ..errors import TypeMismatchError
from ..predicate.expression import Expression
from ..predicate.predicate import Operator, Predicate

if TYPE_CHECKING:
    from ..model.entity import Entity
    from ..model.model import Model
    from .context import Context
    from .object import ManagedObject

_constraints: weakref.WeakKeyDictionary[Model, dict[str, list[tuple[str, ...]]]] = weakref.WeakKeyDictionary()


class UniqueKey(NamedTuple):
    """The values of a unique constraint."""

    #: The name of the entity that declares the constraint.
    entity: str
    names: tuple[str, ...]
    values: tuple[Any, ...]


def constraints_of(entity: Entity) -> list[tuple[str, tuple[str, ...]]]:
    """Returns the unique constraints of an entity and its superentities, each with the name of its entity."""
    model = entity._model
    known = _constraints.get(model)
    if known is None:
        described = model.describe()["entities"]
        known = {each["name"]: [tuple(names) for names in each.get("uniqueConstraints", ())] for each in described}
        if model.is_frozen:
            _constraints[model] = known
    found: list[tuple[str, tuple[str, ...]]] = []
    owner: Entity | None = entity
    while owner is not None:
        found += [(owner.name, names) for names in known.get(owner.name, ())]
        owner = owner.parent
    return found


def equals(values: Mapping[str, Any]) -> Predicate:
    """Returns the condition that properties have these values. None finds null."""
    parts = [Predicate.comparison(Expression.key_path(name), Operator.EQUAL, value) for name, value in values.items()]
    return parts[0] if len(parts) == 1 else Predicate.all(*parts)


class UniqueIndex:
    """Finds the objects of a context that have the values of a unique constraint, including unsaved objects.

    The store is asked once for each key. Unsaved objects are found in a table, because a fetch would compare all of
    them with each key.
    """

    def __init__(self, context: Context, *, is_own: bool) -> None:
        self._context = context
        self._objects: dict[UniqueKey, ManagedObject] = {}
        self._indexed: set[tuple[str, tuple[str, ...]]] = set()
        self._is_own = is_own  # whether the context does not have changes other than those of the caller

    def keys(self, entity: Entity, values: Mapping[str, Any], match: tuple[str, ...] = ()) -> list[UniqueKey]:
        """Returns the keys for which all values are present, those of `match` or of the unique constraints."""
        constraints = [(entity.name, match)] if match else constraints_of(entity)
        return [
            UniqueKey(owner, names, tuple(values[name] for name in names))
            for owner, names in constraints
            if all(values.get(name) is not None for name in names)
        ]

    def note(self, item: ManagedObject, keys: Iterable[UniqueKey]) -> None:
        """Records an object that was inserted or changed."""
        for key in keys:
            self._objects[key] = item

    def find(self, entity: Entity, keys: Iterable[UniqueKey]) -> ManagedObject | None:
        """Returns the object that has the values of one of the keys, or None.

        TypeMismatchError if the object is not of `entity`.
        """
        for key in keys:
            item = self._objects.get(key)
            if item is None or not _has(item, key):
                item = self._unsaved(key) or self._stored(key)
            if item is None:
                continue
            found = item._cst_entity
            if not found.is_kind_of(entity):
                names = " and ".join(f"{entity.name}.{name}" for name in key.names)
                raise TypeMismatchError(
                    f"the unique value of {names} belongs to an object of {found.name}, not of {entity.name}; use the "
                    f"entity {found.name}, or change the value",
                    entity=entity.name,
                    key=key.names[0],
                    value=key.values[0],
                    object_uri=_uri(item),
                )
            return item
        return None

    def _unsaved(self, key: UniqueKey) -> ManagedObject | None:
        """Returns an object with unsaved changes of the caller's context."""
        constraint = (key.entity, key.names)
        if self._is_own:
            return None
        if constraint not in self._indexed:
            self._indexed.add(constraint)
            owner = self._context.model[key.entity]
            for item in (*self._context.inserted, *self._context.updated):
                if item._cst_entity.is_kind_of(owner):
                    values = tuple(type(item).__getitem__(item, name) for name in key.names)
                    self._objects.setdefault(UniqueKey(key.entity, key.names, values), item)
        found = self._objects.get(key)
        return found if found is not None and _has(found, key) else None

    def _stored(self, key: UniqueKey) -> ManagedObject | None:
        if any(_is_new(value) for value in key.values):
            return None  # no stored object refers to an object that is not stored
        condition = equals(dict(zip(key.names, key.values)))
        # Changed objects are compared here, so the store does not have to exclude them.
        found = self._context.fetch(key.entity, condition, limit=2, include_pending_changes=False)
        for item in found:
            if _has(item, key):
                self._objects[key] = item
                return item
        return None


def _has(item: ManagedObject, key: UniqueKey) -> bool:
    """Whether an object still has the values of a key, which a later record may have changed."""
    from .object import ManagedObject, state

    if state(item) & _abi.OBJECT_DELETED:
        return False
    return all(ManagedObject.__getitem__(item, name) == value for name, value in zip(key.names, key.values))


def _is_new(value: Any) -> bool:
    """Whether a value of a key is an object that was not saved yet."""
    from .object import ManagedObject, state

    return isinstance(value, ManagedObject) and bool(state(value) & _abi.OBJECT_INSERTED)


def _uri(item: ManagedObject) -> str:
    from .object import object_id

    return object_id(item).uri
