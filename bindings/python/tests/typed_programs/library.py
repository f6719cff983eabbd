"""Classes of a podcast library, for the checks of types: those of a program, and those that codegen would write."""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal

from corestone import Attribute, ManagedObject, ToMany, ToManyList, ToManySet

MODEL = {
    "Show": {
        "title": "string",
        "rating": "double?",
        "price": "decimal = 0",
        "episodes": "to-many ordered Episode inverse show",
    },
    "Episode": {
        "title": "string",
        "plays": "int = 0",
        "played": "bool = false",
        "released": "date?",
        "show": "to-one Show? inverse episodes",
        "tags": "to-many Tag inverse episodes",
    },
    "Tag": {"name": "string", "episodes": "to-many Episode inverse tags"},
    "Note": {"text": "string?"},
}


class Show(ManagedObject, entity="Show"):
    __slots__ = ()

    title: Attribute[str]
    rating: Attribute[float | None]
    price: Attribute[Decimal]
    episodes: ToMany[ToManyList[Episode], Episode]


class Episode(ManagedObject, entity="Episode"):
    __slots__ = ()

    title: Attribute[str]
    plays: Attribute[int]
    played: Attribute[bool]
    released: Attribute[datetime | None]
    show: Attribute[Show | None]
    tags: ToMany[ToManySet[Tag], Tag]

    def play(self) -> int:
        self.plays += 1
        self.played = True
        return self.plays


class Tag(ManagedObject, entity="Tag"):
    __slots__ = ()

    name: Attribute[str]
    episodes: ToMany[ToManySet[Episode], Episode]
