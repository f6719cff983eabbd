"""Batch requests: rows of every shape, lazily; errors; what open contexts see."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from corestone import (
    BatchDeleteRequest,
    BatchInsertRequest,
    BatchUpdateRequest,
    ConflictError,
    Container,
    Context,
    CorestoneError,
    Expression,
    FetchRequest,
    InvalidArgumentError,
    MergePolicy,
    MergePolicyType,
    Model,
    UnsupportedError,
    ValidationError,
    handle_count,
)

MODEL = {
    "Item": {
        "name": "string",
        "rank": "int32? = 5",
        "price": "decimal?",
        "seen": "date?",
        "tags": "transformable?",
        "plain": "derived string? = canonical:(name)",
        "box": "to-one Box? inverse items",
    },
    "Box": {"label": "string", "items": "to-many Item inverse box"},
    "Code": {"code": "string", "title": "string?"},
}


@pytest.fixture
def container(tmp_path: Path) -> Iterator[Container]:
    model = Model(MODEL)
    model["Code"].unique("code")
    with Container(model, tmp_path / "items.sqlite") as container:
        yield container


@pytest.fixture
def context(container: Container) -> Context:
    return container.context()


def names(context: Context) -> list[str]:
    return [each.name for each in context.fetch("Item", sort="name")]


def test_rows_of_any_shape(context: Context) -> None:
    when = datetime(2026, 1, 2, tzinfo=timezone.utc)
    rows: list[dict[str, Any]] = [
        {"name": "a"},
        {"name": "b", "rank": None, "seen": when},
        {"rank": 7, "name": "c", "price": 3, "tags": ["x", 1]},
    ]
    assert context.batch_insert("Item", rows) == 3
    a, b, c = context.fetch("Item", sort="name")
    assert (a.rank, b.rank, c.rank) == (5, None, 7)
    assert (b.seen, c.price, c.tags, c.plain) == (when, 3, ["x", 1], "c")
    assert context.batch_insert("Item", [("d", 1), ("e", 2)], columns=("name", "rank")) == 2
    assert context.batch_insert("Item", []) == 0
    assert names(context) == ["a", "b", "c", "d", "e"]


def test_rows_come_as_they_are_needed(context: Context) -> None:
    read = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal read
        for number in range(5000):
            read += 1
            yield {"name": f"{number:04}", "rank": number}

    assert context.batch_insert("Item", rows()) == 5000
    assert context.count("Item", "rank == 4999") == 1

    def broken() -> Iterator[dict[str, Any]]:
        yield from ({"name": "x"} for _ in range(1000))
        raise KeyError("no more")

    with pytest.raises(CorestoneError) as caught:
        context.batch_insert("Item", broken())
    assert isinstance(caught.value.__cause__, KeyError)
    assert context.count("Item") == 5000


def test_wrong_rows(context: Context) -> None:
    incomplete: list[dict[str, Any]] = [{"name": "a"}, {"rank": 1}]
    with pytest.raises(ValidationError, match="row 2") as missing:
        context.batch_insert("Item", incomplete)
    assert (missing.value.code, missing.value.key) == (1570, "name")
    wrong_rows: list[tuple[dict[str, Any], str]] = [
        ({"nam": 1}, "nam"),
        ({"box": None}, "box"),
        ({"plain": "x"}, "plain"),
    ]
    for row, key in wrong_rows:
        with pytest.raises(CorestoneError) as wrong:
            context.batch_insert("Item", [{"name": "a"}, row])
        cause = wrong.value.__cause__ or wrong.value
        assert getattr(cause, "key", None) == key
    with pytest.raises(CorestoneError, match="name"):
        context.batch_insert("Item", [{"name": 3}])
    with pytest.raises(CorestoneError):
        context.batch_insert("Item", [("a", 1)], columns=("name",))
    with pytest.raises(CorestoneError):
        context.batch_insert("Item", [("a", 1)])
    with pytest.raises(InvalidArgumentError):
        BatchInsertRequest("Item")
    with pytest.raises(UnsupportedError):
        context.execute(BatchInsertRequest("Item", [], result_type="objects"))
    assert names(context) == []


def test_handlers(context: Context) -> None:
    numbers = iter(range(1000))

    def fill(row: dict[str, Any]) -> bool:
        number = next(numbers, None)
        row["name"] = str(number)
        return number is None

    assert context.execute(BatchInsertRequest("Item", handler=fill, result_type="count")) == 1000
    objects = []
    left = iter("abc")

    def set_one(item: Any) -> bool:
        objects.append(item)
        assert item.rank == 5
        item.name = next(left, "")
        return bool(item.name == "")

    request = BatchInsertRequest("Item", objects=set_one, result_type="ids")
    ids = context.execute(request)
    assert [context.existing(each).name for each in ids] == ["a", "b", "c"]
    assert len(objects) == 4

    def save(row: dict[str, Any]) -> bool:
        context.insert("Item", name="x")
        context.save()
        return True

    with pytest.raises(CorestoneError) as refused:
        context.execute(BatchInsertRequest("Item", handler=save))
    assert "batch" in str(refused.value.__cause__ or refused.value)
    context.rollback()
    assert context.count("Item") == 1003


def test_updates_and_what_open_contexts_see(container: Container, context: Context) -> None:
    context.batch_insert("Item", [{"name": str(number), "rank": number} for number in range(4)])
    other, deaf = container.context(), container.context()
    deaf.merges_batches = False
    assert other.merges_batches
    assert not deaf.merges_batches
    theirs, unheard = list(other.fetch("Item", sort="name")), list(deaf.fetch("Item", sort="name"))
    assert [each.rank for each in theirs] == [each.rank for each in unheard] == [0, 1, 2, 3]
    theirs[3].rank = 33
    assert context.batch_update("Item", {"rank": Expression("rank * 10")}, "rank > %d", 1) == 2
    assert [each.rank for each in theirs] == [0, 1, 20, 33]
    assert [each.rank for each in unheard] == [0, 1, 2, 3]
    with pytest.raises(ConflictError):
        other.save()
    ids = context.execute(BatchUpdateRequest("Item", {"price": 2}, result_type="ids", merge=False))
    assert len(ids) == 4
    assert context.execute(BatchUpdateRequest("Item", {"price": None, "tags": {"a": 1}})) is True
    assert context.fetch("Item")[0].tags == {"a": 1}
    with pytest.raises(CorestoneError) as wrong:
        context.batch_update("Item", {"box": None})
    assert wrong.value.key == "box"


def test_deletions(context: Context) -> None:
    box = context.insert("Box", label="b")
    for number in range(6):
        context.insert("Item", name=str(number), rank=number, box=box)
    context.save()
    first = context.fetch("Item", sort="name")[0]
    assert first.box is box
    assert context.batch_delete("Box") == 1
    assert first.box is None
    request = BatchDeleteRequest(FetchRequest("Item", sort="-name", limit=2), result_type="count")
    assert context.execute(request) == 2
    ids = [each.id for each in context.fetch("Item", "rank < 2")]
    assert context.execute(BatchDeleteRequest(ids, result_type="count")) == 2
    assert names(context) == ["2", "3"]
    with pytest.raises(InvalidArgumentError):
        context.execute(BatchDeleteRequest([]))


def test_unique_values(context: Context) -> None:
    context.batch_insert("Code", [{"code": "a", "title": "old"}])
    with pytest.raises(ConflictError) as taken:
        context.batch_insert("Code", [{"code": "a"}])
    assert taken.value.code == 133021
    context.merge_policy = MergePolicy(MergePolicyType.OBJECT_TRUMP)
    assert context.batch_insert("Code", [{"code": "a"}, {"code": "b", "title": "new"}]) == 2
    assert [each.title for each in context.fetch("Code", sort="code")] == ["old", "new"]


def test_nothing_is_left_behind(container: Container, context: Context) -> None:
    context.batch_insert("Item", [{"name": "a"}])
    gc.collect()
    before = handle_count()
    for _ in range(5):
        context.batch_insert("Item", [{"name": "b"}])
        context.batch_update("Item", {"rank": Expression("rank + 1")})
        context.batch_delete("Item", "name == 'b'")
        with pytest.raises(CorestoneError):
            context.batch_insert("Item", [{"name": None}])
    gc.collect()
    assert handle_count() == before
