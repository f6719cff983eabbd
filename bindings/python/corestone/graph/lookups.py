"""Look-ups that find an object or insert it, for contexts and results, and the methods of results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, cast

from .._abi.arguments import shown
from ..errors import CorestoneError, InvalidArgumentError
from .typing import Item_co

if TYPE_CHECKING:
    from ..model.entity import Entity
    from ..predicate.expression import KeyPath
    from ..predicate.predicate import Predicate
    from .context import Context
    from .object import ManagedObject
    from .results import Results


def get_or_create(
    context: Context, entity: Entity, defaults: Mapping[str, Any] | None, values: Mapping[str, Any]
) -> tuple[Any, bool]:
    """Returns the object of an entity that has these values, or a new one, and whether it is new."""
    from .unique import equals

    if not values:
        raise InvalidArgumentError(
            f"get_or_create of {entity.name} does not have values to find an object by; pass them as keywords, such as "
            'name="news"',
            entity=entity.name,
            key="values",
        )
    for name in values:
        description = entity._key(name)
        if description.is_to_many:
            raise InvalidArgumentError(
                f"{entity.name}.{name} is a to-many relationship, by which get_or_create does not find objects; call "
                "fetch with a predicate",
                entity=entity.name,
                key=name,
                value=values[name],
            )
    found = context.fetch(entity, equals(values), limit=2)
    if len(found) > 1:
        raise InvalidArgumentError(
            f"several objects of {entity.name} have the values {_shown(values)}; pass more values, or call fetch",
            entity=entity.name,
            key=next(iter(values)),
            value=next(iter(values.values())),
        )
    if len(found):
        return found[0], False
    return context.insert(entity, **{**(defaults or {}), **values}), True


def _shown(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={shown(value)}" for name, value in values.items())


def upsert(
    context: Context, entity: Entity, record: Mapping[str, Any], match: KeyPath | Sequence[KeyPath] | None
) -> ManagedObject:
    """Updates or inserts the object of a record in a context, and restores the context if it fails."""
    from .loading import Loader, names_of, require_key

    names = names_of(match)
    require_key(entity, record, names)
    loader = Loader(context, upserts=True)
    try:
        item = loader.add(entity, record, match=names)
        loader.finish()
    except CorestoneError:
        loader.undo()
        raise
    return item


class ResultsLookups(Generic[Item_co]):
    """The methods of Results that find an object of the entity or insert it."""

    __slots__ = ()

    if TYPE_CHECKING:
        _context: Context
        _entity: Entity | None

        def __len__(self) -> int: ...

        def __iter__(self) -> Iterator[Item_co]: ...

        def filtered(
            self, predicate: str | Predicate | bool, /, *arguments: Any, **variables: Any
        ) -> Results[Item_co]: ...

    def count(self, value: Any = ..., /, *arguments: Any) -> int:
        """Returns the number of objects, or of those that satisfy a predicate, evaluated in memory.

        `count(object)` is the number of times that the results contain an object, like the method of every sequence.
        """
        from ..predicate.predicate import Predicate
        from .object import ManagedObject

        if value is ...:
            return len(self)
        if isinstance(value, (str, Predicate)) or hasattr(value, "_cst_expression"):
            return len(self.filtered(value, *arguments))
        return sum(map(value.__eq__, self)) if isinstance(value, ManagedObject) else 0

    def exists(self, predicate: str | Predicate | bool | None = None, *arguments: Any) -> bool:
        """Whether there is an object, or one that satisfies a predicate, evaluated in memory."""
        return bool(len(self) if predicate is None else len(self.filtered(predicate, *arguments)))

    def get_or_create(self, defaults: Mapping[str, Any] | None = None, /, **values: Any) -> tuple[Item_co, bool]:
        """Calls Context.get_or_create for the entity of the results. A new object does not become one of the results.

        InvalidArgumentError for results without an entity.
        """
        return get_or_create(self._context, self._required_entity("get_or_create"), defaults, values)

    def upsert(
        self,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        match: KeyPath | Sequence[KeyPath] | None = None,
        **more: Any,
    ) -> Item_co:
        """Calls Context.upsert for the entity of the results. A new object does not become one of the results."""
        entity, given = self._required_entity("upsert"), {**(values or {}), **more}
        return cast("Item_co", upsert(self._context, entity, given, match))

    def _required_entity(self, name: str) -> Entity:
        if self._entity is None:
            raise InvalidArgumentError(
                f"{name} needs an entity, but these results can contain objects of any entity; call {name} of the "
                "context, and pass the entity",
                key="entity",
            )
        return self._entity
