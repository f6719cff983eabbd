"""Classes with the version hashes of the model Dog Walk.xcdatamodel."""

from __future__ import annotations

from datetime import datetime

from corestone.declarative import Entity, OrderedToMany, to_one

SOURCE = "daydreamboy+HelloProjects/Dog Walk.xcdatamodeld/Dog Walk.xcdatamodel"


class Dog(Entity):
    name: str | None
    walks: OrderedToMany[Walk]


class Walk(Entity):
    date: datetime | None
    dog: Dog | None = to_one(inverse="walks")


CLASSES = [Dog, Walk]
