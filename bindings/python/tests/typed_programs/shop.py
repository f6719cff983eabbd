"""Declared classes, for the checks of types: plain annotations, and keys that type checkers know."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

from corestone.declarative import (
    Attribute,
    Entity,
    OrderedToMany,
    ToMany,
    attribute,
    derived,
    fetched,
    index,
    int16,
    now,
    to_many,
    to_one,
    unique,
)


class State(enum.Enum):
    NEW = "new"
    PLAYED = "played"


@dataclass(frozen=True)
class Place:
    town: str
    street: str = ""


class Item(Entity, abstract=True):
    guid: UUID = attribute(default=uuid4, unique=True)


class Show(Item, renaming_identifier="Podcast"):
    title: Attribute[str] = attribute(minimum=1)
    rating: Attribute[float | None]
    price: Decimal = Decimal(1)
    place: Place | None
    active: Attribute[bool] = attribute(default=True)
    episodes: OrderedToMany[Episode] = to_many(delete="cascade")
    episode_count: int | None = derived("episodes.@count")


class Tag(Entity, unique="name"):
    name: str
    episodes: ToMany[Episode]


class Episode(Item):
    title: str
    plays: int = 0
    season: int16 = 1
    played: bool = False
    state: State = State.NEW
    at: datetime = now
    minutes: Attribute[int] = attribute(default=30)
    released: Attribute[datetime | None]
    notes: Any = attribute("transformable", optional=True)
    show: Attribute[Show | None] = to_one(inverse="episodes")
    next: Episode | None = to_one(inverse="previous")
    previous: Episode | None
    tags: ToMany[Tag]
    others: tuple[Episode, ...] = fetched("show == $FETCH_SOURCE.show")
    by_date = index("-at", "title")
    one_title = unique("show", "title")

    def validate_title(self, title: str) -> None:
        if not title.strip():
            raise ValueError("a title cannot be blank")

    def play(self) -> int:
        self.plays += 1
        self.state = State.PLAYED
        return self.plays
