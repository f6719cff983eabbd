"""Classes with the version hashes of the model SampleModel2.xcdatamodel."""

from __future__ import annotations

from datetime import datetime

from corestone.declarative import Entity, ToMany, index, to_one

SOURCE = "alemar11+CoreDataPlus/SampleModel.xcdatamodeld/SampleModel2.xcdatamodel"


class Car(Entity, unique=["numberPlate"]):
    maker: str | None
    markedForDeletionAsOf: datetime | None
    model: str | None
    numberPlate: str
    owner: Person | None = to_one(inverse="cars")
    byMakerAndNumberPlate = index("maker", "numberPlate")


class SportCar(Car):
    """An entity without properties of its own."""


class LuxuryCar(SportCar, renaming_identifier="ExpensiveSportCar"):
    isLimitedEdition: bool | None = False


class Person(Entity, unique=[("firstName", "lastName")]):
    firstName: str | None
    lastName: str | None
    updatedAt: datetime
    cars: ToMany[Car]


CLASSES = [Car, SportCar, LuxuryCar, Person]
