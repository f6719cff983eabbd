"""The tables that notebooks show: contents, escaping, limits, and no effect on the objects."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from samples import THINGS

from corestone import Container, Context, FetchRequest, Model
from corestone.graph.html import text_of

PODCASTS: dict[str, dict[str, Any]] = {
    "Show": {"title": "string", "price": "decimal?", "episodes": "to-many Episode inverse show", "@unique": ["title"]},
    "Episode": {"title": "string?", "at": "date?", "sound": "binary?", "show": "to-one Show? inverse episodes"},
    "Draft": {"@parent": "Episode", "note": "string?"},
}


@pytest.fixture
def ctx(tmp_path: Path) -> Iterator[Context]:
    with Container(Model(PODCASTS), tmp_path / "podcasts.sqlite", unsaved="discard") as container:
        with container.context() as writer:
            show = writer.insert("Show", title="<b>News</b> & more", price=Decimal("12.50"))
            at = datetime(2024, 2, 29, 12, 30, tzinfo=timezone.utc)
            for number in range(25):
                writer.insert("Episode", title=f"E{number}", at=at, sound=b"12", show=show)
            writer.save()
        yield container.context()


def cells(page: str | None) -> list[str]:
    assert page is not None
    return re.findall("<td[^>]*>(.*?)</td>", page)


def test_results_show_readable_values_and_counts(ctx: Context) -> None:
    assert cells(ctx.fetch("Show")._repr_html_()) == ["&lt;b&gt;News&lt;/b&gt; &amp; more", "12.5", "25"]
    page = ctx.fetch("Episode", sort="at")._repr_html_()
    assert cells(page)[1:4] == ["2024-02-29 12:30", "2 bytes", "Show p1"]
    assert page is not None
    assert page.count("<tr>") == 21
    assert "25 Episode objects, the first 20 shown" in page
    assert "5 more objects" in page
    assert cells(ctx.inserted._repr_html_()) == []


def test_representations_fire_only_shown_faults_and_change_nothing(ctx: Context) -> None:
    shows = ctx.fetch("Show")
    episodes = ctx.fetch("Episode", sort="at")
    [show] = shows
    for each in (shows, episodes, show, ctx.model, ctx.model["Show"], ctx.container):
        assert each._repr_html_()
    assert not ctx.has_changes
    assert all(each.is_fault for each in list(episodes)[20:])
    fault = ctx.fetch("Episode", "title == 'E24'")[0]
    assert fault.is_fault
    assert "the values are not loaded" in (fault._repr_html_() or "")
    assert fault.is_fault
    lazy = ctx.execute(FetchRequest("Episode", batch_size=5))
    assert lazy._repr_html_()


def test_an_object_shows_its_state(ctx: Context) -> None:
    draft = ctx.insert("Draft", title="x" * 200)
    page = draft._repr_html_() or ""
    assert "<caption>Draft new (inserted)</caption>" in page
    assert cells(page)[:2] == ["title", "x" * 79 + "…"]
    show = ctx.fetch("Show")[0]
    show.price = 3
    assert "<caption>Show p1 (updated)</caption>" in (show._repr_html_() or "")
    assert cells(show._repr_html_() or "")[-2:] == ["episodes", "25 objects"]
    ctx.delete(show)
    ctx.process_pending_changes()
    assert "(deleted)" in (show._repr_html_() or "")
    ctx.reset()
    assert show._repr_html_() is None


def test_rows_are_lists_that_show_a_table(ctx: Context) -> None:
    rows = ctx.fetch_rows("Episode", columns=["title", "at", "show"], sort="title")
    assert isinstance(rows, list)
    assert rows == [dict(row) for row in rows]
    page = rows._repr_html_()  # type: ignore[attr-defined]
    assert cells(page)[:3] == ["E0", "2024-02-29 12:30", "Show p1"]
    assert "5 more rows" in page
    request = FetchRequest("Episode", result_type="dictionaries", columns=["title", "objectID"], batch_size=10)
    assert "25 rows" in ctx.execute(request)._repr_html_()
    assert "0 rows" in (ctx.fetch_rows("Episode", "title == 'x'", columns="title")._repr_html_())  # type: ignore[attr-defined]


def test_models_show_a_diagram_and_tables(ctx: Context) -> None:
    page = ctx.model._repr_html_()
    assert page is not None
    drawing = page[: page.index("</svg>") + 6]
    root = ElementTree.fromstring(drawing)
    names = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [name for name in names if name in PODCASTS] == ["Show", "Episode", "Draft"]
    assert len(list(root.iter("{http://www.w3.org/2000/svg}polygon"))) == 1
    assert cells(page)[:2] == ["Show", "&ndash;"]
    assert "episodes → Episode (many)" in page
    entity = ctx.model["Draft"]._repr_html_()
    assert entity is not None
    assert "<caption>Draft (inherits from Episode)</caption>" in entity
    assert "to-one Show?" in entity
    assert "inverse episodes, of Episode" in entity
    assert "unique: title" in (ctx.model["Show"]._repr_html_() or "")
    for model in (Model(THINGS), Model({"A": {"a": "to-one A?", "b": "to-many B"}, "B": {"c": "to-one A?"}})):
        ElementTree.fromstring((model._repr_html_() or "").partition("</svg>")[0] + "</svg>")
    assert "<svg" not in (Model()._repr_html_() or "")
    many = Model({f"E{number}": {"name": "string?"} for number in range(60)})._repr_html_() or ""
    assert "<svg" not in many
    assert "40 more entities" in many


def test_a_container_shows_stores_and_counts(ctx: Context) -> None:
    container = ctx.container
    page = container._repr_html_()
    path = container.path if len(container.path) <= 80 else container.path[:79] + "…"
    assert cells(page) == [path, "SQLite", "no", "Show", "1", "Episode", "25", "Draft", "0"]
    container.close("discard")
    assert "Container (closed)" in (container._repr_html_() or "")


def test_values_are_readable() -> None:
    for value, text in (
        (datetime(24, 1, 2, 3, 4, 5, 600, tzinfo=timezone.utc), "0024-01-02 03:04:05"),
        (Decimal("1E+3"), "1000"),
        (b"x", "1 byte"),
        (b"x" * 1234, "1,234 bytes"),
        ({"a": 1, "b": None}, "a: 1, b: None"),
        ([1, "x"], "1, x"),
        (True, "True"),
        (1.5, "1.5"),
    ):
        assert text_of(value) == text
