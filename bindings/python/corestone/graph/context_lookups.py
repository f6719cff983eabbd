"""A part of Context: look-ups that find an object or insert it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from .._abi.arguments import shown
from ..errors import TypeMismatchError
from ..predicate.expression import KeyPath
from ..predicate.predicate import Predicate
from .context_core import EntityLike
from .context_rows import ContextRows
from .lookups import get_or_create, upsert
from .typing import Kind

if TYPE_CHECKING:
    from ..model.entity import Entity
    from .object import DynamicObject


class ContextLookups(ContextRows):
    """Methods that find an object or insert it."""

    def exists(self, entity: EntityLike, predicate: str | Predicate | bool | None = None, *arguments: Any) -> bool:
        """Whether an object satisfies a predicate, including unsaved changes.

        ctx.exists("Employee", "email == %@", address)
        """
        return bool(self.count(entity, predicate, *arguments, limit=1))

    @overload
    def get_or_create(
        self, entity: type[Kind], /, defaults: Mapping[str, Any] | None = None, **values: Any
    ) -> tuple[Kind, bool]: ...
    @overload
    def get_or_create(
        self, entity: str | Entity, /, defaults: Mapping[str, Any] | None = None, **values: Any
    ) -> tuple[DynamicObject, bool]: ...
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
        return get_or_create(self._context, self._entity(entity), defaults, values)

    @overload
    def upsert(
        self,
        entity: type[Kind],
        values: Mapping[str, Any] | None = None,
        /,
        *,
        match: KeyPath | Sequence[KeyPath] | None = None,
        **more: Any,
    ) -> Kind: ...
    @overload
    def upsert(
        self,
        entity: str | Entity,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        match: KeyPath | Sequence[KeyPath] | None = None,
        **more: Any,
    ) -> DynamicObject: ...
    def upsert(
        self,
        entity: EntityLike,
        values: Mapping[str, Any] | None = None,
        /,
        *,
        match: KeyPath | Sequence[KeyPath] | None = None,
        **more: Any,
    ) -> Any:
        """Updates the object that has the unique values, or inserts an object, and returns it.

            ctx.upsert("Show", feed=url, title="Daily", rating=4.5)
            ctx.upsert("Show", {"feed": url, "episodes": [{"guid": "a1", "title": "One"}]}, match="feed")

        values, more  the properties to set, as a dictionary or as keywords; the others keep their values
        match         the attributes and to-one relationships that identify the object; None: the first unique
                      constraint with values

        Values are converted like those of Container.insert: text to dates and numbers, for example. In a relationship,
        a dictionary updates the object that has its unique values, or inserts an object. If the unique constraint
        contains the inverse relationship, its value is the object of the outer dictionary. Members of a to-many
        relationship are added, and those of an ordered one replaced: former members are kept, without an owner. If the
        call fails, nothing is changed. The object is not saved; `is_inserted` is True for a new one.

        InvalidArgumentError if the values do not identify an object.
        """
        if not isinstance(values, (Mapping, type(None))):
            what = "a list" if isinstance(values, list) else shown(values)
            raise TypeMismatchError(
                f"upsert of a context takes a dictionary, not {what}; call it for each dictionary, or call upsert of "
                "the container",
                key="values",
                value=values,
            )
        return upsert(self._context, self._entity(entity), {**(values or {}), **more}, match)
