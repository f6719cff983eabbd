"""Classes with the version hashes of the model TrafficDataCommandLineImporter.xcdatamodel."""

from __future__ import annotations

from datetime import datetime

from corestone.declarative import Entity, OrderedToMany, index, int16, to_one

SOURCE = (
    "objcio+issue-4-importing-and-fetching/TrafficDataCommandLineImporter.xcdatamodeld/"
    "TrafficDataCommandLineImporter.xcdatamodel"
)


class Stop(Entity):
    identifier: int | None = 0
    latitude: float | None = 0.0
    longitude: float | None = 0.0
    name: str | None
    normalizedName: str | None
    stopTimes: OrderedToMany[StopTime]
    by_identifier = index("identifier", name="identifier")
    by_normalizedName = index("normalizedName", name="normalizedName")
    longitude_latitude = index("longitude", "latitude")


class StopTime(Entity):
    arrivalTime: datetime | None
    departureTime: datetime | None
    dropOffType: int16 = 0
    pickupType: int16 = 0
    stop: Stop | None = to_one(inverse="stopTimes", minimum=1)


CLASSES = [Stop, StopTime]
