"""The values that describe properties, indexes and constraints in the body of a declared class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any, Callable

from ..codes import AttributeType, DeleteRule
from ..errors import ModelError
from ..model.editing import UNSET

if TYPE_CHECKING:
    from ..predicate.predicate import Predicate


# The options for which False is not the default.
_MEANINGFUL = ("default", "include_subentities", "optional")


class Spec:
    """A description of a property. `options` are those that differ from their defaults."""

    __slots__ = ("call", "options")

    def __init__(self, call: str, options: Mapping[str, Any]) -> None:
        self.call = call  # the function that created the description
        self.options = {
            name: value
            for name, value in options.items()
            if value is not UNSET and value is not None and (value is not False or name in _MEANINGFUL)
        }

    def __repr__(self) -> str:
        return f"{self.call}(...)"


class Index:
    """A fetch index of a declared class. Its name is that of the class variable, unless it has another one."""

    __slots__ = ("elements", "kind", "name", "where")

    def __init__(self, elements: Sequence[Any], where: Any, kind: str, name: str | None) -> None:
        self.elements, self.where, self.kind, self.name = elements, where, kind, name


class Unique:
    """A unique constraint of a declared class."""

    __slots__ = ("names",)

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names


class Now:
    """The default of a date attribute: the time of the insertion."""

    def __call__(self) -> datetime:
        return datetime.now(timezone.utc)

    def __repr__(self) -> str:
        return "now"


# The types of these values are Any, so that type checkers accept them as values of annotated class variables.

now: Any = Now()
"""The default of a date attribute: the time of the insertion, `at: datetime = now`. Calling it returns the time."""


def attribute(
    type: str | AttributeType | None = None,
    *,
    default: Any = UNSET,
    name: str | None = None,
    optional: bool | None = None,
    indexed: bool = False,
    unique: bool = False,
    transient: bool = False,
    external_storage: bool = False,
    preserved: bool = False,
    allows_nan: bool = False,
    ignores_changes: bool = False,
    spotlight: bool = False,
    external_record: bool = False,
    cloud_encryption: bool = False,
    minimum: Any = None,
    maximum: Any = None,
    pattern: str | None = None,
    validation: Mapping[str | Predicate, str] | None = None,
    transformer: str | None = None,
    value_class: str | None = None,
    renaming_identifier: str | None = None,
    version_hash_modifier: str | None = None,
    user_info: Mapping[str, str] | None = None,
) -> Any:
    """Describes an attribute of a declared class: `plays: int = attribute("int32", default=0, minimum=0)`.

    type     the attribute type, if the annotation does not determine it: "int16", "transformable", AttributeType.FLOAT
    default  the value in new objects. A function without parameters is called for each inserted object that does not
             have a value: `attribute(default=uuid4)`
    name     the name of the property in the model, if it differs from the name of the class variable
    optional None: the attribute is optional if its annotation allows None
    unique   adds a unique constraint of this attribute

    The other options are those of corestone.Entity.attribute and corestone.Entity.change. Mistakes raise ModelError
    when the class or its model is created.
    """
    return Spec("attribute", {**locals()})


def derived(
    expression: str,
    *,
    filter: str | None = None,
    type: str | AttributeType | None = None,
    name: str | None = None,
    indexed: bool = False,
    renaming_identifier: str | None = None,
    version_hash_modifier: str | None = None,
    user_info: Mapping[str, str] | None = None,
) -> Any:
    """Describes an attribute that the store computes at each save: `count: int = derived("episodes.@count")`.

    `expression` and `filter` are `derived` and `derived_filter` of corestone.Entity.attribute; the other parameters are
    those of `attribute`.
    """
    return Spec("derived", {**locals()})


def to_one(
    *,
    inverse: str | Any | None = UNSET,
    delete: str | DeleteRule = "nullify",
    minimum: int | None = None,
    name: str | None = None,
    transient: bool = False,
    validation: Mapping[str | Predicate, str] | None = None,
    renaming_identifier: str | None = None,
    version_hash_modifier: str | None = None,
    user_info: Mapping[str, str] | None = None,
) -> Any:
    """Describes a to-one relationship of a declared class: `show: Show | None = to_one(inverse="episodes")`.

    inverse  the inverse relationship. None: the relationship does not have an inverse. Without the argument, it is the
             only relationship of the destination that can be the inverse
    delete   the delete rule: "nullify", "cascade", "deny" or "no-action"
    minimum  the minimum count, which is part of the version hash; Xcode writes 1 into some models
    name     the name of the property in the model, if it differs from the name of the class variable

    The relationship is optional if its annotation allows None. The other options are those of corestone.Entity.to_one.
    """
    options = {**locals()}
    return _relationship("to_one", options)


def to_many(
    *,
    inverse: str | Any | None = UNSET,
    delete: str | DeleteRule = "nullify",
    ordered: bool = False,
    optional: bool | None = None,
    minimum: int | None = None,
    maximum: int | None = None,
    name: str | None = None,
    transient: bool = False,
    validation: Mapping[str | Predicate, str] | None = None,
    renaming_identifier: str | None = None,
    version_hash_modifier: str | None = None,
    user_info: Mapping[str, str] | None = None,
) -> Any:
    """Describes a to-many relationship of a declared class: `tags: ToMany[Tag] = to_many(delete="cascade")`.

    ordered           also implied by the annotation `OrderedToMany[Tag]` or `list[Tag]`
    optional          False: a save fails if the relationship does not have members. None: optional, unless `minimum`
                      is above 0
    minimum, maximum  the bounds of the number of members

    The other options are those of `to_one`.
    """
    options = {**locals()}
    return _relationship("to_many", options)


def _relationship(call: str, options: dict[str, Any]) -> Spec:
    made = Spec(call, options)
    if options["inverse"] is None:
        made.options["inverse"] = None
    return made


def fetched(
    predicate: str | Predicate | None = None,
    *,
    sort: Any = (),
    limit: int | None = None,
    offset: int = 0,
    include_subentities: bool = True,
    name: str | None = None,
    user_info: Mapping[str, str] | None = None,
) -> Any:
    """Describes a fetched property: `others: tuple[Episode, ...] = fetched("show == $FETCH_SOURCE.show")`.

    The annotation names the fetched class. In the predicate, $FETCH_SOURCE is the object whose property is read. The
    options are those of corestone.Entity.fetched.
    """
    return Spec("fetched", {**locals()})


def index(
    *elements: str | tuple[str, str | AttributeType],
    where: str | Predicate | None = None,
    kind: str = "binary",
    name: str | None = None,
) -> Any:
    """Describes a fetch index in the body of a declared class: `by_date = index("-at", "title")`.

    The elements, `where` and `kind` ("binary" or "rtree") are those of corestone.Entity.index. `name` is the name of
    the index, if it differs from the name of the class variable.
    """
    return Index(elements, where, kind, name)


def unique(*names: str) -> Any:
    """Describes a unique constraint in the body of a declared class: `one_title = unique("show", "title")`.

    The combined values of these properties identify one object. The name of the class variable has no effect.
    """
    if not names:
        raise ModelError("unique needs at least one property; write unique(name, …)")
    return Unique(names)


def is_callable_default(value: Any) -> bool:
    """Whether a default is a function that is called for each insertion."""
    return callable(value) and not isinstance(value, Spec)


DefaultFunction = Callable[[], Any]
