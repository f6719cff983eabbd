"""Classes that declare the entities of a model: their annotations are the attributes and relationships.

    from corestone import Container, Model
    from corestone.declarative import Entity, ToMany, now, to_one

    class Show(Entity):
        title: str
        episodes: ToMany["Episode"]

    class Episode(Entity):
        title: str
        plays: int = 0
        at: datetime = now
        show: Show | None = to_one(inverse="episodes")

    with Container(Model(Show, Episode), "podcasts.sqlite") as container:
        ctx = container.context()
        ctx.insert(Episode, title="Pilot", show=ctx.insert(Show, title="News"))
        ctx.save()

docs/reference/model.md lists the annotations, the options and the checks.
"""

from __future__ import annotations

from ..graph.object import ManagedObject
from ..predicate.query import Attribute, ToMany
from .declaration import DeclarativeType
from .markers import URI, OrderedToMany, float32, int16, int32, int64
from .specs import attribute, derived, fetched, index, now, to_many, to_one, unique


class Entity(ManagedObject, metaclass=DeclarativeType):
    """The base class of classes that declare entities: `class Episode(Entity): title: str`.

    A subclass of such a class declares a subentity. Keyword arguments of the class statement are options of the entity:

    entity                 the name of the entity; by default, the name of the class
    abstract               True: only subentities have objects
    unique                 unique constraints, each a name or a tuple of names
    indexes                indexes, by name: the names of their properties, with "-" for descending order
    class_name             the class of the objects on Apple's platforms
    configurations         the configurations that contain the entity
    renaming_identifier    the name of the entity in older versions of the model
    version_hash_modifier  a string that changes the version hash
    user_info              a dictionary of strings

    ModelError for a mistake in the class body, with entity and key; for a mistake in an annotation, when a model is
    made from the class.
    """

    __slots__ = ()


__all__ = [
    "URI",
    "Attribute",
    "Entity",
    "OrderedToMany",
    "ToMany",
    "attribute",
    "derived",
    "fetched",
    "float32",
    "index",
    "int16",
    "int32",
    "int64",
    "now",
    "to_many",
    "to_one",
    "unique",
]
