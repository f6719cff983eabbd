"""Classes with the version hashes of the model Model 2.xcdatamodel."""

from __future__ import annotations

from corestone.declarative import Entity, ToMany, fetched, int32, to_one

SOURCE = "Dominoo+bi-ios-2015-08/Model.xcdatamodeld/Model 2.xcdatamodel"


class Car(Entity):
    blabla: str | None
    manufaturer: str | None
    model: str | None
    year: int32 | None = 0
    drive: Driver | None = to_one(inverse="cars")


class Driver(Entity):
    lastName: str | None
    name: str | None
    cars: ToMany[Car]
    newCars: tuple[Driver, ...] = fetched("cars.year > 2014")


CLASSES = [Car, Driver]
