"""Classes with the version hashes of the model Moody 3.xcdatamodel."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from corestone.declarative import Entity, ToMany, attribute, index, int16, to_many, to_one

SOURCE = "objcio+core-data/Moody.xcdatamodeld/Moody 3.xcdatamodel"


class GeographicRegion(Entity, abstract=True, unique=[("numericISO3166Code", "uniquenessDummy")]):
    markedForDeletionDate: datetime | None
    numberOfMoods: int = 0
    numericISO3166Code: int16 = 0
    uniquenessDummy: int16 = 0
    updatedAt: datetime
    markedForDeletionDate_updatedAt = index("markedForDeletionDate", "updatedAt")


class Continent(GeographicRegion):
    numberOfCountries: int = 0
    countries: ToMany[Country] = to_many(optional=False)
    moods: ToMany[Mood] = to_many(optional=False)


class Country(GeographicRegion):
    continent: Continent | None = to_one(inverse="countries")
    moods: ToMany[Mood] = to_many(optional=False)


class Mood(Entity):
    colors: Any = attribute("transformable", transformer="ColorsTransformer", optional=True)
    creatorID: str | None
    date: datetime
    latitude: float | None
    longitude: float | None
    markedForDeletionDate: datetime | None
    markedForRemoteDeletion: bool = False
    rating: int16 = 0
    remoteID: str | None = attribute(renaming_identifier="remoteIdentifier")
    continent: Continent | None = to_one(inverse="moods")
    country: Country | None = to_one(inverse="moods")
    by_markedForDeletionDate = index("markedForDeletionDate", name="markedForDeletionDate")
    by_remoteID = index("remoteID", name="remoteID")
    markedForRemoteDeletion_markedForDeletionDate_date = index(
        "markedForRemoteDeletion", "markedForDeletionDate", "date"
    )


CLASSES = [GeographicRegion, Continent, Country, Mood]
