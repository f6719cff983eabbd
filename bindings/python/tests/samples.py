"""Models and values that the tests of attributes share with the scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from binary_reader import ToMany
from xml_reader import EPOCH

from corestone import URL, Container, Context, Model, register_archivable, unregister_archivable

LIBRARY = {
    "Author": {
        "name": "string?",
        "nameCopy": "derived string? = name",
        "nameCanonical": "derived string? = canonical:(name)",
        "articlesCount": "derived int64? = articles.@count",
        "totalWords": "derived int64? = articles.wordCount.@sum",
        "updatedAt": "derived date? = now()",
        "articles": "to-many Article inverse author",
    },
    "Article": {
        "title": "string?",
        "wordCount": "int32?",
        "titleUpper": "derived string? = uppercase:(title)",
        "authorName": "derived string? = author.name",
        "author": "to-one Author? inverse articles",
    },
}


def library(path: Path, type: str | None = None) -> tuple[Container, Context, Any, Any]:
    container = Container(Model(LIBRARY), path, type=type)
    ctx = container.context()
    author = ctx.insert("Author", name="Héllo Wörld")
    article = ctx.insert("Article", title="Grand Café", wordCount=12, author=author)
    return container, ctx, author, article


@dataclass(frozen=True)
class Colour:
    red: float
    green: float
    blue: float


def fields(colour: Colour) -> Mapping[str, Any]:
    return {"red": colour.red, "green": colour.green, "blue": colour.blue}


@contextmanager
def colours_registered() -> Iterator[None]:
    register_archivable("Colour", fields, lambda found: Colour(**found), Colour)
    yield
    unregister_archivable("Colour")


def items(**options: Any) -> Model:
    return Model({"Item": {"name": "string?", "payload": {"type": "transformable", "optional": True, **options}}})


# All that a store in a file can hold.
THINGS: dict[str, dict[str, Any]] = {
    "Thing": {
        "title": "string?",
        "flag": "bool?",
        "small": "int16?",
        "medium": "int32?",
        "large": "int64?",
        "price": "decimal?",
        "single": "float? nan",
        "real": "double? nan",
        "made": "date?",
        "data": "binary?",
        "key": "uuid?",
        "homepage": "uri?",
        "where": {"latitude": "double?", "town": "string?"},
        "owner": "to-one Owner? inverse things",
        "friends": "to-many Thing inverse friends",
    },
    "Special": {"@parent": "Thing", "note": "string?"},
    "Owner": {
        "name": "string?",
        "things": "to-many ordered Thing inverse owner",
        "likes": "to-many Thing",
    },
}
ROOTS = ["Thing", "Owner"]
_THING, _OWNER = {"Thing", "Special"}, {"Owner"}
TO_MANY = {
    "Owner.things": ToMany(_OWNER, _THING, "owner"),
    "Owner.likes": ToMany(_OWNER),
    "Thing.friends": ToMany(_THING),
}


def fill(container: Container) -> None:
    """Objects of `THINGS` with the ends of ranges, text that is hard to write, and members of every kind."""
    context = container.context()
    texts = [
        "",
        " ",
        "\n",
        "\r\n\tx ",
        "a < b > c & d \\ \\u3c00 \\\\",
        "\x00\x01\x1f\x7f\x85\ufffe\uffff",
        "\uff08\uff09\ufe0f\ufefe\ufeff\uf8ff",
        "😀é",
        "]]>",
    ]
    things = [
        context.insert("Thing", title=text, homepage=URL("https://example.org/?a=b&c=" + str(place)))
        for place, text in enumerate(texts)
    ]
    things.append(
        context.insert(
            "Special",
            note="x",
            flag=True,
            small=-(2**15),
            medium=2**31 - 1,
            large=-(2**63),
            price=Decimal("-1234567890.123"),
            single=0.10000000149011612,
            real=-1.7976931348623157e308,
            made=EPOCH + timedelta(seconds=387448838.073201),
            data=bytes(range(256)) * 3,
            key=UUID(int=7),
            where={"latitude": 5e-324, "town": "Zoë"},
        )
    )
    things.append(context.insert("Thing", flag=False, real=0.1, data=b"", made=EPOCH, large=0, small=0, single=-0.0))
    things.append(context.insert("Thing", data=b"x" * 57, made=EPOCH + timedelta(days=-700000, microseconds=1)))
    things.append(context.insert("Thing", data=b"x" * 58, real=1e-5))
    owner = context.insert("Owner", name="Ada", things=list(reversed(things[:5])), likes=set(things[3:7]))
    things[0].friends = {things[1], things[2], things[0]}
    things[1].owner = context.insert("Owner", name="Eve")
    assert len(list(owner.things)) == 4
    context.save()
