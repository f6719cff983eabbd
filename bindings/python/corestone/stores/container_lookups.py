"""Methods of containers that find, count, insert or update objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, overload

from ..errors import ConflictError
from ..graph.typing import Kind
from .records import Record, Records

if TYPE_CHECKING:
    from ..graph.context import Context, EntityLike
    from ..graph.object import ManagedObject
    from ..model.entity import Entity
    from ..predicate.expression import KeyPath
    from ..predicate.predicate import Predicate
    from ..predicate.sort import SortKey


class ContainerLookups(Records):
    """The methods of Container that find or count objects as `fetch` does, and those that write records."""

    if TYPE_CHECKING:
        _own: Context | None

    def _own_context(self) -> Context:
        if self._own is None:
            self._own = self.context()
        return self._own

    @overload
    def first(
        self,
        entity: type[Kind],
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
    ) -> Kind | None: ...
    @overload
    def first(
        self,
        entity: str | Entity,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
    ) -> Any: ...
    def first(
        self,
        entity: EntityLike,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        sort: SortKey | Sequence[SortKey] = (),
    ) -> Any:
        """Returns the first object of a fetch, or None; see Container.fetch for the context of the object."""
        which: Any = entity
        return self._own_context().first(which, predicate, *arguments, sort=sort)

    @overload
    def count(self, entity: EntityLike, predicate: str | Predicate | bool | None = None, *arguments: Any) -> int: ...
    @overload
    def count(
        self,
        entity: EntityLike,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        by: KeyPath | Sequence[KeyPath],
    ) -> dict[Any, int]: ...
    def count(
        self,
        entity: EntityLike,
        predicate: str | Predicate | bool | None = None,
        *arguments: Any,
        by: KeyPath | Sequence[KeyPath] | None = None,
    ) -> Any:
        """Returns the number of saved objects that satisfy a predicate; with `by`, a dictionary of counts by group."""
        if by is None:
            return self._own_context().count(entity, predicate, *arguments)
        return self._own_context().count(entity, predicate, *arguments, by=by)

    def exists(self, entity: EntityLike, predicate: str | Predicate | bool | None = None, *arguments: Any) -> bool:
        """Whether a saved object satisfies a predicate."""
        return self._own_context().exists(entity, predicate, *arguments)

    def get_or_create(
        self, entity: EntityLike, /, defaults: Mapping[str, Any] | None = None, **values: Any
    ) -> tuple[Record, bool]:
        """Returns the record of the object that has these values and False, or inserts it and returns it and True.

            record, is_new = container.get_or_create("Tag", name="news")

        The arguments are those of Context.get_or_create. The new object is saved. If another context or process saves
        an object with the same unique values meanwhile, its record is returned.
        """
        with suppress(ConflictError):
            return self._get_or_create(entity, defaults, values)
        return self._get_or_create(entity, defaults, values)

    def _get_or_create(
        self, entity: EntityLike, defaults: Mapping[str, Any] | None, values: Mapping[str, Any]
    ) -> tuple[Record, bool]:
        with self.context(unsaved="discard") as context:
            item, is_new = context.get_or_create(entity, defaults, **values)
            if is_new:
                context.save()
            return self._record(item), is_new

    @overload
    def upsert(
        self, entity: EntityLike, values: Mapping[str, Any], *, match: KeyPath | Sequence[KeyPath] | None = None
    ) -> Record: ...
    @overload
    def upsert(
        self,
        entity: EntityLike,
        values: Iterable[Mapping[str, Any]],
        *,
        match: KeyPath | Sequence[KeyPath] | None = None,
    ) -> list[Record]: ...
    def upsert(
        self,
        entity: EntityLike,
        values: Mapping[str, Any] | Iterable[Mapping[str, Any]],
        *,
        match: KeyPath | Sequence[KeyPath] | None = None,
    ) -> Any:
        """Updates the objects that have the unique values of dictionaries, inserts the others, and saves.

            container.upsert("Show", {"feed": url, "episodes": [{"guid": "a1", "title": "One"}]})

        Returns the record of the object, or a list of records for a list of dictionaries; the dictionaries are those of
        `insert`, and can contain dictionaries for related objects, which are updated or inserted in the same way.
        `match` and the errors are those of Context.upsert. The call is one transaction.
        """
        from ..errors import CorestoneError
        from ..graph.loading import Loader, names_of, placed, require_key

        names = names_of(match)
        is_one = isinstance(values, Mapping)
        with self.context(unsaved="discard") as context:
            description = context._entity(entity)
            loader = Loader(context, upserts=True, is_own=True)
            items = []
            for number, record in enumerate([values] if isinstance(values, Mapping) else values, 1):
                place = "" if is_one else f"record {number}"
                try:
                    if isinstance(record, Mapping):
                        require_key(description, record, names)
                    items.append(loader.add(description, record, place, names))
                except CorestoneError as error:
                    raise placed(error, place) from None
            loader.finish()
            context.save()
            records = self._records_of(description, items)
        return records[0] if is_one else records

    def _record(self, item: ManagedObject) -> Record:
        from ..graph.object import object_id

        return self.read(item._cst_entity.name, object_id(item))[0]

    def _records_of(self, entity: Entity, items: Sequence[ManagedObject]) -> list[Record]:
        """Returns the records of saved objects, in their order."""
        from ..graph.object import object_id
        from ..predicate.predicate import Predicate

        uris = [object_id(item).uri for item in items]
        found: dict[str, Record] = {}
        for first in range(0, len(items), _READ):
            ids = [object_id(item) for item in items[first : first + _READ]]
            found.update((record["@id"], record) for record in self.read(entity.name, Predicate("SELF IN %@", ids)))
        return [found[uri] for uri in uris]


_READ = 500  # the maximum number of records that one call reads
