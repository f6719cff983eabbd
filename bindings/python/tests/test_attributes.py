"""Composite and derived attributes."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any, Callable

import pytest

from corestone import (
    ConflictError,
    Container,
    Context,
    InvalidArgumentError,
    Model,
    ModelError,
    PredicateSyntaxError,
    TypeMismatchError,
    UnsupportedError,
    ValidationError,
)

PLACE = {
    "Place": {
        "name": "string?",
        "location": {
            "latitude": "double",
            "note": "string? max 5",
            "price": "decimal?",
            "address": {"street": "string?", "number": "int16? = 7"},
        },
    }
}


def places(path: Path) -> Container:
    return Container(Model(PLACE), path)


def test_a_composite_value_is_a_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "a.sqlite"
    with places(path) as container:
        ctx = container.context()
        place = ctx.insert("Place", name="Here", location={"latitude": 52.5, "price": 3, "address": {"street": "Elm"}})
        assert place.location == {"latitude": 52.5, "price": Decimal(3), "address": {"street": "Elm"}}
        assert place["location.address.street"] == "Elm"
        place["location.address.street"] = "Oak"
        place["location.address.number"] = 9
        ctx.save()
        assert not place.is_changed("location")
        place["location.note"] = "n"
        assert place.is_changed("location")
        assert place.is_changed("location.note")
        assert not place.is_changed("location.latitude")
        assert place.committed_value("location") == {
            "latitude": 52.5, "price": Decimal(3), "address": {"street": "Oak", "number": 9},
        }  # fmt: skip
        ctx.rollback()
    with places(path) as container:
        ctx = container.context()
        place = ctx.fetch("Place")[0]
        assert place.location["address"] == {"street": "Oak", "number": 9}
        assert ctx.fetch("Place").column("location") == [place.location]
        assert place.to_dict() == {"name": "Here", "location": place.location}
        place.location = {"latitude": 1}
        assert place.location == {"latitude": 1.0}
        place.location = None
        ctx.save()
        assert place.location is None
        assert ctx.count("Place", "location == nil") == 1


def test_defaults_and_insert_many(tmp_path: Path) -> None:
    with places(tmp_path / "a.sqlite") as container:
        ctx = container.context()
        assert ctx.insert("Place").location == {"address": {"number": 7}}
        ctx.rollback()
        rows: list[dict[str, Any]] = [{"name": str(n), "location": {"latitude": n}} for n in range(3)]
        ctx.insert_many("Place", [*rows, {"name": "none", "location": None}])
        ctx.save()
        found = ctx.fetch("Place", "location.latitude > 0", sort=["-location.latitude"])
        assert found.column("name") == ["2", "1"]
        assert found.column("location.latitude") == [2.0, 1.0]
    model = Model()
    model.entity("Box").attribute(
        "size", "composite", elements={"width": "int32?", "height": "int32?"}, default={"width": 3}, optional=True
    )
    with Container(model, tmp_path / "b.sqlite") as container:
        assert container.context().insert("Box").size == {"width": 3}


def test_mistakes_with_composites_name_the_path(tmp_path: Path) -> None:
    with places(tmp_path / "a.sqlite") as container:
        ctx = container.context()
        place = ctx.insert("Place")

        def check(kind: type[Any], key: str, value: Any) -> None:
            with pytest.raises(kind) as caught:
                place.location = value
            assert (caught.value.entity, caught.value.key) == ("Place", key)

        check(InvalidArgumentError, "location.lattitude", {"lattitude": 1})
        check(TypeMismatchError, "location", "text")
        check(TypeMismatchError, "location.latitude", {"latitude": "x"})
        check(ValidationError, "location.address.number", {"address": {"number": 70000}})
        with pytest.raises(ModelError):
            place.is_changed("location.longitude")
        place.location = {"note": "n"}
        with pytest.raises(ValidationError) as caught:
            ctx.save()
        assert caught.value.key == "location.latitude"
        place.location = {"latitude": 1, "note": "too long"}
        with pytest.raises(ValidationError) as caught:
            ctx.save()
        assert caught.value.key == "location.note"
        with pytest.raises(ValidationError):
            place.validate_value("location", {"latitude": 1, "note": "too long"})
        assert place.validate_value("location", {"latitude": 1}) == {"latitude": 1.0}
    with pytest.raises(ModelError, match="relationship"):
        Model({"A": {"x": {"a": "to-one A?"}}})


def test_conflicts_of_composites_name_the_path(tmp_path: Path) -> None:
    with places(tmp_path / "a.sqlite") as container:
        first, second = container.context(), container.context()
        mine = first.insert("Place", location={"latitude": 1})
        first.save()
        theirs = second.fetch("Place")[0]
        theirs["location.latitude"] = 2
        mine["location.latitude"] = 3
        first.save()
        with pytest.raises(ConflictError) as caught:
            second.save()
        assert caught.value.key == "location.latitude"


# -------- derived ------------------------------------------------------------------------------------------

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


def library(path: Path) -> tuple[Container, Context, Any, Any]:
    container = Container(Model(LIBRARY), path)
    ctx = container.context()
    author = ctx.insert("Author", name="Héllo Wörld")
    article = ctx.insert("Article", title="Grand Café", wordCount=12, author=author)
    return container, ctx, author, article


def test_S158_copies_and_text(tmp_path: Path) -> None:
    container, ctx, author, article = library(tmp_path / "a.sqlite")
    with container:
        ctx.save()
        ctx.refresh(author, merge=False)
        ctx.refresh(article, merge=False)
        assert author.get("nameCopy", "nameCanonical") == ("Héllo Wörld", "hello world")
        assert article.get("titleUpper", "authorName") == ("GRAND CAFÉ", "Héllo Wörld")


def test_S161_nothing_before_the_first_save(tmp_path: Path) -> None:
    container, ctx, author, _ = library(tmp_path / "a.sqlite")
    with container:
        assert author.articlesCount is None
        assert author["updatedAt"] is None
        ctx.save()
        ctx.refresh(author)
        assert author.articlesCount == 1
        assert author.totalWords == 12
        assert abs(author.updatedAt - datetime.now(timezone.utc)) < timedelta(minutes=1)


def test_S167_triggers_keep_copies(tmp_path: Path) -> None:
    container, ctx, _, _ = library(tmp_path / "a.sqlite")
    with container:
        ctx.save()
    stored = (tmp_path / "a.sqlite").read_bytes()
    assert b"CREATE TRIGGER Z_DA_ZAUTHOR_Author_nameCopy_SOURCE_UPDATE" in stored
    assert b"GENERATED" not in stored


def test_what_is_derived_is_not_set(tmp_path: Path) -> None:
    container, ctx, author, article = library(tmp_path / "a.sqlite")
    with container:
        attempts: list[Callable[[], Any]] = [
            lambda: setattr(author, "nameCopy", "x"),
            lambda: author.set(nameCopy="x"),
            lambda: author.__setitem__("nameCopy", None),
            lambda: ctx.insert("Author", nameCopy="x"),
            lambda: ctx.insert_many("Author", [{"nameCopy": "x"}]),
        ]
        for attempt in attempts:
            with pytest.raises(InvalidArgumentError) as caught:
                attempt()
            assert (caught.value.entity, caught.value.key) == ("Author", "nameCopy")
        article.author = None
        ctx.save()
        assert author.articlesCount == 0
        assert article.authorName is None


def test_derivations_that_no_store_computes(tmp_path: Path) -> None:
    model = Model(LIBRARY)
    model["Author"].attribute("odd", "int64", optional=True, derived="articles.@count", derived_filter="wordCount > 3")
    with pytest.raises(UnsupportedError) as caught:
        Container(model, tmp_path / "a.sqlite")
    assert (caught.value.entity, caught.value.key) == ("Author", "odd")
    assert model["Author"].describe("odd")["derivationFilter"] == "wordCount > 3"
    with pytest.raises(PredicateSyntaxError):
        Model({"A": {"x": "derived string? = (("}})
    with pytest.raises(ModelError, match="from what"):
        Model({"A": {"x": "derived string?"}})
