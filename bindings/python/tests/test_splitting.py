"""Fetches that SQL can evaluate only in part, and the two semantics of nil."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corestone import (
    Container,
    Expression,
    ExpressionDescription,
    InvalidArgumentError,
    Model,
    UnsupportedError,
    register_function,
    unregister_function,
)


@pytest.fixture
def context(tmp_path: Path) -> Any:
    model = Model({"Item": {"name": "string?", "number": "int32", "mood": "string? transient"}})
    with Container(model, tmp_path / "store.sqlite", unsaved="discard") as container:
        context = container.context()
        for number, name in enumerate(["a", "b", None, "c", "d", "e"]):
            context.insert("Item", name=name, number=number)
        context.save()
        yield context


def numbers(found: Any) -> list[int]:
    return [item.number for item in found]


# No mood is set: the first is for memory, the second for SQL.
SPLIT = "mood == nil AND number > 1"


def test_filter_in_memory_honours_sort_limit_and_offset(context: Any) -> None:
    assert numbers(context.fetch("Item", SPLIT, sort="-number", limit=2, offset=1)) == [4, 3]
    assert context.count("Item", SPLIT) == 4
    assert context.count("Item", SPLIT, limit=3) == 3
    assert [one.uri for one in context.fetch_ids("Item", SPLIT, sort="number", limit=1)] == [
        item.id.uri for item in context.fetch("Item", "number == 2")
    ]
    assert numbers(context.stream("Item", SPLIT, sort="-number", batch=2, limit=3)) == [5, 4, 3]
    for item in context.fetch("Item"):
        item.mood = "good" if item.number % 2 else "bad"
    assert numbers(context.fetch("Item", "mood == 'good' AND number > 1", sort="number")) == [3, 5]
    assert numbers(context.fetch("Item", sort=["mood", "-number"], limit=4)) == [4, 2, 0, 5]


def test_cursor_applies_the_offset_once(context: Any) -> None:
    """Only the evaluation in memory can tell which numbers pass, and how many of a batch the offset skips."""
    register_function("exceeds", lambda number, other: number > other)
    try:
        passing = "FUNCTION(number, 'exceeds', 0) == true"
        for offset, left in [(2, [3, 4, 5]), (3, [4, 5]), (5, [])]:
            found = context.stream("Item", passing, sort="number", batch=2, offset=offset)
            assert numbers(found) == left, offset
        assert numbers(context.stream("Item", passing, sort="-number", batch=2, offset=2, limit=2)) == [3, 2]
    finally:
        unregister_function("exceeds")


def test_split_can_be_disabled(context: Any) -> None:
    for work in (context.fetch, context.count, context.fetch_ids, context.stream):
        with pytest.raises(UnsupportedError, match=r"Item\.mood is transient"):
            work("Item", SPLIT, split=False)
    with pytest.raises(UnsupportedError, match=r"Item\.mood is transient"):
        context.fetch("Item", sort="mood", split=False)
    assert context.count("Item", "number > 1", split=False) == 4


IN_MEMORY = ["name.integerValue", "name.description", "number.stringValue", "number.description", "mood"]
IN_SQL = ["name", "number", "name.length", "name.lowercaseString"]
ROWS: list[dict[str, Any]] = [
    {"columns": ["name", "number"]},
    {"columns": ["name"], "distinct": True},
    {"columns": [ExpressionDescription("next", Expression("number + 1"), "int32")]},
    {"columns": ["number"], "limit": 2, "offset": 1},
    {"columns": ["number"], "predicate": "number > 1"},
]


@pytest.mark.parametrize("options", ROWS)
def test_sort_of_rows_in_memory_can_be_disabled(context: Any, options: dict[str, Any]) -> None:
    for key in [*IN_MEMORY, *IN_SQL]:
        for sort in (key, f"-{key}", ["number", key]):
            expected = list(context.fetch_rows("Item", sort=sort, **options))
            if key in IN_SQL:
                assert list(context.fetch_rows("Item", sort=sort, split=False, **options)) == expected
                continue
            with pytest.raises(UnsupportedError, match="cannot evaluate the whole fetch") as refused:
                context.fetch_rows("Item", sort=sort, split=False, **options)
            assert (refused.value.entity, key.rpartition(".")[2] in str(refused.value)) == ("Item", True)


def test_nulls_option_selects_database_semantics(context: Any) -> None:
    for format, memory, database in (
        ("name != 'a'", [1, 2, 3, 4, 5], [1, 3, 4, 5]),
        ("NOT (name == 'a')", [1, 2, 3, 4, 5], [1, 3, 4, 5]),
        ("NOT (name > 'b' AND number > 1)", [0, 1, 2], [0, 1]),
        ("name == nil OR name != 'a'", [1, 2, 3, 4, 5], [1, 2, 3, 4, 5]),
        ("NOT name IN {'a', 'b'}", [2, 3, 4, 5], [3, 4, 5]),
    ):
        assert numbers(context.fetch("Item", format, sort="number")) == memory, format
        assert numbers(context.fetch("Item", format, sort="number", nulls="database")) == database, format
    context.insert("Item", name=None, number=9)
    assert 9 in numbers(context.fetch("Item", "name != 'a'"))
    assert 9 not in numbers(context.fetch("Item", "name != 'a'", nulls="database"))
    with pytest.raises(InvalidArgumentError, match=r'nulls must be .* not "sql"'):
        context.fetch("Item", nulls="sql")
