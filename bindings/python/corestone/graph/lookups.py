"""Methods of contexts and results that find an object or insert it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import CorestoneError, InvalidArgumentError

if TYPE_CHECKING:
    from ..model.entity import Entity
    from ..predicate.predicate import Predicate
    from .context import Context, EntityLike
    from .object import ManagedObject
    from .results import Results


class ContextLookups:
    """The methods of Context that find an object or insert it."""

    __slots__ = ()

    if TYPE_CHECKING:

        def _entity(self, entity: EntityLike) -> Entity: ...

        def count(self, *arguments: Any, **options: Any) -> Any: ...

    def exists(self, entity: EntityLike, predicate: str | Predicate | None = None, *arguments: Any) -> bool:
        """Whether an object satisfies a predicate, including unsaved changes.

        ctx.exists("Employee", "email == %@", address)
        """
        return bool(self.count(entity, predicate, *arguments, limit=1))

    def get_or_create(
        self, entity: EntityLike, /, defaults: Mapping[str, Any] | None = None, **values: Any
    ) -> tuple[Any, bool]:
        """Returns the object that has these values and False, or inserts one and returns it and True.

            tag, is_new = ctx.get_or_create("Tag", name="news")
            show, is_new = ctx.get_or_create("Show", {"rating": 3.5}, feed=url)

        values    attributes and to-one relationships; None finds null. Unsaved objects are found too
        defaults  further values of a new object; an existing object does not change

        The new object is not saved. Another context or process can insert the same object before the save: a unique
        constraint makes the save fail with a ConflictError then.

        InvalidArgumentError if several objects have these values, or no values were passed.
        """
        return get_or_create(self, self._entity(entity), defaults, values)  # type: ignore[arg-type]

    def upsert(
        self,
        entity: EntityLike,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        match: str | Sequence[str] | None = None,
        **more: Any,
    ) -> Any:
        """Updates the object that has the unique values, or inserts an object, and returns it.

            ctx.upsert("Show", feed=url, title="Daily", rating=4.5)
            ctx.upsert("Show", {"feed": url, "episodes": [{"guid": "a1", "title": "One"}]}, match="feed")

        values, more  the properties to set, as a dictionary or as keywords; the others keep their values
        match         the attributes that identify the object; None: the first unique constraint with values

        Values are converted like those of Container.insert: text to dates and numbers, for example. In a relationship,
        a dictionary updates the object that has its unique values, or inserts an object; members of a to-many
        relationship are added, and those of an ordered one replaced. If the call fails, nothing is changed. The object
        is not saved; `is_inserted` is True for a new one.

        InvalidArgumentError if the values do not identify an object.
        """
        return upsert(self, self._entity(entity), {**(values or {}), **more}, match)  # type: ignore[arg-type]


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
    from .._abi.arguments import shown

    return ", ".join(f"{name}={shown(value)}" for name, value in values.items())


def upsert(
    context: Context, entity: Entity, record: Mapping[str, Any], match: str | Sequence[str] | None
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


class ResultsLookups:
    """The methods of Results that find an object of the entity or insert it."""

    __slots__ = ()

    if TYPE_CHECKING:
        _context: Context
        _entity: Entity | None

        def __len__(self) -> int: ...

        def __iter__(self) -> Iterator[Any]: ...

        def filtered(self, predicate: str | Predicate, /, *arguments: Any, **variables: Any) -> Results: ...

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

    def exists(self, predicate: str | Predicate | None = None, *arguments: Any) -> bool:
        """Whether there is an object, or one that satisfies a predicate, evaluated in memory."""
        return bool(len(self) if predicate is None else len(self.filtered(predicate, *arguments)))

    def get_or_create(self, defaults: Mapping[str, Any] | None = None, /, **values: Any) -> tuple[Any, bool]:
        """Calls Context.get_or_create for the entity of the results. A new object does not become one of the results.

        InvalidArgumentError for results without an entity.
        """
        return get_or_create(self._context, self._required_entity("get_or_create"), defaults, values)

    def upsert(
        self,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        match: str | Sequence[str] | None = None,
        **more: Any,
    ) -> Any:
        """Calls Context.upsert for the entity of the results. A new object does not become one of the results."""
        return upsert(self._context, self._required_entity("upsert"), {**(values or {}), **more}, match)

    def _required_entity(self, name: str) -> Entity:
        if self._entity is None:
            raise InvalidArgumentError(
                f"{name} needs an entity, but these results can contain objects of any entity; call {name} of the "
                "context, and pass the entity",
                key="entity",
            )
        return self._entity
