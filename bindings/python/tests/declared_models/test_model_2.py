"""Classes with the version hashes of the model TestModel 2.xcdatamodel."""

from __future__ import annotations

from corestone.declarative import Entity, ToMany, attribute, int32, to_many, to_one

SOURCE = "indieSoftware+INCoreData/TestModel.xcdatamodeld/TestModel 2.xcdatamodel"


class Bar(Entity):
    fooIndex: int32 | None = 0
    name: str | None
    fooRelationship: Foo | None = to_one(inverse="barRelationship")


class Foo(Entity):
    number: int32 | None = attribute(renaming_identifier="oldToNewNumber", default=0)
    title: str | None
    barRelationship: ToMany[Bar] = to_many(delete="cascade")


CLASSES = [Bar, Foo]
