"""Fetch requests of a model, configurations, fetched properties, fetch indexes."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from corestone import Container, InvalidArgumentError, Model, ModelError, PredicateError, UnsupportedError


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


def test_templates(library: Model, tmp_path: Path) -> None:
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


def test_kinds_of_results_and_batches(tmp_path: Path) -> None:
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
        for name, remedy in {"ids": "fetch its IDs", "number": "count it", "rows": "fetch its rows"}.items():
            with pytest.raises(UnsupportedError, match=remedy) as refused:
                context.fetch_template(name)
            assert refused.value.entity == "Book"


def test_flags_off_their_defaults_are_written_and_read_again() -> None:
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
def test_what_a_request_says_and_no_request_has_is_kept_and_written_again(
    name: str, value: str, is_understood: bool
) -> None:
    request = f'<fetchRequest name="found" entity="Book" {name}="{value}"/>'
    model = Model.load(f'<model><entity name="Book"/>{request}</model>'.encode())
    kept = {"place": 1, "name": "fetchRequest", "attributes": {"name": "found", "entity": "Book", name: value}}
    assert model.describe().get("extras") == (None if is_understood else {"elements": [kept]})
    assert request in model.source()
    model.entity("Author").attribute("name", "string")
    assert is_understood or request in model.source()
    assert Model.load(model.source().encode()).describe()["fetchRequests"] == model.describe()["fetchRequests"]


def test_fetched_properties(library: Model, tmp_path: Path) -> None:
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


def test_configurations(library: Model) -> None:
    library.configuration("Cloud", "Author")
    assert library.configurations == ["Cloud"]
    assert library.entities_of("Cloud") == [library["Author"]]
    assert len(library.entities_of()) == 2
    library["Author"].rename("Writer")
    assert library.entities_of("Cloud") == [library["Writer"]]
    assert library.remove_configuration("Cloud")
    with pytest.raises(InvalidArgumentError):
        library.entities_of("Cloud")


def test_indexes(library: Model, tmp_path: Path) -> None:
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


def test_mistakes_of_indexes() -> None:
    with pytest.raises(ModelError, match="no kind of index"):
        Model({"A": {"x": "int16"}})["A"].index("i", "x", kind="hash")
