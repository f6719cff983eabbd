"""Derived attributes: what the store computes when it saves."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from corestone import Coordinator, CorestoneError, Model
from samples import LIBRARY, library

derives = pytest.mark.only_in("it derives nothing, as none of Apple's but SQLite's does", "SQLite")


@derives
def test_s158_copied_and_converted_text_is_derived(tmp_path: Path, store_type: str) -> None:
    container, ctx, author, article = library(tmp_path / "a.sqlite", store_type)
    with container:
        ctx.save()
        ctx.refresh(author, merge=False)
        ctx.refresh(article, merge=False)
        assert author.get("nameCopy", "nameCanonical") == ("Héllo Wörld", "hello world")
        assert article.get("titleUpper", "authorName") == ("GRAND CAFÉ", "Héllo Wörld")


@derives
def test_s161_derived_values_are_null_before_the_first_save(tmp_path: Path, store_type: str) -> None:
    container, ctx, author, _ = library(tmp_path / "a.sqlite", store_type)
    with container:
        assert author.articlesCount is None
        assert author["updatedAt"] is None
        ctx.save()
        ctx.refresh(author)
        assert author.articlesCount == 1
        assert author.totalWords == 12
        assert abs(author.updatedAt - datetime.now(timezone.utc)) < timedelta(minutes=1)


@pytest.mark.not_in("it derives attributes", "SQLite")
def test_s164_store_type_without_derivation_is_rejected(tmp_path: Path, place: str, store_type: str) -> None:
    """Apple raises an exception."""
    with pytest.raises(CorestoneError):
        Coordinator(Model(LIBRARY)).add_store(place, type=store_type)
    assert not list(tmp_path.iterdir())


@derives
@pytest.mark.parametrize("is_there", [False, True])
def test_s166_intermediate_collection_operator_is_rejected(tmp_path: Path, store_type: str, is_there: bool) -> None:
    """A port states the error and its text; Apple's framework also rejects operators that are not terminal."""

    def model(path: str) -> Model:
        return Model(
            {
                "Author": {
                    "name": "string?",
                    "sum": f"derived int64? = {path}",
                    "articles": "to-many Article? inverse author",
                },
                "Article": {"wordCount": "int32?", "author": "to-one Author? inverse articles"},
            }
        )

    place = tmp_path / "a.sqlite"
    if is_there:
        with Coordinator(model("articles.wordCount.@sum")) as coordinator:
            coordinator.add_store(place, type=store_type)
    with pytest.raises(
        CorestoneError, match=r"Author\.sum .*must be the last component.*articles\.wordCount\.@sum"
    ) as raised:
        Coordinator(model("articles.@sum.wordCount")).add_store(place, type=store_type)
    assert (raised.value.code, raised.value.entity, raised.value.key) == (134080, "Author", "sum")
    assert place.exists() == is_there
    findings = model("articles.@sum.wordCount").lint()
    assert any("must be the last component" in str(finding) for finding in findings)


@derives
def test_s167_triggers_update_copies(tmp_path: Path, store_type: str) -> None:
    container, ctx, _, _ = library(tmp_path / "a.sqlite", store_type)
    with container:
        ctx.save()
    stored = (tmp_path / "a.sqlite").read_bytes()
    assert b"CREATE TRIGGER Z_DA_ZAUTHOR_Author_nameCopy_SOURCE_UPDATE" in stored
    assert b"GENERATED" not in stored


@derives
def test_s163_required_derived_attribute_fails_the_first_save(opened: Any) -> None:
    model = Model(
        {
            "Author": {"name": "string?", "articles": "to-many Article? inverse author"},
            "Article": {"author": "to-one Author? inverse articles"},
        }
    )
    model["Author"].attribute("articlesCount", "int64", derived="articles.@count")
    context = opened(model).context()
    context.insert("Author", name="Ada")
    with pytest.raises(CorestoneError) as raised:
        context.save()
    assert (raised.value.code, raised.value.key) == (1570, "articlesCount")
    assert "default value" in str(raised.value)


@derives
def test_s163_default_value_satisfies_a_required_derived_attribute(opened: Any) -> None:
    model = Model(
        {
            "Author": {"name": "string?", "articles": "to-many Article? inverse author"},
            "Article": {"author": "to-one Author? inverse articles"},
        }
    )
    model["Author"].attribute("articlesCount", "int64", derived="articles.@count", default=0)
    context = opened(model).context()
    author = context.insert("Author", name="Ada")
    context.save()
    author.articles = [context.insert("Article")]
    context.save()
    assert author.articlesCount == 1
