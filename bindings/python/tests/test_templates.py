"""Fetch requests of a model, configurations, fetched properties, fetch indexes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from corestone import Container, InvalidArgumentError, Model, ModelError, Predicate, PredicateError, UnsupportedError


@pytest.fixture
def library() -> Model:
    model = Model(
        {
            "Author": {"name": "string", "books": "to-many Book inverse author"},
            "Book": {
                "title": "string",
                "pages": "int32?",
                "weight": "double?",
                "author": "to-one Author? inverse books",
            },
        }
    )
    model.template("thick", "Book", "pages > $LEAST AND author == $AUTHOR", sort="title")
    model["Author"].fetched("namesakes", "Author", "name == $FETCH_SOURCE.name AND SELF != $FETCH_SOURCE")
    model["Book"].fetched("longer", "Book", "pages > $FETCH_SOURCE.pages", sort="-pages", limit=2)
    return model


def test_templates_can_be_added_replaced_and_fetched(library: Model, tmp_path: Path) -> None:
    assert library.templates == ["thick"]
    library.template("all", "Book", sort=["-title"]).remove_template("thick").template(
        "thick", "Book", "pages > $LEAST AND author == $AUTHOR"
    )
    assert library.templates == ["all", "thick"]
    with Container(library, tmp_path / "s.sqlite") as container:
        context = container.context()
        ada = context.insert("Author", name="Ada")
        for pages in (10, 20, 30):
            context.insert("Book", title=f"B{pages}", pages=pages, author=ada if pages > 10 else None)
        context.save()
        assert [book.title for book in context.fetch_template("all")] == ["B30", "B20", "B10"]
        assert sorted(book.pages for book in context.fetch_template("thick", LEAST=10, AUTHOR=ada)) == [20, 30]
        assert [book.pages for book in context.fetch_template("thick", LEAST=5, AUTHOR=None)] == [10]
        with pytest.raises(PredicateError, match=r"\$AUTHOR"):
            context.fetch_template("thick", LEAST=1)
        with pytest.raises(InvalidArgumentError, match="did you mean"):
            context.fetch_template("thikc")


def test_fetch_template_rejects_templates_of_other_result_types(tmp_path: Path) -> None:
    folder = tmp_path / "Books.xcdatamodel"
    folder.mkdir()
    requests = "".join(
        f'<fetchRequest name="{name}" entity="Book" {more}/>'
        for name, more in {"ids": 'resultType="1"', "number": 'resultType="4"', "rows": 'resultType="2"'}.items()
    )
    (folder / "contents").write_text(f'<model><entity name="Book"/>{requests}</model>')
    with Container(Model.load(folder), tmp_path / "s.sqlite", unsaved="discard") as container:
        context = container.context()
        context.insert("Book")
        for name, remedy in {"ids": "fetch_ids", "number": "cst_context_count", "rows": "fetch_rows"}.items():
            with pytest.raises(UnsupportedError, match=remedy) as refused:
                context.fetch_template(name)
            assert refused.value.entity == "Book"


def test_non_default_template_flags_round_trip() -> None:
    flags = {
        "includeSubentities": "NO",
        "includePropertyValues": "NO",
        "returnObjectsAsFaults": "NO",
        "returnDistinctResults": "YES",
    }
    requests = "".join(f'<fetchRequest name="{flag}" entity="Book" {flag}="{flags[flag]}"/>' for flag in flags)
    source = f'<model><entity name="Book"/>{requests}</model>'.encode()
    # A compiled model has nothing of the words of its source.
    model = Model.load(Model.load(source).compiled()).template("made", "Book", include_subentities=False)
    assert Model.load(model.source().encode()).describe()["fetchRequests"] == {
        "includeSubentities": {"entity": "Book", "includesSubentities": False},
        "includePropertyValues": {"entity": "Book", "includesPropertyValues": False},
        "returnObjectsAsFaults": {"entity": "Book", "returnsObjectsAsFaults": False},
        "returnDistinctResults": {"entity": "Book", "returnsDistinctResults": True},
        "made": {"entity": "Book", "includesSubentities": False},
    }


UNDERSTOOD = [
    *(("resultType", value, True) for value in ("0", "1", "2", "4")),
    *(("resultType", value, False) for value in ("3", "5", "6", "8", "-1", "", "count")),
    *((name, value, True) for name in ("fetchLimit", "fetchOffset", "fetchBatchSize") for value in ("0", "1", "250")),
    *((name, value, False) for name in ("fetchLimit", "fetchOffset", "fetchBatchSize") for value in ("-1", "1.5", "x")),
    *(
        (name, value, value in ("YES", "NO"))
        for name in ("includeSubentities", "includePropertyValues", "returnObjectsAsFaults", "returnDistinctResults")
        for value in ("YES", "NO", "MAYBE", "2")
    ),
    ("predicateString", "", True),
    ("sortKey", "title", False),
]


@pytest.mark.parametrize(("name", "value", "is_understood"), UNDERSTOOD)
def test_unknown_template_attributes_round_trip(name: str, value: str, is_understood: bool) -> None:
    request = f'<fetchRequest name="found" entity="Book" {name}="{value}"/>'
    model = Model.load(f'<model><entity name="Book"/>{request}</model>'.encode())
    kept = {"place": 1, "name": "fetchRequest", "attributes": {"name": "found", "entity": "Book", name: value}}
    assert model.describe().get("extras") == (None if is_understood else {"elements": [kept]})
    assert request in model.source()
    model.entity("Author").attribute("name", "string")
    assert is_understood or request in model.source()
    assert Model.load(model.source().encode()).describe()["fetchRequests"] == model.describe()["fetchRequests"]


def test_fetched_properties_return_results(library: Model, tmp_path: Path) -> None:
    described = library["Book"].describe("longer")["fetchRequest"]
    assert (described["entity"], described["sort"], described["limit"]) == ("Book", ["-pages"], 2)
    with Container(library, tmp_path / "s.sqlite") as container:
        context = container.context()
        books = [context.insert("Book", title=f"B{pages}", pages=pages) for pages in (10, 20, 30, 40)]
        assert [book.pages for book in books[0].longer] == [40, 30]  # unsaved objects too
        books[3].pages = 5
        assert len(books[0].longer) == 2
        context.save()
        context.refresh(books[0])
        assert [book.pages for book in books[0].longer] == [30, 20]
        assert books[2].longer == ()
        with pytest.raises(AttributeError):
            books[0].longer = ()
        assert "longer" not in books[0].to_dict()
    assert library["Book"].properties["longer"].is_fetched


def test_configurations_list_their_entities(library: Model) -> None:
    library.configuration("Cloud", "Author")
    assert library.configurations == ["Cloud"]
    assert library.entities_of("Cloud") == [library["Author"]]
    assert len(library.entities_of()) == 2
    library["Author"].rename("Writer")
    assert library.entities_of("Cloud") == [library["Writer"]]
    assert library.remove_configuration("Cloud")
    with pytest.raises(InvalidArgumentError):
        library.entities_of("Cloud")


def test_fetch_indexes_are_created(library: Model, tmp_path: Path) -> None:
    book = library["Book"]
    book.index("both", "title", "-pages", where="pages > 100")
    book.index("area", "pages", "weight", kind="rtree")
    book.index("sum", ("pages * 2 + pages", "int32"), ("entity", "undefined"))
    with Container(library, tmp_path / "s.sqlite"):
        pass
    with sqlite3.connect(tmp_path / "s.sqlite") as store:
        made = dict(store.execute("SELECT name, sql FROM sqlite_master WHERE name LIKE 'Z_%Book_%' AND sql NOT NULL"))
    assert made["Z_Book_both"] == (
        "CREATE INDEX Z_Book_both ON ZBOOK (ZTITLE COLLATE BINARY ASC, ZPAGES COLLATE BINARY DESC) WHERE ZPAGES > 100"
    )
    assert made["Z_Book_sum"] == (
        "CREATE INDEX Z_Book_sum ON ZBOOK (((ZPAGES * 2) + ZPAGES) COLLATE BINARY ASC, Z_ENT COLLATE BINARY ASC)"
    )
    assert "USING RTREE" in made["Z_RT_Book_area"]


def test_invalid_index_kind_is_rejected() -> None:
    with pytest.raises(ModelError, match="kind must be"):
        Model({"A": {"x": "int16"}})["A"].index("i", "x", kind="hash")


def test_unused_template_variables_are_ignored(library: Model) -> None:
    described = library.describe()["fetchRequests"]
    request = library.fetch_request("thick", LEAST=7, AUTHOR=None, MORE=1)
    assert request.predicate is not None
    assert request.predicate.format == "pages > 7 AND author == nil"
    assert library.describe()["fetchRequests"] == described
    for given, missing in ({"LEAST": 7, "MORE": 1}, "AUTHOR"), ({"AUTHOR": None, "least": 7}, "LEAST"):
        with pytest.raises(PredicateError) as caught:
            library.fetch_request("thick", **given)
        assert caught.value.key == missing


def test_templates_of_every_result_type_are_executed(tmp_path: Path) -> None:
    requests = "".join(
        f"<fetchRequest name='{name}' entity='Book' predicateString='pages &gt; $LEAST' fetchLimit='2' {more}/>"
        for name, more in {
            "objects": "fetchBatchSize='7'",
            "ids": "resultType='1'",
            "number": "resultType='4'",
            "rows": "resultType='2'",
        }.items()
    )
    source = f"<model><entity name='Book'>{PAGES}</entity>{requests}</model>"
    model = Model.load(source.encode())
    with Container(model, tmp_path / "s.sqlite") as container:
        context = container.context()
        books = [context.insert("Book", pages=pages) for pages in (10, 20, 30, 40)]
        context.save()
        made = {name: model.fetch_request(name, LEAST=10) for name in model.templates}
        assert [book.pages for book in context.execute(made["objects"])] == [20, 30]
        assert context.execute(made["ids"]) == [books[1].id, books[2].id]
        assert context.execute(made["number"]) == 2
        assert context.execute(made["rows"]) == [{"pages": 20}, {"pages": 30}]
        assert (made["objects"].batch_size, made["ids"].batch_size) == (7, 0)


PAGES = "<attribute name='pages' optional='YES' attributeType='Integer 32'/>"


def test_model_rejects_objects_in_predicates(library: Model, tmp_path: Path) -> None:
    with Container(library.copy(), tmp_path / "s.sqlite") as container:
        context = container.context()
        ada = context.insert("Author", name="Ada")
        context.save()
        hers, among = Predicate("author == %@", ada), Predicate("author IN %@", [[ada]])
        uses: list[tuple[str | None, Callable[[Model], Any]]] = [
            (None, lambda model: model.template("hers", "Book", hers)),
            ("Author", lambda model: model["Author"].fetched("hers", "Book", among)),
            ("Book", lambda model: model["Book"].change("author", validation={Predicate("SELF == %@", ada): "no"})),
            ("Book", lambda model: model["Book"].index("hers", "title", where=hers)),
        ]
        for entity, use in uses:
            with pytest.raises(ModelError, match=r"the managed object .*, which a model cannot store; ") as caught:
                use(library.copy())
            assert entity is None or caught.value.entity == entity
        # Values of every other kind stay what they are.
        values = [
            1.5,
            Decimal("2.50"),
            b"\x00",
            UUID(int=1),
            datetime(2026, 1, 1, tzinfo=timezone.utc),
            "it's",
            True,
        ]
        model = library.copy().template("all", "Book", Predicate("title IN %@", values))
        again = Model.load(model.compiled())
        assert again.describe()["fetchRequests"]["all"] == model.describe()["fetchRequests"]["all"]
        for each in (model, again):
            request = each.fetch_request("all")
            assert request.predicate is not None
            assert [request.predicate.evaluate({"title": value}) for value in values] == [True] * len(values)
            assert not request.predicate.evaluate({"title": 2})


def test_fetched_property_is_refetched_after_refresh(library: Model, tmp_path: Path) -> None:
    with Container(library, tmp_path / "s.sqlite") as container:
        context = container.context()
        books = [context.insert("Book", title=f"B{pages}", pages=pages) for pages in (10, 20, 30, 40)]
        context.save()
        assert [book.pages for book in books[0].longer] == [40, 30]
        books[2].pages = 50
        assert [book.pages for book in books[0].longer] == [40, 50]
        context.refresh(books[1], merge=False)
        assert [book.title for book in books[0].longer] == ["B40", "B30"]
        context.refresh(books[0], merge=False)
        assert [book.title for book in books[0].longer] == ["B30", "B40"]
        context.rollback()
        context.refresh_all()
        assert [book.title for book in books[0].longer] == ["B40", "B30"]


def test_properties_are_ordered_inherited_first_and_fetched_last() -> None:
    model = Model(
        {
            "Base": {"b": "string?", "a": "string?", "link": "to-one Base?"},
            "Child": {"@parent": "Base", "z": "string?", "links": "to-many Base", "c": "string?"},
        }
    )
    model["Base"].fetched("found", "Base")
    model["Child"].fetched("also", "Base")
    assert list(model["Base"].properties) == ["b", "a", "link", "found"]
    child = model["Child"].properties
    assert list(child) == ["b", "a", "link", "z", "links", "c", "found", "also"]
    assert [each for each in child if child[each].is_fetched] == ["found", "also"]
    assert {each: child[each].entity for each in ("b", "found", "c")} == {
        "b": model["Base"]._handle,
        "found": model["Base"]._handle,
        "c": model["Child"]._handle,
    }


def test_fetched_property_variable_has_name_and_user_info(tmp_path: Path) -> None:
    model = Model({"Word": {"text": "string", "rank": "int32"}})
    word = model["Word"].fetched("same", "Word", "text == $FETCHED_PROPERTY.name")
    word.fetched("noted", "Word", "text == $FETCHED_PROPERTY.userInfo.wanted", sort="rank")
    word.change("noted", user_info={"wanted": "b"})
    with Container(model, tmp_path / "s.sqlite") as container:
        context = container.context()
        first = context.insert("Word", text="same", rank=3)
        for rank, text in enumerate(("b", "a", "b")):
            context.insert("Word", text=text, rank=rank)
        context.save()
        assert [each.text for each in first.same] == ["same"]
        assert [each.rank for each in first.noted] == [0, 2]
        # Notes may change in a model that is in use; the lists are fetched again.
        assert model.is_frozen
        model["Word"].change("noted", user_info={"wanted": "a"})
        assert [each.rank for each in first.noted] == [1]
        model["Word"].change("noted", user_info={"wanted": None})
        assert [each.rank for each in first.noted] == []
        with pytest.raises(ModelError):
            model["Word"].change("text", user_info={"wanted": "a"})
