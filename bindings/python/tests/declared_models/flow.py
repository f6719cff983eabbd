"""Classes with the version hashes of the model Model.xcdatamodel."""

from __future__ import annotations

from corestone.declarative import Entity, ToMany, to_many, to_one

SOURCE = "ChaseWang+coredataFlow/Model.xcdatamodeld/Model.xcdatamodel"


class Person(Entity):
    id_: str | None
    name: str | None
    phone: ToMany[Phone] = to_many(delete="cascade")


class Phone(Entity):
    label: str | None
    number: str | None
    person: Person | None = to_one(inverse="phone", minimum=1)


CLASSES = [Person, Phone]
