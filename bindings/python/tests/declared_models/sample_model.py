"""Classes with the version hashes of the model SampleModel.xcdatamodel."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from corestone.declarative import Entity, ToMany, attribute, to_one

SOURCE = "alemar11+CoreDataPlus/SampleModel.xcdatamodeld/SampleModel.xcdatamodel"


class Car(Entity, unique=["numberPlate"]):
    color: Any = attribute("transformable", transformer="ColorTransformer", value_class="Color", optional=True)
    currentDrivingSpeed: int | None = attribute(transient=True, default=0)
    maker: str | None
    markedForDeletionAsOf: datetime | None
    model: str | None
    numberPlate: str
    owner: Person | None = to_one(inverse="cars")


class SportCar(Car):
    """An entity without properties of its own."""


class ExpensiveSportCar(SportCar):
    isLimitedEdition: bool | None = False


class Person(Entity, unique=[("firstName", "lastName")]):
    firstName: str | None
    id_: UUID = attribute(preserved=True)
    isDriving: bool = attribute(transient=True, default=False)
    lastName: str | None
    updatedAt: datetime
    cars: ToMany[Car]


CLASSES = [Car, SportCar, ExpensiveSportCar, Person]
