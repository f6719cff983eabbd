"""Models and values that the tests of attributes share with the scenarios."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corestone import Container, Context, Model, register_archivable, unregister_archivable

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
