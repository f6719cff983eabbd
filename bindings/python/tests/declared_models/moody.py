"""Classes with the version hashes of the model Moody.xcdatamodel."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from corestone.declarative import Entity, ToMany, attribute, index, int16, to_many, to_one

SOURCE = "objcio+core-data/Moody.xcdatamodeld/Moody.xcdatamodel"


class Region(Entity, abstract=True):
    numericISO3166Code: int16 = 0
    updatedAt: datetime
    by_updatedAt = index("updatedAt", name="updatedAt")


class Continent(Region):
    countries: ToMany[Country] = to_many(optional=False, delete="deny")


class Country(Region):
    continent: Continent | None = to_one(inverse="countries")
    moods: ToMany[Mood] = to_many(optional=False, delete="deny")


class Mood(Entity):
    colors: Any = attribute("transformable", transformer="ColorsTransformer", optional=True)
    date: datetime
    latitude: float | None = 0.0
    longitude: float | None = 0.0
    country: Country = to_one(inverse="moods")
    by_date = index("date", name="date")


CLASSES = [Region, Continent, Country, Mood]
