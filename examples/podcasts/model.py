"""The model of the podcast library: nine classes, one for each entity."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from corestone.declarative import (
    Attribute,
    Entity,
    OrderedToMany,
    ToMany,
    attribute,
    derived,
    index,
    int16,
    int32,
    now,
    to_many,
    to_one,
    unique,
)


class Kind(enum.Enum):
    FULL = "full"
    TRAILER = "trailer"
    BONUS = "bonus"


@dataclass(frozen=True)
class Rating:
    stars: float
    votes: int = 0


class Show(Entity):
    feed: Attribute[str] = attribute(unique=True)
    title: Attribute[str] = attribute(indexed=True, minimum=1)
    language: Attribute[str] = attribute(default="en", pattern="[a-z]{2}")
    rating: Rating | None
    episodes: ToMany[Episode] = to_many(inverse="show", delete="cascade")
    tags: ToMany[Tag] = to_many(inverse="shows")
    episode_count: Attribute[int | None] = derived("episodes.@count")


class Episode(Entity):
    guid: Attribute[str] = attribute(unique=True)
    title: Attribute[str] = attribute(minimum=1)
    published: Attribute[datetime]
    seconds: Attribute[int32] = attribute(minimum=1)
    price: Attribute[Decimal] = attribute(default=Decimal(0), minimum=0)
    explicit: Attribute[bool] = attribute(default=False)
    played: Attribute[bool] = attribute(default=False)
    season: Attribute[int16 | None]
    kind: Attribute[Kind] = attribute(default=Kind.FULL)
    show: Attribute[Show] = to_one(inverse="episodes")
    persons: ToMany[Person] = to_many(inverse="episodes")
    tags: ToMany[Tag] = to_many(inverse="episodes")
    chapters: OrderedToMany[Chapter] = to_many(inverse="episode", delete="cascade")
    downloads: ToMany[Download] = to_many(inverse="episode", delete="cascade")
    listens: ToMany[Listen] = to_many(inverse="episode", delete="cascade")
    items: ToMany[PlaylistItem] = to_many(inverse="episode", delete="cascade")
    by_date = index("-published", "title")

    def validate_title(self, title: str) -> None:
        if title is not None and not title.strip():
            raise ValueError("an episode needs a title that is not blank")

    def listen(self, seconds: int) -> Listen:
        """Records that the episode was heard, and marks it as played near its end."""
        self.played = self.played or seconds >= self.seconds - 60
        context = self.context
        assert context is not None, "the episode was detached from its context"
        return context.insert(Listen, seconds=seconds, episode=self)


class Person(Entity):
    name: Attribute[str] = attribute(unique=True)
    episodes: ToMany[Episode]


class Tag(Entity):
    name: Attribute[str] = attribute(unique=True)
    shows: ToMany[Show]
    episodes: ToMany[Episode]


class Chapter(Entity):
    start: Attribute[int32] = attribute(minimum=0)
    title: Attribute[str]
    episode: Attribute[Episode] = to_one(inverse="chapters")
    one_start = unique("episode", "start")


class Playlist(Entity):
    name: Attribute[str] = attribute(unique=True)
    items: OrderedToMany[PlaylistItem] = to_many(inverse="playlist", delete="cascade")


class PlaylistItem(Entity):
    note: Attribute[str | None]
    playlist: Attribute[Playlist] = to_one(inverse="items")
    episode: Attribute[Episode] = to_one(inverse="items")


class Download(Entity):
    path: Attribute[str] = attribute(unique=True)
    size: Attribute[int] = attribute(minimum=0)
    finished: Attribute[datetime | None]
    episode: Attribute[Episode] = to_one(inverse="downloads")


class Listen(Entity):
    at: Attribute[datetime] = now
    seconds: Attribute[int32] = attribute(default=0, minimum=0)
    episode: Attribute[Episode] = to_one(inverse="listens")


ENTITIES = [Show, Episode, Person, Tag, Chapter, Playlist, PlaylistItem, Download, Listen]
